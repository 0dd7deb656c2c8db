//! Risk as the product derives it, against operations that a careful person rated.
//!
//! The labels are of the shared data: method, path and operation id of a real API, its risk, and where two answers are
//! right the other one. Tool lists of real MCP servers come after it: there the servers' own annotations are the other
//! opinion, and what is printed is how often the two agree.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use toolcrib_core::policy::Risk;
use toolcrib_core::policy::risk::{Inputs, derive};

use crate::{source, ui, workspace};

/// How many of a hundred labels must be right.
const RIGHT_PERCENT_MIN: usize = 90;

/// `cargo xtask eval labels`
pub(crate) fn run(args: &[String]) -> Result<()> {
    if let Some(unknown) = args.first() {
        bail!("the risk labels take no arguments, but `{unknown}` was given");
    }
    let Some(shared) = workspace::shared() else {
        ui::line("no shared data beside the workspace: risk labels are not looked at here");
        return Ok(());
    };
    let data = shared.join("data");
    operations(&data.join("openapi/risk_labels.jsonl"))?;
    tools(&data.join("mcp-tools"))
}

fn operations(path: &Path) -> Result<()> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let (mut right, mut all, mut grave) = (0, 0, 0);
    for line in text.lines() {
        let row: Value = serde_json::from_str(line)?;
        let of = |field: &str| row[field].as_str().unwrap_or("");
        let (risk, evidence) = derive(&Inputs {
            method: Some(of("method")),
            path: Some(of("path")),
            ..inputs(of("adapter"), of("operation_id"), "")
        });
        let also = row["also_acceptable"].as_array().into_iter().flatten();
        let accepted = also
            .chain([&row["risk"]])
            .any(|label| label == risk.as_str());
        all += 1;
        right += usize::from(accepted);
        if !accepted {
            let detail = evidence.detail();
            ui::line(&format!(
                "{} is {}, not {risk} ({detail})",
                of("operation_id"),
                of("risk")
            ));
        }
        let underrated = of("risk") == "destructive" && risk < Risk::High;
        let overrated = of("risk") == "low" && risk > Risk::Medium;
        grave += usize::from(underrated || overrated);
    }
    ui::line(&format!(
        "{right} of {all} operations are rated right, {grave} gravely wrong"
    ));
    if right * 100 < all * RIGHT_PERCENT_MIN || grave > 0 {
        bail!("at least {RIGHT_PERCENT_MIN} % must be right and none gravely wrong");
    }
    Ok(())
}

fn tools(dir: &Path) -> Result<()> {
    let (mut all, mut silent) = (0, 0);
    let mut reads = Tally::default();
    let mut ends = Tally::default();
    for path in source::files_below(dir, ".json") {
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let list: Value = serde_json::from_str(&text)?;
        let server = list["server"].as_str().unwrap_or("");
        for tool in list["tools"].as_array().into_iter().flatten() {
            let of = |field: &str| tool[field].as_str().unwrap_or("");
            let (risk, evidence) = derive(&inputs(server, of("name"), of("description")));
            all += 1;
            silent += usize::from(!evidence.any());
            let annotations = &tool["annotations"];
            if annotations["readOnlyHint"] == true {
                reads.add(risk == Risk::Low);
            } else if annotations["destructiveHint"] == true {
                ends.add(risk > Risk::Low);
            }
        }
    }
    ui::line(&format!(
        "{all} tools by name and description alone; nothing is known of {silent}"
    ));
    ui::line(&format!(
        "called read-only by their servers and rated low: {reads}"
    ));
    ui::line(&format!(
        "called destructive by their servers and rated above low: {ends}"
    ));
    Ok(())
}

fn inputs<'a>(server: &'a str, name: &'a str, description: &'a str) -> Inputs<'a> {
    Inputs {
        configured: None,
        server,
        name,
        description,
        method: None,
        path: None,
        extensions: &Value::Null,
        scopes: &[],
        annotations: &Value::Null,
        trusted: false,
    }
}

#[derive(Default)]
struct Tally {
    agreed: usize,
    all: usize,
}

impl Tally {
    fn add(&mut self, agrees: bool) {
        self.all += 1;
        self.agreed += usize::from(agrees);
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", self.agreed, self.all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(rows: &str) -> Result<()> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("labels.jsonl");
        std::fs::write(&path, rows).unwrap();
        operations(&path)
    }

    #[test]
    fn labels_are_held_and_grave_errors_fail() {
        let row = |method: &str, name: &str, risk: &str| {
            format!(
                r#"{{"method":"{method}","path":"/x","operation_id":"{name}","risk":"{risk}","also_acceptable":[]}}"#
            )
        };
        assert!(judged(&row("GET", "getX", "low")).is_ok());
        assert!(judged(&row("GET", "getX", "destructive")).is_err());
        assert!(judged(&row("POST", "sendX", "low")).is_err());
        let also = r#"{"method":"POST","path":"/x","operation_id":"sendX","risk":"medium","also_acceptable":["high"]}"#;
        assert!(judged(also).is_ok());
    }
}
