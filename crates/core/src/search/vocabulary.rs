//! Every word of the catalog and the parts that hold it.

use std::sync::Arc;

use super::part::Part;
use super::spelling::Spelling;
use super::words::{QuickMap, WordId};
use crate::limits::SEARCH_STAND_INS_MAX;

/// Where the postings of a word stand in one part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) slot: u32,
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// One word of the catalog.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) id: WordId,
    pub(crate) text: Arc<str>,
    /// In how many tools it stands.
    pub(crate) tools: u32,
    /// By slot.
    pub(crate) places: Box<[Place]>,
}

impl Listed {
    fn new(id: WordId, text: Arc<str>, places: Vec<Place>) -> Self {
        Self {
            id,
            text,
            tools: places.iter().map(|p| p.len).sum(),
            places: places.into(),
        }
    }

    /// In how many tools of the scope it stands.
    pub(crate) fn tools_in(&self, slot: Option<u32>) -> u32 {
        match slot {
            None => self.tools,
            Some(slot) => self.place(slot).map_or(0, |p| p.len),
        }
    }

    /// Where it stands in the scope.
    pub(crate) fn places_in(&self, slot: Option<u32>) -> &[Place] {
        let Some(slot) = slot else {
            return &self.places;
        };
        let at = self.places.partition_point(|p| p.slot < slot);
        let here = self.places[at..].iter().take_while(|p| p.slot == slot);
        let count = here.count();
        &self.places[at..at + count]
    }

    /// Where it stands in one part.
    pub(crate) fn place(&self, slot: u32) -> Option<Place> {
        let at = self.places.binary_search_by_key(&slot, |p| p.slot).ok()?;
        Some(self.places[at])
    }
}

/// The words of all parts. Most of them are shared between an index and those that come of it by
/// changes; what has changed since stands beside them, until it is worth putting together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vocabulary {
    base: Arc<Glossary>,
    /// Glossary that are listed otherwise than in `base`; without places where they are gone.
    changed: Glossary,
    len: usize,
}

/// Glossary are put together anew when more than this share of them has changed.
const CHANGED_SHARE: usize = 4;

/// Some words, by text and by number.
#[derive(Clone, Debug, Default)]
struct Glossary {
    words: Vec<Arc<Listed>>,
    /// The number of each word.
    ids: Vec<WordId>,
    /// Letters and length of each word, to pass by what cannot be meant.
    marks: Vec<Mark>,
    /// Open addressing: places in `words` plus one, 0 for vacant.
    table: Vec<u32>,
    /// For each byte that a word may begin with, where those begin that begin with it or a later one.
    firsts: Vec<u32>,
}

impl Glossary {
    /// These words, which come by text.
    fn of(words: Vec<Arc<Listed>>) -> Self {
        let ids: Vec<WordId> = words.iter().map(|w| w.id).collect();
        let marks = words.iter().map(|w| Mark::of(&w.text)).collect();
        let size = (ids.len() * 2 + 1).next_power_of_two();
        let mut table = vec![0; size];
        for (number, id) in (1_u32..).zip(&ids) {
            let mut at = slot_of(*id, size);
            while table[at] != 0 {
                at = (at + 1) & (size - 1);
            }
            table[at] = number;
        }
        let first = |word: &Arc<Listed>| word.text.as_bytes().first().copied().unwrap_or(0);
        let mut firsts = vec![0; 257];
        for word in &words {
            firsts[usize::from(first(word)) + 1] += 1;
        }
        for byte in 1..firsts.len() {
            firsts[byte] += firsts[byte - 1];
        }
        Self {
            words,
            ids,
            marks,
            table,
            firsts,
        }
    }

    fn get(&self, id: WordId) -> Option<&Arc<Listed>> {
        if self.words.is_empty() {
            return None;
        }
        let mask = self.table.len() - 1;
        let mut at = slot_of(id, self.table.len());
        while self.table[at] != 0 {
            let place = self.table[at] as usize - 1;
            if self.ids[place] == id {
                return Some(&self.words[place]);
            }
            at = (at + 1) & mask;
        }
        None
    }

    /// Places of the words that begin with `prefix`.
    fn range(&self, prefix: &str) -> std::ops::Range<usize> {
        let [first, rest @ ..] = prefix.as_bytes() else {
            return 0..self.words.len();
        };
        let Some([from, to]) = self
            .firsts
            .get(usize::from(*first)..usize::from(*first) + 2)
        else {
            return 0..0;
        };
        let (from, to) = (*from as usize, *to as usize);
        if rest.is_empty() {
            return from..to;
        }
        let from = from + self.words[from..to].partition_point(|w| *w.text < *prefix);
        let count = self.words[from..to].partition_point(|w| w.text.starts_with(prefix));
        from..from + count
    }

    /// Calls `take` for every word that begins with `word` and for how many letters are left of it.
    fn begun<'s>(&'s self, word: &Wanted<'_>, mut take: impl FnMut(&'s Arc<Listed>, usize)) {
        for listed in &self.words[self.range(word.text)] {
            let extra = listed.text.chars().count();
            take(listed, extra.saturating_sub(word.letters.len()));
        }
    }

    /// Calls `take` for every word that is at most so many typing errors away, and for how many.
    fn near<'s>(
        &'s self,
        word: &Wanted<'_>,
        spelling: &Spelling,
        errors_max: usize,
        mut take: impl FnMut(&'s Arc<Listed>, usize),
    ) {
        let firsts = match word.letters {
            [first, second, ..] if first == second => &word.letters[..1],
            letters => &letters[..letters.len().min(2)],
        };
        for first in firsts {
            let range = self.range(first.encode_utf8(&mut [0; 4]));
            for (at, mark) in range.clone().zip(&self.marks[range]) {
                if !word.mark.is_near(*mark, errors_max) {
                    continue;
                }
                let listed = &self.words[at];
                let errors = spelling.distance(&listed.text);
                if errors <= errors_max {
                    take(listed, errors);
                }
            }
        }
    }
}

/// A word that is looked for.
struct Wanted<'a> {
    text: &'a str,
    letters: &'a [char],
    mark: Mark,
}

impl Vocabulary {
    /// The words of `parts`, which are `(slot, part)`.
    pub(crate) fn build<'a>(parts: impl Iterator<Item = (u32, &'a Part)>) -> Self {
        let parts: Vec<(u32, &Part)> = parts.collect();
        // First each word gets a number, then its places: so every list is made in its length at once.
        let mut numbers: QuickMap<WordId, u32> = QuickMap::default();
        let mut met: Vec<(WordId, &str, usize)> = Vec::new();
        let mut order = Vec::with_capacity(parts.iter().map(|(_, part)| part.words().len()).sum());
        for (text, word) in parts.iter().flat_map(|(_, part)| part.words()) {
            let number = *numbers.entry(word.id).or_insert_with(|| {
                met.push((word.id, text, 0));
                u32::try_from(met.len() - 1).unwrap_or(u32::MAX)
            });
            met[number as usize].2 += 1;
            order.push(number);
        }
        let lists = met.iter().map(|(_, _, count)| Vec::with_capacity(*count));
        let mut lists: Vec<Vec<Place>> = lists.collect();
        let placed = parts.iter().flat_map(|&(slot, part)| {
            let words = part.words();
            words.map(move |(_, word)| Place {
                slot,
                start: word.start,
                len: word.len,
            })
        });
        for (number, place) in order.into_iter().zip(placed) {
            lists[number as usize].push(place);
        }
        let words = met
            .into_iter()
            .zip(lists)
            .map(|((id, text, _), mut places)| {
                if !places.is_sorted_by_key(|p| p.slot) {
                    places.sort_unstable_by_key(|p| p.slot);
                }
                Arc::new(Listed::new(id, text.into(), places))
            });
        Self::of(words.collect())
    }

    /// These words, in any order.
    fn of(mut words: Vec<Arc<Listed>>) -> Self {
        words.sort_unstable_by(|a, b| a.text.cmp(&b.text));
        Self {
            len: words.len(),
            base: Arc::new(Glossary::of(words)),
            changed: Glossary::default(),
        }
    }

    /// The same words with those of one slot taken out and put in anew.
    pub(crate) fn replace(&self, slot: u32, old: Option<&Part>, new: Option<&Part>) -> Self {
        let mut touched: Vec<(&str, WordId, Option<Place>)> = Vec::new();
        for (text, word) in new.into_iter().flat_map(Part::words) {
            let (start, len) = (word.start, word.len);
            touched.push((text, word.id, Some(Place { slot, start, len })));
        }
        let gone = old.into_iter().flat_map(Part::words);
        touched.extend(gone.map(|(text, word)| (text, word.id, None)));
        // A word of both stands twice, and where it is now stands first.
        touched.sort_by(|a, b| a.0.cmp(b.0));
        touched.dedup_by_key(|word| word.1);
        let mut len = self.len;
        let mut fresh: Vec<Arc<Listed>> = Vec::with_capacity(touched.len());
        for (text, id, place) in touched {
            let known = self.listed(id);
            let mut places: Vec<Place> = known.map_or_else(Vec::new, |w| w.places.to_vec());
            len -= usize::from(!places.is_empty());
            places.retain(|p| p.slot != slot);
            if let Some(place) = place {
                places.insert(places.partition_point(|p| p.slot < slot), place);
            }
            len += usize::from(!places.is_empty());
            let text = known.map_or_else(|| text.into(), |w| Arc::clone(&w.text));
            fresh.push(Arc::new(Listed::new(id, text, places)));
        }
        let fresh = Glossary::of(fresh);
        let stale = self.changed.words.iter();
        let mut changed: Vec<Arc<Listed>> = stale
            .filter(|w| fresh.get(w.id).is_none())
            .cloned()
            .collect();
        changed.extend(fresh.words);
        if changed.len() * CHANGED_SHARE > self.base.words.len() {
            let changed = Glossary::of(changed);
            let kept = self.base.words.iter();
            let kept = kept.filter(|w| changed.get(w.id).is_none()).cloned();
            let here = changed.words.iter().filter(|w| w.tools > 0).cloned();
            return Self::of(kept.chain(here).collect());
        }
        changed.sort_unstable_by(|a, b| a.text.cmp(&b.text));
        Self {
            base: Arc::clone(&self.base),
            changed: Glossary::of(changed),
            len,
        }
    }

    /// How many words there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// A word by its number.
    pub(crate) fn get(&self, id: WordId) -> Option<&Arc<Listed>> {
        self.listed(id).filter(|word| word.tools > 0)
    }

    fn listed(&self, id: WordId) -> Option<&Arc<Listed>> {
        self.changed.get(id).or_else(|| self.base.get(id))
    }

    /// Glossary that an unknown word may have meant, with factors: those it begins, and those a
    /// typing error away. At most [`SEARCH_STAND_INS_MAX`], the likeliest first.
    pub(crate) fn stand_ins(&self, word: &str, slot: Option<u32>) -> Vec<(&Arc<Listed>, f32)> {
        let letters: Vec<char> = word.chars().collect();
        if letters.len() < 3 || letters.iter().any(char::is_ascii_digit) {
            return Vec::new();
        }
        let wanted = Wanted {
            text: word,
            letters: &letters,
            mark: Mark::of(word),
        };
        let errors_max = match letters.len() {
            0..=3 => 0,
            4..=7 => 1,
            _ => 2,
        };
        let mut found: Vec<(&Arc<Listed>, f32)> = Vec::new();
        let spelling = Spelling::of(&letters).filter(|_| errors_max > 0);
        for (words, may_be_stale) in [(&self.changed, false), (&*self.base, true)] {
            let is_here = |listed: &Arc<Listed>| {
                let stale = may_be_stale && self.changed.get(listed.id).is_some();
                !stale && listed.tools_in(slot) > 0
            };
            words.begun(&wanted, |listed, extra| {
                if extra > 0 && is_here(listed) {
                    found.push((listed, if extra <= 2 { 0.6 } else { 0.4 }));
                }
            });
            let Some(spelling) = &spelling else {
                continue;
            };
            words.near(&wanted, spelling, errors_max, |listed, errors| {
                let again = found.iter().any(|(have, _)| have.id == listed.id);
                if !again && is_here(listed) {
                    found.push((listed, if errors <= 1 { 0.7 } else { 0.4 }));
                }
            });
        }
        found.sort_by(|a, b| {
            b.1.total_cmp(&a.1)
                .then_with(|| b.0.tools_in(slot).cmp(&a.0.tools_in(slot)))
                .then_with(|| a.0.text.cmp(&b.0.text))
        });
        found.truncate(SEARCH_STAND_INS_MAX);
        found
    }
}

/// Which letters a word holds, and how many.
#[derive(Clone, Copy, Debug)]
struct Mark {
    letters: u32,
    len: u8,
}

impl Mark {
    fn of(word: &str) -> Self {
        let mut mark = Self { letters: 0, len: 0 };
        for letter in word.chars() {
            mark.letters |= 1 << (u32::from(letter) & 31);
            mark.len = mark.len.saturating_add(1);
        }
        mark
    }

    /// Whether a word with the other mark can be one or two typing errors away: one error changes at
    /// most two letters, and the length by one.
    fn is_near(self, other: Self, errors: usize) -> bool {
        // Takes ones away rather than counting them: not every processor counts by itself.
        let without = |letters: u32| letters & letters.wrapping_sub(1);
        let mut unlike = without(without(self.letters ^ other.letters));
        if errors > 1 {
            unlike = without(without(unlike));
        }
        // One question instead of two, neither of which is to be foreseen.
        let longer = usize::from(self.len.abs_diff(other.len)) > errors;
        unlike | u32::from(longer) == 0
    }
}

fn slot_of(id: WordId, size: usize) -> usize {
    (id >> 20) as usize & (size - 1)
}
