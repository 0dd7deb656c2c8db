//! Fuzzing on a stable toolchain: bolero targets run as tests, bounded in time.
//!
//! A target is a test `fuzz_NAME` in `crates/CRATE/tests/fuzz.rs` or `tests/fuzz/main.rs`. Under plain `cargo test` bolero
//! replays `__fuzz__/NAME/corpus` and `__fuzz__/NAME/crashes` beside the test's source file and then makes random input
//! until `BOLERO_RANDOM_TEST_TIME_MS` is over.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::args::Args;
use crate::coverage::Session;
use crate::workspace::{self, CRATES};
use crate::{process, ui};

/// How long `cargo xtask fuzz` runs unless told otherwise.
const SECONDS: u64 = 60;

/// `cargo xtask fuzz`
pub(crate) fn run(args: &mut Args) -> Result<()> {
    let seconds = args.number("--seconds")?.unwrap_or(SECONDS);
    args.finish()?;
    let report = Run {
        seconds,
        ..Run::default()
    }
    .execute()?;
    ui::line(&report.summary());
    Ok(())
}

/// What to fuzz, and for how long.
#[derive(Debug, Default)]
pub(crate) struct Run {
    /// Seconds over all targets together.
    pub(crate) seconds: u64,
    /// Whether to use the instrumented debug build that the tests left, rather than build another.
    pub(crate) coverage: bool,
    /// Whether to build optimised, with debug assertions: worth it for long runs.
    pub(crate) optimised: bool,
}

impl Run {
    /// Runs every target and fails if one of them does.
    pub(crate) fn execute(&self) -> Result<Report> {
        let session = if self.coverage {
            Session::begin()?
        } else {
            None
        };
        let targets = if has_targets() {
            let mut list = self.command(session.as_ref());
            names(&process::output(list.args([
                "--",
                "--list",
                "--format=terse",
            ]))?)
        } else {
            Vec::new()
        };
        if targets.is_empty() {
            ui::line("there are no fuzz targets");
            return Ok(Report::default());
        }
        let each_ms = (self.seconds * 1000 / targets.len() as u64).max(1);
        let mut report = Report::default();
        for name in &targets {
            let mut command = self.command(session.as_ref());
            command.args(["--quiet", "--", "--exact", name, "--nocapture"]);
            command.env("BOLERO_RANDOM_TEST_TIME_MS", each_ms.to_string());
            let mut figures = None;
            let good = process::watch_stderr(&mut command, &mut |line| {
                figures = figures.take().or_else(|| Figures::read(line));
            })?;
            report.targets.push(Target {
                name: name.clone(),
                good,
                figures: figures.unwrap_or_default(),
            });
        }
        for target in &report.targets {
            ui::line(&target.to_string());
        }
        let bad: Vec<&str> = report
            .targets
            .iter()
            .filter(|target| !target.good)
            .map(|target| target.name.as_str())
            .collect();
        if !bad.is_empty() {
            bail!(
                "fuzzing found a failure in {}; save its input under __fuzz__/NAME/crashes and fix it",
                bad.join(", ")
            );
        }
        Ok(report)
    }

    fn command(&self, session: Option<&Session>) -> Command {
        let mut command = process::cargo();
        // The whole workspace, so that features are those of the other tests and nothing is built twice.
        command.args(["test", "--locked", "--workspace", "--test", "fuzz"]);
        if self.optimised {
            command.args(["--profile", "ci"]);
            command.env("CARGO_PROFILE_CI_DEBUG_ASSERTIONS", "true");
            command.env("CARGO_PROFILE_CI_OVERFLOW_CHECKS", "true");
        }
        if let Some(session) = session {
            session.apply(&mut command);
        }
        command
    }
}

/// Whether any crate has fuzz targets; cargo refuses to look for what does not exist.
fn has_targets() -> bool {
    CRATES.iter().any(|of| {
        let tests = workspace::root().join("crates").join(of.dir).join("tests");
        tests.join("fuzz.rs").is_file() || tests.join("fuzz/main.rs").is_file()
    })
}

/// The targets in the output of `--list`: tests whose function begins with `fuzz_`.
fn names(list: &str) -> Vec<String> {
    let tests = list.lines().filter_map(|line| line.strip_suffix(": test"));
    tests
        .filter(|path| {
            path.rsplit("::")
                .next()
                .is_some_and(|name| name.starts_with("fuzz_"))
        })
        .map(str::to_owned)
        .collect()
}

/// What a run of all targets did.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) targets: Vec<Target>,
}

impl Report {
    pub(crate) fn summary(&self) -> String {
        let sum = |of: fn(&Figures) -> u64| {
            self.targets
                .iter()
                .map(|target| of(&target.figures))
                .sum::<u64>()
        };
        format!(
            "{} fuzz targets, {} inputs of the corpus, {} random inputs",
            self.targets.len(),
            sum(|figures| figures.corpus),
            sum(|figures| figures.random)
        )
    }
}

/// One target and how it went.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) good: bool,
    pub(crate) figures: Figures,
}

impl std::fmt::Display for Target {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mark = if self.good { "ok" } else { "FAILED" };
        let Figures {
            corpus,
            random,
            per_second,
        } = &self.figures;
        write!(
            out,
            "{mark:<7} {:<40} {corpus} from the corpus, {random} random, {per_second} a second",
            self.name
        )
    }
}

/// How much input a target saw.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) corpus: u64,
    pub(crate) random: u64,
    pub(crate) per_second: String,
}

impl Figures {
    /// Reads the line that bolero prints when a target ends.
    fn read(line: &str) -> Option<Self> {
        let (_, figures) = line.split_once("run time: ")?;
        let value = |label: &str| {
            figures
                .split(" | ")
                .find_map(|part| part.strip_prefix(label))
                .map(str::trim)
        };
        let number = |label: &str| {
            value(label)
                .map_or(Ok(0), str::parse)
                .context(label.to_owned())
                .unwrap_or(0)
        };
        Some(Self {
            corpus: number("corpus inputs: "),
            random: number("rng inputs: "),
            per_second: value("iterations/s: ").unwrap_or("?").to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_told_from_other_tests() {
        let list = "readers::fuzz_yaml: test\nreaders::keeps_order: test\nfuzz_toml: test\nfuzz_bench: benchmark\n";
        assert_eq!(names(list), ["readers::fuzz_yaml", "fuzz_toml"]);
    }

    #[test]
    fn the_figures_of_a_target_are_read() {
        let line = "test fuzz_yaml ...\trun time: 2.0s | iterations/s: 1234 | corpus inputs: 7 | rng inputs: 2461 | exit reason: max duration (2s) exceeded";
        let figures = Figures::read(line).unwrap();
        assert_eq!(
            figures,
            Figures {
                corpus: 7,
                random: 2461,
                per_second: "1234".into()
            }
        );
        assert_eq!(Figures::read("test fuzz_yaml ... ok"), None);
    }

    #[test]
    fn the_summary_adds_up() {
        let target = |corpus, random| Target {
            name: "fuzz_x".into(),
            good: true,
            figures: Figures {
                corpus,
                random,
                per_second: "1".into(),
            },
        };
        let report = Report {
            targets: vec![target(1, 10), target(2, 20)],
        };
        assert_eq!(
            report.summary(),
            "2 fuzz targets, 3 inputs of the corpus, 30 random inputs"
        );
    }
}
