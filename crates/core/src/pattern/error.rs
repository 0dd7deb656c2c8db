//! What can be wrong with a pattern, and where in it.

use std::fmt;

use crate::limits;

/// Longest part of a pattern that a message repeats.
const EXCERPT_CHARS_MAX: usize = 80;

/// A pattern that cannot be used: which one, where in it, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    /// The pattern as it was written, with `!` and slashes.
    pub pattern: String,
    /// Where the problem starts, in characters from the start of `pattern`.
    pub offset: usize,
    /// What is wrong.
    pub problem: Problem,
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let excerpt = Excerpt(&self.pattern);
        let position = self.offset + 1;
        write!(
            f,
            "pattern {excerpt} is not valid at character {position}: {}",
            self.problem
        )
    }
}

impl std::error::Error for PatternError {}

/// A pattern in a message: quoted, and cut where it would fill the screen.
pub(super) struct Excerpt<'a>(pub(super) &'a str);

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(EXCERPT_CHARS_MAX) {
            None => write!(f, "`{}`", self.0),
            Some((end, _)) => write!(f, "`{}…`", &self.0[..end]),
        }
    }
}

/// One way in which a pattern can be wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The text itself is too long.
    #[error(
        "it is {bytes} bytes long, shorten it to at most {}",
        limits::PATTERN_TEXT_BYTES_MAX
    )]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// Repetitions and classes make it too large once compiled.
    #[error("it becomes too large once its repetitions are multiplied out, use smaller ones")]
    TooLarge,
    /// Groups or braces stand too deep inside each other.
    #[error(
        "groups are nested deeper than {}, flatten them",
        limits::PATTERN_NESTING_MAX
    )]
    TooDeep,
    /// A `(` without its `)`.
    #[error("this group is never closed, add `)` or write `\\(`")]
    UnclosedGroup,
    /// A `)` without its `(`.
    #[error("this `)` closes no group, remove it or write `\\)`")]
    UnopenedGroup,
    /// A `[` without its `]`.
    #[error("this class is never closed, add `]` or write `\\[`")]
    UnclosedClass,
    /// `(?` followed by something that JavaScript does not know.
    #[error("JavaScript has no such group, use `(?:`, `(?=`, `(?!`, `(?<=`, `(?<!` or `(?<name>`")]
    UnknownGroup,
    /// The name in `(?<name>` or `\k<name>` is missing or malformed.
    #[error("a group's name is letters, digits, `_` and `$`, closed by `>`")]
    BadGroupName,
    /// Two groups of the same name.
    #[error("two groups are named `{0}`, rename one")]
    DuplicateGroupName(String),
    /// A quantifier with nothing before it that could be repeated.
    #[error("there is nothing to repeat before this, escape it with `\\` to match it literally")]
    NothingToRepeat,
    /// `{5,2}`.
    #[error("the numbers of this repetition are in the wrong order")]
    RepeatOutOfOrder,
    /// `[z-a]`.
    #[error("the range `{from}-{to}` is in the wrong order, write `{to}-{from}`")]
    RangeOutOfOrder {
        /// Where the range begins.
        from: char,
        /// Where it ends.
        to: char,
    },
    /// A `\` with nothing after it.
    #[error("the `\\` at the end escapes nothing, write `\\\\` for a backslash")]
    TrailingBackslash,
    /// An escape that JavaScript does not know, or that is cut short.
    #[error("`\\{0}` is no escape of JavaScript, leave out the `\\` or complete it")]
    BadEscape(String),
    /// A back-reference to a group that is not there.
    #[error("there is no group `{0}` to refer to")]
    UnknownReference(String),
    /// `\p{…}` with a property that Unicode does not have.
    #[error("`{0}` is no Unicode property, use for example `\\p{{L}}` or `\\p{{Script=Greek}}`")]
    UnknownProperty(String),
    /// A letter or other character after the closing slash that is no flag.
    #[error(
        "`{0}` is no flag of a regular expression (use d, g, i, m, s, u, y); to match a path, start it with `[/]`"
    )]
    UnknownFlag(char),
    /// The same flag twice.
    #[error("the flag `{0}` is given twice, remove one")]
    RepeatedFlag(char),
    /// Valid JavaScript that the engines cannot run.
    #[error("this regular expression cannot be compiled ({0}), write it more simply")]
    Unsupported(String),
}

/// Builds an error at a character of a pattern.
pub(super) fn at(pattern: &str, offset: usize, problem: Problem) -> PatternError {
    PatternError {
        pattern: pattern.to_owned(),
        offset,
        problem,
    }
}
