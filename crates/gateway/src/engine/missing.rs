//! What is not there: said with the names that are, so that the caller can go on.

use std::sync::Arc;

use toolcrib_core::limits::{AVAILABLE_NAMES_MAX, NEAREST_TOOLS_MAX};
use toolcrib_core::nearest::{fold, nearest};
use toolcrib_core::policy::{Caller, Risk, Visibility, visible};
use toolcrib_core::search::Filter;
use toolcrib_core::{Code, ToolId};

use super::Engine;
use super::error::{Error, Names};
use super::find::is_known_to;
use super::snapshot::{Entry, Snapshot};

impl Engine {
    /// There is no such server, or none that this caller may know of.
    pub(super) fn no_server(&self, caller: &Caller, server: &str) -> Box<Error> {
        let snapshot = self.snapshot();
        let racks = snapshot.racks();
        let known = racks.filter(|rack| is_known_to(caller, rack, &snapshot.rulebook));
        let names: Vec<&str> = known.map(|rack| &*rack.supplier.name).collect();
        let near = nearest(server, names.iter().copied(), NEAREST_TOOLS_MAX);
        let mut error = Error::new(
            Code::ServerNotFound,
            format!("There is no server {server}."),
        )
        .of_server(server);
        error.suggestion = Some(match near.first() {
            Some(_) => format!("Did you mean {}?", near.join(", ")),
            None => "List the servers first".to_owned(),
        });
        error.more.available = Some(first(names.into_iter().map(str::to_owned).collect()));
        error
    }

    /// The tools that the words of a name find for this caller, where it is not known whose it was to be.
    pub fn near_tools(&self, caller: &Caller, name: &str) -> Vec<Arc<Entry>> {
        near_tools(&self.snapshot(), caller, &[], name)
    }

    /// The tools whose own name or id a name is nearly spelled as, where it is not known whose it was to be: none
    /// that destroys anything, since whoever guesses a name may as well guess on.
    pub fn near_names(&self, caller: &Caller, name: &str) -> Vec<Arc<Entry>> {
        let snapshot = self.snapshot();
        let shows = |id: &ToolId| {
            let mark = snapshot.mark(id);
            mark.is_some_and(|mark| mark.visible(caller) == Visibility::Shown)
        };
        let ids = snapshot.racks().flat_map(|rack| rack.ids());
        let spelled: Vec<(String, &ToolId)> = ids
            .filter(|id| shows(id))
            .flat_map(|id| [(id.tool().to_owned(), id), (id.to_string(), id)])
            .collect();
        let names = spelled.iter().map(|(name, _)| name.as_str());
        let mut found: Vec<Arc<Entry>> = Vec::new();
        for near in nearest(name, names, 2 * NEAREST_TOOLS_MAX) {
            let meant = spelled.iter().filter(|(name, _)| name == near);
            for entry in meant.filter_map(|(_, id)| snapshot.entry(id)) {
                let known = found.iter().any(|one| one.tool.id == entry.tool.id);
                if !known && entry.metadata.risk != Risk::Destructive {
                    found.push(Arc::clone(entry));
                }
            }
        }
        found.truncate(NEAREST_TOOLS_MAX);
        found
    }

    /// There is no such tool, or none that this caller may know of.
    pub(super) fn no_tool(&self, caller: &Caller, server: &str, tool: &str) -> Box<Error> {
        let snapshot = self.snapshot();
        let rack = snapshot.rack(server);
        let shown = rack.map(|rack| {
            let shows =
                |entry: &&Arc<Entry>| visible(caller, &entry.subject()) == Visibility::Shown;
            rack.entries().iter().filter(shows).collect::<Vec<_>>()
        });
        let shown = shown.unwrap_or_default();
        let name = rack.map_or(server, |rack| &*rack.supplier.name);
        let near = near_tools(&snapshot, caller, &shown, tool);
        let mut error = Error::new(Code::ToolNotFound, format!("Tool not found: {name}:{tool}"))
            .of_tool(name, tool);
        let close = close(tool, &near);
        error.suggestion = Some(if close.is_empty() {
            "Search for the tool first; ids are written `server:tool`".to_owned()
        } else {
            format!("Did you mean {}?", close.join(", "))
        });
        error.more.nearest = near;
        let names = shown.iter().map(|e| e.tool.id.tool().to_owned());
        error.more.available = Some(first(names.collect()));
        error
    }
}

/// The tools that may have been meant: those of nearly the same name on the same server, then those
/// that the words of the name find anywhere.
fn near_tools(
    snapshot: &Snapshot,
    caller: &Caller,
    shown: &[&Arc<Entry>],
    tool: &str,
) -> Vec<Arc<Entry>> {
    let names = shown.iter().map(|e| e.tool.id.tool());
    let near = nearest(tool, names, NEAREST_TOOLS_MAX);
    let by_name = near.iter().filter_map(|name| {
        let entry = shown.iter().find(|e| e.tool.id.tool() == *name)?;
        Some(Arc::clone(entry))
    });
    let mut found: Vec<Arc<Entry>> = by_name.collect();
    let allow = |id: &ToolId| {
        let mark = snapshot.mark(id);
        mark.is_some_and(|mark| mark.visible(caller) == Visibility::Shown)
    };
    let filter = Filter {
        allow: Some(&allow),
        limit: Some(NEAREST_TOOLS_MAX),
        ..Filter::default()
    };
    for hit in snapshot.index.search(tool, &filter).hits {
        let known = found.iter().any(|e| e.tool.id == hit.id);
        if found.len() < NEAREST_TOOLS_MAX && !known {
            found.extend(snapshot.entry(&hit.id).cloned());
        }
    }
    found
}

/// The ids of those of nearly the same name; where some have that very name, of these alone. What its words find
/// besides may serve the same end, but is not what was mistyped.
fn close(tool: &str, near: &[Arc<Entry>]) -> Vec<String> {
    let is_same = |entry: &&Arc<Entry>| fold(entry.tool.id.tool()) == fold(tool);
    let is_close = |entry: &&Arc<Entry>| !nearest(tool, [entry.tool.id.tool()], 1).is_empty();
    let ids = |entries: Vec<&Arc<Entry>>| entries.iter().map(|e| e.tool.id.to_string()).collect();
    let same: Vec<_> = near.iter().filter(is_same).collect();
    if same.is_empty() {
        return ids(near.iter().filter(is_close).collect());
    }
    ids(same)
}

fn first(mut names: Vec<String>) -> Names {
    let total = names.len();
    names.truncate(AVAILABLE_NAMES_MAX);
    Names { names, total }
}
