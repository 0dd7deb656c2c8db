//! The committed floors: what became of each file, and must not become less.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::ui;

/// What became of one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Row {
    /// Operations in the file.
    pub(super) operations: usize,
    /// Tools that were made.
    pub(super) tools: usize,
    /// Arguments of all tools.
    pub(super) arguments: usize,
    /// Tools whose example fits their schema.
    pub(super) examples: usize,
}

const HEADER: &str = "# Written by `cargo xtask eval adapters --write-floors`: what became of each API description.\n";

/// Fails where less became of a file than the floors have; writes them anew when asked to.
pub(super) fn hold(path: &Path, rows: &BTreeMap<String, Row>, write: bool) -> Result<()> {
    if write {
        std::fs::write(path, format!("{HEADER}{}", toml::to_string(rows)?))?;
        return Ok(());
    }
    let text = std::fs::read_to_string(path).with_context(|| {
        format!(
            "{} is missing; write it with --write-floors",
            path.display()
        )
    })?;
    let floors: BTreeMap<String, Row> = toml::from_str(&text)?;
    let lost = lost(&floors, rows);
    if !lost.is_empty() {
        bail!("less became of these than before:\n  {}", lost.join("\n  "));
    }
    ui::line("adapters: every floor holds");
    Ok(())
}

fn lost(floors: &BTreeMap<String, Row>, rows: &BTreeMap<String, Row>) -> Vec<String> {
    let mut lost = Vec::new();
    for (name, floor) in floors {
        let Some(now) = rows.get(name) else {
            lost.push(format!("{name} is gone"));
            continue;
        };
        let less = now.operations < floor.operations
            || now.tools < floor.tools
            || now.arguments < floor.arguments
            || now.examples < floor.examples;
        if less {
            lost.push(format!("{name}: {now:?}, floor {floor:?}"));
        }
    }
    lost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_than_a_floor_is_lost() {
        let row = |tools| Row {
            tools,
            ..Row::default()
        };
        let floors = BTreeMap::from([("a".to_owned(), row(2)), ("b".to_owned(), row(1))]);
        assert_eq!(lost(&floors, &floors).len(), 0);
        let now = BTreeMap::from([("a".to_owned(), row(1))]);
        assert_eq!(lost(&floors, &now).len(), 2);
    }
}
