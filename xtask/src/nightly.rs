//! What takes long: run by hand or by a nightly job, its last result committed as `docs/nightly.md`.

use std::fmt::Write as _;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::args::Args;
use crate::machine::Machine;
use crate::{fuzz, servers, ui, workspace};

/// How long the readers are fuzzed.
const FUZZ_SECONDS: u64 = 3600;

/// One long job: it hands back the lines of its section.
struct Job {
    name: &'static str,
    run: fn(&Options) -> Result<Vec<String>>,
}

/// What the command line asks for.
struct Options {
    fuzz_seconds: u64,
}

/// Every long job. A new one (soaks, peers, packaging) is a line here.
const JOBS: &[Job] = &[
    Job {
        name: "Fuzzing",
        run: fuzzing,
    },
    Job {
        name: "Real servers",
        run: real_servers,
    },
];

/// `cargo xtask nightly`
pub(crate) fn run(args: &mut Args) -> Result<()> {
    let options = Options {
        fuzz_seconds: args.number("--seconds")?.unwrap_or(FUZZ_SECONDS),
    };
    args.finish()?;
    let machine = Machine::now();
    let mut sections = Vec::new();
    for job in JOBS {
        ui::title(job.name);
        let begun = Instant::now();
        let outcome = (job.run)(&options).map_err(|error| format!("{error:#}"));
        sections.push(Section {
            name: job.name,
            outcome,
            seconds: begun.elapsed().as_secs(),
        });
    }
    std::fs::write(
        workspace::root().join("docs/nightly.md"),
        document(&machine, &sections),
    )?;
    ui::line("wrote docs/nightly.md");
    let failed: Vec<&str> = sections
        .iter()
        .filter(|section| section.outcome.is_err())
        .map(|section| section.name)
        .collect();
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

/// What one job reported.
struct Section {
    name: &'static str,
    outcome: std::result::Result<Vec<String>, String>,
    seconds: u64,
}

fn document(machine: &Machine, sections: &[Section]) -> String {
    let mut text = String::from(
        "# Nightly\n\nWritten by `cargo xtask nightly`: the last run of what takes too long for every change.\n\n",
    );
    text.push_str(&machine.to_markdown());
    for section in sections {
        let verdict = if section.outcome.is_ok() {
            "passed"
        } else {
            "FAILED"
        };
        let _ = writeln!(
            text,
            "\n## {}: {verdict}\n\nTook {} s.\n",
            section.name, section.seconds
        );
        match &section.outcome {
            Ok(lines) => text.extend(lines.iter().map(|line| format!("{line}\n"))),
            Err(error) => text.extend(["```\n", error.as_str(), "\n```\n"]),
        }
    }
    text
}

fn fuzzing(options: &Options) -> Result<Vec<String>> {
    let report = fuzz::Run {
        seconds: options.fuzz_seconds,
        optimised: true,
        ..fuzz::Run::default()
    }
    .execute()?;
    let mut lines = vec![format!(
        "{}, {} s in all.\n",
        report.summary(),
        options.fuzz_seconds
    )];
    lines.push("| target | corpus | random | a second |\n|---|---:|---:|---:|".into());
    lines.extend(report.targets.iter().map(|target| {
        let figures = &target.figures;
        format!(
            "| `{}` | {} | {} | {} |",
            target.name, figures.corpus, figures.random, figures.per_second
        )
    }));
    Ok(lines)
}

fn real_servers(_: &Options) -> Result<Vec<String>> {
    Ok(vec![format!(
        "{}; the table is in `docs/servers.md`.",
        servers::ask(true)?
    )])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_says_what_passed_and_what_did_not() {
        let sections = [
            Section {
                name: "Fuzzing",
                outcome: Ok(vec!["7 targets".into()]),
                seconds: 12,
            },
            Section {
                name: "Soak",
                outcome: Err("it leaked".into()),
                seconds: 3,
            },
        ];
        let text = document(&Machine::now(), &sections);
        for part in [
            "## Fuzzing: passed",
            "7 targets",
            "## Soak: FAILED",
            "it leaked",
            "| commit |",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }
}
