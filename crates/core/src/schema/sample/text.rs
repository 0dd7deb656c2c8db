//! Example texts: by pattern, by format, by name.

use regex_syntax::hir::{Class, Hir, HirKind};

use crate::limits::SAMPLE_TEXT_CHARS_MAX;
use crate::schema::outline::Outline;

/// Examples of the formats that schemas name.
const FORMATS: &[(&str, &str)] = &[
    ("date-time", "2025-01-31T12:00:00Z"),
    ("date", "2025-01-31"),
    ("time", "12:00:00Z"),
    ("duration", "PT1H"),
    ("email", "user@example.com"),
    ("idn-email", "user@example.com"),
    ("hostname", "example.com"),
    ("idn-hostname", "example.com"),
    ("ipv4", "192.0.2.1"),
    ("ipv6", "2001:db8::1"),
    ("uri", "https://example.com"),
    ("url", "https://example.com"),
    ("iri", "https://example.com"),
    ("uri-reference", "https://example.com"),
    ("iri-reference", "https://example.com"),
    ("uri-template", "https://example.com/{id}"),
    ("uuid", "123e4567-e89b-12d3-a456-426614174000"),
    ("json-pointer", "/name"),
    ("relative-json-pointer", "0/name"),
    ("regex", "^a"),
    ("byte", "dGV4dA=="),
];

/// Words in a parameter's name that say what its text looks like, the last word counting most.
const NAMES: &[(&str, &str)] = &[
    ("url", "https://example.com"),
    ("uri", "https://example.com"),
    ("link", "https://example.com"),
    ("email", "user@example.com"),
    ("path", "docs/readme.md"),
    ("file", "docs/readme.md"),
    ("filename", "readme.md"),
    ("directory", "docs"),
    ("folder", "docs"),
    ("query", "search words"),
    ("date", "2025-01-31"),
    ("timezone", "Europe/Paris"),
    ("language", "en"),
    ("locale", "en"),
    ("country", "FR"),
    ("currency", "EUR"),
    ("city", "Paris"),
    ("color", "#336699"),
    ("id", "123"),
    ("owner", "octo"),
    ("repo", "hello"),
    ("branch", "main"),
    ("sql", "SELECT 1"),
    ("message", "Hello"),
    ("text", "Hello"),
    ("content", "Hello"),
    ("body", "Hello"),
    ("title", "Title"),
];

/// Repetitions beyond the least that are tried to reach a length.
const BOOSTS: [u32; 7] = [0, 1, 2, 4, 8, 16, 32];

/// A text that fits what the schema says about it, as far as that can be told.
pub(super) fn text(outline: &Outline<'_>, name: &str) -> String {
    let least = super::bound(outline, "minLength").unwrap_or_default();
    let most = super::bound(outline, "maxLength").unwrap_or(SAMPLE_TEXT_CHARS_MAX);
    let encoded = outline.text("contentEncoding") == Some("base64");
    let format = if encoded {
        Some("byte")
    } else {
        outline.text("format")
    };
    let known = |wanted: &str| FORMATS.iter().find(|(f, _)| *f == wanted).map(|(_, t)| *t);
    let plain = format
        .and_then(known)
        .map_or_else(|| plain(name), str::to_owned);
    if let Some(pattern) = outline.text("pattern") {
        let fits = |text: &String| (least..=most).contains(&text.chars().count());
        if regex::Regex::new(pattern).is_ok_and(|regex| regex.is_match(&plain)) && fits(&plain) {
            return plain;
        }
        // One more is tried that reaches the least length exactly, where one part repeats.
        let shortest = matching(pattern, 0).map_or(0, |text| text.chars().count());
        let missing = least.min(SAMPLE_TEXT_CHARS_MAX).saturating_sub(shortest);
        let made: Vec<String> = BOOSTS
            .into_iter()
            .chain(u32::try_from(missing))
            .filter_map(|boost| matching(pattern, boost))
            .collect();
        let fitting = made.iter().find(|text| fits(text)).or(made.first());
        if let Some(text) = fitting {
            return text.clone();
        }
    }
    fitted(plain, least.min(SAMPLE_TEXT_CHARS_MAX), most)
}

/// A text for a parameter of which only the name is known.
pub(super) fn plain(name: &str) -> String {
    let words = words(name);
    let last = words.last().map_or("", String::as_str);
    let known = NAMES.iter().find(|(word, _)| *word == last);
    match known {
        Some((_, text)) => (*text).to_owned(),
        None if last.is_empty() => "text".to_owned(),
        None => words.join(" "),
    }
}

/// The words of a name in lower case: `pullNumber` and `pull_number` are `pull` and `number`.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = ' ';
    for c in name.chars().take(64) {
        if !c.is_alphanumeric() {
            before = ' ';
            continue;
        }
        if before == ' ' || (before.is_lowercase() && c.is_uppercase()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words
}

fn fitted(text: String, least: usize, most: usize) -> String {
    let length = text.chars().count();
    if length > most {
        return text.chars().take(most).collect();
    }
    if length < least {
        return text.chars().cycle().take(least).collect();
    }
    text
}

/// A text that a pattern matches, each repetition taken `boost` times more often than it must be.
fn matching(pattern: &str, boost: u32) -> Option<String> {
    let hir = regex_syntax::Parser::new().parse(pattern).ok()?;
    let mut text = String::new();
    write(&hir, boost, &mut text)?;
    Some(text)
}

fn write(hir: &Hir, boost: u32, text: &mut String) -> Option<()> {
    if text.len() > SAMPLE_TEXT_CHARS_MAX {
        return None;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(std::str::from_utf8(&literal.0).ok()?),
        HirKind::Class(class) => text.push(member(class)?),
        HirKind::Capture(capture) => write(&capture.sub, boost, text)?,
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| write(part, boost, text))?,
        HirKind::Alternation(parts) => write(parts.first()?, boost, text)?,
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(u32::MAX);
            for _ in 0..(repetition.min.saturating_add(boost)).min(most) {
                write(&repetition.sub, boost, text)?;
            }
        }
    }
    Some(())
}

/// A member of a class: a letter or digit where it has one.
fn member(class: &Class) -> Option<char> {
    let Class::Unicode(class) = class else {
        return None;
    };
    let has = |c: &char| {
        class
            .iter()
            .any(|range| (range.start()..=range.end()).contains(c))
    };
    let liked = ['a', 'A', '1', '0', 'x', '-', '_', '.', ' '];
    let any = || {
        class
            .iter()
            .next()
            .map(regex_syntax::hir::ClassUnicodeRange::start)
    };
    liked.into_iter().find(has).or_else(any)
}
