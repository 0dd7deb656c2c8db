//! Goose: a map of extensions, some of which are parts of Goose itself.

use super::entry::Habits;
use super::file::{File, Imported, under};
use super::map;
use crate::node::{Entry, Node, Value};
use crate::placeholder::Dialect;

/// Kinds of extension that run inside Goose.
const INSIDE: &[&str] = &["builtin", "platform", "frontend", "inline_python"];

/// Reads the extensions that are MCP servers.
pub(crate) fn read(file: &File<'_>, tree: &Node) -> Imported {
    let mut habits = Habits::of(file);
    habits.header_dialect = Dialect::Shell;
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
        if is_inside(entry) {
            out.skip(
                file,
                &entry.key,
                entry.key_span,
                "it is a part of Goose itself",
            );
        } else {
            map::read_server(file, entry, habits, &mut out);
        }
    }
    out
}

fn is_inside(entry: &Entry) -> bool {
    entry
        .value
        .get("type")
        .and_then(Node::as_str)
        .is_some_and(|kind| INSIDE.contains(&kind))
}
