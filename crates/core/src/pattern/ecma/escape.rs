//! Escapes and character classes.

use super::{Failure, Parser};
use crate::pattern::engine;
use crate::pattern::error::Problem;
use crate::pattern::syntax::{Class, Node, WORD};

const DIGIT: &[(char, char)] = &[('0', '9')];

/// JavaScript's white space, sorted.
const SPACE: &[(char, char)] = &[
    ('\t', '\r'),
    (' ', ' '),
    ('\u{a0}', '\u{a0}'),
    ('\u{1680}', '\u{1680}'),
    ('\u{2000}', '\u{200a}'),
    ('\u{2028}', '\u{2029}'),
    ('\u{202f}', '\u{202f}'),
    ('\u{205f}', '\u{205f}'),
    ('\u{3000}', '\u{3000}'),
    ('\u{feff}', '\u{feff}'),
];

/// What one item of a class, or one escape, stands for.
enum Item {
    Char(char),
    Set(Class),
}

impl Parser {
    /// Reads an escape outside a class; the `\` has been read and stands at `start`.
    pub(super) fn escape(&mut self, start: usize) -> Result<Node, Failure> {
        match self.peek() {
            Some('b') => Ok(self.boundary(false)),
            Some('B') => Ok(self.boundary(true)),
            Some('k') => {
                self.pos += 1;
                self.named_reference(start)
            }
            Some('1'..='9') => {
                let number = self.number().unwrap_or(0);
                let known = usize::try_from(number).is_ok_and(|n| n <= self.groups.len());
                if !known {
                    return Err((start, Problem::UnknownReference(number.to_string())));
                }
                Ok(self.reference(number))
            }
            _ => Ok(match self.item_escape(start)? {
                Item::Char(c) => Node::Char(c),
                Item::Set(class) => Node::Class(class),
            }),
        }
    }

    fn boundary(&mut self, negated: bool) -> Node {
        self.pos += 1;
        Node::WordBoundary { negated }
    }

    fn named_reference(&mut self, start: usize) -> Result<Node, Failure> {
        if !self.eat("<") {
            return Err((start, Problem::BadGroupName));
        }
        let name = self.group_name()?;
        let position = self
            .groups
            .iter()
            .position(|held| held.as_ref() == Some(&name));
        match position.map(|i| u32::try_from(i + 1)) {
            Some(Ok(number)) => Ok(self.reference(number)),
            _ => Err((start, Problem::UnknownReference(name))),
        }
    }

    /// A group that is not closed yet has matched nothing, and in JavaScript nothing is what a
    /// reference to it matches. Look-behind is matched backwards, so there it may have.
    fn reference(&self, number: u32) -> Node {
        if self.closed.contains(&number) || self.backwards {
            Node::Reference(number)
        } else {
            Node::Empty
        }
    }

    /// Reads what may be escaped both inside and outside a class.
    fn item_escape(&mut self, start: usize) -> Result<Item, Failure> {
        let Some(c) = self.peek() else {
            return Err((start, Problem::TrailingBackslash));
        };
        self.pos += 1;
        let set = |ranges: &[(char, char)]| Item::Set(Class::of(ranges));
        Ok(match c {
            'd' => set(DIGIT),
            'D' => Item::Set(Class::all_but(DIGIT)),
            'w' => set(WORD),
            'W' => Item::Set(Class::all_but(WORD)),
            's' => set(SPACE),
            'S' => Item::Set(Class::all_but(SPACE)),
            't' => Item::Char('\t'),
            'n' => Item::Char('\n'),
            'v' => Item::Char('\u{b}'),
            'f' => Item::Char('\u{c}'),
            'r' => Item::Char('\r'),
            '0' if !self.peek().is_some_and(|c| c.is_ascii_digit()) => Item::Char('\0'),
            'c' => Item::Char(self.control(start)?),
            'x' => Item::Char(self.hex(start, 2)?),
            'u' => Item::Char(self.code_point(start)?),
            'p' | 'P' => Item::Set(self.property(start, c == 'P')?),
            letter if letter.is_ascii_alphanumeric() => return Err(self.bad_escape(start)),
            other => Item::Char(other),
        })
    }

    /// The escape as far as it was read, for the message.
    fn bad_escape(&self, start: usize) -> Failure {
        let end = self.pos.min(self.chars.len());
        let read: String = self.chars[start + 1..end].iter().collect();
        (start, Problem::BadEscape(read))
    }

    fn control(&mut self, start: usize) -> Result<char, Failure> {
        let letter = self.peek().filter(char::is_ascii_alphabetic);
        let code = letter.and_then(|c| u8::try_from(c).ok()).map(|b| b % 32);
        match code {
            Some(code) => {
                self.pos += 1;
                Ok(char::from(code))
            }
            None => Err(self.bad_escape(start)),
        }
    }

    fn hex_value(&mut self, start: usize, digits: usize) -> Result<u32, Failure> {
        let mut value = 0;
        for _ in 0..digits {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(16)) else {
                return Err(self.bad_escape(start));
            };
            value = value * 16 + digit;
            self.pos += 1;
        }
        Ok(value)
    }

    fn hex(&mut self, start: usize, digits: usize) -> Result<char, Failure> {
        let value = self.hex_value(start, digits)?;
        char::from_u32(value).ok_or_else(|| self.bad_escape(start))
    }

    /// Reads what follows `\u`: four digits, a surrogate pair, or `{…}`.
    fn code_point(&mut self, start: usize) -> Result<char, Failure> {
        if self.eat("{") {
            let mut value: u32 = 0;
            let first = self.pos;
            while let Some(digit) = self.peek().and_then(|c| c.to_digit(16)) {
                value = value.saturating_mul(16).saturating_add(digit);
                self.pos += 1;
            }
            let closed = self.pos > first && self.eat("}");
            return char::from_u32(value)
                .filter(|_| closed)
                .ok_or_else(|| self.bad_escape(start));
        }
        let high = self.hex_value(start, 4)?;
        if (0xd800..0xdc00).contains(&high) && self.eat("\\u") {
            let low = self.hex_value(start, 4)?;
            if (0xdc00..0xe000).contains(&low) {
                let value = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                return char::from_u32(value).ok_or_else(|| self.bad_escape(start));
            }
        }
        char::from_u32(high).ok_or_else(|| self.bad_escape(start))
    }

    fn property(&mut self, start: usize, negated: bool) -> Result<Class, Failure> {
        if !self.eat("{") {
            return Err(self.bad_escape(start));
        }
        let rest = &self.chars[self.pos..];
        let name: String = rest.iter().take_while(|c| **c != '}').collect();
        self.pos += name.chars().count();
        if !self.eat("}") || !engine::property_exists(&name) {
            return Err((start, Problem::UnknownProperty(name)));
        }
        Ok(Class {
            properties: vec![(name, negated)],
            ..Class::default()
        })
    }

    /// Reads a class; the `[` has been read and stands at `start`.
    pub(super) fn class(&mut self, start: usize) -> Result<Node, Failure> {
        let mut class = Class {
            negated: self.eat("^"),
            ..Class::default()
        };
        loop {
            if self.peek().is_none() {
                return Err((start, Problem::UnclosedClass));
            }
            if self.eat("]") {
                return Ok(Node::Class(class));
            }
            let at = self.pos;
            let first = self.class_item(start)?;
            let ranged =
                self.peek() == Some('-') && self.chars.get(self.pos + 1).is_some_and(|c| *c != ']');
            if !ranged {
                add(&mut class, first);
                continue;
            }
            self.pos += 1;
            match (first, self.class_item(start)?) {
                (Item::Char(from), Item::Char(to)) if to < from => {
                    return Err((at, Problem::RangeOutOfOrder { from, to }));
                }
                (Item::Char(from), Item::Char(to)) => class.ranges.push((from, to)),
                // `[\d-x]`: a set has no end, so the dash stands for itself.
                (first, second) => {
                    for item in [first, Item::Char('-'), second] {
                        add(&mut class, item);
                    }
                }
            }
        }
    }

    fn class_item(&mut self, class_start: usize) -> Result<Item, Failure> {
        let start = self.pos;
        let Some(c) = self.peek() else {
            return Err((class_start, Problem::UnclosedClass));
        };
        self.pos += 1;
        if c != '\\' {
            return Ok(Item::Char(c));
        }
        if self.eat("b") {
            return Ok(Item::Char('\u{8}'));
        }
        self.item_escape(start)
    }
}

fn add(class: &mut Class, item: Item) {
    match item {
        Item::Char(c) => class.ranges.push((c, c)),
        Item::Set(set) => {
            class.ranges.extend(set.ranges);
            class.properties.extend(set.properties);
            class.outside.extend(set.outside);
        }
    }
}
