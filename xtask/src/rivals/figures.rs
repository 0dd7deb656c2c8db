//! The figures on disk, and the table that readers see.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::finding::Finding;
use crate::machine::Machine;
use crate::workspace;

const JSON: &str = "bench/peers.json";
/// Between these two lines of the README stands the table.
const BEGIN: &str = "<!-- written by `cargo xtask bench peers` -->\n";
const END: &str = "<!-- end -->\n";

/// The last run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Figures {
    pub(crate) machine: Machine,
    pub(crate) load_after: String,
    /// The call without anybody between, over the server's pipe.
    pub(crate) direct_latency_us: u64,
    pub(crate) exposed_tools: usize,
    pub(crate) exposed_tokens: usize,
    pub(crate) rows: Vec<Row>,
}

/// One candidate.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) release: String,
    pub(crate) about: String,
    pub(crate) compact: bool,
    pub(crate) start_ms: u64,
    pub(crate) latency_us: u64,
    pub(crate) cpu_us: u64,
    pub(crate) calls_per_second: u64,
    pub(crate) memory_kib: u64,
    /// Absent where it did not come up before the real servers.
    pub(crate) surface_tokens: Option<usize>,
    /// Absent where it has no search that can be asked.
    pub(crate) finding: Option<Finding>,
}

impl Figures {
    /// The last run, if there was one.
    fn load() -> Result<Option<Self>> {
        let path = workspace::root().join(JSON);
        if !path.is_file() {
            return Ok(None);
        }
        let text = std::fs::read_to_string(path)?;
        serde_json::from_str(&text)
            .map(Some)
            .with_context(|| format!("{JSON} cannot be read"))
    }

    /// Writes the figures and the table in the README.
    pub(crate) fn save(&self) -> Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        std::fs::write(workspace::root().join(JSON), text)?;
        std::fs::write(workspace::root().join("README.md"), with_table()?)?;
        Ok(())
    }

    /// The table, with what each figure is relative to ours.
    pub(crate) fn table(&self) -> String {
        let Some(ours) = self.rows.first() else {
            return String::new();
        };
        let mut text = format!(
            "`cargo xtask bench peers`, {}, {} cores, commit {}, load {} before and {} after. Medians of alternating rounds; one stdio server behind each; memory without that server; the direct call takes {} µs. The agent's tokens are for {} tools of twelve real servers, which cost {} tokens when all are shown.\n\n",
            self.machine.date,
            self.machine.cores,
            self.machine.commit,
            self.machine.load,
            self.load_after,
            self.direct_latency_us,
            grouped(self.exposed_tools as u64),
            grouped(self.exposed_tokens as u64),
        );
        text.push_str("| | what the agent sees, tokens | start to first list | latency of a call | CPU of a call | calls a second, 32 at once | memory | finding: NDCG@10, hit@1 |\n|---|---:|---:|---:|---:|---:|---:|---:|\n");
        for row in &self.rows {
            let surface = row.surface_tokens.map_or_else(
                || "did not come up".to_owned(),
                |tokens| grouped(tokens as u64),
            );
            let _ = writeln!(
                text,
                "| **{}** {}: {} | {surface} | {} | {} | {} | {} | {} | {} |",
                row.name,
                row.release,
                row.about,
                beside(format!("{} ms", row.start_ms), row.start_ms, ours.start_ms),
                beside(
                    format!("{} µs", row.latency_us),
                    row.latency_us,
                    ours.latency_us
                ),
                beside(format!("{} µs", row.cpu_us), row.cpu_us, ours.cpu_us),
                beside(
                    grouped(row.calls_per_second),
                    row.calls_per_second,
                    ours.calls_per_second
                ),
                beside(
                    format!("{} MB", row.memory_kib / 1024),
                    row.memory_kib,
                    ours.memory_kib
                ),
                row.finding
                    .map_or_else(|| "not measured".to_owned(), |found| found.shown()),
            );
        }
        text.push_str(&self.behind());
        text
    }

    /// Where another is ahead of us, in words: a table that only shows victories convinces nobody.
    fn behind(&self) -> String {
        let Some((ours, others)) = self.rows.split_first() else {
            return String::new();
        };
        let mut said = Vec::new();
        for other in others {
            let mut in_what = Vec::new();
            let mut less = |what, theirs: u64, own: u64| {
                if theirs < own {
                    in_what.push(what);
                }
            };
            less("start", other.start_ms, ours.start_ms);
            less("latency", other.latency_us, ours.latency_us);
            less("CPU", other.cpu_us, ours.cpu_us);
            less("memory", other.memory_kib, ours.memory_kib);
            less(
                "calls a second",
                ours.calls_per_second,
                other.calls_per_second,
            );
            if let (Some(theirs), Some(own)) = (other.surface_tokens, ours.surface_tokens) {
                less("tokens", theirs as u64, own as u64);
            }
            if !in_what.is_empty() {
                said.push(format!("{} is ahead in {}", other.name, in_what.join(", ")));
            }
        }
        if said.is_empty() {
            return "\nNobody measured here is ahead in any column.\n".to_owned();
        }
        format!("\nWhere we are not ahead: {}.\n", said.join("; "))
    }
}

/// A figure with its ratio to ours.
fn beside(shown: String, value: u64, ours: u64) -> String {
    if value == ours || ours == 0 {
        return shown;
    }
    let tenths = value * 10 / ours;
    format!("{shown} (×{}.{})", tenths / 10, tenths % 10)
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The README with the table of the last run in its place.
pub(crate) fn with_table() -> Result<String> {
    let text = std::fs::read_to_string(workspace::root().join("README.md"))?.replace("\r\n", "\n");
    match Figures::load()? {
        Some(figures) => Ok(placed(&text, &figures.table())),
        None => Ok(text),
    }
}

fn placed(text: &str, table: &str) -> String {
    let parts = text
        .split_once(BEGIN)
        .and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    match parts {
        Some((before, after)) => format!("{before}{BEGIN}{table}{END}{after}"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, latency_us: u64, memory_kib: u64) -> Row {
        Row {
            name: name.into(),
            release: "1.0".into(),
            about: "runs".into(),
            compact: true,
            start_ms: 10,
            latency_us,
            cpu_us: 100,
            calls_per_second: 5_000,
            memory_kib,
            surface_tokens: Some(349),
            finding: (name == "toolcrib").then_some(Finding {
                ndcg_10: 0.729,
                hit_1: 0.658,
                in_keywords: None,
            }),
        }
    }

    #[test]
    fn the_table_has_ratios_and_says_where_others_are_ahead() {
        let figures = Figures {
            machine: Machine::now(),
            load_after: "0.1".into(),
            direct_latency_us: 40,
            exposed_tools: 1_234,
            exposed_tokens: 567_890,
            rows: vec![
                row("toolcrib", 100, 20 * 1024),
                row("other", 250, 10 * 1024),
            ],
        };
        let table = figures.table();
        for part in [
            "| **other** 1.0: runs | 349 | 10 ms | 250 µs (×2.5) | 100 µs | 5,000 | 10 MB (×0.5) | not measured |",
            "1,234 tools of twelve real servers, which cost 567,890 tokens",
            "Where we are not ahead: other is ahead in memory.",
        ] {
            assert!(table.contains(part), "{part} is not in\n{table}");
        }
    }

    #[test]
    fn the_table_is_put_between_its_marks_and_nowhere_else() {
        let text = format!("a\n{BEGIN}old\n{END}b\n");
        assert_eq!(placed(&text, "new\n"), format!("a\n{BEGIN}new\n{END}b\n"));
        assert_eq!(placed("a\n", "new\n"), "a\n");
    }
}
