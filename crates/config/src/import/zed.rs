//! Zed: a map of servers, some of which its extensions bring along.

use super::entry::Habits;
use super::file::{File, Imported, under};
use super::map;
use crate::node::{Entry, Node, Value};

/// Reads the servers that say how they are started or where they are.
pub(crate) fn read(file: &File<'_>, tree: &Node) -> Imported {
    let habits = Habits::of(file);
    let Some((
        _,
        Node {
            value: Value::Map(entries),
            ..
        },
    )) = under(tree, file.client.roots)
    else {
        return map::read_with(file, tree, habits);
    };
    let mut out = Imported::default();
    for entry in entries {
        if of_an_extension(entry) {
            let reason = "an extension of Zed brings it along";
            out.skip(file, &entry.key, entry.key_span, reason);
        } else {
            map::read_server(file, entry, habits, &mut out);
        }
    }
    out
}

fn of_an_extension(entry: &Entry) -> bool {
    let has = |key| entry.value.get(key).is_some();
    let says_so = entry.value.get("source").and_then(Node::as_str) == Some("extension");
    says_so || (has("settings") && !has("command") && !has("url"))
}
