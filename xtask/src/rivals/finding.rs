//! How well the tool for a wish is found: means over the test halves of the shared retrieval sets.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::candidate::{Behind, CANDIDATES, built, python};
use super::{Client, PATH, Running, START_TIME};
use crate::{eval, process, workspace};

/// How a ranking finds, and what it is given to do so.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Finding {
    /// Asked for whole wishes, over what every tool says of itself: name, description and schema.
    #[serde(flatten)]
    pub(crate) whole: Means,
    /// The same for the keywords of the wishes, where the search says that it wants keywords.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) in_keywords: Option<[f64; 2]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) in_keywords_untrained: Option<[f64; 2]>,
    /// The same where the names and descriptions of the servers are searched as well. Only ours is measured so: the sets
    /// have up to 2,276 servers, which would be as many processes behind another program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) with_servers: Option<Means>,
}

/// Means of the two figures of a ranking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Means {
    pub(crate) ndcg_10: f64,
    pub(crate) hit_1: f64,
    /// Both over the sets that our ranking was never trained on; absent from runs before it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) untrained: Option<[f64; 2]>,
}

impl Means {
    fn of([all, untrained]: [[f64; 2]; 2]) -> Self {
        Self {
            ndcg_10: all[0],
            hit_1: all[1],
            untrained: Some(untrained),
        }
    }

    /// As it stands in the table.
    pub(crate) fn shown(&self) -> String {
        pair([self.ndcg_10, self.hit_1], self.untrained)
    }
}

impl Finding {
    /// The better of the two ways of asking.
    pub(crate) fn best(&self) -> f64 {
        let [in_keywords, _] = self.in_keywords.unwrap_or_default();
        self.whole.ndcg_10.max(in_keywords)
    }

    /// As it stands in the table.
    pub(crate) fn shown(&self) -> String {
        let whole = self.whole.shown();
        match self.in_keywords {
            None => whole,
            Some(found) => {
                let found = pair(found, self.in_keywords_untrained);
                format!("{whole}; asked in keywords {found}")
            }
        }
    }
}

/// Both figures, and in brackets those of the sets that nobody was trained on.
fn pair([ndcg_10, hit_1]: [f64; 2], untrained: Option<[f64; 2]>) -> String {
    let all = format!("{ndcg_10:.3}, {hit_1:.3}");
    match untrained {
        None => all,
        Some([ndcg_10, hit_1]) => format!("{all} ({ndcg_10:.3}, {hit_1:.3})"),
    }
}

/// The name of the server that offers the tools of a set.
const OFFERING: &str = "tools";

/// Words that say nothing about what is wished for, beside those of one letter or two.
const SMALL_WORDS: &str = "about all also and any are ask been being but can could did does for from had has have help \
    her here him his how into its just let like may might must need nor not our out please she should some than that the \
    their them then there these they this those too very want was were what when where which who whom whose why will with \
    would you your";

/// The figures of a candidate; nothing where there is nothing to search. A search that finds nothing at all was asked
/// in a wrong way, which says nothing about it.
pub(crate) fn of(name: &str) -> Result<Option<Finding>> {
    let finding = asked(name)?;
    if finding.is_some_and(|finding| finding.best() <= 0.0) {
        bail!("{name} was asked and found nothing at all");
    }
    Ok(finding)
}

fn asked(name: &str) -> Result<Option<Finding>> {
    let Some(shared) = workspace::shared() else {
        return Ok(None);
    };
    let found = match name {
        "toolcrib" => of_ours(),
        "fastmcp search" => {
            let script = workspace::root().join("testkit/peers/rivals/finding.py");
            let mut command = Command::new(python("python"));
            command.arg(script).arg(shared.join("data/retrieval"));
            by_set(&process::output(&mut command)?).map(asked_once)
        }
        "mcp-gateway" => of_gateway(&shared),
        _ => return Ok(None),
    };
    found
        .map(Some)
        .with_context(|| format!("{name} does not say how well it finds"))
}

/// A finding for which there is one way of asking.
fn asked_once(whole: Means) -> Finding {
    Finding {
        whole,
        in_keywords: None,
        in_keywords_untrained: None,
        with_servers: None,
    }
}

/// Our figures: over the text that the others are given, and over all that it is given where it is used.
fn of_ours() -> Result<Finding> {
    let own = std::env::current_exe()?;
    let said = |more: &[&str]| -> Result<Means> {
        let mut command = Command::new(&own);
        command.args(["eval", "search", "--json"]).args(more);
        of_eval(&process::output(&mut command)?)
    };
    Ok(Finding {
        with_servers: Some(said(&[])?),
        ..asked_once(said(&["--bare"])?)
    })
}

/// The figures of `mcp-gateway`. It is asked for whole wishes like everyone, and for their keywords as well: its search
/// describes the query as one, and counts each word that stands anywhere in a tool, be it `a` or `to`.
fn of_gateway(shared: &Path) -> Result<Finding> {
    let whole = Means::of(searched(shared, str::to_owned)?);
    let [all, untrained] = searched(shared, keywords)?;
    Ok(Finding {
        in_keywords: Some(all),
        in_keywords_untrained: Some(untrained),
        ..asked_once(whole)
    })
}

/// Means over all sets and over those never trained on, with all tools of a set in one server behind `mcp-gateway`; `put` words a wish for it.
fn searched(shared: &Path, put: fn(&str) -> String) -> Result<[[f64; 2]; 2]> {
    let candidate = CANDIDATES.iter().find(|one| one.name == "mcp-gateway");
    let candidate = candidate.context("mcp-gateway is no candidate")?;
    let place = workspace::scratch().join("rivals/sets");
    std::fs::create_dir_all(&place)?;
    let list = place.join("tools.json");
    let open = |tools: &[Value]| {
        std::fs::write(&list, Value::from(tools).to_string())?;
        let behind = Behind {
            name: OFFERING.into(),
            program: built("hostile"),
            args: vec!["--offer".into(), list.to_string_lossy().into_owned()],
        };
        let (running, _) = Running::start(candidate, &[behind])?;
        let mut client = Client::open(&running.address, PATH)?;
        wait_for_tools(&mut client, tools.len())?;
        let ask = move |query: &str| {
            // It ends the candidate when it is dropped with this.
            let _ = &running;
            let arguments = json!({"query": put(query), "limit": 10});
            names(&told(&mut client, "gateway_search_tools", &arguments)?)
        };
        Ok(ask)
    };
    eval::others::measured(&shared.join("data/retrieval"), open)
}

/// Waits until so many tools are known. It answers before it has asked the server behind it, and until then its search
/// finds nothing without saying why.
fn wait_for_tools(client: &mut Client, count: usize) -> Result<()> {
    let begun = Instant::now();
    loop {
        let known = known(&told(client, "gateway_list_servers", &json!({}))?)?;
        if known == count {
            return Ok(());
        }
        if begun.elapsed() > START_TIME {
            bail!("it knows {known} tools of {count}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What a tool of the candidate itself answers.
fn told(client: &mut Client, tool: &str, arguments: &Value) -> Result<Value> {
    let params = json!({"name": tool, "arguments": arguments});
    content(&client.ask("tools/call", &params)?)
}

/// The JSON in the result of a call.
fn content(result: &Value) -> Result<Value> {
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    serde_json::from_str(text).with_context(|| format!("the call was answered with {result}"))
}

/// How many tools of the server behind it a list of servers counts.
fn known(answer: &Value) -> Result<usize> {
    let servers = answer["servers"].as_array();
    let server = servers.and_then(|all| all.iter().find(|server| server["name"] == OFFERING));
    let count = server.and_then(|server| server["tools_count"].as_u64());
    let count = count.with_context(|| format!("no count of tools in {answer}"))?;
    Ok(usize::try_from(count)?)
}

/// The names in an answer of a search, in their order.
fn names(answer: &Value) -> Result<Vec<String>> {
    let matches = answer["matches"].as_array();
    let matches = matches.with_context(|| format!("no matches in {answer}"))?;
    let name = |found: &Value| found["tool"].as_str().map(str::to_owned);
    matches
        .iter()
        .map(|found| name(found).with_context(|| format!("no name in {found}")))
        .collect()
}

/// The words of a wish that an agent would search for; the wish itself where there are none.
fn keywords(wish: &str) -> String {
    let lower = wish.to_lowercase();
    let small = |word: &str| SMALL_WORDS.split_whitespace().any(|small| small == word);
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.chars().count() > 2 && !small(word))
        .collect();
    if words.is_empty() {
        return wish.to_owned();
    }
    words.join(" ")
}

/// The JSON that may stand below a heading.
fn read(said: &str) -> Result<Value> {
    let json = said.find('{').map_or("", |at| &said[at..]);
    let mut values = serde_json::Deserializer::from_str(json).into_iter::<Value>();
    Ok(values.next().context("there is no JSON")??)
}

/// The two figures at a place.
fn figures(value: &Value, place: &str) -> Result<[f64; 2]> {
    let figure = |name: &str| {
        let found = value.pointer(&format!("{place}/{name}"));
        let found = found.and_then(Value::as_f64);
        found.with_context(|| format!("there is no {place}/{name}"))
    };
    Ok([figure("ndcg_10")?, figure("hit_1")?])
}

/// The means that `cargo xtask eval` says.
fn of_eval(said: &str) -> Result<Means> {
    let value = read(said)?;
    Ok(Means::of([
        figures(&value, "/mean/test")?,
        figures(&value, "/mean_measure_only/test")?,
    ]))
}

/// The means over figures that are given for every set.
fn by_set(said: &str) -> Result<Means> {
    let value = read(said)?;
    let sets = value["sets"].as_object().context("there are no sets")?;
    let mean = |of: fn(&str) -> bool| -> Result<[f64; 2]> {
        let chosen = sets.iter().filter(|(name, _)| of(name));
        let all: Vec<[f64; 2]> = chosen
            .map(|(_, row)| figures(row, ""))
            .collect::<Result<_>>()?;
        #[expect(clippy::cast_precision_loss, reason = "a few sets")]
        let count = all.len().max(1) as f64;
        Ok([0, 1].map(|at| all.iter().map(|row| row[at]).sum::<f64>() / count))
    };
    Ok(Means::of([
        mean(|_| true)?,
        mean(|name| eval::MEASURE_ONLY.contains(&name))?,
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_a_search_are_read_in_their_order() {
        let answer =
            json!({"matches": [{"server": "s", "tool": "b"}, {"server": "s", "tool": "a"}]});
        let result = json!({"content": [{"type": "text", "text": answer.to_string()}]});
        assert_eq!(names(&content(&result).unwrap()).unwrap(), ["b", "a"]);
        assert!(content(&json!({"content": []})).is_err());
        assert!(names(&json!({})).is_err());
        assert!(names(&json!({"matches": [{"name": "a"}]})).is_err());
    }

    #[test]
    fn the_tools_of_the_server_behind_are_counted_and_no_others() {
        let own = json!({"name": "gateway", "tools_count": 7});
        let server = json!({"name": OFFERING, "tools_count": 101});
        assert_eq!(known(&json!({"servers": [own, server]})).unwrap(), 101);
        assert!(known(&json!({"servers": [own]})).is_err());
    }

    #[test]
    fn keywords_are_what_is_left_without_small_words() {
        let check = |wish: &str, expected: &str| assert_eq!(keywords(wish), expected);
        check(
            "Can you add a meeting with \"John\" at 2pm?",
            "add meeting john 2pm",
        );
        check("how is it?", "how is it?");
    }

    #[test]
    fn both_ways_of_asking_are_shown() {
        let mut found = asked_once(Means::of([[0.25, 0.125], [0.2, 0.1]]));
        assert_eq!(found.shown(), "0.250, 0.125 (0.200, 0.100)");
        found.in_keywords = Some([0.5, 0.4]);
        found.in_keywords_untrained = Some([0.3, 0.2]);
        assert_eq!(
            found.shown(),
            "0.250, 0.125 (0.200, 0.100); asked in keywords 0.500, 0.400 (0.300, 0.200)"
        );
    }

    #[test]
    fn what_an_earlier_run_wrote_is_still_read() {
        let old = r#"{"ndcg_10": 0.25, "hit_1": 0.125, "in_keywords": [0.5, 0.4]}"#;
        let found: Finding = serde_json::from_str(old).unwrap();
        assert_eq!(
            found.shown(),
            "0.250, 0.125; asked in keywords 0.500, 0.400"
        );
        let written = serde_json::to_value(found).unwrap();
        assert_eq!(written, serde_json::from_str::<Value>(old).unwrap());
    }

    #[test]
    fn means_are_taken_over_all_sets_and_over_those_never_trained_on() {
        let said = r#"{"sets": {"toollens": {"ndcg_10": 0.5, "hit_1": 0.25}, "apibank": {"ndcg_10": 1.0, "hit_1": 0.75}}}"#;
        let found = by_set(said).unwrap();
        assert_eq!((found.ndcg_10, found.hit_1), (0.75, 0.5));
        assert_eq!(found.untrained, Some([0.5, 0.25]));
    }

    #[test]
    fn the_mean_is_read_below_a_heading() {
        let mean = json!({"test": {"ndcg_10": 0.5, "hit_1": 0.25}});
        let figures = json!({"mean": mean, "mean_measure_only": mean});
        let found = of_eval(&format!("== search\n{figures}\nall good")).unwrap();
        assert_eq!((found.ndcg_10, found.hit_1), (0.5, 0.25));
        assert_eq!(found.untrained, Some([0.5, 0.25]));
        assert!(of_eval(&json!({"mean": mean}).to_string()).is_err());
    }
}
