//! The REST API, held against its own `OpenAPI` document by schemathesis: requests that fit the document
//! and requests that do not, and no answer may be a fault of ours or one that the document does not have.

use std::process::Command;

use anyhow::Result;
use serde_json::json;

use crate::args::Args;
use crate::peers::{self, Peers};
use crate::served::{Build, Served};
use crate::{process, ui};

/// What every answer is checked for.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance";
/// A stream of events never ends, so that nothing can be said about the whole of it.
const ENDLESS: &str = "/api/v1/events";
/// How it is started: its script names the machine that it was installed on.
const START: &str = "from schemathesis.cli import schemathesis; schemathesis()";
/// Made-up requests for each operation, unless told otherwise.
const EXAMPLES: u64 = 25;
/// The same requests in every run.
const SEED: &str = "1";

/// `cargo xtask schemathesis`
pub(crate) fn run(args: &mut Args) -> Result<()> {
    let build = Build::named(args);
    let examples = args.number("--examples")?.unwrap_or(EXAMPLES);
    args.finish()?;
    ui::line(&check(build, examples)?);
    Ok(())
}

/// Makes up this many requests for each operation and looks at the answers.
pub(crate) fn check(build: Build, examples: u64) -> Result<String> {
    if !peers::has_python() {
        return Ok(
            "no python3 with venv on this machine: schemathesis is not asked here".to_owned(),
        );
    }
    let peers = Peers::install("schemathesis")?;
    build.make()?;
    let served = Served::start(build, "schemathesis", &configuration(build))?;
    let mut command = Command::new(peers.python());
    command.args(["-c", START, "run"]);
    command.arg(served.url("/api/v1/openapi.json"));
    command.args(["--exclude-path", ENDLESS, "--checks", CHECKS]);
    command.args(["--max-examples", &examples.to_string(), "--seed", SEED]);
    command.args(["--phases", "coverage,fuzzing", "--no-color"]);
    process::run(&mut command)?;
    Ok(format!(
        "the REST API answers as its document says, to {examples} requests for each operation"
    ))
}

/// A small server behind the program, and nobody kept from anything.
fn configuration(build: Build) -> String {
    json!({
        "policy": {
            "loopbackScopes": ["*", "toolcrib:admin"],
            "rateLimits": { "perServer": { "requests": 1_000, "perSeconds": 1 } },
        },
        "mcpServers": {
            "notes": { "command": build.program("toolcrib"), "args": ["workshop", "notes"] },
        },
    })
    .to_string()
}
