//! Which credentials go to a server: the most particular ones that there are.
//!
//! In this order: headers given for the one occasion, the server's own headers or bearer token,
//! `<NAME>_MCP_TOKEN`, `GITHUB_MCP_TOKEN` for GitHub, `MCP_AUTH_TOKEN`. A caller's own token is not
//! among them and never leaves.

use futures::FutureExt;
use futures::future::BoxFuture;
use http::HeaderName;
use http::header::AUTHORIZATION;
use toolcrib_core::canon::Hash;
use toolcrib_core::secret::{Secret, name_is_secret};
use toolcrib_core::written::Writer;
use url::{Host, Url};

use super::Failure;
use super::authorisation::{Authorisation, Refusal, SecretHeaders};

/// The variable with the token for every server.
pub const GENERIC_VARIABLE: &str = "MCP_AUTH_TOKEN";
/// The variable with the token for GitHub.
pub const GITHUB_VARIABLE: &str = "GITHUB_MCP_TOKEN";

/// What there is to choose from.
pub struct Given<'a> {
    /// The server's name in the configuration.
    pub server: &'a str,
    /// Where it is.
    pub url: &'a Url,
    /// Headers that stand in for the server's own credentials (`auth_headers`).
    pub instead: &'a [(HeaderName, Secret)],
    /// The headers that the configuration gives it.
    pub headers: &'a [(HeaderName, Secret)],
    /// The bearer token that the configuration gives it.
    pub bearer: Option<&'a Secret>,
    /// The environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

/// Where credentials come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// They were given for this occasion.
    Instead,
    /// The configuration names them.
    Configuration,
    /// This variable holds them.
    Variable(String),
    /// This variable holds them, but they would go over the network in the clear, and stay here.
    Withheld(String),
    /// There are none.
    Nowhere,
}

/// Credentials that do not change while a connection lasts.
#[derive(Clone, Debug)]
pub struct Credentials {
    server: String,
    /// Every header for the server, those that are no credentials included.
    pub headers: SecretHeaders,
    /// Where the credentials among them come from.
    pub source: Source,
}

/// Chooses the credentials for a server.
pub fn choose(given: &Given<'_>) -> Credentials {
    let named = |name: &HeaderName| given.instead.iter().any(|(other, _)| other == name);
    let overridden = !given.instead.is_empty();
    let mut headers: SecretHeaders = given.instead.to_vec();
    for (name, value) in given.headers {
        let is_replaced = named(name) || overridden && *name == AUTHORIZATION;
        if !is_replaced {
            headers.push((name.clone(), value.clone()));
        }
    }
    let source = if overridden {
        Source::Instead
    } else if let Some(token) = given.bearer {
        headers.retain(|(name, _)| *name != AUTHORIZATION);
        headers.push(bearer(token.expose()));
        Source::Configuration
    } else if given.headers.iter().any(|(name, _)| is_credential(name)) {
        Source::Configuration
    } else {
        from_environment(given, &mut headers)
    };
    Credentials {
        server: given.server.to_owned(),
        headers,
        source,
    }
}

fn is_credential(name: &HeaderName) -> bool {
    *name == AUTHORIZATION || name_is_secret(name.as_str())
}

fn from_environment(given: &Given<'_>, headers: &mut SecretHeaders) -> Source {
    let own = variable_of(given.server);
    let github = is_github(given.url).then(|| GITHUB_VARIABLE.to_owned());
    let candidates = [Some(own), github, Some(GENERIC_VARIABLE.to_owned())];
    for name in candidates.into_iter().flatten() {
        let token = (given.variable)(&name).map(|token| token.trim().to_owned());
        let Some(token) = token.filter(|token| !token.is_empty()) else {
            continue;
        };
        if !is_private(given.url) {
            return Source::Withheld(name);
        }
        headers.push(bearer(&token));
        return Source::Variable(name);
    }
    Source::Nowhere
}

fn bearer(token: &str) -> (HeaderName, Secret) {
    let is_complete = token
        .get(..7)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer "));
    let value = if is_complete {
        token.to_owned()
    } else {
        format!("Bearer {token}")
    };
    (AUTHORIZATION, Secret::new(value))
}

/// The variable that holds the token of a server: `GITLAB_MCP_TOKEN` for `gitlab`.
pub fn variable_of(server: &str) -> String {
    let mut name: String = server
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_uppercase()
            } else {
                '_'
            }
        })
        .collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert(0, '_');
    }
    name + "_MCP_TOKEN"
}

fn is_github(url: &Url) -> bool {
    let Some(Host::Domain(host)) = url.host() else {
        return false;
    };
    ["github.com", "githubcopilot.com", "ghe.com"]
        .iter()
        .any(|domain| host == *domain || host.ends_with(&format!(".{domain}")))
}

/// Whether what is sent to an address can be read by nobody on the way.
pub(crate) fn is_private(url: &Url) -> bool {
    url.scheme() == "https"
        || match url.host() {
            Some(Host::Domain(host)) => host == "localhost" || host.ends_with(".localhost"),
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        }
}

impl Credentials {
    /// No credentials at all.
    pub fn none(server: &str) -> Self {
        Self {
            server: server.to_owned(),
            headers: Vec::new(),
            source: Source::Nowhere,
        }
    }

    /// What a person does about a refusal, as the end of a sentence.
    pub(crate) fn remedy(&self, refusal: &Refusal) -> String {
        let server = &self.server;
        if let Some(scopes) = refusal.missing_scopes() {
            return format!("the credentials lack the scope `{scopes}`; get others that have it");
        }
        match &self.source {
            Source::Instead => "check the `auth_headers` that were given".to_owned(),
            Source::Configuration => {
                format!("check the headers or the bearer token of `{server}` in the configuration")
            }
            Source::Variable(name) => format!("check the token in the variable {name}"),
            Source::Withheld(name) => format!(
                "{name} is not sent over plain http; use an https address, or name the header in the configuration of `{server}`"
            ),
            Source::Nowhere => format!(
                "run `toolcrib login {server}`, or put a token into the variable {}",
                variable_of(server)
            ),
        }
    }
}

impl Authorisation for Credentials {
    fn headers(&self) -> BoxFuture<'_, Result<SecretHeaders, Failure>> {
        std::future::ready(Ok(self.headers.clone())).boxed()
    }

    fn refused<'a>(&'a self, refusal: &'a Refusal) -> BoxFuture<'a, Result<(), String>> {
        std::future::ready(Err(self.remedy(refusal))).boxed()
    }

    fn made_from(&self) -> Option<Hash> {
        let mut to = Writer::default();
        for (name, value) in &self.headers {
            to.text(name.as_str());
            to.text(value.expose());
        }
        to.text(&format!("{:?}", self.source));
        Some(Hash::of(&to.into_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Case<'a> {
        server: &'a str,
        url: &'a str,
        instead: &'a [(&'a str, &'a str)],
        headers: &'a [(&'a str, &'a str)],
        bearer: Option<&'a str>,
        environment: &'a [(&'a str, &'a str)],
    }

    const ALL: &[(&str, &str)] = &[
        ("MY_GIT_MCP_TOKEN", "own"),
        ("GITHUB_MCP_TOKEN", "hub"),
        ("MCP_AUTH_TOKEN", "any"),
    ];

    const CASE: Case<'static> = Case {
        server: "my-git",
        url: "https://api.github.com/mcp",
        instead: &[],
        headers: &[],
        bearer: None,
        environment: ALL,
    };

    fn pairs(pairs: &[(&str, &str)]) -> SecretHeaders {
        let pair = |(name, value): &(&str, &str)| {
            (name.parse::<HeaderName>().unwrap(), Secret::new(*value))
        };
        pairs.iter().map(pair).collect()
    }

    #[track_caller]
    fn check(case: &Case<'_>, source: &Source, expected: &[(&str, &str)]) {
        let credentials = choose(&Given {
            server: case.server,
            url: &case.url.parse().unwrap(),
            instead: &pairs(case.instead),
            headers: &pairs(case.headers),
            bearer: case.bearer.map(Secret::new).as_ref(),
            variable: &|name| {
                let found = case.environment.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| (*value).to_owned())
            },
        });
        assert_eq!(&credentials.source, source);
        assert_eq!(credentials.headers, pairs(expected));
    }

    fn variable(name: &str) -> Source {
        Source::Variable(name.to_owned())
    }

    #[test]
    fn auth_headers_stand_in_for_everything_the_server_has() {
        let case = Case {
            instead: &[("authorization", "Basic x")],
            headers: &[("authorization", "Bearer conf"), ("x-team", "a")],
            bearer: Some("conf"),
            ..CASE
        };
        let expected = [("authorization", "Basic x"), ("x-team", "a")];
        check(&case, &Source::Instead, &expected);
        let case = Case {
            instead: &[("x-api-key", "other")],
            headers: &[("authorization", "Bearer conf"), ("x-api-key", "conf")],
            ..CASE
        };
        check(&case, &Source::Instead, &[("x-api-key", "other")]);
    }

    #[test]
    fn a_server_s_own_credentials_come_before_the_environment() {
        let case = Case {
            bearer: Some("conf"),
            ..CASE
        };
        let expected = [("authorization", "Bearer conf")];
        check(&case, &Source::Configuration, &expected);
        let case = Case {
            headers: &[("x-api-key", "k")],
            ..CASE
        };
        check(&case, &Source::Configuration, &[("x-api-key", "k")]);
        let case = Case {
            bearer: Some("bearer conf"),
            headers: &[("authorization", "Basic x")],
            ..CASE
        };
        let expected = [("authorization", "bearer conf")];
        check(&case, &Source::Configuration, &expected);
    }

    #[test]
    fn variables_go_from_the_particular_to_the_generic() {
        let own = [("x-team", "a"), ("authorization", "Bearer own")];
        let case = Case {
            headers: &[("x-team", "a")],
            ..CASE
        };
        check(&case, &variable("MY_GIT_MCP_TOKEN"), &own);
        let case = Case {
            environment: &ALL[1..],
            ..CASE
        };
        let hub = [("authorization", "Bearer hub")];
        check(&case, &variable(GITHUB_VARIABLE), &hub);
        let case = Case {
            environment: &[("MY_GIT_MCP_TOKEN", " "), ALL[2]],
            ..CASE
        };
        let any = [("authorization", "Bearer any")];
        check(&case, &variable(GENERIC_VARIABLE), &any);
        check(
            &Case {
                environment: &[],
                ..CASE
            },
            &Source::Nowhere,
            &[],
        );
    }

    #[test]
    fn github_s_token_goes_to_github_only() {
        let any = [("authorization", "Bearer any")];
        for url in [
            "https://github.example/mcp",
            "https://notgithub.com/",
            "https://10.0.0.1/",
        ] {
            let case = Case {
                url,
                environment: &ALL[1..],
                ..CASE
            };
            check(&case, &variable(GENERIC_VARIABLE), &any);
        }
        let hub = [("authorization", "Bearer hub")];
        for url in [
            "https://api.githubcopilot.com/mcp/",
            "https://corp.ghe.com/",
        ] {
            let case = Case {
                url,
                environment: &ALL[1..],
                ..CASE
            };
            check(&case, &variable(GITHUB_VARIABLE), &hub);
        }
    }

    #[test]
    fn tokens_of_the_environment_never_travel_in_the_clear() {
        let case = Case {
            url: "http://intranet/mcp",
            ..CASE
        };
        check(&case, &Source::Withheld("MY_GIT_MCP_TOKEN".to_owned()), &[]);
        let own = [("authorization", "Bearer own")];
        for url in [
            "http://localhost:1/",
            "http://127.0.0.1:1/",
            "http://[::1]:1/",
        ] {
            check(&Case { url, ..CASE }, &variable("MY_GIT_MCP_TOKEN"), &own);
        }
    }

    #[test]
    fn names_become_variables() {
        assert_eq!(variable_of("gitlab"), "GITLAB_MCP_TOKEN");
        assert_eq!(variable_of("my.git-lab ü"), "MY_GIT_LAB___MCP_TOKEN");
        assert_eq!(variable_of("7zip"), "_7ZIP_MCP_TOKEN");
    }

    #[tokio::test]
    async fn a_refusal_says_what_to_do() {
        let refusal = Refusal::default();
        let check = async |source: Source, part: &str| {
            let credentials = Credentials {
                source,
                ..Credentials::none("git")
            };
            let remedy = credentials.refused(&refusal).await.unwrap_err();
            assert!(remedy.contains(part), "{remedy}");
        };
        check(Source::Nowhere, "toolcrib login git").await;
        check(Source::Nowhere, "GIT_MCP_TOKEN").await;
        check(variable("X"), "variable X").await;
        check(Source::Withheld("X".to_owned()), "https").await;
        check(Source::Configuration, "configuration").await;
        check(Source::Instead, "auth_headers").await;
        let refusal = Refusal {
            status: 403,
            challenge: Some(r#"Bearer error="insufficient_scope", scope="w""#.to_owned()),
            ..Refusal::default()
        };
        let remedy = Credentials::none("git")
            .refused(&refusal)
            .await
            .unwrap_err();
        assert!(remedy.contains("scope `w`"), "{remedy}");
    }
}
