//! What a script has that would need running, by name, and what to write instead.

use std::sync::Arc;

use oxc_ast::ast::{Expression, Statement};

use super::place;
use crate::diagnostic::Diagnostic;
use crate::text::{Source, Span};

/// Help for what is exported.
pub(super) const EXPORT_HELP: &str = "export the value itself: export default { … }";
/// Help for what comes from another file.
pub(super) const IMPORT_HELP: &str =
    "write the value in this file; imports are not followed, because nothing is run";
/// Help for statements.
pub(super) const RUN_HELP: &str =
    "keep only constants and the export; nothing in this file is run, so this would have no effect";
const LITERAL_HELP: &str = "write the value out as a literal";

/// The finding that something would need running.
pub(super) fn needs_running(
    source: &Arc<Source>,
    span: Span,
    construct: &str,
    help: &str,
) -> Diagnostic {
    Diagnostic::error(format!(
        "{construct} would need running, and nothing in a configuration is run"
    ))
    .at(source, span)
    .help(help)
}

/// What an expression is called, and what to write instead of it.
pub(super) fn expression(expression: &Expression<'_>) -> (&'static str, &'static str) {
    use Expression as E;
    match expression {
        E::CallExpression(_) | E::V8IntrinsicExpression(_) => (
            "a function call",
            "write its result; only the exported value may stand inside one call, as in config({ … })",
        ),
        E::ChainExpression(_) => ("an optional access", LITERAL_HELP),
        E::NewExpression(_) => ("new", LITERAL_HELP),
        E::ArrowFunctionExpression(_) | E::FunctionExpression(_) => {
            ("a function", "write the value that it would return")
        }
        E::ClassExpression(_) => ("a class", LITERAL_HELP),
        E::AwaitExpression(_) => ("await", "write the value that it would wait for"),
        E::YieldExpression(_) => ("yield", LITERAL_HELP),
        E::ImportExpression(_) | E::ImportMeta(_) => ("import", IMPORT_HELP),
        E::ConditionalExpression(_) | E::LogicalExpression(_) => (
            "a condition",
            "write the value; only process.env.NAME may have a default, as in process.env.NAME ?? 'text'",
        ),
        E::BinaryExpression(_) => (
            "this calculation",
            "write its result; only text is joined with +, and numbers with + - *",
        ),
        E::UnaryExpression(_) => ("this operator", "write its result"),
        E::AssignmentExpression(_) | E::UpdateExpression(_) => {
            ("an assignment", "write the value where it is used")
        }
        E::TaggedTemplateExpression(_) => (
            "a tagged template string",
            "leave out the word before the `",
        ),
        E::RegExpLiteral(_) => (
            "a regular expression",
            "write the pattern as a string, for example 'get_.*'",
        ),
        E::BigIntLiteral(_) => ("a big integer", "write the number without the n"),
        E::SequenceExpression(_) => ("a sequence of expressions", "write one value"),
        E::ThisExpression(_) | E::Super(_) => ("the word this", LITERAL_HELP),
        E::StaticMemberExpression(_)
        | E::ComputedMemberExpression(_)
        | E::PrivateFieldExpression(_) => (
            "access to a property",
            "write the value, or name it with const; only process.env.NAME is read",
        ),
        E::JSXElement(_) | E::JSXFragment(_) => ("JSX", LITERAL_HELP),
        _ => ("this expression", LITERAL_HELP),
    }
}

/// What a statement is called.
pub(super) fn statement(statement: &Statement<'_>) -> &'static str {
    use Statement as S;
    match statement {
        S::IfStatement(_) | S::SwitchStatement(_) => "a condition",
        S::ForStatement(_)
        | S::ForInStatement(_)
        | S::ForOfStatement(_)
        | S::WhileStatement(_)
        | S::DoWhileStatement(_) => "a loop",
        S::BlockStatement(_) | S::LabeledStatement(_) => "a block",
        S::TryStatement(_) | S::ThrowStatement(_) => "error handling",
        _ => "this statement",
    }
}

/// Sentences for the parser's messages, by how they begin.
const SYNTAX: &[(&str, &str, &str)] = &[
    (
        "Unexpected token",
        "this cannot stand here",
        "check the commas, brackets and quotes of this line and the one before it",
    ),
    (
        "Unterminated string",
        "this string is never closed",
        "close it with the quote that it began with, on the same line",
    ),
    (
        "Unterminated multi",
        "this comment is never closed",
        "close it with */",
    ),
    (
        "Invalid escape",
        "this escape is not known",
        "write \\\\ for a backslash",
    ),
    (
        "Invalid Unicode escape",
        "this escape is not a character",
        "write for example \\u00e9, or the character itself",
    ),
    (
        "Invalid Character",
        "this character cannot stand here",
        "put text in quotes",
    ),
    (
        "Invalid Number",
        "this number cannot be read",
        "write digits, and put text in quotes",
    ),
    (
        "File appears to be binary",
        "this is not text",
        "give the path of a configuration file",
    ),
    (
        "Flow is not supported",
        "this file says that it is written in Flow",
        "write it in TypeScript or JavaScript, without @flow",
    ),
    (
        "Encountered diff marker",
        "a merge conflict is left in this file",
        "resolve the conflict and remove its markers",
    ),
    (
        "Missing initializer",
        "this constant has no value",
        "write const name = value",
    ),
];

/// The parser's finding in plain words.
pub(super) fn syntax(source: &Arc<Source>, message: &str, span: oxc_span::Span) -> Diagnostic {
    let span = place(source, span);
    let known = SYNTAX
        .iter()
        .find(|(beginning, ..)| message.starts_with(beginning));
    let (message, help) = match (known, expected(message)) {
        (Some((_, message, help)), _) => ((*message).to_owned(), *help),
        (None, Some(what)) => (
            format!("expected {what} here"),
            "check the commas, brackets and quotes of this line and the one before it",
        ),
        (None, None) => (
            "this is not TypeScript or JavaScript".to_owned(),
            "check the commas, brackets and quotes of this line and the one before it",
        ),
    };
    Diagnostic::error(message).at(source, span).help(help)
}

/// What the parser waited for, from "Expected `,` or `}` but found `Identifier`".
fn expected(message: &str) -> Option<String> {
    let (wanted, _) = message
        .strip_prefix("Expected `")?
        .split_once("` but found")?;
    let words: Vec<&str> = wanted
        .split("` or `")
        .map(|token| match token {
            "," => "a comma",
            ":" => "a colon",
            ";" => "a semicolon",
            other => other,
        })
        .collect();
    Some(words.join(" or "))
}
