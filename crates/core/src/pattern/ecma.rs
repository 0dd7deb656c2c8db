//! Reading JavaScript's regular expressions.
//!
//! The syntax is that of ECMAScript with two leanings, both away from silent surprises: characters
//! are code points and `\u{…}` and `\p{…}` work, as under the `u` flag, whether it is given or not;
//! and what only the legacy grammar accepts with another meaning than it looks like (octal escapes,
//! `\A` for the letter A) is an error. Lone `]`, `{` and `}` stay literal.

mod escape;

use std::collections::HashSet;

use super::error::{PatternError, Problem, at};
use super::syntax::{Class, Node};
use crate::limits;

/// The letters after the closing slash.
#[expect(
    clippy::struct_excessive_bools,
    reason = "flags are independent of each other"
)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Flags {
    pub(super) ignore_case: bool,
    multi_line: bool,
    dot_all: bool,
    sticky: bool,
}

impl Flags {
    /// Reads the flags that stand in `text` from the character `offset` on. `g` and `d` change
    /// nothing when a text is only tested, and `u` is always in force.
    pub(super) fn parse(text: &str, offset: usize) -> Result<Self, PatternError> {
        let mut flags = Self::default();
        let mut seen = Vec::new();
        for (i, c) in text.chars().enumerate().skip(offset) {
            if seen.contains(&c) {
                return Err(at(text, i, Problem::RepeatedFlag(c)));
            }
            seen.push(c);
            match c {
                'i' => flags.ignore_case = true,
                'm' => flags.multi_line = true,
                's' => flags.dot_all = true,
                'y' => flags.sticky = true,
                'd' | 'g' | 'u' => {}
                _ => return Err(at(text, i, Problem::UnknownFlag(c))),
            }
        }
        Ok(flags)
    }
}

/// Reads the body of a regular expression: the characters `start..end` of `text`.
pub(super) fn parse(
    text: &str,
    start: usize,
    end: usize,
    flags: Flags,
) -> Result<Node, PatternError> {
    let mut parser = Parser {
        chars: text.chars().take(end).collect(),
        pos: start,
        flags,
        depth: 0,
        groups: Vec::new(),
        opened: 0,
        closed: HashSet::new(),
        backwards: false,
    };
    let parsed = parser.find_groups().and_then(|()| parser.whole());
    let node = parsed.map_err(|(offset, problem)| at(text, offset, problem))?;
    Ok(if flags.sticky {
        Node::Concat(vec![Node::Start, node])
    } else {
        node
    })
}

/// A problem and the character at which it stands.
type Failure = (usize, Problem);

struct Parser {
    chars: Vec<char>,
    pos: usize,
    flags: Flags,
    depth: usize,
    /// One entry for each capturing group, with its name.
    groups: Vec<Option<String>>,
    /// How many capturing groups have been opened, and which are closed again.
    opened: u32,
    closed: HashSet<u32>,
    /// Whether the current position is matched backwards, as look-behind is.
    backwards: bool,
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.pos).copied()
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.looking_at(text);
        if found {
            self.pos += text.chars().count();
        }
        found
    }

    fn looking_at(&self, text: &str) -> bool {
        let rest = &self.chars[self.pos.min(self.chars.len())..];
        text.chars().count() <= rest.len() && text.chars().zip(rest).all(|(a, b)| a == *b)
    }

    /// Counts and names the capturing groups ahead of time, because references may precede them.
    fn find_groups(&mut self) -> Result<(), Failure> {
        let start = self.pos;
        let mut in_class = false;
        while let Some(c) = self.peek() {
            self.pos += 1;
            match c {
                '\\' => self.pos += 1,
                '[' => in_class = true,
                ']' => in_class = false,
                '(' if !in_class && self.peek() != Some('?') => self.groups.push(None),
                '(' if !in_class
                    && self.looking_at("?<")
                    && !self.looking_at("?<=")
                    && !self.looking_at("?<!") =>
                {
                    self.pos += 2;
                    let from = self.pos;
                    let name = self.group_name()?;
                    if self.groups.iter().flatten().any(|held| *held == name) {
                        return Err((from, Problem::DuplicateGroupName(name)));
                    }
                    self.groups.push(Some(name));
                }
                _ => {}
            }
        }
        self.pos = start;
        Ok(())
    }

    fn whole(&mut self) -> Result<Node, Failure> {
        let node = self.disjunction()?;
        match self.peek() {
            None => Ok(node),
            Some(_) => Err((self.pos, Problem::UnopenedGroup)),
        }
    }

    fn disjunction(&mut self) -> Result<Node, Failure> {
        let mut branches = vec![self.alternative()?];
        while self.eat("|") {
            branches.push(self.alternative()?);
        }
        Ok(match branches.pop() {
            Some(only) if branches.is_empty() => only,
            last => Node::Alternate(branches.into_iter().chain(last).collect()),
        })
    }

    fn alternative(&mut self) -> Result<Node, Failure> {
        let mut terms = Vec::new();
        while let Some(c) = self.peek() {
            if c == '|' || c == ')' {
                break;
            }
            terms.push(self.term()?);
        }
        Ok(match terms.pop() {
            None => Node::Empty,
            Some(only) if terms.is_empty() => only,
            last => Node::Concat(terms.into_iter().chain(last).collect()),
        })
    }

    fn term(&mut self) -> Result<Node, Failure> {
        let start = self.pos;
        // Among the assertions only look-ahead may be repeated, as the legacy grammar has it.
        let assertions = ["^", "$", "\\b", "\\B", "(?<=", "(?<!"];
        let repeatable = !assertions.iter().any(|text| self.looking_at(text));
        let atom = self.atom()?;
        let at_quantifier = self.pos;
        let Some((min, max)) = self.quantifier() else {
            return Ok(atom);
        };
        if !repeatable {
            return Err((at_quantifier, Problem::NothingToRepeat));
        }
        if max.is_some_and(|max| max < min) {
            return Err((at_quantifier, Problem::RepeatOutOfOrder));
        }
        let greedy = !self.eat("?");
        if atom.is_zero_width() {
            // Repeating what consumes nothing changes nothing, and the engines refuse to.
            return Ok(match min {
                0 => Node::Alternate(vec![Node::Empty, atom]),
                _ => atom,
            });
        }
        let node = Node::Repeat {
            node: Box::new(atom),
            min,
            max,
            greedy,
        };
        if node.steps() > limits::PATTERN_STEPS_MAX {
            return Err((start, Problem::TooLarge));
        }
        Ok(node)
    }

    fn atom(&mut self) -> Result<Node, Failure> {
        let start = self.pos;
        if self.quantifier().is_some() {
            return Err((start, Problem::NothingToRepeat));
        }
        let Some(c) = self.peek() else {
            return Ok(Node::Empty);
        };
        self.pos += 1;
        Ok(match c {
            '^' if self.flags.multi_line => Node::LineStart,
            '^' => Node::Start,
            '$' if self.flags.multi_line => Node::LineEnd,
            '$' => Node::End,
            '.' if self.flags.dot_all => Node::Class(Class::everything()),
            '.' => Node::Dot,
            '(' => return self.group(start),
            '[' => return self.class(start),
            '\\' => return self.escape(start),
            other => Node::Char(other),
        })
    }

    /// Reads `*`, `+`, `?`, `{n}`, `{n,}` or `{n,m}`; anything else is left where it stands.
    fn quantifier(&mut self) -> Option<(u32, Option<u32>)> {
        let start = self.pos;
        let found = match self.peek()? {
            '*' => (0, None),
            '+' => (1, None),
            '?' => (0, Some(1)),
            '{' => {
                self.pos += 1;
                let found = self.counts();
                if found.is_none() || self.peek() != Some('}') {
                    self.pos = start;
                    return None;
                }
                self.pos += 1;
                return found;
            }
            _ => return None,
        };
        self.pos += 1;
        Some(found)
    }

    fn counts(&mut self) -> Option<(u32, Option<u32>)> {
        let min = self.number()?;
        if !self.eat(",") {
            return Some((min, Some(min)));
        }
        Some((min, self.number()))
    }

    fn number(&mut self) -> Option<u32> {
        let mut value: Option<u32> = None;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
            let so_far = value.unwrap_or(0);
            value = Some(so_far.saturating_mul(10).saturating_add(digit));
            self.pos += 1;
        }
        value
    }

    fn group(&mut self, start: usize) -> Result<Node, Failure> {
        self.depth += 1;
        if self.depth > limits::PATTERN_NESTING_MAX {
            return Err((start, Problem::TooDeep));
        }
        let outer = (self.flags, self.backwards);
        let look = |behind, negated| {
            move |node| Node::Look {
                node,
                behind,
                negated,
            }
        };
        let node = if !self.eat("?") {
            self.capture(start)?
        } else if self.eat(":") {
            self.inside(start, |node| *node)?
        } else if self.looking_at("=") || self.looking_at("!") {
            let negated = self.looking_at("!");
            self.pos += 1;
            self.backwards = false;
            self.inside(start, look(false, negated))?
        } else if self.looking_at("<=") || self.looking_at("<!") {
            let negated = self.looking_at("<!");
            self.pos += 2;
            self.backwards = true;
            self.inside(start, look(true, negated))?
        } else if self.eat("<") {
            self.group_name()?;
            self.capture(start)?
        } else {
            self.modifiers(start)?;
            let insensitive = self.flags.ignore_case;
            self.inside(start, |node| Node::Case { insensitive, node })?
        };
        (self.flags, self.backwards) = outer;
        self.depth -= 1;
        Ok(node)
    }

    fn capture(&mut self, start: usize) -> Result<Node, Failure> {
        self.opened += 1;
        let number = self.opened;
        let node = self.inside(start, |node| Node::Capture(number, node))?;
        self.closed.insert(number);
        Ok(node)
    }

    fn inside(
        &mut self,
        start: usize,
        wrap: impl FnOnce(Box<Node>) -> Node,
    ) -> Result<Node, Failure> {
        let node = self.disjunction()?;
        if !self.eat(")") {
            return Err((start, Problem::UnclosedGroup));
        }
        Ok(wrap(Box::new(node)))
    }

    /// Reads the letters of `(?ims-ims:`.
    fn modifiers(&mut self, start: usize) -> Result<(), Failure> {
        let mut on = true;
        loop {
            match self.peek() {
                Some('i') => self.flags.ignore_case = on,
                Some('m') => self.flags.multi_line = on,
                Some('s') => self.flags.dot_all = on,
                Some('-') if on => on = false,
                Some(':') => break,
                _ => return Err((start, Problem::UnknownGroup)),
            }
            self.pos += 1;
        }
        self.pos += 1;
        Ok(())
    }

    /// Reads a name and the `>` after it.
    fn group_name(&mut self) -> Result<String, Failure> {
        let start = self.pos;
        let rest = self.chars.get(start..).unwrap_or_default();
        let name: String = rest.iter().take_while(|c| **c != '>').collect();
        let legal = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
        let named = !name.is_empty()
            && !name.starts_with(|c: char| c.is_numeric())
            && name.chars().all(legal);
        self.pos += name.chars().count();
        if !named || !self.eat(">") {
            return Err((start, Problem::BadGroupName));
        }
        Ok(name)
    }
}
