//! Texts of strangers, shortened so that their sense stays.

use std::borrow::Cow;

/// A text on one line, of about `chars` characters at most, and whether anything was left out: whole
/// sentences where enough of them fit, else whole words and `…`.
pub fn shorten(text: &str, chars: usize) -> (Cow<'_, str>, bool) {
    let text = one_line(text);
    let Some((end, _)) = text.char_indices().nth(chars) else {
        return (text, false);
    };
    let head = &text[..end];
    let next = text[end..].chars().next();
    let sentence = head
        .match_indices(['.', '!', '?'])
        .map(|(at, _)| at + 1)
        .rfind(|at| is_end(text.as_ref(), *at));
    if let Some(at) = sentence.filter(|at| *at * 2 >= end) {
        return (Cow::Owned(text[..at].to_owned()), true);
    }
    let ended = next.is_some_and(char::is_whitespace);
    let words = match head.rfind(' ') {
        Some(at) if !ended && at * 2 >= end => &head[..at],
        _ => head,
    };
    let words = words.trim_end_matches(|c: char| c.is_whitespace() || ",;:(-–—".contains(c));
    if words.is_empty() {
        return (Cow::Borrowed(""), true);
    }
    (Cow::Owned(format!("{words}…")), true)
}

/// Openings that tell nothing but whether the parameter may be left out, which stands beside it.
const OPENINGS: [&str; 8] = [
    "(optional)",
    "optional:",
    "optional.",
    "optional,",
    "[optional]",
    "(required)",
    "required:",
    "required.",
];

/// Words that a description adds to a name without adding sense.
const FILLERS: [&str; 7] = ["the", "a", "an", "of", "for", "to", "this"];

/// What a parameter's description says beyond its name: without remarks on whether it is optional, and
/// empty where it only repeats the name.
pub fn sense<'a>(text: &'a str, name: &str) -> Cow<'a, str> {
    let mut text = text.trim();
    for opening in OPENINGS {
        let head = text.get(..opening.len());
        if head.is_some_and(|head| head.eq_ignore_ascii_case(opening)) {
            text = text[opening.len()..].trim_start();
        }
    }
    let text = one_line(text);
    let word = |word: &str| {
        word.trim_matches(|c: char| !c.is_alphanumeric())
            .to_lowercase()
    };
    let said: String = text
        .split(' ')
        .map(word)
        .filter(|w| !FILLERS.contains(&w.as_str()))
        .collect();
    if said == crate::nearest::fold(name) {
        return Cow::Borrowed("");
    }
    text
}

/// How a description says what a parameter is where it is left out, before the value itself.
const DEFAULT_REMARKS: [&str; 6] = [
    "default is ",
    "default: ",
    "default = ",
    "default ",
    "defaults to ",
    "by default ",
];

/// A text without a remark at its end on the default, which stands beside it: `(default: 10)`,
/// `Defaults to 10.` Remarks that say more than the value stay.
pub fn without_default<'a>(text: &'a str, default: &str) -> &'a str {
    let bare = |text: &'a str| text.trim_end_matches(|c: char| ".)]\"'`".contains(c));
    let default = default.trim_matches('"');
    let Some(head) = bare(text).strip_suffix(default) else {
        return text;
    };
    let head = head.trim_end_matches(['"', '\'', '`']);
    for remark in DEFAULT_REMARKS {
        let Some(at) = head.len().checked_sub(remark.len()) else {
            continue;
        };
        let found = head
            .get(at..)
            .is_some_and(|end| end.eq_ignore_ascii_case(remark));
        let before = head.get(..at).unwrap_or_default();
        let apart = before.is_empty() || before.ends_with(['(', '[', ' ', ',', ';']);
        if found && apart {
            return before.trim_end_matches(|c: char| c.is_whitespace() || "([,;-–—".contains(c));
        }
    }
    text
}

/// Whether a sentence ends before `at`.
fn is_end(text: &str, at: usize) -> bool {
    let after = text[at..].chars().next();
    let before = &text[..at];
    after.is_none_or(char::is_whitespace) && !before.ends_with("e.g.") && !before.ends_with("i.e.")
}

/// The text with every run of white space as one space.
pub fn one_line(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    let odd = |pair: &[u8]| pair[0].is_ascii_whitespace() && (pair[0] != b' ' || pair[1] == b' ');
    if !text.as_bytes().windows(2).any(odd) {
        return Cow::Borrowed(text);
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    Cow::Owned(words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, chars: usize, expect: &str, cut: bool) {
        assert_eq!(shorten(text, chars), (Cow::Borrowed(expect), cut), "{text}");
    }

    #[test]
    fn a_short_text_stays_as_it_is_on_one_line() {
        check(
            "Owner of the repository",
            40,
            "Owner of the repository",
            false,
        );
        check(
            "  two\n\n  lines\tand more ",
            40,
            "two lines and more",
            false,
        );
        check("", 0, "", false);
    }

    #[test]
    fn what_only_repeats_the_name_or_says_optional_is_left_out() {
        for (text, name, expect) in [
            ("Project ID", "project_id", ""),
            ("The ID of the team.", "teamId", "The ID of the team."),
            ("The team ID.", "teamId", ""),
            ("(Optional) Assignee's user", "assignee", "Assignee's user"),
            ("Optional: a\nlabel", "x", "a label"),
            ("Optionally a label", "x", "Optionally a label"),
            ("", "x", ""),
            ("Größe", "größe", ""),
        ] {
            assert_eq!(sense(text, name), expect, "{text}");
        }
    }

    #[test]
    fn a_remark_on_the_default_is_left_out_where_it_says_no_more() {
        for (text, default, expect) in [
            ("Page size (default: 10)", "10", "Page size"),
            ("Page size. Defaults to 10.", "10", "Page size."),
            ("Sort order, default 'asc'.", "\"asc\"", "Sort order"),
            ("Sort order (Default is `asc`)", "\"asc\"", "Sort order"),
            ("Default: true", "true", ""),
            (
                "Page size (default: 10, max: 50)",
                "10",
                "Page size (default: 10, max: 50)",
            ),
            ("Page size (default: 100)", "10", "Page size (default: 100)"),
            ("The nondefault 10", "10", "The nondefault 10"),
            ("At most 10", "10", "At most 10"),
        ] {
            assert_eq!(without_default(text, default), expect, "{text}");
        }
    }

    #[test]
    fn whole_sentences_are_kept_where_enough_of_them_fit() {
        check("One two three. Four five six.", 20, "One two three.", true);
        check("Is it? Yes! No more of this", 13, "Is it? Yes!", true);
        check(
            "Use a key, e.g. the one that was given before",
            20,
            "Use a key, e.g. the…",
            true,
        );
    }

    #[test]
    fn else_whole_words_are_kept() {
        check(
            "A. quite long text without a stop in it",
            20,
            "A. quite long text…",
            true,
        );
        check("one two three", 7, "one two…", true);
        check("one two, three", 9, "one two…", true);
        check("abcdefghijklmnop", 5, "abcde…", true);
        check("ab (cdefghij klm", 5, "ab (c…", true);
        check("some text", 0, "", true);
        check("日本語のテキスト", 3, "日本語…", true);
    }
}
