//! Whether a file is still the one that was looked at before, and where its changes show.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use toolcrib_core::limits;

/// What is known of a file without reading it. Two equal stamps of which the first is not
/// [young](Stamp::is_young): nothing was changed in between.
#[derive(Clone, Debug)]
pub struct Stamp {
    facts: Result<Facts, io::ErrorKind>,
    young: bool,
}

impl PartialEq for Stamp {
    fn eq(&self, other: &Self) -> bool {
        self.facts == other.facts
    }
}

/// How coarse the clock of a file system may be.
const CLOCK_STEP: Duration = Duration::from_millis(50);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Facts {
    bytes: u64,
    modified: Option<SystemTime>,
    identity: Identity,
}

/// Which file it is, however it is called, and when anything about it changed.
#[cfg(unix)]
type Identity = (u64, u64, i64, i64);
#[cfg(not(unix))]
type Identity = Option<SystemTime>;

impl Stamp {
    /// Looks at a file, following links. A file that is not there has a stamp as well.
    pub fn of(path: &Path) -> Self {
        let now = SystemTime::now();
        let facts = std::fs::metadata(path)
            .map(|metadata| Facts {
                bytes: metadata.len(),
                modified: metadata.modified().ok(),
                identity: identity(&metadata),
            })
            .map_err(|error| error.kind());
        let modified = facts.as_ref().ok().and_then(|facts| facts.modified);
        Self {
            young: modified.is_some_and(|at| at + CLOCK_STEP > now),
            facts,
        }
    }

    /// Whether the file had changed so shortly before that a further change could bear the same time.
    pub fn is_young(&self) -> bool {
        self.young
    }
}

/// Whether what the path leads to is certainly the same as it was at `then`: neither the file nor a directory on the
/// way was touched since. No where that cannot be told.
pub fn untouched_since(path: &Path, then: SystemTime) -> bool {
    let Some(limit) = then.checked_sub(CLOCK_STEP) else {
        return false;
    };
    let old = |metadata: &Metadata| touched(metadata).is_some_and(|at| at < limit);
    let file_is_old = match std::fs::metadata(path) {
        Ok(metadata) => old(&metadata),
        // It may have been there; the directory that held it says so.
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    let directories = directories(path);
    let is_old = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|metadata| old(&metadata));
    file_is_old && !directories.is_empty() && directories.iter().all(is_old)
}

/// When anything about a file last changed, its name included.
#[cfg(unix)]
fn touched(metadata: &Metadata) -> Option<SystemTime> {
    use std::os::unix::fs::MetadataExt;
    let since = Duration::new(
        u64::try_from(metadata.ctime()).ok()?,
        u32::try_from(metadata.ctime_nsec()).ok()?,
    );
    let changed = SystemTime::UNIX_EPOCH.checked_add(since)?;
    Some(changed.max(metadata.modified().ok()?))
}

#[cfg(not(unix))]
fn touched(_: &Metadata) -> Option<SystemTime> {
    None
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    (
        metadata.dev(),
        metadata.ino(),
        metadata.ctime(),
        metadata.ctime_nsec(),
    )
}

#[cfg(not(unix))]
fn identity(metadata: &Metadata) -> Identity {
    metadata.created().ok()
}

/// Which directory stands at a path now; another one under the same name has another identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryId {
    /// Where it lies on the disk, which the next directory may get as soon as it is gone.
    #[cfg(unix)]
    place: (u64, u64),
    /// When it came to be, where the file system says so.
    born: Option<SystemTime>,
}

impl DirectoryId {
    /// Looks at the path. `None`: there is no directory.
    pub fn of(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok().filter(Metadata::is_dir)?;
        #[cfg(unix)]
        let (device, inode, ..) = identity(&metadata);
        Some(Self {
            #[cfg(unix)]
            place: (device, inode),
            born: metadata.created().ok(),
        })
    }
}

/// The directories in which a change of an entry can change what the path leads to: the one that
/// holds the file, those that hold a link on the way, and where the way ends early the last one that
/// is there. A path that names a directory counts its entries as well.
pub fn directories(path: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let Ok(path) = std::path::absolute(path) else {
        return found;
    };
    let mut here = PathBuf::new();
    let mut ahead: Vec<PathBuf> = steps(&path);
    let mut links = 0;
    while let Some(step) = ahead.pop() {
        if step == Path::new("..") {
            here.pop();
            continue;
        }
        let next = here.join(&step);
        let Ok(metadata) = std::fs::symlink_metadata(&next) else {
            while !here.is_dir() && here.pop() {}
            found.insert(here);
            return found;
        };
        if metadata.is_symlink() {
            links += 1;
            found.insert(here.clone());
            let Ok(target) = std::fs::read_link(&next) else {
                return found;
            };
            if links > limits::RELOAD_LINKS_MAX {
                return found;
            }
            if target.is_absolute() {
                here = PathBuf::new();
            }
            ahead.extend(steps(&target));
        } else {
            if ahead.is_empty() {
                found.insert(here.clone());
            }
            here = next;
        }
    }
    if here.is_dir() {
        found.insert(here);
    }
    found
}

/// The components in the order in which they are popped.
fn steps(path: &Path) -> Vec<PathBuf> {
    path.components()
        .rev()
        .filter(|c| *c != Component::CurDir)
        .map(|c| PathBuf::from(c.as_os_str()))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn check(root: &Path, path: &str, expected: &[&str]) {
        let found: Vec<_> = directories(&root.join(path))
            .into_iter()
            .map(|dir| dir.strip_prefix(root).unwrap().display().to_string())
            .collect();
        assert_eq!(found, expected, "{path}");
    }

    fn root() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        (dir, root)
    }

    #[test]
    fn a_path_is_untouched_where_neither_file_nor_directory_changed() {
        let (_dir, root) = root();
        fs::create_dir(root.join("a")).unwrap();
        fs::write(root.join("a/x"), "").unwrap();
        let (past, future) = (SystemTime::UNIX_EPOCH, SystemTime::now() + CLOCK_STEP * 100);
        for path in ["a/x", "a/missing", "a/b/missing"] {
            assert!(untouched_since(&root.join(path), future), "{path}");
            let written = SystemTime::now();
            for then in [past, written] {
                assert!(!untouched_since(&root.join(path), then), "{path}");
            }
        }
        // The file stays as it is; its directory tells that another was there.
        let (old, later) = (root.join("a/old"), SystemTime::now() + CLOCK_STEP * 2);
        fs::write(&old, "").unwrap();
        std::thread::sleep(CLOCK_STEP * 3);
        fs::rename(&old, root.join("a/x")).unwrap();
        assert!(!untouched_since(&root.join("a/x"), later));
    }

    #[test]
    fn the_directory_of_a_file_is_watched_whether_the_file_is_there_or_not() {
        let (_dir, root) = root();
        fs::create_dir(root.join("a")).unwrap();
        fs::write(root.join("a/x"), "").unwrap();
        check(&root, "a/x", &["a"]);
        check(&root, "a/missing", &["a"]);
        check(&root, "a/b/c/missing", &["a"]);
        check(&root, "a/../a/x", &["a"]);
        check(&root, "a/x/below-a-file", &["a"]);
        check(&root, "a", &["", "a"]);
    }

    #[cfg(unix)]
    #[test]
    fn every_link_on_the_way_is_watched() {
        use std::os::unix::fs::symlink;
        let (_dir, root) = root();
        for dir in ["conf", "v1", "elsewhere"] {
            fs::create_dir(root.join(dir)).unwrap();
        }
        fs::write(root.join("v1/x"), "").unwrap();
        symlink("../v1", root.join("conf/data")).unwrap();
        symlink("data/x", root.join("conf/x")).unwrap();
        symlink(root.join("conf/x"), root.join("elsewhere/y")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        symlink("nowhere/z", root.join("broken")).unwrap();
        check(&root, "conf/x", &["conf", "v1"]);
        check(&root, "elsewhere/y", &["conf", "elsewhere", "v1"]);
        check(&root, "loop", &[""]);
        check(&root, "broken", &[""]);
    }

    #[test]
    fn a_stamp_changes_with_the_file() {
        let (_dir, root) = root();
        let path = root.join("x");
        let absent = Stamp::of(&path);
        fs::write(&path, "one").unwrap();
        let first = Stamp::of(&path);
        assert!(first.is_young() && !absent.is_young());
        assert_ne!(absent, first);
        assert_eq!(first, Stamp::of(&path));
        fs::write(root.join("y"), "two").unwrap();
        fs::rename(root.join("y"), &path).unwrap();
        let replaced = Stamp::of(&path);
        assert_ne!(first, replaced);
        fs::write(&path, "three").unwrap();
        assert_ne!(replaced, Stamp::of(&path));
        let hour_ago = SystemTime::now() - Duration::from_hours(1);
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(hour_ago)
            .unwrap();
        assert!(!Stamp::of(&path).is_young());
        fs::remove_file(&path).unwrap();
        assert_eq!(absent, Stamp::of(&path));
    }
}
