//! Lists of servers over the pool's connections.

use std::sync::Arc;

use futures::future::BoxFuture;
use toolcrib_config::model::Server;
use toolcrib_config::model::settings::Limits;
use toolcrib_core::limits::LIST_FRESH_MS_MIN;
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
            fresh_ms: fresh_ms(listing.ttl_ms),
            warnings: listing.warnings,
        })
    }
}

/// How long a list counts as fresh at most by what its server says. Libraries for servers say 0 where
/// nobody thought of it, so that this says nothing: the times of the configuration hold.
fn fresh_ms(ttl_ms: Option<u64>) -> Option<i64> {
    let said = ttl_ms.filter(|ttl| *ttl > 0)?;
    Some(
        i64::try_from(said)
            .unwrap_or(i64::MAX)
            .max(LIST_FRESH_MS_MIN),
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_says_how_long_its_list_is_fresh_within_bounds() {
        let check = |said: Option<u64>, expect: Option<i64>| {
            assert_eq!(fresh_ms(said), expect, "{said:?}");
        };
        check(None, None);
        check(Some(0), None);
        check(Some(1), Some(LIST_FRESH_MS_MIN));
        let least = LIST_FRESH_MS_MIN.unsigned_abs();
        check(Some(least), Some(LIST_FRESH_MS_MIN));
        check(Some(least + 1), Some(LIST_FRESH_MS_MIN + 1));
        check(Some(u64::MAX), Some(i64::MAX));
    }
}
