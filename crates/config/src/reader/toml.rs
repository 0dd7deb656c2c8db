//! TOML. Dates become their text; tables keep the order of the file.

mod errors;
mod first;

use std::sync::Arc;

use serde_json::Number;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use toml_parser::lexer::TokenKind;
use toolcrib_core::limits::{CONFIG_DEPTH_MAX, CONFIG_NODES_MAX};

use super::tally::{Excess, NUMBER_HELP, NUMBER_TOO_LARGE, Tally, number};
use crate::diagnostic::Diagnostic;
use crate::node::{Entry, Node, Value};
use crate::text::{Source, Span};

/// Reads TOML; an empty file is an empty map.
pub(super) fn read(source: &Arc<Source>) -> Result<Node, Vec<Diagnostic>> {
    check_size(source).map_err(|diagnostic| vec![*diagnostic])?;
    let root =
        DeTable::parse(source.text()).map_err(|error| vec![errors::explain(source, &error)])?;
    let mut builder = Builder {
        source,
        tally: Tally::default(),
    };
    let whole = Span::new(0, source.text().len());
    builder
        .table(root.into_inner(), whole, 0)
        .map_err(|diagnostic| vec![*diagnostic])
}

/// `key = value` on a line of its own has six tokens, a comment one or two.
const TOKENS_PER_VALUE: usize = 8;

/// Refuses nesting that the parser's own recursion could not bear, that of brackets and of the dots of
/// keys, each of which opens a table; and more values than a file may hold. Linear, without building
/// anything.
fn check_size(source: &Arc<Source>) -> Result<(), Box<Diagnostic>> {
    let mut tokens = 0_usize;
    let mut values = 0_usize;
    let mut brackets = 0_usize;
    let mut dots = 0_usize;
    for token in toml_parser::Source::new(source.text()).lex() {
        match token.kind() {
            TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket => {
                values += 1;
                brackets += 1;
                dots = 0;
            }
            TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket => {
                brackets = brackets.saturating_sub(1);
            }
            TokenKind::Equals | TokenKind::Comma => {
                values += 1;
                dots = 0;
            }
            TokenKind::Newline => dots = 0,
            TokenKind::Dot => {
                values += 1;
                dots += 1;
            }
            _ => {}
        }
        tokens += 1;
        // `[[name]]` opens two brackets, so one more than the bound is let through here.
        let excess = if brackets > CONFIG_DEPTH_MAX + 1 || dots > CONFIG_DEPTH_MAX {
            Excess::Depth
        } else if values > CONFIG_NODES_MAX || tokens > CONFIG_NODES_MAX * TOKENS_PER_VALUE {
            Excess::Nodes
        } else {
            continue;
        };
        let span = Span::new(token.span().start(), token.span().end());
        return Err(excess.at(source, span).into());
    }
    Ok(())
}

struct Builder<'s> {
    source: &'s Arc<Source>,
    tally: Tally,
}

impl Builder<'_> {
    fn node(&mut self, value: Spanned<DeValue<'_>>, depth: usize) -> Result<Node, Box<Diagnostic>> {
        let span = self.span(&value.span());
        let value = match value.into_inner() {
            DeValue::Table(table) => return self.table(table, span, depth),
            DeValue::Array(array) => {
                self.deeper(depth, span)?;
                Value::List(
                    array
                        .into_iter()
                        .map(|item| self.node(item, depth + 1))
                        .collect::<Result<_, _>>()?,
                )
            }
            DeValue::String(text) => Value::String(self.text(text.into_owned(), span)?),
            DeValue::Datetime(date) => Value::String(self.text(date.to_string(), span)?),
            DeValue::Boolean(value) => Value::Bool(value),
            DeValue::Integer(integer) => {
                let value = match integer.radix() {
                    10 => number(integer.as_str().trim_start_matches('+')),
                    radix => u64::from_str_radix(integer.as_str(), radix)
                        .ok()
                        .map(Number::from),
                };
                Value::Number(self.finite(value, span)?)
            }
            DeValue::Float(float) => {
                let value = float.as_str().parse().ok().and_then(Number::from_f64);
                Value::Number(self.finite(value, span)?)
            }
        };
        self.count(span)?;
        Ok(Node::new(value, span))
    }

    fn table(
        &mut self,
        table: DeTable<'_>,
        span: Span,
        depth: usize,
    ) -> Result<Node, Box<Diagnostic>> {
        self.deeper(depth, span)?;
        self.count(span)?;
        let mut entries = Vec::with_capacity(table.len());
        for (key, value) in table {
            let key_span = self.span(&key.span());
            entries.push(Entry {
                key: self.text(key.into_inner().into_owned(), key_span)?,
                key_span,
                value: self.node(value, depth + 1)?,
            });
        }
        // The parser sorts by name; the place of the key gives the order of the file back.
        entries.sort_by_key(|entry| entry.key_span.start);
        Ok(Node::new(Value::Map(entries), span))
    }

    fn deeper(&self, depth: usize, span: Span) -> Result<(), Box<Diagnostic>> {
        if depth >= CONFIG_DEPTH_MAX {
            return Err(Excess::Depth.at(self.source, span).into());
        }
        Ok(())
    }

    fn count(&mut self, span: Span) -> Result<(), Box<Diagnostic>> {
        self.tally
            .value()
            .map_err(|excess| excess.at(self.source, span).into())
    }

    fn text(&mut self, text: String, span: Span) -> Result<String, Box<Diagnostic>> {
        self.tally
            .text(&text)
            .map_err(|excess| excess.at(self.source, span))?;
        Ok(text)
    }

    fn finite(&self, value: Option<Number>, span: Span) -> Result<Number, Box<Diagnostic>> {
        value.ok_or_else(|| {
            let text = &self.source.text()[span.start..span.end];
            let message = if text.contains("inf") || text.contains("nan") {
                "a configuration has no use for infinite numbers and nan"
            } else {
                NUMBER_TOO_LARGE
            };
            Diagnostic::error(message)
                .at(self.source, span)
                .help(NUMBER_HELP)
                .into()
        })
    }

    fn span(&self, range: &std::ops::Range<usize>) -> Span {
        let end = self.source.boundary(range.end);
        Span::new(self.source.boundary(range.start).min(end), end)
    }
}
