//! Taking figures: medians of many runs, ratios within one run, instructions where valgrind is there.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::results::{Figure, PER_MILLE_OF_THE_BASE};
use crate::{process, ui};

/// Tells a run under valgrind what to count: `bench/figure=TIMES`.
const COUNT: &str = "XTASK_BENCH_COUNT";

/// Takes the figures of one bench.
#[derive(Debug)]
pub(crate) struct Recorder {
    bench: String,
    figures: Vec<Figure>,
    /// Set in a run under valgrind: the one figure to repeat, and how often; nothing else is done.
    counting: Option<(String, usize)>,
}

impl Recorder {
    pub(crate) fn new(bench: &str) -> Self {
        Self {
            bench: bench.to_owned(),
            figures: Vec::new(),
            counting: None,
        }
    }

    /// The recorder of a run that valgrind watches, if this is one.
    pub(crate) fn counting() -> Option<Self> {
        Self::counting_as(&std::env::var(COUNT).ok()?)
    }

    fn counting_as(text: &str) -> Option<Self> {
        let (target, times) = text.rsplit_once('=')?;
        let (bench, figure) = target.split_once('/')?;
        Some(Self {
            counting: Some((figure.to_owned(), times.parse().ok()?)),
            ..Self::new(bench)
        })
    }

    /// Whether this run only counts instructions, for a figure of one name.
    pub(crate) fn is_counting(&self) -> bool {
        self.counting.is_some()
    }

    /// Whether this run counts instructions for a figure of another name, so that nothing need be made ready for this one.
    pub(crate) fn counts_something_else(&self, name: &str) -> bool {
        let counted = self.counting.as_ref();
        counted.is_some_and(|(wanted, _)| wanted != name)
    }

    pub(crate) fn into_figures(self) -> Vec<Figure> {
        self.figures
    }

    /// The median time of `times` runs, after one that does not count.
    pub(crate) fn time(&mut self, name: &str, times: usize, mut work: impl FnMut()) -> &mut Figure {
        let median = if self.counting.is_some() {
            0
        } else {
            work();
            nanoseconds(median(
                (0..times.max(1)).map(|_| clock(&mut work)).collect(),
            ))
        };
        self.push(Figure::new(name, median, "ns"))
    }

    /// How many times as long `work` takes as `base`, in thousandths: the median over pairs that ran right after each other, so
    /// that what else the machine does falls on both.
    pub(crate) fn ratio(
        &mut self,
        name: &str,
        pairs: usize,
        mut base: impl FnMut(),
        mut work: impl FnMut(),
    ) -> &mut Figure {
        let median = if self.counting.is_some() {
            0
        } else {
            base();
            work();
            let pair = |_| {
                let (base, work) = (
                    clock(&mut base).as_nanos().max(1),
                    clock(&mut work).as_nanos(),
                );
                u64::try_from(work * 1000 / base).unwrap_or(u64::MAX)
            };
            median((0..pairs.max(1)).map(pair).collect())
        };
        self.push(Figure::new(name, median, PER_MILLE_OF_THE_BASE))
    }

    /// A figure that was found otherwise: bytes, tokens, counts.
    pub(crate) fn value(&mut self, name: &str, value: u64, unit: &'static str) -> &mut Figure {
        self.push(Figure::new(name, value, unit))
    }

    /// The instructions that one run of `work` takes: steady on a noisy machine. Left out where there is no valgrind.
    pub(crate) fn instructions(
        &mut self,
        name: &str,
        times: usize,
        mut work: impl FnMut(),
    ) -> Result<()> {
        if let Some((wanted, times)) = &self.counting {
            if wanted == name {
                (0..*times).for_each(|_| work());
            }
            return Ok(());
        }
        if !process::quietly(process::program("valgrind").arg("--version")) {
            ui::line(&format!("no valgrind here: `{name}` is not counted"));
            return Ok(());
        }
        let times = times.max(1);
        // Setting up costs the same in both runs, so the difference is the work alone.
        let (none, all) = (self.count(name, 0)?, self.count(name, times)?);
        self.push(Figure::new(
            name,
            all.saturating_sub(none) / times as u64,
            "instructions",
        ));
        Ok(())
    }

    fn count(&self, name: &str, times: usize) -> Result<u64> {
        let own = std::env::current_exe()?;
        let mut command = process::program("valgrind");
        command.args([
            "--tool=cachegrind",
            "--cache-sim=no",
            "--cachegrind-out-file=/dev/null",
        ]);
        command
            .arg(own)
            .args(["bench", &self.bench])
            .env(COUNT, format!("{}/{name}={times}", self.bench));
        let output = command.output().context("cannot start valgrind")?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        references(&said)
            .with_context(|| format!("valgrind did not say how many instructions ran:\n{said}"))
    }

    fn push(&mut self, figure: Figure) -> &mut Figure {
        self.figures.push(figure);
        let last = self.figures.len() - 1;
        &mut self.figures[last]
    }
}

fn clock(work: &mut impl FnMut()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn median<T: Ord + Copy>(mut values: Vec<T>) -> T {
    values.sort_unstable();
    values[values.len() / 2]
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Reads `I   refs:      127,665`.
fn references(said: &str) -> Option<u64> {
    let line = said
        .lines()
        .find(|line| line.contains("I ") && line.contains("refs:"))?;
    let digits: String = line
        .split("refs:")
        .nth(1)?
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_not_moved_by_one_slow_run() {
        assert_eq!(median(vec![3, 1, 1000, 2, 2]), 2);
        assert_eq!(median(vec![7]), 7);
    }

    #[test]
    fn a_run_that_counts_does_only_what_it_counts() {
        let mut recorder = Recorder::counting_as("search/index=3").unwrap();
        let mut ran = 0;
        recorder.time("other", 10, || panic!("timed while counting"));
        recorder.ratio(
            "ratio",
            10,
            || panic!("timed while counting"),
            || panic!("timed while counting"),
        );
        recorder
            .instructions("other", 9, || panic!("counted the wrong one"))
            .unwrap();
        recorder.instructions("index", 9, || ran += 1).unwrap();
        assert_eq!(ran, 3);
        assert!(recorder.is_counting());
        assert!(recorder.counts_something_else("other"));
        assert!(!recorder.counts_something_else("index"));
        assert!(!Recorder::new("search").counts_something_else("other"));
        assert!(Recorder::counting_as("nonsense").is_none());
    }

    #[test]
    fn the_instructions_are_read_from_what_valgrind_says() {
        assert_eq!(
            references("==1== \n==1== I   refs:      127,665\n"),
            Some(127_665)
        );
        assert_eq!(references("==1== nothing"), None);
    }

    #[test]
    fn figures_are_taken_in_order() {
        let mut recorder = Recorder::new("x");
        recorder.time("a", 3, || ());
        recorder.value("b", 7, "bytes").at_most(5);
        let figures = recorder.into_figures();
        assert_eq!(
            figures
                .iter()
                .map(|figure| figure.name.as_str())
                .collect::<Vec<_>>(),
            ["a", "b"]
        );
        assert!(figures[1].is_over());
    }
}
