//! A REST API whose operations become tools.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::placeholder::{SecretTemplate, Template};

/// A REST API, described by OpenAPI or a Postman collection.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Adapter {
    /// Path or address of the description.
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
    /// Milliseconds that a call may take.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
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
}

/// A kind of authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
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
