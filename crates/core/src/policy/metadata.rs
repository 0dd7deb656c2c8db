//! What policy knows about one tool.

use serde::Serialize;

use super::bucket::Rate;
use super::risk::{self, Evidence, Inputs, Risk};
use super::scope::{Scope, ScopeSet};
use super::settings::{Confirmation, Mode, Override, RateLimits};
use crate::catalog::{Tool, ToolId};
use crate::schema;

/// What is known about a tool's server where policy needs it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerFacts {
    /// Whether the user trusts what the server says of itself.
    pub trusted: bool,
    /// Whether the upstream keeps idempotency keys, so that a call with one may be repeated.
    pub honours_key: bool,
    /// The server's own rate limit, where it has one.
    pub rate: Option<Rate>,
}

/// A scope that a tool needs, or one of several that serve alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Requirement {
    any_of: Vec<Scope>,
}

impl Requirement {
    /// The requirement of exactly this scope.
    pub fn of(scope: Scope) -> Self {
        Self {
            any_of: vec![scope],
        }
    }

    /// Whether one of the scopes is held.
    pub fn met_by(&self, held: &ScopeSet) -> bool {
        self.any_of.iter().any(|scope| held.covers(scope))
    }

    /// The scopes that serve alike; the first is the one to name.
    pub fn any_of(&self) -> &[Scope] {
        &self.any_of
    }
}

/// A bucket that the configuration names, and its rate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NamedRate {
    /// The name in `rateLimits.buckets`.
    pub name: String,
    /// The rate there.
    pub rate: Rate,
}

/// The policy metadata of one tool: derived, then corrected by the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a documented field of the metadata"
)]
pub struct Metadata {
    /// What running it can do.
    #[serde(rename = "risk_level")]
    pub risk: Risk,
    /// What says so.
    pub evidence: Evidence,
    /// Whether strict rules ask for a key.
    pub idempotency_required: bool,
    /// Whether confirmation is asked for.
    pub confirmation_required: bool,
    /// The scopes that a caller needs, all of these.
    pub required_scopes: Vec<Requirement>,
    /// The named bucket that calls are taken from: the one that an override names, else that of the
    /// server and the risk, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_limit_bucket: Option<NamedRate>,
    /// Whether repeating a call has no further effect; unknown means false.
    pub idempotent: bool,
    /// Whether what it does can be undone; unknown means false.
    pub reversible: bool,
    /// Who can confirm, where the configuration says so for this tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Confirmation>,
    /// How long a call may take, where the configuration says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// What identifies the schema of the arguments in a [`schema::Validators`].
    pub schema_key: crate::canon::Hash,
    /// Whether the upstream keeps idempotency keys.
    pub honours_key: bool,
    /// How often the server may be called, all callers together.
    pub server_rate: Rate,
    /// What the configuration says about keys, which then holds in every mode.
    #[serde(skip)]
    key_configured: Option<bool>,
}

impl Metadata {
    /// Derives a tool's metadata; of several overrides, the first that sets a field decides it. Those
    /// that only tighten come after all others and never ask for less.
    pub fn derive(
        tool: &Tool,
        server: &ServerFacts,
        overrides: &[&Override],
        limits: &RateLimits,
    ) -> Self {
        let (free, tightening) = split(overrides);
        let inputs = Inputs::of(tool, server.trusted, first(&free, |o| o.risk));
        let (base, mut evidence) = risk::derive(&inputs);
        let risk = raised(base, &tightening);
        if risk > base {
            evidence.prefer(risk::Source::Configuration, risk, "raised by an override");
        }
        let asked = |field: fn(&Override) -> Option<bool>| {
            let asked = tightening.iter().any(|o| field(o) == Some(true));
            asked.then_some(true).or_else(|| first(&free, field))
        };
        let allowed = |field: fn(&Override) -> Option<bool>, usual: bool| {
            first(&free, field).unwrap_or(usual)
                && tightening.iter().all(|o| field(o) != Some(false))
        };
        let key_configured = asked(|o| o.idempotency_required);
        let human = tightening
            .iter()
            .find_map(|o| o.confirmation.filter(|who| *who == Confirmation::Human));
        let bucket = first(overrides, |o| o.rate_limit_bucket.clone());
        Self {
            idempotency_required: key_configured.unwrap_or(risk >= Risk::High),
            confirmation_required: asked(|o| o.confirmation_required)
                .unwrap_or(risk == Risk::Destructive),
            required_scopes: scopes(&free, &tightening, [base, risk], |risk| {
                usual_requirement(tool, server.trusted, risk)
            }),
            rate_limit_bucket: Some(
                bucket.unwrap_or_else(|| Self::usual_bucket(tool.id.server(), risk)),
            )
            .and_then(|name| {
                let rate = *limits.buckets.get(&name)?;
                Some(NamedRate { name, rate })
            }),
            idempotent: allowed(|o| o.idempotent, is_idempotent(tool, risk)),
            reversible: allowed(|o| o.reversible, extension_says(tool, "x-reversible")),
            confirmation: human.or_else(|| first(&free, |o| o.confirmation)),
            timeout_ms: first(overrides, |o| o.timeout_ms),
            schema_key: schema::key(&tool.input_schema),
            honours_key: server.honours_key,
            server_rate: server.rate.unwrap_or(limits.per_server),
            key_configured,
            risk,
            evidence,
        }
    }

    /// The bucket that calls are taken from where the configuration names none and has one of this
    /// name.
    pub fn usual_bucket(server: &str, risk: Risk) -> String {
        format!("{server}_{risk}")
    }

    /// Whether a call needs a key under `mode`.
    pub fn needs_key(&self, mode: Mode) -> bool {
        self.key_configured.unwrap_or(match mode {
            Mode::Strict => self.risk >= Risk::High,
            Mode::Relaxed => self.risk == Risk::Destructive || !self.evidence.any(),
        })
    }

    /// Whether running it ends something for good.
    pub fn is_destructive(&self) -> bool {
        self.risk == Risk::Destructive
    }

    /// The rate to show to callers, such as `100 req/min`.
    pub fn shown_rate(&self) -> Rate {
        let named = self.rate_limit_bucket.as_ref();
        named.map_or(self.server_rate, |named| named.rate)
    }
}

fn first<T>(overrides: &[&Override], field: impl Fn(&Override) -> Option<T>) -> Option<T> {
    overrides.iter().find_map(|o| field(o))
}

/// The overrides that may say anything, and those that only tighten.
fn split<'a>(overrides: &[&'a Override]) -> (Vec<&'a Override>, Vec<&'a Override>) {
    overrides.iter().partition(|o| !o.tightens_only)
}

/// The risk under the overrides that only tighten.
fn raised(risk: Risk, tightening: &[&Override]) -> Risk {
    first(tightening, |o| o.risk).map_or(risk, |asked| asked.max(risk))
}

/// What a caller needs: what is configured or `usual` for the first risk, and where overrides
/// tighten also what is usual for the second and what they name.
fn scopes(
    free: &[&Override],
    tightening: &[&Override],
    [base, raised]: [Risk; 2],
    usual: impl Fn(Risk) -> Requirement,
) -> Vec<Requirement> {
    let mut needed = match first(free, |o| o.required_scopes.clone()) {
        Some(configured) => configured.into_iter().map(Requirement::of).collect(),
        None if raised > base => vec![usual(base), usual(raised)],
        None => vec![usual(base)],
    };
    let more = first(tightening, |o| o.required_scopes.clone()).unwrap_or_default();
    needed.extend(more.into_iter().map(Requirement::of));
    let mut seen: Vec<Requirement> = Vec::with_capacity(needed.len());
    needed.retain(|requirement| {
        let new = !seen.contains(requirement);
        seen.push(requirement.clone());
        new
    });
    needed
}

/// The scopes that a tool of an MCP server needs which is not trusted: they follow from its name and
/// its risk, as [`Risk::of_unbelieved`] has it, and from what is configured.
pub(super) fn needs(id: &ToolId, risk: Risk, overrides: &[&Override]) -> Vec<Requirement> {
    let (free, tightening) = split(overrides);
    let base = first(&free, |o| o.risk).unwrap_or(risk);
    scopes(
        &free,
        &tightening,
        [base, raised(base, &tightening)],
        |risk| requirement([id.server()], risk),
    )
}

/// What a tool needs unless configured: `area:read`, `area:write` or `area:delete` by its risk,
/// where the area is its server's name. A domain such as `payments` serves as well, but only where
/// the user chose the description: an untrusted server could otherwise claim any.
fn usual_requirement(tool: &Tool, trusted: bool, risk: Risk) -> Requirement {
    let believed = trusted || tool.method.is_some();
    let domains = tool.domains.iter().filter(|_| believed);
    let areas = std::iter::once(tool.id.server()).chain(domains.map(String::as_str));
    requirement(areas, risk)
}

/// What a tool of a server needs unless anything else is known.
pub(super) fn usual(server: &str, risk: Risk) -> Requirement {
    requirement([server], risk)
}

fn requirement<'a>(areas: impl IntoIterator<Item = &'a str>, risk: Risk) -> Requirement {
    let action = match risk {
        Risk::Low => "read",
        Risk::Medium | Risk::High => "write",
        Risk::Destructive => "delete",
    };
    let mut any_of: Vec<Scope> = Vec::new();
    for scope in areas.into_iter().map(|area| Scope::of(area, action)) {
        if !any_of.contains(&scope) {
            any_of.push(scope);
        }
    }
    Requirement { any_of }
}

/// A read by a safe method or so annotated, or what the description or the server calls
/// idempotent. The server is believed in the last even when it is not trusted: what it does when
/// it is called twice is in its hands.
fn is_idempotent(tool: &Tool, level: Risk) -> bool {
    let safe = tool.method.as_deref().is_some_and(risk::is_safe);
    let hint = |name: &str| {
        tool.annotations
            .get(name)
            .and_then(serde_json::Value::as_bool)
    };
    level == Risk::Low && (safe || hint("readOnlyHint") == Some(true))
        || hint("idempotentHint") == Some(true)
        || extension_says(tool, "x-idempotent")
}

fn extension_says(tool: &Tool, field: &str) -> bool {
    tool.extensions.get(field) == Some(&serde_json::Value::Bool(true))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str) -> Tool {
        Tool::new(ToolId::new("paystack", name), "", json!({"type": "object"}))
    }

    fn derive(tool: &Tool, overrides: &[Override]) -> Metadata {
        let overrides: Vec<&Override> = overrides.iter().collect();
        let mut limits = RateLimits::default();
        let rate = Rate {
            requests: 100,
            per_seconds: 60,
            burst: None,
        };
        limits.buckets.insert("payments_high_risk".into(), rate);
        Metadata::derive(tool, &ServerFacts::default(), &overrides, &limits)
    }

    #[test]
    fn risk_brings_its_controls_and_scope() {
        let table = [
            ("list_x", Risk::Low, false, false, false, "paystack:read"),
            (
                "create_x",
                Risk::Medium,
                false,
                false,
                false,
                "paystack:write",
            ),
            ("send_x", Risk::High, true, false, false, "paystack:write"),
            (
                "delete_x",
                Risk::Destructive,
                true,
                true,
                true,
                "paystack:delete",
            ),
            ("frob", Risk::High, true, true, false, "paystack:write"),
        ];
        for (name, risk, key_strict, key_relaxed, confirmation, scope) in table {
            let metadata = derive(&tool(name), &[]);
            assert_eq!(metadata.risk, risk, "{name}");
            assert_eq!(metadata.needs_key(Mode::Strict), key_strict, "{name}");
            assert_eq!(metadata.idempotency_required, key_strict, "{name}");
            assert_eq!(metadata.needs_key(Mode::Relaxed), key_relaxed, "{name}");
            assert_eq!(metadata.confirmation_required, confirmation, "{name}");
            assert_eq!(
                metadata.required_scopes[0].any_of()[0].as_str(),
                scope,
                "{name}"
            );
        }
    }

    #[test]
    fn the_first_override_that_sets_a_field_decides_it() {
        let overrides = [
            Override {
                risk: Some(Risk::Low),
                ..Override::default()
            },
            Override {
                risk: Some(Risk::High),
                idempotency_required: Some(true),
                confirmation_required: Some(true),
                confirmation: Some(Confirmation::Human),
                required_scopes: Some(vec![
                    Scope::parse("payments:write").unwrap(),
                    Scope::parse("payments:admin").unwrap(),
                ]),
                rate_limit_bucket: Some("payments_high_risk".into()),
                idempotent: Some(true),
                reversible: Some(true),
                timeout_ms: Some(5),
                ..Override::default()
            },
        ];
        let metadata = derive(&tool("delete_x"), &overrides);
        assert_eq!(metadata.risk, Risk::Low);
        assert!(metadata.needs_key(Mode::Relaxed) && metadata.confirmation_required);
        assert_eq!(metadata.confirmation, Some(Confirmation::Human));
        assert_eq!(metadata.required_scopes.len(), 2);
        assert_eq!(metadata.shown_rate().to_string(), "100 req/min");
        assert!(metadata.idempotent && metadata.reversible);
        assert_eq!(metadata.timeout_ms, Some(5));
        let rate = Rate::per_second(7, 7);
        let mut limits = RateLimits::default();
        let usual = |limits: &RateLimits, overrides: &[&Override]| {
            let low = tool("list_x");
            let metadata = Metadata::derive(&low, &ServerFacts::default(), overrides, limits);
            metadata.rate_limit_bucket.map(|bucket| bucket.name)
        };
        assert_eq!(usual(&limits, &[]), None);
        let name = Metadata::usual_bucket(tool("list_x").id.server(), Risk::Low);
        limits.buckets.insert(name.clone(), rate);
        limits.buckets.insert("other".to_owned(), rate);
        assert_eq!(usual(&limits, &[]), Some(name));
        let other = Override {
            rate_limit_bucket: Some("other".into()),
            ..Override::default()
        };
        assert_eq!(usual(&limits, &[&other]).as_deref(), Some("other"));
        let free = Override {
            required_scopes: Some(Vec::new()),
            idempotency_required: Some(false),
            ..Override::default()
        };
        let metadata = derive(&tool("delete_x"), &[free]);
        assert!(metadata.required_scopes.is_empty());
        assert!(!metadata.needs_key(Mode::Strict));
        assert_eq!(metadata.shown_rate(), Rate::default());
    }

    #[test]
    fn an_override_that_only_tightens_never_asks_for_less() {
        let lax = Override {
            risk: Some(Risk::Low),
            idempotency_required: Some(false),
            confirmation_required: Some(false),
            confirmation: Some(Confirmation::Flag),
            required_scopes: Some(Vec::new()),
            idempotent: Some(true),
            reversible: Some(true),
            tightens_only: true,
            ..Override::default()
        };
        let human = Override {
            confirmation: Some(Confirmation::Human),
            confirmation_required: Some(true),
            ..Override::default()
        };
        for name in ["list_x", "create_x", "send_x", "delete_x", "frob"] {
            for user in [vec![], vec![human.clone()]] {
                let without = derive(&tool(name), &user);
                for place in 0..=user.len() {
                    let mut both = user.clone();
                    both.insert(place, lax.clone());
                    assert_eq!(derive(&tool(name), &both), without, "{name}");
                }
            }
        }
    }

    #[test]
    fn an_override_that_only_tightens_adds_what_it_asks_for() {
        let tight = Override {
            risk: Some(Risk::Destructive),
            idempotency_required: Some(true),
            confirmation_required: Some(true),
            confirmation: Some(Confirmation::Human),
            required_scopes: Some(vec![Scope::parse("payments:admin").unwrap()]),
            idempotent: Some(false),
            tightens_only: true,
            ..Override::default()
        };
        let lax = Override {
            risk: Some(Risk::Low),
            idempotency_required: Some(false),
            confirmation_required: Some(false),
            confirmation: Some(Confirmation::Flag),
            idempotent: Some(true),
            ..Override::default()
        };
        let metadata = derive(&tool("list_x"), &[lax, tight]);
        assert_eq!(metadata.risk, Risk::Destructive);
        assert_eq!(metadata.evidence.detail(), "raised by an override");
        assert!(metadata.needs_key(Mode::Relaxed) && metadata.confirmation_required);
        assert_eq!(metadata.confirmation, Some(Confirmation::Human));
        assert!(!metadata.idempotent);
        let scopes: Vec<_> = metadata
            .required_scopes
            .iter()
            .map(Requirement::any_of)
            .collect();
        let texts: Vec<_> = scopes.iter().map(|any| any[0].as_str()).collect();
        assert_eq!(
            texts,
            ["paystack:read", "paystack:delete", "payments:admin"]
        );
    }

    #[test]
    fn what_a_tool_needs_can_be_told_from_its_name_and_risk() {
        let configured = Override {
            risk: Some(Risk::Destructive),
            ..Override::default()
        };
        let scoped = Override {
            required_scopes: Some(vec![Scope::parse("payments:write").unwrap()]),
            ..Override::default()
        };
        for name in ["list_x", "create_x", "send_x", "delete_x", "frob"] {
            let mut tool = tool(name);
            tool.domains = vec!["payments".into()];
            tool.annotations = json!({"readOnlyHint": true});
            let tightening = Override {
                required_scopes: Some(vec![Scope::parse("payments:admin").unwrap()]),
                tightens_only: true,
                ..configured.clone()
            };
            for overrides in [
                vec![],
                vec![configured.clone()],
                vec![scoped.clone()],
                vec![tightening.clone()],
                vec![scoped.clone(), tightening],
            ] {
                let overrides: Vec<&Override> = overrides.iter().collect();
                let limits = RateLimits::default();
                let derived = Metadata::derive(&tool, &ServerFacts::default(), &overrides, &limits);
                let told = needs(&tool.id, Risk::of_unbelieved(&tool), &overrides);
                assert_eq!(told, derived.required_scopes, "{name}");
            }
        }
    }

    #[test]
    fn a_domain_serves_as_area_only_where_it_is_believed() {
        let mut by_mcp = tool("create_x");
        by_mcp.domains = vec!["payments".into(), "payments.cards".into()];
        let mut by_rest = by_mcp.clone();
        by_rest.method = Some("POST".into());
        let held = ScopeSet::from_texts(["payments:write"]);
        assert!(!derive(&by_mcp, &[]).required_scopes[0].met_by(&held));
        assert!(derive(&by_rest, &[]).required_scopes[0].met_by(&held));
        let trusted = ServerFacts {
            trusted: true,
            ..ServerFacts::default()
        };
        let metadata = Metadata::derive(&by_mcp, &trusted, &[], &RateLimits::default());
        let texts: Vec<_> = metadata.required_scopes[0]
            .any_of()
            .iter()
            .map(Scope::as_str)
            .collect();
        assert_eq!(
            texts,
            ["paystack:write", "payments:write", "payments.cards:write"]
        );
    }

    #[test]
    fn what_may_be_repeated_is_what_is_known_to_be_safe() {
        let with = |method: Option<&str>, annotations, name: &str| {
            let mut tool = tool(name);
            tool.method = method.map(str::to_owned);
            tool.annotations = annotations;
            derive(&tool, &[]).idempotent
        };
        assert!(with(Some("get"), json!(null), "list_x"));
        assert!(!with(Some("GET"), json!(null), "TerminateInstances"));
        assert!(!with(Some("PUT"), json!(null), "update_x"));
        assert!(!with(None, json!(null), "list_x"));
        assert!(with(None, json!({"idempotentHint": true}), "update_x"));
        assert!(with(None, json!({"readOnlyHint": true}), "list_x"));
        assert!(!with(None, json!({"readOnlyHint": true}), "delete_x"));
        let mut stated = tool("update_x");
        stated.extensions = json!({"x-idempotent": true, "x-reversible": true});
        let metadata = derive(&stated, &[]);
        assert!(metadata.idempotent && metadata.reversible);
    }

    #[test]
    fn metadata_is_written_under_the_documented_names() {
        let written = serde_json::to_value(derive(&tool("delete_x"), &[])).unwrap();
        for name in [
            "risk_level",
            "idempotency_required",
            "confirmation_required",
            "required_scopes",
            "idempotent",
            "reversible",
        ] {
            assert!(written.get(name).is_some(), "{name}");
        }
        assert_eq!(written["risk_level"], "destructive");
        assert_eq!(written["required_scopes"], json!([["paystack:delete"]]));
    }
}
