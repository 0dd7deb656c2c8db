//! How well the tool for a wish is found: means over the test halves of the shared retrieval sets.

use std::process::Command;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::candidate::python;
use crate::{process, workspace};

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
        _ => return Ok(None),
    };
    read(&said, place)
        .map(Some)
        .with_context(|| format!("{name} does not say how well it finds"))
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
    fn the_mean_is_read_below_a_heading() {
        let said = "== search\n{\"mean\": {\"ndcg_10\": 0.5, \"hit_1\": 0.25}}\nall good";
        let found = read(said, "/mean").unwrap();
        assert_eq!((found.ndcg_10, found.hit_1), (0.5, 0.25));
        assert!(read(said, "/mean/test").is_err());
    }
}
