//! One request over HTTP and the beginning of its answer, credentials included.

use std::error::Error as _;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, LOCATION, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, Method, StatusCode};
use reqwest::Response;
use reqwest::redirect::{Attempt, Policy};
use toolcrib_core::limits::{
    HTTP_CONNECT_MS_MAX, HTTP_IDLE_CONNECTIONS_PER_HOST_MAX, HTTP_IDLE_MS_MAX, HTTP_REDIRECTS_MAX,
    HTTP_REFUSALS_MAX,
};
use toolcrib_core::secret::Secret;
use url::Url;

use super::super::Failure;
use super::super::authorisation::{Refusal, SecretHeaders};
use super::{Remote, answer};

/// The connections that all remote servers share. Cloning it is cheap and shares them too.
#[derive(Clone, Debug, Default)]
pub struct Client(Arc<OnceLock<reqwest::Client>>);

impl Client {
    /// A client without connections yet. Which authorities are trusted is read when it is first used:
    /// whoever has only local servers need not wait for it.
    pub fn new() -> Self {
        Self::default()
    }

    fn made(&self) -> Result<&reqwest::Client, Failure> {
        if let Some(made) = self.0.get() {
            return Ok(made);
        }
        let made = reqwest::Client::builder()
            .user_agent(concat!("toolcrib/", env!("CARGO_PKG_VERSION")))
            .tcp_nodelay(true)
            .connect_timeout(Duration::from_millis(HTTP_CONNECT_MS_MAX))
            .pool_idle_timeout(Duration::from_millis(HTTP_IDLE_MS_MAX))
            .pool_max_idle_per_host(HTTP_IDLE_CONNECTIONS_PER_HOST_MAX)
            .redirect(Policy::custom(stay))
            .build()
            .map_err(|error| {
                Failure::Unreachable(format!("no HTTP client could be made: {error}"))
            })?;
        Ok(self.0.get_or_init(|| made))
    }
}

/// Follows only what keeps method, body and origin: credentials never go to another place.
fn stay(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let keeps_method = matches!(
        attempt.status(),
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
    );
    let previous = attempt.previous();
    let keeps_origin = previous
        .first()
        .is_some_and(|first| first.origin() == attempt.url().origin());
    if keeps_method && keeps_origin && previous.len() <= HTTP_REDIRECTS_MAX {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

/// A request before it is sent; it may be sent twice.
#[derive(Clone, Debug)]
pub(crate) struct Draft<'a> {
    pub(crate) method: Method,
    pub(crate) url: &'a Url,
    pub(crate) accept: &'static str,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Option<Bytes>,
    /// How long the answer may take to begin.
    pub(crate) begins_within: Duration,
}

/// The beginning of an answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) response: Response,
    /// What must not appear in any text about it.
    pub(crate) secrets: Vec<Secret>,
}

/// Sends a request with the server's headers and credentials; again where other credentials are at hand
/// after a refusal.
pub(crate) async fn send(
    client: &Client,
    remote: &Remote,
    draft: &Draft<'_>,
) -> Result<Reply, Failure> {
    let mut before = 0;
    loop {
        let credentials = if draft.url.origin() == remote.url.origin() {
            remote.authorisation.headers().await?
        } else {
            SecretHeaders::new()
        };
        let response = once(client, draft, &credentials).await?;
        let reply = Reply {
            response,
            secrets: credentials.iter().map(|(_, value)| value.clone()).collect(),
        };
        let status = reply.response.status();
        if !matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Ok(reply);
        }
        let challenges = reply.response.headers().get_all(WWW_AUTHENTICATE);
        let challenges: Vec<&str> = challenges.iter().filter_map(|c| c.to_str().ok()).collect();
        let sent = credentials.iter().find(|(name, _)| *name == AUTHORIZATION);
        let refusal = Refusal {
            status: status.as_u16(),
            challenge: (!challenges.is_empty()).then(|| challenges.join(", ")),
            sent: sent.map(|(_, value)| value.clone()),
            before,
        };
        match remote.authorisation.refused(&refusal).await {
            Ok(()) if before < HTTP_REFUSALS_MAX => before += 1,
            Ok(()) => return Err(unauthorised(reply, "try again later").await),
            Err(remedy) => return Err(unauthorised(reply, &remedy).await),
        }
    }
}

/// What a refusal comes to: what to do, and what the server said.
async fn unauthorised(reply: Reply, remedy: &str) -> Failure {
    let said = answer::said(reply).await;
    Failure::Unauthorised(if said.is_empty() {
        remedy.to_owned()
    } else {
        format!("{remedy}; it said: {said}")
    })
}

async fn once(
    client: &Client,
    draft: &Draft<'_>,
    credentials: &SecretHeaders,
) -> Result<Response, Failure> {
    let mut request = client
        .made()?
        .request(draft.method.clone(), draft.url.clone())
        .header(ACCEPT, draft.accept);
    for (name, secret) in credentials {
        let mut value = HeaderValue::from_str(secret.expose()).map_err(|_| {
            Failure::Unauthorised(format!("the value of the header `{name}` holds characters that a header cannot have; correct it"))
        })?;
        value.set_sensitive(true);
        request = request.header(name, value);
    }
    for (name, value) in &draft.headers {
        request = request.header(name, value);
    }
    if let Some(body) = &draft.body {
        request = request
            .header(CONTENT_TYPE, "application/json")
            .body(body.clone());
    }
    match tokio::time::timeout(draft.begins_within, request.send()).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) if error.is_connect() => Err(Failure::Unreachable(cause(error))),
        Ok(Err(error)) if error.is_builder() => Err(Failure::Unreachable(cause(error))),
        Ok(Err(error)) => Err(Failure::Broken(cause(error))),
        Err(_) => Err(Failure::TimedOut(draft.begins_within)),
    }
}

/// What went wrong at the bottom, without the address, which may hold a secret.
pub(crate) fn cause(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(inner) = next {
        text = inner.to_string();
        next = inner.source();
    }
    text
}

/// Where a redirect that is not followed points to.
pub(crate) fn elsewhere(response: &Response) -> Option<String> {
    if !response.status().is_redirection() {
        return None;
    }
    let location = response.headers().get(LOCATION)?.to_str().ok()?;
    let url = response.url().join(location).ok()?;
    let host = url.host_str()?;
    let (scheme, path) = (url.scheme(), url.path());
    let port = url
        .port()
        .map(|port| format!(":{port}"))
        .unwrap_or_default();
    Some(format!(
        "it points to {scheme}://{host}{port}{path}, which is not followed; put that address into the configuration if it is right"
    ))
}
