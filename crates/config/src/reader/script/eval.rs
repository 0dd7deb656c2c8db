//! Expressions to values, without running anything.

mod object;
mod scalar;
mod variable;

use std::collections::HashMap;
use std::sync::Arc;

use oxc_ast::ast::{ArrayExpressionElement, CallExpression, Expression, IdentifierReference};
use oxc_span::GetSpan;
use toolcrib_core::limits::CONFIG_DEPTH_MAX;

use super::super::findings::{Findings, brief};
use super::super::tally::{Excess, Tally};
use super::module::{Binding, Names};
use super::value::{Built, Static, Text};
use super::{place, refusal};
use crate::diagnostic::Diagnostic;
use crate::node::{Node, Value};
use crate::text::{Source, Span};

/// How far the value of a constant is known.
enum Known {
    /// Being read: meeting it again means that it contains itself.
    Open,
    /// Read, with findings that have been reported.
    Failed,
    /// Read, with what it costs to repeat.
    Done(Built, Tally),
}

/// Reads the expressions of one script. What cannot be read is reported in `found`, and the rest is
/// read all the same, so that one look shows everything.
pub(super) struct Evaluator<'s, 'a> {
    source: &'s Arc<Source>,
    names: &'s Names<'a>,
    known: HashMap<&'a str, Known>,
    tally: Tally,
    /// Lists and maps around the current expression, since the constant that holds it.
    depth: usize,
    /// Constants that are being read.
    resolving: usize,
    /// Whether a bound was passed: nothing more is read then.
    over: bool,
    found: Findings<'s>,
}

impl<'s, 'a> Evaluator<'s, 'a> {
    pub(super) fn new(source: &'s Arc<Source>, names: &'s Names<'a>) -> Self {
        Self {
            source,
            names,
            known: HashMap::new(),
            tally: Tally::default(),
            depth: 0,
            resolving: 0,
            over: false,
            found: Findings::new(source),
        }
    }

    /// The exported value: a literal, a constant, or one call around either.
    pub(super) fn root(mut self, expression: &'a Expression<'a>) -> Result<Node, Vec<Diagnostic>> {
        let span = self.place(expression);
        let built = match self.exported(expression) {
            Some(inner) => self.eval(inner),
            None => None,
        };
        let node = built.and_then(Built::into_node);
        if node.is_none() && self.found.is_empty() {
            self.refuse("undefined is exported", span, refusal::EXPORT_HELP);
        }
        let nothing = || Node::new(Value::Null, span);
        self.found.or(node.unwrap_or_else(nothing))
    }

    /// What is exported, with constants followed and one call such as `config(…)` taken off.
    fn exported(&mut self, expression: &'a Expression<'a>) -> Option<&'a Expression<'a>> {
        let mut expression = expression.get_inner_expression();
        for _ in 0..CONFIG_DEPTH_MAX {
            match expression {
                Expression::CallExpression(call) => return self.wrapped(call),
                Expression::Identifier(identifier) => {
                    match self.names.get(identifier.name.as_str()).map(|n| &n.binding) {
                        Some(Binding::Constant(init)) => expression = init.get_inner_expression(),
                        _ => return Some(expression),
                    }
                }
                _ => return Some(expression),
            }
        }
        // Constants that lead back to each other: reading them reports it.
        Some(expression)
    }

    /// The one argument of a call whose function is not of this file: `config`, `defineConfig`.
    fn wrapped(&mut self, call: &'a CallExpression<'a>) -> Option<&'a Expression<'a>> {
        let callee = call.callee.get_inner_expression();
        if let Expression::Identifier(identifier) = callee
            && let Some(named) = self.names.get(identifier.name.as_str())
            && !matches!(named.binding, Binding::Import(_))
        {
            let name = identifier.name.as_str();
            let span = place(self.source, identifier.span);
            self.found.push(
                refusal::needs_running(
                    self.source,
                    span,
                    &format!("the function {} of this file", brief(name)),
                    "export the value that it would return",
                )
                .also(named.span, "defined here:"),
            );
            return None;
        }
        let plain = matches!(
            callee,
            Expression::Identifier(_) | Expression::StaticMemberExpression(_)
        );
        match &call.arguments[..] {
            [argument] if plain && argument.is_expression() => argument.as_expression(),
            _ => {
                let span = place(self.source, call.span);
                self.refuse(
                    "the exported value may stand inside one call with one argument only",
                    span,
                    "write export default config({ … })",
                );
                None
            }
        }
    }

    /// The value of an expression; `None` where it has none, which has been reported.
    fn eval(&mut self, expression: &'a Expression<'a>) -> Option<Built> {
        let expression = expression.get_inner_expression();
        let span = self.place(expression);
        if self.over || !self.within(span, Tally::value) {
            return None;
        }
        let (value, depth) = match expression {
            Expression::NullLiteral(_) => (Static::Null, 0),
            Expression::BooleanLiteral(literal) => (Static::Bool(literal.value), 0),
            Expression::NumericLiteral(literal) => (self.number(literal)?, 0),
            Expression::StringLiteral(literal) => {
                self.whole_characters(literal.lone_surrogates, span)?;
                (self.text(Text::literal(literal.value.as_str()), span)?, 0)
            }
            Expression::TemplateLiteral(template) => (self.template(template)?, 0),
            Expression::ArrayExpression(array) => self.list(&array.elements, span)?,
            Expression::ObjectExpression(object) => self.map(object)?,
            Expression::Identifier(identifier) => return self.identifier(identifier),
            Expression::UnaryExpression(unary) => (self.unary(unary)?, 0),
            Expression::BinaryExpression(binary) => (self.binary(binary)?, 0),
            _ => (self.variable(expression)?, 0),
        };
        Some(Built { value, span, depth })
    }

    fn list(
        &mut self,
        elements: &'a [ArrayExpressionElement<'a>],
        span: Span,
    ) -> Option<(Static, usize)> {
        self.enter(span)?;
        let mut items = Vec::with_capacity(elements.len());
        let mut below = 0;
        for element in elements {
            match element {
                ArrayExpressionElement::SpreadElement(spread) => {
                    if let Some(built) = self.eval(&spread.argument) {
                        below = below.max(built.depth.saturating_sub(1));
                        let kind = built.value.kind();
                        match built.value {
                            Static::List(spread) => items.extend(spread),
                            _ => self.refuse(
                                &format!("only a list can be spread into a list, not {kind}"),
                                built.span,
                                "write ...name, where name is a const list",
                            ),
                        }
                    }
                }
                ArrayExpressionElement::Elision(hole) => self.refuse(
                    "there is a hole in this list",
                    place(self.source, hole.span),
                    "leave out the comma, or write null",
                ),
                other => {
                    let Some(built) = other.as_expression().and_then(|e| self.eval(e)) else {
                        continue;
                    };
                    below = below.max(built.depth);
                    let span = built.span;
                    match built.into_node() {
                        Some(node) => items.push(node),
                        None => self.refuse(
                            "undefined stands in this list",
                            span,
                            "leave it out, or write null",
                        ),
                    }
                }
            }
        }
        self.depth -= 1;
        Some((Static::List(items), below + 1))
    }

    /// The value of a constant.
    fn identifier(&mut self, identifier: &'a IdentifierReference<'a>) -> Option<Built> {
        let name = identifier.name.as_str();
        let shown = brief(name);
        let span = place(self.source, identifier.span);
        let named = self.names.get(name);
        let init = match named.map(|named| &named.binding) {
            Some(Binding::Constant(init)) => *init,
            Some(Binding::Import(from)) => {
                let construct = format!("{shown}, which is imported from {:?},", brief(from));
                self.needs_running(span, &construct, refusal::IMPORT_HELP);
                return None;
            }
            Some(Binding::Opaque(what)) => {
                let construct = format!("{shown}, which is {what},");
                self.needs_running(span, &construct, "write the value, or name it with const");
                return None;
            }
            None if name == "undefined" => {
                return Some(Built {
                    value: Static::Undefined,
                    span,
                    depth: 0,
                });
            }
            None if matches!(name, "NaN" | "Infinity") => {
                self.refuse(
                    "a configuration has no use for infinite numbers and NaN",
                    span,
                    "write a finite number",
                );
                return None;
            }
            None => {
                self.refuse(
                    &format!("{shown} is not defined in this file"),
                    span,
                    "write the value, or define it with const in this file",
                );
                return None;
            }
        };
        self.constant(name, init, span)
    }

    fn constant(&mut self, name: &'a str, init: &'a Expression<'a>, span: Span) -> Option<Built> {
        match self.known.get(name) {
            Some(Known::Done(built, cost)) => {
                let (cost, depth) = (*cost, built.depth);
                // Counted before the copy is made, so that constants of constants cost nothing.
                if !self.within(span, |tally| tally.add(cost)) {
                    return None;
                }
                if self.depth + depth > CONFIG_DEPTH_MAX {
                    self.stop(Excess::Depth, span);
                    return None;
                }
                let Some(Known::Done(built, _)) = self.known.get(name) else {
                    return None;
                };
                return Some(Built {
                    span,
                    ..built.clone()
                });
            }
            Some(Known::Failed) => return None,
            Some(Known::Open) => {
                self.refuse(
                    &format!("{} contains itself", brief(name)),
                    span,
                    "write the value out; a value cannot contain itself",
                );
                return None;
            }
            None => {}
        }
        if self.resolving >= CONFIG_DEPTH_MAX {
            self.stop(Excess::Depth, span);
            return None;
        }
        self.known.insert(name, Known::Open);
        let depth = std::mem::take(&mut self.depth);
        self.resolving += 1;
        let built = self.eval(init);
        self.resolving -= 1;
        self.depth = depth;
        let known = built.map_or(Known::Failed, |built| {
            let size = built.value.size();
            Known::Done(built, size)
        });
        self.known.insert(name, known);
        self.constant(name, init, span)
    }

    fn enter(&mut self, span: Span) -> Option<()> {
        if self.depth >= CONFIG_DEPTH_MAX {
            self.stop(Excess::Depth, span);
            return None;
        }
        self.depth += 1;
        Some(())
    }

    /// Counts something; stops the reading where a bound is passed.
    fn within(&mut self, span: Span, count: impl FnOnce(&mut Tally) -> Result<(), Excess>) -> bool {
        match count(&mut self.tally) {
            Ok(()) => true,
            Err(excess) => {
                self.stop(excess, span);
                false
            }
        }
    }

    fn stop(&mut self, excess: Excess, span: Span) {
        if !self.over {
            self.over = true;
            self.found.push(excess.at(self.source, span));
        }
    }

    fn needs_running(&mut self, span: Span, construct: &str, help: &str) {
        self.report(refusal::needs_running(self.source, span, construct, help));
    }

    fn refuse(&mut self, message: &str, span: Span, help: &str) {
        self.report(Diagnostic::error(message).at(self.source, span).help(help));
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.found.push(diagnostic);
    }

    fn place(&self, expression: &Expression<'_>) -> Span {
        place(self.source, expression.span())
    }
}
