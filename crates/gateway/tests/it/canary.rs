//! Secrets are planted wherever Toolcrib gets hold of one, and looked for in everything that it writes.

use std::cell::Cell;
use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};
use toolcrib_testkit::api::Api;
use toolcrib_testkit::remote::{Remote, Settings};

use crate::home::{Home, Said};
use crate::modes::Client;
use crate::stage::{hostile, reader, staged, tool};
use crate::web::Web;

/// In the environment of a server, under a name that says nothing.
const ENV: &str = "canary-env-52c1f0";
/// In Toolcrib's own environment, referred to by the configuration.
const OUTSIDE: &str = "canary-outside-9b07d2";
/// In Toolcrib's own environment, referred to by nobody.
const LOOSE: &str = "canary-loose-11ab9e";
/// In a header of a remote server.
const HEADER: &str = "canary-header-77e6a3";
/// The bearer token of a remote server.
const BEARER: &str = "canary-bearer-c3d845";
/// An argument whose name says that it is a secret.
const NAMED: &str = "canary-named-0f3e61";
/// An argument that looks like a token.
const LOOK: &str = "ghp_canarylook0123456789";
/// In a header for the collector of traces.
const COLLECTOR: &str = "canary-collector-5d20fe";
/// An argument that nothing tells from any other text.
const PLAIN: &str = "canary-plain-e81b44";

const ALL: [&str; 9] = [
    ENV, OUTSIDE, LOOSE, HEADER, BEARER, COLLECTOR, NAMED, LOOK, PLAIN,
];

struct Cage {
    home: Home,
    /// What the remote server and the collector run on.
    runtime: tokio::runtime::Runtime,
    remote: Remote,
    turn: Cell<bool>,
}

impl Cage {
    fn new(more: &str) -> Self {
        Self::of(more, true)
    }

    /// With servers beside the one that works, or without.
    fn of(more: &str, others: bool) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let settings = Settings {
            tokens: vec!["another".to_owned()],
            ..Settings::default()
        };
        let remote = runtime.block_on(Remote::start(settings)).unwrap();
        let name = json!({"name": {"type": "string"}});
        let anything = json!({"password": {"type": "string"}, "note": {"type": "string"}, "count": {"type": "integer"}});
        let tools = json!([
            reader("tell", &name),
            reader("leak", &name),
            reader("echo", &anything),
            reader("refuse", &anything),
            reader("die", &anything),
            tool("delete_all", &anything),
        ]);
        let server = format!("    env: {{SHELF: '{ENV}', GREETING: '${{OUTSIDE}}'}}\n");
        let broken = format!(
            "  broken: {{command: '{}', args: [--stderr-env, SHELF, --exit, '3'], env: {{SHELF: '{ENV}'}}}}\n  remote: {{url: '{}/mcp', headers: {{X-Shelf: '{HEADER}'}}, bearer: '{BEARER}'}}\n",
            hostile().display(),
            remote.origin,
        );
        let broken = if others { broken } else { String::new() };
        let home = staged(&tools, &server, &format!("{broken}{more}"));
        Self {
            home,
            runtime,
            remote,
            turn: Cell::new(false),
        }
    }

    fn run(&self, arguments: &[&str]) -> Said {
        let mut command = self.home.command(arguments);
        command.env("OUTSIDE", OUTSIDE).env("LOOSE", LOOSE);
        Said::of(command.output().unwrap())
    }

    /// Runs a command with every level of the log, in one form and the other by turns, and searches all
    /// that it says.
    fn quiet(&self, arguments: &[&str]) {
        let turn = self.turn.replace(!self.turn.get());
        let mut all = arguments.to_vec();
        all.extend(["-vv", "--log-format", if turn { "text" } else { "json" }]);
        let said = self.run(&all);
        clean(&format!("{all:?}"), &said.out);
        clean(&format!("the log of {all:?}"), &said.err);
    }

    /// Runs a tool whose answer may hold what was planted; only the log is searched.
    fn answers(&self, tool: &str, arguments: &Value, expected: &str) {
        let arguments = arguments.to_string();
        let call = ["execute", "stage", tool, "--args", &arguments, "-vv"];
        let said = self.run(&call);
        assert!(said.out.contains(expected), "{tool} {}", said.out);
        clean(&format!("the log of {tool}"), &said.err);
    }
}

fn clean(place: &str, text: &str) {
    for canary in ALL {
        if let Some(at) = text.find(canary) {
            let around: String = text[at.saturating_sub(300).min(at)..]
                .chars()
                .take(500)
                .collect();
            panic!("{canary} is in {place}: {around}");
        }
    }
}

/// Searches every file below a directory.
fn search(directory: &Path, searched: &mut usize) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            search(&path, searched);
        } else if let Ok(bytes) = std::fs::read(&path) {
            clean(
                &path.display().to_string(),
                &String::from_utf8_lossy(&bytes),
            );
            *searched += 1;
        }
    }
}

#[test]
fn no_secret_gets_into_what_commands_say() {
    let cage = Cage::new("");
    for arguments in [
        &["list"][..],
        &["tools", "stage", "--all"],
        &["tools", "broken"],
        &["tools", "remote"],
        &["list", "--status", "--json"],
        &["search", "tell leak"],
        &["inspect", "stage", "tell", "--json"],
        &["policy", "explain", "stage:delete_all"],
        &["config", "show"],
        &["config", "show", "--json"],
        &["config", "sources"],
        &["config", "validate"],
        &["cache", "list"],
        &["rules", "explain", "stage:tell"],
        &["status"],
    ] {
        cage.quiet(arguments);
    }
    let seen = cage.remote.seen();
    let bearer = format!("Bearer {BEARER}");
    assert!(
        seen.iter()
            .any(|r| r.header("authorization") == Some(&bearer))
    );
    assert!(seen.iter().any(|r| r.header("x-shelf") == Some(HEADER)));
}

#[test]
fn no_secret_of_a_call_gets_into_log_record_or_store() {
    for parameters in [false, true] {
        let cage = Cage::new(&format!("audit: {{parameters: {parameters}}}\n"));
        let mut given = json!({"password": NAMED, "note": LOOK});
        if !parameters {
            given["name"] = PLAIN.into();
        }
        cage.answers("tell", &json!({"name": "SHELF"}), ENV);
        cage.answers("tell", &json!({"name": "GREETING"}), OUTSIDE);
        cage.answers("echo", &given, NAMED);
        let wrong = json!({"password": NAMED, "note": LOOK, "count": LOOK}).to_string();
        let given = given.to_string();
        for arguments in [
            &["execute", "stage", "leak", "--args", r#"{"name": "SHELF"}"#][..],
            &[
                "execute",
                "stage",
                "leak",
                "--stream",
                "--args",
                r#"{"name": "GREETING"}"#,
            ],
            &["execute", "stage", "refuse", "--args", &given],
            &["execute", "stage", "die", "--args", &given],
            &["execute", "stage", "delete_all", "--args", &given],
            &["execute", "stage", "echo", "--args", &wrong],
            &["execute", "stage", "gone", "--args", &given],
            &["execute", "broken", "x", "--args", &given],
            &["execute", "remote", "x", "--args", &given],
            &["audit", "tail"],
            &["audit", "search", "--json"],
            &["audit", "export"],
            &["audit", "export", "--format", "csv"],
            &["audit", "verify"],
            &["approvals", "list", "--all"],
        ] {
            cage.quiet(arguments);
        }
        let mut searched = 0;
        for directory in [".local", ".cache", "run"] {
            let directory = cage.home.path(directory);
            if directory.exists() {
                search(&directory, &mut searched);
            }
        }
        assert!(searched > 0, "the store was searched");
    }
}

#[test]
fn a_person_is_asked_without_the_secrets_of_the_call() {
    let cage = Cage::new("policy: {confirmation: human}\n");
    let given = json!({"password": NAMED, "note": LOOK}).to_string();
    let call = [
        "execute",
        "stage",
        "delete_all",
        "--args",
        &given,
        "--idempotency-key",
        "k",
    ];
    cage.quiet(&call);
    cage.quiet(&["approvals", "list"]);
    let listed = cage.run(&["approvals", "list", "--json"]).json();
    let id = listed["approvals"][0]["id"].as_str().unwrap().to_owned();
    cage.quiet(&["approvals", "show", &id]);
    cage.quiet(&["approvals", "show", &id]);
    let shown = cage.run(&["approvals", "show", &id]);
    assert!(shown.out.contains("***"), "{}", shown.out);
}

#[test]
fn a_running_process_says_nothing_of_them_either() {
    let cage = Cage::new("");
    let mut command = cage.home.command(&["serve", "-vv"]);
    command.env("OUTSIDE", OUTSIDE).env("LOOSE", LOOSE);
    let mut server = crate::home::Server::start(command);
    cage.quiet(&["status", "--json"]);
    cage.quiet(&["config", "reload"]);
    server.signal(Signal::TERM);
    assert!(server.ends().success());
    clean("the log of serve", &server.rest().join("\n"));
}

/// Calls of the five tools, each of which goes wrong in its own way or tells about servers.
fn telling() -> Vec<(&'static str, Value)> {
    let given = json!({"password": NAMED, "note": LOOK});
    let wrong = json!({"password": NAMED, "note": LOOK, "count": LOOK});
    let execute = |server: &str, tool: &str, arguments: &Value| {
        (
            "execute_tool",
            json!({"server": server, "tool": tool, "arguments": arguments}),
        )
    };
    vec![
        ("list_mcp_servers", json!({})),
        ("search_tools", json!({"query": "tell leak"})),
        ("search_tools", json!({"query": "tell", "pattern": "/(/"})),
        ("list_tools", json!({"server": "stage"})),
        ("list_tools", json!({"server": "broken"})),
        ("list_tools", json!({"server": "remote"})),
        (
            "get_tool_details",
            json!({"server": "stage", "tool": "tell", "full": true}),
        ),
        execute("stage", "leak", &json!({"name": "SHELF"})),
        execute("stage", "leak", &json!({"name": "GREETING"})),
        execute("stage", "refuse", &given),
        execute("stage", "die", &given),
        execute("stage", "delete_all", &given),
        execute("stage", "echo", &wrong),
        execute("stage", "gone", &given),
        execute("broken", "x", &given),
        execute("remote", "x", &given),
        (
            "execute_tool",
            json!({"server": "stage", "tool": "echo", "arguments": given, "options": LOOK}),
        ),
    ]
}

/// The calls among those that run a tool of `stage`.
fn staged_calls() -> Vec<(String, Value)> {
    let calls = telling().into_iter().filter_map(|(name, arguments)| {
        let staged = name == "execute_tool" && arguments["server"] == "stage";
        let tool = arguments["tool"].as_str()?.to_owned();
        (staged && arguments["options"].is_null()).then(|| (tool, arguments["arguments"].clone()))
    });
    calls.collect()
}

/// A client of a process on pipes, with every level of the log in a file.
fn piped(cage: &Cage, arguments: &[&str], mode: Option<&str>) -> Client {
    let mut command = cage.home.command(arguments);
    command.env("OUTSIDE", OUTSIDE).env("LOOSE", LOOSE);
    if let Some(mode) = mode {
        command.env("MCP_TOOL_MODE", mode);
    }
    let log = std::fs::File::create(cage.home.path("log")).unwrap();
    let mut client = Client::heard_elsewhere({
        command.stderr(log);
        command
    });
    let greeted = client.hello_as("t", &json!({}));
    clean("the greeting", &greeted.to_string());
    let listed = client.ask("tools/list", json!({}));
    clean("tools/list", &listed.to_string());
    client
}

/// Ends a client and searches what its process logged.
fn end(cage: &Cage, client: Client, what: &str) {
    client.end();
    let log = std::fs::read_to_string(cage.home.path("log")).unwrap();
    assert!(!log.is_empty(), "{what}");
    clean(&format!("the log of {what}"), &log);
}

#[test]
fn no_secret_gets_out_in_the_profile_gateway() {
    let cage = Cage::new("");
    let arguments = ["serve", "--stdio", "--profile", "gateway", "-vv"];
    let mut client = piped(&cage, &arguments, None);
    let mut calls = vec![
        ("gateway.adapters", json!({})),
        ("gateway.tools", json!({})),
        ("gateway.reference", json!({"tool_id": "stage:tell"})),
        ("gateway.intent", json!({"intent": "tell leak"})),
    ];
    for (tool, arguments) in staged_calls() {
        let id = format!("stage:{tool}");
        calls.push((
            "gateway.execute",
            json!({"tool_id": id, "params": arguments}),
        ));
    }
    for (name, arguments) in calls {
        let answer = client.call(name, arguments);
        clean(&format!("the answer of {name}"), &answer.to_string());
    }
    end(&cage, client, "the profile gateway");
}

#[test]
fn no_secret_gets_out_in_full_mode() {
    let cage = Cage::new("");
    let mut client = piped(&cage, &["serve", "--stdio", "-vv"], Some("full"));
    for (tool, arguments) in staged_calls() {
        let answer = client.call(&format!("stage__{tool}"), arguments);
        clean(&format!("the answer of {tool}"), &answer.to_string());
    }
    end(&cage, client, "full mode");
}

#[test]
fn no_secret_gets_out_in_flat_mode() {
    let cage = Cage::of("", false);
    let mut client = piped(&cage, &["serve", "--stdio", "-vv"], Some("flat"));
    for (tool, arguments) in staged_calls() {
        let answer = client.call(&tool, arguments);
        clean(&format!("the answer of {tool}"), &answer.to_string());
    }
    for method in ["resources/list", "prompts/list"] {
        clean(method, &client.ask(method, json!({})).to_string());
    }
    end(&cage, client, "flat mode");
}

#[test]
fn no_secret_gets_out_over_rest() {
    let cage = Cage::new("");
    let mut command = cage.home.command(&["serve", "-vv"]);
    command.env("OUTSIDE", OUTSIDE).env("LOOSE", LOOSE);
    let web = Web::over(crate::home::Server::start(command));
    for path in [
        "/api/v1/servers",
        "/api/v1/tools?server=stage",
        "/api/v1/tools/stage:tell",
        "/api/v1/search?q=tell+leak",
        "/api/v1/openapi.json",
        "/api/adapters",
        &format!("/api/v1/{PLAIN}?token={NAMED}"),
    ] {
        let answer = web.get(path);
        clean(path, &format!("{:?} {}", answer.headers, answer.body));
    }
    let mut executed = 0;
    for (tool, arguments) in staged_calls() {
        let wish = json!({"tool_id": format!("stage:{tool}"), "params": arguments});
        let path = format!("/api/adapters/stage/tools/{tool}");
        for (path, body) in [("/api/v1/execute", &wish), (&*path, &arguments)] {
            let answer = web.tell(path, &[], body);
            executed += usize::from(answer.status != 404);
            clean(path, &format!("{:?} {}", answer.headers, answer.body));
        }
    }
    assert!(
        executed > 5,
        "{executed} were executed or refused for a reason"
    );
    let broken = web.tell_text("/api/v1/execute", &[], format!("{{{NAMED}"));
    clean("the answer to what is no JSON", &broken.body);
    let mut server = web.into_server();
    server.signal(Signal::TERM);
    assert!(server.ends().success());
    clean("the log of serve", &server.rest().join("\n"));
}

#[test]
fn no_secret_gets_out_over_http_or_into_metrics_or_traces() {
    let cage = Cage::new("");
    let made = cage.run(&["keys", "create", "visitor", "--scope", "*", "--json"]);
    let key = made.json()["secret"].as_str().unwrap().to_owned();
    let collector = cage.runtime.block_on(Api::start([])).unwrap();
    let mut command = cage.home.command(&["serve", "-vv"]);
    command
        .env("OUTSIDE", OUTSIDE)
        .env("LOOSE", LOOSE)
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url())
        .env("OTEL_EXPORTER_OTLP_HEADERS", format!("x-shelf={COLLECTOR}"));
    let mut web = Web::over(crate::home::Server::start(command));
    for bearer in [None, Some(&key)] {
        if let Some(key) = bearer {
            web.bear(key);
        }
        clean("tools/list", &web.request("tools/list", "{}").to_string());
        for (name, arguments) in telling() {
            let params = json!({"name": name, "arguments": arguments}).to_string();
            let answer = web.request("tools/call", &params).to_string();
            clean(&format!("the answer to {params}"), &answer);
        }
        for path in [
            "/metrics",
            "/healthz",
            "/readyz",
            "/.well-known/oauth-protected-resource",
            &format!("/nothing/{PLAIN}?token={NAMED}"),
        ] {
            let answer = web.get(path);
            clean(path, &format!("{:?} {}", answer.headers, answer.body));
            if path == "/metrics" {
                assert!(
                    answer.body.contains("toolcrib_http_requests_total"),
                    "{}",
                    answer.body
                );
            }
        }
        for body in [
            format!("{{{NAMED}"),
            format!(
                r#"{{"jsonrpc": "1.0", "id": 1, "method": "x", "params": {{"password": "{NAMED}"}}}}"#
            ),
        ] {
            let answer = web.post("/mcp", body);
            clean("the answer to what is no request", &answer.body);
        }
    }
    web.bear(BEARER);
    let refused = web.post("/mcp", "{}".to_owned());
    assert_eq!(refused.status, 401);
    clean(
        "a refusal",
        &format!("{:?} {}", refused.headers, refused.body),
    );
    let mut server = web.into_server();
    server.signal(Signal::TERM);
    assert!(server.ends().success());
    let log = server.rest().join("\n");
    clean("the log of serve", &log);
    assert!(!log.contains(&key), "the key is in the log");
    let mut spans = 0;
    for delivery in collector.received() {
        assert_eq!(delivery.header("x-shelf"), Some(COLLECTOR));
        let text = String::from_utf8(delivery.body).unwrap();
        clean("a delivery of traces", &text);
        assert!(!text.contains(&key), "the key is in a trace");
        spans += text.matches("\"spanId\"").count();
    }
    assert!(spans > 50, "{spans} spans were searched");
    let mut searched = 0;
    search(&cage.home.path(".local"), &mut searched);
    assert!(searched > 0, "the store was searched");
}
