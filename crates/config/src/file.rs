//! One configuration file of ours: read, checked, decoded, with everything that is wrong with it.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize as _;
use serde_json::Value as Json;
use toolcrib_core::{limits, nearest};

use crate::check::{self, FoundTemplate};
use crate::diagnostic::{Diagnostic, Severity};
use crate::model::entry::{ServerEntry, Servers};
use crate::model::server::{Origin, Server};
use crate::model::settings::Settings;
use crate::node::{Entry, Node, Value};
use crate::reader::{self, Format};
use crate::schema;
use crate::text::{Source, Span};

/// Which part of a file is ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// All of it; what stands under `discovery` counts as if it stood at the top.
    Whole,
    /// Only its `discovery` section, or else its `mcp` section; the rest is another program's.
    Section,
}

/// What a file holds.
#[derive(Debug)]
pub struct ConfigFile {
    /// The text.
    pub source: Arc<Source>,
    /// The tree, with our sections at the top.
    pub root: Node,
    /// The settings; the defaults in the place of what cannot be decoded.
    pub settings: Settings,
    /// The servers, in the order of the file.
    pub servers: Vec<Server>,
    /// Everything that is wrong with it.
    pub diagnostics: Vec<Diagnostic>,
    /// Every text with placeholders, or with a secret in plain sight.
    pub templates: Vec<FoundTemplate>,
    /// Whether `settings` and `servers` are all that the file says.
    pub decoded: bool,
}

impl ConfigFile {
    /// Whether anything in it is an error.
    pub fn is_broken(&self) -> bool {
        self.diagnostics
            .iter()
            .any(|d| d.severity == Severity::Error)
    }
}

/// Reads text as a configuration. `None`: the shape is [`Shape::Section`] and neither section is there.
pub fn parse(source: &Arc<Source>, format: Format, shape: Shape) -> Option<ConfigFile> {
    match reader::read(source, format) {
        Ok(node) => from_tree(source, node, shape),
        Err(diagnostics) => Some(unusable(source, diagnostics)),
    }
}

/// Checks and decodes a tree that was read from `source`.
pub fn from_tree(source: &Arc<Source>, node: Node, shape: Shape) -> Option<ConfigFile> {
    let mut diagnostics = Vec::new();
    let root = match shape {
        Shape::Whole => hoisted(source, node, &mut diagnostics),
        Shape::Section => section(node)?,
    };
    let checked = check::check(source, &root, schema::value());
    diagnostics.extend(checked.diagnostics);
    let mut file = ConfigFile {
        source: Arc::clone(source),
        settings: Settings::default(),
        servers: Vec::new(),
        diagnostics,
        templates: checked.templates,
        decoded: false,
        root,
    };
    match Settings::deserialize(&checked.value) {
        Ok(settings) => {
            file.settings = settings;
            file.decoded = true;
        }
        Err(error) => {
            // The check has said what is wrong; only a disagreement between check and decoder is news.
            if !file.is_broken() {
                let finding = Diagnostic::error(error.to_string()).about(source);
                file.diagnostics.push(finding);
            }
            // It will not be used; what can be decoded is still worth looking at.
            file.settings = salvaged(&checked.value);
        }
    }
    collect_servers(&mut file);
    Some(file)
}

/// The settings without the values that cannot be decoded.
fn salvaged(value: &Json) -> Settings {
    let alone = |key: &str, inner: Json| {
        let one: serde_json::Map<_, _> = [(key.to_owned(), inner)].into_iter().collect();
        Settings::deserialize(Json::Object(one)).is_ok()
    };
    let Json::Object(map) = value else {
        return Settings::default();
    };
    let mut good = serde_json::Map::new();
    for (key, inner) in map {
        if alone(key, inner.clone()) {
            good.insert(key.clone(), inner.clone());
        } else if let (Json::Object(servers), "servers") = (inner, key.as_str()) {
            let usable = servers.iter().filter(|(name, server)| {
                let one: serde_json::Map<_, _> =
                    [((*name).clone(), (*server).clone())].into_iter().collect();
                alone(key, Json::Object(one))
            });
            let usable = usable.map(|(name, server)| (name.clone(), server.clone()));
            good.insert(key.clone(), Json::Object(usable.collect()));
        }
    }
    Settings::deserialize(Json::Object(good)).unwrap_or_default()
}

pub(crate) fn unusable(source: &Arc<Source>, diagnostics: Vec<Diagnostic>) -> ConfigFile {
    ConfigFile {
        source: Arc::clone(source),
        root: Node::new(Value::Map(Vec::new()), Span::default()),
        settings: Settings::default(),
        servers: Vec::new(),
        diagnostics,
        templates: Vec::new(),
        decoded: false,
    }
}

/// Puts what stands under `discovery` at the top, and takes `mcpServers` for `servers`.
fn hoisted(source: &Arc<Source>, node: Node, diagnostics: &mut Vec<Diagnostic>) -> Node {
    let span = node.span;
    let Value::Map(entries) = node.value else {
        return node;
    };
    let mut out: Vec<Entry> = Vec::with_capacity(entries.len());
    for entry in entries {
        match (&*entry.key, entry.value.value) {
            ("discovery", Value::Map(inner)) => {
                for entry in inner {
                    place(source, &mut out, entry, diagnostics);
                }
            }
            (_, value) => {
                let entry = Entry {
                    value: Node::new(value, entry.value.span),
                    ..entry
                };
                place(source, &mut out, entry, diagnostics);
            }
        }
    }
    Node::new(Value::Map(out), span)
}

fn place(
    source: &Arc<Source>,
    out: &mut Vec<Entry>,
    mut entry: Entry,
    diagnostics: &mut Vec<Diagnostic>,
) {
    if entry.key == "mcpServers" || entry.key == "mcp_servers" {
        entry.key = "servers".into();
    }
    if out.iter().any(|e| e.key == entry.key) {
        let message = format!("{} is given twice, here and before", entry.key);
        diagnostics.push(
            Diagnostic::error(message)
                .at(source, entry.key_span)
                .help("keep one of the two"),
        );
    } else {
        out.push(entry);
    }
}

/// The `discovery` section, or the `mcp` section as servers.
fn section(node: Node) -> Option<Node> {
    let Value::Map(entries) = node.value else {
        return None;
    };
    let mut mcp = None;
    for entry in entries {
        match &*entry.key {
            "discovery" => return Some(entry.value),
            "mcp" => mcp = Some(entry),
            _ => {}
        }
    }
    let mcp = mcp?;
    let span = mcp.value.span;
    let is_settings = ["servers", "toolRules", "sources", "enabled", "cache"]
        .iter()
        .any(|key| mcp.value.get(key).is_some());
    if is_settings {
        return Some(mcp.value);
    }
    let servers = Entry {
        key: "servers".into(),
        ..mcp
    };
    Some(Node::new(Value::Map(vec![servers]), span))
}

/// Turns the entries into servers, each with its line, and says which are none.
fn collect_servers(file: &mut ConfigFile) {
    let entries = match std::mem::take(&mut file.settings.servers) {
        Servers::Map(map) => map.into_iter().map(|(k, v)| (Some(k), v)).collect(),
        Servers::List(list) => list.into_iter().map(|v| (None, v)).collect::<Vec<_>>(),
    };
    if entries.len() > limits::SERVERS_MAX {
        let message = format!("there are more than {} servers", limits::SERVERS_MAX);
        file.diagnostics
            .push(Diagnostic::error(message).about(&file.source));
        return;
    }
    let nodes = server_nodes(&file.root);
    let keys = key_spans(&file.root);
    let mut taken = HashSet::with_capacity(entries.len());
    file.servers.reserve(entries.len());
    for (index, (key, entry)) in entries.into_iter().enumerate() {
        let named = key.as_deref().and_then(|key| keys.get(key).copied());
        let span = named.or_else(|| nodes.get(index).copied());
        let span = span.unwrap_or_default();
        match to_server(&file.source, key, entry, span) {
            Ok(server) if !taken.insert(server.name.clone()) => {
                let message = format!("there are two servers named {:?}", server.name);
                file.diagnostics
                    .push(Diagnostic::error(message).at(&file.source, span));
            }
            Ok(server) => file.servers.push(server),
            Err(diagnostic) => file.diagnostics.push(*diagnostic),
        }
    }
}

/// The place of each server's key in a map.
fn key_spans(root: &Node) -> HashMap<String, Span> {
    let entries = root.get("servers").map_or(&[][..], Node::entries);
    let mut spans = HashMap::with_capacity(entries.len());
    for entry in entries {
        spans.entry(entry.key.clone()).or_insert(entry.key_span);
    }
    spans
}

/// The place of each server: its key in a map, its first character in a list.
fn server_nodes(root: &Node) -> Vec<Span> {
    match root.get("servers").map(|n| &n.value) {
        Some(Value::Map(entries)) => entries
            .iter()
            .filter(|e| e.value.value != Value::Null)
            .map(|e| e.key_span)
            .collect(),
        Some(Value::List(items)) => items
            .iter()
            .map(|n| Span::new(n.span.start, n.span.end.min(n.span.start + 1)))
            .collect(),
        _ => Vec::new(),
    }
}

fn to_server(
    source: &Arc<Source>,
    key: Option<String>,
    entry: ServerEntry,
    span: Span,
) -> Result<Server, Box<Diagnostic>> {
    let wrong = |message: String| Box::new(Diagnostic::error(message).at(source, span));
    let in_map = key.is_some();
    let Some(name) = key.or_else(|| entry.name.clone()) else {
        return Err(wrong(
            "MCP server in array format must have a \"name\" field".into(),
        ));
    };
    if let Err(reason) = legal_name(&name) {
        return Err(wrong(format!("the server name {name:?} {reason}")));
    }
    let origin = Origin {
        kind: "toolcrib".into(),
        path: source.path().to_owned(),
        line: source.line(span.start),
    };
    entry
        .into_server(&name, in_map, origin)
        .map_err(|error| wrong(format!("the server {name:?} {error}")))
}

/// Longest server name.
const SERVER_NAME_CHARS_MAX: usize = 128;

/// Whether a server can have this name: ids are `server:tool`, so it has no `:`.
pub fn legal_name(name: &str) -> Result<(), &'static str> {
    if name.trim().is_empty() {
        Err("is empty")
    } else if name.contains(':') {
        Err("has a `:`, which separates server and tool")
    } else if name.chars().any(char::is_control) {
        Err("has a control character")
    } else if name != name.trim() {
        Err("begins or ends with white space")
    } else if name.chars().count() > SERVER_NAME_CHARS_MAX {
        Err("is longer than 128 characters")
    } else {
        Ok(())
    }
}

/// The place of a value by its path of canonical keys and indexes, such as `["toolRules", "0", "server"]`.
pub fn locate(root: &Node, path: &[&str]) -> Option<Span> {
    let mut node = root;
    for step in path {
        node = match &node.value {
            Value::List(items) => items.get(step.parse::<usize>().ok()?)?,
            Value::Map(entries) => {
                let spelt = entries.iter().find(|e| e.key == *step).or_else(|| {
                    entries
                        .iter()
                        .find(|e| nearest::fold(&e.key) == nearest::fold(step))
                })?;
                &spelt.value
            }
            _ => return None,
        };
    }
    Some(node.span)
}

/// Validates a value that stands for a file, as `validate(config)` of the library does.
pub fn validate_value(value: &Json) -> Vec<Diagnostic> {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    let source = Source::new("configuration", text);
    parse(&source, Format::Jsonc, Shape::Whole)
        .map(|file| file.diagnostics)
        .unwrap_or_default()
}

/// The format of a file by its name, or the diagnostic that says which names are known.
pub fn format_of(path: &Path, source: &Arc<Source>) -> Result<Format, Diagnostic> {
    Format::of(path).ok_or_else(|| {
        Diagnostic::error(format!(
            "{} is no known kind of configuration file",
            path.display()
        ))
        .about(source)
        .help("use .yaml, .yml, .toml, .json, .jsonc, .ts or .js")
    })
}
