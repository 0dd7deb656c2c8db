//! Everything that must hold before a change is merged, in one run.
//!
//! Three sets of artefacts are built and each is used for all it can do: checked ones (clippy, rustdoc), one
//! debug build (tests, coverage, fuzzing), one build of profile `ci` (documents, evaluations, all that looks
//! at the program from the outside). A step that
//! fails does not stop the others; the run ends with a table and fails if any of them did.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::args::Args;
use crate::served::Build;
use crate::{
    advisories, conformance, fuzz, licences, load, mocks, package, process, requirements,
    schemathesis, servers, testing, ui, workspace,
};

/// How long CI fuzzes, over all targets.
const FUZZ_SECONDS: u64 = 60;
/// How long CI lets the crowd at the door.
const CROWD_SECONDS: u64 = 10;

/// Requests that CI lets schemathesis make up for each operation.
const EXAMPLES: u64 = 3;

/// One thing that must hold.
struct Step {
    name: &'static str,
    about: &'static str,
    run: fn() -> Result<Note>,
}

/// What a step has to say for the table at the end.
type Note = String;

const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        about: "the code is formatted",
        run: fmt,
    },
    Step {
        name: "licences",
        about: "licences, bans and sources of dependencies",
        run: licence_check,
    },
    Step {
        name: "advisories",
        about: "no known advisory, no yanked release",
        run: advisory_check,
    },
    Step {
        name: "requirements",
        about: "the requirement table is whole and its tests exist",
        run: requirement_check,
    },
    Step {
        name: "clippy",
        about: "no warning in any target",
        run: clippy,
    },
    Step {
        name: "rustdoc",
        about: "the API documentation builds without a warning",
        run: rustdoc,
    },
    Step {
        name: "test",
        about: "all tests, with coverage per crate",
        run: test,
    },
    Step {
        name: "fuzz",
        about: "a minute of fuzzing on the saved corpus and random input",
        run: fuzzing,
    },
    Step {
        name: "build",
        about: "the program and the test kit's, optimised",
        run: build,
    },
    Step {
        name: "package",
        about: "npx, uvx, pip and the shell installer start the program, and linters take the container's files",
        run: packages,
    },
    Step {
        name: "docs",
        about: "no generated document is stale",
        run: docs,
    },
    Step {
        name: "eval",
        about: "evaluations over shared data hold their floors",
        run: eval,
    },
    Step {
        name: "conformance",
        about: "the official suite passes in flat and lazy mode and through our client",
        run: conformance,
    },
    Step {
        name: "servers",
        about: "discovery finds at real servers what they say",
        run: real_servers,
    },
    Step {
        name: "flows",
        about: "the official inspector and clients work through the program",
        run: flows,
    },
    Step {
        name: "mocks",
        about: "requests made from generated examples fit the API descriptions they come from",
        run: judged,
    },
    Step {
        name: "schemathesis",
        about: "the REST API answers as its own document says",
        run: made_up,
    },
    Step {
        name: "load",
        about: "a crowd at the HTTP door, half of it slow or broken",
        run: crowd,
    },
];

/// `cargo xtask ci`
pub(crate) fn run(args: &mut Args) -> Result<()> {
    let only = args.options("--only")?;
    let skip = args.options("--skip")?;
    let list = args.flag("--list");
    args.finish()?;
    let steps = chosen(&only, &skip)?;
    if list {
        for step in steps {
            ui::line(&format!("{:<13} {}", step.name, step.about));
        }
        return Ok(());
    }
    let begun = Instant::now();
    let mut rows = Vec::new();
    for step in steps {
        ui::title(&format!("{}: {}", step.name, step.about));
        let begun = Instant::now();
        let outcome = (step.run)();
        if let Err(error) = &outcome {
            ui::error(&format!("{error:#}"));
        }
        rows.push(Row {
            name: step.name,
            outcome: outcome.map_err(|error| format!("{error:#}")),
            took: begun.elapsed(),
        });
    }
    ui::title(&format!("summary ({} s in all)", begun.elapsed().as_secs()));
    for row in &rows {
        ui::line(&row.to_string());
    }
    verdict(&rows)
}

fn chosen(only: &[String], skip: &[String]) -> Result<Vec<&'static Step>> {
    for name in only.iter().chain(skip) {
        if !STEPS.iter().any(|step| step.name == name) {
            bail!("there is no step `{name}`; `cargo xtask ci --list` shows them");
        }
    }
    let wanted = |step: &&Step| only.is_empty() || only.iter().any(|name| name == step.name);
    Ok(STEPS
        .iter()
        .filter(wanted)
        .filter(|step| !skip.iter().any(|name| name == step.name))
        .collect())
}

/// One line of the table at the end.
struct Row {
    name: &'static str,
    outcome: std::result::Result<Note, String>,
    took: Duration,
}

impl std::fmt::Display for Row {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (mark, text) = match &self.outcome {
            Ok(note) => ("ok", note),
            Err(error) => ("FAILED", error),
        };
        write!(
            out,
            "{mark:<7} {:<13} {:>5} s  {text}",
            self.name,
            self.took.as_secs()
        )
    }
}

fn verdict(rows: &[Row]) -> Result<()> {
    let failed: Vec<&str> = rows
        .iter()
        .filter(|row| row.outcome.is_err())
        .map(|row| row.name)
        .collect();
    if failed.is_empty() {
        return Ok(());
    }
    bail!(
        "{} of {} steps failed: {}",
        failed.len(),
        rows.len(),
        failed.join(", ")
    )
}

/// Asks rustup for a component of the toolchain where it is missing; a minimal toolchain lacks these two.
fn with_component(name: &str) -> Result<()> {
    let there = process::quietly(process::cargo().args([name, "--version"]));
    if there {
        return Ok(());
    }
    let component = if name == "fmt" { "rustfmt" } else { name };
    process::run(process::program("rustup").args(["component", "add", component]))
}

fn fmt() -> Result<Note> {
    with_component("fmt")?;
    process::run(process::cargo().args(["fmt", "--all", "--check"]))?;
    Ok(String::new())
}

fn licence_check() -> Result<Note> {
    licences::check()
}

fn advisory_check() -> Result<Note> {
    advisories::check()
}

fn requirement_check() -> Result<Note> {
    requirements::check()
}

fn clippy() -> Result<Note> {
    with_component("clippy")?;
    process::run(process::cargo().args([
        "clippy",
        "--locked",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))?;
    // The driver is built without default features; what is dead code there must be found too.
    process::run(process::cargo().args([
        "clippy",
        "--locked",
        "-p",
        "xtask",
        "--no-default-features",
        "--",
        "-D",
        "warnings",
    ]))?;
    Ok(String::new())
}

fn rustdoc() -> Result<Note> {
    let mut command = process::cargo();
    command.args([
        "doc",
        "--locked",
        "--workspace",
        "--no-deps",
        "--document-private-items",
    ]);
    command.env("RUSTDOCFLAGS", "-D warnings");
    process::run(&mut command)?;
    Ok(String::new())
}

fn test() -> Result<Note> {
    let outcome = testing::Run {
        coverage: true,
        ..testing::Run::default()
    }
    .execute()?;
    outcome.verdict()?;
    Ok(outcome.counts.to_string())
}

fn fuzzing() -> Result<Note> {
    fuzz::Run {
        seconds: FUZZ_SECONDS,
        coverage: true,
        ..fuzz::Run::default()
    }
    .execute()
    .map(|report| report.summary())
}

fn build() -> Result<Note> {
    Build::Ci.make()?;
    Ok(String::new())
}

fn packages() -> Result<Note> {
    package::check(Build::Ci)
}

fn conformance() -> Result<Note> {
    conformance::check(Build::Ci, &[], &[])
}

fn real_servers() -> Result<Note> {
    servers::ask(Build::Ci, false)
}

fn flows() -> Result<Note> {
    process::run(optimised().args(["flows", "--optimised"]))?;
    Ok(String::new())
}

fn judged() -> Result<Note> {
    Build::Ci.make()?;
    Ok(mocks::check(Build::Ci, &mocks::Wanted::default())?.summary())
}

fn made_up() -> Result<Note> {
    schemathesis::check(Build::Ci, EXAMPLES)
}

fn crowd() -> Result<Note> {
    load::check(Build::Ci, CROWD_SECONDS)
}

fn docs() -> Result<Note> {
    process::run(optimised().args(["docs", "--check"]))?;
    Ok(String::new())
}

fn eval() -> Result<Note> {
    if workspace::shared().is_none() {
        let note = "no shared data beside the workspace: evaluations are not run here";
        ui::line(note);
        return Ok(note.to_owned());
    }
    process::run(optimised().arg("eval"))?;
    Ok(String::new())
}

/// This program as the step `build` left it, optimised and with the product's crates.
fn optimised() -> std::process::Command {
    process::program(
        workspace::target()
            .join("ci")
            .join("xtask")
            .with_extension(std::env::consts::EXE_EXTENSION),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_can_be_chosen_and_left_out() {
        let names = |only: &[&str], skip: &[&str]| -> Vec<&str> {
            let owned = |list: &[&str]| {
                list.iter()
                    .map(|name| (*name).to_owned())
                    .collect::<Vec<_>>()
            };
            chosen(&owned(only), &owned(skip))
                .unwrap()
                .iter()
                .map(|step| step.name)
                .collect()
        };
        assert_eq!(names(&["test", "fmt"], &[]), ["fmt", "test"]);
        assert_eq!(names(&[], &["fmt"]).len(), STEPS.len() - 1);
        assert!(chosen(&["tests".into()], &[]).is_err());
    }

    #[test]
    fn one_failed_step_fails_the_run_and_is_named() {
        let row = |name, outcome| Row {
            name,
            outcome,
            took: Duration::from_secs(3),
        };
        assert!(verdict(&[row("fmt", Ok(String::new()))]).is_ok());
        let rows = [
            row("fmt", Ok(String::new())),
            row("test", Err("2 failed".into())),
        ];
        assert_eq!(
            verdict(&rows).unwrap_err().to_string(),
            "1 of 2 steps failed: test"
        );
        assert!(rows[1].to_string().contains("FAILED") && rows[1].to_string().contains("2 failed"));
    }
}
