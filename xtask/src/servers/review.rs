//! A real server from introspection to rejection, through the program: found out, approved, used, changed,
//! and turned down.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::peers::Peers;
use crate::served::{self, Build};

/// What the server says of the tool that is run, and what the changed one says.
const CHANGE: &str = "s/Echoes back/Sends back/";

/// Runs the story; fails at the first step that does not do what it should.
pub(super) fn run(build: Build, peers: &Peers) -> Result<String> {
    let home = served::home("review", r#"{"imports": {"auto": false}}"#)?;
    let (script, change) = (home.join("everything.sh"), home.join("change.sed"));
    let program = peers.npm_program("mcp-server-everything");
    let text = format!(
        "'{}' | sed -u -f '{}'\n",
        program.display(),
        change.display()
    );
    std::fs::write(&script, text)?;
    std::fs::write(&change, "")?;
    let story = Story { build, home: &home };
    let command = format!("sh '{}'", script.display());
    let introspect = ["introspect", command.as_str(), "--name", "everything"];

    let first = story.good(&introspect)?;
    let tools = first["tools_waiting"].as_u64().context("no tools")?;
    ensure!(tools > 5, "only {tools} tools wait: {first}");
    let (code, _) = story.execute("key-1")?;
    ensure!(code == "SERVER_NOT_FOUND", "before approval: {code}");
    let shown = story.good(&["approvals", "show", "everything"])?;
    ensure!(shown["approvals"].is_array(), "nothing to review: {shown}");
    let approved = story.good(&["approve", "everything"])?;
    let files = approved["promoted"][0]["approved"].as_array();
    ensure!(
        files.map(Vec::len) == usize::try_from(tools).ok(),
        "{approved}"
    );
    let found = story.good(&["search", "echo a message"])?.to_string();
    ensure!(found.contains("echo"), "not found: {found}");
    let (code, said) = story.execute("key-2")?;
    ensure!(
        code.is_empty() && said.contains("hello"),
        "approved: {code} {said}"
    );

    std::fs::write(&change, CHANGE)?;
    let again = story.good(&introspect)?;
    ensure!(again["tools_waiting"] == 1, "one tool changed: {again}");
    story.good(&["cache", "warm", "--fresh", "everything"])?;
    let (code, _) = story.execute("key-3")?;
    ensure!(code == "APPROVAL_REQUIRED", "changed: {code}");
    story.good(&["approvals", "reject", "everything"])?;
    let (code, said) = story.execute("key-4")?;
    ensure!(!code.is_empty(), "rejected, and still run: {said}");
    Ok(format!(
        "a real server of {tools} tools was reviewed, used, changed and rejected"
    ))
}

struct Story<'a> {
    build: Build,
    home: &'a Path,
}

impl Story<'_> {
    fn say(&self, arguments: &[&str]) -> Result<Value> {
        let mut command = self.build.toolcrib(self.home);
        let output = command.args(arguments).arg("--json").output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        serde_json::from_str(&text).with_context(|| {
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            format!("{arguments:?} said {text:?} {error:?}")
        })
    }

    fn good(&self, arguments: &[&str]) -> Result<Value> {
        let said = self.say(arguments)?;
        match said["error"].as_object() {
            Some(_) => bail!("{arguments:?} failed: {said}"),
            None => Ok(said),
        }
    }

    /// Runs a tool; the code of the error, empty where there is none, and what was said.
    fn execute(&self, key: &str) -> Result<(String, String)> {
        let said = self.say(&[
            "execute",
            "everything",
            "echo",
            "--args",
            r#"{"message":"hello"}"#,
            "--idempotency-key",
            key,
        ])?;
        let code = said["error"]["code"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        Ok((code, said.to_string()))
    }
}
