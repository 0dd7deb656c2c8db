//! One server that Toolcrib can talk to: how to reach it and how to treat it.

use std::fmt;
use std::path::PathBuf;

use indexmap::IndexMap;
use serde_json::Value as Json;
use toolcrib_core::canon;

use crate::placeholder::{Template, Unset};

/// A server, whichever file and format it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// The name that ids and rules use; never holds a `:`.
    pub name: String,
    /// Other names under which the same server was found.
    pub aliases: Vec<String>,
    /// What the public registry calls it, where it was taken from there.
    pub registry: Option<String>,
    /// A title for people, where one is given.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Whether it is used at all.
    pub enabled: bool,
    /// How it is reached.
    pub transport: Transport,
    /// Tools that are known without connecting.
    pub tools: Vec<StaticTool>,
    /// Patterns of tools to keep; empty keeps all.
    pub include_tools: Vec<String>,
    /// Patterns of tools to leave out.
    pub exclude_tools: Vec<String>,
    /// How it is treated once it is reached.
    pub handling: Handling,
    /// Where the definition comes from.
    pub origin: Origin,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    /// A child process that speaks MCP on its standard input and output.
    Stdio(Stdio),
    /// Streamable HTTP.
    Http(Remote),
    /// HTTP with server-sent events, the older transport.
    Sse(Remote),
}

/// A child process.
#[derive(Clone, Debug, PartialEq)]
pub struct Stdio {
    /// The program.
    pub command: Template,
    /// Its arguments.
    pub args: Vec<Template>,
    /// Variables for it, each value a secret.
    pub env: IndexMap<String, Template>,
    /// A file with more variables, `NAME=value` lines.
    pub env_file: Option<Template>,
    /// Where it runs.
    pub cwd: Option<Template>,
    /// Whether it gets all of Toolcrib's own environment rather than the short base.
    pub inherit_env: bool,
}

/// A server at an address.
#[derive(Clone, Debug, PartialEq)]
pub struct Remote {
    /// The address.
    pub url: Template,
    /// Headers for every request, each value a secret.
    pub headers: IndexMap<String, Template>,
}

/// A tool that is known from the configuration alone.
#[derive(Clone, Debug, PartialEq)]
pub struct StaticTool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments, where given.
    pub input_schema: Option<Json>,
    /// Tags of its own.
    pub tags: Vec<String>,
}

/// Whether callers share one connection to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// One connection for all.
    Shared,
    /// One for each principal.
    Principal,
    /// One for each session.
    Session,
}

/// How a server is treated once it is reached. `None`: the product's default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Handling {
    /// Whether its annotations may lower the risk of its tools.
    pub trusted: bool,
    /// Whether callers share one connection.
    pub isolation: Option<Isolation>,
    /// How long a call may take.
    pub call_timeout_ms: Option<u64>,
    /// How long starting and the first exchange may take.
    pub start_timeout_ms: Option<u64>,
    /// How long an unused connection stays open. `Some(0)`: for ever.
    pub idle_close_ms: Option<u64>,
    /// Requests a second.
    pub rate_per_second: Option<u32>,
    /// Requests at once before the rate counts.
    pub rate_burst: Option<u32>,
    /// How often a request that may be repeated is tried again.
    pub retries: Option<u32>,
    /// A bearer token for the server, instead of a header.
    pub bearer: Option<Template>,
    /// Whether `toolcrib login` is needed before it can be used.
    pub oauth: bool,
}

/// Where a definition comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The kind of source: `toolcrib`, `claude-desktop`, `cursor`, …
    pub kind: String,
    /// The file.
    pub path: PathBuf,
    /// The line of the definition, from one; 0 where the file has no lines to speak of.
    pub line: usize,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        Ok(())
    }
}

impl Server {
    /// A server with a name, a way to reach it and an origin; everything else at its default.
    pub fn new(name: impl Into<String>, transport: Transport, origin: Origin) -> Self {
        Self {
            name: name.into(),
            aliases: Vec::new(),
            registry: None,
            title: None,
            description: None,
            enabled: true,
            transport,
            tools: Vec::new(),
            include_tools: Vec::new(),
            exclude_tools: Vec::new(),
            handling: Handling::default(),
            origin,
        }
    }

    /// Every text of it that may refer to environment variables.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        let transport: Vec<&Template> = match &self.transport {
            Transport::Stdio(stdio) => std::iter::once(&stdio.command)
                .chain(&stdio.args)
                .chain(stdio.env.values())
                .chain(&stdio.env_file)
                .chain(&stdio.cwd)
                .collect(),
            Transport::Http(remote) | Transport::Sse(remote) => std::iter::once(&remote.url)
                .chain(remote.headers.values())
                .collect(),
        };
        transport.into_iter().chain(&self.handling.bearer)
    }

    /// The first variable that it needs and that is not set.
    pub fn unset(&self, lookup: &dyn Fn(&str) -> Option<String>) -> Option<Unset> {
        self.templates().find_map(|text| text.expand(lookup).err())
    }

    /// A hash of what the server runs or where it is, with which variables and headers, so that the
    /// same server under two names is seen to be one. Names, descriptions and handling do not count.
    pub fn fingerprint(&self) -> String {
        let mut text = String::with_capacity(256);
        match &self.transport {
            Transport::Stdio(stdio) => {
                text.push_str("{\"args\":[");
                for (at, arg) in stdio.args.iter().enumerate() {
                    text.push_str(if at > 0 { "," } else { "" });
                    write(Some(arg), &mut text);
                }
                text.push_str("],\"command\":");
                write(Some(&stdio.command), &mut text);
                text.push_str(",\"cwd\":");
                write(stdio.cwd.as_ref(), &mut text);
                text.push_str(",\"env\":");
                write_pairs(&stdio.env, &mut text);
                text.push_str(",\"envFile\":");
                write(stdio.env_file.as_ref(), &mut text);
            }
            Transport::Http(remote) | Transport::Sse(remote) => {
                text.push_str("{\"headers\":");
                write_pairs(&remote.headers, &mut text);
                text.push_str(",\"url\":");
                let url = remote.url.exact();
                canon::write_string(url.expose().trim_end_matches('/'), &mut text);
            }
        }
        text.push('}');
        canon::Hash::of(text.as_bytes()).to_string()
    }
}

/// Appends a text in the spelling of our own files to canonical JSON.
fn write(template: Option<&Template>, to: &mut String) {
    match template {
        Some(template) => canon::write_string(template.exact().expose(), to),
        None => to.push_str("null"),
    }
}

fn write_pairs(pairs: &IndexMap<String, Template>, to: &mut String) {
    let mut pairs: Vec<(&String, &Template)> = pairs.iter().collect();
    pairs.sort_by(|a, b| a.0.encode_utf16().cmp(b.0.encode_utf16()));
    to.push('{');
    for (at, (name, value)) in pairs.into_iter().enumerate() {
        to.push_str(if at > 0 { "," } else { "" });
        canon::write_string(name, to);
        to.push(':');
        write(Some(value), to);
    }
    to.push('}');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pairs(of: &[(&str, &str)]) -> IndexMap<String, Template> {
        let pairs = of.iter();
        pairs
            .map(|(name, value)| ((*name).to_owned(), Template::literal(*value)))
            .collect()
    }

    #[test]
    fn a_fingerprint_is_the_hash_of_what_is_run_as_canonical_json() {
        let check = |transport: Transport, expected: Json| {
            let origin = Origin {
                kind: "toolcrib".into(),
                path: PathBuf::new(),
                line: 0,
            };
            let server = Server::new("s", transport, origin);
            assert_eq!(
                server.fingerprint(),
                canon::params_hash(&expected).to_string(),
                "{expected}"
            );
        };
        let mut stdio = Stdio {
            command: Template::literal("say \"ä\"\n"),
            args: Vec::new(),
            env: IndexMap::new(),
            env_file: None,
            cwd: None,
            inherit_env: false,
        };
        check(
            Transport::Stdio(stdio.clone()),
            json!({"command": "say \"ä\"\n", "args": [], "env": {}, "cwd": null, "envFile": null}),
        );
        stdio.args = vec![Template::literal("${x}"), Template::variable("HOME")];
        // By the units of UTF-16 the second of these comes first, by their bytes the first.
        stdio.env = pairs(&[("\u{ff5e}", "1"), ("\u{1f600}", "2"), ("A", "")]);
        stdio.env_file = Some(Template::literal(".env"));
        stdio.cwd = Some(Template::literal("C:\\x"));
        check(
            Transport::Stdio(stdio),
            json!({
                "command": "say \"ä\"\n", "args": ["$${x}", "${HOME}"],
                "env": {"\u{ff5e}": "1", "\u{1f600}": "2", "A": ""},
                "cwd": "C:\\x", "envFile": ".env",
            }),
        );
        let remote = Remote {
            url: Template::literal("https://a.example/mcp/"),
            headers: pairs(&[("X-B", "2"), ("X-A", "1")]),
        };
        let expected = json!({"url": "https://a.example/mcp", "headers": {"X-A": "1", "X-B": "2"}});
        check(Transport::Http(remote.clone()), expected.clone());
        check(Transport::Sse(remote), expected);
    }
}
