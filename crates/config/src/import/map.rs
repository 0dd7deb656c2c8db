//! Files in which servers stand in a map of names under one key, which is most of them.

use super::client::Family;
use super::entry::{self, Habits};
use super::fields::Fields;
use super::file::{File, Imported, under};
use crate::diagnostic::Diagnostic;
use crate::node::{Entry, Node, Value};
use crate::reader::Format;

/// What an entry looks like, for messages.
pub(crate) const SHAPE: &str = "write { \"command\": \"…\", \"args\": […] } or { \"url\": \"…\" }";

/// Reads the map under the client's root key.
pub(crate) fn read(file: &File<'_>, tree: &Node) -> Imported {
    let mut habits = Habits::of(file);
    habits.url_is_sse = file.client.id == "gemini";
    read_with(file, tree, habits)
}

/// Reads the map under the client's root key, with habits of the caller's.
pub(crate) fn read_with(file: &File<'_>, tree: &Node, habits: Habits) -> Imported {
    let mut out = Imported::default();
    if let Some(broken) = not_a_map(file, tree) {
        return Imported::broken(vec![broken]);
    }
    match under(tree, file.client.roots) {
        Some((root, node)) => read_servers(file, root, node, habits, &mut out),
        None => out.diagnostics.extend(misspelt_root(file, tree)),
    }
    out
}

/// The key that a file like this one usually has.
fn usual_root(file: &File<'_>) -> &'static str {
    let roots = file.client.roots;
    let is_yaml = Format::of(file.source.path()) == Some(Format::Yaml);
    if file.client.family == Family::Docker && !is_yaml {
        roots[0]
    } else {
        roots[roots.len() - 1]
    }
}

/// The finding for a file whose outermost value is no map. An empty file is no finding.
pub(crate) fn not_a_map(file: &File<'_>, tree: &Node) -> Option<Diagnostic> {
    let root = usual_root(file);
    match &tree.value {
        Value::Map(_) | Value::Null => None,
        other => Some(
            Diagnostic::error(format!(
                "the file of {} must be a map with the key `{root}`, not {}",
                file.client.title,
                other.kind()
            ))
            .at(file.source, tree.span)
            .help(format!("put the servers under `{root}`")),
        ),
    }
}

/// Reads the servers of a map of entries.
pub(crate) fn read_servers(
    file: &File<'_>,
    root: &str,
    node: &Node,
    habits: Habits,
    out: &mut Imported,
) {
    match &node.value {
        Value::Map(entries) => {
            for entry in entries {
                read_server(file, entry, habits, out);
            }
        }
        Value::Null => {}
        other => out.diagnostics.push(
            Diagnostic::error(format!(
                "`{root}` must be a map of server names to servers, not {}",
                other.kind()
            ))
            .at(file.source, node.span)
            .help("write each server under its name"),
        ),
    }
}

/// Reads one named entry.
pub(crate) fn read_server(file: &File<'_>, entry: &Entry, habits: Habits, out: &mut Imported) {
    let subject = format!("server \"{}\"", entry.key);
    let mut fields = match Fields::of(file.source, subject, &entry.value, SHAPE) {
        Ok(fields) => fields,
        Err(refused) => return out.refuse(file, &entry.key, entry.key_span, refused),
    };
    let read = entry::read(file, &entry.key, entry.key_span, &mut fields, habits);
    match read {
        Ok(server) => {
            out.diagnostics.extend(fields.finish());
            out.add(file, server, entry.key_span);
        }
        Err(refused) => out.refuse(file, &entry.key, entry.key_span, refused),
    }
}

/// A warning where the root key is there in another spelling.
fn misspelt_root(file: &File<'_>, tree: &Node) -> Option<Diagnostic> {
    let plain = |text: &str| -> String {
        text.chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|c| c.to_ascii_lowercase())
            .collect()
    };
    let wanted = usual_root(file);
    let spellings = [
        plain(wanted),
        "mcpservers".to_owned(),
        "mcp".to_owned(),
        "servers".to_owned(),
    ];
    let entry = tree
        .entries()
        .iter()
        .find(|e| spellings.contains(&plain(&e.key)) && matches!(e.value.value, Value::Map(_)))?;
    Some(
        Diagnostic::warning(format!(
            "`{}` is not where {} keeps its servers, so none are read",
            entry.key, file.client.title
        ))
        .at(file.source, entry.key_span)
        .help(format!("did you mean `{wanted}`?")),
    )
}
