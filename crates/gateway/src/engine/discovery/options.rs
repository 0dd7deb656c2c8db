//! How a discovery is to be done.

use std::path::PathBuf;

use toolcrib_config::model::Server;
use toolcrib_config::model::server::Transport;
use toolcrib_config::placeholder::Template;
use toolcrib_core::limits::{DISCOVERIES_PARALLEL_DEFAULT, DISCOVERIES_PARALLEL_MAX};
use toolcrib_core::policy::bucket::Rate;
use toolcrib_core::retry::RetryPolicy;
use toolcrib_core::secret::Secret;

/// Headers that take the place of a server's own credentials.
pub type AuthHeaders = Vec<(String, Secret)>;

/// How a discovery is to be done; the defaults are the documented ones.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a documented option of its own, named where it is set"
)]
pub struct DiscoveryOptions {
    /// Whether read-only tools without an output schema are called once to learn one.
    pub introspect_output_schemas: bool,
    /// Whether kept lists answer, and what is found is kept.
    pub use_cache: bool,
    /// Whether what is found is registered where an integration is attached.
    pub register_in_marketplace: bool,
    /// Whether what is found is written as RTFS files.
    pub export_to_rtfs: bool,
    /// Where those go; `capabilities/servers/pending` unless given.
    pub export_directory: Option<PathBuf>,
    /// Headers that take the place of the server's own credentials.
    pub auth_headers: Option<AuthHeaders>,
    /// How often and how soon a server is asked again.
    pub retry_policy: RetryPolicy,
    /// How many requests a server gets that has no limit of its own; `None` for any number.
    pub rate_limit: Option<Rate>,
    /// How many servers are asked at once.
    pub max_parallel_discoveries: usize,
    /// How many servers of a registry's answer are looked at.
    pub max_registry_servers: usize,
    /// Whether output schemas are learnt only when they are needed.
    pub lazy_output_schemas: bool,
    /// Whether the connection stays open for the calls that will follow.
    pub keep_session: bool,
}

impl Default for DiscoveryOptions {
    fn default() -> Self {
        Self {
            introspect_output_schemas: false,
            use_cache: false,
            register_in_marketplace: false,
            export_to_rtfs: false,
            export_directory: None,
            auth_headers: None,
            retry_policy: RetryPolicy::default(),
            rate_limit: Some(Rate::default()),
            max_parallel_discoveries: DISCOVERIES_PARALLEL_DEFAULT,
            max_registry_servers: usize::MAX,
            lazy_output_schemas: true,
            keep_session: false,
        }
    }
}

impl DiscoveryOptions {
    /// What the program itself uses: lists are kept and used, connections stay for what follows.
    pub fn serving() -> Self {
        Self {
            use_cache: true,
            keep_session: true,
            ..Self::default()
        }
    }

    /// Whether output schemas are to be learnt during the discovery itself.
    pub fn introspects_now(&self) -> bool {
        self.introspect_output_schemas && !self.lazy_output_schemas
    }

    /// How many servers are asked at once, within bounds.
    pub(super) fn parallel(&self) -> usize {
        self.max_parallel_discoveries
            .clamp(1, DISCOVERIES_PARALLEL_MAX)
    }

    /// The limit for a server: its own, else the one for all.
    pub(super) fn rate_for(&self, server: &Server) -> Option<Rate> {
        let handling = &server.handling;
        match handling.rate_per_second {
            Some(requests) => Some(Rate {
                requests,
                per_seconds: 1,
                burst: handling.rate_burst,
            }),
            None => self.rate_limit,
        }
    }

    /// The retries for a server: its own number, else the one for all.
    pub(super) fn retries_for(&self, server: &Server) -> RetryPolicy {
        RetryPolicy {
            max_retries: server
                .handling
                .retries
                .unwrap_or(self.retry_policy.max_retries),
            ..self.retry_policy
        }
    }
}

/// The server with these headers instead of its own credentials. A child process has no headers and
/// stays as it is.
pub(super) fn with_headers(server: &Server, headers: &AuthHeaders) -> Server {
    let mut server = server.clone();
    if let Transport::Http(remote) | Transport::Sse(remote) = &mut server.transport {
        for (name, value) in headers {
            remote
                .headers
                .retain(|known, _| !known.eq_ignore_ascii_case(name));
            let value = Template::literal(value.expose()).sensitive();
            remote.headers.insert(name.clone(), value);
            if name.eq_ignore_ascii_case("authorization") {
                server.handling.bearer = None;
                server.handling.oauth = false;
            }
        }
    }
    server
}
