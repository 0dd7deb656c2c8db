//! A small MCP server over Streamable HTTP that holds clients to the letter of either era.
//!
//! The modern era wants its headers to fit the body; the older one wants the session that `initialize`
//! opened. It has one tool, `effect`, which counts.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use serde_json::{Value, json};

const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-06-18";

/// How many things happened.
#[derive(Debug, Default)]
pub struct Counts {
    /// Sessions that were opened.
    pub sessions: AtomicUsize,
    /// Sessions that the client ended.
    pub ended: AtomicUsize,
    /// Calls of the tool that had an effect.
    pub effects: AtomicUsize,
}

/// A running server.
#[derive(Debug)]
pub struct Web {
    /// Its address.
    pub url: String,
    /// What happened.
    pub counts: Arc<Counts>,
    session: Arc<Mutex<Option<String>>>,
}

#[derive(Clone)]
struct Site {
    modern: bool,
    counts: Arc<Counts>,
    session: Arc<Mutex<Option<String>>>,
}

impl Web {
    /// Starts a server of one era on a free port of the loopback address.
    ///
    /// # Errors
    /// When there is no free port.
    pub async fn start(modern: bool) -> std::io::Result<Self> {
        let site = Site {
            modern,
            counts: Arc::default(),
            session: Arc::default(),
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/mcp", listener.local_addr()?);
        let (counts, session) = (Arc::clone(&site.counts), Arc::clone(&site.session));
        let router = Router::new().route("/mcp", any(serve)).with_state(site);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self {
            url,
            counts,
            session,
        })
    }

    /// Forgets the session, as a server does that was restarted.
    pub fn forget(&self) {
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

async fn serve(
    State(site): State<Site>,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if method == Method::DELETE {
        site.counts.ended.fetch_add(1, Ordering::SeqCst);
        return StatusCode::NO_CONTENT.into_response();
    }
    if method != Method::POST {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let Ok(message) = serde_json::from_slice::<Value>(&body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let checked = if site.modern {
        check_modern(&message, &headers)
    } else {
        site.check_legacy(&message, &headers)
    };
    if let Err(refusal) = checked {
        return refusal;
    }
    if message["id"].is_null() {
        return StatusCode::ACCEPTED.into_response();
    }
    site.answer(&message)
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}

fn fault(id: &Value, status: StatusCode, code: i64, message: &str) -> Response {
    let body = json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}});
    (
        status,
        [(header::CONTENT_TYPE, "application/json")],
        body.to_string(),
    )
        .into_response()
}

fn result(id: &Value, result: &Value) -> Response {
    let body = json!({"jsonrpc": "2.0", "id": id, "result": result});
    (
        [(header::CONTENT_TYPE, "application/json")],
        body.to_string(),
    )
        .into_response()
}

#[expect(clippy::result_large_err, reason = "a refusal is a whole response")]
fn check_modern(message: &Value, headers: &HeaderMap) -> Result<(), Response> {
    let (id, method, params) = (&message["id"], &message["method"], &message["params"]);
    let refuse = |code, why: &str| Err(fault(id, StatusCode::BAD_REQUEST, code, why));
    if method == "initialize" {
        return Err(fault(id, StatusCode::NOT_FOUND, -32601, "Method not found"));
    }
    if text(headers, "mcp-protocol-version") != MODERN {
        return refuse(-32022, "Unsupported protocol version");
    }
    if text(headers, "mcp-method") != method.as_str().unwrap_or_default() {
        return refuse(-32020, "Mcp-Method does not fit");
    }
    if method == "tools/call"
        && text(headers, "mcp-name") != params["name"].as_str().unwrap_or_default()
    {
        return refuse(-32020, "Mcp-Name does not fit");
    }
    let region = params["arguments"]["region"].as_str();
    if method == "tools/call"
        && region.is_some_and(|region| text(headers, "mcp-param-region") != region)
    {
        return refuse(-32020, "Mcp-Param-Region does not fit");
    }
    let meta = &params["_meta"];
    if !meta["io.modelcontextprotocol/clientCapabilities"].is_object() {
        return refuse(-32602, "clientCapabilities are missing");
    }
    Ok(())
}

impl Site {
    #[expect(clippy::result_large_err, reason = "a refusal is a whole response")]
    fn check_legacy(&self, message: &Value, headers: &HeaderMap) -> Result<(), Response> {
        if message["method"] == "initialize" {
            return Ok(());
        }
        let session = self
            .session
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let named = text(headers, "mcp-session-id");
        if named.is_empty() {
            return Err((StatusCode::BAD_REQUEST, "Bad Request: no session").into_response());
        }
        if session.as_deref() != Some(named) {
            return Err((StatusCode::NOT_FOUND, "Session not found").into_response());
        }
        if text(headers, "mcp-protocol-version") != LEGACY {
            return Err((StatusCode::BAD_REQUEST, "Bad Request: no version").into_response());
        }
        Ok(())
    }

    fn answer(&self, message: &Value) -> Response {
        let id = &message["id"];
        match message["method"].as_str().unwrap_or_default() {
            "initialize" => {
                let number = self.counts.sessions.fetch_add(1, Ordering::SeqCst);
                let session = format!("session-{number}");
                *self.session.lock().unwrap_or_else(PoisonError::into_inner) =
                    Some(session.clone());
                let said = json!({"protocolVersion": LEGACY, "capabilities": {"tools": {}}});
                let mut response = result(id, &said);
                if let Ok(session) = session.parse() {
                    response.headers_mut().insert("mcp-session-id", session);
                }
                response
            }
            "server/discover" => result(
                id,
                &json!({
                    "resultType": "complete", "supportedVersions": [MODERN], "capabilities": {"tools": {}},
                    "ttlMs": 0, "cacheScope": "private",
                }),
            ),
            "tools/list" => result(
                id,
                &json!({"resultType": "complete", "tools": [{
                    "name": "effect",
                    "inputSchema": {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}},
                }]}),
            ),
            "tools/call" => {
                let count = self.counts.effects.fetch_add(1, Ordering::SeqCst) + 1;
                let content = json!([{"type": "text", "text": count.to_string()}]);
                result(id, &json!({"resultType": "complete", "content": content}))
            }
            _ => fault(id, StatusCode::OK, -32601, "Method not found"),
        }
    }
}
