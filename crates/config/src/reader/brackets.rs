//! A look at the brackets and strings of JSON text before it is parsed: linear in time, with memory
//! for as many brackets as may be open at once.

use std::sync::Arc;

use toolcrib_core::limits::{CONFIG_DEPTH_MAX, CONFIG_NODES_MAX};

use super::tally::Excess;
use crate::diagnostic::Diagnostic;
use crate::text::{Source, Span};

/// Refuses text whose brackets do not match, nest too deep or hold too many values, and strings that
/// do not end on their line.
pub(super) fn check(source: &Arc<Source>) -> Result<(), Vec<Diagnostic>> {
    scan(source).map_err(|diagnostic| vec![*diagnostic])
}

fn scan(source: &Arc<Source>) -> Result<(), Box<Diagnostic>> {
    let bytes = source.text().as_bytes();
    let mut open: Vec<(u8, usize)> = Vec::with_capacity(CONFIG_DEPTH_MAX);
    let mut values = 1;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = string_end(source, at)?;
                continue;
            }
            b'/' => {
                if let Some(end) = comment_end(source, at)? {
                    at = end;
                    continue;
                }
            }
            b'{' | b'[' => {
                if open.len() >= CONFIG_DEPTH_MAX {
                    return Err(Excess::Depth.at(source, Span::new(at, at + 1)).into());
                }
                open.push((byte, at));
                values += 1;
            }
            b'}' | b']' => close(source, &mut open, byte, at)?,
            b',' => values += 1,
            // The parser stops at these and can say better what is wrong with them.
            b'\'' | b'`' | b'#' => return Ok(()),
            _ => {}
        }
        if values > CONFIG_NODES_MAX {
            return Err(Excess::Nodes.at(source, Span::new(at, at + 1)).into());
        }
        at += 1;
    }
    match open.pop() {
        None => Ok(()),
        Some((bracket, at)) => Err(never_closed(source, bracket, at).into()),
    }
}

fn close(
    source: &Arc<Source>,
    open: &mut Vec<(u8, usize)>,
    byte: u8,
    at: usize,
) -> Result<(), Box<Diagnostic>> {
    match open.pop() {
        Some((bracket, _)) if closing(bracket) == char::from(byte) => Ok(()),
        Some((bracket, start)) => Err(closes_other(source, byte, at, bracket, start).into()),
        None => Err(closes_nothing(source, byte, at).into()),
    }
}

/// The finding that a bracket has no partner after it.
pub(super) fn never_closed(source: &Arc<Source>, bracket: u8, at: usize) -> Diagnostic {
    Diagnostic::error(format!("this {} is never closed", char::from(bracket)))
        .at(source, Span::new(at, at + 1))
        .help(format!("write the {} that is missing", closing(bracket)))
}

/// The finding that a bracket closes one of another kind.
pub(super) fn closes_other(
    source: &Arc<Source>,
    byte: u8,
    at: usize,
    bracket: u8,
    start: usize,
) -> Diagnostic {
    let (shown, open) = (char::from(byte), char::from(bracket));
    Diagnostic::error(format!("this {shown} closes a {open}"))
        .at(source, Span::new(at, at + 1))
        .also(Span::new(start, start + 1), "opened here:")
        .help(format!("write {} before it", closing(bracket)))
}

/// The finding that a bracket has no partner before it.
pub(super) fn closes_nothing(source: &Arc<Source>, byte: u8, at: usize) -> Diagnostic {
    let shown = char::from(byte);
    Diagnostic::error(format!("this {shown} closes nothing: it was never opened"))
        .at(source, Span::new(at, at + 1))
        .help("remove it, or write the bracket that opens it")
}

fn closing(bracket: u8) -> char {
    match bracket {
        b'(' => ')',
        b'[' => ']',
        _ => '}',
    }
}

/// One past the end of the string that begins at `start`.
fn string_end(source: &Arc<Source>, start: usize) -> Result<usize, Box<Diagnostic>> {
    let bytes = source.text().as_bytes();
    let mut at = start + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => return Ok(at + 1),
            b'\\' => at += 1,
            b'\n' | b'\r' => break,
            0..0x20 => {
                return Err(Diagnostic::error(format!(
                    "the control character U+{byte:04X} stands in this string"
                ))
                .at(source, Span::new(at, at + 1))
                .help(format!("write \\u{byte:04x} for it, or leave it out"))
                .into());
            }
            _ => {}
        }
        at += 1;
    }
    let end = source.boundary(at.min(bytes.len()));
    Err(Diagnostic::error("this string is never closed")
        .at(source, Span::new(start, end))
        .help("close it with \" on the same line; write \\n for a line break")
        .into())
}

/// One past the end of the comment that begins at `start`, if one does.
fn comment_end(source: &Arc<Source>, start: usize) -> Result<Option<usize>, Box<Diagnostic>> {
    let rest = &source.text()[start..];
    if rest.starts_with("//") {
        let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
        return Ok(Some(start + length));
    }
    if !rest.starts_with("/*") {
        return Ok(None);
    }
    match rest[2..].find("*/") {
        Some(length) => Ok(Some(start + length + 4)),
        None => Err(Diagnostic::error("this comment is never closed")
            .at(source, Span::new(start, start + 2))
            .help("close it with */")
            .into()),
    }
}
