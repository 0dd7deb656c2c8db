//! A description as it stands: references followed, schemas closed so that a validator takes them.

use std::collections::HashMap;

use anyhow::{Context, Result, bail};
use jsonschema::Draft;
use serde_json::{Map, Value, json};

use super::yaml;

/// How many references may lead to one another.
const REFERENCES_MAX: usize = 32;
/// Keywords whose values are no schemas, though they may look like ones.
const REMARKS: [&str; 9] = [
    "example",
    "examples",
    "default",
    "description",
    "title",
    "xml",
    "externalDocs",
    "discriminator",
    "deprecated",
];

/// An API description.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) root: Value,
    /// Whether it is of OpenAPI 2.0.
    pub(super) old: bool,
    /// Whether its schemas are plain JSON Schema, as they are from 3.1 on.
    plain: bool,
}

impl Document {
    /// Reads one from its text.
    pub(super) fn read(text: &str) -> Result<Self> {
        let root = yaml::read(text)?;
        let version = root.get("openapi").or_else(|| root.get("swagger"));
        let version = match version {
            Some(Value::String(version)) => version.clone(),
            Some(version) => version.to_string(),
            None => bail!("the file is no API description"),
        };
        Ok(Self {
            old: version.starts_with('2'),
            plain: version.starts_with("3.") && !version.starts_with("3.0"),
            root,
        })
    }

    /// The value itself, or what it refers to in the end.
    pub(super) fn follow<'a>(&'a self, mut value: &'a Value) -> &'a Value {
        for _ in 0..REFERENCES_MAX {
            let Some(reference) = value.get("$ref").and_then(Value::as_str) else {
                return value;
            };
            match self.at(reference) {
                Some(target) => value = target,
                None => return value,
            }
        }
        value
    }

    fn at(&self, reference: &str) -> Option<&Value> {
        let pointer = super::text::unescape(reference.strip_prefix('#')?);
        self.root.pointer(&pointer)
    }

    /// What a value has against a schema of the description, as `place: words`.
    pub(super) fn against(&self, place: &str, value: &Value, schema: &Value) -> Vec<String> {
        let validator = match self.validator(schema) {
            Ok(validator) => validator,
            Err(error) => return vec![format!("{place}: the schema cannot be used: {error:#}")],
        };
        let errors = validator.iter_errors(value).map(|error| {
            let inside = error.instance_path().to_string().replace('/', ".");
            let words: String = error.to_string().chars().take(300).collect();
            format!("{place}{inside}: {words}")
        });
        errors.collect()
    }

    /// Whether a value fits a schema of the description.
    pub(super) fn fits(&self, value: &Value, schema: &Value) -> bool {
        self.validator(schema)
            .is_ok_and(|validator| validator.is_valid(value))
    }

    fn validator(&self, schema: &Value) -> Result<jsonschema::Validator> {
        let draft = if self.plain {
            Draft::Draft202012
        } else {
            Draft::Draft4
        };
        let closed = self.closed(schema)?;
        jsonschema::options()
            .offline()
            .with_draft(draft)
            .should_validate_formats(true)
            .build(&closed)
            .map_err(|error| anyhow::anyhow!("{}: {error}", error.instance_path()))
    }

    /// A schema with all that it refers to, none of it beyond what a request may hold.
    fn closed(&self, schema: &Value) -> Result<Value> {
        let mut closing = Closing {
            document: self,
            names: HashMap::new(),
            waiting: Vec::new(),
        };
        let mut whole = closing.part(schema);
        let mut parts = Map::new();
        while let Some(reference) = closing.waiting.pop() {
            let target = self.at(&reference);
            let target = target.with_context(|| format!("{reference} leads nowhere"))?;
            let part = closing.part(target);
            parts.insert(closing.name(&reference), part);
        }
        if let (Value::Object(fields), false) = (&mut whole, parts.is_empty()) {
            fields.insert("definitions".to_owned(), Value::Object(parts));
            if let Some(reference) = fields.shift_remove("$ref") {
                // Beside a reference nothing counts in older drafts, definitions included.
                fields.insert("allOf".to_owned(), json!([{ "$ref": reference }]));
            }
        }
        Ok(whole)
    }
}

/// A strict bound in the way of the draft, for files that have it in the way of the other.
fn strictly(out: &mut Map<String, Value>, strict: &str, bound: &str, plain: bool) {
    match (out.get(strict).cloned(), plain) {
        (Some(Value::Number(number)), false) => {
            out.insert(bound.to_owned(), number.into());
            out.insert(strict.to_owned(), true.into());
        }
        (Some(Value::Bool(is_strict)), true) => {
            out.shift_remove(strict);
            if let (Some(number), true) = (out.get(bound).cloned(), is_strict) {
                out.insert(strict.to_owned(), number);
            }
        }
        _ => {}
    }
}

/// A schema that is being closed.
struct Closing<'a> {
    document: &'a Document,
    names: HashMap<String, usize>,
    waiting: Vec<String>,
}

impl Closing<'_> {
    fn name(&mut self, reference: &str) -> String {
        let next = self.names.len();
        let number = *self.names.entry(reference.to_owned()).or_insert_with(|| {
            self.waiting.push(reference.to_owned());
            next
        });
        format!("part{number}")
    }

    fn part(&mut self, schema: &Value) -> Value {
        let Value::Object(fields) = schema else {
            return schema.clone();
        };
        let mut out = Map::new();
        if let Some(Value::String(reference)) = fields.get("$ref") {
            let name = self.name(reference);
            out.insert("$ref".to_owned(), format!("#/definitions/{name}").into());
            if !self.document.plain {
                return Value::Object(out);
            }
        }
        for (keyword, value) in fields {
            let kept = match (keyword.as_str(), value) {
                ("$ref", _) => continue,
                (word, _) if REMARKS.contains(&word) || word.starts_with("x-") => continue,
                ("enum" | "const" | "required", _) => value.clone(),
                ("type", Value::String(kind)) if kind == "file" => continue,
                // Of a draft that no edition has; what it would widen is open as it is.
                ("$recursiveAnchor" | "$recursiveRef", _) => continue,
                (
                    "properties" | "patternProperties" | "$defs" | "definitions",
                    Value::Object(parts),
                ) => {
                    let parts = parts.iter();
                    let parts = parts.map(|(name, part)| (name.clone(), self.part(part)));
                    Value::Object(parts.collect())
                }
                (_, Value::Object(_)) => self.part(value),
                (_, Value::Array(parts)) => parts.iter().map(|part| self.part(part)).collect(),
                _ => value.clone(),
            };
            out.insert(keyword.clone(), kept);
        }
        for (strict, least) in [
            ("exclusiveMinimum", "minimum"),
            ("exclusiveMaximum", "maximum"),
        ] {
            strictly(&mut out, strict, least, self.document.plain);
        }
        self.leave_out_read_only(fields, &mut out);
        if !self.document.plain && fields.get("nullable") == Some(&Value::Bool(true)) {
            return json!({ "anyOf": [out, { "type": "null" }] });
        }
        Value::Object(out)
    }

    /// What only answers hold must not be sent, and is not needed.
    fn leave_out_read_only(&self, fields: &Map<String, Value>, out: &mut Map<String, Value>) {
        let Some(Value::Object(properties)) = fields.get("properties") else {
            return;
        };
        for (name, property) in properties {
            let followed = self.document.follow(property);
            let only_read = [property, followed]
                .iter()
                .any(|part| part.get("readOnly") == Some(&Value::Bool(true)));
            if !only_read {
                continue;
            }
            if let Some(Value::Object(kept)) = out.get_mut("properties") {
                kept.insert(name.clone(), json!({ "not": {} }));
            }
            if let Some(Value::Array(required)) = out.get_mut("required") {
                required.retain(|needed| needed != name);
                if required.is_empty() {
                    out.shift_remove("required");
                }
            }
        }
    }
}
