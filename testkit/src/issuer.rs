//! A stand-in for authorization servers: discovery, registration, codes, tokens, logins by device.
//!
//! Its n-th token is `access-N` and is renewed with `refresh-N`.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::Response;
use axum::routing::{get, post};
use serde_json::{Value, json};
use url::form_urlencoded;

/// How the stand-in behaves.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many seconds its tokens last.
    pub lasts_s: u64,
    /// Whether it knows logins by device.
    pub device: bool,
    /// What it does for clients that want to be registered.
    pub registration: Registration,
    /// Whether it refuses to renew tokens.
    pub refuses: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lasts_s: 3_600,
            device: false,
            registration: Registration::Public,
            refuses: false,
        }
    }
}

/// What becomes of clients that want to be registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registration {
    /// They are not.
    None,
    /// They get an id.
    Public,
    /// They get an id and a secret.
    Secret,
}

/// A form that came in at the token endpoint.
pub type Form = HashMap<String, String>;

/// A running stand-in; it ends when dropped.
#[derive(Debug)]
pub struct Issuer {
    /// Its address, which is its name too.
    pub origin: String,
    inner: Arc<Inner>,
    server: tokio::task::JoinHandle<()>,
}

#[derive(Debug)]
struct Inner {
    origin: String,
    settings: Settings,
    resource: Mutex<String>,
    issued: AtomicUsize,
    polls: AtomicUsize,
    forms: Mutex<Vec<(Form, Option<String>)>>,
}

impl Issuer {
    /// Starts a stand-in.
    pub async fn start(settings: Settings) -> io::Result<Self> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let origin = format!("http://{}", listener.local_addr()?);
        let inner = Arc::new(Inner {
            origin: origin.clone(),
            settings,
            resource: Mutex::default(),
            issued: AtomicUsize::new(0),
            polls: AtomicUsize::new(0),
            forms: Mutex::default(),
        });
        let app = Router::new()
            .route("/resource", get(resource))
            .route("/.well-known/oauth-authorization-server", get(metadata))
            .route("/register", post(register))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .route("/device", post(device))
            .with_state(Arc::clone(&inner));
        let server = tokio::spawn(async move {
            let _ = axum::serve(listener, app).await;
        });
        Ok(Self {
            origin,
            inner,
            server,
        })
    }

    /// What a server that trusts this issuer says in `WWW-Authenticate`.
    pub fn challenge(&self) -> String {
        format!(
            "Bearer resource_metadata=\"{}/resource\", scope=\"read\"",
            self.origin
        )
    }

    /// Names the server that its tokens are for.
    pub fn protect(&self, resource: &str) {
        resource.clone_into(&mut lock(&self.inner.resource));
    }

    /// The forms that came in at the token endpoint, with their `Authorization` header.
    pub fn forms(&self) -> Vec<(Form, Option<String>)> {
        lock(&self.inner.forms).clone()
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn reply(status: u16, body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::IM_A_TEAPOT);
    let kind = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

fn form(text: &[u8]) -> Form {
    form_urlencoded::parse(text).into_owned().collect()
}

async fn resource(State(inner): State<Arc<Inner>>) -> Response {
    let resource = lock(&inner.resource).clone();
    let body = json!({"resource": resource, "authorization_servers": [inner.origin]});
    reply(200, &body)
}

async fn metadata(State(inner): State<Arc<Inner>>) -> Response {
    let origin = &inner.origin;
    let mut body = json!({
        "issuer": origin,
        "authorization_endpoint": format!("{origin}/authorize"),
        "token_endpoint": format!("{origin}/token"),
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
        "scopes_supported": ["read", "write", "offline_access"],
    });
    if inner.settings.registration != Registration::None {
        body["registration_endpoint"] = format!("{origin}/register").into();
    }
    if inner.settings.device {
        body["device_authorization_endpoint"] = format!("{origin}/device").into();
    }
    reply(200, &body)
}

async fn register(State(inner): State<Arc<Inner>>, body: Bytes) -> Response {
    let mut body: Value = serde_json::from_slice(&body).unwrap_or_default();
    body["client_id"] = "client-1".into();
    if inner.settings.registration == Registration::Secret {
        body["client_secret"] = "client-secret".into();
    }
    reply(201, &body)
}

async fn authorize(State(inner): State<Arc<Inner>>, RawQuery(query): RawQuery) -> Response {
    let asked = form(query.unwrap_or_default().as_bytes());
    let value = |name: &str| asked.get(name).cloned().unwrap_or_default();
    if value("code_challenge_method") != "S256" || value("resource") != *lock(&inner.resource) {
        return reply(400, &json!({"error": "invalid_request"}));
    }
    let answer = form_urlencoded::Serializer::new(String::new())
        .append_pair("code", "code-1")
        .append_pair("state", &value("state"))
        .append_pair("iss", &inner.origin)
        .finish();
    let mut response = reply(302, &json!({}));
    let place = format!("{}?{answer}", value("redirect_uri"));
    if let Ok(place) = place.parse() {
        response.headers_mut().insert(header::LOCATION, place);
    }
    response
}

async fn token(
    State(inner): State<Arc<Inner>>,
    headers: header::HeaderMap,
    body: Bytes,
) -> Response {
    let asked = form(&body);
    let sent = headers.get(header::AUTHORIZATION);
    let sent = sent.and_then(|sent| sent.to_str().ok()).map(str::to_owned);
    lock(&inner.forms).push((asked.clone(), sent));
    let value = |name: &str| asked.get(name).map(String::as_str).unwrap_or_default();
    let issued = inner.issued.load(Ordering::SeqCst);
    let error = match value("grant_type") {
        "authorization_code" if value("code") == "code-1" && value("code_verifier").len() >= 43 => {
            None
        }
        "refresh_token" if inner.settings.refuses => Some("invalid_grant"),
        "refresh_token" if value("refresh_token") == format!("refresh-{issued}") => None,
        "urn:ietf:params:oauth:grant-type:device_code" => {
            let nth = inner.polls.fetch_add(1, Ordering::SeqCst);
            (nth == 0).then_some("authorization_pending")
        }
        _ => Some("invalid_grant"),
    };
    if let Some(error) = error {
        return reply(400, &json!({"error": error}));
    }
    let nth = inner.issued.fetch_add(1, Ordering::SeqCst) + 1;
    let body = json!({
        "access_token": format!("access-{nth}"),
        "refresh_token": format!("refresh-{nth}"),
        "token_type": "Bearer",
        "expires_in": inner.settings.lasts_s,
    });
    reply(200, &body)
}

async fn device(State(inner): State<Arc<Inner>>) -> Response {
    let body = json!({
        "device_code": "device-1",
        "user_code": "WDJB-MJHT",
        "verification_uri": format!("{}/activate", inner.origin),
        "expires_in": 120,
        "interval": 1,
    });
    reply(200, &body)
}
