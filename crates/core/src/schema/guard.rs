//! Looks a foreign schema over before anything is compiled from it.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::SchemaError;
use super::graph::{self, Anchors, Graph, Target};
use crate::limits::{
    SCHEMA_CHAIN_MAX, SCHEMA_DEPTH_MAX, SCHEMA_EXPANSION_MAX, SCHEMA_NODES_MAX,
    SCHEMA_PATTERN_BYTES_MAX, SCHEMA_PATTERNS_MAX,
};

/// What is worth knowing about a schema before it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Profile {
    /// How many values it holds.
    pub(super) nodes: usize,
    /// How many of its parts speak about one value, at most.
    pub(super) expansion: usize,
    /// Whether some part refers to another.
    pub(super) has_references: bool,
    /// The parts that can be referred to by name.
    pub(super) anchors: Anchors,
}

/// Refuses schemas that are too large, too deep, too intricate, or not self-contained.
pub(super) fn inspect(schema: &Value) -> Result<Profile, SchemaError> {
    let mut nodes = 0;
    measure(schema, 0, &mut nodes)?;
    let mut anchors = Anchors::new();
    graph::find_anchors(schema, "", &mut anchors);
    let graph = Graph::new(schema, &anchors);
    let mut survey = Survey {
        graph,
        seen: HashSet::new(),
        patterns: 0,
        has_references: false,
    };
    let parts = survey.parts()?;
    let mut costs = Costs {
        graph,
        known: HashMap::new(),
    };
    let mut expansion = 1;
    for part in parts {
        expansion = expansion.max(costs.of(part, 0)?);
    }
    let has_references = survey.has_references;
    Ok(Profile {
        nodes,
        expansion,
        has_references,
        anchors,
    })
}

fn measure(value: &Value, depth: usize, nodes: &mut usize) -> Result<(), SchemaError> {
    *nodes += 1;
    if *nodes > SCHEMA_NODES_MAX {
        return Err(SchemaError::TooLarge);
    }
    if depth > SCHEMA_DEPTH_MAX {
        return Err(SchemaError::TooDeep);
    }
    match value {
        Value::Array(items) => items.iter().try_for_each(|v| measure(v, depth + 1, nodes)),
        Value::Object(fields) => fields
            .values()
            .try_for_each(|v| measure(v, depth + 1, nodes)),
        _ => Ok(()),
    }
}

struct Survey<'a> {
    graph: Graph<'a>,
    seen: HashSet<*const Value>,
    patterns: usize,
    has_references: bool,
}

impl<'a> Survey<'a> {
    /// Every part that can be applied, each once.
    fn parts(&mut self) -> Result<Vec<&'a Value>, SchemaError> {
        let mut parts = Vec::new();
        let mut waiting = vec![self.graph.root()];
        while let Some(part) = waiting.pop() {
            if !self.seen.insert(std::ptr::from_ref(part)) {
                continue;
            }
            self.check_part(part)?;
            graph::same(self.graph, part, |next| waiting.push(next));
            graph::inner(part, |next| waiting.push(next));
            parts.push(part);
        }
        Ok(parts)
    }

    fn check_part(&mut self, part: &Value) -> Result<(), SchemaError> {
        let keyed = part.get("patternProperties").and_then(Value::as_object);
        let keys = keyed.into_iter().flat_map(|keyed| keyed.keys());
        let pattern = part.get("pattern").and_then(Value::as_str);
        for text in keys.map(String::as_str).chain(pattern) {
            self.patterns += 1;
            if self.patterns > SCHEMA_PATTERNS_MAX || text.len() > SCHEMA_PATTERN_BYTES_MAX {
                return Err(SchemaError::Patterns);
            }
        }
        // References inside a part with an address of its own mean something else than they do
        // here, so that nothing said about them would hold.
        let id = part.get("$id").and_then(Value::as_str);
        if let Some(id) = id
            && !id.starts_with('#')
            && !std::ptr::eq(part, self.graph.root())
        {
            return Err(SchemaError::Embedded(id.chars().take(100).collect()));
        }
        for keyword in graph::REFERENCES {
            let Some(reference) = part.get(keyword).and_then(Value::as_str) else {
                continue;
            };
            self.has_references = true;
            let shown = || reference.chars().take(100).collect::<String>();
            match self.graph.resolve(reference) {
                Target::Part(_) | Target::Dialect => {}
                Target::Nowhere => return Err(SchemaError::Dangling(shown())),
                Target::Remote => return Err(SchemaError::Remote(shown())),
            }
        }
        Ok(())
    }
}

struct Costs<'a> {
    graph: Graph<'a>,
    /// `None` while the cost of a part is being counted.
    known: HashMap<*const Value, Option<usize>>,
}

impl<'a> Costs<'a> {
    /// How many parts are applied to a value when `part` is.
    fn of(&mut self, part: &'a Value, chain: usize) -> Result<usize, SchemaError> {
        let key = std::ptr::from_ref(part);
        match self.known.get(&key) {
            Some(Some(cost)) => return Ok(*cost),
            Some(None) => return Err(SchemaError::Endless),
            None => {}
        }
        if chain > SCHEMA_CHAIN_MAX {
            return Err(SchemaError::Chain);
        }
        self.known.insert(key, None);
        let mut next = Vec::new();
        graph::same(self.graph, part, |part| next.push(part));
        let options = part
            .get("enum")
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        let mut cost = 1 + options;
        for part in next {
            cost = cost.saturating_add(self.of(part, chain + 1)?);
        }
        if cost > SCHEMA_EXPANSION_MAX {
            return Err(SchemaError::Explosive);
        }
        self.known.insert(key, Some(cost));
        Ok(cost)
    }
}
