//! The words of one tool, seen from the tool.

/// One word of one tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    /// The word, shortened.
    pub(crate) word: u32,
    /// As in [`super::Posting`].
    pub(crate) impact: u16,
    /// As in [`super::Posting`].
    pub(crate) fields: u16,
}

/// Every word of one tool once, by number. The numbers stand side by side, because most looks at a
/// tool ask only whether it holds a word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeldWords {
    /// The numbers of the words, then what is known of each: impact below, fields above.
    packed: Box<[u32]>,
}

impl HeldWords {
    /// These words, in any order.
    pub(crate) fn of(mut held: Vec<Held>) -> Self {
        held.sort_unstable_by_key(|h| h.word);
        let words = held.iter().map(|h| h.word);
        let known = held
            .iter()
            .map(|h| u32::from(h.impact) | (u32::from(h.fields) << 16));
        Self {
            packed: words.chain(known).collect(),
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.packed.len() / 2
    }

    /// The numbers of the words, in order.
    pub(crate) fn words(&self) -> &[u32] {
        &self.packed[..self.len()]
    }

    /// The word at a place.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the two halves of a number"
    )]
    pub(crate) fn at(&self, place: usize) -> Held {
        let known = self.packed[self.len() + place];
        Held {
            word: self.packed[place],
            impact: known as u16,
            fields: (known >> 16) as u16,
        }
    }

    /// A word by its number.
    pub(crate) fn get(&self, word: u32) -> Option<Held> {
        let place = self.words().binary_search(&word).ok()?;
        Some(self.at(place))
    }

    /// All of them, in order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = Held> {
        (0..self.len()).map(|place| self.at(place))
    }
}
