//! The five tools, called with anything: every call is answered, and the answer can be read.

use std::sync::Arc;

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use toolcrib::mcp::outlet::Nowhere;
use toolcrib::mcp::service::{Arrival, Request};
use toolcrib_core::discovery::definitions::NAMES;
use toolcrib_core::rpc::Id;

use crate::shop::Shop;

/// What the five take, and what they do not.
const PARAMETERS: &[&str] = &[
    "query",
    "server",
    "limit",
    "pattern",
    "cursor",
    "tool",
    "arguments",
    "options",
    "includeDisabled",
    "full",
    "title",
    "n",
    "nonsense",
];

/// What options take, but for filters: those run in a process of this very program.
const OPTIONS: &[&str] = &[
    "idempotency_key",
    "confirmed",
    "dry_run",
    "timeout",
    "page",
    "nonsense",
];

/// A value of any kind, more often one that fits somewhere.
fn any(choice: u8) -> Value {
    match choice % 24 {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(-1),
        3 => json!(1.5e300),
        4 => json!(u64::MAX),
        5 => json!(""),
        6..=8 => json!("github"),
        9 => json!("dead"),
        10..=12 => json!("list_issues"),
        13 => json!("create-issue"),
        14 => json!("/(a+)+$/i"),
        15 => json!("*issue*"),
        16 => json!("[[[{**"),
        17 => json!("日本語 \u{0} \u{202e}".repeat(usize::from(choice))),
        18 => json!("0.1"),
        19 => json!([1, [], {}]),
        20 => json!({"title": "x", "n": 5}),
        21 => json!({"title": 5, "deep": {"deep": {"deep": []}}}),
        22 => options(&[(choice, choice / 3), (choice / 5, choice / 7)]),
        _ => json!(3),
    }
}

fn options(chosen: &[(u8, u8)]) -> Value {
    let fields = chosen.iter().map(|(name, value)| {
        let name = OPTIONS[usize::from(*name) % OPTIONS.len()];
        let value = match value % 4 {
            0 => json!(true),
            1 => json!("key"),
            2 => json!(1_000),
            _ => Value::Null,
        };
        (name.to_owned(), value)
    });
    Value::Object(fields.collect::<Map<String, Value>>())
}

fn params(name: &str, arguments: &Value) -> Box<RawValue> {
    let params = json!({
        "name": name,
        "arguments": arguments,
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    });
    to_raw_value(&params).expect("it is JSON")
}

#[test]
fn fuzz_calls_of_the_five() {
    bolero::check!()
        .with_type::<(u8, Vec<(u8, u8)>)>()
        .for_each(|(name, fields): &(u8, Vec<(u8, u8)>)| {
            let shop = Shop::shared();
            let name = NAMES[usize::from(*name) % NAMES.len()];
            let arguments: Map<String, Value> = fields
                .iter()
                .take(8)
                .map(|(field, value)| {
                    let field = PARAMETERS[usize::from(*field) % PARAMETERS.len()];
                    (field.to_owned(), any(*value))
                })
                .collect();
            let request = Request {
                id: Id::Number(1),
                method: "tools/call".to_owned(),
                params: Some(params(name, &Value::Object(arguments))),
            };
            let arrival = Arrival {
                caller: Arc::clone(&shop.caller),
                outlet: Arc::new(Nowhere),
                cancel: CancellationToken::new(),
                trace: None,
                network: "pipe",
            };
            let reply = shop.runs(shop.service.stateless(request, arrival));
            let result = reply
                .outcome
                .expect("whatever is wrong is told as a result");
            let result: Value = serde_json::from_str(result.get()).expect("it is JSON");
            let text = result["content"][0]["text"].as_str();
            let text = text.expect("it is one text");
            let told: Value = serde_json::from_str(text).expect("the text is JSON");
            assert_eq!(
                result["isError"] == true,
                told["success"] == false,
                "{result}"
            );
        });
}
