//! Names of cache files: readable, safe on every file system, and never the same for two names.

use toolcrib_core::limits::CACHE_NAME_BYTES_MAX;

use super::Kind;

/// The file of a server's tools or of a registry query: `tools_<name>.json`, `registry_<query>.json`.
///
/// Only ASCII letters, digits, `-` and `_` stay as they are, everything else becomes `_`. Where that
/// changed the name, eight digits of its hash are added.
pub fn file_name(kind: Kind, name: &str) -> String {
    let mut safe: String = name
        .chars()
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' => c,
            _ => '_',
        })
        .collect();
    safe.truncate(CACHE_NAME_BYTES_MAX);
    let prefix = kind.prefix();
    if safe == name && !safe.is_empty() && !looks_hashed(&safe) {
        return format!("{prefix}_{safe}.json");
    }
    let hash = blake3::hash(name.as_bytes()).to_hex();
    format!("{prefix}_{safe}_{}.json", &hash[..8])
}

/// Whether a name ends as one does that a hash was added to; such a name gets a hash of its own.
fn looks_hashed(name: &str) -> bool {
    name.rsplit_once('_').is_some_and(|(_, end)| {
        end.len() == 8 && end.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn safe_names_stay_readable_and_others_get_a_hash() {
        let plain = |name: &str, expect: &str| assert_eq!(file_name(Kind::Tools, name), expect);
        plain("github", "tools_github.json");
        plain("GitHub-v3", "tools_GitHub-v3.json");
        plain("a_b", "tools_a_b.json");
        let hashed = |kind, name: &str, start: &str| {
            let hash = blake3::hash(name.as_bytes()).to_hex();
            assert_eq!(
                file_name(kind, name),
                format!("{start}_{}.json", &hash[..8])
            );
        };
        hashed(Kind::Tools, "a/b", "tools_a_b");
        hashed(Kind::Tools, "a b", "tools_a_b");
        hashed(Kind::Tools, "GitHub-v3.1", "tools_GitHub-v3_1");
        hashed(Kind::Tools, "../../etc", "tools_______etc");
        hashed(Kind::Tools, "..", "tools___");
        hashed(Kind::Tools, "", "tools_");
        hashed(
            Kind::Tools,
            &"x".repeat(200),
            &format!("tools_{}", "x".repeat(80)),
        );
        hashed(Kind::Registry, "send email", "registry_send_email");
    }

    #[test]
    fn a_name_that_looks_like_a_hashed_one_is_told_apart() {
        let hashed = file_name(Kind::Tools, "a/b");
        let posing = hashed
            .trim_start_matches("tools_")
            .trim_end_matches(".json");
        assert_ne!(file_name(Kind::Tools, posing), hashed);
    }

    proptest! {
        #[test]
        fn file_names_are_safe(name in any::<String>()) {
            for kind in [Kind::Tools, Kind::Registry] {
                let file = file_name(kind, &name);
                prop_assert!(file.len() <= 128);
                prop_assert!(file.starts_with(kind.prefix()));
                prop_assert_eq!(file.rsplit('.').next(), Some("json"));
                prop_assert!(file.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)));
            }
        }

        #[test]
        fn different_names_have_different_files(names in proptest::collection::hash_set("[a/ .:_é]{0,4}", 2..40)) {
            let mut seen = HashMap::new();
            for name in &names {
                if let Some(other) = seen.insert(file_name(Kind::Tools, name), name) {
                    prop_assert!(false, "{:?} and {:?}", name, other);
                }
            }
        }
    }
}
