//! Object literals: keys, spreads, and which of two equal keys wins.

use std::collections::HashMap;

use oxc_ast::ast::{
    ObjectExpression, ObjectProperty, ObjectPropertyKind, PropertyKey, PropertyKind,
};
use oxc_span::GetSpan;

use super::super::place;
use super::super::value::{Built, Static};
use super::Evaluator;
use crate::node::{Entry, Node};
use crate::reader::findings::duplicate;
use crate::text::Span;

/// A map that is being built. A key that a spread brought may be set again; a key that was written
/// out may not.
#[derive(Default)]
struct Entries {
    slots: Vec<Slot>,
    index: HashMap<String, usize>,
}

struct Slot {
    key: String,
    key_span: Span,
    /// Nothing where the value is `undefined`.
    value: Option<Node>,
    written: bool,
}

impl Entries {
    /// Sets a key; gives the earlier place where both were written out.
    fn set(&mut self, slot: Slot) -> Option<Span> {
        let Some(&at) = self.index.get(&slot.key) else {
            self.index.insert(slot.key.clone(), self.slots.len());
            self.slots.push(slot);
            return None;
        };
        let earlier = &mut self.slots[at];
        let twice = (earlier.written && slot.written).then_some(earlier.key_span);
        *earlier = slot;
        twice
    }

    fn finish(self) -> Vec<Entry> {
        let entry = |slot: Slot| {
            Some(Entry {
                key: slot.key,
                key_span: slot.key_span,
                value: slot.value?,
            })
        };
        self.slots.into_iter().filter_map(entry).collect()
    }
}

impl<'a> Evaluator<'_, 'a> {
    /// The map of an object literal, with its depth.
    pub(super) fn map(&mut self, object: &'a ObjectExpression<'a>) -> Option<(Static, usize)> {
        self.enter(place(self.source, object.span))?;
        let mut entries = Entries::default();
        let mut below = 0;
        for property in &object.properties {
            let depth = match property {
                ObjectPropertyKind::ObjectProperty(property) => {
                    self.property(property, &mut entries)
                }
                ObjectPropertyKind::SpreadProperty(spread) => self
                    .eval(&spread.argument)
                    .map(|built| self.spread(built, &mut entries)),
            };
            below = below.max(depth.unwrap_or(0));
        }
        self.depth -= 1;
        Some((Static::Map(entries.finish()), below + 1))
    }

    fn spread(&mut self, built: Built, entries: &mut Entries) -> usize {
        let kind = built.value.kind();
        match built.value {
            Static::Map(spread) => {
                for entry in spread {
                    entries.set(Slot {
                        key: entry.key,
                        key_span: entry.key_span,
                        value: Some(entry.value),
                        written: false,
                    });
                }
            }
            Static::Undefined | Static::Null => {}
            _ => self.refuse(
                &format!("only a map can be spread into a map, not {kind}"),
                built.span,
                "write ...name, where name is a const map",
            ),
        }
        built.depth.saturating_sub(1)
    }

    /// Sets one property and gives the depth of its value.
    fn property(
        &mut self,
        property: &'a ObjectProperty<'a>,
        entries: &mut Entries,
    ) -> Option<usize> {
        let span = place(self.source, property.span);
        let what = match property.kind {
            PropertyKind::Init if property.method => Some("a method"),
            PropertyKind::Init => None,
            PropertyKind::Get | PropertyKind::Set => Some("a getter or setter"),
        };
        if let Some(what) = what {
            self.needs_running(span, what, "write key: value");
            return None;
        }
        let key = self.property_key(property);
        let built = self.eval(&property.value);
        let (key, key_span) = key?;
        let built = built?;
        let depth = built.depth;
        if !self.within(key_span, |tally| tally.text(&key)) {
            return None;
        }
        let twice = entries.set(Slot {
            key: key.clone(),
            key_span,
            value: built.into_node(),
            written: true,
        });
        if let Some(first) = twice {
            self.report(duplicate(self.source, &key, key_span, first));
        }
        Some(depth)
    }

    fn property_key(&mut self, property: &'a ObjectProperty<'a>) -> Option<(String, Span)> {
        let span = place(self.source, property.key.span());
        let key = match &property.key {
            PropertyKey::StaticIdentifier(name) => name.name.to_string(),
            other => {
                let built = self.eval(other.as_expression()?)?;
                match built.value {
                    Static::Text(text) if text.as_literal().is_some() => {
                        text.as_literal().unwrap_or_default().to_owned()
                    }
                    Static::Number(number) => number.to_string(),
                    _ => {
                        self.refuse(
                            "a key must be text that is known without running",
                            span,
                            "write the key itself, or a const string in [ ]",
                        );
                        return None;
                    }
                }
            }
        };
        if key == "__proto__" && !property.computed && !property.shorthand {
            self.refuse(
                "__proto__ does not set a key",
                span,
                "give the key another name",
            );
            return None;
        }
        Some((key, span))
    }
}
