//! How servers stand, as a person is told: by a process that runs, and by a command that could not ask one.

use std::io::{BufRead, BufReader, Write};

use serde_json::{Value, json};

use crate::counter::furnished;
use crate::home::Home;

const GONE: &str = "  gone: {command: /nowhere/at/all}\n";

/// A home whose process has asked both of its servers.
fn asked(home: &Home) -> crate::home::Server {
    let mut server = home.serve(&["--stdio"]);
    let mut lines = BufReader::new(server.take_stdout()).lines();
    let mut ask = |id: u32, method: &str, params: Value| {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(server.stdin(), "{message}").unwrap();
        loop {
            let line = lines.next().unwrap().unwrap();
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == id {
                return;
            }
        }
    };
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
                       "clientInfo": {"name": "t", "version": "1"}});
    ask(1, "initialize", hello);
    for (id, name) in [(2, "notes"), (3, "gone")] {
        let call = json!({"name": "list_tools", "arguments": {"server": name}});
        ask(id, "tools/call", call);
    }
    server
}

#[test]
fn the_list_says_what_a_running_process_is_connected_to() {
    let home = furnished(GONE);
    let said = home.run(&["list"]);
    assert!(
        said.out
            .contains("✗ notes (not asked yet)\n  Notes of a person\n  Status: Disconnected (idle; the next call connects it)\n"),
        "{}",
        said.out
    );
    assert!(said.err.contains("No process is running"), "{}", said.err);
    let server = asked(&home);
    let said = home.run(&["list"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    for part in [
        "✓ notes (5 tools)\n  Notes of a person\n  Status: Connected\n",
        "✗ gone (could not be asked)\n  Status: Disconnected: it could not be started: ",
        "✗ calendar (not asked yet)\n  Status: Disconnected (idle; the next call connects it)\n",
    ] {
        assert!(said.out.contains(part), "{part:?} is not in\n{}", said.out);
    }
    assert_eq!(said.err, "");
    let counts = home.run(&["list", "--tools"]).out;
    let why = "✗ gone (no tools: it could not be started: ";
    assert!(counts.contains(why), "{counts}");
    let json = home.run(&["list", "--json"]).json();
    assert_eq!(json["process"], server.pid());
    assert_eq!(json["servers"][0]["status"], "connected");
    assert_eq!(json["servers"][2]["status"], "error");
}

#[test]
fn why_a_server_could_not_be_asked_is_said_in_the_answer_and_not_in_a_log_line() {
    let home = furnished(GONE);
    let reason = "it could not be started: `/nowhere/at/all` is not there";
    let check = |arguments: &[&str], code: i32| {
        let said = home.run(arguments);
        assert_eq!(
            said.code,
            Some(code),
            "{arguments:?}: {} {}",
            said.out,
            said.err
        );
        assert!(said.err.contains(reason), "{arguments:?}: {}", said.err);
        assert!(!said.err.contains("WARN"), "{arguments:?}: {}", said.err);
    };
    check(&["search", "note"], 0);
    check(&["search", "zzzz"], 2);
    check(&["tools", "gone"], 3);
    check(&["inspect", "gone", "x"], 3);
    check(&["execute", "gone", "x", "--args", "{}"], 3);
    check(&["policy", "explain", "gone:x"], 3);
    check(&["registry-file", "write", "--path", "made.json"], 3);
    let json = home.run(&["search", "note", "--json"]).json();
    let why = json["failedServers"]["gone"].as_str().unwrap();
    assert!(why.contains(reason), "{json}");
    let json = home.run(&["tools", "gone", "--json"]).json();
    let why = json["error"]["reason"].as_str().unwrap();
    assert!(why.contains(reason), "{json}");
}
