//! An agent that speaks MCP with the program on a pipe.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::home::{Home, PATIENCE};

/// An agent and its own process; both end with the test.
pub(crate) struct Agent {
    child: Child,
    input: ChildStdin,
    heard: Receiver<Value>,
    asked: u64,
}

impl Agent {
    /// Starts the program in a mode and shakes hands.
    pub(crate) fn start(home: &Home, mode: &str) -> Self {
        let agent = Self::spawn(home, mode);
        agent.heard.recv_timeout(PATIENCE).unwrap();
        agent
    }

    /// Starts the program with a profile and shakes hands.
    pub(crate) fn profile(home: &Home, profile: &str) -> Self {
        let agent = Self::run(home.command(&["serve", "--stdio", "--profile", profile]));
        agent.heard.recv_timeout(PATIENCE).unwrap();
        agent
    }

    /// Starts this command and shakes hands.
    pub(crate) fn of(command: Command) -> Self {
        let agent = Self::run(command);
        agent.heard.recv_timeout(PATIENCE).unwrap();
        agent
    }

    /// Starts the program in a mode and says hello, without waiting for an answer.
    pub(crate) fn spawn(home: &Home, mode: &str) -> Self {
        let mut command = home.command(&["serve", "--stdio"]);
        command.env("MCP_TOOL_MODE", mode);
        Self::run(command)
    }

    fn run(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (sender, heard) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            // What a process that was killed wrote last may be half a line.
            let lines = output.lines().map_while(Result::ok);
            for message in lines.filter_map(|line| serde_json::from_str(&line).ok()) {
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let input = child.stdin.take().unwrap();
        let mut agent = Self {
            child,
            input,
            heard,
            asked: 0,
        };
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "agent", "version": "1"}});
        agent.send("initialize", &hello.to_string());
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        agent.write(&told.to_string());
        agent
    }

    fn write(&mut self, text: &str) {
        // A process that is gone hears nothing, which its answers show.
        let _ = self.input.write_all(format!("{text}\n").as_bytes());
    }

    /// Sends a request with its parameters as they are written, and gives its id.
    pub(crate) fn send(&mut self, method: &str, params: &str) -> u64 {
        self.asked += 1;
        let (id, method) = (self.asked, Value::from(method));
        self.write(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#
        ));
        id
    }

    /// Asks for a tool of `stage` to be run; the arguments go out as they are written.
    pub(crate) fn ask(&mut self, tool: &str, arguments: &str, options: &Value) -> u64 {
        let tool = Value::from(tool);
        self.send("tools/call", &format!(
            r#"{{"name":"execute_tool","arguments":{{"server":"stage","tool":{tool},"arguments":{arguments},"options":{options}}}}}"#
        ))
    }

    /// The answer that came next, if one is there: its id, and the whole of it.
    pub(crate) fn heard(&mut self) -> Option<(u64, Value)> {
        loop {
            let message = self.heard.try_recv().ok()?;
            if let Some(id) = message["id"].as_u64().filter(|id| *id > 1) {
                return Some((id, message));
            }
        }
    }

    /// The next answer: its id, and the whole of it.
    pub(crate) fn answer(&mut self) -> (u64, Value) {
        loop {
            let message = self.heard.recv_timeout(PATIENCE).unwrap();
            if let Some(id) = message["id"].as_u64().filter(|id| *id > 1) {
                return (id, message);
            }
        }
    }

    /// Waits for a notification.
    pub(crate) fn told(&mut self, method: &str) {
        while self.heard.recv_timeout(PATIENCE).unwrap()["method"] != method {}
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn request(&mut self, method: &str, params: &str) -> Value {
        let id = self.send(method, params);
        let (answered, message) = self.answer();
        assert_eq!(id, answered);
        message
    }

    /// The process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends the process at once, whatever it is doing.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What an answer of `execute_tool` says, as a model reads it.
pub(crate) fn said(message: &Value) -> Value {
    let text = message["result"]["content"][0]["text"].as_str();
    let said = text.and_then(|text| serde_json::from_str(text).ok());
    said.unwrap_or_else(|| message.clone())
}
