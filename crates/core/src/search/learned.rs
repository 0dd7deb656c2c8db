//! What was learned from public tool texts and queries, shipped as one table.

use super::words::WordId;

/// How many tools the background counts for, beside those of the catalog.
pub(crate) const BACKGROUND_TOOLS: f32 = 0.0;

/// The learned tables.
pub(crate) struct Learned;

impl Learned {
    /// The one that ships.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: Learned = Learned;
        &SHARED
    }

    /// The share of tools in general that hold a word.
    #[expect(clippy::unused_self, reason = "tables follow")]
    pub(crate) fn background(&self, _word: WordId) -> f32 {
        0.0
    }

    /// How much a word in a query tells about the tool that is meant, 1 for an ordinary one.
    #[expect(clippy::unused_self, reason = "tables follow")]
    pub(crate) fn say(&self, _word: WordId) -> f32 {
        1.0
    }
}
