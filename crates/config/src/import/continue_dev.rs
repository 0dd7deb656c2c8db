//! Continue: a list of servers, each with its name inside.

use super::entry::{self, Habits};
use super::fields::Fields;
use super::file::{File, Imported, under};
use super::map;
use crate::node::{Node, Value};
use crate::placeholder::Dialect;
use crate::reader::Format;

/// Reads the list; files that were copied from other clients hold a map, which is read as theirs.
pub(crate) fn read(file: &File<'_>, tree: &Node) -> Imported {
    let mut habits = Habits::of(file);
    let Some((
        root,
        Node {
            value: Value::List(items),
            ..
        },
    )) = under(tree, file.client.roots)
    else {
        if Format::of(file.source.path()) == Some(Format::Jsonc) {
            habits.dialect = Dialect::Either;
            habits.header_dialect = Dialect::Either;
        }
        return map::read_with(file, tree, habits);
    };
    let mut out = Imported::default();
    for (index, item) in items.iter().enumerate() {
        read_item(file, &format!("{root}[{index}]"), item, habits, &mut out);
    }
    out
}

fn read_item(file: &File<'_>, place: &str, item: &Node, habits: Habits, out: &mut Imported) {
    if let Some(block) = item.get("uses").and_then(Node::as_str) {
        return out.skip(file, block, item.span, "it is a block of Continue's hub");
    }
    let name = item.get("name").and_then(Node::as_str).unwrap_or_default();
    let subject = if name.is_empty() {
        format!("`{place}`")
    } else {
        format!("server \"{name}\"")
    };
    let mut fields = match Fields::of(file.source, subject, item, map::SHAPE) {
        Ok(fields) => fields,
        Err(refused) => return out.refuse(file, place, item.span, refused),
    };
    fields.ignore(&["faviconUrl", "serverName"]);
    match entry::read(file, name, item.span, &mut fields, habits) {
        Ok(server) => {
            out.diagnostics.extend(fields.finish());
            out.add(file, server, item.span);
        }
        Err(refused) => out.refuse(
            file,
            if name.is_empty() { place } else { name },
            item.span,
            refused,
        ),
    }
}
