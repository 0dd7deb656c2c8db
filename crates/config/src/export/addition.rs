//! A server or an adapter put into a configuration of ours that is there already.
//!
//! The file is edited as text: everything else in it keeps every byte. What comes out is read back
//! and must hold the servers and settings from before and the new server, nothing more.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::client::{ExportError, split_mark};
use super::install::{self, Written};
use super::lines::Piece;
use super::splice::{self, Splice};
use super::{flow, lines, own, toml};
use crate::file::{self, ConfigFile, Shape};
use crate::load::candidates::Candidate;
use crate::model::server::{Handling, Isolation, Origin, Server, Transport};
use crate::node::{Node, Value};
use crate::placeholder::Template;
use crate::reader::{self, Format};
use crate::text::Source;

/// The keys under which servers may stand, ours first.
const KEYS: [&str; 3] = ["servers", "mcpServers", "mcp_servers"];

/// What a new file begins with: without it, servers of other clients would no longer be used once
/// there is a file of ours.
const FRESH: &str = "imports:\n  auto: true\n";

/// Milliseconds in a minute, the unit of `idleClose`.
const MINUTE_MS: u64 = 60_000;

/// Puts a server into a file; makes the file where there is none. The old content goes into a file
/// beside it, named after `time`, a UTC time such as `20260131T120000Z`.
pub fn install(path: &Path, server: &Server, time: &str) -> Result<Written, ExportError> {
    let path = &install::real(path);
    let old = install::read(path)?;
    let new = add_server(path, old.as_deref(), server)?;
    install::exchange(path, old.as_deref(), &new, time)
}

/// The text of a file of ours with a server in it. `None` stands for a file that is not there.
pub fn add_server(path: &Path, text: Option<&str>, server: &Server) -> Result<String, ExportError> {
    let format = Format::of(path).unwrap_or(Format::Yaml);
    let (mark, text) = split_mark(text.unwrap_or_default());
    let is_section = Candidate::explicit(path).shape == Shape::Section;
    if format == Format::Script || is_section {
        return Err(refusal(path));
    }
    if text.trim().is_empty() {
        return Ok(format!("{mark}{}", fresh(format, server)));
    }
    let source = Source::new(path, text);
    let tree = reader::read(&source, format).map_err(|diagnostics| ExportError::Broken {
        path: path.to_owned(),
        diagnostics,
    })?;
    let before = read_back(path, text, format)?;
    if before.servers.iter().any(|known| known.name == server.name) {
        return Err(ExportError::Occupied {
            path: path.to_owned(),
            name: server.name.clone(),
        });
    }
    let splices = insertion(text, &tree, format, server).ok_or_else(|| refusal(path))?;
    let new = splice::apply(text, splices);
    let after = read_back(path, &new, format).map_err(|_| refusal(path))?;
    let mut expected: Vec<Server> = before.servers.iter().map(anywhere).collect();
    expected.push(anywhere(server));
    let found: Vec<Server> = after.servers.iter().map(anywhere).collect();
    if found == expected && after.settings == before.settings {
        Ok(format!("{mark}{new}"))
    } else {
        Err(refusal(path))
    }
}

/// An adapter to be put into a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewAdapter<'a> {
    /// Its name.
    pub name: &'a str,
    /// Path or address of its description.
    pub spec: &'a str,
    /// The environment variable that holds its secret.
    pub env: Option<&'a str>,
    /// Base address of the API, where the description's own is not wanted.
    pub base_url: Option<&'a str>,
    /// Folder that holds all files of the description.
    pub ref_folder: Option<&'a str>,
    /// Further hosts from which parts of the description may be fetched.
    pub ref_hosts: &'a [String],
    /// Whether private and link-local addresses may be called.
    pub allow_private_addresses: bool,
}

impl NewAdapter<'_> {
    fn value(&self) -> Json {
        let literal = |text: &str| json!(Template::literal(text).exact().expose());
        let mut value = json!({ "spec": literal(self.spec) });
        if let Some(url) = self.base_url {
            value["baseUrl"] = literal(url);
        }
        if let Some(folder) = self.ref_folder {
            value["refFolder"] = literal(folder);
        }
        if !self.ref_hosts.is_empty() {
            value["refHosts"] = json!(self.ref_hosts);
        }
        if self.allow_private_addresses {
            value["allowPrivateAddresses"] = json!(true);
        }
        if let Some(env) = self.env {
            value["auth"] = json!({ "env": env });
        }
        value
    }
}

/// Puts an adapter into a file as [`install()`] does a server.
pub fn install_adapter(
    path: &Path,
    adapter: &NewAdapter<'_>,
    time: &str,
) -> Result<Written, ExportError> {
    let path = &install::real(path);
    let old = install::read(path)?;
    let new = add_adapter(path, old.as_deref(), adapter)?;
    install::exchange(path, old.as_deref(), &new, time)
}

/// The text of a file of ours with an adapter in it. `None` stands for a file that is not there.
pub fn add_adapter(
    path: &Path,
    text: Option<&str>,
    adapter: &NewAdapter<'_>,
) -> Result<String, ExportError> {
    const KEY: &str = "adapters";
    let unsafe_edit = || ExportError::Unsafe {
        path: path.to_owned(),
        root: KEY,
    };
    let format = Format::of(path).unwrap_or(Format::Yaml);
    let is_section = Candidate::explicit(path).shape == Shape::Section;
    if format == Format::Script || is_section {
        return Err(unsafe_edit());
    }
    let value = adapter.value();
    let (mark, text) = split_mark(text.unwrap_or_default());
    let text = match (text.trim().is_empty(), format) {
        (true, Format::Yaml) => FRESH,
        (true, Format::Toml) => "[imports]\nauto = true\n",
        (true, _) => "{\n  \"imports\": { \"auto\": true }\n}\n",
        (false, _) => text,
    };
    let source = Source::new(path, text);
    let tree = reader::read(&source, format).map_err(|diagnostics| ExportError::Broken {
        path: path.to_owned(),
        diagnostics,
    })?;
    let before = read_back(path, text, format)?;
    if before.settings.adapters.contains_key(adapter.name) {
        return Err(ExportError::Occupied {
            path: path.to_owned(),
            name: adapter.name.to_owned(),
        });
    }
    let in_braces = text[tree.span.start..].starts_with('{');
    let by_lines = || match format {
        Format::Toml => Some(vec![toml::append(text, KEY, adapter.name, &value)]),
        Format::Yaml if !in_braces && !text.replace("\r\n", "").contains('\r') => {
            lines::insert(text, &tree, KEY, &Piece::Member(adapter.name, &value))
        }
        _ => None,
    };
    let in_flow = || {
        let (map, key, value) = match tree.get(KEY) {
            Some(map) => (map, adapter.name, value.clone()),
            None => (&tree, KEY, json!({ adapter.name: value.clone() })),
        };
        let is_map = matches!(map.value, Value::Map(_)) && text[map.span.start..].starts_with('{');
        is_map.then(|| flow::insert(text, &tree, map, key, &value))
    };
    let splices = by_lines().or_else(in_flow).ok_or_else(unsafe_edit)?;
    let new = splice::apply(text, splices);
    let after = read_back(path, &new, format).map_err(|_| unsafe_edit())?;
    let mut settings = after.settings.clone();
    let added = settings.adapters.shift_remove(adapter.name).is_some();
    if added && settings == before.settings && after.servers == before.servers {
        Ok(format!("{mark}{new}"))
    } else {
        Err(unsafe_edit())
    }
}

fn refusal(path: &Path) -> ExportError {
    ExportError::Unsafe {
        path: path.to_owned(),
        root: KEYS[0],
    }
}

fn read_back(path: &Path, text: &str, format: Format) -> Result<ConfigFile, ExportError> {
    let source: Arc<Source> = Source::new(path, text);
    match file::parse(&source, format, Shape::Whole) {
        Some(file) if file.decoded && !file.is_broken() => Ok(file),
        other => Err(ExportError::Broken {
            path: path.to_owned(),
            diagnostics: other.map(|file| file.diagnostics).unwrap_or_default(),
        }),
    }
}

/// The server without where it comes from. In a list the name is the title.
fn anywhere(server: &Server) -> Server {
    Server {
        origin: Origin {
            kind: String::new(),
            path: PathBuf::new(),
            line: 0,
        },
        ..server.clone()
    }
}

fn fresh(format: Format, server: &Server) -> String {
    let value = entry(server);
    match format {
        Format::Yaml => format!("{FRESH}{}", own::to_yaml(std::slice::from_ref(server), "")),
        Format::Toml => {
            let head = "[imports]\nauto = true\n";
            splice::apply(
                head,
                vec![toml::append(head, KEYS[0], &server.name, &value)],
            )
        }
        Format::Jsonc | Format::Script => {
            let mut text = serde_json::to_string_pretty(&json!({
                "imports": { "auto": true },
                "servers": { server.name.as_str(): value },
            }))
            .unwrap_or_default();
            text.push('\n');
            text
        }
    }
}

/// The changes that put the server in; `None` where the file is written in a way that is not edited.
fn insertion(text: &str, tree: &Node, format: Format, server: &Server) -> Option<Vec<Splice>> {
    let value = entry(server);
    let keys = place(tree);
    let in_braces = text[tree.span.start..].starts_with('{');
    match format {
        Format::Toml if keys.len() == 1 => {
            return Some(vec![toml::append(text, keys[0], &server.name, &value)]);
        }
        Format::Yaml if !in_braces && keys.len() == 1 => {
            // A carriage return alone ends a line too, but not one that could be edited as such.
            if text.replace("\r\n", "").contains('\r') {
                return None;
            }
            let named = named(&value, &server.name);
            let is_list = tree
                .get(keys[0])
                .is_some_and(|node| matches!(node.value, Value::List(_)));
            let piece = if is_list {
                Piece::Item(&named)
            } else {
                Piece::Member(&server.name, &value)
            };
            if let Some(splices) = lines::insert(text, tree, keys[0], &piece) {
                return Some(splices);
            }
        }
        Format::Toml | Format::Script => return None,
        Format::Yaml | Format::Jsonc => {}
    }
    let mut path = keys;
    path.push(&server.name);
    let mut map = tree;
    let mut depth = 0;
    while let Some(inner) = map.get(path[depth]) {
        match inner.value {
            Value::Map(_) => map = inner,
            _ => return None,
        }
        depth += 1;
    }
    if !text[map.span.start..map.span.end].starts_with('{') {
        return None;
    }
    let value = flow::nested(&path[depth + 1..], &value);
    Some(flow::insert(text, tree, map, path[depth], &value))
}

/// The keys under which the servers stand, or will.
fn place(tree: &Node) -> Vec<&'static str> {
    let in_map = |node: &Node| KEYS.into_iter().find(|key| node.get(key).is_some());
    if let Some(key) = in_map(tree) {
        return vec![key];
    }
    match tree.get("discovery").and_then(in_map) {
        Some(key) => vec!["discovery", key],
        None => vec![KEYS[0]],
    }
}

fn named(value: &Json, name: &str) -> Json {
    let mut map = Map::new();
    map.insert("name".into(), name.into());
    map.extend(value.as_object().cloned().unwrap_or_default());
    Json::Object(map)
}

/// The server as an entry of a file of ours.
fn entry(server: &Server) -> Json {
    let mut map = Map::new();
    let mut put = |key: &str, value: Json| {
        let empty = match &value {
            Json::Null => true,
            Json::Array(items) => items.is_empty(),
            Json::Object(map) => map.is_empty(),
            _ => false,
        };
        if !empty {
            map.insert(key.to_owned(), value);
        }
    };
    put("name", json!(server.title));
    put("description", json!(server.description));
    if !server.enabled {
        put("enabled", json!(false));
    }
    put("aliases", json!(server.aliases));
    put("registry", json!(server.registry));
    match &server.transport {
        Transport::Stdio(stdio) => {
            put("type", json!("stdio"));
            put("command", text(&stdio.command));
            put("args", stdio.args.iter().map(text).collect());
            put("env", pairs(&stdio.env));
            put("envFile", optional(stdio.env_file.as_ref()));
            put("cwd", optional(stdio.cwd.as_ref()));
            if stdio.inherit_env {
                put("inheritEnv", json!(true));
            }
        }
        Transport::Http(remote) | Transport::Sse(remote) => {
            let is_sse = matches!(server.transport, Transport::Sse(_));
            put("type", json!(if is_sse { "sse" } else { "http" }));
            put("url", text(&remote.url));
            put("headers", pairs(&remote.headers));
        }
    }
    put("tools", tools(server));
    put("includeTools", json!(server.include_tools));
    put("excludeTools", json!(server.exclude_tools));
    handling(&server.handling, &mut put);
    Json::Object(map)
}

fn handling(handling: &Handling, put: &mut impl FnMut(&str, Json)) {
    if handling.trusted {
        put("trusted", json!(true));
    }
    let isolation = handling.isolation.map(|isolation| match isolation {
        Isolation::Shared => "shared",
        Isolation::Principal => "principal",
        Isolation::Session => "session",
    });
    put("isolation", json!(isolation));
    put("timeoutMs", json!(handling.call_timeout_ms));
    put("startTimeoutMs", json!(handling.start_timeout_ms));
    put(
        "idleClose",
        match handling.idle_close_ms {
            None => Json::Null,
            Some(0) => json!("never"),
            Some(ms) => json!(ms.div_ceil(MINUTE_MS)),
        },
    );
    if let Some(per_second) = handling.rate_per_second {
        let mut rate = json!({ "perSecond": per_second });
        if let Some(burst) = handling.rate_burst {
            rate["burst"] = json!(burst);
        }
        put("rateLimit", rate);
    }
    put("retries", json!(handling.retries));
    put("bearer", optional(handling.bearer.as_ref()));
    if handling.oauth {
        put("oauth", json!(true));
    }
}

fn tools(server: &Server) -> Json {
    let tools = server.tools.iter().map(|tool| {
        let mut value = json!({ "name": tool.name, "description": tool.description });
        if let Some(schema) = &tool.input_schema {
            value["inputSchema"] = schema.clone();
        }
        if !tool.tags.is_empty() {
            value["tags"] = json!(tool.tags);
        }
        value
    });
    tools.collect()
}

fn text(template: &Template) -> Json {
    json!(template.exact().expose())
}

fn optional(template: Option<&Template>) -> Json {
    template.map_or(Json::Null, text)
}

fn pairs<'a>(map: impl IntoIterator<Item = (&'a String, &'a Template)>) -> Json {
    let pairs = map.into_iter();
    Json::Object(
        pairs
            .map(|(name, value)| (name.clone(), text(value)))
            .collect(),
    )
}
