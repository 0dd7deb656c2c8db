//! `cargo xtask hot`: the functions that a session of the program runs, for the linker to put next to each other
//! (ADR 0011).
//!
//! Sessions over both doors run under callgrind, which names every function that ran.

mod names;

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::args::Args;
use crate::bench::Door;
use crate::rivals::{Client, shipped};
use crate::{process, served, ui, workspace};

/// Where the list stands.
const LIST: &str = "crates/gateway/link/hot.txt";
/// Calls of a session: enough for what is done now and then, such as a checkpoint of the store.
const CALLS: usize = 600;
/// How long the program may take to listen under callgrind.
const START_TIME: Duration = Duration::from_mins(1);

/// Runs the sessions and writes the list.
pub(crate) fn run(args: &mut Args) -> Result<()> {
    args.finish()?;
    // As it is installed, but with the names of its functions.
    let mut build = process::cargo();
    build.args(["build", "--locked", "--release", "-p", "toolcrib"]);
    process::run(build.env("CARGO_PROFILE_RELEASE_STRIP", "none"))?;
    let ran: HashSet<String> = [over_pipe()?, over_http()?]
        .iter()
        .flat_map(|text| functions(text))
        .collect();
    let symbols = symbols(&shipped())?;
    let list = names::list(&symbols, &ran);
    ui::line(&format!(
        "{} names; {} of {} KiB of code stand together, of which {} KiB ran",
        list.names.len(),
        list.together_bytes / 1024,
        symbols.values().sum::<u64>() / 1024,
        list.ran_bytes / 1024,
    ));
    fs::write(workspace::root().join(LIST), list.names.join("\n") + "\n")?;
    Ok(())
}

/// What an agent does: it looks around, finds, reads about a tool, and runs it.
fn talk(ask: &mut dyn FnMut(&str, Value) -> Result<()>) -> Result<()> {
    let tool = json!({"server": "notes", "tool": "search_notes"});
    ask("list_mcp_servers", json!({}))?;
    ask("list_tools", json!({"server": "notes"}))?;
    for wish in ["write down a note", "what did I note about milk"] {
        ask("search_tools", json!({"query": wish}))?;
    }
    ask("get_tool_details", tool.clone())?;
    for number in 0..CALLS {
        let mut call = tool.clone();
        call["arguments"] = json!({"query": format!("milk {number}")});
        ask("execute_tool", call)?;
    }
    Ok(())
}

fn over_pipe() -> Result<String> {
    let (home, counts) = stage("pipe")?;
    let mut door = Door::wrapped(watched(&counts), &home)?;
    door.tools()?;
    talk(&mut |tool, arguments| door.call(tool, &arguments).map(drop))?;
    door.close()?;
    Ok(fs::read_to_string(counts)?)
}

fn over_http() -> Result<String> {
    let (home, counts) = stage("http")?;
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
    let child = watched(&counts)
        .args(["serve", "--listen", &address])
        .current_dir(&home)
        .env("HOME", &home)
        .env("XDG_RUNTIME_DIR", &home)
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
        let params = json!({"name": tool, "arguments": arguments});
        client.ask("tools/call", &params).map(drop)
    })?;
    child.end()?;
    Ok(fs::read_to_string(counts)?)
}

/// A program that does not outlive its session.
struct Running(Child);

impl Running {
    /// Ends it in order, so that callgrind writes what it counted.
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

/// A home whose only server is the one that is called, and the file for the counts.
fn stage(name: &str) -> Result<(PathBuf, PathBuf)> {
    let notes = json!({"command": shipped(), "args": ["workshop", "notes"]});
    let config = json!({
        "servers": {"notes": notes},
        "policy": {"rateLimits": {"perServer": {"requests": 1_000_000}}},
    });
    let home = served::home(&format!("hot-{name}"), &config.to_string())?;
    if name == "pipe" {
        // Each session reads another format.
        let place = home.join(".config/toolcrib");
        fs::rename(place.join("toolcrib.yaml"), place.join("toolcrib.json"))?;
    }
    let counts = home.join("callgrind.out");
    Ok((home, counts))
}

fn watched(counts: &Path) -> Command {
    let mut command = process::program("valgrind");
    command
        .args(["--tool=callgrind", "--demangle=no"])
        .arg(format!("--callgrind-out-file={}", counts.display()))
        .arg(shipped());
    command
}

/// The functions in callgrind's file, under the names that the linker knows.
fn functions(counts: &str) -> impl Iterator<Item = String> {
    counts.lines().filter_map(|line| {
        let of = line
            .strip_prefix("fn=")
            .or_else(|| line.strip_prefix("cfn="))?;
        let (_, name) = of.split_once(' ')?;
        // One that called itself is counted by depth.
        Some(name.split('\'').next().unwrap_or(name).to_owned())
    })
}

/// The functions in a program and how many bytes each has.
fn symbols(program: &Path) -> Result<BTreeMap<String, u64>> {
    let said = process::output(process::program("nm").arg("-S").arg(program))?;
    let symbols: BTreeMap<String, u64> = said.lines().filter_map(symbol).collect();
    if symbols.is_empty() {
        bail!("nm names no function of {}", program.display());
    }
    Ok(symbols)
}

fn symbol(line: &str) -> Option<(String, u64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [_, bytes, kind, name] = words[..] else {
        return None;
    };
    let bytes = u64::from_str_radix(bytes, 16).ok()?;
    matches!(kind, "t" | "T" | "w" | "W").then(|| (name.to_owned(), bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_read_from_callgrinds_file() {
        let text =
            "fn=(1) main\n1 5\ncfn=(2) _ZN3foo3bar17h0123456789abcdefE'2\ncalls=3 0\nfn=(2)\n";
        let found: Vec<String> = functions(text).collect();
        assert_eq!(found, ["main", "_ZN3foo3bar17h0123456789abcdefE"]);
    }

    #[test]
    fn functions_of_a_program_have_their_sizes() {
        let of = |line| symbol(line);
        assert_eq!(
            of("0000000000001139 000000000000001a T main"),
            Some(("main".into(), 26))
        );
        assert_eq!(of("0000000000004010 0000000000000004 B number"), None);
        assert_eq!(of("                 U puts"), None);
    }

    #[test]
    fn the_list_stands_where_the_build_reads_it() {
        let text = fs::read_to_string(workspace::root().join(LIST)).unwrap();
        assert!(text.lines().count() > 100);
        let odd = text.lines().find(|name| !names::is_plain(name));
        assert_eq!(odd, None, "the linker would misread it");
    }
}
