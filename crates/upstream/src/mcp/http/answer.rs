//! What an HTTP answer means: messages, or a failure in words.

use std::time::Duration;

use http::header::{CONTENT_TYPE, DATE, RETRY_AFTER};
use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use reqwest::Response;
use serde_json::value::RawValue;
use toolcrib_core::limits::{
    EXCERPT_CHARS_MAX, HTTP_REFUSAL_BYTES_MAX, HTTP_REFUSAL_MS_MAX, MESSAGE_BYTES_MAX,
    RETRY_AFTER_MS_MAX,
};
use toolcrib_core::rpc::{self, Id, Message};
use toolcrib_core::secret::{MASK, Secret};

use super::super::Failure;
use super::exchange::{Reply, cause, elsewhere};

/// What kind of body a server announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Events,
    Other,
}

/// The form of an answer's body.
pub(crate) fn form(headers: &HeaderMap) -> Form {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let kind = kind
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    match kind.trim().to_ascii_lowercase().as_str() {
        "application/json" => Form::Json,
        "text/event-stream" => Form::Events,
        _ => Form::Other,
    }
}

/// Reads a body whole, up to the largest message.
pub(crate) async fn body(mut response: Response) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(None) => return Ok(body),
            Ok(Some(chunk)) if body.len() + chunk.len() > MESSAGE_BYTES_MAX => {
                return Err(Failure::TooLarge(MESSAGE_BYTES_MAX));
            }
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Err(error) => return Err(Failure::Broken(cause(error))),
        }
    }
}

/// The messages of a body: one, or the batch that the revision of 2025-03-26 knows.
pub(crate) fn messages(body: &[u8]) -> Result<Vec<Message>, rpc::Malformed> {
    match serde_json::from_slice::<Vec<&RawValue>>(body) {
        Ok(batch) => {
            let texts = batch.iter().map(|text| text.get().as_bytes());
            texts.map(rpc::parse).collect()
        }
        Err(_) => rpc::parse(body).map(|message| vec![message]),
    }
}

/// What came instead of the answer to a request.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The server's own words, as an answer.
    Answer(Message),
    /// A failure.
    Failure(Failure),
}

/// What a status that is no success means for a request. `in_session`: the request named a session.
pub(crate) async fn refused(reply: Reply, id: Option<&Id>, in_session: bool) -> Refused {
    let status = reply.response.status();
    let retry_after = retry_after(reply.response.headers(), Timestamp::now());
    if let Some(place) = elsewhere(&reply.response) {
        return Refused::Failure(Failure::Status {
            status: status.as_u16(),
            excerpt: place,
            retry_after,
        });
    }
    let Reply { response, secrets } = reply;
    let text = beginning(response).await;
    let lost = in_session
        && (status == StatusCode::NOT_FOUND
            || status == StatusCode::BAD_REQUEST && says_session_lost(&text));
    if lost {
        return Refused::Failure(Failure::SessionLost);
    }
    let passing = matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
    );
    if !passing
        && let Some(id) = id
        && let Ok(Message::Answer {
            id: named,
            outcome: outcome @ Err(_),
        }) = rpc::parse(&text)
        && named.as_ref().is_none_or(|named| named == id)
    {
        return Refused::Answer(Message::Answer {
            id: Some(id.clone()),
            outcome,
        });
    }
    Refused::Failure(Failure::Status {
        status: status.as_u16(),
        excerpt: excerpt(&text, &secrets),
        retry_after,
    })
}

/// The beginning of what a server said with a refusal.
pub(crate) async fn said(reply: Reply) -> String {
    let Reply { response, secrets } = reply;
    excerpt(&beginning(response).await, &secrets)
}

async fn beginning(mut response: Response) -> Vec<u8> {
    let mut text = Vec::new();
    let reading = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            let room = HTTP_REFUSAL_BYTES_MAX - text.len();
            text.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if text.len() == HTTP_REFUSAL_BYTES_MAX {
                break;
            }
        }
    };
    // What has come until then is enough for a sentence.
    let _ = tokio::time::timeout(Duration::from_millis(HTTP_REFUSAL_MS_MAX), reading).await;
    text
}

/// Servers say it in many words, and some with the status of a malformed request.
fn says_session_lost(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text).to_lowercase();
    let lost = [
        "not found",
        "no valid",
        "invalid",
        "expired",
        "unknown",
        "terminated",
        "not exist",
        "missing",
        "closed",
    ];
    text.contains("session") && lost.iter().any(|word| text.contains(word))
}

/// How long a server asks to be left alone, as seconds or as a date.
pub(crate) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let date = |value: &str| rfc2822::parse(value).ok().map(|zoned| zoned.timestamp());
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait_ms = if let Ok(seconds) = text.parse::<u64>() {
        seconds.saturating_mul(1_000)
    } else {
        // The server's own clock, where it tells the time, is the one that its date is by.
        let sent = headers.get(DATE).and_then(|sent| date(sent.to_str().ok()?));
        let from = sent.unwrap_or(now);
        let ms = date(text)?.as_millisecond() - from.as_millisecond();
        u64::try_from(ms).unwrap_or(0)
    };
    Some(Duration::from_millis(wait_ms.min(RETRY_AFTER_MS_MAX)))
}

/// The beginning of a text from a server on one line, without the secrets that were sent to it.
pub(crate) fn excerpt(text: &[u8], secrets: &[Secret]) -> String {
    let text = &text[..text.len().min(EXCERPT_CHARS_MAX * 16)];
    let mut text = String::from_utf8_lossy(text).into_owned();
    for secret in secrets {
        let whole = secret.expose();
        let token = whole.split_once(' ').map_or(whole, |(_, token)| token);
        for part in [whole, token.trim()] {
            if part.len() >= 4 {
                text = text.replace(part, MASK);
            }
        }
    }
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    let text = words.join(" ");
    match text.char_indices().nth(EXCERPT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// What an answer that is none comes to.
pub(crate) fn not_mcp(what: &str, text: &[u8], secrets: &[Secret]) -> Failure {
    let excerpt = excerpt(text, secrets);
    Failure::NotMcp(if excerpt.is_empty() {
        what.to_owned()
    } else {
        format!("{what}, which begins with: {excerpt}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn retry_after_is_read_as_seconds_and_as_a_date() {
        let now: Timestamp = "2026-11-16T10:00:00Z".parse().unwrap();
        let check = |pairs: &[(&'static str, &'static str)], wait_ms: Option<u64>| {
            let wait = retry_after(&headers(pairs), now);
            assert_eq!(wait, wait_ms.map(Duration::from_millis), "{pairs:?}");
        };
        check(&[], None);
        check(&[("retry-after", "7")], Some(7_000));
        check(
            &[("retry-after", "Mon, 16 Nov 2026 10:00:30 GMT")],
            Some(30_000),
        );
        check(&[("retry-after", "Mon, 16 Nov 2026 09:00:00 GMT")], Some(0));
        check(
            &[
                ("retry-after", "Mon, 16 Nov 2026 12:00:30 GMT"),
                ("date", "Mon, 16 Nov 2026 12:00:10 GMT"),
            ],
            Some(20_000),
        );
        check(&[("retry-after", "99999999999999999999")], None);
        check(&[("retry-after", "9999999999")], Some(RETRY_AFTER_MS_MAX));
        check(&[("retry-after", "soon")], None);
    }

    #[test]
    fn an_excerpt_is_one_short_line_without_secrets() {
        let check = |text: &str, expected: &str| {
            let secrets = [Secret::new("Bearer abcdef"), Secret::new("k")];
            assert_eq!(excerpt(text.as_bytes(), &secrets), expected);
        };
        check(" <html>\r\n\t<b>no</b>\u{1b}[0m ", "<html> <b>no</b> [0m");
        check("token abcdef is bad", "token *** is bad");
        let long = "x".repeat(EXCERPT_CHARS_MAX + 1);
        check(&long, &format!("{}…", &long[1..]));
        assert_eq!(excerpt(b"\xff", &[]), "\u{fffd}");
    }

    #[test]
    fn the_form_of_a_body_is_read_from_its_type() {
        let check = |kind: &'static str, expected: Form| {
            assert_eq!(
                form(&headers(&[("content-type", kind)])),
                expected,
                "{kind}"
            );
        };
        check("application/json; charset=utf-8", Form::Json);
        check("Text/Event-Stream", Form::Events);
        check("text/html", Form::Other);
        assert_eq!(form(&HeaderMap::new()), Form::Other);
    }

    #[test]
    fn a_batch_is_read_message_by_message() {
        let one = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        assert_eq!(messages(one.as_bytes()).unwrap().len(), 1);
        assert_eq!(
            messages(format!("[{one},{one}]").as_bytes()).unwrap().len(),
            2
        );
        assert!(messages(b"[]").unwrap().is_empty());
        assert!(messages(b"[1]").is_err());
        assert!(messages(b"<html>").is_err());
    }

    #[test]
    fn lost_sessions_are_recognised_in_many_words() {
        for text in [
            r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}"#,
            "Session not found",
            "Invalid or missing session ID",
        ] {
            assert!(says_session_lost(text.as_bytes()), "{text}");
        }
        assert!(!says_session_lost(b"invalid request"));
        assert!(!says_session_lost(b"session is fine"));
    }
}
