use std::fs;

use super::*;
use crate::reload::fixture::{Files, Lines, Running, start};
use crate::reload::live::Changes;

/// A directory, a process that watches files in it, and what it saw.
struct Scene {
    root: PathBuf,
    running: Running<Files>,
    changes: Changes<Lines>,
    _dir: tempfile::TempDir,
}

/// A scene with files; the first name is that of the configuration.
async fn scene(path: &str, prepare: impl FnOnce(&Path)) -> Scene {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    prepare(&root);
    let running = start(Files(vec![root.join(path)]), true);
    // The recheck that follows the first look says that everything is being watched by now.
    wait(|| running.requests.last().is_some()).await;
    Scene {
        changes: running.live.changes(),
        root,
        running,
        _dir: dir,
    }
}

impl Scene {
    /// Waits until the configuration in place is this one.
    async fn becomes(&mut self, expected: &[(&str, &str)]) {
        let expected: Lines = expected
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
            .collect();
        let limit = Duration::from_secs(20);
        tokio::time::timeout(limit, async {
            while self.running.live.current().config != expected {
                self.changes.next().await;
            }
        })
        .await
        .unwrap_or_else(|_| panic!("not seen: {expected:?}"));
    }
}

/// Waits for a condition that nothing announces.
async fn wait(condition: impl Fn() -> bool) {
    let limit = Duration::from_secs(20);
    tokio::time::timeout(limit, async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .expect("the condition never held");
}

#[tokio::test]
async fn a_file_written_in_place_or_replaced_by_rename_is_noticed() {
    let mut scene = scene("x", |root| fs::write(root.join("x"), "a=1").unwrap()).await;
    fs::write(scene.root.join("x"), "a=2").unwrap();
    scene.becomes(&[("a", "2")]).await;
    for version in ["3", "4"] {
        let temporary = scene.root.join("x.tmp");
        fs::write(&temporary, format!("a={version}")).unwrap();
        fs::rename(&temporary, scene.root.join("x")).unwrap();
        scene.becomes(&[("a", version)]).await;
    }
    fs::remove_file(scene.root.join("x")).unwrap();
    scene.becomes(&[]).await;
}

#[tokio::test]
async fn a_file_in_directories_that_do_not_exist_yet_is_noticed() {
    let mut scene = scene("one/two/x", |_| {}).await;
    fs::create_dir(scene.root.join("one")).unwrap();
    fs::create_dir(scene.root.join("one/two")).unwrap();
    fs::write(scene.root.join("one/two/x"), "a=1").unwrap();
    scene.becomes(&[("a", "1")]).await;
    fs::write(scene.root.join("one/two/x"), "a=2").unwrap();
    scene.becomes(&[("a", "2")]).await;
}

#[tokio::test]
async fn a_directory_that_is_replaced_is_watched_again() {
    let mut scene = scene("dir/x", |root| {
        fs::create_dir(root.join("dir")).unwrap();
        fs::write(root.join("dir/x"), "a=1").unwrap();
    })
    .await;
    fs::rename(scene.root.join("dir"), scene.root.join("old")).unwrap();
    scene.becomes(&[]).await;
    fs::create_dir(scene.root.join("dir")).unwrap();
    fs::write(scene.root.join("dir/x"), "a=2").unwrap();
    scene.becomes(&[("a", "2")]).await;
    fs::write(scene.root.join("dir/x"), "a=3").unwrap();
    scene.becomes(&[("a", "3")]).await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_that_is_pointed_elsewhere_and_the_file_behind_it_are_noticed() {
    use std::os::unix::fs::symlink;
    let mut scene = scene("conf/x", |root| {
        for dir in ["conf", "v1", "v2"] {
            fs::create_dir(root.join(dir)).unwrap();
        }
        fs::write(root.join("v1/x"), "a=1").unwrap();
        fs::write(root.join("v2/x"), "a=2").unwrap();
        symlink("../v1", root.join("conf/data")).unwrap();
        symlink("data/x", root.join("conf/x")).unwrap();
    })
    .await;
    symlink("../v2", scene.root.join("conf/new")).unwrap();
    fs::rename(scene.root.join("conf/new"), scene.root.join("conf/data")).unwrap();
    scene.becomes(&[("a", "2")]).await;
    fs::write(scene.root.join("v2/x"), "a=3").unwrap();
    scene.becomes(&[("a", "3")]).await;
}

#[tokio::test]
async fn a_file_that_another_one_names_is_watched_from_then_on() {
    let mut scene = scene("x", |root| fs::write(root.join("x"), "a=1").unwrap()).await;
    let other = scene.root.join("elsewhere");
    fs::create_dir(&other).unwrap();
    fs::write(
        scene.root.join("x"),
        format!("a=1\nalso={}", other.join("y").display()),
    )
    .unwrap();
    fs::write(other.join("y"), "b=1").unwrap();
    scene.becomes(&[("a", "1"), ("b", "1")]).await;
    fs::write(other.join("y"), "b=2").unwrap();
    scene.becomes(&[("a", "1"), ("b", "2")]).await;
}

/// A watcher that comes too late: when it begins to watch a directory, the next one is in it already.
struct Late(Vec<PathBuf>);

impl Watcher for Late {
    fn new<F: notify::EventHandler>(_: F, _: notify::Config) -> notify::Result<Self> {
        Ok(Self(Vec::new()))
    }

    fn watch(&mut self, _: &Path, _: RecursiveMode) -> notify::Result<()> {
        self.0.pop().map_or(Ok(()), fs::create_dir)?;
        Ok(())
    }

    fn unwatch(&mut self, _: &Path) -> notify::Result<()> {
        Ok(())
    }

    fn kind() -> notify::WatcherKind {
        notify::WatcherKind::NullWatcher
    }
}

#[test]
fn a_directory_that_comes_to_be_while_the_one_above_is_not_yet_watched_is_watched() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let (one, two) = (root.join("one"), root.join("one/two"));
    let mut lookout = Lookout::new(Arc::default(), SystemTime::UNIX_EPOCH);
    let mut late = Late(vec![two.clone(), one]);
    let files = [two.join("x")];
    let mut rounds = 1;
    while lookout.watch_once(&mut late, &files) {
        rounds += 1;
    }
    assert_eq!(
        rounds, 4,
        "one for each directory, and one that finds no more"
    );
    let watched: Vec<_> = lookout.watched.keys().collect();
    assert_eq!(watched, [&two]);
}

#[test]
fn noise_in_a_watched_directory_is_not_a_change() {
    let dir = tempfile::tempdir().unwrap();
    let files = [dir.path().join("x")];
    let mut lookout = Lookout::new(Arc::default(), SystemTime::UNIX_EPOCH);
    assert_eq!(lookout.look(&files), Some(Cause::Recheck));
    fs::write(dir.path().join("other"), "").unwrap();
    assert_eq!(lookout.look(&files), None);
    fs::write(&files[0], "").unwrap();
    assert_eq!(lookout.look(&files), Some(Cause::File));
    // It had just changed: a second change could have left the same traces.
    assert_eq!(lookout.look(&files), Some(Cause::Recheck));
}

#[test]
fn what_was_not_touched_since_it_was_read_is_not_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let files = [dir.path().join("x"), dir.path().join("missing")];
    fs::write(&files[0], "").unwrap();
    let later = SystemTime::now() + Duration::from_mins(1);
    let mut lookout = Lookout::new(Arc::default(), later);
    assert_eq!(lookout.look(&files), None);
    // What is first heard of later may have changed since it was read.
    let more = [files[0].clone(), dir.path().join("other")];
    assert_eq!(lookout.look(&more), Some(Cause::Recheck));
}

#[test]
fn without_a_watcher_files_are_looked_at_more_often() {
    let dir = tempfile::tempdir().unwrap();
    let files = [dir.path().join("x")];
    let mut lookout = Lookout::new(Arc::default(), SystemTime::UNIX_EPOCH);
    lookout.look(&files);
    assert_eq!(
        lookout.interval(),
        Duration::from_millis(limits::RELOAD_RECHECK_MS)
    );
    lookout.watcher = None;
    fs::write(&files[0], "").unwrap();
    assert_eq!(lookout.look(&files), Some(Cause::File));
    assert_eq!(
        lookout.interval(),
        Duration::from_millis(limits::RELOAD_POLL_MS)
    );
}

#[test]
fn more_files_than_the_limit_are_watched_up_to_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    let files: Vec<_> = (0..=limits::RELOAD_FILES_MAX)
        .map(|n| dir.path().join(n.to_string()))
        .collect();
    let mut lookout = Lookout::new(Arc::default(), SystemTime::UNIX_EPOCH);
    lookout.look(&files);
    assert_eq!(lookout.seen.len(), limits::RELOAD_FILES_MAX);
}

#[test]
fn looking_is_noise_and_writing_is_not() {
    use notify::event::{CreateKind, ModifyKind};
    for (kind, noise) in [
        (EventKind::Access(AccessKind::Open(AccessMode::Any)), true),
        (EventKind::Access(AccessKind::Close(AccessMode::Read)), true),
        (
            EventKind::Access(AccessKind::Close(AccessMode::Write)),
            false,
        ),
        (EventKind::Modify(ModifyKind::Any), false),
        (EventKind::Create(CreateKind::Any), false),
        (EventKind::Any, false),
    ] {
        assert_eq!(is_noise(kind), noise, "{kind:?}");
    }
}
