//! A stand-in for remote MCP servers: Streamable HTTP and the older stream of events, with faults.
//!
//! It listens on a free port of the loopback address and answers every request with
//! `{"echo": METHOD, "params": PARAMS}`. Some methods are special: see [`Remote::start`].

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::Response;
use axum::routing::{any, get};
use futures::StreamExt;
use serde_json::{Value, json};
use tokio::sync::{broadcast, mpsc};
use tokio_stream::wrappers::{BroadcastStream, ReceiverStream};

/// How the stand-in behaves.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Whether requests are answered with streams of events rather than JSON.
    pub events: bool,
    /// Whether it keeps sessions.
    pub sessions: bool,
    /// Whether it has a standing stream for GET.
    pub standing: bool,
    /// The bearer tokens that it accepts; empty: it wants none.
    pub tokens: Vec<String>,
    /// What it says in `WWW-Authenticate`.
    pub challenge: Option<String>,
    /// What it does wrong.
    pub fault: Option<Fault>,
}

/// What a server can do wrong.
#[derive(Clone, Debug)]
pub enum Fault {
    /// It forgets the session after so many requests, and says so with this status and text.
    Forgets {
        /// How many requests it still answers.
        after: usize,
        /// The status.
        status: u16,
        /// The text.
        text: &'static str,
    },
    /// It answers the first requests with this status and `Retry-After`.
    Busy {
        /// How many.
        times: usize,
        /// The status.
        status: u16,
        /// The header.
        retry_after: &'static str,
    },
    /// Its streams break in the middle of an event.
    CutsEvents {
        /// Whether events have ids, so that the stream can be resumed.
        ids: bool,
        /// How often it breaks before the answer comes.
        times: usize,
    },
    /// It takes this long before it answers at all.
    Slow(Duration),
    /// Its answers have this many bytes more than they should.
    Giant(usize),
    /// It answers with this status, type and text.
    Says {
        /// The status.
        status: u16,
        /// The content type.
        kind: &'static str,
        /// The text.
        text: &'static str,
    },
    /// It sends clients elsewhere, with this status.
    Redirects {
        /// The status.
        status: u16,
        /// Where.
        to: String,
    },
    /// It says that its answers are of this type.
    Mislabels(&'static str),
    /// It accepts requests without answering them.
    Accepts,
    /// It names another place for messages (the older transport).
    SendsElsewhere(String),
    /// It closes the connection without a word.
    HangsUp,
}

/// One request that came in.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The HTTP method.
    pub method: Method,
    /// The path and query.
    pub path: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, where it was JSON.
    pub body: Value,
}

impl Seen {
    /// One header as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// A running stand-in; it ends when dropped.
#[derive(Debug)]
pub struct Remote {
    /// `http://127.0.0.1:PORT`.
    pub origin: String,
    inner: Arc<Inner>,
    server: tokio::task::JoinHandle<()>,
}

#[derive(Debug)]
struct Inner {
    settings: Settings,
    seen: Mutex<Vec<Seen>>,
    requests: AtomicUsize,
    cuts: AtomicUsize,
    dropped: Arc<AtomicUsize>,
    unanswered: Mutex<HashMap<String, Value>>,
    unasked: broadcast::Sender<String>,
}

/// The session that a stand-in with sessions gives.
pub const SESSION: &str = "session-1";

impl Remote {
    /// Starts a stand-in: `/mcp` for Streamable HTTP, `/sse` for the older transport, `/moved` for
    /// redirects within.
    ///
    /// The method `never` is not answered; `ask` is answered after a request of the server's own and a
    /// notification; `refuse` is answered with 400 and a JSON-RPC error; `batch` with an array.
    pub async fn start(settings: Settings) -> io::Result<Self> {
        let inner = Arc::new(Inner {
            settings,
            seen: Mutex::default(),
            requests: AtomicUsize::new(0),
            cuts: AtomicUsize::new(0),
            dropped: Arc::default(),
            unanswered: Mutex::default(),
            unasked: broadcast::channel(64).0,
        });
        let app = Router::new()
            .route("/mcp", any(streamable))
            .route("/moved", any(moved))
            .route("/sse", get(older_stream))
            .route("/messages", any(older_message))
            .fallback(nothing)
            .with_state(Arc::clone(&inner));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let origin = format!("http://{}", listener.local_addr()?);
        let server = tokio::spawn(async move {
            let _ = axum::serve(listener, app).await;
        });
        Ok(Self {
            origin,
            inner,
            server,
        })
    }

    /// Everything that came in so far.
    pub fn seen(&self) -> Vec<Seen> {
        lock(&self.inner.seen).clone()
    }

    /// How many unanswered requests their client gave up.
    pub fn given_up(&self) -> usize {
        self.inner.dropped.load(Ordering::SeqCst)
    }

    /// Says something on every standing stream; how many heard it.
    pub fn say(&self, message: &Value) -> usize {
        self.inner.unasked.send(message.to_string()).unwrap_or(0)
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn reply(status: u16, kind: &str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::IM_A_TEAPOT);
    if let Ok(kind) = kind.parse() {
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
    }
    response
}

fn with(mut response: Response, name: &'static str, value: &str) -> Response {
    if let Ok(value) = value.parse() {
        response.headers_mut().insert(name, value);
    }
    response
}

async fn nothing() -> Response {
    reply(404, "text/plain", "there is nothing here")
}

async fn moved() -> Response {
    with(reply(307, "text/plain", ""), "location", "/mcp")
}

impl Inner {
    fn note(&self, method: Method, path: &str, headers: &HeaderMap, body: &[u8]) -> Value {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        lock(&self.seen).push(Seen {
            method,
            path: path.to_owned(),
            headers: headers.clone(),
            body: body.clone(),
        });
        body
    }

    fn refusal(&self, headers: &HeaderMap) -> Option<Response> {
        let sent = headers.get(header::AUTHORIZATION);
        let sent = sent.and_then(|sent| sent.to_str().ok()).unwrap_or("");
        let tokens = &self.settings.tokens;
        if tokens.is_empty() || tokens.iter().any(|token| sent == format!("Bearer {token}")) {
            return None;
        }
        let challenge = self.settings.challenge.as_deref();
        let scope_missing = challenge.is_some_and(|c| c.contains("insufficient_scope"));
        let status = if scope_missing { 403 } else { 401 };
        let response = reply(status, "text/plain", format!("not with {sent}"));
        Some(with(
            response,
            "www-authenticate",
            challenge.unwrap_or("Bearer"),
        ))
    }

    /// What the fault does to the n-th request, where it does anything before the answer.
    async fn fail(&self, nth: usize) -> Option<Response> {
        match self.settings.fault.as_ref()? {
            Fault::Forgets {
                after,
                status,
                text,
            } if nth > *after => Some(reply(*status, "text/plain", *text)),
            Fault::Busy {
                times,
                status,
                retry_after,
            } if nth <= *times => Some(with(
                reply(*status, "text/plain", "busy"),
                "retry-after",
                retry_after,
            )),
            Fault::Slow(wait) => {
                tokio::time::sleep(*wait).await;
                None
            }
            Fault::Says { status, kind, text } => Some(reply(*status, kind, *text)),
            Fault::Redirects { status, to } => {
                Some(with(reply(*status, "text/plain", ""), "location", to))
            }
            Fault::Accepts => Some(reply(202, "text/plain", "")),
            Fault::HangsUp => {
                let broken =
                    futures::stream::once(async { Err::<Bytes, _>(io::Error::other("gone")) });
                let response = reply(200, "application/json", Body::from_stream(broken));
                Some(with(response, "content-length", "100"))
            }
            _ => None,
        }
    }

    fn padding(&self) -> String {
        match self.settings.fault {
            Some(Fault::Giant(bytes)) => "x".repeat(bytes),
            _ => String::new(),
        }
    }

    fn answer(&self, message: &Value) -> Value {
        let (id, method) = (&message["id"], &message["method"]);
        let mut result = json!({"echo": method, "params": message["params"]});
        let padding = self.padding();
        if !padding.is_empty() {
            result["padding"] = Value::String(padding);
        }
        json!({"jsonrpc": "2.0", "id": id, "result": result})
    }

    fn cuts(&self) -> Option<bool> {
        match self.settings.fault {
            Some(Fault::CutsEvents { ids, times }) => {
                (self.cuts.fetch_add(1, Ordering::SeqCst) < times).then_some(ids)
            }
            _ => None,
        }
    }

    fn has_ids(&self) -> bool {
        matches!(
            self.settings.fault,
            Some(Fault::CutsEvents { ids: true, .. })
        )
    }

    /// The stream that answers a request: whole, or cut in the middle of an event.
    fn stream(&self, messages: &[Value], key: &str) -> Response {
        let mut text = String::new();
        if self.has_ids() {
            let _ = write!(text, "id: {key}\nretry: 50\ndata:\n\n");
        }
        if self.cuts().is_some() {
            text.push_str("data: {\"jsonrpc\":\"2.0\",\"id");
            let parts = [Ok(Bytes::from(text)), Err(io::Error::other("cut"))];
            // The pause lets the first part out before the connection breaks.
            let parts = futures::stream::iter(parts).then(async |part| {
                if part.is_err() {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                part
            });
            return reply(200, "text/event-stream", Body::from_stream(parts));
        }
        for message in messages {
            let _ = write!(text, ": comment\nevent: message\ndata: {message}\n\n");
        }
        reply(200, self.kind("text/event-stream"), text)
    }

    fn kind(&self, usual: &'static str) -> &'static str {
        match self.settings.fault {
            Some(Fault::Mislabels(kind)) => kind,
            _ => usual,
        }
    }
}

/// Counts when it is dropped before it was disarmed: the client went away.
struct Unanswered(Arc<AtomicUsize>);

impl Drop for Unanswered {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

async fn streamable(
    State(inner): State<Arc<Inner>>,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let message = inner.note(method.clone(), "/mcp", &headers, &body);
    if let Some(refusal) = inner.refusal(&headers) {
        return refusal;
    }
    match method {
        Method::GET => standing(&inner, &headers),
        Method::DELETE => reply(200, "text/plain", ""),
        Method::POST => post(&inner, &message).await,
        _ => reply(405, "text/plain", ""),
    }
}

fn standing(inner: &Inner, headers: &HeaderMap) -> Response {
    if let Some(key) = headers
        .get("last-event-id")
        .and_then(|key| key.to_str().ok())
    {
        let message = lock(&inner.unanswered).get(key).cloned();
        if let Some(message) = message {
            return inner.stream(&[inner.answer(&message)], key);
        }
    }
    if !inner.settings.standing {
        return reply(405, "text/plain", "");
    }
    let heard = BroadcastStream::new(inner.unasked.subscribe());
    let events = heard.filter_map(async |text| {
        let event = format!("data: {}\n\n", text.ok()?);
        Some(Ok::<_, Infallible>(Bytes::from(event)))
    });
    reply(200, "text/event-stream", Body::from_stream(events))
}

async fn post(inner: &Inner, message: &Value) -> Response {
    if message.get("id").is_none() || message.get("method").is_none() {
        return reply(202, "text/plain", "");
    }
    let nth = inner.requests.fetch_add(1, Ordering::SeqCst) + 1;
    if let Some(response) = inner.fail(nth).await {
        return response;
    }
    let answer = inner.answer(message);
    let key = message["id"].to_string();
    lock(&inner.unanswered).insert(key.clone(), message.clone());
    let response = match message["method"].as_str().unwrap_or_default() {
        "never" => {
            let _guard = Unanswered(Arc::clone(&inner.dropped));
            std::future::pending::<Response>().await
        }
        "refuse" => {
            let error =
                json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32022, "message": "no"}});
            reply(400, "application/json", error.to_string())
        }
        "batch" => reply(200, "application/json", json!([answer]).to_string()),
        "ask" => {
            let asked = json!({"jsonrpc": "2.0", "id": "s1", "method": "roots/list"});
            let told = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}});
            let other = json!({"jsonrpc": "2.0", "id": 999, "result": {}});
            inner.stream(&[asked, told, other, answer], &key)
        }
        _ if inner.settings.events => inner.stream(&[answer], &key),
        _ => reply(200, inner.kind("application/json"), answer.to_string()),
    };
    if inner.settings.sessions {
        with(response, "mcp-session-id", SESSION)
    } else {
        response
    }
}

async fn older_stream(State(inner): State<Arc<Inner>>, headers: HeaderMap) -> Response {
    inner.note(Method::GET, "/sse", &headers, b"");
    if let Some(refusal) = inner.refusal(&headers) {
        return refusal;
    }
    if let Some(Fault::Says { status, kind, text }) = &inner.settings.fault {
        return reply(*status, kind, *text);
    }
    let place = match &inner.settings.fault {
        Some(Fault::SendsElsewhere(place)) => place.clone(),
        _ => "/messages?session=1".to_owned(),
    };
    let (sender, receiver) = mpsc::channel(8);
    let mut heard = inner.unasked.subscribe();
    tokio::spawn(async move {
        let _ = sender
            .send(format!("event: endpoint\ndata: {place}\n\n"))
            .await;
        while let Ok(text) = heard.recv().await {
            if text == "\"END\"" || sender.send(format!("data: {text}\n\n")).await.is_err() {
                break;
            }
        }
    });
    let events = ReceiverStream::new(receiver).map(|text| Ok::<_, Infallible>(Bytes::from(text)));
    reply(200, "text/event-stream", Body::from_stream(events))
}

async fn older_message(
    State(inner): State<Arc<Inner>>,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let message = inner.note(method, "/messages", &headers, &body);
    if let Some(refusal) = inner.refusal(&headers) {
        return refusal;
    }
    if message.get("id").is_none() || message.get("method").is_none() {
        return reply(202, "text/plain", "Accepted");
    }
    let nth = inner.requests.fetch_add(1, Ordering::SeqCst) + 1;
    if let Some(response) = inner.fail(nth).await {
        return response;
    }
    match message["method"].as_str().unwrap_or_default() {
        "inline" => return reply(200, "application/json", inner.answer(&message).to_string()),
        "never" => {}
        "junk" => {
            let _ = inner.unasked.send("no message".to_owned());
        }
        _ => {
            let _ = inner.unasked.send(inner.answer(&message).to_string());
        }
    }
    reply(202, "text/plain", "Accepted")
}
