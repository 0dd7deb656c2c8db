//! What an agent meets: the program on a pipe and on a socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::home::Home;
use crate::terminal::{Input, watched};

const FIVE: [&str; 5] = [
    "list_mcp_servers",
    "search_tools",
    "list_tools",
    "get_tool_details",
    "execute_tool",
];

fn line(message: &Value) -> String {
    format!("{message}\n")
}

fn names(answer: &Value) -> Vec<&str> {
    let tools = answer["result"]["tools"].as_array().unwrap();
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect()
}

#[test]
fn on_a_pipe_without_arguments_it_is_a_server_of_five_tools() {
    for arguments in [&[][..], &["serve", "--stdio"]] {
        serves_five_tools(arguments);
    }
}

#[test]
fn options_alone_are_no_command() {
    for arguments in [
        &["--config", "mine.yaml"][..],
        &["--json", "-v", "--log-format", "json"],
    ] {
        serves_five_tools(arguments);
    }
    let check = |arguments: &[&str], expect: &[&str]| {
        let home = Home::new();
        home.write("work/mine.yaml", MINE);
        let (out, err, code) = watched(&home, arguments, 100, Input::Keyboard, |_| {});
        assert_eq!(code, Some(0), "{err}");
        for part in expect {
            assert!(out.contains(part), "no {part:?} in\n{out}");
        }
        out
    };
    check(&["--color", "never"], &["There is no configuration yet."]);
    let mine = "Toolcrib is configured by ~/work/mine.yaml with 1 server.";
    check(
        &["--config", "mine.yaml"],
        &[mine, "Next:\n  toolcrib list"],
    );
    let json = check(&["--config", "mine.yaml", "--json"], &[]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["servers"], 1, "{json}");
    assert_eq!(json["next"][0]["command"], "toolcrib list", "{json}");
    let json: Value = serde_json::from_str(&check(&["--json"], &[])).unwrap();
    assert_eq!(json["configuration"], Value::Null, "{json}");
    assert_eq!(json["found"], json!([]), "{json}");
}

/// A file that only `--config` leads to.
const MINE: &str = "servers: {a: {command: a-server, enabled: false}}\n";

fn serves_five_tools(arguments: &[&str]) {
    let home = Home::new();
    home.write("work/mine.yaml", MINE);
    let mut child = home
        .command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut heard = String::new();
    input.write_all(line(&hello).as_bytes()).unwrap();
    output.read_line(&mut heard).unwrap();
    let greeted: Value = serde_json::from_str(&heard).unwrap();
    assert_eq!(greeted["result"]["serverInfo"]["name"], "toolcrib");
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    input.write_all(line(&list).as_bytes()).unwrap();
    drop(input);
    heard.clear();
    output.read_line(&mut heard).unwrap();
    let listed: Value = serde_json::from_str(&heard).unwrap();
    assert_eq!(names(&listed), FIVE);
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "", "only messages are written to standard output");
    assert!(child.wait().unwrap().success());
}

/// The answers to requests that are all written before the first answer is read, by their numbers from 1 on.
fn answers(home: &Home, calls: &[Value]) -> Vec<Value> {
    let mut child = home
        .command(&[])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    input.write_all(line(&hello).as_bytes()).unwrap();
    for (call, id) in calls.iter().zip(1..) {
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call });
        input.write_all(line(&call).as_bytes()).unwrap();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut answers: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|message| message["id"].as_i64() > Some(0))
        .collect();
    answers.sort_by_key(|answer| answer["id"].as_i64());
    assert_eq!(answers.len(), calls.len(), "{text}");
    answers
}

/// The JSON in the text of a result.
fn told(answer: &Value) -> Value {
    let text = answer["result"]["content"][0]["text"].as_str();
    serde_json::from_str(text.unwrap_or_else(|| panic!("{answer}"))).unwrap()
}

#[test]
fn what_an_agent_asks_wrongly_is_answered_so_that_it_can_go_on() {
    let home = Home::new();
    let tools: Vec<String> = (0..12)
        .map(|n| format!("{{name: find_note_{n}}}"))
        .collect();
    home.configure(&format!(
        "servers: {{notes: {{command: x, tools: [{}]}}}}\n",
        tools.join(", ")
    ));
    let answers = answers(
        &home,
        &[
            json!({ "name": "search_tools", "arguments": {} }),
            json!({ "name": "get_tool_details", "arguments": { "server": "notes", "tool": "find_note" } }),
            json!({ "name": "unknown", "arguments": {} }),
            json!({ "name": "search_tools", "arguments": { "query": "find a note" } }),
        ],
    );
    assert_eq!(answers[0]["result"]["isError"], true);
    let error = told(&answers[0]);
    assert_eq!(error["error"]["code"], "VALIDATION_ERROR");
    assert_eq!(error["error"]["message"], "`query` is required.");
    assert_eq!(answers[1]["result"]["isError"], true);
    let error = told(&answers[1]);
    assert_eq!(error["error"]["code"], "TOOL_NOT_FOUND");
    assert_eq!(error["error"]["message"], "Tool not found: notes:find_note");
    assert_eq!(answers[2]["error"]["code"], -32601, "{}", answers[2]);
    let found = told(&answers[3]);
    // Ten are given at most, fewer where ten would cost more than they may.
    let given = found["results"].as_array().unwrap().len();
    assert!((5..=10).contains(&given), "{found}");
    assert_eq!(
        (&found["total"], &found["more"]),
        (&12.into(), &true.into())
    );
}

#[test]
fn over_http_the_five_tools_need_no_handshake() {
    let home = Home::new();
    let mut server = home.serve(&["--color", "never"]);
    let log = server.heard("listening");
    let address = log
        .split("address=")
        .nth(1)
        .unwrap()
        .split_whitespace()
        .next()
        .unwrap()
        .to_owned();
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {} } } })
    .to_string();
    let mut stream = TcpStream::connect(&address).unwrap();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\naccept: application/json\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/list\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    let answer: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    assert_eq!(names(&answer), FIVE);
    server.signal(Signal::TERM);
    assert!(server.ends().success());
}

#[test]
fn an_address_that_others_reach_needs_authentication() {
    let home = Home::new();
    let said = home.run(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(said.err.contains("toolcrib keys create"), "{}", said.err);
}
