//! The policy settings, compiled: which corrections are about which tool.

use super::metadata::{self, Metadata, Requirement, ServerFacts};
use super::risk::Risk;
use super::scope::ScopeSet;
use super::settings::{Override, PolicySettings, RateLimits};
use crate::catalog::{Tool, ToolId};
use crate::pattern::rules::ServerFilter;
use crate::pattern::{Finding, Outcome, PatternError, PatternList};

/// What is wrong with an override.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RulebookError {
    /// A pattern, or the `server` field, cannot be used.
    #[error("override {number}: {error}", number = .at + 1)]
    Pattern {
        /// Which override, counted from 0.
        at: usize,
        /// What is wrong.
        error: PatternError,
    },
    /// A bucket is named that is not defined.
    #[error(
        "override {number} takes from the bucket `{name}`, which `rateLimits.buckets` does not define",
        number = .at + 1
    )]
    UnknownBucket {
        /// Which override, counted from 0.
        at: usize,
        /// The name.
        name: String,
    },
}

#[derive(Clone, Debug)]
struct Entry {
    server: ServerFilter,
    pattern: PatternList,
    correction: Override,
}

/// The overrides and rate limits of a configuration, ready to be applied to tools.
#[derive(Clone, Debug, Default)]
pub struct Rulebook {
    entries: Vec<Entry>,
    limits: RateLimits,
}

/// What holds for a tool when an override's pattern could not be decided within its bounds.
fn strictest() -> Override {
    Override {
        risk: Some(Risk::Destructive),
        idempotency_required: Some(true),
        confirmation_required: Some(true),
        ..Override::default()
    }
}

impl Rulebook {
    /// Compiles the settings, or says everything that is wrong with them.
    pub fn compile(settings: &PolicySettings) -> Result<Self, Vec<RulebookError>> {
        let limits = settings.rate_limits.clone();
        let mut entries = Vec::with_capacity(settings.overrides.len());
        let mut errors = Vec::new();
        for (at, correction) in settings.overrides.iter().enumerate() {
            if let Some(name) = &correction.rate_limit_bucket
                && !limits.buckets.contains_key(name)
            {
                let name = name.clone();
                errors.push(RulebookError::UnknownBucket { at, name });
            }
            match compile_entry(correction) {
                Ok(entry) => entries.push(entry),
                Err(error) => errors.push(RulebookError::Pattern { at, error }),
            }
        }
        if errors.is_empty() {
            Ok(Self { entries, limits })
        } else {
            Err(errors)
        }
    }

    /// The metadata of a tool: derived, then corrected by the overrides that are about it.
    pub fn metadata(&self, tool: &Tool, server: &ServerFacts) -> Metadata {
        self.corrected(&tool.id, |corrections| {
            Metadata::derive(tool, server, corrections, &self.limits)
        })
    }

    /// The scopes that a tool of an MCP server needs which is not trusted, from its name and its risk
    /// as [`Risk::of_unbelieved`] has it: the same that [`Rulebook::metadata`] says.
    pub fn needs(&self, id: &ToolId, risk: Risk) -> Vec<Requirement> {
        self.corrected(id, |corrections| metadata::needs(id, risk, corrections))
    }

    /// Whether somebody with these scopes may turn out to see a tool of a server, before its tools are known: not
    /// where no scope of the server is held and no override names other scopes for tools there. Tools of a trusted
    /// server may need scopes of their domains instead.
    pub fn may_open(&self, held: &ScopeSet, server: &str, facts: &ServerFacts) -> bool {
        let names_scopes = |entry: &Entry| {
            let correction = &entry.correction;
            let named = !correction.tightens_only && correction.required_scopes.is_some();
            named && entry.server.test(server) != Outcome::No
        };
        let usual = [Risk::Low, Risk::Medium, Risk::Destructive];
        facts.trusted
            || self.entries.iter().any(names_scopes)
            || usual
                .iter()
                .any(|risk| metadata::usual(server, *risk).met_by(held))
    }

    fn corrected<T>(&self, id: &ToolId, derive: impl FnOnce(&[&Override]) -> T) -> T {
        let mut matching = Vec::new();
        let mut undecided = None;
        for entry in &self.entries {
            match entry.is_about(id) {
                Outcome::Yes => matching.push(&entry.correction),
                Outcome::No => {}
                Outcome::GaveUp(_) => undecided = Some(strictest()),
            }
        }
        if let Some(strictest) = &undecided {
            matching.insert(0, strictest);
        }
        derive(&matching)
    }

    /// The overrides that are about a tool, counted from 0, for explanations.
    pub fn matching(&self, tool: &Tool) -> Vec<usize> {
        let entries = self.entries.iter().enumerate();
        entries
            .filter(|(_, entry)| entry.is_about(&tool.id) == Outcome::Yes)
            .map(|(at, _)| at)
            .collect()
    }
}

fn compile_entry(correction: &Override) -> Result<Entry, PatternError> {
    let server = match &correction.server {
        Some(server) => ServerFilter::new(server)?,
        None => ServerFilter::any(),
    };
    Ok(Entry {
        server,
        pattern: PatternList::new(&correction.pattern)?,
        correction: correction.clone(),
    })
}

impl Entry {
    fn is_about(&self, id: &ToolId) -> Outcome {
        let (server, name) = (id.server(), id.tool());
        match self.server.test(server) {
            Outcome::Yes => match self.pattern.find(Some(server), name) {
                Finding::Matched(_) => Outcome::Yes,
                Finding::Excluded(_) | Finding::Unmatched => Outcome::No,
                Finding::GaveUp(_, why) => Outcome::GaveUp(why),
            },
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::policy::Mode;

    fn settings(overrides: &serde_json::Value) -> PolicySettings {
        serde_json::from_value(json!({
            "overrides": overrides,
            "rateLimits": {"buckets": {"slow": {"requests": 1}}},
        }))
        .unwrap()
    }

    fn tool(server: &str, name: &str) -> Tool {
        Tool::new(ToolId::new(server, name), "", json!({}))
    }

    #[test]
    fn whether_scopes_can_open_a_server_is_known_before_its_tools_are() {
        let settings = settings(&json!([
            {"server": "gitlab", "pattern": ["get_*"], "requiredScopes": ["code:read"]},
            {"server": "slack", "risk": "low"},
        ]));
        let rulebook = Rulebook::compile(&settings).unwrap();
        let table = [
            (vec!["github:read"], "github", true),
            (vec!["github:delete"], "github", true),
            (vec!["*:write"], "slack", true),
            (vec!["*"], "slack", true),
            (vec!["github:read"], "slack", false),
            (vec!["code:read"], "github", false),
            (vec!["code:read"], "gitlab", true),
            (vec![], "github", false),
        ];
        for (scopes, server, opens) in table {
            let held = ScopeSet::from_texts(scopes.iter().copied());
            let facts = ServerFacts::default();
            let found = rulebook.may_open(&held, server, &facts);
            assert_eq!(found, opens, "{scopes:?} {server}");
            let trusted = ServerFacts {
                trusted: true,
                ..facts
            };
            assert!(rulebook.may_open(&held, server, &trusted));
        }
    }

    #[test]
    fn overrides_reach_one_tool_one_server_or_a_pattern() {
        let settings = settings(&json!([
            {"pattern": ["github:delete_branch"], "risk": "medium"},
            {"server": "github", "pattern": ["delete_*", "!delete_repo"], "risk": "high"},
            {"server": "git*", "confirmationRequired": true},
            {"pattern": ["/^get_/"], "rateLimitBucket": "slow"},
            {"idempotent": true},
        ]));
        let rulebook = Rulebook::compile(&settings).unwrap();
        let table = [
            ("github", "delete_branch", Risk::Medium, vec![0, 1, 2, 4]),
            ("github", "delete_issue", Risk::High, vec![1, 2, 4]),
            ("github", "delete_repo", Risk::Destructive, vec![2, 4]),
            ("gitlab", "get_x", Risk::Low, vec![2, 3, 4]),
            ("slack", "delete_x", Risk::Destructive, vec![4]),
        ];
        for (server, name, risk, matching) in table {
            let tool = tool(server, name);
            let metadata = rulebook.metadata(&tool, &ServerFacts::default());
            assert_eq!(metadata.risk, risk, "{server}:{name}");
            assert!(metadata.idempotent);
            assert_eq!(rulebook.matching(&tool), matching, "{server}:{name}");
        }
        let get = rulebook.metadata(&tool("gitlab", "get_x"), &ServerFacts::default());
        assert!(get.confirmation_required);
        assert_eq!(get.rate_limit_bucket.unwrap().name, "slow");
    }

    #[test]
    fn everything_that_is_wrong_is_said_at_once() {
        let settings = settings(&json!([
            {"pattern": ["/(/"], "rateLimitBucket": "none"},
            {"server": "/(/", "risk": "low"},
        ]));
        let errors = Rulebook::compile(&settings).unwrap_err();
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(errors.len(), 3, "{texts:?}");
        assert!(
            texts[0].starts_with("override 1 takes from the bucket `none`"),
            "{texts:?}"
        );
        assert!(texts[1].starts_with("override 1: pattern"), "{texts:?}");
        assert!(texts[2].starts_with("override 2: pattern"), "{texts:?}");
    }

    #[test]
    fn a_pattern_that_gives_up_brings_the_strictest_controls() {
        let settings = settings(&json!([
            {"risk": "low", "idempotencyRequired": false},
            {"pattern": ["/^(?:a(?=[ab])|a)*[^b]$/"], "risk": "low"},
        ]));
        let rulebook = Rulebook::compile(&settings).unwrap();
        let slow = tool("s", &format!("{}b", "a".repeat(60)));
        let metadata = rulebook.metadata(&slow, &ServerFacts::default());
        assert_eq!(metadata.risk, Risk::Destructive);
        assert!(metadata.confirmation_required && metadata.needs_key(Mode::Relaxed));
        let quick = rulebook.metadata(&tool("s", "list"), &ServerFacts::default());
        assert_eq!(quick.risk, Risk::Low);
    }
}
