//! The tools of one word, seen from the word.

use crate::limits::SEARCH_SERVER_TOOLS_MAX;

/// One word of one tool, seen from the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Posting(u32);

/// Binary digits of an impact, which is at most [`crate::search::field::IMPACT_ONE`].
const IMPACT_DIGITS: u32 = 12;
const _: () = assert!(SEARCH_SERVER_TOOLS_MAX <= 1 << (32 - IMPACT_DIGITS));

impl Posting {
    /// The tool's place in the part and how much the word says about it, see
    /// [`crate::search::Weights`].
    pub(crate) fn new(tool: u32, impact: u16) -> Self {
        debug_assert!(tool >> (32 - IMPACT_DIGITS) == 0 && impact >> IMPACT_DIGITS == 0);
        Self((tool << IMPACT_DIGITS) | u32::from(impact))
    }

    pub(super) fn of_written(packed: u32) -> Self {
        Self(packed)
    }

    pub(super) fn written(self) -> u32 {
        self.0
    }

    /// The tool's place in the part.
    #[inline]
    pub(crate) fn tool(self) -> u32 {
        self.0 >> IMPACT_DIGITS
    }

    /// How much the word says about the tool.
    #[inline]
    pub(crate) fn impact(self) -> u32 {
        self.0 & ((1 << IMPACT_DIGITS) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::field::IMPACT_ONE;

    #[test]
    fn a_posting_holds_the_greatest_numbers() {
        let tool = u32::try_from(SEARCH_SERVER_TOOLS_MAX - 1).unwrap();
        let posting = Posting::new(tool, u16::try_from(IMPACT_ONE).unwrap());
        assert_eq!((posting.tool(), posting.impact()), (tool, IMPACT_ONE));
        assert_eq!(Posting::of_written(posting.written()), posting);
    }
}
