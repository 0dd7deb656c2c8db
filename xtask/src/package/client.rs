//! A client that asks a program on a pipe for its tools, and nothing more.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

/// A process that ends with us.
pub(super) struct Running(pub(super) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Speaks with the program as a client does, and gives the names of its tools.
pub(super) fn tools_of(command: &mut Command) -> Result<Vec<String>> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut input = child.stdin.take().context("no pipe")?;
    let output = child.stdout.take().context("no pipe")?;
    let _child = Running(child);
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
            "capabilities": {}, "clientInfo": {"name": "package-test", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
    ] {
        writeln!(input, "{message}")?;
    }
    for line in BufReader::new(output).lines() {
        let answer: Value =
            serde_json::from_str(&line?).context("what came is no message of MCP")?;
        if answer["id"] == 2 {
            let tools = answer["result"]["tools"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let names = tools.iter().filter_map(|tool| tool["name"].as_str());
            return Ok(names.map(str::to_owned).collect());
        }
    }
    bail!("the program ended before it named its tools")
}
