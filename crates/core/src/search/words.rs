//! From text to words: identifiers split, case and accents folded, English endings removed.
//!
//! The same rules read tool definitions and queries, so that `createIssue`, `create_issue` and
//! "create issues" meet in the same two words.

use std::collections::HashMap;
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

/// Letters and digits only, folded: two spellings of one name share it.
pub(crate) fn key(text: &str) -> String {
    let mut folded = fold(text);
    folded.retain(char::is_alphanumeric);
    folded
}

/// A run of letters and digits between separators, cut at its humps.
///
/// `joined` holds the whole run where it was cut, so that `GitHub` is also found as `github`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run<'a> {
    /// The run as written.
    pub(crate) text: &'a str,
    /// Its pieces, in order.
    pub(crate) pieces: Vec<&'a str>,
    /// Byte offset of the run in the text.
    pub(crate) at: usize,
}

impl Run<'_> {
    /// Whether the run as a whole is worth a word of its own beside its pieces.
    pub(crate) fn joins(&self) -> bool {
        (2..=3).contains(&self.pieces.len()) && self.text.len() <= 14
    }
}

/// Every run of letters and digits in `text`, in order.
pub(crate) fn runs(text: &str) -> Vec<Run<'_>> {
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
    let run = &text[from..to];
    out.push(Run {
        text: run,
        pieces: pieces(run),
        at: from,
    });
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
    if run.bytes().all(|b| b.is_ascii_lowercase()) {
        return vec![run];
    }
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
    known: HashMap<Box<str>, Word>,
    /// Without meanings: for reading the tables that meanings need.
    bare: bool,
}

/// How many distinct words a reader keeps before it starts afresh.
const KNOWN_MAX: usize = 50_000;

impl Default for Reader {
    fn default() -> Self {
        Self {
            stemmer: Stemmer::create(Algorithm::English),
            known: HashMap::new(),
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
    pub(crate) fn word(&mut self, piece: &str) -> &Word {
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        if !self.known.contains_key(piece) {
            let word = self.make(piece);
            self.known.insert(piece.into(), word);
        }
        &self.known[piece]
    }

    fn make(&self, piece: &str) -> Word {
        let mut folded = fold(piece);
        if folded.len() > SEARCH_WORD_BYTES_MAX {
            let mut end = SEARCH_WORD_BYTES_MAX;
            while !folded.is_char_boundary(end) {
                end -= 1;
            }
            folded.truncate(end);
        }
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

    /// Calls `take(word, joined)` for every word of `text`; `joined` marks a run given whole
    /// beside its pieces.
    pub(crate) fn read(&mut self, text: &str, mut take: impl FnMut(&Word, bool)) {
        for run in runs(text) {
            for piece in &run.pieces {
                take(self.word(piece), false);
            }
            if run.joins() {
                take(self.word(run.text), true);
            }
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
        let word = reader.word(&"é".repeat(400));
        assert!(word.folded.len() <= SEARCH_WORD_BYTES_MAX);
    }
}
