//! What holds for every catalog and query.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::part::short;
use super::query::Query;
use super::retrieve::{self, Scope};
use super::words::Reader;
use super::{Filter, Index, Part, ServerTools, Weights};
use crate::catalog::{Tool, ToolId};
use crate::limits::SEARCH_LIMIT_MAX;

const WORDS: [&str; 24] = [
    "create", "delete", "list", "get", "issue", "file", "repo", "user", "message", "weather",
    "send", "search", "pull", "request", "branch", "event", "calendar", "price", "stock", "image",
    "fork", "merge", "note", "page",
];

#[derive(Clone, Debug)]
struct Catalog {
    servers: Vec<(String, Vec<Arc<Tool>>)>,
}

impl Catalog {
    fn parts(&self) -> Vec<Arc<Part>> {
        self.servers
            .iter()
            .map(|(name, tools)| {
                Arc::new(Part::build(
                    &ServerTools {
                        name,
                        aliases: &[],
                        about: "",
                        tools,
                    },
                    &Weights::default(),
                ))
            })
            .collect()
    }

    fn index(&self) -> Index {
        Index::from_parts(self.parts())
    }
}

fn phrase(words: std::ops::Range<usize>) -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(&WORDS[..]), words)
}

fn tool(server: &str, name: &[&str], text: &[&str], parameter: &str) -> Arc<Tool> {
    let schema = json!({"type": "object", "properties": {parameter: {"type": "string", "description": text.join(" ")}}});
    Arc::new(Tool::new(
        ToolId::new(server, name.join("_")),
        text.join(" "),
        schema,
    ))
}

fn catalog() -> impl Strategy<Value = Catalog> {
    let tools = prop::collection::btree_map(
        phrase(1..4),
        (phrase(0..8), prop::sample::select(&WORDS[..])),
        1..8,
    );
    prop::collection::vec(tools, 1..5).prop_map(|servers| Catalog {
        servers: servers
            .into_iter()
            .enumerate()
            .map(|(number, tools)| {
                let name = format!("server{}", char::from(b'a' + u8::try_from(number).unwrap()));
                let tools = tools
                    .iter()
                    .map(|(n, (t, p))| tool(&name, n, t, p))
                    .collect();
                (name, tools)
            })
            .collect(),
    })
}

/// Every tool's score, word by word, without an index.
fn naive(index: &Index, query: &Query, weights: &[u32]) -> Vec<(ToolId, u32)> {
    let mut out = Vec::new();
    for part in index.slots.iter().flatten() {
        for entry in part.entries() {
            let mut sum = 0;
            for (term, weight) in query.terms.iter().zip(weights) {
                let mut best = 0;
                for (id, factor) in &term.variants {
                    let factor = retrieve::fixed(*factor);
                    for held in entry.held.iter().filter(|h| h.word == short(*id)) {
                        best = best.max(retrieve::worth(*weight, factor, held.impact));
                    }
                }
                sum += best;
            }
            if sum > 0 {
                out.push((entry.id.clone(), sum));
            }
        }
    }
    out.sort_by_key(|(id, sum)| (std::cmp::Reverse(*sum), id.tool().len(), id.clone()));
    out
}

fn ranking(index: &Index, text: &str, filter: &Filter<'_>) -> Vec<(ToolId, u32, u32)> {
    let found = index.search(text, filter);
    found
        .hits
        .iter()
        .map(|h| (h.id.clone(), h.score.to_bits(), h.relevance.to_bits()))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_index_equals_a_naive_scorer(catalog in catalog(), words in phrase(1..6)) {
        let index = catalog.index();
        let mut reader = Reader::default();
        let mut query = Query::read(&words.join(" "), &mut reader);
        retrieve::expand(&index, &mut query, None, &mut reader);
        let listed = |wanted| {
            let scope = Scope { slot: None, allow: None, wanted };
            let found = retrieve::retrieve(&index, &query, &scope);
            let shared = found.candidates.iter().filter(|c| c.score > 0);
            let named = shared.map(|c| (index.entry(c.number).unwrap().id.clone(), c.score));
            (named.collect::<Vec<(ToolId, u32)>>(), found)
        };
        let (all, found) = listed(SEARCH_LIMIT_MAX);
        prop_assert_eq!(&all, &naive(&index, &query, &found.weighed.terms));
        prop_assert_eq!(found.total, found.candidates.len());
        // Where fewer are wanted, those far behind the best get no second look unless their
        // meaning speaks for them; the order stays.
        let (few, less) = listed(2);
        let least = all.first().map_or(0, |best| best.1 / retrieve::SECOND_LOOK_SHARE);
        let close = all.iter().take_while(|t| t.1 >= least).count().max(2).min(all.len());
        prop_assert_eq!(&few[..close], &all[..close]);
        prop_assert_eq!(less.total, found.total);
    }

    #[test]
    fn the_order_of_insertion_never_matters(catalog in catalog(), words in phrase(1..6)) {
        let text = words.join(" ");
        let expect = ranking(&catalog.index(), &text, &Filter::default());
        let mut parts = catalog.parts();
        parts.reverse();
        let mut grown = Index::default();
        for part in &parts {
            grown = grown.with_server(Arc::clone(part));
        }
        prop_assert_eq!(&ranking(&grown, &text, &Filter::default()), &expect);
        let mut shuffled = catalog.clone();
        for (_, tools) in &mut shuffled.servers {
            tools.reverse();
        }
        prop_assert_eq!(&ranking(&shuffled.index(), &text, &Filter::default()), &expect);
        // Taking a server out and putting it back leaves no trace.
        let again = grown.without_server(parts[0].server()).with_server(Arc::clone(&parts[0]));
        prop_assert_eq!(&ranking(&again, &text, &Filter::default()), &expect);
    }

    #[test]
    fn an_exact_name_is_always_first(catalog in catalog(), pick in any::<prop::sample::Index>(), spelling in 0..5) {
        let index = catalog.index();
        let ids: Vec<ToolId> = index.ids().cloned().collect();
        let id = pick.get(&ids);
        let name = id.tool();
        let text = match spelling {
            0 => id.to_string(),
            1 => name.to_owned(),
            2 => name.replace('_', " "),
            3 => name.to_uppercase().replace('_', "-"),
            _ => format!("{} {}", id.server(), name.replace('_', " ")),
        };
        let found = index.search(&text, &Filter::default());
        prop_assert_eq!(found.hits[0].id.tool(), name);
        if spelling == 0 || spelling == 4 {
            prop_assert_eq!(&found.hits[0].id, id);
        }
        prop_assert!((found.hits[0].relevance - 1.0).abs() < f32::EPSILON);
    }

    #[test]
    fn scoping_never_leaks(catalog in catalog(), words in phrase(1..6)) {
        let text = words.join(" ");
        let all = catalog.index();
        for part in catalog.parts() {
            let filter = Filter { server: Some(part.server()), ..Filter::default() };
            let scoped = ranking(&all, &text, &filter);
            prop_assert!(scoped.iter().all(|(id, _, _)| id.server() == part.server()));
            // As if only that server existed.
            let alone = Index::from_parts([Arc::clone(&part)]);
            prop_assert_eq!(&scoped, &ranking(&alone, &text, &Filter::default()));
            prop_assert_eq!(all.search(&text, &filter).total, alone.search(&text, &Filter::default()).total);
        }
    }

    #[test]
    fn what_is_not_allowed_never_appears(catalog in catalog(), words in phrase(1..6)) {
        let index = catalog.index();
        let allow = |id: &ToolId| id.tool().len().is_multiple_of(2);
        let filter = Filter { allow: Some(&allow), limit: Some(50), ..Filter::default() };
        let found = index.search(&words.join(" "), &filter);
        prop_assert!(found.hits.iter().all(|h| allow(&h.id)));
        prop_assert_eq!(found.total, found.hits.len());
    }

    #[test]
    fn any_text_can_be_asked(text in any::<String>()) {
        let catalog = Catalog { servers: vec![("a".to_owned(), vec![tool("a", &["create", "issue"], &["text"], "p")])] };
        let found = catalog.index().search(&text, &Filter::default());
        prop_assert!(found.hits.len() <= 1);
    }
}
