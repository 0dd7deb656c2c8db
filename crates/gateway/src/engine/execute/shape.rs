//! The part of a result that is given at once.

use serde_json::value::RawValue;
use toolcrib_core::content::Content;
use toolcrib_core::{pages, tokens};

use crate::engine::definition::raw;
use crate::legible;

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

/// Gives the part of a result that is wanted: whole items, as many as fit; `None` where there is no
/// such part. Images and other blocks go with the first part, unharmed.
pub(super) fn shape(result: &RawValue, wanted: Wanted) -> Option<Shaped> {
    if wanted.from == 0 && tokens::fits(result.get(), wanted.tokens_max) {
        return Some(Shaped {
            result: result.to_owned(),
            next: None,
        });
    }
    let mut content = Content::read(legible::value(result));
    let page = pages::page(&content.result, wanted.from, wanted.tokens_max)?;
    if wanted.from == 0 && page.next.is_none() {
        // Only what is passed on as it is makes it large.
        return Some(Shaped {
            result: result.to_owned(),
            next: None,
        });
    }
    content.result = page.value;
    if wanted.from > 0 {
        content.blocks.clear();
    }
    Some(Shaped {
        result: raw(&content.write()),
        next: page.next.map(|from| Next {
            from,
            left: format!("{} of {} parts", page.total - from, page.total),
        }),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn wanted(tokens_max: usize, from: usize) -> Wanted {
        Wanted { tokens_max, from }
    }

    #[test]
    fn every_part_together_is_the_whole_result() {
        let items: Vec<Value> = (0..100)
            .map(|n| json!({"n": n, "title": "an issue"}))
            .collect();
        let image = json!({"type": "image", "data": "AA=="});
        let result = raw(&json!({
            "content": [{"type": "text", "text": "the same at length"}, image],
            "structuredContent": items, "_meta": {"x": 2},
        }));
        let (mut from, mut read, mut parts) = (0, Vec::new(), 0);
        loop {
            let shaped = shape(&result, wanted(200, from)).unwrap();
            let value: Value = serde_json::from_str(shaped.result.get()).unwrap();
            assert_eq!(value["_meta"]["x"], 2);
            let part: Vec<Value> =
                serde_json::from_str(value["content"][0]["text"].as_str().unwrap()).unwrap();
            assert_eq!(
                value["content"].as_array().unwrap().len(),
                1 + usize::from(from == 0)
            );
            read.extend(part);
            parts += 1;
            match shaped.next {
                Some(next) => from = next.from,
                None => break,
            }
        }
        assert_eq!(read, items);
        assert!(parts > 3, "{parts}");
        assert!(shape(&result, wanted(200, 10_000)).is_none());
    }

    #[test]
    fn a_large_result_with_half_a_character_is_cut_like_any_other() {
        let lines = r"a line of text \ud83d\n".repeat(500);
        let text = format!(r#"{{"content":[{{"type":"text","text":"{lines}"}}]}}"#);
        let result = RawValue::from_string(text).unwrap();
        let first = shape(&result, wanted(200, 0)).unwrap();
        assert!(tokens::at_most(first.result.get()) <= 400);
        let from = first.next.unwrap().from;
        assert!(shape(&result, wanted(200, from)).is_some());
    }

    #[test]
    fn what_fits_or_cannot_be_cut_is_given_as_it_was_sent() {
        let small = raw(&json!({"content": [{"type": "text", "text": "x"}]}));
        let image = raw(&json!({"content": [{"type": "image", "data": "xyz ".repeat(1_000)}]}));
        for result in [small, image] {
            let shaped = shape(&result, wanted(50, 0)).unwrap();
            assert_eq!(shaped.result.get(), result.get());
            assert_eq!(shaped.next, None);
        }
    }
}
