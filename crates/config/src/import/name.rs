//! Names of servers that ids and rules can use.

use toolcrib_core::limits::SERVER_NAME_CHARS_MAX;

/// A legal form of a name: trimmed, without `:` and control characters, cut to
/// [`SERVER_NAME_CHARS_MAX`]. `None` when nothing is left.
///
/// Different names may become the same; merging tells those apart.
pub fn legal(name: &str) -> Option<String> {
    let legal: String = name
        .trim()
        .chars()
        .map(|c| if c == ':' || c.is_control() { '-' } else { c })
        .take(SERVER_NAME_CHARS_MAX)
        .collect();
    let legal = legal.trim().to_owned();
    (!legal.is_empty()).then_some(legal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_trimmed_and_freed_of_colons() {
        let check = |name: &str, expected: Option<&str>| {
            assert_eq!(legal(name).as_deref(), expected, "{name:?}");
        };
        check("github", Some("github"));
        check("  GitHub Server ", Some("GitHub Server"));
        check("io.github:files", Some("io.github-files"));
        check("a\nb", Some("a-b"));
        check("", None);
        check("  ", None);
        check(":", Some("-"));
        check(&"x".repeat(500), Some(&"x".repeat(SERVER_NAME_CHARS_MAX)));
    }

    proptest::proptest! {
        #[test]
        fn a_legal_name_stays_as_it_is(name in ".{0,20}") {
            if let Some(once) = legal(&name) {
                proptest::prop_assert!(!once.contains(':'));
                proptest::prop_assert_eq!(legal(&once), Some(once.clone()));
            }
        }
    }
}
