//! A token store in memory, with the versions of the real one.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use toolcrib_core::secret::Secret;
use toolcrib_upstream::mcp::oauth::{Kept, TokenStore};

type Records = HashMap<(String, String), (Secret, i64)>;

/// Tokens in memory.
#[derive(Debug, Default)]
pub struct Memory(Mutex<Records>);

impl Memory {
    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.records().is_empty()
    }

    fn records(&self) -> MutexGuard<'_, Records> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TokenStore for Memory {
    fn load<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Result<Vec<Kept>, String>> {
        let records = self.records();
        let own = records.iter().filter(|((_, name), _)| name == server);
        let kept = own.map(|((issuer, _), (content, version))| Kept {
            issuer: issuer.clone(),
            content: content.clone(),
            version: *version,
        });
        std::future::ready(Ok(kept.collect())).boxed()
    }

    fn save<'a>(
        &'a self,
        issuer: &'a str,
        server: &'a str,
        content: &'a Secret,
        read_version: Option<i64>,
    ) -> BoxFuture<'a, Result<bool, String>> {
        let mut records = self.records();
        let key = (issuer.to_owned(), server.to_owned());
        let fits = records.get(&key).map(|(_, version)| *version) == read_version;
        if fits {
            records.insert(key, (content.clone(), read_version.unwrap_or(0) + 1));
        }
        std::future::ready(Ok(fits)).boxed()
    }
}
