//! Lines from a child: messages on its standard output, words for people on its standard error.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde::de::IgnoredAny as Any;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::sync::mpsc;
use toolcrib_core::limits::{
    EXCERPT_CHARS_MAX, MESSAGE_BYTES_MAX, STDERR_LINE_BYTES_MAX, STDERR_LINES_MAX,
};
use toolcrib_core::rpc::{self, Id, Message};
use toolcrib_core::secret::mask;

use super::{Failure, Incoming, lock};

/// Bytes that are read at once.
const BUFFER_BYTES: usize = 64 * 1024;

/// One line, as far as it was kept.
enum Line {
    Whole(Vec<u8>),
    /// What came before the end without a line break: perhaps the half of a line.
    Last(Vec<u8>),
    /// It was longer than what is kept: how it began and how it ended.
    Cut {
        head: Vec<u8>,
        end: Vec<u8>,
    },
}

/// How much of the beginning and of the end of a line is kept that was longer than allowed.
const HEAD_BYTES: usize = 2 * 1024;
const END_BYTES: usize = 64;

/// Reads the next line, which is kept whole up to `max` bytes. `None` at the end.
async fn next_line<R: AsyncRead + Unpin>(
    reader: &mut BufReader<R>,
    max: usize,
) -> std::io::Result<Option<Line>> {
    let mut line = Vec::new();
    let mut cut: Option<Vec<u8>> = None;
    loop {
        let available = reader.fill_buf().await?;
        if available.is_empty() {
            return Ok(match cut {
                Some(end) => Some(Line::Cut { head: line, end }),
                None => (!line.is_empty()).then_some(Line::Last(line)),
            });
        }
        let (part, used, ended) = match available.iter().position(|byte| *byte == b'\n') {
            Some(at) => (&available[..at], at + 1, true),
            None => (available, available.len(), false),
        };
        match &mut cut {
            None if line.len() + part.len() <= max => line.extend_from_slice(part),
            None => {
                cut = Some(part[part.len().saturating_sub(END_BYTES)..].to_vec());
                line.extend_from_slice(&part[..part.len().min(HEAD_BYTES)]);
                line.truncate(max.min(HEAD_BYTES));
                line.shrink_to_fit();
            }
            Some(end) => {
                end.extend_from_slice(&part[part.len().saturating_sub(END_BYTES)..]);
                let surplus = end.len().saturating_sub(END_BYTES);
                end.drain(..surplus);
            }
        }
        reader.consume(used);
        if ended {
            return Ok(Some(match cut {
                None => Line::Whole(line),
                Some(end) => Line::Cut { head: line, end },
            }));
        }
    }
}

/// Reads messages until the end.
pub(super) async fn read(stdout: impl AsyncRead + Unpin, sender: mpsc::Sender<Incoming>) {
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, stdout);
    while let Ok(Some(line)) = next_line(&mut reader, MESSAGE_BYTES_MAX).await {
        let incoming = match line {
            Line::Whole(text) | Line::Last(text) if text.trim_ascii().is_empty() => continue,
            Line::Whole(text) => match rpc::parse(&text) {
                Ok(message) => Incoming::Message(message),
                Err(_) => garbled(&text).unwrap_or_else(|| Incoming::Junk(excerpt(&text))),
            },
            Line::Last(text) => match rpc::parse(&text) {
                Ok(message) => Incoming::Message(message),
                Err(_) => Incoming::Junk(excerpt(&text)),
            },
            Line::Cut { head, end } => match id_of(&head, &end) {
                Some(id) => Incoming::Failed {
                    id,
                    failure: Failure::TooLarge(MESSAGE_BYTES_MAX),
                },
                None => Incoming::Junk(excerpt(&head)),
            },
        };
        if sender.send(incoming).await.is_err() {
            return;
        }
    }
}

/// What a line means for a request that it answers, though it cannot be read.
fn garbled(text: &[u8]) -> Option<Incoming> {
    let readable = String::from_utf8_lossy(text);
    if let Ok(Message::Answer { id, .. }) = rpc::parse(readable.as_bytes()) {
        let failure = Failure::Garbled("not valid UTF-8");
        return id.map(|id| Incoming::Failed { id, failure });
    }
    // The server's own requests have ids as well, which are not ours.
    let is_answer = ["\"result\"", "\"error\""]
        .iter()
        .any(|field| readable.contains(field));
    if !is_answer || readable.contains("\"method\"") || serde_json::from_slice::<Any>(text).is_ok()
    {
        return None;
    }
    let end = &text[text.len().saturating_sub(END_BYTES)..];
    let id = id_of(&text[..text.len().min(HEAD_BYTES)], end)?;
    let failure = Failure::Garbled("not valid JSON");
    Some(Incoming::Failed { id, failure })
}

/// The id of an answer that cannot be read as a whole, where it stands at one of its ends for certain.
fn id_of(head: &[u8], end: &[u8]) -> Option<Id> {
    let head = std::str::from_utf8(head).unwrap_or_else(|error| {
        std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
    });
    let mut rest = head.trim_start().strip_prefix('{')?.trim_start();
    if let Some(after) = rest.strip_prefix("\"jsonrpc\"") {
        rest = after
            .trim_start_matches([':', ' '])
            .strip_prefix("\"2.0\"")?;
        rest = rest.trim_start_matches([',', ' ']);
    }
    if let Some(after) = rest.strip_prefix("\"id\"") {
        let value = after.trim_start_matches([':', ' ']);
        let value = &value[..value.find([',', '}'])?];
        return serde_json::from_str(value.trim()).ok();
    }
    let end = std::str::from_utf8(end)
        .ok()?
        .trim_end()
        .strip_suffix('}')?;
    let (_, value) = end.rsplit_once("\"id\"")?;
    serde_json::from_str(value.trim_start_matches([':', ' ']).trim_end()).ok()
}

/// The beginning of a text of the server, fit for a message.
pub(super) fn excerpt(text: &[u8]) -> String {
    let text = &text[..text.len().min(EXCERPT_CHARS_MAX * 4)];
    clean(&String::from_utf8_lossy(text))
        .chars()
        .take(EXCERPT_CHARS_MAX)
        .collect()
}

/// The text without control characters and the sequences that colour terminals.
fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' if chars.peek() == Some(&'[') => {
                chars.next();
                while chars
                    .next()
                    .is_some_and(|c| !('\u{40}'..='\u{7e}').contains(&c))
                {}
            }
            '\t' => out.push(' '),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// The last lines that a child wrote to its standard error.
#[derive(Clone, Debug, Default)]
pub struct Tail(Arc<Mutex<VecDeque<String>>>);

impl Tail {
    fn push(&self, line: String) {
        let mut lines = lock(&self.0);
        if lines.len() == STDERR_LINES_MAX {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    /// All of it, on one line.
    pub fn text(&self) -> String {
        let lines = lock(&self.0);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        lines.join(" | ")
    }
}

/// Reads standard error until its end.
pub(super) async fn listen(stderr: impl AsyncRead + Unpin, tail: Tail, server: String) {
    let mut reader = BufReader::new(stderr);
    while let Ok(Some(line)) = next_line(&mut reader, STDERR_LINE_BYTES_MAX).await {
        let (Line::Whole(text) | Line::Last(text) | Line::Cut { head: text, .. }) = line;
        let text = mask(&clean(&String::from_utf8_lossy(&text)));
        if text.trim().is_empty() {
            continue;
        }
        tracing::debug!(server, line = %text, "standard error of a server");
        tail.push(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read_all(bytes: Vec<u8>) -> Vec<String> {
        let (sender, mut incoming) = mpsc::channel(16);
        let reading = tokio::spawn(async move { read(&bytes[..], sender).await });
        let mut seen = Vec::new();
        while let Some(incoming) = incoming.recv().await {
            seen.push(match incoming {
                Incoming::Message(message) => String::from_utf8(rpc::text(&message)).unwrap(),
                Incoming::Junk(text) => format!("junk {text}"),
                Incoming::Failed { id, failure } => format!("{id}: {failure}"),
                Incoming::Closed(_) => unreachable!(),
            });
        }
        reading.await.unwrap();
        seen
    }

    #[tokio::test]
    async fn junk_between_messages_is_told_apart() {
        let text = b"hello \x1b[31mred\x1b[0m\n\n  \n{\"jsonrpc\":\"2.0\",\"method\":\"m\"}\r\n\xff\xfe\n[1]\n{\"jsonrpc\":\"2.0\",\"meth";
        let seen = read_all(text.to_vec()).await;
        assert_eq!(
            seen,
            [
                "junk hello red",
                r#"{"jsonrpc":"2.0","method":"m"}"#,
                "junk \u{fffd}\u{fffd}",
                "junk [1]",
                r#"junk {"jsonrpc":"2.0","meth"#,
            ]
        );
    }

    #[tokio::test]
    async fn an_answer_that_cannot_be_read_fails_its_request() {
        let check = async |text: &[u8], expected: &str| {
            let seen = read_all([text, b"\n"].concat()).await;
            assert!(seen[0].starts_with(expected), "{}", seen[0]);
        };
        check(
            b"{\"result\":{\"x\":\"caf\xe9\"},\"jsonrpc\":\"2.0\",\"id\":7}",
            "7: its answer is not valid UTF-8",
        )
        .await;
        check(
            b"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"x\":NaN}}",
            "7: its answer is not valid JSON",
        )
        .await;
        check(
            b"{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"x\":\"caf\xe9\",}}",
            "7: its answer is not valid JSON",
        )
        .await;
        // What is no answer fails nothing: the ids of a server's own requests are not ours.
        check(
            b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"caf\xe9\"}",
            "junk {",
        )
        .await;
        check(
            b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"x\",\"params\":{\"result\":NaN}}",
            "junk {",
        )
        .await;
        check(b"{\"id\":7,\"x\":NaN}", "junk {").await;
        // A line that breaks off at the end says that the process ended, not what it meant to say.
        let seen = read_all(b"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"x".to_vec()).await;
        assert!(seen[0].starts_with("junk {"), "{}", seen[0]);
    }

    #[tokio::test]
    async fn an_answer_that_is_too_large_fails_its_request_and_nothing_else() {
        let check = async |head: &str, tail: &str, expected: &str| {
            let mut text = head.as_bytes().to_vec();
            text.resize(MESSAGE_BYTES_MAX + 1, b'x');
            text.extend_from_slice(tail.as_bytes());
            text.extend_from_slice(b"\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
            let seen = read_all(text).await;
            assert!(seen[0].starts_with(expected), "{}", seen[0]);
            assert_eq!(seen[1..], [r#"{"jsonrpc":"2.0","id":1,"result":{}}"#]);
        };
        let said = "7: it sent more than 16777216 bytes";
        check(r#"{"jsonrpc": "2.0", "id": 7, "result":""#, "\"}", said).await;
        check(r#"{"id":7,"result":""#, "\"}", said).await;
        check(r#"{"result":""#, r#"","jsonrpc":"2.0","id":7}"#, said).await;
        check(r#"{"result":{"id":7,"x":""#, "\"}}", "junk {").await;
        check("xxx", "xxx", "junk xxx").await;
    }

    #[tokio::test]
    async fn the_tail_of_standard_error_is_bounded_and_clean() {
        let tail = Tail::default();
        let mut text = Vec::new();
        for n in 0..STDERR_LINES_MAX + 5 {
            text.extend_from_slice(format!("line\t{n}\x07\n\n").as_bytes());
        }
        text.extend_from_slice(&vec![b'y'; STDERR_LINE_BYTES_MAX * 3]);
        listen(&text[..], tail.clone(), "s".to_owned()).await;
        let shown = tail.text();
        assert!(shown.starts_with("line 6 | line 7"), "{shown}");
        assert!(shown.len() < STDERR_LINES_MAX * STDERR_LINE_BYTES_MAX);
    }
}
