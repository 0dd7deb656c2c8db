//! What is wrong with arguments, said so that the caller can put it right.
//!
//! A violation names the place, the rule and what is allowed. It never repeats the value: that may
//! be a secret, or long.

use std::fmt;

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde::Serialize;

use super::kind_of;
use crate::limits::{VIOLATION_ALLOWED_CHARS_MAX, VIOLATIONS_COUNTED_MAX, VIOLATIONS_MAX};

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// JSON Pointer to the value; empty for the arguments as a whole.
    pub path: String,
    /// The rule that is broken, by its keyword in the schema.
    pub keyword: String,
    /// What is wrong and what is allowed.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.message),
            path => {
                let name = path.trim_start_matches('/');
                let name = name.replace("~1", "/").replace("~0", "~");
                write!(f, "`{name}` {}", self.message)
            }
        }
    }
}

/// All that is wrong with one call's arguments, in the order found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Violations {
    /// The first of them.
    pub listed: Vec<Violation>,
    /// How many there are; counting stops at a bound.
    pub total: usize,
}

impl Violations {
    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Counts one more and lists it while there is room; says whether to go on looking.
    pub(super) fn push(&mut self, violation: impl FnOnce() -> Violation) -> bool {
        self.total += 1;
        if self.listed.len() < VIOLATIONS_MAX {
            self.listed.push(violation());
        }
        self.total < VIOLATIONS_COUNTED_MAX
    }

    pub(super) fn extend(&mut self, violations: Vec<Violation>) {
        for violation in violations {
            self.push(|| violation);
        }
    }

    pub(super) fn too_complex() -> Self {
        Self::whole(
            "$ref",
            "the tool's schema makes these arguments too costly to check; send fewer or flatter values",
        )
    }

    /// What is said where the arguments do not fit and nothing says why.
    pub(super) fn unexplained() -> Self {
        Self::whole(
            "schema",
            "the arguments do not fit the tool's schema; compare them with what `get_tool_details` shows",
        )
    }

    /// One violation about the arguments as a whole, for those that never met a schema.
    pub fn whole(keyword: &str, message: impl Into<String>) -> Self {
        Self {
            listed: vec![Violation {
                path: String::new(),
                keyword: keyword.to_owned(),
                message: message.into(),
            }],
            total: 1,
        }
    }
}

impl Violation {
    pub(super) fn of(error: &ValidationError<'_>) -> Self {
        Self {
            path: error.instance_path().to_string(),
            keyword: error.kind().keyword().to_owned(),
            message: said(error),
        }
    }

    pub(super) fn unknown_property(path: &str, name: &str, known: &[&str]) -> Self {
        let shown: String = name.chars().take(64).collect();
        let message = if known.is_empty() {
            format!("`{shown}` is not known; no properties are")
        } else {
            let mut known: Vec<&str> = known.to_vec();
            known.sort_unstable();
            known.dedup();
            let names = known.iter().map(|name| format!("`{name}`"));
            format!("`{shown}` is not known; known are {}", bounded(names))
        };
        Self {
            path: path.to_owned(),
            keyword: "properties".to_owned(),
            message,
        }
    }
}

/// Joins texts by commas until the bound, and says how many more there are.
fn bounded(texts: impl Iterator<Item = String>) -> String {
    let mut joined = String::new();
    let mut left_out = 0_usize;
    for text in texts {
        if left_out > 0 || joined.len() + text.len() > VIOLATION_ALLOWED_CHARS_MAX {
            left_out += 1;
            continue;
        }
        if !joined.is_empty() {
            joined.push_str(", ");
        }
        joined.push_str(&text);
    }
    match (joined.is_empty(), left_out) {
        (_, 0) => joined,
        (true, n) => format!("{n} values that are too long to list"),
        (false, n) => format!("{joined} and {n} more"),
    }
}

fn said(error: &ValidationError<'_>) -> String {
    use ValidationErrorKind as Kind;
    match error.kind() {
        Kind::Type { kind } => {
            let expected = match kind {
                TypeKind::Single(one) => with_article(&one.to_string()),
                TypeKind::Multiple(set) => {
                    let names: Vec<String> =
                        set.iter().map(|t| with_article(&t.to_string())).collect();
                    names.join(" or ")
                }
            };
            let found = with_article(kind_of(error.instance()));
            format!("must be {expected}, not {found}")
        }
        Kind::Required { property } => {
            format!("`{}` is missing", property.as_str().unwrap_or_default())
        }
        Kind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            let texts = options.iter().map(ToString::to_string);
            format!("must be one of {}", bounded(texts))
        }
        Kind::Constant { expected_value } => {
            format!(
                "must be {}",
                bounded(std::iter::once(expected_value.to_string()))
            )
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            format!(
                "{} not allowed",
                bounded(unexpected.iter().map(|n| format!("`{n}`")))
            )
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => alternatives(context),
        Kind::PropertyNames { error } => format!("a property's name is wrong: {}", said(error)),
        kind => bound_said(kind),
    }
}

/// The name of a type as a sentence has it.
fn with_article(kind: &str) -> String {
    match kind {
        "null" => kind.to_owned(),
        "integer" | "array" | "object" => format!("an {kind}"),
        _ => format!("a {kind}"),
    }
}

/// The rules that compare with one bound, and the rest.
fn bound_said(kind: &ValidationErrorKind) -> String {
    use ValidationErrorKind as Kind;
    match kind {
        Kind::AdditionalItems { limit } => format!("must have at most {limit} items"),
        Kind::MinItems { limit } => format!("must have at least {limit} items"),
        Kind::MaxItems { limit } => format!("must have at most {limit} items"),
        Kind::MinLength { limit } => format!("must have at least {limit} characters"),
        Kind::MaxLength { limit } => format!("must have at most {limit} characters"),
        Kind::MinProperties { limit } => format!("must have at least {limit} properties"),
        Kind::MaxProperties { limit } => format!("must have at most {limit} properties"),
        Kind::Minimum { limit } => format!("must be {limit} or more"),
        Kind::Maximum { limit } => format!("must be {limit} or less"),
        Kind::ExclusiveMinimum { limit } => format!("must be more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("must be less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("must be a multiple of {multiple_of}"),
        Kind::Pattern { pattern } => {
            format!(
                "must match {}",
                bounded(std::iter::once(format!("/{pattern}/")))
            )
        }
        Kind::Format { format } => format!("must be a valid {format}"),
        Kind::UniqueItems => "must not repeat items".to_owned(),
        Kind::Contains => "must contain an item that it lacks".to_owned(),
        Kind::UnevaluatedItems { .. } => "has items that are not allowed".to_owned(),
        Kind::FalseSchema => "must be left out".to_owned(),
        Kind::Not { .. } => "is what the schema rules out".to_owned(),
        Kind::OneOfMultipleValid { .. } => {
            "fits more than one of the alternatives, where it must fit exactly one".to_owned()
        }
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
            "could not be matched in bounded time against the schema's pattern".to_owned()
        }
        kind => format!("breaks the rule `{}`", kind.keyword()),
    }
}

fn alternatives(branches: &[Vec<ValidationError<'static>>]) -> String {
    let firsts = branches.iter().filter_map(|errors| {
        let error = errors.first()?;
        let path = error.instance_path().to_string();
        Some(match path.as_str() {
            "" => said(error),
            path => format!("{path} {}", said(error)),
        })
    });
    let count = branches.len();
    format!("fits none of {count} alternatives: {}", bounded(firsts))
}
