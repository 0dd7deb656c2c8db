//! What the configuration says about policy, as plain data.
//!
//! Absent fields mean the defaults named on each field. Whether a server's own annotations are
//! believed is said where the server is defined (`trusted`), not here.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bucket::Rate;
use super::risk::Risk;
use super::scope::{Grant, Scope, ScopeSet};

/// The `policy` section of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PolicySettings {
    /// `strict`: a key for high and destructive tools, confirmation for destructive ones.
    /// `relaxed`: both for destructive tools only, and a key where nothing is known of a tool.
    /// Default: `relaxed` for the local person on stdio, `strict` for everyone else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Who can confirm a tool that needs it: `flag`, the caller itself with `confirmed: true`;
    /// `human`, only a person outside the conversation, by settling a challenge.
    /// Default: `flag` on stdio and for callers on loopback, `human` for callers with credentials
    /// under strict rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Confirmation>,
    /// Whether a client that can ask its person (MCP elicitation) settles a challenge with the
    /// answer. The client gives that answer, so a program that holds a key can give it by itself;
    /// with false only `toolcrib approve` and the REST API settle. Default: true.
    pub elicitation: bool,
    /// The scopes of a caller on loopback that presents no credentials. Default: `["*"]`.
    pub loopback_scopes: Vec<Grant>,
    /// Exempts `POST /api/adapters/{adapter}/tools/{tool}` from idempotency keys, for callers that
    /// cannot send the `Idempotency-Key` header; never from scopes, rules, confirmation or audit.
    /// Default: false.
    pub rest_compat: bool,
    /// Which tool definitions wait for a person: `off`, `changed`, `all`. Default: `changed`.
    pub approval: ApprovalMode,
    /// Refuses arguments that the tool's schema does not name, where the schema itself leaves that
    /// open. Default: as in `mode`, true for `strict`, false for `relaxed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strict_arguments: Option<bool>,
    /// How often callers, tools and servers may be called.
    pub rate_limits: RateLimits,
    /// Corrections to what is derived about tools. Of several that match a tool, the first that
    /// sets a field decides that field.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<Override>,
}

impl Default for PolicySettings {
    fn default() -> Self {
        Self {
            mode: None,
            confirmation: None,
            elicitation: true,
            loopback_scopes: ScopeSet::all().iter().cloned().collect(),
            rest_compat: false,
            approval: ApprovalMode::Changed,
            strict_arguments: None,
            rate_limits: RateLimits::default(),
            overrides: Vec::new(),
        }
    }
}

/// How much a caller must add to a risky request.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "PolicyMode")]
pub enum Mode {
    /// For a person's own stdio: a key and confirmation for destructive tools, and a key for tools
    /// of which nothing is known.
    Relaxed,
    /// A key for high and destructive tools, confirmation for destructive ones.
    Strict,
}

/// Who can confirm.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Confirmation {
    /// The caller itself, with `confirmed: true`.
    Flag,
    /// Only a person outside the conversation, by settling a challenge.
    Human,
}

/// Which tool definitions wait for a person before they can be run.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalMode {
    /// Nothing waits, except servers that came from the registry or by introspection.
    Off,
    /// The first list of a server that the user configured or trusted is accepted; later new,
    /// changed or renamed tools wait.
    #[default]
    Changed,
    /// Every tool of every server waits.
    All,
}

/// Rate limits; each is a token bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RateLimits {
    /// For each server, all callers together. Default: 10 a second, 20 at once.
    pub per_server: Rate,
    /// For each caller, all tools together. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_principal: Option<Rate>,
    /// Named buckets that `rateLimitBucket` refers to, for each caller; such as
    /// `payments_high_risk: { requests: 100, perSeconds: 60 }`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub buckets: BTreeMap<String, Rate>,
}

/// A correction to what is derived about some tools; fields left out stay as derived.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Override {
    /// Which tools, in the pattern language of `toolRules`; an empty list means every tool.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pattern: Vec<String>,
    /// Only tools of this server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The risk level, whatever else says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// Whether a key is needed, in strict and relaxed mode alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_required: Option<bool>,
    /// Whether confirmation is needed, in strict and relaxed mode alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmation_required: Option<bool>,
    /// Who can confirm these tools, whatever the section above says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Confirmation>,
    /// The scopes that a caller needs, all of them; an empty list means none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_scopes: Option<Vec<Scope>>,
    /// The named bucket of `rateLimits.buckets` that calls are taken from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_limit_bucket: Option<String>,
    /// Whether repeating a call has no further effect, so that it may be retried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// Whether what the tool does can be undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reversible: Option<bool>,
    /// How long a call may take, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub timeout_ms: Option<u64>,
    /// Whether it only ever adds to what holds without it, because it does not stand in the user's
    /// own file. Of what it says, what would ask less is left out.
    #[serde(skip)]
    pub tightens_only: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_section_means_the_documented_defaults() {
        let settings: PolicySettings = serde_json::from_str("{}").unwrap();
        assert_eq!(settings, PolicySettings::default());
        assert_eq!(settings.mode, None);
        assert_eq!(settings.confirmation, None);
        assert_eq!(settings.loopback_scopes, [Grant::parse("*").unwrap()]);
        assert!(settings.elicitation);
        assert!(!settings.rest_compat);
        assert_eq!(settings.approval, ApprovalMode::Changed);
        assert_eq!(settings.strict_arguments, None);
        assert_eq!(settings.rate_limits.per_server.to_string(), "10 req/s");
        assert_eq!(settings.rate_limits.per_server.burst, Some(20));
    }

    #[test]
    fn every_field_is_read_under_its_documented_name() {
        let text = r#"{
            "mode": "strict", "confirmation": "human", "elicitation": false, "loopbackScopes": ["*:read"],
            "restCompat": true, "approval": "all", "strictArguments": false,
            "rateLimits": {
                "perServer": {"requests": 5, "perSeconds": 1}, "perPrincipal": {"requests": 1, "perSeconds": 2},
                "buckets": {"payments_high_risk": {"requests": 100, "perSeconds": 60}}
            },
            "overrides": [{
                "pattern": ["delete_*"], "server": "github", "risk": "destructive",
                "idempotencyRequired": true, "confirmationRequired": true, "confirmation": "human",
                "requiredScopes": ["github:admin"], "rateLimitBucket": "payments_high_risk",
                "idempotent": false, "reversible": false, "timeoutMs": 5000
            }]
        }"#;
        let settings: PolicySettings = serde_json::from_str(text).unwrap();
        assert_eq!(settings.mode, Some(Mode::Strict));
        let bucket = &settings.rate_limits.buckets["payments_high_risk"];
        assert_eq!(bucket.to_string(), "100 req/min");
        let only = &settings.overrides[0];
        assert_eq!(only.risk, Some(Risk::Destructive));
        assert_eq!(only.timeout_ms, Some(5000));
        let again = serde_json::to_value(&settings).unwrap();
        assert_eq!(
            again,
            serde_json::from_str::<serde_json::Value>(text).unwrap()
        );
    }

    #[test]
    fn unknown_fields_are_errors() {
        assert!(serde_json::from_str::<PolicySettings>(r#"{"rest_compat": true}"#).is_err());
        assert!(serde_json::from_str::<Override>(r#"{"riskLevel": "low"}"#).is_err());
    }

    #[test]
    fn every_field_of_the_schema_has_a_description() {
        let schema = schemars::schema_for!(PolicySettings).to_value();
        let sections =
            std::iter::once(&schema).chain(schema["$defs"].as_object().unwrap().values());
        let mut fields = 0;
        for section in sections {
            for (name, field) in section["properties"].as_object().into_iter().flatten() {
                assert!(field.get("description").is_some(), "{name}");
                fields += 1;
            }
        }
        assert_eq!(fields, 26);
    }
}
