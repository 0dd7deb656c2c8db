//! The official conformance suite of MCP, run against the HTTP door.
//!
//! The suite and the Node that it needs come from the npm registry, pinned, into `target/peers`. What is
//! known not to pass stands in `testkit/conformance.yaml`, each entry with its reason; the suite itself
//! fails on anything else, and on an entry that passes by now.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::args::Args;
use crate::{process, ui, workspace};

const SUITE: &str = "@modelcontextprotocol/conformance";
const SUITE_VERSION: &str = "0.2.0-alpha.12";
const NODE_VERSION: &str = "24.21.0";
/// The revisions whose required sets must pass.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];
/// What is known not to pass, with reasons.
const KNOWN: &str = "testkit/conformance.yaml";

/// `cargo xtask conformance`
pub(crate) fn run(args: &mut Args) -> Result<()> {
    let only = args.options("--revision")?;
    args.finish()?;
    let peers = install()?;
    process::run(process::cargo().args([
        "build",
        "--package",
        "toolcrib",
        "--example",
        "conformance",
    ]))?;
    let server = Server::start()?;
    let mut failed = Vec::new();
    for revision in REVISIONS {
        if !only.is_empty() && !only.iter().any(|only| only == revision) {
            continue;
        }
        ui::title(revision);
        if !judge(&peers, &server.address, revision)? {
            failed.push(revision);
        }
    }
    if !failed.is_empty() {
        bail!(
            "not everything that {} requires passes",
            failed.join(" and ")
        );
    }
    Ok(())
}

/// Puts the suite where it is found again, unless it is there; gives its directory.
fn install() -> Result<PathBuf> {
    let place = workspace::root().join(format!("target/peers/conformance-{SUITE_VERSION}"));
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

/// Runs the required set of a revision; says whether all of it passes but what is known not to.
fn judge(peers: &Path, address: &str, revision: &str) -> Result<bool> {
    let mut command = Command::new(node(peers));
    command.current_dir(peers).arg(suite(peers)).args([
        "server",
        "--url",
        address,
        "--requirements",
        revision,
    ]);
    let known = workspace::root().join(KNOWN);
    command.arg("--expected-failures").arg(known);
    process::watch(&mut command, &mut |_| {})
}

/// The door, serving; ended with this.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start() -> Result<Self> {
        let program = workspace::root().join("target/debug/examples/conformance");
        let mut child = Command::new(&program)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let mut address = String::new();
        let stdout = child.stdout.take().context("its output is read")?;
        BufReader::new(stdout).read_line(&mut address)?;
        let address = address.trim().to_owned();
        let server = Self { child, address };
        if server.address.is_empty() {
            bail!("the door did not say where it listens");
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
