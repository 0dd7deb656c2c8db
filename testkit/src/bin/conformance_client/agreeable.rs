//! Credentials of a person who agrees to every login that can help.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::Mutex;
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
pub(crate) struct Agreeable(Arc<Person>);

#[derive(Debug)]
struct Person {
    url: Url,
    memory: Arc<Memory>,
    oauth: OAuth,
    wishes: Wishes,
    past: Mutex<Past>,
}

/// What came of the logins so far. Whoever holds it is the only one who logs in.
#[derive(Debug, Default)]
struct Past {
    granted: Vec<String>,
    /// The scopes that were missed once: more cannot be had by asking for them again.
    missed: Vec<String>,
}

impl Agreeable {
    pub(crate) fn new(url: &Url, context: &Value) -> Self {
        let memory: Arc<Memory> = Arc::default();
        let text = |name: &str| context[name].as_str().map(str::to_owned);
        Self(Arc::new(Person {
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
            past: Mutex::default(),
        }))
    }
}

impl Person {
    async fn log_in(&self, refusal: &Refusal, past: &mut Past) -> Result<(), String> {
        let mut wishes = self.wishes.clone();
        wishes.challenge.clone_from(&refusal.challenge);
        if let Some(missing) = refusal.missing_scopes() {
            let missing = missing.split_whitespace().map(str::to_owned);
            let missing: Vec<String> = missing.collect();
            if missing.iter().all(|scope| past.missed.contains(scope)) {
                return Err("it was asked for what is missing already".to_owned());
            }
            past.missed.extend(missing.iter().cloned());
            // What was granted before is still needed.
            wishes.scopes.clone_from(&past.granted);
            wishes.scopes.extend(missing);
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
        past.granted = granted.scopes;
        Ok(())
    }

    /// Whether another request has led to other credentials since this one was sent.
    async fn is_outdated(&self, refusal: &Refusal) -> bool {
        let headers = self.oauth.headers().await.unwrap_or_default();
        let held = headers.iter().find(|(name, _)| name == "authorization");
        held.is_some_and(|(_, value)| refusal.sent.as_ref() != Some(value))
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

impl Person {
    /// Finds other credentials, by a login if need be.
    async fn settle(&self, refusal: &Refusal) -> Result<(), String> {
        let mut past = self.past.lock().await;
        if self.is_outdated(refusal).await {
            return Ok(());
        }
        if refusal.sent.is_some() && self.oauth.refused(refusal).await.is_ok() {
            return Ok(());
        }
        self.log_in(refusal, &mut past).await?;
        // The next request must not go with what was kept in memory before.
        let forget = Refusal {
            status: 403,
            before: 1,
            ..Refusal::default()
        };
        let _ = self.oauth.refused(&forget).await;
        Ok(())
    }
}

impl Authorisation for Agreeable {
    fn headers(&self) -> BoxFuture<'_, Result<SecretHeaders, Failure>> {
        self.0.oauth.headers()
    }

    fn refused<'a>(&'a self, refusal: &'a Refusal) -> BoxFuture<'a, Result<(), String>> {
        let (person, refusal) = (Arc::clone(&self.0), refusal.clone());
        // A person who has begun to log in goes on, though the request be given up meanwhile.
        let settling = tokio::spawn(async move { person.settle(&refusal).await });
        async move { settling.await.map_err(|error| error.to_string())? }.boxed()
    }
}
