//! A stand-in for a REST API: it keeps what it is sent, reads forms on its own, and answers what it is told.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};

/// A request as it arrived.
#[derive(Clone, Debug, Default)]
pub struct Received {
    /// The method.
    pub method: String,
    /// Path and query, still escaped.
    pub target: String,
    /// The headers, their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Received {
    /// A request in the parts that axum has of it.
    pub(crate) fn of(method: &Method, uri: &Uri, headers: &HeaderMap, body: &[u8]) -> Self {
        let headers = headers.iter().map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.as_str().to_owned(), value)
        });
        Self {
            method: method.to_string(),
            target: uri.to_string(),
            headers: headers.collect(),
            body: body.to_vec(),
        }
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The query as nested values: `a[b][0]=1` is `{"a": {"b": ["1"]}}`.
    pub fn query(&self) -> Value {
        form(self.target.split_once('?').map_or("", |(_, query)| query))
    }

    /// The body as a form, as nested values.
    pub fn form(&self) -> Value {
        form(&String::from_utf8_lossy(&self.body))
    }
}

/// What the API says next.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Reply {
    /// JSON.
    pub fn json(status: u16, value: &Value) -> Self {
        Self {
            status,
            headers: vec![("content-type", "application/json".to_owned())],
            body: value.to_string().into_bytes(),
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

#[derive(Debug, Default)]
struct Desk {
    received: Mutex<Vec<Received>>,
    replies: Mutex<VecDeque<Reply>>,
}

/// A running stand-in; it ends with the runtime.
#[derive(Clone, Debug)]
pub struct Api {
    address: SocketAddr,
    desk: Arc<Desk>,
}

impl Api {
    /// Starts one that gives these replies in turn and `{}` after them.
    ///
    /// # Errors
    /// When no port can be had.
    pub async fn start(replies: impl IntoIterator<Item = Reply>) -> std::io::Result<Self> {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let desk = Arc::new(Desk::default());
        let waiting = replies.into_iter().collect();
        *desk.replies.lock().unwrap_or_else(PoisonError::into_inner) = waiting;
        let router = Router::new().fallback(answer).with_state(Arc::clone(&desk));
        tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { address, desk })
    }

    /// Its base address.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// What it was sent so far.
    pub fn received(&self) -> Vec<Received> {
        let received = self.desk.received.lock();
        received.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn answer(
    State(desk): State<Arc<Desk>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let received = Received::of(&method, &uri, &headers, &body);
    let mut kept = desk.received.lock().unwrap_or_else(PoisonError::into_inner);
    kept.push(received);
    drop(kept);
    let next = desk
        .replies
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .pop_front();
    let reply = next.unwrap_or_else(|| Reply::json(200, &Value::Object(Map::new())));
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::IM_A_TEAPOT);
    let mut response = (status, reply.body).into_response();
    for (name, value) in reply.headers {
        if let Ok(value) = value.parse() {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// Reads a form the way servers that use brackets do; a name that occurs twice is a list.
pub fn form(text: &str) -> Value {
    let mut root = Value::Object(Map::new());
    let plus = text.replace('+', " ");
    for pair in plus.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = unescape(name);
        let (first, rest) = name.split_once('[').unwrap_or((&name, ""));
        let mut path = vec![first.to_owned()];
        path.extend(
            rest.trim_end_matches(']')
                .split("][")
                .filter(|p| !p.is_empty())
                .map(str::to_owned),
        );
        put(&mut root, &path, unescape(value));
    }
    lists(root)
}

fn put(place: &mut Value, path: &[String], value: String) {
    let Value::Object(fields) = place else {
        return;
    };
    let Some((name, rest)) = path.split_first() else {
        return;
    };
    if !rest.is_empty() {
        let inner = fields
            .entry(name.clone())
            .or_insert_with(|| Value::Object(Map::new()));
        return put(inner, rest, value);
    }
    match fields.get_mut(name) {
        Some(Value::Array(list)) => list.push(value.into()),
        Some(known) => *known = Value::Array(vec![std::mem::take(known), value.into()]),
        None => {
            fields.insert(name.clone(), value.into());
        }
    }
}

/// Objects whose keys count from nought are lists.
fn lists(value: Value) -> Value {
    let Value::Object(fields) = value else {
        return value;
    };
    let counts = !fields.is_empty()
        && fields
            .keys()
            .enumerate()
            .all(|(at, key)| *key == at.to_string());
    let inner = fields.into_iter().map(|(key, value)| (key, lists(value)));
    if counts {
        return Value::Array(inner.map(|(_, value)| value).collect());
    }
    Value::Object(inner.collect())
}

fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next().unwrap_or(b'0'), rest.next().unwrap_or(b'0')];
            let digits = String::from_utf8_lossy(&digits).into_owned();
            bytes.push(u8::from_str_radix(&digits, 16).unwrap_or(b'?'));
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
