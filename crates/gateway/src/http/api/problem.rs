//! Failures as problem details (RFC 9457), from the one table of codes.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use toolcrib_core::Code;
use toolcrib_core::rest::BadParameter;
use toolcrib_store::StoreError;

use crate::desk::failure;
use crate::engine::error::Error;
use crate::mcp::discovery::input::Bad;

/// Why a request was not fulfilled.
pub(in crate::http) struct Problem {
    status: u16,
    fields: Map<String, Value>,
    retry_after_ms: Option<u64>,
}

impl Problem {
    /// A failure with its one sentence.
    pub(super) fn plain(code: Code, detail: impl Into<String>) -> Self {
        Self::of(&Error::new(code, detail), None)
    }

    /// A failure of the engine; `id` is the tool that was asked for.
    pub(super) fn of(error: &Error, id: Option<&str>) -> Self {
        Self::told(
            error.code,
            &error.message,
            failure(error, id),
            error.more.retry_after_ms,
        )
    }

    /// The same with what to do next in other words.
    pub(super) fn next_in(self, words: fn(&str) -> String) -> Self {
        Self {
            fields: reworded(self.fields, words),
            ..self
        }
    }

    /// What a tool said that failed, as it was told.
    pub(super) fn told(code: Code, detail: &str, told: Value, retry_after_ms: Option<u64>) -> Self {
        let status = code.http_status();
        let mut fields = about(status, &title(code.as_str()), detail);
        fields["type"] = format!("urn:toolcrib:error:{code}").into();
        fields.insert("code".into(), json!(code));
        if let Some(suggestion) = told["error"].get("suggestion") {
            fields.insert("suggestion".into(), suggestion.clone());
        }
        if let Value::Object(told) = told {
            fields.extend(told);
        }
        let fields = reworded(fields, over_rest);
        Self {
            status,
            fields,
            retry_after_ms,
        }
    }
}

/// What to do next, in other words.
fn reworded(mut fields: Map<String, Value>, words: fn(&str) -> String) -> Map<String, Value> {
    if let Some(Value::String(next)) = fields.get_mut("next_step") {
        *next = words(next);
    }
    fields
}

/// Advice that names the tools of an agent, with the paths that do the same here.
fn over_rest(advice: &str) -> String {
    advice
        .replace("gateway.intent", "POST /api/v1/intent")
        .replace("gateway.adapters", "GET /api/adapters")
        .replace("gateway.tools", "GET /api/v1/servers/{server}/tools")
        .replace("gateway.execute", "POST /api/v1/execute")
        .replace(
            "Use gateway.reference with topic errors",
            "Do as error.message says and ask again",
        )
}

fn about(status: u16, title: &str, detail: &str) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("type".into(), "about:blank".into());
    fields.insert("title".into(), title.into());
    fields.insert("status".into(), status.into());
    fields.insert("detail".into(), detail.into());
    fields
}

/// A code as words: `TOOL_NOT_FOUND` is `Tool not found`.
fn title(code: &str) -> String {
    let lower = code.to_lowercase().replace('_', " ");
    let mut chars = lower.chars();
    let first = chars.next().map(|c| c.to_uppercase().collect::<String>());
    first.unwrap_or_default() + chars.as_str()
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = Value::Object(self.fields).to_string();
        let kind = [(header::CONTENT_TYPE, "application/problem+json")];
        let mut response = (status, kind, body).into_response();
        if let Some(wait) = self.retry_after_ms {
            let seconds = HeaderValue::from(wait.div_ceil(1_000).max(1));
            response.headers_mut().insert(header::RETRY_AFTER, seconds);
        }
        response
    }
}

impl From<BadParameter> for Problem {
    fn from(bad: BadParameter) -> Self {
        Self::plain(Code::ValidationError, bad.to_string())
    }
}

impl From<Bad> for Problem {
    fn from(bad: Bad) -> Self {
        Self::plain(Code::ValidationError, bad.message)
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "the store cannot be used");
        Self::from(Box::<Error>::from(&error))
    }
}

/// The refusal of a caller that is not known, as a problem: what was said of it stays.
pub(in crate::http) fn unauthorised(refusal: Response, why: &str) -> Response {
    let (mut parts, _) = refusal.into_parts();
    let fields = about(
        parts.status.as_u16(),
        &title(parts.status.canonical_reason().unwrap_or("")),
        why,
    );
    let kind = HeaderValue::from_static("application/problem+json");
    parts.headers.insert(header::CONTENT_TYPE, kind);
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Value::Object(fields).to_string().into())
}

/// A refusal of the door itself, which has no code of the table.
pub(in crate::http) fn refused(status: StatusCode, why: &str) -> Response {
    unauthorised(status.into_response(), why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_has_the_status_and_the_words_of_its_code() {
        let error =
            Error::new(Code::RateLimited, "A rate limit is used up for now.").suggest("Wait");
        let problem = Problem::of(&error, Some("a:b"));
        let told = Value::Object(problem.fields);
        assert_eq!(
            (&told["type"], &told["title"], &told["status"]),
            (
                &json!("urn:toolcrib:error:RATE_LIMITED"),
                &json!("Rate limited"),
                &json!(429)
            )
        );
        assert_eq!(
            (&told["code"], &told["suggestion"]),
            (&json!("RATE_LIMITED"), &json!("Wait"))
        );
        assert_eq!(
            (&told["success"], &told["tool_id"]),
            (&json!(false), &json!("a:b"))
        );
    }

    #[test]
    fn waiting_is_said_in_seconds() {
        let mut error = Error::new(Code::RateLimited, "x");
        error.more.retry_after_ms = Some(1_001);
        let response = Problem::of(&error, None).into_response();
        assert_eq!(response.status(), 429);
        assert_eq!(response.headers()["retry-after"], "2");
        assert_eq!(
            response.headers()["content-type"],
            "application/problem+json"
        );
    }
}
