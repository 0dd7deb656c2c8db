//! Arguments that are written as NAME=VALUE, each value read as the schema of the tool has it.

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use toolcrib_core::schema::kind_of;
use toolcrib_core::schema::outline::{Field, Outline, Reading};

use crate::failure::Failure;

/// Reads pairs; where the schema is not known, what is JSON is read as that.
pub(super) fn read(pairs: &[String], schema: Option<&Value>) -> Result<Box<RawValue>, Failure> {
    let nothing = Value::Null;
    let reading = Reading::new(schema.unwrap_or(&nothing));
    let outline = reading.outline();
    let mut arguments = Map::new();
    for (name, texts) in gathered(pairs)? {
        let slot = Slot::of(fields(&outline).filter(|field| field.name == name));
        let value = match texts.as_slice() {
            [text] => slot.value(text),
            // A tool that is not there is refused as such, whatever it is given.
            _ if slot.takes("array") || schema.is_none() => {
                texts.iter().flat_map(|text| slot.items_of(text)).collect()
            }
            _ => return Err(repeated(name, &slot)),
        };
        arguments.insert(name.to_owned(), value);
    }
    serde_json::value::to_raw_value(&arguments).map_err(|error| {
        Failure::usage(format!("the arguments cannot be written as JSON: {error}"))
    })
}

/// The names of the arguments that a tool cannot do without.
pub(super) fn required(schema: &Value) -> Vec<&str> {
    let names = schema.get("required").and_then(Value::as_array);
    names
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// The texts that each name is given, names and texts in the order written.
fn gathered(pairs: &[String]) -> Result<Vec<(&str, Vec<&str>)>, Failure> {
    let mut gathered: Vec<(&str, Vec<&str>)> = Vec::new();
    for pair in pairs {
        let (name, text) = pair.split_once('=').ok_or_else(|| {
            Failure::usage(format!(
                "{pair} is no argument; write NAME=VALUE, or use --args"
            ))
        })?;
        match gathered.iter_mut().find(|(known, _)| *known == name) {
            Some((_, texts)) => texts.push(text),
            None => gathered.push((name, vec![text])),
        }
    }
    Ok(gathered)
}

fn repeated(name: &str, slot: &Slot<'_, '_>) -> Failure {
    let list = if slot.is_open() {
        format!(", or write a list as JSON, as in '{name}=[1,2]'")
    } else {
        String::new()
    };
    Failure::usage(format!(
        "`{name}` is given more than once and takes one value; leave out all but one{list}"
    ))
}

/// The fields of an object and of its alternatives.
pub(super) fn fields<'a, 'b>(outline: &'b Outline<'a>) -> impl Iterator<Item = &'b Field<'a>> {
    let outlines = std::iter::once(outline).chain(&outline.alternatives);
    outlines.flat_map(|outline| &outline.fields)
}

/// What the schema says of one value: outlines of which any may hold.
struct Slot<'a, 'b>(Vec<&'b Outline<'a>>);

impl<'a, 'b> Slot<'a, 'b> {
    fn of(fields: impl Iterator<Item = &'b Field<'a>>) -> Self
    where
        'a: 'b,
    {
        Self::any(fields.map(|field| &field.outline))
    }

    fn any(outlines: impl Iterator<Item = &'b Outline<'a>>) -> Self {
        // What several alternatives have in common stands in each of them.
        let complete = |outline: &'b Outline<'a>| match outline.alternatives.as_slice() {
            [] => std::slice::from_ref(outline),
            several => several,
        };
        Self(outlines.flat_map(complete).collect())
    }

    /// Whether any value may stand here, as far as is known.
    fn is_open(&self) -> bool {
        let says_nothing =
            |outline: &&Outline<'_>| outline.types.is_empty() && outline.values.is_empty();
        self.0.is_empty() || self.0.iter().any(says_nothing)
    }

    /// Whether the schema names a type.
    fn takes(&self, kind: &str) -> bool {
        self.0.iter().any(|outline| {
            let listed = outline.types.is_empty()
                && outline.values.iter().any(|value| kind_of(value) == kind);
            let number = kind == "integer" && outline.types.contains(&"number");
            let null = kind == "null" && outline.nullable;
            listed || number || null || outline.types.contains(&kind)
        })
    }

    /// What holds for the items, where a list may stand here.
    fn items(&self) -> Self {
        Self::any(self.0.iter().filter_map(|outline| outline.items.as_deref()))
    }

    /// A value of a type that the schema allows: JSON where that fits, else the text itself.
    fn value(&self, text: &str) -> Value {
        let read: Option<Value> = serde_json::from_str(text).ok();
        let as_written = || Value::String(text.to_owned());
        if self.is_open() {
            return read.unwrap_or_else(as_written);
        }
        match read {
            Some(value)
                if !value.is_array() && !value.is_string() && self.takes(kind_of(&value)) =>
            {
                value
            }
            Some(Value::Array(_)) if self.takes("array") => self.items_of(text).into(),
            _ if self.takes("string") => as_written(),
            _ if self.takes("array") => self.items_of(text).into(),
            read => read.unwrap_or_else(as_written),
        }
    }

    /// The items that one text of a list stands for: those of a JSON list, else itself.
    fn items_of(&self, text: &str) -> Vec<Value> {
        let items = self.items();
        match serde_json::from_str(text) {
            // In a list of lists, a list of anything else is one of them.
            Ok(Value::Array(read)) if !items.takes("array") || read.iter().all(Value::is_array) => {
                read
            }
            _ => vec![items.value(text)],
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({"type": "object", "$defs": {"labels": {"type": "array", "items": {"type": "string"}}},
            "properties": {
                "path": {"type": "string"},
                "count": {"type": "integer"},
                "ratio": {"type": "number"},
                "deep": {"type": "boolean"},
                "tags": {"$ref": "#/$defs/labels"},
                "ids": {"type": "array", "items": {"type": "integer"}},
                "rows": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
                "points": {"type": "array", "items": {"type": "object"}},
                "things": {"type": "array"},
                "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "maybe": {"anyOf": [{"$ref": "#/$defs/labels"}, {"type": "null"}]},
                "several": {"oneOf": [{"type": "string"}, {"$ref": "#/$defs/labels"}]},
                "level": {"enum": ["low", "7", 7]},
                "any": {"description": "Anything"},
            },
            "anyOf": [{"properties": {"one": {"type": "string"}}}, {"properties": {"two": {"type": "string"}}}],
        })
    }

    fn read_all(pairs: &[&str], schema: Option<&Value>) -> Result<Value, Failure> {
        let pairs: Vec<String> = pairs.iter().map(|pair| (*pair).to_owned()).collect();
        let read = read(&pairs, schema)?;
        Ok(serde_json::from_str(read.get()).unwrap())
    }

    #[test]
    fn pairs_are_typed_by_the_schema() {
        let schema = schema();
        let check = |pair: &str, expected: Value| {
            assert_eq!(read_all(&[pair], Some(&schema)), Ok(expected), "{pair}");
        };
        check("path=5", json!({"path": "5"}));
        check("path=a=b", json!({"path": "a=b"}));
        check("path=[1]", json!({"path": "[1]"}));
        check("count=5", json!({"count": 5}));
        check("count=five", json!({"count": "five"}));
        check("count=\"5\"", json!({"count": "5"}));
        check("ratio=2", json!({"ratio": 2}));
        check("deep=true", json!({"deep": true}));
        check("either=5", json!({"either": 5}));
        check("either=\"5\"", json!({"either": "\"5\""}));
        check("level=7", json!({"level": 7}));
        check("level=low", json!({"level": "low"}));
        check("any=5", json!({"any": 5}));
        check("any=\"5\"", json!({"any": "5"}));
        check("other=5", json!({"other": 5}));
        check("other=x y", json!({"other": "x y"}));
        check("one=5", json!({"one": "5"}));
        check("two=5", json!({"two": "5"}));
        let error = read_all(&["path"], Some(&schema)).unwrap_err();
        assert!(error.message.contains("NAME=VALUE"), "{error}");
    }

    #[test]
    fn quotes_around_a_phrase_stay_where_a_text_is_wanted() {
        let schema = schema();
        let check = |pair: &str, expected: Value| {
            assert_eq!(read_all(&[pair], Some(&schema)), Ok(expected), "{pair}");
        };
        check("path=\"exact phrase\"", json!({"path": "\"exact phrase\""}));
        check(
            "tags=\"exact phrase\"",
            json!({"tags": ["\"exact phrase\""]}),
        );
    }

    #[test]
    fn a_list_takes_one_value_and_several_and_json() {
        let schema = schema();
        let check = |pairs: &[&str], expected: Value| {
            assert_eq!(read_all(pairs, Some(&schema)), Ok(expected), "{pairs:?}");
        };
        check(&["tags=a"], json!({"tags": ["a"]}));
        check(&["tags=5"], json!({"tags": ["5"]}));
        check(&["tags=a", "tags=b"], json!({"tags": ["a", "b"]}));
        check(&["tags=[\"a\",\"b\"]"], json!({"tags": ["a", "b"]}));
        check(&["tags=[]"], json!({"tags": []}));
        check(&["tags=[\"a\"]", "tags=b"], json!({"tags": ["a", "b"]}));
        check(&["ids=1"], json!({"ids": [1]}));
        check(
            &["ids=1", "path=x", "ids=2"],
            json!({"ids": [1, 2], "path": "x"}),
        );
        check(&["rows=[1,2]"], json!({"rows": [[1, 2]]}));
        check(&["rows=[1,2]", "rows=[3]"], json!({"rows": [[1, 2], [3]]}));
        check(&["rows=[[1],[2]]"], json!({"rows": [[1], [2]]}));
        check(&["points={\"x\":1}"], json!({"points": [{"x": 1}]}));
        check(&["things=1", "things=a"], json!({"things": [1, "a"]}));
        check(&["maybe=a"], json!({"maybe": ["a"]}));
        check(&["maybe=null"], json!({"maybe": null}));
        check(&["several=a"], json!({"several": "a"}));
        check(&["several=[\"a\"]"], json!({"several": ["a"]}));
        check(&["several=a", "several=b"], json!({"several": ["a", "b"]}));
    }

    #[test]
    fn what_is_given_twice_is_refused_where_no_list_is_wanted() {
        let schema = schema();
        let check = |pairs: &[&str], part: &str| {
            let error = read_all(pairs, Some(&schema)).unwrap_err();
            assert!(error.message.contains(part), "{pairs:?}: {error}");
            assert_eq!(error.exit, 1, "{pairs:?}");
        };
        check(&["path=a", "path=b"], "`path` is given more than once");
        check(&["path=a", "path=a"], "leave out all but one");
        check(&["either=a", "either=b"], "takes one value");
        check(&["other=1", "other=2"], "'other=[1,2]'");
        // Nothing is said of the arguments of a tool that is not there.
        let unknown = read_all(&["a=1", "a=2"], None);
        assert_eq!(unknown, Ok(json!({"a": [1, 2]})));
    }
}
