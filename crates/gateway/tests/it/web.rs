//! A client of the HTTP door.

use reqwest::header::HeaderMap;
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::home::{Home, Server};

/// A running process and a client of its HTTP door.
pub(crate) struct Web {
    runtime: Runtime,
    client: Client,
    server: Server,
    origin: String,
    /// What every request carries as `Authorization`.
    bearer: Option<String>,
    session: Option<String>,
    /// The revision that was agreed on in the session.
    revision: &'static str,
    asked: u64,
}

/// What came back.
pub(crate) struct Came {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Came {
    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

impl Web {
    /// Starts the program and finds out where it listens.
    pub(crate) fn start(home: &Home) -> Self {
        Self::over(Server::start(home.command(&["serve"])))
    }

    /// A client of a process that is running.
    pub(crate) fn over(server: Server) -> Self {
        let line = server.heard("listening");
        let address = line.split("address=").nth(1).unwrap();
        let address = address.split_whitespace().next().unwrap();
        Self {
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap(),
            client: Client::builder().no_proxy().build().unwrap(),
            origin: format!("http://{address}"),
            server,
            bearer: None,
            session: None,
            revision: "2025-11-25",
            asked: 0,
        }
    }

    /// Comes with an API key from now on, in a session of its own.
    pub(crate) fn bear(&mut self, key: &str) {
        self.bearer = Some(format!("Bearer {key}"));
        self.session = None;
    }

    /// The process.
    pub(crate) fn into_server(self) -> Server {
        self.server
    }

    pub(crate) fn get(&self, path: &str) -> Came {
        let request = self.client.get(format!("{}{path}", self.origin));
        self.send(request)
    }

    /// Posts a text to a path, as a client of MCP does.
    pub(crate) fn post(&self, path: &str, body: String) -> Came {
        let mut request = self
            .client
            .post(format!("{}{path}", self.origin))
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .body(body);
        if let Some(session) = &self.session {
            request = request
                .header("mcp-session-id", session)
                .header("mcp-protocol-version", self.revision);
        }
        self.send(request)
    }

    /// Posts JSON to a path with further headers.
    pub(crate) fn tell(&self, path: &str, headers: &[(&str, &str)], body: &Value) -> Came {
        self.tell_text(path, headers, body.to_string())
    }

    /// Posts JSON as it is written to a path with further headers.
    pub(crate) fn tell_text(&self, path: &str, headers: &[(&str, &str)], body: String) -> Came {
        let mut request = self
            .client
            .post(format!("{}{path}", self.origin))
            .header("content-type", "application/json")
            .body(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request)
    }

    /// Where the process listens, without the scheme.
    pub(crate) fn address(&self) -> &str {
        self.origin.trim_start_matches("http://")
    }

    fn send(&self, request: reqwest::RequestBuilder) -> Came {
        let request = match &self.bearer {
            Some(bearer) => request.header("authorization", bearer),
            None => request,
        };
        self.runtime.block_on(async {
            let answer = request.send().await.unwrap();
            Came {
                status: answer.status(),
                headers: answer.headers().clone(),
                body: answer.text().await.unwrap(),
            }
        })
    }

    /// Sends a request in a session, with its parameters as they are written, and gives the answer.
    pub(crate) fn request(&mut self, method: &str, params: &str) -> Value {
        if self.session.is_none() {
            self.open();
        }
        self.asked += 1;
        let (id, method) = (self.asked, Value::from(method));
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#);
        message(&self.post("/mcp", text).body)
    }

    fn open(&mut self) {
        self.greet("web", "2025-11-25");
    }

    /// Opens a session as a client of that name, which speaks that revision.
    pub(crate) fn greet(&mut self, name: &str, revision: &'static str) {
        self.session = None;
        self.revision = revision;
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": revision, "capabilities": {},
            "clientInfo": {"name": name, "version": "1"}}});
        let came = self.post("/mcp", hello.to_string());
        assert_eq!(came.status, 200, "{}", came.body);
        let session = came.headers["mcp-session-id"].to_str().unwrap();
        self.session = Some(session.to_owned());
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.post("/mcp", told.to_string()).status, 202);
    }
}

/// The answer in a body that is JSON, or a stream of events of which it is the last.
fn message(body: &str) -> Value {
    let events = body.lines().filter_map(|line| line.strip_prefix("data:"));
    let mut events = events.filter(|text| !text.trim().is_empty());
    let text = events.next_back();
    serde_json::from_str(text.unwrap_or(body).trim())
        .unwrap_or_else(|error| panic!("{error}: {body}"))
}
