//! Values on the way from a script to the tree: text keeps its variables apart until it is complete.

use serde_json::Number;

use super::super::tally::Tally;
use crate::node::{Entry, Node, Value};
use crate::placeholder::{push_escaped, push_variable};
use crate::text::Span;

/// What an expression stands for.
#[derive(Clone)]
pub(super) enum Static {
    /// `undefined`: a key with this value is not there.
    Undefined,
    Null,
    Bool(bool),
    Number(Number),
    Text(Text),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A value with its place and how deep it is.
#[derive(Clone)]
pub(super) struct Built {
    pub(super) value: Static,
    pub(super) span: Span,
    pub(super) depth: usize,
}

/// Literal text and environment variables.
#[derive(Clone, Default)]
pub(super) struct Text(Vec<Piece>);

#[derive(Clone)]
enum Piece {
    Literal(String),
    Variable {
        name: String,
        default: Option<String>,
    },
}

impl Static {
    /// The kind in words, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Undefined => "undefined",
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }

    /// What the value costs to repeat.
    pub(super) fn size(&self) -> Tally {
        match self {
            Self::Text(text) => Tally::of(1, text.len()),
            Self::List(items) => size_of_list(items),
            Self::Map(entries) => size_of_map(entries),
            _ => Tally::of(1, 0),
        }
    }

    /// The text that a value becomes next to text; `None` where it should not stand there.
    pub(super) fn into_text(self) -> Option<Text> {
        match self {
            Self::Text(text) => Some(text),
            Self::Bool(value) => Some(Text::literal(value.to_string())),
            Self::Number(number) => number_text(&number).map(Text::literal),
            _ => None,
        }
    }
}

/// What a tree costs to repeat.
fn size_of(node: &Node) -> Tally {
    match &node.value {
        Value::String(text) => Tally::of(1, text.len()),
        Value::List(items) => size_of_list(items),
        Value::Map(entries) => size_of_map(entries),
        _ => Tally::of(1, 0),
    }
}

fn size_of_list(items: &[Node]) -> Tally {
    let one = Tally::of(1, 0);
    items.iter().map(size_of).fold(one, Tally::plus)
}

fn size_of_map(entries: &[Entry]) -> Tally {
    let entry = |entry: &Entry| size_of(&entry.value).plus(Tally::of(0, entry.key.len()));
    entries.iter().map(entry).fold(Tally::of(1, 0), Tally::plus)
}

/// A number as JavaScript writes it, where that is the plain decimal form.
fn number_text(number: &Number) -> Option<String> {
    match number.as_f64() {
        _ if !number.is_f64() => Some(number.to_string()),
        Some(value) if (1e-6..1e21).contains(&value.abs()) => Some(value.to_string()),
        _ => None,
    }
}

impl Built {
    /// The node; nothing where the value is `undefined`.
    pub(super) fn into_node(self) -> Option<Node> {
        let value = match self.value {
            Static::Undefined => return None,
            Static::Null => Value::Null,
            Static::Bool(value) => Value::Bool(value),
            Static::Number(number) => Value::Number(number),
            Static::Text(text) => Value::String(text.spelled()),
            Static::List(items) => Value::List(items),
            Static::Map(entries) => Value::Map(entries),
        };
        Some(Node::new(value, self.span))
    }
}

impl Text {
    /// Text without variables.
    pub(super) fn literal(text: impl Into<String>) -> Self {
        Self(vec![Piece::Literal(text.into())])
    }

    /// One variable.
    pub(super) fn variable(name: &str) -> Self {
        Self(vec![Piece::Variable {
            name: name.to_owned(),
            default: None,
        }])
    }

    /// Appends other text; literals that meet become one.
    pub(super) fn append(&mut self, other: Self) {
        for piece in other.0 {
            match (self.0.last_mut(), piece) {
                (Some(Piece::Literal(before)), Piece::Literal(text)) => before.push_str(&text),
                (_, piece) => self.0.push(piece),
            }
        }
    }

    /// The text, where it has no variable.
    pub(super) fn as_literal(&self) -> Option<&str> {
        match &self.0[..] {
            [] => Some(""),
            [Piece::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// The same variable with a default, where this is one variable without one.
    pub(super) fn with_default(&self, text: &str) -> Option<Self> {
        match &self.0[..] {
            [
                Piece::Variable {
                    name,
                    default: None,
                },
            ] => Some(Self(vec![Piece::Variable {
                name: name.clone(),
                default: Some(text.to_owned()),
            }])),
            _ => None,
        }
    }

    /// Bytes of all pieces.
    pub(super) fn len(&self) -> usize {
        let length = |piece: &Piece| match piece {
            Piece::Literal(text) => text.len(),
            Piece::Variable { name, default } => {
                name.len() + default.as_ref().map_or(0, String::len)
            }
        };
        self.0.iter().map(length).sum()
    }

    /// The text in the spelling of our own files: `${NAME}`, and `$${` for a literal `${`.
    pub(super) fn spelled(&self) -> String {
        let mut out = String::new();
        let mut pieces = self.0.iter().peekable();
        while let Some(piece) = pieces.next() {
            match piece {
                Piece::Literal(text) => push_escaped(&mut out, text, pieces.peek().is_some()),
                Piece::Variable { name, default } => {
                    push_variable(&mut out, name, default.as_deref());
                }
            }
        }
        out
    }
}
