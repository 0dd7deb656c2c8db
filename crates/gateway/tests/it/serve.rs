//! A running process: start, log, status, end.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::home::{Home, names};
use crate::stage::{reader, staged};

const TWO: &str = "servers: {a: {command: a}, b: {command: b}}\n";

#[test]
fn a_process_is_listed_while_it_runs_and_leaves_nothing_behind() {
    let home = Home::new();
    let config = home.configure(TWO);
    let mut server = home.serve(&[]);
    let said = home.run(&["status", "--json"]);
    let processes = &said.json()["processes"];
    assert_eq!(processes.as_array().unwrap().len(), 1);
    assert_eq!(processes[0]["pid"], server.pid());
    assert_eq!(processes[0]["generation"], 1);
    assert_eq!(processes[0]["config"], config.to_str().unwrap());
    assert_eq!(processes[0]["counts"]["serversConfigured"], 2);
    let table = home.run(&["status"]).out;
    assert!(table.starts_with("Running processes (1):\n"), "{table}");
    assert!(
        table.contains("~/.config/toolcrib/toolcrib.yaml"),
        "{table}"
    );

    server.signal(Signal::TERM);
    assert!(server.ends().success());
    assert_eq!(server.stdout(), "");
    assert!(names(&home.path("run/toolcrib")).is_empty());
    assert_eq!(home.run(&["status"]).out, "No process is running.\n");
    let log = server.rest().join("\n");
    assert!(log.contains("ending") && log.contains("SIGTERM"), "{log}");
}

#[test]
fn interrupting_ends_cleanly() {
    let home = Home::new();
    let mut server = home.serve(&[]);
    server.signal(Signal::INT);
    assert!(server.ends().success());
    assert!(names(&home.path("run/toolcrib")).is_empty());
}

#[test]
fn with_stdio_the_end_of_standard_input_is_the_end() {
    let home = Home::new();
    let mut server = home.serve(&["--stdio"]);
    server.close_stdin();
    assert!(server.ends().success());
    assert_eq!(server.stdout(), "");
    assert!(names(&home.path("run/toolcrib")).is_empty());
}

#[test]
fn without_stdio_standard_input_does_not_matter() {
    let home = Home::new();
    let mut server = home.serve(&[]);
    server.close_stdin();
    let said = home.run(&["config", "reload"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    server.signal(Signal::TERM);
    assert!(server.ends().success());
}

#[test]
fn a_broken_configuration_is_not_started_with() {
    let home = Home::new();
    home.configure("servers: [\n");
    let said = home.run(&["serve"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("CONFIGURATION_ERROR"), "{}", said.err);
    assert!(said.err.contains("toolcrib.yaml"), "{}", said.err);
    assert_eq!(said.out, "");
}

#[test]
fn a_pin_that_cannot_be_listed_is_named_at_the_start_and_by_validate() {
    let home = Home::new();
    home.configure("servers: {notes: {command: x}}\nsurface: [add_note, 'note:add']\n");
    let sentences = [
        "surface[0] is \"add_note\", and must be `server:tool` to be listed",
        "surface[1] names \"note\", which no server or adapter is called",
    ];
    let said = home.run(&["config", "validate"]);
    assert_eq!(said.code, Some(2));
    let server = home.serve(&[]);
    for sentence in sentences {
        assert!(said.err.contains(sentence), "{}", said.err);
        server.heard(sentence);
    }
}

#[test]
fn several_processes_are_listed_and_addressed() {
    let home = Home::new();
    let first = home.serve(&[]);
    let second = home.serve(&[]);
    let json = home.run(&["status", "--json"]).json();
    let mut pids: Vec<_> = json["processes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["pid"].as_u64().unwrap())
        .collect();
    let mut expected = vec![u64::from(first.pid()), u64::from(second.pid())];
    pids.sort_unstable();
    expected.sort_unstable();
    assert_eq!(pids, expected);
    let one = home.run(&[
        "config",
        "reload",
        "--json",
        "--pid",
        &second.pid().to_string(),
    ]);
    assert_eq!(one.json()["processes"].as_array().unwrap().len(), 1);
    assert_eq!(one.json()["processes"][0]["pid"], second.pid());
    let all = home.run(&["config", "reload", "--json"]).json();
    assert_eq!(all["processes"].as_array().unwrap().len(), 2);
}

#[test]
fn a_process_that_was_killed_leaves_a_socket_that_is_cleared_away() {
    let home = Home::new();
    let mut server = home.serve(&[]);
    server.signal(Signal::KILL);
    assert!(!server.ends().success());
    assert_eq!(names(&home.path("run/toolcrib")).len(), 1);
    assert_eq!(home.run(&["status"]).out, "No process is running.\n");
    assert!(names(&home.path("run/toolcrib")).is_empty());
}

#[test]
fn a_process_that_hangs_is_named_and_the_others_are_asked() {
    let home = Home::new();
    let stopped = home.serve(&[]);
    let running = home.serve(&[]);
    stopped.signal(Signal::STOP);
    let said = home.run(&["status", "--json"]);
    stopped.signal(Signal::CONT);
    let json = said.json();
    assert_eq!(json["processes"].as_array().unwrap().len(), 1);
    assert_eq!(json["processes"][0]["pid"], running.pid());
    let sentence = format!("process {} did not answer within 5 s", stopped.pid());
    assert!(json["silent"][0].as_str().unwrap().starts_with(&sentence));
    assert!(said.err.contains(&sentence), "{}", said.err);
}

#[test]
fn a_process_that_gives_no_answer_to_a_reload_is_an_error() {
    let home = Home::new();
    let directory = home.path("run/toolcrib");
    std::fs::create_dir(&directory).unwrap();
    let garbled = std::os::unix::net::UnixListener::bind(directory.join("1.sock")).unwrap();
    std::thread::spawn(move || {
        for stream in garbled.incoming() {
            let _ = stream.unwrap().write_all(b"garbage\n");
        }
    });
    let said = home.run(&["config", "reload", "--json"]);
    assert_eq!(said.code, Some(2));
    let error = &said.json()["error"];
    assert_eq!(error["code"], "SERVER_CONNECTION_ERROR");
    assert_eq!(error["processes"][0]["outcome"], "silent");
    let said = home.run(&["config", "reload"]);
    assert!(said.err.contains("restart it"), "{}", said.err);
}

#[test]
fn hostile_clients_do_not_hurt() {
    let home = Home::new();
    let server = home.serve(&[]);
    let socket = home.path(&format!("run/toolcrib/{}.sock", server.pid()));
    let mut silent = Vec::new();
    for said in [
        &b"garbage\n"[..],
        b"\xff\xff\n",
        b"{\"v\":1,\"op\":\"stop\"}\n",
    ] {
        let mut stream = UnixStream::connect(&socket).unwrap();
        stream.write_all(said).unwrap();
        let mut answer = String::new();
        BufReader::new(&stream).read_line(&mut answer).unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["ok"], false);
    }
    for _ in 0..10 {
        silent.push(UnixStream::connect(&socket).unwrap());
    }
    let mut huge = UnixStream::connect(&socket).unwrap();
    let _ = huge.write_all(&vec![b'x'; 2 * 1024 * 1024]);
    let said = home.run(&["config", "reload"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
}

#[test]
fn the_log_is_one_json_object_a_line_when_asked_for() {
    let home = Home::new();
    let mut server = home.serve(&["--log-format", "json", "-v"]);
    server.signal(Signal::TERM);
    server.ends();
    let lines = server.rest();
    assert!(lines.len() >= 2);
    for line in &lines {
        let event: Value = serde_json::from_str(line).unwrap();
        assert!(
            event["timestamp"].is_string() && event["message"].is_string(),
            "{line}"
        );
    }
    assert!(
        lines.iter().any(|l| l.contains("\"servers\":0")),
        "{lines:#?}"
    );
}

#[test]
fn the_log_is_as_the_configuration_says_unless_something_else_does() {
    let home = Home::new();
    home.configure("log: {level: debug, format: json}\n");
    let logged = |arguments: &[&str], filter: Option<&str>| {
        let mut all = vec!["serve", "--stdio"];
        all.extend(arguments);
        let mut command = home.command(&all);
        if let Some(filter) = filter {
            command.env("TOOLCRIB_LOG", filter);
        }
        let output = command.output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let log = logged(&[], None);
    assert!(log.contains(r#""level":"DEBUG""#), "{log}");
    for line in log.lines() {
        assert!(serde_json::from_str::<Value>(line).is_ok(), "{line}");
    }
    let log = logged(&["--log-format", "text"], Some("info"));
    assert!(log.contains(" INFO ") && !log.contains("DEBUG"), "{log}");
    home.configure("log: {level: error}\n");
    assert_eq!(logged(&[], None), "");
    assert!(logged(&["-v"], None).contains("DEBUG"));
}

#[test]
fn what_is_under_way_is_answered_before_a_signal_ends_the_process() {
    for signal in [Signal::TERM, Signal::INT] {
        let home = staged(&json!([reader("sleep", &json!({}))]), "", "");
        let mut server = home.serve(&["--stdio"]);
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
        let mut call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "execute_tool",
            "arguments": { "server": "stage", "tool": "sleep", "arguments": {} } } });
        write!(server.stdin(), "{hello}\n{call}\n").unwrap();
        // The same in the other era, once it is known that the server can be reached.
        server.hears("called");
        for (id, stateless) in [(3, false), (4, true)] {
            call["id"] = json!(id);
            if stateless {
                call["params"]["_meta"] = json!({
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {} });
            }
            writeln!(server.stdin(), "{call}").unwrap();
        }
        // Read in their order, so that both are under way when this one is refused.
        writeln!(
            server.stdin(),
            r#"{{"jsonrpc":"2.0","id":5,"method":"logging/none"}}"#
        )
        .unwrap();
        let mut output = BufReader::new(server.take_stdout());
        let mut heard = String::new();
        while !heard.contains(r#""id":5"#) {
            assert_ne!(output.read_line(&mut heard).unwrap(), 0, "{heard}");
        }
        server.signal(signal);
        output.read_to_string(&mut heard).unwrap();
        assert!(server.ends().success());
        for id in 2..=4 {
            let start = format!(r#"{{"jsonrpc":"2.0","id":{id},"#);
            let answer = heard.lines().find(|line| line.starts_with(&start));
            let answer = answer.unwrap_or_else(|| panic!("{id}: {heard}"));
            assert!(answer.contains("slept"), "{answer}");
        }
    }
}

#[test]
fn the_log_filter_of_the_environment_is_used() {
    let home = Home::new();
    let mut command = home.command(&["serve", "--stdio"]);
    command.env("TOOLCRIB_LOG", "error");
    let output = command.output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn without_a_place_for_the_socket_the_process_still_runs() {
    let home = Home::new();
    home.write("run/toolcrib", "a file in place of the directory");
    home.write(".local/share/toolcrib/run", "");
    let uid = rustix::process::geteuid().as_raw();
    home.write(&format!("run/toolcrib-{uid}"), "");
    let mut command = home.command(&["serve", "--stdio"]);
    command.stdin(std::process::Stdio::null());
    let output = command.output().unwrap();
    assert!(output.status.success());
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(log.contains("there is no control socket"), "{log}");
}
