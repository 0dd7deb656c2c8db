//! Texts of API descriptions: HTML taken out, spaces kept in order, lengths bounded.

/// Names of the HTML elements that descriptions are written with.
const ELEMENTS: [&str; 36] = [
    "a",
    "b",
    "blockquote",
    "br",
    "code",
    "dd",
    "div",
    "dl",
    "dt",
    "em",
    "font",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "i",
    "img",
    "li",
    "ol",
    "p",
    "pre",
    "small",
    "span",
    "strong",
    "sub",
    "sup",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
];

/// The text without HTML elements and without more than `max` bytes.
pub(super) fn plain(text: &str, max: usize) -> String {
    // What is cut off need not be looked at; markup is seldom most of a text.
    let text = head(text, max.saturating_mul(2));
    let mut out = if text.contains('<') {
        without_elements(text)
    } else {
        text.to_owned()
    };
    let kept = head(&out, max).len();
    out.truncate(kept);
    let kept = out.trim_end().len();
    out.truncate(kept);
    let blank = out.len() - out.trim_start().len();
    out.drain(..blank);
    out
}

/// The first `max` bytes, to the end of a character.
pub(super) fn head(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

fn without_elements(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        if let Some(end) = after.find('>').filter(|end| is_element(&after[..*end])) {
            if is_break(&after[..end]) && !out.ends_with('\n') && !out.is_empty() {
                out.push('\n');
            }
            rest = &after[end + 1..];
        } else {
            out.push('<');
            rest = after;
        }
    }
    out.push_str(rest);
    let entities = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ];
    for (entity, character) in entities {
        if out.contains(entity) {
            out = out.replace(entity, character);
        }
    }
    out
}

fn name(inside: &str) -> &str {
    let inside = inside.strip_prefix('/').unwrap_or(inside);
    let end = inside.find(|c: char| !c.is_ascii_alphanumeric());
    &inside[..end.unwrap_or(inside.len())]
}

fn is_element(inside: &str) -> bool {
    let name = name(inside);
    ELEMENTS
        .iter()
        .any(|element| name.eq_ignore_ascii_case(element))
}

fn is_break(inside: &str) -> bool {
    let name = name(inside).to_ascii_lowercase();
    matches!(
        name.as_str(),
        "p" | "br" | "li" | "tr" | "div" | "h1" | "h2" | "h3" | "h4"
    )
}

/// The first sentence of a text, for a list.
pub(super) fn first_sentence(text: &str) -> &str {
    let line = text.trim_start().lines().next().unwrap_or("").trim_end();
    match line.find(". ") {
        Some(end) => &line[..=end],
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_goes_and_words_stay() {
        let table = [
            ("<p>Returns a <code>list</code>.</p>", "Returns a list."),
            ("a < b and c > d", "a < b and c > d"),
            ("use <token> here", "use <token> here"),
            ("one<br/>two", "one\ntwo"),
            ("  plain  ", "plain"),
            ("<b>5 &lt; 6</b>", "5 < 6"),
            ("<", "<"),
        ];
        for (text, expected) in table {
            assert_eq!(plain(text, 1_000), expected, "{text}");
        }
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(plain(&"é".repeat(100), 5), "éé");
        assert_eq!(plain(&"x".repeat(10_000_000), 8).len(), 8);
    }

    #[test]
    fn the_first_sentence_is_found() {
        assert_eq!(first_sentence("One. Two."), "One.");
        assert_eq!(first_sentence("\nOnly line\nnext"), "Only line");
    }
}
