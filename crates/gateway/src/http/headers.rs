//! Headers that repeat what the body of a stateless request says, so that proxies can tell, and those
//! that say which trace a request belongs to.

use axum::http::HeaderMap;
use serde_json::Value;
use serde_json::value::RawValue;
use toolcrib_core::rpc::{self, Fault};
use toolcrib_core::trace::{SpanContext, TRACEPARENT, TRACESTATE};

use crate::mcp::fields::Fields;
use crate::mcp::meta::Meta;

/// The trace that a request belongs to. One that is named twice is none.
pub(super) fn trace(headers: &HeaderMap) -> Option<SpanContext> {
    let mut parents = headers.get_all(TRACEPARENT).iter();
    let (Some(parent), None) = (parents.next(), parents.next()) else {
        return None;
    };
    let states = headers.get_all(TRACESTATE).iter();
    let states: Vec<&str> = states.filter_map(|state| state.to_str().ok()).collect();
    let state = states.join(",");
    SpanContext::parse(parent.to_str().ok()?, Some(&state))
}

/// Checks that `MCP-Protocol-Version`, `Mcp-Method` and `Mcp-Name` say what the body says.
pub(super) fn check(
    headers: &HeaderMap,
    meta: &Meta,
    method: &str,
    params: Option<&RawValue>,
) -> Result<(), Fault> {
    if let Some(version) = meta.version() {
        same(headers, "MCP-Protocol-Version", &version)?;
    }
    same(headers, "Mcp-Method", method)?;
    let fields = params.and_then(Fields::of).unwrap_or_default();
    let named = match method {
        "tools/call" | "prompts/get" => fields.text("name"),
        "resources/read" => fields.text("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => fields.text("taskId"),
        _ => None,
    };
    named.map_or(Ok(()), |name| same(headers, "Mcp-Name", &name))
}

/// Checks that `Mcp-Param-*` say what the arguments say, for the parameters of a tool that are
/// repeated there.
pub(super) fn check_mirrored(
    headers: &HeaderMap,
    mirrored: &[(String, String)],
    params: Option<&RawValue>,
) -> Result<(), Fault> {
    let fields = params.and_then(Fields::of).unwrap_or_default();
    let arguments = fields
        .get("arguments")
        .and_then(Fields::of)
        .unwrap_or_default();
    for (parameter, header) in mirrored {
        let value = arguments
            .get(parameter)
            .and_then(|text| serde_json::from_str(text.get()).ok());
        let value = match value {
            Some(Value::String(text)) => text,
            Some(other @ (Value::Bool(_) | Value::Number(_))) => other.to_string(),
            _ => continue,
        };
        same(headers, &format!("Mcp-Param-{header}"), &value)?;
    }
    Ok(())
}

fn same(headers: &HeaderMap, name: &str, body: &str) -> Result<(), Fault> {
    let mismatch = |why: String| Err(Fault::new(rpc::HEADER_MISMATCH, why));
    let Some(value) = headers.get(name) else {
        return mismatch(format!("the header `{name}` is missing"));
    };
    let value = std::str::from_utf8(value.as_bytes())
        .ok()
        .and_then(|text| decoded(text.trim()));
    match value {
        Some(value) if value == body => Ok(()),
        Some(_) => mismatch(format!(
            "the header `{name}` does not say what the body says"
        )),
        None => mismatch(format!("the header `{name}` is not readable")),
    }
}

/// The text of a value that may be written as `=?base64?…?=`.
fn decoded(value: &str) -> Option<String> {
    let inner = value
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="));
    match inner {
        None => Some(value.to_owned()),
        Some(inner) => String::from_utf8(from_base64(inner)?).ok(),
    }
}

/// Standard base64 with its padding; anything else is refused.
fn from_base64(text: &str) -> Option<Vec<u8>> {
    let text = text.as_bytes();
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
    if padding > 2 {
        return None;
    }
    let digits = &text[..text.len() - padding];
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut kept, mut bits) = (0_u32, 0);
    for digit in digits {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        kept = kept << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(kept >> bits & 0xff).ok()?);
        }
    }
    (kept & ((1 << bits) - 1) == 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_strictly() {
        let check = |text: &str, bytes: Option<&str>| {
            let read = from_base64(text).map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!(read.as_deref(), bytes, "{text}");
        };
        check("SGVsbG8=", Some("Hello"));
        check("SGVsbA==", Some("Hell"));
        check("", Some(""));
        check("SGVsbG8", None);
        check("SGVs!!!bG8=", None);
        check("SGVsbB==", None);
        check("====", None);
    }

    #[test]
    fn a_trace_that_is_named_twice_is_none() {
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let other = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203332-01";
        let check = |pairs: &[(&'static str, &str)], expected: Option<(&str, Option<&str>)>| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.append(*name, value.parse().unwrap());
            }
            let found = trace(&headers);
            let found = found
                .as_ref()
                .map(|trace| (trace.traceparent(), trace.tracestate()));
            let expected = expected.map(|(parent, state)| (parent.to_owned(), state));
            assert_eq!(found, expected, "{pairs:?}");
        };
        check(&[(TRACEPARENT, parent)], Some((parent, None)));
        let states = [
            (TRACEPARENT, parent),
            (TRACESTATE, "a=1"),
            (TRACESTATE, "b=2"),
        ];
        check(&states, Some((parent, Some("a=1,b=2"))));
        check(&[(TRACEPARENT, parent), (TRACEPARENT, other)], None);
        check(&[(TRACESTATE, "a=1")], None);
        check(&[], None);
    }

    #[test]
    fn headers_must_say_what_the_body_says() {
        let params: Box<RawValue> = serde_json::from_str(
            r#"{"name":"t","arguments":{"region":"Hello","n":5,"o":{}},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#,
        )
        .unwrap();
        let meta = Meta::of(Some(&params));
        let ask = |pairs: &[(&'static str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(*name, value.parse().unwrap());
            }
            let mirrored = ["region", "n", "o", "absent"].map(|p| (p.to_owned(), p.to_owned()));
            check(&headers, &meta, "tools/call", Some(&params))
                .and_then(|()| check_mirrored(&headers, &mirrored, Some(&params)))
                .is_ok()
        };
        let good = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", " t "),
            ("mcp-param-region", "=?base64?SGVsbG8=?="),
            ("mcp-param-n", "5"),
        ];
        assert!(ask(&good));
        for (place, value) in [
            (0, "2025-11-25"),
            (1, "TOOLS/CALL"),
            (2, "u"),
            (3, "=?base64?SGVsbG8?="),
            (3, "SGVsbG8="),
            (4, "6"),
        ] {
            let mut bad = good;
            bad[place].1 = value;
            assert!(!ask(&bad), "{:?}", bad[place]);
        }
        for left_out in 0..good.len() {
            let mut fewer = good.to_vec();
            fewer.remove(left_out);
            assert!(!ask(&fewer), "{left_out}");
        }
    }
}
