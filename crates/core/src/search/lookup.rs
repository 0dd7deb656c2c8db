//! From the words of tools to the terms of a wish that they speak for.

/// A word that speaks for a term of the wish.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spoken {
    /// The word, shortened.
    pub(crate) word: u32,
    /// Number of the term.
    pub(crate) term: u16,
    /// How well it speaks for it, above 0 up to 1.
    pub(crate) factor: f32,
}

/// The words that speak for terms, by their short numbers, for the second look at tools.
#[derive(Debug)]
pub(crate) struct Lookup {
    mask: usize,
    /// Which words may be there at all, by their low bits.
    present: [bool; PRESENT],
    /// Word and its range in `spoken`; an empty range is a vacant slot.
    slots: Vec<(u32, u16, u16)>,
    /// By word, then by term.
    spoken: Vec<Spoken>,
}

const PRESENT: usize = 2048;
/// How many words are looked at before those that may be there are looked up.
const BLOCK: usize = 64;

impl Lookup {
    /// These words; where one comes twice for a term, the better factor counts.
    pub(crate) fn of(mut spoken: Vec<Spoken>) -> Self {
        spoken.sort_unstable_by_key(|s| (u64::from(s.word) << 16) | u64::from(s.term));
        spoken.dedup_by(|again, first| {
            let same = (again.word, again.term) == (first.word, first.term);
            if same {
                first.factor = first.factor.max(again.factor);
            }
            same
        });
        let size = (spoken.len() * 2 + 1).next_power_of_two();
        let mut lookup = Self {
            mask: size - 1,
            present: [false; PRESENT],
            slots: vec![(0, 0, 0); size],
            spoken: Vec::new(),
        };
        let mut from = 0_u16;
        for group in spoken.chunk_by(|a, b| a.word == b.word) {
            let to = from + u16::try_from(group.len()).unwrap_or(0);
            lookup.insert(group[0].word, from, to);
            from = to;
        }
        lookup.spoken = spoken;
        lookup
    }

    fn insert(&mut self, word: u32, from: u16, to: u16) {
        self.present[word as usize % PRESENT] = true;
        let mut at = (word >> 11) as usize & self.mask;
        while self.slots[at].1 != self.slots[at].2 {
            at = (at + 1) & self.mask;
        }
        self.slots[at] = (word, from, to);
    }

    /// Whether a word may speak for a term; most that do not are told at a glance.
    #[inline]
    pub(crate) fn may_hold(&self, word: u32) -> bool {
        self.present[word as usize % PRESENT]
    }

    /// Terms that `word` speaks for, and how well; each term once.
    #[inline]
    pub(crate) fn get(&self, word: u32) -> &[Spoken] {
        if !self.may_hold(word) {
            return &[];
        }
        let mut at = (word >> 11) as usize & self.mask;
        loop {
            let (have, from, to) = self.slots[at];
            if from == to {
                return &[];
            }
            if have == word {
                return &self.spoken[usize::from(from)..usize::from(to)];
            }
            at = (at + 1) & self.mask;
        }
    }

    /// Calls `take(place, terms)` for those of the words that speak for terms, in order.
    ///
    /// Looks at many words before any of them is looked up: so there is no branch for each.
    #[inline]
    pub(crate) fn each(&self, words: &[u32], mut take: impl FnMut(usize, &[Spoken])) {
        for (number, block) in words.chunks(BLOCK).enumerate() {
            let mut found = 0_u64;
            let (eights, rest) = block.as_chunks::<8>();
            for eight in eights.iter().rev() {
                let mut bits = 0_u64;
                for (place, word) in eight.iter().enumerate() {
                    bits |= u64::from(self.may_hold(*word)) << place;
                }
                found = (found << 8) | bits;
            }
            for (place, word) in rest.iter().enumerate() {
                found |= u64::from(self.may_hold(*word)) << (eights.len() * 8 + place);
            }
            while found != 0 {
                let place = found.trailing_zeros() as usize;
                found &= found - 1;
                let terms = self.get(block[place]);
                if !terms.is_empty() {
                    take(number * BLOCK + place, terms);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spoken(word: u32, term: u16, factor: f32) -> Spoken {
        Spoken { word, term, factor }
    }

    #[test]
    fn a_word_speaks_for_each_term_once_and_as_well_as_it_can() {
        let lookup = Lookup::of(vec![
            spoken(7, 1, 0.4),
            spoken(7, 0, 1.0),
            spoken(7, 1, 0.7),
            spoken(7 + 2048, 2, 0.5),
        ]);
        assert_eq!(lookup.get(7), [spoken(7, 0, 1.0), spoken(7, 1, 0.7)]);
        assert_eq!(lookup.get(7 + 2048), [spoken(7 + 2048, 2, 0.5)]);
        assert_eq!(lookup.get(7 + 4096), []);
        assert!(Lookup::of(Vec::new()).get(7).is_empty());
    }

    proptest! {
        #[test]
        fn all_at_once_is_one_by_one(
            known in prop::collection::vec((0_u32..9_000, 0_u16..5), 0..80),
            words in prop::collection::vec(0_u32..9_000, 0..300),
        ) {
            let known = known.into_iter().map(|(word, term)| spoken(word, term, 1.0));
            let lookup = Lookup::of(known.collect());
            let mut found = Vec::new();
            lookup.each(&words, |place, terms| found.push((place, terms.to_vec())));
            let places = words.iter().map(|word| lookup.get(*word).to_vec()).enumerate();
            let expect: Vec<_> = places.filter(|(_, terms)| !terms.is_empty()).collect();
            prop_assert_eq!(found, expect);
        }
    }
}
