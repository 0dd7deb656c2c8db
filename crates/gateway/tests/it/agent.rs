//! An agent that speaks MCP with the program on a pipe.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
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
    /// Starts the program and shakes hands without waiting for an answer.
    pub(crate) fn start(home: &Home) -> Self {
        let mut child = home
            .command(&["serve", "--stdio"])
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
        agent.send("initialize", &hello);
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        agent.write(&told.to_string());
        agent
    }

    fn write(&mut self, text: &str) {
        // A process that is gone hears nothing, which its answers show.
        let _ = self.input.write_all(format!("{text}\n").as_bytes());
    }

    /// Sends a request and gives its id.
    pub(crate) fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.asked += 1;
        let id = self.asked;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(&message.to_string());
        id
    }

    /// Asks for a tool of `stage` to be run; the arguments go out as they are written.
    pub(crate) fn ask(&mut self, tool: &str, arguments: &str, options: &Value) -> u64 {
        self.asked += 1;
        let id = self.asked;
        let tool = Value::from(tool);
        self.write(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"execute_tool","arguments":{{"server":"stage","tool":{tool},"arguments":{arguments},"options":{options}}}}}}}"#
        ));
        id
    }

    /// The next answer: its id and what it says, as a model reads it.
    pub(crate) fn answer(&mut self) -> (u64, Value) {
        loop {
            let message = self.heard.recv_timeout(PATIENCE).unwrap();
            let Some(id) = message["id"].as_u64().filter(|id| *id > 1) else {
                continue;
            };
            let text = message["result"]["content"][0]["text"].as_str();
            let said = text.and_then(|text| serde_json::from_str(text).ok());
            return (id, said.unwrap_or(message));
        }
    }

    /// Runs a tool of `stage` and waits for the answer.
    pub(crate) fn call(&mut self, tool: &str, arguments: &str, options: &Value) -> Value {
        let id = self.ask(tool, arguments, options);
        let (answered, said) = self.answer();
        assert_eq!(id, answered);
        said
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
