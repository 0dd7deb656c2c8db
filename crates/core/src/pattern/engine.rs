//! Running a pattern's tree: written out for `regex`, or for `fancy-regex` where it looks around.

use std::fmt::Write as _;

use super::GiveUp;
use super::error::Problem;
use super::syntax::{Class, LINE_BREAKS, Node, WORD};
use crate::limits;

/// A compiled tree.
#[derive(Clone, Debug)]
pub(super) enum Engine {
    /// Linear in the text, whatever the pattern.
    Linear(regex::Regex),
    /// Backtracks, with a limit; boxed because it is rare and large.
    Backtracking(Box<fancy_regex::Regex>),
}

impl Engine {
    /// Compiles a tree; `whole` anchors it at both ends.
    pub(super) fn new(node: &Node, insensitive: bool, whole: bool) -> Result<Self, Problem> {
        if node.steps() > limits::PATTERN_STEPS_MAX {
            return Err(Problem::TooLarge);
        }
        let backtracks = node.any(&|n| {
            matches!(
                n,
                Node::Look { .. } | Node::Reference(_) | Node::LineStart | Node::LineEnd
            )
        });
        let mut writer = Writer {
            out: String::new(),
            backtracks,
            referenced: references(node),
        };
        if insensitive {
            writer.out.push_str("(?i)");
        }
        if whole {
            writer.out.push_str(r"\A(?:");
            writer.node(node);
            writer.out.push_str(r")\z");
        } else {
            writer.node(node);
        }
        if backtracks {
            backtracking(&writer.out)
        } else {
            linear(&writer.out)
        }
    }

    /// Whether the text matches; an error when the limit was reached before that was known.
    pub(super) fn test(&self, text: &str) -> Result<bool, GiveUp> {
        match self {
            Self::Linear(regex) => Ok(regex.is_match(text)),
            Self::Backtracking(regex) => regex.is_match(text).map_err(|_| GiveUp::Steps),
        }
    }
}

fn linear(source: &str) -> Result<Engine, Problem> {
    regex::RegexBuilder::new(source)
        .size_limit(limits::PATTERN_COMPILED_BYTES_MAX)
        .dfa_size_limit(limits::PATTERN_COMPILED_BYTES_MAX)
        .build()
        .map(Engine::Linear)
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => Problem::TooLarge,
            other => Problem::Unsupported(last_line(&other.to_string())),
        })
}

fn backtracking(source: &str) -> Result<Engine, Problem> {
    fancy_regex::RegexBuilder::new(source)
        .backtrack_limit(limits::PATTERN_BACKTRACK_STEPS_MAX)
        .delegate_size_limit(limits::PATTERN_COMPILED_BYTES_MAX)
        .delegate_dfa_size_limit(limits::PATTERN_COMPILED_BYTES_MAX)
        .build()
        .map(|regex| Engine::Backtracking(Box::new(regex)))
        .map_err(|error| match &error {
            fancy_regex::Error::CompileError(inner) => match &**inner {
                fancy_regex::CompileError::InnerError(build) if build.size_limit().is_some() => {
                    Problem::TooLarge
                }
                other => Problem::Unsupported(last_line(&other.to_string())),
            },
            other => Problem::Unsupported(last_line(&other.to_string())),
        })
}

/// Engines explain themselves over several lines, the reason being on the last.
fn last_line(message: &str) -> String {
    let line = message.lines().last().unwrap_or(message).trim();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

/// Whether Unicode has the property, as it stands between the braces of `\p{…}`.
pub(super) fn property_exists(name: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '=');
    name.chars().all(legal) && regex::Regex::new(&format!(r"\p{{{name}}}")).is_ok()
}

/// The numbers of all groups that a tree refers to, each once.
fn references(node: &Node) -> Vec<u32> {
    let mut found: Vec<u32> = match node {
        Node::Reference(number) => vec![*number],
        _ => node.children().iter().flat_map(references).collect(),
    };
    found.sort_unstable();
    found.dedup();
    found
}

/// Writes a tree in the syntax that both engines share.
struct Writer {
    out: String,
    backtracks: bool,
    /// The groups that are referred to; the others need not capture.
    referenced: Vec<u32>,
}

impl Writer {
    fn node(&mut self, node: &Node) {
        match node {
            Node::Empty => self.out.push_str("(?:)"),
            Node::Char(c) => self.char(*c),
            Node::Dot => self.class(&Class {
                negated: true,
                ..Class::of(&LINE_BREAKS.map(|c| (c, c)))
            }),
            Node::Class(class) => self.class(class),
            Node::Start => self.out.push_str(r"\A"),
            Node::End => self.out.push_str(r"\z"),
            Node::LineStart => self.line_edge(r"\A", "(?<="),
            Node::LineEnd => self.line_edge(r"\z", "(?="),
            Node::WordBoundary { negated } => self.word_boundary(*negated),
            Node::Capture(number, node) => {
                let captures = self.referenced.contains(number);
                self.group(if captures { "(" } else { "(?:" }, node);
            }
            Node::Case { insensitive, node } => {
                self.group(if *insensitive { "(?i:" } else { "(?-i:" }, node);
            }
            Node::Concat(nodes) => nodes.iter().for_each(|node| self.node(node)),
            Node::Alternate(nodes) => {
                for (i, node) in nodes.iter().enumerate() {
                    self.out.push_str(if i == 0 { "(?:" } else { "|" });
                    self.node(node);
                }
                self.out.push(')');
            }
            Node::Repeat {
                node,
                min,
                max,
                greedy,
            } => {
                self.group("(?:", node);
                let lazy = if *greedy { "" } else { "?" };
                // Writing to a String cannot fail.
                let _ = match (min, max) {
                    (min, Some(max)) => write!(self.out, "{{{min},{max}}}{lazy}"),
                    (0, None) => write!(self.out, "*{lazy}"),
                    (1, None) => write!(self.out, "+{lazy}"),
                    (min, None) => write!(self.out, "{{{min},}}{lazy}"),
                };
            }
            Node::Look {
                node,
                behind,
                negated,
            } => self.group(
                match (behind, negated) {
                    (false, false) => "(?=",
                    (false, true) => "(?!",
                    (true, false) => "(?<=",
                    (true, true) => "(?<!",
                },
                node,
            ),
            // In JavaScript a group that took no part matches the empty text.
            Node::Reference(group) => {
                let before = self.referenced.iter().filter(|number| *number <= group);
                let group = before.count();
                let _ = write!(self.out, r"(?({group})\{group}|)");
            }
        }
    }

    fn group(&mut self, open: &str, node: &Node) {
        self.out.push_str(open);
        self.node(node);
        self.out.push(')');
    }

    fn char(&mut self, c: char) {
        if c.is_ascii_alphanumeric() || c == '_' {
            self.out.push(c);
        } else {
            let _ = write!(self.out, r"\x{{{:x}}}", u32::from(c));
        }
    }

    fn class(&mut self, class: &Class) {
        if class.is_empty() {
            let everything = Class::everything();
            let negated = !class.negated;
            return self.class(&Class {
                negated,
                ..everything
            });
        }
        self.out.push_str(if class.negated { "[^" } else { "[" });
        for &(from, to) in &class.ranges {
            self.char(from);
            if from != to {
                self.out.push('-');
                self.char(to);
            }
        }
        for set in &class.outside {
            self.class(&Class {
                negated: true,
                ..Class::of(set)
            });
        }
        for (name, negated) in &class.properties {
            let letter = if *negated { 'P' } else { 'p' };
            let _ = write!(self.out, r"\{letter}{{{name}}}");
        }
        self.out.push(']');
    }

    fn line_edge(&mut self, text_edge: &str, look: &str) {
        let _ = write!(self.out, "(?:{text_edge}|{look}");
        self.class(&Class::of(&LINE_BREAKS.map(|c| (c, c))));
        self.out.push_str("))");
    }

    /// JavaScript's word characters are ASCII. `fancy-regex` cannot leave Unicode mode inside a
    /// pattern, so there the boundary is spelled out.
    fn word_boundary(&mut self, negated: bool) {
        if !self.backtracks {
            let boundary = if negated { r"(?-u:\B)" } else { r"(?-u:\b)" };
            return self.out.push_str(boundary);
        }
        let (inside, outside) = if negated {
            ("(?=", "(?!")
        } else {
            ("(?!", "(?=")
        };
        self.out.push_str("(?-i:(?<=");
        self.class(&Class::of(WORD));
        let _ = write!(self.out, "){inside}");
        self.class(&Class::of(WORD));
        self.out.push_str(")|(?<!");
        self.class(&Class::of(WORD));
        let _ = write!(self.out, "){outside}");
        self.class(&Class::of(WORD));
        self.out.push_str("))");
    }
}
