//! Access tokens for credentials that are a client's: fetched, kept, renewed.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderValue, Method, header};
use serde_json::Value;
use toolcrib_core::limits::{ADAPTER_TOKEN_ANSWER_BYTES_MAX, ADAPTER_TOKEN_LEEWAY_MS};
use toolcrib_core::secret::Secret;
use url::{Host, Url};

use super::auth::{self, Credential};
use super::failure::Failure;
use super::mask::Masks;
use super::security::Scheme;
use super::style;
use super::wire::{Outgoing, Wire};

/// How long a token lasts whose answer does not say so.
const TOKEN_MS_DEFAULT: i64 = 5 * 60 * 1_000;
/// How long a token request may take.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(15);

/// Access tokens, kept until shortly before they end, and the refresh tokens that came with them.
#[derive(Debug, Default)]
pub struct Tokens {
    kept: Mutex<Kept>,
    /// One request at a time: a refresh token that is used twice is refused the second time.
    asking: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Kept {
    access: HashMap<String, (Secret, i64)>,
    /// Refresh tokens as they are configured, each with the one that took its place.
    rotated: Vec<(Secret, Secret)>,
}

/// What the token endpoint gave.
struct Grant {
    access: Secret,
    lasts_ms: i64,
    refresh: Option<Secret>,
}

impl Tokens {
    /// The token for a scheme, fetched where none is kept; none where the secret is itself one.
    /// `base`: the address of the API, which the address of the token endpoint may be relative to.
    pub(super) async fn get(
        &self,
        wire: &Wire,
        (name, scheme, credential): (&str, &Scheme, &Credential),
        base: &Url,
        now_ms: i64,
    ) -> Result<Option<Secret>, Failure> {
        let declared = match scheme {
            Scheme::OAuth2 { token_url, .. } => token_url.as_ref(),
            Scheme::Bearer => None,
            _ => return Ok(None),
        };
        if !credential.gets_tokens() {
            return Ok(None);
        }
        let kept = |now_ms| {
            let kept = self.lock();
            let (token, until_ms) = kept.access.get(name)?;
            (now_ms < *until_ms).then(|| token.clone())
        };
        if let Some(token) = kept(now_ms) {
            return Ok(Some(token));
        }
        let _asking = self.asking.lock().await;
        if let Some(token) = kept(now_ms) {
            return Ok(Some(token));
        }
        let url = address(credential.token_url.as_ref().or(declared), base)?;
        let refresh = credential.refresh_token.as_ref();
        let current = refresh.map(|first| self.current(first));
        let grant = fetch(wire, &url, credential, current.as_ref()).await?;
        let until_ms = now_ms.saturating_add(grant.lasts_ms - ADAPTER_TOKEN_LEEWAY_MS);
        let mut kept = self.lock();
        kept.access
            .insert(name.to_owned(), (grant.access.clone(), until_ms));
        if let (Some(first), Some(next)) = (refresh, grant.refresh) {
            kept.rotated.retain(|(known, _)| known != first);
            kept.rotated.push((first.clone(), next));
        }
        Ok(Some(grant.access))
    }

    /// Forgets a token that was refused.
    pub(super) fn forget(&self, name: &str) -> bool {
        self.lock().access.remove(name).is_some()
    }

    fn current(&self, first: &Secret) -> Secret {
        let kept = self.lock();
        let next = kept.rotated.iter().find(|(known, _)| known == first);
        next.map_or(first, |(_, next)| next).clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The address of the token endpoint. A client's secret goes over HTTPS, within this machine, or
/// in the clear where the user has the API itself called so.
fn address(text: Option<&String>, base: &Url) -> Result<Url, Failure> {
    let wrong = |why: &str| Failure::Token(format!("{why}; set auth.tokenUrl"));
    let text = text.ok_or_else(|| wrong("no token address is known"))?;
    let mut below = base.clone();
    if !below.path().ends_with('/') {
        below.set_path(&format!("{}/", base.path()));
    }
    let url = below.join(text).ok().filter(Url::has_host);
    let url = url.ok_or_else(|| wrong("its token address is not legal"))?;
    let loopback = match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    let clear = url.scheme() == "http" && (loopback || base.scheme() == "http");
    if url.scheme() == "https" || clear {
        return Ok(url);
    }
    Err(wrong(
        "its token address is not https, and secrets are not sent over it",
    ))
}

async fn fetch(
    wire: &Wire,
    url: &Url,
    credential: &Credential,
    refresh: Option<&Secret>,
) -> Result<Grant, Failure> {
    let mut form = match refresh {
        Some(token) => format!(
            "grant_type=refresh_token&refresh_token={}",
            style::escape(token.expose())
        ),
        None => "grant_type=client_credentials".to_owned(),
    };
    if !credential.scopes.is_empty() {
        form.push_str("&scope=");
        form.push_str(&style::escape(&credential.scopes.join(" ")));
    }
    let client = credential
        .client_id
        .as_ref()
        .map(|id| style::escape(id.expose()));
    let secret = credential
        .secret
        .as_ref()
        .map(|s| style::escape(s.expose()));
    // Some servers read the client from the header, others from the body.
    let ways: &[bool] = match (&client, &secret) {
        (Some(_), Some(_)) => &[false, true],
        _ => &[true],
    };
    let masks = Masks::new(
        [&credential.secret, &credential.refresh_token]
            .into_iter()
            .flatten()
            .chain(refresh)
            .cloned(),
    );
    let mut said = String::new();
    for in_body in ways {
        let mut headers = HeaderMap::new();
        let media = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(header::CONTENT_TYPE, media);
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        let mut body = form.clone();
        match (&client, &secret) {
            (Some(client), Some(secret)) if !in_body => {
                let pair = STANDARD.encode(format!("{client}:{secret}"));
                let value = format!("Basic {pair}");
                auth::set(&mut headers, header::AUTHORIZATION, &value)?;
            }
            (client, secret) => {
                for (name, value) in [("client_id", client), ("client_secret", secret)] {
                    if let Some(value) = value {
                        let _ = write!(body, "&{name}={value}");
                    }
                }
            }
        }
        let request = Outgoing {
            method: Method::POST,
            url: url.clone(),
            headers,
            body: Some(body.into()),
        };
        let answer = wire
            .send(request, ADAPTER_TOKEN_ANSWER_BYTES_MAX, TOKEN_TIMEOUT)
            .await?;
        let value: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        if let Some(grant) = granted(&value).filter(|_| answer.status.is_success()) {
            return Ok(grant);
        }
        said = format!(
            "{} answered HTTP {} ({})",
            url.host_str().unwrap_or_default(),
            answer.status.as_u16(),
            super::library::brief(&masks.text(&reason(&value)))
        );
        if !matches!(answer.status.as_u16(), 400 | 401) {
            break;
        }
    }
    Err(Failure::Token(format!(
        "{said}; check the client, its secret and its refresh token"
    )))
}

fn granted(value: &Value) -> Option<Grant> {
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(Secret::new);
    // Some write the number as text.
    let lasts = value.get("expires_in");
    let lasts = lasts.and_then(|v| v.as_i64().or_else(|| v.as_str()?.parse().ok()));
    Some(Grant {
        access: text("access_token")?,
        lasts_ms: lasts.map_or(TOKEN_MS_DEFAULT, |seconds| seconds.saturating_mul(1_000)),
        refresh: text("refresh_token"),
    })
}

/// Why a token was refused, in the words of the server.
fn reason(value: &Value) -> String {
    let places = ["/error", "/error/message", "/error_description", "/message"];
    let texts = places
        .iter()
        .filter_map(|place| value.pointer(place)?.as_str());
    let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
    if texts.is_empty() {
        return "no reason".to_owned();
    }
    texts.join(": ")
}
