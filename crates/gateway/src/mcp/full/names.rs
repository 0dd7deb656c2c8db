//! The names of tools in full mode, and what they tell.

use serde_json::json;

/// Longest name that every client takes.
const NAME_BYTES_MAX: usize = 64;
/// Digits of the hash that tells names apart which would be the same otherwise.
const HASH_DIGITS: usize = 8;
/// How much of the plain name stands before a hash.
const KEPT_BYTES: usize = NAME_BYTES_MAX - HASH_DIGITS - 1;
/// What stands between server and tool.
const BETWEEN: &str = "__";

fn is_legal(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// As much of a text as stands before a hash.
fn kept(plain: &str) -> String {
    let legal = plain.chars().map(|c| if is_legal(c) { c } else { '_' });
    legal.take(KEPT_BYTES).collect()
}

/// The name of a tool: `server__tool` where that is legal and can be taken apart again, else with a
/// hash at its end. It depends on nothing but the two names, so that it stays as it is.
pub(crate) fn name(server: &str, tool: &str) -> String {
    let plain = format!("{server}{BETWEEN}{tool}");
    let is_whole = plain.len() <= NAME_BYTES_MAX
        && plain.chars().all(is_legal)
        && plain.match_indices(BETWEEN).count() == 1
        && !plain.contains("___");
    if is_whole {
        return plain;
    }
    let hash = blake3::hash(json!([server, tool]).to_string().as_bytes()).to_hex();
    format!("{}-{}", kept(&plain), &hash[..HASH_DIGITS])
}

/// The server and the tool that a name reads like.
pub(super) fn apart(name: &str) -> (&str, &str) {
    name.split_once(BETWEEN).unwrap_or(("", name))
}

/// Whether a name may end in a hash, so that it does not say by itself what it means.
pub(super) fn may_be_hashed(wanted: &str) -> bool {
    let is_digit = |c: char| matches!(c, '0'..='9' | 'a'..='f');
    wanted
        .rsplit_once('-')
        .is_some_and(|(_, hash)| hash.len() == HASH_DIGITS && hash.chars().all(is_digit))
}

/// Whether a name with a hash may be the one of a tool of this server.
pub(super) fn may_be_of(wanted: &str, server: &str) -> bool {
    wanted.starts_with(&kept(&format!("{server}{BETWEEN}")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn legal_names_stay_readable() {
        assert_eq!(name("github", "create_issue"), "github__create_issue");
        assert_eq!(name("a", "b-c"), "a__b-c");
        assert!(!may_be_hashed("a__b-c") && may_be_hashed(&name("a", "b__c")));
    }

    proptest! {
        #[test]
        fn names_are_legal_stable_and_unique(
            one in (".{1,80}", ".{1,80}"),
            other in ("[a-c_.]{1,4}", "[a-c_.]{1,4}"),
            third in ("[a-c_.]{1,4}", "[a-c_.]{1,4}"),
        ) {
            for (server, tool) in [&one, &other, &third] {
                let made = name(server, tool);
                prop_assert!((1..=NAME_BYTES_MAX).contains(&made.len()));
                prop_assert!(made.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'));
                prop_assert_eq!(&made, &name(server, tool));
                prop_assert!(may_be_of(&made, server));
                if !may_be_hashed(&made) {
                    prop_assert_eq!(apart(&made), (server.as_str(), tool.as_str()));
                }
            }
            prop_assert_eq!(
                name(&other.0, &other.1) == name(&third.0, &third.1),
                other == third
            );
        }
    }
}
