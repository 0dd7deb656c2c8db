//! Noticing that a file changed.
//!
//! Directories are watched, not files: editors replace a file by renaming another over it, and a file
//! that is not there yet has nothing to watch. An event only says that it is time to look; whether
//! something changed is decided by comparing [`Stamp`]s, so that noise in a busy directory costs a
//! few `stat` calls and never a reload, and an event that never came costs only time.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use notify::event::{AccessKind, AccessMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use toolcrib_core::limits;

use super::stamp::{DirectoryId, Stamp, directories, untouched_since};
use super::{Cause, Requests};

/// Asks for a reload whenever one of the files changed, until the token is cancelled. While
/// `switched_on` says no, changes are passed over. The files as they were at `read_at` are in place already.
pub async fn run(
    mut files: watch::Receiver<Vec<PathBuf>>,
    read_at: SystemTime,
    requests: Requests,
    switched_on: impl Fn() -> bool,
    ending: CancellationToken,
) {
    let woken = Arc::new(Notify::new());
    let mut lookout = Lookout::new(Arc::clone(&woken), read_at);
    loop {
        let list = files.borrow_and_update().clone();
        let first = lookout.read_at.is_some();
        let looked = tokio::task::spawn_blocking(move || {
            let change = lookout.look(&list);
            (lookout, change)
        });
        let Ok((back, change)) = looked.await else {
            tracing::error!("watching the configuration files ended; use config reload");
            return;
        };
        lookout = back;
        match change {
            Some(cause) if switched_on() => requests.ask(cause),
            None if first => requests.note_untouched(),
            _ => {}
        }
        tokio::select! {
            () = ending.cancelled() => return,
            changed = files.changed() => if changed.is_err() { return },
            () = woken.notified() => come_to_rest(&woken).await,
            () = tokio::time::sleep(lookout.interval()) => {}
        }
    }
}

/// Waits until events stop coming: a file is often written in several steps.
async fn come_to_rest(woken: &Notify) {
    let quiet = Duration::from_millis(limits::RELOAD_DEBOUNCE_MS);
    let rest = async { while tokio::time::timeout(quiet, woken.notified()).await.is_ok() {} };
    let longest = Duration::from_millis(limits::RELOAD_DEBOUNCE_TOTAL_MS_MAX);
    let _ = tokio::time::timeout(longest, rest).await;
}

/// The directories under watch and the files as they were when last looked at.
struct Lookout {
    watcher: Option<RecommendedWatcher>,
    watched: HashMap<PathBuf, DirectoryId>,
    seen: HashMap<PathBuf, Stamp>,
    blind: bool,
    /// When the files that the first look finds were read.
    read_at: Option<SystemTime>,
}

impl Lookout {
    fn new(woken: Arc<Notify>, read_at: SystemTime) -> Self {
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|event| is_noise(event.kind)) {
                return;
            }
            woken.notify_one();
        });
        Self {
            watcher: watcher.ok(),
            watched: HashMap::new(),
            seen: HashMap::new(),
            blind: false,
            read_at: Some(read_at),
        }
    }

    /// How long to go on without an event before looking all the same.
    fn interval(&self) -> Duration {
        Duration::from_millis(if self.blind {
            limits::RELOAD_POLL_MS
        } else {
            limits::RELOAD_RECHECK_MS
        })
    }

    /// Watches what there is to watch, and says whether a file changed since the last look
    /// ([`Cause::File`]), or may have changed unseen ([`Cause::Recheck`]) because it is looked at for
    /// the first time and was touched since it was read, or had just changed when it was looked at.
    fn look(&mut self, files: &[PathBuf]) -> Option<Cause> {
        if files.len() > limits::RELOAD_FILES_MAX {
            tracing::warn!(
                files = files.len(),
                watched = limits::RELOAD_FILES_MAX,
                "too many configuration files to watch them all; use config reload"
            );
        }
        let files = &files[..files.len().min(limits::RELOAD_FILES_MAX)];
        // First watch, then look: what changes in between wakes us again.
        self.watch(files);
        if self.seen.len() > 2 * limits::RELOAD_FILES_MAX {
            self.seen.retain(|path, _| files.contains(path));
        }
        let read_at = self.read_at.take();
        let (mut changed, mut fresh) = (false, false);
        for path in files {
            let stamp = Stamp::of(path);
            match self.seen.insert(path.clone(), stamp.clone()) {
                Some(before) => {
                    changed |= before != stamp;
                    fresh |= before.is_young();
                }
                None => fresh |= read_at.is_none_or(|at| !untouched_since(path, at)),
            }
        }
        if changed {
            Some(Cause::File)
        } else {
            fresh.then_some(Cause::Recheck)
        }
    }

    /// Brings the watched directories in line with the files.
    fn watch(&mut self, files: &[PathBuf]) {
        let Some(mut watcher) = self.watcher.take() else {
            warn_blind(self.blind, None);
            self.blind = true;
            return;
        };
        // On the way to a file a directory may have come to be while the one above it was not yet watched, and
        // nobody will tell of it. So the way is gone again until nothing new is found on it.
        for _ in 0..limits::RELOAD_WATCH_ROUNDS_MAX {
            if !self.watch_once(&mut watcher, files) {
                break;
            }
        }
        self.watcher = Some(watcher);
    }

    /// Watches the directories that are on the way to the files now; says whether one is new.
    fn watch_once(&mut self, watcher: &mut dyn Watcher, files: &[PathBuf]) -> bool {
        let wanted: BTreeSet<PathBuf> = files.iter().flat_map(|f| directories(f)).collect();
        let was_blind = self.blind;
        self.watched.retain(|path, identity| {
            // A directory that was replaced has another identity under the same name.
            let keep = wanted.contains(path) && DirectoryId::of(path) == Some(*identity);
            if !keep {
                let _ = watcher.unwatch(path);
            }
            keep
        });
        let (mut new, mut failed) = (false, None);
        for path in wanted {
            let Some(identity) = DirectoryId::of(&path) else {
                continue;
            };
            if self.watched.contains_key(&path) {
                continue;
            }
            match watcher.watch(&path, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.watched.insert(path, identity);
                    new = true;
                }
                Err(error) => failed = Some((path, error)),
            }
        }
        self.blind = failed.is_some();
        if let Some((path, error)) = failed {
            warn_blind(was_blind, Some((&path, &error)));
        }
        new
    }
}

/// Whether an event says only that someone looked.
fn is_noise(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
        EventKind::Access(_) => true,
        _ => false,
    }
}

/// Says once that files are looked at from time to time instead of being watched.
fn warn_blind(already: bool, failed: Option<(&Path, &notify::Error)>) {
    if already {
        return;
    }
    let (path, reason) = failed.map_or((None, None), |(path, error)| {
        (Some(path.display().to_string()), Some(error.to_string()))
    });
    tracing::warn!(
        path,
        reason,
        every_ms = limits::RELOAD_POLL_MS,
        "the system does not watch all configuration files; they are looked at from time to time"
    );
}

#[cfg(test)]
mod tests;
