//! What the program starts does not outlive it, however it ends.

use std::io::Write;
use std::path::Path;

use rustix::process::{Pid, Signal, test_kill_process};
use serde_json::json;

use crate::home::{Home, Server, eventually};

/// The process ids in a file, one a line.
pub(crate) fn pids(file: &Path) -> Vec<i32> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines()
        .map(|line| line.trim().parse().unwrap())
        .collect()
}

/// Whether a process runs; one that only waits to be buried does not.
pub(crate) fn runs(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    if let Ok(stat) = stat {
        let state = stat.rsplit(") ").next().unwrap_or_default();
        return !state.starts_with(['Z', 'X']);
    }
    !Path::new("/proc/self").exists()
        && Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid).is_ok())
}

/// A home whose one server `s` is a hostile one that writes down when it starts.
fn home(flags: &str) -> Home {
    let home = Home::new();
    let hostile = toolcrib_testkit::program("hostile");
    let (started, lists) = (home.path("pids"), home.path("lists"));
    let mut args = vec!["--starts", started.to_str().unwrap()];
    args.extend(flags.split_whitespace());
    let left = home.path("left");
    if flags.contains("--ignore-end") {
        args.extend(["--grandchild", left.to_str().unwrap()]);
    }
    home.configure(&format!(
        "servers: {{s: {{command: {}, args: {}}}}}\ncache: {{enabled: true, directory: {}}}\n",
        json!(hostile),
        json!(args),
        json!(lists)
    ));
    home
}

fn serve(home: &Home) -> Server {
    let mut server = home.serve(&["--stdio"]);
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "list_tools", "arguments": { "server": "s" } } });
    write!(server.stdin(), "{hello}\n{list}\n").unwrap();
    server
}

#[test]
fn no_child_survives_the_program_killed_or_ended() {
    for signal in [Signal::KILL, Signal::TERM] {
        // It ignores the end of its input, and what it starts itself knows of no end at all.
        let home = home("--ignore-end");
        let mut server = serve(&home);
        let started = eventually("the server and what it started run", || {
            let (own, left) = (pids(&home.path("pids")), pids(&home.path("left")));
            (!own.is_empty() && !left.is_empty()).then(|| [own, left].concat())
        });
        assert!(started.iter().all(|pid| runs(*pid)), "{started:?}");
        server.signal(signal);
        server.ends();
        eventually("every child is gone", || {
            started.iter().all(|pid| !runs(*pid)).then_some(())
        });
    }
}

#[test]
fn a_server_is_probed_by_the_first_process_and_not_by_the_next() {
    // It ends when it is probed, so that each probe costs a start.
    let home = home("--era fragile");
    for starts in [2, 3] {
        let said = home.run(&["tools", "s"]);
        assert_eq!(said.code, Some(0), "{}", said.err);
        assert_eq!(pids(&home.path("pids")).len(), starts);
        std::fs::remove_file(home.path("lists/tools_s.json")).unwrap();
    }
}
