//! The figures on disk: `bench/results.json` and `docs/benchmarks.md`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::machine::{self, Machine};
use crate::workspace;

const JSON: &str = "bench/results.json";
/// The figures for people.
pub(crate) const MARKDOWN: &str = "docs/benchmarks.md";

/// Units of shares: of what a figure is held against, of all that there were, of the tokens of everything.
pub(crate) const PER_MILLE_OF_THE_BASE: &str = "‰ of the base";
pub(crate) const PER_MILLE: &str = "‰ of all";
pub(crate) const OF_TEN_THOUSAND_TOKENS: &str = "of 10,000 tokens";

/// The document as the committed figures give it.
pub(crate) fn markdown() -> Result<String> {
    Ok(Results::load()?.to_markdown())
}

/// A committed figure of a bench; nothing where it was never taken.
pub(crate) fn figure(bench: &str, name: &str) -> Result<Option<Figure>> {
    let taken = Results::load()?.benches.remove(bench);
    let figures = taken.into_iter().flat_map(|taken| taken.figures);
    Ok(figures.into_iter().find(|figure| figure.name == name))
}

/// The last figures of every bench.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Results {
    benches: BTreeMap<String, Taken>,
}

/// What one bench gave, and where.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Taken {
    about: String,
    machine: Machine,
    load_at_end: String,
    pub(crate) figures: Vec<Figure>,
}

/// One figure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) value: u64,
    unit: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at_most: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_least: Option<u64>,
}

impl Figure {
    pub(crate) fn new(name: &str, value: u64, unit: &str) -> Self {
        Self {
            name: name.to_owned(),
            value,
            unit: unit.to_owned(),
            at_most: None,
            at_least: None,
        }
    }

    /// Sets the bound, in the figure's own unit; a figure above it fails the run.
    pub(crate) fn at_most(&mut self, bound: u64) -> &mut Self {
        self.at_most = Some(bound);
        self
    }

    /// Sets the bound from below; a figure under it fails the run.
    pub(crate) fn at_least(&mut self, bound: u64) -> &mut Self {
        self.at_least = Some(bound);
        self
    }

    /// Whether it is beyond a bound of its own.
    pub(crate) fn is_over(&self) -> bool {
        self.at_most.is_some_and(|bound| self.value > bound)
            || self.at_least.is_some_and(|bound| self.value < bound)
    }

    /// The bound in words; nothing where there is none.
    fn bound(&self) -> String {
        match (self.at_most, self.at_least) {
            (Some(bound), _) => self.readable(bound),
            (None, Some(bound)) => format!("at least {}", self.readable(bound)),
            (None, None) => String::new(),
        }
    }

    /// A figure as people read it: times and bytes in the largest fitting unit, shares in hundredths or as multiples, the
    /// rest with its own. What a program reads stays as it was taken.
    fn readable(&self, value: u64) -> String {
        match (self.unit.as_str(), value) {
            ("ns", 0..10_000) => format!("{value} ns"),
            ("ns", 10_000..10_000_000) => format!("{}.{} µs", value / 1000, value % 1000 / 100),
            ("ns", _) => format!("{}.{} ms", value / 1_000_000, value % 1_000_000 / 100_000),
            ("bytes", 1_000_000..) => {
                let tenths = (value + 50_000) / 100_000;
                format!("{}.{} MB", grouped(tenths / 10), tenths % 10)
            }
            (PER_MILLE_OF_THE_BASE, 1_000..) => {
                let tenths = (value + 50) / 100;
                format!("{}.{} times", tenths / 10, tenths % 10)
            }
            (PER_MILLE_OF_THE_BASE | PER_MILLE, _) => format!("{}.{} %", value / 10, value % 10),
            (OF_TEN_THOUSAND_TOKENS, _) => format!("{}.{:02} %", value / 100, value % 100),
            (unit, _) => format!("{} {unit}", grouped(value)),
        }
    }
}

impl std::fmt::Display for Figure {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{:<50} {:>20}", self.name, self.readable(self.value))?;
        match (self.at_most, self.at_least) {
            (None, None) => Ok(()),
            _ if self.is_over() => write!(out, "  OVER the bound of {}", self.bound()),
            (Some(_), _) => write!(out, "  at most {}", self.bound()),
            _ => write!(out, "  {}", self.bound()),
        }
    }
}

/// Digits in groups of three.
pub(crate) fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let groups: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    groups
        .iter()
        .map(|group| String::from_utf8_lossy(group))
        .collect::<Vec<_>>()
        .join(",")
}

impl Taken {
    pub(crate) fn new(about: &str, machine: Machine, figures: Vec<Figure>) -> Self {
        let load_at_end = machine::load().unwrap_or_else(|| "unknown".into());
        Self {
            about: about.to_owned(),
            machine,
            load_at_end,
            figures,
        }
    }
}

impl Results {
    /// The committed figures; none where the file does not exist yet.
    pub(crate) fn load() -> Result<Self> {
        match std::fs::read_to_string(workspace::root().join(JSON)) {
            Ok(text) => serde_json::from_str(&text)
                .with_context(|| format!("{JSON} is not what this task wrote")),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).with_context(|| format!("cannot read {JSON}")),
        }
    }

    pub(crate) fn put(&mut self, bench: &str, taken: Taken) {
        self.benches.insert(bench.to_owned(), taken);
    }

    /// Writes both files.
    pub(crate) fn save(&self) -> Result<()> {
        let root = workspace::root();
        for (path, text) in [
            (JSON, serde_json::to_string_pretty(self)? + "\n"),
            (MARKDOWN, self.to_markdown()),
        ] {
            let path = root.join(path);
            if let Some(dir) = path.parent() {
                std::fs::create_dir_all(dir)?;
            }
            std::fs::write(&path, text)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }

    fn to_markdown(&self) -> String {
        let mut text = String::from(
            "# Benchmarks\n\nWritten by `cargo xtask bench`; the same figures are in `bench/results.json`. Times are medians.\n`door` and `upstream` measure the program as it is packaged ([ADR 0013](adr/0013-packages-hold-a-trained-program.md)).\n",
        );
        for (name, taken) in &self.benches {
            let _ = writeln!(text, "\n## {name}: {}\n", taken.about);
            text.push_str(&taken.machine.to_markdown());
            let _ = writeln!(
                text,
                "| load at the end | {} |\n\n| figure | value | bound |\n|---|---:|---:|",
                taken.load_at_end
            );
            for figure in &taken.figures {
                let _ = writeln!(
                    text,
                    "| {} | {} | {} |",
                    figure.name,
                    figure.readable(figure.value),
                    figure.bound()
                );
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        for (value, unit, expect) in [
            (999, "ns", "999 ns"),
            (123_456, "ns", "123.4 µs"),
            (12_345_678, "ns", "12.3 ms"),
            (1_234_567, "instructions", "1,234,567 instructions"),
            (12, "bytes", "12 bytes"),
            (33_017_856, "bytes", "33.0 MB"),
            (999_950, "bytes", "999,950 bytes"),
            (26_023, PER_MILLE_OF_THE_BASE, "26.0 times"),
            (1_050, PER_MILLE_OF_THE_BASE, "1.1 times"),
            (53, PER_MILLE_OF_THE_BASE, "5.3 %"),
            (934, PER_MILLE, "93.4 %"),
            (6, OF_TEN_THOUSAND_TOKENS, "0.06 %"),
            (100, OF_TEN_THOUSAND_TOKENS, "1.00 %"),
        ] {
            assert_eq!(Figure::new("x", value, unit).readable(value), expect);
        }
    }

    #[test]
    fn a_figure_over_its_bound_says_so() {
        let mut figure = Figure::new("x", 11, "bytes");
        assert!(!figure.is_over());
        figure.at_most(10);
        assert!(figure.is_over() && figure.to_string().contains("OVER"));
        figure.at_most(11);
        assert!(!figure.is_over());
        let mut figure = Figure::new("x", 11, "bytes");
        figure.at_least(12);
        assert!(figure.is_over() && figure.to_string().contains("OVER the bound of at least 12"));
        figure.at_least(11);
        assert!(!figure.is_over() && figure.to_string().contains("at least 11"));
    }

    #[test]
    fn another_benchs_figures_stay_when_one_runs_again() {
        let mut results = Results::default();
        results.put(
            "a",
            Taken::new(
                "about a",
                Machine::now(),
                vec![Figure::new("one", 1, "bytes")],
            ),
        );
        results.put(
            "b",
            Taken::new(
                "about b",
                Machine::now(),
                vec![Figure::new("two", 2, "bytes")],
            ),
        );
        let mut again: Results =
            serde_json::from_str(&serde_json::to_string(&results).unwrap()).unwrap();
        again.put(
            "a",
            Taken::new(
                "about a",
                Machine::now(),
                vec![Figure::new("one", 3, "bytes")],
            ),
        );
        let text = again.to_markdown();
        assert!(
            text.contains("| one | 3 bytes |") && text.contains("| two | 2 bytes |"),
            "{text}"
        );
    }
}
