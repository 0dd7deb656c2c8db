//! Handshakes that take their time, and messages that are too much at once.

use toolcrib_core::limits::{DOOR_BODIES_BYTES_MAX, SHUTDOWN_DRAIN_MS};

use super::*;

fn hello(id: i64, name: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "initialize", "params": {
        "protocolVersion": "2025-03-26", "capabilities": {},
        "clientInfo": { "name": name, "version": "1" } } })
}

fn request(id: i64, method: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": { "name": "echo" } })
}

#[tokio::test(start_paused = true)]
async fn a_slow_handshake_holds_up_what_needs_it_and_nothing_else() {
    let mut peer = Peer::new();
    peer.says(&hello(1, "slowly")).await;
    peer.says(&request(2, "tools/call")).await;
    peer.writes(br#"[{"jsonrpc":"2.0","id":3,"method":"tools/list"}]"#)
        .await;
    peer.says(&hello(4, "again")).await;
    let begun = tokio::time::Instant::now();
    assert_eq!(peer.asks(5, "ping", json!({})).await["id"], 5);
    let modern = peer
        .asks(
            6,
            "tools/call",
            modern(json!({ "name": "echo" }), json!({})),
        )
        .await;
    assert_eq!(modern["id"], 6);
    assert_eq!(begun.elapsed(), Duration::ZERO);
    let answer = peer.hears().await;
    assert_eq!(
        (&answer["id"], &answer["result"]["protocolVersion"]),
        (&json!(1), &json!("2025-03-26"))
    );
    let rest = peer.ends().await;
    assert_eq!(rest.len(), 3, "{rest:?}");
    let of = |id: i64| {
        let own = |one: &&Value| one["id"] == id || one[0]["id"] == id;
        rest.iter().find(own).unwrap()
    };
    assert!(of(2)["result"].is_object() && of(3)[0]["result"].is_object());
    assert_eq!(of(4)["error"]["code"], rpc::INVALID_REQUEST);
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_a_handshake_can_be_cancelled() {
    let mut peer = Peer::new();
    peer.says(&hello(1, "slowly")).await;
    for id in [2, 3] {
        peer.says(&request(id, "tools/call")).await;
    }
    peer.says(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } })).await;
    assert_eq!(peer.hears().await["id"], 1);
    assert_eq!(peer.hears().await["id"], 3);
    assert!(peer.ends().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_hangs_does_not_keep_the_process() {
    let mut peer = Peer::new();
    peer.says(&hello(1, "never")).await;
    peer.says(&request(2, "tools/call")).await;
    assert!(peer.ends().await.is_empty(), "the input was closed");

    let mut peer = Peer::new();
    peer.says(&hello(1, "never")).await;
    peer.says(&request(2, "tools/call")).await;
    assert_eq!(peer.asks(3, "ping", json!({})).await["id"], 3);
    peer.ending.cancel();
    let longest = Duration::from_millis(2 * SHUTDOWN_DRAIN_MS);
    let ended = tokio::time::timeout(longest, peer.serving).await;
    ended.expect("asked to end, it ends").unwrap().unwrap();
}

#[tokio::test]
async fn a_panic_in_a_handshake_is_one_error_answer() {
    let mut peer = Peer::new();
    peer.says(&hello(1, "panic")).await;
    let answer = peer.hears().await;
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(1), &json!(rpc::INTERNAL_ERROR))
    );
    peer.says(&hello(1, "fine")).await;
    assert!(peer.hears().await["result"].is_object());
    let mut params = modern(json!({}), json!({}));
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({ "name": "panic" });
    let answer = peer.asks(2, "server/discover", params).await;
    assert_eq!(answer["error"]["code"], rpc::INTERNAL_ERROR, "{answer}");
}

#[tokio::test]
async fn more_bytes_than_may_be_held_at_once_are_refused_as_over_http() {
    let mut peer = Peer::greeted("2025-11-25").await;
    let large = "x".repeat(DOOR_LINE_BYTES_MAX - 200);
    let count = i64::try_from(DOOR_BODIES_BYTES_MAX / DOOR_LINE_BYTES_MAX).unwrap();
    for id in 1..=count {
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": { "name": "wait", "arguments": { "text": large } } });
        peer.says(&call).await;
    }
    let call = json!({ "jsonrpc": "2.0", "id": 99, "method": "tools/call",
        "params": { "name": "echo", "arguments": { "text": large } } });
    peer.says(&call).await;
    let refused = peer.hears().await;
    assert_eq!(refused["id"], 99, "{refused}");
    assert_eq!(refused["error"]["data"]["code"], "OVERLOADED");
    assert_eq!(refused["error"]["data"]["retryable"], true);
    peer.says(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } })).await;
    // What was cancelled is given up on its own time.
    loop {
        peer.says(&call).await;
        if peer.hears().await["result"].is_object() {
            break;
        }
    }
}
