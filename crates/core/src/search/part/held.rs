//! The words of one tool, seen from the tool.

/// One word of one tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    /// The word, shortened.
    pub(crate) word: u32,
    /// As in [`super::Posting`].
    pub(crate) impact: u16,
    /// The fields it stands in.
    pub(crate) fields: u16,
}

/// Every word of one tool once, by number. The numbers stand side by side, because most looks at a
/// tool ask only whether it holds a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeldWords<'a> {
    /// The numbers of the words, then what is known of each: impact below, fields above.
    packed: &'a [u32],
}

/// Numbers in a line of memory, on most machines.
const LINE_NUMBERS: usize = 16;

impl<'a> HeldWords<'a> {
    /// Puts these words, which come in any order, behind what is packed already.
    pub(crate) fn pack(held: &mut [Held], to: &mut Vec<u32>) {
        held.sort_unstable_by_key(|h| h.word);
        to.extend(held.iter().map(|h| h.word));
        let known = held
            .iter()
            .map(|h| u32::from(h.impact) | (u32::from(h.fields) << 16));
        to.extend(known);
    }

    /// Words as they were packed; `None` where they were not.
    pub(crate) fn of(packed: &'a [u32]) -> Option<Self> {
        packed.len().is_multiple_of(2).then_some(Self { packed })
    }

    /// Reads a number of every line of memory of it. Whoever is to look at many tools does this for all of
    /// them first: so memory is asked for them at once, and not for each when its turn has come. What it
    /// gives is good for nothing, but makes it be read.
    #[inline]
    pub(crate) fn warm(self) -> u32 {
        let lines = self.packed.chunks(LINE_NUMBERS);
        lines.fold(0, |sum, line| sum ^ line[0])
    }

    /// How many there are.
    pub(crate) fn len(self) -> usize {
        self.packed.len() / 2
    }

    /// The numbers of the words, in order.
    pub(crate) fn words(self) -> &'a [u32] {
        &self.packed[..self.len()]
    }

    /// The word at a place.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the two halves of a number"
    )]
    pub(crate) fn at(self, place: usize) -> Held {
        let known = self.packed[self.len() + place];
        Held {
            word: self.packed[place],
            impact: known as u16,
            fields: (known >> 16) as u16,
        }
    }

    /// A word by its number.
    pub(crate) fn get(self, word: u32) -> Option<Held> {
        let place = self.words().binary_search(&word).ok()?;
        Some(self.at(place))
    }

    /// All of them, in order.
    #[cfg(test)]
    pub(crate) fn iter(self) -> impl ExactSizeIterator<Item = Held> {
        (0..self.len()).map(move |place| self.at(place))
    }
}
