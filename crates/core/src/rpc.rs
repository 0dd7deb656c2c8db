//! JSON-RPC 2.0 messages, as both sides of MCP exchange them.
//!
//! Parameters, results and error data stay the text that came in: a proxy hands on what it does not
//! know. Reading is strict about the frame and says what is wrong with it in one sentence.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Names a request until it is answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
pub enum Id {
    /// A whole number.
    Number(i64),
    /// A text.
    Text(Box<str>),
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Id::Number(number) => write!(f, "{number}"),
            Id::Text(text) => f.write_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Id;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a whole number as `id`")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Id, E> {
                Ok(Id::Number(number))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Id, E> {
                let number = i64::try_from(number);
                number
                    .map(Id::Number)
                    .map_err(|_| E::custom("an `id` beyond the range of whole numbers"))
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Id, E> {
                // Some writers print whole numbers with a fraction of zero.
                #[expect(clippy::cast_possible_truncation, reason = "checked by the comparison")]
                let whole = number as i64;
                #[expect(clippy::cast_precision_loss, reason = "the comparison is the check")]
                let same = (whole as f64 - number).abs() < f64::EPSILON;
                if same {
                    Ok(Id::Number(whole))
                } else {
                    Err(E::custom("an `id` with a fraction"))
                }
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Id, E> {
                Ok(Id::Text(text.into()))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// Why a request was not fulfilled, in the words of whoever refused it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fault {
    /// The JSON-RPC code.
    pub code: i64,
    /// One sentence.
    #[serde(default)]
    pub message: String,
    /// What else there is to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<RawValue>>,
}

impl Fault {
    /// A fault with nothing but a code and a sentence.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (code {})", self.message, self.code)
    }
}

/// The frame is not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// The frame is JSON, but no request.
pub const INVALID_REQUEST: i64 = -32600;
/// There is no such method, or no such tool for callers of the older revisions.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The parameters do not fit the method.
pub const INVALID_PARAMS: i64 = -32602;
/// A fault of the answering side.
pub const INTERNAL_ERROR: i64 = -32603;
/// The resource that was asked for is not there (revisions before 2026-07-28).
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// A header of a request contradicts its body.
pub const HEADER_MISMATCH: i64 = -32020;
/// The client lacks a capability that the request needs.
pub const MISSING_CAPABILITY: i64 = -32021;
/// The protocol version is not supported.
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// One message.
#[derive(Clone, Debug)]
pub enum Message {
    /// It wants an answer.
    Request {
        /// What the answer must carry.
        id: Id,
        /// What is asked for.
        method: String,
        /// With what.
        params: Option<Box<RawValue>>,
    },
    /// It wants none.
    Notification {
        /// What is told.
        method: String,
        /// With what.
        params: Option<Box<RawValue>>,
    },
    /// It is one.
    Answer {
        /// The request that is answered; `None` where the other side could not read it.
        id: Option<Id>,
        /// What came of it.
        outcome: Result<Box<RawValue>, Fault>,
    },
}

/// Why a frame is no message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// It is not JSON.
    #[error("this is not JSON: {0}")]
    Text(String),
    /// It is JSON, but not JSON-RPC 2.0.
    #[error("this is not a JSON-RPC 2.0 message: {why}")]
    Frame {
        /// What is wrong.
        why: String,
        /// The id, as far as one could be read, to answer to.
        id: Option<Id>,
    },
}

impl Malformed {
    /// The JSON-RPC code to answer with.
    pub fn code(&self) -> i64 {
        match self {
            Malformed::Text(_) => PARSE_ERROR,
            Malformed::Frame { .. } => INVALID_REQUEST,
        }
    }

    /// The id to answer to.
    pub fn id(&self) -> Option<&Id> {
        match self {
            Malformed::Frame { id, .. } => id.as_ref(),
            Malformed::Text(_) => None,
        }
    }
}

/// The fields of a message; a `null` and an absent field are told apart where it matters.
#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<Fault>,
}

/// A field that is there, `null` included.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Reads one message.
///
/// ```
/// use toolcrib_core::rpc::{Message, parse};
/// let message = parse(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).unwrap();
/// assert!(matches!(message, Message::Request { method, .. } if method == "ping"));
/// ```
pub fn parse(text: &[u8]) -> Result<Message, Malformed> {
    let frame: Frame<'_> =
        serde_json::from_slice(text).map_err(|error| not_a_frame(text, &error))?;
    let id = match frame.id.map(RawValue::get) {
        None => None,
        Some("null") => Some(None),
        Some(raw) => match serde_json::from_str::<Id>(raw) {
            Ok(id) => Some(Some(id)),
            Err(_) => return Err(broken("`id` must be a string or a whole number", None)),
        },
    };
    let known = id.clone().flatten();
    if frame.jsonrpc.as_deref() != Some("2.0") {
        return Err(broken("`jsonrpc` must be \"2.0\"", known));
    }
    let params = frame.params.map(ToOwned::to_owned);
    match (frame.method, frame.result, frame.error) {
        (Some(method), None, None) => {
            let method = method.into_owned();
            match id {
                Some(Some(id)) => Ok(Message::Request { id, method, params }),
                Some(None) => Err(broken("`id` must not be null", None)),
                None => Ok(Message::Notification { method, params }),
            }
        }
        (None, Some(result), None) => match known {
            Some(id) => Ok(Message::Answer {
                id: Some(id),
                outcome: Ok(result.to_owned()),
            }),
            None => Err(broken("a result needs the `id` of its request", None)),
        },
        (None, None | Some(_), Some(fault)) => Ok(Message::Answer {
            id: known,
            outcome: Err(fault),
        }),
        (None, None, None) => Err(broken(
            "it has none of `method`, `result` and `error`",
            known,
        )),
        (Some(_), _, _) => Err(broken("it is a request and an answer at once", known)),
    }
}

fn broken(why: &str, id: Option<Id>) -> Malformed {
    Malformed::Frame {
        why: why.to_owned(),
        id,
    }
}

/// Tells text that is not JSON from JSON that is not a message.
fn not_a_frame(text: &[u8], error: &serde_json::Error) -> Malformed {
    let is_json =
        serde_json::from_slice::<de::IgnoredAny>(text).is_ok() && std::str::from_utf8(text).is_ok();
    if is_json {
        broken(&error.to_string(), None)
    } else {
        Malformed::Text(error.to_string())
    }
}

#[derive(Serialize)]
struct Asking<'a, P: Serialize + ?Sized> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a Id>,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a P>,
}

#[derive(Serialize)]
struct Answering<'a, R: Serialize + ?Sized> {
    jsonrpc: &'static str,
    id: Option<&'a Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a R>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a Fault>,
}

fn write(value: &impl Serialize) -> Vec<u8> {
    // Only maps whose keys are not strings and failing `Serialize` implementations end in an error.
    serde_json::to_vec(value).expect("messages are made of values that can be written")
}

/// The text of a request, on one line.
pub fn request<P: Serialize + ?Sized>(id: &Id, method: &str, params: Option<&P>) -> Vec<u8> {
    write(&Asking {
        jsonrpc: "2.0",
        id: Some(id),
        method,
        params,
    })
}

/// The text of a notification, on one line.
pub fn notification<P: Serialize + ?Sized>(method: &str, params: Option<&P>) -> Vec<u8> {
    write(&Asking {
        jsonrpc: "2.0",
        id: None,
        method,
        params,
    })
}

/// The text of an answer, on one line.
pub fn result<R: Serialize + ?Sized>(id: &Id, result: &R) -> Vec<u8> {
    write(&Answering {
        jsonrpc: "2.0",
        id: Some(id),
        result: Some(result),
        error: None,
    })
}

/// The text of a refusal, on one line. Without an id where the request could not be read.
pub fn fault(id: Option<&Id>, fault: &Fault) -> Vec<u8> {
    write(&Answering::<()> {
        jsonrpc: "2.0",
        id,
        result: None,
        error: Some(fault),
    })
}

/// The text of any message, on one line: what [`parse`] reads back to the same message.
pub fn text(message: &Message) -> Vec<u8> {
    match message {
        Message::Request { id, method, params } => request(id, method, params.as_deref()),
        Message::Notification { method, params } => notification(method, params.as_deref()),
        Message::Answer { id, outcome } => match (id, outcome) {
            (Some(id), Ok(value)) => result(id, value),
            (id, Err(refused)) => fault(id.as_ref(), refused),
            (None, Ok(_)) => fault(None, &Fault::new(INTERNAL_ERROR, "an answer without an id")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(text_in: &str) -> String {
        String::from_utf8(text(&parse(text_in.as_bytes()).unwrap())).unwrap()
    }

    #[test]
    fn what_is_read_is_written_back_as_it_was() {
        for message in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"z":1.0,"a":{"k":[1e400]}}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{"b":1,"a":2}}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":null}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#,
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"no","data":{"x":[]}}}"#,
        ] {
            assert_eq!(again(message), message);
        }
    }

    #[test]
    fn a_frame_that_is_none_says_why_and_whom_to_answer() {
        let check = |text: &str, code: i64, id: Option<Id>, part: &str| {
            let error = parse(text.as_bytes()).unwrap_err();
            assert_eq!((error.code(), error.id()), (code, id.as_ref()), "{text}");
            assert!(error.to_string().contains(part), "{text}: {error}");
        };
        check("{", PARSE_ERROR, None, "not JSON");
        check("hello", PARSE_ERROR, None, "not JSON");
        check("[]", INVALID_REQUEST, None, "JSON-RPC");
        check("1", INVALID_REQUEST, None, "JSON-RPC");
        check(
            r#"{"id":3,"method":"x"}"#,
            INVALID_REQUEST,
            Some(Id::Number(3)),
            "jsonrpc",
        );
        check(r#"{"jsonrpc":"2.0"}"#, INVALID_REQUEST, None, "none of");
        check(
            r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#,
            INVALID_REQUEST,
            None,
            "null",
        );
        check(
            r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#,
            INVALID_REQUEST,
            None,
            "`id`",
        );
        check(
            r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#,
            INVALID_REQUEST,
            None,
            "`id`",
        );
        check(
            r#"{"jsonrpc":"2.0","result":1}"#,
            INVALID_REQUEST,
            None,
            "needs the `id`",
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"x","result":1}"#,
            INVALID_REQUEST,
            Some(Id::Number(1)),
            "at once",
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":5}"#,
            INVALID_REQUEST,
            None,
            "JSON-RPC",
        );
        let error = parse(b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}").unwrap_err();
        assert_eq!(error.code(), PARSE_ERROR);
    }

    #[test]
    fn ids_are_numbers_or_texts() {
        for (text, id) in [
            ("5", Id::Number(5)),
            ("5.0", Id::Number(5)),
            ("-1", Id::Number(-1)),
            ("\"5\"", Id::Text("5".into())),
        ] {
            assert_eq!(serde_json::from_str::<Id>(text).unwrap(), id);
        }
        assert!(serde_json::from_str::<Id>("18446744073709551615").is_err());
        assert_eq!(Id::Text("q".into()).to_string(), "q");
        assert_eq!(Id::Number(4).to_string(), "4");
        assert_eq!(Fault::new(-1, "no").to_string(), "no (code -1)");
    }
}
