//! What durability costs: executions that are journalled before and recorded after, each with a key, by many callers at
//! once. The work itself is the example `bench` of the store, which can also be run by hand on another disk.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::recorder::Recorder;
use crate::{process, workspace};

/// How many executions are recorded.
const EXECUTIONS: u64 = 20_000;
/// How many callers record at once.
const CALLERS: u64 = 64;
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
    recorder.value(
        "one caller's wait, median",
        figure("median_us")? * 1_000,
        "ns",
    );
    recorder.value(
        "one caller's wait, 99 of 100",
        figure("p99_us")? * 1_000,
        "ns",
    );
    Ok(())
}
