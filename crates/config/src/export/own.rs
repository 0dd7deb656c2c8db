//! Our own configuration as YAML.

use std::fmt::Write as _;

use indexmap::IndexMap;
use serde_json::Value as Json;
use toolcrib_core::secret::{mask, name_is_secret};

use super::yaml::{quoted, scalar};
use crate::model::server::{Handling, Isolation, Remote, Server, StaticTool, Stdio, Transport};
use crate::placeholder::{Template, secret_follows};

/// Milliseconds in a minute, the unit of `idleClose`.
const MINUTE_MS: u64 = 60_000;

/// A `toolcrib.yaml` with these servers, which loads back to the same servers.
///
/// Placeholders are written in our own spelling. Literal secrets are written as they are, so the
/// file belongs to its user alone (mode 0600); [`plain_secrets`] names them for a warning.
/// `header` becomes a comment at the top.
pub fn to_yaml(servers: &[Server], header: &str) -> String {
    written(servers, header, Secrets::Written)
}

/// The same as people may see it: no literal secret is in it.
pub fn to_shown_yaml(servers: &[Server], header: &str) -> String {
    written(servers, header, Secrets::Masked)
}

/// What becomes of literal secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Secrets {
    Written,
    Masked,
}

fn written(servers: &[Server], header: &str, secrets: Secrets) -> String {
    let mut out = String::new();
    for line in header.lines() {
        let line: String = line.chars().filter(|c| !c.is_control()).collect();
        let _ = writeln!(out, "{}", format!("# {line}").trim_end());
    }
    if servers.is_empty() {
        out.push_str("servers: {}\n");
        return out;
    }
    out.push_str("servers:\n");
    for server in servers {
        write_server(&mut Writer::new(&mut out, secrets), server);
    }
    out
}

/// Where literal secrets stand, as `server: field`, for a warning that shows none of them.
pub fn plain_secrets(servers: &[Server]) -> Vec<String> {
    let mut found = Vec::new();
    for server in servers {
        let mut check = |field: &str, template: &Template| {
            if template.holds_plain_secret(field) {
                found.push(format!("{}: {field}", server.name));
            }
        };
        match &server.transport {
            Transport::Stdio(stdio) => {
                let mut option = String::new();
                for arg in &stdio.args {
                    let text = arg.exact();
                    let named = secret_follows(&option, text.expose());
                    check(if named { &option } else { "args" }, arg);
                    text.expose().clone_into(&mut option);
                }
                stdio
                    .env
                    .iter()
                    .for_each(|(name, value)| check(name, value));
            }
            Transport::Http(remote) | Transport::Sse(remote) => {
                check("url", &remote.url);
                remote
                    .headers
                    .iter()
                    .for_each(|(name, value)| check(name, value));
            }
        }
        if let Some(bearer) = &server.handling.bearer {
            check("bearer token", bearer);
        }
    }
    found
}

/// Lines of one server, at their depth.
struct Writer<'a> {
    out: &'a mut String,
    indent: usize,
    secrets: Secrets,
}

impl<'a> Writer<'a> {
    fn new(out: &'a mut String, secrets: Secrets) -> Self {
        Self {
            out,
            indent: 2,
            secrets,
        }
    }

    /// The text of a value that stands in the field, or under the name, `field`.
    fn exact(&self, field: &str, value: &Template) -> String {
        let exact = value.exact();
        match self.secrets {
            Secrets::Written => exact.expose().to_owned(),
            Secrets::Masked if value.holds_plain_secret(field) || name_is_secret(field) => {
                value.masked()
            }
            Secrets::Masked => mask(exact.expose()),
        }
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{:1$}{text}", "", self.indent);
    }

    fn text(&mut self, key: &str, value: &str) {
        self.line(&format!("{key}: {}", scalar(value)));
    }

    fn optional(&mut self, key: &str, value: Option<&String>) {
        if let Some(value) = value {
            self.text(key, value);
        }
    }

    fn template(&mut self, key: &str, value: &Template) {
        let exact = self.exact(key, value);
        self.text(key, &exact);
    }

    fn number(&mut self, key: &str, value: Option<impl std::fmt::Display>) {
        if let Some(value) = value {
            self.line(&format!("{key}: {value}"));
        }
    }

    fn list(&mut self, key: &str, values: impl IntoIterator<Item = String>) {
        let values: Vec<String> = values.into_iter().map(|v| scalar(&v)).collect();
        if !values.is_empty() {
            self.line(&format!("{key}: [{}]", values.join(", ")));
        }
    }

    fn map(&mut self, key: &str, values: &IndexMap<String, Template>) {
        if values.is_empty() {
            return;
        }
        self.line(&format!("{key}:"));
        self.indent += 2;
        for (name, value) in values {
            // A value is always quoted: a secret must not change its type by its look.
            let exact = self.exact(name, value);
            let line = format!("{}: {}", scalar(name), quoted(&exact));
            self.line(&line);
        }
        self.indent -= 2;
    }
}

fn write_server(out: &mut Writer<'_>, server: &Server) {
    out.line(&format!("# from {}", comment(&server.origin.to_string())));
    out.line(&format!("{}:", scalar(&server.name)));
    out.indent += 2;
    out.optional("name", server.title.as_ref());
    out.optional("description", server.description.as_ref());
    if !server.enabled {
        out.line("enabled: false");
    }
    out.list("aliases", server.aliases.iter().cloned());
    out.optional("registry", server.registry.as_ref());
    match &server.transport {
        Transport::Stdio(stdio) => write_stdio(out, stdio),
        Transport::Http(remote) => write_remote(out, "http", remote),
        Transport::Sse(remote) => write_remote(out, "sse", remote),
    }
    write_tools(out, &server.tools);
    out.list("includeTools", server.include_tools.iter().cloned());
    out.list("excludeTools", server.exclude_tools.iter().cloned());
    write_handling(out, &server.handling);
    out.indent -= 2;
}

/// Text that cannot leave its comment.
fn comment(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

fn write_stdio(out: &mut Writer<'_>, stdio: &Stdio) {
    out.text("type", "stdio");
    out.template("command", &stdio.command);
    let mut option = String::new();
    let mut args = Vec::new();
    for arg in &stdio.args {
        let text = arg.exact();
        let named = secret_follows(&option, text.expose());
        args.push(out.exact(if named { &option } else { "args" }, arg));
        text.expose().clone_into(&mut option);
    }
    out.list("args", args);
    out.map("env", &stdio.env);
    if let Some(file) = &stdio.env_file {
        out.template("envFile", file);
    }
    if let Some(cwd) = &stdio.cwd {
        out.template("cwd", cwd);
    }
    if stdio.inherit_env {
        out.line("inheritEnv: true");
    }
}

fn write_remote(out: &mut Writer<'_>, kind: &str, remote: &Remote) {
    out.text("type", kind);
    out.template("url", &remote.url);
    out.map("headers", &remote.headers);
}

fn write_tools(out: &mut Writer<'_>, tools: &[StaticTool]) {
    if tools.is_empty() {
        return;
    }
    out.line("tools:");
    out.indent += 2;
    for tool in tools {
        out.line(&format!("- name: {}", scalar(&tool.name)));
        out.indent += 2;
        if !tool.description.is_empty() {
            out.text("description", &tool.description);
        }
        if let Some(schema) = &tool.input_schema {
            out.line(&format!("inputSchema: {}", flow(schema)));
        }
        out.list("tags", tool.tags.iter().cloned());
        out.indent -= 2;
    }
    out.indent -= 2;
}

/// A value on one line.
fn flow(value: &Json) -> String {
    match value {
        Json::String(text) => quoted(text),
        Json::Array(items) => {
            let items: Vec<String> = items.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Json::Object(map) => {
            let pairs: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{}: {}", quoted(key), flow(value)))
                .collect();
            format!("{{{}}}", pairs.join(", "))
        }
        other => other.to_string(),
    }
}

fn write_handling(out: &mut Writer<'_>, handling: &Handling) {
    if handling.trusted {
        out.line("trusted: true");
    }
    if let Some(isolation) = handling.isolation {
        let word = match isolation {
            Isolation::Shared => "shared",
            Isolation::Principal => "principal",
            Isolation::Session => "session",
        };
        out.text("isolation", word);
    }
    out.number("timeoutMs", handling.call_timeout_ms);
    out.number("startTimeoutMs", handling.start_timeout_ms);
    match handling.idle_close_ms {
        None => {}
        Some(0) => out.text("idleClose", "never"),
        Some(ms) => out.number("idleClose", Some(ms.div_ceil(MINUTE_MS))),
    }
    if let Some(rate) = handling.rate_per_second {
        out.line("rateLimit:");
        out.indent += 2;
        out.number("perSecond", Some(rate));
        out.number("burst", handling.rate_burst);
        out.indent -= 2;
    }
    out.number("retries", handling.retries);
    if let Some(bearer) = &handling.bearer {
        let exact = out.exact("bearer token", bearer);
        out.line(&format!("bearer: {}", quoted(&exact)));
    }
    if handling.oauth {
        out.line("oauth: true");
    }
}
