//! What each mode exposes: the five tools, every tool, or one upstream as it is.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::home::Home;

const RELAXED: &str = "policy: {mode: relaxed, overrides: [{idempotencyRequired: false, confirmationRequired: false}]}\n";

/// A client on the program's standard streams, without any handling of eras.
pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    asked: i64,
}

impl Client {
    fn start(home: &Home, mode: Option<&str>) -> Self {
        let mut command = home.command(&["serve", "--stdio"]);
        if let Some(mode) = mode {
            command.env("MCP_TOOL_MODE", mode);
        }
        Self::over(command)
    }

    /// A client of a command that is not started yet.
    pub(crate) fn over(mut command: Command) -> Self {
        command.stderr(Stdio::null());
        Self::heard_elsewhere(command)
    }

    /// The same, where what the program logs goes somewhere already.
    pub(crate) fn heard_elsewhere(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            asked: 0,
        }
    }

    fn hello(&mut self, capabilities: &Value) -> Value {
        self.hello_as("t", capabilities)
    }

    /// The handshake of a client of this name.
    pub(crate) fn hello_as(&mut self, name: &str, capabilities: &Value) -> Value {
        let answer = self.ask(
            "initialize",
            json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities,
                "clientInfo": { "name": name, "version": "1" } }),
        );
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        answer
    }

    fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.input
            .as_mut()
            .unwrap()
            .write_all(line.as_bytes())
            .unwrap();
    }

    fn next(&mut self) -> Value {
        let mut heard = String::new();
        self.output.read_line(&mut heard).unwrap();
        serde_json::from_str(&heard).unwrap()
    }

    /// Asks, answers what is asked in return, and gives the notifications before the answer with it.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a literal at the call reads better"
    )]
    fn heard(&mut self, method: &str, params: Value) -> (Value, Vec<Value>) {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let mut told = Vec::new();
        loop {
            let message = self.next();
            match message["method"].as_str() {
                None if message["id"] == id => return (message, told),
                Some("elicitation/create") => self.send(&json!({ "jsonrpc": "2.0", "id": message["id"],
                    "result": { "action": "accept", "content": { "username": "ada", "email": "a@b.c" } } })),
                Some("sampling/createMessage") => self.send(&json!({ "jsonrpc": "2.0", "id": message["id"],
                    "result": { "role": "assistant", "model": "m", "content": { "type": "text", "text": "Paris" } } })),
                _ => told.push(message),
            }
        }
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.heard(method, params).0
    }

    pub(crate) fn names(&mut self) -> Vec<String> {
        let listed = self.ask("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap();
        let names = tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned());
        names.collect()
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "a literal at the call reads better"
    )]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        )
    }

    pub(crate) fn end(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }
}

/// The parameters of a request of the stateless era, of a client that can be asked.
fn stateless(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {}, "sampling": {} },
    });
    params
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap()
}

fn fixture(extra: &str) -> String {
    let program = toolcrib_testkit::program("conformance-server");
    let program = json!(program.display().to_string());
    format!("{RELAXED}mcpServers:\n  fixture: {{command: {program}}}\n{extra}")
}

fn notes(names: &[&str]) -> String {
    let program = json!(env!("CARGO_BIN_EXE_toolcrib"));
    let server =
        |name: &&str| format!("  {name}: {{command: {program}, args: [workshop, notes]}}\n");
    let servers: String = names.iter().map(server).collect();
    format!("{RELAXED}mcpServers:\n{servers}")
}

#[test]
fn flat_mode_passes_everything_of_one_server_through() {
    let home = Home::new();
    home.configure(&fixture("mode: flat\n"));
    let mut client = Client::start(&home, None);
    let greeted = client.hello(&json!({ "elicitation": {}, "sampling": {} }));
    assert_eq!(
        greeted["result"]["serverInfo"]["name"],
        "conformance-fixture"
    );
    let offered = &greeted["result"]["capabilities"];
    assert!(offered["prompts"].is_object());
    assert_eq!(offered["tools"]["listChanged"], true);
    assert!(client.names().contains(&"test_simple_text".to_owned()));
    let simple = client.call("test_simple_text", json!({}));
    assert_eq!(text(&simple), "This is a simple text response for testing.");
    let image = client.call("test_image_content", json!({}));
    assert_eq!(image["result"]["content"][0]["type"], "image");
    for (method, params, holds) in [
        ("prompts/list", json!({}), "prompts"),
        ("resources/list", json!({}), "resources"),
        ("resources/templates/list", json!({}), "resourceTemplates"),
        (
            "resources/read",
            json!({ "uri": "test://static-text" }),
            "contents",
        ),
        (
            "prompts/get",
            json!({ "name": "test_simple_prompt" }),
            "messages",
        ),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/prompt", "name": "x" }, "argument": { "name": "a", "value": "t" } }),
            "completion",
        ),
    ] {
        let answer = client.ask(method, params);
        assert!(!answer["result"][holds].is_null(), "{method}: {answer}");
    }
    for method in ["resources/subscribe", "resources/unsubscribe"] {
        let answer = client.ask(method, json!({ "uri": "test://static-text" }));
        assert_eq!(answer["result"], json!({}), "{answer}");
    }
    let unknown = client.ask("tasks/list", json!({}));
    assert_eq!(unknown["error"]["code"], -32601);
    client.end();
}

#[test]
fn flat_mode_passes_questions_progress_and_log_messages() {
    let home = Home::new();
    home.configure(&fixture("mode: flat\n"));
    let mut client = Client::start(&home, None);
    client.hello(&json!({ "elicitation": {}, "sampling": {} }));
    let asked = client.call("test_elicitation", json!({ "message": "Who?" }));
    assert!(text(&asked).contains("ada"), "{asked}");
    let sampled = client.call("test_sampling", json!({ "prompt": "Capital?" }));
    assert!(text(&sampled).contains("Paris"), "{sampled}");
    let params = json!({ "name": "test_tool_with_progress", "_meta": { "progressToken": "mine" } });
    let (_, told) = client.heard("tools/call", params);
    let progress: Vec<_> = told
        .iter()
        .filter(|message| message["method"] == "notifications/progress")
        .collect();
    assert_eq!(progress.len(), 3, "{told:?}");
    assert_eq!(progress[2]["params"]["progressToken"], "mine");
    let (_, told) = client.heard("tools/call", json!({ "name": "test_tool_with_logging" }));
    assert_eq!(told.len(), 3, "{told:?}");
    client.ask("logging/setLevel", json!({ "level": "error" }));
    let (_, told) = client.heard("tools/call", json!({ "name": "test_tool_with_logging" }));
    assert_eq!(told.len(), 0, "{told:?}");
    client.end();
}

#[test]
fn flat_mode_hands_rounds_and_faults_on_as_they_are() {
    let home = Home::new();
    home.configure(&fixture(""));
    let mut client = Client::start(&home, Some("flat"));
    let tool = "test_input_required_result_multi_round";
    let call = |more: Value| {
        let mut params = stateless(json!({ "name": tool, "arguments": {} }));
        for (name, value) in more.as_object().unwrap() {
            params[name] = value.clone();
        }
        params
    };
    let first = client.ask("tools/call", call(json!({})));
    assert_eq!(first["result"]["resultType"], "input_required", "{first}");
    assert_eq!(first["result"]["requestState"], "fixture-seal-of-one");
    let answer = json!({ "action": "accept", "content": { "name": "ada" } });
    let second = client.ask(
        "tools/call",
        call(
            json!({ "requestState": "fixture-seal-of-one", "inputResponses": { "step1": answer } }),
        ),
    );
    assert_eq!(
        second["result"]["requestState"], "fixture-seal-of-two",
        "{second}"
    );
    let third = client.ask(
        "tools/call",
        call(
            json!({ "requestState": "fixture-seal-of-two", "inputResponses": { "step2": answer } }),
        ),
    );
    assert_eq!(text(&third), "Both steps are done.");
    let changed = client.ask("tools/call", call(json!({ "requestState": "another" })));
    assert_eq!(changed["error"]["code"], -32602);
    assert_eq!(
        changed["error"]["message"],
        "the state of the request was changed"
    );
    let absent = client.ask("tools/call", stateless(json!({ "name": "absent" })));
    assert_eq!(absent["error"]["code"], -32602, "{absent}");
    client.end();
    let log = home.run(&["audit", "search", "--json"]);
    assert!(log.out.contains(tool), "{} {}", log.out, log.err);
}

#[test]
fn flat_mode_needs_exactly_one_server() {
    for (yaml, says) in [
        (String::new(), "none is enabled"),
        (notes(&["one", "two"]), "`one`, `two`"),
    ] {
        let home = Home::new();
        home.configure(&format!("{yaml}mode: flat\n"));
        let said = home.run(&["serve"]);
        assert_eq!(said.code, Some(2), "{}", said.err);
        assert!(said.err.contains(says), "{}", said.err);
    }
}

#[test]
fn full_mode_lists_and_runs_every_tool_under_a_legal_name() {
    let home = Home::new();
    home.configure(&notes(&["one", "two"]));
    let mut client = Client::start(&home, Some("full"));
    client.hello(&json!({}));
    let names = client.names();
    for server in ["one", "two"] {
        let name = format!("{server}__list_notes");
        assert!(names.contains(&name), "{names:?}");
        let listed = client.call(&name, json!({}));
        assert!(listed["result"]["content"].is_array(), "{listed}");
    }
    assert_eq!(names, client.names());
    let unknown = client.call("search_tools", json!({}));
    assert_eq!(unknown["error"]["code"], -32602);
    client.end();
}

#[test]
fn what_is_pinned_is_listed_and_run_beside_the_five() {
    let home = Home::new();
    let rules = "toolRules: [{pattern: ['delete_*'], enabled: false}]\n";
    let surface = "surface: ['two:list_notes', 'one:absent', 'one:delete_note', 'two:list_notes', 'gone:x']\n";
    home.configure(&format!("{}{rules}{surface}", notes(&["one", "two"])));
    for profile in ["discovery", "gateway"] {
        let mut client = Client::over(home.command(&["serve", "--stdio", "--profile", profile]));
        client.hello(&json!({}));
        let names = client.names();
        assert_eq!(names.len(), 6, "{names:?}");
        assert_eq!(names[5], "two__list_notes");
        let listed = client.call("two__list_notes", json!({}));
        assert!(listed["result"]["content"].is_array(), "{listed}");
        let rehearsal = json!({ "name": "two__list_notes", "arguments": {},
            "_meta": { "toolcrib/options": { "dry_run": true } } });
        let rehearsed = client.ask("tools/call", rehearsal);
        assert!(text(&rehearsed).contains("checks"), "{rehearsed}");
        let disabled = client.call("one__delete_note", json!({}));
        assert_eq!(disabled["result"]["isError"], true, "{disabled}");
        assert!(text(&disabled).contains("TOOL_DISABLED"), "{disabled}");
        let absent = client.call("one__absent", json!({}));
        assert_eq!(absent["error"]["code"], -32602, "{absent}");
        // Whoever did not pin it does not get it by that name.
        let other = client.call("one__list_notes", json!({}));
        assert!(other["error"].is_object(), "{other}");
        client.end();
    }
}

#[test]
fn full_mode_lists_the_tools_of_an_adapter() {
    let home = Home::new();
    home.write(
        "work/shop.yaml",
        "openapi: 3.0.0\ninfo: {title: Shop}\nservers: [{url: 'http://127.0.0.1:9'}]\npaths:\n  /orders:\n    get: {operationId: listOrders}\n    post: {operationId: createOrder}\n",
    );
    let added = home.run(&["adapter", "add", "shop.yaml"]);
    assert_eq!(added.code, Some(0), "{}", added.err);
    let mut client = Client::start(&home, Some("full"));
    client.hello(&json!({}));
    let mut names = client.names();
    names.sort();
    assert_eq!(names, ["shop__create-order", "shop__list-orders"]);
    client.end();
}

#[test]
fn switched_off_the_five_tools_stay_and_say_so() {
    let home = Home::new();
    home.configure(&format!("{}enabled: false\n", notes(&["one"])));
    let mut client = Client::start(&home, None);
    client.hello(&json!({}));
    assert_eq!(client.names().len(), 5);
    for (tool, arguments) in [
        ("list_mcp_servers", json!({})),
        ("search_tools", json!({ "query": "note" })),
        ("list_tools", json!({ "server": "one" })),
        (
            "get_tool_details",
            json!({ "server": "one", "tool": "list_notes" }),
        ),
        (
            "execute_tool",
            json!({ "server": "one", "tool": "list_notes" }),
        ),
    ] {
        let said = client.call(tool, arguments);
        assert_eq!(said["result"]["isError"], true, "{tool}: {said}");
        assert!(said.to_string().contains("switched off"), "{tool}: {said}");
    }
    client.end();
}

#[test]
fn an_agent_can_ask_for_a_server_and_never_approve_it() {
    let other = Home::new();
    other.configure(&notes(&["notes"]));
    let serving = other.serve(&["--color", "never"]);
    let log = serving.heard("listening");
    let address = log.split("address=").nth(1).unwrap();
    let address = address.split_whitespace().next().unwrap().to_owned();

    let home = Home::new();
    home.configure("imports: {auto: false}\nmode: full\n");
    let mut client = Client::start(&home, None);
    client.hello(&json!({}));
    assert_eq!(
        client.names(),
        Vec::<String>::new(),
        "they are off by default"
    );
    client.end();

    home.configure("imports: {auto: false}\nmode: full\ncapabilities: {tools: true}\n");
    let mut client = Client::start(&home, None);
    client.hello(&json!({}));
    let (ask, register) = ("ccos_introspect_remote_api", "ccos_register_server");
    assert_eq!(client.names(), [ask, register]);
    for url in [
        "npx something",
        "http://elsewhere.example/mcp",
        "file:///etc/passwd",
        "",
    ] {
        let refused = client.call(ask, json!({ "server_url": url }));
        assert_eq!(refused["result"]["isError"], true, "{refused}");
    }
    let url = format!("http://{address}/mcp");
    let asked = client.call(ask, json!({ "server_url": url, "server_name": "other" }));
    let said = &asked["result"]["structuredContent"];
    assert_eq!(
        (
            said["status"].as_str(),
            said["files"].as_array().unwrap().len()
        ),
        (Some("pending"), 5),
        "{asked}"
    );
    let early = client.call(register, json!({ "server_name": "other" }));
    assert!(text(&early).contains("APPROVAL_REQUIRED"), "{early}");
    let unknown = client.call(register, json!({ "server_name": "nobody" }));
    assert!(text(&unknown).contains("SERVER_NOT_FOUND"), "{unknown}");

    let approved = home.run(&["approve", "other"]);
    assert_eq!(approved.code, Some(0), "{}", approved.err);
    let done = client.call(register, json!({ "server_name": "other" }));
    assert_eq!(
        done["result"]["structuredContent"]["registered"], true,
        "{done}"
    );
    let records = home.run(&["audit", "export"]).out;
    assert_eq!(
        records.matches("toolcrib:ccos_register_server").count(),
        3,
        "{records}"
    );
    client.end();
}

#[test]
fn what_a_tool_answers_beside_text_is_told_and_in_json_it_is_there() {
    let home = Home::new();
    home.configure(&fixture(""));
    let execute = |tool: &str, more: &[&str]| {
        let said = home.run(&[&["execute", "fixture", tool, "--args", "{}"], more].concat());
        assert_eq!(said.code, Some(0), "{tool} {}", said.err);
        said
    };
    let shown = |tool: &str| {
        let out = execute(tool, &[]).out;
        let (_, result) = out.split_once("Result:\n").unwrap();
        result.to_owned()
    };
    let image = "  [image/png, 70 bytes]\n";
    assert_eq!(shown("test_image_content"), image);
    assert_eq!(
        shown("test_multiple_content_types"),
        format!(
            "  Multiple content types test:\n{image}  [resource test://mixed-content-resource: application/json, 27 bytes]\n"
        )
    );
    let json = execute("test_multiple_content_types", &["--json"]).json();
    assert_eq!(json["result"], "Multiple content types test:");
    assert_eq!(json["content"][1]["type"], "image", "{json}");
    assert!(json["content"][1]["data"].is_string(), "{json}");
    let json = execute("test_image_content", &["--json"]).json();
    assert_eq!(json["result"][0]["type"], "image", "{json}");
    let json = execute("test_simple_text", &["--json"]).json();
    assert_eq!(json.get("content"), None, "{json}");
}
