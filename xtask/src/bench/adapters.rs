//! `cargo xtask bench adapters`: how long real API descriptions take until they are tools, and what that holds.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::recorder::Recorder;
use crate::adapters::{load, real_files};
use crate::{process, ui, workspace};

/// What Stripe's description and all of them together may take, nanoseconds.
const STRIPE_NS: u64 = 1_000_000_000;
const ALL_NS: u64 = 5_000_000_000;
/// What reading Stripe's description may hold at most, bytes.
const STRIPE_BYTES: u64 = 150 * 1024 * 1024;
/// Tells a process to read one description and say what that held: the path.
const ALONE: &str = "XTASK_BENCH_ALONE";
/// What stands before the figure that it says.
const HELD: &str = "bytes held: ";
/// How often everything is read.
const ROUNDS: usize = 3;

pub(crate) fn run(recorder: &mut Recorder) -> Result<()> {
    let Some(shared) = workspace::shared() else {
        ui::line("no shared data beside the workspace: API descriptions are not timed here");
        return Ok(());
    };
    let files = real_files(&shared.join("data/openapi"))?;
    let mut stripe = Vec::new();
    let mut all = Vec::new();
    let mut operations = 0;
    for _ in 0..ROUNDS {
        let mut sum = Duration::ZERO;
        operations = 0;
        for path in &files {
            let (name, api, took) = load(path)?;
            if name == "stripe" {
                stripe.push(nanoseconds(took));
            }
            operations += api.operations.len() as u64;
            sum += took;
        }
        all.push(nanoseconds(sum));
    }
    let middle = |mut times: Vec<u64>| {
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or_default()
    };
    recorder.value("files", files.len() as u64, "files");
    recorder.value("operations", operations, "operations");
    recorder
        .value("read Stripe's description", middle(stripe), "ns")
        .at_most(STRIPE_NS);
    let stripe = files.iter().find(|path| path.ends_with("stripe.yaml"));
    if let Some(bytes) = held_by(stripe.context("Stripe's description is not there")?)? {
        recorder
            .value("memory while Stripe's description is read", bytes, "bytes")
            .at_most(STRIPE_BYTES);
    }
    recorder
        .value("read all descriptions", middle(all), "ns")
        .at_most(ALL_NS);
    Ok(())
}

/// What reading a description holds, in a process that has read nothing else: memory that was used and given back
/// would be used again, and not be seen.
fn held_by(path: &Path) -> Result<Option<u64>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["bench", "adapters"]).env(ALONE, path);
    figure(&process::output(&mut command)?)
}

/// The figure in what such a process says.
fn figure(said: &str) -> Result<Option<u64>> {
    let figure = said.lines().find_map(|line| line.strip_prefix(HELD));
    figure.map(|text| Ok(text.trim().parse()?)).transpose()
}

/// Whether this is such a process.
pub(super) fn is_alone() -> bool {
    std::env::var_os(ALONE).is_some()
}

/// Reads the description and says what that held.
pub(super) fn alone() -> Result<()> {
    let path = PathBuf::from(std::env::var_os(ALONE).context("no path")?);
    let before = Peak::from_here();
    load(&path)?;
    if let Some(bytes) = before.and_then(|before| before.bytes()) {
        ui::line(&format!("{HELD}{bytes}"));
    }
    Ok(())
}

/// The most memory that this process holds from now on, beyond what it holds now. Only Linux tells.
struct Peak {
    before_kib: u64,
}

impl Peak {
    fn from_here() -> Option<Self> {
        // Lets the system forget the highest mark so far.
        std::fs::write("/proc/self/clear_refs", "5").ok()?;
        Some(Self {
            before_kib: status_kib("VmRSS:")?,
        })
    }

    fn bytes(&self) -> Option<u64> {
        let most = status_kib("VmHWM:")?;
        Some(most.saturating_sub(self.before_kib) * 1024)
    }
}

fn status_kib(field: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.split_whitespace().next()?.parse().ok()
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figure_of_a_process_is_read_among_what_else_it_says() {
        assert_eq!(
            figure("a title\nbytes held: 131072\n").unwrap(),
            Some(131_072)
        );
        assert_eq!(figure("nothing").unwrap(), None);
        assert!(figure("bytes held: many").is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_held_in_between_is_seen() {
        let Some(peak) = Peak::from_here() else {
            return;
        };
        let held = vec![1_u8; 64 << 20];
        assert!(held.iter().step_by(4096).all(|byte| *byte == 1));
        drop(held);
        assert!(peak.bytes().unwrap() > 32 << 20);
    }
}
