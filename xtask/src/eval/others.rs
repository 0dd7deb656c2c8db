//! How well somebody else's search finds, on the queries that ours is measured by.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use toolcrib_core::ToolId;

use super::data::{Reading, Set};
use super::metrics::{Measures, mean, measure};

/// Means of NDCG@10 and hit@1 over the test halves of the sets under `folder`, and over those of them that our ranking
/// was never trained on. `open` is given the tools of a set as a
/// server lists them; what it gives back names the tools that fit a query, the best first.
pub(crate) fn measured<Ask>(
    folder: &Path,
    mut open: impl FnMut(&[Value]) -> Result<Ask>,
) -> Result<[[f64; 2]; 2]>
where
    Ask: FnMut(&str) -> Result<Vec<String>>,
{
    let mut means: Vec<(bool, Measures)> = Vec::new();
    for set in Set::load_all(folder, Reading::default())? {
        let (listed, ids) = listed(&set);
        let mut ask = open(&listed)?;
        let mut all: Vec<Measures> = Vec::new();
        for query in set.queries.iter().filter(|query| !query.dev) {
            if query.gold.is_empty() {
                continue;
            }
            let names = ask(&query.text)?;
            let ranking: Result<Vec<ToolId>> = names.iter().map(|name| who(&ids, name)).collect();
            all.push(measure(&ranking?, &query.gold));
        }
        means.push((set.measure_only, mean(&all)));
    }
    let of = |only: bool| {
        let chosen = means
            .iter()
            .filter(|(is_untrained, _)| !only || *is_untrained);
        let chosen: Vec<Measures> = chosen.map(|(_, measures)| *measures).collect();
        let mean = mean(&chosen);
        [mean.ndcg_10, mean.hit_1]
    };
    Ok([of(false), of(true)])
}

/// The tool of this name. One that nobody offers means that the answer was misread, which must not count against
/// who gave it.
fn who(ids: &HashMap<String, ToolId>, name: &str) -> Result<ToolId> {
    let id = ids.get(name).cloned();
    id.with_context(|| format!("{name} is found, which no server offers"))
}

/// The tools of a set in one list, and who is who. Names that stand there twice are numbered.
fn listed(set: &Set) -> (Vec<Value>, HashMap<String, ToolId>) {
    let mut tools: Vec<_> = set.tools.iter().collect();
    tools.sort_by_key(|(id, _)| *id);
    let mut ids = HashMap::new();
    let mut list = Vec::new();
    for (id, tool) in tools {
        let plain = id.tool().trim_end_matches('\u{2060}');
        let mut name = plain.to_owned();
        let mut number = 1;
        while ids.contains_key(&name) {
            number += 1;
            name = format!("{plain}_{number}");
        }
        let schema = match &*tool.input_schema {
            schema if schema.is_object() => schema.clone(),
            _ => json!({"type": "object"}),
        };
        list.push(json!({"name": name, "description": tool.description, "inputSchema": schema}));
        ids.insert(name, id.clone());
    }
    (list, ids)
}
