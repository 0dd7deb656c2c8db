//! Short help about this gateway: what it takes to be let through, and what to do about failures.
//! What a provider documents itself is linked, not repeated.

use serde_json::{Value, json};

use crate::Code;

/// A part of a reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Section {
    /// What it is.
    Overview,
    /// How it authenticates.
    Authentication,
    /// Examples.
    Examples,
    /// Failures and what to do.
    Errors,
    /// What the provider sends by itself.
    Webhooks,
    /// How to use it well.
    BestPractices,
    /// Everything.
    #[default]
    All,
}

impl Section {
    /// Reads the word for a section.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "overview" => Self::Overview,
            "authentication" => Self::Authentication,
            "examples" => Self::Examples,
            "errors" => Self::Errors,
            "webhooks" => Self::Webhooks,
            "best_practices" => Self::BestPractices,
            "all" => Self::All,
            _ => return None,
        })
    }

    /// Leaves of an answer what belongs to this section, and what names it.
    pub fn narrow(self, answer: &mut Value) {
        let keeps = match self {
            Self::All => return,
            Self::Overview => "overview",
            Self::Authentication => "authentication",
            Self::Examples => "examples",
            Self::Errors => "common_errors",
            Self::Webhooks => "webhooks",
            Self::BestPractices => "best_practices",
        };
        if let Value::Object(fields) = answer {
            fields.retain(|name, _| {
                name == keeps || matches!(name.as_str(), "topic" | "type" | "next_step")
            });
        }
    }
}

/// Something that callers of this gateway have to know.
struct Concept {
    names: &'static [&'static str],
    about: &'static str,
    practices: &'static [&'static str],
    errors: &'static [Code],
}

const CONCEPTS: &[Concept] = &[
    Concept {
        names: &[
            "idempotency",
            "idempotency_key",
            "idempotency-key",
            "retry",
            "retries",
        ],
        about: "A key makes a call have its effect once: the same key with the same params gives the recorded answer again, for 24 hours, without calling.",
        practices: &[
            "Use one new options.idempotency_key for each intended effect, and the same one when you try again",
            "Never reuse a key with other params",
        ],
        errors: &[
            Code::IdempotencyRequired,
            Code::IdempotencyConflict,
            Code::IdempotencyUnknown,
        ],
    },
    Concept {
        names: &["confirmation", "confirmed", "destructive"],
        about: "Destructive operations run only when they are confirmed: by options.confirmed, or by a person outside the conversation where the configuration asks for one.",
        practices: &[
            "Ask the user before you set options.confirmed",
            "Try options.dry_run first: it makes every check and calls nothing",
        ],
        errors: &[Code::ConfirmationRequired],
    },
    Concept {
        names: &[
            "scopes",
            "scope",
            "authorization",
            "permissions",
            "policy",
            "risk",
            "risk_level",
        ],
        about: "Every tool has a risk_level (low, medium, high, destructive) and needs a scope such as payments:write. A tool that a caller's scopes do not cover is not found.",
        practices: &[
            "Have a key made with the scopes that the task needs and no more: toolcrib keys create",
        ],
        errors: &[
            Code::ToolNotFound,
            Code::ScopeRequired,
            Code::ToolDisabled,
            Code::ApprovalRequired,
        ],
    },
    Concept {
        names: &["approval", "approvals"],
        about: "A tool that is new or changed since it was accepted waits until a person approves it.",
        practices: &["A person runs toolcrib approvals list, and approve or reject"],
        errors: &[Code::ApprovalRequired],
    },
    Concept {
        names: &[
            "rate_limits",
            "rate_limit",
            "rate limit",
            "rate limits",
            "rate-limits",
            "quota",
        ],
        about: "Calls are taken from buckets; constraints.rate_limit of gateway.intent says how large they are.",
        practices: &["Wait for retry_after_ms before you try again"],
        errors: &[Code::RateLimited, Code::Overloaded],
    },
    Concept {
        names: &["errors", "error", "error codes"],
        about: "Every failure has a code to branch on, one sentence, and a suggestion.",
        practices: &["Follow error.suggestion; do not repeat a call that is not retryable"],
        errors: Code::ALL,
    },
    Concept {
        names: &["dry_run", "dry run", "dry-run"],
        about: "options.dry_run makes every check, reports each, and calls nothing.",
        practices: &["Use it before a high-risk or destructive call"],
        errors: &[],
    },
    Concept {
        names: &[
            "results",
            "page",
            "pages",
            "paging",
            "select",
            "large results",
        ],
        about: "A large result is cut by whole items; page names the rest, and options.select, a jq filter, keeps only what is wanted.",
        practices: &[
            "Ask with options.select for the fields that you need",
            "Read on with options.page",
        ],
        errors: &[Code::ResultExpired],
    },
    Concept {
        names: &["authentication", "auth", "secrets", "credentials"],
        about: "Toolcrib authenticates to each adapter itself, with secrets from its environment, a file or a command. Callers never send them, and answers never hold them.",
        practices: &["Ask gateway.reference about an adapter for the variable that it reads"],
        errors: &[Code::ServerConnectionError],
    },
    Concept {
        names: &["timeout", "timeouts"],
        about: "A call may take 30000 ms unless options.timeout or the configuration says otherwise.",
        practices: &["After a time-out of a call with a key, ask again with the same key"],
        errors: &[Code::ToolExecutionTimeout],
    },
];

/// The names of the concepts that can be asked about.
pub fn concepts() -> impl Iterator<Item = &'static str> {
    CONCEPTS.iter().map(|concept| concept.names[0])
}

/// What there is to know about a concept.
pub fn concept(topic: &str) -> Option<Value> {
    let wanted = topic.trim().to_lowercase();
    let concept = CONCEPTS
        .iter()
        .find(|concept| concept.names.contains(&wanted.as_str()))?;
    let errors: Vec<Value> = concept.errors.iter().map(|code| error(*code)).collect();
    let mut answer = json!({
        "topic": concept.names[0],
        "type": "concept",
        "overview": {"name": concept.names[0], "description": concept.about},
    });
    if !errors.is_empty() {
        answer["common_errors"] = errors.into();
    }
    answer["best_practices"] = json!(concept.practices);
    Some(answer)
}

/// A code of ours, what it means, and what to do.
pub fn error(code: Code) -> Value {
    let (meaning, fix) = match code {
        Code::ToolNotFound => (
            "No such tool, or none that you may see",
            "Use gateway.intent to find its tool_id",
        ),
        Code::ServerNotFound => ("No such adapter", "Use gateway.adapters"),
        Code::ToolDisabled => (
            "A rule switches it off",
            "Choose another tool, or have it enabled",
        ),
        Code::ToolValidationError => (
            "The params do not fit the schema",
            "Correct them as violations says",
        ),
        Code::ToolExecutionError => (
            "The adapter was called and said no",
            "Read the message; change the params",
        ),
        Code::ToolExecutionTimeout => (
            "The call did not end in time",
            "Ask again with the same key, or raise options.timeout",
        ),
        Code::IdempotencyRequired => ("The tool needs a key", "Add options.idempotency_key"),
        Code::IdempotencyConflict => ("The key was used with other params", "Use a new key"),
        Code::IdempotencyUnknown => (
            "The first call with the key was cut off",
            "Look at what it changed before you use a new key",
        ),
        Code::ConfirmationRequired => (
            "The call has to be confirmed",
            "Ask the user, then add options.confirmed: true",
        ),
        Code::AuditUnavailable => (
            "The record could not be written, so nothing ran",
            "Try again; tell whoever runs the gateway",
        ),
        Code::Overloaded => ("Too much is under way", "Try again in a moment"),
        Code::Cancelled => ("It was cancelled", "Ask again if it is still wanted"),
        Code::ResultExpired => (
            "The rest of the result is gone",
            "Call again, with options.select to make it smaller",
        ),
        Code::ScopeRequired => ("A scope is missing", "Use a key that has it"),
        Code::RateLimited => ("A rate limit is used up", "Wait for retry_after_ms"),
        Code::ApprovalRequired => ("The tool is new or changed", "A person has to approve it"),
        Code::ApprovalNotFound => (
            "Nothing waits for a person under this name",
            "toolcrib approvals list shows what does",
        ),
        Code::ConfigurationError => (
            "The configuration does not load",
            "Run toolcrib config validate",
        ),
        Code::ServerConnectionError => (
            "The adapter cannot be reached",
            "Try again; toolcrib status says more",
        ),
        Code::ValidationError => (
            "The request is malformed",
            "Correct the field that is named",
        ),
    };
    json!({"code": code, "meaning": meaning, "fix": fix})
}

/// What to do about a status that an API documents. `variable` is where its secret comes from.
pub fn fix(status: &str, variable: Option<&str>) -> String {
    match status {
        "401" | "403" => match variable {
            Some(name) => {
                format!("Check the environment variable {name} of the gateway and its permissions")
            }
            None => "Check the credentials that the gateway is configured with".to_owned(),
        },
        "404" => "Check the ids in params; list what there is first".to_owned(),
        "409" => "Read the present state before you change it".to_owned(),
        "429" => "Wait, then try again with the same key".to_owned(),
        status if status.starts_with('5') => "Try again later with the same key".to_owned(),
        status if status.starts_with('4') => "Correct the params; the answer says which".to_owned(),
        _ => "Read the answer; it says what went wrong".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens;

    #[test]
    fn concepts_are_found_by_their_names_and_stay_thin() {
        for name in concepts() {
            let told = concept(name).unwrap();
            assert_eq!(
                (&told["topic"], &told["type"]),
                (&json!(name), &json!("concept"))
            );
            assert!(tokens::fits(&told.to_string(), 1_000), "{name}");
        }
        assert_eq!(
            concept(" Idempotency_Key ").unwrap()["topic"],
            "idempotency"
        );
        assert!(concept("love").is_none());
    }

    #[test]
    fn every_code_has_a_meaning_and_a_fix() {
        for code in Code::ALL {
            let told = error(*code);
            assert!(
                told["meaning"]
                    .as_str()
                    .is_some_and(|text| !text.is_empty())
            );
            assert!(told["fix"].as_str().is_some_and(|text| !text.is_empty()));
        }
        assert_eq!(
            fix("401", Some("KEY")),
            "Check the environment variable KEY of the gateway and its permissions"
        );
        for status in ["401", "404", "409", "429", "500", "422", "default"] {
            assert!(!fix(status, None).is_empty());
        }
    }

    #[test]
    fn a_section_leaves_only_itself() {
        let whole = json!({"topic": "t", "type": "adapter", "overview": {}, "authentication": {}, "examples": [],
            "common_errors": [], "webhooks": {}, "best_practices": [], "next_step": "x"});
        for (word, key) in [
            ("overview", "overview"),
            ("authentication", "authentication"),
            ("examples", "examples"),
            ("errors", "common_errors"),
            ("webhooks", "webhooks"),
            ("best_practices", "best_practices"),
        ] {
            let mut answer = whole.clone();
            Section::parse(word).unwrap().narrow(&mut answer);
            let keys: Vec<&String> = answer.as_object().unwrap().keys().collect();
            assert_eq!(keys, ["topic", "type", key, "next_step"], "{word}");
        }
        let mut answer = whole.clone();
        Section::parse("all").unwrap().narrow(&mut answer);
        assert_eq!(answer, whole);
        assert_eq!(Section::parse("poem"), None);
    }
}
