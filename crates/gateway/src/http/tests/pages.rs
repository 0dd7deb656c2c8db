//! Pages of other origins, as browsers ask for them.

use super::*;

fn preflight(origin: &str) -> Request<Body> {
    let headers = [
        ("origin", origin),
        ("access-control-request-method", "POST"),
        (
            "access-control-request-headers",
            "authorization,content-type,mcp-param-region",
        ),
    ];
    request(Method::OPTIONS, &headers, Body::empty())
}

#[tokio::test]
async fn a_page_of_an_allowed_origin_can_be_used_in_a_browser_and_no_other() {
    // Whoever asks beforehand shows no credentials.
    let closed = Identity::new(false, None, None, PolicySettings::default());
    let visitor = Visitor::with(closed, 1);
    let refused = visitor.sends(preflight("https://app.example")).await;
    assert_eq!(refused.status(), 403);
    let mut settings = Settings::default();
    settings.http.allowed_origins = vec!["https://app.example".into()];
    visitor.door.put(&settings, None);
    let asked = visitor.sends(preflight("https://app.example")).await;
    assert_eq!(asked.status(), 204);
    for (name, value) in [
        ("access-control-allow-origin", "https://app.example"),
        ("access-control-allow-methods", "GET, POST, DELETE"),
        (
            "access-control-allow-headers",
            "authorization,content-type,mcp-param-region",
        ),
        ("vary", "Origin"),
    ] {
        assert_eq!(asked.headers()[name], value, "{name}");
    }
    // One of this machine may come in, and is still not let read what others are told.
    for (origin, status) in [
        ("https://other.example", 403),
        ("http://app.example", 403),
        ("http://localhost:3000", 405),
    ] {
        let asked = visitor.sends(preflight(origin)).await;
        assert!(!asked.headers().contains_key("access-control-allow-origin"));
        assert_eq!(asked.headers()["vary"], "Origin");
        assert_eq!(asked.status(), status, "{origin}");
    }
}

#[tokio::test]
async fn scripts_of_an_allowed_origin_can_read_the_session_that_they_are_given() {
    let visitor = Visitor::new();
    let mut settings = Settings::default();
    settings.http.allowed_origins = vec!["https://app.example".into()];
    visitor.door.put(&settings, None);
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": { "protocolVersion": "2025-11-25", "capabilities": {} } });
    let answer = visitor
        .posts(&[("origin", "https://app.example")], &hello)
        .await;
    assert_eq!(answer.status(), 200);
    let headers = answer.headers();
    assert_eq!(
        headers["access-control-allow-origin"],
        "https://app.example"
    );
    let exposed = headers["access-control-expose-headers"].to_str().unwrap();
    assert!(exposed.contains("Mcp-Session-Id"), "{exposed}");
    assert!(headers.contains_key("mcp-session-id"));
    let plain = visitor.posts(&[], &hello).await;
    assert!(!plain.headers().contains_key("access-control-allow-origin"));
}
