//! SPDX licence expressions: `MIT OR (Apache-2.0 WITH LLVM-exception AND Zlib)`.

use anyhow::{Context, Result, bail};

/// A licence expression as its author wrote it down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Expression {
    /// A licence, with its exception after `WITH` where it has one.
    Licence(String),
    /// All of these terms hold at once.
    All(Vec<Expression>),
    /// The user chooses one of these.
    Any(Vec<Expression>),
}

impl Expression {
    /// Reads an expression; the old spelling `MIT/Apache-2.0` means `OR`.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let spaced = text
            .replace('(', " ( ")
            .replace(')', " ) ")
            .replace('/', " OR ");
        let tokens: Vec<&str> = spaced.split_whitespace().collect();
        let mut parser = Parser { tokens: &tokens };
        let expression = parser
            .any()
            .with_context(|| format!("`{text}` is not a licence expression"))?;
        if let Some(token) = parser.tokens.first() {
            bail!("`{text}` is not a licence expression: `{token}` stands where it should end");
        }
        Ok(expression)
    }

    /// Whether the expression can be met with allowed licences alone.
    pub(crate) fn is_met(&self, allowed: &dyn Fn(&str) -> bool) -> bool {
        match self {
            Self::Licence(licence) => allowed(licence),
            Self::All(parts) => parts.iter().all(|part| part.is_met(allowed)),
            Self::Any(parts) => parts.iter().any(|part| part.is_met(allowed)),
        }
    }
}

struct Parser<'a> {
    tokens: &'a [&'a str],
}

impl Parser<'_> {
    fn any(&mut self) -> Result<Expression> {
        let mut parts = vec![self.all()?];
        while self.take("OR") {
            parts.push(self.all()?);
        }
        Ok(one_or(parts, Expression::Any))
    }

    fn all(&mut self) -> Result<Expression> {
        let mut parts = vec![self.single()?];
        while self.take("AND") {
            parts.push(self.single()?);
        }
        Ok(one_or(parts, Expression::All))
    }

    fn single(&mut self) -> Result<Expression> {
        if self.take("(") {
            let inside = self.any()?;
            if !self.take(")") {
                bail!("a parenthesis is not closed");
            }
            return Ok(inside);
        }
        let licence = self.name()?;
        if self.take("WITH") {
            return Ok(Expression::Licence(format!(
                "{licence} WITH {}",
                self.name()?
            )));
        }
        Ok(Expression::Licence(licence))
    }

    fn name(&mut self) -> Result<String> {
        let Some((token, rest)) = self.tokens.split_first() else {
            bail!("a licence is missing at the end")
        };
        let plain = token
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-.+:".contains(&byte));
        if !plain || matches!(*token, "AND" | "OR" | "WITH") {
            bail!("`{token}` stands where a licence should be");
        }
        self.tokens = rest;
        Ok((*token).to_owned())
    }

    fn take(&mut self, token: &str) -> bool {
        match self.tokens.split_first() {
            Some((first, rest)) if *first == token => {
                self.tokens = rest;
                true
            }
            _ => false,
        }
    }
}

fn one_or(mut parts: Vec<Expression>, many: fn(Vec<Expression>) -> Expression) -> Expression {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        Some(last) => {
            parts.push(last);
            many(parts)
        }
        None => many(parts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, allowed: &[&str], expect: bool) {
        let met = Expression::parse(text)
            .unwrap()
            .is_met(&|licence| allowed.contains(&licence));
        assert_eq!(met, expect, "{text} with {allowed:?}");
    }

    #[test]
    fn expressions_are_met_by_what_is_allowed() {
        check("MIT", &["MIT"], true);
        check("MIT", &["Apache-2.0"], false);
        check("MIT OR Apache-2.0", &["Apache-2.0"], true);
        check("MIT/Apache-2.0", &["Apache-2.0"], true);
        check("MIT AND Apache-2.0", &["Apache-2.0"], false);
        check(
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            &["MIT", "Unicode-3.0"],
            true,
        );
        check("(MIT OR Apache-2.0) AND Unicode-3.0", &["MIT"], false);
        check("MIT OR Apache-2.0 AND GPL-3.0", &["MIT"], true);
        check("MIT OR Apache-2.0 AND GPL-3.0", &["Apache-2.0"], false);
        check("GPL-3.0-only OR LGPL-2.1-or-later", &["MIT"], false);
    }

    #[test]
    fn an_exception_is_a_licence_of_its_own() {
        check(
            "Apache-2.0 WITH LLVM-exception OR MIT",
            &["Apache-2.0 WITH LLVM-exception"],
            true,
        );
        check("Apache-2.0 WITH LLVM-exception", &["Apache-2.0"], false);
        check(
            "GPL-2.0+ WITH Classpath-exception-2.0",
            &["GPL-2.0+"],
            false,
        );
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        for text in [
            "",
            "MIT OR",
            "OR MIT",
            "(MIT",
            "MIT)",
            "MIT Apache-2.0",
            "MIT AND OR Zlib",
            "MIT WITH",
            "see the file",
        ] {
            assert!(Expression::parse(text).is_err(), "{text}");
        }
    }
}
