//! Processes that are killed with SIGKILL, at every step and at random under load, and two processes
//! that share a store.
//!
//! The test binary starts itself as a child. The child's upstream is a file: each call appends a line
//! to it, so that the parent sees every effect, whatever became of the child.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use toolcrib_store::audit::query::Filter;
use toolcrib_store::audit::{Decision, Outcome, Record};
use toolcrib_store::sqlite::Sqlite;
use toolcrib_store::{Begin, Entry, SqliteOptions, Store, StoreError};
use uuid::Uuid;

use crate::fault::{Hook, Hooked};
use crate::fixture::{Home, NOW, answered, entry};

/// How many executions are cut off in [`a_kill_at_every_step_loses_nothing`]; another number by the
/// variable.
const CUT_OFF: usize = 500;
const CUT_OFF_VARIABLE: &str = "TOOLCRIB_TEST_KILLS";
const JOB_VARIABLE: &str = "TOOLCRIB_TEST_CHILD";
const READY: &str = "ready to be killed";

/// What a child is told to do, as words in its environment.
struct Job {
    directory: PathBuf,
    /// Keys `first..last`.
    first: usize,
    last: usize,
    tasks: usize,
    /// The step before which it waits to be killed.
    stop_at: usize,
}

impl Job {
    fn words(&self) -> String {
        let Self {
            directory,
            first,
            last,
            tasks,
            stop_at,
        } = self;
        format!("{first} {last} {tasks} {stop_at} {}", directory.display())
    }

    fn parse(words: &str) -> Self {
        let mut words = words.splitn(5, ' ');
        let mut number = || words.next().unwrap().parse().unwrap();
        let (first, last, tasks, stop_at) = (number(), number(), number(), number());
        Self {
            directory: words.next().unwrap().into(),
            first,
            last,
            tasks,
            stop_at,
        }
    }

    fn start(&self) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args(["crash::child", "--exact", "--nocapture", "--test-threads=1"])
            .env(JOB_VARIABLE, self.words())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }
}

/// Counts the steps of a child and stops it for good at one of them.
struct Steps {
    count: AtomicUsize,
    stop_at: usize,
}

impl Steps {
    fn step(&self) {
        if self.count.fetch_add(1, Ordering::SeqCst) == self.stop_at {
            println!("{READY}");
            loop {
                std::thread::park();
            }
        }
    }
}

impl Hook for Steps {
    fn before(&self, _call: &str) -> Result<usize, StoreError> {
        self.step();
        Ok(0)
    }

    fn after(&self, _number: usize) -> Result<(), StoreError> {
        Ok(())
    }
}

fn append(path: &Path, line: &str) {
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// The child's part; does nothing unless it was started as one.
#[test]
fn child() {
    let Ok(words) = std::env::var(JOB_VARIABLE) else {
        return;
    };
    let job = Arc::new(Job::parse(&words));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let steps = Arc::new(Steps {
            count: AtomicUsize::new(0),
            stop_at: job.stop_at,
        });
        let options = SqliteOptions::new(job.directory.join("toolcrib.db"));
        let backend = Hooked {
            inner: Sqlite::open(options).await.unwrap(),
            hook: Arc::clone(&steps),
        };
        let store = Store::open(Arc::new(backend), Uuid::now_v7())
            .await
            .unwrap();
        store.recover(NOW).await.unwrap();
        println!("recovered");
        let next = Arc::new(AtomicUsize::new(job.first));
        let tasks: Vec<_> = (0..job.tasks)
            .map(|_| {
                let (store, job) = (store.clone(), Arc::clone(&job));
                let (steps, next) = (Arc::clone(&steps), Arc::clone(&next));
                tokio::spawn(async move {
                    loop {
                        let number = next.fetch_add(1, Ordering::SeqCst);
                        if number >= job.last {
                            break;
                        }
                        execute(&store, &job.directory, &steps, &format!("k{number}")).await;
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        store.close().await;
    });
}

/// One execution, as the engine does it: begin, call, finish; or wait, or take what is there.
async fn execute(store: &Store, directory: &Path, steps: &Steps, key: &str) {
    let request_id = Uuid::now_v7().to_string();
    let asked = Entry {
        params_hash: format!("hash of {key}"),
        ..entry(&request_id)
    };
    loop {
        match store
            .begin_execution(asked.clone(), Some(key))
            .await
            .unwrap()
        {
            Begin::Fresh(execution) => {
                steps.step();
                append(&directory.join("effects"), &format!("{key} {request_id}"));
                steps.step();
                execution.finish(answered(&request_id)).await.unwrap();
                append(&directory.join("acknowledged"), &request_id);
                return;
            }
            Begin::InProgress(waiting) => {
                waiting.settled(Duration::from_mins(1), NOW).await.unwrap();
            }
            Begin::Replay { .. } => return record(store, &asked, Outcome::Replayed).await,
            Begin::Unknown(_) => return record(store, &asked, Outcome::Refused).await,
            Begin::Outdated | Begin::Limited(_) => unreachable!("nothing was judged"),
            Begin::Conflict(earlier) => panic!("{earlier:?}"),
        }
    }
}

async fn record(store: &Store, asked: &Entry, outcome: Outcome) {
    let record = Record {
        request_id: asked.request_id.clone(),
        timestamp_ms: asked.timestamp_ms,
        actor_id: asked.actor_id.clone(),
        tool_id: asked.tool_id.clone(),
        params_hash: asked.params_hash.clone(),
        parameters: None,
        decision: Decision::Allowed,
        reason: String::new(),
        outcome,
        error_code: None,
        duration_us: None,
        upstream: None,
        request_bytes: 0,
        response_bytes: None,
        trace_id: None,
    };
    store.record(record).await.unwrap();
}

/// Reads a child's output up to a line and gives whether it came.
fn wait_for(child: &mut Child, line: &str) -> bool {
    let output = child.stdout.as_mut().unwrap();
    BufReader::new(output)
        .lines()
        .any(|read| read.is_ok_and(|read| read.contains(line)))
}

fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The number of the first key that no child has used.
fn next_key(directory: &Path) -> usize {
    let used = lines(&directory.join("effects")).into_iter().map(|effect| {
        let (key, _) = effect.split_once(' ').unwrap();
        key[1..].parse::<usize>().unwrap()
    });
    used.max().map_or(0, |last| last + 1)
}

/// What a look at the store and the effects found.
#[derive(Debug, Default)]
struct Figures {
    effects: usize,
    records: usize,
    outcomes: BTreeMap<&'static str, usize>,
}

/// Recovers and checks everything that must hold, whatever was killed.
async fn inspect(directory: &Path) -> Figures {
    let options = SqliteOptions::new(directory.join("toolcrib.db"));
    let store = Store::open_sqlite(options, Uuid::now_v7()).await.unwrap();
    store.recover(NOW).await.unwrap();
    let verdict = store.audit_verify().await.unwrap();
    assert!(verdict.is_intact(), "{:?}", verdict.problems);
    let mut outcomes = HashMap::new();
    let mut pages = store.audit_pages(Filter::default());
    while let Some(page) = pages.next().await.unwrap() {
        for found in page {
            let known = outcomes.insert(found.record.request_id, found.record.outcome);
            assert_eq!(known, None, "one record per request");
        }
    }
    let acknowledged: BTreeSet<_> = lines(&directory.join("acknowledged")).into_iter().collect();
    let mut keys = BTreeSet::new();
    let effects = lines(&directory.join("effects"));
    for effect in &effects {
        let (key, request_id) = effect.split_once(' ').unwrap();
        assert!(keys.insert(key.to_owned()), "{key} had a second effect");
        let outcome = outcomes.get(request_id).copied();
        assert!(
            matches!(outcome, Some(Outcome::Ok | Outcome::Unknown)),
            "{request_id} reached the upstream and is recorded as {outcome:?}"
        );
        if acknowledged.contains(request_id) {
            assert_eq!(outcome, Some(Outcome::Ok), "{request_id} was acknowledged");
        }
        check_key(&store, key, request_id, outcome).await;
    }
    store.close().await;
    let mut figures = Figures {
        effects: effects.len(),
        records: outcomes.len(),
        outcomes: BTreeMap::new(),
    };
    for outcome in outcomes.values() {
        *figures.outcomes.entry(outcome.as_str()).or_default() += 1;
    }
    figures
}

/// A key whose effect is known gives its answer again; one whose effect is not known says so.
async fn check_key(store: &Store, key: &str, request_id: &str, outcome: Option<Outcome>) {
    let again = Entry {
        params_hash: format!("hash of {key}"),
        ..entry("again")
    };
    match (
        outcome,
        store.begin_execution(again, Some(key)).await.unwrap(),
    ) {
        (Some(Outcome::Ok), Begin::Replay { answer, .. }) => {
            assert_eq!(answer.as_deref(), Some(request_id));
        }
        (Some(Outcome::Unknown), Begin::Unknown(earlier)) => {
            assert_eq!(earlier.request_id, request_id);
        }
        (outcome, other) => panic!("{key}: {outcome:?} but {other:?}"),
    }
}

#[tokio::test]
async fn a_kill_at_every_step_loses_nothing() {
    let wanted = std::env::var(CUT_OFF_VARIABLE).ok();
    let cut_off = wanted.map_or(CUT_OFF, |number| number.parse().unwrap());
    let home = Home::swift();
    let (mut kills, mut steps_max, mut stop_at) = (0, 0, 0);
    let mut number = 0;
    while number < cut_off {
        // The key that was cut off last is tried again first, then the next one is begun.
        let job = Job {
            directory: home.directory().to_owned(),
            first: number.saturating_sub(1),
            last: number + 1,
            tasks: 1,
            stop_at,
        };
        let mut child = job.start();
        let reached = wait_for(&mut child, READY);
        if reached {
            child.kill().unwrap();
            kills += 1;
            steps_max = steps_max.max(stop_at + 1);
            stop_at += 1;
        } else {
            // Past the last step of an execution: start again at the first.
            stop_at = 0;
        }
        assert_eq!(child.wait().unwrap().success(), !reached);
        number += 1;
    }
    let figures = inspect(home.directory()).await;
    println!("killed {kills} times over {steps_max} steps of {cut_off} executions: {figures:?}");
    assert!(kills > cut_off / 2 && steps_max >= 15);
}

#[tokio::test]
async fn kills_at_random_under_load_lose_nothing() {
    const ROUNDS: usize = 12;
    // On a machine that has much else to do, nothing may be under way yet when the first kills come.
    const ROUNDS_MAX: usize = 20 * ROUNDS;
    let home = Home::swift();
    let mut rounds = 0;
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut figures = Figures::default();
    while rounds < ROUNDS || (figures.effects == 0 && rounds < ROUNDS_MAX) {
        rounds += 1;
        let job = Job {
            directory: home.directory().to_owned(),
            // Each round tries again what the last one was doing when it was killed.
            first: next_key(home.directory()).saturating_sub(20),
            last: usize::MAX,
            tasks: 8,
            stop_at: usize::MAX,
        };
        let mut child = job.start();
        assert!(wait_for(&mut child, "recovered"));
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        std::thread::sleep(Duration::from_micros(seed % 60_000));
        child.kill().unwrap();
        child.wait().unwrap();
        figures = inspect(home.directory()).await;
    }
    println!("killed {rounds} times at random under load: {figures:?}");
    assert!(figures.effects > 0);
}

#[tokio::test]
async fn two_processes_share_a_store_and_its_keys() {
    const KEYS: usize = 60;
    let home = Home::swift();
    let job = Job {
        directory: home.directory().to_owned(),
        first: 0,
        last: KEYS,
        tasks: 4,
        stop_at: usize::MAX,
    };
    let mut children = [job.start(), job.start()];
    for child in &mut children {
        // Read to the end, so that the pipe never fills up.
        assert!(!wait_for(child, READY));
        assert!(child.wait().unwrap().success());
    }
    let figures = inspect(home.directory()).await;
    println!("two processes: {figures:?}");
    assert_eq!(figures.effects, KEYS);
    assert_eq!(figures.records, 2 * KEYS);
    assert_eq!(figures.outcomes.get("ok"), Some(&KEYS));
    assert_eq!(figures.outcomes.get("replayed"), Some(&KEYS));
}
