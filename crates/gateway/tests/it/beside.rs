//! What flat mode passes beside tools, under the same policy as tools.

use serde_json::{Value, json};

use crate::home::Home;
use crate::stage::records;
use crate::web::Web;

fn flat(more: &str) -> Home {
    let home = Home::new();
    let program = toolcrib_testkit::program("conformance-server");
    let program = json!(program.display().to_string());
    home.configure(&format!(
        "mode: flat\nmcpServers:\n  fixture: {{command: {program}}}\n{more}"
    ));
    home
}

fn bear(home: &Home, web: &mut Web, scope: &str) {
    let made = home.run(&["keys", "create", "k", "--scope", scope, "--json"]);
    web.bear(made.json()["secret"].as_str().unwrap());
}

/// Everything that can be asked beside tools, and what holds its answer.
fn questions() -> Vec<(&'static str, Value, &'static str)> {
    let prompt = json!({ "ref": { "type": "ref/prompt", "name": "x" }, "argument": { "name": "a", "value": "t" } });
    let uri = json!({ "uri": "test://static-text" });
    vec![
        ("prompts/list", json!({}), "prompts"),
        ("resources/list", json!({}), "resources"),
        ("resources/templates/list", json!({}), "resourceTemplates"),
        ("resources/read", uri.clone(), "contents"),
        (
            "prompts/get",
            json!({ "name": "test_simple_prompt" }),
            "messages",
        ),
        ("completion/complete", prompt, "completion"),
        ("resources/subscribe", uri.clone(), ""),
        ("resources/unsubscribe", uri, ""),
    ]
}

#[test]
fn nobody_starts_a_server_by_asking_for_what_it_may_not_read() {
    let home = Home::new();
    let started = home.path("started");
    let program = toolcrib_testkit::program("conformance-server");
    let script = format!("touch {}; exec {}", started.display(), program.display());
    let args = json!(["-c", script]);
    home.configure(&format!(
        "mode: flat\nmcpServers:\n  fixture: {{command: sh, args: {args}}}\n"
    ));
    let mut web = Web::start(&home);
    bear(&home, &mut web, "other:*");
    for (method, params, _) in questions() {
        web.request(method, &params.to_string());
        assert!(!started.exists(), "{method}");
    }
    bear(&home, &mut web, "fixture:read");
    web.request("resources/list", "{}");
    assert!(started.exists());
}

#[test]
fn a_key_without_a_scope_for_the_server_finds_nothing_beside_tools_either() {
    let home = flat("");
    let mut web = Web::start(&home);
    for scope in ["fixture:read", "*:read"] {
        bear(&home, &mut web, scope);
        for (method, params, holds) in questions() {
            let answer = web.request(method, &params.to_string());
            let result = &answer["result"];
            assert!(result.is_object(), "{scope} {method}: {answer}");
            assert!(holds.is_empty() || !result[holds].is_null(), "{answer}");
        }
    }
    let before = records(&home).len();
    for scope in ["fixture:write", "other:*", "toolcrib:admin"] {
        bear(&home, &mut web, scope);
        for (method, params, holds) in questions() {
            let answer = web.request(method, &params.to_string());
            if method.ends_with("/list") {
                assert_eq!(
                    answer["result"][holds],
                    json!([]),
                    "{scope} {method}: {answer}"
                );
            } else {
                let code = &answer["error"]["code"];
                assert!(
                    *code == -32002 || *code == -32602,
                    "{scope} {method}: {answer}"
                );
            }
            assert!(
                !answer.to_string().contains("fixture"),
                "{method}: {answer}"
            );
        }
    }
    let refused = records(&home).split_off(before);
    assert_eq!(refused.len(), 3 * 2, "{refused:?}");
    for record in refused {
        assert_eq!(record["outcome"], "refused", "{record}");
        assert_eq!(record["error_code"], "SCOPE_REQUIRED", "{record}");
    }
    let tools = web.request("tools/list", "{}");
    assert_eq!(tools["result"]["tools"], json!([]), "{tools}");
    let call = json!({ "name": "test_simple_text", "arguments": {} });
    let call = web.request("tools/call", &call.to_string());
    assert_eq!(call["error"]["code"], -32602, "{call}");
    assert!(!call.to_string().contains("fixture"), "{call}");
}

#[test]
fn what_is_read_beside_tools_leaves_one_record_each() {
    let home = flat("audit: {parameters: true}\n");
    let mut web = Web::start(&home);
    bear(&home, &mut web, "fixture:read");
    for (method, params, _) in questions() {
        web.request(method, &params.to_string());
    }
    let records = records(&home);
    let of = |record: &Value| (record["tool_id"].clone(), record["outcome"].clone());
    let found: Vec<_> = records.iter().map(of).collect();
    let read = |method: &str| (format!("fixture:{method}").into(), "ok".into());
    assert_eq!(found, [read("resources/read"), read("prompts/get")]);
    let parameters = records[0]["parameters"].to_string();
    assert!(parameters.contains("test://static-text"), "{parameters}");
    let actor = records[0]["actor_id"].as_str().unwrap();
    assert!(actor.starts_with("key:"), "{actor}");
    assert_eq!(home.run(&["audit", "verify"]).code, Some(0));
}

#[test]
fn what_is_asked_beside_tools_counts_against_the_rate_limits() {
    let home =
        flat("policy: {rateLimits: {perPrincipal: {requests: 1, perSeconds: 3600, burst: 2}}}\n");
    let mut web = Web::start(&home);
    bear(&home, &mut web, "fixture:read");
    for _ in 0..2 {
        let answer = web.request("resources/list", "{}");
        assert!(answer["result"].is_object(), "{answer}");
    }
    let read = json!({ "uri": "test://static-text" }).to_string();
    let answer = web.request("resources/read", &read);
    assert_eq!(answer["error"]["data"]["code"], "RATE_LIMITED", "{answer}");
    let wait = answer["error"]["data"]["retryAfterMs"].as_u64().unwrap();
    assert!(wait > 0 && wait <= 3_600_000, "{wait}");
    let last = records(&home).pop().unwrap();
    assert_eq!(last["error_code"], "RATE_LIMITED", "{last}");
    bear(&home, &mut web, "fixture:read");
    let other = web.request("resources/list", "{}");
    assert!(other["result"].is_object(), "{other}");
}

#[test]
fn a_server_that_waits_for_approval_gives_nothing_beside_tools_away() {
    let home = flat("policy: {approval: all, rateLimits: {perServer: {requests: 1000}}}\n");
    let mut web = Web::start(&home);
    bear(&home, &mut web, "fixture:read");
    let read = json!({ "uri": "test://static-text" }).to_string();
    let answer = web.request("resources/read", &read);
    assert_eq!(answer["error"]["code"], -32002, "{answer}");
    let last = records(&home).pop().unwrap();
    assert_eq!(last["error_code"], "APPROVAL_REQUIRED", "{last}");
    let approved = home.run(&["approvals", "approve", "fixture"]);
    assert_eq!(approved.code, Some(0), "{}", approved.err);
    let answer = web.request("resources/read", &read);
    assert!(answer["result"]["contents"].is_array(), "{answer}");
}
