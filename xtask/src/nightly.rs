//! What takes long: run by hand or by a nightly job, its last result committed as `docs/nightly.md`.

use std::fmt::Write as _;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::args::Args;
use crate::machine::Machine;
use crate::served::Build;
use crate::{fuzz, mocks, package, servers, ui, workspace};

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

/// Every long job. A new one (soaks, peers) is a line here.
const JOBS: &[Job] = &[
    Job {
        name: "Fuzzing",
        run: fuzzing,
    },
    Job {
        name: "Real servers",
        run: real_servers,
    },
    Job {
        name: "Mocks",
        run: judged_requests,
    },
    Job {
        name: "Packages",
        run: packages,
    },
];

/// `cargo xtask nightly [--only JOB]…`
pub(crate) fn run(args: &mut Args) -> Result<()> {
    let options = Options {
        fuzz_seconds: args.number("--seconds")?.unwrap_or(FUZZ_SECONDS),
    };
    let only = args.options("--only")?;
    args.finish()?;
    let place = workspace::root().join("docs/nightly.md");
    let mut sections =
        std::fs::read_to_string(&place).map_or_else(|_| Vec::new(), |text| kept(&text));
    let mut failed = Vec::new();
    for job in chosen(&only)? {
        ui::title(job.name);
        let machine = Machine::now();
        let begun = Instant::now();
        let outcome = (job.run)(&options).map_err(|error| format!("{error:#}"));
        if let Err(error) = &outcome {
            ui::error(error);
            failed.push(job.name);
        }
        let text = section(job.name, &machine, begun.elapsed().as_secs(), &outcome);
        sections.retain(|(name, _)| name != job.name);
        sections.push((job.name.to_owned(), text));
        // After each job, so that what a long one found is not lost with the next.
        std::fs::write(&place, document(&sections))?;
    }
    ui::line("wrote docs/nightly.md");
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

/// The jobs of these names, in any case; all where none is named.
fn chosen(only: &[String]) -> Result<Vec<&'static Job>> {
    if only.is_empty() {
        return Ok(JOBS.iter().collect());
    }
    only.iter()
        .map(|name| {
            JOBS.iter()
                .find(|job| job.name.eq_ignore_ascii_case(name))
                .with_context(|| {
                    let names: Vec<&str> = JOBS.iter().map(|job| job.name).collect();
                    format!("there is no job `{name}`; there are: {}", names.join(", "))
                })
        })
        .collect()
}

/// The sections of an earlier document, whose jobs need not run again for one of them to be renewed.
fn kept(text: &str) -> Vec<(String, String)> {
    text.split("\n## ")
        .skip(1)
        .filter_map(|part| {
            let name = part.split_once(": ")?.0;
            let known = JOBS.iter().any(|job| job.name == name);
            known.then(|| (name.to_owned(), format!("\n## {}\n", part.trim_end())))
        })
        .collect()
}

/// The document: its sections in the order of the jobs.
fn document(sections: &[(String, String)]) -> String {
    let mut text = String::from(
        "# Nightly\n\nWritten by `cargo xtask nightly`: the last run of what takes too long for every change.\n",
    );
    for job in JOBS {
        text.extend(
            sections
                .iter()
                .filter(|(name, _)| name == job.name)
                .map(|(_, section)| section.as_str()),
        );
    }
    text
}

/// What one job reported, and where.
fn section(
    name: &str,
    machine: &Machine,
    seconds: u64,
    outcome: &std::result::Result<Vec<String>, String>,
) -> String {
    let verdict = if outcome.is_ok() { "passed" } else { "FAILED" };
    let mut text = format!("\n## {name}: {verdict}\n\n{}", machine.to_markdown());
    let _ = writeln!(text, "\nTook {seconds} s.\n");
    match outcome {
        Ok(lines) => text.extend(lines.iter().map(|line| format!("{line}\n"))),
        Err(error) => text.extend(["```\n", error.as_str(), "\n```\n"]),
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
        servers::ask(Build::Debug, true)?
    )])
}

fn judged_requests(_: &Options) -> Result<Vec<String>> {
    Build::Debug.make()?;
    let wanted = mocks::Wanted {
        all: true,
        ..mocks::Wanted::default()
    };
    Ok(mocks::check(Build::Debug, &wanted)?.table())
}

fn packages(_: &Options) -> Result<Vec<String>> {
    Ok(vec![format!(
        "From `cargo install`: {}; started by npx, uvx, pip, the shell installer and from maturin's wheel.",
        package::from_the_sources()?
    )])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_says_what_passed_and_what_did_not() {
        let machine = Machine::now();
        let good = section("Fuzzing", &machine, 12, &Ok(vec!["7 targets".into()]));
        let bad = section("Real servers", &machine, 3, &Err("one hung".into()));
        let sections = [
            ("Real servers".to_owned(), bad),
            ("Fuzzing".to_owned(), good),
        ];
        let text = document(&sections);
        let mut rest = text.as_str();
        for part in [
            "## Fuzzing: passed",
            "| commit |",
            "7 targets",
            "## Real servers: FAILED",
            "one hung",
        ] {
            let at = rest
                .find(part)
                .unwrap_or_else(|| panic!("{part} is not in\n{text}"));
            rest = &rest[at..];
        }
        assert_eq!(
            document(&kept(&text)),
            text,
            "sections are kept as they are"
        );
    }

    #[test]
    fn a_job_is_chosen_by_its_name() {
        let names = |only: &[&str]| {
            let only: Vec<String> = only.iter().map(|&name| name.to_owned()).collect();
            chosen(&only).map(|jobs| jobs.iter().map(|job| job.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["fuzzing"]).unwrap(), ["Fuzzing"]);
        assert_eq!(names(&[]).unwrap().len(), JOBS.len());
        let error = names(&["dozing"]).unwrap_err().to_string();
        assert!(error.contains("there is no job `dozing`"), "{error}");
    }
}
