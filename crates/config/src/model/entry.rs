//! One server as a file of ours writes it, and how it becomes a [`Server`].

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;

use super::rule::ToolPattern;
use super::server::{Handling, Isolation, Origin, Remote, Server, StaticTool, Stdio, Transport};
use super::settings::On;
use crate::placeholder::{SecretTemplate, Template};

/// MCP servers: a map from name to server, or a list of servers with a `name` each.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Servers {
    /// `name: {…}`.
    Map(IndexMap<String, ServerEntry>),
    /// `- name: …`.
    List(Vec<ServerEntry>),
}

impl Default for Servers {
    fn default() -> Self {
        Self::Map(IndexMap::new())
    }
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a key of the file, named there"
)]
/// One MCP server. It needs a `command` or a `url`, here or under `connection`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ServerEntry {
    /// In a list, the server's name; in a map, where the key is the name, a title for people.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Whether it is used at all.
    #[schemars(extend("default" = true))]
    pub enabled: On,
    /// The opposite of `enabled`, as most clients spell it.
    pub disabled: bool,
    /// Other names for it.
    pub aliases: Vec<String>,
    /// What the public registry calls it, for a server that was taken from there: its tools wait for approval.
    pub registry: Option<String>,
    /// The connection in one place; its fields may also stand directly in the server.
    pub connection: Option<Connection>,
    /// The transport; `stdio` with a `command`, `http` with a `url` unless given.
    #[serde(rename = "type")]
    pub kind: Option<TransportKind>,
    /// The program to start.
    pub command: Option<Template>,
    /// Its arguments.
    pub args: Vec<Template>,
    /// Environment variables for it.
    pub env: IndexMap<String, SecretTemplate>,
    /// A file with more variables, one `NAME=value` a line.
    pub env_file: Option<Template>,
    /// The directory it runs in.
    pub cwd: Option<Template>,
    /// Whether it gets all of Toolcrib's environment rather than the short base.
    pub inherit_env: bool,
    /// The address.
    pub url: Option<Template>,
    /// Headers for every request.
    pub headers: IndexMap<String, SecretTemplate>,
    /// A bearer token for every request.
    pub bearer: Option<SecretTemplate>,
    /// Whether it is used after `toolcrib login`.
    pub oauth: bool,
    /// Tools that are known without connecting.
    pub tools: Vec<ToolEntry>,
    /// Patterns of tools to keep; all unless given.
    pub include_tools: Vec<ToolPattern>,
    /// Patterns of tools to leave out.
    pub exclude_tools: Vec<ToolPattern>,
    /// Whether its annotations may lower the risk of its tools.
    pub trusted: bool,
    /// Whether callers share one connection: `shared`, one each for a `principal`, or a `session`.
    pub isolation: Option<IsolationEntry>,
    /// Milliseconds that a call may take.
    #[schemars(range(min = 1, max = 86_400_000))]
    pub timeout_ms: Option<u64>,
    /// Milliseconds that starting it may take.
    #[schemars(range(min = 1, max = 3_600_000))]
    pub start_timeout_ms: Option<u64>,
    /// Minutes after which an unused connection is closed, or `never`.
    pub idle_close: Option<IdleClose>,
    /// How many requests it gets.
    pub rate_limit: Option<RateLimit>,
    /// How often a request that may be repeated is tried again.
    #[schemars(range(max = 10))]
    pub retries: Option<u32>,
}

/// A connection in one place.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Connection {
    /// The transport.
    #[serde(rename = "type")]
    pub kind: Option<TransportKind>,
    /// The program to start.
    pub command: Option<Template>,
    /// Its arguments.
    pub args: Vec<Template>,
    /// Environment variables for it.
    pub env: IndexMap<String, SecretTemplate>,
    /// The directory it runs in.
    pub cwd: Option<Template>,
    /// The address.
    pub url: Option<Template>,
    /// Headers for every request.
    pub headers: IndexMap<String, SecretTemplate>,
}

/// A transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TransportKind {
    /// A child process.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// Streamable HTTP, as some clients spell it.
    StreamableHttp,
    /// HTTP with server-sent events, the older transport.
    Sse,
}

/// A tool that is known without connecting.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolEntry {
    /// Its name.
    #[schemars(length(min = 1))]
    pub name: String,
    /// What it does.
    #[serde(default)]
    pub description: String,
    /// JSON Schema of its arguments.
    #[serde(default)]
    pub input_schema: Option<serde_json::Map<String, Json>>,
    /// Tags of its own.
    #[serde(default)]
    pub tags: Vec<String>,
}

/// Whether callers share one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IsolationEntry {
    /// One connection for all.
    Shared,
    /// One for each principal.
    Principal,
    /// One for each session.
    Session,
}

/// When an unused connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum IdleClose {
    /// After so many minutes.
    Minutes(u32),
    /// Not at all.
    Word(Never),
}

/// The word `never`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Never {
    /// Not at all.
    Never,
}

/// How many requests a server gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RateLimit {
    /// Requests a second.
    #[schemars(range(min = 1, max = 100_000))]
    pub per_second: u32,
    /// Requests at once before the rate counts.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100_000))]
    pub burst: Option<u32>,
}

/// Why an entry is not a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// Neither a program nor an address.
    #[error("needs a command to start or a url to connect to")]
    Unreachable,
    /// Both a program and an address.
    #[error("has both a command and a url; keep the one that is meant")]
    Both,
    /// The transport does not fit what is given.
    #[error("says type {kind} but has {has}")]
    Mismatch {
        /// The transport.
        kind: &'static str,
        /// What is there.
        has: &'static str,
    },
}

impl ServerEntry {
    /// The server that this entry describes. `name` is its key in a map or its `name` in a list.
    pub fn into_server(
        self,
        name: &str,
        in_map: bool,
        origin: Origin,
    ) -> Result<Server, EntryError> {
        let flat = self.flattened();
        let kind = flat.kind;
        let transport = match (flat.command, flat.url) {
            (Some(_), Some(_)) => return Err(EntryError::Both),
            (None, None) => return Err(EntryError::Unreachable),
            (Some(command), None) => {
                if let Some(kind) = kind.filter(|k| *k != TransportKind::Stdio) {
                    return Err(EntryError::Mismatch {
                        kind: kind.word(),
                        has: "a command",
                    });
                }
                Transport::Stdio(Stdio {
                    command,
                    args: flat.args,
                    env: flat.env.into_iter().map(|(k, v)| (k, v.0)).collect(),
                    env_file: flat.env_file,
                    cwd: flat.cwd,
                    inherit_env: flat.inherit_env,
                })
            }
            (None, Some(url)) => {
                let remote = Remote {
                    url,
                    headers: flat.headers.into_iter().map(|(k, v)| (k, v.0)).collect(),
                };
                match kind {
                    Some(TransportKind::Stdio) => {
                        return Err(EntryError::Mismatch {
                            kind: "stdio",
                            has: "a url",
                        });
                    }
                    Some(TransportKind::Sse) => Transport::Sse(remote),
                    _ => Transport::Http(remote),
                }
            }
        };
        let mut server = Server::new(name, transport, origin);
        server.title = flat.name.filter(|_| in_map);
        server.description = flat.description;
        server.enabled = flat.enabled.0 && !flat.disabled;
        server.aliases = flat.aliases;
        server.registry = flat.registry;
        server.tools = flat.tools.into_iter().map(ToolEntry::into_tool).collect();
        server.include_tools = flat.include_tools.into_iter().map(|p| p.0).collect();
        server.exclude_tools = flat.exclude_tools.into_iter().map(|p| p.0).collect();
        server.handling = Handling {
            trusted: flat.trusted,
            isolation: flat.isolation.map(Into::into),
            call_timeout_ms: flat.timeout_ms,
            start_timeout_ms: flat.start_timeout_ms,
            idle_close_ms: flat.idle_close.map(IdleClose::milliseconds),
            rate_per_second: flat.rate_limit.map(|r| r.per_second),
            rate_burst: flat.rate_limit.and_then(|r| r.burst),
            retries: flat.retries,
            bearer: flat.bearer.map(|b| b.0),
            oauth: flat.oauth,
        };
        Ok(server)
    }

    /// The entry with what stands under `connection` moved up.
    fn flattened(mut self) -> Self {
        if let Some(connection) = self.connection.take() {
            self.kind = self.kind.or(connection.kind);
            self.command = self.command.or(connection.command);
            self.cwd = self.cwd.or(connection.cwd);
            self.url = self.url.or(connection.url);
            if self.args.is_empty() {
                self.args = connection.args;
            }
            for (key, value) in connection.env {
                self.env.entry(key).or_insert(value);
            }
            for (key, value) in connection.headers {
                self.headers.entry(key).or_insert(value);
            }
        }
        self
    }
}

impl ToolEntry {
    fn into_tool(self) -> StaticTool {
        StaticTool {
            name: self.name,
            description: self.description,
            input_schema: self.input_schema.map(Json::Object),
            tags: self.tags,
        }
    }
}

impl TransportKind {
    fn word(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::StreamableHttp => "streamable-http",
            Self::Sse => "sse",
        }
    }
}

impl IdleClose {
    fn milliseconds(self) -> u64 {
        match self {
            Self::Minutes(minutes) => u64::from(minutes) * 60_000,
            Self::Word(Never::Never) => 0,
        }
    }
}

impl From<IsolationEntry> for Isolation {
    fn from(entry: IsolationEntry) -> Self {
        match entry {
            IsolationEntry::Shared => Self::Shared,
            IsolationEntry::Principal => Self::Principal,
            IsolationEntry::Session => Self::Session,
        }
    }
}
