//! The figures on disk, and the table that readers see.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::finding::Finding;
use crate::bench::grouped;
use crate::machine::Machine;
use crate::workspace;

const JSON: &str = "bench/peers.json";
/// Between these two lines of the README stands the table.
const BEGIN: &str = "<!-- written by `cargo xtask bench peers` -->\n";
const END: &str = "<!-- end -->\n";

/// What the project aims at for a call through it, and for the process that makes it.
const AIM_CPU_US: u64 = 100;
const AIM_LATENCY_TENTHS: u64 = 18;
const AIM_MEMORY_MB: u64 = 20;
/// The one whose throughput is aimed at, and how many times that.
const STRONGEST: &str = "mcp-gateway";
const AIM_THROUGHPUT: u64 = 3;

/// The last run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Figures {
    pub(crate) machine: Machine,
    pub(crate) load_after: String,
    /// The call without anybody between, over the server's pipe.
    pub(crate) direct_latency_us: u64,
    /// The same to a server over HTTP, which is how everyone here is called.
    #[serde(default)]
    pub(crate) direct_http_us: u64,
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
    #[serde(default)]
    pub(crate) searches: bool,
    pub(crate) start_ms: u64,
    pub(crate) latency_us: u64,
    pub(crate) cpu_us: u64,
    pub(crate) calls_per_second: u64,
    pub(crate) memory_kib: u64,
    /// Absent where it did not come up before the real servers.
    pub(crate) surface_tokens: Option<usize>,
    /// Absent where it has no search, or nothing to be searched is there.
    pub(crate) finding: Option<Finding>,
}

impl Figures {
    /// The last run.
    fn load() -> Result<Self> {
        let text = std::fs::read_to_string(workspace::root().join(JSON));
        let text = text.with_context(|| format!("{JSON} is not there"))?;
        serde_json::from_str(&text).with_context(|| format!("{JSON} cannot be read"))
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
            "`cargo xtask bench peers`, {}, {} cores, commit {}, load {} before and {} after; ours is the program as it is packaged (`cargo xtask trained`). Medians of alternating rounds; one stdio server behind each, and everyone is called over HTTP; memory without that server; the direct call takes {} µs over the server's pipe and {} µs over HTTP. The agent's tokens are for {} tools of twelve real servers, which cost {} tokens when all are shown.\n\n",
            self.machine.date,
            self.machine.cores,
            self.machine.commit,
            self.machine.load,
            self.load_after,
            self.direct_latency_us,
            self.direct_http_us,
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
                row.found(),
            );
        }
        text.push_str(&self.behind());
        text.push_str(&self.aims());
        text
    }

    /// What was aimed at, and what became of it.
    fn aims(&self) -> String {
        let Some((ours, others)) = self.rows.split_first() else {
            return String::new();
        };
        let strongest = others.iter().find(|row| row.name == STRONGEST);
        let direct = tenths(ours.latency_us * 10 / self.direct_http_us.max(1));
        let mut said = vec![
            aim(
                &format!("{AIM_CPU_US} µs of CPU for a call"),
                &format!("{} µs", ours.cpu_us),
                ours.cpu_us <= AIM_CPU_US,
            ),
            aim(
                &format!("{} times the direct latency", tenths(AIM_LATENCY_TENTHS)),
                &format!("{direct} times that over HTTP"),
                ours.latency_us * 10 <= self.direct_http_us * AIM_LATENCY_TENTHS,
            ),
            aim(
                &format!("{AIM_MEMORY_MB} MB of memory"),
                &format!("{} MB", ours.memory_kib / 1024),
                ours.memory_kib <= AIM_MEMORY_MB * 1024,
            ),
        ];
        if let Some(other) = strongest {
            let times = tenths(ours.calls_per_second * 10 / other.calls_per_second.max(1));
            said.push(aim(
                &format!("{AIM_THROUGHPUT} times the calls a second of {STRONGEST}"),
                &format!("{times} times"),
                ours.calls_per_second >= other.calls_per_second * AIM_THROUGHPUT,
            ));
        }
        format!("\nWhat we aim at: {}.\n", said.join("; "))
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
                if theirs <= own {
                    in_what.push(what);
                }
            };
            if let (Some(theirs), Some(own)) = (&other.finding, &ours.finding) {
                less("finding", per_mille(own.ndcg_10), per_mille(theirs.best()));
            }
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
                said.push(format!(
                    "{} is level or ahead in {}",
                    other.name,
                    in_what.join(", ")
                ));
            }
        }
        if said.is_empty() {
            return "\nNobody measured here is ahead in any column.\n".to_owned();
        }
        format!("\nWhere we are not ahead: {}.\n", said.join("; "))
    }
}

impl Row {
    /// How well it finds, as it stands in the table.
    fn found(&self) -> String {
        match self.finding {
            Some(finding) => finding.shown(),
            None if self.searches => "not measured".to_owned(),
            None => "has no search".to_owned(),
        }
    }
}

/// An aim, what was reached, and whether that is enough.
fn aim(aim: &str, reached: &str, is_met: bool) -> String {
    let verdict = if is_met { "met" } else { "not met" };
    format!("{aim} ({verdict}: {reached})")
}

fn tenths(tenths: u64) -> String {
    format!("{}.{}", tenths / 10, tenths % 10)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share from 0 to 1"
)]
fn per_mille(share: f64) -> u64 {
    (share * 1000.0).round() as u64
}

/// A figure with its ratio to ours.
fn beside(shown: String, value: u64, ours: u64) -> String {
    if value == ours || ours == 0 {
        return shown;
    }
    format!("{shown} (×{})", tenths(value * 10 / ours))
}

/// The README with the table of the last run in its place.
pub(crate) fn with_table() -> Result<String> {
    let text = std::fs::read_to_string(workspace::root().join("README.md"))?.replace("\r\n", "\n");
    placed(&text, &Figures::load()?.table())
}

fn placed(text: &str, table: &str) -> Result<String> {
    let parts = text
        .split_once(BEGIN)
        .and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) = parts.context("the README has no place for the table of figures")?;
    Ok(format!("{before}{BEGIN}{table}{END}{after}"))
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
            searches: name == "toolcrib",
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
            direct_http_us: 50,
            exposed_tools: 1_234,
            exposed_tokens: 567_890,
            rows: vec![
                row("toolcrib", 100, 20 * 1024),
                row("mcp-gateway", 250, 10 * 1024),
            ],
        };
        let table = figures.table();
        for part in [
            "| **mcp-gateway** 1.0: runs | 349 | 10 ms | 250 µs (×2.5) | 100 µs | 5,000 | 10 MB (×0.5) | has no search |",
            "1,234 tools of twelve real servers, which cost 567,890 tokens",
            "Where we are not ahead: mcp-gateway is level or ahead in start, CPU, memory, calls a second, tokens.",
            "100 µs of CPU for a call (met: 100 µs); 1.8 times the direct latency (not met: 2.0 times that over HTTP)",
            "20 MB of memory (met: 20 MB); 3 times the calls a second of mcp-gateway (not met: 1.0 times).",
        ] {
            assert!(table.contains(part), "{part} is not in\n{table}");
        }
    }

    #[test]
    fn the_table_is_put_between_its_marks_and_nowhere_else() {
        let text = format!("a\n{BEGIN}old\n{END}b\n");
        let expected = format!("a\n{BEGIN}new\n{END}b\n");
        assert_eq!(placed(&text, "new\n").unwrap(), expected);
        assert!(placed("a\n", "new\n").is_err(), "a table has no place");
    }
}
