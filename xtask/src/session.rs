//! Sessions of the program over both doors, as an agent has them, for tasks that watch what runs in it.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::bench::Door;
use crate::rivals::Client;
use crate::{process, served};

/// Calls of a session: enough for what is done now and then, such as a checkpoint of the store.
const CALLS: usize = 600;
/// How long the program may take to listen where it is watched.
const START_TIME: Duration = Duration::from_mins(1);
/// What an agent might wish for.
const WISHES: [&str; 5] = [
    "write down a note",
    "what did I note about milk",
    "delete the note about the meeting with Ada",
    "which notes are there",
    "send an invoice to a customer",
];

/// Has a session over each door, with the program as `start` starts it in a home; gives the two homes.
pub(crate) fn play(program: &Path, start: impl Fn(&Path) -> Command) -> Result<[PathBuf; 2]> {
    let pipe = home("pipe", program)?;
    // Each session reads another format.
    let place = pipe.join(served::SETTINGS);
    fs::rename(place.join("toolcrib.yaml"), place.join("toolcrib.json"))?;
    over_pipe(start(&pipe), &pipe)?;
    let http = home("http", program)?;
    over_http(start(&http), &http)?;
    Ok([pipe, http])
}

/// A home whose only server keeps notes.
fn home(name: &str, program: &Path) -> Result<PathBuf> {
    let config = json!({
        "servers": {"notes": {"command": program, "args": ["workshop", "notes"]}},
        "policy": {"rateLimits": {"perServer": {"requests": 1_000_000}}},
    });
    served::home(&format!("session-{name}"), &config.to_string())
}

/// What an agent does: it looks around, finds, reads about a tool, and runs it.
fn talk(ask: &mut dyn FnMut(&str, &Value) -> Result<Value>) -> Result<()> {
    let tool = json!({"server": "notes", "tool": "search_notes"});
    ask("list_mcp_servers", &json!({}))?;
    ask("list_tools", &json!({"server": "notes"}))?;
    for wish in WISHES {
        ask("search_tools", &json!({"query": wish}))?;
    }
    ask("get_tool_details", &tool)?;
    for number in 0..CALLS {
        let mut call = tool.clone();
        call["arguments"] = json!({"query": format!("milk {number}")});
        let answer = ask("execute_tool", &call)?;
        ensure!(
            answer["isError"] != true,
            "a call was answered with {answer}"
        );
    }
    Ok(())
}

fn over_pipe(command: Command, home: &Path) -> Result<()> {
    let mut door = Door::wrapped(command, home)?;
    door.tools()?;
    talk(&mut |tool, arguments| door.call(tool, arguments))?;
    door.close()
}

fn over_http(mut command: Command, home: &Path) -> Result<()> {
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
    let child = command
        .args(["serve", "--listen", &address])
        .current_dir(home)
        .env("HOME", home)
        .env("XDG_RUNTIME_DIR", home)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let mut child = Running(child);
    let begun = Instant::now();
    let mut client = loop {
        match Client::open(&address, "/mcp") {
            Ok(client) => break client,
            Err(error) if begun.elapsed() > START_TIME => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    client.tools()?;
    talk(&mut |tool, arguments| {
        client.ask("tools/call", &json!({"name": tool, "arguments": arguments}))
    })?;
    child.end()
}

/// A program that does not outlive its session.
struct Running(Child);

impl Running {
    /// Ends it in order, so that who watches it can write down what was seen.
    fn end(&mut self) -> Result<()> {
        let id = self.0.id().to_string();
        process::run(process::program("kill").args(["-TERM", &id]))?;
        self.0.wait()?;
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
