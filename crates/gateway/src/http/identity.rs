//! Who asks: the holder of an API key or a token, or somebody on this machine.

use std::net::SocketAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use axum::http::{HeaderMap, header};
use toolcrib_core::limits::BEARER_BYTES_MAX;
use toolcrib_core::policy::settings::PolicySettings;
use toolcrib_core::policy::{Caller, ScopeSet};
use toolcrib_core::secret::Secret;
use toolcrib_store::Store;

use super::jwt::Tokens;

/// How callers show who they are.
pub struct Identity {
    /// Whether callers on this machine need no credentials.
    open: bool,
    store: Option<Store>,
    terms: ArcSwap<Terms>,
}

/// What the configuration in place says of callers.
struct Terms {
    tokens: Option<Arc<Tokens>>,
    policy: PolicySettings,
}

/// Why somebody was not let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Credentials are missing.
    Missing,
    /// They are not accepted; why, in one sentence.
    Invalid(String),
    /// They cannot be checked now.
    Unavailable,
}

impl Refused {
    /// Why, in one sentence.
    pub fn why(&self) -> &str {
        match self {
            Refused::Unavailable => "credentials cannot be checked now; try again later",
            Refused::Missing => {
                "send an API key or a token as `Authorization: Bearer …`; `toolcrib keys create` makes keys"
            }
            Refused::Invalid(why) => why,
        }
    }
}

impl Identity {
    /// Callers on this machine need no credentials where `open`; API keys are those of `store`.
    pub fn new(
        open: bool,
        store: Option<Store>,
        tokens: Option<Tokens>,
        policy: PolicySettings,
    ) -> Self {
        Self {
            open,
            store,
            terms: ArcSwap::from_pointee(Terms {
                tokens: tokens.map(Arc::new),
                policy,
            }),
        }
    }

    /// Puts another configuration in place for the next request. An issuer that is as it was keeps the
    /// keys that were fetched.
    pub fn put(&self, tokens: Option<Tokens>, policy: PolicySettings) {
        let before = self.tokens();
        let tokens = tokens.map(|tokens| match before {
            Some(before) if before.is_like(&tokens) => before,
            _ => Arc::new(tokens),
        });
        self.terms.store(Arc::new(Terms { tokens, policy }));
    }

    /// Whether somebody may come in without credentials.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// What tokens are accepted, if any.
    pub fn tokens(&self) -> Option<Arc<Tokens>> {
        self.terms.load().tokens.clone()
    }

    /// Who asks.
    pub async fn caller(
        &self,
        headers: &HeaderMap,
        peer: SocketAddr,
        now_ms: i64,
    ) -> Result<Caller, Refused> {
        match presented(headers)? {
            Some(secret) => self.known(secret, now_ms).await,
            None if self.open
                && peer.ip().to_canonical().is_loopback()
                && !is_forwarded(headers) =>
            {
                Ok(Caller::loopback(&self.terms.load().policy))
            }
            None => Err(Refused::Missing),
        }
    }

    async fn known(&self, secret: Secret, now_ms: i64) -> Result<Caller, Refused> {
        let terms = self.terms.load_full();
        if let Some(store) = &self.store {
            let found = store.find_key(&secret, now_ms).await.map_err(|error| {
                tracing::error!(%error, "API keys cannot be read");
                Refused::Unavailable
            })?;
            if let Some(key) = found {
                let scopes = ScopeSet::from_texts(key.scopes.iter().map(String::as_str));
                return Ok(Caller::key(key.id, scopes, &terms.policy));
            }
        }
        let Some(tokens) = &terms.tokens else {
            return Err(Refused::Invalid(
                "this key is not known, or no longer; `toolcrib keys create` makes a new one"
                    .into(),
            ));
        };
        let token = tokens.check(secret.expose(), now_ms).await?;
        let scopes = ScopeSet::from_texts(token.scopes.iter().map(String::as_str));
        Ok(Caller::subject(token.subject, scopes, &terms.policy))
    }
}

/// The secret that a request shows.
fn presented(headers: &HeaderMap) -> Result<Option<Secret>, Refused> {
    let wrong = |why: &str| Refused::Invalid(why.to_owned());
    if let Some(key) = headers.get("x-api-key") {
        let key = key.to_str().map_err(|_| wrong("the key is not readable"))?;
        return Ok(Some(Secret::new(key.trim())));
    }
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        return Ok(None);
    };
    let text = value
        .to_str()
        .map_err(|_| wrong("the Authorization header is not readable"))?;
    let secret = text
        .split_once(' ')
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, secret)| secret.trim())
        .ok_or_else(|| {
            wrong("only bearer tokens are accepted; send the key as Authorization: Bearer KEY")
        })?;
    if secret.is_empty() || secret.len() > BEARER_BYTES_MAX {
        return Err(wrong("the bearer token is empty or too long"));
    }
    Ok(Some(Secret::new(secret)))
}

/// Whether a proxy stands before us, so that the peer says nothing about the caller.
fn is_forwarded(headers: &HeaderMap) -> bool {
    ["forwarded", "x-forwarded-for", "x-real-ip", "via"]
        .into_iter()
        .any(|name| headers.contains_key(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolcrib_core::policy::Principal;

    async fn ask(
        identity: &Identity,
        peer: &str,
        header: Option<(&'static str, &str)>,
    ) -> Result<Principal, Refused> {
        let mut headers = HeaderMap::new();
        if let Some((name, value)) = header {
            headers.insert(name, value.parse().unwrap());
        }
        let caller = identity.caller(&headers, peer.parse().unwrap(), 0).await?;
        Ok(caller.principal)
    }

    #[tokio::test]
    async fn only_callers_on_this_machine_need_no_credentials() {
        let open = Identity::new(true, None, None, PolicySettings::default());
        assert_eq!(
            ask(&open, "127.0.0.1:9", None).await,
            Ok(Principal::Loopback)
        );
        assert_eq!(
            ask(&open, "[::ffff:127.0.0.1]:9", None).await,
            Ok(Principal::Loopback)
        );
        assert_eq!(ask(&open, "10.0.0.1:9", None).await, Err(Refused::Missing));
        let proxied = Some(("x-forwarded-for", "10.0.0.1"));
        assert_eq!(
            ask(&open, "127.0.0.1:9", proxied).await,
            Err(Refused::Missing)
        );
        let closed = Identity::new(false, None, None, PolicySettings::default());
        assert_eq!(
            ask(&closed, "127.0.0.1:9", None).await,
            Err(Refused::Missing)
        );
    }

    #[tokio::test]
    async fn wrong_credentials_are_refused_though_none_would_do() {
        let open = Identity::new(true, None, None, PolicySettings::default());
        for header in [
            ("authorization", "Bearer tck_00"),
            ("authorization", "Basic dXNlcg=="),
            ("authorization", "Bearer "),
            ("authorization", "Bearer"),
            ("x-api-key", "tck_00"),
        ] {
            let refused = ask(&open, "127.0.0.1:9", Some(header)).await;
            assert!(matches!(refused, Err(Refused::Invalid(_))), "{header:?}");
        }
    }

    #[tokio::test]
    async fn the_holder_of_a_key_is_known_by_it() {
        let dir = tempfile::tempdir().unwrap();
        let options = toolcrib_store::SqliteOptions::new(dir.path().join("store.db"));
        let store = Store::open_sqlite(options, uuid::Uuid::now_v7())
            .await
            .unwrap();
        let new = toolcrib_store::key::NewKey {
            name: "ci".into(),
            scopes: vec!["*:read".into()],
            expires_ms: Some(1_000),
        };
        let (key, secret) = store.create_key(new, &[5; 32], 0).await.unwrap();
        let identity = Identity::new(false, Some(store), None, PolicySettings::default());
        let bearer = format!("bearer {}", secret.expose());
        let known = ask(&identity, "10.0.0.1:9", Some(("authorization", &bearer))).await;
        assert_eq!(known, Ok(Principal::Key(key.id.clone())));
        let known = ask(
            &identity,
            "10.0.0.1:9",
            Some(("x-api-key", secret.expose())),
        )
        .await;
        assert_eq!(known, Ok(Principal::Key(key.id)));
        let mut headers = HeaderMap::new();
        headers.insert("authorization", bearer.parse().unwrap());
        let late = identity
            .caller(&headers, "10.0.0.1:9".parse().unwrap(), 1_000)
            .await;
        assert!(matches!(late, Err(Refused::Invalid(_))));
    }
}
