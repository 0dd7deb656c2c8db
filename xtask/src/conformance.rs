//! The official conformance suite of MCP, run against the program: in flat mode in front of the fixture
//! of the test kit, which must pass whole, and in lazy mode, where what needs the fixture cannot apply.
//! Its client scenarios are run against our upstream client, through the driver of the test kit.
//!
//! What is known not to pass stands in `testkit/peers/conformance/MODE.yaml`, each entry with its reason;
//! the suite itself fails on anything else, and on an entry that passes by now.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::json;

use crate::args::Args;
use crate::peers::{self, Peers};
use crate::served::{Build, Served};
use crate::{process, ui};

const SUITE: &str = "@modelcontextprotocol/conformance/dist/index.js";
/// The revisions whose required sets must pass.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// What is judged: the program in one of its modes, or our client.
const JUDGED: [&str; 3] = ["flat", "lazy", CLIENT];
const CLIENT: &str = "client";

/// `cargo xtask conformance`
pub(crate) fn run(args: &mut Args) -> Result<()> {
    let build = Build::named(args);
    let revisions = args.options("--revision")?;
    let judged = args.options("--only")?;
    args.finish()?;
    ui::line(&check(build, &judged, &revisions)?);
    Ok(())
}

/// Runs the suite on these for these revisions (all where none is named); gives the counts.
pub(crate) fn check(build: Build, judged: &[String], revisions: &[String]) -> Result<String> {
    let wanted = |of: &[String], name: &str| of.is_empty() || of.iter().any(|one| one == name);
    let peers = Peers::install("conformance")?;
    build.make()?;
    let (mut failed, mut counts) = (Vec::new(), Vec::new());
    for one in JUDGED.into_iter().filter(|one| wanted(judged, one)) {
        let server = (one != CLIENT)
            .then(|| {
                let config = configuration(build, one);
                Served::start(build, &format!("conformance-{one}"), &config)
            })
            .transpose()?;
        for revision in REVISIONS.into_iter().filter(|one| wanted(revisions, one)) {
            ui::title(&format!("{one}, {revision}"));
            let mut command = suite(&peers, if one == CLIENT { "client" } else { "server" });
            match &server {
                Some(server) => command.arg("--url").arg(server.url("/mcp")),
                None => command
                    .arg("--command")
                    .arg(build.program("conformance_client")),
            };
            let required = Required::of(&peers, revision)?;
            let verdict = judge(&mut command, one, revision, &required)?;
            counts.push(format!("{one} {revision}: {}", verdict.counts));
            if !verdict.passes {
                failed.push(format!("{revision} ({one})"));
            }
        }
    }
    let counts = counts.join(", ");
    if !failed.is_empty() {
        bail!(
            "not everything passes that {} requires: {counts}",
            failed.join(" and ")
        );
    }
    Ok(format!("required scenarios that pass: {counts}"))
}

/// The fixture behind the program, with nothing that would keep the suite from calling it.
fn configuration(build: Build, mode: &str) -> String {
    json!({
        "mode": mode,
        "policy": {
            "mode": "relaxed",
            "overrides": [{ "idempotencyRequired": false, "confirmationRequired": false }],
            "rateLimits": { "perServer": { "requests": 1_000, "perSeconds": 1 } },
        },
        "mcpServers": { "fixture": { "command": build.program("conformance-server") } },
    })
    .to_string()
}

fn suite(peers: &Peers, task: &str) -> Command {
    let mut command = Command::new(peers.node());
    command.arg(peers.module(SUITE)).arg(task);
    command
}

/// The scenarios that a revision requires; the suite runs others beside them, which count for nothing.
struct Required(BTreeSet<String>);

impl Required {
    fn of(peers: &Peers, revision: &str) -> Result<Self> {
        let mut command = suite(peers, "list");
        let text = process::output(command.args(["--requirements", revision]))?;
        let required = Self::read(&text);
        if required.0.is_empty() {
            bail!("the suite names nothing that {revision} requires");
        }
        Ok(required)
    }

    fn read(text: &str) -> Self {
        let scored = text.split("Run and reported, but never scored").next();
        let names = scored.unwrap_or_default().lines();
        let names = names.filter_map(|line| line.trim().strip_prefix("- "));
        Self(names.map(|name| name.trim().to_owned()).collect())
    }

    /// The name of a required scenario and whether it passed, from a line of the suite's summary.
    fn outcome(&self, line: &str) -> Option<bool> {
        let passed = line.starts_with('✓');
        let name = line.strip_prefix(['✓', '✗'])?.trim().split(':').next()?;
        self.0.contains(name).then_some(passed)
    }
}

/// What the suite says.
struct Verdict {
    passes: bool,
    counts: String,
}

/// Runs the required set of a revision; all of it must pass but what is known not to.
fn judge(
    command: &mut Command,
    judged: &str,
    revision: &str,
    required: &Required,
) -> Result<Verdict> {
    let known = peers::pins("conformance").join(format!("{judged}.yaml"));
    command.args(["--requirements", revision]);
    command.arg("--expected-failures").arg(known);
    let (mut passed, mut of) = (0, 0);
    let good = process::watch(command, &mut |line| {
        if let Some(outcome) = required.outcome(line) {
            of += 1;
            passed += u32::from(outcome);
        }
    })
    .context("cannot run the suite")?;
    Ok(Verdict {
        passes: good && passed > 0,
        counts: match of - passed {
            0 => format!("{passed}"),
            apart => format!("{passed} ({apart} known not to)"),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_required_counts() {
        let required = Required::read(
            "Required for 2026-07-28:\n\nServer scenarios:\n  - ping\n  - auth/one\n\nRun and reported, but never scored:\n  extension (1):\n    - tasks [server]\n",
        );
        let outcome = |line| required.outcome(line);
        assert_eq!(outcome("✓ ping: 2 passed, 0 failed"), Some(true));
        assert_eq!(outcome("✗ auth/one: 1 passed, 1 failed"), Some(false));
        assert_eq!(outcome("✗ tasks: 0 passed, 1 failed"), None);
        assert_eq!(outcome("Total: 2 passed, 0 failed"), None);
    }
}
