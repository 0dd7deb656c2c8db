//! Values that an entry leaves to the user, and texts that hold them.

use std::collections::HashMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A value as the registry describes it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Input {
    pub(super) description: Option<String>,
    pub(super) is_required: bool,
    pub(super) is_secret: bool,
    pub(super) format: Option<String>,
    pub(super) value: Option<String>,
    pub(super) default: Option<String>,
    pub(super) choices: Vec<String>,
    pub(super) variables: HashMap<String, Input>,
}

/// A named value: a header or an environment variable.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct KeyValue {
    pub(super) name: String,
    #[serde(flatten)]
    pub(super) input: Input,
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// It stands for itself.
    Literal(String),
    /// It stands for an environment variable.
    Variable {
        /// Its name.
        name: String,
        /// What it is when it is not set.
        default: Option<String>,
    },
}

/// A text that may refer to environment variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text(pub Vec<Part>);

impl Text {
    /// A text that stands for itself.
    pub fn literal(text: impl Into<String>) -> Self {
        Self(vec![Part::Literal(text.into())])
    }

    fn variable(needed: &Needed) -> Self {
        Self(vec![match &needed.default {
            // What cannot be spelt as a default stands for itself.
            Some(default) if default.contains(['{', '}', '$']) => Part::Literal(default.clone()),
            default => Part::Variable {
                name: needed.variable.clone(),
                default: default.clone(),
            },
        }])
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.0 {
            match part {
                Part::Literal(text) => f.write_str(text)?,
                Part::Variable { name, default } => match default {
                    Some(default) => write!(f, "${{{name}:-{default}}}")?,
                    None => write!(f, "${{{name}}}")?,
                },
            }
        }
        Ok(())
    }
}

/// Something that the user may or must give, as an environment variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Needed {
    /// The variable.
    pub variable: String,
    /// What it is for: the header, the argument, the variable of the server.
    pub used_for: String,
    /// What the entry says about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the server cannot be used without it.
    pub required: bool,
    /// Whether it must not be shown.
    pub secret: bool,
    /// What it is when it is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// What it may be; anything when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
}

/// Whether a name in braces that the entry does not describe is still a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Undeclared {
    /// It is: braces have no other meaning here.
    Needed,
    /// It stands for itself: it may be JSON, or a template of the program's own.
    Literal,
}

/// Collects what texts need.
pub(super) struct Collector<'a> {
    prefix: &'a str,
    pub(super) needed: Vec<Needed>,
}

impl<'a> Collector<'a> {
    pub(super) fn new(prefix: &'a str) -> Self {
        Self {
            prefix,
            needed: Vec::new(),
        }
    }

    /// The text of an input; `None` where it may be left out and nothing is given.
    ///
    /// `name` is what the value is called, `variable` the environment variable it comes from where
    /// that is fixed.
    pub(super) fn text(
        &mut self,
        input: &Input,
        name: &str,
        variable: Option<&str>,
        undeclared: Undeclared,
    ) -> Option<Text> {
        if let Some(value) = &input.value {
            return Some(self.fill(value, &input.variables, name, undeclared));
        }
        let needed = self.need(input, name, variable);
        let given = needed.required || needed.default.is_some();
        let text = Text::variable(&needed);
        self.add(needed);
        given.then_some(text)
    }

    /// A text whose names in braces are variables.
    pub(super) fn fill(
        &mut self,
        value: &str,
        variables: &HashMap<String, Input>,
        used_for: &str,
        undeclared: Undeclared,
    ) -> Text {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = value;
        while let Some(start) = rest.find('{') {
            literal.push_str(&rest[..start]);
            rest = &rest[start..];
            let name = rest[1..].find('}').map(|end| &rest[1..=end]);
            let secret = Input {
                is_required: true,
                is_secret: true,
                ..Input::default()
            };
            let input =
                name.filter(|name| is_name(name))
                    .and_then(|name| match variables.get(name) {
                        Some(input) => Some((name, input)),
                        None if undeclared == Undeclared::Needed => Some((name, &secret)),
                        None => None,
                    });
            let Some((name, input)) = input else {
                literal.push('{');
                rest = &rest[1..];
                continue;
            };
            if !literal.is_empty() {
                parts.push(Part::Literal(std::mem::take(&mut literal)));
            }
            parts.extend(self.inner(name, input, used_for).0);
            rest = &rest[name.len() + 2..];
        }
        literal.push_str(rest);
        if !literal.is_empty() || parts.is_empty() {
            parts.push(Part::Literal(literal));
        }
        Text(parts)
    }

    /// A variable inside a text. It cannot be left out, so it is required unless it has a default.
    fn inner(&mut self, name: &str, input: &Input, used_for: &str) -> Text {
        if let Some(value) = &input.value {
            return Text::literal(value);
        }
        let mut needed = self.need(input, name, None);
        used_for.clone_into(&mut needed.used_for);
        needed.required = needed.default.is_none();
        let text = Text::variable(&needed);
        self.add(needed);
        text
    }

    /// What stands for an input as part of a text; where the input is neither required nor has a default,
    /// it is noted only.
    pub(super) fn variable(&mut self, input: &Input, name: &str, used_for: &str) -> Text {
        let mut needed = self.need(input, name, None);
        used_for.clone_into(&mut needed.used_for);
        let text = Text::variable(&needed);
        self.add(needed);
        text
    }

    fn need(&self, input: &Input, name: &str, variable: Option<&str>) -> Needed {
        let variable = match variable {
            Some(variable) if is_variable(variable) => variable.to_owned(),
            _ => format!("{}_{}", self.prefix, in_capitals(name)),
        };
        Needed {
            variable,
            used_for: name.to_owned(),
            description: input.description.clone(),
            required: input.is_required && input.default.is_none(),
            secret: input.is_secret,
            default: input.default.clone(),
            choices: input.choices.clone(),
        }
    }

    fn add(&mut self, needed: Needed) {
        if !self.needed.iter().any(|n| n.variable == needed.variable) {
            self.needed.push(needed);
        }
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

/// Whether a name can be that of an environment variable.
fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A name as part of a variable.
fn in_capitals(name: &str) -> String {
    let capitals: String = name
        .chars()
        .map(|c| match c {
            c if c.is_ascii_alphanumeric() => c.to_ascii_uppercase(),
            _ => '_',
        })
        .collect();
    capitals.trim_matches('_').to_owned()
}
