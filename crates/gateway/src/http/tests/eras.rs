//! Both eras on one endpoint.

use super::*;

const VERSION: (&str, &str) = ("mcp-protocol-version", "2026-07-28");

fn stateless(id: i64, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

#[tokio::test]
async fn a_session_lives_from_its_handshake_to_its_end() {
    let visitor = Visitor::new();
    let session = visitor.opens("2025-11-25").await;
    let named = [("mcp-session-id", session.as_str())];
    let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(visitor.posts(&named, &told).await.status(), 202);
    let answer = visitor.posts(&named, &call(1, "who")).await;
    assert_eq!(answer.headers().get("mcp-session-id"), None);
    assert_eq!(
        body(answer).await["result"]["content"][0]["text"],
        "loopback"
    );
    let wrong = visitor.posts(&named, &call(2, "none")).await;
    assert_eq!(
        wrong.status(),
        200,
        "a fault of a request is no fault of the transport"
    );
    assert_eq!(body(wrong).await["error"]["code"], rpc::INVALID_PARAMS);
    assert_eq!(
        visitor
            .sends(request(Method::DELETE, &named, ""))
            .await
            .status(),
        204
    );
    assert_eq!(visitor.posts(&named, &call(3, "who")).await.status(), 404);
    assert_eq!(
        visitor
            .sends(request(Method::DELETE, &named, ""))
            .await
            .status(),
        404
    );
    assert_eq!(
        visitor
            .sends(request(Method::DELETE, &[], ""))
            .await
            .status(),
        400
    );
}

#[tokio::test]
async fn a_handshake_that_fails_leaves_no_session() {
    let visitor = Visitor::with(
        Identity::new(true, None, None, PolicySettings::default()),
        1,
    );
    let bad = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {} });
    let answer = visitor.posts(&[], &bad).await;
    assert_eq!(answer.headers().get("mcp-session-id"), None);
    visitor.opens("2025-06-18").await;
    let full = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": { "protocolVersion": "2025-06-18" } });
    assert_eq!(visitor.posts(&[], &full).await.status(), 503);
}

fn greeting(client: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": client } } })
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_fails_when_its_client_has_hung_up_leaves_no_session() {
    let visitor = Visitor::new();
    let hello = greeting("in vain");
    let asking = visitor.posts(&[], &hello);
    let patience = std::time::Duration::from_secs(1);
    assert!(tokio::time::timeout(patience, asking).await.is_err());
    assert_eq!(visitor.door.sessions.len(), 1, "it may still come about");
    tokio::time::sleep(30 * patience).await;
    assert_eq!(visitor.door.sessions.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_slow_handshake_over_a_stream_names_its_session_and_one_that_fails_has_none() {
    let visitor = Visitor::new();
    let stream = [("accept", "text/event-stream")];
    let answer = visitor.posts(&stream, &greeting("slowly")).await;
    assert!(answer.headers().contains_key("mcp-session-id"));
    let answer = events(&text(answer).await);
    assert_eq!(answer[0].1["result"]["protocolVersion"], "2025-11-25");
    let failed = visitor.posts(&stream, &greeting("in vain")).await;
    assert!(!failed.headers().contains_key("mcp-session-id"));
    assert!(events(&text(failed).await)[0].1["error"].is_object());
    assert_eq!(visitor.door.sessions.len(), 1);
}

#[tokio::test]
async fn what_comes_before_an_answer_makes_a_stream_that_can_be_read_again() {
    let visitor = Visitor::new();
    let session = visitor.opens("2025-11-25").await;
    let named = [("mcp-session-id", session.as_str())];
    let mut asked = call(1, "progress");
    asked["params"]["_meta"] = json!({ "progressToken": 5 });
    let streamed = visitor.posts(&named, &asked).await;
    assert_eq!(streamed.headers()["content-type"], "text/event-stream");
    let all = text(streamed).await;
    assert!(all.starts_with("id: 1-p\ndata: \n\n"), "{all}");
    let all = events(&all);
    let methods: Vec<_> = all
        .iter()
        .map(|(_, message)| message["method"].clone())
        .collect();
    assert_eq!(
        methods,
        [
            json!("notifications/progress"),
            json!("notifications/message"),
            Value::Null
        ]
    );
    let first = all[0].0.clone().unwrap();
    let again = [named[0], ("last-event-id", first.as_str())];
    let rest = events(&text(visitor.sends(request(Method::GET, &again, "")).await).await);
    assert_eq!(rest, all[1..]);
    let lost = [named[0], ("last-event-id", "77-1")];
    assert_eq!(
        visitor
            .sends(request(Method::GET, &lost, ""))
            .await
            .status(),
        404
    );
    let whole = [named[0], ("accept", "application/json")];
    assert!(body(visitor.posts(&whole, &asked).await).await["result"].is_object());
    let stream = [named[0], ("accept", "text/event-stream")];
    let one = events(&text(visitor.posts(&stream, &call(2, "echo")).await).await);
    assert_eq!(one[0].1["id"], 2);
}

#[tokio::test]
async fn a_tool_asks_over_the_stream_of_its_call() {
    let visitor = Visitor::new();
    let session = visitor.opens("2025-06-18").await;
    let named = [("mcp-session-id", session.as_str())];
    let streamed = visitor.posts(&named, &call(1, "ask")).await;
    let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": { "action": "accept" } });
    assert_eq!(visitor.posts(&named, &answer).await.status(), 202);
    let all = events(&text(streamed).await);
    assert_eq!(all[0].1["method"], "elicitation/create");
    assert_eq!(
        all[1].1["result"]["content"][0]["text"],
        r#"{"action":"accept"}"#
    );
}

#[tokio::test]
async fn changes_come_over_the_stream_of_the_session() {
    let visitor = Visitor::new();
    let session = visitor.opens("2025-11-25").await;
    let named = [("mcp-session-id", session.as_str())];
    let listening = visitor.sends(request(Method::GET, &named, "")).await;
    visitor.posts(&named, &call(1, "echo")).await;
    visitor.surface.change(Change::Tools);
    visitor.posts(&named, &call(2, "echo")).await;
    visitor.sends(request(Method::DELETE, &named, "")).await;
    let all = events(&text(listening).await);
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].1["method"], "notifications/tools/list_changed");
    assert_eq!(
        visitor.sends(request(Method::GET, &[], "")).await.status(),
        405
    );
    assert_eq!(
        visitor
            .sends(request(Method::GET, &[("accept", "text/html")], ""))
            .await
            .status(),
        406
    );
}

#[tokio::test]
async fn batches_are_answered_in_one_write() {
    let visitor = Visitor::new();
    let session = visitor.opens("2025-03-26").await;
    let named = [("mcp-session-id", session.as_str())];
    let batch = json!([call(1, "echo"), { "jsonrpc": "2.0", "method": "x" }, { "id": 2 }]);
    let answers = body(visitor.posts(&named, &batch).await).await;
    let ids: Vec<_> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|answer| answer["id"].clone())
        .collect();
    assert_eq!(ids, [json!(1), json!(2)]);
    let told = json!([{ "jsonrpc": "2.0", "method": "x" }]);
    assert_eq!(visitor.posts(&named, &told).await.status(), 202);
}

#[tokio::test]
async fn stateless_requests_need_no_session_and_say_so_twice() {
    let visitor = Visitor::new();
    let check = async |headers: &[(&str, &str)], message: Value, status: u16, code: Option<i64>| {
        let response = visitor.posts(headers, &message).await;
        assert_eq!(response.status(), status, "{headers:?} {message}");
        assert_eq!(response.headers().get("mcp-session-id"), None);
        let answer = body(response).await;
        assert_eq!(answer["error"]["code"].as_i64(), code, "{answer}");
        assert_eq!(answer["id"], message["id"]);
    };
    let list = [VERSION, ("mcp-method", "tools/list")];
    let called = [VERSION, ("mcp-method", "tools/call"), ("mcp-name", "echo")];
    check(&list, stateless(1, "tools/list", json!({})), 200, None).await;
    check(
        &called,
        stateless(2, "tools/call", json!({ "name": "echo" })),
        200,
        None,
    )
    .await;
    check(
        &[VERSION],
        stateless(3, "tools/list", json!({})),
        400,
        Some(rpc::HEADER_MISMATCH),
    )
    .await;
    check(
        &list[1..],
        stateless(4, "tools/list", json!({})),
        400,
        Some(rpc::HEADER_MISMATCH),
    )
    .await;
    check(
        &called,
        stateless(5, "tools/call", json!({ "name": "who" })),
        400,
        Some(rpc::HEADER_MISMATCH),
    )
    .await;
    let region = json!({ "name": "echo", "arguments": { "region": "eu" } });
    check(
        &called,
        stateless(6, "tools/call", region.clone()),
        400,
        Some(rpc::HEADER_MISMATCH),
    )
    .await;
    let mirrored = [called[0], called[1], called[2], ("mcp-param-region", "eu")];
    check(&mirrored, stateless(7, "tools/call", region), 200, None).await;
    let bare = json!({ "jsonrpc": "2.0", "id": 8, "method": "tools/list", "params": {} });
    check(&list, bare, 400, Some(rpc::INVALID_PARAMS)).await;
    let ping = [VERSION, ("mcp-method", "ping")];
    check(
        &ping,
        stateless(9, "ping", json!({})),
        404,
        Some(rpc::METHOD_NOT_FOUND),
    )
    .await;
    let mut newer = stateless(10, "tools/list", json!({}));
    newer["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("v999");
    let headers = [("mcp-protocol-version", "v999"), list[1]];
    check(&headers, newer, 400, Some(rpc::UNSUPPORTED_VERSION)).await;
    let asking = [VERSION, ("mcp-method", "tools/call"), ("mcp-name", "ask")];
    let ask = stateless(11, "tools/call", json!({ "name": "ask" }));
    check(&asking, ask, 400, Some(rpc::MISSING_CAPABILITY)).await;
    let told = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled" });
    assert_eq!(visitor.posts(&[VERSION], &told).await.status(), 202);
}

#[tokio::test]
async fn a_trace_comes_from_meta_or_the_header() {
    let visitor = Visitor::new();
    let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let own = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203332-00";
    let headers = [
        VERSION,
        ("mcp-method", "tools/call"),
        ("mcp-name", "trace"),
        ("traceparent", header),
    ];
    let mut message = stateless(1, "tools/call", json!({ "name": "trace" }));
    let answer = body(visitor.posts(&headers, &message).await).await;
    assert_eq!(answer["result"]["content"][0]["text"], header);
    message["params"]["_meta"]["traceparent"] = json!(own);
    let answer = body(visitor.posts(&headers, &message).await).await;
    assert_eq!(answer["result"]["content"][0]["text"], own);
    message["params"]["_meta"]["traceparent"] = json!("00-m");
    let answer = body(visitor.posts(&headers, &message).await).await;
    assert_eq!(answer["result"]["content"][0]["text"], header);
}

#[tokio::test]
async fn a_stateless_listener_is_told_until_it_hangs_up_or_the_process_ends() {
    let visitor = Visitor::new();
    let headers = [VERSION, ("mcp-method", "subscriptions/listen")];
    let message = stateless(
        4,
        "subscriptions/listen",
        json!({ "notifications": { "toolsListChanged": true } }),
    );
    let listening = visitor.posts(&headers, &message).await;
    assert_eq!(listening.headers()["content-type"], "text/event-stream");
    visitor.surface.change(Change::Tools);
    drop(visitor.posts(&headers, &message).await);
    let mut frames = listening.into_body().into_data_stream();
    let mut heard = Vec::new();
    while heard.len() < 2 {
        let frame = futures::StreamExt::next(&mut frames)
            .await
            .unwrap()
            .unwrap();
        heard.extend(events(std::str::from_utf8(&frame).unwrap()));
    }
    assert_eq!(
        heard[0].1["method"],
        "notifications/subscriptions/acknowledged"
    );
    assert_eq!(
        heard[0].0, None,
        "a stateless stream cannot be picked up again"
    );
    assert_eq!(heard[1].1["method"], "notifications/tools/list_changed");
}

#[tokio::test(start_paused = true)]
async fn sessions_that_nobody_uses_end() {
    let visitor = Visitor::new();
    let session = visitor.opens("2025-11-25").await;
    let named = [("mcp-session-id", session.as_str())];
    let idle = std::time::Duration::from_millis(toolcrib_core::limits::SESSION_IDLE_MS);
    tokio::time::sleep(idle / 2).await;
    assert_eq!(visitor.posts(&named, &call(1, "echo")).await.status(), 200);
    tokio::time::sleep(idle * 2).await;
    assert_eq!(visitor.posts(&named, &call(2, "echo")).await.status(), 404);
}

#[tokio::test]
async fn a_session_belongs_to_whoever_opened_it() {
    let dir = tempfile::tempdir().unwrap();
    let options = toolcrib_store::SqliteOptions::new(dir.path().join("store.db"));
    let store = toolcrib_store::Store::open_sqlite(options, uuid::Uuid::now_v7())
        .await
        .unwrap();
    let new = toolcrib_store::key::NewKey {
        name: "k".into(),
        scopes: vec![],
        expires_ms: None,
    };
    let (_, secret) = store.create_key(new, &[3; 32], 0).await.unwrap();
    let visitor = Visitor::with(
        Identity::new(true, Some(store), None, PolicySettings::default()),
        4,
    );
    let session = visitor.opens("2025-11-25").await;
    let bearer = format!("Bearer {}", secret.expose());
    let other = [
        ("mcp-session-id", session.as_str()),
        ("authorization", bearer.as_str()),
    ];
    assert_eq!(visitor.posts(&other, &call(1, "who")).await.status(), 404);
}
