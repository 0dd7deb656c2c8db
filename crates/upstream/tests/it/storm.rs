//! Processes that are killed under load, and what is left when Toolcrib itself is killed.
//!
//! Each test runs the other half of itself in a process of its own, so that its descriptors and tasks
//! can be counted, or it can be killed.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use toolcrib_upstream::mcp::{Call, Endpoint, Key, Pool, Way};

use crate::fixture::{
    PATIENCE, call, endpoint, eventually, kill, lives, numbers, permit, pool, raw, server,
    surroundings,
};

const CYCLES: u32 = 200;
const CALLERS: u64 = 6;

/// The other half of a test, with a directory to work in.
fn other_half(name: &str, directory: &std::path::Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        name,
        "--ignored",
        "--nocapture",
        "--test-threads",
        "1",
    ]);
    command.env("TOOLCRIB_TEST_DIRECTORY", directory);
    command
}

fn directory() -> std::path::PathBuf {
    std::env::var_os("TOOLCRIB_TEST_DIRECTORY")
        .expect("run by its other half")
        .into()
}

#[test]
fn children_killed_under_load_leave_no_trace() {
    let directory = tempfile::tempdir().unwrap();
    let output = other_half("storm::storm", directory.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let figures = said
        .lines()
        .find(|line| line.contains("cycles of kill -9"))
        .unwrap_or_default();
    println!("{figures}");
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
#[ignore = "the other half of children_killed_under_load_leave_no_trace"]
fn storm() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (pids, effects) = (directory().join("pids"), directory().join("effects"));
        let line = format!("--starts {} --effects {}", pids.display(), effects.display());
        let pool = Arc::new(pool(endpoint(&line)));
        call(&pool, "echo", "{}").await.unwrap();
        pool.disconnect("s");
        eventually("it is gone", || !pool.is_connected("s")).await;
        let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
        let before = (descriptors(), tasks());
        let over = Arc::new(AtomicBool::new(false));
        let failed = Arc::new(AtomicU64::new(0));
        let began = Instant::now();
        let callers: Vec<_> = (0..CALLERS)
            .map(|caller| tokio::spawn(load(caller, Arc::clone(&pool), Arc::clone(&over), Arc::clone(&failed))))
            .collect();
        for _ in 0..CYCLES {
            eventually("a server lives", || numbers(&pids).last().is_some_and(|pid| lives(*pid))).await;
            // Time to get some calls done.
            tokio::time::sleep(Duration::from_millis(20)).await;
            let victim = *numbers(&pids).last().unwrap();
            kill_if_there(victim);
            eventually("the next one has started", || *numbers(&pids).last().unwrap() != victim).await;
        }
        over.store(true, Ordering::SeqCst);
        let mut answered = Vec::new();
        for caller in callers {
            answered.extend(caller.await.unwrap());
        }
        let took = began.elapsed();
        pool.disconnect("s");
        eventually("it is gone", || !pool.is_connected("s")).await;
        let happened = std::fs::read_to_string(&effects).unwrap();
        let mut happened: Vec<&str> = happened.lines().collect();
        let all = happened.len();
        happened.sort_unstable();
        happened.dedup();
        assert_eq!(happened.len(), all, "an effect happened twice");
        for key in &answered {
            assert!(happened.binary_search(&key.as_str()).is_ok(), "the answer to {key} is made up");
        }
        eventually("no process is left", || !numbers(&pids).into_iter().any(lives)).await;
        eventually("no descriptor is left", || descriptors() <= before.0).await;
        eventually("no task is left", || tasks() <= before.1).await;
        let starts = numbers(&pids).len();
        println!(
            "{CYCLES} cycles of kill -9 in {:.1} s: {} calls answered, {} ended with a clear error, {starts} starts, 0 effects twice, 0 processes, descriptors and tasks left",
            took.as_secs_f64(), answered.len(), failed.load(Ordering::SeqCst),
        );
        assert!(starts > usize::try_from(CYCLES).unwrap());
    });
}

fn kill_if_there(pid: u32) {
    if lives(pid) {
        let _ = Command::new("kill")
            .args(["-s", "KILL", &pid.to_string()])
            .stderr(Stdio::null())
            .status();
    }
}

/// Calls until it is over; the keys of the calls that were answered. Every call must end in time.
async fn load(
    caller: u64,
    pool: Arc<Pool>,
    over: Arc<AtomicBool>,
    failed: Arc<AtomicU64>,
) -> Vec<String> {
    let mut answered = Vec::new();
    for n in 0_u64.. {
        if over.load(Ordering::SeqCst) {
            break;
        }
        let key = caller * 10_000_000 + n;
        let arguments = format!(r#"{{"key":{key}}}"#);
        let permit = permit("effect", &arguments, false, PATIENCE);
        let text = raw(&arguments);
        let made = pool.call(permit, Call::new(Key::Shared, &text));
        match tokio::time::timeout(2 * PATIENCE, made)
            .await
            .expect("no call hangs")
        {
            Ok(_) => answered.push(key.to_string()),
            Err(error) => {
                let error = error.to_string();
                assert!(error.contains("its process ended (signal: 9"), "{error}");
                failed.fetch_add(1, Ordering::SeqCst);
            }
        }
    }
    answered
}

#[tokio::test(flavor = "multi_thread")]
async fn no_child_survives_a_parent_that_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let pids = directory.path().join("pids");
    let mut parent = other_half("storm::parent", directory.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // Three servers, one of which ignores its end, and a grandchild each.
    eventually("all have started", || numbers(&pids).len() == 6).await;
    assert!(numbers(&pids).into_iter().all(lives));
    kill(parent.id(), "KILL");
    parent.wait().unwrap();
    let began = Instant::now();
    eventually("no child is left", || {
        !numbers(&pids).into_iter().any(lives)
    })
    .await;
    println!(
        "no child was left {} ms after SIGKILL of the parent",
        began.elapsed().as_millis()
    );
}

#[test]
#[ignore = "the other half of no_child_survives_a_parent_that_is_killed"]
fn parent() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let pids = directory().join("pids");
        let path = pids.display();
        let pool = Pool::new(surroundings());
        let endpoint = |name: &str, flags: &str| {
            let line = format!("--starts {path} --grandchild {path} {flags}");
            Endpoint::new(name, Way::Stdio(server(&line)))
        };
        pool.configure(vec![
            endpoint("a", ""),
            endpoint("b", "--ignore-end"),
            endpoint("c", "--era modern"),
        ]);
        for name in ["a", "b", "c"] {
            pool.connect(name, &Key::Shared).await.unwrap();
        }
        std::future::pending::<()>().await;
    });
}
