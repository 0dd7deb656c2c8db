//! The answer of `search_tools`.
//!
//! The first hit always carries its signature, so that most calls need no second look. How many more
//! hits are given depends on what they cost and on how sure the first one is: where the right tool may
//! well stand further down, more are told, the later ones in fewer words. `total` and `more` say what was
//! left out.

use serde::Serialize;

use super::{prose, rounded};
use crate::catalog::Tool;
use crate::limits::{
    SEARCH_HITS_LEAST, SEARCH_SIGNATURES_MAX, SEARCH_TOKENS_MAX, SEARCH_TOKENS_WANTED,
    SEARCH_UNSURE,
};
use crate::schema;
use crate::tokens;

/// A tool that was found.
#[derive(Clone, Copy, Debug)]
pub struct Hit<'a> {
    /// The tool.
    pub tool: &'a Tool,
    /// How likely it is to be what was meant, 0 to 1.
    pub relevance: f32,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Found<'a> {
    /// The hits, best first.
    pub hits: Vec<Hit<'a>>,
    /// How many tools fit, those not given included.
    pub total: usize,
    /// How many servers have not said yet which tools they have.
    pub pending_servers: usize,
    /// How many servers could not be asked for their tools: while there are any, nothing is known to be absent.
    pub failed_servers: usize,
    /// Whether the caller asked for a number of hits: then none is left out.
    pub limited: bool,
}

#[derive(Serialize)]
struct Answer<'a> {
    results: Vec<Row<'a>>,
    total: usize,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    more: bool,
    #[serde(skip_serializing_if = "is_zero")]
    pending_servers: usize,
    #[serde(skip_serializing_if = "is_zero")]
    failed_servers: usize,
}

#[derive(Serialize)]
struct Row<'a> {
    server: &'a str,
    tool: &'a str,
    #[serde(skip_serializing_if = "String::is_empty")]
    summary: String,
    relevance: f64,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    tags: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<&'a str>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// How much of each hit is written.
#[derive(Clone, Copy)]
struct Level {
    hits: usize,
    signatures: usize,
    summary_chars: usize,
    /// The same for hits after the first [`SEARCH_HITS_LEAST`].
    later_chars: usize,
    tags: usize,
}

impl Level {
    /// The same of all hits.
    fn even(hits: usize, summary_chars: usize) -> Self {
        Self {
            hits,
            signatures: 1,
            summary_chars,
            later_chars: summary_chars,
            tags: usize::MAX,
        }
    }
}

/// Most letters of a summary in an answer with the default limit, and of those of later hits in one that
/// is unsure.
const SUMMARY_CHARS: usize = 80;
const LATER_CHARS: usize = 40;

/// The answer: with the default limit it costs [`SEARCH_TOKENS_WANTED`] tokens where that leaves enough
/// hits and the first of them is not [unsure](SEARCH_UNSURE), and never more than [`SEARCH_TOKENS_MAX`].
pub fn answer(found: &Found<'_>) -> String {
    let signatures: Vec<String> = found
        .hits
        .iter()
        .take(SEARCH_SIGNATURES_MAX)
        .map(|hit| schema::signature(hit.tool.id.tool(), &hit.tool.input_schema))
        .collect();
    let written = |level: Level| written(found, &signatures, level);
    let all = found.hits.len();
    if found.limited {
        // None is left out: the more there are, the less is said of each.
        let chars = match all {
            0..=10 => 100,
            11..=30 => 60,
            _ => 30,
        };
        return written(Level {
            signatures: SEARCH_SIGNATURES_MAX,
            ..Level::even(all, chars)
        });
    }
    let least = SEARCH_HITS_LEAST.min(all);
    let first = found.hits.first().map_or(0.0, |hit| hit.relevance);
    let (budget, later_chars) = if SEARCH_UNSURE.contains(&first) {
        (SEARCH_TOKENS_MAX, LATER_CHARS)
    } else {
        (SEARCH_TOKENS_WANTED, 0)
    };
    let whole = (Level::even(all, SUMMARY_CHARS), SEARCH_TOKENS_WANTED);
    let fewer = (least..=all).rev().map(|hits| Level {
        later_chars,
        ..Level::even(hits, SUMMARY_CHARS)
    });
    let levels = std::iter::once(whole).chain(fewer.map(|level| (level, budget)));
    for (level, budget) in levels {
        let text = written(level);
        if tokens::fits(&text, budget) {
            let fuller = (2..=SEARCH_SIGNATURES_MAX).rev().map(|signatures| Level {
                signatures,
                ..level
            });
            let mut fuller = fuller.map(written);
            return fuller
                .find(|text| tokens::fits(text, SEARCH_TOKENS_WANTED))
                .unwrap_or(text);
        }
    }
    thinner(least.min(all), &written)
}

/// The answer where even the least hits cost more than is wanted: less and less is said of them.
fn thinner(least: usize, written: &dyn Fn(Level) -> String) -> String {
    let level = |hits: usize, signatures, chars, tags| Level {
        signatures,
        tags,
        ..Level::even(hits.min(least), chars)
    };
    let levels = [
        level(least, 1, 60, 3),
        level(least, 1, 30, 0),
        level(least, 0, 30, 0),
        level(1, 1, 30, 0),
        level(1, 0, 0, 0),
    ];
    let fits = |text: &String| tokens::fits(text, SEARCH_TOKENS_MAX);
    let mut texts = levels.into_iter().map(written);
    texts
        .find(fits)
        .unwrap_or_else(|| written(level(0, 0, 0, 0)))
}

fn written(found: &Found<'_>, signatures: &[String], level: Level) -> String {
    let rows = found
        .hits
        .iter()
        .take(level.hits)
        .enumerate()
        .map(|(at, hit)| {
            let tool = hit.tool;
            let chars = if at < SEARCH_HITS_LEAST {
                level.summary_chars
            } else {
                level.later_chars
            };
            Row {
                server: tool.id.server(),
                tool: tool.id.tool(),
                summary: summary(tool, chars),
                relevance: rounded(hit.relevance),
                tags: &tool.tags[..tool.tags.len().min(level.tags)],
                signature: signatures
                    .get(at)
                    .filter(|_| at < level.signatures)
                    .map(String::as_str),
            }
        });
    let results: Vec<Row<'_>> = rows.collect();
    let answer = Answer {
        more: found.total > results.len(),
        results,
        total: found.total,
        pending_servers: found.pending_servers,
        failed_servers: found.failed_servers,
    };
    serde_json::to_string(&answer).unwrap_or_default()
}

/// The first sentence of a tool's description, on one line.
pub fn summary(tool: &Tool, chars: usize) -> String {
    let text = match tool.summary() {
        "" => tool.title.as_deref().unwrap_or_default(),
        text => text,
    };
    let (text, _) = prose::shorten(text, chars);
    text.trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::catalog::ToolId;

    fn tool(server: &str, name: &str, about: &str) -> Tool {
        let schema = json!({"properties": {"title": {"type": "string"}}, "required": ["title"]});
        Tool::new(ToolId::new(server, name), about, schema)
    }

    fn found(tools: &[Tool], limited: bool) -> Found<'_> {
        let hits = tools.iter().map(|tool| Hit {
            tool,
            relevance: 0.9512,
        });
        Found {
            hits: hits.collect(),
            total: tools.len(),
            limited,
            ..Found::default()
        }
    }

    fn read(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn the_documented_shape_is_kept_and_the_first_hit_carries_its_signature() {
        let mut tools = [
            tool("github", "create_issue", "Create an issue. More."),
            tool("jira", "add", ""),
        ];
        tools[0].tags = vec!["github".into(), "issues".into()];
        let mut found = found(&tools, false);
        found.total = 9;
        found.pending_servers = 2;
        assert_eq!(
            answer(&found),
            r#"{"results":[{"server":"github","tool":"create_issue","summary":"Create an issue","relevance":0.95,"tags":["github","issues"],"signature":"create_issue(title: string)"},{"server":"jira","tool":"add","relevance":0.95,"signature":"add(title: string)"}],"total":9,"more":true,"pending_servers":2}"#
        );
    }

    #[test]
    fn nothing_found_is_an_empty_list_with_a_total() {
        assert_eq!(answer(&Found::default()), r#"{"results":[],"total":0}"#);
    }

    #[test]
    fn a_search_does_not_claim_absence_while_servers_could_not_be_asked() {
        let found = Found {
            failed_servers: 1,
            ..Found::default()
        };
        assert_eq!(
            answer(&found),
            r#"{"results":[],"total":0,"failed_servers":1}"#
        );
    }

    #[test]
    fn by_default_hits_are_left_out_to_stay_within_what_is_wanted() {
        let tools: Vec<Tool> = (0..10)
            .map(|n| {
                tool(
                    "server",
                    &format!("tool_{n}"),
                    "A sentence that tells what the tool does for its caller",
                )
            })
            .collect();
        let text = answer(&found(&tools, false));
        let shown = read(&text);
        let count = shown["results"].as_array().unwrap().len();
        assert!((SEARCH_HITS_LEAST..10).contains(&count), "{text}");
        assert_eq!(
            (&shown["total"], &shown["more"]),
            (&json!(10), &json!(true))
        );
        assert!(tokens::at_most(&text) <= SEARCH_TOKENS_WANTED, "{text}");
    }

    #[test]
    fn an_unsure_answer_tells_more_hits_than_a_sure_or_a_hopeless_one() {
        let tools: Vec<Tool> = (0..10)
            .map(|n| {
                tool(
                    "server",
                    &format!("tool_number_{n}"),
                    "A sentence that tells what the tool does for its caller, and does so at length",
                )
            })
            .collect();
        let told = |relevance| {
            let mut found = found(&tools, false);
            for hit in &mut found.hits {
                hit.relevance = relevance;
            }
            let text = answer(&found);
            let rows = read(&text)["results"].as_array().unwrap().clone();
            assert!(rows.iter().take(3).all(|row| row.get("summary").is_some()));
            (rows.len(), tokens::at_most(&text))
        };
        let (sure, unsure, hopeless) = (told(0.9), told(0.5), told(0.1));
        assert_eq!(sure, hopeless);
        assert!(sure.0 < unsure.0, "{sure:?} {unsure:?}");
        assert!(sure.1 <= SEARCH_TOKENS_WANTED && unsure.1 <= SEARCH_TOKENS_MAX);
    }

    #[test]
    fn a_number_that_was_asked_for_is_given() {
        for count in [10, 25, 80] {
            let tools: Vec<Tool> = (0..count)
                .map(|n| tool("s", &format!("t{n}"), &"word ".repeat(60)))
                .collect();
            let shown = read(&answer(&found(&tools, true)));
            assert_eq!(shown["results"].as_array().unwrap().len(), count);
            assert_eq!(shown.get("more"), None);
        }
    }

    #[test]
    fn whatever_is_found_costs_no_more_than_it_may() {
        let long = "日本語".repeat(300);
        let mut wide = tool("server", "name", &long);
        wide.tags = (0..50).map(|n| format!("tag{n}")).collect();
        let named = tool(&"server".repeat(30), &"qzxj".repeat(32), "x");
        for tools in [vec![wide.clone(); 10], vec![named; 10], vec![wide; 1]] {
            for relevance in [0.95, 0.5, 0.0] {
                let mut found = found(&tools, false);
                for hit in &mut found.hits {
                    hit.relevance = relevance;
                }
                (found.pending_servers, found.failed_servers) = (1_000, 1_000);
                let text = answer(&found);
                assert!(tokens::at_most(&text) <= SEARCH_TOKENS_MAX, "{text}");
                assert_eq!(read(&text)["total"], tools.len());
            }
        }
    }
}
