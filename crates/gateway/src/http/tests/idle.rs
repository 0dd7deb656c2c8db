//! Sessions that nobody uses, and those that somebody waits in.

use std::time::Duration;

use toolcrib_core::limits::SESSION_IDLE_MS;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_session_that_waits_for_a_long_call_is_not_ended_under_it() {
    let visitor = Visitor::new();
    let session = visitor.opens("2025-11-25").await;
    let own = [
        ("mcp-session-id", session.as_str()),
        ("accept", "application/json"),
    ];
    let sends = request(Method::POST, &own, call(1, "wait").to_string());
    let waiting = visitor.sends(sends);
    tokio::pin!(waiting);
    let long = Duration::from_millis(SESSION_IDLE_MS + SESSION_IDLE_MS / 10);
    let early = tokio::time::timeout(long, &mut waiting).await;
    assert!(early.is_err(), "{early:?}");
    assert_eq!(visitor.door.sessions.len(), 1);
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    assert_eq!(visitor.posts(&own, &cancel).await.status(), 202);
    waiting.await;
    tokio::time::sleep(Duration::from_millis(SESSION_IDLE_MS / 2)).await;
    assert_eq!(visitor.door.sessions.len(), 1);
    tokio::time::sleep(long).await;
    assert_eq!(visitor.door.sessions.len(), 0);
}
