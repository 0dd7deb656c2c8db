//! Logging in: from the server's address to tokens, by way of a person's browser.

use std::sync::Arc;

use rmcp::transport::auth::{
    AuthError, AuthorizationCallback, AuthorizationManager, AuthorizationMetadata,
    AuthorizationMetadataSource, OAuthClientConfig,
};
use toolcrib_core::secret::Secret;
use url::Url;

use super::super::credential::is_private;
use super::super::http::excerpt;
use super::TokenStore;
use super::keeper::{Keeper, Registered};

const CLIENT_NAME: &str = "Toolcrib";

/// What a login is to be like.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    /// Where the browser is sent back to: an address on this machine.
    pub redirect_uri: String,
    /// Scopes to ask for; empty: those that the server names.
    pub scopes: Vec<String>,
    /// A client that is registered already.
    pub client_id: Option<String>,
    /// Its secret.
    pub client_secret: Option<Secret>,
    /// An https address with the description of the client, for servers that take one as its id.
    pub client_metadata: Option<String>,
    /// What the server said in `WWW-Authenticate` when it refused a request.
    pub challenge: Option<String>,
}

/// Why a login failed, as one sentence that follows the server's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LoginError(pub(super) String);

impl From<AuthError> for LoginError {
    fn from(error: AuthError) -> Self {
        Self(describe(&error))
    }
}

/// What a login brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// Who issued the tokens.
    pub issuer: Option<String>,
    /// The scopes that were asked for.
    pub scopes: Vec<String>,
}

/// A login that waits for its person.
pub struct Login {
    manager: AuthorizationManager,
    address: String,
    granted: Granted,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login")
            .field("granted", &self.granted)
            .finish_non_exhaustive()
    }
}

impl Login {
    /// Finds the authorization server of a server, registers with it, and makes the address that the
    /// person opens.
    pub async fn begin(
        server: &str,
        url: &Url,
        tokens: Arc<dyn TokenStore>,
        wishes: &Wishes,
    ) -> Result<Self, LoginError> {
        let keeper = Keeper::new(server, url, tokens);
        let found = find(url, &keeper, wishes.challenge.as_deref()).await?;
        let Found {
            mut manager,
            metadata,
            published,
        } = found;
        let scopes = scopes(&manager, &metadata, wishes).await;
        let client = match client(&mut manager, &metadata, wishes, &scopes).await {
            Err(_) if !published => {
                return Err(LoginError(
                    "it offers no way to log in; give it a token in its headers instead".to_owned(),
                ));
            }
            client => client?,
        };
        keeper.register(Registered {
            client_secret: client.client_secret.clone(),
            redirect_uri: client.redirect_uri.clone(),
        });
        manager.configure_client(client)?;
        let names: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let address = manager.get_authorization_url(&names).await?;
        Ok(Self {
            manager,
            address,
            granted: Granted {
                issuer: metadata.issuer,
                scopes,
            },
        })
    }

    /// The address that the person opens.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The value by which the answer of this login is recognised.
    pub fn state(&self) -> Option<String> {
        let address = Url::parse(&self.address).ok()?;
        let mut pairs = address.query_pairs();
        pairs.find_map(|(name, value)| (name == "state").then(|| value.into_owned()))
    }

    /// Takes the address that the browser was sent back to, and keeps the tokens that it is worth.
    pub async fn finish(self, returned: &str) -> Result<Granted, LoginError> {
        let url = Url::parse(returned).map_err(|error| LoginError(error.to_string()))?;
        let value = |name: &str| {
            let mut pairs = url.query_pairs();
            pairs.find_map(|(key, value)| (key == name).then(|| value.into_owned()))
        };
        if self.state().is_none() || value("state") != self.state() {
            return Err(LoginError(
                "the answer belongs to another login; try again".to_owned(),
            ));
        }
        if let Some(error) = value("error") {
            let more = value("error_description").unwrap_or_default();
            let text = excerpt(format!("{error} {more}").as_bytes(), &[]);
            return Err(LoginError(format!(
                "the authorization server refused: {text}"
            )));
        }
        let callback = AuthorizationCallback::from_redirect_url(returned)?;
        let issuer = callback.issuer.as_deref();
        self.manager
            .exchange_code_for_token_with_issuer(&callback.code, &callback.csrf_token, issuer)
            .await?;
        Ok(self.granted)
    }
}

/// An authorization server that was found.
pub(super) struct Found {
    pub(super) manager: AuthorizationManager,
    pub(super) metadata: AuthorizationMetadata,
    /// Whether somebody published it, or it was only guessed.
    pub(super) published: bool,
}

pub(super) async fn find(
    url: &Url,
    keeper: &Keeper,
    challenge: Option<&str>,
) -> Result<Found, AuthError> {
    let mut manager = AuthorizationManager::new(url.clone()).await?;
    manager.set_credential_store(keeper.clone());
    let resolution = manager.resolve_metadata_from_challenge(challenge).await?;
    check_places(&resolution.metadata)?;
    manager.set_metadata(resolution.metadata.clone());
    Ok(Found {
        manager,
        metadata: resolution.metadata,
        published: resolution.source != AuthorizationMetadataSource::LegacyEndpointFallback,
    })
}

/// Codes, secrets and tokens go only where nobody can read them on the way.
pub(super) fn check_places(metadata: &AuthorizationMetadata) -> Result<(), AuthError> {
    let places = [&metadata.authorization_endpoint, &metadata.token_endpoint];
    for place in places.into_iter().chain(&metadata.registration_endpoint) {
        let url = Url::parse(place)?;
        if !matches!(url.scheme(), "http" | "https") || !is_private(&url) {
            return Err(AuthError::MetadataError(format!(
                "the authorization server wants secrets sent in the clear to {}",
                url.origin().ascii_serialization()
            )));
        }
    }
    Ok(())
}

pub(super) async fn scopes(
    manager: &AuthorizationManager,
    metadata: &AuthorizationMetadata,
    wishes: &Wishes,
) -> Vec<String> {
    if wishes.scopes.is_empty() {
        return manager.select_initial_scopes(&[]).await;
    }
    let mut scopes = wishes.scopes.clone();
    let offline = "offline_access".to_owned();
    let offered = metadata.scopes_supported.as_ref();
    if offered.is_some_and(|offered| offered.contains(&offline)) && !scopes.contains(&offline) {
        scopes.push(offline);
    }
    scopes
}

/// The client that logs in: a registered one, a described one, or one that registers itself.
pub(super) async fn client(
    manager: &mut AuthorizationManager,
    metadata: &AuthorizationMetadata,
    wishes: &Wishes,
    scopes: &[String],
) -> Result<OAuthClientConfig, AuthError> {
    let takes_address = metadata
        .additional_fields
        .get("client_id_metadata_document_supported")
        .and_then(serde_json::Value::as_bool)
        .unwrap_or(false);
    let described = wishes.client_metadata.as_ref().filter(|_| takes_address);
    if let Some(id) = wishes.client_id.as_ref().or(described) {
        let mut client = OAuthClientConfig::new(id, &wishes.redirect_uri);
        if wishes.client_id.is_some() {
            client.client_secret = wishes.client_secret.as_ref().map(|s| s.expose().to_owned());
        }
        return Ok(client);
    }
    let names: Vec<&str> = scopes.iter().map(String::as_str).collect();
    manager
        .register_client(CLIENT_NAME, &wishes.redirect_uri, &names)
        .await
}

/// An error of the authorization client in one bounded sentence.
pub(super) fn describe(error: &AuthError) -> String {
    let text = match error {
        AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_) => {
            "the login has ended; log in again".to_owned()
        }
        AuthError::PkceUnsupported => {
            "its authorization server cannot protect the login (PKCE with S256)".to_owned()
        }
        AuthError::RegistrationFailed(why) => format!(
            "its authorization server registers no clients by itself ({why}); give `--client-id`"
        ),
        other => other.to_string(),
    };
    excerpt(text.as_bytes(), &[])
}
