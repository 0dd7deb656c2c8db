//! A client's file while our entry is put in or taken out.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::client::{EmptyRoot, Entry, ExportError};
use super::lines::Piece;
use super::splice::{self, Splice};
use super::{flow, lines, toml};
use crate::diagnostic::Diagnostic;
use crate::import::{self, Client, Family};
use crate::node::{Node, Value};
use crate::reader::{self, Format};
use crate::text::Source;

/// A client's file while it is edited.
pub(super) struct Document<'a> {
    client: &'static Client,
    path: &'a Path,
    pub(super) format: Format,
}

impl<'a> Document<'a> {
    pub(super) fn new(client: &'static Client, path: &'a Path) -> Result<Self, ExportError> {
        if matches!(client.family, Family::Docker | Family::Custom) {
            return Err(ExportError::Unsupported(client.title));
        }
        Ok(Self {
            client,
            path,
            format: Format::of(path).unwrap_or(client.format),
        })
    }

    pub(super) fn tree(&self, text: &str) -> Result<Node, ExportError> {
        let source = Source::new(self.path, text);
        let broken = |diagnostics| ExportError::Broken {
            path: self.path.to_owned(),
            diagnostics,
        };
        let tree = reader::read(&source, self.format).map_err(broken)?;
        match tree.value {
            Value::Map(_) => Ok(tree),
            _ => Err(broken(vec![
                Diagnostic::error("the file must hold a map").at(&source, tree.span),
            ])),
        }
    }

    pub(super) fn refusal(&self) -> ExportError {
        ExportError::Unsafe {
            path: self.path.to_owned(),
            root: self.client.roots[0],
        }
    }

    /// The keys under which the servers stand in this file.
    fn keys(&self, tree: &Node) -> Vec<&'static str> {
        let roots = self.client.roots;
        let root = roots
            .iter()
            .find(|root| {
                let mut node = Some(tree);
                for key in root.split('.') {
                    node = node.and_then(|node| node.get(key));
                }
                node.is_some_and(|node| matches!(node.value, Value::Map(_) | Value::List(_)))
            })
            .or(roots.last())
            .copied()
            .unwrap_or_default();
        root.split('.').collect()
    }

    pub(super) fn servers<'t>(&self, tree: &'t Node) -> Option<&'t Node> {
        let mut node = tree;
        for key in self.keys(tree) {
            node = node.get(key)?;
        }
        Some(node)
    }

    /// Whether the servers are a list with their names inside.
    fn is_list(&self, tree: &Node) -> bool {
        let written = self.servers(tree).map(|node| &node.value);
        self.client.family == Family::Continue && !matches!(written, Some(Value::Map(_)))
    }

    pub(super) fn find<'t>(&self, tree: &'t Node, name: &str) -> Option<&'t Node> {
        let servers = self.servers(tree)?;
        if self.is_list(tree) {
            return servers.items().iter().find(|item| is_named(item, name));
        }
        servers.get(name)
    }

    /// Whether the importer takes the entry for Toolcrib itself.
    pub(super) fn is_ours(&self, text: &str, tree: &Node, name: &str) -> bool {
        let source = Source::new(self.path, text);
        import::names_toolcrib(self.client, tree, &source, name)
    }

    /// The entry as this client writes it.
    pub(super) fn value(&self, tree: &Node, entry: &Entry) -> Json {
        let mut value = match (self.client.family, self.client.id) {
            (Family::Opencode, _) => {
                let mut line = vec![entry.command.clone()];
                line.extend(entry.args.iter().cloned());
                let mut value = json!({ "type": "local", "command": line });
                // The newer revision has no such switch.
                if self.keys(tree).len() == 1 {
                    value["enabled"] = json!(true);
                }
                value
            }
            (Family::Goose, _) => json!({
                "name": entry.name, "type": "stdio", "enabled": true, "cmd": entry.command,
                "args": entry.args, "timeout": 300,
            }),
            (Family::Continue, _) if self.is_list(tree) => json!({
                "name": entry.name, "command": entry.command, "args": entry.args,
            }),
            (Family::VsCode | Family::ClaudeCode, _) => json!({
                "type": "stdio", "command": entry.command, "args": entry.args,
            }),
            (Family::Zed, _) => json!({
                "source": "custom", "command": entry.command, "args": entry.args,
            }),
            (_, "copilot") => json!({
                "type": "local", "command": entry.command, "args": entry.args, "tools": ["*"],
            }),
            _ => json!({ "command": entry.command, "args": entry.args }),
        };
        if !entry.env.is_empty() {
            let key = match self.client.family {
                Family::Goose => "envs",
                Family::Opencode => "environment",
                _ => "env",
            };
            let env: serde_json::Map<String, Json> = entry
                .env
                .iter()
                .map(|(name, value)| (name.clone(), Json::from(value.as_str())))
                .collect();
            value[key] = Json::Object(env);
        }
        value
    }

    /// A new file with the entry.
    pub(super) fn fresh(&self, entry: &Entry) -> String {
        let nothing = Node::new(Value::Map(Vec::new()), crate::text::Span::default());
        let value = self.value(&nothing, entry);
        let keys = self.keys(&nothing);
        let root = keys.join(".");
        match self.format {
            Format::Toml => splice::apply("", vec![toml::append("", &root, &entry.name, &value)]),
            Format::Yaml => {
                let head = match self.client.family {
                    Family::Continue => "name: Local Config\nversion: 1.0.0\nschema: v1\n",
                    _ => "",
                };
                let piece = self.piece(&nothing, &entry.name, &value);
                let splices = lines::insert(head, &nothing, &root, &piece).unwrap_or_default();
                splice::apply(head, splices)
            }
            Format::Jsonc | Format::Script => {
                let mut path = keys.clone();
                if self.is_list(&nothing) {
                    flow::document(&path, &Json::Array(vec![value]))
                } else {
                    path.push(&entry.name);
                    flow::document(&path, &value)
                }
            }
        }
    }

    fn piece<'v>(&self, tree: &Node, name: &'v str, value: &'v Json) -> Piece<'v> {
        if self.is_list(tree) {
            Piece::Item(value)
        } else {
            Piece::Member(name, value)
        }
    }

    /// The names under which servers stand in the file, each with its line.
    pub(super) fn names(&self, text: &str, tree: &Node) -> Vec<(String, usize)> {
        let source = Source::new(self.path, text);
        let line = |span: crate::text::Span| source.position(span.start).0;
        let Some(servers) = self.servers(tree) else {
            return Vec::new();
        };
        let members = servers.entries().iter();
        let items = servers.items().iter().filter_map(|item| {
            let name = item.get("name").and_then(Node::as_str)?;
            Some((name.to_owned(), line(item.span)))
        });
        members
            .map(|entry| (entry.key.clone(), line(entry.key_span)))
            .chain(items)
            .collect()
    }

    /// The changes that put the entry in.
    pub(super) fn insertion(&self, text: &str, tree: &Node, entry: &Entry) -> Option<Vec<Splice>> {
        self.insertion_of(text, tree, &entry.name, &self.value(tree, entry))
    }

    /// The changes that put a value in as the server of that name.
    pub(super) fn insertion_of(
        &self,
        text: &str,
        tree: &Node,
        name: &str,
        value: &Json,
    ) -> Option<Vec<Splice>> {
        let keys = self.keys(tree);
        if self.format == Format::Toml {
            return Some(vec![toml::append(text, &keys.join("."), name, value)]);
        }
        let in_braces = text[tree.span.start..].starts_with('{');
        if self.format == Format::Yaml && !in_braces {
            // A carriage return alone ends a line too, but not one that could be edited as such.
            if text.replace("\r\n", "").contains('\r') {
                return None;
            }
            let piece = self.piece(tree, name, value);
            if let Some(splices) = lines::insert(text, tree, &keys.join("."), &piece) {
                return Some(splices);
            }
        }
        let mut path = keys;
        path.push(name);
        let mut map = tree;
        let mut depth = 0;
        while let Some(inner) = map.get(path[depth]) {
            match inner.value {
                Value::Map(_) => map = inner,
                Value::Null => {
                    let value = flow::nested(&path[depth + 1..], value);
                    return Some(flow::replace(text, tree, inner, &value));
                }
                _ => return None,
            }
            depth += 1;
        }
        if !text[map.span.start..map.span.end].starts_with('{') {
            return None;
        }
        let value = flow::nested(&path[depth + 1..], value);
        Some(flow::insert(text, tree, map, path[depth], &value))
    }

    /// The text without the entry.
    pub(super) fn removal(
        &self,
        text: &str,
        tree: &Node,
        name: &str,
        empty_root: EmptyRoot,
    ) -> Option<String> {
        let keys = self.keys(tree);
        if self.format == Format::Toml {
            return Some(splice::apply(
                text,
                toml::remove(text, &keys.join("."), name)?,
            ));
        }
        let servers = self.servers(tree)?;
        let in_braces = text[servers.span.start..].starts_with(['{', '[']);
        let others = servers.entries().len() + servers.items().len() > 1;
        if !others && empty_root == EmptyRoot::Remove {
            return Self::remove_root(text, tree, keys[0]);
        }
        if in_braces {
            let index = servers.entries().iter().position(|e| e.key == name)?;
            return Some(splice::apply(text, flow::remove(text, servers, index)));
        }
        let is_list = self.is_list(tree);
        let start = if is_list {
            servers
                .items()
                .iter()
                .find(|item| is_named(item, name))?
                .span
                .start
        } else {
            servers
                .entries()
                .iter()
                .find(|e| e.key == name)?
                .key_span
                .start
        };
        let mut splices = lines::remove(text, start, !is_list);
        if !others {
            let root = tree.entries().iter().find(|e| e.key == keys[0])?;
            splices.extend(lines::mark_empty(
                text,
                root,
                if is_list { "[]" } else { "{}" },
            ));
        }
        Some(splice::apply(text, splices))
    }

    fn remove_root(text: &str, tree: &Node, root: &str) -> Option<String> {
        let index = tree.entries().iter().position(|e| e.key == root)?;
        let splices = if text[tree.span.start..].starts_with('{') {
            flow::remove(text, tree, index)
        } else {
            lines::remove(text, tree.entries()[index].key_span.start, true)
        };
        Some(splice::apply(text, splices))
    }

    /// Puts the entry into the value of the file, as the edit should.
    pub(super) fn put(&self, value: &mut Json, tree: &Node, entry: &Entry) {
        self.put_value(value, tree, &entry.name, self.value(tree, entry));
    }

    /// Puts a server into the value of the file, as the edit should.
    pub(super) fn put_value(&self, value: &mut Json, tree: &Node, name: &str, inner: Json) {
        let is_list = self.is_list(tree);
        let mut at = value;
        let keys = self.keys(tree);
        for (depth, key) in keys.iter().enumerate() {
            if !at[*key].is_object() && !at[*key].is_array() {
                let list = is_list && depth + 1 == keys.len();
                at[*key] = if list { json!([]) } else { json!({}) };
            }
            at = &mut at[*key];
        }
        match at {
            Json::Array(items) => items.push(inner),
            other => other[name] = inner,
        }
    }

    /// Takes the entry out of the value of the file, as the edit should.
    pub(super) fn take(&self, value: &mut Json, tree: &Node, name: &str, empty_root: EmptyRoot) {
        let keys = self.keys(tree);
        let mut at = &mut *value;
        for key in &keys {
            at = &mut at[*key];
        }
        let emptied = match at {
            Json::Array(items) => {
                items.retain(|item| item["name"] != name);
                items.is_empty()
            }
            Json::Object(map) => {
                map.shift_remove(name);
                map.is_empty()
            }
            _ => false,
        };
        // A TOML table that is only there through its members goes with the last of them.
        if emptied
            && (empty_root == EmptyRoot::Remove || self.format == Format::Toml)
            && let Json::Object(map) = value
        {
            map.shift_remove(keys[0]);
        }
    }

    /// Reads the edited text back and compares everything, order included.
    pub(super) fn confirm(&self, text: &str, expected: &Json) -> Result<(), ExportError> {
        let same = self.tree(text).is_ok_and(|tree| {
            let found = tree.to_json();
            let (text, wanted) = (found.to_string(), expected.to_string());
            text == wanted
                // An explicit `[root]` header keeps an empty table.
                || (self.format == Format::Toml && without_empty(found) == without_empty(expected.clone()))
        });
        if same { Ok(()) } else { Err(self.refusal()) }
    }
}

fn without_empty(mut value: Json) -> Json {
    if let Json::Object(map) = &mut value {
        map.retain(|_, value| value.as_object().is_none_or(|map| !map.is_empty()));
    }
    value
}

fn is_named(item: &Node, name: &str) -> bool {
    item.get("name").and_then(Node::as_str) == Some(name)
}
