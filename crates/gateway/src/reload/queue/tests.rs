use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use proptest::prelude::*;

use super::*;
use toolcrib_config::Difference;

use crate::reload::fixture::{Files, start};

#[tokio::test]
async fn a_broken_file_keeps_the_running_configuration_until_it_is_repaired() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    fs::write(&path, "a=1").unwrap();
    let running = start(Files(vec![path.clone()]), false);

    fs::write(&path, "a=1\nbroken").unwrap();
    let report = running.requests.reload(Cause::Request).await.unwrap();
    let Outcome::Refused { error } = &report.outcome else {
        panic!("{report:?}")
    };
    assert_eq!(error.to_string(), "broken has no =");
    assert_eq!(report.generation, 1);
    assert_eq!(running.live.current().config, [("a".into(), "1".into())]);
    assert_eq!(running.requests.last().unwrap(), report);

    fs::write(&path, "a=2\nb=1").unwrap();
    let report = running.requests.reload(Cause::Request).await.unwrap();
    let Outcome::Applied { difference } = &report.outcome else {
        panic!("{report:?}")
    };
    assert_eq!(difference.changed.names, ["a"]);
    assert_eq!(difference.added.names, ["b"]);
    assert_eq!((report.generation, running.live.current().number), (2, 2));
    assert_eq!(running.live.current().difference.added, ["b"]);
}

#[tokio::test]
async fn the_same_configuration_again_is_not_a_new_generation() {
    let running = start(Files(vec![]), false);
    let report = running.requests.reload(Cause::Signal).await.unwrap();
    assert_eq!(
        (&report.outcome, report.generation),
        (&Outcome::Unchanged, 1)
    );
}

#[tokio::test]
async fn a_second_look_that_finds_nothing_hides_no_report_but_a_refusal() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    let running = start(Files(vec![path.clone()]), false);
    let last = || running.requests.last().unwrap().cause;
    let look = || running.requests.reload(Cause::Recheck);
    look().await.unwrap();
    assert_eq!(last(), Cause::Recheck);
    fs::write(&path, "a=1").unwrap();
    running.requests.reload(Cause::File).await.unwrap();
    look().await.unwrap();
    assert_eq!(last(), Cause::File);
    fs::write(&path, "broken").unwrap();
    running.requests.reload(Cause::File).await.unwrap();
    fs::write(&path, "a=1").unwrap();
    look().await.unwrap();
    assert_eq!(last(), Cause::Recheck);
}

#[tokio::test]
async fn a_loader_that_panics_takes_nothing_down() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    let running = start(Files(vec![path.clone()]), false);
    fs::write(&path, "PANIC").unwrap();
    let report = running.requests.reload(Cause::Request).await.unwrap();
    assert!(!report.is_current(), "{report:?}");
    fs::write(&path, "a=1").unwrap();
    let report = running.requests.reload(Cause::Request).await.unwrap();
    assert_eq!(report.generation, 2);
}

#[tokio::test]
async fn who_asks_while_the_process_ends_is_told_so() {
    let running = start(Files(vec![]), false);
    running.ending.cancel();
    running.task.await.unwrap();
    assert_eq!(running.requests.reload(Cause::Request).await, Err(Ending));
    running.requests.ask(Cause::File);
}

/// A disk whose state is a version; an odd version does not load.
struct Disk {
    version: AtomicU64,
    loads: AtomicU64,
}

/// Every value of a configuration is the version it was read from.
const VALUES: usize = 64;

impl Load for Arc<Disk> {
    type Config = Vec<u64>;

    fn load(&self) -> Attempt<Vec<u64>> {
        self.loads.fetch_add(1, Ordering::SeqCst);
        let version = self.version.load(Ordering::SeqCst);
        let result = if version % 2 == 1 {
            Err(Refusal {
                message: version.to_string(),
                diagnostics: Vec::new(),
            })
        } else {
            Ok((0..VALUES).map(|_| version).collect())
        };
        Attempt {
            result,
            files: Vec::new(),
        }
    }

    fn compare(&self, old: &Vec<u64>, new: &Vec<u64>) -> Difference {
        Difference {
            settings: old != new,
            ..Difference::default()
        }
    }
}

/// Writes versions in ascending order from several tasks, each followed by a reload request, while
/// readers take the configuration as fast as they can.
fn whole_or_nothing(versions: &[u8]) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    let disk = Arc::new(Disk {
        version: AtomicU64::new(0),
        loads: AtomicU64::new(0),
    });
    let running = runtime.block_on(async { start(Arc::clone(&disk), false) });
    let stop = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (live, stop) = (Arc::clone(&running.live), Arc::clone(&stop));
            std::thread::spawn(move || {
                let mut last = 0;
                while !stop.load(Ordering::Relaxed) {
                    let now = live.current();
                    assert_eq!(now.config.len(), VALUES);
                    assert!(now.config.iter().all(|v| *v == now.config[0]));
                    assert_eq!(now.config[0] % 2, 0, "a refused version is in place");
                    assert!(now.number >= last, "generations went backwards");
                    last = now.number;
                }
            })
        })
        .collect();
    let asked = runtime.block_on(async {
        let mut asked = tokio::task::JoinSet::new();
        for step in versions {
            let version = disk.version.load(Ordering::SeqCst) + u64::from(*step);
            disk.version.store(version, Ordering::SeqCst);
            let (requests, live) = (running.requests.clone(), Arc::clone(&running.live));
            asked.spawn(async move {
                let report = requests.reload(Cause::Request).await.unwrap();
                (version, report, live.current().config[0])
            });
            tokio::task::yield_now().await;
        }
        asked.join_all().await
    });
    stop.store(true, Ordering::Relaxed);
    for reader in readers {
        prop_assert!(reader.join().is_ok());
    }
    let last = disk.version.load(Ordering::SeqCst);
    for (version, report, in_place) in asked {
        match &report.outcome {
            // The load that answered began after the request, so it saw this version or a later one.
            Outcome::Refused { error } => {
                prop_assert!(error.message.parse::<u64>().unwrap() >= version);
            }
            _ => prop_assert!(in_place >= version),
        }
    }
    if last.is_multiple_of(2) {
        prop_assert_eq!(running.live.current().config[0], last);
    }
    prop_assert!(disk.loads.load(Ordering::SeqCst) <= versions.len() as u64 + 1);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_reload_is_whole_or_nothing_under_concurrent_readers(
        versions in proptest::collection::vec(0_u8..4, 1..40)
    ) {
        whole_or_nothing(&versions)?;
    }
}

#[tokio::test]
async fn requests_that_wait_together_are_answered_by_one_load() {
    let disk = Arc::new(Disk {
        version: AtomicU64::new(0),
        loads: AtomicU64::new(0),
    });
    let running = start(Arc::clone(&disk), false);
    // On one thread: all of these are queued before the queue runs for the first time.
    let mut asked = tokio::task::JoinSet::new();
    for _ in 0..limits::RELOAD_REQUESTS_MAX {
        let requests = running.requests.clone();
        asked.spawn(async move { requests.reload(Cause::Request).await.is_ok() });
    }
    assert!(asked.join_all().await.into_iter().all(|ok| ok));
    let loads = disk.loads.load(Ordering::SeqCst);
    assert!(loads <= 3, "{loads} loads, the first one included");
}
