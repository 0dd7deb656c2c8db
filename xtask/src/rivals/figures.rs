//! The figures on disk, and the table that readers see.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::candidate::why_ahead;
use super::finding::Finding;
use crate::bench::grouped;
use crate::machine::Machine;
use crate::{bench, workspace};

const JSON: &str = "bench/peers.json";
/// Between these two lines of the README stands the table.
const BEGIN: &str = "<!-- written by `cargo xtask bench peers` -->\n";
const END: &str = "<!-- end -->\n";

/// What the project aims at for a call through it, and for the process that makes it.
const AIM_CPU_US: u64 = 100;
const AIM_LATENCY_TENTHS: u64 = 18;
/// Of a process that listens, has a server behind it and was not called yet.
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
    /// While nobody calls, with a server behind it; absent from runs before it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) memory_idle_kib: Option<u64>,
    /// After all calls.
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
        put_table()
    }

    /// The table, with what each figure is relative to ours.
    pub(crate) fn table(&self) -> String {
        let Some(ours) = self.rows.first() else {
            return String::new();
        };
        let (memory, column) = if ours.memory_idle_kib.is_some() {
            let idle = " (idle: a second after the first list, before any call)";
            (idle, "memory, idle / after the load")
        } else {
            ("", "memory")
        };
        let mut text = format!(
            "`cargo xtask bench peers`, {}, {} cores, commit {}, load {} before and {} after; ours is the program as it is packaged (`cargo xtask trained`). Medians of alternating rounds; one stdio server behind each, and everyone is called over HTTP; memory without that server{memory}; the direct call takes {} µs over the server's pipe and {} µs over HTTP. The agent's tokens, counted as o200k does, are for {} tools of twelve real servers, which cost {} tokens when all are shown.{}\n\n",
            self.machine.date,
            self.machine.cores,
            self.machine.commit,
            self.machine.load,
            self.load_after,
            self.direct_latency_us,
            self.direct_http_us,
            grouped(self.exposed_tools as u64),
            grouped(self.exposed_tokens as u64),
            ours.finding.map(about_finding).unwrap_or_default(),
        );
        let _ = writeln!(
            text,
            "| | what the agent sees, tokens | start to first list | latency of a call | CPU of a call | calls a second, 32 at once | {column} | finding: NDCG@10, hit@1 |\n|---|---:|---:|---:|---:|---:|---:|---:|"
        );
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
                    format!("{} µs", grouped(row.latency_us)),
                    row.latency_us,
                    ours.latency_us
                ),
                beside(
                    format!("{} µs", grouped(row.cpu_us)),
                    row.cpu_us,
                    ours.cpu_us
                ),
                beside(
                    grouped(row.calls_per_second),
                    row.calls_per_second,
                    ours.calls_per_second
                ),
                row.memory(ours),
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
        let direct = times(ours.latency_us, self.direct_http_us);
        let (idle, when) = match ours.memory_idle_kib {
            Some(idle) => (idle, ""),
            None => (ours.memory_kib, " after calls"),
        };
        let mut said = vec![
            aim(
                &format!("{AIM_CPU_US} µs of CPU for a call"),
                &format!("{} µs", ours.cpu_us),
                ours.cpu_us <= AIM_CPU_US,
            ),
            aim(
                &format!("{} times the direct latency", times(AIM_LATENCY_TENTHS, 10)),
                &format!("{direct} times that over HTTP"),
                ours.latency_us * 10 <= self.direct_http_us * AIM_LATENCY_TENTHS,
            ),
            aim(
                &format!("{AIM_MEMORY_MB} MB of memory, idle"),
                &format!("{} MB{when}", megabytes(idle)),
                idle * 1024 <= AIM_MEMORY_MB * 1_000_000,
            ),
        ];
        if let Some(other) = strongest {
            let times = times(ours.calls_per_second, other.calls_per_second);
            said.push(aim(
                &format!("{AIM_THROUGHPUT} times the calls a second of {STRONGEST}"),
                &format!("{times} times"),
                ours.calls_per_second >= other.calls_per_second * AIM_THROUGHPUT,
            ));
        }
        format!("\nWhat we aim at: {}.\n", said.join("; "))
    }

    /// What our own benches say about these figures.
    fn beside_the_benches(&self) -> Result<String> {
        let Some(ours) = self.rows.first() else {
            return Ok(String::new());
        };
        let flush = bench::figure("store", "a flush of the disk alone, median")?;
        let definitions = bench::figure("tokens", "the five definitions")?;
        Ok(notes(
            ours.latency_us,
            flush.map(|flush| flush.value),
            definitions.and_then(|five| five.at_most),
        ))
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
                less("finding", per_mille(own.best()), per_mille(theirs.best()));
            }
            less("start", other.start_ms, ours.start_ms);
            less("latency", other.latency_us, ours.latency_us);
            less("CPU", other.cpu_us, ours.cpu_us);
            if let (Some(theirs), Some(own)) = (other.memory_idle_kib, ours.memory_idle_kib) {
                less("idle memory", theirs, own);
            }
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
                let why = why_ahead(&other.name).map(|why| format!(" ({why})"));
                said.push(format!(
                    "{} is level or ahead in {}{}",
                    other.name,
                    in_what.join(", "),
                    why.unwrap_or_default()
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
    /// What it holds beside what ours does, as it stands in the table.
    fn memory(&self, ours: &Self) -> String {
        let after = format!("{} MB", megabytes(self.memory_kib));
        let after = beside(after, self.memory_kib, ours.memory_kib);
        match (self.memory_idle_kib, ours.memory_idle_kib) {
            (Some(idle), Some(own)) => {
                let before = beside(format!("{} MB", megabytes(idle)), idle, own);
                format!("{before} / {after}")
            }
            _ => after,
        }
    }

    /// How well it finds, as it stands in the table.
    fn found(&self) -> String {
        match self.finding {
            Some(finding) => finding.shown(),
            None if self.searches => "not measured".to_owned(),
            None => "has no search".to_owned(),
        }
    }
}

/// A flush of the disk beside our latency, and what the definitions cost at most.
fn notes(latency_us: u64, flush_ns: Option<u64>, definitions: Option<u64>) -> String {
    let mut said = Vec::new();
    if let Some(flush) = flush_ns {
        let share = (flush * 100 + latency_us * 500) / (latency_us * 1_000).max(1);
        said.push(format!(
            "A flush of the disk alone, for which a call waits, takes {} µs, {share} % of our latency (`cargo xtask bench store`).",
            (flush + 500) / 1_000
        ));
    }
    if let Some(most) = definitions {
        said.push(format!(
            "The five definitions say in half a line what is behind them and cost {most} tokens at most (`cargo xtask bench tokens`)."
        ));
    }
    if said.is_empty() {
        return String::new();
    }
    format!("\n{}\n", said.join(" "))
}

/// An aim, what was reached, and whether that is enough.
fn aim(aim: &str, reached: &str, is_met: bool) -> String {
    let verdict = if is_met { "met" } else { "not met" };
    format!("{aim} ({verdict}: {reached})")
}

/// How the column of finding is to be read. An earlier run did not give everybody the same text, and is not said to.
fn about_finding(ours: Finding) -> String {
    let Some(with_servers) = ours.with_servers else {
        return String::new();
    };
    format!(
        " Finding is measured on the test halves of public sets, and everybody searches the same text: names, descriptions and schemas of tools, all in one server. Our ranking was trained on the dev halves of most of these sets; in brackets are the means of those that it was never trained on. Where it knows the servers too, as with an agent, ours comes to {}.",
        with_servers.shown()
    )
}

/// Megabytes of a thousand kilobytes of a thousand bytes.
fn megabytes(kib: u64) -> u64 {
    (kib * 1024 + 500_000) / 1_000_000
}

/// How many times as much a figure is: a decimal, below one two or as many as it takes to tell it from nothing.
#[expect(clippy::cast_precision_loss, reason = "shown with a few digits")]
fn times(value: u64, of: u64) -> String {
    let times = value as f64 / of.max(1) as f64;
    if times >= 0.995 {
        return format!("{times:.1}");
    }
    (2..=6)
        .map(|digits| format!("{times:.digits$}"))
        .find(|text| text.contains(|digit| ('1'..='9').contains(&digit)))
        .unwrap_or_else(|| "0".to_owned())
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
    format!("{shown} (×{})", times(value, ours))
}

/// The README with the table of the last run in its place.
pub(crate) fn with_table() -> Result<String> {
    let text = std::fs::read_to_string(workspace::root().join("README.md"))?.replace("\r\n", "\n");
    let figures = Figures::load()?;
    placed(&text, &(figures.table() + &figures.beside_the_benches()?))
}

/// Puts the table of the last run into the README.
pub(crate) fn put_table() -> Result<()> {
    std::fs::write(workspace::root().join("README.md"), with_table()?)?;
    Ok(())
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
    use super::super::finding::Means;
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
            memory_idle_kib: Some(memory_kib / 2),
            memory_kib,
            surface_tokens: Some(349),
            finding: (name == "toolcrib").then_some(Finding {
                whole: Means {
                    ndcg_10: 0.701,
                    hit_1: 0.622,
                    untrained: Some([0.6, 0.5]),
                },
                in_keywords: None,
                in_keywords_untrained: None,
                with_servers: Some(Means {
                    ndcg_10: 0.729,
                    hit_1: 0.658,
                    untrained: Some([0.61, 0.51]),
                }),
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
                row("toolcrib", 100, 40_000),
                row("mcp-gateway", 250, 10_000),
            ],
        };
        let table = figures.table();
        for part in [
            "| **mcp-gateway** 1.0: runs | 349 | 10 ms | 250 µs (×2.5) | 100 µs | 5,000 | 5 MB (×0.25) / 10 MB (×0.25) | has no search |",
            "| calls a second, 32 at once | memory, idle / after the load | finding",
            "1,234 tools of twelve real servers, which cost 567,890 tokens",
            "| 100 µs | 100 µs | 5,000 | 20 MB / 41 MB | 0.701, 0.622 (0.600, 0.500) |",
            "everybody searches the same text",
            "as with an agent, ours comes to 0.729, 0.658 (0.610, 0.510).",
            "Where we are not ahead: mcp-gateway is level or ahead in start, CPU, idle memory, memory, calls a second, tokens (it writes no record of a call to disk,",
            "100 µs of CPU for a call (met: 100 µs); 1.8 times the direct latency (not met: 2.0 times that over HTTP)",
            "20 MB of memory, idle (not met: 20 MB); 3 times the calls a second of mcp-gateway (not met: 1.0 times).",
        ] {
            assert!(table.contains(part), "{part} is not in\n{table}");
        }
    }

    #[test]
    fn a_ratio_is_rounded_and_never_reads_as_nothing() {
        for (value, of, expected) in [
            (719, 18_960, "0.04"),
            (5_184, 18_960, "0.27"),
            (18_960, 5_184, "3.7"),
            (43_987, 264, "166.6"),
            (999, 1_000, "1.0"),
            (994, 1_000, "0.99"),
            (4, 10_000, "0.0004"),
            (0, 10, "0"),
        ] {
            assert_eq!(times(value, of), expected, "{value} of {of}");
        }
    }

    #[test]
    fn what_the_benches_say_beside_the_table_is_rounded_and_left_out_where_they_did_not_run() {
        let said = notes(264, Some(84_123), Some(399));
        for part in [
            "takes 84 µs, 32 % of our latency",
            "cost 399 tokens at most",
        ] {
            assert!(said.contains(part), "{part} is not in {said}");
        }
        assert_eq!(notes(264, None, None), "");
    }

    #[test]
    fn a_file_of_an_earlier_run_makes_a_table_that_claims_no_more_than_it_has() {
        let mut old = row("toolcrib", 100, 20_000);
        old.memory_idle_kib = None;
        let finding = old.finding.as_mut().unwrap();
        finding.with_servers = None;
        finding.whole.untrained = None;
        let text = serde_json::to_string(&old).unwrap();
        assert!(
            !text.contains("idle") && !text.contains("untrained"),
            "{text}"
        );
        let read: Row = serde_json::from_str(&text).unwrap();
        assert_eq!(read.memory(&old), "20 MB");
        assert_eq!(read.finding.unwrap().shown(), "0.701, 0.622");
        assert_eq!(about_finding(read.finding.unwrap()), "");
        let figures = Figures {
            machine: Machine::now(),
            load_after: "0.1".into(),
            direct_latency_us: 40,
            direct_http_us: 50,
            exposed_tools: 1,
            exposed_tokens: 2,
            rows: vec![read],
        };
        let table = figures.table();
        assert!(table.contains("| memory | finding"), "{table}");
        assert!(table.contains("not met: 20 MB after calls"), "{table}");
    }

    #[test]
    fn what_is_written_by_hand_below_the_table_holds_no_figure() {
        let text = std::fs::read_to_string(workspace::root().join("README.md")).unwrap();
        let text = text.replace("\r\n", "\n");
        let (_, below) = text.split_once(END).unwrap();
        let (below, _) = below.split_once("\n## ").unwrap();
        assert!(
            !below.contains(|letter: char| letter.is_ascii_digit()),
            "{below}"
        );
    }

    #[test]
    fn the_table_is_put_between_its_marks_and_nowhere_else() {
        let text = format!("a\n{BEGIN}old\n{END}b\n");
        let expected = format!("a\n{BEGIN}new\n{END}b\n");
        assert_eq!(placed(&text, "new\n").unwrap(), expected);
        assert!(placed("a\n", "new\n").is_err(), "a table has no place");
    }
}
