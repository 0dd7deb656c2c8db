//! opencode: `mcp` is a map of servers, in the newer revision `mcp.servers` is.

use super::entry::Habits;
use super::file::{File, Imported};
use super::map;
use crate::node::{Node, Value};

/// Reads the servers of either revision.
pub(crate) fn read(file: &File<'_>, tree: &Node) -> Imported {
    let habits = Habits::of(file);
    let newer = tree
        .get("mcp")
        .and_then(|mcp| mcp.get("servers"))
        .filter(|servers| !is_server(servers));
    let (root, servers) = match (newer, tree.get("mcp")) {
        (Some(servers), _) => ("mcp.servers", servers),
        (None, Some(servers)) => ("mcp", servers),
        (None, None) => return map::read_with(file, tree, habits),
    };
    let mut out = Imported::default();
    let Value::Map(entries) = &servers.value else {
        map::read_servers(file, root, servers, habits, &mut out);
        return out;
    };
    for entry in entries {
        // An entry with nothing but a switch is about a server that an organisation provides.
        let switch = !entry.value.entries().is_empty()
            && entry
                .value
                .entries()
                .iter()
                .all(|e| matches!(e.key.as_str(), "enabled" | "disabled"));
        if switch {
            let reason = "it switches a server that is defined elsewhere";
            out.skip(file, &entry.key, entry.key_span, reason);
        } else {
            map::read_server(file, entry, habits, &mut out);
        }
    }
    out
}

/// Whether a map is itself a server (one that happens to be called `servers`).
fn is_server(node: &Node) -> bool {
    let is_text = |key| node.get(key).is_some_and(|value| value.as_str().is_some());
    is_text("type") || is_text("url") || node.get("command").is_some_and(|c| !c.items().is_empty())
}
