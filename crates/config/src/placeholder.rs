//! Text with environment placeholders in it, kept unexpanded until it is used.
//!
//! Which spellings count depends on where the text comes from ([`Dialect`]): `$VAR` in one client's
//! file is a variable, in another's it is part of a password.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use toolcrib_core::secret::{self, MASK, Secret};

/// Which placeholder spellings a format has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Dialect {
    /// Our own files: `${VAR}`, `${VAR:-default}`, `${env:VAR}`; `$${` is a literal `${`.
    #[default]
    Own,
    /// `${VAR}` and `${VAR:-default}` (Claude Code, Docker, the documents' `mcpServers`).
    Braces,
    /// `${VAR}`, `${VAR:-default}` and `${env:VAR}` (Windsurf, Amazon Q, Kiro).
    Either,
    /// `${env:VAR}`, and `${input:id}`, which becomes a named secret (VS Code, Cursor).
    VsCode,
    /// `{env:VAR}` (opencode).
    Opencode,
    /// `$VAR` and `${VAR}` (Gemini CLI).
    Shell,
    /// `${{ secrets.VAR }}` (Continue).
    Secrets,
    /// No placeholders: the text is meant as it stands.
    None,
}

/// One piece of a [`Template`].
#[derive(Clone, PartialEq, Eq)]
enum Part {
    Literal(Secret),
    Variable {
        name: String,
        default: Option<Secret>,
    },
}

/// Text that may refer to environment variables.
///
/// `Debug` and `Display` show placeholders as `${VAR}` and mask what looks like a secret; a template
/// made [`Template::sensitive`] masks every literal.
#[derive(Clone, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
    sensitive: bool,
}

/// A [`Template`] whose literals are never shown: values of variables and headers, tokens.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretTemplate(pub Template);

impl fmt::Debug for SecretTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl<'de> Deserialize<'de> for Template {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text, Dialect::Own).map_err(serde::de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for SecretTemplate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Template::deserialize(deserializer)?.sensitive()))
    }
}

/// The schema formats by which the checker knows text with placeholders.
pub const TEMPLATE_FORMAT: &str = "template";
/// As [`TEMPLATE_FORMAT`], for values that are secret.
pub const SECRET_TEMPLATE_FORMAT: &str = "secret-template";

impl JsonSchema for Template {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Template".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": TEMPLATE_FORMAT })
    }
}

impl JsonSchema for SecretTemplate {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SecretTemplate".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": SECRET_TEMPLATE_FORMAT })
    }
}

/// A placeholder that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct PlaceholderError {
    /// What is wrong, naming the placeholder.
    pub reason: String,
    /// Byte offset in the text.
    pub offset: usize,
}

/// A variable that is not set and has no default.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the environment variable {name} is not set")]
pub struct Unset {
    /// The variable.
    pub name: String,
}

impl Template {
    /// Text without placeholders, whatever it holds.
    pub fn literal(text: impl Into<String>) -> Self {
        Self {
            parts: vec![Part::Literal(Secret::new(text))],
            sensitive: false,
        }
    }

    /// Exactly one variable.
    pub fn variable(name: impl Into<String>) -> Self {
        Self {
            parts: vec![Part::Variable {
                name: name.into(),
                default: None,
            }],
            sensitive: false,
        }
    }

    /// This text with a literal after it, whatever that holds.
    #[must_use]
    pub fn then_literal(mut self, text: impl Into<String>) -> Self {
        self.drop_nothing();
        self.parts.push(Part::Literal(Secret::new(text)));
        self
    }

    /// This text with a variable after it. A `default` must not hold a `}`.
    #[must_use]
    pub fn then_variable(mut self, name: impl Into<String>, default: Option<String>) -> Self {
        self.drop_nothing();
        self.parts.push(Part::Variable {
            name: name.into(),
            default: default.map(Secret::new),
        });
        self
    }

    /// Takes out the empty literal that an empty text consists of.
    fn drop_nothing(&mut self) {
        self.parts
            .retain(|part| !matches!(part, Part::Literal(text) if text.expose().is_empty()));
    }

    /// Reads the placeholders that the dialect has; everything else is literal.
    pub fn parse(text: &str, dialect: Dialect) -> Result<Self, PlaceholderError> {
        // No dialect has a placeholder, or an escape, without one of these.
        if !text.contains(['$', '{']) {
            return Ok(Self::literal(text));
        }
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut at = 0;
        while at < text.len() {
            if dialect == Dialect::Own {
                let taken = unescape(&text[at..], &mut literal);
                if taken > 0 {
                    at += taken;
                    continue;
                }
            }
            if let Some((part, end)) = placeholder(text, at, dialect)? {
                if !literal.is_empty() {
                    parts.push(Part::Literal(Secret::new(std::mem::take(&mut literal))));
                }
                parts.push(part);
                at = end;
            } else if let Some(c) = text[at..].chars().next() {
                literal.push(c);
                at += c.len_utf8();
            }
        }
        if !literal.is_empty() || parts.is_empty() {
            parts.push(Part::Literal(Secret::new(literal)));
        }
        Ok(Self {
            parts,
            sensitive: false,
        })
    }

    /// Marks it as a secret: no literal of it is ever shown.
    #[must_use]
    pub fn sensitive(mut self) -> Self {
        self.sensitive = true;
        self
    }

    /// The text with every variable replaced by its value.
    pub fn expand(&self, lookup: &dyn Fn(&str) -> Option<String>) -> Result<Secret, Unset> {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(text) => out.push_str(text.expose()),
                Part::Variable { name, default } => match (lookup(name), default) {
                    (Some(value), Some(default)) if value.is_empty() => {
                        out.push_str(default.expose());
                    }
                    (Some(value), _) => out.push_str(&value),
                    (None, Some(default)) => out.push_str(default.expose()),
                    (None, None) => return Err(Unset { name: name.clone() }),
                },
            }
        }
        Ok(Secret::new(out))
    }

    /// The names of the variables it refers to, in order.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Variable { name, .. } => Some(name.as_str()),
            Part::Literal(_) => None,
        })
    }

    /// Whether some of it is literal text that has the look of a secret, given the name of the
    /// field, variable or header that it fills.
    pub fn holds_plain_secret(&self, field: &str) -> bool {
        let wholly_literal = self.variables().next().is_none();
        self.parts.iter().any(|part| match part {
            Part::Literal(text) => {
                secret::value_is_secret(text.expose())
                    || secret::gives_secret(text.expose())
                    || (wholly_literal
                        && !text.expose().is_empty()
                        && secret::name_is_secret(field))
            }
            Part::Variable { .. } => false,
        })
    }

    /// The text with nothing but its variables; what is literal, defaults too, is masked.
    pub fn masked(&self) -> String {
        self.clone().sensitive().to_string()
    }

    /// The exact text in the spelling of our own files, for writing a configuration.
    pub fn exact(&self) -> Secret {
        let mut out = String::new();
        for (index, part) in self.parts.iter().enumerate() {
            match part {
                Part::Literal(text) => {
                    push_escaped(&mut out, text.expose(), index + 1 < self.parts.len());
                }
                Part::Variable { name, default } => {
                    push_variable(&mut out, name, default.as_ref().map(Secret::expose));
                }
            }
        }
        Secret::new(out)
    }
}

/// Takes the escaped dollars at the front of `rest`: of the dollars directly before a `{`, every two
/// stand for one, so that `$${` is a literal `${`. Gives the number of bytes taken.
fn unescape(rest: &str, literal: &mut String) -> usize {
    let dollars = rest.bytes().take_while(|b| *b == b'$').count();
    if dollars < 2 || rest.as_bytes().get(dollars) != Some(&b'{') {
        return 0;
    }
    literal.extend(std::iter::repeat_n('$', dollars / 2));
    if dollars % 2 == 0 {
        literal.push('{');
        return dollars + 1;
    }
    dollars - 1
}

/// Whether an option says that the argument after it is a secret: `--password`, and not `--password=…` or
/// `--password-file`. Another option is none.
pub(crate) fn secret_follows(option: &str, argument: &str) -> bool {
    option.starts_with('-')
        && !argument.starts_with('-')
        && !option.contains('=')
        && secret::name_ends_secret(option)
}

/// The inverse of [`unescape`] over a whole literal: appends it in the spelling of our own files.
pub(crate) fn push_escaped(out: &mut String, literal: &str, before_variable: bool) {
    if !literal.contains('$') {
        return out.push_str(literal);
    }
    let mut dollars = 0;
    for c in literal.chars() {
        if c == '{' {
            out.extend(std::iter::repeat_n('$', dollars));
        }
        dollars = if c == '$' { dollars + 1 } else { 0 };
        out.push(c);
    }
    if before_variable {
        out.extend(std::iter::repeat_n('$', dollars));
    }
}

/// Appends `${name}` or `${name:-default}`.
pub(crate) fn push_variable(out: &mut String, name: &str, default: Option<&str>) {
    out.push_str("${");
    out.push_str(name);
    if let Some(default) = default {
        out.push_str(":-");
        out.push_str(default);
    }
    out.push('}');
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(text) if text.expose().is_empty() => {}
                // The scheme of a header before a variable is no secret.
                Part::Literal(text) if matches!(text.expose(), "Bearer " | "Basic ") => {
                    out.push_str(text.expose());
                }
                Part::Literal(_) if self.sensitive => out.push_str(MASK),
                Part::Literal(text) => out.push_str(text.expose()),
                Part::Variable { name, default } => {
                    push_variable(&mut out, name, default.as_ref().map(|_| MASK));
                }
            }
        }
        if self.sensitive {
            f.write_str(&out)
        } else {
            f.write_str(&secret::mask(&out))
        }
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

/// The placeholder that begins at `at`, with its end.
fn placeholder(
    text: &str,
    at: usize,
    dialect: Dialect,
) -> Result<Option<(Part, usize)>, PlaceholderError> {
    let rest = &text[at..];
    let (open, inner_at) = match dialect {
        Dialect::Opencode if rest.starts_with("{env:") => ("{", at + 1),
        Dialect::None | Dialect::Opencode => return Ok(None),
        Dialect::Shell if rest.starts_with('$') && !rest.starts_with("${") => {
            return Ok(bare_variable(text, at));
        }
        _ if rest.starts_with("${") => ("${", at + 2),
        _ => return Ok(None),
    };
    let Some(length) = text[inner_at..].find('}') else {
        if dialect != Dialect::Own {
            return Ok(None);
        }
        return Err(PlaceholderError {
            reason: format!("the placeholder that begins with {open} is never closed with }}"),
            offset: at,
        });
    };
    if dialect == Dialect::Secrets {
        return Ok(secrets_reference(&text[inner_at..], inner_at));
    }
    let end = inner_at + length + 1;
    let inner = &text[inner_at..inner_at + length];
    match inside(inner, dialect) {
        Ok(part) => Ok(part.map(|part| (part, end))),
        Err(reason) => Err(PlaceholderError { reason, offset: at }),
    }
}

/// `$VAR` of the shell dialect.
fn bare_variable(text: &str, at: usize) -> Option<(Part, usize)> {
    let name: String = text[at + 1..]
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
        .collect();
    is_variable_name(&name).then(|| {
        let end = at + 1 + name.len();
        (
            Part::Variable {
                name,
                default: None,
            },
            end,
        )
    })
}

/// `{ secrets.VAR }}`, what follows the `$` and the first brace of Continue's spelling.
fn secrets_reference(rest: &str, at: usize) -> Option<(Part, usize)> {
    let (inner, _) = rest.strip_prefix('{')?.split_once("}}")?;
    let path = inner.trim();
    let name = path
        .strip_prefix("secrets.")
        .or_else(|| path.strip_prefix("inputs."))?;
    let name = name.rsplit(['.', '/']).next().unwrap_or(name);
    let part = variable(name, None).ok()?;
    Some((part, at + 1 + inner.len() + 2))
}

/// What stands between the braces. `None`: not a placeholder of this dialect, so literal text.
fn inside(inner: &str, dialect: Dialect) -> Result<Option<Part>, String> {
    let own = dialect == Dialect::Own;
    if let Some(name) = inner.strip_prefix("env:")
        && matches!(
            dialect,
            Dialect::Own | Dialect::Either | Dialect::VsCode | Dialect::Opencode
        )
    {
        return variable(name, None).map(Some);
    }
    if dialect == Dialect::VsCode {
        if let Some(id) = inner.strip_prefix("input:") {
            return variable(&input_variable(id), None).map(Some);
        }
        return Ok(None);
    }
    if dialect == Dialect::Opencode {
        return Ok(None);
    }
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) if dialect != Dialect::Shell => (name, Some(Secret::new(default))),
        _ => (inner, None),
    };
    match variable(name, default) {
        Ok(part) => Ok(Some(part)),
        Err(reason) if own => Err(reason),
        Err(_) => Ok(None),
    }
}

fn variable(name: &str, default: Option<Secret>) -> Result<Part, String> {
    if is_variable_name(name) {
        Ok(Part::Variable {
            name: name.to_owned(),
            default,
        })
    } else {
        Err(format!(
            "{name:?} is not the name of an environment variable (letters, digits and _); write $${{ for a literal ${{"
        ))
    }
}

/// The variable that stands for an `${input:id}` of VS Code: `INPUT_` and the id in upper case.
pub fn input_variable(id: &str) -> String {
    let tail: String = id
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_uppercase()
            } else {
                '_'
            }
        })
        .collect();
    format!("INPUT_{tail}")
}

/// Whether an environment variable can have this name.
pub(crate) fn is_variable_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests;
