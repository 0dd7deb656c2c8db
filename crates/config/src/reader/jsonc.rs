//! JSON with comments and trailing commas.
//!
//! A first pass in linear time looks at brackets and strings only. It bounds nesting and size before
//! the parser allocates anything, and it can say "this { is never closed" of the right bracket.

use std::sync::Arc;

use jsonc_parser::ast::{self, ObjectPropName};
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::{CollectOptions, ParseOptions, ParseStringErrorKind, parse_to_ast};

use super::brackets;
use super::findings::Findings;
use super::tally::{NUMBER_HELP, NUMBER_TOO_LARGE, Tally, number};
use crate::diagnostic::Diagnostic;
use crate::node::{Entry, Node, Value};
use crate::text::{Source, Span};

/// Reads JSON or JSONC.
pub(super) fn read(source: &Arc<Source>) -> Result<Node, Vec<Diagnostic>> {
    brackets::check(source)?;
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(source.text(), &CollectOptions::default(), &options)
        .map_err(|error| vec![explain(source, &error)])?;
    let Some(value) = parsed.value else {
        let end = source.text().len();
        return Err(vec![
            Diagnostic::error("the file is empty, and JSON needs a value")
                .at(source, Span::new(end, end))
                .help("write {} for an empty configuration"),
        ]);
    };
    let mut builder = Builder {
        source,
        tally: Tally::default(),
        found: Findings::new(source),
    };
    match builder.node(value) {
        Ok(node) => builder.found.or(node),
        Err(diagnostic) => builder.found.and(*diagnostic),
    }
}

struct Builder<'s> {
    source: &'s Arc<Source>,
    tally: Tally,
    found: Findings<'s>,
}

impl Builder<'_> {
    /// The tree of a value. Recursion is bounded: nesting was checked before parsing.
    fn node(&mut self, value: ast::Value<'_>) -> Result<Node, Box<Diagnostic>> {
        let span = span_of(&value);
        self.tally
            .value()
            .map_err(|excess| excess.at(self.source, span))?;
        let value = match value {
            ast::Value::NullKeyword(_) => Value::Null,
            ast::Value::BooleanLit(literal) => Value::Bool(literal.value),
            ast::Value::NumberLit(literal) => {
                Value::Number(number(literal.value).ok_or_else(|| {
                    Diagnostic::error(NUMBER_TOO_LARGE)
                        .at(self.source, span)
                        .help(NUMBER_HELP)
                })?)
            }
            ast::Value::StringLit(literal) => {
                Value::String(self.text(literal.value.into_owned(), span)?)
            }
            ast::Value::Array(array) => Value::List(
                array
                    .elements
                    .into_iter()
                    .map(|element| self.node(element))
                    .collect::<Result<_, _>>()?,
            ),
            ast::Value::Object(object) => {
                let entries = object
                    .properties
                    .into_iter()
                    .map(|property| self.entry(property))
                    .collect::<Result<Vec<_>, _>>()?;
                self.found.duplicates(&entries);
                Value::Map(entries)
            }
        };
        Ok(Node::new(value, span))
    }

    fn entry(&mut self, property: ast::ObjectProp<'_>) -> Result<Entry, Box<Diagnostic>> {
        let key_span = span_of(&property.name);
        let name = match property.name {
            ObjectPropName::String(literal) => literal.value.into_owned(),
            ObjectPropName::Word(word) => word.value.to_owned(),
        };
        Ok(Entry {
            key: self.text(name, key_span)?,
            key_span,
            value: self.node(property.value)?,
        })
    }

    fn text(&mut self, text: String, span: Span) -> Result<String, Box<Diagnostic>> {
        self.tally
            .text(&text)
            .map_err(|excess| excess.at(self.source, span))?;
        Ok(text)
    }
}

fn span_of(ranged: &impl Ranged) -> Span {
    Span::new(ranged.start(), ranged.end())
}

/// The parser's finding in plain words.
fn explain(source: &Arc<Source>, error: &ParseError) -> Diagnostic {
    let range = error.range();
    let end = source.boundary(range.end);
    let span = Span::new(source.boundary(range.start).min(end), end);
    let here = &source.text()[span.start..];
    let (message, help) = words(error.kind(), here, &source.text()[..span.start]);
    Diagnostic::error(message).at(source, span).help(help)
}

fn words(kind: &ParseErrorKind, here: &str, before: &str) -> (&'static str, &'static str) {
    use ParseErrorKind as K;
    match kind {
        K::ExpectedComma if before.ends_with(|c: char| c.is_ascii_digit()) => {
            if here.starts_with(|c: char| c.is_ascii_digit()) {
                ("a number cannot begin with 0", "leave out the leading 0")
            } else {
                COMMA
            }
        }
        K::ExpectedComma | K::UnexpectedTokenInObject => match here.chars().next() {
            Some(',') => (
                "there is a comma too many",
                "leave out the second of the two commas",
            ),
            _ => COMMA,
        },
        K::UnexpectedComma => (
            "there is a comma where a value should stand",
            "leave out the comma, or write the value before it",
        ),
        K::ExpectedColonAfterObjectKey => (
            "expected a colon between the key and its value",
            "write \"key\": value",
        ),
        K::ExpectedObjectValue => (
            "the key has no value",
            "write a value after the colon, for example null",
        ),
        K::ExpectedStringObjectProperty => (
            "a key must be in double quotes",
            "write \"key\": value; only TypeScript and JavaScript files may leave the quotes out",
        ),
        K::SingleQuotedStringsNotAllowed => (
            "JSON does not know single quotes",
            "put the text in double quotes",
        ),
        K::HexadecimalNumbersNotAllowed => (
            "JSON does not know hexadecimal numbers",
            "write the number in decimal digits",
        ),
        K::UnaryPlusNumbersNotAllowed => {
            ("a number cannot begin with +", "leave out the plus sign")
        }
        K::BareDecimalPointNumbersNotAllowed => (
            "a decimal point needs a digit on both sides",
            "write 0.5 rather than .5, and 5 rather than 5.",
        ),
        K::NonFiniteNumbersNotAllowed => (
            "JSON does not know Infinity and NaN",
            "write a finite number or null",
        ),
        K::ExpectedDigit
        | K::ExpectedDigitFollowingNegativeSign
        | K::ExpectedPlusMinusOrDigitInNumberLiteral => (
            "this number is not complete",
            "write it as JSON does, for example -1.5e3",
        ),
        K::MultipleRootJsonValues => (
            "there is more text after the end of the value",
            "a JSON file holds one value; remove what follows it",
        ),
        K::UnexpectedColon => (
            "there is a colon where a value should stand",
            "keys and values stand between { and }, lists between [ and ] have values only",
        ),
        K::UnexpectedWord | K::UnexpectedToken => stray_word(here),
        K::String(kind) => string_words(kind),
        K::UnterminatedObject
        | K::UnexpectedCloseBrace
        | K::UnterminatedArray
        | K::UnexpectedCloseBracket => (
            "the brackets do not match here",
            "close every { with } and every [ with ]",
        ),
        _ => (
            "this is not JSON",
            "write a string, number, true, false, null, list or map here",
        ),
    }
}

const COMMA: (&str, &str) = (
    "expected a comma between two entries",
    "write a comma after the entry before this one",
);

/// Words that are values elsewhere, with JSON's spelling of them.
const FOREIGN_WORDS: &[(&str, &str)] = &[
    ("True", "write true"),
    ("TRUE", "write true"),
    ("yes", "write true"),
    ("on", "write true"),
    ("False", "write false"),
    ("FALSE", "write false"),
    ("no", "write false"),
    ("off", "write false"),
    ("None", "write null"),
    ("nil", "write null"),
    ("NULL", "write null"),
    ("undefined", "leave the key out, or write null"),
    ("NaN", "write a finite number or null"),
    ("Infinity", "write a finite number or null"),
];

fn stray_word(here: &str) -> (&'static str, &'static str) {
    let word: &str = here
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .next()
        .unwrap_or_default();
    if let Some((_, help)) = FOREIGN_WORDS.iter().find(|(foreign, _)| *foreign == word) {
        return ("JSON does not know this word", help);
    }
    match here.chars().next() {
        Some('#') => (
            "JSON does not know comments that begin with #",
            "begin the comment with //",
        ),
        Some('`') => (
            "JSON does not know back quotes",
            "put the text in double quotes",
        ),
        Some('\u{201c}' | '\u{201d}' | '\u{2018}' | '\u{2019}') => (
            "these are typographic quotes",
            "put the text in plain double quotes",
        ),
        _ => (
            "this is neither a string, a number, true, false nor null",
            "put text in double quotes",
        ),
    }
}

fn string_words(kind: &ParseStringErrorKind) -> (&'static str, &'static str) {
    use ParseStringErrorKind as S;
    match kind {
        S::UnterminatedStringLiteral => ("this string is never closed", "close it with \""),
        S::ExpectedFourHexDigits => (
            "\\u needs four hexadecimal digits",
            "write for example \\u00e9",
        ),
        S::InvalidUnicodeEscapeSequence(_) => (
            "this escape is half a character",
            "write both halves of the pair, or the character itself",
        ),
        _ => (
            "JSON does not know this escape",
            "write \\\\ for a backslash; the escapes are \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u0000",
        ),
    }
}
