//! YAML 1.2 (core schema), built from the parser's events so that every node has its place and
//! every bound holds while the tree grows.

mod errors;
mod scalar;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use granit_parser::{Event, Parser, ScalarStyle, Span as Place, StructureStyle, Tag};
use toolcrib_core::limits::CONFIG_DEPTH_MAX;

use super::findings::{Findings, brief};
use super::tally::{Excess, Tally};
use crate::diagnostic::Diagnostic;
use crate::node::{Entry, Node, Value};
use crate::text::{Source, Span};

/// The key that takes the entries of other maps in.
const MERGE_KEY: &str = "<<";

/// Reads one YAML document; an empty one is an empty map.
pub(super) fn read(source: &Arc<Source>) -> Result<Node, Vec<Diagnostic>> {
    let options = granit_parser::options! {
        emit_comments: false,
        flow_nesting_limit: CONFIG_DEPTH_MAX + 1,
        block_nesting_limit: CONFIG_DEPTH_MAX + 1,
    };
    let mut builder = Builder::new(source);
    for event in Parser::new_from_str_with_options(source.text(), options) {
        let step = match event {
            Ok((event, place)) => builder.event(event, &place),
            Err(error) => Err(Box::new(errors::explain(source, &error))),
        };
        if let Err(diagnostic) = step {
            return builder.found.and(*diagnostic);
        }
    }
    let root = match builder.root {
        Some(root) if !is_absent(&root) => root,
        _ => Node::new(Value::Map(Vec::new()), Span::new(0, source.text().len())),
    };
    builder.found.or(root)
}

/// Whether a document holds no text at all, as when every line is a comment.
fn is_absent(root: &Node) -> bool {
    root.value == Value::Null && root.span.start == root.span.end
}

/// A list or map whose end has not been seen.
struct Frame {
    kind: Kind,
    style: StructureStyle,
    anchor: usize,
    start: usize,
    /// End of the last child, or of the opening bracket.
    end: usize,
    before: Tally,
    /// Levels of nesting from this one down.
    depth: usize,
}

enum Kind {
    List(Vec<Node>),
    Map {
        entries: Vec<Entry>,
        key: Option<Key>,
        merged: Vec<Node>,
    },
}

struct Key {
    text: String,
    span: Span,
    merge: bool,
}

/// A value with how deep it is and what it costs to repeat.
#[derive(Clone)]
struct Built {
    node: Node,
    depth: usize,
    cost: Tally,
}

struct Builder<'s> {
    source: &'s Arc<Source>,
    tally: Tally,
    stack: Vec<Frame>,
    anchors: HashMap<usize, Built>,
    root: Option<Node>,
    documents: usize,
    found: Findings<'s>,
}

type Step<T = ()> = Result<T, Box<Diagnostic>>;

impl<'s> Builder<'s> {
    fn new(source: &'s Arc<Source>) -> Self {
        Self {
            source,
            tally: Tally::default(),
            stack: Vec::new(),
            anchors: HashMap::new(),
            root: None,
            documents: 0,
            found: Findings::new(source),
        }
    }

    fn event(&mut self, event: Event<'_>, place: &Place) -> Step {
        let span = self.span(place);
        match event {
            Event::DocumentStart(..) => self.document(span),
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_foreign(tag.as_deref(), place, span)?;
                if self.expects_key() {
                    self.key(&text, style, anchor, span)
                } else {
                    self.scalar(&text, style, anchor, tag.as_deref(), span)
                }
            }
            Event::Alias(id) => self.alias(id, span),
            Event::SequenceStart(style, anchor, tag) => {
                self.refuse_tag(tag.as_deref(), "seq", place, span)?;
                self.open(Kind::List(Vec::new()), style, anchor, span)
            }
            Event::MappingStart(style, anchor, tag) => {
                self.refuse_tag(tag.as_deref(), "map", place, span)?;
                let map = Kind::Map {
                    entries: Vec::new(),
                    key: None,
                    merged: Vec::new(),
                };
                self.open(map, style, anchor, span)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span),
            _ => Ok(()),
        }
    }

    fn document(&mut self, span: Span) -> Step {
        self.documents += 1;
        if self.documents > 1 {
            return self.fail(
                "a second document begins here",
                span,
                "a configuration file holds one document; keep one of them",
            );
        }
        Ok(())
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        span: Span,
    ) -> Step {
        let before = self.tally;
        let value = scalar::resolve(text, style, tag)
            .map_err(|fault| self.finding(fault.message, span, fault.help))?;
        self.tally.value().map_err(|e| self.over(e, span))?;
        if let Value::String(text) = &value {
            self.tally.text(text).map_err(|e| self.over(e, span))?;
        }
        let built = Built {
            node: Node::new(value, span),
            depth: 0,
            cost: self.tally.since(before),
        };
        self.finish(built, anchor)
    }

    fn key(&mut self, text: &str, style: ScalarStyle, anchor: usize, span: Span) -> Step {
        let plain = style == ScalarStyle::Plain;
        if plain && span.start == span.end {
            return self.fail(
                "the key is missing",
                span,
                "write a key before the colon, in quotes if it is meant to be empty",
            );
        }
        self.tally.text(text).map_err(|e| self.over(e, span))?;
        if anchor != 0 {
            let built = Built {
                node: Node::new(Value::String(text.to_owned()), span),
                depth: 0,
                cost: Tally::default(),
            };
            self.anchors.insert(anchor, built);
        }
        self.set_key(text.to_owned(), span, plain && text == MERGE_KEY);
        Ok(())
    }

    fn set_key(&mut self, text: String, span: Span, merge: bool) {
        if let Some(frame) = self.stack.last_mut()
            && let Kind::Map { key, .. } = &mut frame.kind
        {
            frame.end = frame.end.max(span.end);
            *key = Some(Key { text, span, merge });
        }
    }

    fn expects_key(&self) -> bool {
        matches!(
            self.stack.last().map(|frame| &frame.kind),
            Some(Kind::Map { key: None, .. })
        )
    }

    fn alias(&mut self, id: usize, span: Span) -> Step {
        let Some(built) = self.anchors.get(&id) else {
            return self.fail(
                "this alias stands inside the value that it refers to",
                span,
                "write the value out; a value cannot contain itself",
            );
        };
        if self.expects_key() {
            let text = match &built.node.value {
                Value::String(text) => text.clone(),
                _ => {
                    return self.fail(
                        "this alias is used as a key but does not refer to text",
                        span,
                        "write the key out",
                    );
                }
            };
            self.tally.text(&text).map_err(|e| self.over(e, span))?;
            self.set_key(text, span, false);
            return Ok(());
        }
        // Counted before the copy is made, so that an alias bomb costs nothing.
        self.tally.add(built.cost).map_err(|e| self.over(e, span))?;
        let mut built = built.clone();
        built.node.span = span;
        self.finish(built, 0)
    }

    fn open(&mut self, kind: Kind, style: StructureStyle, anchor: usize, span: Span) -> Step {
        if self.expects_key() {
            return self.fail(
                "a key must be text, not a list or a map",
                span,
                "put text that begins with [ or { in quotes, as in \"{name}\": value",
            );
        }
        if self.stack.len() >= CONFIG_DEPTH_MAX {
            return Err(self.over(Excess::Depth, span).into());
        }
        let before = self.tally;
        self.tally.value().map_err(|e| self.over(e, span))?;
        self.stack.push(Frame {
            kind,
            style,
            anchor,
            start: span.start,
            end: span.end,
            before,
            depth: 1,
        });
        Ok(())
    }

    fn close(&mut self, span: Span) -> Step {
        let Some(frame) = self.stack.pop() else {
            return Ok(());
        };
        // The parser ends a block where the next thing begins, which may be lines further down.
        let end = match frame.style {
            StructureStyle::Flow => span.end,
            StructureStyle::Block => frame.end,
        };
        let value = match frame.kind {
            Kind::List(items) => Value::List(items),
            Kind::Map {
                entries, merged, ..
            } => {
                self.found.duplicates(&entries);
                Value::Map(self.merge(entries, merged)?)
            }
        };
        let built = Built {
            node: Node::new(value, Span::new(frame.start, end.max(frame.start))),
            depth: frame.depth,
            cost: self.tally.since(frame.before),
        };
        self.finish(built, frame.anchor)
    }

    /// The entries of a map with those of merged maps that it does not set itself; of two merged
    /// maps the first wins.
    fn merge(&self, mut entries: Vec<Entry>, merged: Vec<Node>) -> Step<Vec<Entry>> {
        if merged.is_empty() {
            return Ok(entries);
        }
        let mut known: HashSet<String> = entries.iter().map(|entry| entry.key.clone()).collect();
        for node in merged {
            let span = node.span;
            let maps = match node.value {
                Value::List(items) => items,
                value => vec![Node::new(value, span)],
            };
            for map in maps {
                let Value::Map(taken) = map.value else {
                    return self.fail(
                        format!(
                            "<< takes in a map or a list of maps, not {}",
                            map.value.kind()
                        ),
                        span,
                        "write <<: *name, where &name marks a map",
                    );
                };
                entries.extend(
                    taken
                        .into_iter()
                        .filter(|entry| known.insert(entry.key.clone())),
                );
            }
        }
        Ok(entries)
    }

    /// Puts a complete value where it belongs: under its key, into its list, or at the root.
    fn finish(&mut self, built: Built, anchor: usize) -> Step {
        if self.stack.len() + built.depth > CONFIG_DEPTH_MAX {
            return Err(self.over(Excess::Depth, built.node.span).into());
        }
        if anchor != 0 {
            self.anchors.insert(anchor, built.clone());
        }
        let Some(frame) = self.stack.last_mut() else {
            self.root = Some(built.node);
            return Ok(());
        };
        frame.end = frame.end.max(built.node.span.end);
        frame.depth = frame.depth.max(built.depth + 1);
        match &mut frame.kind {
            Kind::List(items) => items.push(built.node),
            Kind::Map {
                entries,
                key,
                merged,
            } => match key.take() {
                Some(key) if key.merge => merged.push(built.node),
                Some(key) => entries.push(Entry {
                    key: key.text,
                    key_span: key.span,
                    value: built.node,
                }),
                None => {}
            },
        }
        Ok(())
    }

    /// Refuses a tag on a collection other than the one it has anyway.
    fn refuse_tag(&self, tag: Option<&Tag>, own: &str, place: &Place, span: Span) -> Step {
        match tag.and_then(Tag::core_suffix) {
            Some(suffix) if suffix != own => self.fail(
                format!("the tag !!{suffix} does not fit this value"),
                span,
                "remove the tag",
            ),
            _ => self.refuse_foreign(tag, place, span),
        }
    }

    /// Refuses a tag that is not of YAML's core: it would need a program that knows it.
    fn refuse_foreign(&self, tag: Option<&Tag>, place: &Place, span: Span) -> Step {
        let Some(tag) = tag.filter(|tag| tag.is_custom() && !scalar::is_plain_bang(tag)) else {
            return Ok(());
        };
        let span = place
            .tag_span()
            .map_or(span, |tag_place| self.span(&tag_place));
        let original = tag.original();
        let shown = brief(&original);
        self.fail(
            format!("the tag {shown} is not known here"),
            span,
            "write the value itself, without a tag",
        )
    }

    fn over(&self, excess: Excess, span: Span) -> Diagnostic {
        excess.at(self.source, span)
    }

    fn fail<T>(&self, message: impl Into<String>, span: Span, help: &str) -> Step<T> {
        Err(self.finding(message, span, help).into())
    }

    fn finding(&self, message: impl Into<String>, span: Span, help: &str) -> Diagnostic {
        Diagnostic::error(message).at(self.source, span).help(help)
    }

    fn span(&self, place: &Place) -> Span {
        let range = place.byte_range().unwrap_or_default();
        let end = self.source.boundary(range.end);
        Span::new(self.source.boundary(range.start).min(end), end)
    }
}
