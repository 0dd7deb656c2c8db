//! Credentials of a person who agrees to every login.

use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use toolcrib_core::secret::Secret;
use toolcrib_testkit::tokens::Memory;
use toolcrib_upstream::mcp::Failure;
use toolcrib_upstream::mcp::authorisation::{Authorisation, Refusal, SecretHeaders};
use toolcrib_upstream::mcp::credential::Credentials;
use toolcrib_upstream::mcp::oauth::{Login, OAuth, Wishes};
use url::Url;

const SERVER: &str = "conformance";

/// Logs in whenever the server refuses.
#[derive(Debug)]
pub(crate) struct Agreeable {
    url: Url,
    memory: Arc<Memory>,
    oauth: OAuth,
    wishes: Wishes,
    scopes: Mutex<Vec<String>>,
}

impl Agreeable {
    pub(crate) fn new(url: &Url, context: &Value) -> Self {
        let memory: Arc<Memory> = Arc::default();
        let text = |name: &str| context[name].as_str().map(str::to_owned);
        Self {
            url: url.clone(),
            oauth: OAuth::new(
                SERVER,
                url.clone(),
                memory.clone(),
                Credentials::none(SERVER),
            ),
            memory,
            wishes: Wishes {
                redirect_uri: "http://127.0.0.1:3999/callback".to_owned(),
                client_id: text("client_id"),
                client_secret: text("client_secret").map(Secret::new),
                client_metadata: Some(
                    "https://conformance-test.local/client-metadata.json".to_owned(),
                ),
                ..Wishes::default()
            },
            scopes: Mutex::default(),
        }
    }

    async fn log_in(&self, refusal: &Refusal) -> Result<(), String> {
        let mut wishes = self.wishes.clone();
        wishes.challenge.clone_from(&refusal.challenge);
        if let Some(missing) = refusal.missing_scopes() {
            // What was granted before is still needed.
            let scopes = self.scopes.lock().unwrap_or_else(PoisonError::into_inner);
            wishes.scopes.clone_from(&scopes);
            wishes
                .scopes
                .extend(missing.split_whitespace().map(str::to_owned));
        }
        let login = Login::begin(SERVER, &self.url, self.memory.clone(), &wishes).await;
        let login = login.map_err(|error| error.to_string())?;
        let returned = browse(login.address())
            .await
            .map_err(|error| error.to_string())?;
        let granted = login
            .finish(&returned)
            .await
            .map_err(|error| error.to_string())?;
        *self.scopes.lock().unwrap_or_else(PoisonError::into_inner) = granted.scopes;
        Ok(())
    }
}

/// Does what a browser does with a server that asks nobody: it is sent back.
async fn browse(address: &str) -> anyhow::Result<String> {
    let browser = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()?;
    let response = browser.get(address).send().await?;
    let place = response.headers().get("location");
    let place = place
        .and_then(|place| place.to_str().ok())
        .map(str::to_owned);
    anyhow::Context::context(place, "the login leads nowhere")
}

impl Authorisation for Agreeable {
    fn headers(&self) -> BoxFuture<'_, Result<SecretHeaders, Failure>> {
        self.oauth.headers()
    }

    fn refused<'a>(&'a self, refusal: &'a Refusal) -> BoxFuture<'a, Result<(), String>> {
        async move {
            if refusal.sent.is_some() && self.oauth.refused(refusal).await.is_ok() {
                return Ok(());
            }
            self.log_in(refusal).await?;
            // The next request must not go with what was kept in memory before.
            let _ = self
                .oauth
                .refused(&Refusal {
                    status: 403,
                    before: 1,
                    ..Refusal::default()
                })
                .await;
            Ok(())
        }
        .boxed()
    }
}
