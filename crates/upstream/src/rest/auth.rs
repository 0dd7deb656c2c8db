//! Credentials: which of an API's schemes they fit, and how they get onto a request.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use indexmap::IndexMap;
use serde_json::Value;
use toolcrib_core::limits::{ADAPTER_TOKEN_ANSWER_BYTES_MAX, ADAPTER_TOKEN_LEEWAY_MS};
use toolcrib_core::secret::Secret;
use url::Url;

use super::adapter::Api;
use super::failure::Failure;
use super::operation::{Operation, Spot};
use super::security::Scheme;
use super::style;
use super::wire::{Outgoing, Wire};

/// What kind of credential one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A token.
    Bearer,
    /// A user name and a password.
    Basic,
    /// A key.
    ApiKey,
    /// A client that gets tokens.
    OAuth2,
    /// None is sent.
    None,
}

/// One credential, its secrets resolved.
#[derive(Clone, Debug, Default)]
pub struct Credential {
    /// The kind; the description decides where it is not given.
    pub kind: Option<Kind>,
    /// The token, password, key or client secret.
    pub secret: Option<Secret>,
    /// The user name.
    pub username: Option<Secret>,
    /// The name of the header, query parameter or cookie of a key.
    pub name: Option<String>,
    /// Where tokens are had; the description decides where it is not given.
    pub token_url: Option<String>,
    /// The client that gets tokens.
    pub client_id: Option<Secret>,
    /// A token that others are had for.
    pub refresh_token: Option<Secret>,
    /// The scopes that tokens are asked for.
    pub scopes: Vec<String>,
}

/// All credentials for an API.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// The one for every scheme that it fits.
    pub usual: Option<Credential>,
    /// Those for schemes by name.
    pub schemes: IndexMap<String, Credential>,
}

impl Credentials {
    fn all(&self) -> impl Iterator<Item = &Credential> {
        self.usual.iter().chain(self.schemes.values())
    }

    /// Every secret that must not come back in an answer.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        self.all()
            .flat_map(|c| [&c.secret, &c.refresh_token].into_iter().flatten())
    }

    fn for_scheme(&self, name: &str, scheme: &Scheme) -> Option<&Credential> {
        let named = self.schemes.get(name);
        named.or_else(|| self.usual.as_ref().filter(|usual| fits(usual, scheme)))
    }

    /// The schemes to use for an operation with their credentials: the first alternative that there
    /// are credentials for, a password without a user name last.
    pub(super) fn chosen<'a>(
        &'a self,
        api: &'a Api,
        operation: &Operation,
    ) -> Vec<(String, Scheme, &'a Credential)> {
        let mut best: Option<(bool, Vec<_>)> = None;
        for alternative in operation.security.iter().filter(|any| !any.all.is_empty()) {
            let found: Option<Vec<_>> = alternative
                .all
                .iter()
                .map(|need| {
                    let scheme = api.schemes.get(&need.scheme)?;
                    let credential = self.for_scheme(&need.scheme, scheme)?;
                    Some((need.scheme.clone(), scheme.clone(), credential))
                })
                .collect();
            let Some(found) = found else { continue };
            let awkward = found
                .iter()
                .any(|(_, scheme, c)| *scheme == Scheme::Basic && c.username.is_none());
            if best.as_ref().is_none_or(|(worse, _)| *worse && !awkward) {
                best = Some((awkward, found));
            }
        }
        if let Some((_, found)) = best {
            return found;
        }
        self.stated(api, operation).into_iter().collect()
    }

    /// What the user says where the description is silent or of another opinion.
    fn stated(&self, api: &Api, operation: &Operation) -> Option<(String, Scheme, &Credential)> {
        let usual = self.usual.as_ref()?;
        let silent = operation.security.is_empty() && api.schemes.is_empty();
        let scheme = match usual.kind {
            Some(Kind::None) => return None,
            None if !silent => return None,
            None | Some(Kind::Bearer) => Scheme::Bearer,
            Some(Kind::Basic) => Scheme::Basic,
            Some(Kind::ApiKey) => Scheme::ApiKey {
                name: usual.name.clone().unwrap_or_else(|| "X-API-Key".to_owned()),
                spot: Spot::Header,
            },
            Some(Kind::OAuth2) => Scheme::OAuth2 {
                token_url: usual.token_url.clone(),
                client_credentials: true,
            },
        };
        Some(("configured".to_owned(), scheme, usual))
    }
}

fn fits(credential: &Credential, scheme: &Scheme) -> bool {
    match (credential.kind, scheme) {
        (Some(Kind::None), _) | (_, Scheme::Other) => false,
        (None, _)
        | (Some(Kind::Bearer | Kind::OAuth2), Scheme::Bearer | Scheme::OAuth2 { .. })
        | (Some(Kind::Basic), Scheme::Basic)
        | (Some(Kind::ApiKey), Scheme::ApiKey { .. }) => true,
        _ => false,
    }
}

/// Puts what a scheme wants onto a request. `token`: the access token, for schemes that take one.
pub(super) fn apply(
    request: &mut Outgoing,
    scheme: &Scheme,
    credential: &Credential,
    token: Option<&Secret>,
) -> Result<(), Failure> {
    let secret = credential.secret.as_ref().map_or("", Secret::expose);
    match scheme {
        Scheme::Bearer | Scheme::OAuth2 { .. } => {
            let token = token.map_or(secret, Secret::expose);
            set(
                &mut request.headers,
                header::AUTHORIZATION,
                &format!("Bearer {token}"),
            )
        }
        Scheme::Basic => {
            // With one secret and no user name, the secret is the user: so do APIs that take keys.
            let pair = match &credential.username {
                Some(user) => format!("{}:{secret}", user.expose()),
                None => format!("{secret}:"),
            };
            let value = format!("Basic {}", STANDARD.encode(pair));
            set(&mut request.headers, header::AUTHORIZATION, &value)
        }
        Scheme::ApiKey { name, spot } => {
            let name = credential.name.as_ref().unwrap_or(name);
            match spot {
                Spot::Query => {
                    let pair = format!("{}={}", style::escape_name(name), style::escape(secret));
                    let query = request.url.query().filter(|query| !query.is_empty());
                    let query = query.map_or_else(|| pair.clone(), |q| format!("{q}&{pair}"));
                    request.url.set_query(Some(&query));
                    Ok(())
                }
                Spot::Cookie => {
                    let pair = format!("{}={}", style::escape_name(name), style::escape(secret));
                    let known = request.headers.get(header::COOKIE);
                    let known = known.and_then(|value| value.to_str().ok());
                    let value = known.map_or_else(|| pair.clone(), |k| format!("{k}; {pair}"));
                    set(&mut request.headers, header::COOKIE, &value)
                }
                _ => {
                    let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| {
                        Failure::Configuration("the name of its key is not legal".to_owned())
                    })?;
                    set(&mut request.headers, name, secret)
                }
            }
        }
        Scheme::Other => Ok(()),
    }
}

/// Sets a header that no log shows.
pub(super) fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) -> Result<(), Failure> {
    let mut value = HeaderValue::from_str(value).map_err(|_| {
        Failure::Configuration(format!(
            "the secret for {name} holds a line break; check it"
        ))
    })?;
    value.set_sensitive(true);
    headers.insert(name, value);
    Ok(())
}

/// Access tokens, kept until shortly before they end.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    kept: Mutex<HashMap<String, (Secret, i64)>>,
}

impl Tokens {
    /// The token for a scheme, fetched where none is kept; none where the secret is itself one.
    pub(super) async fn get(
        &self,
        wire: &Wire,
        name: &str,
        scheme: &Scheme,
        credential: &Credential,
        now_ms: i64,
    ) -> Result<Option<Secret>, Failure> {
        let Scheme::OAuth2 { token_url, .. } = scheme else {
            return Ok(None);
        };
        let Some(client) = &credential.client_id else {
            return Ok(None);
        };
        if let Some((token, until_ms)) = self.lock().get(name)
            && now_ms < *until_ms
        {
            return Ok(Some(token.clone()));
        }
        let url = credential.token_url.as_ref().or(token_url.as_ref());
        let url = url.and_then(|url| Url::parse(url).ok()).ok_or_else(|| {
            Failure::Token("no token address is known; set auth.tokenUrl".to_owned())
        })?;
        let (token, lasts_ms) = fetch(wire, &url, client, credential).await?;
        let until_ms = now_ms.saturating_add(lasts_ms - ADAPTER_TOKEN_LEEWAY_MS);
        self.lock()
            .insert(name.to_owned(), (token.clone(), until_ms));
        Ok(Some(token))
    }

    /// Forgets a token that was refused.
    pub(super) fn forget(&self, name: &str) -> bool {
        self.lock().remove(name).is_some()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, (Secret, i64)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long a token lasts whose answer does not say so.
const TOKEN_MS_DEFAULT: i64 = 5 * 60 * 1_000;
/// How long a token request may take.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(15);

async fn fetch(
    wire: &Wire,
    url: &Url,
    client: &Secret,
    credential: &Credential,
) -> Result<(Secret, i64), Failure> {
    let secret = credential.secret.as_ref().map_or("", Secret::expose);
    let mut form = match &credential.refresh_token {
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
    let mut said = String::new();
    // Some servers read the client from the header, others from the body.
    for in_body in [false, true] {
        let mut headers = HeaderMap::new();
        let media = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(header::CONTENT_TYPE, media);
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        let mut body = form.clone();
        let (client, secret) = (style::escape(client.expose()), style::escape(secret));
        if in_body {
            let _ = write!(body, "&client_id={client}&client_secret={secret}");
        } else {
            let pair = STANDARD.encode(format!("{client}:{secret}"));
            set(
                &mut headers,
                header::AUTHORIZATION,
                &format!("Basic {pair}"),
            )?;
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
        let token = value.get("access_token").and_then(Value::as_str);
        if let (true, Some(token)) = (answer.status.is_success(), token) {
            let lasts = value.get("expires_in").and_then(Value::as_i64);
            let lasts_ms = lasts.map_or(TOKEN_MS_DEFAULT, |seconds| seconds.saturating_mul(1_000));
            return Ok((Secret::new(token), lasts_ms));
        }
        let error = value
            .get("error")
            .and_then(Value::as_str)
            .unwrap_or("no reason");
        said = format!(
            "{} answered HTTP {} ({})",
            url.host_str().unwrap_or_default(),
            answer.status.as_u16(),
            super::library::brief(error)
        );
        if !matches!(answer.status.as_u16(), 400 | 401) {
            break;
        }
    }
    Err(Failure::Token(format!(
        "{said}; check the client and its secret"
    )))
}
