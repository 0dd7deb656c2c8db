//! The part of a result that is given at once.

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use toolcrib_core::limits::TOKEN_BYTES_ESTIMATE;

use crate::engine::definition::raw;

/// What is wanted of a result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// How many tokens may be given at once.
    pub(super) tokens_max: usize,
    /// Where to begin: what [`Next::from`] said.
    pub(super) from: usize,
}

/// What is given.
#[derive(Debug)]
pub(super) struct Shaped {
    pub(super) result: Box<RawValue>,
    /// Where the next part begins, where there is one.
    pub(super) next: Option<Next>,
}

/// The part that comes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Next {
    pub(super) from: usize,
    /// How much is left, in words.
    pub(super) left: String,
}

/// Gives the part of a result that is wanted. A result of one text is cut between its lines; any other
/// is given whole.
pub(super) fn shape(result: &RawValue, wanted: Wanted) -> Shaped {
    let whole = || Shaped {
        result: result.to_owned(),
        next: None,
    };
    let budget = wanted.tokens_max.saturating_mul(TOKEN_BYTES_ESTIMATE);
    if wanted.from == 0 && result.get().len() <= budget {
        return whole();
    }
    let Ok(mut fields) = serde_json::from_str::<Map<String, Value>>(result.get()) else {
        return whole();
    };
    let Some(text) = only_text(&fields) else {
        return whole();
    };
    let (start, end) = part(&text, wanted.from, budget);
    // What stands beside the text says the same at full length.
    fields.remove("structuredContent");
    if let Some(shown) = fields.get_mut("content").and_then(|c| c[0].get_mut("text")) {
        *shown = text[start..end].into();
    }
    let left = text.len() - end;
    Shaped {
        result: raw(&Value::Object(fields)),
        next: (left > 0).then(|| Next {
            from: end,
            left: format!("{left} of {} bytes", text.len()),
        }),
    }
}

/// The text of a result that is nothing but one text.
fn only_text(fields: &Map<String, Value>) -> Option<String> {
    match fields.get("content")?.as_array()?.as_slice() {
        [only] if only["type"] == "text" => Some(only["text"].as_str()?.to_owned()),
        _ => None,
    }
}

/// The lines from a place on that fit; where not even one does, as many of its characters as fit.
fn part(text: &str, from: usize, budget: usize) -> (usize, usize) {
    let start = text.floor_char_boundary(from.min(text.len()));
    let most = start.saturating_add(budget.max(TOKEN_BYTES_ESTIMATE));
    if most >= text.len() {
        return (start, text.len());
    }
    let most = text.floor_char_boundary(most);
    let end = text[start..most].rfind('\n').map(|at| start + at + 1);
    (start, end.unwrap_or(most))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wanted(tokens_max: usize, from: usize) -> Wanted {
        Wanted { tokens_max, from }
    }

    #[test]
    fn every_part_together_is_the_whole_text() {
        let text = "é one\ntwo two\nthree three three\n".repeat(20);
        let result = raw(&json!({
            "content": [{"type": "text", "text": text}], "structuredContent": {"a": 1}, "x": 2,
        }));
        let (mut from, mut read, mut pages) = (0, String::new(), 0);
        loop {
            let shaped = shape(&result, wanted(10, from));
            let value: Value = serde_json::from_str(shaped.result.get()).unwrap();
            assert_eq!(value["x"], 2);
            assert!(value.get("structuredContent").is_none());
            let part = value["content"][0]["text"].as_str().unwrap();
            assert!(part.len() <= 40 && part.ends_with('\n'), "{part:?}");
            read.push_str(part);
            pages += 1;
            match shaped.next {
                Some(next) => from = next.from,
                None => break,
            }
        }
        assert_eq!(read, text);
        assert!(pages > 10, "{pages}");
    }

    #[test]
    fn what_fits_or_cannot_be_cut_is_given_whole() {
        let small = raw(&json!({"content": [{"type": "text", "text": "x"}]}));
        let image = raw(&json!({"content": [{"type": "image", "data": "x".repeat(1_000)}]}));
        let odd = raw(&json!("x".repeat(1_000)));
        for result in [small, image, odd] {
            let shaped = shape(&result, wanted(20, 0));
            assert_eq!(shaped.result.get(), result.get());
            assert_eq!(shaped.next, None);
        }
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        assert_eq!(part("ééééé", 0, 3), (0, 4));
        assert_eq!(part("ééééé", 3, 4), (2, 6));
        assert_eq!(part("abc", 99, 4), (3, 3));
    }
}
