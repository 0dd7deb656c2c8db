//! Reading globs, and matching the plain ones without an engine.
//!
//! `*` is any run of characters, `?` one character, `[abc]`, `[a-z]`, `[!a]` and `[^a]` one character
//! of a class, `{a,b}` one of several. There is no escape: `\` stands for itself, and `[*]` for a
//! star. Braces without a comma and brackets or braces that are never closed stand for themselves.

use super::error::{PatternError, Problem, at};
use super::fold::fold_char;
use super::syntax::{Class, LINE_BREAKS, Node};
use crate::limits;

/// A character that Unicode never assigns, so that it is in no literal.
const ANYTHING: &str = "\u{10ffff}";

/// A glob of literals and stars only: the folded literals between the stars.
///
/// There is one more part than there are stars; the first and the last are anchored and may be empty.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Segments(Vec<String>);

impl Segments {
    /// The segments of a glob's tree, or `None` where it has more than literals and stars.
    pub(super) fn of(node: &Node) -> Option<Self> {
        let nodes = match node {
            Node::Concat(nodes) => nodes.as_slice(),
            Node::Empty => &[],
            _ => return None,
        };
        let mut parts = vec![String::new()];
        for node in nodes {
            match (node, parts.last_mut()) {
                (Node::Char(c), Some(part)) => part.push(fold_char(*c)),
                (Node::Repeat { .. }, _) => parts.push(String::new()),
                _ => return None,
            }
        }
        Some(Self(parts))
    }

    /// Whether it is one or more stars and nothing else.
    pub(super) fn is_star(&self) -> bool {
        self.0.len() > 1 && self.0.iter().all(String::is_empty)
    }

    /// Whether it is stars around a lone `:`, which every `server:tool` matches.
    pub(super) fn is_any_qualified(&self) -> bool {
        match self.0.as_slice() {
            [first, middle @ .., last] => {
                let mut parts = middle.iter().filter(|part| !part.is_empty());
                let colon = parts.next().is_some_and(|part| part == ":");
                first.is_empty() && last.is_empty() && colon && parts.next().is_none()
            }
            _ => false,
        }
    }

    /// The longest literal, which every name that matches holds.
    pub(super) fn needle(&self) -> Option<&str> {
        let longest = self.0.iter().max_by_key(|part| part.len())?;
        (!longest.is_empty()).then_some(longest)
    }

    /// Whether a folded name matches. Taking the first place where a literal fits never hides a
    /// match, because a later place only leaves less for what follows.
    pub(super) fn matches(&self, name: &str) -> bool {
        let [first, rest @ ..] = self.0.as_slice() else {
            return false;
        };
        let Some((last, middle)) = rest.split_last() else {
            return name == first;
        };
        if name.len() < first.len() + last.len()
            || !first.is_empty() && !name.starts_with(first.as_str())
            || !last.is_empty() && !name.ends_with(last.as_str())
        {
            return false;
        }
        let mut left = &name[first.len()..name.len() - last.len()];
        for part in middle {
            let Some(found) = find(left, part) else {
                return false;
            };
            if left[..found].contains(LINE_BREAKS) {
                return false;
            }
            left = &left[found + part.len()..];
        }
        !left.contains(LINE_BREAKS)
    }

    /// A text that stands for every name that matches: a character that is in no literal takes the
    /// place of each star.
    pub(super) fn sample(&self) -> String {
        self.0.join(ANYTHING)
    }

    /// Whether every name that `other` matches is matched by this one.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let holds = |segments: &Self| segments.0.iter().any(|part| part.contains(ANYTHING));
        !holds(self) && !holds(other) && self.matches(&other.sample())
    }
}

/// The first place of a literal. Names are a few dozen bytes, for which the standard search takes
/// longer to prepare than this takes to run.
fn find(text: &str, literal: &str) -> Option<usize> {
    let (text, literal) = (text.as_bytes(), literal.as_bytes());
    let Some((first, rest)) = literal.split_first() else {
        return Some(0);
    };
    let last_start = text.len().checked_sub(literal.len())?;
    (0..=last_start).find(|at| text[*at] == *first && text[at + 1..].starts_with(rest))
}

/// Reads a glob: the characters of `text` from `start` on.
pub(super) fn parse(text: &str, start: usize) -> Result<Node, PatternError> {
    let chars: Vec<char> = text.chars().collect();
    let marks = mark(&chars, start);
    let mut reader = Reader {
        chars: &chars,
        marks: &marks,
        pos: start,
        depth: 0,
    };
    reader
        .sequence()
        .map_err(|(offset, problem)| at(text, offset, problem))
}

/// What a character of a glob is, where that depends on what comes later.
#[derive(Clone, Copy, PartialEq)]
enum Mark {
    Plain,
    /// Opens a class that ends before this position.
    Class(usize),
    /// Opens braces, separates their branches, closes them.
    Open,
    Comma,
    Close,
}

/// Finds classes, and braces that close and hold a comma, in one pass.
fn mark(chars: &[char], start: usize) -> Vec<Mark> {
    let mut marks = vec![Mark::Plain; chars.len()];
    let mut open: Vec<(usize, Vec<usize>)> = Vec::new();
    let last_bracket = chars.iter().rposition(|c| *c == ']').unwrap_or(0);
    let mut pos = start;
    while let Some(c) = chars.get(pos) {
        match c {
            '[' if pos < last_bracket => {
                if let Some(end) = class_end(chars, pos) {
                    marks[pos] = Mark::Class(end);
                    pos = end;
                    continue;
                }
            }
            '{' => open.push((pos, Vec::new())),
            ',' => {
                if let Some((_, commas)) = open.last_mut() {
                    commas.push(pos);
                }
            }
            '}' => {
                if let Some((brace, commas)) = open.pop()
                    && !commas.is_empty()
                {
                    marks[brace] = Mark::Open;
                    marks[pos] = Mark::Close;
                    for comma in commas {
                        marks[comma] = Mark::Comma;
                    }
                }
            }
            _ => {}
        }
        pos += 1;
    }
    marks
}

/// The position after the `]` of the class that opens at `open`; a `]` that comes first is a member.
fn class_end(chars: &[char], open: usize) -> Option<usize> {
    let negated = matches!(chars.get(open + 1), Some('!' | '^'));
    let first = open + 1 + usize::from(negated);
    let close = chars.get(first + 1..)?.iter().position(|c| *c == ']')?;
    Some(first + 1 + close + 1)
}

struct Reader<'a> {
    chars: &'a [char],
    marks: &'a [Mark],
    pos: usize,
    depth: usize,
}

impl Reader<'_> {
    /// Reads up to the end, or to the comma or brace that ends a branch.
    fn sequence(&mut self) -> Result<Node, (usize, Problem)> {
        let mut nodes = Vec::new();
        while let Some((c, mark)) = self.chars.get(self.pos).zip(self.marks.get(self.pos)) {
            match (c, mark) {
                (_, Mark::Comma | Mark::Close) => break,
                (_, Mark::Open) => nodes.push(self.braces()?),
                (_, Mark::Class(end)) => nodes.push(self.class(*end)?),
                (c, Mark::Plain) => {
                    nodes.push(match c {
                        '*' => Node::Repeat {
                            node: Box::new(Node::Dot),
                            min: 0,
                            max: None,
                            greedy: true,
                        },
                        '?' => Node::Dot,
                        c => Node::Char(*c),
                    });
                    self.pos += 1;
                }
            }
        }
        Ok(if nodes.is_empty() {
            Node::Empty
        } else {
            Node::Concat(nodes)
        })
    }

    fn braces(&mut self) -> Result<Node, (usize, Problem)> {
        if self.depth == limits::PATTERN_NESTING_MAX {
            return Err((self.pos, Problem::TooDeep));
        }
        self.depth += 1;
        let mut branches = Vec::new();
        loop {
            self.pos += 1;
            branches.push(self.sequence()?);
            if self.marks.get(self.pos) != Some(&Mark::Comma) {
                break;
            }
        }
        self.pos += 1;
        self.depth -= 1;
        Ok(Node::Alternate(branches))
    }

    fn class(&mut self, end: usize) -> Result<Node, (usize, Problem)> {
        let negated = matches!(self.chars[self.pos + 1], '!' | '^');
        let start = self.pos + 1 + usize::from(negated);
        let members = &self.chars[start..end - 1];
        let mut ranges = Vec::new();
        let mut i = 0;
        while let Some(&from) = members.get(i) {
            let (to, width) = match members.get(i + 1..i + 3) {
                Some(['-', to]) => (*to, 3),
                _ => (from, 1),
            };
            if to < from {
                return Err((start + i, Problem::RangeOutOfOrder { from, to }));
            }
            i += width;
            ranges.push((from, to));
        }
        self.pos = end;
        Ok(Node::Class(Class {
            negated,
            ranges,
            ..Class::default()
        }))
    }
}
