//! How well the tool for a wish is found: means over the test halves of the shared retrieval sets.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::candidate::{Behind, CANDIDATES, built, python};
use super::{Client, PATH, Running};
use crate::{eval, process, workspace};

/// The two figures of a ranking.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Finding {
    pub(crate) ndcg_10: f64,
    pub(crate) hit_1: f64,
}

/// The figures of a candidate; nothing where it has no search of its own that can be asked.
pub(crate) fn of(name: &str) -> Result<Option<Finding>> {
    let Some(shared) = workspace::shared() else {
        return Ok(None);
    };
    let (said, place) = match name {
        "toolcrib" => {
            let own = std::env::current_exe()?;
            let said = process::output(Command::new(own).args(["eval", "search", "--json"]))?;
            (said, "/mean/test")
        }
        "fastmcp" => {
            let script = workspace::root().join("testkit/peers/rivals/finding.py");
            let mut command = Command::new(python("python"));
            command.arg(script).arg(shared.join("data/retrieval"));
            (process::output(&mut command)?, "/mean")
        }
        "mcp-gateway" => return searched(name, "gateway_search_tools", &shared).map(Some),
        _ => return Ok(None),
    };
    read(&said, place)
        .map(Some)
        .with_context(|| format!("{name} does not say how well it finds"))
}

/// The figures of a candidate that is asked through a tool of its own, with all tools of a set in one server behind it.
fn searched(name: &str, tool: &str, shared: &Path) -> Result<Finding> {
    let candidate = CANDIDATES.iter().find(|candidate| candidate.name == name);
    let candidate = candidate.with_context(|| format!("{name} is no candidate"))?;
    let place = workspace::scratch().join("rivals/sets");
    std::fs::create_dir_all(&place)?;
    let list = place.join("tools.json");
    let open = |tools: &[Value]| {
        std::fs::write(&list, Value::from(tools).to_string())?;
        let behind = Behind {
            name: "tools".into(),
            program: built("hostile"),
            args: vec!["--offer".into(), list.to_string_lossy().into_owned()],
        };
        let (running, _) = Running::start(candidate, &[behind])?;
        let mut client = Client::open(&running.address, PATH)?;
        let ask = move |query: &str| {
            // It ends the candidate when it is dropped with this.
            let _ = &running;
            let params = json!({"name": tool, "arguments": {"query": query, "limit": 10}});
            names(&client.ask("tools/call", &params)?)
        };
        Ok(ask)
    };
    let [ndcg_10, hit_1] = eval::others::measured(&shared.join("data/retrieval"), open)?;
    Ok(Finding { ndcg_10, hit_1 })
}

/// The names in an answer of a search, in their order.
fn names(result: &Value) -> Result<Vec<String>> {
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    let answer: Value = serde_json::from_str(text)
        .with_context(|| format!("the search was answered with {result}"))?;
    let matches = answer["matches"]
        .as_array()
        .context("there are no matches")?;
    let names = matches.iter().filter_map(|found| found["tool"].as_str());
    Ok(names.map(str::to_owned).collect())
}

/// Reads the figures out of JSON that may stand below a heading.
fn read(said: &str, place: &str) -> Result<Finding> {
    let json = said.find('{').map_or("", |at| &said[at..]);
    let mut values = serde_json::Deserializer::from_str(json).into_iter::<Value>();
    let value = values.next().context("there is no JSON")??;
    let found = value.pointer(place).context("the mean is not there")?;
    Ok(serde_json::from_value(found.clone())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_a_search_are_read_in_their_order() {
        let answer =
            json!({"matches": [{"server": "s", "tool": "b"}, {"server": "s", "tool": "a"}]});
        let result = json!({"content": [{"type": "text", "text": answer.to_string()}]});
        assert_eq!(names(&result).unwrap(), ["b", "a"]);
        assert!(names(&json!({"content": []})).is_err());
    }

    #[test]
    fn the_mean_is_read_below_a_heading() {
        let said = "== search\n{\"mean\": {\"ndcg_10\": 0.5, \"hit_1\": 0.25}}\nall good";
        let found = read(said, "/mean").unwrap();
        assert_eq!((found.ndcg_10, found.hit_1), (0.5, 0.25));
        assert!(read(said, "/mean/test").is_err());
    }
}
