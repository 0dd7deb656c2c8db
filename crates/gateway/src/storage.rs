//! The store of the user: where it is, and how it is opened.

use std::path::PathBuf;

use toolcrib_config::load::Config;
use toolcrib_config::surroundings::Surroundings;
use toolcrib_core::Code;
use toolcrib_store::{SqliteOptions, Store, StoreError};
use uuid::Uuid;

use crate::failure::Failure;

/// The file below the data directory that holds the store, unless `store.path` names another.
const FILE: &str = "toolcrib.db";

/// The database file of a configuration.
pub fn path(config: &Config, surroundings: &Surroundings) -> PathBuf {
    let named = config.settings.store.path.as_deref();
    let named = named.and_then(|written| surroundings.resolve(written));
    named.unwrap_or_else(|| config.places.data.join(FILE))
}

/// Opens the store of a configuration and makes it where it is missing.
pub async fn open(config: &Config, surroundings: &Surroundings) -> Result<Store, StoreError> {
    let options = SqliteOptions::new(path(config, surroundings));
    Store::open_sqlite(options, Uuid::now_v7()).await
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::new(Code::AuditUnavailable, error.to_string())
    }
}
