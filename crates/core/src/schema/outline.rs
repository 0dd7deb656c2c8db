//! What a schema says about a value, read for people and models: references followed, `allOf` put
//! together, alternatives listed. Reading never fails; what is too deep, too large or goes round in a
//! circle is left open.

use std::cell::Cell;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::graph::{self, Anchors, REFERENCES, Target};
use crate::limits::{
    OUTLINE_ALTERNATIVES_MAX, OUTLINE_DEPTH_MAX, OUTLINE_PARTS_MAX, SCHEMA_CHAIN_MAX,
};

/// What is known about one value.
#[derive(Clone, Debug, Default)]
pub struct Outline<'a> {
    /// The JSON types that are allowed, `null` apart; empty where any is.
    pub types: Vec<&'a str>,
    /// Whether `null` is allowed beside them.
    pub nullable: bool,
    /// The values that are allowed, where they are listed; `null` apart.
    pub values: Vec<&'a Value>,
    /// The fields of an object, in the order of the schema.
    pub fields: Vec<Field<'a>>,
    /// What holds for the items of an array.
    pub items: Option<Box<Outline<'a>>>,
    /// Outlines of which one or more hold, each complete in itself; empty unless there are several.
    pub alternatives: Vec<Outline<'a>>,
    /// Whether more is said than is read here.
    pub open: bool,
    /// Whether a field somewhere inside has more than a name and a type.
    pub rich: bool,
    /// The parts of the schema that speak about the value, the nearest first.
    parts: Vec<&'a Map<String, Value>>,
}

/// A field of an object.
#[derive(Clone, Debug)]
pub struct Field<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether it must be there.
    pub required: bool,
    /// What is known about its value.
    pub outline: Outline<'a>,
}

impl<'a> Outline<'a> {
    /// The first value that the schema gives for a keyword, nearest part first.
    pub fn keyword(&self, name: &str) -> Option<&'a Value> {
        self.parts.iter().find_map(|part| part.get(name))
    }

    /// What the schema says in words.
    pub fn description(&self) -> Option<&'a str> {
        let texts = self
            .parts
            .iter()
            .filter_map(|part| part.get("description")?.as_str());
        texts.map(str::trim).find(|text| !text.is_empty())
    }

    /// A text keyword such as `format` or `pattern`.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.keyword(name)?.as_str()
    }

    /// Whether the value is an object whose fields are known.
    pub fn has_fields(&self) -> bool {
        !self.fields.is_empty()
    }

    /// Whether a type is allowed.
    pub fn allows(&self, kind: &str) -> bool {
        self.types.is_empty() || self.types.contains(&kind)
    }

    /// The names that must be there, those without a field of their own included.
    pub fn required(&self) -> Vec<&'a str> {
        required(&self.parts)
    }
}

/// A schema that can be outlined.
pub struct Reading<'a> {
    root: &'a Value,
    anchors: Anchors,
    parts_left: Cell<usize>,
}

/// What speaks about one value before it is described.
#[derive(Clone, Default)]
struct Gathered<'a> {
    /// The parts reached, the nearest first.
    parts: Vec<&'a Map<String, Value>>,
    /// The lists of alternatives found in them.
    choices: Vec<&'a [Value]>,
    /// Whether something was left out.
    open: bool,
}

/// How the value that is read was reached.
#[derive(Clone, Copy)]
struct Way<'a, 'b> {
    /// The parts that are being read, to notice circles.
    above: &'b [&'a Map<String, Value>],
    /// How many values it is inside of.
    depth: usize,
}

impl<'a> Reading<'a> {
    /// Reads a schema. Whatever is not an object says nothing.
    pub fn new(root: &'a Value) -> Self {
        let mut anchors = Anchors::new();
        if has_anchors(root) {
            graph::find_anchors(root, "", &mut anchors);
        }
        Self {
            root,
            anchors,
            parts_left: Cell::new(OUTLINE_PARTS_MAX),
        }
    }

    /// What the schema says about the arguments as a whole.
    pub fn outline(&self) -> Outline<'a> {
        self.parts_left.set(OUTLINE_PARTS_MAX);
        self.outline_of(
            &[self.root],
            Way {
                above: &[],
                depth: 0,
            },
        )
    }

    fn outline_of(&self, sources: &[&'a Value], way: Way<'a, '_>) -> Outline<'a> {
        let mut gathered = Gathered::default();
        for source in sources {
            self.gather(source, way, 0, &mut gathered);
        }
        let Some(choices) = gathered.choices.first().copied() else {
            return self.describe(gathered, way);
        };
        let mut found = Vec::new();
        let mut nullable = false;
        let mut open = choices.len() > OUTLINE_ALTERNATIVES_MAX;
        for choice in choices.iter().take(OUTLINE_ALTERNATIVES_MAX) {
            if is_null(choice) {
                nullable = true;
                continue;
            }
            let mut whole = Gathered {
                parts: gathered.parts.clone(),
                ..Gathered::default()
            };
            self.gather(choice, way, 0, &mut whole);
            open |= whole.open;
            let alternative = self.describe(whole, way);
            nullable |= alternative.nullable;
            found.push(alternative);
        }
        let mut outline = match found.len() {
            1 => found.swap_remove(0),
            _ => merged(self.describe(gathered, way), found),
        };
        outline.nullable |= nullable;
        outline.open |= open;
        outline.rich |= outline.alternatives.iter().any(|other| other.rich);
        outline
    }

    /// Follows references and `allOf`.
    fn gather(&self, schema: &'a Value, way: Way<'a, '_>, chain: usize, into: &mut Gathered<'a>) {
        let Some(part) = schema.as_object() else {
            return;
        };
        let left = self.parts_left.get();
        let same = |seen: &&Map<String, Value>| std::ptr::eq(*seen, part);
        if left == 0 || chain > SCHEMA_CHAIN_MAX || way.above.iter().any(same) {
            into.open = true;
            return;
        }
        if into.parts.iter().any(same) {
            return;
        }
        self.parts_left.set(left - 1);
        into.parts.push(part);
        for keyword in REFERENCES {
            let reference = part.get(keyword).and_then(Value::as_str);
            let target = reference.map(|r| graph::resolve(self.root, &self.anchors, r));
            match target {
                Some(Target::Part(target)) => self.gather(target, way, chain + 1, into),
                Some(_) => into.open = true,
                None => {}
            }
        }
        for all in list(part, "allOf") {
            self.gather(all, way, chain + 1, into);
        }
        for keyword in ["anyOf", "oneOf"] {
            let choices = list(part, keyword);
            if !choices.is_empty() {
                into.choices.push(choices);
            }
        }
    }

    fn describe(&self, gathered: Gathered<'a>, way: Way<'a, '_>) -> Outline<'a> {
        let parts = gathered.parts;
        let mut outline = Outline {
            open: gathered.open,
            ..Outline::default()
        };
        let of_type = parts.iter().find_map(|part| part.get("type"));
        let types: Vec<&str> = match of_type {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        outline.nullable = types.contains(&"null");
        outline.types = types.into_iter().filter(|kind| *kind != "null").collect();
        for value in values(&parts) {
            match value {
                Value::Null => outline.nullable = true,
                value => outline.values.push(value),
            }
        }
        if way.depth >= OUTLINE_DEPTH_MAX {
            outline.open = true;
        } else {
            let mut above = way.above.to_vec();
            above.extend(&parts);
            let inside = Way {
                above: &above,
                depth: way.depth + 1,
            };
            self.describe_inside(&mut outline, &parts, inside);
        }
        if outline.types.is_empty() && outline.values.is_empty() {
            if outline.has_fields() {
                outline.types.push("object");
            } else if outline.items.is_some() {
                outline.types.push("array");
            }
        }
        outline.rich = is_rich(&outline);
        outline.parts = parts;
        outline
    }

    fn describe_inside(
        &self,
        outline: &mut Outline<'a>,
        parts: &[&'a Map<String, Value>],
        way: Way<'a, '_>,
    ) {
        let required = required(parts);
        let mut named: IndexMap<&str, Vec<&'a Value>> = IndexMap::new();
        for part in parts {
            let properties = part.get("properties").and_then(Value::as_object);
            for (name, schema) in properties.into_iter().flatten() {
                if schema.as_bool() != Some(false) {
                    named.entry(name).or_default().push(schema);
                }
            }
        }
        for (name, schemas) in named {
            outline.fields.push(Field {
                name,
                required: required.contains(&name),
                outline: self.outline_of(&schemas, way),
            });
        }
        let items = parts.iter().find_map(|part| match part.get("items") {
            Some(Value::Array(list)) => list.first(),
            Some(items) if items.is_object() => Some(items),
            _ => list(part, "prefixItems").first(),
        });
        outline.items = items.map(|items| Box::new(self.outline_of(&[items], way)));
    }
}

fn is_rich(outline: &Outline<'_>) -> bool {
    const TELLING: [&str; 6] = [
        "description",
        "default",
        "format",
        "pattern",
        "minimum",
        "maximum",
    ];
    let tells = |inside: &Outline<'_>| {
        let says = |keyword: &&str| inside.keyword(keyword).is_some();
        inside.rich || TELLING.iter().any(says)
    };
    outline.items.as_ref().is_some_and(|items| items.rich)
        || outline.fields.iter().any(|field| tells(&field.outline))
}

/// Several alternatives in one outline; those that only list values are put together.
fn merged<'a>(mut base: Outline<'a>, found: Vec<Outline<'a>>) -> Outline<'a> {
    let only_values = |outline: &Outline<'_>| {
        !outline.values.is_empty() && !outline.has_fields() && outline.items.is_none()
    };
    if !found.is_empty() && found.iter().all(only_values) {
        for outline in found {
            base.types.extend(outline.types);
            base.values.extend(outline.values);
        }
        base.types.dedup();
        return base;
    }
    base.alternatives = found;
    base
}

/// Whether some part has a name of its own; few schemas name any.
fn has_anchors(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => fields.iter().any(|(name, value)| {
            let names = ["$anchor", "$dynamicAnchor", "$id", "id"].contains(&name.as_str());
            (names && value.is_string()) || has_anchors(value)
        }),
        Value::Array(items) => items.iter().any(has_anchors),
        _ => false,
    }
}

fn is_null(schema: &Value) -> bool {
    let one_of = |values: &Value| {
        values
            .as_array()
            .is_some_and(|v| v.iter().all(Value::is_null))
    };
    schema.get("type").is_some_and(|kind| kind == "null")
        || schema.get("const").is_some_and(Value::is_null)
        || schema.get("enum").is_some_and(one_of)
}

fn list<'a>(part: &'a Map<String, Value>, keyword: &str) -> &'a [Value] {
    part.get(keyword)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The values that are allowed, from the nearest part that lists them.
fn values<'a>(parts: &[&'a Map<String, Value>]) -> Vec<&'a Value> {
    let listed = parts.iter().find_map(|part| match part.get("const") {
        Some(value) => Some(vec![value]),
        None => part.get("enum")?.as_array().map(|all| all.iter().collect()),
    });
    listed.unwrap_or_default()
}

fn required<'a>(parts: &[&'a Map<String, Value>]) -> Vec<&'a str> {
    let names = parts.iter().flat_map(|part| list(part, "required"));
    let mut required: Vec<&str> = Vec::new();
    for name in names.filter_map(Value::as_str) {
        if !required.contains(&name) {
            required.push(name);
        }
    }
    required
}
