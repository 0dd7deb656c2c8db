//! A plain client of MCP over HTTP: one connection, one request at a time, as little work of its own as can be.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The revision that every candidate speaks.
const REVISION: &str = "2025-06-18";

/// A session with a server.
pub(crate) struct Client {
    address: String,
    path: &'static str,
    session: Option<String>,
    stream: Option<BufReader<TcpStream>>,
    asked: u64,
}

impl Client {
    /// Connects and shakes hands.
    pub(crate) fn open(address: &str, path: &'static str) -> Result<Self> {
        let mut client = Self {
            address: address.to_owned(),
            path,
            session: None,
            stream: None,
            asked: 0,
        };
        client.ask(
            "initialize",
            &json!({"protocolVersion": REVISION, "capabilities": {},
                    "clientInfo": {"name": "toolcrib-bench", "version": "1"}}),
        )?;
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        client.post(&told.to_string())?;
        Ok(client)
    }

    /// The whole list of tools.
    pub(crate) fn tools(&mut self) -> Result<Vec<Value>> {
        let mut tools = Vec::new();
        let mut params = json!({});
        loop {
            let page = self.ask("tools/list", &params)?;
            tools.extend(page["tools"].as_array().cloned().unwrap_or_default());
            match page.get("nextCursor").and_then(Value::as_str) {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => return Ok(tools),
            }
        }
    }

    /// Asks and gives the result.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.asked += 1;
        let body = json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params});
        let text = self.post(&body.to_string())?;
        let mut answer: Value = serde_json::from_str(&text)
            .with_context(|| format!("{method} was answered with {text}"))?;
        if answer["result"].is_null() {
            bail!("{method} was answered with {text}");
        }
        Ok(answer["result"].take())
    }

    /// Sends a message and gives the JSON of the answer, which is empty for a notification.
    fn post(&mut self, body: &str) -> Result<String> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            None => self.stream.insert(connect(&self.address)?),
        };
        let session = self
            .session
            .as_ref()
            .map(|session| {
                format!("mcp-session-id: {session}\r\nmcp-protocol-version: {REVISION}\r\n")
            })
            .unwrap_or_default();
        let request = format!(
            "POST {} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n{session}content-length: {}\r\n\r\n{body}",
            self.path,
            self.address,
            body.len()
        );
        stream.get_mut().write_all(request.as_bytes())?;
        let head = Head::read(stream)?;
        let text = head.body(stream)?;
        if head.closes {
            self.stream = None;
        }
        if let Some(session) = head.session {
            self.session = Some(session);
        }
        if !(200..300).contains(&head.status) {
            bail!("HTTP status {}: {text}", head.status);
        }
        Ok(if head.events { message(&text) } else { text })
    }
}

fn connect(address: &str) -> Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(BufReader::new(stream))
}

/// The JSON in a stream of events: the last message is the answer.
fn message(events: &str) -> String {
    let mut data = events.lines().filter_map(|line| line.strip_prefix("data:"));
    let last = data.rfind(|text| text.trim_start().starts_with('{'));
    last.unwrap_or_default().trim().to_owned()
}

/// What the head of an answer says.
#[derive(Debug, Default)]
struct Head {
    status: u16,
    length: Option<usize>,
    chunked: bool,
    events: bool,
    closes: bool,
    session: Option<String>,
}

impl Head {
    fn read(stream: &mut impl BufRead) -> Result<Self> {
        let mut head = Self::default();
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            bail!("the connection ended");
        }
        let status = line.split(' ').nth(1).and_then(|text| text.parse().ok());
        head.status = status.with_context(|| format!("no HTTP: {line}"))?;
        loop {
            line.clear();
            stream.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else {
                return Ok(head);
            };
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => head.length = value.parse().ok(),
                "transfer-encoding" => head.chunked = value.eq_ignore_ascii_case("chunked"),
                "content-type" => head.events = value.starts_with("text/event-stream"),
                "connection" => head.closes = value.eq_ignore_ascii_case("close"),
                "mcp-session-id" => head.session = Some(value.to_owned()),
                _ => {}
            }
        }
    }

    fn body(&self, stream: &mut impl BufRead) -> Result<String> {
        let mut bytes = Vec::new();
        if self.chunked {
            loop {
                let mut line = String::new();
                stream.read_line(&mut line)?;
                let size = usize::from_str_radix(line.trim(), 16)
                    .with_context(|| format!("no chunk: {line}"))?;
                let start = bytes.len();
                // The line end after the chunk is read with it and taken off.
                bytes.resize(start + size + 2, 0);
                stream.read_exact(&mut bytes[start..])?;
                bytes.truncate(start + size);
                if size == 0 {
                    break;
                }
            }
        } else {
            bytes.resize(self.length.unwrap_or(0), 0);
            stream.read_exact(&mut bytes)?;
        }
        Ok(String::from_utf8(bytes)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_in_every_shape() {
        let check = |answer: &str, expected: &str| {
            let mut stream = answer.as_bytes();
            let head = Head::read(&mut stream).unwrap();
            let text = head.body(&mut stream).unwrap();
            let text = if head.events { message(&text) } else { text };
            assert_eq!(text, expected);
            assert!(stream.is_empty(), "the connection can be used again");
        };
        check("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n", "");
        check("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "{}");
        check(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n7\r\ndata: \n\r\n9\r\ndata: {}\n\r\n0\r\n\r\n",
            "{}",
        );
    }
}
