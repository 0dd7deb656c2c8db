//! The tokens of upstream servers, kept in the store.

use std::fmt;

use futures::FutureExt;
use futures::future::BoxFuture;
use toolcrib_core::secret::Secret;
use toolcrib_store::Store;
use toolcrib_upstream::mcp::oauth::{Kept, TokenStore};

/// Ties the store to what upstream servers need of it.
#[derive(Clone)]
pub struct Tokens {
    store: Store,
    now_ms: fn() -> i64,
}

impl Tokens {
    /// Tokens in a store, with the clock that dates them.
    pub fn new(store: Store, now_ms: fn() -> i64) -> Self {
        Self { store, now_ms }
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tokens")
    }
}

impl TokenStore for Tokens {
    fn load<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Result<Vec<Kept>, String>> {
        async move {
            let tokens = self.store.tokens(server).await;
            let tokens = tokens.map_err(|error| error.to_string())?;
            let kept = tokens.into_iter().map(|(issuer, token)| Kept {
                issuer,
                content: token.content,
                version: token.version,
            });
            Ok(kept.collect())
        }
        .boxed()
    }

    fn save<'a>(
        &'a self,
        issuer: &'a str,
        server: &'a str,
        content: &'a Secret,
        read_version: Option<i64>,
    ) -> BoxFuture<'a, Result<bool, String>> {
        async move {
            let now_ms = (self.now_ms)();
            self.store
                .save_token(issuer, server, content, read_version, now_ms)
                .await
                .map_err(|error| error.to_string())
        }
        .boxed()
    }
}
