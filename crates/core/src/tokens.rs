//! How many tokens a text costs a model, at most.
//!
//! Budgets are kept on every request, where running a real tokenizer would cost more than the answer.
//! [`at_most`] reads the text once and never says less than the `o200k` encoding would, for any text:
//! it cuts the text where that encoding does and bounds each piece by what is known about the
//! vocabulary. Words and runs of marks that are known to be one or two tokens count as such; for any
//! other word, pairs of letters that are always joined bound what can stay apart; anything else counts
//! by its bytes. Tests hold every one of these facts against the encoding itself.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::LazyLock;

/// Words that are one token, alone and after a space. Those in lower case are one token with a capital
/// as well, and two at most after any mark.
static WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let words = include_str!("tokens/words-1.txt");
    words.split_ascii_whitespace().collect()
});

/// Words in lower case that are one token after a space, two at most alone or with a capital, and three
/// after any other mark.
static SPACED_WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let words = include_str!("tokens/words-2.txt");
    words.split_ascii_whitespace().collect()
});

/// Other pieces that are frequent in answers, and how many tokens they are at most.
static PIECES: LazyLock<HashMap<&'static str, usize>> = LazyLock::new(|| {
    let single = include_str!("tokens/pieces-1.txt").lines();
    let double = include_str!("tokens/pieces-2.txt").lines();
    let single = single.map(|piece| (piece, 1));
    single.chain(double.map(|piece| (piece, 2))).collect()
});

/// Pairs of lower-case letters that are no token.
const LOOSE_PAIRS: [&[u8; 2]; 29] = [
    b"bq", b"gk", b"gq", b"jv", b"jz", b"kq", b"kz", b"lq", b"nq", b"qf", b"qg", b"qj", b"qk",
    b"qv", b"qz", b"rj", b"tq", b"wq", b"wz", b"xg", b"xj", b"xk", b"xq", b"xv", b"xw", b"yq",
    b"zj", b"zq", b"zv",
];

/// Marks that are joined with any letter after them.
const JOINED_MARKS: &[u8] = b" _./-(,";

/// Longest run of spaces up to which every run is one token.
const SPACES_JOINED: usize = 79;

/// Longest run of line feeds up to which every run is one token.
const LINES_JOINED: usize = 10;

/// The number of `o200k` tokens of a text, or somewhat more; never less.
///
/// ```
/// use toolcrib_core::tokens;
/// assert_eq!(tokens::at_most("create an issue"), 3);
/// assert!(tokens::at_most("zxqv") >= 2);
/// ```
pub fn at_most(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut total = 0;
    let mut at = 0;
    // What the run of non-spaces before `at` ends with.
    let mut before = None;
    while at < bytes.len() {
        let spaces_end = end_of(bytes, at, is_space);
        let run_end = end_of(bytes, spaces_end, |b| !is_space(b));
        let spaces = &bytes[at..spaces_end];
        let first = text[spaces_end..run_end].chars().next();
        let mut from = spaces_end;
        let mut lead = None;
        if before == Some(Kind::Foreign) || first.map(kind) == Some(Kind::Foreign) {
            // The foreign character may be a space itself, and the first marks after it may belong to
            // a piece that begins with a space.
            let marks = text[from..run_end]
                .chars()
                .take_while(|c| kind(*c) == Kind::Mark);
            from += marks.map(char::len_utf8).sum::<usize>();
            total += from - at;
        } else {
            let cost;
            (cost, lead) = gap(spaces, first.map(kind), before == Some(Kind::Mark));
            total += cost;
            if before == Some(Kind::Mark) && spaces.iter().all(|b| is_line_end(*b)) {
                // Slashes after line ends after a mark still belong to the mark's piece.
                from = end_of(&bytes[..run_end], from, |b| b == b'/');
                total += from - spaces_end;
            }
        }
        let opened = from > spaces_end && first.map(kind) == Some(Kind::Mark);
        let (cost, last) = pieces(text, from..run_end, lead, opened);
        total += cost;
        before = last.or(opened.then_some(Kind::Mark));
        at = run_end;
    }
    total
}

/// Whether a text stays within a number of tokens for certain.
pub fn fits(text: &str, tokens: usize) -> bool {
    // No token is shorter than a byte.
    text.len() <= tokens || at_most(text) <= tokens
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

fn end_of(bytes: &[u8], from: usize, holds: impl Fn(u8) -> bool) -> usize {
    let rest = bytes[from..].iter();
    from + rest.take_while(|byte| holds(**byte)).count()
}

/// What a character is to the encoding, as far as it matters where pieces end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Letter,
    Digit,
    /// Neither letter, digit nor space for certain.
    Mark,
    /// Not known here: its piece, and what touches it, count by bytes.
    Foreign,
}

fn kind(c: char) -> Kind {
    match c {
        'a'..='z' | 'A'..='Z' => Kind::Letter,
        '0'..='9' => Kind::Digit,
        '\0'..='\x7f' | '\u{2010}'..='\u{2027}' | '\u{2190}'..='\u{21ff}' => Kind::Mark,
        _ => Kind::Foreign,
    }
}

/// What spaces cost on their own, and the space that begins the next piece instead.
fn gap(spaces: &[u8], next: Option<Kind>, after_mark: bool) -> (usize, Option<usize>) {
    let lines = spaces.iter().rposition(|b| is_line_end(*b));
    let (broken, rest) = spaces.split_at(lines.map_or(0, |at| at + 1));
    // Line ends right after a mark belong to the mark's piece.
    let lines_cost = if !after_mark && broken.len() <= LINES_JOINED && all(broken, b'\n') {
        usize::from(!broken.is_empty())
    } else {
        broken.len()
    };
    let attaches = |space: u8| match next {
        Some(Kind::Letter) => true,
        Some(Kind::Mark) => space == b' ',
        _ => false,
    };
    match rest.split_last() {
        Some((last, before)) if attaches(*last) => (lines_cost + blank(before), Some(1)),
        Some((last, before)) if next.is_some() => {
            (lines_cost + blank(before) + blank(&[*last]), None)
        }
        _ => (lines_cost + blank(rest), None),
    }
}

/// A run of spaces that is one piece.
fn blank(spaces: &[u8]) -> usize {
    if !all(spaces, b' ') {
        return spaces.len();
    }
    // Two neighbours that are left apart are together longer than any run that is one token.
    usize::from(!spaces.is_empty()) + 2 * (spaces.len() / (SPACES_JOINED + 1))
}

fn all(bytes: &[u8], wanted: u8) -> bool {
    bytes.iter().all(|byte| *byte == wanted)
}

/// The pieces of a run without spaces, and what it ends with. `lead` bytes before the run belong to its
/// first piece; `opened` says that marks right before it were counted already.
fn pieces(
    text: &str,
    run: Range<usize>,
    lead: Option<usize>,
    opened: bool,
) -> (usize, Option<Kind>) {
    let bytes = text.as_bytes();
    let mut lead = lead.unwrap_or_default();
    let mut total = 0;
    let mut before = None;
    // Whether a single mark after a foreign character may belong to what follows or to it.
    let mut uncertain = opened;
    let mut at = run.start;
    while let Some(first) = text[at..run.end].chars().next() {
        let this = kind(first);
        let same = text[at..run.end].chars().take_while(|c| kind(*c) == this);
        let mut end = at + same.map(char::len_utf8).sum::<usize>();
        let next = text[end..run.end].chars().next().map(kind);
        let touched = before == Some(Kind::Foreign) || next == Some(Kind::Foreign);
        let start = at - lead;
        total += match this {
            Kind::Letter if touched || uncertain => apart(&bytes[start..end]),
            Kind::Letter => {
                let mut cost = 0;
                let mut from = start;
                while at < end {
                    at = word_end(bytes, at, run.end);
                    cost += word(&text[from..at], lead);
                    (from, lead) = (at, 0);
                }
                end = at;
                cost
            }
            Kind::Digit if !touched => lead + (end - at).div_ceil(3),
            Kind::Mark if !touched => {
                if lead == 0 && next == Some(Kind::Letter) && end == at + first.len_utf8() {
                    lead = end - at;
                    (at, before) = (end, Some(this));
                    continue;
                }
                marks(&text[start..end], bytes.get(end).copied())
            }
            Kind::Digit | Kind::Mark | Kind::Foreign => end - start,
        };
        uncertain = this == Kind::Mark && before == Some(Kind::Foreign);
        (at, before, lead) = (end, Some(this), 0);
    }
    (total, before)
}

/// Where the word that begins at `at` ends: capitals, then small letters, then `'s` and its like.
fn word_end(bytes: &[u8], at: usize, to: usize) -> usize {
    let bytes = &bytes[..to];
    let capitals = end_of(bytes, at, |b| b.is_ascii_uppercase());
    let end = end_of(bytes, capitals, |b| b.is_ascii_lowercase());
    let rest = &bytes[end..];
    let endings: [&[u8]; 7] = [b"'s", b"'t", b"'re", b"'ve", b"'m", b"'ll", b"'d"];
    let ending = endings.into_iter().find(|ending| {
        let have = rest.get(..ending.len());
        have.is_some_and(|have| have.eq_ignore_ascii_case(ending))
    });
    end + ending.map_or(0, <[u8]>::len)
}

/// A word, whose first `lead` bytes are a space or mark.
fn word(piece: &str, lead: usize) -> usize {
    if let Some(known) = PIECES.get(piece) {
        return *known;
    }
    let (mark, letters) = piece.split_at(lead);
    let plain = mark.is_empty() || mark == " ";
    if plain && WORDS.contains(letters) {
        return 1;
    }
    let (first, rest) = letters.split_at(1);
    if rest.bytes().all(|b| b.is_ascii_lowercase()) && is_ascii_print(mark) {
        let small = first.to_ascii_lowercase() + rest;
        if WORDS.contains(small.as_str()) {
            return if plain { 1 } else { 2 };
        }
        if SPACED_WORDS.contains(small.as_str()) {
            return match mark {
                " " if small == letters => 1,
                "" | " " => 2,
                _ => 3,
            };
        }
    }
    apart(piece.as_bytes())
}

fn is_ascii_print(mark: &str) -> bool {
    mark.bytes().all(|b| matches!(b, b' '..=b'~'))
}

/// A run of marks; `next` is what follows it.
fn marks(piece: &str, next: Option<u8>) -> usize {
    // Line ends that follow belong to the piece.
    let whole = !matches!(next, Some(b'\r' | b'\n'));
    match PIECES.get(piece) {
        Some(known) if whole => *known,
        _ => piece.len(),
    }
}

/// The most tokens a piece can end as: two neighbours that are single bytes and a token together do
/// not stay apart.
fn apart(piece: &[u8]) -> usize {
    // The most tokens up to the byte before, where the last is a single byte, and where it is longer.
    let (mut single, mut longer) = (0, 0);
    // The most tokens of each prefix that ends at least one byte earlier.
    let mut earlier = 0;
    for (at, byte) in piece.iter().enumerate() {
        let before = if at == 0 { None } else { Some(piece[at - 1]) };
        let free = before.is_none_or(|before| !joined(before, *byte));
        let ends_single = 1 + if free { single.max(longer) } else { longer };
        let ends_longer = if at == 0 { 0 } else { earlier + 1 };
        earlier = earlier.max(single).max(longer);
        (single, longer) = (ends_single, ends_longer);
    }
    single.max(longer)
}

/// Whether two bytes are always one token together.
fn joined(first: u8, second: u8) -> bool {
    if first.is_ascii_lowercase() && second.is_ascii_lowercase() {
        return !LOOSE_PAIRS.contains(&&[first, second]);
    }
    JOINED_MARKS.contains(&first) && second.is_ascii_alphabetic()
}

#[cfg(test)]
mod tests;
