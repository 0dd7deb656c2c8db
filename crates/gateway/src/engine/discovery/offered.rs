//! A server of the registry as a server of the configuration.

use toolcrib_config::model::Server;
use toolcrib_config::model::server::{Origin, Remote, Stdio, Transport};
use toolcrib_config::placeholder::Template;
use toolcrib_core::limits::{REGISTRY_DESCRIPTION_CHARS_MAX, SERVER_NAME_CHARS_MAX};
use toolcrib_upstream::registry::{Entry, Offer, Part, Text, Way};

/// The kind of source that such a server has.
pub const REGISTRY: &str = "registry";

/// The definition of a server under a name; switched on. A bundle has none before it is unpacked.
pub fn definition(name: &str, entry: &Entry, offer: &Offer) -> Option<Server> {
    let secret = |(name, text): &(String, Text)| (name.clone(), template(text).sensitive());
    let transport = match &offer.way {
        Way::Stdio { command, args, env } => Transport::Stdio(Stdio {
            command: Template::literal(command),
            args: args.iter().map(template).collect(),
            env: env.iter().map(secret).collect(),
            env_file: None,
            cwd: None,
            inherit_env: false,
        }),
        Way::Http { url, headers } => Transport::Http(Remote {
            url: template(url),
            headers: headers.iter().map(secret).collect(),
        }),
        Way::Sse { url, headers } => Transport::Sse(Remote {
            url: template(url),
            headers: headers.iter().map(secret).collect(),
        }),
        Way::Bundle(_) => return None,
    };
    let origin = Origin {
        kind: REGISTRY.to_owned(),
        path: format!("{} {}", entry.name, entry.version).into(),
        line: 0,
    };
    let mut server = Server::new(name, transport, origin);
    server.registry = Some(entry.name.clone());
    server.title = entry.title.as_deref().and_then(one_line);
    server.description = one_line(&entry.description);
    Some(server)
}

/// A short name for a server of the registry: what stands after the last `/`, in plain characters.
pub fn short_name(full: &str) -> String {
    let last = full.rsplit('/').next().unwrap_or(full);
    let plain: String = last
        .chars()
        .map(|c| match c {
            c if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') => c,
            _ => '-',
        })
        .take(SERVER_NAME_CHARS_MAX)
        .collect();
    let plain = plain.trim_matches(['-', '.']);
    if plain.is_empty() {
        "server".to_owned()
    } else {
        plain.to_owned()
    }
}

/// A stranger's text: no control characters, not for ever; `None` where nothing is left.
fn one_line(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let line: String = line
        .chars()
        .filter(|c| !c.is_control())
        .take(REGISTRY_DESCRIPTION_CHARS_MAX)
        .collect();
    (!line.is_empty()).then_some(line)
}

fn template(text: &Text) -> Template {
    let parts = text.0.iter();
    parts.fold(Template::literal(""), |template, part| match part {
        Part::Literal(text) => template.then_literal(text),
        Part::Variable { name, default } => template.then_variable(name, default.clone()),
    })
}
