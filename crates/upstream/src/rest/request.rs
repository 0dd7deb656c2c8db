//! From arguments to a request: pure, and closed to everything that would steer it elsewhere.
//!
//! The host, the base path and the template are fixed. A value in the path is escaped, is never
//! empty and never a dot segment; a value in a header holds no line break; nothing that is not an
//! argument of the operation is sent.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use serde_json::{Map, Value};
use toolcrib_core::limits::{ADAPTER_ADDRESS_BYTES_MAX, ADAPTER_REQUEST_BYTES_MAX};
use url::Url;

use super::failure::Failure;
use super::operation::{Input, Media, Operation, Shape, Spot, Style};
use super::style;
use super::wire::Outgoing;

mod body;

/// The request for a call, without authentication.
pub(super) fn build(
    operation: &Operation,
    base: &Url,
    arguments: &Map<String, Value>,
) -> Result<Outgoing, Failure> {
    let method = Method::from_bytes(operation.method().as_bytes())
        .map_err(|_| Failure::Configuration("its method is not legal".to_owned()))?;
    let arguments = with_defaults(operation, arguments);
    let extra = extra(operation, &arguments)?;
    let url = address(operation, base, &arguments)?;
    let mut headers = HeaderMap::new();
    write_headers(operation, &arguments, &mut headers)?;
    let accept = accept(operation);
    headers.entry(header::ACCEPT).or_insert(accept);
    let body = body::build(operation, &arguments, extra)?;
    let body = body.map(|(content_type, bytes)| {
        headers.insert(header::CONTENT_TYPE, content_type);
        bytes
    });
    if body
        .as_ref()
        .is_some_and(|bytes: &Bytes| bytes.len() > ADAPTER_REQUEST_BYTES_MAX)
    {
        return Err(Failure::Arguments(format!(
            "the request would have more than {ADAPTER_REQUEST_BYTES_MAX} bytes"
        )));
    }
    Ok(Outgoing {
        method,
        url,
        headers,
        body,
    })
}

/// The arguments, with the defaults of those that the path or a header cannot do without. Only a
/// field of a JSON body can be `null`; anywhere else that is nothing.
fn with_defaults(operation: &Operation, arguments: &Map<String, Value>) -> Map<String, Value> {
    let mut arguments = arguments.clone();
    let json = operation
        .body
        .as_ref()
        .is_some_and(|body| body.media == Media::Json && body.shape == Shape::Fields);
    let elsewhere = |name: &str| {
        let mut inputs = operation.inputs.iter();
        inputs.any(|input| input.argument == name && input.spot != Spot::Body)
    };
    arguments.retain(|name, value| !value.is_null() || json && !elsewhere(name));
    let schema = operation.tool.input_schema.get("properties");
    for input in operation.inputs.iter().filter(|input| input.required) {
        let part = schema.and_then(|schema| schema.get(&input.argument));
        let fixed = part.and_then(|part| part.get("default").or_else(|| only_value(part)));
        if let Some(value) = fixed
            && !arguments.contains_key(&input.argument)
        {
            arguments.insert(input.argument.clone(), value.clone());
        }
    }
    arguments
}

fn only_value(part: &Value) -> Option<&Value> {
    match part
        .get("enum")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
    {
        Some([only]) => Some(only),
        _ => part.get("const"),
    }
}

/// Arguments that no input names: they go into an open body, or are refused.
fn extra<'a>(
    operation: &Operation,
    arguments: &'a Map<String, Value>,
) -> Result<Vec<(&'a String, &'a Value)>, Failure> {
    let named = |name: &str| operation.inputs.iter().any(|input| input.argument == name);
    let extra: Vec<_> = arguments.iter().filter(|(name, _)| !named(name)).collect();
    let open = operation
        .body
        .as_ref()
        .is_some_and(|body| body.open && body.shape == Shape::Fields);
    match extra.first() {
        Some((name, _)) if !open => Err(Failure::Arguments(format!(
            "there is no argument `{}`",
            super::library::brief(name)
        ))),
        _ => Ok(extra),
    }
}

fn inputs<'a>(
    operation: &'a Operation,
    spot: Spot,
    arguments: &'a Map<String, Value>,
) -> impl Iterator<Item = (&'a Input, &'a Value)> {
    let here = operation
        .inputs
        .iter()
        .filter(move |input| input.spot == spot);
    here.filter_map(|input| Some((input, arguments.get(&input.argument)?)))
}

fn address(
    operation: &Operation,
    base: &Url,
    arguments: &Map<String, Value>,
) -> Result<Url, Failure> {
    let path = path(operation, arguments)?;
    let (path, fixed) = path.split_once('?').unwrap_or((&path, ""));
    let path = path.split('#').next().unwrap_or(path);
    let mut text = base.as_str().trim_end_matches('/').to_owned();
    text.push_str(path);
    let mut query: Vec<String> = Vec::new();
    query.extend((!fixed.is_empty()).then(|| fixed.to_owned()));
    let is_fixed = |name: &str| {
        let mut names = fixed.split('&').filter_map(|pair| pair.split('=').next());
        names.any(|known| known == style::escape_name(name))
    };
    for (input, value) in inputs(operation, Spot::Query, arguments) {
        // Some templates hold a pair that is a parameter as well; it is sent once.
        if is_fixed(&input.name) {
            continue;
        }
        let pairs = style::in_query(&input.name, value, input.writing);
        query.extend(pairs.into_iter().map(|(name, value)| match name.as_str() {
            "" => value,
            name => format!("{name}={value}"),
        }));
    }
    if !query.is_empty() {
        text.push('?');
        text.push_str(&query.join("&"));
    }
    if text.len() > ADAPTER_ADDRESS_BYTES_MAX {
        return Err(Failure::Arguments(format!(
            "the address would have more than {ADAPTER_ADDRESS_BYTES_MAX} bytes"
        )));
    }
    let url = Url::parse(&text)
        .map_err(|_| Failure::Arguments("they give no legal address".to_owned()))?;
    let below = base.path().trim_end_matches('/');
    if url.origin() != base.origin() || !url.path().starts_with(below) {
        return Err(Failure::Arguments(
            "they would lead out of the API".to_owned(),
        ));
    }
    Ok(url)
}

/// The path with its parameters, every segment of it as the template has it.
fn path(operation: &Operation, arguments: &Map<String, Value>) -> Result<String, Failure> {
    let mut out = String::new();
    for (at, segment) in operation.path().split('/').enumerate() {
        if at > 0 {
            out.push('/');
        }
        let mut filled = String::new();
        let mut rest = segment;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else {
                break;
            };
            filled.push_str(before);
            filled.push_str(&parameter(operation, name, arguments)?);
            rest = after;
        }
        filled.push_str(rest);
        let decoded = filled.to_ascii_lowercase().replace("%2e", ".");
        if segment.contains('{') && matches!(decoded.as_str(), "." | ".." | "") {
            return Err(Failure::Arguments(
                "a value of the path is empty or consists of dots".to_owned(),
            ));
        }
        out.push_str(&filled);
    }
    Ok(out)
}

fn parameter(
    operation: &Operation,
    name: &str,
    arguments: &Map<String, Value>,
) -> Result<String, Failure> {
    let mut path = operation
        .inputs
        .iter()
        .filter(|input| input.spot == Spot::Path);
    let input = path.find(|input| input.name == name);
    let value = input.and_then(|input| Some((input, arguments.get(&input.argument)?)));
    let Some((input, value)) = value else {
        return Err(Failure::Arguments(format!(
            "`{}` is missing",
            super::library::brief(name)
        )));
    };
    let written = style::in_path(name, value, input.writing);
    if written.is_empty() {
        return Err(Failure::Arguments(format!("`{}` is empty", input.argument)));
    }
    Ok(written)
}

fn write_headers(
    operation: &Operation,
    arguments: &Map<String, Value>,
    headers: &mut HeaderMap,
) -> Result<(), Failure> {
    for (input, value) in inputs(operation, Spot::Header, arguments) {
        let text = style::in_header(value, input.writing);
        let illegal = || {
            Failure::Arguments(format!(
                "`{}` cannot stand in a header: it holds a line break or another control character",
                input.argument
            ))
        };
        let value = HeaderValue::from_bytes(text.as_bytes()).map_err(|_| illegal())?;
        let name = HeaderName::from_bytes(input.name.as_bytes()).map_err(|_| illegal())?;
        headers.insert(name, value);
    }
    let mut cookies = Vec::new();
    for (input, value) in inputs(operation, Spot::Cookie, arguments) {
        let pairs = match input.writing.style {
            Style::Cookie => style::in_cookie(&input.name, value, input.writing),
            _ => Some(style::in_query(&input.name, value, input.writing)),
        };
        let pairs = pairs.ok_or_else(|| {
            Failure::Arguments(format!(
                "`{}` cannot stand in a cookie as it is: escape its spaces, quotes, commas, \
                 semicolons, backslashes and what is not ASCII",
                input.argument
            ))
        })?;
        for (name, value) in pairs {
            cookies.push(format!("{name}={value}"));
        }
    }
    if !cookies.is_empty() {
        // Both sides are escaped or were looked at, so that no value ends its cookie.
        let value = HeaderValue::from_str(&cookies.join("; "))
            .map_err(|_| Failure::Arguments("a cookie is not legal".to_owned()))?;
        headers.insert(header::COOKIE, value);
    }
    Ok(())
}

fn accept(operation: &Operation) -> HeaderValue {
    let listed = operation
        .accepts
        .iter()
        .take(8)
        .cloned()
        .collect::<Vec<_>>();
    let text = if listed.is_empty() {
        "application/json, */*;q=0.5".to_owned()
    } else {
        format!("{}, */*;q=0.1", listed.join(", "))
    };
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("*/*"))
}

#[cfg(test)]
mod tests;
