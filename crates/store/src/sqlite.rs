//! The store on SQLite: one file, readable by its owner only, shared by any number of processes.

mod connection;
mod failure;
mod file;
mod link;
mod log;
mod migration;
mod newest;
mod presence;

use std::path::{Path, PathBuf};

use toolcrib_core::limits::{STORE_BUSY_TIMEOUT_MS, STORE_WAL_BYTES_MAX};

use crate::StoreError;
use crate::backend::{Backend, Link, Newest, Pending, Presence, Role};
use connection::Access;
use link::{SqliteLink, elsewhere};

/// Where the database is and what it may use.
#[derive(Clone, Debug)]
pub struct SqliteOptions {
    /// The database file; it and its directory are made when missing.
    pub path: PathBuf,
    /// How long one attempt to lock the database waits for another process.
    pub busy_timeout_ms: u64,
    /// How large the database file may become; beyond it the store is full.
    pub size_bytes_max: Option<u64>,
}

impl SqliteOptions {
    /// A database file with the usual bounds.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            busy_timeout_ms: STORE_BUSY_TIMEOUT_MS,
            size_bytes_max: None,
        }
    }
}

/// A migrated SQLite database.
#[derive(Debug)]
pub struct Sqlite {
    options: SqliteOptions,
    writers: PathBuf,
    access: Access,
}

impl Sqlite {
    /// Makes the file if it is missing (mode 0600, directory 0700), brings its schema up to date,
    /// and refuses a file of another program or of a newer Toolcrib without touching it.
    pub async fn open(options: SqliteOptions) -> Result<Self, StoreError> {
        elsewhere(move || {
            file::prepare(&options.path)?;
            migration::migrate(&options)?;
            let writers = presence::directory(&options.path);
            Ok(Self {
                options,
                writers,
                access: Access::Whole,
            })
        })
        .await
    }

    /// Opens a file that is there and touches nothing: whatever would write is refused as read-only.
    pub async fn open_to_read(options: SqliteOptions) -> Result<Self, StoreError> {
        elsewhere(move || {
            let access = migration::readable(&options)?;
            let writers = presence::directory(&options.path);
            Ok(Self {
                options,
                writers,
                access,
            })
        })
        .await
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.options.path
    }
}

impl Backend for Sqlite {
    fn connect(&self, role: Role) -> Pending<'_, Box<dyn Link>> {
        Box::pin(async move {
            let settings = match self.access {
                Access::Whole => settings(&self.options, role),
                Access::Reading | Access::Alone | Access::Still => String::new(),
            };
            let options = self.options.clone();
            let link = SqliteLink::connect(options, role, self.access, settings).await?;
            Ok(Box::new(link) as Box<dyn Link>)
        })
    }

    fn announce<'a>(&'a self, writer_id: &'a str) -> Pending<'a, Box<dyn Presence>> {
        Box::pin(async move {
            if self.access != Access::Whole {
                let path = self.options.path.clone();
                return Err(StoreError::ReadOnly { path });
            }
            let presence = presence::announce(&self.writers, writer_id)?;
            Ok(Box::new(presence) as Box<dyn Presence>)
        })
    }

    fn is_alive<'a>(&'a self, writer_id: &'a str) -> Pending<'a, bool> {
        Box::pin(async move { presence::is_alive(&self.writers, writer_id) })
    }

    fn note_newest<'a>(&'a self, newest: &'a Newest) -> Pending<'a, ()> {
        Box::pin(async move { newest::note(&newest::path(&self.options.path), newest) })
    }

    fn newest(&self) -> Pending<'_, Option<Newest>> {
        Box::pin(async move { Ok(newest::read(&newest::path(&self.options.path))) })
    }
}

/// The settings of a connection to the migrated database.
fn settings(options: &SqliteOptions, role: Role) -> String {
    let own = match (role, options.size_bytes_max) {
        (Role::Reader, _) => "PRAGMA query_only = ON;".to_owned(),
        (Role::Writer, None) => String::new(),
        (Role::Writer, Some(bytes)) => {
            let pages = bytes / migration::PAGE_BYTES;
            format!("PRAGMA max_page_count = {pages};")
        }
    };
    format!("PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = {STORE_WAL_BYTES_MAX}; {own}")
}
