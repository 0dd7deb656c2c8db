//! What a text is about, as a vector: a sum over its words, so that tools are read in microseconds.
//!
//! The vectors are learned (`training/`), one per piece of a word; a word that was never seen is
//! spelt from pieces. Sums and products are of whole numbers; what is not whole uses only
//! operations that are exact by standard.

use std::ops::Range;
use std::sync::OnceLock;

use super::lexicon::Lexicon;
use super::values::{self, Span, kind};
use super::words::{Heard, QuickMap, Reader, Word, word_id};

/// Numbers in a vector.
pub(crate) const DIMENSIONS: usize = 128;
/// Most pieces of one word.
pub(crate) const PIECES_MAX: usize = 4;
/// Most pieces of a query, and of the fields of a tool: name and server, text, parameters.
const QUERY_PIECES_MAX: usize = 48;
pub(crate) const FIELD_PIECES_MAX: [usize; 3] = [16, 64, 64];

/// The pieces of one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pieces {
    numbers: [u16; PIECES_MAX],
    len: u8,
}

/// A vector in 255 steps, wide enough to be multiplied at once.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Packed {
    pub(crate) steps: [i16; DIMENSIONS],
    /// What one step is worth in a vector of length 1; 0 for a text without meaning.
    pub(crate) scale: f32,
}

/// The learned table.
pub(crate) struct Meaning {
    pieces: QuickMap<u64, u16>,
    table: &'static [u8],
    fields: [f32; 3],
}

static TABLE: &[u8] = include_bytes!("../../assets/meaning.bin");

impl Meaning {
    /// The one that ships.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<Meaning> = OnceLock::new();
        SHARED.get_or_init(|| Self::parse(TABLE).unwrap_or_else(Self::empty))
    }

    fn empty() -> Self {
        Self {
            pieces: QuickMap::default(),
            table: &[],
            fields: [0.0; 3],
        }
    }

    fn parse(bytes: &'static [u8]) -> Option<Self> {
        let word = |at: usize| bytes.get(at..at + 4)?.try_into().ok();
        let whole = |at: usize| usize::try_from(u32::from_le_bytes(word(at)?)).ok();
        let real = |at: usize| Some(f32::from_le_bytes(word(at)?));
        if bytes.get(..4)? != b"TCV1" || whole(8)? != DIMENSIONS {
            return None;
        }
        let (count, names) = (whole(4)?, whole(12)?);
        let fields = [real(20)?, real(24)?, real(28)?];
        let text = std::str::from_utf8(bytes.get(32..32 + names)?).ok()?;
        let table = bytes.get(32 + names..)?;
        if table.len() != count * DIMENSIONS {
            return None;
        }
        let pieces = (0_u16..)
            .zip(text.split('\n'))
            .map(|(n, piece)| (word_id(piece), n));
        Some(Self {
            pieces: pieces.collect(),
            table,
            fields,
        })
    }

    /// Spells a folded word from the longest pieces that are known; a rest that cannot be spelt is
    /// left out.
    pub(crate) fn spell(&self, word: &str) -> Pieces {
        let mut out = Pieces::default();
        let mut start = 0;
        let mut marked = String::new();
        while start < word.len() && usize::from(out.len) < PIECES_MAX {
            let ends = word[start..]
                .char_indices()
                .rev()
                .map(|(at, c)| start + at + c.len_utf8());
            let found = ends.into_iter().find_map(|end| {
                let piece = &word[start..end];
                let id = if start == 0 {
                    word_id(piece)
                } else {
                    marked.clear();
                    marked.push_str("##");
                    marked.push_str(piece);
                    word_id(&marked)
                };
                self.pieces.get(&id).map(|number| (*number, end))
            });
            let Some((number, end)) = found else {
                break;
            };
            out.numbers[usize::from(out.len)] = number;
            out.len += 1;
            start = end;
        }
        out
    }

    fn row(&self, piece: u16) -> &[u8] {
        let at = usize::from(piece) * DIMENSIONS;
        self.table.get(at..at + DIMENSIONS).unwrap_or(&[])
    }

    /// The vector of a tool from the sums of its fields.
    pub(crate) fn tool(&self, fields: &[Sum; 3]) -> Packed {
        let mut mixed = [0.0_f32; DIMENSIONS];
        for (sum, weight) in fields.iter().zip(self.fields) {
            let share = weight / (f32::from(sum.pieces) + 1.0).sqrt();
            for (out, part) in mixed.iter_mut().zip(&sum.total) {
                *out += share * real(*part);
            }
        }
        pack(&mixed)
    }

    /// The vector of a stretch of a query.
    pub(crate) fn query(&self, heard: &Heard, spans: &[Span], stretch: Range<usize>) -> Packed {
        let mut sum = Sum::default();
        for run in heard
            .runs
            .iter()
            .filter(|run| stretch.contains(&run.at) && is_meant(run.at, spans))
        {
            for word in heard.pieces(run) {
                sum.add(self, word, QUERY_PIECES_MAX);
            }
        }
        pack(&sum.total.map(real))
    }
}

#[expect(clippy::cast_precision_loss, reason = "sums of few bytes")]
fn real(x: i32) -> f32 {
    x as f32
}

/// A sum of the vectors of words.
#[derive(Clone, Debug)]
pub(crate) struct Sum {
    total: [i32; DIMENSIONS],
    pieces: u16,
}

impl Default for Sum {
    fn default() -> Self {
        Self {
            total: [0; DIMENSIONS],
            pieces: 0,
        }
    }
}

impl Sum {
    /// Adds a word, as long as there are no more than `most` pieces.
    pub(crate) fn add(&mut self, meaning: &Meaning, word: &Word, most: usize) {
        if word.empty {
            return;
        }
        for number in &word.pieces.numbers[..usize::from(word.pieces.len)] {
            if usize::from(self.pieces) >= most {
                return;
            }
            for (out, step) in self.total.iter_mut().zip(meaning.row(*number)) {
                *out += i32::from(step.cast_signed());
            }
            self.pieces += 1;
        }
    }
}

fn pack(vector: &[f32; DIMENSIONS]) -> Packed {
    let most = vector.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if most <= 0.0 || length <= 0.0 {
        return Packed {
            steps: [0; DIMENSIONS],
            scale: 0.0,
        };
    }
    let unit = 127.0 / most;
    #[expect(clippy::cast_possible_truncation, reason = "between -127 and 127")]
    let steps = vector.map(|x| i16::from((x * unit + if x < 0.0 { -0.5 } else { 0.5 }) as i8));
    Packed {
        steps,
        scale: most / 127.0 / length,
    }
}

/// The steps as they are kept, one byte each.
#[expect(clippy::cast_possible_truncation, reason = "steps fit a byte")]
pub(crate) fn narrow(steps: &[i16; DIMENSIONS]) -> [i8; DIMENSIONS] {
    steps.map(|step| step as i8)
}

/// Product of two vectors, in steps. Two products of steps fit 16 bits and are added up there, so that
/// processors take eight of them at once.
#[inline]
pub(crate) fn product(a: &[i16; DIMENSIONS], b: &[i8; DIMENSIONS]) -> i32 {
    let mut sums = [0_i32; 8];
    for (a, b) in a.as_chunks::<16>().0.iter().zip(b.as_chunks::<16>().0) {
        for at in 0..8 {
            let two = a[at] * i16::from(b[at]) + a[at + 8] * i16::from(b[at + 8]);
            sums[at] += i32::from(two);
        }
    }
    sums.iter().sum()
}

/// Whether what stands there is said, not an address or a path to be handed over.
fn is_meant(at: usize, spans: &[Span]) -> bool {
    let holds = |s: &Span| s.kind != kind::QUOTED && s.start <= at && at < s.end;
    !spans.iter().any(holds)
}

/// Whether a word says nothing about what a text means.
pub(crate) fn is_empty(id: u64, folded: &str) -> bool {
    folded.bytes().all(|b| b.is_ascii_digit()) || Lexicon::shared().get(id).is_some_and(|k| k.empty)
}

/// The words of a text that carry meaning, folded, in order; for training.
pub fn meaning_words(text: &str) -> Vec<String> {
    let spans = values::spans(text);
    let heard = Reader::default().hear(text);
    let meant = heard
        .runs
        .iter()
        .filter(|run| is_meant(run.at, &spans))
        .flat_map(|run| heard.pieces(run));
    meant
        .filter(|word| !word.empty)
        .map(|word| word.folded.to_string())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn likeness(a: &str, b: &str) -> f32 {
        let meaning = Meaning::shared();
        let mut reader = Reader::default();
        let mut vector = |text: &str| meaning.query(&reader.hear(text), &[], 0..text.len());
        let (a, b) = (vector(a), vector(b));
        real(product(&a.steps, &narrow(&b.steps))) * a.scale * b.scale
    }

    #[test]
    fn the_table_is_whole() {
        assert!(Meaning::shared().pieces.len() > 10_000);
        assert!(Meaning::parse(b"TCV1").is_none());
        assert!(Meaning::parse(b"nothing of the kind, and long enough to be read").is_none());
    }

    #[test]
    fn like_meanings_are_closer_than_unlike_ones() {
        assert!((likeness("delete the repository", "repository delete") - 1.0).abs() < 0.02);
        assert!(
            likeness("rain tomorrow", "weather forecast")
                > likeness("rain tomorrow", "database table")
        );
        assert!(likeness("", "weather").abs() < 1e-6);
    }

    #[test]
    fn unknown_words_are_spelt_and_unknown_letters_left_out() {
        let meaning = Meaning::shared();
        assert!(meaning.spell("qzxkubernetesque").len > 0);
        assert_eq!(meaning.spell("天").len, 0);
    }
}
