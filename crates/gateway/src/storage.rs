//! The store of the user: where it is, and how it is opened.

use std::path::{Path, PathBuf};

use toolcrib_config::load::Config;
use toolcrib_config::surroundings::Surroundings;
use toolcrib_core::Code;
use toolcrib_store::{SqliteOptions, Store, StoreError};
use uuid::Uuid;

use crate::failure::Failure;

/// The file below the data directory that holds the store, unless `store.path` names another. It has a
/// directory of its own: the one above is watched for changes of what a person decided, and the store
/// is written with every call.
const FILE: &str = "store/toolcrib.db";

/// Where it was before it had one. A store that stands there is used there.
const FORMER_FILE: &str = "toolcrib.db";

/// The database file of a configuration.
pub fn path(config: &Config, surroundings: &Surroundings) -> PathBuf {
    let named = config.settings.store.path.as_deref();
    let named = named.and_then(|written| surroundings.resolve(written));
    named.unwrap_or_else(|| own(&config.places.data))
}

fn own(data: &Path) -> PathBuf {
    let former = data.join(FORMER_FILE);
    if former.is_file() {
        return former;
    }
    data.join(FILE)
}

/// Opens the store of a configuration and makes it where it is missing. What processes that died left
/// open gets its record before anyone reads or asks for a key of theirs.
pub async fn open(config: &Config, surroundings: &Surroundings) -> Result<Store, StoreError> {
    let options = SqliteOptions::new(path(config, surroundings));
    let store = Store::open_sqlite(options, Uuid::now_v7()).await?;
    let now_ms = jiff::Timestamp::now().as_millisecond();
    match store.recover(now_ms).await {
        Ok(recovered) if recovered.unknown > 0 => {
            tracing::warn!(
                count = recovered.unknown,
                "executions of a process that died were recorded with the outcome unknown"
            );
        }
        Ok(_) => {}
        // A store that can only be read still answers.
        Err(error) => tracing::warn!(%error, "what dead processes left open cannot be recorded"),
    }
    Ok(store)
}

/// As [`open`]; where the disk takes nothing, what is there can still be read, and why nothing can be written is
/// said beside it.
pub async fn open_to_look(
    config: &Config,
    surroundings: &Surroundings,
) -> Result<(Store, Option<StoreError>), StoreError> {
    let error = match open(config, surroundings).await {
        Err(
            error @ (StoreError::ReadOnly { .. }
            | StoreError::Full
            | StoreError::Unreachable { .. }
            | StoreError::Failed { .. }),
        ) => error,
        outcome => return outcome.map(|store| (store, None)),
    };
    let options = SqliteOptions::new(path(config, surroundings));
    match Store::open_sqlite_to_read(options).await {
        Ok(store) => Ok((store, Some(error))),
        Err(_) => Err(error),
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::new(Code::AuditUnavailable, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_stands_apart_unless_it_stood_elsewhere_before() {
        let data = tempfile::tempdir().unwrap();
        assert_eq!(own(data.path()), data.path().join("store/toolcrib.db"));
        let former = data.path().join("toolcrib.db");
        std::fs::write(&former, "").unwrap();
        assert_eq!(own(data.path()), former);
    }
}
