//! Words that give orders to the model that reads them.

use std::sync::LazyLock;

use regex::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use unicode_normalization::UnicodeNormalization;

/// Each line is one way of putting it. They are matched without regard to case, against text whose
/// white space and look-alike letters have been made plain.
const WAYS: &[&str] = &[
    r"\b(ignore|disregard|forget|override)\b[ -~]{0,30}\b(previous|prior|above|earlier|other|all|any|your|system)\b[ -~]{0,20}\b(instruction|prompt|rule|message|guideline|direction)s?\b",
    r"\b(do not|don'?t|never|without)\b[ -~]{0,12}\b(tell|telling|mention|mentioning|inform|informing|notify|notifying|reveal|revealing|show|showing|disclose|alert|asking|ask)\b[ -~]{0,20}\b(to )?(the )?(user|human|person|operator|owner)\b",
    r"\b(hide|conceal|keep)\b[ -~]{0,20}\b(this|it|that|these)\b[ -~]{0,20}\bfrom (the )?(user|human|person|operator)\b",
    r"\b(system prompt|developer (prompt|message|instruction))s?\b",
    r"<\s*/?\s*(important|system|secret|instructions?|critical|admin|hidden|override)\s*>",
    r"\[\s*(system|inst|important|admin)\s*\]",
    r"\byou are now\b|\bfrom now on,? you\b|\bnew instructions?:",
    r"\bbefore (using|calling|invoking|running|you (use|call|invoke|run)) (any|all|every|other|another)\b[ -~]{0,20}\btools?\b",
    r"\b(do not|don'?t|never) (use|call|invoke) (any|the) other tools?\b",
    r"\binstead of\b[ -~]{0,40}\b(other|another|any other) (server|provider)'?s?\b[ -~]{0,10}\btools?\b",
    r"~/\.(ssh|aws|gnupg|config|cursor|netrc|kube)\b|\bid_(rsa|ed25519)\b|/etc/(passwd|shadow)\b",
    r"\b(send|post|forward|upload|pass|include|append|exfiltrate|leak)\b[ -~]{0,40}\b(conversation|chat history|system prompt|credentials?|passwords?|private keys?|api keys?|secrets|environment variables|cookies)\b[ -~]{0,40}\b(to|in|as|via|at|into)\b",
];

/// Shortest text that can hold an order.
const ORDER_BYTES_MIN: usize = 8;

static ANY_WAY: LazyLock<Option<RegexSet>> = LazyLock::new(|| {
    let mut builder = RegexSetBuilder::new(WAYS);
    builder.case_insensitive(true).unicode(false).build().ok()
});

static EACH_WAY: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let compile = |way: &&str| {
        let mut builder = RegexBuilder::new(way);
        builder.case_insensitive(true).unicode(false).build()
    };
    WAYS.iter().flat_map(compile).collect()
});

/// The orders in a text, each as it is worded.
pub(super) fn in_text(text: &str) -> Vec<String> {
    if text.len() < ORDER_BYTES_MIN {
        return Vec::new();
    }
    let plain = plain(text);
    let Some(any) = ANY_WAY.as_ref() else {
        return Vec::new();
    };
    let ways = any.matches(&plain).into_iter();
    ways.filter_map(|at| EACH_WAY.get(at)?.find(&plain))
        .map(|found| quoted(found.as_str()))
        .collect()
}

/// The text as a model reads it, in ASCII: compatible forms and look-alike letters folded, unseen
/// characters gone, blanks single, other letters `?`.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut push = |c: char| {
        if c.is_whitespace() {
            if !plain.ends_with(' ') {
                plain.push(' ');
            }
        } else if c.is_ascii_graphic() {
            plain.push(c);
        } else if c == '\u{2019}' {
            plain.push('\'');
        } else if c.is_alphanumeric() {
            let letter = super::names::plain_letter(c);
            plain.push(if letter.is_ascii() { letter } else { '?' });
        }
    };
    if text.is_ascii() {
        text.chars().for_each(&mut push);
    } else {
        text.nfkc().for_each(&mut push);
    }
    plain
}

fn quoted(found: &str) -> String {
    const SHOWN_CHARS_MAX: usize = 100;
    let shown: String = found.chars().take(SHOWN_CHARS_MAX).collect();
    let more = if shown.len() < found.len() { "…" } else { "" };
    format!("“{shown}{more}”")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_putting_it_compiles() {
        assert_eq!(EACH_WAY.len(), WAYS.len());
        assert_eq!(ANY_WAY.as_ref().unwrap().len(), WAYS.len());
    }
}
