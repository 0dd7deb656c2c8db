//! The stretches of a query that are values.

use crate::gateway::money;
use crate::search::values::{kind, spans};

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    /// A number beside a currency.
    Amount,
    Currency,
    Email,
    Address,
    Date,
    /// An id, a reference, a token.
    Code,
    Quoted,
}

/// A value of a query.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    /// Its first byte.
    pub(super) start: usize,
    /// The value itself, without quotes.
    pub(super) text: &'a str,
    /// As it is shown: with its currency, where it is an amount.
    pub(super) shown: &'a str,
    /// What it is.
    pub(super) kind: Kind,
    /// The name before a `=` or `:` that is joined to it.
    pub(super) name: Option<&'a str>,
}

/// The words of a query with where they begin, punctuation around them left out.
pub(super) fn words_of(query: &str) -> impl Iterator<Item = (usize, &str)> {
    query.split_whitespace().map(move |chunk| {
        let word = chunk.trim_matches(|c: char| {
            matches!(
                c,
                ',' | ';' | '.' | '!' | '?' | '(' | ')' | '"' | '\'' | '`' | ':'
            )
        });
        (word.as_ptr() as usize - query.as_ptr() as usize, word)
    })
}

/// The values of a query, in order.
pub(super) fn of(query: &str) -> Vec<Token<'_>> {
    let mut found: Vec<Token<'_>> = Vec::new();
    let quoted: Vec<_> = spans(query)
        .into_iter()
        .filter(|span| span.kind == kind::QUOTED)
        .collect();
    for span in &quoted {
        let text = &query[span.start..span.end];
        let mut inner = text.chars();
        inner.next();
        inner.next_back();
        found.push(Token {
            start: span.start,
            text: inner.as_str(),
            shown: text,
            kind: Kind::Quoted,
            name: None,
        });
    }
    let words: Vec<(usize, &str)> = words_of(query).collect();
    for (at, (start, word)) in words.iter().enumerate() {
        if quoted.iter().any(|q| q.start <= *start && *start < q.end) {
            continue;
        }
        let (name, start, text) = match word.split_once('=') {
            Some((name, text)) if !name.is_empty() && !text.is_empty() && !word.contains("://") => {
                (Some(name), start + name.len() + 1, text)
            }
            _ => (None, *start, *word),
        };
        let Some(kind) = kind_of(text).or(name.map(|_| Kind::Quoted)) else {
            continue;
        };
        let mut token = Token {
            start,
            text,
            shown: text,
            kind,
            name,
        };
        if kind == Kind::Number {
            beside_currency(query, &words, at, &mut token);
        }
        found.push(token);
    }
    found.sort_by_key(|token| token.start);
    found
}

/// Makes an amount of a number that has a sign, a code or a name of a currency beside it.
fn beside_currency<'a>(
    query: &'a str,
    words: &[(usize, &'a str)],
    at: usize,
    token: &mut Token<'a>,
) {
    let is_code = |at: Option<usize>| {
        let word = at.and_then(|at| words.get(at));
        word.filter(|(_, word)| money::says_currency(word)).copied()
    };
    let after = is_code(at.checked_add(1));
    let before = is_code(at.checked_sub(1));
    let signed = token.text.contains(money::SIGNS);
    if let Some((start, word)) = after {
        token.shown = &query[token.start..start + word.len()];
    } else if let Some((start, _)) = before {
        token.shown = &query[start..token.start + token.text.len()];
    } else if !signed {
        return;
    }
    token.kind = Kind::Amount;
}

fn kind_of(text: &str) -> Option<Kind> {
    if money::is_currency(text) {
        return Some(Kind::Currency);
    }
    let bare = text.trim_matches(|c: char| money::SIGNS.contains(&c));
    let digits = bare.bytes().filter(u8::is_ascii_digit).count();
    if digits > 0
        && bare
            .bytes()
            .all(|b| b.is_ascii_digit() || b".,-".contains(&b))
        && !bare[1..].contains('-')
    {
        return Some(Kind::Number);
    }
    let known = spans(text)
        .first()
        .filter(|span| span.end - span.start == text.len())
        .map(|span| span.kind);
    match known {
        Some(kind::EMAIL) => return Some(Kind::Email),
        Some(kind::URL) => return Some(Kind::Address),
        Some(kind::DATE) => return Some(Kind::Date),
        Some(kind::CODE) => return Some(Kind::Code),
        Some(_) => return None,
        None => {}
    }
    // `AUTH_abc`, `cus_9`, `INV-7`: a word of its own and what it tells apart.
    let (head, tail) = text.split_once(['_', '-'])?;
    let plain = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
    };
    let telling = digits > 0
        || text.contains('_') && tail.len() >= 4 && tail.bytes().any(|b| b.is_ascii_uppercase())
        || text.contains('_') && head.bytes().all(|b| b.is_ascii_uppercase());
    (plain(head) && plain(tail) && telling).then_some(Kind::Code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_told_from_words_and_from_each_other() {
        let query = "charge 5000 NGN to ada@example.com with AUTH_8dfhjjdt, ref=T-12 and \"for lunch\" on 2026-01-29 $20";
        let found: Vec<_> = of(query)
            .iter()
            .map(|token| (token.shown, token.kind, token.name))
            .collect();
        assert_eq!(
            found,
            [
                ("5000 NGN", Kind::Amount, None),
                ("NGN", Kind::Currency, None),
                ("ada@example.com", Kind::Email, None),
                ("AUTH_8dfhjjdt", Kind::Code, None),
                ("T-12", Kind::Code, Some("ref")),
                ("\"for lunch\"", Kind::Quoted, None),
                ("2026-01-29", Kind::Date, None),
                ("$20", Kind::Amount, None),
            ]
        );
    }

    #[test]
    fn a_number_beside_any_word_for_a_currency_is_an_amount() {
        for query in [
            "pay 5,000 naira",
            "pay ₦5,000",
            "pay ₦ 5,000",
            "pay 20 Dollars",
            "pay USD 20",
        ] {
            let found = of(query);
            let amounts = found.iter().filter(|token| token.kind == Kind::Amount);
            assert_eq!(amounts.count(), 1, "{query}: {found:?}");
        }
        assert_eq!(of("pay 5000 items")[0].kind, Kind::Number);
    }

    #[test]
    fn plain_words_are_no_values() {
        for query in [
            "charge a card in Nigeria",
            "one-time set-up of a sub-account",
            "list API keys",
            "",
        ] {
            assert!(of(query).is_empty(), "{query}: {:?}", of(query));
        }
    }
}
