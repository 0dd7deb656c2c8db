//! The official conformance suite of MCP, run against the program: in flat mode in front of the fixture
//! of the test kit, which must pass whole, and in lazy mode, where what needs the fixture cannot apply.
//!
//! The suite and the Node that it needs come from the npm registry, pinned, into `target/peers`. What is
//! known not to pass stands in `testkit/conformance-MODE.yaml`, each entry with its reason; the suite
//! itself fails on anything else, and on an entry that passes by now.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};
use serde_json::json;

use crate::args::Args;
use crate::served::{self, Served};
use crate::{process, ui, workspace};

const SUITE: &str = "@modelcontextprotocol/conformance";
const SUITE_VERSION: &str = "0.2.0-alpha.12";
const NODE_VERSION: &str = "24.21.0";
/// The revisions whose required sets must pass.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];
/// The modes that are judged.
const MODES: [&str; 2] = ["flat", "lazy"];

/// `cargo xtask conformance`
pub(crate) fn run(args: &mut Args) -> Result<()> {
    let revisions = args.options("--revision")?;
    let modes = args.options("--mode")?;
    args.finish()?;
    let summary = check(&modes, &revisions)?;
    ui::line(&summary);
    Ok(())
}

/// Runs the suite in these modes for these revisions (all where none is named); gives the counts.
pub(crate) fn check(modes: &[String], revisions: &[String]) -> Result<String> {
    let wanted = |of: &[String], name: &str| of.is_empty() || of.iter().any(|one| one == name);
    let peers = install()?;
    served::build()?;
    let (mut failed, mut counts) = (Vec::new(), Vec::new());
    for mode in MODES.into_iter().filter(|mode| wanted(modes, mode)) {
        let server = Served::start(&format!("conformance-{mode}"), &configuration(mode))?;
        for revision in REVISIONS.into_iter().filter(|one| wanted(revisions, one)) {
            ui::title(&format!("{mode}, {revision}"));
            let verdict = judge(&peers, &server.url("/mcp"), mode, revision)?;
            counts.push(format!("{mode} {revision}: {}", verdict.counts));
            if !verdict.passes {
                failed.push(format!("{revision} in {mode} mode"));
            }
        }
    }
    if !failed.is_empty() {
        bail!(
            "not everything passes that {} requires",
            failed.join(" and ")
        );
    }
    Ok(counts.join("; "))
}

/// The fixture behind the program, with nothing that would keep the suite from calling it.
fn configuration(mode: &str) -> String {
    json!({
        "mode": mode,
        "policy": {
            "mode": "relaxed",
            "overrides": [{ "idempotencyRequired": false, "confirmationRequired": false }],
            "rateLimits": { "perServer": { "requests": 1_000, "perSeconds": 1 } },
        },
        "mcpServers": { "fixture": { "command": served::built("conformance-server") } },
    })
    .to_string()
}

/// Puts the suite where it is found again, unless it is there; gives its directory.
fn install() -> Result<PathBuf> {
    let place = workspace::target().join(format!("peers/conformance-{SUITE_VERSION}"));
    if suite(&place).is_file() && node(&place).is_file() {
        return Ok(place);
    }
    std::fs::create_dir_all(&place)?;
    let mut npm = Command::new("npm");
    npm.current_dir(&place).args([
        "install",
        "--no-save",
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
    ]);
    npm.arg(format!("{SUITE}@{SUITE_VERSION}"));
    npm.arg(format!("node@{NODE_VERSION}"));
    process::run(&mut npm)?;
    // Its one script fetches the program for this machine; no other package's script runs.
    let mut fetch = Command::new("node");
    fetch.current_dir(place.join("node_modules/node"));
    process::run(fetch.arg("installArchSpecificPackage.js"))?;
    Ok(place)
}

fn suite(place: &Path) -> PathBuf {
    place.join("node_modules").join(SUITE).join("dist/index.js")
}

fn node(place: &Path) -> PathBuf {
    place.join("node_modules/node/bin/node")
}

/// What the suite says.
struct Verdict {
    passes: bool,
    counts: String,
}

/// Runs the required set of a revision; all of it must pass but what is known not to.
fn judge(peers: &Path, address: &str, mode: &str, revision: &str) -> Result<Verdict> {
    let mut command = Command::new(node(peers));
    command.current_dir(peers).arg(suite(peers)).args([
        "server",
        "--url",
        address,
        "--requirements",
        revision,
    ]);
    let known = workspace::root().join(format!("testkit/conformance-{mode}.yaml"));
    command.arg("--expected-failures").arg(known);
    let mut counts = String::from("no count");
    let passes = process::watch(&mut command, &mut |line| {
        if let Some(total) = line.strip_prefix("Total: ") {
            total.clone_into(&mut counts);
        }
    })?;
    Ok(Verdict { passes, counts })
}
