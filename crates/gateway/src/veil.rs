//! The secrets of the configuration by their very letters.
//!
//! A server may repeat what it was given: in an error, on its standard error, in a message. By its
//! look alone such a text cannot be told from any other, so whatever is handed to a server is known
//! here and taken out of logs, errors and records. One for the process, like the log itself.

use std::sync::{PoisonError, RwLock};

use toolcrib_core::limits::{VEIL_SECRET_BYTES_MIN, VEIL_SECRETS_MAX};
use toolcrib_core::secret::{self, MASK, Secret};

static KNOWN: RwLock<Vec<Secret>> = RwLock::new(Vec::new());

/// Takes a secret that is about to be handed to a server. What is too short to be told from a word
/// is left alone.
pub fn keep(secret: &Secret) {
    let whole = secret.expose().trim();
    // A header holds a scheme and a token; a server may repeat the token alone.
    let bare = whole.split_once(' ').map_or(whole, |(_, token)| token);
    for text in [whole, bare.trim()] {
        keep_text(text);
    }
}

fn keep_text(text: &str) {
    if text.len() < VEIL_SECRET_BYTES_MIN {
        return;
    }
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    if known.len() < VEIL_SECRETS_MAX && !known.iter().any(|one| one.expose() == text) {
        // The longest come first, so that a secret within another leaves nothing of the longer one.
        let at = known.partition_point(|one| one.expose().len() >= text.len());
        known.insert(at, Secret::new(text));
    }
}

/// The text without secrets, those that are known and those that look like one.
pub fn cover(text: &str) -> String {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    let mut covered = None;
    for secret in known.iter() {
        let text: &str = covered.as_deref().unwrap_or(text);
        if text.contains(secret.expose()) {
            covered = Some(text.replace(secret.expose(), MASK));
        }
    }
    secret::mask(covered.as_deref().unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_handed_to_a_server_is_covered_whatever_it_looks_like() {
        keep(&Secret::new("veil-plain-words"));
        keep(&Secret::new("veil-plain-words-and-more"));
        keep(&Secret::new("Bearer veil-bare-credential"));
        keep(&Secret::new("short"));
        let check = |text: &str, expected: &str| assert_eq!(cover(text), expected);
        check("a veil-plain-words b", "a *** b");
        check("veil-plain-words-and-more", "***");
        check("sent veil-bare-credential", "sent ***");
        check("short and ghp_0123456789abcdefghij", "short and ***");
    }
}
