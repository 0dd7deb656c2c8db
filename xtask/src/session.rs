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
/// What an agent might wish for. Neither these nor the calls are what the benches time (ADR 0013).
const WISHES: [&str; 6] = [
    "write down a note",
    "where did I put the torque wrench",
    "delete the note about the meeting with Ada",
    "which notes are there",
    "when is there time for an appointment",
    "send an invoice to a customer",
];
/// What the notes and appointments are about.
const THINGS: [&str; 7] = [
    "torque wrench",
    "drill bits, 3 mm",
    "Schraubstock für die Werkbank",
    "belt of the band saw",
    "order no. 4711 from Lovelace & Sons",
    "safety goggles",
    "first aid kit\nand a second one",
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

/// A home whose servers keep notes and a calendar.
fn home(name: &str, program: &Path) -> Result<PathBuf> {
    let config = json!({
        "servers": {"notes": {"command": program, "args": ["workshop", "notes"]}},
        "policy": {"rateLimits": {"perServer": {"requests": 1_000_000}}},
    });
    let config = with_calendar(config);
    served::home(&format!("session-{name}"), &config.to_string())
}

/// A calendar beside the notes, started like them.
fn with_calendar(mut config: Value) -> Value {
    let mut calendar = config["servers"]["notes"].clone();
    for word in calendar["args"].as_array_mut().into_iter().flatten() {
        if word == "notes" {
            *word = json!("calendar");
        }
    }
    config["servers"]["calendar"] = calendar;
    config
}

/// The server, the tool and the arguments of a call of the session by its number: it writes, reads, lists and looks for.
fn call(number: usize) -> (&'static str, &'static str, Value) {
    let thing = THINGS[number % THINGS.len()];
    let day = format!("2026-03-{:02}", number % 28 + 1);
    let start = format!("{day}T{:02}:00", 9 + number % 8);
    match number % 8 {
        0 => {
            let body = format!("The {thing} is on shelf {number}.");
            let note = json!({"title": format!("Shelf {number}"), "body": body});
            ("notes", "create_note", note)
        }
        1 => ("notes", "search_notes", json!({ "query": thing })),
        2 => ("notes", "read_note", json!({"id": 1})),
        3 => ("notes", "list_notes", json!({})),
        4 => {
            let event = json!({"title": format!("Look for {thing}"), "start": start});
            ("calendar", "create_event", event)
        }
        5 => ("calendar", "list_events", json!({ "day": day })),
        6 => ("calendar", "find_free_hour", json!({ "day": day })),
        _ => {
            let moved = json!({"id": 1, "start": start});
            ("calendar", "move_event", moved)
        }
    }
}

/// What an agent does: it looks around, finds, reads about a tool, and runs it.
fn talk(ask: &mut dyn FnMut(&str, &Value) -> Result<Value>) -> Result<()> {
    ask("list_mcp_servers", &json!({}))?;
    for server in ["notes", "calendar"] {
        ask("list_tools", &json!({ "server": server }))?;
    }
    for wish in WISHES {
        ask("search_tools", &json!({"query": wish}))?;
    }
    for number in 0..8 {
        let (server, tool, _) = call(number);
        ask("get_tool_details", &json!({"server": server, "tool": tool}))?;
    }
    for number in 0..CALLS {
        let (server, tool, arguments) = call(number);
        let call = json!({"server": server, "tool": tool, "arguments": arguments});
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_trained_is_not_what_the_benches_time() {
        let (timed, arguments) = crate::rivals::timed();
        let word = arguments["query"].as_str().unwrap();
        let word = word.split(' ').next().unwrap();
        let calls: Vec<_> = (0..CALLS).map(call).collect();
        assert!(
            calls
                .iter()
                .all(|(_, _, arguments)| !arguments.to_string().contains(word)),
            "no call holds {word}"
        );
        assert!(WISHES.iter().all(|wish| !wish.contains(word)));
        let like_it = calls.iter().filter(|(_, tool, _)| *tool == timed).count();
        assert!(
            like_it * 4 < CALLS,
            "{like_it} of {CALLS} run the tool that is timed"
        );
        let servers = with_calendar(json!({"servers": {"notes": {"args": ["workshop", "notes"]}}}));
        assert_eq!(
            servers["servers"]["calendar"]["args"],
            json!(["workshop", "calendar"])
        );
    }
}
