//! Discovery as others embed it: for a running program that resolves capabilities, and for one server
//! with its own credentials.

use std::sync::Arc;

use toolcrib_config::model::Server;
use toolcrib_config::model::server::Transport;
use toolcrib_config::surroundings::Surroundings;
use toolcrib_core::CapabilityManifest;
use toolcrib_core::secret::Secret;
use toolcrib_store::StoreError;
use toolcrib_upstream::mcp::oauth::TokenStore;

use super::{AuthHeaders, Candidate, DiscoveryError, DiscoveryOptions, DiscoveryService, Listing};
use crate::capability::market::Marketplace;
use crate::engine::clock::Clock;
use crate::engine::connections::{Connections, Users};

/// Resolves capabilities while a program runs: the marketplace first, then discovery.
#[derive(Clone)]
pub struct RuntimeDiscovery {
    service: Arc<DiscoveryService>,
    marketplace: Option<Arc<dyn Marketplace>>,
}

/// Where a capability was found.
#[derive(Clone, Debug)]
pub enum Found {
    /// It is registered and may be run.
    Registered(Box<CapabilityManifest>),
    /// Servers that may have it: nothing of them may be run before it was approved.
    Candidates(Vec<Candidate>),
}

impl RuntimeDiscovery {
    /// With a discovery service of its own, which makes connections as they are needed, and takes the
    /// tokens of servers that somebody logged in to from `tokens`.
    pub fn new(
        surroundings: Surroundings,
        tokens: Option<Arc<dyn TokenStore>>,
        marketplace: Option<Arc<dyn Marketplace>>,
    ) -> Self {
        let connections = Connections::new(Users::Many, surroundings, tokens, Clock::system());
        let service = Arc::new(connections.discovery());
        Self::with_discovery_service(service, marketplace)
    }

    /// With a discovery service that is there already.
    pub fn with_discovery_service(
        service: Arc<DiscoveryService>,
        marketplace: Option<Arc<dyn Marketplace>>,
    ) -> Self {
        Self {
            service,
            marketplace,
        }
    }

    /// The service.
    pub fn service(&self) -> &Arc<DiscoveryService> {
        &self.service
    }

    /// The tools of a server as manifests; registered where a marketplace is attached.
    pub async fn discover(
        &self,
        server: &Server,
        options: &DiscoveryOptions,
    ) -> Result<Vec<CapabilityManifest>, DiscoveryError> {
        let listing = self.service.discover_tools(server, options).await?;
        let manifests = self.service.manifests(&listing, server);
        if let Some(marketplace) = &self.marketplace {
            for manifest in &manifests {
                if let Err(error) = marketplace.register(manifest).await {
                    tracing::warn!(id = manifest.id, %error, "a capability is not registered");
                }
            }
        }
        Ok(manifests)
    }

    /// The capability of an id or a tool's name: a registered one, else the servers that may have it.
    pub async fn resolve(
        &self,
        capability: &str,
        options: &DiscoveryOptions,
    ) -> Result<Found, ResolveError> {
        if let Some(marketplace) = &self.marketplace {
            let registered = marketplace.registered().await?;
            let named = registered.into_iter().find(|manifest| {
                manifest.id == capability || manifest.provider.tool_name == capability
            });
            if let Some(manifest) = named {
                return Ok(Found::Registered(Box::new(manifest)));
            }
        }
        let name = capability.strip_prefix("mcp.").unwrap_or(capability);
        let servers = self
            .service
            .find_servers_for_capability(name, options)
            .await?;
        Ok(Found::Candidates(servers))
    }
}

/// Why a capability could not be looked for.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// What is registered cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Servers cannot be found.
    #[error(transparent)]
    Discovery(#[from] DiscoveryError),
}

/// Discovers the tools of one server with the credentials of its own definition.
#[derive(Clone)]
pub struct DiscoveryProvider {
    service: DiscoveryService,
    server: Server,
}

impl DiscoveryProvider {
    /// A provider whose service sends the headers that the server's definition asks for. Variables
    /// are read through `lookup`; one that is not set leaves its header out.
    pub fn new(
        service: DiscoveryService,
        server: Server,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let headers = auth_headers(&server, lookup);
        let service = if headers.is_empty() {
            service
        } else {
            service.with_auth_headers(headers)
        };
        Self { service, server }
    }

    /// The server.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Its tools.
    pub async fn discover(&self, options: &DiscoveryOptions) -> Result<Listing, DiscoveryError> {
        self.service.discover_tools(&self.server, options).await
    }

    /// Its tools as manifests.
    pub async fn capabilities(
        &self,
        options: &DiscoveryOptions,
    ) -> Result<Vec<CapabilityManifest>, DiscoveryError> {
        let listing = self.discover(options).await?;
        Ok(self.service.manifests(&listing, &self.server))
    }
}

/// The headers that a server's definition asks for, with its bearer token where no header has one.
fn auth_headers(server: &Server, lookup: &dyn Fn(&str) -> Option<String>) -> AuthHeaders {
    let (Transport::Http(remote) | Transport::Sse(remote)) = &server.transport else {
        return Vec::new();
    };
    let given = remote.headers.iter();
    let mut headers: AuthHeaders = given
        .filter_map(|(name, value)| Some((name.clone(), value.expand(lookup).ok()?)))
        .collect();
    let has_own = headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    if !has_own && let Some(Ok(token)) = server.handling.bearer.as_ref().map(|b| b.expand(lookup)) {
        let value = Secret::new(format!("Bearer {}", token.expose()));
        headers.push(("Authorization".to_owned(), value));
    }
    headers
}
