//! From a server of the configuration to an endpoint: placeholders filled, secrets out of sight.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderName;
use indexmap::IndexMap;
use toolcrib_config::model::Server;
use toolcrib_config::model::server::{Remote, Stdio, Transport};
use toolcrib_config::model::settings::Limits;
use toolcrib_config::placeholder::Template;
use toolcrib_config::surroundings::Surroundings;
use toolcrib_core::limits::CONFIG_FILE_BYTES_MAX;
use toolcrib_core::secret::Secret;
use toolcrib_upstream::mcp::credential::{self, Given};
use toolcrib_upstream::mcp::oauth::{self, TokenStore};
use toolcrib_upstream::mcp::{Address, Command, Endpoint, Way};
use url::Url;

use crate::engine::discovery::offered;
use crate::veil;

/// Fills placeholders from where we are.
pub(super) struct Resolver {
    surroundings: Surroundings,
    tokens: Option<Arc<dyn TokenStore>>,
}

impl Resolver {
    pub(super) fn new(surroundings: Surroundings, tokens: Option<Arc<dyn TokenStore>>) -> Self {
        Self {
            surroundings,
            tokens,
        }
    }

    pub(super) fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    /// The endpoint of a server, or what keeps it from being one, in words for people.
    pub(super) fn endpoint(&self, server: &Server, limits: &Limits) -> Result<Endpoint, String> {
        let way = match &server.transport {
            Transport::Stdio(stdio) => Way::Stdio(self.command(stdio)?),
            Transport::Http(remote) => Way::Http(self.address(server, remote)?),
            Transport::Sse(remote) => Way::Sse(self.address(server, remote)?),
        };
        let handling = &server.handling;
        let mut endpoint = Endpoint::new(server.name.as_str(), way);
        endpoint.start_timeout =
            Duration::from_millis(handling.start_timeout_ms.unwrap_or(limits.start_timeout_ms));
        endpoint.call_timeout =
            Duration::from_millis(handling.call_timeout_ms.unwrap_or(limits.call_timeout_ms));
        let usual_ms = u64::from(limits.idle_close_minutes) * 60_000;
        let idle_ms = handling.idle_close_ms.unwrap_or(usual_ms);
        endpoint.idle_close = (idle_ms > 0).then(|| Duration::from_millis(idle_ms));
        endpoint.retries = handling.retries.unwrap_or(endpoint.retries);
        endpoint.fingerprint = server.fingerprint();
        Ok(endpoint)
    }

    /// The text of a template with its variables.
    pub(super) fn filled(&self, template: &Template) -> Result<Secret, String> {
        let lookup = |name: &str| self.surroundings.var(name);
        template.expand(&lookup).map_err(|unset| unset.to_string())
    }

    fn command(&self, stdio: &Stdio) -> Result<Command, String> {
        let mut command = Command::new(self.filled(&stdio.command)?.expose());
        for arg in &stdio.args {
            command.args.push(self.filled(arg)?);
        }
        if let Some(file) = &stdio.env_file {
            command.env = self.variables_of(file)?;
        }
        for (name, value) in &stdio.env {
            let value = self.filled(value)?;
            command.env.retain(|(known, _)| known != name);
            command.env.push((name.clone(), value));
        }
        command.env.iter().for_each(|(_, value)| veil::keep(value));
        command.inherit_env = stdio.inherit_env;
        command.cwd = match &stdio.cwd {
            Some(cwd) => {
                let written = self.filled(cwd)?;
                let resolved = self.surroundings.resolve(written.expose());
                Some(resolved.ok_or("its working directory cannot be found out")?)
            }
            None => None,
        };
        Ok(command)
    }

    /// The `NAME=value` lines of a file.
    fn variables_of(&self, file: &Template) -> Result<Vec<(String, Secret)>, String> {
        use std::io::Read;
        let written = self.filled(file)?;
        let path = self.surroundings.resolve(written.expose());
        let path = path.ok_or("its `envFile` cannot be found out")?;
        let opened = std::fs::File::open(path);
        let mut text = String::new();
        opened
            .and_then(|file| file.take(CONFIG_FILE_BYTES_MAX).read_to_string(&mut text))
            .map_err(|error| format!("its `envFile` cannot be read: {error}"))?;
        Ok(variables(&text))
    }

    fn address(&self, server: &Server, remote: &Remote) -> Result<Address, String> {
        let url = self.filled(&remote.url)?;
        let url =
            Url::parse(url.expose()).map_err(|error| format!("its address is wrong: {error}"))?;
        let headers = self.headers(&remote.headers)?;
        let bearer = server.handling.bearer.as_ref();
        let bearer = bearer.map(|bearer| self.filled(bearer)).transpose()?;
        // What is meant for the user's own servers does not go where a stranger published one.
        let is_strangers = server.origin.kind == offered::REGISTRY;
        let chosen = credential::choose(&Given {
            server: &server.name,
            url: &url,
            instead: &[],
            headers: &headers,
            bearer: bearer.as_ref(),
            variable: &|name| self.surroundings.var(name).filter(|_| !is_strangers),
        });
        chosen
            .headers
            .iter()
            .for_each(|(_, value)| veil::keep(value));
        let tokens = self.tokens.clone().filter(|_| !is_strangers);
        let wanted = server.handling.oauth;
        let authorisation = oauth::authorisation(&server.name, &url, chosen, tokens, wanted);
        Ok(Address { url, authorisation })
    }

    fn headers(
        &self,
        headers: &IndexMap<String, Template>,
    ) -> Result<Vec<(HeaderName, Secret)>, String> {
        let filled = headers.iter().map(|(name, value)| {
            let wrong = || format!("`{name}` is no name of a header");
            let header: HeaderName = name.parse().map_err(|_| wrong())?;
            Ok((header, self.filled(value)?))
        });
        filled.collect()
    }
}

/// Reads `NAME=value` lines: comments and empty lines are passed over, `export` and quotes are taken off.
fn variables(text: &str) -> Vec<(String, Secret)> {
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| {
        let (name, value) = line
            .strip_prefix("export ")
            .unwrap_or(line)
            .split_once('=')?;
        let value = value.trim();
        let bare = ['"', '\''].iter().find_map(|quote| {
            let inner = value.strip_prefix(*quote)?;
            inner.strip_suffix(*quote)
        });
        let name = name.trim();
        (!name.is_empty()).then(|| (name.to_owned(), Secret::new(bare.unwrap_or(value))))
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use toolcrib_config::model::server::Origin;
    use toolcrib_config::placeholder::Dialect;
    use toolcrib_config::surroundings::Os;

    use super::*;

    fn template(text: &str) -> Template {
        Template::parse(text, Dialect::Braces).unwrap()
    }

    fn resolver(home: &std::path::Path) -> Resolver {
        let surroundings = Surroundings::new(Os::Linux, home, home, |name| {
            (name == "TOKEN").then(|| "hunter2".to_owned())
        });
        Resolver::new(surroundings, None)
    }

    fn server(transport: Transport) -> Server {
        let origin = Origin {
            kind: "toolcrib".into(),
            path: "x".into(),
            line: 0,
        };
        Server::new("s", transport, origin)
    }

    #[test]
    fn times_are_those_of_the_server_or_else_of_the_limits() {
        let home = tempfile::tempdir().unwrap();
        let stdio = Stdio {
            command: template("run"),
            args: Vec::new(),
            env: IndexMap::new(),
            env_file: None,
            cwd: None,
            inherit_env: true,
        };
        let mut server = server(Transport::Stdio(stdio));
        let limits = |idle_close_minutes| Limits {
            start_timeout_ms: 11,
            call_timeout_ms: 12,
            idle_close_minutes,
            ..Limits::default()
        };
        let times = |server: &Server, minutes| {
            let endpoint = resolver(home.path()).endpoint(server, &limits(minutes));
            let endpoint = endpoint.unwrap();
            let ms = |time: Duration| time.as_millis();
            (
                ms(endpoint.start_timeout),
                ms(endpoint.call_timeout),
                endpoint.idle_close.map(ms),
            )
        };
        assert_eq!(times(&server, 2), (11, 12, Some(120_000)));
        assert_eq!(times(&server, 0), (11, 12, None), "never closed");
        server.handling.start_timeout_ms = Some(21);
        server.handling.call_timeout_ms = Some(22);
        server.handling.idle_close_ms = Some(23);
        assert_eq!(times(&server, 2), (21, 22, Some(23)));
    }

    #[test]
    fn a_command_gets_its_arguments_variables_and_directory() {
        let home = tempfile::tempdir().unwrap();
        let file = "# a comment\nexport A=1\nB=\"two words\"\nC='x'\n\nnonsense\nD=file\n";
        std::fs::write(home.path().join("vars"), file).unwrap();
        let stdio = Stdio {
            command: template("run"),
            args: vec![template("--token=${TOKEN}")],
            env: IndexMap::from([("D".to_owned(), template("own ${TOKEN}"))]),
            env_file: Some(template("~/vars")),
            cwd: Some(template("~/work")),
            inherit_env: true,
        };
        let mut server = server(Transport::Stdio(stdio));
        server.handling.idle_close_ms = Some(0);
        server.handling.start_timeout_ms = Some(5);
        let endpoint = resolver(home.path())
            .endpoint(&server, &Limits::default())
            .unwrap();
        let Way::Stdio(command) = &endpoint.way else {
            panic!("another way")
        };
        assert_eq!(command.args[0].expose(), "--token=hunter2");
        let env: Vec<_> = command
            .env
            .iter()
            .map(|(n, v)| (n.as_str(), v.expose()))
            .collect();
        assert_eq!(
            env,
            [
                ("A", "1"),
                ("B", "two words"),
                ("C", "x"),
                ("D", "own hunter2")
            ]
        );
        assert_eq!(
            command.cwd.as_deref(),
            Some(home.path().join("work").as_path())
        );
        assert!(command.inherit_env);
        assert_eq!(endpoint.idle_close, None);
        assert_eq!(endpoint.start_timeout, Duration::from_millis(5));
        assert_eq!(endpoint.call_timeout, Duration::from_secs(30));
        assert_eq!(endpoint.fingerprint, server.fingerprint());
        assert!(!format!("{endpoint:?}").contains("hunter2"));
    }

    #[tokio::test]
    async fn tokens_of_the_environment_stay_away_from_published_addresses() {
        let home = tempfile::tempdir().unwrap();
        let surroundings = Surroundings::new(Os::Linux, home.path(), home.path(), |name| {
            (name == "MCP_AUTH_TOKEN").then(|| "hunter2".to_owned())
        });
        let resolver = Resolver::new(surroundings, None);
        let mut server = server(Transport::Http(Remote {
            url: template("https://x.test/mcp"),
            headers: IndexMap::new(),
        }));
        for (kind, expect) in [("toolcrib", 1), (offered::REGISTRY, 0)] {
            server.origin.kind = kind.into();
            let endpoint = resolver.endpoint(&server, &Limits::default()).unwrap();
            let Way::Http(address) = &endpoint.way else {
                panic!("another way")
            };
            let headers = address.authorisation.headers().await.unwrap();
            assert_eq!(headers.len(), expect, "{kind}");
        }
    }

    #[test]
    fn what_keeps_a_server_from_being_used_is_said() {
        let home = tempfile::tempdir().unwrap();
        let resolver = resolver(home.path());
        let remote = |url: &str, header: &str| {
            server(Transport::Http(Remote {
                url: template(url),
                headers: IndexMap::from([(header.to_owned(), template("x"))]),
            }))
        };
        let check = |server: &Server, expected: &str| {
            let why = resolver.endpoint(server, &Limits::default()).unwrap_err();
            assert!(why.contains(expected), "{why}");
        };
        check(&remote("${NOWHERE}", "a"), "NOWHERE");
        check(&remote("not an address", "a"), "its address is wrong");
        check(&remote("https://x.test", "a b"), "no name of a header");
        let stdio = Stdio {
            command: template("run"),
            args: Vec::new(),
            env: IndexMap::new(),
            env_file: Some(template("nothing-here")),
            cwd: None,
            inherit_env: false,
        };
        check(
            &server(Transport::Stdio(stdio)),
            "its `envFile` cannot be read",
        );
        let fine = remote("https://x.test/mcp", "x-a");
        let endpoint = resolver.endpoint(&fine, &Limits::default()).unwrap();
        assert_eq!(endpoint.place(), "https://x.test/mcp");
    }
}
