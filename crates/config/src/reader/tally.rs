//! Bounds on what a file may grow to while it is read, and the numbers that can be kept.

use std::sync::Arc;

use serde_json::Number;
use toolcrib_core::limits::{
    CONFIG_DEPTH_MAX, CONFIG_NODES_MAX, CONFIG_STRING_BYTES_MAX, CONFIG_TEXT_BYTES_MAX,
};

use crate::diagnostic::Diagnostic;
use crate::text::{Source, Span};

/// How much of a file has been built so far: values, and bytes of keys and strings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    nodes: usize,
    bytes: usize,
}

/// Which bound a file is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Excess {
    Nodes,
    Bytes,
    StringBytes,
    Depth,
}

impl Tally {
    /// So many values and bytes.
    pub(super) fn of(nodes: usize, bytes: usize) -> Self {
        Self { nodes, bytes }
    }

    /// Both together.
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            nodes: self.nodes.saturating_add(other.nodes),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    /// Counts one value.
    pub(super) fn value(&mut self) -> Result<(), Excess> {
        self.add(Self { nodes: 1, bytes: 0 })
    }

    /// Counts the bytes of one key or string.
    pub(super) fn text(&mut self, text: &str) -> Result<(), Excess> {
        if text.len() > CONFIG_STRING_BYTES_MAX {
            return Err(Excess::StringBytes);
        }
        self.bytes(text.len())
    }

    /// Counts bytes of text.
    pub(super) fn bytes(&mut self, bytes: usize) -> Result<(), Excess> {
        self.add(Self { nodes: 0, bytes })
    }

    /// Counts what an alias or a spread repeats.
    pub(super) fn add(&mut self, cost: Self) -> Result<(), Excess> {
        *self = self.plus(cost);
        if self.nodes > CONFIG_NODES_MAX {
            Err(Excess::Nodes)
        } else if self.bytes > CONFIG_TEXT_BYTES_MAX {
            Err(Excess::Bytes)
        } else {
            Ok(())
        }
    }

    /// What was counted after `earlier`.
    pub(super) fn since(self, earlier: Self) -> Self {
        Self {
            nodes: self.nodes - earlier.nodes,
            bytes: self.bytes - earlier.bytes,
        }
    }
}

impl Excess {
    /// The finding that says so.
    pub(super) fn at(self, source: &Arc<Source>, span: Span) -> Diagnostic {
        let message = match self {
            Self::Nodes => format!("the file holds more than {CONFIG_NODES_MAX} values here"),
            Self::Bytes => {
                format!("the file holds more than {CONFIG_TEXT_BYTES_MAX} bytes of text here")
            }
            Self::StringBytes => {
                format!("this string is longer than {CONFIG_STRING_BYTES_MAX} bytes")
            }
            Self::Depth => format!("this is nested more than {CONFIG_DEPTH_MAX} levels deep"),
        };
        let help = match self {
            Self::Nodes | Self::Bytes => {
                "split the configuration, or repeat fewer aliases and constants"
            }
            Self::StringBytes => "keep long text in a file of its own",
            Self::Depth => "flatten the value; no setting needs such depth",
        };
        Diagnostic::error(message).at(source, span).help(help)
    }
}

/// Why a number cannot be kept.
pub(super) const NUMBER_TOO_LARGE: &str = "this number is too large to be kept exactly";
/// What to do about a number that cannot be kept.
pub(super) const NUMBER_HELP: &str = "put it in quotes if it is meant as text";

/// A decimal number in JSON's spelling, where it can be kept: whole numbers exactly, others finite.
pub(super) fn number(text: &str) -> Option<Number> {
    if text.contains(['.', 'e', 'E']) {
        return text.parse::<f64>().ok().and_then(Number::from_f64);
    }
    text.parse::<i64>()
        .map(Number::from)
        .or_else(|_| text.parse::<u64>().map(Number::from))
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_exact_or_refused() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(
                number(text).map(|n| n.to_string()).as_deref(),
                expected,
                "{text}"
            );
        };
        check("0", Some("0"));
        check("-12", Some("-12"));
        check("18446744073709551615", Some("18446744073709551615"));
        check("18446744073709551616", None);
        check("-9223372036854775809", None);
        check(&"9".repeat(400), None);
        check("1.5", Some("1.5"));
        check("1e3", Some("1000.0"));
        check("1e999", None);
        check("-1e999", None);
        check("x", None);
    }

    #[test]
    fn the_tally_says_which_bound_is_passed() {
        let mut tally = Tally::default();
        assert_eq!(
            tally.text(&"x".repeat(CONFIG_STRING_BYTES_MAX + 1)),
            Err(Excess::StringBytes)
        );
        let before = tally;
        tally.value().unwrap();
        tally.text("abc").unwrap();
        let cost = tally.since(before);
        assert_eq!(cost, Tally { nodes: 1, bytes: 3 });
        let huge = Tally {
            nodes: CONFIG_NODES_MAX,
            bytes: 0,
        };
        assert_eq!(tally.add(huge), Err(Excess::Nodes));
        let mut tally = Tally::default();
        let long = Tally {
            nodes: 0,
            bytes: CONFIG_TEXT_BYTES_MAX + 1,
        };
        assert_eq!(tally.add(long), Err(Excess::Bytes));
    }
}
