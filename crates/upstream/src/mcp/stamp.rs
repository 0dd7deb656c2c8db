//! What each request of the modern era says about itself: in its `_meta`, and in headers over HTTP.

use std::collections::HashSet;

use http::{HeaderName, HeaderValue};
use serde_json::Value;
use serde_json::json;
use serde_json::value::RawValue;

use super::era::MODERN;
use super::object::{Fields, raw};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const INFO: &str = "io.modelcontextprotocol/clientInfo";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The annotation of a parameter that is to be seen on the way.
const HEADER: &str = "x-mcp-header";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Who we are.
pub(super) fn client_info() -> Value {
    json!({"name": "toolcrib", "version": env!("CARGO_PKG_VERSION")})
}

/// The parameters with what the modern era wants in `_meta`; what stood there under our names is
/// replaced, the rest is kept.
pub(super) fn modern(params: Option<&RawValue>, capabilities: &RawValue) -> Box<RawValue> {
    let mut fields = Fields::of(params);
    let meta = fields.get("_meta").map(ToOwned::to_owned);
    let mut meta = Fields::of(meta.as_deref());
    meta.set(VERSION, raw(MODERN));
    meta.set(INFO, raw(&client_info()));
    meta.set(CAPABILITIES, capabilities.to_owned());
    fields.set("_meta", meta.write());
    fields.write()
}

/// The parameters without what only the modern era knows.
pub(super) fn legacy(params: &RawValue) -> Option<Box<RawValue>> {
    if !params.get().contains("io.modelcontextprotocol/") {
        return None;
    }
    let mut fields = Fields::read(params)?;
    let meta = fields.get("_meta")?.to_owned();
    let mut meta = Fields::read(&meta)?;
    for name in [VERSION, INFO, CAPABILITIES, LOG_LEVEL] {
        meta.remove(name);
    }
    fields.set("_meta", meta.write());
    Some(fields.write())
}

/// The headers that a request carries over HTTP: its method, what it names, and the arguments that the
/// tool's `schema` wants to be seen on the way.
pub(super) fn headers(
    method: &str,
    params: Option<&RawValue>,
    schema: Option<&Value>,
) -> Vec<(HeaderName, HeaderValue)> {
    let mut headers = Vec::new();
    let mut push = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(&encoded(value)) {
            headers.push((name, value));
        }
    };
    push(METHOD, method);
    let fields = Fields::of(params);
    let named = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => "",
    };
    if let Some(name) = fields.text(named) {
        push(NAME, &name);
    }
    let arguments = fields.get("arguments").filter(|_| method == "tools/call");
    if let (Some(schema), Some(arguments)) = (schema, arguments) {
        let mut found = Vec::new();
        annotated(schema, &mut Vec::new(), &mut found);
        // Most tools want none: their arguments are not parsed.
        let arguments: Value = if found.is_empty() {
            Value::Null
        } else {
            serde_json::from_str(arguments.get()).unwrap_or_default()
        };
        for (path, header) in found {
            let value = path
                .iter()
                .try_fold(&arguments, |value, name| value.get(name));
            let text = match value {
                Some(Value::String(text)) => text.clone(),
                Some(value @ (Value::Bool(_) | Value::Number(_))) => value.to_string(),
                _ => continue,
            };
            if let Ok(name) = HeaderName::from_bytes(format!("mcp-param-{header}").as_bytes()) {
                push(name, &text);
            }
        }
    }
    headers
}

/// What is wrong with the headers that a tool's schema asks for, if anything is. A tool that asks for
/// headers that cannot be sent as it means them must not be called.
pub(super) fn flaw_of_headers(schema: &RawValue) -> Option<String> {
    if !schema.get().contains(HEADER) {
        return None;
    }
    let schema: Value = serde_json::from_str(schema.get()).ok()?;
    flaw_of_properties(&schema, &mut HashSet::new())
}

fn flaw_of_properties(schema: &Value, seen: &mut HashSet<String>) -> Option<String> {
    let properties = schema.get("properties")?.as_object()?;
    properties.iter().find_map(|(name, property)| {
        let Some(header) = property.get(HEADER) else {
            return flaw_of_properties(property, seen);
        };
        let is_token = |header: &&str| {
            let is_fit = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
            !header.is_empty() && header.chars().all(is_fit)
        };
        let Some(header) = header.as_str().filter(is_token) else {
            return Some(format!("the `{HEADER}` of `{name}` is no name of a header"));
        };
        if !is_plain(property) {
            return Some(format!(
                "`{name}` has an `{HEADER}`, but is no string, integer or boolean"
            ));
        }
        let is_new = seen.insert(header.to_ascii_lowercase());
        (!is_new).then(|| format!("two of its parameters have the `{HEADER}` `{header}`"))
    })
}

/// Whether a property holds a string, an integer or a boolean, or does not say what it holds.
fn is_plain(property: &Value) -> bool {
    let plain = |kind: &Value| matches!(kind.as_str(), Some("string" | "integer" | "boolean"));
    match property.get("type") {
        Some(Value::Array(kinds)) => {
            kinds.iter().any(plain) && kinds.iter().all(|kind| plain(kind) || kind == "null")
        }
        Some(kind) => plain(kind),
        None => true,
    }
}

/// The properties that a schema wants in headers, found through `properties` alone.
fn annotated<'a>(
    schema: &'a Value,
    path: &mut Vec<&'a str>,
    found: &mut Vec<(Vec<&'a str>, &'a str)>,
) {
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return;
    };
    for (name, property) in properties {
        path.push(name);
        if let Some(header) = property.get(HEADER).and_then(Value::as_str)
            && !header.is_empty()
        {
            found.push((path.clone(), header));
        }
        annotated(property, path, found);
        path.pop();
    }
}

/// A text as a header value can carry it: plain, or in base 64 where it would be changed on the way.
fn encoded(text: &str) -> String {
    let blank = |c: char| c == ' ' || c == '\t';
    let looks_encoded = text.starts_with("=?base64?") && text.ends_with("?=");
    let has_blank_ends = text.starts_with(blank) || text.ends_with(blank);
    let is_printable = text.chars().all(|c| (' '..='~').contains(&c));
    let is_plain = is_printable && !has_blank_ends && !looks_encoded;
    if is_plain {
        return text.to_owned();
    }
    format!("=?base64?{}?=", base64(text.as_bytes()))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |n: usize| u32::from(chunk.get(n).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for n in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * n)) as usize & 63];
            out.push(if n <= chunk.len() {
                char::from(digit)
            } else {
                '='
            });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[test]
    fn a_modern_request_says_who_asks_and_keeps_the_rest() {
        let params = text(
            r#"{"name":"x","_meta":{"traceparent":"00-1","io.modelcontextprotocol/clientInfo":{"name":"other"}},"z":1.0}"#,
        );
        let stamped = modern(Some(&params), &text(r#"{"elicitation":{}}"#));
        let info = client_info();
        let expected = format!(
            r#"{{"name":"x","_meta":{{"traceparent":"00-1","{INFO}":{info},"{VERSION}":"2026-07-28","{CAPABILITIES}":{{"elicitation":{{}}}}}},"z":1.0}}"#
        );
        assert_eq!(stamped.get(), expected);
        let plain = legacy(&stamped).unwrap();
        assert_eq!(
            plain.get(),
            r#"{"name":"x","_meta":{"traceparent":"00-1"},"z":1.0}"#
        );
        assert!(legacy(&plain).is_none());
    }

    #[test]
    fn headers_name_the_method_the_thing_and_the_wanted_arguments() {
        let check = |method: &str, params: &str, schema: Value, expected: &[&str]| {
            let headers = headers(method, Some(&text(params)), Some(&schema));
            let shown: Vec<_> = headers
                .iter()
                .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
                .collect();
            assert_eq!(shown, expected);
        };
        check("tools/list", "{}", json!({}), &["mcp-method: tools/list"]);
        check(
            "resources/read",
            r#"{"uri":"x:\u00e9"}"#,
            json!({}),
            &[
                "mcp-method: resources/read",
                "mcp-name: =?base64?eDrDqQ==?=",
            ],
        );
        let schema = json!({"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"properties": {"flag": {"type": "boolean", "x-mcp-header": "Flag"}}},
            "absent": {"x-mcp-header": "Absent"}, "list": {"x-mcp-header": "List"}, "bad": {"x-mcp-header": ""},
        }});
        let params =
            r#"{"name":"call","arguments":{"region":" eu","deep":{"flag":true},"list":[],"n":1}}"#;
        check(
            "tools/call",
            params,
            schema,
            &[
                "mcp-method: tools/call",
                "mcp-name: call",
                "mcp-param-region: =?base64?IGV1?=",
                "mcp-param-flag: true",
            ],
        );
    }

    #[test]
    fn headers_that_cannot_be_sent_as_meant_are_a_flaw() {
        let check = |properties: Value, expected: Option<&str>| {
            let schema = raw(&json!({"type": "object", "properties": properties}));
            let flaw = flaw_of_headers(&schema);
            match expected {
                Some(part) => assert!(flaw.as_ref().unwrap().contains(part), "{flaw:?}"),
                None => assert_eq!(flaw, None, "{properties}"),
            }
        };
        let of = |kind: Value, header: Value| json!({"p": {"type": kind, "x-mcp-header": header}});
        for kind in ["string", "integer", "boolean"] {
            check(of(json!(kind), json!("Region-1")), None);
        }
        check(of(json!(["string", "null"]), json!("Region")), None);
        check(json!({"p": {"x-mcp-header": "Region"}}), None);
        check(json!({"p": {"type": "string"}}), None);
        for kind in [
            json!("object"),
            json!("array"),
            json!("null"),
            json!("number"),
            json!(["null"]),
        ] {
            check(of(kind, json!("Region")), Some("is no string, integer"));
        }
        for header in [
            "",
            "My Region",
            "Region:Primary",
            "R\u{e9}gion",
            "Region\t1",
        ] {
            check(
                of(json!("string"), json!(header)),
                Some("is no name of a header"),
            );
        }
        check(
            of(json!("string"), json!(7)),
            Some("is no name of a header"),
        );
        let named = |header: &str| json!({"type": "string", "x-mcp-header": header});
        check(
            json!({"a": named("MyField"), "b": {"properties": {"c": named("myfield")}}}),
            Some("two of its parameters have the `x-mcp-header`"),
        );
    }

    #[test]
    fn base_64_is_padded() {
        for (plain, expected) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
        ] {
            assert_eq!(base64(plain.as_bytes()), expected);
        }
        assert_eq!(encoded("=?base64?x?="), "=?base64?PT9iYXNlNjQ/eD89?=");
    }
}
