//! The tools of one adapter.

use std::sync::Arc;

use serde_json::Value;
use toolcrib_core::gateway::{listing, parameters};
use toolcrib_core::limits::SEARCH_LIMIT_MAX;
use toolcrib_core::nearest::fold;
use toolcrib_core::policy::Caller;
use toolcrib_core::schema::outline::Reading;

use super::facts::spoken;
use super::{Desk, Shelf};
use crate::engine::ask::{Listing, Search};
use crate::engine::error::Result;
use crate::engine::snapshot::Entry;

/// The tools of an adapter that were asked for.
#[derive(Clone, Debug)]
pub struct Stocked {
    /// The adapter.
    pub adapter: String,
    /// How many tools of it the caller can run.
    pub total: usize,
    /// What they are about, most first.
    pub categories: Vec<String>,
    /// Those that were asked for.
    pub tools: Vec<listing::Tool>,
}

impl Desk {
    /// A page of the tools of an adapter.
    pub async fn tools(&self, caller: &Caller, wish: Shelf) -> Result<Value> {
        let found = self.stocked(caller, &wish).await?;
        let shown = listing::Shelf {
            adapter: &found.adapter,
            total: found.total,
            categories: found.categories,
            tools: found.tools,
        };
        Ok(listing::tools(&shown, wish.window))
    }

    /// Every tool of an adapter that is wanted.
    pub async fn stocked(&self, caller: &Caller, wish: &Shelf) -> Result<Stocked> {
        let listing = Listing {
            server: wish.adapter.clone(),
            ..Listing::default()
        };
        let page = self.engine.list_tools(caller, listing).await?;
        let snapshot = self.engine.snapshot();
        let facts = self.facts(&page.server, &snapshot);
        let mut wanted = match &wish.search {
            None => page.tools.clone(),
            Some(words) => self.matching(caller, &page.server, words).await?,
        };
        if let Some(category) = wish.category.as_deref().map(fold) {
            wanted.retain(|entry| fold(&facts.group(entry)) == category);
        }
        let tools = wanted.iter().map(|entry| {
            let tool = &entry.tool;
            let reading = Reading::new(&tool.input_schema);
            let outline = reading.outline();
            let (required, optional) = parameters::names(&outline);
            listing::Tool {
                tool_id: snapshot.canonical_id(entry),
                name: tool.title.clone().unwrap_or_else(|| spoken(tool.id.tool())),
                description: tool.summary().to_owned(),
                category: facts.group(entry),
                method: tool.method.clone(),
                risk_level: entry.metadata.risk,
                required_params: required.into_iter().map(str::to_owned).collect(),
                optional_param_count: optional.len(),
            }
        });
        Ok(Stocked {
            total: page.total,
            categories: facts.groups(&page.tools).into_keys().collect(),
            tools: tools.collect(),
            adapter: page.server,
        })
    }

    async fn matching(
        &self,
        caller: &Caller,
        adapter: &str,
        words: &str,
    ) -> Result<Vec<Arc<Entry>>> {
        let search = Search {
            query: words.to_owned(),
            server: Some(adapter.to_owned()),
            limit: Some(SEARCH_LIMIT_MAX),
            ..Search::default()
        };
        let found = self.engine.search_tools(caller, search).await?;
        Ok(found.hits.into_iter().map(|hit| hit.entry).collect())
    }
}
