//! The HTTP door: MCP over Streamable HTTP, the REST API, health, metrics, and who may come in.
//!
//! Only this module knows axum. It turns requests into what [`crate::mcp`] takes and answers into
//! one write where nothing has to stream.

pub mod api;
mod body;
mod endpoint;
mod event;
pub mod guard;
mod headers;
pub mod identity;
pub mod jwt;
mod listener;
mod metadata;
pub mod metrics;
mod sessions;
mod sharing;
mod stall;
pub mod stand;
#[cfg(test)]
mod tests;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use axum::Extension;
use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio_util::sync::CancellationToken;
use toolcrib_config::model::settings::{Http, Settings};
use toolcrib_core::policy::Caller;

use crate::engine::Engine;
use crate::engine::clock::Clock;
use crate::mcp::Service;
use crate::telemetry::Tracer;
use guard::Guard;
use identity::Identity;
use jwt::Tokens;
use metrics::Metrics;
use sessions::Sessions;
use sharing::Sharing;

pub use listener::{Bound, Work, bind};

/// What is served at which path.
#[derive(Clone)]
pub struct Mount {
    /// The path, such as `/mcp`.
    pub path: &'static str,
    /// What answers there.
    pub service: Arc<Service>,
    /// Whether it is served now; always where nothing decides.
    pub offered: Option<Offered>,
}

/// Says whether something is served now.
pub type Offered = Arc<dyn Fn() -> bool + Send + Sync>;

const NOTHING: &str = "there is nothing here; MCP is at /mcp, the REST API at /api/v1\n";

/// Everything that the door is made of.
pub struct Door {
    guard: ArcSwap<Guard>,
    identity: Identity,
    metrics: Metrics,
    sessions: Arc<Sessions>,
    room: body::Room,
    clock: Clock,
    ending: CancellationToken,
    work: Work,
    tracer: Tracer,
}

/// How the door is set up.
pub struct Setup {
    /// What is served.
    pub mounts: Vec<Mount>,
    /// Who may come in.
    pub identity: Identity,
    /// Most sessions at once.
    pub sessions_max: usize,
    /// The time and random bytes.
    pub clock: Clock,
    /// Fires when the door closes.
    pub ending: CancellationToken,
    /// Makes spans of requests.
    pub tracer: Tracer,
    /// What the REST API works with, where it is served.
    pub api: Option<api::Api>,
}

impl Door {
    /// A door that is reached as `settings` say, and its routes.
    pub fn open(settings: &Http, setup: Setup) -> (Arc<Self>, Router) {
        let guard = Guard::new(settings, setup.identity.is_open());
        let engine = setup.api.as_ref().map(|api| api.desk.engine());
        let metrics = Metrics::new(&setup.tracer, engine.map(|engine| engine.meter()));
        let engine = engine.map(Arc::clone);
        let door = Arc::new(Self {
            guard: ArcSwap::from_pointee(guard),
            identity: setup.identity,
            metrics,
            sessions: Sessions::new(setup.sessions_max),
            room: body::Room::default(),
            clock: setup.clock,
            ending: setup.ending,
            work: Work::default(),
            tracer: setup.tracer,
        });
        let (ending, closing) = (door.ending.clone(), door.work.closing.clone());
        tokio::spawn(Arc::clone(&door.sessions).sweep(ending, closing));
        let mut router = Router::new();
        for mount in setup.mounts {
            let serving = endpoint::Endpoint {
                door: Arc::clone(&door),
                service: mount.service,
            };
            let methods = get(endpoint::get)
                .post(endpoint::post)
                .delete(endpoint::delete)
                .with_state(serving);
            let methods = match mount.offered {
                Some(offered) => methods.layer(middleware::from_fn_with_state(offered, offers)),
                None => methods,
            };
            router = router.route(mount.path, methods);
        }
        if let Some(api) = setup.api {
            router = router.merge(api::routes(api, &door));
        }
        router = router
            .route(
                "/metrics",
                get(measurements).with_state((Arc::clone(&door), engine)),
            )
            .layer(middleware::from_fn_with_state(
                Arc::clone(&door),
                authenticate,
            ))
            .route("/healthz", get(|| async { "ok\n" }))
            .route("/readyz", get(ready).with_state(Arc::clone(&door)));
        for path in metadata::PATHS {
            router = router.route(path, get(metadata::show).with_state(Arc::clone(&door)));
        }
        let router = router
            .method_not_allowed_fallback(no_such_method)
            .fallback(nothing)
            .layer(middleware::from_fn_with_state(Arc::clone(&door), check));
        (door, router)
    }

    /// What is under way.
    pub fn work(&self) -> &Work {
        &self.work
    }

    /// Puts another configuration in place for the next request: who may come in and how, and how many
    /// sessions there may be. Where the door listens stays.
    pub fn put(&self, settings: &Settings, tokens: Option<Tokens>) {
        let guard = Guard::new(&settings.http, self.identity.is_open());
        self.guard.store(Arc::new(guard));
        self.identity.put(tokens, settings.policy.clone());
        let sessions = usize::try_from(settings.limits.sessions);
        self.sessions.bound(sessions.unwrap_or(usize::MAX));
    }
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Door").finish_non_exhaustive()
    }
}

/// Answers only while what is behind is offered.
async fn offers(State(offered): State<Offered>, request: Request, next: Next) -> Response {
    if offered() {
        return next.run(request).await;
    }
    (StatusCode::NOT_FOUND, NOTHING).into_response()
}

/// Says that a path is none of ours, in the words of the door that it was meant for.
async fn nothing(uri: Uri) -> Response {
    if uri.path().starts_with("/api/") {
        let why = "there is nothing here; /api/v1/openapi.json lists every path";
        return api::refused(StatusCode::NOT_FOUND, why);
    }
    (StatusCode::NOT_FOUND, NOTHING).into_response()
}

/// Says that a path is asked in another way; the header `Allow` has it.
async fn no_such_method(method: Method, uri: Uri) -> Response {
    let status = StatusCode::METHOD_NOT_ALLOWED;
    let why = format!("{method} is not answered here; the header Allow says what is");
    if uri.path().starts_with("/api/") {
        return api::refused(status, &why);
    }
    (status, format!("{why}\n")).into_response()
}

/// Lets in only requests that are meant for this door, and counts them.
async fn check(State(door): State<Arc<Door>>, request: Request, next: Next) -> Response {
    let _under_way = door.work.tasks.token();
    let path = metrics::label(request.uri().path());
    let is_api = request.uri().path().starts_with("/api/");
    let begun = tokio::time::Instant::now();
    let guard = door.guard.load_full();
    let sharing = Sharing::of(&guard, request.headers());
    let preflight = sharing.preflight(request.method(), request.headers());
    let mut response = match (guard.check(request.headers(), request.uri()), preflight) {
        (Ok(()), Some(preflight)) => preflight,
        (Ok(()), None) => next.run(request).await,
        (Err(why), _) if is_api => api::refused(StatusCode::FORBIDDEN, &why),
        (Err(why), _) => (StatusCode::FORBIDDEN, format!("{why}\n")).into_response(),
    };
    let nosniff = HeaderValue::from_static("nosniff");
    response
        .headers_mut()
        .insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    sharing.mark(response.headers_mut());
    door.metrics
        .count(path, response.status().as_u16(), begun.elapsed());
    response
}

/// Finds out who asks; whatever is behind gets the [`Caller`].
async fn authenticate(
    State(door): State<Arc<Door>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    mut request: Request,
    next: Next,
) -> Response {
    let now_ms = door.clock.now_ms();
    match door.identity.caller(request.headers(), peer, now_ms).await {
        Ok(caller) => {
            request.extensions_mut().insert(Arc::new(caller));
            next.run(request).await
        }
        Err(refused) => {
            let refusal = metadata::refusal(&door, request.headers(), request.uri(), &refused);
            if request.uri().path().starts_with("/api/") {
                return api::unauthorised(refusal, refused.why());
            }
            refusal
        }
    }
}

async fn ready(State(door): State<Arc<Door>>) -> (StatusCode, &'static str) {
    if door.ending.is_cancelled() {
        (StatusCode::SERVICE_UNAVAILABLE, "ending\n")
    } else {
        (StatusCode::OK, "ready\n")
    }
}

/// What was counted. Of servers only what the caller may know of, or whoever looks after the gateway.
async fn measurements(
    State((door, engine)): State<(Arc<Door>, Option<Arc<Engine>>)>,
    Extension(caller): Extension<Arc<Caller>>,
) -> Response {
    door.metrics.sessions(door.sessions.len());
    let is_admin = api::is_admin(&caller);
    let shows = |server: &str| {
        let shows = |engine: &Arc<Engine>| engine.shows(&caller, server);
        is_admin || engine.as_ref().is_some_and(shows)
    };
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], door.metrics.text(shows)).into_response()
}
