//! Changes to a text at places, applied together.

/// Bytes to take out at a place, and text to put there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Splice {
    at: usize,
    delete: usize,
    insert: String,
}

impl Splice {
    /// Puts text at a place.
    pub(crate) fn insert(at: usize, text: impl Into<String>) -> Self {
        Self {
            at,
            delete: 0,
            insert: text.into(),
        }
    }

    /// Takes out what stands from one byte to another.
    pub(crate) fn delete(from: usize, to: usize) -> Self {
        Self::replace(from, to, "")
    }

    /// Puts text in place of what stands from one byte to another.
    pub(crate) fn replace(from: usize, to: usize, text: impl Into<String>) -> Self {
        Self {
            at: from,
            delete: to.saturating_sub(from),
            insert: text.into(),
        }
    }
}

/// The text with all changes; places are those of the text as given.
pub(crate) fn apply(text: &str, mut splices: Vec<Splice>) -> String {
    // A stable sort keeps the order of insertions at one place.
    splices.sort_by_key(|splice| splice.at);
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for splice in splices {
        let at = splice.at.clamp(done, text.len());
        out.push_str(&text[done..at]);
        out.push_str(&splice.insert);
        done = (splice.at + splice.delete).clamp(at, text.len());
    }
    out.push_str(&text[done..]);
    out
}

/// The line end that the text uses.
pub(crate) fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// Where the line of a byte starts.
pub(crate) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |i| i + 1)
}

/// Where the line of a byte ends, its line end not included.
pub(crate) fn line_end(text: &str, at: usize) -> usize {
    match text[at..].find('\n') {
        Some(newline) if text[at..at + newline].ends_with('\r') => at + newline - 1,
        Some(newline) => at + newline,
        None => text.len(),
    }
}

/// The white space that the line of a byte begins with.
pub(crate) fn indent(text: &str, at: usize) -> &str {
    let line = &text[line_start(text, at)..];
    let end = line
        .find(|c: char| c != ' ' && c != '\t')
        .unwrap_or(line.len());
    &line[..end]
}

/// The indentation of a byte, where nothing else stands before it on its line.
pub(crate) fn own_line(text: &str, at: usize) -> Option<&str> {
    let start = line_start(text, at);
    let before = &text[start..at];
    (start > 0 && before.chars().all(|c| c == ' ' || c == '\t')).then_some(before)
}

/// The length of the line end that stands directly before a byte.
pub(crate) fn newline_before(text: &str, at: usize) -> usize {
    let before = &text[..at];
    if before.ends_with("\r\n") {
        2
    } else {
        usize::from(before.ends_with('\n'))
    }
}

/// The length of the line end that stands at a byte.
pub(crate) fn newline_at(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    if rest.starts_with("\r\n") {
        2
    } else {
        usize::from(rest.starts_with('\n'))
    }
}
