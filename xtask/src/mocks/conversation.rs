//! An agent that wants a card charged, through the MCP door in strict mode, against prism serving the payment
//! service's own description.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::Judged;
use crate::letter::Letter;

const REVISION: &str = "2026-07-28";
const WISH: &str = "charge a card in Nigeria";

/// Holds it: the wish finds the tool, a key is demanded, the charge happens once although asked for twice,
/// and the audit log tells all of it.
pub(super) fn hold(judged: &Judged) -> Result<String> {
    judged.mock.take();
    let context = json!({ "country": "NG", "currency": "NGN" });
    let found = ask(
        judged,
        "gateway.intent",
        &json!({ "query": WISH, "context": context }),
    )?;
    let id = found["recommended"]["tool_id"].as_str().unwrap_or_default();
    let charges = id.starts_with("paystack:") && id.contains("charge");
    ensure!(charges, "`{WISH}` recommends {}", found["recommended"]);
    let constraints = &found["ready_to_execute"]["constraints"];
    ensure!(constraints["requires_idempotency"] == true, "{constraints}");
    let params = &found["ready_to_execute"]["example"];
    let execute = |key: Option<&str>| {
        let mut wanted = json!({ "tool_id": id, "params": params });
        if let Some(key) = key {
            wanted["options"] = json!({ "idempotency_key": key });
        }
        ask(judged, "gateway.execute", &wanted)
    };
    let refused = execute(None)?;
    let code = &refused["error"]["code"];
    ensure!(code == "IDEMPOTENCY_REQUIRED", "without a key: {refused}");
    ensure!(judged.mock.take().is_empty(), "it was sent without a key");
    let first = execute(Some("order-1"))?;
    let second = execute(Some("order-1"))?;
    ensure!(
        first["success"] == true && second["success"] == true,
        "{first} {second}"
    );
    ensure!(
        second["replayed"] == true && first["data"] == second["data"],
        "the second answer is not the first: {first} {second}"
    );
    let seen = judged.mock.take();
    let once = seen.len() == 1 && seen[0].against.is_empty() && seen[0].status == 200;
    ensure!(once, "it must be sent once and accepted: {seen:?}");
    let told = audited(judged, id)?;
    judged.run(&["audit", "verify"])?;
    Ok(format!(
        "`{WISH}`: {id}, refused without a key, sent once ({}) although asked for twice; audit: {told}",
        seen[0].asked
    ))
}

/// The outcomes that the audit log has for a tool since the sweep, which must be those of the conversation.
fn audited(judged: &Judged, id: &str) -> Result<String> {
    let log = judged.run(&["audit", "export"])?;
    let records: Vec<Value> = log
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    let of_tool = records.iter().filter(|record| record["tool_id"] == id);
    let outcomes: Vec<&str> = of_tool
        .filter_map(|record| record["outcome"].as_str())
        .collect();
    // The first is of the sweep, where each tool is called once.
    let told = outcomes.get(1..).unwrap_or_default();
    ensure!(
        told == ["refused", "ok", "replayed"],
        "the audit log says {outcomes:?}"
    );
    Ok(told.join(", "))
}

/// Calls one of the five tools over MCP and gives what it told.
fn ask(judged: &Judged, tool: &str, arguments: &Value) -> Result<Value> {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": tool,
        "arguments": arguments,
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": REVISION,
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    } });
    let headers = [
        ("authorization", judged.bearer.as_str()),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", REVISION),
        ("mcp-method", "tools/call"),
        ("mcp-name", tool),
    ];
    let letter = Letter::request("POST", "/mcp", &headers, body.to_string());
    let answer = letter.send(&judged.served.address)?.json()?;
    let text = answer["result"]["content"][0]["text"].as_str();
    let text = text.with_context(|| format!("{tool} answers {answer}"))?;
    Ok(serde_json::from_str(text)?)
}
