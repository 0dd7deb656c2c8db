//! What durability costs: executions that are journalled before and recorded after, each with a key, by many callers at
//! once. The work itself is the example `bench` of the store, which can also be run by hand on another disk.

use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::door::nanoseconds;
use super::recorder::Recorder;
use crate::{process, workspace};

/// How many executions are recorded.
const EXECUTIONS: u64 = 20_000;
/// How many callers record at once.
const CALLERS: u64 = 64;
/// How often the disk is flushed alone, and what is written each time into how large a file.
const FLUSHES: usize = 1_000;
const PAGES_BYTES: usize = 2 * 4_096;
const FILE_BYTES: usize = 4 * 1_024 * 1_024;
/// The share of one execution in the time of all: 2,000 a second.
const EXECUTION_NS_MAX: u64 = 500_000;

pub(crate) fn run(recorder: &mut Recorder) -> Result<()> {
    // The system's temporary directory may be in memory; the target directory is on a disk.
    let disk = workspace::root().join("target");
    let mut command = process::program("cargo");
    command
        .args(["run", "--quiet", "--profile", "ci", "--offline"])
        .args(["--package", "toolcrib-store", "--example", "bench", "--"])
        .args([EXECUTIONS.to_string(), CALLERS.to_string()])
        .arg(&disk)
        .current_dir(workspace::root());
    let output = command.output().context("cannot start cargo")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the example failed:\n{said}");
    let report: Value =
        serde_json::from_slice(&output.stdout).context("the example did not print its figures")?;
    ensure!(
        report["intact"] == true && report["records"] == EXECUTIONS,
        "the log of the example is not whole: {report}"
    );
    let figure = |name: &str| {
        let found = report[name].as_u64();
        found.with_context(|| format!("the example does not say {name}"))
    };
    let per_second = figure("per_second")?;
    recorder.value("executions a second, durable", per_second, "executions");
    recorder
        .value(
            "one execution of many at once, durable",
            1_000_000_000 / per_second.max(1),
            "ns",
        )
        .at_most(EXECUTION_NS_MAX);
    recorder.value("a flush of the disk alone, median", flush(&disk)?, "ns");
    recorder.value(
        &format!("the wait of each of {CALLERS} callers at once, median"),
        figure("median_us")? * 1_000,
        "ns",
    );
    recorder.value(
        &format!("the wait of each of {CALLERS} callers at once, 99 of 100"),
        figure("p99_us")? * 1_000,
        "ns",
    );
    Ok(())
}

/// What every durable commit waits for at least: two pages written over what is there, and on the disk.
fn flush(disk: &Path) -> Result<u64> {
    let mut file = tempfile::tempfile_in(disk)?;
    file.write_all(&vec![0; FILE_BYTES])?;
    file.sync_all()?;
    let pages = [7; PAGES_BYTES];
    let mut times = Vec::with_capacity(FLUSHES);
    for number in 0..FLUSHES {
        file.seek(SeekFrom::Start((number * PAGES_BYTES % FILE_BYTES) as u64))?;
        let begun = Instant::now();
        file.write_all(&pages)?;
        file.sync_data()?;
        times.push(nanoseconds(begun));
    }
    times.sort_unstable();
    Ok(times[FLUSHES / 2])
}
