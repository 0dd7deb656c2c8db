//! One server as clients write it, in all the spellings that are about.
//!
//! Clients copy from each other and people copy between clients, so one reader knows every spelling
//! of every client. Where the same word means different things, the client's row in the table
//! decides (placeholders, the unit of `timeout`) or the caller does ([`Habits`]).

mod handling;

use indexmap::IndexMap;

use super::client::TimeUnit;
use super::fields::{Fields, Refused};
use super::file::File;
use super::workspace;
use crate::diagnostic::Severity;
use crate::model::server::{Remote, Server, Stdio, Transport};
use crate::node::{Entry, Node, Value};
use crate::placeholder::{Dialect, Template};
use crate::text::Span;

/// Where one client's entries mean something else than another's.
#[derive(Clone, Copy)]
pub(crate) struct Habits {
    /// Placeholders in commands, arguments and variables.
    pub(crate) dialect: Dialect,
    /// Placeholders in headers.
    pub(crate) header_dialect: Dialect,
    /// The unit of `timeout`.
    pub(crate) timeout: TimeUnit,
    /// Whether a bare `url` is the older transport, because another key means the newer one.
    pub(crate) url_is_sse: bool,
    /// Whether `tools` names the tools to keep, rather than describing them.
    pub(crate) tools_are_names: bool,
}

impl Habits {
    /// What the client's row in the table says.
    pub(crate) fn of(file: &File<'_>) -> Self {
        Self {
            dialect: file.client.dialect,
            header_dialect: file.client.dialect,
            timeout: file.client.timeout,
            url_is_sse: false,
            tools_are_names: true,
        }
    }
}

/// Keys of clients that change nothing about how a server is reached.
const IGNORED: &[&str] = &[
    "alwaysLoad",
    "bundled",
    "dev",
    "experimental_environment",
    "gallery",
    "icon",
    "isDefaultServer",
    "oauth_resource",
    "remote",
    "remoteConfigured",
    "required",
    "sandbox",
    "sandboxEnabled",
    "scopes",
    "settings",
    "source",
    "sourceFile",
    "sourcePath",
    "start_on_launch",
    "supports_parallel_tool_calls",
    "version",
    "watchPaths",
];

/// The ways to reach a server that a `type` can name.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Stdio,
    Http,
    Sse,
}

/// Reads one entry. `fields` are its keys; whatever it does not know is left to be reported.
pub(crate) fn read(
    file: &File<'_>,
    name: &str,
    key_span: Span,
    fields: &mut Fields<'_>,
    habits: Habits,
) -> Result<Server, Refused> {
    fields.ignore(IGNORED);
    let kind = kind(fields)?;
    let command = fields.take(&["command", "cmd"]);
    let url = url(fields)?;
    let transport = match (command, url, kind) {
        (Some(command), Some((key, ..)), None) => {
            fields.remark(
                Severity::Warning,
                format!(
                    "{}: `{key}` is left out, because `command` is there too",
                    fields.subject()
                ),
                key_span,
                "keep one of the two, or say which with `type`",
            );
            stdio(file, fields, command, habits)?
        }
        (Some(command), None, _) | (Some(command), Some(_), Some(Kind::Stdio)) => {
            stdio(file, fields, command, habits)?
        }
        (_, Some((key, text, span)), kind) => {
            let url = template(file, fields, text, span, habits.dialect)?;
            let remote = remote(file, fields, url, habits)?;
            match kind.unwrap_or_else(|| kind_of_url(key, text, habits)) {
                Kind::Sse => Transport::Sse(remote),
                Kind::Http | Kind::Stdio => Transport::Http(remote),
            }
        }
        (None, None, _) => {
            let help = match fields.misspelt(&["command", "url", "connection"]) {
                Some((key, near)) => format!("did you mean `{near}` where it says `{key}`?"),
                None => {
                    "give it a `command` that starts it or the `url` where it listens".to_owned()
                }
            };
            let message = format!("{} has neither a command nor a url", fields.subject());
            return Err(fields.refuse(message, key_span, &help));
        }
    };
    let mut server = Server::new(name, transport, file.origin(key_span));
    handling::describe(&mut server, fields)?;
    handling::handle(&mut server, fields, habits)?;
    Ok(server)
}

/// The transport that the entry names itself.
fn kind(fields: &mut Fields<'_>) -> Result<Option<Kind>, Refused> {
    let Some(entry) = fields.take(&["type", "transport", "transportType"]) else {
        return Ok(None);
    };
    let word: String = entry
        .value
        .as_str()
        .unwrap_or_default()
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    match word.as_str() {
        "stdio" | "local" => Ok(Some(Kind::Stdio)),
        "http" | "streamablehttp" | "streamable" | "https" => Ok(Some(Kind::Http)),
        "sse" => Ok(Some(Kind::Sse)),
        // A remote server of opencode speaks either transport.
        "remote" => Ok(None),
        _ => Err(fields.refuse(
            format!(
                "{}: `{}` names a transport that Toolcrib does not have",
                fields.subject(),
                entry.key
            ),
            entry.value.span,
            "write stdio, http or sse",
        )),
    }
}

/// The address, with the key that holds it.
fn url<'a>(fields: &mut Fields<'a>) -> Result<Option<(&'a str, &'a str, Span)>, Refused> {
    let Some(entry) = fields.take(&["httpUrl", "url", "serverUrl", "uri"]) else {
        return Ok(None);
    };
    match entry.value.as_str() {
        Some(text) => Ok(Some((&entry.key, text, entry.value.span))),
        None => Err(fields.refuse(
            format!(
                "{}: `{}` must be a string, not {}",
                fields.subject(),
                entry.key,
                entry.value.value.kind()
            ),
            entry.value.span,
            "write the address in quotes",
        )),
    }
}

/// Which transport an address without a `type` speaks: by the key, else by its customary last part.
fn kind_of_url(key: &str, url: &str, habits: Habits) -> Kind {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let customary = path.trim_end_matches('/').ends_with("/sse");
    if (habits.url_is_sse && key == "url") || customary {
        Kind::Sse
    } else {
        Kind::Http
    }
}

fn stdio(
    file: &File<'_>,
    fields: &mut Fields<'_>,
    command: &Entry,
    habits: Habits,
) -> Result<Transport, Refused> {
    let mut words = words(fields, command)?;
    let mut variables = fields.pairs(&["env", "envs", "environment"])?;
    if let Value::Map(_) = command.value.value {
        let mut inner = Fields::of(
            fields.source(),
            format!("{}: `{}`", fields.subject(), command.key),
            &command.value,
            "",
        )?;
        inner.ignore(&["path"]);
        words.extend(inner.texts(&["args", "arguments"])?.unwrap_or_default());
        variables.extend(inner.pairs(&["env"])?);
        for finding in inner.finish() {
            fields.remark(
                finding.severity,
                finding.message,
                finding.span.unwrap_or(command.key_span),
                finding.help.as_deref().unwrap_or_default(),
            );
        }
    }
    let args = fields.texts(&["args", "arguments"])?;
    if args.is_none()
        && words.len() == 1
        && words[0].0.trim().contains(' ')
        && is_a_line(&words[0].0)
    {
        fields.remark(
            Severity::Warning,
            format!(
                "{}: the command holds spaces and is run as one program",
                fields.subject()
            ),
            command.value.span,
            "put the program into `command` and the rest into `args`",
        );
    }
    words.extend(args.unwrap_or_default());
    let mut words = words.into_iter();
    let (program, span) = words.next().unwrap_or_default();
    if program.trim().is_empty() {
        return Err(fields.refuse(
            format!("{} has an empty command", fields.subject()),
            command.value.span,
            "write the program that starts the server",
        ));
    }
    let mut env = IndexMap::new();
    for (name, text, span) in variables {
        let value = template(file, fields, &text, span, habits.dialect)?;
        env.insert(name.to_owned(), value.sensitive());
    }
    for (name, span) in fields.texts(&["env_keys"])?.unwrap_or_default() {
        let value = fields.variable(&name, span)?;
        env.entry(name).or_insert(value);
    }
    forward(fields, &mut env)?;
    Ok(Transport::Stdio(Stdio {
        command: template(file, fields, &program, span, habits.dialect)?,
        args: words
            .map(|(text, span)| template(file, fields, &text, span, habits.dialect))
            .collect::<Result<_, _>>()?,
        env,
        env_file: path(file, fields, &["envFile", "env_file"], habits)?,
        cwd: path(
            file,
            fields,
            &["cwd", "workingDirectory", "working_directory"],
            habits,
        )?,
        inherit_env: false,
    }))
}

/// The program, and in some clients its arguments, from `command`.
fn words(fields: &Fields<'_>, command: &Entry) -> Result<Vec<(String, Span)>, Refused> {
    let wrong = |node: &Node, what: &str| {
        fields.refuse(
            format!(
                "{}: `{}` must be {what}, not {}",
                fields.subject(),
                command.key,
                node.value.kind()
            ),
            node.span,
            "write the program that starts the server in quotes",
        )
    };
    match &command.value.value {
        Value::String(text) => Ok(vec![(text.clone(), command.value.span)]),
        Value::List(items) => items
            .iter()
            .map(|item| match item.as_str() {
                Some(text) => Ok((text.to_owned(), item.span)),
                None => Err(wrong(item, "a list of strings")),
            })
            .collect(),
        Value::Map(_) => match command.value.get("path") {
            Some(path) => match path.as_str() {
                Some(text) => Ok(vec![(text.to_owned(), path.span)]),
                None => Err(wrong(path, "a string")),
            },
            None => Ok(Vec::new()),
        },
        _ => Err(wrong(&command.value, "a string")),
    }
}

/// Whether text is a command line rather than a path with spaces in it.
fn is_a_line(command: &str) -> bool {
    command
        .split_whitespace()
        .next()
        .is_some_and(|word| !word.contains(['/', '\\']))
}

/// `env_vars` of Codex: names, or maps with a name, whose values come from Codex's environment.
fn forward(fields: &mut Fields<'_>, env: &mut IndexMap<String, Template>) -> Result<(), Refused> {
    let Some(entry) = fields.take(&["env_vars"]) else {
        return Ok(());
    };
    for item in entry.value.items() {
        let name = item.as_str().or_else(|| item.get("name")?.as_str());
        let Some(name) = name else {
            return Err(fields.refuse(
                format!("{}: `env_vars` must be a list of names", fields.subject()),
                item.span,
                "write the names of variables in quotes",
            ));
        };
        let value = fields.variable(name, item.span)?;
        env.entry(name.to_owned()).or_insert(value);
    }
    Ok(())
}

fn remote(
    file: &File<'_>,
    fields: &mut Fields<'_>,
    url: Template,
    habits: Habits,
) -> Result<Remote, Refused> {
    let mut headers = IndexMap::new();
    let mut given = fields.pairs(&["headers", "http_headers"])?;
    if let Some(options) = fields.take(&["requestOptions"]) {
        let mut inner = Fields::of(
            fields.source(),
            format!("{}: `requestOptions`", fields.subject()),
            &options.value,
            "",
        )?;
        given.extend(inner.pairs(&["headers"])?);
    }
    for (name, text, span) in given {
        let value = template(file, fields, &text, span, habits.header_dialect)?;
        headers.insert(name.to_owned(), value.sensitive());
    }
    for (name, variable, span) in fields.pairs(&["env_http_headers"])? {
        let value = fields.variable(&variable, span)?;
        headers.insert(name.to_owned(), value);
    }
    Ok(Remote { url, headers })
}

fn path(
    file: &File<'_>,
    fields: &mut Fields<'_>,
    keys: &[&'static str],
    habits: Habits,
) -> Result<Option<Template>, Refused> {
    let Some(entry) = fields.take(keys) else {
        return Ok(None);
    };
    match entry.value.as_str() {
        Some("") => Ok(None),
        Some(text) => template(file, fields, text, entry.value.span, habits.dialect).map(Some),
        None => Err(fields.refuse(
            format!(
                "{}: `{}` must be a string, not {}",
                fields.subject(),
                entry.key,
                entry.value.value.kind()
            ),
            entry.value.span,
            "write a path in quotes",
        )),
    }
}

/// Text with the variables of editors (`${workspaceFolder}`) and of the dialect.
fn template(
    file: &File<'_>,
    fields: &mut Fields<'_>,
    text: &str,
    span: Span,
    dialect: Dialect,
) -> Result<Template, Refused> {
    if dialect != Dialect::VsCode && dialect != Dialect::Opencode {
        return fields.template(text, span, dialect);
    }
    let (text, left) = workspace::replace(text, file, dialect);
    if let Some(left) = left {
        fields.remark(
            Severity::Warning,
            format!(
                "{}: {left} has no meaning here and stays as it is",
                fields.subject()
            ),
            span,
            "write the value out",
        );
    }
    fields.template(&text, span, dialect)
}
