//! Globs, regular expressions, and the rules that switch tools on and off.
//!
//! A [`Pattern`] is compiled once and then tried on names. Globs (`*issue*`, `{get,list}_?`,
//! `github:[a-m]*`) are anchored and ignore case; they are tried on the tool's name and, where they
//! hold a `:`, on `server:tool`. Regular expressions (`/^create_/i`) have JavaScript's syntax, are
//! searched for anywhere in the tool's name and respect case unless `i` says otherwise. A leading
//! `!` makes either an exclusion, see [`PatternList`].
//!
//! Matching is bounded. Where a bound is reached the answer is [`Outcome::GaveUp`], which is not a
//! match and which [`rules`] turn into a denial.

mod bank;
mod ecma;
mod engine;
mod error;
mod fold;
mod glob;
mod list;
pub mod rules;
mod syntax;

use std::cell::OnceCell;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

pub use error::{PatternError, Problem};
pub use list::{Finding, PatternList, matches, matches_with_server};

use crate::limits;
use engine::Engine;
use error::at;
use glob::Segments;
use syntax::{LINE_BREAKS, Node};

/// What trying a pattern on a name gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The name matches.
    Yes,
    /// It does not.
    No,
    /// Whether it matches was not found out within the bounds.
    GaveUp(GiveUp),
}

/// Why a pattern gave up on a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GiveUp {
    /// The regular expression backtracked more often than [`limits::PATTERN_BACKTRACK_STEPS_MAX`].
    Steps,
    /// The name is longer than [`limits::PATTERN_NAME_BYTES_MAX`].
    NameTooLong,
    /// The name holds a line break, which wildcards do not match: a name could hide behind it.
    LineBreak,
}

impl fmt::Display for GiveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps => write!(
                f,
                "it took more than {} steps on this name",
                limits::PATTERN_BACKTRACK_STEPS_MAX
            ),
            Self::NameTooLong => write!(
                f,
                "the name is longer than {} bytes",
                limits::PATTERN_NAME_BYTES_MAX
            ),
            Self::LineBreak => f.write_str("the name holds a line break"),
        }
    }
}

/// One compiled pattern.
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts about the text, independent of each other"
)]
#[derive(Clone, Debug)]
pub struct Pattern {
    text: Arc<str>,
    negated: bool,
    body: Body,
    /// Whether it is also tried on `server:tool`.
    qualified: bool,
    /// Whether a line break in a name can keep it from matching.
    stops_at_line_breaks: bool,
    everything: bool,
    needles: Option<Vec<String>>,
    steps: usize,
}

#[derive(Clone, Debug)]
enum Body {
    Plain(Segments),
    Engine(Engine),
}

impl Pattern {
    /// Compiles a pattern as it stands in a rule: a glob, or `/…/flags`, with or without a `!`.
    pub fn new(text: &str) -> Result<Self, PatternError> {
        if text.len() > limits::PATTERN_TEXT_BYTES_MAX {
            let bytes = text.len();
            return Err(at(text, 0, Problem::TooLong { bytes }));
        }
        let (negated, body) = match text.strip_prefix('!') {
            Some(body) => (true, body),
            None => (false, text),
        };
        let start = usize::from(negated);
        match body.strip_prefix('/').and_then(|rest| rest.rfind('/')) {
            Some(length) => {
                let end = start + 1 + body[1..=length].chars().count();
                Self::regex(text, negated, start + 1, end)
            }
            None => Self::glob(text, negated, start),
        }
    }

    /// The body is the characters `start..end`, the flags what follows the slash at `end`.
    fn regex(text: &str, negated: bool, start: usize, end: usize) -> Result<Self, PatternError> {
        let flags = ecma::Flags::parse(text, end + 1)?;
        let node = ecma::parse(text, start, end, flags)?;
        let engine = Engine::new(&node, flags.ignore_case, false)
            .map_err(|problem| at(text, start, problem))?;
        Ok(Self {
            text: text.into(),
            negated,
            body: Body::Engine(engine),
            qualified: false,
            stops_at_line_breaks: node.any(&|node| *node == Node::Dot),
            everything: node.matches_every_name(),
            needles: node.needles(),
            steps: node.steps(),
        })
    }

    fn glob(text: &str, negated: bool, start: usize) -> Result<Self, PatternError> {
        let node = glob::parse(text, start)?;
        let qualified = text.contains(':');
        let stops_at_line_breaks = node.any(&|node| *node == Node::Dot);
        if let Some(segments) = Segments::of(&node) {
            return Ok(Self {
                text: text.into(),
                negated,
                qualified,
                stops_at_line_breaks,
                everything: segments.is_star() || segments.is_any_qualified(),
                needles: segments.needle().map(|needle| vec![needle.to_owned()]),
                steps: 0,
                body: Body::Plain(segments),
            });
        }
        let engine = Engine::new(&node, true, true).map_err(|problem| at(text, start, problem))?;
        Ok(Self {
            text: text.into(),
            negated,
            body: Body::Engine(engine),
            qualified,
            stops_at_line_breaks,
            everything: false,
            needles: node.needles(),
            steps: node.steps(),
        })
    }

    /// The pattern as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it starts with `!` and so excludes what it matches.
    pub fn is_negated(&self) -> bool {
        self.negated
    }

    /// Whether the glob or regular expression matches a tool, its `!` left aside. Without a server a
    /// glob that holds a `:` is tried on the tool's name alone.
    pub fn test(&self, server: Option<&str>, tool: &str) -> Outcome {
        self.try_on(&Subject::new(server, tool))
    }

    fn try_on(&self, subject: &Subject<'_>) -> Outcome {
        if subject.too_long {
            return Outcome::GaveUp(GiveUp::NameTooLong);
        }
        let found = match &self.body {
            Body::Plain(segments) => Ok(segments.matches(&subject.folded)
                || self.qualified
                    && subject
                        .qualified()
                        .is_some_and(|names| segments.matches(&names.folded))),
            Body::Engine(engine) => {
                engine
                    .test(subject.tool)
                    .and_then(|found| match subject.qualified() {
                        Some(names) if self.qualified && !found => engine.test(&names.exact),
                        _ => Ok(found),
                    })
            }
        };
        match found {
            Ok(true) => Outcome::Yes,
            Ok(false) if self.stops_at_line_breaks && subject.line_break => {
                Outcome::GaveUp(GiveUp::LineBreak)
            }
            Ok(false) => Outcome::No,
            Err(why) => Outcome::GaveUp(why),
        }
    }

    /// Whether every name that `other` matches is certain to be matched by this pattern, the `!` of
    /// either left aside. May miss a pair that needs more than a look at the text.
    fn covers(&self, other: &Self) -> bool {
        let bare = |pattern: &Self| usize::from(pattern.negated);
        if self.everything || self.text[bare(self)..] == other.text[bare(other)..] {
            return true;
        }
        match (&self.body, &other.body) {
            (Body::Plain(wide), Body::Plain(narrow)) => {
                self.qualified == other.qualified && wide.covers(narrow)
            }
            _ => false,
        }
    }
}

/// A tool's names, folded once for all patterns.
struct Subject<'a> {
    server: Option<&'a str>,
    tool: &'a str,
    folded: std::borrow::Cow<'a, str>,
    qualified: OnceCell<Option<Qualified>>,
    line_break: bool,
    too_long: bool,
}

/// `server:tool`, as it is spelled and folded.
struct Qualified {
    exact: String,
    folded: String,
}

impl<'a> Subject<'a> {
    fn new(server: Option<&'a str>, tool: &'a str) -> Self {
        let bytes = tool.len() + server.map_or(0, str::len);
        Self {
            server,
            tool,
            folded: fold::fold(tool),
            qualified: OnceCell::new(),
            line_break: tool.contains(LINE_BREAKS),
            too_long: bytes > limits::PATTERN_NAME_BYTES_MAX,
        }
    }

    fn qualified(&self) -> Option<&Qualified> {
        let names = self.qualified.get_or_init(|| {
            let exact = format!("{}:{}", self.server?, self.tool);
            let folded = fold::fold(&exact).into_owned();
            Some(Qualified { exact, folded })
        });
        names.as_ref()
    }
}
