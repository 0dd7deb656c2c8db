//! The nearest names to one that was not found: for keys, commands, servers and tools.

/// Longest name that is compared; longer ones are cut.
const COMPARED_CHARS_MAX: usize = 128;

/// The candidates that a person most likely meant by `name`, nearest first, at most `max`.
///
/// Case, `-`, `_` and white space do not count. Nothing far off is suggested: one edit is allowed
/// for each three characters, and a swap of neighbours is one edit. Ties go to the shorter, then the
/// alphabetically first.
pub fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    max: usize,
) -> Vec<&'a str> {
    let wanted: Vec<char> = fold(name).chars().take(COMPARED_CHARS_MAX).collect();
    let allowed = (wanted.len() / 3).max(1);
    let mut near: Vec<(usize, usize, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let other: Vec<char> = fold(candidate).chars().take(COMPARED_CHARS_MAX).collect();
            let distance = distance(&wanted, &other, allowed)?;
            Some((distance, candidate.len(), candidate))
        })
        .collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter()
        .take(max)
        .map(|(_, _, name)| name)
        .collect()
}

/// The letters and digits of a name in lower case: what counts when names are compared.
pub fn fold(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// Edits between two names, a swap of neighbours counting as one; `None` where there are more than
/// `allowed`.
fn distance(a: &[char], b: &[char], allowed: usize) -> Option<usize> {
    if a.is_empty() || b.is_empty() || a.len().abs_diff(b.len()) > allowed {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut best = (last[j] + usize::from(x != y))
                .min(last[j + 1] + 1)
                .min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        if row.iter().all(|edits| *edits > allowed) {
            return None;
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().filter(|edits| *edits <= allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_comes_first() {
        let check = |name: &str, candidates: &[&str], expected: &[&str]| {
            assert_eq!(
                nearest(name, candidates.iter().copied(), 2),
                expected,
                "{name}"
            );
        };
        check(
            "toolRuls",
            &["toolRules", "serverRules", "tools"],
            &["toolRules"],
        );
        check("tool_rules", &["toolRules"], &["toolRules"]);
        check("gihtub", &["github", "gitlab"], &["github"]);
        check(
            "create-isue",
            &["create_issue", "createIssues", "delete_issue"],
            &["create_issue", "createIssues"],
        );
        check("x", &["y", "z"], &["y", "z"]);
        check("wholly_different", &["github"], &[]);
        check("", &["github"], &[]);
        check("same", &["same", "same"], &["same"]);
    }

    #[test]
    fn a_swap_is_one_edit_and_ties_are_settled_by_length_and_alphabet() {
        assert_eq!(distance(&['a', 'b'], &['b', 'a'], 1), Some(1));
        assert_eq!(
            nearest("abd", ["abe", "abc", "abde"], 3),
            ["abc", "abe", "abde"]
        );
    }

    #[test]
    fn long_names_are_compared_by_their_beginning() {
        let long = "x".repeat(10_000);
        assert_eq!(nearest(&long, [long.as_str()], 1), [long.as_str()]);
    }
}
