//! Holds a tree against the schema and says everything that is wrong with it, each at its place.
//!
//! Only the part of JSON Schema that the generated schema uses is known here. Two things are ours:
//! `snake_case` spellings of keys are taken for the `camelCase` ones, and the string formats
//! `template`, `secret-template` and `tool-pattern` are read, not just measured.

use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value as Json};
use toolcrib_core::{limits, nearest, pattern};

use crate::diagnostic::Diagnostic;
use crate::node::{Entry, Node, Value};
use crate::placeholder::{
    Dialect, SECRET_TEMPLATE_FORMAT, TEMPLATE_FORMAT, Template, secret_follows,
};
use crate::text::{Source, Span};

/// The schema format of patterns over tool names.
pub const TOOL_PATTERN_FORMAT: &str = "tool-pattern";

/// What a check found.
#[derive(Debug, Default)]
pub struct Checked {
    /// The same value with canonical keys, ready to be decoded; `null` entries are left out.
    pub value: Json,
    /// Everything that is wrong.
    pub diagnostics: Vec<Diagnostic>,
    /// Every text with placeholders, or with a secret in plain sight, with its place.
    pub templates: Vec<FoundTemplate>,
}

/// A text with placeholders, where it stands and what it fills.
#[derive(Debug)]
pub struct FoundTemplate {
    /// Path such as `servers.github.env.TOKEN`.
    pub path: String,
    /// What the text fills: the last key of the path, which is a variable, a header or a field, or the option before it
    /// where that says that a secret follows.
    pub field: String,
    /// The text.
    pub template: Template,
    /// Where it stands.
    pub span: Span,
}

/// Checks a tree against a schema.
pub fn check(source: &Arc<Source>, node: &Node, schema: &Json) -> Checked {
    let mut walk = Walk {
        source,
        root: schema,
        found: Checked::default(),
        dropped: 0,
    };
    let value = walk.node(node, schema, &Path::Root);
    if walk.dropped > 0 {
        let more = walk.dropped;
        let cut = Diagnostic::error(format!("{more} more problems in this file are not listed"));
        walk.found.diagnostics.push(cut.about(source));
    }
    walk.found.value = value;
    walk.found
}

/// The way from the root, kept as a chain so that it costs nothing until a message needs it.
enum Path<'a> {
    Root,
    Key(&'a Path<'a>, &'a str),
    /// A place in a list, with the option before it where that says that a secret follows.
    Index(&'a Path<'a>, usize, Option<&'a str>),
}

impl Path<'_> {
    fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    fn write(&self, to: &mut String) {
        match self {
            Self::Root => {}
            Self::Key(Path::Root, key) => to.push_str(key),
            Self::Key(parent, key) => {
                parent.write(to);
                to.push('.');
                to.push_str(key);
            }
            Self::Index(parent, index, _) => {
                parent.write(to);
                to.push('[');
                to.push_str(&index.to_string());
                to.push(']');
            }
        }
    }

    fn named(&self) -> String {
        match self {
            Self::Root => "the configuration".into(),
            _ => self.text(),
        }
    }

    fn field(&self) -> &str {
        match self {
            Self::Root => "",
            Self::Key(_, key) => key,
            Self::Index(parent, _, option) => option.unwrap_or_else(|| parent.field()),
        }
    }
}

struct Walk<'a> {
    source: &'a Arc<Source>,
    root: &'a Json,
    found: Checked,
    dropped: usize,
}

impl<'a> Walk<'a> {
    fn report(&mut self, diagnostic: Diagnostic, span: Span) {
        if self.found.diagnostics.len() < limits::CONFIG_DIAGNOSTICS_MAX {
            self.found
                .diagnostics
                .push(diagnostic.at(self.source, span));
        } else {
            self.dropped += 1;
        }
    }

    /// Follows `$ref` into `$defs`.
    fn resolve(&self, schema: &'a Json) -> &'a Json {
        match keyword(schema, "$ref").and_then(Json::as_str) {
            Some(reference) => reference
                .strip_prefix("#/$defs/")
                .and_then(|name| keyword(self.root, "$defs")?.get(name))
                .unwrap_or(schema),
            None => schema,
        }
    }

    fn node(&mut self, node: &Node, schema: &'a Json, path: &Path<'_>) -> Json {
        let schema = self.resolve(schema);
        if let Some(branches) = branches(schema) {
            return self.one_of(node, branches, path);
        }
        if !fits_type(&node.value, schema) {
            self.wrong_type(node, &[schema], path);
            return node.to_json();
        }
        match &node.value {
            Value::Map(entries) => self.map(node, entries, schema, path),
            Value::List(items) => self.list(items, schema, path),
            Value::String(text) => self.string(node, text, schema, path),
            Value::Number(_) => {
                self.range(node, schema, path);
                node.to_json()
            }
            Value::Null | Value::Bool(_) => node.to_json(),
        }
    }

    /// A union: the branch whose type fits is the one that was meant.
    fn one_of(&mut self, node: &Node, branches: &'a [Json], path: &Path<'_>) -> Json {
        let resolved: Vec<&'a Json> = branches.iter().map(|b| self.resolve(b)).collect();
        let words: Vec<&str> = resolved.iter().flat_map(|b| constants(b)).collect();
        if let Some(text) = node.as_str()
            && !words.is_empty()
        {
            if !words.contains(&text) {
                self.unknown_word(node, text, &words, path);
            }
            return node.to_json();
        }
        if let Some(branch) = resolved.iter().find(|b| fits_type(&node.value, b)) {
            self.node(node, branch, path)
        } else {
            self.wrong_type(node, &resolved, path);
            node.to_json()
        }
    }

    fn wrong_type(&mut self, node: &Node, schemas: &[&Json], path: &Path<'_>) {
        let mut wanted: Vec<&str> = schemas.iter().flat_map(|s| types(s)).collect();
        wanted.retain(|t| *t != "null");
        wanted.dedup();
        let phrases: Vec<&str> = wanted.iter().map(|t| phrase(t)).collect();
        let message = format!("{} must be {}", path.named(), phrases.join(" or "));
        let help = match (&node.value, wanted.as_slice()) {
            (Value::String(text), ["array"]) if text.len() < 60 => {
                format!("write a list: [{text:?}]")
            }
            (Value::String(text), ["boolean"])
                if ["yes", "on", "true"].contains(&text.to_lowercase().as_str()) =>
            {
                "write true".to_owned()
            }
            (Value::String(text), ["boolean"])
                if ["no", "off", "false"].contains(&text.to_lowercase().as_str()) =>
            {
                "write false".to_owned()
            }
            (_, ["boolean"]) => "write true or false".to_owned(),
            (Value::Number(_) | Value::Bool(_), ["string"]) => "put it in quotes".to_owned(),
            (value, _) => format!("this is {}", value.kind()),
        };
        self.report(Diagnostic::error(message).help(help), node.span);
    }

    fn unknown_word(&mut self, node: &Node, text: &str, words: &[&str], path: &Path<'_>) {
        let message = format!("{} must be {}", path.named(), or_list(words));
        let mut diagnostic = Diagnostic::error(message);
        if let Some(near) = nearest::nearest(text, words.iter().copied(), 1).first() {
            diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
        }
        self.report(diagnostic, node.span);
    }

    fn map(&mut self, node: &Node, entries: &[Entry], schema: &'a Json, path: &Path<'_>) -> Json {
        static NONE: LazyLock<Map<String, Json>> = LazyLock::new(Map::new);
        let properties = keyword(schema, "properties")
            .and_then(Json::as_object)
            .unwrap_or(&NONE);
        let mut out = Map::new();
        for entry in entries {
            let canonical = canonical_key(&entry.key, properties);
            let inner = Path::Key(path, canonical.unwrap_or(&entry.key));
            match canonical.and_then(|key| properties.get(key)) {
                Some(_) if entry.value.value == Value::Null => {}
                Some(property) => {
                    let value = self.node(&entry.value, property, &inner);
                    let key = canonical.unwrap_or(&entry.key).to_owned();
                    if out.insert(key.clone(), value).is_some() {
                        let message = format!("{} is given twice", inner.text());
                        self.report(
                            Diagnostic::error(message).help(format!("keep `{key}`")),
                            entry.key_span,
                        );
                    }
                }
                None => match keyword(schema, "additionalProperties") {
                    Some(rest @ Json::Object(_)) => {
                        let value = self.node(&entry.value, rest, &inner);
                        out.insert(entry.key.clone(), value);
                    }
                    Some(Json::Bool(false)) => self.unknown_key(entry, properties, path),
                    _ => {
                        out.insert(entry.key.clone(), entry.value.to_json());
                    }
                },
            }
        }
        self.missing_keys(node, schema, &out, path);
        Json::Object(out)
    }

    fn unknown_key(&mut self, entry: &Entry, properties: &Map<String, Json>, path: &Path<'_>) {
        let place = match path {
            Path::Root => String::new(),
            _ => format!(" in {}", path.text()),
        };
        let message = format!("unknown key `{}`{place}", entry.key);
        let known = properties.keys().map(String::as_str);
        let near = nearest::nearest(&entry.key, known.clone(), 1);
        let help = match near.first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known keys are {}", known.collect::<Vec<_>>().join(", ")),
        };
        self.report(Diagnostic::error(message).help(help), entry.key_span);
    }

    fn missing_keys(
        &mut self,
        node: &Node,
        schema: &'a Json,
        out: &Map<String, Json>,
        path: &Path<'_>,
    ) {
        let required = keyword(schema, "required").and_then(Json::as_array);
        for key in required.into_iter().flatten().filter_map(Json::as_str) {
            if out.contains_key(key) {
                continue;
            }
            let property = self.resolve(&schema["properties"][key]);
            let inner = Path::Key(path, key);
            let wanted = match types(property).next() {
                Some(word) => phrase(word),
                None => "given",
            };
            let message = format!("{} must be {wanted}", inner.text());
            let help = format!("add `{key}` here");
            self.report(Diagnostic::error(message).help(help), start_of(node.span));
        }
    }

    fn list(&mut self, items: &[Node], schema: &'a Json, path: &Path<'_>) -> Json {
        let values = items
            .iter()
            .enumerate()
            .map(|(index, item)| match keyword(schema, "items") {
                Some(inner) => {
                    let before = index.checked_sub(1).and_then(|before| items.get(before));
                    let option = before.and_then(|before| secret_option(before, item));
                    self.node(item, inner, &Path::Index(path, index, option))
                }
                None => item.to_json(),
            });
        Json::Array(values.collect())
    }

    fn string(&mut self, node: &Node, text: &str, schema: &'a Json, path: &Path<'_>) -> Json {
        let words: Vec<&str> = constants(schema).collect();
        if !words.is_empty() && !words.contains(&text) {
            self.unknown_word(node, text, &words, path);
        }
        if text.is_empty() && keyword(schema, "minLength").and_then(Json::as_u64) > Some(0) {
            let message = format!("{} must not be empty", path.named());
            self.report(Diagnostic::error(message), node.span);
        }
        match keyword(schema, "format").and_then(Json::as_str) {
            Some(TEMPLATE_FORMAT) => self.template(node, text, false, path),
            Some(SECRET_TEMPLATE_FORMAT) => self.template(node, text, true, path),
            Some(TOOL_PATTERN_FORMAT) => self.pattern(node, text, path),
            _ => {}
        }
        Json::String(text.to_owned())
    }

    fn template(&mut self, node: &Node, text: &str, secret: bool, path: &Path<'_>) {
        match Template::parse(text, Dialect::Own) {
            // Of the others nobody needs to know where they stand.
            Ok(template)
                if template.variables().next().is_none()
                    && !template.holds_plain_secret(path.field()) => {}
            Ok(template) => self.found.templates.push(FoundTemplate {
                path: path.text(),
                field: path.field().to_owned(),
                template: if secret {
                    template.sensitive()
                } else {
                    template
                },
                span: node.span,
            }),
            Err(error) => {
                let diagnostic = Diagnostic::error(format!("{}: {error}", path.named()));
                let diagnostic = if secret {
                    diagnostic.hide_text()
                } else {
                    diagnostic
                };
                self.report(diagnostic, node.span);
            }
        }
    }

    fn pattern(&mut self, node: &Node, text: &str, path: &Path<'_>) {
        if let Err(error) = pattern::Pattern::new(text) {
            let message = format!("{} is not a usable pattern: {error}", path.named());
            self.report(
                Diagnostic::error(message)
                    .help("globs look like *issue*, regular expressions like /^create_/i"),
                node.span,
            );
        }
    }

    fn range(&mut self, node: &Node, schema: &'a Json, path: &Path<'_>) {
        let Value::Number(number) = &node.value else {
            return;
        };
        let value = number.as_f64().unwrap_or(f64::MAX);
        let bound = |key: &str| keyword(schema, key).and_then(Json::as_f64);
        let whole = types(schema).any(|t| t == "integer");
        let wanted = match (bound("minimum"), bound("maximum")) {
            _ if whole && number.is_f64() => "a whole number".to_owned(),
            (Some(low), Some(high)) if value < low || value > high => {
                format!("from {low} to {high}")
            }
            (Some(low), None) if value < low => format!("at least {low}"),
            (None, Some(high)) if value > high => format!("at most {high}"),
            _ => return,
        };
        let message = format!("{} must be {wanted}", path.named());
        self.report(Diagnostic::error(message), node.span);
    }
}

fn start_of(span: Span) -> Span {
    Span::new(span.start, span.end.min(span.start + 1))
}

/// The option before an argument, where it says that the argument is a secret.
fn secret_option<'a>(before: &'a Node, argument: &Node) -> Option<&'a str> {
    let (Value::String(option), Value::String(text)) = (&before.value, &argument.value) else {
        return None;
    };
    secret_follows(option, text).then_some(option)
}

/// What a schema says under a keyword. It has a handful of them at most, so that looking at each is quicker than
/// hashing one, and this is asked several times of every value.
fn keyword<'a>(schema: &'a Json, name: &str) -> Option<&'a Json> {
    let mut said = schema.as_object()?.iter();
    said.find_map(|(known, value)| (known == name).then_some(value))
}

/// The branches of a union.
fn branches(schema: &Json) -> Option<&[Json]> {
    ["anyOf", "oneOf"]
        .iter()
        .find_map(|key| keyword(schema, key).and_then(Json::as_array))
        .map(Vec::as_slice)
}

/// The words a string may be, where the schema lists them.
fn constants(schema: &Json) -> impl Iterator<Item = &str> {
    let single = keyword(schema, "const").and_then(Json::as_str);
    let listed = keyword(schema, "enum").and_then(Json::as_array);
    let nested = keyword(schema, "oneOf").and_then(Json::as_array);
    single
        .into_iter()
        .chain(listed.into_iter().flatten().filter_map(Json::as_str))
        .chain(
            nested
                .into_iter()
                .flatten()
                .filter_map(|b| b.get("const").and_then(Json::as_str)),
        )
}

/// The JSON types that a schema allows; none where it does not say.
fn types(schema: &Json) -> impl Iterator<Item = &str> {
    let said = keyword(schema, "type");
    let single = said.and_then(Json::as_str);
    let listed = said.and_then(Json::as_array);
    single
        .into_iter()
        .chain(listed.into_iter().flatten().filter_map(Json::as_str))
}

fn fits_type(value: &Value, schema: &Json) -> bool {
    if keyword(schema, "$ref").is_some() || branches(schema).is_some() {
        return true;
    }
    let mut any = false;
    for word in types(schema) {
        any = true;
        let fits = match value {
            Value::Null => word == "null",
            Value::Bool(_) => word == "boolean",
            Value::Number(_) => word == "number" || word == "integer",
            Value::String(_) => word == "string",
            Value::List(_) => word == "array",
            Value::Map(_) => word == "object",
        };
        if fits {
            return true;
        }
    }
    !any
}

/// A JSON type in words.
fn phrase(word: &str) -> &'static str {
    match word {
        "boolean" => "a boolean",
        "array" => "an array",
        "object" => "an object",
        "string" => "a string",
        "integer" => "a whole number",
        "number" => "a number",
        _ => "null",
    }
}

fn or_list(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|w| format!("`{w}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}

/// The key of the schema that this spelling means: itself, or its `camelCase` form.
fn canonical_key<'a>(key: &str, properties: &'a Map<String, Json>) -> Option<&'a str> {
    if let Some((known, _)) = properties.get_key_value(key) {
        return Some(known);
    }
    let mut camel = String::with_capacity(key.len());
    let mut upper = false;
    for c in key.chars() {
        if c == '_' || c == '-' {
            upper = !camel.is_empty();
        } else if upper {
            camel.extend(c.to_uppercase());
            upper = false;
        } else {
            camel.push(c);
        }
    }
    properties
        .get_key_value(&camel)
        .map(|(known, _)| known.as_str())
}
