//! A client of a server's standard streams.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::nanoseconds;

/// A session; the process ends with it.
pub(crate) struct Door {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    asked: u64,
}

impl Door {
    /// Starts the program in a home and shakes hands.
    pub(crate) fn open(program: &Path, home: &Path, env: &[(&str, &str)]) -> Result<Self> {
        let mut command = Command::new(program);
        command.envs(env.iter().copied());
        Self::wrapped(command, home)
    }

    /// As [`Self::open`], with the program as the last word of a command that watches it.
    pub(crate) fn wrapped(mut command: Command, home: &Path) -> Result<Self> {
        command
            .args(["serve", "--stdio"])
            .current_dir(home)
            .env("HOME", home)
            .env("XDG_RUNTIME_DIR", home);
        Self::start(command)
    }

    /// A server itself, with nobody between.
    pub(crate) fn straight(program: &Path, args: &[&str]) -> Result<Self> {
        let mut command = Command::new(program);
        command.args(args);
        Self::start(command)
    }

    /// The server that a command starts.
    pub(crate) fn start(mut command: Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let output = child.stdout.take().context("no pipe")?;
        let mut door = Self {
            input: child.stdin.take(),
            output: BufReader::new(output),
            child,
            asked: 0,
        };
        door.ask(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": {},
                    "clientInfo": {"name": "toolcrib-bench", "version": "1"}}),
        )?;
        door.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(door)
    }

    /// The tools on the first page.
    pub(crate) fn tools(&mut self) -> Result<Value> {
        Ok(self.ask("tools/list", &json!({}))?["tools"].take())
    }

    /// Calls a tool and gives the JSON that it answers with.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value> {
        let result = self.result(tool, arguments)?;
        if result["isError"] == true {
            bail!("{tool} {arguments} was answered with {result}");
        }
        content(&result)
    }

    /// As [`Self::call`], also where the call is refused or fails.
    pub(crate) fn told(&mut self, tool: &str, arguments: &Value) -> Result<Value> {
        content(&self.result(tool, arguments)?)
    }

    fn result(&mut self, tool: &str, arguments: &Value) -> Result<Value> {
        self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// The median time of a call, nanoseconds.
    pub(crate) fn median(
        &mut self,
        times: usize,
        tool: &str,
        make: &dyn Fn(usize) -> Value,
    ) -> Result<u64> {
        let mut durations = Vec::with_capacity(times);
        for number in 0..times {
            let arguments = make(number);
            let begun = Instant::now();
            self.call(tool, &arguments)?;
            durations.push(nanoseconds(begun));
        }
        durations.sort_unstable();
        Ok(durations[durations.len() / 2])
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let input = self.input.as_mut().context("the pipe is closed")?;
        input.write_all(format!("{message}\n").as_bytes())?;
        Ok(())
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line)? == 0 {
                bail!("the program ended in the middle of {method}");
            }
            let mut message: Value = serde_json::from_str(&line)?;
            if message["id"] == id {
                if message.get("error").is_some() {
                    bail!("{method} was answered with {line}");
                }
                return Ok(message["result"].take());
            }
        }
    }

    /// The process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// KiB that the process holds.
    pub(crate) fn memory_kib(&self) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let figure = line.and_then(|line| line.split_whitespace().nth(1));
        Ok(figure
            .context("the system does not say what the process holds")?
            .parse()?)
    }

    /// Closes the pipe and waits until the process has ended by itself.
    pub(crate) fn close(mut self) -> Result<()> {
        drop(self.input.take());
        self.child.wait()?;
        Ok(())
    }
}

/// The JSON in the text of a result.
fn content(result: &Value) -> Result<Value> {
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    serde_json::from_str(text).with_context(|| format!("the call was answered with {result}"))
}

impl Drop for Door {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
