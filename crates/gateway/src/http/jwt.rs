//! Bearer tokens of an issuer: signed with its published keys, meant for us, not over.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use futures::StreamExt;
use jsonwebtoken::jwk::{Jwk, JwkSet};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde_json::{Map, Value};
use tokio::sync::Mutex;
use tokio::time::Instant;
use toolcrib_config::model::settings::Jwt;
use toolcrib_core::limits::{
    JWKS_BYTES_MAX, JWKS_REFETCH_MS, JWKS_RETRY_MS, JWKS_TIMEOUT_MS, JWKS_TTL_MS,
};

use super::identity::Refused;

/// How far clocks may be apart.
const LEEWAY_SECONDS: i64 = 60;

/// Signatures that need no secret of ours to check.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

/// What tokens are accepted.
pub struct Tokens {
    settings: Jwt,
    source: Source,
    /// The keys of the last fetch that gave any.
    keys: ArcSwapOption<Kept>,
    /// The last fetch; held while one is under way.
    fetched: Mutex<Option<Fetch>>,
}

enum Source {
    File(PathBuf),
    Address(Box<reqwest::Client>, url::Url),
}

struct Kept {
    set: JwkSet,
    at: Instant,
}

struct Fetch {
    at: Instant,
    failed: bool,
}

impl Fetch {
    /// Whether another one would be too soon.
    fn is_recent(&self) -> bool {
        let pause = if self.failed {
            JWKS_RETRY_MS
        } else {
            JWKS_REFETCH_MS
        };
        self.at.elapsed() < Duration::from_millis(pause)
    }
}

/// Whom a token speaks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The subject, with its issuer.
    pub subject: String,
    /// What it may do.
    pub scopes: Vec<String>,
}

impl Tokens {
    /// Tokens as the settings want them; a sentence where the settings cannot be used. A relative
    /// file starts at `base`.
    pub fn new(settings: &Jwt, base: &std::path::Path) -> Result<Self, String> {
        let source = match url::Url::parse(&settings.jwks) {
            Ok(address) if matches!(address.scheme(), "https" | "http") => {
                let local = address.host_str().is_some_and(super::guard::is_loopback);
                if address.scheme() == "http" && !local {
                    return Err("http.jwt.jwks must be an https address or a file".to_owned());
                }
                let client = reqwest::Client::builder()
                    .timeout(Duration::from_millis(JWKS_TIMEOUT_MS))
                    .redirect(reqwest::redirect::Policy::limited(3))
                    .build()
                    .map_err(|error| {
                        format!("the keys of the issuer cannot be fetched: {error}")
                    })?;
                Source::Address(Box::new(client), address)
            }
            _ => Source::File(base.join(&settings.jwks)),
        };
        Ok(Self {
            settings: settings.clone(),
            source,
            keys: ArcSwapOption::empty(),
            fetched: Mutex::default(),
        })
    }

    /// Whether these are the same tokens from the same issuer.
    pub fn is_like(&self, other: &Self) -> bool {
        let same_source = match (&self.source, &other.source) {
            (Source::File(one), Source::File(other)) => one == other,
            (Source::Address(_, one), Source::Address(_, other)) => one == other,
            _ => false,
        };
        same_source && self.settings == other.settings
    }

    /// The issuer.
    pub fn issuer(&self) -> &str {
        &self.settings.issuer
    }

    /// Whom tokens must be meant for.
    pub fn audience(&self) -> &str {
        &self.settings.audience
    }

    /// Checks a token.
    pub async fn check(&self, token: &str, now_ms: i64) -> Result<Token, Refused> {
        let wrong = |why: &str| Refused::Invalid(why.to_owned());
        let header = decode_header(token)
            .map_err(|_| wrong("this is no key or token that is known here"))?;
        if !ALGORITHMS.contains(&header.alg) {
            return Err(wrong("tokens must be signed with a published key"));
        }
        let key = self.key(header.kid.as_deref()).await?;
        let key = DecodingKey::from_jwk(&key)
            .map_err(|_| wrong("the key of the token cannot be used"))?;
        let mut validation = Validation::new(header.alg);
        validation.set_audience(&[&self.settings.audience]);
        validation.set_issuer(&[&self.settings.issuer]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        validation.validate_exp = false;
        let claims = decode::<Map<String, Value>>(token, &key, &validation)
            .map_err(|error| Refused::Invalid(format!("the token is not accepted: {error}")))?
            .claims;
        self.read(&claims, now_ms)
    }

    fn read(&self, claims: &Map<String, Value>, now_ms: i64) -> Result<Token, Refused> {
        let wrong = |why: &str| Refused::Invalid(why.to_owned());
        let now = now_ms / 1_000;
        let seconds = |name: &str| claims.get(name).and_then(Value::as_f64);
        #[expect(clippy::cast_precision_loss, reason = "seconds of this age fit")]
        let (earliest, latest) = ((now - LEEWAY_SECONDS) as f64, (now + LEEWAY_SECONDS) as f64);
        if seconds("exp").is_none_or(|end| end <= earliest) {
            return Err(wrong("the token is over; get a new one"));
        }
        if seconds("nbf").is_some_and(|begin| begin > latest) {
            return Err(wrong("the token is not valid yet"));
        }
        let subject = claims
            .get("sub")
            .and_then(Value::as_str)
            .filter(|sub| !sub.is_empty());
        let subject = subject.ok_or_else(|| wrong("the token names no subject"))?;
        let scopes = match claims.get(&self.settings.scope_claim) {
            Some(Value::String(text)) => text.split_whitespace().map(str::to_owned).collect(),
            Some(Value::Array(items)) => items
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            _ => Vec::new(),
        };
        Ok(Token {
            subject: format!("{}#{subject}", self.settings.issuer),
            scopes,
        })
    }

    /// The key of an id; keys are fetched again where it is not among those that are kept, or these are old.
    ///
    /// Only one fetch is under way at a time, and only who needs its outcome waits for it: tokens that name
    /// keys nobody has must not hold up those of everybody else.
    async fn key(&self, id: Option<&str>) -> Result<Jwk, Refused> {
        if let (Some(key), true) = self.kept(id) {
            return Ok(key);
        }
        let mut fetched = match (self.fetched.try_lock(), self.kept(id).0) {
            (Ok(fetched), _) => fetched,
            // Keys that were good until now are better than waiting.
            (Err(_), Some(old)) => return Ok(old),
            (Err(_), None) => self.fetched.lock().await,
        };
        // Whoever waited finds what the one before fetched.
        let (old, fresh) = self.kept(id);
        let is_recent = fetched.as_ref().is_some_and(Fetch::is_recent);
        if !fresh && !is_recent {
            let came = self.fetch().await;
            *fetched = Some(Fetch {
                at: Instant::now(),
                failed: came.is_err(),
            });
            match came {
                Ok(set) => {
                    let at = Instant::now();
                    self.keys.store(Some(Arc::new(Kept { set, at })));
                    return self.kept(id).0.ok_or_else(unknown_key);
                }
                Err(why) => tracing::error!(
                    issuer = self.settings.issuer,
                    why,
                    "the keys of the issuer cannot be read"
                ),
            }
        }
        let failed = fetched.as_ref().is_some_and(|last| last.failed);
        // Keys that were good until now are better than none.
        old.ok_or_else(|| {
            if failed {
                Refused::Unavailable
            } else {
                unknown_key()
            }
        })
    }

    /// The key of an id among those that are kept, and whether these are fresh.
    fn kept(&self, id: Option<&str>) -> (Option<Jwk>, bool) {
        let Some(kept) = self.keys.load_full() else {
            return (None, false);
        };
        let is_fresh = kept.at.elapsed() < Duration::from_millis(JWKS_TTL_MS);
        let key = find(&kept.set, id);
        let is_fresh = is_fresh && key.is_some();
        (key, is_fresh)
    }

    async fn fetch(&self) -> Result<JwkSet, String> {
        let text = match &self.source {
            Source::File(path) => {
                let read = tokio::fs::read(path).await;
                read.map_err(|error| format!("{}: {error}", path.display()))?
            }
            Source::Address(client, address) => {
                let asked = client.get(address.clone()).send().await;
                let response = asked.and_then(reqwest::Response::error_for_status);
                let response = response.map_err(|error| error.without_url().to_string())?;
                let mut body = response.bytes_stream();
                let mut text = Vec::new();
                while let Some(part) = body.next().await {
                    text.extend_from_slice(&part.map_err(|error| error.without_url().to_string())?);
                    if text.len() > JWKS_BYTES_MAX {
                        break;
                    }
                }
                text
            }
        };
        if text.len() > JWKS_BYTES_MAX {
            return Err(format!("they are longer than {JWKS_BYTES_MAX} bytes"));
        }
        readable(&text)
    }
}

/// The keys of a set that can be read; others are left out.
fn readable(text: &[u8]) -> Result<JwkSet, String> {
    let set: Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    let items = set.get("keys").and_then(Value::as_array);
    let items = items.ok_or("there is no list `keys`")?;
    let keys = items
        .iter()
        .filter_map(|item| serde_json::from_value(item.clone()).ok())
        .filter(|key| DecodingKey::from_jwk(key).is_ok());
    Ok(JwkSet {
        keys: keys.collect(),
    })
}

fn find(set: &JwkSet, id: Option<&str>) -> Option<Jwk> {
    if let Some(id) = id {
        return set.find(id).cloned();
    }
    // Without an id there must be no choice.
    let ids: HashSet<_> = set.keys.iter().map(|key| &key.common.key_id).collect();
    set.keys.first().filter(|_| ids.len() == 1).cloned()
}

fn unknown_key() -> Refused {
    Refused::Invalid("the token is signed with a key that its issuer does not publish".to_owned())
}

#[cfg(test)]
mod tests;
