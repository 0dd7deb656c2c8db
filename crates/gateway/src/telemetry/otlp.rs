//! Spans in the JSON form of OTLP, the protocol of collectors.

use serde_json::{Value, json};

use super::span::{Finished, Held, Kind};

/// One delivery: what the process is, and spans of it.
pub fn delivery(resource: &[(String, String)], spans: &[Finished]) -> Value {
    let resource = resource.iter().map(|(key, value)| text(key, value));
    let resource: Vec<Value> = resource.collect();
    let spans: Vec<Value> = spans.iter().map(span).collect();
    let scope = json!({ "name": "toolcrib", "version": env!("CARGO_PKG_VERSION") });
    json!({ "resourceSpans": [{
        "resource": { "attributes": resource },
        "scopeSpans": [{ "scope": scope, "spans": spans }],
    }] })
}

/// How many spans of a delivery a collector says that it did not take.
pub fn rejected(answer: &[u8]) -> u64 {
    let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
    let rejected = &answer["partialSuccess"]["rejectedSpans"];
    // Whole numbers are texts in this form; some collectors write them plainly.
    let written = rejected.as_str().and_then(|text| text.parse().ok());
    written.or_else(|| rejected.as_u64()).unwrap_or(0)
}

fn span(span: &Finished) -> Value {
    let attributes = span.attributes.iter().map(|(key, held)| match held {
        Held::Text(value) => text(key, value),
        Held::Number(number) => {
            json!({ "key": key, "value": { "intValue": number.to_string() } })
        }
    });
    let attributes: Vec<Value> = attributes.collect();
    let kind = match span.kind {
        Kind::Internal => 1,
        Kind::Server => 2,
        Kind::Client => 3,
    };
    let mut written = json!({
        "traceId": span.context.trace_id(),
        "spanId": span.context.span_id(),
        "flags": 1,
        "name": span.name,
        "kind": kind,
        "startTimeUnixNano": span.start_ns.to_string(),
        "endTimeUnixNano": span.end_ns.to_string(),
        "attributes": attributes,
        "status": if span.failed { json!({ "code": 2 }) } else { json!({}) },
    });
    if let Some(parent) = &span.parent {
        written["parentSpanId"] = json!(parent);
    }
    if let Some(state) = span.context.tracestate() {
        written["traceState"] = json!(state);
    }
    written
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

#[cfg(test)]
mod tests {
    use toolcrib_core::trace::SpanContext;

    use super::*;

    #[test]
    fn a_delivery_has_the_form_of_the_protocol() {
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let finished = Finished {
            context: SpanContext::parse(parent, Some("a=1")).unwrap(),
            parent: Some("00f067aa0ba902b7".into()),
            name: "tools/call echo".into(),
            kind: Kind::Client,
            start_ns: 1_700_000_000_000_000_001,
            end_ns: 1_700_000_000_000_000_002,
            attributes: vec![
                ("mcp.method.name", "tools/call".into()),
                ("http.response.status_code", 200.into()),
            ],
            failed: true,
        };
        let root = Finished {
            parent: None,
            context: SpanContext::parse(parent, None).unwrap(),
            attributes: Vec::new(),
            failed: false,
            ..finished.clone()
        };
        let resource = [("service.name".to_owned(), "toolcrib".to_owned())];
        let written = delivery(&resource, &[finished, root]);
        let group = &written["resourceSpans"][0];
        assert_eq!(
            group["resource"]["attributes"],
            json!([{ "key": "service.name", "value": { "stringValue": "toolcrib" } }])
        );
        let spans = &group["scopeSpans"][0]["spans"];
        assert_eq!(
            spans[0],
            json!({
                "traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": "b7ad6b7169203331",
                "flags": 1, "name": "tools/call echo", "kind": 3,
                "startTimeUnixNano": "1700000000000000001", "endTimeUnixNano": "1700000000000000002",
                "attributes": [
                    { "key": "mcp.method.name", "value": { "stringValue": "tools/call" } },
                    { "key": "http.response.status_code", "value": { "intValue": "200" } },
                ],
                "status": { "code": 2 }, "parentSpanId": "00f067aa0ba902b7", "traceState": "a=1",
            })
        );
        assert_eq!(spans[1]["status"], json!({}));
        assert!(spans[1].get("parentSpanId").is_none() && spans[1].get("traceState").is_none());
    }

    #[test]
    fn what_a_collector_rejects_is_read_however_it_is_written() {
        let check = |answer: &str, expected: u64| {
            assert_eq!(rejected(answer.as_bytes()), expected, "{answer}");
        };
        check("", 0);
        check("{}", 0);
        check(r#"{"partialSuccess":{"rejectedSpans":"3"}}"#, 3);
        check(r#"{"partialSuccess":{"rejectedSpans":4}}"#, 4);
        check(r#"{"partialSuccess":{"rejectedSpans":"many"}}"#, 0);
    }
}
