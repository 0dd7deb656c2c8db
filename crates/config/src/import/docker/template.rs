//! The templates of Docker's catalogs: `{{server.key|volume|into}}`.

use crate::diagnostic::Severity;
use crate::import::fields::{Fields, Refused, scalar};
use crate::node::{Node, Value};
use crate::placeholder::{Dialect, Template};
use crate::text::Span;

/// The user's settings for one server.
pub(super) struct Settings<'a> {
    config: Option<&'a Node>,
    server: &'a str,
}

impl<'a> Settings<'a> {
    /// The settings of a server in `config.yaml`.
    pub(super) fn new(config: Option<&'a Node>, server: &'a str) -> Self {
        Self { config, server }
    }

    /// The values of a dotted key; the first part is the server's name, which may hold dots itself.
    fn values(&self, key: &str) -> Vec<String> {
        let Some(own) = self.config.and_then(|config| config.get(self.server)) else {
            return Vec::new();
        };
        let path = key
            .strip_prefix(self.server)
            .and_then(|rest| rest.strip_prefix('.'))
            .unwrap_or(key);
        let mut node = own;
        for part in path.split('.') {
            match node.get(part) {
                Some(next) => node = next,
                None => return Vec::new(),
            }
        }
        match &node.value {
            Value::List(items) => items.iter().filter_map(scalar).collect(),
            _ => scalar(node).into_iter().collect(),
        }
    }
}

/// The values that a text of a catalog stands for. Text that is one template alone can give several;
/// a setting that is not there gives none. Text without a template may refer to secrets as `$NAME`.
pub(super) fn evaluate(
    fields: &mut Fields<'_>,
    text: &str,
    span: Span,
    settings: &Settings<'_>,
) -> Result<Vec<Template>, Refused> {
    if !text.contains("{{") {
        if text.is_empty() {
            return Ok(Vec::new());
        }
        return Ok(vec![fields.template(text, span, Dialect::Shell)?]);
    }
    if let Some(inner) = alone(text) {
        let values = expression(fields, inner, span, settings)?;
        return Ok(values
            .into_iter()
            .filter(|value| !value.is_empty() && !value.starts_with('-'))
            .map(Template::literal)
            .collect());
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let Some((inner, after)) = after.split_once("}}") else {
            return Err(unknown(fields, text, span));
        };
        out.push_str(&expression(fields, inner, span, settings)?.join(" "));
        rest = after;
    }
    out.push_str(rest);
    Ok(vec![Template::literal(out)])
}

/// What stands within the braces, where the text is nothing else.
fn alone(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    (!inner.contains("{{") && !inner.contains("}}")).then_some(inner)
}

fn expression(
    fields: &mut Fields<'_>,
    inner: &str,
    span: Span,
    settings: &Settings<'_>,
) -> Result<Vec<String>, Refused> {
    let mut parts = inner.split('|').map(str::trim);
    let key = parts.next().unwrap_or_default();
    let mut values = settings.values(key);
    for part in parts {
        let (function, argument) = part.split_once(':').unwrap_or((part, ""));
        let argument = argument.trim().trim_matches(['"', '\'']);
        match function.trim() {
            "or" if values.is_empty() => values = vec![argument.to_owned()],
            "into" | "or" => {}
            "volume" => values = values.iter().map(|value| volume(value)).collect(),
            "volume-target" => values = values.iter().map(|value| target(value)).collect(),
            "mount-as" => {
                values = values
                    .iter()
                    .map(|value| format!("{value}:{argument}"))
                    .collect();
            }
            _ => return Err(unknown(fields, inner, span)),
        }
    }
    if values.is_empty() {
        fields.remark(
            Severity::Note,
            format!("{}: the setting {key} is not set", fields.subject()),
            span,
            "set it in Docker's MCP Toolkit if the server needs it",
        );
    }
    Ok(values)
}

/// A path mounted under its own name, unless it says where.
fn volume(path: &str) -> String {
    if split(path).is_some() {
        path.to_owned()
    } else {
        format!("{path}:{path}")
    }
}

/// Where a path is mounted.
fn target(path: &str) -> String {
    split(path).map_or(path, |(_, target)| target).to_owned()
}

/// The two sides of `host:container`; the colon of a Windows drive is none.
fn split(path: &str) -> Option<(&str, &str)> {
    let from = if path.as_bytes().get(1) == Some(&b':') {
        2
    } else {
        0
    };
    let colon = path.get(from..)?.find(':')? + from;
    Some((&path[..colon], &path[colon + 1..]))
}

fn unknown(fields: &Fields<'_>, text: &str, span: Span) -> Refused {
    fields.refuse(
        format!(
            "{}: the template {text} is not understood",
            fields.subject()
        ),
        span,
        "write the server into your own configuration instead",
    )
}
