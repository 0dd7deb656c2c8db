//! The nearest names to one that was not found: "did you mean …?".
//!
//! Names are compared without regard to letter case and to how words are joined (`createIssue`,
//! `create-issue` and `Create Issue` are one), by the number of characters that were mistyped, left
//! out, added or swapped with their neighbour. What is further off than a slip of the finger is not
//! suggested at all.

use crate::limits;

/// At most `max` of the candidates, the nearest first; among equally near ones those of the same
/// length, then of the same first letter, then in alphabetic order. None is returned that shares too
/// little with the name to be what was meant. Long names are compared by their beginning.
pub fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    max: usize,
) -> Vec<&'a str> {
    let wanted = Folded::new(name);
    let mut rows = Rows::default();
    let mut found: Vec<((usize, usize, bool), &str)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let folded = Folded::new(candidate);
            let distance = wanted.distance(&folded, &mut rows)?;
            let other_start = wanted.chars.first() != folded.chars.first();
            let length_gap = wanted.chars.len().abs_diff(folded.chars.len());
            Some(((distance, length_gap, other_start), candidate))
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found.truncate(max);
    found.into_iter().map(|(_, candidate)| candidate).collect()
}

/// The letters and digits of a name in lower case: what counts when names are compared.
pub fn fold(name: &str) -> String {
    fold_chars(name).collect()
}

fn fold_chars(name: &str) -> impl Iterator<Item = char> {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase)
}

/// How many slips still make one name a misspelling of another, by the length of the longer.
fn slips_max(length: usize) -> usize {
    match length {
        0..=2 => 0,
        3..=5 => 1,
        6..=8 => 2,
        9..=15 => 3,
        _ => (length / 4).min(limits::NEAREST_SLIPS_MAX),
    }
}

struct Folded<'a> {
    name: &'a str,
    chars: Vec<char>,
    /// One bit for each character that occurs, several characters sharing a bit.
    letters: u64,
}

impl<'a> Folded<'a> {
    fn new(name: &'a str) -> Self {
        let folded = fold_chars(name).take(limits::NEAREST_NAME_CHARS_MAX);
        let chars: Vec<char> = folded.collect();
        let bit = |c: &char| 1_u64 << (u32::from(*c) % 64);
        let letters = chars.iter().map(bit).fold(0, |all, bit| all | bit);
        Self {
            name,
            chars,
            letters,
        }
    }

    /// The number of slips between two names; `None` when there are too many.
    fn distance(&self, other: &Self, rows: &mut Rows) -> Option<usize> {
        if self.chars.is_empty() || other.chars.is_empty() {
            return None;
        }
        let limit = slips_max(self.chars.len().max(other.chars.len()));
        let missing = (self.letters & !other.letters).count_ones();
        let added = (other.letters & !self.letters).count_ones();
        let apart = self.chars.len().abs_diff(other.chars.len());
        if apart > limit || usize::try_from(missing.max(added)).is_ok_and(|least| least > limit) {
            return None;
        }
        let slips = rows.slips(&self.chars, &other.chars, limit);
        slips.or_else(|| self.has_words_of(other).then_some(1))
    }

    /// Whether the names differ only in the order of their words, as `issue_create` and
    /// `createIssue` do.
    fn has_words_of(&self, other: &Self) -> bool {
        self.letters == other.letters
            && self.chars.len() == other.chars.len()
            && words(self.name) == words(other.name)
    }
}

/// The words of a name, folded, in alphabetic order.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = None;
    let mut rest = name.chars().take(limits::NEAREST_NAME_CHARS_MAX).peekable();
    while let Some(c) = rest.next() {
        if !c.is_alphanumeric() || starts_word(before, c, rest.peek().copied()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase().filter(|c| c.is_alphanumeric()));
        }
        before = Some(c);
    }
    words.retain(|word| !word.is_empty());
    words.sort_unstable();
    words
}

/// Whether a capital begins a word: `createIssue`, `HTTPServer`.
fn starts_word(before: Option<char>, c: char, next: Option<char>) -> bool {
    let after_lower = before.is_some_and(|b| b.is_lowercase() || b.is_numeric());
    let ends_capitals =
        before.is_some_and(char::is_uppercase) && next.is_some_and(char::is_lowercase);
    c.is_uppercase() && (after_lower || ends_capitals)
}

/// The last three rows of the distance table, kept from one comparison to the next.
#[derive(Default)]
struct Rows([Vec<usize>; 3]);

impl Rows {
    /// The least number of insertions, deletions, substitutions and swaps of neighbours that turn `a`
    /// into `b` (no part edited twice), or `None` above `limit`. Only the cells that can stay within
    /// the limit are filled.
    fn slips(&mut self, a: &[char], b: &[char], limit: usize) -> Option<usize> {
        let far = limit + 1;
        let [before, last, row] = &mut self.0;
        for cells in [&mut *before, &mut *last, &mut *row] {
            cells.clear();
            cells.resize(b.len() + 1, far);
        }
        for (j, cell) in last.iter_mut().enumerate().take(far) {
            *cell = j;
        }
        for i in 1..=a.len() {
            let first = i.saturating_sub(limit).max(1);
            let end = (i + limit).min(b.len());
            row.fill(far);
            if i <= limit {
                row[0] = i;
            }
            for j in first..=end {
                let same = a[i - 1] == b[j - 1];
                let replaced = last[j - 1] + usize::from(!same);
                let edited = replaced.min(last[j] + 1).min(row[j - 1] + 1);
                let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                let swap = if swapped { before[j - 2] + 1 } else { far };
                row[j] = edited.min(swap).min(far);
            }
            std::mem::swap(before, last);
            std::mem::swap(last, row);
        }
        last.last().copied().filter(|slips| *slips <= limit)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NAMES: &[&str] = &[
        "create_issue",
        "create_issues",
        "delete_issue",
        "getHTTPServer",
        "list-repos",
        "search",
        "toolRules",
        "servers",
        "cache",
        "ls",
    ];

    fn check(name: &str, expected: &[&str]) {
        assert_eq!(nearest(name, NAMES.iter().copied(), 3), expected, "{name}");
    }

    #[test]
    fn a_slip_of_the_finger_is_understood() {
        check("serach", &["search"]);
        check("toolrule", &["toolRules"]);
        check("tool_ruels", &["toolRules"]);
        check("create_isue", &["create_issue", "create_issues"]);
        check("lst-repos", &["list-repos"]);
        check("server", &["servers"]);
        check("cahce", &["cache"]);
    }

    #[test]
    fn spelling_of_words_does_not_count() {
        check("createIssue", &["create_issue", "create_issues"]);
        check("CREATE-ISSUES", &["create_issues", "create_issue"]);
        check("get_http_server", &["getHTTPServer"]);
        check("List Repos", &["list-repos"]);
        check("issue_create", &["create_issue"]);
        check("ServerHttpGet", &["getHTTPServer"]);
        assert_eq!(fold("Get-HTTP_server 2!"), "gethttpserver2");
    }

    #[test]
    fn nothing_silly_is_suggested() {
        for name in ["", "x", "sl", "delete", "caches_all", "qwertyuiop", "---"] {
            check(name, &[]);
        }
        check("issue_destroy", &[]);
    }

    #[test]
    fn ties_are_broken_by_name_and_doubles_are_dropped() {
        let names = ["card", "cart", "bars", "cars", "card", "care"];
        assert_eq!(nearest("carx", names, 9), ["card", "care", "cars", "cart"]);
        assert_eq!(nearest("carx", names, 1), ["card"]);
        assert_eq!(nearest("carx", names, 0), [""; 0]);
        let mut reversed = names;
        reversed.reverse();
        assert_eq!(nearest("carx", reversed, 9), nearest("carx", names, 9));
    }

    #[test]
    fn the_length_that_a_name_keeps_counts_before_its_first_letter() {
        assert_eq!(nearest("tags", ["stags", "bags"], 2), ["bags", "stags"]);
        assert_eq!(nearest("tags", ["bags", "tabs"], 2), ["tabs", "bags"]);
    }

    #[test]
    fn long_names_are_compared_by_their_beginning() {
        let long = "ab".repeat(5_000);
        assert_eq!(nearest(&long, [long.as_str(), "ab"], 2), [long.as_str()]);
        assert!(nearest("ab", [long.as_str()], 2).is_empty());
    }

    /// The whole table, without a band.
    fn naive(a: &[char], b: &[char]) -> usize {
        let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                let mut best = match (i, j) {
                    (0, n) | (n, 0) => n,
                    _ => table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]),
                };
                if i > 0 && j > 0 {
                    best = best.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
                }
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(table[i - 2][j - 2] + 1);
                }
                table[i][j] = best;
            }
        }
        table[a.len()][b.len()]
    }

    proptest! {
        #[test]
        fn the_band_finds_what_the_whole_table_finds(
            a in "[abc]{0,9}",
            b in "[abc]{0,9}",
            limit in 0_usize..5,
        ) {
            let [a, b] = [a, b].map(|text| text.chars().collect::<Vec<_>>());
            let full = naive(&a, &b);
            let expected = (full <= limit).then_some(full);
            prop_assert_eq!(Rows::default().slips(&a, &b, limit), expected);
        }

        #[test]
        fn a_name_is_nearest_to_itself(name in "[a-zA-Z_]{1,12}", others in prop::collection::vec("[a-z_]{1,12}", 0..20)) {
            prop_assume!(name.chars().any(|c| c != '_'));
            let all = others.iter().map(String::as_str).chain([name.as_str()]);
            let found = nearest(&name, all, usize::MAX);
            prop_assert!(found.contains(&name.as_str()));
        }
    }
}
