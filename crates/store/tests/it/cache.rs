//! Tool lists and registry answers on disk.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use serde_json::value::RawValue;
use toolcrib_core::limits::{CACHE_STALE_MS_MAX, REGISTRY_CACHE_TTL_MS, TOOL_CACHE_TTL_MS};
use toolcrib_store::StoreError;
use toolcrib_store::cache::{CacheOptions, Cached, Disk, ListCache, LocalDisk, Stamp};

use crate::fixture::NOW;

const TOOLS: [&str; 2] = [
    r#"{ "name":"a",  "n": 1.0, "inputSchema":{"type":"object"} }"#,
    r#"{"name":"b","x-unknown":[1e2,"ü\u00fc"]}"#,
];

fn raw(texts: &[&str]) -> Vec<Box<RawValue>> {
    texts
        .iter()
        .map(|text| RawValue::from_string((*text).to_owned()).unwrap())
        .collect()
}

fn texts(cached: Option<Cached>) -> Option<Vec<String>> {
    cached.map(|cached| {
        cached
            .items
            .iter()
            .map(|item| item.get().to_owned())
            .collect()
    })
}

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("cache")
    }

    /// The cache, as a process of its own would open it.
    fn open(&self) -> ListCache {
        ListCache::new(CacheOptions::new(self.path()))
    }

    fn files(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.path()) else {
            return Vec::new();
        };
        let names = entries.map(|e| e.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }
}

#[test]
fn lists_come_back_byte_for_byte_in_this_process_and_the_next() {
    let place = Place::new();
    let cache = place.open();
    assert!(cache.get_tools("gh", "f", NOW).is_none());
    cache.store_tools("gh", "f", raw(&TOOLS), NOW).unwrap();
    cache
        .store_registry("send mail", "f", raw(&TOOLS[1..]), NOW)
        .unwrap();
    for cache in [cache, place.open()] {
        assert_eq!(texts(cache.get_tools("gh", "f", NOW)).unwrap(), TOOLS);
        let answer = texts(cache.get_registry("send mail", "f", NOW)).unwrap();
        assert_eq!(answer, TOOLS[1..]);
        assert!(cache.get_registry("gh", "f", NOW).is_none());
    }
    let files = place.files();
    assert_eq!(files.len(), 2);
    assert!(files[0].starts_with("registry_send_mail_"), "{files:?}");
    assert_eq!(files[1], "tools_gh.json");
}

#[cfg(unix)]
#[test]
fn files_are_for_their_owner_only_and_others_files_are_not_read() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    place
        .open()
        .store_tools("gh", "f", raw(&TOOLS), NOW)
        .unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let file = place.path().join("tools_gh.json");
    assert_eq!((mode(&place.path()), mode(&file)), (0o700, 0o600));

    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(place.open().get_tools("gh", "f", NOW).is_none());
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert!(place.open().get_tools("gh", "f", NOW).is_some());
    std::os::unix::fs::symlink(&file, place.path().join("tools_link.json")).unwrap();
    assert!(place.open().get_tools("link", "f", NOW).is_none());
}

#[test]
fn a_list_is_fresh_for_no_longer_than_its_server_says() {
    let place = Place::new();
    let cache = place.open();
    let keep = |fresh_ms| {
        cache
            .store_tools_for("gh", "f", raw(&TOOLS), fresh_ms, NOW)
            .unwrap();
        assert!(cache.store_made("gh", "f", NOW, b"made", NOW).unwrap());
    };
    let check = |age: i64, stale: bool| {
        let now = NOW + age;
        for cache in [&cache, &place.open()] {
            assert_eq!(
                cache.get_tools("gh", "f", now).unwrap().stale,
                stale,
                "{age}"
            );
            assert_eq!(
                cache.get_made("gh", "f", now).unwrap().stale,
                stale,
                "{age}"
            );
            assert_eq!(cache.inventory(now).unwrap()[0].stale, stale, "{age}");
        }
    };
    keep(Some(5_000));
    check(4_999, false);
    check(5_000, true);
    let made = place.open().get_made("gh", "f", NOW).unwrap();
    assert_eq!(made.fresh_ms, Some(5_000));
    // It cannot be longer than the cache keeps any.
    keep(Some(i64::MAX));
    check(TOOL_CACHE_TTL_MS - 1, false);
    check(TOOL_CACHE_TTL_MS, true);
}

#[test]
fn old_lists_are_stale_and_very_old_ones_are_gone() {
    let place = Place::new();
    let cache = place.open();
    cache.store_tools("gh", "f", raw(&TOOLS), NOW).unwrap();
    cache.store_registry("q", "f", raw(&TOOLS), NOW).unwrap();
    let stale = |cached: Option<Cached>| cached.map(|cached| cached.stale);
    for (age, tools, registry) in [
        (0, Some(false), Some(false)),
        (REGISTRY_CACHE_TTL_MS - 1, Some(false), Some(false)),
        (REGISTRY_CACHE_TTL_MS, Some(false), Some(true)),
        (TOOL_CACHE_TTL_MS - 1, Some(false), Some(true)),
        (TOOL_CACHE_TTL_MS, Some(true), Some(true)),
        (CACHE_STALE_MS_MAX, Some(true), Some(true)),
        (CACHE_STALE_MS_MAX + 1, None, None),
        (-1, Some(true), Some(true)),
    ] {
        for cache in [&cache, &place.open()] {
            let now = NOW + age;
            assert_eq!(stale(cache.get_tools("gh", "f", now)), tools, "{age}");
            assert_eq!(stale(cache.get_registry("q", "f", now)), registry, "{age}");
        }
    }
}

#[test]
fn a_list_of_another_configuration_is_a_miss() {
    let place = Place::new();
    let cache = place.open();
    cache.store_tools("gh", "one", raw(&TOOLS), NOW).unwrap();
    assert!(cache.get_tools("gh", "two", NOW).is_none());
    assert!(cache.get_tools("gh", "one", NOW).is_some());
}

#[test]
fn a_cache_that_is_off_keeps_nothing() {
    let place = Place::new();
    let mut options = CacheOptions::new(place.path());
    options.enabled = false;
    let off = ListCache::new(options);
    place
        .open()
        .store_tools("gh", "f", raw(&TOOLS), NOW)
        .unwrap();
    off.store_tools("other", "f", raw(&TOOLS), NOW).unwrap();
    assert!(off.get_tools("gh", "f", NOW).is_none());
    assert!(off.get_tools("other", "f", NOW).is_none());
    assert_eq!(place.files(), ["tools_gh.json"]);
}

#[test]
fn what_one_process_stores_or_clears_the_other_sees() {
    let place = Place::new();
    let (one, two) = (place.open(), place.open());
    one.store_tools("gh", "f", raw(&TOOLS), NOW).unwrap();
    assert_eq!(texts(two.get_tools("gh", "f", NOW)).unwrap().len(), 2);
    one.store_tools("gh", "f", raw(&TOOLS[..1]), NOW).unwrap();
    assert_eq!(texts(two.get_tools("gh", "f", NOW)).unwrap().len(), 1);
    one.store_registry("q", "f", raw(&TOOLS), NOW).unwrap();
    one.store_tools("gl", "f", raw(&TOOLS), NOW).unwrap();
    assert!(two.clear_server("gh").unwrap());
    assert!(!two.clear_server("gh").unwrap());
    assert!(one.get_tools("gh", "f", NOW).is_none());
    assert!(one.get_tools("gl", "f", NOW).is_some());

    let foreign = place.path().join("notes.txt");
    std::fs::write(&foreign, "mine").unwrap();
    assert_eq!(two.clear().unwrap(), 2);
    assert!(one.get_registry("q", "f", NOW).is_none());
    assert_eq!(place.files(), ["notes.txt"], "only our files are cleared");
    assert_eq!(Place::new().open().clear().unwrap(), 0);
}

#[test]
fn a_sweep_removes_what_is_too_old_and_what_crashes_left() {
    let place = Place::new();
    let cache = place.open();
    cache.store_tools("gh", "f", raw(&TOOLS), NOW).unwrap();
    std::fs::write(place.path().join(".toolcrib-x.tmp"), "half").unwrap();
    std::fs::write(place.path().join("other.tmp"), "not ours").unwrap();
    let modified = place.path().join("tools_gh.json").metadata().unwrap();
    let modified = modified.modified().unwrap();
    let modified = modified.duration_since(std::time::UNIX_EPOCH).unwrap();
    let written = i64::try_from(modified.as_millis()).unwrap();
    assert_eq!(cache.sweep(written + 1_000).unwrap(), 0);
    assert_eq!(cache.sweep(written + 2 * 3_600_000).unwrap(), 1);
    assert_eq!(cache.sweep(written + CACHE_STALE_MS_MAX + 1).unwrap(), 1);
    assert_eq!(place.files(), ["other.tmp"]);
}

#[test]
fn a_directory_that_cannot_be_used_is_an_error_and_memory_goes_on() {
    let place = Place::new();
    std::fs::write(place.path(), "in the way").unwrap();
    let cache = place.open();
    let error = cache.store_tools("gh", "f", raw(&TOOLS), NOW).unwrap_err();
    assert!(error.to_string().contains("tools_gh.json"), "{error}");
    assert_eq!(texts(cache.get_tools("gh", "f", NOW)).unwrap(), TOOLS);
    assert!(cache.clear().is_err());
    assert!(cache.sweep(NOW).is_err());
}

#[test]
fn every_beginning_of_a_file_is_a_miss() {
    let place = Place::new();
    place
        .open()
        .store_tools("gh", "f", raw(&TOOLS), NOW)
        .unwrap();
    let path = place.path().join("tools_gh.json");
    let whole = std::fs::read(&path).unwrap();
    for end in 0..whole.len() {
        std::fs::write(&path, &whole[..end]).unwrap();
        assert!(place.open().get_tools("gh", "f", NOW).is_none(), "{end}");
    }
    std::fs::write(&path, &whole).unwrap();
    assert!(place.open().get_tools("gh", "f", NOW).is_some());
    for (from, to) in [
        ("\"toolcrib_cache\":1", "\"toolcrib_cache\":2"),
        ("\"tools\"", "\"registry\""),
        ("\"gh\"", "\"gl\""),
    ] {
        let text = String::from_utf8(whole.clone()).unwrap();
        std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
        assert!(place.open().get_tools("gh", "f", NOW).is_none(), "{to}");
    }
}

proptest! {
    #[test]
    fn no_damage_makes_a_wrong_answer(place in 0_usize..400, byte in any::<u8>()) {
        let home = Place::new();
        home.open().store_tools("gh", "f", raw(&TOOLS), NOW).unwrap();
        let path = home.path().join("tools_gh.json");
        let mut bytes = std::fs::read(&path).unwrap();
        let place = place % bytes.len();
        bytes[place] = byte;
        std::fs::write(&path, &bytes).unwrap();
        if let Some(items) = texts(home.open().get_tools("gh", "f", NOW)) {
            for item in items {
                prop_assert!(serde_json::from_str::<serde_json::Value>(&item).is_ok());
            }
        }
    }
}

/// A disk whose n-th call fails.
struct Faulty {
    calls: Arc<AtomicUsize>,
    fail_at: usize,
}

impl Faulty {
    fn step(&self) -> io::Result<LocalDisk> {
        if self.calls.fetch_add(1, Ordering::SeqCst) == self.fail_at {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(LocalDisk)
    }
}

impl Disk for Faulty {
    fn stamp(&self, path: &Path) -> io::Result<Stamp> {
        self.step()?.stamp(path)
    }
    fn read(&self, path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
        self.step()?.read(path, bytes_max)
    }
    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.step()?.replace(path, bytes)
    }
    fn remove(&self, path: &Path) -> io::Result<bool> {
        self.step()?.remove(path)
    }
    fn list(&self, directory: &Path) -> io::Result<Vec<(PathBuf, Stamp)>> {
        self.step()?.list(directory)
    }
}

#[test]
fn whichever_call_to_the_disk_fails_the_cache_stays_right() {
    let mut failures = 0;
    for fail_at in 0.. {
        let place = Place::new();
        let calls = Arc::new(AtomicUsize::new(0));
        let disk = Faulty {
            calls: Arc::clone(&calls),
            fail_at,
        };
        let cache = ListCache::on(CacheOptions::new(place.path()), Box::new(disk));
        let mut full = 0;
        let mut note = |result: Result<(), StoreError>| match result {
            Ok(()) => {}
            Err(StoreError::Full) => full += 1,
            Err(other) => panic!("{other}"),
        };
        for version in 1..3 {
            note(cache.store_tools("gh", "f", raw(&TOOLS[..version]), NOW));
            let seen = texts(cache.get_tools("gh", "f", NOW));
            assert!(seen.is_none_or(|seen| seen == TOOLS[..version]));
        }
        note(cache.store_registry("q", "f", raw(&TOOLS), NOW));
        note(cache.sweep(NOW).map(drop));
        note(cache.clear_server("gh").map(drop));
        note(cache.clear().map(drop));
        assert!(full <= 1);
        failures += full;
        // Whatever failed, another process sees whole lists or none.
        let seen = texts(place.open().get_tools("gh", "f", NOW));
        assert!(seen.is_none_or(|seen| seen == TOOLS[..seen.len()]));
        if calls.load(Ordering::SeqCst) <= fail_at {
            println!("file cache: {fail_at} calls, each failed once, {failures} reported");
            break;
        }
    }
    assert!(failures >= 6);
}

#[test]
fn two_writers_and_a_reader_never_see_half_a_list() {
    let place = Place::new();
    let (a, b): (Vec<_>, Vec<_>) = (
        (0..50).map(|n| format!("{{\"a\":{n}}}")).collect(),
        (0..60).map(|n| format!("{{\"b\":{n}}}")).collect(),
    );
    std::thread::scope(|scope| {
        for list in [&a, &b] {
            let cache = place.open();
            scope.spawn(move || {
                let list: Vec<_> = list.iter().map(String::as_str).collect();
                for _ in 0..100 {
                    cache.store_tools("gh", "f", raw(&list), NOW).unwrap();
                }
            });
        }
        for _ in 0..200 {
            if let Some(seen) = texts(place.open().get_tools("gh", "f", NOW)) {
                assert!(seen == a || seen == b);
            }
        }
    });
    assert_eq!(place.files(), ["tools_gh.json"]);
}

#[test]
fn what_is_kept_can_be_looked_at() {
    let place = Place::new();
    let cache = place.open();
    assert_eq!(cache.inventory(NOW).unwrap(), []);
    cache.store_registry("x", "r", raw(&["1"]), NOW).unwrap();
    for server in ["b", "a/c"] {
        cache.store_tools(server, "f", raw(&TOOLS), NOW).unwrap();
    }
    std::fs::write(place.path().join("tools_damaged.json"), "{").unwrap();
    std::fs::write(place.path().join("notes.txt"), "mine").unwrap();
    let later = NOW + REGISTRY_CACHE_TTL_MS;
    let shown: Vec<_> = cache
        .inventory(later)
        .unwrap()
        .into_iter()
        .map(|kept| (kept.name, kept.items, kept.stale, kept.bytes > 20))
        .collect();
    assert_eq!(
        shown,
        [
            ("a/c".to_owned(), 2, false, true),
            ("b".to_owned(), 2, false, true),
            ("x".to_owned(), 1, true, true),
        ]
    );
}
