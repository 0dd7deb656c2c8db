//! Collections as people write them.

use serde_json::{Value, json};

use crate::rest::{Api, Place};

fn read(root: &Value) -> Api {
    Api::read("shop", Place::File("/x".into()), &root.to_string()).unwrap()
}

fn collection(items: &Value, auth: &Value) -> Value {
    json!({
        "info": {"name": "Shop", "description": "A shop.", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"},
        "variable": [{"key": "base", "value": "https://api.example.com/v1"}, {"key": "page", "value": "3"}],
        "auth": auth,
        "item": items,
    })
}

#[test]
fn every_kind_of_request_becomes_an_operation() {
    let items = json!([
        {"name": "Orders", "description": "Everything about orders.", "item": [
            {"name": "List orders", "request": {"method": "GET", "description": {"content": "Lists orders."},
                "header": [{"key": "X-Tenant", "value": "acme", "description": "Whose"}, {"key": "Accept", "value": "application/json"}],
                "url": {"raw": "{{base}}/orders?page={{page}}&open=true", "host": ["{{base}}"], "path": ["orders"],
                    "query": [{"key": "page", "value": "{{page}}", "description": "Required. Which page"}, {"key": "open", "value": "true"}, {"key": "off", "value": "1", "disabled": true}]}}},
            {"name": "Read order", "request": {"method": "GET", "url": {"raw": "{{base}}/orders/:id", "host": ["{{base}}"], "path": ["orders", ":id"],
                "variable": [{"key": "id", "value": "17", "description": "Its number"}]}}},
            {"name": "Create order", "request": {"method": "POST", "url": "{{base}}/orders",
                "body": {"mode": "raw", "raw": "{\"sku\": \"a\", \"count\": 2, \"tags\": [\"x\"], \"to\": {\"city\": \"Kiel\"}}", "options": {"raw": {"language": "json"}}}}},
        ]},
        {"name": "Pay", "request": {"method": "POST", "auth": {"type": "basic", "basic": [{"key": "username", "value": "u"}]},
            "url": "https://pay.example.com:8443/charge",
            "body": {"mode": "urlencoded", "urlencoded": [{"key": "amount", "value": "5", "description": "In cents"}, {"key": "off", "value": "", "disabled": true}]}}},
        {"name": "Upload", "request": {"method": "POST", "url": "{{base}}/files", "auth": {"type": "noauth"},
            "body": {"mode": "formdata", "formdata": [{"key": "file", "type": "file", "src": "a.png"}, {"key": "title", "value": "A", "type": "text"}]}}},
        {"name": "Send raw text", "request": {"method": "PUT", "url": "{{base}}/notes/1", "body": {"mode": "raw", "raw": "hello"}}},
        {"name": "Send bytes", "request": {"method": "PUT", "url": "{{base}}/blob", "body": {"mode": "file", "file": {"src": "b"}}}},
        {"name": "Ask", "request": {"method": "POST", "url": "{{base}}/graphql", "body": {"mode": "graphql", "graphql": {"query": "{ me }", "variables": "{}"}}}},
        {"name": "Short", "request": "https://api.example.com/ping"},
        {"name": "Nothing"},
        {"name": "Nowhere", "request": {"method": "GET", "url": ""}},
    ]);
    let auth = json!({"type": "bearer", "bearer": [{"key": "token", "value": "{{token}}"}]});
    let api = read(&collection(&items, &auth));
    let names: Vec<&str> = api.operations.iter().map(|o| o.tool.id.tool()).collect();
    for name in [
        "list-orders",
        "read-order",
        "create-order",
        "pay",
        "upload",
        "send-raw-text",
        "send-bytes",
        "ask",
        "short",
    ] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    let of = |name: &str| {
        api.operations
            .iter()
            .find(|o| o.tool.id.tool() == name)
            .unwrap()
    };
    let properties = |name: &str| of(name).tool.input_schema["properties"].clone();
    assert!(properties("list-orders").get("page").is_some());
    assert!(properties("read-order").get("id").is_some());
    assert_eq!(properties("create-order")["count"]["type"], "integer");
    assert!(properties("pay").get("amount").is_some());
    assert!(properties("upload").get("title").is_some());
    assert_eq!(of("create-order").tool.method.as_deref(), Some("POST"));
}

#[test]
fn every_kind_of_authentication_is_read() {
    let item = json!([{"name": "Ping", "request": {"method": "GET", "url": "https://api.example.com/ping"}}]);
    for auth in [
        json!({"type": "basic"}),
        json!({"type": "apikey", "apikey": [{"key": "key", "value": "X-Key"}, {"key": "in", "value": "header"}]}),
        json!({"type": "apikey", "apikey": {"key": "k", "in": "query"}}),
        json!({"type": "oauth2", "oauth2": [{"key": "grant_type", "value": "client_credentials"}, {"key": "accessTokenUrl", "value": "https://api.example.com/token"}]}),
        json!({"type": "oauth2"}),
        json!({"type": "hawk"}),
        json!({"type": "noauth"}),
    ] {
        assert_eq!(
            read(&collection(&item, &auth)).operations.len(),
            1,
            "{auth}"
        );
    }
}

#[test]
fn requests_keep_their_own_keys_lists_headers_and_media_types() {
    let key = |name: &str| json!({"type": "apikey", "apikey": [{"key": "key", "value": name}, {"key": "in", "value": "header"}]});
    let items = json!([
        {"name": "One", "request": {"method": "GET", "url": "https://api.example.com/one", "auth": key("X-One"),
            "header": "X-Tenant: acme\nX-Trace: a:b\n"}},
        {"name": "Two", "request": {"method": "GET", "auth": key("X-Two"), "url": {"raw": "https://api.example.com/two?t=a&t=b&t=c",
            "host": ["api", "example", "com"], "path": ["two"],
            "query": [{"key": "t", "value": "a"}, {"key": "t", "value": "b"}, {"key": "t", "value": "c"}]}}},
        {"name": "Three", "request": {"method": "POST", "url": "https://api.example.com/three", "auth": key("X-One"),
            "header": [{"key": "Content-Type", "value": "application/vnd.api+json"}],
            "body": {"mode": "raw", "raw": "{\"a\": 1}"}}},
    ]);
    let api = read(&collection(&items, &Value::Null));
    let of = |tool: &str| api.operation(tool).unwrap();
    let key_of = |tool: &str| match &api.schemes[&of(tool).security[0].all[0].scheme] {
        crate::rest::security::Scheme::ApiKey { name, .. } => name.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        ["one", "two", "three"].map(key_of),
        ["X-One", "X-Two", "X-One"]
    );
    let headers: Vec<&str> = of("one").inputs.iter().map(|i| i.name.as_str()).collect();
    assert_eq!(headers, ["X-Tenant", "X-Trace"]);
    let list = &of("two").tool.input_schema["properties"]["t"];
    assert_eq!(
        (&list["type"], &list["items"]["type"]),
        (&json!("array"), &json!("string"))
    );
    let body = of("three").body.as_ref().unwrap();
    assert_eq!(body.content_type, "application/vnd.api+json");
}
