//! An MCP server on standard streams that misbehaves as it is told to, one fault for each flag.
//!
//! It speaks either era, has a few tools that do what their names say, and counts effects in a file,
//! so that a test sees what really happened. With `__launch` it is the launcher of the product.

mod flags;
mod tools;
mod wire;

use std::io::BufRead;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Value, json};

use flags::{Era, Flags};
use wire::Wire;

const MODERN: &str = "2026-07-28";
const MODERN_META: &str = "io.modelcontextprotocol/protocolVersion";

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    if let Some(code) = toolcrib_upstream::mcp::launcher::run_if_launcher(&args) {
        return code;
    }
    let flags = Arc::new(Flags::read(std::env::args().skip(1)));
    flags.before_the_first_word();
    let wire = Arc::new(Wire::new(Arc::clone(&flags)));
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        if let Some(code) = take(&flags, &wire, &message) {
            return code;
        }
    }
    if flags.ignore_end {
        loop {
            std::thread::sleep(std::time::Duration::from_secs(1));
        }
    }
    ExitCode::SUCCESS
}

/// Deals with one message; a code ends the process.
fn take(flags: &Arc<Flags>, wire: &Arc<Wire>, message: &Value) -> Option<ExitCode> {
    if flags.deaf {
        return None;
    }
    let (Some(method), id) = (message["method"].as_str(), message["id"].clone()) else {
        wire.answered(message);
        return None;
    };
    if id.is_null() {
        wire.told(method, &message["params"]);
        return None;
    }
    let params = &message["params"];
    match method {
        "initialize" if flags.era != Era::Modern => {
            let version = flags.version.as_deref().unwrap_or("2025-11-25");
            wire.result(&id, &json!({
                "protocolVersion": version,
                "capabilities": capabilities(),
                "serverInfo": {"name": "hostile", "version": "1", "x-unknown": {"b": 1, "a": 2}},
                "instructions": "Be careful.",
            }));
        }
        "server/discover" => match flags.era {
            Era::Modern | Era::Dual => discovered(wire, &id),
            Era::Silent => {}
            Era::Empty => wire.result(&id, &json!({})),
            Era::Fragile => return Some(ExitCode::from(3)),
            Era::Legacy => wire.fault(&id, -32601, "Method not found"),
        },
        _ if flags.era == Era::Modern && params["_meta"][MODERN_META] != MODERN => {
            wire.fault(&id, -32601, "Method not found");
        }
        "ping" => wire.result(&id, &json!({})),
        "tools/list" => wire.result(&id, &tools::list(flags, params)),
        "prompts/list" => wire.result(&id, &json!({"prompts": [{"name": "greet"}]})),
        "resources/list" => {
            wire.result(&id, &json!({"resources": [{"uri": "x:1", "name": "one"}]}));
        }
        "resources/templates/list" => {
            wire.result(
                &id,
                &json!({"resourceTemplates": [{"uriTemplate": "x:{n}", "name": "n"}]}),
            );
        }
        "subscriptions/listen" => wire.listen(&id, params),
        "tools/call" => {
            let (flags, wire, params) = (Arc::clone(flags), Arc::clone(wire), params.clone());
            std::thread::spawn(move || tools::call(&flags, &wire, &id, &params));
        }
        _ => wire.fault(&id, -32601, "Method not found"),
    }
    None
}

fn capabilities() -> Value {
    json!({
        "tools": {"listChanged": true}, "prompts": {}, "resources": {}, "logging": {},
        "x-unknown": {},
    })
}

fn discovered(wire: &Wire, id: &Value) {
    wire.result(
        id,
        &json!({
            "resultType": "complete",
            "supportedVersions": [MODERN],
            "capabilities": capabilities(),
            "instructions": "Be careful.",
            "ttlMs": 1000,
            "cacheScope": "public",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "hostile", "version": "1"}},
        }),
    );
}
