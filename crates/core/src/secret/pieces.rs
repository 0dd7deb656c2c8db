//! Text in pieces that separate words and pieces that are words, as masking reads it.

fn is_separator(c: char) -> bool {
    match u8::try_from(c) {
        Ok(byte) if byte.is_ascii() => SEPARATORS[usize::from(byte)],
        _ => c.is_whitespace(),
    }
}

/// Which letters of ASCII separate: a table, because every letter of every log line is held against it.
const SEPARATORS: [bool; 128] = {
    let marks = b"\t\n\x0b\x0c\r =:\"',;&?{}[]()/@#";
    let mut table = [false; 128];
    let mut at = 0;
    while at < marks.len() {
        table[marks[at] as usize] = true;
        at += 1;
    }
    table
};

/// How far the text begins with separators, or with anything else.
fn run(text: &str, separates: bool) -> usize {
    let bytes = text.as_bytes();
    let ends = |byte: &u8| {
        SEPARATORS
            .get(usize::from(*byte))
            .copied()
            .unwrap_or(!separates)
            != separates
    };
    let mut at = 0;
    loop {
        at = bytes[at..]
            .iter()
            .position(ends)
            .map_or(bytes.len(), |more| at + more);
        match text[at..].chars().next() {
            // Beyond ASCII it takes the whole letter.
            Some(c) if !c.is_ascii() && is_separator(c) == separates => at += c.len_utf8(),
            _ => return at,
        }
    }
}

/// The text in pieces that are separators or none, each with which of the two it is.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let separates = is_separator(rest.chars().next()?);
        let (piece, after) = rest.split_at(run(rest, separates));
        rest = after;
        Some((piece, separates))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_space_separates() {
        for c in ('\0'..='\u{ff}').chain(['\u{2003}', '\u{3000}']) {
            assert!(is_separator(c) || !c.is_whitespace(), "{c:?}");
        }
        assert!(!is_separator('a') && !is_separator('-') && !is_separator('é'));
    }

    proptest::proptest! {
        #[test]
        fn pieces_are_the_whole_text_and_as_long_as_can_be(text in "(.|[ =:a\u{a0}\u{2003}é]){0,40}") {
            let joined: String = pieces(&text).map(|(piece, _)| piece).collect();
            proptest::prop_assert_eq!(&joined, &text);
            let mut before = None;
            for (piece, separates) in pieces(&text) {
                proptest::prop_assert!(piece.chars().all(|c| is_separator(c) == separates), "{}", piece);
                proptest::prop_assert_ne!(before, Some(separates));
                before = Some(separates);
            }
        }
    }
}
