//! The YAML parser's findings in plain words.

use std::sync::Arc;

use granit_parser::{ErrorKind, ScanError};
use toolcrib_core::limits::CONFIG_DEPTH_MAX;

use crate::diagnostic::Diagnostic;
use crate::text::{Source, Span};

/// The parser's finding, pointing at the character that is wrong: the parser itself often stops
/// later, or names only the beginning of the value.
pub(super) fn explain(source: &Arc<Source>, error: &ScanError) -> Diagnostic {
    let text = source.text();
    let at = source.boundary(error.marker().byte_offset().unwrap_or(text.len()));
    let kind = error.kind();
    if let Some(quote) = open_quote_before(source, kind, at) {
        return Diagnostic::error("this string is never closed")
            .at(source, quote)
            .help("close it with the quote that it began with");
    }
    let (start, line) = source.line_at(at);
    let (message, help) = words(kind, line.get(..at - start).unwrap_or(line));
    let span = tab_near(source, kind, at)
        .or_else(|| bad_escape(text, kind, at))
        .unwrap_or_else(|| character_at(text, at));
    Diagnostic::error(message).at(source, span).help(help)
}

fn character_at(text: &str, at: usize) -> Span {
    let next = text[at..].chars().next();
    let length = next
        .filter(|c| *c != '\n' && *c != '\r')
        .map_or(0, char::len_utf8);
    Span::new(at, at + length)
}

/// The tab that a finding is about: on the same line before it, or else the next one.
fn tab_near(source: &Source, kind: &ErrorKind, at: usize) -> Option<Span> {
    if !is_about_tab(kind) {
        return None;
    }
    let (start, line) = source.line_at(at);
    let tab = match line.get(..at - start).and_then(|before| before.rfind('\t')) {
        Some(column) => start + column,
        None => at + source.text()[at..].find('\t')?,
    };
    Some(Span::new(tab, tab + 1))
}

fn is_about_tab(kind: &ErrorKind) -> bool {
    use ErrorKind as K;
    matches!(
        kind,
        K::TabNotAllowed
            | K::TabInBlockIndentation
            | K::TabInIndentation
            | K::TabAtBlockScalarStart
            | K::TabInPlainScalar
    )
}

/// Where indentation breaks because a string of the line before was not closed: that string.
fn open_quote_before(source: &Source, kind: &ErrorKind, at: usize) -> Option<Span> {
    use ErrorKind as K;
    if !matches!(kind, K::InvalidQuotedScalarIndent | K::InvalidIndentation) {
        return None;
    }
    let above = source.text()[..source.line_at(at).0].trim_end();
    let (start, line) = source.line_at(above.len());
    let column = line
        .char_indices()
        .find(|(column, c)| {
            let before = line[..*column].trim_end();
            matches!(c, '"' | '\'')
                && (before.is_empty() || before.ends_with([':', '-', ',', '[', '{']))
        })?
        .0;
    let quote = &line[column..=column];
    let closed = line.matches(quote).count() % 2 == 0;
    (!closed).then(|| Span::new(start + column, start + line.len()))
}

/// The escape that a finding about a quoted string is about.
fn bad_escape(text: &str, kind: &ErrorKind, at: usize) -> Option<Span> {
    use ErrorKind as K;
    let wrong: fn(char, &str) -> bool = match kind {
        K::UnknownQuotedScalarEscape => |c, _| !"0abt\tnvfre \"/\\N_LPxuU\n\r".contains(c),
        K::InvalidQuotedScalarHexEscape | K::InvalidUnicodeEscape => |c, _| "xuU".contains(c),
        K::InvalidLowSurrogateHexEscape
        | K::InvalidLowSurrogate
        | K::MissingLowSurrogate
        | K::UnpairedLowSurrogate => |c, rest| c == 'u' && rest.starts_with(['d', 'D']),
        _ => return None,
    };
    let mut rest = at;
    while let Some(found) = text[rest..].find('\\') {
        let start = rest + found;
        let c = text[start + 1..].chars().next()?;
        let end = start + 1 + c.len_utf8();
        if wrong(c, &text[end..]) {
            return Some(Span::new(start, end));
        }
        rest = end;
    }
    None
}

/// What to say, given the line up to the place.
fn words(kind: &ErrorKind, before: &str) -> (String, &'static str) {
    use ErrorKind as K;
    if is_about_tab(kind) {
        return (
            "tabs cannot indent YAML".to_owned(),
            "indent with spaces, two for each level",
        );
    }
    let (message, help) = match kind {
        K::MismatchedFlowCollectionEnd { open, close } => {
            return (
                format!("this {close} closes a {open}"),
                "close every { with } and every [ with ]",
            );
        }
        K::UnclosedFlowCollection { open } => {
            return (
                format!("a {open} is never closed"),
                "close every { with } and every [ with ]",
            );
        }
        K::UnexpectedCharacter { character } if character.is_control() => {
            return (
                format!(
                    "the control character U+{:04X} cannot stand here",
                    u32::from(*character)
                ),
                "remove it, or write it as an escape between double quotes",
            );
        }
        K::UnexpectedCharacter { character } => {
            return (
                format!("a value cannot begin with {character}"),
                "put the text in quotes",
            );
        }
        K::RecursionLimitExceeded => {
            return (
                format!("this is nested more than {CONFIG_DEPTH_MAX} levels deep"),
                "flatten the value; no setting needs such depth",
            );
        }
        K::UnclosedQuotedScalar | K::DocumentIndicatorInQuotedScalar => (
            "this string is never closed",
            "close it with the quote that it began with",
        ),
        K::UnexpectedEofFlowSequence
        | K::UnexpectedEofFlowMapping
        | K::UnexpectedEofImplicitFlowMapping
        | K::ExpectedFlowMappingSeparator
        | K::ExpectedFlowSequenceSeparator => (
            "expected a comma or a closing bracket",
            "separate the entries with commas, and close every { with } and every [ with ]",
        ),
        K::MisplacedFlowCollectionEnd => (
            "this bracket closes nothing",
            "remove it, or write the bracket that opens it",
        ),
        K::MappingValueNotAllowed | K::MappingKeyNotAllowed if before.contains(": ") => (
            "there is a second key on this line",
            "put each key on a line of its own, and text that has a colon in quotes",
        ),
        K::MappingValueNotAllowed | K::MappingKeyNotAllowed => (
            "this key does not fit under the line before it",
            "begin the keys of one map in the same column, and write a space after every colon",
        ),
        K::InvalidColonPlacement => (
            "a key cannot stand here",
            "close the list above with ], or put text that has a colon in quotes",
        ),
        _ => return other_words(kind),
    };
    (message.to_owned(), help)
}

fn other_words(kind: &ErrorKind) -> (String, &'static str) {
    use ErrorKind as K;
    let (message, help) = match kind {
        K::UnknownAnchor => (
            "this alias refers to a name that is not defined above",
            "define it with &name before it is used, or put text that begins with * in quotes",
        ),
        K::MissingAnchorOrAliasName => (
            "a name must follow & or *",
            "put text that begins with & or * in quotes",
        ),
        K::SimpleKeyExpected | K::InvalidSimpleKey => (
            "expected a colon after this key",
            "write key: value, with a space after the colon",
        ),
        K::ExpectedBlockMappingKey
        | K::ExpectedBlockSequenceEntry
        | K::InvalidIndentation
        | K::InvalidBlockScalarIndent
        | K::InvalidQuotedScalarIndent
        | K::InvalidFlowScalarIndent
        | K::BlockSequenceEntryNotAllowed
        | K::UnexpectedEofBlockMapping
        | K::UnexpectedEofBlockSequence => (
            "the indentation does not fit here",
            "begin the entries of one list or map in the same column",
        ),
        K::InvalidTrailingSingleQuotedScalar | K::InvalidTrailingDoubleQuotedScalar => (
            "there is more text after the closing quote",
            "put the whole value in quotes; double a single quote inside single quotes",
        ),
        K::UnknownQuotedScalarEscape
        | K::InvalidQuotedScalarHexEscape
        | K::InvalidUnicodeEscape => (
            "double quotes do not know this escape",
            "write \\\\ for a backslash, or use single quotes",
        ),
        K::InvalidLowSurrogateHexEscape
        | K::InvalidLowSurrogate
        | K::MissingLowSurrogate
        | K::UnpairedLowSurrogate => (
            "this escape is half a character",
            "write both halves of the pair, or the character itself",
        ),
        K::BlockEntryInFlowCollection
        | K::PlainScalarStartsWithDashFlowIndicator
        | K::InvalidBlockEntryWhitespace => (
            "a dash cannot stand here",
            "between [ and ] separate the entries with commas; put text that begins with - in quotes",
        ),
        K::InvalidMappingValueWhitespace
        | K::FlowMappingValueAdjacentCollection
        | K::ExpectedWhitespace => ("a space is missing here", "write a space after the colon"),
        K::CommentNotSeparated | K::CommentInterceptedScalar => (
            "a comment cannot begin here",
            "write a space before the #, or put text that has a # in quotes",
        ),
        K::ZeroBlockScalarIndent | K::InvalidBlockScalarHeader => (
            "text cannot follow | or > on the same line",
            "begin the text on the next line",
        ),
        K::InvalidDocumentEnd | K::ExpectedDocumentStart => (
            "there is more text after the end of the document",
            "a configuration file holds one document; check the indentation of this line",
        ),
        _ => rare_words(kind),
    };
    (message.to_owned(), help)
}

/// Directives and tags, which configuration files hardly ever have.
fn rare_words(kind: &ErrorKind) -> (&'static str, &'static str) {
    use ErrorKind as K;
    match kind {
        K::DuplicateVersionDirective
        | K::UnsupportedYamlMajorVersion
        | K::MissingYamlVersion
        | K::MissingYamlVersionSeparator
        | K::YamlVersionTooLong
        | K::DuplicateTagDirective
        | K::InvalidDirectiveTerminator
        | K::InvalidDirectiveName
        | K::MissingDirectiveName
        | K::DirectiveByteLimitExceeded { .. }
        | K::TooManyReservedDirectiveParams { .. }
        | K::ExpectedTagDirectiveBang
        | K::InvalidTagDirectiveTerminator
        | K::MissingDocumentEndBeforeDirective => (
            "this directive cannot be read",
            "leave out lines that begin with %",
        ),
        K::UndeclaredTagHandle
        | K::ExpectedTagBang
        | K::InvalidGlobalTagCharacter
        | K::InvalidTagTerminator
        | K::MissingTagUri
        | K::UnclosedVerbatimTag
        | K::InvalidTagEscape
        | K::InvalidTagUtf8LeadingByte
        | K::InvalidTagUtf8TrailingByte
        | K::InvalidTagUtf8 => (
            "this tag cannot be read",
            "write the value itself, without a tag, and put text that begins with ! in quotes",
        ),
        K::BomInsideDocument => (
            "a byte order mark stands in the middle of the text",
            "remove this invisible character",
        ),
        _ => (
            "this is not YAML",
            "check the indentation, the quotes and the colons of this line and the one before it",
        ),
    }
}
