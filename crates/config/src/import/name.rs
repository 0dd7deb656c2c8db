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

/// A pattern that matches a tool of exactly this name. Names that a glob would read otherwise become
/// regular expressions.
pub(crate) fn exact_pattern(tool: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ');
    if tool.chars().all(plain) {
        return tool.to_owned();
    }
    let mut pattern = String::from("/^");
    for c in tool.chars() {
        if c.is_ascii_punctuation() && !matches!(c, '_' | '-' | ':' | '@' | '#' | '!' | '~') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern + "$/"
}

#[cfg(test)]
mod tests {
    use toolcrib_core::pattern;

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
        fn a_pattern_for_a_name_matches_it_and_nothing_longer(tool in "[ -~]{1,12}") {
            let patterns = [exact_pattern(&tool)];
            let matches = |name: &str| pattern::matches(name, &patterns);
            proptest::prop_assert!(matches(&tool).unwrap(), "{:?}", patterns);
            let longer = format!("{tool}x");
            proptest::prop_assert!(!matches(&longer).unwrap());
        }

        #[test]
        fn a_legal_name_stays_as_it_is(name in ".{0,20}") {
            if let Some(once) = legal(&name) {
                proptest::prop_assert!(!once.contains(':'));
                proptest::prop_assert_eq!(legal(&once), Some(once.clone()));
            }
        }
    }
}
