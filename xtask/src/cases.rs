//! Behaviour cases of the shared data: one JSON object per line, an input and what is right.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::{ui, workspace};

/// `cargo xtask eval`
pub(crate) fn run(_args: &[String]) -> Result<()> {
    let Some(shared) = workspace::shared() else {
        ui::line("no shared data beside the workspace: evaluations are not run here");
        return Ok(());
    };
    let dir = shared.join("data/cases");
    for path in crate::source::files_below(&dir, ".jsonl") {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        ui::line(&format!(
            "{name:<28} {} cases, not held yet",
            read(&path)?.len()
        ));
    }
    Ok(())
}

/// The rows of a case file.
fn read(path: &Path) -> Result<Vec<Value>> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let rows = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(serde_json::from_str);
    rows.collect::<Result<_, _>>()
        .with_context(|| format!("{} is not one JSON object per line", path.display()))
}
