//! The HTTP door, sent anything: every request has an answer, none of them says that we are at fault.

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::ConnectInfo;
use axum::http::{HeaderName, HeaderValue, Request, header};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use toolcrib::engine::clock::Clock;
use toolcrib::http::identity::Identity;
use toolcrib::http::{Door, Mount, Setup};
use toolcrib::telemetry::Tracer;
use toolcrib_config::model::settings::Http;
use toolcrib_core::policy::settings::PolicySettings;
use tower::ServiceExt;

use crate::shop::Shop;

const METHODS: &[&str] = &["POST", "POST", "POST", "GET", "DELETE", "OPTIONS", "PUT"];
const PATHS: &[&str] = &[
    "/mcp", "/mcp", "/mcp", "/metrics", "/healthz", "/nothing", "/mcp/",
];
const HEADERS: &[(&str, &[&str])] = &[
    ("host", &["localhost", "evil.example", "", "a b", "[::1]:1"]),
    (
        "origin",
        &[
            "http://localhost",
            "null",
            "https://evil.example",
            "https://app.example",
        ],
    ),
    (
        "content-type",
        &[
            "application/json",
            "text/plain",
            "application/json; charset=x",
        ],
    ),
    (
        "accept",
        &["application/json", "text/event-stream", "*/*", "nonsense"],
    ),
    (
        "mcp-protocol-version",
        &["2026-07-28", "2025-11-25", "2025-03-26", "1", ""],
    ),
    ("mcp-session-id", &["x", "0000", "\u{1}"]),
    (
        "mcp-method",
        &["tools/call", "=?base64?eA==?=", "=?base64?*?="],
    ),
    ("mcp-name", &["search_tools", "execute_tool"]),
    ("authorization", &["Bearer x", "Basic eDp5", "Bearer"]),
    ("access-control-request-method", &["POST", "GET"]),
    ("last-event-id", &["0-1", "x", "9999999999999999999-1"]),
    (
        "traceparent",
        &[
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "x",
        ],
    ),
    ("content-length", &["0", "5", "99999999999"]),
];
const BODIES: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_tools","arguments":{"query":"x"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
    r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
];

/// How a request is made: method, path, the headers and their values, and the body.
type Letter = (u8, u8, Vec<(u8, u8)>, u8, Vec<u8>);

static ROUTER: LazyLock<Router> = LazyLock::new(|| {
    let shop = Shop::shared();
    let setup = Setup {
        mounts: vec![Mount {
            path: "/mcp",
            service: Arc::clone(&shop.service),
            offered: None,
        }],
        identity: Identity::new(true, None, None, PolicySettings::default()),
        sessions_max: 8,
        clock: Clock::system(),
        ending: CancellationToken::new(),
        tracer: Tracer::off(),
        api: None,
    };
    let settings = Http {
        allowed_origins: vec!["https://app.example".to_owned()],
        ..Http::default()
    };
    shop.runs(async { Door::open(&settings, setup).1 })
});

fn written((method, path, headers, kind, bytes): &Letter) -> Request<Body> {
    let pick = |choices: &[&'static str], choice: u8| choices[usize::from(choice) % choices.len()];
    let mut body = bytes.clone();
    if kind % 3 != 0 {
        // Almost right: a message with a few bytes of it changed.
        let mut text = pick(BODIES, kind / 3).as_bytes().to_vec();
        for change in bytes.chunks_exact(2).take(4) {
            let place = usize::from(change[0]) % text.len();
            text[place] = change[1];
        }
        body = text;
    }
    let mut request = Request::new(Body::from(body));
    *request.method_mut() = pick(METHODS, *method).parse().expect("it is a method");
    *request.uri_mut() = pick(PATHS, *path).parse().expect("it is a path");
    for (name, value) in [
        (header::HOST, "localhost"),
        (header::CONTENT_TYPE, "application/json"),
        (header::ACCEPT, "application/json, text/event-stream"),
    ] {
        let value = HeaderValue::from_static(value);
        request.headers_mut().insert(name, value);
    }
    for (name, value) in headers.iter().take(16) {
        let (name, values) = HEADERS[usize::from(*name) % HEADERS.len()];
        let value = match value {
            0..=199 => HeaderValue::from_str(pick(values, *value)),
            _ => HeaderValue::from_bytes(bytes),
        };
        if let Ok(value) = value {
            let name = HeaderName::from_static(name);
            request.headers_mut().append(name, value);
        }
    }
    let peer: SocketAddr = ([127, 0, 0, 1], 9).into();
    request.extensions_mut().insert(ConnectInfo(peer));
    request
}

#[test]
fn fuzz_letters() {
    bolero::check!()
        .with_type::<Letter>()
        .for_each(|letter: &Letter| {
            let (request, shop) = (written(letter), Shop::shared());
            let router = ROUTER.clone();
            let response = shop.runs(router.oneshot(request));
            let response = response.expect("a router does not fail");
            let status = response.status();
            // Too many sessions is the one that this may come to.
            assert!(!status.is_server_error() || status == 503, "{status}");
            let kind = response.headers().get(header::CONTENT_TYPE).cloned();
            if kind.is_some_and(|kind| kind == "application/json") {
                let body = shop.runs(to_bytes(response.into_body(), usize::MAX));
                let body = body.expect("the answer is whole");
                let told: Result<Value, _> = serde_json::from_slice(&body);
                told.expect("it is JSON");
            }
        });
}
