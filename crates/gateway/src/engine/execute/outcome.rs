//! What a call that was made came to: for the caller, for the record, and for the key.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolcrib_core::Code;
use toolcrib_core::limits::{EXCERPT_CHARS_MAX, FAULT_TEXT_CHARS_MAX};
use toolcrib_core::rpc::Fault;
use toolcrib_store::audit::Outcome;
use toolcrib_store::idempotency::KeyFate;
use toolcrib_upstream::mcp::Failure;

use crate::engine::error::Error;
use crate::engine::upstream::CallError;
use crate::veil::cover;

/// What an upstream answered, as a key remembers it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Said {
    /// A result.
    Result(Box<RawValue>),
    /// That it does not fulfil the request.
    Fault(Fault),
}

impl Said {
    pub(super) fn to_text(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }

    pub(super) fn from_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// How a call ended.
#[derive(Debug)]
pub(super) enum End {
    /// The upstream said something.
    Said(Said),
    /// It asks the caller something first: the call goes on in another round.
    Asks(Box<RawValue>),
    /// It did not, and why.
    Failed(Failure),
    /// It could not be reached, so that nothing was sent, and why.
    Unsent(Failure),
    /// The caller withdrew.
    Cancelled,
    /// The caller withdrew before the call was made.
    Withdrawn,
    /// The time was up.
    TimedOut,
    /// A bucket became empty before the call was made.
    RateLimited(u64),
    /// The person's word was used up before the call was made.
    Unconfirmed,
    /// The store could not be asked, so nothing was called.
    Unrecorded(toolcrib_store::StoreError),
}

impl From<Result<Box<RawValue>, CallError>> for End {
    fn from(answered: Result<Box<RawValue>, CallError>) -> Self {
        match answered {
            Ok(result) => Self::Said(Said::Result(result)),
            Err(CallError::Fault(fault)) => Self::Said(Said::Fault(fault)),
            Err(CallError::Failure(Failure::Cancelled)) => Self::Cancelled,
            Err(CallError::Failure(Failure::TimedOut(_))) => Self::TimedOut,
            Err(CallError::Failure(failure)) => Self::Failed(failure),
            Err(CallError::Unsent(failure)) => Self::Unsent(failure),
        }
    }
}

impl End {
    /// The same, told apart where the upstream's answer is a question.
    pub(super) fn or_question(self) -> Self {
        match self {
            Self::Said(Said::Result(result)) if asks(&result) => Self::Asks(result),
            other => other,
        }
    }

    /// How it is recorded.
    pub(super) fn outcome(&self) -> Outcome {
        match self {
            Self::Said(Said::Result(result)) if !says_error(result) => Outcome::Ok,
            Self::Asks(_) => Outcome::Ok,
            Self::TimedOut | Self::Unsent(Failure::NotReady { .. }) => Outcome::Timeout,
            Self::Said(_) | Self::Failed(_) | Self::Unsent(_) => Outcome::Error,
            Self::Cancelled | Self::Withdrawn => Outcome::Cancelled,
            Self::RateLimited(_) | Self::Unconfirmed | Self::Unrecorded(_) => Outcome::Refused,
        }
    }

    /// What becomes of the key: an answer stays, what certainly had no effect frees it, a question leaves it
    /// to the next round, and anything else is never run again under it.
    pub(super) fn key_fate(&self) -> KeyFate {
        match self {
            Self::Said(said) => said.to_text().map_or(KeyFate::Unknown, KeyFate::Answer),
            Self::Failed(failure) if failure.was_not_delivered() => KeyFate::Forget,
            Self::Failed(_) | Self::Cancelled | Self::TimedOut => KeyFate::Unknown,
            Self::Asks(_)
            | Self::Unsent(_)
            | Self::Withdrawn
            | Self::RateLimited(_)
            | Self::Unconfirmed
            | Self::Unrecorded(_) => KeyFate::Forget,
        }
    }

    /// The size of what came back.
    pub(super) fn response_bytes(&self) -> Option<i64> {
        match self {
            Self::Said(Said::Result(result)) | Self::Asks(result) => {
                i64::try_from(result.get().len()).ok()
            }
            _ => None,
        }
    }

    /// The code of the error that the caller gets, where it gets one.
    pub(super) fn code(&self) -> Option<Code> {
        match self {
            Self::Said(Said::Result(result)) => {
                says_error(result).then_some(Code::ToolExecutionError)
            }
            Self::Asks(_) => None,
            Self::Unsent(Failure::NotReady { .. }) | Self::TimedOut => {
                Some(Code::ToolExecutionTimeout)
            }
            Self::Failed(failure) | Self::Unsent(failure) => Some(code_of(failure)),
            Self::Said(Said::Fault(_)) => Some(Code::ToolExecutionError),
            Self::Cancelled | Self::Withdrawn => Some(Code::Cancelled),
            Self::RateLimited(_) => Some(Code::RateLimited),
            Self::Unconfirmed => Some(Code::ConfirmationRequired),
            Self::Unrecorded(_) => Some(Code::AuditUnavailable),
        }
    }
}

impl End {
    /// What the upstream answered, or why there is nothing of it.
    pub(super) fn into_result(self) -> Result<Box<RawValue>, Box<Error>> {
        Err(match self {
            Self::Said(Said::Result(result)) | Self::Asks(result) => return Ok(result),
            Self::Said(Said::Fault(fault)) => refused(&fault),
            Self::Failed(failure) => failed(&failure, failure.was_not_delivered()),
            Self::Unsent(Failure::NotReady { .. }) => Error::new(
                Code::ToolExecutionTimeout,
                "The call was not made: its server did not get ready in time.",
            )
            .suggest(
                "The call had no effect; if the server is just slow, have startTimeoutMs raised",
            ),
            Self::Unsent(failure) => failed(&failure, true),
            Self::Cancelled => Error::new(Code::Cancelled, "The call was cancelled.")
                .suggest("Whether it took effect is not known"),
            Self::Withdrawn => Error::new(
                Code::Cancelled,
                "The call was cancelled before it was made.",
            ),
            Self::TimedOut => {
                Error::new(Code::ToolExecutionTimeout, "The call did not end in time.")
                    .suggest("Find out whether it took effect, or give it more time with `timeout`")
            }
            Self::RateLimited(wait_ms) => rate_limited(wait_ms),
            Self::Unconfirmed => Error::new(
                Code::ConfirmationRequired,
                "The confirmation of this call was used before or has expired.",
            )
            .suggest("Make the call again to get a new one"),
            Self::Unrecorded(error) => Box::<Error>::from(&error),
        })
    }
}

fn code_of(failure: &Failure) -> Code {
    match failure {
        Failure::Overloaded => Code::Overloaded,
        Failure::Arguments(_) => Code::ToolValidationError,
        _ => Code::ToolExecutionError,
    }
}

/// A bucket is empty for so long.
pub(super) fn rate_limited(wait_ms: u64) -> Box<Error> {
    let mut error = Error::new(Code::RateLimited, "A rate limit is used up for now.")
        .suggest(format!("Try again in {wait_ms} ms"));
    error.more.retry_after_ms = Some(wait_ms);
    error
}

/// Says of a call that was sent more than once how often: whatever it does may have been done so many times.
pub(super) fn sent_often(mut error: Box<Error>, sent: u32) -> Box<Error> {
    if sent > 1 {
        let said = error.message.trim_end_matches('.');
        error.message = format!("{said}; it was sent {sent} times.");
    }
    error
}

/// Whether a `CallToolResult` says that the tool failed.
pub(super) fn says_error(result: &RawValue) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Flag {
        #[serde(default)]
        is_error: bool,
    }
    // Few results have the field, and they may be long. JSON lets a name be written in escapes, too.
    if !["isError", "\\u"]
        .iter()
        .any(|part| result.get().contains(part))
    {
        return false;
    }
    let flag: Result<Flag, _> = serde_json::from_str(result.get());
    flag.is_ok_and(|flag| flag.is_error)
}

/// Whether a result is a question to the caller instead.
fn asks(result: &RawValue) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Kind {
        result_type: String,
    }
    let kind: Result<Kind, _> = serde_json::from_str(result.get());
    kind.is_ok_and(|kind| kind.result_type == "input_required")
}

/// What the upstream refused, in its own words without secrets, bounded.
pub(super) fn refused(fault: &Fault) -> Box<Error> {
    let said: String = cover(&fault.message)
        .chars()
        .filter(|c| !c.is_control())
        .take(FAULT_TEXT_CHARS_MAX)
        .collect();
    let mut error = Error::new(
        Code::ToolExecutionError,
        format!("Tool execution failed: {said} (code {})", fault.code),
    );
    error.more.fault = Some(fault.clone());
    error
}

/// Why no answer came, in our own words: what the server or the system said stays in the log.
fn failed(failure: &Failure, had_no_effect: bool) -> Box<Error> {
    let why = match failure {
        Failure::NotStarted(_) => "its server could not be started",
        Failure::Exited { .. } => "its server's process ended",
        Failure::Unreachable(_) => "its server cannot be reached",
        Failure::Arguments(why) => {
            return Error::new(
                Code::ToolValidationError,
                format!("The arguments cannot be sent: {}.", cover(why)),
            )
            .suggest("Correct the arguments; the call had no effect");
        }
        // Our own words, about our own configuration.
        Failure::Configuration(why) => {
            return Error::new(
                Code::ToolExecutionError,
                format!(
                    "Tool execution failed: it cannot be called as it is configured: {}.",
                    cover(why)
                ),
            )
            .suggest("The call had no effect; have the configuration corrected");
        }
        Failure::Elsewhere(host) => {
            let host: String = cover(host).chars().take(EXCERPT_CHARS_MAX).collect();
            return Error::new(
                Code::ToolExecutionError,
                format!("Tool execution failed: its server redirects to {host}, which is not followed."),
            )
            .suggest(
                "Whether the call took effect is not known; if that host is meant, have it configured as the server's address",
            );
        }
        Failure::Broken(_) => "the connection to its server broke before an answer came",
        Failure::Status { status, .. } => {
            return Error::new(
                Code::ToolExecutionError,
                format!("Tool execution failed: its server answered HTTP {status}."),
            );
        }
        Failure::Unauthorised(_) => "its server refuses the credentials",
        Failure::SessionLost => "its server has forgotten the session",
        Failure::NotMcp(_) => "its server does not speak MCP",
        Failure::Garbled(_) => "its answer is not valid JSON in UTF-8",
        Failure::TooLarge(_) => {
            return Error::new(
                Code::ToolExecutionError,
                "Tool execution failed: its answer is larger than what is read.",
            )
            .suggest(
                "Ask it for less at once, by a page or a filter of its own; the call was made, and may have taken effect",
            );
        }
        Failure::Overloaded => {
            return Error::new(
                Code::Overloaded,
                "Too many requests to this tool's server are under way.",
            )
            .suggest("Try again in a moment");
        }
        Failure::Resting { .. } => "its server failed too often and is left alone for a while",
        _ => "its server gave no answer",
    };
    let error = Error::new(
        Code::ToolExecutionError,
        format!("Tool execution failed: {why}."),
    );
    error.suggest(match failure {
        // What is not installed is not there in a moment either.
        Failure::NotStarted(_) => {
            "The call had no effect; have its program installed, or what the configuration says of it corrected"
        }
        _ if had_no_effect => "The call had no effect; try again in a moment",
        _ => "Whether the call took effect is not known; find out before it is repeated",
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::engine::definition::raw;

    #[test]
    fn what_certainly_had_no_effect_frees_the_key() {
        let result = |value| End::Said(Said::Result(raw(&value)));
        for (end, fate, code) in [
            (result(json!({"content": []})), None, None),
            (
                result(json!({"isError": true})),
                None,
                Some(Code::ToolExecutionError),
            ),
            (
                End::Failed(Failure::NotStarted("no such file".into())),
                Some(KeyFate::Forget),
                Some(Code::ToolExecutionError),
            ),
            (
                End::Failed(Failure::Overloaded),
                Some(KeyFate::Forget),
                Some(Code::Overloaded),
            ),
            (
                End::Failed(Failure::Arguments("`file` must be a text in base64".into())),
                Some(KeyFate::Forget),
                Some(Code::ToolValidationError),
            ),
            (
                End::Failed(Failure::Configuration("set baseUrl".into())),
                Some(KeyFate::Forget),
                Some(Code::ToolExecutionError),
            ),
            (
                End::Failed(Failure::Broken("reset".into())),
                Some(KeyFate::Unknown),
                Some(Code::ToolExecutionError),
            ),
            (
                End::Unsent(Failure::Broken("reset".into())),
                Some(KeyFate::Forget),
                Some(Code::ToolExecutionError),
            ),
            (
                End::Unsent(Failure::NotReady {
                    after: Duration::from_mins(1),
                    stderr: String::new(),
                }),
                Some(KeyFate::Forget),
                Some(Code::ToolExecutionTimeout),
            ),
            (
                End::TimedOut,
                Some(KeyFate::Unknown),
                Some(Code::ToolExecutionTimeout),
            ),
            (
                End::Cancelled,
                Some(KeyFate::Unknown),
                Some(Code::Cancelled),
            ),
            (End::Withdrawn, Some(KeyFate::Forget), Some(Code::Cancelled)),
            (
                End::RateLimited(1),
                Some(KeyFate::Forget),
                Some(Code::RateLimited),
            ),
            (
                End::Unconfirmed,
                Some(KeyFate::Forget),
                Some(Code::ConfirmationRequired),
            ),
        ] {
            assert_eq!(end.code(), code, "{end:?}");
            match (end.key_fate(), fate) {
                (KeyFate::Answer(text), None) => assert!(Said::from_text(&text).is_some()),
                (found, expected) => assert_eq!(Some(found), expected, "{end:?}"),
            }
        }
    }

    #[test]
    fn a_failed_result_is_known_however_it_is_written() {
        for (text, expected) in [
            (r#"{"content": [], "isError": true}"#, true),
            (r#"{"content": [], "is\u0045rror": true}"#, true),
            (r#"{"content": [], "isError": false}"#, false),
            (
                r#"{"content": [{"text": "\"isError\": true \u0041"}]}"#,
                false,
            ),
            (r#"{"content": []}"#, false),
            ("[]", false),
        ] {
            let result = RawValue::from_string(text.into()).unwrap();
            assert_eq!(says_error(&result), expected, "{text}");
        }
    }

    #[test]
    fn an_answer_is_remembered_word_for_word() {
        let text = r#"{ "content": [],  "x": 1.50 }"#;
        let said = Said::Result(RawValue::from_string(text.into()).unwrap());
        let Some(Said::Result(again)) = Said::from_text(&said.to_text().unwrap()) else {
            panic!("not a result");
        };
        assert_eq!(again.get(), text);
    }

    #[test]
    fn failures_tell_nothing_of_the_upstream() {
        let secret = "/home/ada/.ssh ghp_0123456789abcdefghij";
        for failure in [
            Failure::NotStarted(secret.into()),
            Failure::Exited {
                status: secret.into(),
                stderr: secret.into(),
            },
            Failure::Unreachable(secret.into()),
            Failure::Broken(secret.into()),
            Failure::Unauthorised(secret.into()),
            Failure::NotMcp(secret.into()),
            Failure::SessionLost,
            Failure::TooLarge(1),
            Failure::Closed,
            Failure::Status {
                status: 500,
                excerpt: secret.into(),
                retry_after: None,
            },
            Failure::TimedOut(Duration::from_secs(1)),
        ] {
            let error = failed(&failure, false);
            assert!(!error.message.contains("ssh"), "{error}");
            assert!(!error.message.contains("ghp_"), "{error}");
        }
        let wrong = Failure::Arguments("`file` must be a text in base64".into());
        let wrong = failed(&wrong, true);
        assert_eq!(
            wrong.message,
            "The arguments cannot be sent: `file` must be a text in base64."
        );
        let away = failed(&Failure::Elsewhere("other.example.com".into()), false);
        assert_eq!(
            away.message,
            "Tool execution failed: its server redirects to other.example.com, which is not followed."
        );
        let told = failed(&Failure::Configuration("set baseUrl".into()), true);
        assert_eq!(
            told.message,
            "Tool execution failed: it cannot be called as it is configured: set baseUrl."
        );
        let fault = Fault::new(-32603, "bad token ghp_0123456789abcdefghij\u{7}".to_owned());
        assert_eq!(
            refused(&fault).message,
            "Tool execution failed: bad token *** (code -32603)"
        );
    }
}
