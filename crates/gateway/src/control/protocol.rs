//! What is said on the control socket: one JSON object a line, a request and then its answer.
//!
//! `{"v":1,"op":"ping"}` is answered by `{"v":1,"ok":true,"result":{…}}`, or by
//! `{"v":1,"ok":false,"error":{"code":…,"message":…}}`. Fields that are not known are passed over, so
//! that a newer process and an older command understand each other as far as they can.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_core::{Code, limits};

use crate::engine::upstream::Health;
use crate::reload::Report;

/// The version of this protocol.
pub const VERSION: u32 = 1;

/// What can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// Whether someone is there.
    Ping,
    /// What the process runs on: [`Status`].
    Status,
    /// How many servers and tools it has: [`Counts`].
    Counts,
    /// How its servers stand: a list of [`ServerState`].
    Servers,
    /// To read its configuration again: [`Report`].
    Reload,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The version of the protocol that the asker speaks.
    pub v: u32,
    /// What is asked.
    pub op: Op,
}

impl Request {
    /// A request in the version of this build.
    pub fn new(op: Op) -> Self {
        Self { v: VERSION, op }
    }

    /// Reads a line, or says why it is not understood.
    pub fn parse(line: &[u8]) -> Result<Self, Fault> {
        let value: Value = serde_json::from_slice(line)
            .map_err(|_| Fault::invalid("a request is one line with a JSON object"))?;
        match value.get("v").and_then(Value::as_u64) {
            Some(v) if v == u64::from(VERSION) => {}
            _ => {
                return Err(Fault::invalid(format!(
                    "this process speaks version {VERSION} of the control protocol; use the same version of toolcrib for both"
                )));
            }
        }
        serde_json::from_value(value)
            .map_err(|_| Fault::invalid("op must be one of ping, status, counts, servers, reload"))
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The version of the protocol.
    pub v: u32,
    /// Whether there is a result.
    pub ok: bool,
    /// The result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
}

/// Why a request was not answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// A code of the one table.
    pub code: String,
    /// One sentence.
    pub message: String,
}

impl Fault {
    /// A failure with its one sentence.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code: code.as_str().to_owned(),
            message: message.into(),
        }
    }

    fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::ValidationError, message)
    }
}

impl From<Fault> for Answer {
    fn from(fault: Fault) -> Self {
        Self {
            v: VERSION,
            ok: false,
            result: None,
            error: Some(fault),
        }
    }
}

impl Answer {
    /// A result.
    pub fn result(result: &impl Serialize) -> Self {
        Self {
            v: VERSION,
            ok: true,
            result: serde_json::to_value(result).ok(),
            error: None,
        }
    }

    /// A failure.
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self::from(Fault::new(code, message))
    }

    /// The line to send, its end included; never longer than [`limits::CONTROL_MESSAGE_BYTES_MAX`].
    pub fn line(&self) -> Vec<u8> {
        let line = |answer: &Self| {
            let mut line = serde_json::to_vec(answer).unwrap_or_default();
            line.push(b'\n');
            line
        };
        let whole = line(self);
        if whole.len() <= limits::CONTROL_MESSAGE_BYTES_MAX {
            whole
        } else {
            line(&Self::error(
                Code::Overloaded,
                "the answer is too large for the control socket",
            ))
        }
    }

    /// The result as what it should be, or one sentence that says why it is not.
    pub fn into_result<T: DeserializeOwned>(self) -> Result<T, Fault> {
        match (self.ok, self.result, self.error) {
            (true, Some(result), _) => serde_json::from_value(result).map_err(|_| {
                Fault::invalid("it gave an answer that this version does not understand")
            }),
            (_, _, Some(fault)) => Err(fault),
            _ => Err(Fault::invalid("it gave an empty answer")),
        }
    }
}

/// The answer to [`Op::Ping`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pong {
    /// The process.
    pub pid: u32,
}

/// The answer to [`Op::Status`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The process.
    pub pid: u32,
    /// The version of Toolcrib that runs.
    pub version: String,
    /// When it started, in RFC 3339.
    pub started: String,
    /// The directory it was started in.
    pub directory: String,
    /// Where clients reach it: an address, or `stdio`; nothing while it opens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub door: Option<String>,
    /// The configuration file it was given or found; none where it runs without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// The generation in place.
    pub generation: u64,
    /// The last reload, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reload: Option<Report>,
}

/// How many there are of what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Servers in the configuration, REST APIs included.
    pub servers_configured: usize,
    /// Servers with an open connection.
    pub servers_connected: usize,
    /// Tools that are known.
    pub tools_total: usize,
    /// Tools of these that rules leave enabled.
    pub tools_enabled: usize,
}

/// How one server stands with a process: an element of the answer to [`Op::Servers`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerState {
    /// Its name.
    pub name: String,
    /// Whether it is there.
    pub status: Health,
    /// Why not, in words for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Its tools, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolCounts>,
}

/// How many tools a server has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCounts {
    /// All of them.
    pub total: usize,
    /// Those that can be found and run.
    pub enabled: usize,
    /// Those that wait for a person.
    pub pending: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &str) -> String {
        Request::parse(line.as_bytes()).unwrap_err().message
    }

    #[test]
    fn every_op_reads_back_and_unknown_fields_are_passed_over() {
        for op in [Op::Ping, Op::Status, Op::Counts, Op::Servers, Op::Reload] {
            let request = Request::new(op);
            let line = serde_json::to_vec(&request).unwrap();
            assert_eq!(Request::parse(&line).unwrap(), request);
        }
        assert!(Request::parse(br#"{"v":1,"op":"ping","later":true}"#).is_ok());
    }

    #[test]
    fn a_request_that_is_not_understood_is_told_what_would_be_right() {
        for line in ["", "x", "[]", "\"ping\"", "\u{0}", "{"] {
            assert!(!refused(line).is_empty(), "{line:?}");
        }
        assert!(refused(r#"{"op":"ping"}"#).contains("version 1"));
        assert!(refused(r#"{"v":2,"op":"ping"}"#).contains("version 1"));
        assert!(
            refused(r#"{"v":1,"op":"shutdown"}"#).contains("ping, status, counts, servers, reload")
        );
        assert!(refused(r#"{"v":1}"#).contains("op must be"));
    }

    #[test]
    fn an_answer_never_exceeds_the_bound() {
        let huge = Answer::result(&"x".repeat(limits::CONTROL_MESSAGE_BYTES_MAX));
        let line = huge.line();
        assert!(line.len() < 200 && line.ends_with(b"\n"));
        let small = Answer::result(&Pong { pid: 1 });
        assert_eq!(
            small.line(),
            b"{\"v\":1,\"ok\":true,\"result\":{\"pid\":1}}\n"
        );
    }

    #[test]
    fn an_answer_gives_its_result_or_a_sentence() {
        let pong = Answer::result(&Pong { pid: 7 });
        assert_eq!(pong.clone().into_result::<Pong>().unwrap().pid, 7);
        assert!(pong.into_result::<Counts>().is_err());
        let fault = Answer::from(Fault::invalid("no"))
            .into_result::<Pong>()
            .unwrap_err();
        assert_eq!(
            (fault.code.as_str(), fault.message.as_str()),
            ("VALIDATION_ERROR", "no")
        );
        let empty: Answer = serde_json::from_str(r#"{"v":1,"ok":true}"#).unwrap();
        assert!(
            empty
                .into_result::<Pong>()
                .unwrap_err()
                .message
                .contains("empty")
        );
    }
}
