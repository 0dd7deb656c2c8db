//! Line coverage per crate, from the same debug build that the tests run in.
//!
//! Workspace crates are compiled by [`wrapper`] with `-C instrument-coverage`, their dependencies are not:
//! they are shared with every other debug build. What ran is read with the `llvm-tools` of the toolchain.

pub(crate) mod lines;
pub(crate) mod tools;
pub(crate) mod wrapper;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::args::Args;
use crate::workspace::{self, CRATES, Crate};
use crate::{process, testing, ui};

use lines::Tally;
use tools::Tools;

/// A crate with fewer countable lines than this is not measured: one line would be worth percents.
const LINES_MIN: usize = 20;

/// `cargo xtask coverage`
pub(crate) fn run(args: &mut Args) -> Result<()> {
    let packages = args.options("-p")?;
    args.finish()?;
    let counts = testing::Run {
        packages,
        coverage: true,
        passed_on: Vec::new(),
    }
    .execute()?;
    counts.verdict()
}

/// An instrumented run of the tests: where its data goes.
#[derive(Debug)]
pub(crate) struct Session {
    tools: Tools,
    dir: PathBuf,
    wrapper: PathBuf,
}

impl Session {
    /// Prepares a run, or says loudly that coverage is not measured here.
    pub(crate) fn begin() -> Result<Option<Self>> {
        let tools = match Tools::find_or_install() {
            Ok(tools) => tools,
            Err(why) => {
                ui::warn(&format!("COVERAGE IS NOT MEASURED: {why:#}"));
                return Ok(None);
            }
        };
        let dir = workspace::scratch().join("coverage");
        let raw = dir.join("raw");
        if raw.exists() {
            std::fs::remove_dir_all(&raw)
                .with_context(|| format!("cannot empty {}", raw.display()))?;
        }
        std::fs::create_dir_all(&raw)?;
        let wrapper = wrapper::install(&dir)?;
        Ok(Some(Self {
            tools,
            dir,
            wrapper,
        }))
    }

    /// Makes a cargo command build and run instrumented.
    pub(crate) fn apply(&self, command: &mut Command) {
        command.env("RUSTC_WORKSPACE_WRAPPER", &self.wrapper);
        command.env(
            "LLVM_PROFILE_FILE",
            self.dir.join("raw").join("%p-%m.profraw"),
        );
    }

    /// Reads what ran and holds each crate to its floor; `objects` are the programs that were run.
    pub(crate) fn report(&self, objects: &[PathBuf], packages: &[String]) -> Result<()> {
        let profile = self.merge()?;
        let list = self.export(objects, &profile)?;
        let tallies = lines::tally(&list, &workspace::root());
        let measured = CRATES
            .iter()
            .filter(|of| packages.is_empty() || packages.iter().any(|name| name == of.package));
        let rows: Vec<Row> = measured.map(|of| Row::new(of, &tallies)).collect();
        ui::title("coverage of lines, per crate");
        for row in &rows {
            ui::line(&row.to_string());
        }
        let low: Vec<&str> = rows
            .iter()
            .filter(|row| row.is_low())
            .map(|row| row.of.package)
            .collect();
        std::fs::write(self.dir.join("uncovered.txt"), lines::uncovered(&tallies))?;
        ui::line(&format!(
            "lines that no test ran: {}",
            workspace::relative(&self.dir.join("uncovered.txt"))
        ));
        if low.is_empty() {
            return Ok(());
        }
        bail!(
            "line coverage is below its floor in {}; see the list of lines above",
            low.join(", ")
        )
    }

    fn merge(&self) -> Result<PathBuf> {
        let strays = strays(&workspace::root());
        let raw = self.dir.join("raw");
        let mut files: Vec<PathBuf> = std::fs::read_dir(&raw)?
            .flatten()
            .map(|entry| entry.path())
            .collect();
        for stray in strays {
            let to = raw.join(stray.file_name().unwrap_or_default());
            std::fs::rename(&stray, &to)?;
            files.push(to);
        }
        if files.is_empty() {
            bail!(
                "the tests left no coverage data in {}",
                workspace::relative(&raw)
            );
        }
        let list = self.dir.join("inputs.txt");
        let names: Vec<String> = files
            .iter()
            .map(|file| file.to_string_lossy().into_owned())
            .collect();
        std::fs::write(&list, names.join("\n"))?;
        let merged = self.dir.join("merged.profdata");
        // A process that was killed while it wrote leaves a torn file; the others still count.
        let mut merge = process::program(&self.tools.profdata);
        merge
            .args(["merge", "--sparse", "--failure-mode=all"])
            .arg("--input-files")
            .arg(&list)
            .arg("-o")
            .arg(&merged);
        process::run(&mut merge)?;
        std::fs::remove_dir_all(&raw)?;
        Ok(merged)
    }

    fn export(&self, objects: &[PathBuf], profile: &Path) -> Result<String> {
        let mut export = process::program(&self.tools.cov);
        export
            .args(["export", "--format=lcov", "--skip-functions"])
            .arg(format!("--instr-profile={}", profile.display()));
        export.arg("--ignore-filename-regex=(/\\.cargo/|/rustc/|/rustlib/)");
        for (index, object) in objects.iter().enumerate() {
            if index > 0 {
                export.arg("--object");
            }
            export.arg(object);
        }
        process::output(&mut export)
    }
}

/// Profiles that a process wrote into its own directory because its environment had been cleared.
fn strays(root: &Path) -> Vec<PathBuf> {
    crate::source::files_below(root, ".profraw")
}

/// One crate's figures.
#[derive(Debug)]
struct Row {
    of: &'static Crate,
    tally: Tally,
}

impl Row {
    fn new(of: &'static Crate, tallies: &[(String, Tally)]) -> Self {
        let below = format!("crates/{}/src/", of.dir);
        let mut sum = Tally::default();
        for (_, tally) in tallies.iter().filter(|(file, _)| file.starts_with(&below)) {
            sum.add(tally);
        }
        Self { of, tally: sum }
    }

    fn is_low(&self) -> bool {
        let (covered, all) = (self.tally.covered(), self.tally.countable());
        all >= LINES_MIN && covered * 100 < all * self.of.floor_percent as usize
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (covered, all) = (self.tally.covered(), self.tally.countable());
        write!(out, "{:<17}", self.of.package)?;
        if all < LINES_MIN {
            return write!(out, " {all} countable lines: too few to measure, skipped");
        }
        // Rounded down, so that what is printed never looks better than the floor it missed.
        let tenths = covered * 1000 / all;
        let verdict = if self.is_low() { "BELOW" } else { "floor" };
        write!(
            out,
            " {:>3}.{} %  {covered:>6} of {all:>6} lines  {verdict} {} %",
            tenths / 10,
            tenths % 10,
            self.of.floor_percent
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(covered: usize, missed: usize) -> Row {
        let mut tally = Tally::default();
        for line in 0..covered + missed {
            tally.line(line, u64::from(line < covered));
        }
        Row::new(
            &CRATES[0],
            &[
                ("crates/core/src/lib.rs".into(), tally),
                ("crates/config/src/lib.rs".into(), Tally::default()),
            ],
        )
    }

    #[test]
    fn a_crate_below_its_floor_is_low_and_one_at_its_floor_is_not() {
        assert!(!row(90, 10).is_low());
        assert!(row(899, 101).is_low());
        assert!(
            row(899, 101).to_string().contains("89.9 %"),
            "{}",
            row(899, 101)
        );
    }

    #[test]
    fn a_crate_of_a_few_lines_is_skipped_with_a_note() {
        assert!(!row(0, 19).is_low());
        assert!(row(0, 19).to_string().contains("skipped"));
        assert!(row(0, 20).is_low());
    }
}
