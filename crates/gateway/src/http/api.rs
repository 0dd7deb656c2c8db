//! The REST API, in the same process and behind the same door as MCP.
//!
//! What there is, and what each request takes, stands in [`toolcrib_core::rest`]; this module reads
//! requests by that table, hands them to the desk and the engine, and answers in JSON or with problem
//! details. It decides nothing.

mod administration;
mod approvals;
mod catalog;
mod events;
mod execution;
mod problem;

use std::sync::Arc;

use axum::Extension;
use axum::Router;
use axum::body::Body;
use axum::extract::{RawPathParams, State};
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures::future::BoxFuture;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use toolcrib_core::Code;
use toolcrib_core::policy::{Caller, Scope};
use toolcrib_core::rest::{ADMIN_SCOPE, Method, Operation, Place, ROUTES, Route};
use toolcrib_core::trace::SpanContext;
use tracing::Instrument;

use super::Door;
use super::body::{Text, Unread};
use crate::desk::Desk;
use crate::engine::Engine;
use crate::engine::error::Error;
use crate::mcp::gate::Gate;
use crate::telemetry::{Kind, request_span};

use problem::Problem;
pub(super) use problem::{refused, unauthorised};

/// Reads the configuration again and says what came of it.
pub type Reload = Arc<dyn Fn() -> BoxFuture<'static, Option<Value>> + Send + Sync>;

/// What the REST API works with.
#[derive(Clone)]
pub struct Api {
    /// Answers wishes.
    pub desk: Arc<Desk>,
    /// Counts requests over all doors.
    pub gate: Arc<Gate>,
    /// Reads the configuration again.
    pub reload: Reload,
}

/// What the API and the door share.
#[derive(Clone)]
struct Counter {
    api: Api,
    door: Arc<Door>,
}

/// A request, read by its route.
struct Asked {
    caller: Arc<Caller>,
    path: Map<String, Value>,
    query: Map<String, Value>,
    headers: Map<String, Value>,
    trace: Option<SpanContext>,
    body: Option<Text>,
}

type Told = Result<Response, Problem>;

/// The routes of the API.
pub(super) fn routes(api: Api, door: &Arc<Door>) -> Router {
    let counter = Counter {
        api,
        door: Arc::clone(door),
    };
    let mut router = Router::new();
    for route in ROUTES {
        let answer = move |State(counter): State<Counter>,
                           Extension(caller): Extension<Arc<Caller>>,
                           path: RawPathParams,
                           headers: HeaderMap,
                           uri: Uri,
                           body: Body| async move {
            let path = path.iter().map(|(a, b)| (a.to_owned(), b.to_owned()));
            let path: Vec<(String, String)> = path.collect();
            counter
                .watched(route, caller, path, &headers, &uri, body)
                .await
        };
        let method = match route.method {
            Method::Get => get(answer),
            Method::Post => post(answer),
        };
        router = router.route(route.path, method);
    }
    router.with_state(counter)
}

impl Counter {
    fn desk(&self) -> &Desk {
        &self.api.desk
    }

    fn engine(&self) -> &Arc<Engine> {
        self.api.desk.engine()
    }

    /// Answers in a span of its own.
    async fn watched(
        &self,
        route: &'static Route,
        caller: Arc<Caller>,
        path: Vec<(String, String)>,
        headers: &HeaderMap,
        uri: &Uri,
        body: Body,
    ) -> Response {
        let method = match route.method {
            Method::Get => "GET",
            Method::Post => "POST",
        };
        let name = format!("{method} {}", route.path);
        let parent = super::headers::trace(headers);
        let tracer = &self.door.tracer;
        let mut span = tracer.start(Kind::Server, name, parent.as_ref());
        span.set("http.request.method", method);
        span.set("http.route", route.path);
        span.set("url.scheme", "http");
        let log = request_span(route.path, span.context());
        let told = self.answer(route, caller, path, headers, uri, body, span.context());
        let response = told.instrument(log).await;
        let response = response.unwrap_or_else(IntoResponse::into_response);
        let status = response.status();
        span.set("http.response.status_code", i64::from(status.as_u16()));
        if status.is_server_error() {
            span.fail(status.as_str());
        }
        response
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "they are the parts of one request"
    )]
    async fn answer(
        &self,
        route: &'static Route,
        caller: Arc<Caller>,
        path: Vec<(String, String)>,
        headers: &HeaderMap,
        uri: &Uri,
        body: Body,
        trace: Option<&SpanContext>,
    ) -> Told {
        let now_ms = self.door.clock.now_ms();
        let _entry = self
            .api
            .gate
            .enter(&caller.principal, now_ms)
            .map_err(|fault| Problem::plain(Code::Overloaded, fault.message))?;
        if route.admin && !is_admin(&caller) {
            let why = format!(
                "This needs the scope {ADMIN_SCOPE}: send a key that has it, made with `toolcrib keys create NAME --scope {ADMIN_SCOPE}`."
            );
            return Err(Problem::plain(Code::ScopeRequired, why));
        }
        let asked = Asked {
            path: route.read(Place::Path, path)?,
            query: route.read(Place::Query, query(uri))?,
            headers: route.read(Place::Header, texts(headers))?,
            trace: trace.cloned(),
            body: if route.body {
                Some(self.door.room.read(body).await?)
            } else {
                None
            },
            caller,
        };
        match route.operation {
            Operation::RunTool => self.run_tool(&asked).await,
            Operation::Execute => self.execute(&asked).await,
            Operation::Intent => self.intent(&asked).await,
            Operation::Adapters => self.adapters(&asked).await,
            Operation::Adapter => self.adapter(&asked).await,
            Operation::Servers => self.servers(&asked).await,
            Operation::ServerTools => self.server_tools(&asked).await,
            Operation::Tool => self.tool(&asked).await,
            Operation::Search => self.search(&asked).await,
            Operation::Approvals => self.approvals(&asked).await,
            Operation::ShowApproval => self.approval(&asked).await,
            Operation::Settle => self.settle(&asked).await,
            Operation::Introspect => self.introspect(&asked).await,
            Operation::Register => self.register(&asked).await,
            Operation::Export => self.export(&asked).await,
            Operation::Audit => self.audit(&asked).await,
            Operation::Stats => self.stats(&asked).await,
            Operation::Configuration => Ok(self.configuration()),
            Operation::Reload => self.reload().await,
            Operation::Events => self.events().await,
            Operation::Document => Ok(json(&toolcrib_core::rest::document())),
        }
    }
}

/// Whether a caller may look at what the gateway itself does, and settle what waits.
pub(super) fn is_admin(caller: &Caller) -> bool {
    Scope::parse(ADMIN_SCOPE).is_ok_and(|scope| caller.scopes.covers(&scope))
}

fn json(value: &Value) -> Response {
    axum::Json(value).into_response()
}

/// The headers that can be read as text.
fn texts(headers: &HeaderMap) -> Vec<(String, String)> {
    let readable = headers.iter().map(|(name, value)| {
        // One that cannot be read fails its check, where it is one of ours.
        (
            name.as_str().to_owned(),
            value.to_str().unwrap_or("").to_owned(),
        )
    });
    readable.collect()
}

fn query(uri: &Uri) -> Vec<(String, String)> {
    let text = uri.query().unwrap_or("");
    let pairs = url::form_urlencoded::parse(text.as_bytes());
    pairs
        .map(|(a, b)| (a.into_owned(), b.into_owned()))
        .collect()
}

impl Asked {
    fn part(&self, name: &str) -> &str {
        self.path.get(name).and_then(Value::as_str).unwrap_or("")
    }

    fn text(&self, name: &str) -> Option<String> {
        self.query.get(name)?.as_str().map(str::to_owned)
    }

    fn number(&self, name: &str) -> Option<i64> {
        self.query.get(name)?.as_i64()
    }

    fn count(&self, name: &str) -> Option<usize> {
        self.number(name)
            .and_then(|number| usize::try_from(number).ok())
    }

    fn flag(&self, name: &str) -> bool {
        self.query.get(name) == Some(&Value::Bool(true))
    }

    /// The body, which must be a JSON object; `empty` is taken for no body where that may be.
    fn object(&self, empty: Option<&str>) -> Result<Box<RawValue>, Problem> {
        let body: &[u8] = self.body.as_deref().unwrap_or_default();
        let text = std::str::from_utf8(body).unwrap_or("\u{fffd}");
        let text = match (text.trim(), empty) {
            ("", Some(empty)) => empty,
            (text, _) => text,
        };
        let raw = RawValue::from_string(text.to_owned());
        let wrong = |why: String| Problem::plain(Code::ValidationError, why);
        match raw {
            Ok(raw) if raw.get().starts_with('{') => Ok(raw),
            Err(error) if !text.is_empty() => Err(wrong(format!("The body is not JSON: {error}."))),
            _ => Err(wrong("The body must be a JSON object.".to_owned())),
        }
    }
}

impl From<Unread> for Problem {
    fn from(unread: Unread) -> Self {
        let code = match unread {
            Unread::NoRoom => Code::Overloaded,
            Unread::TooLong | Unread::TooSlow => Code::ValidationError,
        };
        Problem::plain(code, unread.to_string())
    }
}

impl From<Box<Error>> for Problem {
    fn from(error: Box<Error>) -> Self {
        Problem::of(&error, None)
    }
}
