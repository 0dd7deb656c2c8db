//! The one table of public error codes: what callers of every door may see.
//!
//! A code is stable: it is what a model or a script branches on. The message is for the caller and
//! holds no secret, path or upstream internal; what the log needs travels apart.

use std::fmt;

use serde::Serialize;

macro_rules! codes {
    ($( $(#[$doc:meta])* $variant:ident = $text:literal, rpc $rpc:literal, http $http:literal, retry $retry:literal; )*) => {
        /// Every code that a caller can meet. Closed: a new failure gets a row here or uses one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Code { $( $(#[$doc])* $variant, )* }

        impl Code {
            /// All codes, in the order of the table.
            pub const ALL: &'static [Code] = &[ $( Code::$variant, )* ];

            /// The code as callers see it, such as `TOOL_NOT_FOUND`.
            pub const fn as_str(self) -> &'static str {
                match self { $( Code::$variant => $text, )* }
            }

            /// The JSON-RPC error code used where the protocol wants one instead of a result.
            pub const fn json_rpc(self) -> i32 {
                match self { $( Code::$variant => $rpc, )* }
            }

            /// The HTTP status of the REST doors.
            pub const fn http_status(self) -> u16 {
                match self { $( Code::$variant => $http, )* }
            }

            /// Whether the same request may succeed later without a change.
            pub const fn retryable(self) -> bool {
                match self { $( Code::$variant => $retry, )* }
            }
        }
    };
}

codes! {
    /// No such tool, or none that this caller may see.
    ToolNotFound = "TOOL_NOT_FOUND", rpc -32602, http 404, retry false;
    /// No such server.
    ServerNotFound = "SERVER_NOT_FOUND", rpc -32602, http 404, retry false;
    /// The tool exists and a rule switches it off.
    ToolDisabled = "TOOL_DISABLED", rpc -32602, http 403, retry false;
    /// The arguments do not fit the tool's schema.
    ToolValidationError = "TOOL_VALIDATION_ERROR", rpc -32602, http 422, retry false;
    /// The upstream was reached, or tried, and the call failed.
    ToolExecutionError = "TOOL_EXECUTION_ERROR", rpc -32603, http 502, retry false;
    /// The call did not end within its deadline.
    ToolExecutionTimeout = "TOOL_EXECUTION_TIMEOUT", rpc -32603, http 504, retry true;
    /// This tool needs an idempotency key.
    IdempotencyRequired = "IDEMPOTENCY_REQUIRED", rpc -32602, http 428, retry false;
    /// The key was used before with other parameters.
    IdempotencyConflict = "IDEMPOTENCY_CONFLICT", rpc -32602, http 409, retry false;
    /// The key's first call was cut off; whether it took effect is not known.
    IdempotencyUnknown = "IDEMPOTENCY_UNKNOWN", rpc -32603, http 409, retry false;
    /// This tool needs a confirmation that the request does not carry.
    ConfirmationRequired = "CONFIRMATION_REQUIRED", rpc -32602, http 428, retry false;
    /// The journal could not be written, so nothing was run.
    AuditUnavailable = "AUDIT_UNAVAILABLE", rpc -32603, http 503, retry true;
    /// Too much is under way already.
    Overloaded = "OVERLOADED", rpc -32603, http 503, retry true;
    /// The caller cancelled.
    Cancelled = "CANCELLED", rpc -32603, http 499, retry false;
    /// The stored rest of a large result is gone.
    ResultExpired = "RESULT_EXPIRED", rpc -32602, http 410, retry false;
    /// The caller lacks a scope that the tool needs.
    ScopeRequired = "SCOPE_REQUIRED", rpc -32602, http 403, retry false;
    /// A rate limit is used up for now.
    RateLimited = "RATE_LIMITED", rpc -32603, http 429, retry true;
    /// The tool is new or changed and waits for a person.
    ApprovalRequired = "APPROVAL_REQUIRED", rpc -32602, http 403, retry false;
    /// Nothing waits for a person under this name.
    ApprovalNotFound = "APPROVAL_NOT_FOUND", rpc -32602, http 404, retry false;
    /// The configuration does not load.
    ConfigurationError = "CONFIGURATION_ERROR", rpc -32603, http 500, retry false;
    /// A server could not be reached or started.
    ServerConnectionError = "SERVER_CONNECTION_ERROR", rpc -32603, http 502, retry true;
    /// The request itself is malformed.
    ValidationError = "VALIDATION_ERROR", rpc -32602, http 400, retry false;
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A failure as a caller sees it: a code, one sentence, and what to do next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What kind of failure this is.
    pub code: Code,
    /// One sentence for the caller.
    pub message: String,
    /// What the caller can do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

impl Error {
    /// A failure with its one sentence.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            suggestion: None,
        }
    }

    /// Adds what the caller can do next.
    #[must_use]
    pub fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_distinct_upper_case_name() {
        let mut names: Vec<_> = Code::ALL.iter().map(|c| c.as_str()).collect();
        assert_eq!(names.len(), 21);
        assert!(
            names
                .iter()
                .all(|n| n.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'))
        );
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 21);
    }

    #[test]
    fn statuses_and_rpc_codes_are_legal() {
        for code in Code::ALL {
            assert!((400..600).contains(&code.http_status()), "{code}");
            assert!(matches!(code.json_rpc(), -32603..=-32600), "{code}");
        }
    }

    #[test]
    fn an_error_serialises_without_empty_fields() {
        let plain = Error::new(Code::ToolDisabled, "Tool x is disabled");
        assert_eq!(
            serde_json::to_string(&plain).unwrap(),
            r#"{"code":"TOOL_DISABLED","message":"Tool x is disabled"}"#
        );
        let helped = plain.suggest("enable it in toolRules");
        assert!(
            serde_json::to_string(&helped)
                .unwrap()
                .contains("suggestion")
        );
        assert_eq!(helped.to_string(), "Tool x is disabled");
    }
}
