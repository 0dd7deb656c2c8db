//! Tokens of authorization servers: kept for each server, renewed before they end, never shown.
//!
//! A person logs in once ([`Login`]); from then on [`OAuth`] gives the token to every request to the
//! server's address and renews it when it is about to end or was refused.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use http::header::AUTHORIZATION;
use rmcp::transport::auth::{AuthError, AuthorizationManager, OAuthClientConfig};
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;
use toolcrib_core::canon::Hash;
use toolcrib_core::limits::{TOKEN_RECHECK_MS, TOKEN_RENEWED_BEFORE_S};
use toolcrib_core::secret::Secret;
use url::Url;

use super::authorisation::{Authorisation, Refusal, SecretHeaders};
use super::credential::{Credentials, GENERIC_VARIABLE, Source};
use super::{Failure, lock};

mod device;
mod keeper;
mod login;

pub use device::{DeviceCode, DeviceLogin};
pub use login::{Granted, Login, LoginError, Wishes};

use keeper::{Keeper, Record};

/// Where tokens are kept. Records are opaque and secret; each belongs to one issuer and one server.
pub trait TokenStore: Send + Sync + fmt::Debug {
    /// The records of a server, the latest first.
    fn load<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Result<Vec<Kept>, String>>;

    /// Writes a record over the version that was read (`None`: there was none). `false`, and nothing is
    /// written, when somebody else was faster.
    fn save<'a>(
        &'a self,
        issuer: &'a str,
        server: &'a str,
        content: &'a Secret,
        read_version: Option<i64>,
    ) -> BoxFuture<'a, Result<bool, String>>;
}

/// A record as it is kept.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Who issued the tokens in it.
    pub issuer: String,
    /// The record.
    pub content: Secret,
    /// Counts the writes.
    pub version: i64,
}

/// What proves to a server who we are, once its credentials were chosen. A login comes before the token
/// that is for every server, and before nothing at all; `wanted` says that the configuration asks for one.
pub fn authorisation(
    server: &str,
    url: &Url,
    credentials: Credentials,
    tokens: Option<Arc<dyn TokenStore>>,
    wanted: bool,
) -> Arc<dyn Authorisation> {
    let generic = matches!(&credentials.source, Source::Variable(name) if name == GENERIC_VARIABLE);
    let vague = generic || matches!(credentials.source, Source::Nowhere | Source::Withheld(_));
    match tokens {
        Some(tokens) if vague || wanted && credentials.source != Source::Instead => {
            Arc::new(OAuth::new(server, url.clone(), tokens, credentials))
        }
        _ => Arc::new(credentials),
    }
}

/// The tokens of one server, given to its requests.
pub struct OAuth {
    server: String,
    url: Url,
    keeper: Keeper,
    otherwise: Credentials,
    last: Mutex<Option<(Token, Instant)>>,
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

/// What a request needs of a record.
#[derive(Clone)]
struct Token {
    access: Secret,
    /// When it is due to be renewed: some time before it ends, but well after it was given.
    due_s: Option<u64>,
    renewable: bool,
}

impl Token {
    fn of(record: &Record) -> Option<Self> {
        let token = serde_json::to_value(record.credentials.token_response.as_ref()?).ok()?;
        let lasts = token["expires_in"].as_u64();
        let since = record.credentials.token_received_at;
        Some(Self {
            access: Secret::new(token["access_token"].as_str()?),
            due_s: lasts.zip(since).map(|(lasts, since)| due(lasts, since)),
            renewable: token["refresh_token"].is_string(),
        })
    }

    fn is_due(&self, now_s: u64) -> bool {
        self.due_s.is_some_and(|due| due <= now_s)
    }

    fn header(&self) -> Secret {
        Secret::new(format!("Bearer {}", self.access.expose()))
    }
}

fn due(lasts_s: u64, since_s: u64) -> u64 {
    let before = TOKEN_RENEWED_BEFORE_S.min(lasts_s / 4);
    since_s.saturating_add(lasts_s - before)
}

impl OAuth {
    /// The tokens for a server at an address. Where nobody has logged in, `otherwise` is used.
    pub fn new(
        server: &str,
        url: Url,
        tokens: Arc<dyn TokenStore>,
        otherwise: Credentials,
    ) -> Self {
        Self {
            server: server.to_owned(),
            keeper: Keeper::new(server, &url, tokens),
            url,
            otherwise,
            last: Mutex::default(),
        }
    }

    async fn token(&self) -> Result<Option<Token>, Failure> {
        let recent = Duration::from_millis(TOKEN_RECHECK_MS);
        let last = lock(&self.last).clone();
        if let Some((token, read)) = last
            && read.elapsed() < recent
            && !token.is_due(now_s())
        {
            return Ok(Some(token));
        }
        let Some(token) = self.read().await? else {
            return Ok(None);
        };
        if token.is_due(now_s()) && token.renewable {
            return match self.renew(&token).await {
                Ok(token) => Ok(Some(token)),
                // It may still be accepted; if not, the refusal says what to do.
                Err(error) => {
                    tracing::warn!(server = %self.server, error, "the token could not be renewed");
                    Ok(Some(token))
                }
            };
        }
        Ok(Some(token))
    }

    async fn read(&self) -> Result<Option<Token>, Failure> {
        let record = self.keeper.latest().await.map_err(Failure::Unauthorised)?;
        let token = record.as_ref().and_then(|(record, _)| Token::of(record));
        let last = token.clone().map(|token| (token, Instant::now()));
        *lock(&self.last) = last;
        Ok(token)
    }

    /// Gets another token for the one that ended. Where another task or process was faster, takes theirs.
    async fn renew(&self, old: &Token) -> Result<Token, String> {
        let guard = self.keeper.renewing().await;
        let newer = |token: &Token| token.access != old.access;
        if let Some(token) = self.read().await.map_err(|f| f.to_string())?.filter(newer) {
            return Ok(token);
        }
        // Whoever asked may give up meanwhile. The server has taken the old refresh token back by then:
        // what it gives for it must be written all the same.
        let exchange = exchange(self.keeper.clone(), self.url.clone(), guard);
        let outcome = tokio::spawn(exchange).await;
        match self.read().await.map_err(|f| f.to_string())?.filter(newer) {
            Some(token) => Ok(token),
            None => Err(match outcome {
                Ok(Ok(())) => "the authorization server gave the same token again".to_owned(),
                Ok(Err(error)) => login::describe(&error),
                Err(_) => "the renewal was broken off".to_owned(),
            }),
        }
    }

    fn remedy(&self, refusal: &Refusal) -> String {
        let server = &self.server;
        match refusal.missing_scopes() {
            Some(scopes) if !scopes.is_empty() => {
                format!(
                    "it asks for the scope `{scopes}`; run `toolcrib login {server} --scope \"{scopes}\"`"
                )
            }
            Some(_) => format!("it asks for more scopes; run `toolcrib login {server} --scope …`"),
            None => format!("run `toolcrib login {server}`"),
        }
    }
}

/// Gets another token for the latest one and writes it; `guard` keeps others from doing the same.
async fn exchange(keeper: Keeper, url: Url, guard: OwnedMutexGuard<()>) -> Result<(), AuthError> {
    let store = |error| AuthError::CredentialStoreError(error);
    let record = keeper.latest().await.map_err(store)?;
    let Some((record, issuer)) = record else {
        return Err(AuthError::AuthorizationRequired);
    };
    let mut manager = AuthorizationManager::new(url).await?;
    manager.set_credential_store(keeper);
    let metadata = manager.resolve_metadata().await?.metadata;
    if let Some(current) = &metadata.issuer
        && *current != issuer
    {
        // A refresh token goes to nobody but the server that issued it.
        return Err(AuthError::AuthorizationServerMismatch {
            expected_issuer: issuer,
            received_issuer: current.clone(),
        });
    }
    login::check_places(&metadata)?;
    manager.set_metadata(metadata);
    let mut client = OAuthClientConfig::new(record.credentials.client_id, record.redirect_uri);
    client.client_secret = record.client_secret;
    manager.configure_client(client)?;
    manager.refresh_token().await?;
    drop(guard);
    Ok(())
}

impl Authorisation for OAuth {
    fn made_from(&self) -> Option<Hash> {
        // A login stands before the credentials, which alone are something else.
        let otherwise = self.otherwise.made_from()?;
        Some(Hash::of(format!("login {otherwise}").as_bytes()))
    }

    fn headers(&self) -> BoxFuture<'_, Result<SecretHeaders, Failure>> {
        async {
            let mut headers = self.otherwise.headers.clone();
            if let Some(token) = self.token().await? {
                headers.retain(|(name, _)| *name != AUTHORIZATION);
                headers.push((AUTHORIZATION, token.header()));
            }
            Ok(headers)
        }
        .boxed()
    }

    fn refused<'a>(&'a self, refusal: &'a Refusal) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let known = self.read().await.map_err(|failure| failure.to_string())?;
            let Some(token) = known else {
                return Err(self.otherwise.remedy(refusal));
            };
            // Somebody may have logged in, or renewed the token, since the request was sent.
            if refusal.sent.as_ref() != Some(&token.header()) && refusal.before == 0 {
                return Ok(());
            }
            let spent = refusal.status != 401 || refusal.before > 0 || !token.renewable;
            if spent {
                return Err(self.remedy(refusal));
            }
            match self.renew(&token).await {
                Ok(_) => Ok(()),
                Err(error) => Err(format!("{} ({error})", self.remedy(refusal))),
            }
        }
        .boxed()
    }
}

fn now_s() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_second()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_due_before_it_ends_and_after_it_was_given() {
        assert_eq!(due(3_600, 1_000), 1_000 + 3_600 - TOKEN_RENEWED_BEFORE_S);
        assert_eq!(due(40, 1_000), 1_030);
        assert_eq!(due(0, 1_000), 1_000);
        assert_eq!(due(u64::MAX, 1_000), u64::MAX);
    }
}
