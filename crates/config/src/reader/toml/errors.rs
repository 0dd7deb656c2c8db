//! The TOML parser's findings in plain words.

use std::sync::Arc;

use toml_parser::lexer::TokenKind;

use super::first;
use crate::diagnostic::Diagnostic;
use crate::reader::findings::duplicate;
use crate::text::{Source, Span};

/// The parser's finding. Its own words stand before the first comma of its message; what it expects
/// follows and is said in the help instead.
pub(super) fn explain(source: &Arc<Source>, error: &toml::de::Error) -> Diagnostic {
    let text = source.text();
    let range = error.span().unwrap_or(text.len()..text.len());
    let end = source.boundary(range.end);
    let span = Span::new(source.boundary(range.start).min(end), end);
    let description = error
        .message()
        .split(", expected")
        .next()
        .unwrap_or_default();
    if description == "duplicate key" || description.starts_with("cannot extend value") {
        return twice(source, span);
    }
    let span = opening(source, description, span).unwrap_or(span);
    let (message, help) =
        special(&text[span.start..span.end], description).unwrap_or_else(|| words(description));
    Diagnostic::error(message).at(source, span).help(help)
}

/// Where something was opened that is never closed; the parser points at where it should have ended.
fn opening(source: &Source, description: &str, span: Span) -> Option<Span> {
    if matches!(description, "unclosed array" | "unclosed inline table") {
        return last_open_bracket(source.text());
    }
    let quote = match description {
        "invalid basic string" => '"',
        "invalid literal string" => '\'',
        _ => return None,
    };
    let rest = &source.text()[span.start..];
    if !rest.is_empty() && !rest.starts_with(['\n', '\r']) {
        return None;
    }
    let (start, line) = source.line_at(span.start);
    let column = line.get(..span.start - start)?.find(quote)?;
    Some(Span::new(start + column, span.start))
}

fn last_open_bracket(text: &str) -> Option<Span> {
    let mut open = Vec::new();
    for token in toml_parser::Source::new(text).lex() {
        match token.kind() {
            TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket => {
                open.push(Span::new(token.span().start(), token.span().end()));
            }
            TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket => {
                open.pop();
            }
            _ => {}
        }
    }
    open.pop()
}

/// Sentences for what the text itself shows to be meant.
fn special(text: &str, description: &str) -> Option<(&'static str, &'static str)> {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    let is_number = first.trim_end_matches(',').parse::<f64>().is_ok();
    match first {
        _ if description.contains("string") && text.starts_with(['"', '\'']) => Some((
            "this string is never closed",
            "close it with the same quote on the same line, or use three quotes for several lines",
        )),
        "" if description == "string values must be quoted" => Some(NO_VALUE),
        "" if description.contains("multi-line") => Some((
            "a string is never closed",
            "close it with the three quotes that it began with",
        )),
        "null" | "nil" | "Null" | "NULL" | "None" | "undefined" => {
            Some(("TOML has no null", "leave the key out"))
        }
        "True" | "TRUE" | "yes" | "on" | "Yes" | "On" => Some((NOT_BOOLEAN, "write true")),
        "False" | "FALSE" | "no" | "off" | "No" | "Off" => Some((NOT_BOOLEAN, "write false")),
        _ if is_number && words.next().is_some() => Some(COMMA),
        _ => None,
    }
}

const NOT_BOOLEAN: &str = "TOML does not know this word";
const NO_VALUE: (&str, &str) = (
    "the key has no value",
    "write a value after =; TOML has no null, so leave the key out instead",
);
const COMMA: (&str, &str) = (
    "expected a comma between two entries",
    "write a comma after the entry before this one",
);

fn twice(source: &Arc<Source>, again: Span) -> Diagnostic {
    let key = source.text()[again.start..again.end].trim_matches(['"', '\'']);
    match first::place(source.text(), again) {
        Some(first) => duplicate(source, key, again, first),
        None => Diagnostic::error("this key is defined twice")
            .at(source, again)
            .help("keep one of the two; a table can be opened only once"),
    }
}

/// Sentences for the parser's descriptions, by how they begin.
const WORDS: &[(&str, &str, &str)] = &[
    (
        "string values must be quoted",
        "text must be in quotes",
        "write \"text\"; only true, false, numbers and dates stand without quotes",
    ),
    (
        "invalid basic string",
        "this string has a character or an escape that it cannot have",
        "write \\\\ for a backslash, or use single quotes; write \\n for a line break",
    ),
    (
        "invalid multi-line basic string",
        "this string has a character or an escape that it cannot have",
        "write \\\\ for a backslash, or use ''' quotes",
    ),
    (
        "invalid literal string",
        "this string is never closed",
        "close it with ' on the same line, or use ''' for several lines",
    ),
    (
        "invalid multi-line literal string",
        "this string is never closed",
        "close it with '''",
    ),
    (
        "missing escaped value",
        "TOML does not know this escape",
        "write \\\\ for a backslash, or use single quotes",
    ),
    (
        "too few unicode value digits",
        "this escape has too few hexadecimal digits",
        "write four after \\u and eight after \\U",
    ),
    (
        "invalid value",
        "this escape is not a character",
        "write the character itself",
    ),
    (
        "key with no value",
        "expected = and a value after this key",
        "write key = value",
    ),
    ("missing value", NO_VALUE.0, NO_VALUE.1),
    (
        "missing assignment",
        "expected = between the key and its value",
        "write key = value",
    ),
    (
        "extra assignment",
        "there is an = too many",
        "write key = value",
    ),
    ("extra `=`", "there is an = too many", "write key = value"),
    (
        "unexpected `=`",
        "a list holds values, not keys",
        "write { key = value } for a map in a list",
    ),
    ("missing comma", COMMA.0, COMMA.1),
    (
        "extra comma",
        "there is a comma too many",
        "leave out one of the commas",
    ),
    (
        "unclosed array table",
        "expected ]] at the end of this header",
        "write [[name]]",
    ),
    (
        "unclosed array",
        "this list is never closed",
        "close it with ]",
    ),
    (
        "unclosed table",
        "expected ] at the end of this header",
        "write [name]",
    ),
    (
        "unclosed inline table",
        "this map is never closed",
        "close it with }",
    ),
    (
        "missing table open",
        "expected [ at the beginning of this header",
        "write [name]",
    ),
    (
        "missing inline table opening",
        "this } closes nothing",
        "remove it, or write the { that opens it",
    ),
    (
        "missing array opening",
        "this ] closes nothing",
        "remove it, or write the [ that opens it",
    ),
    ("missing key", "the key is missing", "write key = value"),
    (
        "missing opening quote",
        "the opening quote is missing",
        "put the text between two quotes of the same kind",
    ),
    (
        "unquoted keys cannot be empty",
        "the key is missing",
        "write key = value",
    ),
    (
        "invalid unquoted key",
        "a key without quotes has only letters, digits, - and _",
        "put the key in quotes",
    ),
    (
        "keys cannot be multi-line",
        "a key must stand on one line",
        "use one quote on each side rather than three",
    ),
    (
        "cannot recurse further",
        "this is nested too deep",
        "flatten the value; no setting needs such depth",
    ),
    (
        "recursion limit",
        "this is nested too deep",
        "flatten the value; no setting needs such depth",
    ),
    (
        "carriage return",
        "a carriage return stands without a line feed",
        "save the file with the line ends of Unix or Windows",
    ),
    (
        "invalid comment character",
        "a control character stands in this comment",
        "remove it",
    ),
    (
        "unexpected key or value",
        "expected the end of the line",
        "put each key on a line of its own",
    ),
    (
        "unexpected content",
        "expected the end of the line",
        "put each key on a line of its own",
    ),
];

/// Words of the descriptions that are about a number.
const NUMBER_WORDS: &[&str] = &[
    "integer", "float", "fraction", "exponent", "number", "numeric", "digit", "zero", "sign",
    "radix", "`_`",
];

fn words(description: &str) -> (&'static str, &'static str) {
    let known = WORDS
        .iter()
        .find(|(beginning, ..)| description.starts_with(beginning));
    if let Some((_, message, help)) = known {
        return (message, help);
    }
    if NUMBER_WORDS.iter().any(|word| description.contains(word)) {
        return (
            "this number cannot be read",
            "write digits without leading zeros, _ only between digits, and put text in quotes",
        );
    }
    if description.contains("date") || description.contains("time") {
        return (
            "this date cannot be read",
            "write it as 2024-01-31T12:00:00Z, or put text in quotes",
        );
    }
    (
        "this is not TOML",
        "write key = value, [table] or [[list of tables]] here",
    )
}
