//! One server as clients write it, in all the spellings that are about.
//!
//! Clients copy from each other and people copy between clients, so one reader knows every spelling
//! of every client. Where the same word means different things, the client's row in the table
//! decides (placeholders, the unit of `timeout`) or the caller does ([`Habits`]).

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
}

impl Habits {
    /// What the client's row in the table says.
    pub(crate) fn of(file: &File<'_>) -> Self {
        Self {
            dialect: file.client.dialect,
            header_dialect: file.client.dialect,
            timeout: file.client.timeout,
            url_is_sse: false,
        }
    }
}

/// Keys that say what may run without asking. Toolcrib's own policy decides that.
const APPROVALS: &[&str] = &[
    "alwaysAllow",
    "autoApprove",
    "trust",
    "default_tools_approval_mode",
];

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
        (Some(_), Some((key, ..)), None) => {
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
        (Some(_), None, _) | (Some(_), Some(_), Some(Kind::Stdio)) => {
            stdio(file, fields, command, habits)?
        }
        (_, Some((key, text, span)), kind) => {
            let url = template(file, fields, text, span, habits.dialect)?;
            let remote = remote(fields, url, habits)?;
            match kind.unwrap_or_else(|| kind_of_url(key, text, habits)) {
                Kind::Sse => Transport::Sse(remote),
                Kind::Http | Kind::Stdio => Transport::Http(remote),
            }
        }
        (None, None, _) => {
            return Err(fields.refuse(
                format!("{} has neither a command nor a url", fields.subject()),
                key_span,
                "give it a `command` that starts it or the `url` where it listens",
            ));
        }
    };
    let mut server = Server::new(name, transport, file.origin(key_span));
    describe(&mut server, fields)?;
    handle(&mut server, fields, habits)?;
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
    command: Option<&Entry>,
    habits: Habits,
) -> Result<Transport, Refused> {
    let Some(command) = command else {
        return Err(fields.refuse(
            format!("{} has no command", fields.subject()),
            Span::default(),
            "",
        ));
    };
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
    for (name, _) in fields.texts(&["env_keys"])?.unwrap_or_default() {
        env.entry(name.clone())
            .or_insert_with(|| Template::variable(name).sensitive());
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
        env.entry(name.to_owned())
            .or_insert_with(|| Template::variable(name).sensitive());
    }
    Ok(())
}

fn remote(fields: &mut Fields<'_>, url: Template, habits: Habits) -> Result<Remote, Refused> {
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
        let value = fields.template(&text, span, habits.header_dialect)?;
        headers.insert(name.to_owned(), value.sensitive());
    }
    for (name, variable, span) in fields.pairs(&["env_http_headers"])? {
        let value = fields.template(&format!("${{{variable}}}"), span, Dialect::Own)?;
        headers.insert(name.to_owned(), value.sensitive());
    }
    Ok(Remote { url, headers })
}

fn describe(server: &mut Server, fields: &mut Fields<'_>) -> Result<(), Refused> {
    server.title = fields
        .text(&["title", "display_name", "displayName", "name"])?
        .filter(|title| !title.is_empty() && *title != server.name)
        .map(str::to_owned);
    server.description = fields
        .text(&["description"])?
        .filter(|text| !text.is_empty())
        .map(str::to_owned);
    Ok(())
}

fn handle(server: &mut Server, fields: &mut Fields<'_>, habits: Habits) -> Result<(), Refused> {
    server.enabled =
        !fields.flag(&["disabled"])?.unwrap_or(false) && fields.flag(&["enabled"])?.unwrap_or(true);
    filters(server, fields)?;
    timeouts(server, fields, habits)?;
    if let Some(name) = fields.text(&["bearer_token_env_var"])? {
        server.handling.bearer = Some(Template::variable(name).sensitive());
    }
    if let Some(entry) = fields.take(&["bearer_token"])
        && let Some(text) = entry.value.as_str()
    {
        server.handling.bearer = Some(Template::literal(text).sensitive());
    }
    if let Some(entry) = fields.take(&["oauth", "auth"]) {
        server.handling.oauth = match &entry.value.value {
            Value::Bool(value) => *value,
            Value::Map(entries) => !entries
                .iter()
                .any(|e| e.key == "enabled" && e.value.as_bool() == Some(false)),
            Value::String(word) => word == "oauth",
            _ => false,
        };
    }
    for key in APPROVALS {
        if let Some(entry) = fields.take(&[key]) {
            let unused = matches!(&entry.value.value, Value::List(items) if items.is_empty())
                || entry.value.as_bool() == Some(false);
            if !unused {
                not_taken_over(fields, entry);
            }
        }
    }
    Ok(())
}

fn not_taken_over(fields: &mut Fields<'_>, entry: &Entry) {
    fields.remark(
        Severity::Note,
        format!("{}: `{}` is not taken over", fields.subject(), entry.key),
        entry.key_span,
        "Toolcrib's own policy says what runs without asking",
    );
}

/// Which tools are kept.
fn filters(server: &mut Server, fields: &mut Fields<'_>) -> Result<(), Refused> {
    if let Some(tools) = fields.take(&["tools"])
        && matches!(tools.value.value, Value::Map(_))
    {
        // Codex keeps approvals for single tools there.
        not_taken_over(fields, tools);
    } else if let Some(include) =
        fields.texts(&["enabled_tools", "includeTools", "available_tools", "tools"])?
    {
        let names: Vec<String> = include.into_iter().map(|(name, _)| name).collect();
        // Goose writes an empty list for "all"; Copilot writes "*".
        if !names.iter().any(|name| name == "*") {
            server.include_tools = names;
        }
    }
    server.exclude_tools = fields
        .texts(&["disabled_tools", "excludeTools", "disabledTools"])?
        .unwrap_or_default()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    Ok(())
}

/// Seconds above which a number of seconds can only be milliseconds.
const SECONDS_PLAUSIBLE_MAX: f64 = 3600.0;

fn timeouts(server: &mut Server, fields: &mut Fields<'_>, habits: Habits) -> Result<(), Refused> {
    let handling = &mut server.handling;
    if let Some(entry) = fields.take(&["timeout"]) {
        if let Value::Map(_) = entry.value.value {
            let mut inner = Fields::of(
                fields.source(),
                format!("{}: `timeout`", fields.subject()),
                &entry.value,
                "",
            )?;
            handling.start_timeout_ms = inner.number(&["startup"])?.map(|n| milliseconds(n, 1.0));
            handling.call_timeout_ms = inner.number(&["request"])?.map(|n| milliseconds(n, 1.0));
        } else {
            let number = fields.number(&["timeout"])?.unwrap_or_default();
            let factor = match habits.timeout {
                TimeUnit::Seconds if number <= SECONDS_PLAUSIBLE_MAX => 1000.0,
                TimeUnit::Seconds => {
                    fields.remark(
                        Severity::Note,
                        format!("{}: `timeout` is taken for milliseconds", fields.subject()),
                        entry.value.span,
                        "",
                    );
                    1.0
                }
                TimeUnit::Milliseconds => 1.0,
            };
            handling.call_timeout_ms = Some(milliseconds(number, factor));
        }
    }
    let seconds = |n: Option<f64>| n.map(|n| milliseconds(n, 1000.0));
    let plain = |n: Option<f64>| n.map(|n| milliseconds(n, 1.0));
    let call = seconds(fields.number(&["tool_timeout_sec"])?);
    let start = seconds(fields.number(&["startup_timeout_sec"])?).or(plain(fields.number(&[
        "startup_timeout_ms",
        "initTimeout",
        "connectionTimeout",
    ])?));
    server.handling.call_timeout_ms = call.or(server.handling.call_timeout_ms);
    server.handling.start_timeout_ms = start.or(server.handling.start_timeout_ms);
    Ok(())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is not negative, and a cast saturates"
)]
fn milliseconds(number: f64, factor: f64) -> u64 {
    (number * factor).round() as u64
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
