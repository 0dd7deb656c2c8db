//! YAML and JSON as values, for files that are trusted: bounds are no concern of a test.

use std::collections::HashMap;

use anyhow::{Context, Result, bail};
use granit_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

/// Reads a description.
pub(super) fn read(text: &str) -> Result<Value> {
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).context("the description is not JSON");
    }
    let mut events = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, _) = event.map_err(|error| anyhow::anyhow!("{error}"))?;
        if matches!(event, Event::DocumentEnd) {
            break;
        }
        events.push(event);
    }
    // The first node can only begin with one of these.
    let begun = events.into_iter().skip_while(|event| {
        !matches!(
            event,
            Event::Scalar(..) | Event::SequenceStart(..) | Event::MappingStart(..)
        )
    });
    let mut tree = Tree {
        events: begun,
        anchors: HashMap::new(),
    };
    Ok(tree.node()?.unwrap_or(Value::Null))
}

struct Tree<I> {
    events: I,
    anchors: HashMap<usize, Value>,
}

impl<'a, I: Iterator<Item = Event<'a>>> Tree<I> {
    /// The next node; `None` where the collection around it ends.
    fn node(&mut self) -> Result<Option<Value>> {
        let (value, anchor) = match self.events.next() {
            None | Some(Event::SequenceEnd | Event::MappingEnd) => return Ok(None),
            Some(Event::Scalar(text, style, anchor, _)) => {
                (scalar(&text, style == ScalarStyle::Plain), anchor)
            }
            Some(Event::Alias(id)) => {
                let known = self.anchors.get(&id).context("an alias leads nowhere")?;
                (known.clone(), 0)
            }
            Some(Event::SequenceStart(_, anchor, _)) => {
                let mut items = Vec::new();
                while let Some(item) = self.node()? {
                    items.push(item);
                }
                (Value::Array(items), anchor)
            }
            Some(Event::MappingStart(_, anchor, _)) => (self.mapping()?, anchor),
            Some(_) => return self.node(),
        };
        if anchor != 0 {
            self.anchors.insert(anchor, value.clone());
        }
        Ok(Some(value))
    }

    fn mapping(&mut self) -> Result<Value> {
        let mut fields = Map::new();
        while let Some(key) = self.node()? {
            let value = self.node()?.context("a key has no value")?;
            let key = match key {
                Value::String(text) => text,
                Value::Array(_) | Value::Object(_) => bail!("a key is no text"),
                other => other.to_string(),
            };
            match value {
                Value::Object(merged) if key == "<<" => {
                    for (key, value) in merged {
                        fields.entry(key).or_insert(value);
                    }
                }
                value => {
                    fields.insert(key, value);
                }
            }
        }
        Ok(Value::Object(fields))
    }
}

/// A scalar by the core schema.
fn scalar(text: &str, plain: bool) -> Value {
    if !plain {
        return text.into();
    }
    match text {
        "" | "~" | "null" => Value::Null,
        "true" | "True" | "TRUE" => true.into(),
        "false" | "False" | "FALSE" => false.into(),
        text if text.starts_with(|c: char| c.is_ascii_digit() || "-+.".contains(c)) => {
            let number = text.parse::<i64>().map(Number::from).ok();
            let number = number.or_else(|| text.parse().ok().and_then(Number::from_f64));
            number.map_or_else(|| text.into(), Value::Number)
        }
        text => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::read;

    #[test]
    fn a_description_is_read_in_either_format() {
        let text =
            "# one\na: &x {b: [1, 2.5, '3', yes]}\nc: *x\n200: ~\nd: {<<: *x, e: |\n    f\n  }\n";
        let text = text.replace("e: |\n    f\n  }", "e: 'f'}");
        let inner = json!([1, 2.5, "3", "yes"]);
        let expected =
            json!({"a": {"b": inner}, "c": {"b": inner}, "200": null, "d": {"b": inner, "e": "f"}});
        assert_eq!(read(&text).unwrap(), expected);
        assert_eq!(read(" {\"a\": 1}").unwrap(), json!({"a": 1}));
        assert!(read("a: [1").is_err() && read("{\"a\": }").is_err());
    }
}
