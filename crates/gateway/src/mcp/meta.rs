//! What a request says about itself in `_meta`.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use toolcrib_core::rpc::{self, Fault};
use toolcrib_core::trace::{SpanContext, TRACEPARENT, TRACESTATE};

use super::fields::{Fields, raw};
use super::revision::Revision;

/// The revision that a request is written in.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// What the client can be asked.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// Which program the client is.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// From which level on the client wants log messages of this request.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// Which program the server is.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// Which subscription a notification belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// Says in the `_meta` of a request which trace it belongs to, and nothing else of a trace.
pub fn set_trace(meta: &mut Fields, trace: Option<&SpanContext>) {
    meta.remove(TRACEPARENT);
    meta.remove(TRACESTATE);
    if let Some(trace) = trace {
        meta.set(TRACEPARENT, &trace.traceparent());
        if let Some(state) = trace.tracestate() {
            meta.set(TRACESTATE, state);
        }
    }
}

/// The `_meta` of a request; empty where there is none.
#[derive(Clone, Debug, Default)]
pub struct Meta(Fields);

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

impl Meta {
    /// Reads it from the parameters of a request.
    pub fn of(params: Option<&RawValue>) -> Self {
        let meta = params
            .and_then(|params| serde_json::from_str::<Params<'_>>(params.get()).ok())
            .and_then(|params| params.meta)
            .and_then(Fields::of);
        Self(meta.unwrap_or_default())
    }

    /// Whether the request stands alone: it says which revision it is written in.
    pub fn is_stateless(&self) -> bool {
        self.0.has(PROTOCOL_VERSION)
    }

    /// The revision as it is written.
    pub fn version(&self) -> Option<String> {
        self.0.text(PROTOCOL_VERSION)
    }

    /// What progress is reported under: a text or a number.
    pub fn progress(&self) -> Option<Box<RawValue>> {
        let token = self.0.get("progressToken")?;
        let value: Value = serde_json::from_str(token.get()).ok()?;
        (value.is_string() || value.is_number()).then(|| token.to_owned())
    }

    /// The trace that the request belongs to.
    pub fn trace(&self) -> Option<SpanContext> {
        let state = self.0.text(TRACESTATE);
        SpanContext::parse(&self.0.text(TRACEPARENT)?, state.as_deref())
    }

    /// The level of log messages that is asked for.
    pub fn level(&self) -> Option<String> {
        self.0.text(LOG_LEVEL)
    }

    /// The client's `name`, `version` and so on.
    pub fn client_info(&self) -> Option<Value> {
        serde_json::from_str(self.0.get(CLIENT_INFO)?.get()).ok()
    }

    /// Checks what a request that stands alone must say, and gives the revision and what the client
    /// can be asked.
    pub fn check(&self) -> Result<(Revision, Value), Fault> {
        let Some(version) = self.version() else {
            return Err(missing(PROTOCOL_VERSION));
        };
        let revision = Revision::parse(&version).filter(|known| known.is_stateless());
        let revision = revision.ok_or_else(|| unsupported(&version))?;
        let capabilities = self
            .0
            .get(CLIENT_CAPABILITIES)
            .and_then(|text| serde_json::from_str::<Value>(text.get()).ok())
            .filter(Value::is_object)
            .ok_or_else(|| missing(CLIENT_CAPABILITIES))?;
        Ok((revision, capabilities))
    }
}

fn missing(field: &str) -> Fault {
    Fault::new(
        rpc::INVALID_PARAMS,
        format!(
            "`_meta` of the parameters must hold `{field}`; a client of a revision before 2026-07-28 sends `initialize` first"
        ),
    )
}

/// The fault of a request that is written in a revision which is not served.
pub fn unsupported(version: &str) -> Fault {
    let supported = Revision::STATELESS.map(Revision::as_str);
    Fault {
        code: rpc::UNSUPPORTED_VERSION,
        message: format!("protocol version {version:?} is not supported; use one of `supported`"),
        data: Some(raw(
            &serde_json::json!({ "supported": supported, "requested": version }),
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(text: &str) -> Meta {
        let params: Box<RawValue> = serde_json::from_str(text).unwrap();
        Meta::of(Some(&params))
    }

    #[test]
    fn what_a_stateless_request_must_say_is_checked() {
        let check = |text: &str, code: i64| {
            assert_eq!(of(text).check().unwrap_err().code, code, "{text}");
        };
        check("{}", rpc::INVALID_PARAMS);
        check("[]", rpc::INVALID_PARAMS);
        check(r#"{"_meta":7}"#, rpc::INVALID_PARAMS);
        check(
            r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":5}}"#,
            rpc::INVALID_PARAMS,
        );
        check(
            r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#,
            rpc::INVALID_PARAMS,
        );
        check(
            r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":[]}}"#,
            rpc::INVALID_PARAMS,
        );
        for old in ["v999", "2025-11-25"] {
            let text = format!(
                r#"{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"{old}","io.modelcontextprotocol/clientCapabilities":{{}}}}}}"#
            );
            let fault = of(&text).check().unwrap_err();
            assert_eq!(fault.code, rpc::UNSUPPORTED_VERSION);
            let data = fault.data.unwrap().get().to_owned();
            assert_eq!(
                data,
                format!(r#"{{"supported":["2026-07-28"],"requested":"{old}"}}"#)
            );
        }
        let good = of(
            r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}}}"#,
        );
        let (revision, capabilities) = good.check().unwrap();
        assert_eq!(revision, Revision::V2026_07_28);
        assert!(capabilities["roots"].is_object());
        assert!(Meta::of(None).check().is_err());
    }

    #[test]
    fn a_progress_token_is_a_text_or_a_number() {
        let token = |text: &str| of(text).progress().map(|token| token.get().to_owned());
        assert_eq!(
            token(r#"{"_meta":{"progressToken":"a"}}"#).as_deref(),
            Some("\"a\"")
        );
        assert_eq!(
            token(r#"{"_meta":{"progressToken":7}}"#).as_deref(),
            Some("7")
        );
        assert_eq!(token(r#"{"_meta":{"progressToken":{}}}"#), None);
        assert_eq!(token("{}"), None);
    }

    #[test]
    fn a_trace_travels_in_meta() {
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let params = json!({ "_meta": { "traceparent": parent, "tracestate": "x=1" } });
        let trace = of(&params.to_string()).trace().unwrap();
        assert_eq!(
            (trace.traceparent().as_str(), trace.tracestate()),
            (parent, Some("x=1"))
        );
        assert_eq!(of(r#"{"_meta":{"traceparent":"00-a-b-01"}}"#).trace(), None);
        assert_eq!(of(r#"{"_meta":{"tracestate":"x=1"}}"#).trace(), None);
    }

    #[test]
    fn the_trace_of_a_call_replaces_whatever_its_meta_says() {
        let check = |given: &str, trace: Option<&SpanContext>, expected: &str| {
            let given = RawValue::from_string(given.to_owned()).unwrap();
            let mut fields = Fields::of(&given).unwrap();
            set_trace(&mut fields, trace);
            assert_eq!(fields.raw().get(), expected);
        };
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let foreign = r#"{"traceparent":"nonsense","a":1,"tracestate":"b=2"}"#;
        check(foreign, None, r#"{"a":1}"#);
        let bare = SpanContext::parse(parent, None).unwrap();
        check(
            foreign,
            Some(&bare),
            &format!(r#"{{"a":1,"traceparent":"{parent}"}}"#),
        );
        let full = SpanContext::parse(parent, Some("c=3")).unwrap();
        check(
            "{}",
            Some(&full),
            &format!(r#"{{"traceparent":"{parent}","tracestate":"c=3"}}"#),
        );
    }
}
