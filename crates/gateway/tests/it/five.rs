//! The five tools as an agent meets them: the real binary on a pipe, with real servers behind it.
#![expect(
    clippy::needless_pass_by_value,
    reason = "a literal at the call reads better"
)]

mod meant;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::counter::furnished;
use crate::home::Home;
use crate::stage::{reader, staged};

/// A conversation with a running server.
struct Talk {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    asked: u64,
    /// What each request must carry, in the era without a handshake.
    meta: Option<Value>,
}

impl Talk {
    /// Starts the program without arguments on a pipe, its log in `log`, and shakes hands.
    fn begin(home: &Home, revision: &str) -> Self {
        let log = std::fs::File::create(home.path("log")).unwrap();
        let mut child = home
            .command(&[])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut talk = Self {
            input: child.stdin.take(),
            child,
            output,
            asked: 0,
            meta: None,
        };
        if revision == "2026-07-28" {
            talk.meta = Some(json!({
                "io.modelcontextprotocol/protocolVersion": revision,
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            }));
            return talk;
        }
        let hello = json!({"protocolVersion": revision, "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        let agreed = talk.ask("initialize", hello);
        assert_eq!(agreed["result"]["protocolVersion"], revision);
        // The digest may change, the tools only with what is pinned beside them, which is then told.
        let offered = &agreed["result"]["capabilities"]["tools"];
        assert_eq!(*offered, json!({"listChanged": true}));
        talk.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        talk
    }

    fn say(&mut self, message: &Value) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{message}").unwrap();
    }

    /// The answer to a request.
    fn ask(&mut self, method: &str, mut params: Value) -> Value {
        self.asked += 1;
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        let id = self.asked;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "it ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message;
            }
        }
    }

    /// What one of the five tools says: whether it is an error, and its text as JSON.
    fn call(&mut self, tool: &str, arguments: Value) -> (bool, Value) {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("{answer}"));
        (
            result["isError"] == true,
            serde_json::from_str(text).unwrap(),
        )
    }

    /// What one of the five tools says where it must succeed.
    fn done(&mut self, tool: &str, arguments: Value) -> Value {
        let (failed, told) = self.call(tool, arguments);
        assert!(!failed, "{told}");
        told
    }

    /// The error of one of the five tools, where it must fail.
    fn failed(&mut self, tool: &str, arguments: Value) -> Value {
        let (failed, told) = self.call(tool, arguments);
        assert!(failed, "{told}");
        assert_eq!(told["success"], false);
        told["error"].clone()
    }

    /// The code of a protocol error.
    fn fault(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        assert!(answer["error"]["message"].is_string(), "{answer}");
        answer["error"].clone()
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

const ERAS: [&str; 5] = [
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    "2025-11-25",
    "2026-07-28",
];

fn run(server: &str, tool: &str, arguments: Value) -> Value {
    json!({"server": server, "tool": tool, "arguments": arguments})
}

/// A home with this many servers that nobody has started.
fn crowded(count: usize, name: &str) -> Home {
    let program = env!("CARGO_BIN_EXE_toolcrib");
    let mut servers = json!({});
    for number in 0..count {
        servers[format!("{name}-{number}")] =
            json!({"command": program, "args": ["workshop", "notes"]});
    }
    let home = Home::new();
    home.configure(&json!({"servers": servers}).to_string());
    home
}

#[test]
fn a_tool_is_found_looked_at_and_run_through_one_connection() {
    let home = furnished("");
    for era in ERAS {
        let mut talk = Talk::begin(&home, era);
        let listed = talk.ask("tools/list", json!({}));
        let names: Vec<&str> = listed["result"]["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert_eq!(
            names,
            [
                "list_mcp_servers",
                "search_tools",
                "list_tools",
                "get_tool_details",
                "execute_tool"
            ],
            "{era}"
        );
        let found = talk.done("search_tools", json!({"query": "write a new note"}));
        let best = &found["results"][0];
        assert_eq!(
            (&best["server"], &best["tool"]),
            (&json!("notes"), &json!("create_note"))
        );
        assert_eq!(
            best["signature"],
            "create_note(title: string, body: string)"
        );
        let details = talk.done(
            "get_tool_details",
            json!({"server": "notes", "tool": "create_note"}),
        );
        let example = details["examples"][0]["parameters"].clone();
        assert!(example["title"].is_string(), "{details}");
        let made = talk.done("execute_tool", run("notes", "create_note", example));
        assert_eq!(made["success"], true);
        assert_eq!(made["result"]["id"], 1, "{made}");
    }
}

#[test]
fn what_one_tool_gives_another_takes() {
    let home = furnished("");
    let mut talk = Talk::begin(&home, "2025-11-25");
    let free = talk.done(
        "execute_tool",
        run("calendar", "find_free_hour", json!({"day": "2026-03-02"})),
    );
    let start = free["result"]["start"].as_str().unwrap().to_owned();
    let note = json!({"title": "Free", "body": start});
    talk.done("execute_tool", run("notes", "create_note", note));
    let read = talk.done("execute_tool", run("notes", "read_note", json!({"id": 1})));
    assert_eq!(read["result"]["body"], json!(start));
}

#[test]
fn the_definitions_are_the_same_at_every_call() {
    let home = furnished("");
    let mut talk = Talk::begin(&home, "2025-06-18");
    talk.done("search_tools", json!({"query": "note"}));
    let before = talk.ask("tools/list", json!({}))["result"].clone();
    let search = before["tools"][1]["description"].as_str().unwrap();
    assert!(search.contains("tools on 2 servers"), "{search}");
    talk.done("execute_tool", run("notes", "list_notes", json!({})));
    talk.done("list_tools", json!({"server": "calendar"}));
    assert_eq!(talk.ask("tools/list", json!({}))["result"], before);
}

#[test]
fn what_is_wrong_is_told_in_the_form_of_the_era() {
    let home = furnished("");
    for era in ERAS {
        let mut talk = Talk::begin(&home, era);
        let code = if era == "2026-07-28" { -32602 } else { -32601 };
        let unknown = talk.fault("no_such_tool", json!({}));
        assert_eq!(unknown["code"], code, "{era}");
        assert!(
            unknown["message"]
                .as_str()
                .unwrap()
                .starts_with("Tool not found: no_such_tool")
        );
        let wrong = json!({"query": 5});
        if era >= "2025-11-25" {
            let error = talk.failed("search_tools", wrong);
            assert_eq!(
                error,
                json!({"code": "VALIDATION_ERROR", "message": "`query` must be a string.", "field": "query"})
            );
        } else {
            let fault = talk.fault("search_tools", wrong);
            assert_eq!(
                fault,
                json!({"code": -32602, "message": "`query` must be a string.", "data": {"field": "query"}})
            );
        }
        let method = talk.ask("no/such/method", json!({}));
        assert_eq!(method["error"]["code"], -32601, "{era}");
    }
}

#[test]
fn what_is_wrong_with_an_upstream_tool_is_a_result_that_names_it() {
    let home = furnished(
        "  broken: {command: /nowhere/at-all, env: {API_TOKEN: canary-4711}}\ntoolRules:\n  - {pattern: ['*delete*'], enabled: false}\n",
    );
    let mut talk = Talk::begin(&home, "2025-11-25");
    let at = |error: &Value| {
        let of = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
        (of("code"), of("server"), of("tool"))
    };
    let told = |code: &str, server: &str, tool: &str| {
        (code.to_owned(), server.to_owned(), tool.to_owned())
    };

    let looked = json!({"server": "notes", "tool": "create_noet"});
    let missing = talk.failed("get_tool_details", looked);
    assert_eq!(missing["message"], "Tool not found: notes:create_noet");
    assert_eq!(at(&missing), told("TOOL_NOT_FOUND", "notes", "create_noet"));
    assert_eq!(
        missing["nearest"][0]["signature"],
        "create_note(title: string, body: string)"
    );
    let guessed = talk.failed("execute_tool", run("notes", "create_noet", json!({})));
    assert_eq!(at(&guessed), told("TOOL_NOT_FOUND", "notes", "create_noet"));

    let disabled = talk.failed(
        "execute_tool",
        run("notes", "delete_note", json!({"id": 1})),
    );
    assert_eq!(at(&disabled), told("TOOL_DISABLED", "notes", "delete_note"));
    let invalid = talk.failed(
        "execute_tool",
        run("notes", "read_note", json!({"id": "x"})),
    );
    assert_eq!(
        at(&invalid),
        told("TOOL_VALIDATION_ERROR", "notes", "read_note")
    );
    let refused = talk.failed("execute_tool", run("notes", "read_note", json!({"id": 9})));
    assert_eq!(
        at(&refused),
        told("TOOL_EXECUTION_ERROR", "notes", "read_note")
    );
    assert_eq!(
        refused["message"],
        "There is no note 9; list_notes shows them."
    );

    let unreachable = talk.failed("execute_tool", run("broken", "anything", json!({})));
    assert!(!unreachable.to_string().contains("canary"), "{unreachable}");
    let servers = talk.done("list_mcp_servers", json!({}));
    assert!(!servers.to_string().contains("canary"), "{servers}");
    let rows = servers["servers"].as_array().unwrap();
    let status = |name: &str| {
        let row = rows.iter().find(|row| row["name"] == name).unwrap();
        row["status"].clone()
    };
    assert_eq!(status("notes"), "connected");
    assert_eq!(status("broken"), "error");
    let log = std::fs::read_to_string(home.path("log")).unwrap();
    let warned = log.lines().find(|line| line.contains("WARN")).unwrap();
    assert!(
        warned.contains("could not be connected") && warned.contains("broken"),
        "{warned}"
    );
    assert!(!log.contains("canary"), "{log}");
}

#[test]
fn a_failure_stays_small_however_much_there_is() {
    let home = crowded(300, "server-number");
    let mut talk = Talk::begin(&home, "2025-11-25");
    let name = "x".repeat(5_000);
    for (tool, arguments) in [
        ("list_tools", json!({"server": "server-number"})),
        ("list_tools", json!({"server": name})),
        (
            "get_tool_details",
            json!({"server": "server-number-1", "tool": name}),
        ),
        ("execute_tool", run("server-number-1", "nothing", json!({}))),
        ("search_tools", json!({"query": "x", name.as_str(): 1})),
    ] {
        let error = talk.failed(tool, arguments).to_string();
        let cost = bpe_openai::o200k_base().count(&error);
        assert!(cost <= 1_000, "{cost}: {error}");
    }
}

#[test]
fn a_filter_selects_from_the_result_before_it_is_told() {
    let home = furnished("");
    let mut talk = Talk::begin(&home, "2025-11-25");
    for title in ["one", "two"] {
        let note = json!({"title": title, "body": "x"});
        talk.done("execute_tool", run("notes", "create_note", note));
    }
    let mut select = |filter: &str| {
        let mut call = run("notes", "list_notes", json!({}));
        call["options"] = json!({"select": filter});
        talk.call("execute_tool", call)
    };
    assert_eq!(
        select("[.notes[].title]"),
        (false, json!({"success": true, "result": ["one", "two"]}))
    );
    assert_eq!(
        select(".notes[] | .id"),
        (false, json!({"success": true, "result": [1, 2]}))
    );
    // A filter that does not fit costs nothing of the result.
    let (failed, told) = select(".notes.title");
    assert!(!failed, "{told}");
    assert_eq!(told["result"]["notes"][0]["title"], "one");
    let note = told["unfiltered"].as_str().unwrap();
    assert!(
        note.starts_with("`select` was not applied: ")
            && note.ends_with("This is the whole result."),
        "{note}"
    );
    let (failed, told) = select(".notes[");
    assert!(failed);
    assert_eq!(told["error"]["code"], "VALIDATION_ERROR");
    // Nothing is called for a filter that could never be applied.
    let mut call = run(
        "notes",
        "create_note",
        json!({"title": "three", "body": "x"}),
    );
    call["options"] = json!({"select": ".notes["});
    talk.failed("execute_tool", call);
    let listed = talk.done("execute_tool", run("notes", "list_notes", json!({})));
    assert_eq!(listed["result"]["notes"].as_array().unwrap().len(), 2);
    // A failure is told as it is.
    let mut call = run("notes", "read_note", json!({"id": 9}));
    call["options"] = json!({"select": ".title"});
    let error = talk.failed("execute_tool", call);
    assert_eq!(error["code"], "TOOL_EXECUTION_ERROR");
}

#[test]
fn a_filter_reads_the_whole_of_a_result_that_is_kept_without_another_call() {
    let often = "{perServer: {requests: 1000}, perPrincipal: {requests: 1000}}";
    let home = furnished(&format!(
        "results: {{maxTokens: 200}}\npolicy: {{rateLimits: {often}}}\n"
    ));
    let mut talk = Talk::begin(&home, "2025-11-25");
    for n in 0..30 {
        let note = json!({"title": format!("note {n}"), "body": "x"});
        talk.done("execute_tool", run("notes", "create_note", note));
    }
    let first = talk.done("execute_tool", run("notes", "list_notes", json!({})));
    let page = first["page"].as_str().unwrap_or_else(|| panic!("{first}"));
    let later = json!({"title": "later", "body": "x"});
    talk.done("execute_tool", run("notes", "create_note", later));
    let mut select = |filter: &str| {
        let mut call = run("notes", "list_notes", json!({}));
        call["options"] = json!({"page": page, "select": filter});
        talk.call("execute_tool", call)
    };
    let (failed, told) = select("[(.notes | length), .notes[-1].title]");
    assert!(!failed, "{told}");
    assert_eq!(told["result"], json!([30, "note 29"]));
    let (failed, told) = select(".notes[");
    assert!(failed);
    assert_eq!(told["error"]["code"], "VALIDATION_ERROR");
}

#[test]
fn what_is_no_request_is_answered_with_the_number_of_its_fault() {
    let home = furnished("");
    for (sent, code) in [
        ("{not json", -32700),
        (r#"{"jsonrpc":"2.0","id":7,"method":5}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":7}"#, -32600),
        (r#"{"id":7,"method":"tools/list"}"#, -32600),
        ("[]", -32600),
    ] {
        let mut talk = Talk::begin(&home, "2025-11-25");
        let input = talk.input.as_mut().unwrap();
        writeln!(input, "{sent}").unwrap();
        let mut line = String::new();
        assert!(talk.output.read_line(&mut line).unwrap() > 0, "{sent}");
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["error"]["code"], code, "{sent}: {answer}");
        assert!(answer["error"]["message"].is_string(), "{sent}: {answer}");
        // The conversation goes on.
        let listed = talk.ask("tools/list", json!({}));
        assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 5);
    }
}

#[test]
fn resources_and_prompts_are_not_offered_beside_the_five() {
    let home = furnished("");
    for era in ERAS {
        let mut talk = Talk::begin(&home, era);
        for method in ["resources/list", "resources/templates/list", "prompts/list"] {
            let answer = talk.ask(method, json!({}));
            assert_eq!(answer["error"]["code"], -32601, "{era} {method}: {answer}");
        }
        if era == "2026-07-28" {
            let offered = talk.ask("server/discover", json!({}));
            let offered = offered["result"]["capabilities"].as_object().unwrap();
            assert!(!offered.contains_key("resources") && !offered.contains_key("prompts"));
        }
    }
}

#[test]
fn a_hundred_servers_cost_an_agent_no_more_than_two() {
    let home = crowded(120, "server");
    let mut talk = Talk::begin(&home, "2026-07-28");
    let listed = talk.ask("tools/list", json!({}))["result"]["tools"].to_string();
    let cost = bpe_openai::o200k_base().count(&listed);
    assert!(cost < 400, "{cost}: {listed}");
    let servers = talk.done("list_mcp_servers", json!({}));
    assert_eq!(servers["total"], 120, "{servers}");
    let found = talk.done("search_tools", json!({"query": "write a new note"}));
    assert_eq!(found["results"][0]["tool"], "create_note", "{found}");
}

#[test]
fn a_search_tells_a_line_and_details_come_when_they_are_asked_for() {
    let home = furnished("");
    let mut talk = Talk::begin(&home, "2025-11-25");
    let found = talk.done("search_tools", json!({"query": "write a new note"}));
    let listed = talk.done("list_tools", json!({"server": "notes"}));
    let rows = found["results"].as_array().unwrap().iter();
    for row in rows.chain(listed["tools"].as_array().unwrap()) {
        for detail in ["parameters", "inputSchema", "description", "examples"] {
            assert!(row.get(detail).is_none(), "{detail} in {row}");
        }
    }
    let details = talk.done(
        "get_tool_details",
        json!({"server": "notes", "tool": "create_note"}),
    );
    assert_eq!(details["parameters"][0]["name"], "title", "{details}");
    assert!(details["description"].is_string());
}

#[test]
fn a_plain_call_and_its_answer_stay_within_three_hundred_tokens() {
    let home = furnished("");
    let mut talk = Talk::begin(&home, "2025-11-25");
    let call = run(
        "notes",
        "create_note",
        json!({"title": "Gate", "body": "The north gate opens at seven."}),
    );
    let said = call.to_string();
    let heard = talk.done("execute_tool", call).to_string();
    let count = |text: &str| bpe_openai::o200k_base().count(text);
    let cost = count(&said) + count(&heard);
    assert!(cost <= 300, "{cost}: {said} {heard}");
}

#[test]
fn it_ends_cleanly_when_its_input_is_closed() {
    let home = furnished("");
    let mut talk = Talk::begin(&home, "2025-11-25");
    talk.done("execute_tool", run("notes", "list_notes", json!({})));
    drop(talk.input.take());
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut talk.output, &mut rest).unwrap();
    assert_eq!(rest, "");
    assert!(talk.child.wait().unwrap().success());
}

#[test]
fn disabled_tools_are_listed_only_for_who_asks_for_them() {
    let offered = json!([reader("read_it", &json!({})), reader("drop_it", &json!({}))]);
    let rules = "toolRules: [{pattern: ['drop_*'], enabled: false}]\n";
    let home = staged(&offered, "", rules);
    let mut talk = Talk::begin(&home, "2025-11-25");
    let mut listed = |arguments: Value| {
        let told = talk.done("list_tools", arguments);
        let rows = told["tools"].as_array().unwrap().iter();
        let rows = rows.map(|row| (row["name"].clone(), row["enabled"].clone()));
        rows.collect::<Vec<_>>()
    };
    let (on, off) = (
        (json!("read_it"), json!(true)),
        (json!("drop_it"), json!(false)),
    );
    assert_eq!(listed(json!({"server": "stage"})), vec![on.clone()]);
    let asked = json!({"server": "stage", "includeDisabled": false});
    assert_eq!(listed(asked), vec![on.clone()]);
    let asked = json!({"server": "stage", "includeDisabled": true});
    assert_eq!(listed(asked), [on, off]);
}
