//! The revisions of the protocol and the two eras they fall into.

use std::fmt;

/// A revision of MCP. Later ones compare greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// The first one.
    V2024_11_05,
    /// Streamable HTTP, and the only one with batches.
    V2025_03_26,
    /// Structured results and elicitation.
    V2025_06_18,
    /// The last one with a handshake.
    V2025_11_25,
    /// Stateless: every request says what its client can do.
    V2026_07_28,
}

impl Revision {
    /// All revisions that are served, oldest first.
    pub const ALL: [Revision; 5] = [
        Revision::V2024_11_05,
        Revision::V2025_03_26,
        Revision::V2025_06_18,
        Revision::V2025_11_25,
        Revision::V2026_07_28,
    ];
    /// What `initialize` agrees on when the client asks for something else.
    pub const LAST_WITH_HANDSHAKE: Revision = Revision::V2025_11_25;
    /// The revisions that `server/discover` offers: those that work without a handshake.
    pub const STATELESS: [Revision; 1] = [Revision::V2026_07_28];

    /// The revision of a date, if it is served.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == text)
    }

    /// The date that names it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Revision::V2024_11_05 => "2024-11-05",
            Revision::V2025_03_26 => "2025-03-26",
            Revision::V2025_06_18 => "2025-06-18",
            Revision::V2025_11_25 => "2025-11-25",
            Revision::V2026_07_28 => "2026-07-28",
        }
    }

    /// Whether requests stand alone, without a handshake before them.
    pub const fn is_stateless(self) -> bool {
        matches!(self, Revision::V2026_07_28)
    }

    /// Whether several messages may come in one array.
    pub const fn has_batches(self) -> bool {
        matches!(self, Revision::V2025_03_26)
    }

    /// Whether wrong parameters of a tool are told in a result instead of a protocol error.
    pub const fn tells_bad_arguments_in_results(self) -> bool {
        matches!(self, Revision::V2025_11_25 | Revision::V2026_07_28)
    }

    /// What a handshake that asks for `wanted` agrees on.
    pub fn negotiate(wanted: &str) -> Self {
        Self::parse(wanted)
            .filter(|known| !known.is_stateless())
            .unwrap_or(Self::LAST_WITH_HANDSHAKE)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handshake_agrees_on_what_was_asked_for_or_the_last_with_one() {
        let check = |wanted: &str, agreed: &str| {
            assert_eq!(Revision::negotiate(wanted).as_str(), agreed);
        };
        check("2024-11-05", "2024-11-05");
        check("2025-03-26", "2025-03-26");
        check("2025-06-18", "2025-06-18");
        check("2025-11-25", "2025-11-25");
        check("2026-07-28", "2025-11-25");
        check("1999-01-01", "2025-11-25");
        check("", "2025-11-25");
    }

    #[test]
    fn revisions_are_ordered_and_named_by_date() {
        assert!(Revision::ALL.is_sorted());
        for revision in Revision::ALL {
            assert_eq!(Revision::parse(&revision.to_string()), Some(revision));
        }
        assert_eq!(
            Revision::ALL.map(Revision::has_batches),
            [false, true, false, false, false]
        );
        assert_eq!(
            Revision::ALL.map(Revision::tells_bad_arguments_in_results),
            [false, false, false, true, true]
        );
    }
}
