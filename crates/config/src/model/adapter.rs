//! A REST API whose operations become tools.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value as Json, json};
use toolcrib_core::canon;

use crate::placeholder::{SecretTemplate, Template};

/// A REST API, described by OpenAPI or a Postman collection.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Adapter {
    /// Path or address of the description; `~` is the home directory, a relative path starts at the configuration
    /// file, or where nothing stands there at the directory in which Toolcrib was started.
    pub spec: Template,
    /// A title for people.
    #[serde(default)]
    pub name: Option<String>,
    /// What it is for.
    #[serde(default)]
    pub description: Option<String>,
    /// Whether it is used at all.
    #[serde(default)]
    pub enabled: super::settings::On,
    /// Base address of the API, where the description's own is not wanted.
    #[serde(default)]
    pub base_url: Option<Template>,
    /// Variables of the server address that the description leaves open.
    #[serde(default)]
    pub server_variables: IndexMap<String, String>,
    /// How requests authenticate.
    #[serde(default)]
    pub auth: Option<AdapterAuth>,
    /// Headers for every request.
    #[serde(default)]
    pub headers: IndexMap<String, SecretTemplate>,
    /// Header in which the API takes idempotency keys.
    #[serde(default)]
    pub idempotency_header: Option<String>,
    /// What kind of service it is.
    #[serde(default)]
    pub category: Option<String>,
    /// What it can do, for `gateway.adapters`.
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// Countries it serves, as two-letter codes.
    #[serde(default)]
    pub countries: Vec<String>,
    /// Currencies it handles, as three-letter codes.
    #[serde(default)]
    pub currencies: Vec<String>,
    /// Address of the provider's documentation.
    #[serde(default)]
    pub documentation: Option<String>,
    /// Whether private and link-local addresses may be called.
    #[serde(default)]
    pub allow_private_addresses: bool,
    /// Further hosts from which parts of the description may be fetched.
    #[serde(default)]
    pub ref_hosts: Vec<String>,
    /// Folder that holds all files of the description; its own folder unless given.
    #[serde(default)]
    pub ref_folder: Option<Template>,
    /// Milliseconds that a call may take.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
}

impl Adapter {
    /// A hash of where the API and its description are and of how it is called, so that what was
    /// made of another entry is not taken for this one's. Titles and the like do not count.
    pub fn fingerprint(&self) -> String {
        let text = |template: &Template| template.exact().expose().to_owned();
        let secret = |template: &SecretTemplate| text(&template.0);
        let headers = self.headers.iter();
        let headers: Map<String, Json> = headers
            .map(|(name, value)| (name.clone(), secret(value).into()))
            .collect();
        let auth = self.auth.as_ref().map(AdapterAuth::exact);
        let value = json!({
            "adapter": text(&self.spec),
            "baseUrl": self.base_url.as_ref().map(text),
            "serverVariables": self.server_variables,
            "auth": auth,
            "headers": headers,
            "idempotencyHeader": self.idempotency_header,
            "allowPrivateAddresses": self.allow_private_addresses,
            "refHosts": self.ref_hosts,
            "refFolder": self.ref_folder.as_ref().map(text),
        });
        canon::params_hash(&value).to_string()
    }
}

/// How requests to an API authenticate.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct AdapterAuth {
    /// The kind; taken from the description unless given.
    #[serde(rename = "type")]
    pub kind: Option<AuthKind>,
    /// Environment variable that holds the secret.
    pub env: Option<String>,
    /// File that holds the secret.
    pub file: Option<String>,
    /// Command that prints the secret.
    pub command: Option<Vec<String>>,
    /// User name, for `basic`.
    pub username: Option<SecretTemplate>,
    /// Name of the header, query parameter or cookie, for `api-key`.
    pub name: Option<String>,
    /// Address of the token endpoint, for `oauth2`.
    pub token_url: Option<String>,
    /// Client id, for `oauth2`.
    pub client_id: Option<SecretTemplate>,
    /// Scopes to ask for, for `oauth2`.
    pub scopes: Vec<String>,
    /// Where the refresh token is that access tokens are had for, for `oauth2`.
    pub refresh_token: Option<SecretSource>,
    /// Credentials of their own for schemes of the description, by name.
    #[serde(deserialize_with = "flat_schemes")]
    pub schemes: IndexMap<String, AdapterAuth>,
}

impl AdapterAuth {
    /// Everything that it says, for a fingerprint.
    fn exact(&self) -> Json {
        let secret = |template: &SecretTemplate| template.0.exact().expose().to_owned();
        let schemes = self.schemes.iter();
        let schemes: Map<String, Json> = schemes
            .map(|(name, auth)| (name.clone(), auth.exact()))
            .collect();
        let refresh = self.refresh_token.as_ref();
        json!({
            "type": self.kind,
            "env": self.env,
            "file": self.file,
            "command": self.command,
            "username": self.username.as_ref().map(secret),
            "name": self.name,
            "tokenUrl": self.token_url,
            "clientId": self.client_id.as_ref().map(secret),
            "scopes": self.scopes,
            "refreshToken": refresh.map(|r| json!([r.env, r.file, r.command])),
            "schemes": schemes,
        })
    }

    /// Where its own secret is.
    pub fn source(&self) -> SecretSource {
        SecretSource {
            env: self.env.clone(),
            file: self.file.clone(),
            command: self.command.clone(),
        }
    }
}

/// Schemes have no schemes of their own: nothing would ever ask for them.
fn flat_schemes<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<IndexMap<String, AdapterAuth>, D::Error> {
    let schemes = IndexMap::<String, AdapterAuth>::deserialize(deserializer)?;
    match schemes.iter().find(|(_, auth)| !auth.schemes.is_empty()) {
        Some((name, _)) => Err(serde::de::Error::custom(format!(
            "`schemes.{name}` cannot hold schemes; put them beside it"
        ))),
        None => Ok(schemes),
    }
}

/// Where a secret is: in a variable, in a file, or with a command that prints it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretSource {
    /// Environment variable that holds it.
    pub env: Option<String>,
    /// File that holds it.
    pub file: Option<String>,
    /// Command that prints it.
    pub command: Option<Vec<String>>,
}

/// A kind of authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AuthKind {
    /// `Authorization: Bearer …`.
    Bearer,
    /// User name and password.
    Basic,
    /// A key in a header, query parameter or cookie.
    ApiKey,
    /// OAuth 2 client credentials.
    Oauth2,
    /// None.
    None,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_have_credentials_of_their_own_and_no_schemes() {
        let read = |auth: Json| serde_json::from_value::<AdapterAuth>(auth);
        let auth = read(json!({"schemes": {"key": {"env": "K", "type": "api-key"}}})).unwrap();
        assert_eq!(auth.schemes["key"].env.as_deref(), Some("K"));
        let nested = json!({"schemes": {"a": {"schemes": {"b": {"env": "K"}}}}});
        let why = read(nested).unwrap_err().to_string();
        assert!(why.contains("schemes.a"), "{why}");
    }

    #[test]
    fn the_fingerprint_changes_with_how_an_api_is_reached_and_with_nothing_else() {
        let of = |field: &str, value: Json| {
            let mut entry = json!({"spec": "shop.yaml"});
            entry[field] = value;
            let adapter: Adapter = serde_json::from_value(entry).unwrap();
            adapter.fingerprint()
        };
        let plain = of("spec", json!("shop.yaml"));
        let changes = [
            ("spec", json!("other.yaml")),
            ("baseUrl", json!("https://api.example.com")),
            ("serverVariables", json!({"region": "eu"})),
            ("auth", json!({"env": "A"})),
            ("auth", json!({"env": "A", "type": "basic"})),
            ("auth", json!({"env": "A", "username": "u"})),
            ("auth", json!({"env": "A", "clientId": "u"})),
            ("auth", json!({"command": ["pass", "shop"]})),
            ("auth", json!({"env": "A", "refreshToken": {"env": "R"}})),
            ("auth", json!({"env": "A", "refreshToken": {"file": "R"}})),
            (
                "auth",
                json!({"env": "A", "schemes": {"key": {"env": "K"}}}),
            ),
            ("headers", json!({"x-a": "1"})),
            ("idempotencyHeader", json!("Idempotency-Key")),
            ("allowPrivateAddresses", json!(true)),
            ("refHosts", json!(["example.com"])),
            ("refFolder", json!("specs")),
        ];
        let mut seen = vec![plain.clone()];
        for (field, value) in changes {
            let print = of(field, value.clone());
            assert!(!seen.contains(&print), "{field}: {value}");
            seen.push(print);
        }
        for (field, value) in [("name", "Shop"), ("description", "d"), ("category", "c")] {
            assert_eq!(of(field, json!(value)), plain, "{field}");
        }
    }
}
