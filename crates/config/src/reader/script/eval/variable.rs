//! Environment variables: `process.env.NAME`, with a default or without.

use oxc_ast::ast::{
    ChainElement, Expression, LogicalExpression, LogicalOperator, MemberExpression,
};

use super::super::module::Binding;
use super::super::value::{Static, Text};
use super::super::{place, refusal};
use super::Evaluator;
use crate::placeholder::is_variable_name;
use crate::text::Span;

impl<'a> Evaluator<'_, 'a> {
    /// The text that a variable of the environment becomes; every other expression that is not a
    /// literal is refused here.
    pub(super) fn variable(&mut self, expression: &'a Expression<'a>) -> Option<Static> {
        let span = self.place(expression);
        if let Expression::LogicalExpression(logical) = expression
            && logical.operator != LogicalOperator::And
        {
            return self.with_default(logical);
        }
        let member = match expression {
            Expression::ChainExpression(chain) => match &chain.expression {
                ChainElement::TSNonNullExpression(inner) => inner.expression.as_member_expression(),
                other => other.as_member_expression(),
            },
            other => other.as_member_expression(),
        };
        match member {
            Some(member) if self.is_environment(member) => {
                self.refuse(
                    "the whole environment cannot be written into a configuration",
                    span,
                    "name the variables that are needed, as in { NAME: process.env.NAME }",
                );
                None
            }
            Some(member)
                if member
                    .object()
                    .as_member_expression()
                    .is_some_and(|m| self.is_environment(m)) =>
            {
                self.named(member, span)
            }
            _ => {
                let (construct, help) = refusal::expression(expression);
                self.needs_running(span, construct, help);
                None
            }
        }
    }

    /// Whether this is `process.env`.
    fn is_environment(&self, member: &MemberExpression<'a>) -> bool {
        let Expression::Identifier(object) = member.object().get_inner_expression() else {
            return false;
        };
        let is_global = match self.names.get(object.name.as_str()).map(|n| &n.binding) {
            None => true,
            Some(Binding::Import(from)) => matches!(*from, "process" | "node:process"),
            Some(_) => false,
        };
        object.name == "process" && is_global && member.static_property_name() == Some("env")
    }

    fn named(&mut self, member: &'a MemberExpression<'a>, span: Span) -> Option<Static> {
        let name = match member {
            MemberExpression::ComputedMemberExpression(computed) => {
                let built = self.eval(&computed.expression)?;
                match built.value {
                    Static::Text(text) => text.as_literal().map(str::to_owned),
                    _ => None,
                }
            }
            other => other.static_property_name().map(str::to_owned),
        };
        match name {
            Some(name) if is_variable_name(&name) => self.text(Text::variable(&name), span),
            _ => {
                self.refuse(
                    "this is not the name of an environment variable",
                    span,
                    "write process.env.NAME, with letters, digits and _",
                );
                None
            }
        }
    }

    /// `process.env.NAME ?? 'default'`, or with `||`.
    fn with_default(&mut self, logical: &'a LogicalExpression<'a>) -> Option<Static> {
        let span = place(self.source, logical.span);
        let left = self.eval(&logical.left)?;
        let Static::Text(variable) = left.value else {
            let (construct, help) = ("a condition", "write the value");
            self.needs_running(span, construct, help);
            return None;
        };
        let right = self.eval(&logical.right)?;
        let right_span = right.span;
        let default = self.as_text(right)?;
        let Some(default) = default.as_literal() else {
            self.refuse(
                "a default cannot be another variable",
                right_span,
                "write the default as text, or set the variable",
            );
            return None;
        };
        if default.contains('}') {
            self.refuse(
                "a default cannot contain }",
                right_span,
                "set the variable instead",
            );
            return None;
        }
        let Some(text) = variable.with_default(default) else {
            self.needs_running(
                span,
                "a default for something other than one variable",
                "write process.env.NAME ?? 'text'",
            );
            return None;
        };
        self.text(text, span)
    }
}
