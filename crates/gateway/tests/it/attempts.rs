//! Ways around policy that must not work, tried on the real program: each is refused, each leaves its
//! record, and nothing takes effect.

use serde_json::{Value, json};

use crate::home::Home;
use crate::stage::{effects, execute, reader, records, staged, tool};

/// A home with strict rules: one tool that has an effect, one that is switched off, and some whose
/// schemas are traps.
pub(crate) fn fortress() -> Home {
    let key = json!({"key": {"type": "string"}, "count": {"type": "integer"}});
    let mut tools = vec![reader("effect", &key), tool("drop_table", &key)];
    tools.extend(traps());
    staged(
        &json!(tools),
        "",
        "policy: {mode: strict}\ntoolRules: [{pattern: ['drop_*'], enabled: false}]\n",
    )
}

/// Tools whose schemas would cost more than they may.
pub(crate) fn traps() -> Vec<Value> {
    let trap = |name: &str, schema: Value| {
        let mut trap = reader(name, &json!({}));
        trap["inputSchema"] = schema;
        trap
    };
    let mut doubling = json!({"type": "object", "allOf": [{"$ref": "#/$defs/a0"}], "$defs": {}});
    for n in 0..30 {
        let next = format!("#/$defs/a{}", n + 1);
        doubling["$defs"][format!("a{n}")] = json!({"allOf": [{"$ref": next}, {"$ref": next}]});
    }
    doubling["$defs"]["a30"] = json!({"minProperties": 1});
    let mut deep = json!({"type": "string"});
    for _ in 0..60 {
        deep = json!({"type": "object", "properties": {"a": deep}});
    }
    let pattern = |pattern: &str| json!({"type": "object", "properties": {"key": {"type": "string", "pattern": pattern}}});
    vec![
        trap("trap_doubling", doubling),
        trap("trap_deep", deep),
        trap(
            "trap_endless",
            json!({"type": "object", "allOf": [{"$ref": "#"}]}),
        ),
        trap(
            "trap_remote",
            json!({"type": "object", "$ref": "http://127.0.0.1:9/schema.json"}),
        ),
        trap("trap_regex", pattern("^(a+)+$")),
        trap("trap_backtracking", pattern("^(?=(a+)+b)(a|aa)+$")),
        trap("trap_regex_size", pattern("((a{1,900}){1,900}){1,900}")),
    ]
}

/// Makes a call that must be refused with a code, and gives the record of it.
fn refused(home: &Home, tool: &str, arguments: &str, more: &[&str], expected: &[&str]) -> Value {
    let before = records(home).len();
    let said = execute(home, tool, arguments, more);
    let answer = said.json();
    let shown: String = arguments.chars().take(80).collect();
    let found = answer["error"]["code"].as_str().unwrap_or_default();
    assert!(expected.contains(&found), "{tool} {shown}: {answer}");
    let records = records(home);
    assert_eq!(records.len(), before + 1, "{tool} {shown}: one record");
    let record = records.last().unwrap().clone();
    assert_eq!(record["error_code"], found, "{tool} {shown}: {record}");
    assert_eq!(record["outcome"], "refused", "{tool} {shown}: {record}");
    assert_eq!(answer["error"]["request_id"], record["request_id"]);
    record
}

#[test]
fn a_tool_that_is_not_there_or_switched_off_has_no_other_spelling() {
    let home = fortress();
    let key = ["--idempotency-key", "k", "--confirmed"];
    for name in ["drop_table", "Drop-Table", "dropTable", "DROP_TABLE"] {
        refused(&home, name, "{}", &key, &["TOOL_DISABLED"]);
    }
    for name in [
        "efect",
        "stage:effect",
        "effect;drop_table",
        "../effect",
        "dr\u{43e}p_table",
        "\u{ff44}rop_table",
        "drop\u{200b}_table",
        "\u{202e}elbat_pord",
        "drop_table\u{301}",
        "*",
        "",
    ] {
        refused(
            &home,
            name,
            "{}",
            &key,
            &["TOOL_NOT_FOUND", "TOOL_DISABLED"],
        );
    }
    for server in ["st\u{430}ge", "stage\u{200b}", "*", "stage:effect"] {
        let said = home.run(&["execute", server, "effect", "--args", "{}", "--json"]);
        let code = said.json()["error"]["code"].clone();
        assert!(
            code == "SERVER_NOT_FOUND" || code == "TOOL_NOT_FOUND",
            "{server}: {code}"
        );
    }
    assert_eq!(effects(&home), Vec::<String>::new());
    assert_eq!(home.run(&["audit", "verify"]).code, Some(0));
}

#[test]
fn arguments_that_mean_two_things_or_too_much_never_reach_the_server() {
    let home = fortress();
    let nested = |depth: usize| format!("{}1{}", "{\"key\":".repeat(depth), "}".repeat(depth));
    let long = format!(r#"{{"count": {}}}"#, "9".repeat(5_000));
    for arguments in [
        r#"{"key": "a", "key": "b"}"#,
        r#"{"key": "a", "\u006bey": "b"}"#,
        r#"{"__proto__": {"key": "x"}}"#,
        r#"{"constructor": {"prototype": {"admin": true}}}"#,
        r#"{"toString": 1}"#,
        r#"{"count": 1e400}"#,
        r#"{"count": -1e99999}"#,
        r#"{"count": 1.5}"#,
        r#"{"key": "\ud800"}"#,
        &long,
        &nested(60),
        &nested(5_000),
        "[]",
        "null",
        "\"key\"",
    ] {
        refused(&home, "effect", arguments, &[], &["TOOL_VALIDATION_ERROR"]);
    }
    assert_eq!(effects(&home), Vec::<String>::new());
}

#[test]
fn a_schema_or_pattern_of_a_server_that_is_a_trap_costs_only_its_tool() {
    let home = fortress();
    let many = format!(r#"{{"key": "{}!"}}"#, "a".repeat(60));
    for trap in traps() {
        let name = trap["name"].as_str().unwrap();
        if name == "trap_deep" {
            continue;
        }
        refused(&home, name, &many, &[], &["TOOL_VALIDATION_ERROR"]);
    }
    assert_eq!(
        execute(&home, "effect", r#"{"key": "x"}"#, &[]).code,
        Some(0)
    );
    assert_eq!(effects(&home), ["\"x\""], "the others go on");
}

#[test]
fn a_pattern_that_is_a_trap_keeps_the_configuration_from_loading() {
    for pattern in ["/((a{1,900}){1,900}){1,900}/", "/(/"] {
        let rules = format!("toolRules: [{{pattern: ['{pattern}'], enabled: false}}]\n");
        let home = staged(&json!([reader("effect", &json!({}))]), "", &rules);
        let said = execute(&home, "effect", "{}", &[]);
        assert_eq!(said.code, Some(2), "{pattern}: {} {}", said.out, said.err);
        assert_eq!(said.json()["error"]["code"], "CONFIGURATION_ERROR");
        assert_eq!(effects(&home), Vec::<String>::new());
    }
    let rules = "toolRules: [{pattern: ['/^(a+)+$/'], enabled: false}]\n";
    let home = staged(&json!([reader(&"a".repeat(60), &json!({}))]), "", rules);
    let name = format!("{}!", "a".repeat(60));
    assert_eq!(
        execute(&home, &name, "{}", &[]).code,
        Some(2),
        "no time is lost"
    );
}

#[test]
fn a_key_opens_what_its_scopes_say_and_no_more() {
    let home = fortress();
    for (scope, permitted) in [
        ("stage:read", true),
        ("stage:*", true),
        ("*:read", true),
        ("stage:write", false),
        ("*:write", false),
        ("stag:*", false),
        ("effect:read", false),
    ] {
        let name = scope.replace(':', "-").replace('*', "any");
        let made = home.run(&["keys", "create", &name, "--scope", scope]);
        assert_eq!(made.code, Some(0), "{scope}: {}", made.err);
        let principal = format!("key:{name}");
        let said = home.run(&[
            "policy",
            "explain",
            "stage:effect",
            "--as",
            &principal,
            "--json",
        ]);
        assert_eq!(said.json()["permitted"], permitted, "{scope}: {}", said.out);
    }
    for scope in ["**", "stage:**", "st*:read", ""] {
        let made = home.run(&["keys", "create", "x", "--scope", scope]);
        assert_eq!(made.code, Some(1), "{scope}: {}", made.out);
    }
}

#[test]
fn a_filter_that_looks_outside_is_refused_before_the_call() {
    let home = fortress();
    for filter in [
        "env",
        "$ENV.HOME",
        "input",
        "[inputs]",
        "halt",
        "halt_error",
        "debug",
        "stderr",
        "import \"a\" as a; .",
        "map(",
    ] {
        let more = ["--select", filter];
        refused(
            &home,
            "effect",
            r#"{"key": "x"}"#,
            &more,
            &["VALIDATION_ERROR"],
        );
    }
    assert_eq!(effects(&home), Vec::<String>::new());
}

#[test]
fn a_filter_without_end_is_stopped_and_the_result_given_whole() {
    let home = staged(&json!([reader("echo", &json!({"n": {}}))]), "", "");
    assert_eq!(execute(&home, "echo", "{}", &[]).code, Some(0));
    let run = |filter: &str| {
        let said = execute(&home, "echo", r#"{"n": [1, 2]}"#, &["--select", filter]);
        assert_eq!(said.code, Some(0), "{filter}: {} {}", said.out, said.err);
        said
    };
    assert_eq!(run(".n | add").json()["result"], 3);
    assert_eq!(run(".n[]").json()["result"], json!([1, 2]));
    std::thread::scope(|scope| {
        for filter in [
            "def f: f; f",
            "[repeat(.)]",
            "[range(1e15)] | length",
            "def f: 1 + f; f",
            "reduce range(40) as $i (\"x\"; . + .)",
            "last(repeat(1))",
            "repeat(1)",
            ".n[5000] | error",
            "nan",
        ] {
            let run = &run;
            scope.spawn(move || {
                let said = run(filter);
                let shown = said.out.chars().take(300).collect::<String>();
                assert_eq!(
                    said.json()["result"],
                    json!({"n": [1, 2]}),
                    "{filter}: {shown}"
                );
                let why = said.json()["unfiltered"].to_string();
                assert!(why.contains("not applied"), "{filter}: {shown}");
            });
        }
    });
    assert_eq!(home.run(&["audit", "verify"]).code, Some(0));
}

#[test]
fn a_slow_rate_limit_holds_over_processes() {
    let limits = "policy: {rateLimits: {perPrincipal: {requests: 1, perSeconds: 3600}}}\n";
    let home = staged(&json!([reader("effect", &json!({}))]), "", limits);
    assert_eq!(execute(&home, "effect", "{}", &[]).code, Some(0));
    for key in [&[][..], &["--idempotency-key", "k"]] {
        let answer = execute(&home, "effect", "{}", key).json();
        assert_eq!(answer["error"]["code"], "RATE_LIMITED", "{answer}");
        let said = answer["error"]["message"].as_str().unwrap();
        let wait = said.split("Try again in ").nth(1).unwrap();
        let wait: u64 = wait.trim_end_matches(" ms").parse().unwrap();
        assert!(wait > 0 && wait <= 3_600_000, "{answer}");
        let record = records(&home).pop().unwrap();
        assert_eq!(record["error_code"], "RATE_LIMITED", "{record}");
        assert_eq!(record["outcome"], "refused", "{record}");
    }
    assert_eq!(effects(&home).len(), 1);
}
