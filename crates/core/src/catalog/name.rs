//! Names of tools and servers as the words they are made of.

/// Splits a name at punctuation and at capital letters; lower case.
pub(crate) fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut open = false;
    let chars: Vec<char> = name.chars().collect();
    for (at, &c) in chars.iter().enumerate() {
        if !c.is_alphanumeric() {
            open = false;
            continue;
        }
        let before = at.checked_sub(1).map(|i| chars[i]);
        let starts_hump = c.is_uppercase()
            && (before.is_some_and(|b| b.is_lowercase() || b.is_numeric())
                || before.is_some_and(char::is_uppercase)
                    && chars.get(at + 1).is_some_and(|n| n.is_lowercase()));
        match words.last_mut() {
            Some(word) if open && !starts_hump => word.extend(c.to_lowercase()),
            _ => words.push(c.to_lowercase().collect()),
        }
        open = true;
    }
    words
}

/// The singular of a noun, near enough to look it up.
pub(crate) fn singular(word: &str) -> String {
    if let Some(stem) = word.strip_suffix("ies") {
        format!("{stem}y")
    } else if word.ends_with("ss") {
        word.to_owned()
    } else {
        word.strip_suffix('s').unwrap_or(word).to_owned()
    }
}
