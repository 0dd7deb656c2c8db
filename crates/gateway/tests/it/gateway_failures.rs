//! What the profile `gateway` says to calls that make no sense: short, whatever was asked.

use serde_json::json;

use crate::modes::Client;
use crate::payments::Payments;

/// The most that a failure may cost an agent.
const TOKENS_MAX: usize = 1_000;

#[test]
fn a_failure_stays_small_however_much_was_asked() {
    let payments = Payments::open(&[], "");
    let mut client = Client::over(payments.command(&["serve", "--stdio", "--profile", "gateway"]));
    client.hello_as("t", &json!({}));
    let name = "xyz ".repeat(2_000);
    let joined = "x".repeat(5_000);
    for (tool, arguments) in [
        (
            "gateway.execute",
            json!({"tool_id": format!("{joined}:{joined}"), "params": {}}),
        ),
        (
            "gateway.execute",
            json!({"tool_id": format!("paystack:{joined}"), "params": {}}),
        ),
        ("gateway.execute", json!({"tool_id": name, "params": {}})),
        ("gateway.tools", json!({"adapter": name})),
        ("gateway.reference", json!({"topic": name})),
        ("gateway.adapters", json!({name.as_str(): 1})),
    ] {
        let answer = client.call(tool, arguments);
        assert_eq!(answer["result"]["isError"], true, "{tool}: {answer}");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        let cost = bpe_openai::o200k_base().count(text);
        assert!(cost <= TOKENS_MAX, "{tool}: {cost}: {text}");
    }
}
