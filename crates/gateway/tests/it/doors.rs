//! The same attempts through every door: each is refused with the same code, each leaves its record,
//! and nothing takes effect.

use serde_json::{Value, json};

use crate::agent::{Agent, said};
use crate::attempts::{fortress, traps};
use crate::home::{Home, eventually};
use crate::stage::{effects, execute, offer, reader, records, staged, tool};
use crate::web::Web;

/// A way in.
enum Door {
    /// The command line.
    Command,
    /// The five tools on a pipe.
    Lazy(Agent),
    /// The five tools over HTTP.
    Http(Box<Web>),
    /// Every tool under a name of its own.
    Full(Agent),
    /// The server as it is.
    Flat(Agent),
    /// The five tools of the profile `gateway`.
    Gateway(Agent),
    /// A tool by its id, over REST.
    Rest(Box<Web>),
    /// A tool by its path, over REST.
    Path(Box<Web>),
}

const DOORS: [&str; 8] = [
    "command", "lazy", "http", "full", "flat", "gateway", "rest", "path",
];

impl Door {
    fn open(home: &Home, name: &str) -> Self {
        match name {
            "command" => Self::Command,
            "lazy" => Self::Lazy(Agent::start(home, name)),
            "http" => Self::Http(Box::new(Web::start(home))),
            "full" => Self::Full(Agent::start(home, name)),
            "gateway" => Self::Gateway(Agent::profile(home, name)),
            "rest" => Self::Rest(Box::new(Web::start(home))),
            "path" => Self::Path(Box::new(Web::start(home))),
            _ => Self::Flat(Agent::start(home, name)),
        }
    }

    /// Whether these options can be said here: a path takes a key and a confirmation, as headers.
    fn takes(&self, options: &Value) -> bool {
        let mut names = options.as_object().unwrap().keys();
        !matches!(self, Self::Path(_))
            || names.all(|name| ["idempotency_key", "confirmed"].contains(&name.as_str()))
    }

    /// Asks for a tool of `stage` with arguments as they are written, and gives the whole answer.
    fn ask(&mut self, home: &Home, tool: &str, arguments: &str, options: &Value) -> Value {
        let five = |tool: &str| {
            let tool = Value::from(tool);
            format!(
                r#"{{"name":"execute_tool","arguments":{{"server":"stage","tool":{tool},"arguments":{arguments},"options":{options}}}}}"#
            )
        };
        let wish = |tool: &str| {
            let id = Value::from(format!("stage:{tool}"));
            format!(r#"{{"tool_id":{id},"params":{arguments},"options":{options}}}"#)
        };
        let executed = |tool: &str| {
            let wish = wish(tool);
            format!(r#"{{"name":"gateway.execute","arguments":{wish}}}"#)
        };
        let named = |name: String| {
            let name = Value::from(name);
            format!(
                r#"{{"name":{name},"arguments":{arguments},"_meta":{{"toolcrib/options":{options}}}}}"#
            )
        };
        match self {
            Self::Command => {
                let flags = flags(options);
                let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
                execute(home, tool, arguments, &flags).json()
            }
            Self::Lazy(agent) => said(&agent.request("tools/call", &five(tool))),
            Self::Http(web) => said(&web.request("tools/call", &five(tool))),
            Self::Gateway(agent) => said(&agent.request("tools/call", &executed(tool))),
            Self::Full(agent) => {
                said(&agent.request("tools/call", &named(format!("stage__{tool}"))))
            }
            Self::Flat(agent) => said(&agent.request("tools/call", &named(tool.to_owned()))),
            Self::Rest(web) => web.tell_text("/api/v1/execute", &[], wish(tool)).json(),
            Self::Path(web) => {
                let path = format!("/api/adapters/stage/tools/{}", escaped(tool));
                let key = options["idempotency_key"].as_str();
                let mut headers: Vec<(&str, &str)> = Vec::new();
                headers.extend(key.map(|key| ("idempotency-key", key)));
                if options["confirmed"] == true {
                    headers.push(("x-confirmed", "true"));
                }
                web.tell_text(&path, &headers, arguments.to_owned()).json()
            }
        }
    }
}

/// A name as one part of a path.
fn escaped(name: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let parts = name.as_bytes().iter().map(|byte| match byte {
        byte if plain(byte) => char::from(*byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    parts.collect()
}

/// Options as the command line has them.
fn flags(options: &Value) -> Vec<String> {
    let mut flags = Vec::new();
    for (name, value) in options.as_object().unwrap() {
        let flag = format!("--{}", name.replace('_', "-"));
        match value {
            Value::Bool(true) => flags.push(flag),
            Value::String(text) => flags.extend([flag, text.clone()]),
            other => panic!("{name} {other}"),
        }
    }
    flags
}

/// One attempt: the tool, its arguments, options, and the code that it must be refused with.
type Attempt = (String, String, Value, &'static str);

fn attempts() -> Vec<Attempt> {
    let key = json!({"idempotency_key": "k", "confirmed": true});
    let mut all: Vec<Attempt> = Vec::new();
    for name in ["drop_table", "Drop-Table", "dropTable", "DROP_TABLE"] {
        all.push((name.into(), "{}".into(), key.clone(), "TOOL_DISABLED"));
    }
    for name in [
        "efect",
        "effect;drop_table",
        "../effect",
        "dr\u{43e}p_table",
        "\u{ff44}rop_table",
        "drop\u{200b}_table",
        "\u{202e}elbat_pord",
        "drop_table\u{301}",
        "*",
    ] {
        all.push((name.into(), "{}".into(), key.clone(), "TOOL_NOT_FOUND"));
    }
    let nested = |depth: usize| format!("{}1{}", "{\"key\":".repeat(depth), "}".repeat(depth));
    for arguments in [
        r#"{"key": "a", "key": "b"}"#.to_owned(),
        r#"{"key": "a", "\u006bey": "b"}"#.to_owned(),
        r#"{"__proto__": {"key": "x"}}"#.to_owned(),
        r#"{"constructor": {"prototype": {"admin": true}}}"#.to_owned(),
        r#"{"count": 1e400}"#.to_owned(),
        r#"{"count": -1e99999}"#.to_owned(),
        r#"{"count": 1.5}"#.to_owned(),
        r#"{"count": "1"}"#.to_owned(),
        r#"{"key": "\ud800"}"#.to_owned(),
        format!(r#"{{"count": {}}}"#, "9".repeat(5_000)),
        nested(60),
        nested(5_000),
    ] {
        all.push((
            "effect".into(),
            arguments,
            json!({}),
            "TOOL_VALIDATION_ERROR",
        ));
    }
    let many = format!(r#"{{"key": "{}!"}}"#, "a".repeat(60));
    for trap in traps() {
        let name = trap["name"].as_str().unwrap().to_owned();
        if name != "trap_deep" {
            all.push((name, many.clone(), json!({}), "TOOL_VALIDATION_ERROR"));
        }
    }
    for filter in [
        "env",
        "$ENV.HOME",
        "input",
        "halt",
        "import \"a\" as a; .",
        "map(",
    ] {
        let options = json!({ "select": filter });
        let given = r#"{"key": "x"}"#.to_owned();
        all.push(("effect".into(), given, options, "VALIDATION_ERROR"));
    }
    all
}

#[test]
fn what_must_not_be_is_refused_alike_through_every_door() {
    let home = fortress();
    assert_eq!(home.run(&["tools", "stage"]).code, Some(0));
    let all = attempts();
    let mut seen = 0;
    for name in DOORS {
        let mut door = Door::open(&home, name);
        let attempts: Vec<_> = all
            .iter()
            .filter(|(_, _, options, _)| door.takes(options))
            .collect();
        for (tool, arguments, options, _) in &attempts {
            let answer = door.ask(&home, tool, arguments, options);
            let failed = answer["success"] == false || answer.get("error").is_some();
            assert!(failed, "{name} {tool}: {answer}");
        }
        let records = records(&home);
        assert_eq!(
            records.len(),
            seen + attempts.len(),
            "{name}: one record each"
        );
        for ((tool, arguments, _, expected), record) in attempts.iter().zip(&records[seen..]) {
            let shown: String = arguments.chars().take(60).collect();
            assert_eq!(
                record["outcome"], "refused",
                "{name} {tool} {shown}: {record}"
            );
            assert_eq!(
                &record["error_code"], expected,
                "{name} {tool} {shown}: {record}"
            );
        }
        seen = records.len();
    }
    assert_eq!(effects(&home), Vec::<String>::new());
    assert_eq!(home.run(&["audit", "verify"]).code, Some(0));
}

#[test]
fn options_mean_the_same_through_every_door() {
    let mut wipe = tool("effect", &json!({"key": {"type": "string"}}));
    wipe["annotations"] = json!({"destructiveHint": true});
    let home = staged(&json!([wipe]), "", "policy: {mode: strict}\n");
    assert_eq!(home.run(&["tools", "stage"]).code, Some(0));
    let mut seen = 0;
    for name in DOORS {
        let mut door = Door::open(&home, name);
        let arguments = json!({ "key": name }).to_string();
        // A key belongs to its caller, and most doors have the same one.
        let asked = [
            (json!({}), Some("CONFIRMATION_REQUIRED")),
            (json!({"confirmed": true}), Some("IDEMPOTENCY_REQUIRED")),
            (
                json!({"idempotency_key": name}),
                Some("CONFIRMATION_REQUIRED"),
            ),
            (
                json!({"idempotency_key": name, "confirmed": true, "dry_run": true}),
                None,
            ),
            (json!({"idempotency_key": name, "confirmed": true}), None),
            (json!({"idempotency_key": name, "confirmed": true}), None),
        ];
        let asked: Vec<_> = asked
            .into_iter()
            .filter(|(options, _)| door.takes(options))
            .collect();
        let fine = asked.iter().filter(|(_, code)| code.is_none()).count();
        for (options, code) in asked {
            door.ask(&home, "effect", &arguments, &options);
            let records = records(&home);
            seen += 1;
            assert_eq!(records.len(), seen, "{name} {options}");
            let code = code.map_or(Value::Null, Value::from);
            assert_eq!(records[seen - 1]["error_code"], code, "{name} {options}");
        }
        let outcomes: Vec<_> = records(&home)[seen - fine..]
            .iter()
            .map(|record| record["outcome"].clone())
            .collect();
        let expected = &["dry_run", "ok", "replayed"][3 - fine..];
        assert_eq!(outcomes, expected, "{name}");
    }
    let expected: Vec<String> = DOORS.iter().map(|name| format!("\"{name}\"")).collect();
    assert_eq!(effects(&home), expected, "each door once");
    let mut agent = Agent::start(&home, "full");
    for options in [
        r#"{"confirm": true}"#,
        r#"{"confirmed": true, "confirmed": false}"#,
        "[]",
    ] {
        let params = format!(
            r#"{{"name":"stage__effect","arguments":{{}},"_meta":{{"toolcrib/options":{options}}}}}"#
        );
        let answer = said(&agent.request("tools/call", &params));
        assert_eq!(answer["error"]["code"], "VALIDATION_ERROR", "{answer}");
    }
}

#[test]
fn a_challenge_is_good_for_one_call_of_one_caller_whatever_the_door() {
    let mut effect = tool("effect", &json!({"key": {"type": "string"}}));
    effect["annotations"] = json!({"destructiveHint": true});
    let home = staged(&json!([effect]), "", "policy: {confirmation: human}\n");
    assert_eq!(home.run(&["tools", "stage"]).code, Some(0));
    let mut stranger = Door::open(&home, "http");
    for name in ["lazy", "full", "flat", "gateway"] {
        let mut door = Door::open(&home, name);
        let wanted = json!({ "key": name }).to_string();
        let call = |door: &mut Door, arguments: &str, key: &str, challenge: Option<&str>| {
            let mut options =
                json!({"idempotency_key": format!("{name}-{key}"), "confirmed": true});
            if let Some(challenge) = challenge {
                options["challenge"] = challenge.into();
            }
            door.ask(&home, "effect", arguments, &options);
            records(&home).last().unwrap()["error_code"].clone()
        };
        assert_eq!(call(&mut door, &wanted, "1", None), "CONFIRMATION_REQUIRED");
        let waiting = home.run(&["approvals", "list", "--json"]).json();
        let id = waiting["approvals"][0]["id"].as_str().unwrap().to_owned();
        let early = call(&mut door, &wanted, "1", Some(&id));
        assert_eq!(
            early, "CONFIRMATION_REQUIRED",
            "{name}: nobody has settled it"
        );
        assert_eq!(home.run(&["approve", &id]).code, Some(0));
        for (arguments, what) in [(r#"{"key": "other"}"#, "other arguments"), ("{}", "none")] {
            let code = call(&mut door, arguments, "1", Some(&id));
            assert_eq!(code, "CONFIRMATION_REQUIRED", "{name}: {what}");
        }
        let code = call(&mut stranger, &wanted, "1", Some(&id));
        assert_eq!(code, "CONFIRMATION_REQUIRED", "{name}: another caller");
        assert_eq!(
            call(&mut door, &wanted, "1", Some(&id)),
            Value::Null,
            "{name}"
        );
        let code = call(&mut door, &wanted, "2", Some(&id));
        assert_eq!(code, "CONFIRMATION_REQUIRED", "{name}: used up");
        // So that the next door finds its own question first.
        for approval in home.run(&["approvals", "list", "--json"]).json()["approvals"]
            .as_array()
            .unwrap()
        {
            home.run(&["approvals", "reject", approval["id"].as_str().unwrap()]);
        }
    }
    assert_eq!(
        effects(&home),
        ["\"lazy\"", "\"full\"", "\"flat\"", "\"gateway\""]
    );
}

#[test]
fn a_key_finds_and_runs_what_its_scopes_say_and_no_more_over_http() {
    let key = json!({"key": {"type": "string"}});
    let tools = json!([reader("effect", &key), tool("drop_table", &key)]);
    let home = staged(&tools, "", "");
    assert_eq!(home.run(&["tools", "stage"]).code, Some(0));
    let mut web = Web::start(&home);
    let mut expected = Vec::new();
    for (scope, permitted) in [
        ("stage:read", true),
        ("stage:*", true),
        ("*:read", true),
        ("stage:write", false),
        ("*:write", false),
        ("stag:*", false),
        ("effect:read", false),
    ] {
        let made = home.run(&["keys", "create", "k", "--scope", scope, "--json"]);
        web.bear(made.json()["secret"].as_str().unwrap());
        let mut call = |name: &str, arguments: Value| {
            let params = json!({ "name": name, "arguments": arguments }).to_string();
            said(&web.request("tools/call", &params))
        };
        let run = call(
            "execute_tool",
            json!({"server": "stage", "tool": "effect", "arguments": {"key": scope}}),
        );
        let found = call("search_tools", json!({"query": "does effect"})).to_string();
        let listed = call("list_tools", json!({"server": "stage"})).to_string();
        let shown = call(
            "get_tool_details",
            json!({"server": "stage", "tool": "effect"}),
        );
        if permitted {
            assert_eq!(run["success"], true, "{scope}: {run}");
            assert!(
                found.contains("effect") && listed.contains("effect"),
                "{scope}"
            );
            expected.push(format!("\"{scope}\""));
        } else {
            let code = run["error"]["code"].as_str().unwrap();
            assert!(
                ["TOOL_NOT_FOUND", "SERVER_NOT_FOUND"].contains(&code),
                "{scope}: {run}"
            );
            let said = format!("{found}{listed}{shown}");
            assert!(!said.contains("Does effect"), "{scope}: {said}");
        }
    }
    assert_eq!(effects(&home), expected);
    web.bear("tc_made_up");
    assert_eq!(web.post("/mcp", "{}".to_owned()).status, 401);
}

#[test]
fn what_an_agent_runs_after_a_search_comes_up_until_it_is_forgotten() {
    let none = json!({});
    let tools = json!([reader("effect", &none), reader("echo", &none)]);
    let home = staged(&tools, "", "search: {learn: true}\n");
    assert_eq!(home.run(&["tools", "stage"]).code, Some(0));
    let mut agent = Agent::start(&home, "lazy");
    let mut call = |name: &str, arguments: Value| {
        let params = json!({ "name": name, "arguments": arguments }).to_string();
        said(&agent.request("tools/call", &params))
    };
    call("search_tools", json!({"query": "does something"}));
    let run = json!({"server": "stage", "tool": "echo", "arguments": {}});
    assert_eq!(call("execute_tool", run)["success"], true);
    let explained = || {
        let found = home.run(&["search", "does something", "--explain", "--json"]);
        found.json().to_string()
    };
    // The answer does not wait for it.
    eventually("it is learned", || {
        explained()
            .contains("you ran it after a like query")
            .then_some(())
    });
    let said = home.run(&["search", "--forget", "--json"]);
    assert_eq!(said.json(), json!({"forgotten": 1}), "{}", said.err);
    assert!(!explained().contains("you ran it"), "it is forgotten");
    let said = home.run(&["search", "--forget"]);
    assert!(said.out.contains("nothing was learned"), "{}", said.out);
    assert_eq!(home.run(&["search"]).code, Some(1), "there must be a wish");
}

#[test]
fn a_server_that_comes_back_is_asked_for_its_tools_again() {
    let none = json!({});
    let tools = |name: &str| json!([reader("die", &none), reader(name, &none)]);
    let home = staged(&tools("echo"), "", "policy: {approval: off}\n");
    let mut agent = Agent::start(&home, "lazy");
    let mut call = |name: &str, arguments: Value| {
        let params = json!({ "name": name, "arguments": arguments }).to_string();
        said(&agent.request("tools/call", &params))
    };
    let run = |tool: &str| json!({ "server": "stage", "tool": tool, "arguments": {} });
    let listed = json!({ "server": "stage" });
    assert!(
        call("list_tools", listed.clone())
            .to_string()
            .contains("Does echo")
    );
    // The list is fresh for an hour: only a new connection can bring another one.
    offer(&home, &tools("effect"));
    assert_eq!(call("execute_tool", run("echo"))["success"], true);
    assert!(
        call("list_tools", listed.clone())
            .to_string()
            .contains("Does echo")
    );
    assert_eq!(call("execute_tool", run("die"))["success"], false);
    eventually("the list of the new connection", || {
        call("execute_tool", run("effect"));
        let now = call("list_tools", listed.clone()).to_string();
        (now.contains("Does effect") && !now.contains("Does echo")).then_some(())
    });
}
