//! Bodies against the description: JSON, forms, parts, text and bytes.

use serde_json::{Map, Value, json};

use super::document::Document;
use super::form::Pairs;
use super::judge::old_schema;
use super::reading::Style;
use super::route::Operation;
use crate::api::Received;

/// A body that an operation takes.
struct Taken {
    required: bool,
    /// By media type: what the description says about it.
    contents: Vec<(String, Value)>,
}

/// What the description has against the body of a request.
pub(super) fn against(document: &Document, operation: &Operation, asked: &Received) -> Vec<String> {
    let refuse = |words: String| vec![format!("body: {words}")];
    let media = asked.header("content-type").unwrap_or_default();
    let Some(taken) = taken(document, operation) else {
        if asked.body.is_empty() {
            return Vec::new();
        }
        return refuse("the operation takes none".to_owned());
    };
    if asked.body.is_empty() && media.is_empty() {
        if taken.required {
            return refuse("is required and missing".to_owned());
        }
        return Vec::new();
    }
    let content = taken
        .contents
        .iter()
        .find(|(range, _)| in_range(media, range));
    let Some((_, content)) = content else {
        let known: Vec<&str> = taken
            .contents
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        return refuse(format!("`{media}` is none of {}", known.join(", ")));
    };
    let anything = json!({});
    let schema = content.get("schema").unwrap_or(&anything);
    let essence = essence(media);
    if essence == "application/x-www-form-urlencoded" {
        return form(document, content, schema, asked);
    }
    if essence.starts_with("multipart/") {
        return multipart(document, content, schema, asked, media);
    }
    if essence.ends_with("json") {
        return match serde_json::from_slice::<Value>(&asked.body) {
            Ok(value) => document.against("body", &value, schema),
            Err(error) => refuse(format!("is no JSON: {error}")),
        };
    }
    if essence.ends_with("xml") || content.get("schema").is_none() {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(&asked.body).into_owned();
    document.against("body", &text.into(), schema)
}

fn taken(document: &Document, operation: &Operation) -> Option<Taken> {
    if document.old {
        return old(document, operation);
    }
    let body = document.follow(operation.rules.get("requestBody")?);
    let contents = body.get("content").and_then(Value::as_object);
    let contents = contents.into_iter().flatten();
    let contents = contents.map(|(name, content)| (name.clone(), document.follow(content).clone()));
    Some(Taken {
        required: body["required"] == true,
        contents: contents.collect(),
    })
}

/// The body of a 2.0 operation; its form as an object with nothing else in it.
fn old(document: &Document, operation: &Operation) -> Option<Taken> {
    let of = |spot: &'static str| {
        let all = operation.parameters.iter();
        all.filter(move |parameter| parameter["in"] == spot)
    };
    let media = [&operation.rules, &document.root];
    let media = media
        .iter()
        .find_map(|part| part.get("consumes")?.as_array());
    let media: Vec<String> = media
        .into_iter()
        .flatten()
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect();
    let or = |usual: &[&str]| match media.as_slice() {
        [] => usual.iter().map(|&name| name.to_owned()).collect(),
        media => media.to_vec(),
    };
    if let Some(parameter) = of("body").next() {
        let content = json!({ "schema": parameter["schema"] });
        let media = or(&["application/json"]).into_iter();
        return Some(Taken {
            required: parameter["required"] == true,
            contents: media.map(|name| (name, content.clone())).collect(),
        });
    }
    let (mut properties, mut encoding, mut required) = (Map::new(), Map::new(), Vec::new());
    for parameter in of("formData") {
        let name = parameter["name"].as_str().unwrap_or_default();
        properties.insert(name.to_owned(), old_schema(parameter));
        let style = Style::old(parameter, "form");
        let style = json!({ "style": style.name, "explode": style.explode });
        encoding.insert(name.to_owned(), style);
        if parameter["required"] == true {
            required.push(name.to_owned());
        }
    }
    if properties.is_empty() {
        return None;
    }
    let mut schema = json!({ "type": "object", "properties": properties });
    let is_required = !required.is_empty();
    if is_required {
        schema["required"] = json!(required);
    }
    let content = json!({ "schema": schema, "encoding": encoding });
    let media = or(&["application/x-www-form-urlencoded", "multipart/form-data"]).into_iter();
    let is_form = |name: &String| name.contains("form");
    let media: Vec<String> = media.filter(is_form).collect();
    let media = if media.is_empty() {
        vec![
            "application/x-www-form-urlencoded".to_owned(),
            "multipart/form-data".to_owned(),
        ]
    } else {
        media
    };
    Some(Taken {
        required: is_required,
        contents: media
            .into_iter()
            .map(|name| (name, content.clone()))
            .collect(),
    })
}

fn form(document: &Document, content: &Value, schema: &Value, asked: &Received) -> Vec<String> {
    let mut pairs = Pairs::of_body(&String::from_utf8_lossy(&asked.body));
    let mut against = Vec::new();
    let mut fields = Map::new();
    let known = properties(document, schema);
    for (name, of) in &known {
        let encoding = content.get("encoding").and_then(|all| all.get(name));
        let style = Style::of(encoding.unwrap_or(&Value::Null), "form");
        match pairs.take(document, name, of, &style) {
            Err(why) => against.push(format!("body.{name}: {why}")),
            Ok(value) => fields.extend(value.map(|value| (name.clone(), value))),
        }
    }
    if known.is_empty() || is_open(document, schema) {
        fields.extend(pairs.rest());
    }
    against.extend(
        pairs
            .left()
            .map(|name| format!("body.{name}: is no field of the form")),
    );
    let value = document.typed(&Value::Object(fields), schema);
    against.extend(document.against("body", &value, schema));
    against
}

/// Whether a schema says that there may be more fields than it names.
fn is_open(document: &Document, schema: &Value) -> bool {
    let schema = document.follow(schema);
    let more = schema.get("additionalProperties");
    more.is_some_and(|more| more != &Value::Bool(false))
}

/// The fields that a schema names, wherever in it.
fn properties(document: &Document, schema: &Value) -> Map<String, Value> {
    let schema = document.follow(schema);
    let own = schema.get("properties").and_then(Value::as_object);
    let mut all = own.cloned().unwrap_or_default();
    for part in ["allOf", "anyOf", "oneOf"] {
        let parts = schema.get(part).and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            for (name, of) in properties(document, part) {
                all.entry(name).or_insert(of);
            }
        }
    }
    all
}

fn multipart(
    document: &Document,
    content: &Value,
    schema: &Value,
    asked: &Received,
    media: &str,
) -> Vec<String> {
    let parts = match parts(&asked.body, media) {
        Ok(parts) => parts,
        Err(why) => return vec![format!("body: {why}")],
    };
    let mut against = Vec::new();
    let known = properties(document, schema);
    let mut fields: Map<String, Value> = Map::new();
    for part in parts {
        let place = format!("body.{}", part.name);
        let Some(of) = known.get(&part.name) else {
            if !known.is_empty() && !is_open(document, schema) {
                against.push(format!("{place}: is no field of the form"));
            }
            continue;
        };
        let stated = content
            .pointer("/encoding")
            .and_then(|all| all.get(&part.name)?.get("contentType"));
        if let Some(ranges) = stated.and_then(Value::as_str) {
            let mut ranges = ranges.split(',').map(str::trim);
            if !ranges.any(|range| in_range(&part.media, range)) {
                against.push(format!(
                    "{place}: `{}` is none of its media types",
                    part.media
                ));
            }
        }
        let value = match part.value() {
            Ok(value) => value,
            Err(why) => {
                against.push(format!("{place}: {why}"));
                continue;
            }
        };
        let list = document.shapes(of).list && !value.is_array();
        match fields.get_mut(&part.name) {
            Some(Value::Array(items)) if list => items.push(value),
            Some(_) => against.push(format!("{place}: is written twice")),
            None => {
                let value = if list { json!([value]) } else { value };
                fields.insert(part.name, value);
            }
        }
    }
    let value = document.typed(&Value::Object(fields), schema);
    against.extend(document.against("body", &value, schema));
    against
}

/// One part of a multipart body.
struct Part {
    name: String,
    media: String,
    content: Vec<u8>,
}

impl Part {
    /// JSON where the part says so, else text; bytes count as text.
    fn value(&self) -> Result<Value, String> {
        if essence(&self.media).ends_with("json") {
            return serde_json::from_slice(&self.content)
                .map_err(|error| format!("is no JSON: {error}"));
        }
        Ok(String::from_utf8_lossy(&self.content).into_owned().into())
    }
}

/// The parts of a multipart body.
fn parts(body: &[u8], media: &str) -> Result<Vec<Part>, String> {
    let boundary = media
        .split(';')
        .find_map(|part| part.trim().strip_prefix("boundary="));
    let boundary = boundary
        .ok_or("its media type names no boundary")?
        .trim_matches('"');
    let mark = format!("--{boundary}");
    let mut pieces = split(body, mark.as_bytes()).into_iter();
    if pieces.next().is_none_or(|before| !before.is_empty()) {
        return Err("it does not begin with its boundary".to_owned());
    }
    let mut parts = Vec::new();
    for piece in pieces {
        if piece.starts_with(b"--") {
            return Ok(parts);
        }
        let piece = piece
            .strip_prefix(b"\r\n")
            .ok_or("a boundary ends its line")?;
        let piece = piece
            .strip_suffix(b"\r\n")
            .ok_or("a boundary begins a line")?;
        let halves = split(piece, b"\r\n\r\n");
        let head = halves.first().ok_or("a part has a head")?;
        let content = piece.get(head.len() + 4..).ok_or("a part has no content")?;
        let head = String::from_utf8_lossy(head).into_owned();
        let field = |name: &str| {
            head.lines().find_map(|line| {
                let (key, value) = line.split_once(':')?;
                key.eq_ignore_ascii_case(name)
                    .then(|| value.trim().to_owned())
            })
        };
        let disposition = field("content-disposition").unwrap_or_default();
        let name = disposition
            .split(';')
            .find_map(|part| part.trim().strip_prefix("name="));
        parts.push(Part {
            name: name
                .ok_or("a part has no name")?
                .trim_matches('"')
                .to_owned(),
            media: field("content-type").unwrap_or_else(|| "text/plain".to_owned()),
            content: content.to_vec(),
        });
    }
    Err("it does not end with its boundary".to_owned())
}

fn split<'a>(bytes: &'a [u8], mark: &[u8]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(mark.len()).position(|window| window == mark) {
        pieces.push(&rest[..at]);
        rest = &rest[at + mark.len()..];
    }
    pieces.push(rest);
    pieces
}

fn essence(media: &str) -> String {
    let essence = media.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

fn in_range(media: &str, range: &str) -> bool {
    let (media, range) = (essence(media), essence(range));
    match range.split_once('/') {
        Some(("*", "*")) => true,
        Some((kind, "*")) => media.split('/').next() == Some(kind),
        _ => media == range,
    }
}
