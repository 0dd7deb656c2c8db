//! The adapters and what each can do.

use std::sync::Arc;

use serde_json::Value;
use toolcrib_core::Code;
use toolcrib_core::gateway::listing::{self, Adapter, Filters};
use toolcrib_core::policy::{Caller, Visibility, visible};

use super::Desk;
use super::facts::status;
use crate::engine::answer::{Kind, ServerRow};
use crate::engine::ask::Listing;
use crate::engine::error::{Error, Result};
use crate::engine::snapshot::{Entry, Snapshot};

/// Most tools that are named to begin with.
const COMMON_MAX: usize = 3;

impl Desk {
    /// The adapters that a caller may know of, filtered.
    pub async fn adapters(
        &self,
        caller: &Caller,
        filters: &Filters,
        cursor: Option<&str>,
    ) -> Result<Value> {
        let (rows, pending) = self.adapter_rows(caller).await?;
        listing::adapters(rows, filters, pending, cursor).map_err(|bad| {
            Error::new(Code::ValidationError, format!("{bad}."))
                .suggest("Begin again without a cursor")
        })
    }

    /// Every adapter that a caller may know of, and how many have not said what they can do.
    pub async fn adapter_rows(&self, caller: &Caller) -> Result<(Vec<Adapter>, usize)> {
        let servers = self.engine.list_servers(caller).await?;
        // The descriptions of APIs are at hand; servers are not started for a list.
        let unread = servers.servers.iter();
        let unread = unread.filter(|row| row.kind == Kind::Adapter && row.enabled && !row.known);
        let reading = unread.map(|row| {
            let listing = Listing {
                server: row.name.clone(),
                ..Listing::default()
            };
            self.engine.list_tools(caller, listing)
        });
        let read = futures::future::join_all(reading).await;
        let servers = if read.is_empty() {
            servers
        } else {
            self.engine.list_servers(caller).await?
        };
        let snapshot = self.engine.snapshot();
        let rows = servers.servers.iter();
        let rows = rows.map(|row| self.adapter_row(caller, row, &snapshot));
        Ok((rows.collect(), servers.pending_servers))
    }

    fn adapter_row(&self, caller: &Caller, row: &ServerRow, snapshot: &Snapshot) -> Adapter {
        let tools = runnable(caller, snapshot, &row.name);
        let facts = self.facts(&row.name, snapshot);
        let name = facts.title(row.title.as_deref());
        let description = facts.about(&row.description);
        let groups = facts.groups(&tools);
        let first = groups.keys().filter_map(|group| {
            let mut of_group = tools.iter().filter(|entry| facts.group(entry) == *group);
            of_group.next().map(|entry| snapshot.canonical_id(entry))
        });
        Adapter {
            id: row.name.clone(),
            category: facts.category(&name, &description),
            capabilities: facts
                .configured()
                .map(|c| c.capabilities.clone())
                .unwrap_or_default(),
            supported_countries: facts.countries(&tools),
            supported_currencies: facts.currencies(&tools),
            tool_count: row.enabled_count,
            common_operations: first.take(COMMON_MAX).collect(),
            auth_type: facts.auth_type().to_owned(),
            status: status(row.enabled, &row.standing).to_owned(),
            tool_categories: groups,
            name,
            description,
        }
    }
}

/// The tools of an adapter that a caller can find and run.
pub(super) fn runnable(caller: &Caller, snapshot: &Snapshot, name: &str) -> Vec<Arc<Entry>> {
    let rack = snapshot.racks().find(|rack| *rack.supplier.name == *name);
    let entries = rack.iter().flat_map(|rack| rack.entries());
    let shown = entries.filter(|entry| visible(caller, &entry.subject()) == Visibility::Shown);
    shown.cloned().collect()
}
