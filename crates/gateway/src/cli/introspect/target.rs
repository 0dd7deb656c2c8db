//! What a person writes to name a server that is not configured: an address or a command.

use indexmap::IndexMap;
use toolcrib_config::model::Server;
use toolcrib_config::model::server::{Origin, Remote, Stdio, Transport};
use toolcrib_config::placeholder::{Dialect, Template};
use toolcrib_config::registered;

use crate::engine::discovery::offered::short_name;

/// Parts of a host name that say nothing about what is there.
const GENERIC: [&str; 6] = ["www", "api", "mcp", "server", "app", "com"];

/// How a server is to be reached.
pub(super) struct Way<'a> {
    /// An address, a command line, or a command.
    pub(super) target: &'a str,
    /// The arguments of a command.
    pub(super) arguments: &'a [String],
    /// The variable that holds its token.
    pub(super) auth_env: Option<&'a str>,
    /// Whether an address speaks the older transport.
    pub(super) sse: bool,
}

impl Way<'_> {
    /// The server, under a name that was given or that its address or command suggests.
    pub(super) fn server(&self, name: Option<&str>) -> Result<Server, String> {
        let lower = self.target.to_lowercase();
        let (transport, suggested) =
            if lower.starts_with("http://") || lower.starts_with("https://") {
                if !self.arguments.is_empty() {
                    return Err("an address takes no arguments behind `--`".to_owned());
                }
                (self.remote()?, host_name(self.target))
            } else {
                let mut words = words(self.target)?;
                words.extend(self.arguments.iter().cloned());
                let suggested = command_name(&words);
                (self.child(&words)?, suggested)
            };
        let origin = Origin {
            kind: registered::KIND.to_owned(),
            path: "introspect".into(),
            line: 0,
        };
        Ok(Server::new(name.unwrap_or(&suggested), transport, origin))
    }

    fn remote(&self) -> Result<Transport, String> {
        let mut headers = IndexMap::new();
        if let Some(variable) = self.auth_env {
            let value = Template::literal("Bearer ").then_variable(variable, None);
            headers.insert("Authorization".to_owned(), value.sensitive());
        }
        let remote = Remote {
            url: template(self.target)?,
            headers,
        };
        Ok(if self.sse {
            Transport::Sse(remote)
        } else {
            Transport::Http(remote)
        })
    }

    fn child(&self, words: &[String]) -> Result<Transport, String> {
        let [command, arguments @ ..] = words else {
            return Err("the command is empty; give an address or a command".to_owned());
        };
        let mut env = IndexMap::new();
        if let Some(variable) = self.auth_env {
            let value = Template::variable(variable);
            env.insert(variable.to_owned(), value.sensitive());
        }
        let arguments: Result<Vec<Template>, String> =
            arguments.iter().map(|word| template(word)).collect();
        Ok(Transport::Stdio(Stdio {
            command: template(command)?,
            args: arguments?,
            env,
            env_file: None,
            cwd: None,
            inherit_env: false,
        }))
    }
}

fn template(text: &str) -> Result<Template, String> {
    Template::parse(text, Dialect::Own).map_err(|error| error.to_string())
}

/// The words of a command line: split at spaces, quotes keep them together.
fn words(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut open) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (c, open) {
            (c, Some(quote)) if c == quote => open = None,
            ('\'' | '"', None) => {
                open = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    if open.is_some() {
        return Err("a quote of the command is not closed".to_owned());
    }
    words.extend(word);
    Ok(words)
}

/// A name from an address: the part of its host that tells most.
fn host_name(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = host.rsplit('@').next().unwrap_or(host);
    let host = host.split(':').next().unwrap_or(host);
    let parts: Vec<&str> = host.split('.').collect();
    let is_number = parts
        .iter()
        .all(|part| part.bytes().all(|b| b.is_ascii_digit()));
    // The last part of a host is a country or a kind of organisation.
    let named = &parts[..parts.len().saturating_sub(1).max(1)];
    let telling = named.iter().rev().find(|part| !GENERIC.contains(part));
    match telling {
        Some(part) if !is_number => short_name(part),
        _ => short_name(&host.replace('.', "-")),
    }
}

/// A name from a command: of its last word that is no option, without a version.
fn command_name(words: &[String]) -> String {
    let telling = words.iter().rev().find(|word| !word.starts_with('-'));
    let last = telling.map_or("", |word| word.rsplit(['/', '\\']).next().unwrap_or(word));
    let bare = last.split('@').find(|part| !part.is_empty());
    short_name(bare.unwrap_or(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way<'a>(target: &'a str, arguments: &'a [String]) -> Way<'a> {
        Way {
            target,
            arguments,
            auth_env: Some("TOKEN"),
            sse: false,
        }
    }

    #[test]
    fn an_address_or_a_command_becomes_a_server_with_a_telling_name() {
        for (target, name) in [
            ("https://mcp.linear.app/mcp", "linear"),
            ("https://api.githubcopilot.com/mcp/", "githubcopilot"),
            ("http://127.0.0.1:8080/mcp", "127-0-0-1"),
            ("http://localhost:8080/mcp", "localhost"),
            ("HTTPS://user@example.org", "example"),
            (
                "npx -y @modelcontextprotocol/server-everything",
                "server-everything",
            ),
            ("uvx mcp-server-git@1.2 --verbose", "mcp-server-git"),
            ("\"/opt/my tools/run\" notes", "notes"),
            ("server", "server"),
        ] {
            assert_eq!(
                way(target, &[]).server(None).unwrap().name,
                name,
                "{target}"
            );
        }
        assert_eq!(
            way("server", &[]).server(Some("mine")).unwrap().name,
            "mine"
        );
    }

    #[test]
    fn the_token_travels_by_its_variable() {
        let server = way("https://a.example/mcp", &[]).server(None).unwrap();
        let Transport::Http(remote) = &server.transport else {
            panic!("{server:?}")
        };
        assert_eq!(
            remote.headers["Authorization"].exact().expose(),
            "Bearer ${TOKEN}"
        );
        let arguments = ["--root".to_owned(), "a b".to_owned()];
        let server = way("run 'one two'", &arguments).server(None).unwrap();
        let Transport::Stdio(stdio) = &server.transport else {
            panic!("{server:?}")
        };
        let words: Vec<String> = stdio
            .args
            .iter()
            .map(|a| a.exact().expose().to_owned())
            .collect();
        assert_eq!(words, ["one two", "--root", "a b"]);
        assert_eq!(stdio.env["TOKEN"].exact().expose(), "${TOKEN}");
        let old = Way {
            sse: true,
            ..way("https://a.example/sse", &[])
        };
        assert!(matches!(
            old.server(None).unwrap().transport,
            Transport::Sse(_)
        ));
    }

    #[test]
    fn what_makes_no_server_says_why() {
        let arguments = ["x".to_owned()];
        for (target, arguments, part) in [
            ("", &[][..], "is empty"),
            ("run 'x", &[], "not closed"),
            ("https://a.example", &arguments, "no arguments"),
        ] {
            let said = way(target, arguments).server(None).unwrap_err();
            assert!(said.contains(part), "{said}");
        }
    }
}
