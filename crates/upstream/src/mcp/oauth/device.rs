//! Logging in on another device: a short code is shown here and entered there (RFC 8628).

use std::sync::Arc;
use std::time::Duration;

use rmcp::transport::auth::{OAuthTokenResponse, StoredCredentials};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::Instant;
use toolcrib_core::limits::{
    AUTHORIZATION_SERVER_MS_MAX, DEVICE_POLL_S_MAX, DEVICE_POLL_S_MIN, HTTP_REFUSAL_BYTES_MAX,
    LOGIN_MS_MAX,
};
use url::Url;

use super::super::credential::is_private;
use super::super::http::excerpt;
use super::keeper::{Keeper, Registered};
use super::login::{Found, Granted, LoginError, Wishes, client, find, scopes};
use super::{TokenStore, now_s};

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// What to wait between two questions when the server does not say.
const POLL_S_DEFAULT: u64 = 5;

/// What the person is shown.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct DeviceCode {
    /// The code to enter.
    pub user_code: String,
    /// Where to enter it.
    pub verification_uri: String,
    /// The same place with the code filled in.
    #[serde(default)]
    pub verification_uri_complete: Option<String>,
    #[serde(rename = "device_code")]
    asked_with: String,
    #[serde(default)]
    expires_in: Option<u64>,
    #[serde(default)]
    interval: Option<u64>,
}

/// A login that waits for its person on another device.
pub struct DeviceLogin {
    http: reqwest::Client,
    keeper: Keeper,
    code: DeviceCode,
    token_endpoint: Url,
    client_id: String,
    client_secret: Option<String>,
    resource: String,
    granted: Granted,
}

impl std::fmt::Debug for DeviceLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceLogin")
            .field("granted", &self.granted)
            .finish_non_exhaustive()
    }
}

impl DeviceLogin {
    /// Asks for a code. `None`: the authorization server knows no such logins.
    pub async fn begin(
        server: &str,
        url: &Url,
        tokens: Arc<dyn TokenStore>,
        wishes: &Wishes,
    ) -> Result<Option<Self>, LoginError> {
        let keeper = Keeper::new(server, url, tokens);
        let Found {
            mut manager,
            metadata,
            ..
        } = find(url, &keeper, wishes.challenge.as_deref()).await?;
        let place = metadata
            .additional_fields
            .get("device_authorization_endpoint");
        let Some(place) = place.and_then(Value::as_str) else {
            return Ok(None);
        };
        let place = parse(place)?;
        let token_endpoint = parse(&metadata.token_endpoint)?;
        let scopes = scopes(&manager, &metadata, wishes).await;
        let client = client(&mut manager, &metadata, wishes, &scopes).await?;
        keeper.register(Registered {
            client_secret: client.client_secret.clone(),
            redirect_uri: client.redirect_uri.clone(),
        });
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(Duration::from_millis(AUTHORIZATION_SERVER_MS_MAX))
            .build()
            .map_err(|error| LoginError(error.to_string()))?;
        let mut form = vec![
            ("client_id", client.client_id.clone()),
            ("resource", url.to_string()),
        ];
        if !scopes.is_empty() {
            form.push(("scope", scopes.join(" ")));
        }
        let (status, text) = post(&http, &place, &form).await?;
        let code: DeviceCode = serde_json::from_slice(&text).map_err(|_| {
            let text = excerpt(&text, &[]);
            LoginError(format!(
                "the authorization server gave no code (HTTP {status}): {text}"
            ))
        })?;
        Ok(Some(Self {
            http,
            keeper,
            code,
            token_endpoint,
            client_id: client.client_id,
            client_secret: client.client_secret,
            resource: url.to_string(),
            granted: Granted {
                issuer: metadata.issuer,
                scopes,
            },
        }))
    }

    /// What the person is shown.
    pub fn code(&self) -> &DeviceCode {
        &self.code
    }

    /// Waits until the person is done, and keeps the tokens.
    pub async fn finish(self) -> Result<Granted, LoginError> {
        let longest = LOGIN_MS_MAX / 1_000;
        let lasts = self.code.expires_in.unwrap_or(longest).min(longest);
        let end = Instant::now() + Duration::from_secs(lasts);
        let mut pause_s = self.code.interval.unwrap_or(POLL_S_DEFAULT);
        loop {
            pause_s = pause_s.clamp(DEVICE_POLL_S_MIN, DEVICE_POLL_S_MAX);
            tokio::time::sleep(Duration::from_secs(pause_s)).await;
            if Instant::now() >= end {
                return Err(LoginError(
                    "nobody entered the code in time; try again".to_owned(),
                ));
            }
            let (_, text) = post(&self.http, &self.token_endpoint, &self.question()).await?;
            if let Ok(token) = serde_json::from_slice::<OAuthTokenResponse>(&text) {
                let credentials = StoredCredentials::new(
                    self.client_id,
                    Some(token),
                    self.granted.scopes.clone(),
                    Some(now_s()),
                )
                .with_issuer(self.granted.issuer.clone());
                self.keeper.write(credentials).await.map_err(LoginError)?;
                return Ok(self.granted);
            }
            let answer: Value = serde_json::from_slice(&text).unwrap_or_default();
            match answer["error"].as_str() {
                Some("authorization_pending") => {}
                Some("slow_down") => pause_s += POLL_S_DEFAULT,
                _ => {
                    let text = excerpt(&text, &[]);
                    return Err(LoginError(format!(
                        "the authorization server refused: {text}"
                    )));
                }
            }
        }
    }

    fn question(&self) -> Vec<(&'static str, String)> {
        let mut form = vec![
            ("grant_type", GRANT.to_owned()),
            ("device_code", self.code.asked_with.clone()),
            ("client_id", self.client_id.clone()),
            ("resource", self.resource.clone()),
        ];
        form.extend(
            self.client_secret
                .clone()
                .map(|secret| ("client_secret", secret)),
        );
        form
    }
}

fn parse(place: &str) -> Result<Url, LoginError> {
    let url = Url::parse(place).ok().filter(is_private);
    url.ok_or_else(|| {
        LoginError(
            "the authorization server names a place that secrets cannot be sent to".to_owned(),
        )
    })
}

async fn post(
    http: &reqwest::Client,
    place: &Url,
    form: &[(&'static str, String)],
) -> Result<(u16, Vec<u8>), LoginError> {
    let broken = |error: reqwest::Error| {
        LoginError(format!(
            "the authorization server cannot be reached: {}",
            error.without_url()
        ))
    };
    let request = http
        .post(place.clone())
        .header("accept", "application/json")
        .form(form);
    let mut response = request.send().await.map_err(broken)?;
    let status = response.status().as_u16();
    let mut text = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        if text.len() + chunk.len() > HTTP_REFUSAL_BYTES_MAX {
            return Err(LoginError(
                "the authorization server said too much".to_owned(),
            ));
        }
        text.extend_from_slice(&chunk);
    }
    Ok((status, text))
}
