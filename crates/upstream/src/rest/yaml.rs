//! YAML to JSON values, within bounds that hold while the tree grows: an alias is paid for before it
//! is copied, so a few lines cannot unfold into gigabytes.

use std::collections::HashMap;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Tag};
use serde_json::{Map, Number, Value};
use toolcrib_core::limits::{ADAPTER_DEPTH_MAX, ADAPTER_NODES_MAX, ADAPTER_TEXT_BYTES_MAX};

/// The key that takes the entries of other maps in.
const MERGE_KEY: &str = "<<";

/// Reads the first document of a text.
pub(super) fn read(text: &str) -> Result<Value, String> {
    let options = granit_parser::options! {
        emit_comments: false,
        flow_nesting_limit: ADAPTER_DEPTH_MAX + 1,
        block_nesting_limit: ADAPTER_DEPTH_MAX + 1,
    };
    let mut builder = Builder::default();
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, _) = event.map_err(|error| why(&error))?;
        if matches!(event, Event::DocumentEnd) {
            break;
        }
        builder.event(event)?;
    }
    Ok(builder.root.unwrap_or(Value::Null))
}

/// What is wrong, and where: the parser itself names only the place.
fn why(error: &ScanError) -> String {
    use ErrorKind as K;
    let what = match error.kind() {
        K::UnclosedFlowCollection { open } => format!("a {open} is never closed"),
        K::MismatchedFlowCollectionEnd { open, close } => format!("a {close} closes a {open}"),
        K::UnexpectedCharacter { character } => {
            format!("a value cannot begin with {}", character.escape_debug())
        }
        K::RecursionLimitExceeded => {
            format!("it is nested more than {ADAPTER_DEPTH_MAX} levels deep")
        }
        kind => words(kind).to_owned(),
    };
    let place = error.marker();
    format!("{what} at line {} column {}", place.line(), place.col() + 1)
}

/// What is wrong where the kind alone says it.
fn words(kind: &ErrorKind) -> &'static str {
    use ErrorKind as K;
    match kind {
        K::UnclosedQuotedScalar | K::DocumentIndicatorInQuotedScalar => "a string is never closed",
        K::UnexpectedEofFlowSequence
        | K::UnexpectedEofFlowMapping
        | K::UnexpectedEofImplicitFlowMapping
        | K::ExpectedFlowMappingSeparator
        | K::ExpectedFlowSequenceSeparator => "a comma or a closing bracket is missing",
        K::MisplacedFlowCollectionEnd => "a bracket closes nothing",
        K::MappingValueNotAllowed | K::MappingKeyNotAllowed | K::InvalidColonPlacement => {
            "a key does not fit there"
        }
        K::TabNotAllowed
        | K::TabInBlockIndentation
        | K::TabInIndentation
        | K::TabAtBlockScalarStart
        | K::TabInPlainScalar => "a tab stands where spaces are wanted",
        K::SimpleKeyExpected | K::InvalidSimpleKey => "a colon is missing after a key",
        K::ExpectedBlockMappingKey
        | K::ExpectedBlockSequenceEntry
        | K::InvalidIndentation
        | K::InvalidBlockScalarIndent
        | K::InvalidQuotedScalarIndent
        | K::InvalidFlowScalarIndent
        | K::BlockSequenceEntryNotAllowed
        | K::UnexpectedEofBlockMapping
        | K::UnexpectedEofBlockSequence => "the indentation does not fit",
        K::InvalidTrailingSingleQuotedScalar | K::InvalidTrailingDoubleQuotedScalar => {
            "there is more text after a closing quote"
        }
        K::UnknownAnchor => "an alias refers to a name that is not defined above",
        _ => "something that YAML does not have stands there",
    }
}

/// What has been built so far, or what one value costs to repeat.
#[derive(Clone, Copy, Default)]
struct Cost {
    nodes: usize,
    bytes: usize,
}

struct Frame {
    kind: Kind,
    anchor: usize,
    before: Cost,
    depth: usize,
}

enum Kind {
    List(Vec<Value>),
    Map {
        entries: Map<String, Value>,
        key: Option<(String, bool)>,
        merged: Vec<Value>,
    },
}

#[derive(Clone)]
struct Built {
    value: Value,
    depth: usize,
    cost: Cost,
}

#[derive(Default)]
struct Builder {
    spent: Cost,
    stack: Vec<Frame>,
    anchors: HashMap<usize, Built>,
    root: Option<Value>,
}

impl Builder {
    fn event(&mut self, event: Event<'_>) -> Result<(), String> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                if self.expects_key() {
                    return self.key(&text, style == ScalarStyle::Plain, anchor);
                }
                let before = self.spent;
                let value = scalar(&text, style, tag.as_deref());
                let bytes = value.as_str().map_or(0, str::len);
                self.pay(Cost { nodes: 1, bytes })?;
                let cost = self.since(before);
                let built = Built {
                    value,
                    depth: 0,
                    cost,
                };
                self.finish(built, anchor)
            }
            Event::Alias(id) => self.alias(id),
            Event::SequenceStart(_, anchor, _) => self.open(Kind::List(Vec::new()), anchor),
            Event::MappingStart(_, anchor, _) => {
                let map = Kind::Map {
                    entries: Map::new(),
                    key: None,
                    merged: Vec::new(),
                };
                self.open(map, anchor)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            _ => Ok(()),
        }
    }

    fn pay(&mut self, cost: Cost) -> Result<(), String> {
        self.spent.nodes = self.spent.nodes.saturating_add(cost.nodes);
        self.spent.bytes = self.spent.bytes.saturating_add(cost.bytes);
        if self.spent.nodes > ADAPTER_NODES_MAX {
            return Err(format!(
                "with its aliases it unfolds to more than {ADAPTER_NODES_MAX} values"
            ));
        }
        if self.spent.bytes > ADAPTER_TEXT_BYTES_MAX {
            return Err(format!(
                "with its aliases it unfolds to more than {ADAPTER_TEXT_BYTES_MAX} bytes of text"
            ));
        }
        Ok(())
    }

    fn since(&self, before: Cost) -> Cost {
        Cost {
            nodes: self.spent.nodes - before.nodes,
            bytes: self.spent.bytes - before.bytes,
        }
    }

    fn expects_key(&self) -> bool {
        matches!(
            self.stack.last().map(|frame| &frame.kind),
            Some(Kind::Map { key: None, .. })
        )
    }

    fn key(&mut self, text: &str, plain: bool, anchor: usize) -> Result<(), String> {
        self.pay(Cost {
            nodes: 0,
            bytes: text.len(),
        })?;
        if anchor != 0 {
            let built = Built {
                value: text.into(),
                depth: 0,
                cost: Cost {
                    nodes: 1,
                    bytes: text.len(),
                },
            };
            self.anchors.insert(anchor, built);
        }
        if let Some(Frame {
            kind: Kind::Map { key, .. },
            ..
        }) = self.stack.last_mut()
        {
            *key = Some((text.to_owned(), plain && text == MERGE_KEY));
        }
        Ok(())
    }

    fn alias(&mut self, id: usize) -> Result<(), String> {
        let Some(built) = self.anchors.get(&id) else {
            return Err("an alias stands inside the value that it refers to".to_owned());
        };
        if self.expects_key() {
            let Value::String(text) = &built.value else {
                return Err("an alias is used as a key but does not refer to text".to_owned());
            };
            let text = text.clone();
            return self.key(&text, false, 0);
        }
        let cost = built.cost;
        self.pay(cost)?;
        let built = self.anchors.get(&id).cloned();
        built.map_or(Ok(()), |built| self.finish(built, 0))
    }

    fn open(&mut self, kind: Kind, anchor: usize) -> Result<(), String> {
        if self.expects_key() {
            return Err("a key is a list or a map; put it in quotes".to_owned());
        }
        if self.stack.len() >= ADAPTER_DEPTH_MAX {
            return Err(too_deep());
        }
        let before = self.spent;
        self.pay(Cost { nodes: 1, bytes: 0 })?;
        self.stack.push(Frame {
            kind,
            anchor,
            before,
            depth: 1,
        });
        Ok(())
    }

    fn close(&mut self) -> Result<(), String> {
        let Some(frame) = self.stack.pop() else {
            return Ok(());
        };
        let value = match frame.kind {
            Kind::List(items) => Value::Array(items),
            Kind::Map {
                mut entries,
                merged,
                ..
            } => {
                for value in merged {
                    merge(&mut entries, value);
                }
                Value::Object(entries)
            }
        };
        let cost = self.since(frame.before);
        let built = Built {
            value,
            depth: frame.depth,
            cost,
        };
        self.finish(built, frame.anchor)
    }

    fn finish(&mut self, built: Built, anchor: usize) -> Result<(), String> {
        if self.stack.len() + built.depth > ADAPTER_DEPTH_MAX {
            return Err(too_deep());
        }
        if anchor != 0 {
            self.anchors.insert(anchor, built.clone());
        }
        let Some(frame) = self.stack.last_mut() else {
            self.root = Some(built.value);
            return Ok(());
        };
        frame.depth = frame.depth.max(built.depth + 1);
        match &mut frame.kind {
            Kind::List(items) => items.push(built.value),
            Kind::Map {
                entries,
                key,
                merged,
            } => match key.take() {
                Some((_, true)) => merged.push(built.value),
                Some((key, false)) => {
                    entries.insert(key, built.value);
                }
                None => {}
            },
        }
        Ok(())
    }
}

fn too_deep() -> String {
    format!("it is nested more than {ADAPTER_DEPTH_MAX} levels deep")
}

/// Takes in the entries that a map does not have itself; of two merged maps the first wins.
fn merge(entries: &mut Map<String, Value>, value: Value) {
    match value {
        Value::Object(taken) => {
            for (key, value) in taken {
                entries.entry(key).or_insert(value);
            }
        }
        Value::Array(maps) => maps.into_iter().for_each(|map| merge(entries, map)),
        _ => {}
    }
}

/// A scalar by the core schema of YAML 1.2. Tags of other programs are passed over: what they would
/// mean is not known here, and the value as it stands is the best reading.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    let says_text = tag.and_then(Tag::core_suffix) == Some("str");
    if style != ScalarStyle::Plain || says_text {
        return text.into();
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return true.into(),
        "false" | "False" | "FALSE" => return false.into(),
        _ => {}
    }
    let radix = |prefix: &str, base: u32| {
        let digits = text.strip_prefix(prefix)?;
        u64::from_str_radix(digits, base).ok().map(Value::from)
    };
    radix("0x", 16)
        .or_else(|| radix("0o", 8))
        .or_else(|| number(text))
        .unwrap_or_else(|| text.into())
}

fn number(text: &str) -> Option<Value> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let starts = unsigned.strip_prefix('.').unwrap_or(unsigned);
    let numeric = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '-' | '+');
    if !starts.starts_with(|c: char| c.is_ascii_digit()) || !unsigned.chars().all(numeric) {
        return None;
    }
    let text = text.strip_prefix('+').unwrap_or(text);
    if let Ok(whole) = text.parse::<i64>() {
        return Some(whole.into());
    }
    if let Ok(whole) = text.parse::<u64>() {
        return Some(whole.into());
    }
    let float = text.parse::<f64>().ok().filter(|float| float.is_finite());
    float.and_then(Number::from_f64).map(Value::Number)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use serde_json::json;

    use super::*;

    #[test]
    fn scalars_follow_the_core_schema() {
        let table = [
            ("a: yes", json!({"a": "yes"})),
            ("a: null", json!({"a": null})),
            ("a: 'null'", json!({"a": "null"})),
            ("200: x", json!({"200": "x"})),
            ("a: 1.5", json!({"a": 1.5})),
            ("a: .5", json!({"a": 0.5})),
            ("a: 1.2.3", json!({"a": "1.2.3"})),
            ("a: 2024-01-02", json!({"a": "2024-01-02"})),
            ("a: 0x1F", json!({"a": 31})),
            ("a: 0o17", json!({"a": 15})),
            ("a: +7", json!({"a": 7})),
            ("a: .inf", json!({"a": ".inf"})),
            ("a: 18446744073709551615", json!({"a": u64::MAX})),
            ("a: !!str 5", json!({"a": "5"})),
            ("a: !own 5", json!({"a": 5})),
            ("- true\n- ~", json!([true, null])),
            ("", Value::Null),
            ("a: 1\n---\nb: 2", json!({"a": 1})),
        ];
        for (text, expected) in table {
            assert_eq!(read(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn aliases_and_merge_keys_are_followed() {
        let text = "x: &x {a: 1, b: 2}\ny: {<<: *x, b: 3}\nz: *x\n&k key: 1\nlist: {*k : 2}\n";
        let value = read(text).unwrap();
        assert_eq!(value["y"], json!({"b": 3, "a": 1}));
        assert_eq!(value["z"], json!({"a": 1, "b": 2}));
        assert_eq!(value["list"], json!({"key": 2}));
    }

    #[test]
    fn an_alias_bomb_is_refused_before_it_unfolds() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let below = level - 1;
            let many = vec![format!("*a{below}"); 10].join(", ");
            let _ = writeln!(text, "a{level}: &a{level} [{many}]");
        }
        assert!(read(&text).unwrap_err().contains("unfolds"));
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        let deep = "[".repeat(500) + &"]".repeat(500);
        for text in ["a: [1", "a: &a [*a]", "[1]: 2", "a: *b", &deep] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_error_says_what_is_wrong_and_where() {
        let check = |text: &str, expect: &str| assert_eq!(read(text).unwrap_err(), expect);
        check(
            "openapi: 3.0.0\npaths: [\n",
            "a [ is never closed at line 2 column 8",
        );
        check("a: [1}", "a } closes a [ at line 1 column 4");
        check("a: b: c", "a key does not fit there at line 1 column 5");
        check("a: \"b", "a string is never closed at line 1 column 4");
    }
}
