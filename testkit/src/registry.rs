//! A stand-in for the public registry: several pages, several versions of a name, entries that are
//! deprecated, deleted or broken, packages of every kind, and misbehaviour on request.

use std::collections::HashMap;
use std::future::IntoFuture as _;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};

/// How many entries a page holds, whatever is asked for.
const PAGE: usize = 3;

/// The field of `_meta` that the registry itself fills.
const OFFICIAL: &str = "io.modelcontextprotocol.registry/official";

/// How the stand-in misbehaves.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// So many requests are answered with this status first.
    pub first: Option<(usize, u16)>,
    /// `Retry-After` of those answers.
    pub retry_after: Option<&'static str>,
    /// Every page says that the same one comes next.
    pub circle: bool,
    /// What every request is answered with, instead of a list.
    pub body: Option<String>,
}

/// A running stand-in. It ends with the runtime of the test.
#[derive(Debug)]
pub struct Registry {
    /// Its address: `http://127.0.0.1:4711`.
    pub url: String,
    state: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    entries: Mutex<Vec<Value>>,
    faults: Faults,
    requests: AtomicUsize,
    broken: AtomicBool,
    paths: Mutex<Vec<String>>,
    files: Mutex<HashMap<String, File>>,
}

/// What a path below `/files` is answered with.
#[derive(Clone, Debug)]
enum File {
    Content(Vec<u8>),
    Elsewhere(String),
}

impl Registry {
    /// A stand-in that behaves.
    pub async fn start() -> Self {
        Self::misbehaving(Faults::default()).await
    }

    /// A stand-in with faults.
    pub async fn misbehaving(faults: Faults) -> Self {
        let entries: Vec<Value> = serde_json::from_str(include_str!("registry/entries.json"))
            .expect("the entries are JSON");
        let state = Arc::new(Inner {
            entries: Mutex::new(entries),
            faults,
            requests: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            paths: Mutex::default(),
            files: Mutex::default(),
        });
        let router = Router::new()
            .route("/v0.1/servers", get(list))
            .route("/v0.1/servers/{name}/versions", get(versions))
            .route("/v0.1/servers/{name}/versions/{version}", get(version))
            .route("/files/{name}", get(file))
            .fallback(|| async { problem(404, "Not Found") })
            .with_state(Arc::clone(&state));
        let listener = tokio::net::TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))
            .await
            .expect("a port is free");
        let address = listener.local_addr().expect("it listens");
        tokio::spawn(axum::serve(listener, router).into_future());
        Self {
            url: format!("http://{address}"),
            state,
        }
    }

    /// How many requests it got.
    pub fn requests(&self) -> usize {
        self.state.requests.load(Ordering::SeqCst)
    }

    /// The queries of the requests for lists, in order.
    pub fn queries(&self) -> Vec<String> {
        self.state.paths.lock().expect("no test panicked").clone()
    }

    /// From now on every request is answered with status 500.
    pub fn break_down(&self) {
        self.state.broken.store(true, Ordering::SeqCst);
    }

    /// Serves a file; gives its address.
    pub fn serve_file(&self, name: &str, content: Vec<u8>) -> String {
        self.put(name, File::Content(content))
    }

    /// Serves a redirect; gives its address.
    pub fn serve_redirect(&self, name: &str, target: &str) -> String {
        self.put(name, File::Elsewhere(target.to_owned()))
    }

    fn put(&self, name: &str, file: File) -> String {
        let mut files = self.state.files.lock().expect("no test panicked");
        files.insert(name.to_owned(), file);
        format!("{}/files/{name}", self.url)
    }

    /// Adds an entry: its `server.json` and its standing.
    pub fn publish(&self, server: &Value, status: &str) {
        let entry = json!({ "server": server, "_meta": { OFFICIAL: { "status": status, "isLatest": true } } });
        self.state
            .entries
            .lock()
            .expect("no test panicked")
            .push(entry);
    }
}

impl Inner {
    /// The answer to a request that is not to be served.
    fn fault(&self) -> Option<Response> {
        let number = self.requests.fetch_add(1, Ordering::SeqCst);
        if self.broken.load(Ordering::SeqCst) {
            return Some(problem(500, "it broke down"));
        }
        if let Some((count, status)) = self.faults.first
            && number < count
        {
            let mut response = problem(status, "try later");
            if let Some(after) = self.faults.retry_after {
                let value = axum::http::HeaderValue::from_static(after);
                response.headers_mut().insert("retry-after", value);
            }
            return Some(response);
        }
        self.faults.body.clone().map(IntoResponse::into_response)
    }

    fn matching(&self, fits: impl Fn(&Value) -> bool) -> Vec<Value> {
        let entries = self.entries.lock().expect("no test panicked");
        entries
            .iter()
            .filter(|entry| fits(entry))
            .cloned()
            .collect()
    }
}

async fn list(
    State(state): State<Arc<Inner>>,
    Query(query): Query<HashMap<String, String>>,
    uri: axum::http::Uri,
) -> Response {
    state
        .paths
        .lock()
        .expect("no test panicked")
        .push(uri.query().unwrap_or_default().to_owned());
    if let Some(fault) = state.fault() {
        return fault;
    }
    let wanted = query.get("search").map(|text| text.to_lowercase());
    let latest = query.get("version").is_some_and(|v| v == "latest");
    let found = state.matching(|entry| {
        let name = entry["server"]["name"].as_str().unwrap_or_default();
        let named = wanted
            .as_ref()
            .is_none_or(|wanted| name.to_lowercase().contains(wanted));
        named && (!latest || entry["_meta"][OFFICIAL]["isLatest"] != json!(false))
    });
    let start = match query.get("cursor").map(|cursor| cursor.parse::<usize>()) {
        None => 0,
        Some(Ok(start)) => start,
        Some(Err(_)) => return problem(400, "Invalid cursor parameter"),
    };
    let limit = query.get("limit").and_then(|limit| limit.parse().ok());
    let end = (start + limit.unwrap_or(PAGE).min(PAGE)).min(found.len());
    let page = found.get(start..end).unwrap_or_default();
    let mut metadata = json!({ "count": page.len() });
    if state.faults.circle {
        metadata["nextCursor"] = json!("0");
    } else if end < found.len() {
        metadata["nextCursor"] = json!(end.to_string());
    }
    Json(json!({ "servers": page, "metadata": metadata })).into_response()
}

async fn versions(State(state): State<Arc<Inner>>, Path(name): Path<String>) -> Response {
    if let Some(fault) = state.fault() {
        return fault;
    }
    let found = state.matching(|entry| entry["server"]["name"] == name.as_str());
    if found.is_empty() {
        return problem(404, "Server not found");
    }
    Json(json!({ "servers": found, "metadata": { "count": found.len() } })).into_response()
}

async fn version(
    State(state): State<Arc<Inner>>,
    Path((name, version)): Path<(String, String)>,
) -> Response {
    if let Some(fault) = state.fault() {
        return fault;
    }
    let found = state.matching(|entry| {
        let server = &entry["server"];
        let is_latest = entry["_meta"][OFFICIAL]["isLatest"] == json!(true);
        server["name"] == name.as_str()
            && (server["version"] == version.as_str() || (version == "latest" && is_latest))
    });
    match found.into_iter().next() {
        Some(entry) => Json(entry).into_response(),
        None => problem(404, "Server not found"),
    }
}

async fn file(State(state): State<Arc<Inner>>, Path(name): Path<String>) -> Response {
    state.requests.fetch_add(1, Ordering::SeqCst);
    let found = state
        .files
        .lock()
        .expect("no test panicked")
        .get(&name)
        .cloned();
    match found {
        Some(File::Content(content)) => content.into_response(),
        Some(File::Elsewhere(target)) => Redirect::temporary(&target).into_response(),
        None => problem(404, "no such file"),
    }
}

/// An error as the registry sends it.
fn problem(status: u16, detail: &str) -> Response {
    let code = StatusCode::from_u16(status).expect("a status");
    let title = code.canonical_reason().unwrap_or_default();
    let body = json!({ "title": title, "status": status, "detail": detail });
    (code, Json(body)).into_response()
}
