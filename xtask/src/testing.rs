//! The tests of the workspace, with plain `cargo test`, and how many there were.

use std::path::PathBuf;

use anyhow::{Result, bail};
use serde::Deserialize;

use crate::args::Args;
use crate::coverage::Session;
use crate::{leftovers, process, ui};

/// `cargo xtask test`
pub(crate) fn run(args: &mut Args) -> Result<()> {
    let passed_on = args.passed_on();
    let packages = args.options("-p")?;
    let coverage = args.flag("--coverage");
    args.finish()?;
    Run {
        packages,
        coverage,
        passed_on,
    }
    .execute()?
    .verdict()
}

/// What to run.
#[derive(Debug, Default)]
pub(crate) struct Run {
    /// Packages to test; all of the workspace where empty.
    pub(crate) packages: Vec<String>,
    /// Whether to measure coverage and hold it to its floors.
    pub(crate) coverage: bool,
    /// Arguments for the test programs.
    pub(crate) passed_on: Vec<String>,
}

impl Run {
    /// Runs the tests and hands back the counts; failures of tests are in the counts, not errors.
    pub(crate) fn execute(&self) -> Result<Outcome> {
        let session = if self.coverage {
            Session::begin()?
        } else {
            None
        };
        let objects = self.build(session.as_ref())?;
        let before = leftovers::running();
        let mut outcome = Outcome::default();
        let mut command = self.command(session.as_ref());
        command
            .arg("--no-fail-fast")
            .arg("--")
            .args(&self.passed_on);
        outcome.succeeded = process::watch(&mut command, &mut |line| outcome.counts.read(line))?;
        outcome.left_behind = leftovers::end_new(&before);
        if let Some(session) = session {
            outcome.coverage = session
                .report(&objects, &self.packages)
                .err()
                .map(|error| format!("{error:#}"));
        }
        ui::line(&format!("\ntests: {}", outcome.counts));
        Ok(outcome)
    }

    /// Builds every test and program first, so that a run's output is that of the tests alone.
    fn build(&self, session: Option<&Session>) -> Result<Vec<PathBuf>> {
        let mut command = self.command(session);
        command.args(["--no-run", "--message-format=json-render-diagnostics"]);
        ui::line("$ cargo test --no-run");
        Ok(executables(&process::output(&mut command)?))
    }

    fn command(&self, session: Option<&Session>) -> std::process::Command {
        let mut command = process::cargo();
        command.args(["test", "--locked"]);
        if self.packages.is_empty() {
            command.arg("--workspace");
        }
        for package in &self.packages {
            command.args(["-p", package]);
        }
        if let Some(session) = session {
            session.apply(&mut command);
        }
        command
    }
}

/// How a run ended.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) counts: Counts,
    succeeded: bool,
    left_behind: Vec<String>,
    coverage: Option<String>,
}

impl Outcome {
    /// An error that says everything that was wrong, if anything was.
    pub(crate) fn verdict(&self) -> Result<()> {
        let mut wrong = Vec::new();
        if !self.succeeded {
            wrong.push(format!("tests failed ({})", self.counts));
        }
        if !self.left_behind.is_empty() {
            wrong.push(format!(
                "tests left processes behind: {}",
                self.left_behind.join(", ")
            ));
        }
        wrong.extend(self.coverage.clone());
        if wrong.is_empty() {
            return Ok(());
        }
        bail!("{}", wrong.join("; "))
    }
}

/// How many tests ran, over all test programs.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) ignored: u64,
}

impl Counts {
    /// Adds the figures of a `test result:` line; any other line is nothing to it.
    pub(crate) fn read(&mut self, line: &str) {
        let Some(summary) = line.strip_prefix("test result: ") else {
            return;
        };
        for part in summary.split(['.', ';']) {
            let mut words = part.split_whitespace();
            let Some(number) = words.next().and_then(|word| word.parse::<u64>().ok()) else {
                continue;
            };
            match words.next() {
                Some("passed") => self.passed += number,
                Some("failed") => self.failed += number,
                Some("ignored") => self.ignored += number,
                _ => {}
            }
        }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            out,
            "{} passed, {} failed, {} ignored",
            self.passed, self.failed, self.ignored
        )
    }
}

/// What cargo says of each thing it built, as far as we read it.
#[derive(Deserialize)]
struct Message {
    reason: String,
    executable: Option<PathBuf>,
}

/// The programs named in cargo's JSON messages.
fn executables(messages: &str) -> Vec<PathBuf> {
    let parsed = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Message>(line).ok());
    let mut found: Vec<PathBuf> = parsed
        .filter(|message| message.reason == "compiler-artifact")
        .filter_map(|message| message.executable)
        .collect();
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_all_test_programs_add_up() {
        let mut counts = Counts::default();
        for line in [
            "running 3 tests",
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s",
            "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 7 filtered out; finished in 1.00s",
            "test a::b ... ok",
        ] {
            counts.read(line);
        }
        assert_eq!(
            counts,
            Counts {
                passed: 13,
                failed: 2,
                ignored: 1
            }
        );
        assert_eq!(counts.to_string(), "13 passed, 2 failed, 1 ignored");
    }

    #[test]
    fn programs_are_read_from_cargos_messages() {
        let messages = r#"{"reason":"compiler-artifact","executable":"t/b","target":{}}
{"reason":"compiler-artifact","executable":null}
{"reason":"compiler-artifact","executable":"t/a"}
{"reason":"compiler-artifact","executable":"t/b"}
{"reason":"build-finished","success":true}"#;
        assert_eq!(
            executables(messages),
            [PathBuf::from("t/a"), PathBuf::from("t/b")]
        );
    }

    #[test]
    fn every_kind_of_failure_is_in_the_verdict() {
        let outcome = Outcome {
            left_behind: vec!["toolcrib (12)".into()],
            coverage: Some("core is low".into()),
            ..Outcome::default()
        };
        let text = outcome.verdict().unwrap_err().to_string();
        for part in ["tests failed", "toolcrib (12)", "core is low"] {
            assert!(text.contains(part), "{text}");
        }
        assert!(
            Outcome {
                succeeded: true,
                ..Outcome::default()
            }
            .verdict()
            .is_ok()
        );
    }
}
