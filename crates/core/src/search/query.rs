//! A wish in plain words, read once: its words, its values, and the names it spells out.

use std::sync::Arc;

use super::lexicon::Lexicon;
use super::meaning::{Meaning, Packed};
use super::part::key_id;
use super::values::{self, Span};
use super::wishes;
use super::words::{Heard, Reader, Word, WordId, key};
use crate::limits::{SEARCH_QUERY_BYTES_MAX, SEARCH_QUERY_WORDS_MAX, SEARCH_STAND_INS_MAX};

/// One word of the wish and the words that may stand in for it.
#[derive(Clone, Debug)]
pub(crate) struct Term {
    /// The word itself.
    pub(crate) word: Arc<Word>,
    /// What the word counts, 1 for an ordinary one.
    pub(crate) weight: f32,
    /// The word and its stand-ins, with their factors; the word comes first.
    pub(crate) variants: Vec<(WordId, f32)>,
    /// Groups of actions it belongs to.
    pub(crate) actions: u32,
    /// Whether it stands only in values.
    pub(crate) value: bool,
    /// The wish it belongs to.
    pub(crate) wish: u8,
}

/// A query as the ranking sees it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    /// Words with weight, each once, in the order of the text.
    pub(crate) terms: Vec<Term>,
    /// Neighbouring words: numbers of two terms.
    pub(crate) pairs: Vec<(u32, u32)>,
    /// Kinds of values it holds.
    pub(crate) kinds: u16,
    /// What each wish is about; the whole query first, then the wishes where there are several.
    pub(crate) about: Vec<Packed>,
    /// Spelling of the whole query.
    pub(crate) whole: u64,
    /// Spellings of the identifiers in it.
    pub(crate) mentions: Vec<u64>,
}

/// What a word inside a value counts.
const VALUE_WEIGHT: f32 = 0.35;

/// Room for the variants that a catalog adds to a word: those it may have meant, and what it is
/// together with its neighbours.
const VARIANTS_MORE: usize = SEARCH_STAND_INS_MAX + 3;

impl Query {
    /// Reads a query; a word's second occurrence only confirms the first.
    pub(crate) fn read(text: &str, reader: &mut Reader) -> Self {
        let text = cut(text);
        let spans = values::spans(text);
        let heard = reader.hear(text);
        let mut query = Self {
            kinds: spans.iter().fold(0, |kinds, s| kinds | s.kind),
            whole: key_id(&key(text)),
            mentions: mentions(text),
            ..Self::default()
        };
        let starts = wishes::beginnings(text, &heard, &spans);
        query.words(&heard, &spans, &starts, false);
        if query.terms.is_empty() {
            query.words(&heard, &spans, &starts, true);
        }
        let meaning = Meaning::shared();
        query
            .about
            .push(meaning.query(&heard, &spans, 0..text.len()));
        if starts.len() > 1 {
            let ends = starts.iter().skip(1).copied().chain([text.len()]);
            for (start, end) in starts.iter().zip(ends) {
                query.about.push(meaning.query(&heard, &spans, *start..end));
            }
        }
        query
    }

    /// Whether nothing can be looked for.
    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    fn words(&mut self, heard: &Heard, spans: &[Span], starts: &[usize], keep_empty: bool) {
        let lexicon = Lexicon::shared();
        let mut before: Option<u32> = None;
        for run in &heard.runs {
            let in_value = spans.iter().find(|s| s.start <= run.at && run.at < s.end);
            let quoted = in_value.is_some_and(|s| s.kind == values::kind::QUOTED);
            if in_value.is_some() && !quoted && !keep_empty {
                before = None;
                continue;
            }
            let wish = u8::try_from(starts.partition_point(|s| *s <= run.at) - 1).unwrap_or(0);
            let pieces = heard.pieces(run);
            for (number, word) in pieces.iter().chain(heard.joined(run)).enumerate() {
                if self.terms.len() >= SEARCH_QUERY_WORDS_MAX {
                    return;
                }
                let known = lexicon.get(word.id);
                if !keep_empty && known.is_some_and(|k| k.empty) {
                    continue;
                }
                let whole_run = number == pieces.len();
                let at = self.add(word, quoted, wish);
                if !whole_run {
                    if let Some(before) = before
                        && before != at
                        && !self.pairs.contains(&(before, at))
                    {
                        self.pairs.push((before, at));
                    }
                    before = Some(at);
                }
            }
        }
    }

    fn add(&mut self, word: &Arc<Word>, value: bool, wish: u8) -> u32 {
        if let Some(at) = self.terms.iter().position(|t| t.word.id == word.id) {
            let term = &mut self.terms[at];
            if term.value && !value {
                term.value = false;
                term.weight = 1.0;
            }
            return u32::try_from(at).unwrap_or(u32::MAX);
        }
        let known = Lexicon::shared().get(word.id);
        let akin = known.filter(|_| !value).map_or(&[][..], |k| &k.akin);
        let mut variants = Vec::with_capacity(akin.len() + VARIANTS_MORE);
        variants.push((word.id, 1.0));
        variants.extend_from_slice(akin);
        self.terms.push(Term {
            actions: known.map_or(0, |k| k.actions),
            weight: if value { VALUE_WEIGHT } else { 1.0 },
            variants,
            value,
            wish,
            word: Arc::clone(word),
        });
        u32::try_from(self.terms.len() - 1).unwrap_or(u32::MAX)
    }
}

/// `text`, cut to what is read, at a character.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(SEARCH_QUERY_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Spellings of the chunks that look like identifiers: with `_`, `:`, `-` or humps inside.
fn mentions(text: &str) -> Vec<u64> {
    let mut out = Vec::new();
    for chunk in text.split_whitespace() {
        let chunk = chunk.trim_matches(|c: char| !c.is_alphanumeric());
        // An ordinary word, perhaps with a capital, is seen at a glance.
        if chunk.bytes().skip(1).all(|b| b.is_ascii_lowercase()) {
            continue;
        }
        let inner = chunk.contains(['_', ':', '-', '.'])
            || chunk
                .chars()
                .zip(chunk.chars().skip(1))
                .any(|(a, b)| a.is_lowercase() && b.is_uppercase());
        if inner && chunk.len() >= 4 {
            let id = key_id(&key(chunk));
            if !out.contains(&id) {
                out.push(id);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[&str]) {
        let query = Query::read(text, &mut Reader::default());
        let found: Vec<_> = query.terms.iter().map(|t| t.word.folded.as_ref()).collect();
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn polite_words_and_values_are_left_out() {
        check(
            "Could you please help me create an issue?",
            &["create", "issue"],
        );
        check("send 3 files to ann@example.com", &["send", "files"]);
        check(
            "call getUser now",
            &["call", "get", "user", "getuser", "now"],
        );
    }

    #[test]
    fn a_query_of_nothing_but_empty_words_keeps_them() {
        check("what is this", &["what", "is", "this"]);
        check("42", &["42"]);
        check("?!", &[]);
    }

    #[test]
    fn quoted_words_count_less_than_said_ones() {
        let query = Query::read(
            "create issue titled \"login page broken\" issue",
            &mut Reader::default(),
        );
        let weight = |word: &str| {
            query
                .terms
                .iter()
                .find(|t| t.word.folded.as_ref() == word)
                .unwrap()
                .weight
        };
        assert!(weight("login") < weight("create"));
        assert!((weight("issue") - 1.0).abs() < f32::EPSILON);
    }

    #[test]
    fn long_queries_are_cut() {
        let long = "wörd é ".repeat(3_000);
        let query = Query::read(&long, &mut Reader::default());
        assert!(query.terms.len() <= 3);
        let many: Vec<String> = (0..500)
            .map(|n| "abcdefghij".repeat(n % 40 + 1)[n % 9..].to_owned())
            .collect();
        let many = many.join(" ");
        assert!(Query::read(&many, &mut Reader::default()).terms.len() <= SEARCH_QUERY_WORDS_MAX);
    }
}
