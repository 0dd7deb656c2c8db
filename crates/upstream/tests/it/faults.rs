//! The n-th frame fails, for every n: no call hangs, no answer is lost, nothing happens twice.

use std::time::Duration;

use toolcrib_upstream::mcp::{Call, Key, What};

use crate::fixture::{PATIENCE, endpoint, patient, permit, pool, raw};

/// Frames that the server writes when nothing fails: two for the handshake, one for the list, one for
/// each call; and some more.
const FRAMES: u64 = 12;
const CALLS: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn whichever_frame_fails_every_call_ends_and_nothing_happens_twice() {
    let mut figures = Vec::new();
    for fault in ["exit", "half", "silence", "twice", "junk"] {
        let runs = (1..=FRAMES).map(|frame| one(frame, fault));
        let (mut answered, mut failed) = (0, 0);
        for (ok, refused) in futures::future::join_all(runs).await {
            answered += ok;
            failed += refused;
        }
        figures.push(format!(
            "{fault}: {answered} answered, {failed} clear errors"
        ));
        assert!(
            failed <= usize::try_from(FRAMES).unwrap(),
            "one fault costs one call at most: {figures:?}"
        );
    }
    println!(
        "the n-th frame fails, n = 1..{FRAMES}: {}",
        figures.join("; ")
    );
}

/// One life of a server with one fault; how many calls were answered, and how many failed.
async fn one(frame: u64, fault: &str) -> (usize, usize) {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let flags = format!(
        "--fail-at {frame} --fault {fault} --once {} --effects {}",
        path("once"),
        path("effects")
    );
    let mut endpoint = endpoint(&flags);
    endpoint.start_timeout = Duration::from_secs(15);
    let pool = pool(endpoint);
    let _ = pool.list("s", &Key::Shared, What::Tools, patient()).await;
    let (mut answered, mut failed) = (Vec::new(), Vec::new());
    for n in 0..CALLS {
        // Every other call may be repeated.
        let (may_retry, key) = (n % 2 == 1, format!(r#"{{"key":{n}}}"#));
        let permit = permit("effect", &key, may_retry, Duration::from_secs(8));
        let text = raw(&key);
        let made = pool.call(permit, Call::new(Key::Shared, &text));
        match tokio::time::timeout(2 * PATIENCE, made)
            .await
            .expect("no call hangs")
        {
            Ok(result) => {
                assert!(result.get().contains("done"), "{}", result.get());
                answered.push(n);
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                failed.push(n);
            }
        }
    }
    pool.close().await;
    let effects = std::fs::read_to_string(path("effects")).unwrap_or_default();
    let count = |n: usize| {
        effects
            .lines()
            .filter(|line| *line == n.to_string())
            .count()
    };
    for n in 0..CALLS {
        let happened = count(n);
        let at_most = if n % 2 == 1 { 2 } else { 1 };
        assert!(
            happened <= at_most,
            "{fault} at {frame}: call {n} happened {happened} times"
        );
        assert!(
            happened >= usize::from(answered.contains(&n)),
            "{fault} at {frame}: answer {n} is made up"
        );
    }
    (answered.len(), failed.len())
}
