//! A look at the tokens of a script before it is parsed: linear in time.
//!
//! The parser recurses, for brackets and for chains such as `!!!x`, `a ? b : c ? d : e` or
//! `if (a) if (b)`, and it tries some things twice where `<` or `(` may begin two different things.
//! How far either can go is bounded here. The scan sees every token as the parser does, because the
//! one thing it could not tell apart, a division from a regular expression, is refused.

use std::sync::Arc;

use toolcrib_core::limits::{
    CONFIG_SCRIPT_BRACKETS_MAX, CONFIG_SCRIPT_CHAIN_TOKENS_MAX, CONFIG_SCRIPT_PARENS_MAX,
    CONFIG_SCRIPT_PARENS_NESTED_MAX,
};

use super::super::brackets::{closes_nothing, closes_other, never_closed};
use super::super::tally::Excess;
use crate::diagnostic::Diagnostic;
use crate::text::{Source, Span};

/// Refuses a script that cannot be parsed within bounds.
pub(super) fn check(source: &Arc<Source>) -> Result<(), Box<Diagnostic>> {
    let mut scan = Scan {
        source,
        text: source.text(),
        at: 0,
        levels: vec![Level::default()],
        chain: 0,
        elses: 0,
        nested_parens: 0,
        nested_angles: 0,
        parens: 0,
        angles: 0,
    };
    if scan.text.starts_with("#!") {
        scan.at = scan.line_end();
    }
    while let Some(&byte) = scan.text.as_bytes().get(scan.at) {
        scan.token(byte)?;
    }
    match scan.levels.pop() {
        Some(level) if level.bracket != 0 => {
            Err(never_closed(source, level.bracket, level.at).into())
        }
        _ => Ok(()),
    }
}

/// An open bracket, or the file as a whole (bracket 0).
#[derive(Default)]
struct Level {
    bracket: u8,
    at: usize,
    /// Tokens since the last separator.
    chain: usize,
    /// Angle brackets that are open.
    angles: usize,
}

/// The hole of a template string: `${`.
const HOLE: u8 = b'$';

struct Scan<'s> {
    source: &'s Arc<Source>,
    text: &'s str,
    at: usize,
    levels: Vec<Level>,
    /// Sum of the chains of all levels.
    chain: usize,
    /// `else` continues a chain across any separator, so these are never taken back.
    elses: usize,
    nested_parens: usize,
    nested_angles: usize,
    parens: usize,
    angles: usize,
}

type Step<T = ()> = Result<T, Box<Diagnostic>>;

impl Scan<'_> {
    fn token(&mut self, byte: u8) -> Step {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => {
                self.at += 1;
                return Ok(());
            }
            b'/' => return self.comment(),
            b'\'' | b'"' => self.string(byte)?,
            b'`' => {
                self.at += 1;
                self.template()?;
            }
            b'(' | b'[' | b'{' => self.open(byte)?,
            b')' | b']' | b'}' => self.close(byte)?,
            b',' | b';' => self.separator(byte),
            b'<' | b'>' => self.angle(byte)?,
            _ if is_word(byte) => self.word(),
            _ => self.at += 1,
        }
        self.count()
    }

    fn count(&mut self) -> Step {
        self.chain += 1;
        if let Some(level) = self.levels.last_mut() {
            level.chain += 1;
        }
        if self.chain + self.elses > CONFIG_SCRIPT_CHAIN_TOKENS_MAX {
            return self.fail(
                "this statement is too long to be read",
                self.here(),
                "end statements with a semicolon, and write values out as literals",
            );
        }
        Ok(())
    }

    fn separator(&mut self, byte: u8) {
        self.at += 1;
        let Some(level) = self.levels.last_mut() else {
            return;
        };
        // Between angle brackets a comma separates types, and the chain goes on.
        if byte == b';' {
            self.nested_angles -= level.angles;
            level.angles = 0;
        }
        if level.angles == 0 {
            self.chain -= level.chain;
            level.chain = 0;
        }
    }

    fn word(&mut self) {
        let start = self.at;
        let rest = &self.text.as_bytes()[start..];
        self.at += rest.iter().take_while(|b| is_word(**b)).count();
        if &self.text[start..self.at] == "else" {
            self.elses += 1;
        }
    }

    fn open(&mut self, byte: u8) -> Step {
        if self.levels.len() > CONFIG_SCRIPT_BRACKETS_MAX {
            return Err(Excess::Depth.at(self.source, self.here()).into());
        }
        if byte == b'(' {
            self.parens += 1;
            self.nested_parens += 1;
            self.few(self.parens, self.nested_parens)?;
        }
        self.levels.push(Level {
            bracket: byte,
            at: self.at,
            ..Level::default()
        });
        self.at += 1;
        Ok(())
    }

    fn close(&mut self, byte: u8) -> Step {
        let opening = match byte {
            b')' => b'(',
            b']' => b'[',
            _ => b'{',
        };
        match self.levels.last() {
            Some(level) if level.bracket == HOLE && byte == b'}' => {
                self.pop();
                self.at += 1;
                self.template()
            }
            Some(level) if level.bracket == opening => {
                self.pop();
                if opening == b'(' {
                    self.nested_parens -= 1;
                }
                self.at += 1;
                Ok(())
            }
            Some(level) if level.bracket != 0 => {
                let bracket = level.bracket;
                Err(closes_other(self.source, byte, self.at, bracket, level.at).into())
            }
            _ => Err(closes_nothing(self.source, byte, self.at).into()),
        }
    }

    fn pop(&mut self) {
        if let Some(level) = self.levels.pop() {
            self.chain -= level.chain;
            self.nested_angles -= level.angles;
        }
    }

    fn angle(&mut self, byte: u8) -> Step {
        let before = &self.text[..self.at];
        let rest = &self.text[self.at..];
        let at_line_start = before.is_empty() || before.ends_with(['\n', '\r']);
        if rest.starts_with("<!--") || (byte == b'>' && before.ends_with("--")) {
            return self.fail(
                "HTML comments cannot stand in a script",
                self.here(),
                "begin the comment with //",
            );
        }
        if at_line_start && (rest.starts_with("<<<<<<<") || rest.starts_with(">>>>>>>")) {
            return self.fail(
                "a merge conflict is left in this file",
                Span::new(self.at, self.at + 7),
                "resolve the conflict and remove its markers",
            );
        }
        self.at += 1;
        let Some(level) = self.levels.last_mut() else {
            return Ok(());
        };
        if byte == b'<' {
            level.angles += 1;
            self.nested_angles += 1;
            self.angles += 1;
            return self.few(self.angles, self.nested_angles);
        }
        if level.angles > 0 && !before.ends_with('=') {
            level.angles -= 1;
            self.nested_angles -= 1;
        }
        Ok(())
    }

    fn few(&self, total: usize, nested: usize) -> Step {
        if total > CONFIG_SCRIPT_PARENS_MAX || nested > CONFIG_SCRIPT_PARENS_NESTED_MAX {
            return self.fail(
                "there are too many parentheses or angle brackets here",
                self.here(),
                "write values out as literals, and keep programs in other files",
            );
        }
        Ok(())
    }

    fn comment(&mut self) -> Step {
        let rest = &self.text[self.at..];
        if rest.starts_with("//") {
            self.at = self.line_end();
            return Ok(());
        }
        if let Some(inside) = rest.strip_prefix("/*") {
            let Some(length) = inside.find("*/") else {
                return self.fail(
                    "this comment is never closed",
                    Span::new(self.at, self.at + 2),
                    "close it with */",
                );
            };
            self.at += length + 4;
            return Ok(());
        }
        self.fail(
            "a configuration cannot have regular expressions or divisions",
            self.here(),
            "write a pattern as a string, for example 'get_.*', and the result of a division as a number",
        )
    }

    /// The end of the line as the parser sees it.
    fn line_end(&self) -> usize {
        let rest = &self.text[self.at..];
        let length = rest.find(['\n', '\r', '\u{2028}', '\u{2029}']);
        self.at + length.unwrap_or(rest.len())
    }

    fn string(&mut self, quote: u8) -> Step {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut at = start + 1;
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'\\' if bytes[at..].starts_with(b"\\\r\n") => at += 2,
                b'\\' => at += 1,
                b'\n' | b'\r' => break,
                _ if byte == quote => {
                    self.at = at + 1;
                    return Ok(());
                }
                _ => {}
            }
            at += 1;
        }
        let end = self.source.boundary(at.min(bytes.len()));
        self.fail(
            "this string is never closed",
            Span::new(start, end),
            "close it with the quote that it began with, on the same line",
        )
    }

    /// The text of a template string up to its end or its next hole.
    fn template(&mut self) -> Step {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut at = start;
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'`' => {
                    self.at = at + 1;
                    return Ok(());
                }
                b'\\' => at += 1,
                b'$' if bytes.get(at + 1) == Some(&b'{') => {
                    self.at = at + 1;
                    self.open(HOLE)?;
                    return Ok(());
                }
                _ => {}
            }
            at += 1;
        }
        let quote = start.saturating_sub(1);
        self.fail(
            "this template string is never closed",
            Span::new(quote, start),
            "close it with `",
        )
    }

    fn here(&self) -> Span {
        let next = self.text[self.at..].chars().next();
        Span::new(self.at, self.at + next.map_or(0, char::len_utf8))
    }

    fn fail<T>(&self, message: &str, span: Span, help: &str) -> Step<T> {
        Err(Diagnostic::error(message)
            .at(self.source, span)
            .help(help)
            .into())
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..)
}
