//! Text that fits its column: bounded, and without what a database cannot hold.

use std::borrow::Cow;

use toolcrib_core::limits::RECORD_NAME_BYTES_MAX;

/// A name of at most [`RECORD_NAME_BYTES_MAX`] bytes. A longer one is cut and ends with a hash of
/// the whole, so that two long names stay two.
pub(crate) fn name(text: &str) -> String {
    let text = without_nul(text);
    if text.len() <= RECORD_NAME_BYTES_MAX {
        return text.into_owned();
    }
    let hash = blake3::hash(text.as_bytes()).to_hex();
    let kept = cut(&text, RECORD_NAME_BYTES_MAX - 20);
    format!("{kept}…{}", &hash[..16])
}

/// Text of at most `max` bytes, with a mark where something was left out.
pub(crate) fn bounded(text: &str, max: usize) -> String {
    let text = without_nul(text);
    if text.len() <= max {
        return text.into_owned();
    }
    format!("{}…", cut(&text, max.saturating_sub('…'.len_utf8())))
}

/// PostgreSQL has no NUL in `TEXT`.
pub(crate) fn without_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

fn cut(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bounded_text_fits_and_keeps_what_fits(text in any::<String>(), max in 3_usize..200) {
            let kept = bounded(&text, max);
            prop_assert!(kept.len() <= max);
            prop_assert!(!kept.contains('\0'));
            if text.len() <= max && !text.contains('\0') {
                prop_assert_eq!(kept, text);
            }
        }

        #[test]
        fn long_names_stay_apart(a in "[a-zé]{500,700}", b in "[a-z]{1,3}") {
            let (one, two) = (name(&a), name(&format!("{a}{b}")));
            prop_assert!(one.len() <= RECORD_NAME_BYTES_MAX && two.len() <= RECORD_NAME_BYTES_MAX);
            prop_assert_ne!(one, two);
        }
    }
}
