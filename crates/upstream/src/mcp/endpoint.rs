//! What must be known of a server to reach it: resolved, with its secrets out of sight.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use toolcrib_core::limits::{
    CALL_TIMEOUT_MS_DEFAULT, IDLE_CLOSE_MS_DEFAULT, RETRIES_DEFAULT, START_TIMEOUT_MS_DEFAULT,
};
use toolcrib_core::secret::{Secret, mask};
use url::Url;

use super::authorisation::Authorisation;

/// A server and how it is treated.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The name that ids and rules use.
    pub name: Arc<str>,
    /// How it is reached.
    pub way: Way,
    /// How long starting it and the first exchange may take.
    pub start_timeout: Duration,
    /// How long a request may take that sets no time of its own.
    pub call_timeout: Duration,
    /// How long an unused connection stays open. `None`: for ever.
    pub idle_close: Option<Duration>,
    /// How often a request that may be repeated is tried again.
    pub retries: u32,
    /// What the server runs or where it is, as a hash: what is remembered of a server is kept under it.
    pub fingerprint: String,
}

/// How a server is reached.
#[derive(Clone, Debug)]
pub enum Way {
    /// A child process that speaks MCP on its standard input and output.
    Stdio(Command),
    /// Streamable HTTP.
    Http(Address),
    /// HTTP with server-sent events, the older transport.
    Sse(Address),
}

/// A program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The program, a path or a name that is looked up in `PATH`.
    pub program: String,
    /// Its arguments.
    pub args: Vec<Secret>,
    /// Variables of its own.
    pub env: Vec<(String, Secret)>,
    /// Where it runs; `None`: where Toolcrib does.
    pub cwd: Option<PathBuf>,
    /// Whether it gets Toolcrib's whole environment rather than the short base.
    pub inherit_env: bool,
}

/// An address, and what proves there who we are.
#[derive(Clone)]
pub struct Address {
    /// Where.
    pub url: Url,
    /// The headers and credentials that go with every request.
    pub authorisation: Arc<dyn Authorisation>,
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = mask(self.url.as_str());
        f.debug_struct("Address")
            .field("url", &url)
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// A server with a name and a way to it, treated as servers are by default.
    pub fn new(name: impl Into<Arc<str>>, way: Way) -> Self {
        Self {
            name: name.into(),
            way,
            start_timeout: Duration::from_millis(START_TIMEOUT_MS_DEFAULT),
            call_timeout: Duration::from_millis(CALL_TIMEOUT_MS_DEFAULT),
            idle_close: Some(Duration::from_millis(IDLE_CLOSE_MS_DEFAULT)),
            retries: RETRIES_DEFAULT,
            fingerprint: String::new(),
        }
    }

    /// Whether it runs the same thing, or is reached in the same way with the same credentials, so that a
    /// connection to one is a connection to the other.
    pub fn is_reached_like(&self, other: &Self) -> bool {
        let same_way = match (&self.way, &other.way) {
            (Way::Stdio(one), Way::Stdio(two)) => one == two,
            (Way::Http(one), Way::Http(two)) | (Way::Sse(one), Way::Sse(two)) => {
                one.url == two.url && one.authorisation.made_from() == two.authorisation.made_from()
            }
            _ => false,
        };
        same_way && self.fingerprint == other.fingerprint
    }

    /// Where it is, for people: `stdio:` and the command line, or the address; secrets left out.
    pub fn place(&self) -> String {
        match &self.way {
            Way::Stdio(command) => format!("stdio:{}", command.line()),
            Way::Http(address) | Way::Sse(address) => mask(address.url.as_str()),
        }
    }
}

impl Command {
    /// A program without arguments or variables.
    pub fn new(program: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: None,
            inherit_env: false,
        }
    }

    /// The same with one more argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(Secret::new(arg));
        self
    }

    /// The command line, with everything in it that looks like a secret left out.
    pub fn line(&self) -> String {
        let mut line = self.program.clone();
        for arg in &self.args {
            line.push(' ');
            line.push_str(arg.expose());
        }
        mask(&line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::credential::{self, Credentials};

    #[test]
    fn another_environment_or_other_credentials_are_another_way() {
        let stdio = |change: fn(&mut Command)| {
            let mut command = Command::new("npx").arg("x");
            change(&mut command);
            Way::Stdio(command)
        };
        let address = |header: &str| {
            let headers = [(http::header::AUTHORIZATION, Secret::new(header))];
            let url = Url::parse("https://example.com/mcp").unwrap();
            let credentials = credential::choose(&credential::Given {
                server: "x",
                url: &url,
                instead: &[],
                headers: &headers,
                bearer: None,
                variable: &|_| None,
            });
            let authorisation = Arc::new(credentials);
            Address { url, authorisation }
        };
        let ways = [
            stdio(|_| {}),
            stdio(|command| command.inherit_env = true),
            stdio(|command| command.env.push(("A".into(), Secret::new("1")))),
            stdio(|command| command.env.push(("A".into(), Secret::new("2")))),
            Way::Http(address("Bearer one")),
            Way::Http(address("Bearer two")),
            Way::Sse(address("Bearer one")),
        ];
        let endpoints = ways.map(|way| Endpoint::new("x", way));
        for (at, one) in endpoints.iter().enumerate() {
            for (beside, two) in endpoints.iter().enumerate() {
                assert_eq!(one.is_reached_like(two), at == beside, "{one:?} {two:?}");
            }
        }
    }

    #[test]
    fn a_place_is_shown_without_secrets() {
        let check = |way: Way, expected: &str| {
            let endpoint = Endpoint::new("x", way);
            assert_eq!(endpoint.place(), expected);
            assert!(!format!("{endpoint:?}").contains("hunter2"));
        };
        let mut command = Command::new("npx").arg("-y").arg("--token=hunter2");
        command
            .env
            .push(("TOKEN".to_owned(), Secret::new("hunter2")));
        check(Way::Stdio(command), "stdio:npx -y --token=***");
        let address = Address {
            url: Url::parse("https://user:pw@example.com/mcp?api_key=abc").unwrap(),
            authorisation: Arc::new(Credentials::none("x")),
        };
        check(
            Way::Http(address.clone()),
            "https://***@example.com/mcp?api_key=***",
        );
        check(Way::Sse(address), "https://***@example.com/mcp?api_key=***");
    }
}
