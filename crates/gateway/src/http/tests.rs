use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, Response};
use serde_json::{Value, json};
use toolcrib_core::policy::settings::PolicySettings;
use toolcrib_core::rpc;
use tower::ServiceExt;

use super::*;
use crate::mcp::stand_in::{StandIn, service};
use crate::mcp::surface::Change;

mod drain;
mod eras;
mod idle;
mod pages;
mod sockets;

/// A door over the stand-in surface, and somebody on loopback before it.
struct Visitor {
    door: Arc<Door>,
    router: Router,
    surface: Arc<StandIn>,
    ending: CancellationToken,
}

impl Visitor {
    fn new() -> Self {
        Self::with(
            Identity::new(true, None, None, PolicySettings::default()),
            8,
        )
    }

    fn with(identity: Identity, sessions_max: usize) -> Self {
        let surface = StandIn::new();
        let ending = CancellationToken::new();
        let setup = Setup {
            mounts: vec![Mount {
                path: "/mcp",
                service: service(Arc::clone(&surface), ending.clone()),
                offered: None,
            }],
            identity,
            sessions_max,
            clock: Clock::system(),
            ending: ending.clone(),
            tracer: Tracer::off(),
            api: None,
        };
        let (door, router) = Door::open(&Http::default(), setup);
        Self {
            door,
            router,
            surface,
            ending,
        }
    }

    async fn sends(&self, request: Request<Body>) -> Response<Body> {
        let mut request = request;
        request
            .extensions_mut()
            .insert(ConnectInfo::<SocketAddr>(([127, 0, 0, 1], 9).into()));
        self.router.clone().oneshot(request).await.unwrap()
    }

    async fn posts(&self, headers: &[(&str, &str)], body: &Value) -> Response<Body> {
        self.sends(request(Method::POST, headers, body.to_string()))
            .await
    }

    async fn opens(&self, revision: &str) -> String {
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": revision, "capabilities": { "elicitation": {} }, "clientInfo": { "name": "t" } } });
        let response = self.posts(&[], &hello).await;
        assert_eq!(response.status(), 200);
        let session = response.headers()["mcp-session-id"]
            .to_str()
            .unwrap()
            .to_owned();
        assert_eq!(body(response).await["result"]["protocolVersion"], revision);
        session
    }
}

fn request(method: Method, headers: &[(&str, &str)], body: impl Into<Body>) -> Request<Body> {
    let mut request = Request::builder()
        .method(method)
        .uri("/mcp")
        .header("host", "localhost:7332")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    for (name, value) in headers {
        request.headers_mut().unwrap().insert(
            axum::http::HeaderName::try_from(*name).unwrap(),
            value.parse().unwrap(),
        );
    }
    request.body(body.into()).unwrap()
}

async fn text(response: Response<Body>) -> String {
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

async fn body(response: Response<Body>) -> Value {
    assert_eq!(response.headers()["content-type"], "application/json");
    serde_json::from_str(&text(response).await).unwrap()
}

/// The messages of a stream, with their ids.
fn events(text: &str) -> Vec<(Option<String>, Value)> {
    let events = text.split("\n\n").filter(|event| event.contains("data: {"));
    events
        .map(|event| {
            let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
            (
                field("id: ").map(str::to_owned),
                serde_json::from_str(field("data: ").unwrap()).unwrap(),
            )
        })
        .collect()
}

fn call(id: i64, name: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": name } })
}

#[tokio::test]
async fn health_needs_no_credentials_and_readiness_ends_with_the_process() {
    let visitor = Visitor::with(
        Identity::new(false, None, None, PolicySettings::default()),
        1,
    );
    let get = async |path: &str| {
        let request = Request::builder()
            .uri(path)
            .header("host", "localhost")
            .body(Body::empty());
        visitor.sends(request.unwrap()).await
    };
    assert_eq!(get("/healthz").await.status(), 200);
    assert_eq!(get("/readyz").await.status(), 200);
    assert_eq!(get("/metrics").await.status(), 401);
    assert_eq!(get("/nothing").await.status(), 404);
    assert_eq!(
        get("/.well-known/oauth-protected-resource").await.status(),
        404
    );
    visitor.ending.cancel();
    assert_eq!(get("/readyz").await.status(), 503);
}

#[tokio::test]
async fn requests_are_counted() {
    let visitor = Visitor::new();
    visitor.opens("2025-11-25").await;
    let request = Request::builder()
        .uri("/metrics")
        .header("host", "localhost")
        .body(Body::empty());
    let metrics = text(visitor.sends(request.unwrap()).await).await;
    assert!(
        metrics.contains("http_requests_total{path=\"/mcp\",status=\"200\"} 1"),
        "{metrics}"
    );
    assert!(metrics.contains("mcp_sessions 1"), "{metrics}");
}

#[tokio::test]
async fn a_body_that_finds_no_room_is_refused_as_overload() {
    let visitor = Visitor::new();
    let all = visitor
        .door
        .room
        .take(toolcrib_core::limits::DOOR_BODIES_BYTES_MAX);
    let refused = visitor.posts(&[], &call(1, "echo")).await;
    assert_eq!(refused.status(), 503);
    let fault = &body(refused).await["error"];
    assert_eq!(fault["data"]["code"], "OVERLOADED", "{fault}");
    assert_eq!(fault["data"]["retryable"], true, "{fault}");
    drop(all);
    visitor.opens("2025-11-25").await;
}

#[tokio::test]
async fn other_hosts_and_origins_are_refused() {
    let visitor = Visitor::new();
    for header in [
        ("host", "evil.example.com"),
        ("origin", "http://evil.example.com"),
    ] {
        assert_eq!(
            visitor.posts(&[header], &call(1, "echo")).await.status(),
            403,
            "{header:?}"
        );
    }
}

#[tokio::test]
async fn whoever_is_not_known_is_told_how_to_be() {
    let settings = toolcrib_config::model::settings::Jwt {
        issuer: "https://issuer.example".into(),
        audience: "crib".into(),
        jwks: "none.json".into(),
        scope_claim: "scope".into(),
    };
    let tokens = jwt::Tokens::new(&settings, std::path::Path::new("/nowhere")).unwrap();
    let visitor = Visitor::with(
        Identity::new(false, None, Some(tokens), PolicySettings::default()),
        1,
    );
    let refused = visitor.posts(&[], &call(1, "echo")).await;
    assert_eq!(refused.status(), 401);
    assert_eq!(
        refused.headers()["www-authenticate"],
        "Bearer realm=\"toolcrib\", resource_metadata=\"http://localhost:7332/.well-known/oauth-protected-resource/mcp\""
    );
    let refused = visitor
        .posts(&[("authorization", "Bearer nonsense")], &call(1, "echo"))
        .await;
    let challenge = refused.headers()["www-authenticate"]
        .to_str()
        .unwrap()
        .to_owned();
    assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");
    let request = Request::builder()
        .uri("/.well-known/oauth-protected-resource/mcp")
        .header("host", "crib.example")
        .header("x-forwarded-proto", "https")
        .body(Body::empty());
    let shown = body(visitor.sends(request.unwrap()).await).await;
    assert_eq!(shown["resource"], "https://crib.example/mcp");
    assert_eq!(
        shown["authorization_servers"],
        json!(["https://issuer.example"])
    );
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_with_a_reason() {
    let visitor = Visitor::new();
    let check = async |headers: &[(&str, &str)], text: &str, status: u16| {
        let request = request(Method::POST, headers, text.to_owned());
        assert_eq!(
            visitor.sends(request).await.status(),
            status,
            "{headers:?} {text}"
        );
    };
    check(&[("content-type", "text/plain")], "{}", 415).await;
    check(&[("accept", "text/html")], "{}", 406).await;
    check(&[], "{", 400).await;
    check(&[], "7", 400).await;
    check(&[], "[]", 400).await;
    check(
        &[],
        &"x".repeat(toolcrib_core::limits::DOOR_BODY_BYTES_MAX + 1),
        413,
    )
    .await;
    check(
        &[("mcp-protocol-version", "1999-01-01")],
        &call(1, "echo").to_string(),
        400,
    )
    .await;
    check(&[], &call(1, "echo").to_string(), 400).await;
    check(
        &[("mcp-session-id", "unknown")],
        &call(1, "echo").to_string(),
        404,
    )
    .await;
}

#[tokio::test]
async fn a_wrong_path_or_method_is_answered_in_the_words_of_its_door() {
    let visitor = Visitor::new();
    let check = async |method: Method, path: &str, status: u16, kind: &str, part: &str| {
        let mut request = request(method, &[], Body::empty());
        *request.uri_mut() = path.parse().unwrap();
        let response = visitor.sends(request).await;
        let found = (
            response.status().as_u16(),
            response.headers()["content-type"].clone(),
        );
        assert_eq!(
            (found.0, found.1.to_str().unwrap()),
            (status, kind),
            "{path}"
        );
        let allowed = response.headers().get("allow").cloned();
        assert_eq!(allowed.is_some(), status == 405, "{path}: {allowed:?}");
        let said = text(response).await;
        assert!(said.contains(part), "{said}");
    };
    let (plain, problem) = ("text/plain; charset=utf-8", "application/problem+json");
    check(Method::GET, "/nowhere", 404, plain, "MCP is at /mcp").await;
    check(
        Method::GET,
        "/api/nowhere",
        404,
        problem,
        "/api/v1/openapi.json",
    )
    .await;
    check(Method::PUT, "/mcp", 405, plain, "the header Allow says").await;
}
