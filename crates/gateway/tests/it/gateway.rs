//! The profile `gateway` through the real program, over a payment service.

use serde_json::{Value, json};

use crate::home::{Home, Server};
use crate::modes::Client;
use crate::payments::{Payments, SECRET};
use crate::stage::records;

const STRICT: &str = "policy: {mode: strict}\n";

const FIVE: [&str; 5] = [
    "gateway.intent",
    "gateway.execute",
    "gateway.adapters",
    "gateway.tools",
    "gateway.reference",
];

fn connect(payments: &Payments) -> Client {
    let mut client = Client::over(payments.command(&["serve", "--stdio", "--profile", "gateway"]));
    client.hello_as("t", &json!({}));
    client
}

/// The answer of a tool, and whether it is a failure.
fn asked(client: &mut Client, tool: &str, arguments: Value) -> (Value, bool) {
    let answer = client.call(tool, arguments);
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str();
    let text = text.unwrap_or_else(|| panic!("{answer}"));
    let value: Value = serde_json::from_str(text).unwrap();
    assert!(
        value["next_step"].is_string(),
        "every answer says what is next: {value}"
    );
    assert!(!text.contains(SECRET), "{text}");
    (value, result["isError"] == true)
}

fn told(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let (value, failed) = asked(client, tool, arguments);
    assert!(!failed, "{value}");
    value
}

fn refused(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let (value, failed) = asked(client, tool, arguments);
    assert!(failed, "{value}");
    assert_eq!(value["success"], false);
    value["error"].clone()
}

#[test]
fn an_agent_sees_exactly_five_tools_however_the_profile_is_chosen() {
    let payments = Payments::open(&[], "");
    let start = |arguments: &[&str], variable: Option<&str>| {
        let mut command = payments.command(arguments);
        if let Some(profile) = variable {
            command.env("TOOLCRIB_PROFILE", profile);
        }
        let mut client = Client::over(command);
        client.hello_as("t", &json!({}));
        let names = client.names();
        client.end();
        names
    };
    assert_eq!(
        start(&["serve", "--stdio", "--profile", "gateway"], None),
        FIVE
    );
    assert_eq!(start(&[], Some("gateway")), FIVE, "nothing but a pipe");
    assert_eq!(start(&["serve", "--stdio"], None)[0], "list_mcp_servers");
    let overruled = start(
        &["serve", "--stdio", "--profile", "discovery"],
        Some("gateway"),
    );
    assert_eq!(overruled.len(), 5);
    assert_eq!(overruled[0], "list_mcp_servers");
    let configured = Payments::open(&[], "profile: gateway\n");
    let mut client = Client::over(configured.command(&[]));
    client.hello_as("t", &json!({}));
    assert_eq!(client.names(), FIVE);
    client.end();
}

#[test]
fn the_log_says_how_many_tools_are_registered() {
    let payments = Payments::open(&[], "profile: gateway\n");
    let server = Server::start(payments.command(&["serve"]));
    server.heard("MCP Discovery Layer: 5 meta-tools registered");
    let mut full = payments.command(&["serve"]);
    full.env("MCP_TOOL_MODE", "full");
    let mut server = Server::start(full);
    if !server.said("MCP Full Mode: 7 tools registered") {
        server.hears("MCP Full Mode: 7 tools registered");
    }
}

/// Asks for what charges a card.
fn wanted(client: &mut Client) -> Value {
    let context = json!({"currency": "NGN", "country": "NG", "use_case": "one-time"});
    let wish = json!({"query": "charge a card in Nigeria", "context": context});
    told(client, "gateway.intent", wish)
}

#[test]
fn an_intent_in_plain_words_becomes_an_action_in_one_call() {
    let payments = Payments::open(&[], STRICT);
    let mut client = connect(&payments);
    let found = wanted(&mut client);
    let recommended = &found["recommended"];
    assert_eq!(
        recommended["tool_id"], "paystack:charge-authorization",
        "{found}"
    );
    assert_eq!(
        (&recommended["adapter"], &recommended["tool"]),
        (&json!("paystack"), &json!("charge-authorization"))
    );
    assert!(recommended["confidence"].as_f64().unwrap() >= 0.5);
    assert!(
        recommended["why"]
            .as_str()
            .unwrap()
            .contains("paystack serves NG"),
        "{found}"
    );
    let ready = &found["ready_to_execute"];
    assert_eq!(
        ready["required_params"],
        json!(["amount", "email", "authorization_code"])
    );
    let constraints = &ready["constraints"];
    assert_eq!(constraints["risk_level"], "high");
    assert_eq!(constraints["requires_idempotency"], true);
    assert_eq!(constraints["requires_confirmation"], false);
    assert!(constraints["rate_limit"].as_str().unwrap().contains("req/"));
    assert_eq!(ready["params"], json!({"currency": "NGN"}));
    assert_eq!(ready["example"]["amount"], 500_000);
    assert_eq!(found["search_context"]["mode"], "global");
    assert_eq!(found["missing_inputs"].as_array().unwrap().len(), 3);
    assert_eq!(
        found["next_step"],
        "Call gateway.execute with tool_id and params"
    );
    client.end();
}

#[test]
fn two_calls_charge_a_card_once_though_asked_twice() {
    let answer = json!({"status": true, "data": {"reference": "ref_1", "status": "success"}});
    let payments = Payments::open(std::slice::from_ref(&answer), STRICT);
    let mut client = connect(&payments);
    let found = wanted(&mut client);
    let ready = &found["ready_to_execute"];
    // The example, filled with the user's values, is what execution takes.
    let mut params = ready["example"].clone();
    for (name, value) in ready["params"].as_object().unwrap() {
        params[name] = value.clone();
    }
    params["email"] = "ada@example.com".into();
    let mut call = json!({"tool_id": ready["tool_id"], "params": params});
    let error = refused(&mut client, "gateway.execute", call.clone());
    assert_eq!(error["code"], "IDEMPOTENCY_REQUIRED");
    assert_eq!(
        error["message"],
        "This operation modifies financial data. Provide idempotency_key."
    );
    assert_eq!(error["risk_level"], "high");
    assert!(
        payments.received().is_empty(),
        "what is refused calls nothing"
    );

    call["options"] = json!({"idempotency_key": "order-1"});
    let first = told(&mut client, "gateway.execute", call.clone());
    assert_eq!((&first["success"], &first["data"]), (&json!(true), &answer));
    assert_eq!(first["tool_id"], "paystack:charge-authorization");
    assert!(first["execution_time_ms"].is_u64());
    let meta = &first["meta"];
    assert_eq!(
        (&meta["adapter"], &meta["tool"]),
        (&json!("paystack"), &json!("charge-authorization"))
    );
    assert!(meta["request_id"].is_string() && meta["timestamp"].as_str().unwrap().ends_with('Z'));
    assert_eq!(
        meta["operation"],
        json!({"risk_level": "high", "idempotent": false, "reversible": false, "category": "payments"})
    );
    let again = told(&mut client, "gateway.execute", call);
    assert_eq!(
        (&again["data"], &again["replayed"]),
        (&answer, &json!(true))
    );
    client.end();

    let received = payments.received();
    assert_eq!(received.len(), 1, "it had its effect once");
    let sent: Value = serde_json::from_slice(&received[0].body).unwrap();
    assert_eq!(
        (&sent["email"], &sent["currency"]),
        (&json!("ada@example.com"), &json!("NGN"))
    );
    let bearer = format!("Bearer {SECRET}");
    assert_eq!(received[0].header("authorization"), Some(bearer.as_str()));
    charge_is_on_record(&payments, &["refused", "ok", "replayed"]);
}

/// Whether the log has these outcomes of the charge, and every field of each record.
fn charge_is_on_record(payments: &Payments, outcomes: &[&str]) {
    let log = records(&payments.home);
    let told: Vec<&str> = log
        .iter()
        .map(|record| record["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(told, outcomes);
    for record in &log {
        assert_eq!(record["tool_id"], "paystack:charge-authorization");
        for field in ["request_id", "params_hash", "actor_id", "timestamp"] {
            assert!(!record[field].is_null(), "{field}: {record}");
        }
    }
}

#[test]
fn what_a_call_lacks_is_told_in_the_documented_words() {
    let payments = Payments::open(&[], STRICT);
    let mut client = connect(&payments);
    let delete = json!({"tool_id": "paystack:delete-customer", "params": {"code": "CUS_1"}, "options": {"idempotency_key": "k"}});
    let error = refused(&mut client, "gateway.execute", delete);
    assert_eq!(error["code"], "CONFIRMATION_REQUIRED");
    assert_eq!(
        error["message"],
        "This operation is destructive and cannot be undone."
    );
    assert_eq!(error["suggestion"], "Add confirmed: true to proceed");
    let wrong =
        json!({"tool_id": "paystack:verify-transaction", "params": {"reference": 5, "x": 1}});
    let error = refused(&mut client, "gateway.execute", wrong);
    assert_eq!(error["code"], "TOOL_VALIDATION_ERROR");
    assert!(!error["violations"].as_array().unwrap().is_empty());
    let unknown = refused(
        &mut client,
        "gateway.execute",
        json!({"tool_id": "paystack:fly", "params": {}}),
    );
    assert_eq!(unknown["code"], "TOOL_NOT_FOUND");
    let dry = json!({"tool_id": "paystack:create-refund", "params": {"transaction": "T1"}, "options": {"idempotency_key": "k", "dry_run": true}});
    let rehearsed = told(&mut client, "gateway.execute", dry);
    assert_eq!(rehearsed["data"]["dry_run"], true);
    for (arguments, field) in [
        (json!({"params": {}}), "tool_id"),
        (json!({"tool_id": "paystack", "params": {}}), "tool_id"),
        (json!({"tool_id": "a:b", "params": []}), "params"),
        (
            json!({"tool_id": "a:b", "params": {}, "options": {"confirm": true}}),
            "options.confirm",
        ),
    ] {
        let error = refused(&mut client, "gateway.execute", arguments);
        assert_eq!(
            (&error["code"], &error["field"]),
            (&json!("VALIDATION_ERROR"), &json!(field))
        );
    }
    assert!(payments.received().is_empty());
    client.end();
}

#[test]
fn an_intent_that_is_not_clear_gives_options_and_does_not_guess() {
    let payments = Payments::open(&[], "search: {minConfidence: 0.99}\n");
    let mut client = connect(&payments);
    let unsure = told(
        &mut client,
        "gateway.intent",
        json!({"query": "something with customers"}),
    );
    assert_eq!(unsure["recommended"], Value::Null, "{unsure}");
    assert_eq!(unsure["needs_selection"], true);
    let options = unsure["alternatives"].as_array().unwrap();
    assert!((2..=3).contains(&options.len()), "{unsure}");
    assert_eq!(unsure["missing_inputs"][0]["field"], "tool_id");
    assert!(unsure.get("ready_to_execute").is_none());

    // Its id says exactly which tool is meant.
    let exact = told(
        &mut client,
        "gateway.intent",
        json!({"query": "paystack:verify_transaction", "limit": 1}),
    );
    assert_eq!(
        exact["recommended"]["tool_id"],
        "paystack:verify-transaction"
    );
    assert_eq!(exact["recommended"]["confidence"], 1.0);
    assert_eq!(
        exact["ready_to_execute"]["param_schemas"]["reference"]["type"],
        "string"
    );
    assert!(exact["alternatives"].as_array().unwrap().len() <= 1);

    let scoped = told(
        &mut client,
        "gateway.intent",
        json!({"query": "paystack:list-customers", "adapter": "paystack"}),
    );
    assert_eq!(scoped["search_context"]["mode"], "adapter-specific");
    assert_eq!(scoped["search_context"]["matched_adapters"][0], "paystack");
    let missing = refused(
        &mut client,
        "gateway.intent",
        json!({"query": "x", "adapter": "stripe"}),
    );
    assert_eq!(missing["code"], "SERVER_NOT_FOUND");
    for (arguments, field) in [
        (json!({"query": " "}), "query"),
        (json!({"query": "x", "limit": 0}), "limit"),
        (
            json!({"query": "x", "context": {"use_case": "barter"}}),
            "context.use_case",
        ),
        (json!({"query": "x", "context": 5}), "context"),
    ] {
        let error = refused(&mut client, "gateway.intent", arguments);
        assert_eq!(
            (&error["code"], &error["field"]),
            (&json!("VALIDATION_ERROR"), &json!(field))
        );
    }
    client.end();
}

#[test]
fn alternatives_follow_the_configured_limit() {
    let payments = Payments::open(&[], "");
    for limit in [2, 3] {
        let mut command = payments.command(&["serve", "--stdio", "--profile", "gateway"]);
        command.env("MCP_DEFAULT_LIMIT", limit.to_string());
        command.env("MCP_SEARCH_MIN_CONFIDENCE", "1");
        let mut client = Client::over(command);
        client.hello_as("t", &json!({}));
        let listed = client.ask("tools/list", json!({}));
        let shown = &listed["result"]["tools"][0]["inputSchema"]["properties"]["limit"]["default"];
        assert_eq!(shown, limit);
        let wish = json!({"query": "something with customers"});
        let found = told(&mut client, "gateway.intent", wish);
        assert_eq!(
            found["alternatives"].as_array().unwrap().len(),
            limit,
            "{found}"
        );
        client.end();
    }
}

#[test]
fn adapters_are_listed_with_what_is_known_of_them_and_filtered() {
    let payments = Payments::open(&[], "");
    let mut client = connect(&payments);
    let all = told(&mut client, "gateway.adapters", json!({}));
    assert_eq!(
        (&all["total"], &all["filters_applied"]),
        (&json!(1), &json!({}))
    );
    let row = &all["adapters"][0];
    let expected = json!({
        "id": "paystack",
        "name": "Paystack",
        "description": "Payment processing for African markets",
        "category": "payments",
        "capabilities": ["card_payments", "refunds"],
        "supported_countries": ["NG", "GH", "ZA", "KE"],
        "supported_currencies": ["GHS", "KES", "NGN", "ZAR"],
        "tool_count": 7,
        "tool_categories": {"customer": 3, "transaction": 3, "refund": 1},
        "auth_type": "bearer",
        "status": "operational",
        "common_operations": ["paystack:list-customers", "paystack:charge-authorization", "paystack:create-refund"],
    });
    assert_eq!(row, &expected);
    for (filters, total) in [
        (json!({"category": "payments", "country": "NG"}), 1),
        (json!({"category": "storage"}), 0),
        (json!({"capability": "refunds"}), 1),
        (json!({"capability": "teleport"}), 0),
        (json!({"country": "US"}), 0),
    ] {
        let told = told(&mut client, "gateway.adapters", filters.clone());
        assert_eq!(
            (&told["total"], &told["filters_applied"]),
            (&json!(total), &filters)
        );
    }
    let error = refused(&mut client, "gateway.adapters", json!({"category": "fun"}));
    assert_eq!(error["field"], "category");
    client.end();
}

#[test]
fn tools_are_listed_by_pages_category_and_words() {
    let payments = Payments::open(&[], "");
    let mut client = connect(&payments);
    let all = told(&mut client, "gateway.tools", json!({"adapter": "paystack"}));
    assert_eq!(
        (&all["total_tools"], &all["returned"], &all["offset"]),
        (&json!(7), &json!(7), &json!(0))
    );
    assert_eq!(
        all["categories"],
        json!(["customer", "transaction", "refund"])
    );
    assert_eq!(
        all["tools"][0],
        json!({"tool_id": "paystack:charge-authorization", "name": "Charge a card", "description": "Charge a card.",
            "category": "transaction", "method": "POST", "risk_level": "high",
            "required_params": ["amount", "email", "authorization_code"], "optional_param_count": 3})
    );
    let mut seen = Vec::new();
    for offset in 0..7 {
        let page = told(
            &mut client,
            "gateway.tools",
            json!({"adapter": "paystack", "limit": 1, "offset": offset}),
        );
        assert_eq!(page["returned"], 1);
        seen.push(page["tools"][0]["tool_id"].clone());
    }
    let ids: Vec<Value> = all["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["tool_id"].clone())
        .collect();
    assert_eq!(seen, ids);
    let few = told(
        &mut client,
        "gateway.tools",
        json!({"adapter": "paystack", "category": "refund", "limit": 5000}),
    );
    assert_eq!(
        (&few["matching"], &few["returned"], &few["total_tools"]),
        (&json!(1), &json!(1), &json!(7))
    );
    let found = told(
        &mut client,
        "gateway.tools",
        json!({"adapter": "paystack", "search": "verify"}),
    );
    assert_eq!(found["tools"][0]["tool_id"], "paystack:verify-transaction");
    let none = refused(&mut client, "gateway.tools", json!({"adapter": "nobody"}));
    assert_eq!(none["code"], "SERVER_NOT_FOUND");
    client.end();
}

#[test]
fn references_are_thin_and_link_out() {
    let payments = Payments::open(&[], "");
    let mut client = connect(&payments);
    let adapter = told(
        &mut client,
        "gateway.reference",
        json!({"topic": "paystack"}),
    );
    assert_eq!(
        (&adapter["topic"], &adapter["type"]),
        (&json!("paystack"), &json!("adapter"))
    );
    assert_eq!(
        adapter["overview"],
        json!({"name": "Paystack", "description": "Payment processing for African markets", "documentation": "https://paystack.com/docs/api"})
    );
    assert_eq!(
        adapter["authentication"],
        json!({"type": "bearer", "header": "Authorization: Bearer <PAYSTACK_SECRET_KEY>", "env_var": "PAYSTACK_SECRET_KEY"})
    );
    let example = &adapter["examples"][0];
    for field in ["title", "tool_id", "request"] {
        assert!(!example[field].is_null(), "{field}: {adapter}");
    }
    let error = &adapter["common_errors"][0];
    assert_eq!(
        (&error["code"], &error["meaning"]),
        (&json!("401"), &json!("Invalid key"))
    );
    assert!(
        error["fix"]
            .as_str()
            .unwrap()
            .contains("PAYSTACK_SECRET_KEY")
    );
    assert!(!adapter["best_practices"].as_array().unwrap().is_empty());

    let tool = told(
        &mut client,
        "gateway.reference",
        json!({"topic": "paystack:charge-authorization"}),
    );
    assert_eq!(
        (&tool["topic"], &tool["type"]),
        (&json!("paystack:charge-authorization"), &json!("tool"))
    );
    assert_eq!(
        tool["overview"]["request"],
        "POST /transaction/charge_authorization"
    );
    assert_eq!(tool["examples"][0]["request"]["amount"], 500_000);
    let concept = told(
        &mut client,
        "gateway.reference",
        json!({"topic": "idempotency"}),
    );
    assert_eq!(concept["type"], "concept");
    let narrow = told(
        &mut client,
        "gateway.reference",
        json!({"topic": "paystack", "section": "authentication"}),
    );
    let keys: Vec<&String> = narrow.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["topic", "type", "authentication", "next_step"]);
    let unknown = refused(&mut client, "gateway.reference", json!({"topic": "love"}));
    assert!(
        unknown["suggestion"]
            .as_str()
            .unwrap()
            .contains("idempotency")
    );
    client.end();
}

#[test]
fn names_are_spelt_as_the_client_takes_them_and_understood_in_every_spelling() {
    let payments = Payments::open(&[], "");
    let mut client = Client::over(payments.command(&["serve", "--stdio", "--profile", "gateway"]));
    client.hello_as("claude-ai", &json!({}));
    assert_eq!(client.names()[0], "gateway-intent");
    for name in ["gateway-adapters", "gateway.adapters", "gateway_adapters"] {
        assert_eq!(told(&mut client, name, json!({}))["total"], 1);
    }
    let unknown = client.call("gateway.fly", json!({}));
    assert_eq!(unknown["error"]["code"], -32601);
    client.end();
    let mut client = Client::over(payments.command(&[
        "serve",
        "--stdio",
        "--profile",
        "gateway",
        "--names",
        "underscore",
    ]));
    client.hello_as("t", &json!({}));
    assert_eq!(client.names()[0], "gateway_intent");
    client.end();
}

#[test]
fn mcp_servers_are_adapters_too() {
    let home = Home::new();
    let program = json!(env!("CARGO_BIN_EXE_toolcrib"));
    home.configure(&format!(
        "profile: gateway\nmcpServers:\n  notes: {{command: {program}, args: [workshop, notes]}}\n"
    ));
    let mut client = Client::over(home.command(&[]));
    client.hello_as("t", &json!({}));
    let listed = told(&mut client, "gateway.tools", json!({"adapter": "notes"}));
    assert!(listed["total_tools"].as_u64().unwrap() > 0);
    let found = told(
        &mut client,
        "gateway.intent",
        json!({"query": "notes:list_notes"}),
    );
    assert_eq!(found["recommended"]["tool_id"], "notes:list-notes");
    let run = told(
        &mut client,
        "gateway.execute",
        json!({"tool_id": "notes:list-notes", "params": {}}),
    );
    assert_eq!(run["success"], true, "{run}");
    let adapters = told(&mut client, "gateway.adapters", json!({}));
    assert_eq!(adapters["adapters"][0]["id"], "notes");
    client.end();
}
