//! JSON Schema: compiling what an upstream sent, and checking what a caller sends.
//!
//! Both sides are strangers. A schema is looked over before it is compiled, so that none takes
//! more time, memory or stack than [`crate::limits`] allows; nothing is ever fetched for it; and a
//! violation names the place and what is allowed there, never the value that was sent.

mod cache;
mod graph;
mod guard;
pub mod outline;
pub mod sample;
pub mod signature;
mod violation;
mod walk;

use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use serde_json::Value;

pub use self::cache::Validators;
use self::graph::Graph;
pub use self::sample::sample;
pub use self::signature::signature;
pub use self::violation::{Violation, Violations};
use crate::canon::{Hash, params_hash};
use crate::limits::{
    SCHEMA_CHAIN_MAX, SCHEMA_DEPTH_MAX, SCHEMA_EXPANSION_MAX, SCHEMA_NODES_MAX,
    SCHEMA_PATTERN_BACKTRACK_STEPS_MAX, SCHEMA_PATTERN_BYTES_MAX,
    SCHEMA_PATTERN_COMPILED_BYTES_MAX, SCHEMA_PATTERNS_MAX, SCHEMA_STEPS_MAX,
};

/// The JSON type of a value, as schemas name it.
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Why a schema is not used. The caller can do nothing about it; the server's author can.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// More values than are looked at.
    #[error("the tool's schema holds more than {SCHEMA_NODES_MAX} values")]
    TooLarge,
    /// Nested more deeply than is looked at.
    #[error("the tool's schema is nested more than {SCHEMA_DEPTH_MAX} levels deep")]
    TooDeep,
    /// Too many or too long regular expressions.
    #[error(
        "the tool's schema has more than {SCHEMA_PATTERNS_MAX} patterns, or one of more than \
         {SCHEMA_PATTERN_BYTES_MAX} bytes"
    )]
    Patterns,
    /// References that multiply.
    #[error("more than {SCHEMA_EXPANSION_MAX} parts of the tool's schema speak about one value")]
    Explosive,
    /// References that only lead to each other.
    #[error("a part of the tool's schema refers to itself without end")]
    Endless,
    /// A chain of references that is too long.
    #[error("the tool's schema has a chain of more than {SCHEMA_CHAIN_MAX} references")]
    Chain,
    /// A reference to another document.
    #[error("the tool's schema refers to `{0}`, which is not part of it and is never fetched")]
    Remote(String),
    /// A reference to nothing.
    #[error("the tool's schema refers to `{0}`, which it does not define")]
    Dangling(String),
    /// A part with an address of its own.
    #[error("the tool's schema embeds another under the address `{0}`, which is not supported")]
    Embedded(String),
    /// Not a schema of the dialect that it declares.
    #[error("the tool's schema is not valid at `{path}`: its `{keyword}` is wrong")]
    Invalid {
        /// Where in the schema.
        path: String,
        /// Which rule about schemas it breaks.
        keyword: String,
    },
}

/// What happens to arguments that a schema neither names nor speaks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// They are violations.
    Refuse,
    /// They pass.
    Pass,
}

/// A schema, ready to check arguments.
#[derive(Debug)]
pub struct Compiled {
    validator: Validator,
    schema: Value,
    profile: guard::Profile,
}

/// What identifies a schema: the hash of its canonical form.
pub fn key(schema: &Value) -> Hash {
    params_hash(schema)
}

/// Compiles a schema of the dialect that it declares: 2020-12 when it declares none, draft 2019-09,
/// 7, 6 or 4 as declared.
pub fn compile(schema: &Value) -> Result<Compiled, SchemaError> {
    let profile = guard::inspect(schema)?;
    let declared = declared_draft(schema);
    let validator = build(schema, declared.unwrap_or(Draft::Draft202012)).or_else(|error| {
        // Schemas without a dialect are often of an older one, and only that one reads them.
        let older = if declared.is_none() {
            [Draft::Draft7, Draft::Draft4].as_slice()
        } else {
            &[]
        };
        let read = older.iter().find_map(|draft| build(schema, *draft).ok());
        read.ok_or(error)
    })?;
    Ok(Compiled {
        validator,
        schema: schema.clone(),
        profile,
    })
}

fn declared_draft(schema: &Value) -> Option<Draft> {
    let uri = schema.get("$schema")?.as_str()?;
    let dialects = [
        ("draft-04", Draft::Draft4),
        ("draft-06", Draft::Draft6),
        ("draft-07", Draft::Draft7),
        ("2019-09", Draft::Draft201909),
        ("2020-12", Draft::Draft202012),
    ];
    let known = dialects.into_iter().find(|(mark, _)| uri.contains(mark));
    known.map(|(_, draft)| draft)
}

fn build(schema: &Value, draft: Draft) -> Result<Validator, SchemaError> {
    let patterns = PatternOptions::fancy_regex()
        .backtrack_limit(SCHEMA_PATTERN_BACKTRACK_STEPS_MAX)
        .size_limit(SCHEMA_PATTERN_COMPILED_BYTES_MAX)
        .dfa_size_limit(SCHEMA_PATTERN_COMPILED_BYTES_MAX);
    jsonschema::options()
        .offline()
        .with_draft(draft)
        .with_pattern_options(patterns)
        .build(schema)
        .map_err(|error| SchemaError::Invalid {
            path: error.instance_path().to_string(),
            keyword: error.kind().keyword().to_owned(),
        })
}

/// Adds what a validator says about arguments that it refused. It may say nothing, and has refused
/// them all the same.
fn listed<'a>(
    mut violations: Violations,
    errors: impl Iterator<Item = ValidationError<'a>>,
) -> Violations {
    for error in errors {
        if !violations.push(|| Violation::of(&error)) {
            break;
        }
    }
    if violations.is_empty() {
        return Violations::unexplained();
    }
    violations
}

impl Compiled {
    /// Checks arguments and lists every violation, up to a bound.
    pub fn check(&self, arguments: &Value, unknown: Unknown) -> Result<(), Violations> {
        let mut violations = Violations::default();
        if unknown == Unknown::Refuse || self.may_explode(arguments) {
            let graph = Graph::new(&self.schema, &self.profile.anchors);
            let walked = walk::walk(graph, arguments, SCHEMA_STEPS_MAX);
            let Ok(unknowns) = walked else {
                return Err(Violations::too_complex());
            };
            if unknown == Unknown::Refuse {
                violations.extend(unknowns);
            }
        }
        if violations.is_empty() && self.validator.is_valid(arguments) {
            return Ok(());
        }
        Err(listed(violations, self.validator.iter_errors(arguments)))
    }

    /// Without references the work is bounded by the sizes of schema and arguments.
    fn may_explode(&self, arguments: &Value) -> bool {
        self.profile.has_references
            || walk::count(arguments).saturating_mul(self.profile.expansion) > SCHEMA_STEPS_MAX
    }

    /// How many values the schema holds.
    pub fn nodes(&self) -> usize {
        self.profile.nodes
    }
}

#[cfg(test)]
mod tests;
