//! Lists of servers over the pool's connections.

use std::sync::Arc;

use futures::future::BoxFuture;
use toolcrib_config::model::Server;
use toolcrib_config::model::settings::Limits;
use toolcrib_upstream::mcp::{self, CallError, Failure, Key, Options, Pool};

use super::endpoint::Resolver;
use crate::engine::discovery::{Lister, RawList, Visit, What};

/// Asks over a connection of the pool, or over one that is made for the occasion.
pub(super) struct PoolLister {
    pool: Arc<Pool>,
    resolver: Arc<Resolver>,
    home: Key,
    limits: Limits,
}

impl PoolLister {
    pub(super) fn new(
        pool: &Arc<Pool>,
        resolver: &Arc<Resolver>,
        home: &Key,
        limits: Limits,
    ) -> Self {
        Self {
            pool: Arc::clone(pool),
            resolver: Arc::clone(resolver),
            home: home.clone(),
            limits,
        }
    }

    async fn ask(&self, server: &Server, what: What, visit: Visit) -> Result<RawList, CallError> {
        let what = match what {
            What::Tools => mcp::What::Tools,
            What::Resources => mcp::What::Resources,
        };
        // What keeps a server from being used at all is worth more words than that it is not there.
        let endpoint = self
            .resolver
            .endpoint(server, &self.limits)
            .map_err(Failure::NotStarted)?;
        let options = Options::default();
        let listing = match visit {
            Visit::Staying => {
                self.pool
                    .list(&server.name, &self.home, what, options)
                    .await
            }
            Visit::OneOff => self.pool.list_once(&endpoint, what, options).await,
        };
        listing.map(|listing| RawList {
            items: listing.items,
            warnings: listing.warnings,
        })
    }
}

impl Lister for PoolLister {
    fn list<'a>(
        &'a self,
        server: &'a Server,
        what: What,
        visit: Visit,
    ) -> BoxFuture<'a, Result<RawList, CallError>> {
        Box::pin(self.ask(server, what, visit))
    }
}
