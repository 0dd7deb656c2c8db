//! Bodies: JSON, forms with nested brackets, multipart, text and bytes.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::HeaderValue;
use serde_json::{Map, Value};

use super::super::failure::Failure;
use super::super::openapi::is_json;
use super::super::operation::{Body, Field, Media, Operation, Shape, Spot, Style, Writing};
use super::super::style;
use super::inputs;

/// The body with its media type; none where there is nothing to send.
pub(super) fn build(
    operation: &Operation,
    arguments: &Map<String, Value>,
    extra: Vec<(&String, &Value)>,
) -> Result<Option<(HeaderValue, Bytes)>, Failure> {
    let Some(body) = &operation.body else {
        return Ok(None);
    };
    let content_type = || {
        HeaderValue::from_str(&body.content_type)
            .map_err(|_| Failure::Configuration("its media type is not legal".to_owned()))
    };
    if body.shape == Shape::Whole {
        let Some((_, value)) = inputs(operation, Spot::Body, arguments).next() else {
            return Ok(None);
        };
        return whole(body, value, content_type()?).map(Some);
    }
    let mut fields: Vec<(&str, &Value, Writing)> = inputs(operation, Spot::Body, arguments)
        .map(|(input, value)| (input.name.as_str(), value, input.writing))
        .collect();
    fields.extend(
        extra
            .into_iter()
            .map(|(name, value)| (name.as_str(), value, DEFAULT)),
    );
    if fields.is_empty() && !body.required {
        return Ok(None);
    }
    Ok(Some(match body.media {
        Media::Form => (content_type()?, form(body, &fields).into()),
        Media::Multipart => multipart(body, &fields)?,
        Media::Json | Media::Text | Media::Binary => {
            let fields = fields.into_iter();
            let object = fields.map(|(name, value, _)| (name.to_owned(), value.clone()));
            let object = Value::Object(object.collect());
            (content_type()?, object.to_string().into())
        }
    }))
}

const DEFAULT: Writing = super::super::flat::FORM;

fn whole(
    body: &Body,
    value: &Value,
    content_type: HeaderValue,
) -> Result<(HeaderValue, Bytes), Failure> {
    Ok(match body.media {
        Media::Json => (content_type, value.to_string().into()),
        Media::Text => (content_type, style::plain(value).into()),
        Media::Binary => (content_type, decoded("body", value)?.into()),
        Media::Form => match value {
            Value::Object(fields) => {
                let fields = fields.iter();
                let fields: Vec<_> = fields.map(|(n, v)| (n.as_str(), v, DEFAULT)).collect();
                (content_type, form(body, &fields).into())
            }
            other => (content_type, style::plain(other).into()),
        },
        Media::Multipart => {
            let fields = value.as_object().into_iter().flatten();
            let fields: Vec<_> = fields.map(|(n, v)| (n.as_str(), v, DEFAULT)).collect();
            multipart(body, &fields)?
        }
    })
}

fn form(body: &Body, fields: &[(&str, &Value, Writing)]) -> String {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for (name, value, writing) in fields {
        let field = body.fields.get(*name);
        let stated = field.and_then(|field| field.content_type.as_deref());
        match (value, writing.style) {
            (Value::Object(_) | Value::Array(_), _) if stated.is_some_and(is_json) => {
                pairs.push((style::escape_name(name), style::escape(&value.to_string())));
            }
            // The name of a nested object is lost in the style `form`; APIs want brackets.
            (Value::Object(_), Style::Form) => {
                style::brackets(&style::escape_name(name), value, &mut pairs);
            }
            _ => pairs.extend(style::in_query(name, value, *writing)),
        }
    }
    let pairs: Vec<String> = pairs.into_iter().map(|(k, v)| format!("{k}={v}")).collect();
    pairs.join("&")
}

fn multipart(
    body: &Body,
    fields: &[(&str, &Value, Writing)],
) -> Result<(HeaderValue, Bytes), Failure> {
    let mut parts: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    for (name, value, writing) in fields {
        let field = body.fields.get(*name);
        let joined = style::joined(value, *writing);
        let joined = joined.filter(|_| !field.is_some_and(|field| field.binary));
        let list = match (value, &joined) {
            (_, Some(joined)) => vec![joined],
            (Value::Array(items), None) => items.iter().collect(),
            (value, None) => vec![*value],
        };
        for value in list {
            parts.push(part(name, value, field)?);
        }
    }
    // Made from the content, so that the same call is the same request, and never part of it.
    let mut hasher = blake3::Hasher::new();
    for (head, content) in &parts {
        hasher.update(head).update(content);
    }
    let mut boundary = hasher.finalize().to_hex()[..32].to_owned();
    while parts
        .iter()
        .any(|(_, content)| holds(content, boundary.as_bytes()))
    {
        let next = blake3::hash(boundary.as_bytes());
        next.to_hex()[..32].clone_into(&mut boundary);
    }
    let mut out = Vec::new();
    for (head, content) in parts {
        out.extend_from_slice(format!("--{boundary}\r\n").as_bytes());
        out.extend_from_slice(&head);
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&content);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    let essence = body
        .content_type
        .split(';')
        .next()
        .unwrap_or("multipart/form-data");
    let content_type = HeaderValue::from_str(&format!("{essence}; boundary={boundary}"))
        .map_err(|_| Failure::Configuration("its media type is not legal".to_owned()))?;
    Ok((content_type, out.into()))
}

fn holds(content: &[u8], boundary: &[u8]) -> bool {
    content
        .windows(boundary.len())
        .any(|window| window == boundary)
}

/// The head and the content of one part.
fn part(name: &str, value: &Value, field: Option<&Field>) -> Result<(Vec<u8>, Vec<u8>), Failure> {
    // A name cannot leave its quotes, nor its line.
    let name: String = name.chars().filter(|c| !c.is_control()).collect();
    let quoted = name.replace('\\', "\\\\").replace('"', "%22");
    let mut head = format!("Content-Disposition: form-data; name=\"{quoted}\"");
    let binary = field.is_some_and(|field| field.binary);
    if binary {
        let _ = write!(head, "; filename=\"{quoted}\"");
    }
    let usual = match value {
        _ if binary => Some("application/octet-stream"),
        Value::Object(_) | Value::Array(_) => Some("application/json"),
        _ => None,
    };
    // Who gives a file knows best what it is.
    let own = value.as_str().filter(|_| binary).and_then(data_address);
    let own = own
        .map(|(media, _)| media)
        .filter(|media| !media.is_empty());
    let stated = field.and_then(|field| field.content_type.as_deref());
    let stated = own.or(stated);
    let stated = stated.filter(|media| {
        media
            .bytes()
            .all(|b| b != b'*' && (b' '..=b'~').contains(&b))
    });
    if let Some(media) = stated.or(usual) {
        let _ = write!(head, "\r\nContent-Type: {media}");
    }
    head.push_str("\r\n");
    let content = if binary {
        decoded(&name, value)?
    } else {
        style::plain(value).into_bytes()
    };
    Ok((head.into_bytes(), content))
}

/// The media type and the base64 of a data address.
fn data_address(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix("data:")?.split_once(";base64,")
}

/// The bytes that a text in base64 stands for, as a data address or by itself.
fn decoded(name: &str, value: &Value) -> Result<Vec<u8>, Failure> {
    let wrong = || Failure::Arguments(format!("`{name}` must be a text in base64"));
    let text = value.as_str().ok_or_else(wrong)?;
    let text = data_address(text).map_or(text, |(_, data)| data);
    let text: String = text.split_ascii_whitespace().collect();
    let engines = [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD];
    let read = engines.iter().find_map(|engine| engine.decode(&text).ok());
    read.ok_or_else(wrong)
}
