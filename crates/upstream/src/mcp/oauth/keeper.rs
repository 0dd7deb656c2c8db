//! One server's tokens in the token store, as the authorization client wants to see them.

use std::sync::{Arc, Mutex};

use rmcp::transport::auth::{AuthError, CredentialStore, StoredCredentials};
use serde::{Deserialize, Serialize};
use tokio::sync::OwnedMutexGuard;
use toolcrib_core::secret::Secret;
use url::Url;

use super::TokenStore;
use crate::mcp::lock;

/// How often a write is tried again because another process was faster.
const WRITES_MAX: usize = 4;

/// What is kept of a login.
#[derive(Serialize, Deserialize)]
pub(super) struct Record {
    /// The address of the server that the tokens are for; they go nowhere else.
    pub(super) resource: String,
    /// The secret of the client, where the authorization server gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) client_secret: Option<String>,
    /// Where the browser was sent back to.
    pub(super) redirect_uri: String,
    /// The tokens and the client that they were given to.
    pub(super) credentials: StoredCredentials,
}

/// The client that a login registered.
#[derive(Clone, Default)]
pub(super) struct Registered {
    pub(super) client_secret: Option<String>,
    pub(super) redirect_uri: String,
}

/// The records of one server.
#[derive(Clone)]
pub(super) struct Keeper {
    server: Arc<str>,
    resource: Arc<str>,
    origin: Arc<str>,
    tokens: Arc<dyn TokenStore>,
    registered: Arc<Mutex<Option<Registered>>>,
    renewing: Arc<tokio::sync::Mutex<()>>,
}

impl Keeper {
    pub(super) fn new(server: &str, url: &Url, tokens: Arc<dyn TokenStore>) -> Self {
        Self {
            server: server.into(),
            resource: url.as_str().into(),
            origin: url.origin().ascii_serialization().into(),
            tokens,
            registered: Arc::default(),
            renewing: Arc::default(),
        }
    }

    /// Remembers the client under which the next tokens are written.
    pub(super) fn register(&self, registered: Registered) {
        let mut slot = lock(&self.registered);
        *slot = Some(registered);
    }

    /// Lets one renewal happen at a time.
    pub(super) async fn renewing(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.renewing).lock_owned().await
    }

    /// The latest record for the address, and who issued it.
    pub(super) async fn latest(&self) -> Result<Option<(Record, String)>, String> {
        let kept = self.tokens.load(&self.server).await?;
        Ok(kept.into_iter().find_map(|kept| {
            let record: Record = serde_json::from_str(kept.content.expose()).ok()?;
            (record.resource == *self.resource).then_some((record, kept.issuer))
        }))
    }

    /// Writes tokens, over whatever there is of the same issuer.
    pub(super) async fn write(&self, credentials: StoredCredentials) -> Result<(), String> {
        let issuer = credentials
            .issuer
            .clone()
            .unwrap_or_else(|| self.origin.to_string());
        let registered = lock(&self.registered).clone();
        let registered = match registered {
            Some(registered) => registered,
            None => match self.latest().await? {
                Some((record, _)) => Registered {
                    client_secret: record.client_secret,
                    redirect_uri: record.redirect_uri,
                },
                None => Registered::default(),
            },
        };
        let record = Record {
            resource: self.resource.to_string(),
            client_secret: registered.client_secret,
            redirect_uri: registered.redirect_uri,
            credentials,
        };
        let content = serde_json::to_string(&record).map_err(|error| error.to_string())?;
        let content = Secret::new(content);
        for _ in 0..WRITES_MAX {
            let kept = self.tokens.load(&self.server).await?;
            let version = kept
                .iter()
                .find(|kept| kept.issuer == issuer)
                .map(|kept| kept.version);
            if self
                .tokens
                .save(&issuer, &self.server, &content, version)
                .await?
            {
                return Ok(());
            }
        }
        Err("other processes keep writing the same token; try again".to_owned())
    }
}

#[async_trait::async_trait]
impl CredentialStore for Keeper {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let latest = self
            .latest()
            .await
            .map_err(AuthError::CredentialStoreError)?;
        Ok(latest.map(|(record, _)| record.credentials))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        self.write(credentials)
            .await
            .map_err(AuthError::CredentialStoreError)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        // Tokens are removed when a person logs out, and never by a failing exchange.
        Ok(())
    }
}
