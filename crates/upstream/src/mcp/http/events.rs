//! Server-sent events, read from bytes as they arrive.
//!
//! Fields that nobody knows and lines that are none are passed over, as the standard has it; an event
//! beyond the bound is refused before it is kept.

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// Its type; empty means `message`.
    pub kind: String,
    /// Its lines, joined. Not necessarily UTF-8.
    pub data: Vec<u8>,
}

impl Event {
    /// Whether it may carry a message.
    pub(crate) fn is_message(&self) -> bool {
        matches!(self.kind.as_str(), "" | "message")
    }
}

/// An event is larger than what is read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

/// Turns bytes into events, and remembers what a stream is resumed with.
#[derive(Debug)]
pub(crate) struct Decoder {
    bytes_max: usize,
    line: Vec<u8>,
    after_return: bool,
    first_line: bool,
    event: Event,
    has_data: bool,
    id: Option<String>,
    last_id: Option<String>,
    retry_ms: Option<u64>,
}

impl Decoder {
    /// A decoder at the beginning of a stream.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            line: Vec::new(),
            after_return: false,
            first_line: true,
            event: Event::default(),
            has_data: false,
            id: None,
            last_id: None,
            retry_ms: None,
        }
    }

    /// The id of the last event that came whole.
    pub(crate) fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// How long the server asked to wait before the stream is resumed.
    pub(crate) fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// Begins the next stream where this one was cut: what came in part is dropped, the place is kept.
    pub(crate) fn restart(&mut self) {
        let (last_id, retry_ms) = (self.last_id.take(), self.retry_ms);
        *self = Self {
            last_id,
            retry_ms,
            ..Self::new(self.bytes_max)
        };
    }

    /// Takes bytes and gives the events that they complete.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> Result<Vec<Event>, TooLarge> {
        let mut events = Vec::new();
        if self.after_return && !bytes.is_empty() {
            self.after_return = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while !bytes.is_empty() {
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let part = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + self.event.data.len() + part.len() > self.bytes_max {
                return Err(TooLarge);
            }
            self.line.extend_from_slice(part);
            let Some(end) = end else { break };
            let returned = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if returned {
                self.after_return = bytes.is_empty();
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
            let line = std::mem::take(&mut self.line);
            events.extend(self.take_line(&line));
            self.line = line;
            self.line.clear();
        }
        Ok(events)
    }

    fn take_line(&mut self, mut line: &[u8]) -> Option<Event> {
        if std::mem::take(&mut self.first_line) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            return self.complete();
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = match colon {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push(b'\n');
                }
                self.event.data.extend_from_slice(value);
            }
            b"event" => self.event.kind = String::from_utf8_lossy(value).into_owned(),
            b"id" if !value.contains(&0) => {
                self.id = Some(String::from_utf8_lossy(value).into_owned());
            }
            b"retry" => {
                let digits = std::str::from_utf8(value).ok();
                if let Some(wait) = digits.and_then(|digits| digits.trim().parse().ok()) {
                    self.retry_ms = Some(wait);
                }
            }
            _ => {}
        }
        None
    }

    fn complete(&mut self) -> Option<Event> {
        if let Some(id) = self.id.take() {
            self.last_id = Some(id).filter(|id| !id.is_empty());
        }
        let event = std::mem::take(&mut self.event);
        std::mem::take(&mut self.has_data).then_some(event)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event(kind: &str, data: &str) -> Event {
        Event {
            kind: kind.to_owned(),
            data: data.as_bytes().to_vec(),
        }
    }

    #[test]
    fn events_are_read_as_the_standard_has_them() {
        let check = |text: &str, events: &[Event], id: Option<&str>, retry: Option<u64>| {
            let mut decoder = Decoder::new(1_000);
            assert_eq!(decoder.feed(text.as_bytes()).unwrap(), events, "{text:?}");
            assert_eq!(
                (decoder.last_id(), decoder.retry_ms()),
                (id, retry),
                "{text:?}"
            );
        };
        check("data: a\n\n", &[event("", "a")], None, None);
        check("\u{feff}data:a\r\n\r\n", &[event("", "a")], None, None);
        check("data: a\rdata:  b\r\r", &[event("", "a\n b")], None, None);
        check(
            "event: endpoint\ndata: /x\n\n",
            &[event("endpoint", "/x")],
            None,
            None,
        );
        check(
            ": comment\nunknown: x\nlonely\ndata\n\n",
            &[event("", "")],
            None,
            None,
        );
        // An id without data still moves the place from which a stream is resumed.
        check("id: 7\nretry: 250\n\n", &[], Some("7"), Some(250));
        check("id: 7\n\nid: 8\ndata: cut", &[], Some("7"), None);
        check("id: 7\n\nid\n\n", &[], None, None);
        check(
            "id: a\0b\nretry: soon\ndata: x\n\n",
            &[event("", "x")],
            None,
            None,
        );
        assert!(event("message", "").is_message() && !event("ping", "").is_message());
    }

    #[test]
    fn an_event_beyond_the_bound_is_refused_however_it_is_cut() {
        let mut decoder = Decoder::new(16);
        assert_eq!(decoder.feed(b"data: 0123456789abcdef"), Err(TooLarge));
        let mut decoder = Decoder::new(16);
        assert!(decoder.feed(b"data: 01234567\n").unwrap().is_empty());
        assert_eq!(decoder.feed(b"data: 89abcdef"), Err(TooLarge));
    }

    proptest! {
        #[test]
        fn where_the_bytes_are_cut_makes_no_difference(
            text in "(data|id|event|retry|:)?(: ?)?[a-z0-9]{0,3}(\r\n|\n|\r){1,2}((data|id): [a-z]{0,3}(\r\n|\n|\r){1,2}){0,6}",
            cuts in proptest::collection::vec(1usize..5, 0..40),
        ) {
            let mut whole = Decoder::new(1_000);
            let expected = whole.feed(text.as_bytes()).unwrap();
            let mut pieces = Decoder::new(1_000);
            let mut rest = text.as_bytes();
            let mut events = Vec::new();
            for cut in cuts {
                let (head, tail) = rest.split_at(cut.min(rest.len()));
                events.extend(pieces.feed(head).unwrap());
                rest = tail;
            }
            events.extend(pieces.feed(rest).unwrap());
            prop_assert_eq!(events, expected);
            prop_assert_eq!(pieces.last_id(), whole.last_id());
        }
    }
}
