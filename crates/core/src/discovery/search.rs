//! The answer of `search_tools`.
//!
//! The first hit always carries its signature, so that most calls need no second look. How many more
//! hits are given depends on what they cost; `total` and `more` say what was left out.

use serde::Serialize;

use super::{prose, rounded};
use crate::catalog::Tool;
use crate::limits::{
    SEARCH_HITS_LEAST, SEARCH_SIGNATURES_MAX, SEARCH_TOKENS_MAX, SEARCH_TOKENS_WANTED,
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
    tags: usize,
}

/// The answer: with the default limit it costs [`SEARCH_TOKENS_WANTED`] tokens where that leaves enough
/// hits, and never more than [`SEARCH_TOKENS_MAX`].
pub fn answer(found: &Found<'_>) -> String {
    let signatures: Vec<String> = found
        .hits
        .iter()
        .take(SEARCH_SIGNATURES_MAX)
        .map(|hit| schema::signature(hit.tool.id.tool(), &hit.tool.input_schema))
        .collect();
    let written = |level: Level| written(found, &signatures, level);
    let all = found.hits.len();
    let level = |hits, signatures, summary_chars| Level {
        hits,
        signatures,
        summary_chars,
        tags: usize::MAX,
    };
    if found.limited {
        // None is left out: the more there are, the less is said of each.
        let chars = match all {
            0..=10 => 100,
            11..=30 => 60,
            _ => 30,
        };
        return written(level(all, SEARCH_SIGNATURES_MAX, chars));
    }
    let least = SEARCH_HITS_LEAST.min(all);
    let wanted = (least..=all).rev().map(|hits| written(level(hits, 1, 80)));
    let mut wanted = wanted.zip((least..=all).rev());
    if let Some((text, hits)) = wanted.find(|(text, _)| tokens::fits(text, SEARCH_TOKENS_WANTED)) {
        let fuller = (2..=SEARCH_SIGNATURES_MAX)
            .rev()
            .map(|n| written(level(hits, n, 80)));
        let fuller = fuller
            .into_iter()
            .find(|text| tokens::fits(text, SEARCH_TOKENS_WANTED));
        return fuller.unwrap_or(text);
    }
    let thinner = [
        (least, 1, 60, 3),
        (least, 1, 30, 0),
        (least, 0, 30, 0),
        (1, 1, 30, 0),
        (1, 0, 0, 0),
    ];
    let thinner = thinner.map(|(hits, signatures, summary_chars, tags)| Level {
        hits: hits.min(all),
        signatures,
        summary_chars,
        tags,
    });
    let mut texts = thinner.into_iter().map(written);
    let fits = |text: &String| tokens::fits(text, SEARCH_TOKENS_MAX);
    texts.find(fits).unwrap_or_else(|| {
        written(Level {
            hits: 0,
            ..thinner[0]
        })
    })
}

fn written(found: &Found<'_>, signatures: &[String], level: Level) -> String {
    let rows = found
        .hits
        .iter()
        .take(level.hits)
        .enumerate()
        .map(|(at, hit)| {
            let tool = hit.tool;
            Row {
                server: tool.id.server(),
                tool: tool.id.tool(),
                summary: summary(tool, level.summary_chars),
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
            pending_servers: 0,
            limited,
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
            let text = answer(&found(&tools, false));
            assert!(tokens::at_most(&text) <= SEARCH_TOKENS_MAX, "{text}");
            assert_eq!(read(&text)["total"], tools.len());
        }
    }
}
