//! What a tool answered, taken apart: the result itself, and content that is passed on as it is.

use serde_json::{Map, Value, json};

/// A tool's answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Content {
    /// The structured content, else the text read as JSON, else the text; `Null` where there is none.
    pub result: Value,
    /// Images, audio, links and embedded resources, unharmed and in their order.
    pub blocks: Vec<Value>,
    /// Whether the tool says that it failed.
    pub is_error: bool,
    /// What else the answer carries, such as `_meta`.
    pub rest: Map<String, Value>,
}

impl Content {
    /// Takes a `CallToolResult` apart. What is not one is the result itself.
    pub fn read(answer: Value) -> Self {
        let mut fields = match answer {
            Value::Object(fields)
                if fields.contains_key("content") || fields.contains_key("structuredContent") =>
            {
                fields
            }
            other => {
                return Self {
                    result: other,
                    ..Self::default()
                };
            }
        };
        let mut texts = Vec::new();
        let mut blocks = Vec::new();
        let listed = fields.shift_remove("content");
        for block in listed.and_then(into_list).unwrap_or_default() {
            match block.get("text").and_then(Value::as_str) {
                Some(text) if block["type"] == "text" => texts.push(text.to_owned()),
                _ => blocks.push(block),
            }
        }
        let is_error = fields.shift_remove("isError") == Some(Value::Bool(true));
        let structured = fields.shift_remove("structuredContent");
        let result = match structured.filter(|value| !value.is_null()) {
            Some(value) => value,
            None => read_texts(&texts),
        };
        Self {
            result,
            blocks,
            is_error,
            rest: fields,
        }
    }

    /// Puts a `CallToolResult` together again: the result as one text before the other blocks.
    pub fn write(self) -> Value {
        let mut fields = self.rest;
        let text = match self.result {
            Value::Null => None,
            Value::String(text) => Some(text),
            other => Some(other.to_string()),
        };
        let text = text.map(|text| json!({"type": "text", "text": text}));
        let content: Vec<Value> = text.into_iter().chain(self.blocks).collect();
        fields.insert("content".into(), Value::Array(content));
        if self.is_error {
            fields.insert("isError".into(), Value::Bool(true));
        }
        Value::Object(fields)
    }
}

fn into_list(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(list) => Some(list),
        _ => None,
    }
}

/// One text as JSON where it is that, several as a list where all are JSON values with parts, else the
/// texts below each other.
fn read_texts(texts: &[String]) -> Value {
    match texts {
        [] => Value::Null,
        [one] => read_text(one),
        several => {
            let read = several.iter().map(|text| read_text(text));
            let read: Vec<Value> = read.filter(|v| v.is_object() || v.is_array()).collect();
            if read.len() == several.len() {
                Value::Array(read)
            } else {
                Value::String(several.join("\n"))
            }
        }
    }
}

/// A text as JSON, where nothing of it is lost by that.
fn read_text(text: &str) -> Value {
    match serde_json::from_str(text) {
        // A number with more digits than are kept, or with its own way of writing, stays a text.
        Ok(Value::Number(number)) if number.to_string() != text.trim() => text.into(),
        Ok(Value::String(_) | Value::Null) | Err(_) => text.into(),
        Ok(value) => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(answer: &Value, result: &Value, blocks: usize) {
        let content = Content::read(answer.clone());
        assert_eq!(
            (&content.result, content.blocks.len()),
            (result, blocks),
            "{answer}"
        );
        let again = Content::read(content.clone().write());
        assert_eq!(again, content, "what is put together reads the same");
    }

    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    #[test]
    fn the_result_is_structured_content_then_json_then_text() {
        check(
            &json!({"content": [text("other")], "structuredContent": {"a": 1}}),
            &json!({"a": 1}),
            0,
        );
        check(
            &json!({"content": [text("{\"a\":[1,2]}")]}),
            &json!({"a": [1, 2]}),
            0,
        );
        check(&json!({"content": [text("hello")]}), &json!("hello"), 0);
        check(&json!({"content": [text("42")]}), &json!(42), 0);
        check(&json!({"content": [text("true")]}), &json!(true), 0);
        check(&json!({"content": []}), &json!(null), 0);
        check(
            &json!({"content": [text("x")], "structuredContent": null}),
            &json!("x"),
            0,
        );
    }

    #[test]
    fn numbers_that_would_lose_digits_stay_texts() {
        for number in ["123456789012345678901234567890", "1.50", "0.1000", "1e5"] {
            check(&json!({"content": [text(number)]}), &json!(number), 0);
        }
    }

    #[test]
    fn several_texts_are_joined() {
        check(
            &json!({"content": [text("a"), text("b")]}),
            &json!("a\nb"),
            0,
        );
        check(
            &json!({"content": [text("{}"), text("[1]")]}),
            &json!([{}, [1]]),
            0,
        );
        check(
            &json!({"content": [text("{}"), text("b")]}),
            &json!("{}\nb"),
            0,
        );
    }

    #[test]
    fn other_content_is_kept_unharmed_and_in_order() {
        let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png", "x": 1});
        let link = json!({"type": "resource_link", "uri": "file:///a"});
        let answer =
            json!({"content": [image, text("t"), link], "isError": true, "_meta": {"k": 1}});
        let content = Content::read(answer);
        assert_eq!(content.blocks, [image.clone(), link]);
        assert!(content.is_error);
        assert_eq!(content.rest["_meta"]["k"], 1);
        check(&json!({"content": [image]}), &json!(null), 1);
        assert_eq!(content.clone().write()["isError"], true);
    }

    #[test]
    fn what_is_no_answer_of_a_tool_is_the_result_itself() {
        for odd in [json!("x"), json!([1]), json!({"a": 1})] {
            assert_eq!(Content::read(odd.clone()).result, odd);
        }
        assert_eq!(Content::read(json!({"content": "x"})).result, Value::Null);
    }
}
