//! The YAML of our own documents: `servers` with `connection` and statically known `tools`.

use super::entry::{self, Habits};
use super::fields::{Fields, Refused};
use super::file::{File, Imported, under};
use super::map;
use crate::diagnostic::Diagnostic;
use crate::model::server::{Server, StaticTool};
use crate::node::{Node, Value};
use crate::text::Span;

const SHAPE: &str = "write `connection: { type: stdio, command: …, args: […] }`";

/// Where the servers can stand.
const ROOTS: &[&str] = &["servers", "discovery.servers"];

/// Reads servers in a map or in a list; a file with `mcpServers` is read like any client's.
pub(crate) fn read(file: &File<'_>, tree: &Node) -> Imported {
    if let Some(broken) = map::not_a_map(file, tree) {
        return Imported::broken(vec![broken]);
    }
    let mut out = Imported::default();
    let Some((root, node)) = under(tree, ROOTS) else {
        match tree.get("mcpServers") {
            Some(node) => map::read_servers(file, "mcpServers", node, Habits::of(file), &mut out),
            None => out = map::read(file, tree),
        }
        return out;
    };
    match &node.value {
        Value::Map(entries) => {
            for entry in entries {
                add(file, &entry.key, entry.key_span, &entry.value, &mut out);
            }
        }
        Value::List(items) => {
            for item in items {
                let name = item.get("name").and_then(Node::as_str).unwrap_or_default();
                add(file, name, item.span, item, &mut out);
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
    out
}

fn add(file: &File<'_>, name: &str, span: Span, node: &Node, out: &mut Imported) {
    match server(file, name, span, node) {
        Ok((server, findings)) => {
            out.diagnostics.extend(findings);
            out.add(file, server, span);
        }
        Err(refused) => out.refuse(file, name, span, refused),
    }
}

/// One server, with what is worth knowing about it.
fn server(
    file: &File<'_>,
    name: &str,
    span: Span,
    node: &Node,
) -> Result<(Server, Vec<Diagnostic>), Refused> {
    let subject = format!("server \"{name}\"");
    let mut fields = Fields::of(file.source, subject.clone(), node, SHAPE)?;
    let mut habits = Habits::of(file);
    habits.tools_are_names = false;
    let tools = fields.take(&["tools"]);
    let tools = match tools {
        Some(entry) => static_tools(file, &subject, &entry.value)?,
        None => Vec::new(),
    };
    let Some(connection) = fields.take(&["connection"]) else {
        let mut server = entry::read(file, name, span, &mut fields, habits)?;
        server.tools = tools;
        return Ok((server, fields.finish()));
    };
    let place = format!("{subject}: `connection`");
    let mut inner = Fields::of(file.source, place, &connection.value, SHAPE)?;
    let mut server = entry::read(file, name, span, &mut inner, habits)?;
    server.tools = tools;
    server.title = fields
        .text(&["title", "name"])?
        .filter(|title| *title != name)
        .map(str::to_owned);
    server.description = fields.text(&["description"])?.map(str::to_owned);
    server.enabled = fields.flag(&["enabled"])?.unwrap_or(server.enabled);
    let mut findings = inner.finish();
    findings.extend(fields.finish());
    Ok((server, findings))
}

fn static_tools(file: &File<'_>, subject: &str, node: &Node) -> Result<Vec<StaticTool>, Refused> {
    let Value::List(items) = &node.value else {
        let finding = Diagnostic::warning(format!(
            "{subject}: `tools` must be a list, not {}",
            node.value.kind()
        ))
        .at(file.source, node.span)
        .help("write `- name: …` for each tool");
        return Err(Refused(Box::new(finding)));
    };
    items
        .iter()
        .enumerate()
        .map(|(index, item)| static_tool(file, &format!("{subject}: `tools[{index}]`"), item))
        .collect()
}

fn static_tool(file: &File<'_>, subject: &str, node: &Node) -> Result<StaticTool, Refused> {
    if let Some(name) = node.as_str().filter(|name| !name.is_empty()) {
        return Ok(StaticTool {
            name: name.to_owned(),
            description: String::new(),
            input_schema: None,
            tags: Vec::new(),
        });
    }
    let mut fields = Fields::of(file.source, subject, node, "write `name` and `description`")?;
    let Some(name) = fields.text(&["name"])?.filter(|name| !name.is_empty()) else {
        return Err(fields.refuse(format!("{subject} has no name"), node.span, "add `name`"));
    };
    let tags = fields.texts(&["tags"])?.unwrap_or_default();
    Ok(StaticTool {
        name: name.to_owned(),
        description: fields
            .text(&["description"])?
            .unwrap_or_default()
            .to_owned(),
        input_schema: fields
            .take(&["inputSchema", "input_schema", "parameters"])
            .map(|schema| schema.value.to_json()),
        tags: tags.into_iter().map(|(tag, _)| tag).collect(),
    })
}
