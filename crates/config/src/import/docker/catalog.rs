//! One server of a Docker catalog, as the command that runs its image or the address it has.

use std::sync::Arc;

use indexmap::IndexMap;

use super::template::{self, Settings};
use crate::diagnostic::{Diagnostic, Severity};
use crate::import::fields::{Fields, Refused};
use crate::import::file::File;
use crate::model::server::{Remote, Server, StaticTool, Stdio, Transport};
use crate::node::{Entry, Node};
use crate::placeholder::{Dialect, Template};
use crate::text::Source;

/// What an entry of a catalog looks like, for messages.
const SHAPE: &str = "write `image: …` or `remote: { url: … }`";

/// Keys that describe a server to people or to Docker's own console.
const IGNORED: &[&str] = &[
    "allowHosts",
    "config",
    "dateAdded",
    "icon",
    "metadata",
    "name",
    "policy",
    "prefix",
    "prompts",
    "readme",
    "ref",
    "resources",
    "source",
    "toolsUrl",
    "upstream",
];

/// The server that a catalog describes, with what is worth knowing about it.
pub(super) fn server(
    file: &File<'_>,
    entry: &Entry,
    catalog: &Arc<Source>,
    definition: &Node,
    config: Option<&Node>,
) -> Result<(Server, Vec<Diagnostic>), Refused> {
    let subject = format!("server \"{}\"", entry.key);
    let mut fields = Fields::of(catalog, subject, definition, SHAPE)?;
    fields.ignore(IGNORED);
    if fields.text(&["type"])? == Some("poci") {
        return Err(fields.refuse(
            format!(
                "{} is a set of containers, not an MCP server",
                fields.subject()
            ),
            definition.span,
            "it can only be used through Docker's own gateway",
        ));
    }
    let settings = Settings::new(config, &entry.key);
    let transport = match address(&mut fields)? {
        Some(transport) => transport,
        None => Transport::Stdio(run(&mut fields, definition, &settings)?),
    };
    let mut server = Server::new(&entry.key, transport, file.origin(entry.key_span));
    server.title = fields.text(&["title"])?.map(str::to_owned);
    server.description = fields.text(&["description"])?.map(str::to_owned);
    if fields.flag(&["longLived"])? == Some(true) {
        server.handling.idle_close_ms = Some(0);
    }
    let is_remote = !matches!(server.transport, Transport::Stdio(_));
    server.handling.oauth = fields.take(&["oauth"]).is_some() && is_remote;
    if let Some(tools) = fields.take(&["tools"]) {
        server.tools = tools.value.items().iter().filter_map(static_tool).collect();
    }
    Ok((server, fields.finish()))
}

/// A tool that the catalog describes in words; a bare name says too little to be found by.
fn static_tool(node: &Node) -> Option<StaticTool> {
    let description = node.get("description")?.as_str()?;
    (!description.is_empty()).then_some(())?;
    Some(StaticTool {
        name: node.get("name")?.as_str()?.to_owned(),
        description: description.to_owned(),
        input_schema: None,
        tags: Vec::new(),
    })
}

/// The address of a server that runs elsewhere.
fn address(fields: &mut Fields<'_>) -> Result<Option<Transport>, Refused> {
    if let Some(url) = fields.text(&["sseEndpoint"])?.filter(|url| !url.is_empty()) {
        return Ok(Some(Transport::Sse(Remote {
            url: Template::literal(url),
            headers: IndexMap::new(),
        })));
    }
    let Some(remote) = fields.take(&["remote"]) else {
        return Ok(None);
    };
    let place = format!("{}: `remote`", fields.subject());
    let mut inner = Fields::of(fields.source(), place, &remote.value, SHAPE)?;
    let Some(url) = inner.text(&["url"])?.filter(|url| !url.is_empty()) else {
        return Ok(None);
    };
    let mut headers = IndexMap::new();
    for (name, text, span) in inner.pairs(&["headers"])? {
        let value = inner.template(&text, span, Dialect::Shell)?;
        headers.insert(name.to_owned(), value.sensitive());
    }
    secrets(fields, &mut IndexMap::new())?;
    let url = Template::literal(url);
    let remote = Remote { url, headers };
    let sse = inner.text(&["transport_type"])? == Some("sse");
    Ok(Some(if sse {
        Transport::Sse(remote)
    } else {
        Transport::Http(remote)
    }))
}

/// `docker run` with the image and what the catalog and the user's settings say about it.
fn run(
    fields: &mut Fields<'_>,
    definition: &Node,
    settings: &Settings<'_>,
) -> Result<Stdio, Refused> {
    let Some(image) = fields.text(&["image"])?.filter(|image| !image.is_empty()) else {
        return Err(fields.refuse(
            format!("{} has neither an image nor an address", fields.subject()),
            definition.span,
            SHAPE,
        ));
    };
    let mut args: Vec<Template> = [
        "run",
        "-i",
        "--rm",
        "--init",
        "--security-opt",
        "no-new-privileges",
    ]
    .map(Template::literal)
    .into();
    let mut option = |name: &str, value: Template| args.extend([Template::literal(name), value]);
    if fields.flag(&["disableNetwork"])? == Some(true) {
        option("--network", Template::literal("none"));
    }
    let mut env = IndexMap::new();
    secrets(fields, &mut env)?;
    variables(fields, settings, &mut env)?;
    for name in env.keys() {
        option("-e", Template::literal(name));
    }
    for volume in lists(fields, "volumes", settings)? {
        option("-v", volume);
    }
    for user in fields.text(&["user"])?.into_iter().collect::<Vec<_>>() {
        for value in template::evaluate(fields, user, definition.span, settings)? {
            option("-u", value);
        }
    }
    for (host, _) in fields.texts(&["extraHosts"])?.unwrap_or_default() {
        option("--add-host", Template::literal(host));
    }
    args.push(Template::literal(image));
    args.extend(lists(fields, "command", settings)?);
    Ok(Stdio {
        command: Template::literal("docker"),
        args,
        env,
        env_file: None,
        cwd: None,
        inherit_env: false,
    })
}

/// Secrets that Docker keeps: each becomes the variable that the server reads it from.
fn secrets(fields: &mut Fields<'_>, env: &mut IndexMap<String, Template>) -> Result<(), Refused> {
    let Some(entry) = fields.take(&["secrets"]) else {
        return Ok(());
    };
    for secret in entry.value.items() {
        let name = secret
            .get("name")
            .and_then(Node::as_str)
            .unwrap_or_default();
        let Some(variable) = secret.get("env").and_then(Node::as_str) else {
            return Err(fields.refuse(
                format!("{}: a secret has no `env`", fields.subject()),
                secret.span,
                "write `- name: …` and `env: …`",
            ));
        };
        let value = fields.variable(variable, secret.span)?;
        env.insert(variable.to_owned(), value);
        fields.remark(
            Severity::Note,
            format!("{}: the secret {name} stays with Docker", fields.subject()),
            secret.span,
            &format!("set the environment variable {variable} before Toolcrib starts"),
        );
    }
    Ok(())
}

/// Variables that the catalog fills from the user's settings or from secrets.
fn variables(
    fields: &mut Fields<'_>,
    settings: &Settings<'_>,
    env: &mut IndexMap<String, Template>,
) -> Result<(), Refused> {
    let Some(entry) = fields.take(&["env"]) else {
        return Ok(());
    };
    for variable in entry.value.items() {
        let Some(name) = variable.get("name").and_then(Node::as_str) else {
            continue;
        };
        let text = variable
            .get("value")
            .and_then(crate::import::fields::scalar)
            .unwrap_or_default();
        let value = template::evaluate(fields, &text, variable.span, settings)?;
        if let Some(value) = value.into_iter().next() {
            env.insert(name.to_owned(), value.sensitive());
        }
    }
    Ok(())
}

/// A list of templates, each of which can give several values or none.
fn lists(
    fields: &mut Fields<'_>,
    key: &'static str,
    settings: &Settings<'_>,
) -> Result<Vec<Template>, Refused> {
    let mut values = Vec::new();
    for (text, span) in fields.texts(&[key])?.unwrap_or_default() {
        values.extend(template::evaluate(fields, &text, span, settings)?);
    }
    Ok(values)
}
