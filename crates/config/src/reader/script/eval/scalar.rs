//! Text and numbers: template strings, joining with `+`, signs, and sums of constants.

use oxc_ast::ast::{
    BinaryExpression, BinaryOperator, NumericLiteral, TemplateLiteral, UnaryExpression,
    UnaryOperator,
};
use serde_json::Number;
use toolcrib_core::limits::CONFIG_STRING_BYTES_MAX;

use super::super::place;
use super::super::value::{Built, Static, Text};
use super::Evaluator;
use crate::reader::tally::{Excess, NUMBER_HELP, NUMBER_TOO_LARGE};
use crate::text::Span;

/// Largest whole number that a script's numbers hold exactly.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

impl<'a> Evaluator<'_, 'a> {
    pub(super) fn template(&mut self, template: &'a TemplateLiteral<'a>) -> Option<Static> {
        let span = place(self.source, template.span);
        let mut text = Text::default();
        let mut holes = template.expressions.iter();
        for quasi in &template.quasis {
            self.whole_characters(quasi.lone_surrogates, span)?;
            let cooked = quasi.value.cooked.as_ref()?;
            text.append(Text::literal(cooked.as_str()));
            if let Some(hole) = holes.next() {
                let built = self.eval(hole)?;
                text.append(self.as_text(built)?);
            }
        }
        self.text(text, span)
    }

    /// Text, counted and within its bound.
    pub(super) fn text(&mut self, text: Text, span: Span) -> Option<Static> {
        if text.len() > CONFIG_STRING_BYTES_MAX {
            self.stop(Excess::StringBytes, span);
            return None;
        }
        let bytes = text.len();
        self.within(span, |tally| tally.bytes(bytes))
            .then_some(Static::Text(text))
    }

    pub(super) fn as_text(&mut self, built: Built) -> Option<Text> {
        let (kind, span) = (built.value.kind(), built.span);
        let text = built.value.into_text();
        if text.is_none() {
            self.refuse(
                &format!("{kind} cannot stand inside text"),
                span,
                "write the text itself",
            );
        }
        text
    }

    pub(super) fn binary(&mut self, binary: &'a BinaryExpression<'a>) -> Option<Static> {
        use BinaryOperator as Op;
        let span = place(self.source, binary.span);
        if !matches!(
            binary.operator,
            Op::Addition | Op::Subtraction | Op::Multiplication
        ) {
            let (construct, help) = ("this calculation", "write its result");
            self.needs_running(span, construct, help);
            return None;
        }
        let left = self.eval(&binary.left)?;
        let right = self.eval(&binary.right)?;
        if let (Static::Number(left), Static::Number(right)) = (&left.value, &right.value) {
            let (left, right) = (left.as_f64()?, right.as_f64()?);
            let result = match binary.operator {
                Op::Addition => left + right,
                Op::Subtraction => left - right,
                _ => left * right,
            };
            return self.kept(result, false, span);
        }
        if binary.operator != Op::Addition {
            self.refuse(
                "only numbers can be calculated with",
                span,
                "write the result",
            );
            return None;
        }
        let mut text = self.as_text(left)?;
        let more = self.as_text(right)?;
        text.append(more);
        self.text(text, span)
    }

    pub(super) fn unary(&mut self, unary: &'a UnaryExpression<'a>) -> Option<Static> {
        let span = place(self.source, unary.span);
        let sign = match unary.operator {
            UnaryOperator::UnaryNegation => -1.0,
            UnaryOperator::UnaryPlus => 1.0,
            _ => {
                self.needs_running(span, "this operator", "write its result");
                return None;
            }
        };
        let operand = self.eval(&unary.argument)?;
        if let Static::Number(number) = &operand.value {
            return self.kept(sign * number.as_f64()?, false, span);
        }
        self.refuse(
            "only a number can have a sign",
            span,
            "write the number itself",
        );
        None
    }

    pub(super) fn number(&mut self, literal: &'a NumericLiteral<'a>) -> Option<Static> {
        let span = place(self.source, literal.span);
        let written = literal.raw.as_ref().map_or("", |raw| raw.as_str());
        let whole = !written.contains(['.', 'e', 'E']) || written.starts_with("0x");
        self.kept(literal.value, whole, span)
    }

    /// A number as the tree keeps it: whole ones as integers. One that was written whole but cannot be
    /// held exactly is refused.
    fn kept(&mut self, value: f64, written_whole: bool, span: Span) -> Option<Static> {
        let number = if value.fract() == 0.0 && value.abs() <= EXACT_MAX {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "whole and within 53 bits, as the line above checks"
            )]
            let whole = value as i64;
            Some(Number::from(whole))
        } else if written_whole {
            None
        } else {
            Number::from_f64(value)
        };
        if number.is_none() {
            self.refuse(NUMBER_TOO_LARGE, span, NUMBER_HELP);
        }
        number.map(Static::Number)
    }

    pub(super) fn whole_characters(&mut self, lone_surrogates: bool, span: Span) -> Option<()> {
        if lone_surrogates {
            self.refuse(
                "an escape in this string is half a character",
                span,
                "write both halves of the pair, or the character itself",
            );
            return None;
        }
        Some(())
    }
}
