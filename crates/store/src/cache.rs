//! Tool lists and registry answers, in memory and on disk, so that the next start needs no
//! connection to answer a search.
//!
//! One file per server or query. A file that is damaged, foreign or of another configuration is a
//! miss, never an error; any number of processes may share a directory. All calls are blocking but
//! short.

mod disk;
mod eras;
mod inventory;
mod made;
mod memory;
mod name;
mod setting;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolcrib_core::limits::{
    CACHE_FILE_BYTES_MAX, CACHE_LEFTOVER_MS, CACHE_MEMORY_ENTRIES_MAX, CACHE_STALE_MS_MAX,
};

pub use disk::{Disk, LocalDisk, Stamp};
pub use inventory::Kept;
pub use made::Made;
pub use memory::TtlMap;
pub use name::file_name;
pub use setting::{CacheOptions, CacheSettingError};

use crate::StoreError;

/// The version of the files' form.
const FORM: u32 = 1;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The tools of a server.
    Tools,
    /// The registry's answer to a query.
    Registry,
}

impl Kind {
    /// What the names of its files begin with.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Registry => "registry",
        }
    }
}

/// A list that was kept.
#[derive(Clone, Debug)]
pub struct Cached {
    /// The items, each the text that was stored, byte for byte.
    pub items: Arc<[Box<RawValue>]>,
    /// When it was stored.
    pub stored_ms: i64,
    /// How long it counts as fresh at most, where whoever gave it said so.
    pub fresh_ms: Option<i64>,
    /// Whether it is older than its time to live: usable while it is refreshed.
    pub stale: bool,
}

#[derive(Serialize)]
struct Written<'a> {
    toolcrib_cache: u32,
    kind: Kind,
    name: &'a str,
    fingerprint: &'a str,
    stored_ms: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    fresh_ms: Option<i64>,
    items: &'a [Box<RawValue>],
}

#[derive(Deserialize)]
struct Read {
    toolcrib_cache: u32,
    kind: Kind,
    name: String,
    fingerprint: String,
    stored_ms: i64,
    #[serde(default)]
    fresh_ms: Option<i64>,
    items: Vec<Box<RawValue>>,
}

/// A list in memory, with the state of the file it stands for.
#[derive(Clone)]
struct Held {
    fingerprint: Arc<str>,
    items: Arc<[Box<RawValue>]>,
    stored_ms: i64,
    fresh_ms: Option<i64>,
    stamp: Option<Stamp>,
}

impl Held {
    /// A list that is not on disk yet.
    fn new(fingerprint: &str, items: Vec<Box<RawValue>>, stored_ms: i64) -> Self {
        Self {
            fingerprint: fingerprint.into(),
            items: items.into(),
            stored_ms,
            fresh_ms: None,
            stamp: None,
        }
    }
}

/// The cache of tool lists and registry answers.
pub struct ListCache {
    options: CacheOptions,
    disk: Box<dyn Disk>,
    memory: TtlMap<Held>,
}

impl ListCache {
    /// A cache in the directory that the options name; it is made when first needed.
    pub fn new(options: CacheOptions) -> Self {
        Self::on(options, Box::new(LocalDisk))
    }

    /// As [`Self::new`], on another disk.
    pub fn on(options: CacheOptions, disk: Box<dyn Disk>) -> Self {
        Self {
            options,
            disk,
            memory: TtlMap::new(CACHE_MEMORY_ENTRIES_MAX),
        }
    }

    /// Where the files are.
    pub fn directory(&self) -> &Path {
        &self.options.directory
    }

    /// The tools of a server. `fingerprint` stands for the server's configuration: a list that was
    /// stored under another one is a miss.
    pub fn get_tools(&self, server: &str, fingerprint: &str, now_ms: i64) -> Option<Cached> {
        self.get(Kind::Tools, server, fingerprint, now_ms)
    }

    /// Keeps the tools of a server, in memory and on disk.
    ///
    /// When the disk fails they are kept in memory all the same.
    pub fn store_tools(
        &self,
        server: &str,
        fingerprint: &str,
        tools: Vec<Box<RawValue>>,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        self.store_tools_for(server, fingerprint, tools, None, now_ms)
    }

    /// As [`Self::store_tools`], for tools that count as fresh for no longer than this.
    pub fn store_tools_for(
        &self,
        server: &str,
        fingerprint: &str,
        tools: Vec<Box<RawValue>>,
        fresh_ms: Option<i64>,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let list = Held {
            fresh_ms,
            ..Held::new(fingerprint, tools, now_ms)
        };
        self.store(Kind::Tools, server, list)
    }

    /// The registry's answer to a query. `fingerprint` stands for the registry.
    pub fn get_registry(&self, query: &str, fingerprint: &str, now_ms: i64) -> Option<Cached> {
        self.get(Kind::Registry, query, fingerprint, now_ms)
    }

    /// Keeps the registry's answer to a query, in memory and on disk.
    pub fn store_registry(
        &self,
        query: &str,
        fingerprint: &str,
        servers: Vec<Box<RawValue>>,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let list = Held::new(fingerprint, servers, now_ms);
        self.store(Kind::Registry, query, list)
    }

    /// Forgets everything and says how many files that were.
    pub fn clear(&self) -> Result<usize, StoreError> {
        self.memory.invalidate_all();
        let mut removed = 0;
        for (path, _) in self.files()? {
            if is_list(&path) {
                removed += usize::from(self.remove(&path)?);
            } else if is_made(&path) {
                self.remove(&path)?;
            }
        }
        self.clear_eras()?;
        Ok(removed)
    }

    /// Forgets the tools of one server; `false` when there were none on disk.
    pub fn clear_server(&self, server: &str) -> Result<bool, StoreError> {
        let name = file_name(Kind::Tools, server);
        self.memory.invalidate(&name);
        let path = self.options.directory.join(name);
        self.remove(&path.with_extension(made::EXTENSION))?;
        self.remove(&path)
    }

    /// Removes files that are too old to answer even as stale ones, and what crashes left behind;
    /// says how many.
    pub fn sweep(&self, now_ms: i64) -> Result<usize, StoreError> {
        self.memory.purge(now_ms);
        let mut removed = 0;
        for (path, stamp) in self.files()? {
            let age = now_ms.saturating_sub(stamp.modified_ms());
            let over = ((is_list(&path) || is_made(&path)) && age > CACHE_STALE_MS_MAX)
                || (is_leftover(&path) && age > CACHE_LEFTOVER_MS);
            if over {
                removed += usize::from(self.remove(&path)?);
            }
        }
        Ok(removed)
    }

    fn get(&self, kind: Kind, name: &str, fingerprint: &str, now_ms: i64) -> Option<Cached> {
        if !self.options.enabled {
            return None;
        }
        let key = file_name(kind, name);
        let path = self.options.directory.join(&key);
        // The file is looked at each time: another process may have replaced or cleared it.
        let stamp = self.disk.stamp(&path).ok();
        let held = match self.memory.get(&key, now_ms) {
            Some(held) if held.stamp == stamp => held,
            _ => {
                let held = self.read(kind, name, &path, stamp?)?;
                self.memory
                    .insert(key, held.clone(), Some(self.options.memory_ttl_ms), now_ms);
                held
            }
        };
        if *held.fingerprint != *fingerprint {
            return None;
        }
        Some(Cached {
            stale: self.staleness(kind, held.stored_ms, held.fresh_ms, now_ms)?,
            items: held.items,
            stored_ms: held.stored_ms,
            fresh_ms: held.fresh_ms,
        })
    }

    /// Whether a list of this time is older than its time to live; `None` for one that is too old to
    /// be used at all.
    fn staleness(
        &self,
        kind: Kind,
        stored_ms: i64,
        fresh_ms: Option<i64>,
        now_ms: i64,
    ) -> Option<bool> {
        let age = now_ms.saturating_sub(stored_ms);
        let ttl = self.options.ttl_ms(kind);
        let ttl = fresh_ms.map_or(ttl, |fresh| fresh.min(ttl));
        // A time in the future says nothing about age, so it counts as old.
        (age <= CACHE_STALE_MS_MAX).then(|| !(0..ttl).contains(&age))
    }

    fn read(&self, kind: Kind, name: &str, path: &Path, stamp: Stamp) -> Option<Held> {
        let bytes = self.disk.read(path, CACHE_FILE_BYTES_MAX).ok()?;
        let read: Read = serde_json::from_slice(&bytes).ok()?;
        let ours = read.toolcrib_cache == FORM && read.kind == kind && read.name == name;
        ours.then(|| Held {
            fingerprint: read.fingerprint.into(),
            items: read.items.into(),
            stored_ms: read.stored_ms,
            fresh_ms: read.fresh_ms,
            stamp: Some(stamp),
        })
    }

    fn store(&self, kind: Kind, name: &str, mut list: Held) -> Result<(), StoreError> {
        if !self.options.enabled {
            return Ok(());
        }
        let key = file_name(kind, name);
        let path = self.options.directory.join(&key);
        let written = self.write(&path, kind, name, &list);
        list.stamp = self.disk.stamp(&path).ok();
        let now_ms = list.stored_ms;
        self.memory
            .insert(key, list, Some(self.options.memory_ttl_ms), now_ms);
        written
    }

    fn write(&self, path: &Path, kind: Kind, name: &str, list: &Held) -> Result<(), StoreError> {
        let bytes = serde_json::to_vec(&Written {
            toolcrib_cache: FORM,
            kind,
            name,
            fingerprint: &list.fingerprint,
            stored_ms: list.stored_ms,
            fresh_ms: list.fresh_ms,
            items: &list.items,
        })
        .map_err(|error| StoreError::failed(error.to_string()))?;
        if bytes.len() as u64 > CACHE_FILE_BYTES_MAX {
            return Err(StoreError::TooLong {
                what: "A list for the cache",
                max: format!("{CACHE_FILE_BYTES_MAX} bytes"),
            });
        }
        self.disk
            .replace(path, &bytes)
            .map_err(|error| StoreError::from_io(path, &error))
    }

    fn files(&self) -> Result<Vec<(PathBuf, Stamp)>, StoreError> {
        let directory = &self.options.directory;
        self.disk
            .list(directory)
            .map_err(|error| StoreError::from_io(directory, &error))
    }

    fn remove(&self, path: &Path) -> Result<bool, StoreError> {
        self.disk
            .remove(path)
            .map_err(|error| StoreError::from_io(path, &error))
    }
}

impl std::fmt::Debug for ListCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ListCache")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

fn is_list(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| {
        let known = ["tools_", "registry_"];
        known.iter().any(|prefix| name.starts_with(prefix))
            && path
                .extension()
                .is_some_and(|extension| extension == "json")
    })
}

fn is_made(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == made::EXTENSION)
}

fn is_leftover(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| {
        name.starts_with(disk::TEMPORARY_PREFIX)
            && path.extension().is_some_and(|extension| extension == "tmp")
    })
}
