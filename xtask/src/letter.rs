//! HTTP without a library: a letter is a request or an answer, and a connection carries one of each.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_mins(1);
/// Headers that belong to a connection and are written anew for each.
const OF_A_CONNECTION: [&str; 4] = [
    "connection",
    "content-length",
    "keep-alive",
    "transfer-encoding",
];

/// A request or an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Letter {
    /// The first line: method, target and version, or version and status.
    pub(crate) first: String,
    /// The headers, names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// The body, unwrapped.
    pub(crate) body: Vec<u8>,
}

impl Letter {
    /// A request with further headers.
    pub(crate) fn request(
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Self {
        let headers = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Self {
            first: format!("{method} {target} HTTP/1.1"),
            headers: headers.collect(),
            body: body.into_bytes(),
        }
    }

    /// Reads one; `None` where the other side leaves before it began. An answer without a length lasts
    /// until the connection ends, a request without one has no body.
    pub(crate) fn read(from: &mut impl BufRead) -> Result<Option<Self>> {
        let mut first = String::new();
        if from.read_line(&mut first)? == 0 {
            return Ok(None);
        }
        let mut letter = Self {
            first: first.trim_end().to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        };
        loop {
            let mut line = String::new();
            if from.read_line(&mut line)? == 0 {
                bail!("the connection ended within the headers");
            }
            let Some((name, value)) = line.trim_end().split_once(':') else {
                break;
            };
            let header = (name.to_ascii_lowercase(), value.trim().to_owned());
            letter.headers.push(header);
        }
        if letter.header("transfer-encoding").is_some() {
            letter.body = chunks(from)?;
        } else if let Some(length) = letter.header("content-length") {
            let length: u64 = length.parse().context("a length is a number")?;
            // An answer to HEAD says a length and has no body.
            from.take(length).read_to_end(&mut letter.body)?;
        } else if letter.first.starts_with("HTTP/") {
            from.read_to_end(&mut letter.body)?;
        }
        Ok(Some(letter))
    }

    /// Writes it as the only one of its connection.
    pub(crate) fn write(&self, to: &mut impl Write) -> Result<()> {
        let mut head = format!("{}\r\n", self.first);
        for (name, value) in &self.headers {
            if !OF_A_CONNECTION.contains(&name.as_str()) {
                let _ = write!(head, "{name}: {value}\r\n");
            }
        }
        let length = self.body.len();
        let _ = write!(
            head,
            "content-length: {length}\r\nconnection: close\r\n\r\n"
        );
        to.write_all(head.as_bytes())?;
        to.write_all(&self.body)?;
        Ok(to.flush()?)
    }

    /// Sends it to an address and gives the answer.
    pub(crate) fn send(&self, address: &str) -> Result<Self> {
        let mut stream = TcpStream::connect(address).context("nobody listens")?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut letter = self.clone();
        letter.headers.retain(|(name, _)| name != "host");
        letter.headers.insert(0, ("host".into(), address.into()));
        letter.write(&mut stream)?;
        Self::read(&mut BufReader::new(stream))?.context("there was no answer")
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The status of an answer.
    pub(crate) fn status(&self) -> u16 {
        let word = self.first.split_whitespace().nth(1);
        word.and_then(|word| word.parse().ok()).unwrap_or(0)
    }

    /// The body as JSON, or as the one event of a stream that holds some.
    pub(crate) fn json(&self) -> Result<serde_json::Value> {
        let text = String::from_utf8_lossy(&self.body);
        let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
        let data = data.map(str::trim).rfind(|line| line.starts_with('{'));
        let json = data.unwrap_or(&text);
        serde_json::from_str(json).with_context(|| format!("{}: {text}", self.first))
    }
}

/// A body that comes in pieces, each with its length before it.
fn chunks(from: &mut impl BufRead) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        if from.read_line(&mut line)? == 0 {
            bail!("the connection ended within the body");
        }
        let size = line.trim().split(';').next().unwrap_or_default();
        let size = u64::from_str_radix(size, 16).context("a piece says its length")?;
        from.by_ref().take(size).read_to_end(&mut body)?;
        from.read_line(&mut line)?;
        if size == 0 {
            return Ok(body);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_read_whichever_way_they_say_their_length() {
        let table = [
            ("GET /a HTTP/1.1\r\nHost: x\r\n\r\nmore", ""),
            ("POST /a HTTP/1.1\r\nContent-Length: 2\r\n\r\nabmore", "ab"),
            (
                "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x\r\nc\r\n0\r\n\r\n",
                "abc",
            ),
            ("HTTP/1.1 200 OK\r\n\r\nto the end", "to the end"),
        ];
        for (text, body) in table {
            let letter = Letter::read(&mut text.as_bytes()).unwrap().unwrap();
            assert_eq!(letter.body, body.as_bytes(), "{text}");
        }
        assert_eq!(Letter::read(&mut "".as_bytes()).unwrap(), None);
        assert!(Letter::read(&mut "GET / HTTP/1.1\r\nA: b\r\n".as_bytes()).is_err());
    }

    #[test]
    fn what_is_written_is_read_back() {
        let sent = Letter::request("POST", "/a", &[("x-y", "z")], "{}".to_owned());
        let mut bytes = Vec::new();
        sent.write(&mut bytes).unwrap();
        let read = Letter::read(&mut bytes.as_slice()).unwrap().unwrap();
        assert_eq!((&read.first, &read.body), (&sent.first, &sent.body));
        assert_eq!(read.header("x-y"), Some("z"));
        assert_eq!(read.header("connection"), Some("close"));
    }

    #[test]
    fn an_event_is_read_like_a_plain_answer() {
        for body in [
            "{\"a\":1}",
            ": alive\n\nevent: message\ndata: {\"a\":1}\n\n",
        ] {
            let text = format!("HTTP/1.1 200 OK\r\n\r\n{body}");
            let letter = Letter::read(&mut text.as_bytes()).unwrap().unwrap();
            assert_eq!(
                (letter.status(), letter.json().unwrap()["a"].as_i64()),
                (200, Some(1))
            );
        }
    }
}
