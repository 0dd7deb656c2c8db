//! Characters that are not seen, or that change how others are seen.

use std::borrow::Cow;

use super::{Flag, Kind};

/// Whether a character changes the direction of text. Marks that only speak about their own place
/// are common in right-to-left languages and count in names only.
fn turns(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn marks_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}')
}

/// Whether a character takes no room, or none that is seen.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\0'..='\u{8}'
            | '\u{b}'
            | '\u{c}'
            | '\u{e}'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{2060}'..='\u{2065}'
            | '\u{206a}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// A text as a person who decides about it must see it: every character that is not seen, or that
/// turns others around, is written out. Line ends and tabs stay.
pub fn written_out(text: &str) -> Cow<'_, str> {
    let hides = |c: char| turns(c) || marks_direction(c) || is_invisible(c);
    if !text.contains(hides) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if hides(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Whether an unseen character is an ordinary part of a picture or of a script that needs it.
fn belongs(before: Option<char>, c: char) -> bool {
    let picture = |c: char| {
        matches!(c, '#' | '*' | '0'..='9' | '\u{a9}' | '\u{ae}' | '\u{2000}'..='\u{3300}' | '\u{1f000}'..='\u{1faff}' | '\u{fe0f}')
            && !matches!(c, '\u{200b}'..='\u{200d}')
    };
    let joining_script = |c: char| matches!(c, '\u{600}'..='\u{6ff}' | '\u{900}'..='\u{dff}');
    match c {
        '\u{fe0e}' | '\u{fe0f}' => before.is_some_and(picture),
        '\u{200d}' => before.is_some_and(|b| picture(b) || joining_script(b)),
        '\u{200c}' => before.is_some_and(joining_script),
        _ => false,
    }
}

/// The signs in a text, one for each kind.
pub(super) fn in_text(text: &str) -> impl Iterator<Item = (Kind, String)> + use<> {
    let mut unseen = Vec::new();
    let mut turning = Vec::new();
    let mut before = None;
    for c in text.chars() {
        if turns(c) {
            turning.push(c);
        } else if is_invisible(c) && !belongs(before, c) {
            unseen.push(c);
        }
        before = Some(c);
    }
    listed(&unseen)
        .map(|detail| (Kind::Invisible, detail))
        .into_iter()
        .chain(listed(&turning).map(|detail| (Kind::Bidi, detail)))
}

/// The signs in a name, where no unseen character belongs.
pub(super) fn in_name(name: &str) -> impl Iterator<Item = Flag> + use<> {
    let unseen: Vec<char> = name.chars().filter(|c| is_invisible(*c)).collect();
    let turning = name.chars().filter(|c| turns(*c) || marks_direction(*c));
    let turning: Vec<char> = turning.collect();
    let flag = |kind, detail| Flag {
        kind,
        place: "name".to_owned(),
        detail,
    };
    let unseen = listed(&unseen).map(|detail| flag(Kind::Invisible, detail));
    let turning = listed(&turning).map(|detail| flag(Kind::Bidi, detail));
    unseen.into_iter().chain(turning)
}

/// `3 characters: U+200B, U+200B, U+200B`.
fn listed(found: &[char]) -> Option<String> {
    const SHOWN_MAX: usize = 4;
    let codes: Vec<String> = found
        .iter()
        .take(SHOWN_MAX)
        .map(|c| format!("U+{:04X}", u32::from(*c)))
        .collect();
    let more = if found.len() > SHOWN_MAX { ", …" } else { "" };
    let noun = match found.len() {
        0 => return None,
        1 => "character",
        _ => "characters",
    };
    Some(format!(
        "{} {noun}: {}{more}",
        found.len(),
        codes.join(", ")
    ))
}
