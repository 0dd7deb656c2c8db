//! Tokens of the environment for servers that have no credentials of their own.

use toolcrib_config::model::Server;
use toolcrib_config::model::server::{Remote, Transport};
use toolcrib_config::placeholder::Template;
use url::{Host, Url};

/// The token for any server.
const ANY: &str = "MCP_AUTH_TOKEN";
/// The token for GitHub.
const GITHUB: &str = "GITHUB_MCP_TOKEN";
/// Hosts that are GitHub's, with everything below them.
const GITHUB_HOSTS: [&str; 2] = ["github.com", "githubcopilot.com"];

/// The server with a bearer token of the environment, where it is reached over HTTP and has no
/// credentials of its own.
///
/// The first of these that is set: `<NAME>_MCP_TOKEN` with the server's name in capitals,
/// `GITHUB_MCP_TOKEN` for addresses of GitHub, `MCP_AUTH_TOKEN`. Tokens go over TLS, or to this
/// machine, and nowhere else. Only for servers that the user configured: an address that somebody
/// else published must never get them.
pub fn with_token_of_environment(
    server: &Server,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Server {
    let mut server = server.clone();
    let (Transport::Http(remote) | Transport::Sse(remote)) = &server.transport else {
        return server;
    };
    let handling = &server.handling;
    let has_own = handling.bearer.is_some()
        || handling.oauth
        || remote
            .headers
            .keys()
            .any(|name| name.eq_ignore_ascii_case("authorization"));
    if has_own {
        return server;
    }
    let Some(url) = address(remote, lookup).filter(is_private) else {
        return server;
    };
    let own = format!("{}_MCP_TOKEN", in_capitals(&server.name));
    let github = is_github(&url).then_some(GITHUB);
    let names = [Some(own.as_str()), github, Some(ANY)];
    let token = names
        .into_iter()
        .flatten()
        .find_map(|name| lookup(name).filter(|token| !token.is_empty()));
    if let Some(token) = token {
        server.handling.bearer = Some(Template::literal(token).sensitive());
    }
    server
}

fn address(remote: &Remote, lookup: &dyn Fn(&str) -> Option<String>) -> Option<Url> {
    let text = remote.url.expand(lookup).ok()?;
    Url::parse(text.expose()).ok()
}

/// Whether nobody on the way can read along.
fn is_private(url: &Url) -> bool {
    url.scheme() == "https" || (url.scheme() == "http" && is_this_machine(url))
}

/// Whether an address is one of this machine.
pub(super) fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

fn is_github(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    GITHUB_HOSTS.iter().any(|known| {
        host.strip_suffix(known)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

/// A name as part of a variable: capitals, digits, and `_` for everything else.
pub(super) fn in_capitals(name: &str) -> String {
    name.chars()
        .map(|c| match c {
            c if c.is_ascii_alphanumeric() => c.to_ascii_uppercase(),
            _ => '_',
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::discovery::fixture;

    fn token(server: &Server, variables: &[(&str, &str)]) -> Option<String> {
        let lookup = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let server = with_token_of_environment(server, &lookup);
        let bearer = server.handling.bearer?;
        assert!(!format!("{bearer:?}").contains("token"), "{bearer:?}");
        Some(bearer.exact().expose().to_owned())
    }

    #[test]
    fn the_nearest_token_counts() {
        let all = [
            (ANY, "token-any"),
            (GITHUB, "token-github"),
            ("MY_DOCS_MCP_TOKEN", "token-docs"),
        ];
        let check = |name: &str, url: &str, variables: &[(&str, &str)], expect: Option<&str>| {
            let server = fixture::remote(name, url);
            assert_eq!(token(&server, variables).as_deref(), expect, "{name} {url}");
        };
        let github = "https://api.githubcopilot.com/mcp/";
        check("my-docs", "https://a.example/mcp", &all, Some("token-docs"));
        check("other", "https://a.example/mcp", &all, Some("token-any"));
        check("other", github, &all, Some("token-github"));
        check(
            "github",
            "https://a.example/mcp",
            &all,
            Some("token-github"),
        );
        check("my-docs", github, &all, Some("token-docs"));
        check(
            "other",
            github,
            &[(GITHUB, ""), (ANY, "token-any")],
            Some("token-any"),
        );
        check("other", "https://notgithub.com/", &all[1..], None);
        check("other", "https://github.com.example/", &all[1..], None);
        check("other", github, &[], None);
    }

    #[test]
    fn a_token_is_not_sent_in_the_clear() {
        let check = |url: &str, expect: bool| {
            let server = fixture::remote("a", url);
            let given = token(&server, &[(ANY, "token")]).is_some();
            assert_eq!(given, expect, "{url}");
        };
        check("http://a.example/mcp", false);
        check("http://127.0.0.1:8080/mcp", true);
        check("http://[::1]:8080/mcp", true);
        check("http://localhost/mcp", true);
        check("http://localhost.example/mcp", false);
        check("https://${HOST}/mcp", false);
        check("nonsense", false);
    }

    #[test]
    fn credentials_of_its_own_stay() {
        let mut server = fixture::remote("a", "https://a.example/mcp");
        let set = |server: &mut Server, name: &str| {
            let Transport::Http(remote) = &mut server.transport else {
                panic!("not remote");
            };
            remote
                .headers
                .insert(name.to_owned(), Template::literal("x"));
        };
        set(&mut server, "X-Trace");
        assert!(token(&server, &[(ANY, "token")]).is_some());
        let mut with_oauth = server.clone();
        with_oauth.handling.oauth = true;
        assert_eq!(token(&with_oauth, &[(ANY, "token")]), None);
        set(&mut server, "authorization");
        assert_eq!(token(&server, &[(ANY, "token")]), None);
        let child = fixture::child("a");
        assert_eq!(token(&child, &[(ANY, "token")]), None);
    }
}
