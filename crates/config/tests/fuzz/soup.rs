//! Text out of random bytes: text that parsers do not refuse at the first character.

/// The text that bytes stand for. UTF-8 is meant as it is, so that a corpus can be read and written by
/// people; other bytes pick tokens of the vocabulary, or edit one of the samples.
pub(crate) fn text(bytes: &[u8], vocabulary: &[&str], samples: &[&str]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.to_owned();
    }
    let (first, rest) = (bytes[0], &bytes[1..]);
    if first % 2 == 0 || samples.is_empty() {
        return rest.iter().map(|byte| pick(vocabulary, *byte)).collect();
    }
    let mut text = pick(samples, first / 2).to_owned();
    for edit in rest.chunks_exact(4).take(16) {
        let at = u16::from_le_bytes([edit[0], edit[1]]);
        let at = text.floor_char_boundary(usize::from(at) % (text.len() + 1));
        let token = pick(vocabulary, edit[2]);
        match edit[3] % 4 {
            0 => text.insert_str(at, token),
            1 => text.insert_str(at, &token.repeat(usize::from(edit[3]))),
            2 => text.truncate(at),
            _ => {
                let end = text.floor_char_boundary((at + usize::from(edit[3] / 4)).min(text.len()));
                text.replace_range(at..end, "");
            }
        }
    }
    text
}

fn pick<'t>(from: &[&'t str], byte: u8) -> &'t str {
    from[usize::from(byte) % from.len()]
}

/// A JSON value out of bytes.
pub(crate) fn value(bytes: &mut std::slice::Iter<'_, u8>, depth: usize) -> serde_json::Value {
    use serde_json::{Map, Value, json};
    let number = |bytes: &mut std::slice::Iter<'_, u8>| {
        let mut raw = [0; 8];
        raw.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        raw
    };
    match bytes.next().copied().unwrap_or_default() % 10 {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(i64::from_le_bytes(number(bytes))),
        3 => json!(u64::from_le_bytes(number(bytes))),
        4 => json!(f64::from_le_bytes(number(bytes))),
        5 => json!(i8::from_le_bytes([number(bytes)[0]])),
        6 | 7 => Value::String(string(bytes)),
        8 if depth > 0 => {
            let count = bytes.next().copied().unwrap_or_default() % 6;
            Value::Array((0..count).map(|_| value(bytes, depth - 1)).collect())
        }
        9 if depth > 0 => {
            let count = bytes.next().copied().unwrap_or_default() % 6;
            let entry = |_| (string(bytes), value(bytes, depth - 1));
            Value::Object((0..count).map(entry).collect::<Map<_, _>>())
        }
        _ => json!({}),
    }
}

/// Text that formats tend to trip over.
fn string(bytes: &mut std::slice::Iter<'_, u8>) -> String {
    const PIECES: &[&str] = &[
        "a",
        "B",
        "0",
        "-",
        " ",
        "\t",
        "\n",
        "\r\n",
        "\"",
        "'",
        "\\",
        "/",
        "#",
        ": ",
        "- ",
        "? ",
        "{",
        "}",
        "[",
        "]",
        ",",
        "&a",
        "*a",
        "!",
        "|",
        ">",
        "%",
        "@",
        "`",
        "<<",
        "~",
        "null",
        "yes",
        "true",
        "1e3",
        ".inf",
        "0x1",
        "\0",
        "\u{1}",
        "\u{7f}",
        "\u{85}",
        "\u{a0}",
        "\u{2028}",
        "\u{feff}",
        "é",
        "日本",
        "\u{1f600}",
        "${A}",
        "$${",
        "---",
        "...",
        "=",
    ];
    let count = bytes.next().copied().unwrap_or_default() % 6;
    (0..count)
        .map(|_| pick(PIECES, bytes.next().copied().unwrap_or_default()))
        .collect()
}
