//! From text to words: identifiers split, case and accents folded, English endings removed.
//!
//! The same rules read tool definitions and queries, so that `createIssue`, `create_issue` and
//! "create issues" meet in the same two words.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

use super::meaning::{self, Meaning, Pieces};
use crate::limits::SEARCH_WORD_BYTES_MAX;

/// A number that stands for a word in postings and signals.
pub(crate) type WordId = u64;

/// FNV-1a over the bytes of a word, with a final mix: stable on every machine and in every release.
pub(crate) fn word_id(word: &str) -> WordId {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in word.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^ (hash >> 32)
}

/// A word as it is indexed: folded, stemmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// The stem's number.
    pub(crate) id: WordId,
    /// The stem.
    pub(crate) stem: Arc<str>,
    /// The word before its ending was removed, folded.
    pub(crate) folded: Arc<str>,
    /// Whether it says nothing about what a text means.
    pub(crate) empty: bool,
    /// The pieces of its meaning.
    pub(crate) pieces: Pieces,
}

/// Lower case, compatibility forms unified, accents removed.
pub(crate) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfkd()
        .filter(|c| !is_combining_mark(*c))
        .flat_map(char::to_lowercase)
        .nfc()
        .collect()
}

/// A piece folded, and cut to what is kept of a word.
fn cut(piece: &str) -> String {
    let mut folded = fold(piece);
    if folded.len() > SEARCH_WORD_BYTES_MAX {
        let mut end = SEARCH_WORD_BYTES_MAX;
        while !folded.is_char_boundary(end) {
            end -= 1;
        }
        folded.truncate(end);
    }
    folded
}

/// Letters and digits only, folded: two spellings of one name share it.
pub(crate) fn key(text: &str) -> String {
    let mut folded = fold(text);
    folded.retain(char::is_alphanumeric);
    folded
}

/// A run of letters and digits between separators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run<'a> {
    /// The run as written.
    text: &'a str,
    /// Byte offset of the run in the text.
    at: usize,
}

impl<'a> Run<'a> {
    /// Calls `take(piece, joined)` for the pieces of the run, in order, then for the run as a whole
    /// where that is worth a word of its own, so that `GitHub` is also found as `github`.
    fn read(self, mut take: impl FnMut(&'a str, bool)) {
        if is_one_piece(self.text) {
            return take(self.text, false);
        }
        let pieces = pieces(self.text);
        for piece in &pieces {
            take(piece, false);
        }
        if (2..=3).contains(&pieces.len()) && self.text.len() <= 14 {
            take(self.text, true);
        }
    }
}

/// Every run of letters and digits in `text`, in order.
fn runs(text: &str) -> Vec<Run<'_>> {
    let mut out = Vec::new();
    if text.is_ascii() {
        let mut start = None;
        for (at, byte) in text.bytes().enumerate() {
            match (byte.is_ascii_alphanumeric(), start) {
                (true, None) => start = Some(at),
                (false, Some(from)) => {
                    push_run(&mut out, text, from, at);
                    start = None;
                }
                _ => {}
            }
        }
        if let Some(from) = start {
            push_run(&mut out, text, from, text.len());
        }
        return out;
    }
    for (at, word) in text.unicode_word_indices() {
        let mut start = None;
        for (offset, c) in word.char_indices() {
            match (c.is_alphanumeric() || is_combining_mark(c), start) {
                (true, None) => start = Some(offset),
                (false, Some(from)) => {
                    push_run(&mut out, text, at + from, at + offset);
                    start = None;
                }
                _ => {}
            }
        }
        if let Some(from) = start {
            push_run(&mut out, text, at + from, at + word.len());
        }
    }
    out
}

fn push_run<'a>(out: &mut Vec<Run<'a>>, text: &'a str, from: usize, to: usize) {
    out.push(Run {
        text: &text[from..to],
        at: from,
    });
}

/// A run of a query and where its words stand among all of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeardRun {
    /// Byte offset of the run.
    pub(crate) at: usize,
    /// First byte after it.
    pub(crate) end: usize,
    first_word: usize,
    pieces: usize,
    joined: bool,
}

/// The words of a query, run by run.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) runs: Vec<HeardRun>,
    words: Vec<Arc<Word>>,
}

impl Heard {
    /// The words of the pieces of a run, in order.
    pub(crate) fn pieces(&self, run: &HeardRun) -> &[Arc<Word>] {
        &self.words[run.first_word..run.first_word + run.pieces]
    }

    /// The run as a whole, where that is a word of its own.
    pub(crate) fn joined(&self, run: &HeardRun) -> Option<&Arc<Word>> {
        self.words
            .get(run.first_word + run.pieces)
            .filter(|_| run.joined)
    }
}

/// Hashing for numbers that are hashes already.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Quick(u64);

impl std::hash::Hasher for Quick {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

/// A map with [`Quick`] hashing.
pub(crate) type QuickMap<K, V> = HashMap<K, V, BuildHasherDefault<Quick>>;

/// Whether nothing in a run is to be cut, seen at a glance: lower case, perhaps after one capital.
fn is_one_piece(run: &str) -> bool {
    let mut bytes = run.bytes();
    let first = bytes.next().is_some_and(|b| b.is_ascii_alphabetic());
    first && bytes.all(|b| b.is_ascii_lowercase())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lower,
    Upper,
    Digit,
}

fn kind(c: char) -> Kind {
    if c.is_numeric() {
        Kind::Digit
    } else if c.is_uppercase() {
        Kind::Upper
    } else {
        Kind::Lower
    }
}

/// Cuts `GitHubPR2` into `Git`, `Hub`, `PR`, `2`; `HTTPServer` into `HTTP`, `Server`; `IDs` stays.
fn pieces(run: &str) -> Vec<&str> {
    let chars: Vec<(usize, char)> = run.char_indices().collect();
    let mut out = Vec::with_capacity(2);
    let mut start = 0;
    for i in 1..chars.len() {
        let (before, here) = (kind(chars[i - 1].1), kind(chars[i].1));
        let after = chars.get(i + 1).map(|&(_, c)| kind(c));
        let plural_tail = here == Kind::Upper
            && after == Some(Kind::Lower)
            && chars[i + 1].1 == 's'
            && chars
                .get(i + 2)
                .is_none_or(|&(_, c)| kind(c) != Kind::Lower);
        let cut = match (before, here) {
            (Kind::Upper, Kind::Upper) => after == Some(Kind::Lower) && !plural_tail,
            (Kind::Digit, Kind::Digit) => false,
            (Kind::Lower, Kind::Upper) | (Kind::Digit, _) | (_, Kind::Digit) => true,
            _ => false,
        };
        if cut {
            out.push(&run[start..chars[i].0]);
            start = chars[i].0;
        }
    }
    out.push(&run[start..]);
    out
}

/// Turns text into words; keeps what it has stemmed, because tool texts repeat themselves.
pub(crate) struct Reader {
    stemmer: Stemmer,
    /// By spelling, the place in `words`.
    known: HashMap<Box<str>, usize>,
    words: Vec<Arc<Word>>,
    /// By spelling, the numbers of words of which nothing else was asked.
    ids: HashMap<Box<str>, WordId>,
    /// Without meanings: for reading the tables that meanings need.
    bare: bool,
}

thread_local! {
    /// Words that were read before on this thread need not be stemmed and spelt again.
    pub(crate) static READER: RefCell<Reader> = RefCell::default();
}

/// How many distinct words a reader keeps before it starts afresh.
const KNOWN_MAX: usize = 50_000;

impl Default for Reader {
    fn default() -> Self {
        Self {
            stemmer: Stemmer::create(Algorithm::English),
            known: HashMap::new(),
            words: Vec::new(),
            ids: HashMap::new(),
            bare: false,
        }
    }
}

impl Reader {
    /// A reader that leaves meanings out.
    pub(crate) fn bare() -> Self {
        Self {
            bare: true,
            ..Self::default()
        }
    }

    /// The word of one piece.
    pub(crate) fn word(&mut self, piece: &str) -> &Arc<Word> {
        if let Some(at) = self.known.get(piece) {
            return &self.words[*at];
        }
        if self.words.len() >= KNOWN_MAX {
            self.known.clear();
            self.words.clear();
        }
        let at = self.words.len();
        self.known.insert(piece.into(), at);
        self.words.push(Arc::new(self.make(piece)));
        &self.words[at]
    }

    /// The number of the word of one piece.
    pub(crate) fn id(&mut self, piece: &str) -> WordId {
        if let Some(at) = self.known.get(piece) {
            return self.words[*at].id;
        }
        if let Some(id) = self.ids.get(piece) {
            return *id;
        }
        if self.ids.len() >= KNOWN_MAX {
            self.ids.clear();
        }
        let id = word_id(&self.stemmer.stem(&cut(piece)));
        self.ids.insert(piece.into(), id);
        id
    }

    fn make(&self, piece: &str) -> Word {
        let folded = cut(piece);
        let stem = self.stemmer.stem(&folded);
        let id = word_id(&stem);
        let empty = !self.bare && meaning::is_empty(id, &folded);
        Word {
            id,
            stem: Arc::from(stem.as_ref()),
            pieces: if self.bare || empty {
                Pieces::default()
            } else {
                Meaning::shared().spell(&folded)
            },
            empty,
            folded: Arc::from(folded.as_str()),
        }
    }

    /// The words of a query, run by run.
    pub(crate) fn hear(&mut self, text: &str) -> Heard {
        let mut heard = Heard::default();
        for run in runs(text) {
            let mut one = HeardRun {
                at: run.at,
                end: run.at + run.text.len(),
                first_word: heard.words.len(),
                pieces: 0,
                joined: false,
            };
            run.read(|piece, joined| {
                heard.words.push(Arc::clone(self.word(piece)));
                one.joined |= joined;
                one.pieces += usize::from(!joined);
            });
            heard.runs.push(one);
        }
        heard
    }

    /// Calls `take(word, joined)` for every word of `text`; `joined` marks a run given whole
    /// beside its pieces.
    pub(crate) fn read(&mut self, text: &str, mut take: impl FnMut(&Word, bool)) {
        for run in runs(text) {
            run.read(|piece, joined| take(self.word(piece), joined));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[&str]) {
        let mut reader = Reader::default();
        let mut found = Vec::new();
        reader.read(text, |word, joined| {
            found.push(if joined {
                format!("+{}", word.stem)
            } else {
                word.stem.to_string()
            });
        });
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn identifiers_are_split_at_humps_separators_and_digits() {
        check("createIssue", &["creat", "issu", "+createissu"]);
        check("create_issue", &["creat", "issu"]);
        check("Create-Issues", &["creat", "issu"]);
        check("GitHubPR", &["git", "hub", "pr", "+githubpr"]);
        check("HTTPServer", &["http", "server", "+httpserver"]);
        check("userIDs", &["user", "id", "+userid"]);
        check("base64", &["base", "64", "+base64"]);
        check("getV2Users", &["get", "v", "2", "user"]);
    }

    #[test]
    fn case_and_accents_are_folded() {
        check("Crème BRÛLÉE", &["creme", "brule"]);
        check("Straße Ǆ", &["straße", "dz"]);
        assert_eq!(key("GitHub:create-issue"), "githubcreateissue");
    }

    #[test]
    fn other_languages_are_segmented() {
        check("查询天气", &["查", "询", "天", "气"]);
        check("создать задачу", &["создать", "задачу"]);
    }

    #[test]
    fn long_words_are_cut_at_a_character() {
        let mut reader = Reader::default();
        let long = "é".repeat(400);
        let id = reader.id(&long);
        let word = Arc::clone(reader.word(&long));
        assert!(word.folded.len() <= SEARCH_WORD_BYTES_MAX);
        assert_eq!((word.id, reader.id(&long)), (id, id));
    }
}
