//! The tools of the server: each does what its name says.

use std::io::Write;
use std::time::Duration;

use serde_json::{Value, json};

use crate::flags::{Era, Flags, append, exit};
use crate::wire::Wire;

/// A page of the list of tools.
pub(crate) fn list(flags: &Flags, params: &Value) -> Value {
    let mut tools = vec![json!({
        "x-first": 1.50, "name": "echo", "description": "Gives its arguments back.",
        "inputSchema": {"type": "object", "x-order": {"z": 1, "a": 2}},
        "execution": {"taskSupport": "forbidden"}, "_meta": {"vendor/x": [1, null]},
        "annotations": {"readOnlyHint": true, "x-unknown": true},
        "icons": [{"src": "data:,"}], "outputSchema": {"type": "object"},
    })];
    if flags.malformed {
        tools.push(json!({"name": "no-schema", "description": "It has none."}));
        tools.push(json!({"name": "bool-schema", "inputSchema": true}));
        tools.push(json!({"name": "bad-annotations", "inputSchema": {}, "annotations": "many"}));
        tools.push(json!({"description": "It has no name.", "inputSchema": {}}));
        tools.push(json!("a text"));
        tools.push(json!({"name": "echo", "inputSchema": {"type": "object"}}));
    }
    for n in 0..flags.tools {
        tools.push(json!({"name": format!("tool_{n}"), "inputSchema": {"type": "object"}}));
    }
    if let Some(file) = &flags.offer {
        let text = std::fs::read_to_string(file).expect("the offer can be read");
        tools = serde_json::from_str(&text).expect("the offer is a list");
    }
    let at = params["cursor"]
        .as_str()
        .and_then(|cursor| cursor.parse().ok())
        .unwrap_or(0);
    let size = flags.page.unwrap_or(tools.len()).max(1);
    let page: Vec<_> = tools.iter().skip(at).take(size).collect();
    let mut result = json!({"tools": page});
    let next = at + size;
    if flags.loop_cursor {
        result["nextCursor"] = json!((next % 4).to_string());
    } else if next < tools.len() {
        result["nextCursor"] = json!(next.to_string());
    }
    if matches!(flags.era, Era::Modern | Era::Dual) {
        result["resultType"] = json!("complete");
        result["ttlMs"] = json!(60_000);
        result["cacheScope"] = json!("private");
    }
    result
}

/// Runs a tool.
pub(crate) fn call(flags: &Flags, wire: &Wire, id: &Value, params: &Value) {
    let arguments = &params["arguments"];
    let text = match params["name"].as_str().unwrap_or_default() {
        "echo" => {
            let kept = json!({"resultType": "complete", "content": [
                {"type": "text", "text": arguments.to_string(), "x-unknown": 1},
                {"type": "image", "data": "AA==", "mimeType": "image/png"},
                {"type": "audio", "data": "AA==", "mimeType": "audio/wav"},
                {"type": "resource_link", "uri": "x:1", "name": "one"},
                {"type": "resource", "resource": {"uri": "x:1", "text": "one"}},
                {"type": "x-new", "z": 1, "a": 2.0},
            ], "structuredContent": arguments, "_meta": {"vendor/y": params["_meta"].clone()}});
            return wire.result(id, &kept);
        }
        "sleep" => {
            std::thread::sleep(Duration::from_millis(
                arguments["ms"].as_u64().unwrap_or(100),
            ));
            "slept".to_owned()
        }
        "never" => return noted(flags, "never"),
        "again" => {
            noted(flags, "again");
            if count(flags, "again") == 1 {
                return;
            }
            "done".to_owned()
        }
        "meet" => {
            wire.meet(arguments["of"].as_u64().unwrap_or(2));
            "met".to_owned()
        }
        "die" => exit(
            arguments["code"]
                .as_i64()
                .and_then(|code| i32::try_from(code).ok())
                .unwrap_or(1),
        ),
        "half" => {
            wire.write("{\"jsonrpc\":\"2.0\",\"id\":1,\"resu");
            exit(1)
        }
        "huge" => {
            let text = "x".repeat(17 * 1024 * 1024);
            return wire.write(format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}}}"
            ));
        }
        "latin1" => {
            let begin = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[");
            let content = b"{\"type\":\"text\",\"text\":\"caf\xe9\"}]}}";
            return wire.write([begin.as_bytes(), content].concat());
        }
        "nan" => {
            return wire.write(format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[NaN]}}}}"
            ));
        }
        "effect" => {
            if let Some(file) = &flags.effects {
                append(file, &arguments["key"].to_string());
            }
            "done".to_owned()
        }
        "refuse" => return wire.fault(id, -32602, "the arguments do not please me"),
        "env" => {
            let names: Vec<_> = std::env::vars().map(|(name, _)| name).collect();
            names.join(" ")
        }
        "tell" => std::env::var(arguments["name"].as_str().unwrap_or_default()).unwrap_or_default(),
        "leak" => return leak(wire, id, arguments),
        "cancelled" => json!(wire.cancelled()).to_string(),
        "change" => {
            wire.changed();
            "changed".to_owned()
        }
        "log" => {
            wire.notify(
                "notifications/message",
                &json!({"level": "info", "data": "working"}),
            );
            "logged".to_owned()
        }
        "progress" => {
            let token = &params["_meta"]["progressToken"];
            for n in 1..=3 {
                std::thread::sleep(Duration::from_millis(arguments["ms"].as_u64().unwrap_or(0)));
                let progress =
                    json!({"progressToken": token, "progress": n, "total": 3, "x": {"b": 1}});
                wire.notify("notifications/progress", &progress);
            }
            "progressed".to_owned()
        }
        name @ ("elicit" | "sample" | "roots") => match ask(flags, wire, params, name) {
            Ok(answer) => answer,
            Err(wanted) => return wire.result(id, &wanted),
        },
        other => return wire.fault(id, -32602, &format!("there is no tool {other}")),
    };
    let content = json!([{"type": "text", "text": text}]);
    wire.result(id, &json!({"resultType": "complete", "content": content}));
}

/// What the client answers; where its era wants that, a result that asks for it.
fn ask(flags: &Flags, wire: &Wire, params: &Value, name: &str) -> Result<String, Value> {
    let method = match name {
        "elicit" => "elicitation/create",
        "sample" => "sampling/createMessage",
        _ => "roots/list",
    };
    let asked = json!({"message": "Your name?", "z": 1});
    if !matches!(flags.era, Era::Modern | Era::Dual) {
        return Ok(wire.ask(method, &asked).to_string());
    }
    if params["requestState"] == "half-way" {
        return Ok(params["inputResponses"].to_string());
    }
    Err(json!({
        "resultType": "input_required", "requestState": "half-way",
        "inputRequests": {"q": {"method": method, "params": asked}},
    }))
}

/// Writes down that a call is here, where effects are counted.
fn noted(flags: &Flags, what: &str) {
    if let Some(file) = &flags.effects {
        append(file, what);
    }
}

/// How often that was written down.
fn count(flags: &Flags, what: &str) -> usize {
    let file = flags.effects.as_ref().expect("effects are counted");
    let text = std::fs::read_to_string(file).expect("the file can be read");
    text.lines().filter(|line| *line == what).count()
}

/// Tells a variable of its environment in every way but a result.
fn leak(wire: &Wire, id: &Value, arguments: &Value) {
    let name = arguments["name"].as_str().unwrap_or_default();
    let value = std::env::var(name).unwrap_or_default();
    let _ = writeln!(std::io::stderr(), "cannot log in with {value}");
    let told = json!({"level": "error", "data": format!("refused: {value}")});
    wire.notify("notifications/message", &told);
    wire.fault(id, -32000, &format!("cannot log in with {value}"));
}
