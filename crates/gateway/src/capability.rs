//! Capabilities of servers: manifests, files, and how both come to be approved.

pub mod assessment;
pub mod export;
pub mod files;
pub mod loading;
pub mod market;
pub mod promotion;
pub mod question;
pub mod request;
pub mod review;
pub mod trial;

use toolcrib_config::model::Server;
use toolcrib_config::model::server::Transport;

use crate::veil::cover;

/// Where a server is, for its manifests: its address, or `stdio:` and its command line. Secrets are
/// left out.
pub fn server_url(server: &Server) -> String {
    match &server.transport {
        Transport::Stdio(stdio) => {
            let words = std::iter::once(&stdio.command).chain(&stdio.args);
            let words: Vec<String> = words.map(ToString::to_string).collect();
            cover(&format!("stdio:{}", words.join(" ")))
        }
        Transport::Http(remote) | Transport::Sse(remote) => {
            cover(&without_login(&remote.url.to_string()))
        }
    }
}

/// An address without the name and password that may stand before its host.
fn without_login(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_config::model::server::{Origin, Remote, Stdio};
    use toolcrib_config::placeholder::{Dialect, Template};

    use super::*;

    fn server(transport: Transport) -> Server {
        let origin = Origin {
            kind: "toolcrib".into(),
            path: "t.yaml".into(),
            line: 1,
        };
        Server::new("s", transport, origin)
    }

    #[test]
    fn a_child_is_its_command_line_and_no_secret_is_told() {
        let own = |text: &str| Template::parse(text, Dialect::Own).unwrap();
        let stdio = Stdio {
            command: own("npx"),
            args: vec![
                own("-y"),
                own("--key=ghp_0123456789abcdefghijklmnop"),
                own("${HOME}/x"),
            ],
            env: std::iter::once(("TOKEN".to_owned(), own("secret-value").sensitive())).collect(),
            env_file: None,
            cwd: None,
            inherit_env: false,
        };
        let told = server_url(&server(Transport::Stdio(stdio)));
        assert!(told.starts_with("stdio:npx -y --key="), "{told}");
        assert!(told.ends_with("${HOME}/x"), "{told}");
        assert!(
            !told.contains("ghp_") && !told.contains("secret-value"),
            "{told}"
        );
    }

    #[test]
    fn an_address_is_told_without_its_login() {
        for (url, expected) in [
            ("https://api.github.com/mcp", "https://api.github.com/mcp"),
            (
                "https://me:word@host.example/mcp?a=b@c",
                "https://host.example/mcp?a=b@c",
            ),
            ("nowhere", "nowhere"),
        ] {
            let remote = Remote {
                url: Template::literal(url),
                headers: std::iter::empty().collect(),
            };
            assert_eq!(server_url(&server(Transport::Http(remote))), expected);
        }
    }
}
