//! Letter case: one representative for all spellings of a character.

use std::borrow::Cow;

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

/// The representative of a character's simple case folding class.
///
/// It comes from the tables of the regex engine, so that a name matches a plain glob exactly when it
/// would match the same glob run by the engine with the `i` flag.
pub(super) fn fold_char(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    let mut class = ClassUnicode::new([ClassUnicodeRange::new(c, c)]);
    if class.try_case_fold_simple().is_err() {
        return c;
    }
    class
        .ranges()
        .first()
        .map_or(c, |range| range.start().to_ascii_lowercase())
}

/// The text with every character folded; borrowed where nothing changes.
pub(super) fn fold(text: &str) -> Cow<'_, str> {
    if !text.is_ascii() {
        return Cow::Owned(text.chars().map(fold_char).collect());
    }
    if text.bytes().any(|b| b.is_ascii_uppercase()) {
        Cow::Owned(text.to_ascii_lowercase())
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_joins_every_spelling_of_a_letter() {
        for (a, b) in [
            ("GitHub", "github"),
            ("ÜNÏCODE", "ünïcode"),
            ("ΟΔΟΣ", "οδος"),
            ("\u{212a}elvin", "kelvin"),
            ("\u{17f}end", "send"),
            ("Straẞe", "straße"),
        ] {
            assert_eq!(fold(a), fold(b), "{a} {b}");
        }
        assert_ne!(fold("ı"), fold("i"));
        assert!(matches!(fold("create_issue"), Cow::Borrowed(_)));
    }

    #[test]
    fn folding_agrees_with_the_engine_on_every_cased_letter() {
        let cased: Vec<char> = ('\u{80}'..=char::MAX)
            .filter(|c| !c.to_lowercase().eq([*c]) || !c.to_uppercase().eq([*c]))
            .chain('A'..='z')
            .collect();
        let all: String = cased.iter().collect();
        let folded: Vec<char> = cased.iter().copied().map(fold_char).collect();
        for &c in cased.iter().step_by(7) {
            let pattern = format!("(?i)\\x{{{:x}}}", u32::from(c));
            let engine = regex::Regex::new(&pattern).unwrap();
            let found: String = engine.find_iter(&all).map(|m| m.as_str()).collect();
            let pairs = cased.iter().zip(&folded);
            let same: String = pairs
                .filter(|(_, f)| **f == fold_char(c))
                .map(|(d, _)| d)
                .collect();
            assert_eq!(found, same, "{c}");
        }
    }
}
