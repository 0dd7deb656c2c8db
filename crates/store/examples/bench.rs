//! How many executions a second the store records durably: journalled before, recorded after.
//!
//! `cargo run --release -p toolcrib-store --example bench -- [EXECUTIONS] [CALLERS] [DIRECTORY]`
//! prints one line of JSON. The directory should lie on the disk that the store will use; the default
//! is below the working directory, because the system's temporary directory may be in memory.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use toolcrib_store::audit::Outcome;
use toolcrib_store::idempotency::KeyFate;
use toolcrib_store::{Begin, Ending, Entry, SqliteOptions, Store, StoreError};
use uuid::Uuid;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let executions: usize = args.next().map_or(Ok(20_000), |n| n.parse())?;
    let callers: usize = args.next().map_or(Ok(64), |n| n.parse())?;
    let parent = args
        .next()
        .map_or_else(std::env::current_dir, |p| Ok(PathBuf::from(p)))?;
    let home = tempfile::tempdir_in(parent)?;
    let options = SqliteOptions::new(home.path().join("bench.db"));
    let store = Store::open_sqlite(options, Uuid::now_v7()).await?;

    let started = Instant::now();
    let mut tasks = Vec::new();
    for caller in 0..callers {
        let share = executions / callers + usize::from(caller < executions % callers);
        tasks.push(tokio::spawn(run(store.clone(), caller, share)));
    }
    let mut latencies = Vec::with_capacity(executions);
    for task in tasks {
        latencies.extend(task.await??);
    }
    let elapsed = started.elapsed();
    let verdict = store.audit_verify().await?;
    store.close().await;

    latencies.sort_unstable();
    let report = serde_json::json!({
        "bench": "store",
        "executions": latencies.len(),
        "callers": callers,
        "per_second": latencies.len() as u128 * 1_000_000 / elapsed.as_micros().max(1),
        "median_us": latencies[latencies.len() / 2].as_micros(),
        "p99_us": latencies[latencies.len() * 99 / 100].as_micros(),
        "records": verdict.records,
        "intact": verdict.is_intact(),
    });
    writeln!(std::io::stdout(), "{report}")?;
    Ok(())
}

/// Runs executions one after the other, each with an idempotency key, and times the store's part.
async fn run(store: Store, caller: usize, count: usize) -> Result<Vec<Duration>, StoreError> {
    let mut latencies = Vec::with_capacity(count);
    for number in 0..count {
        let started = Instant::now();
        let key = format!("{caller}-{number}");
        let Begin::Fresh(execution) = store.begin_execution(entry(), Some(&key)).await? else {
            return Err(StoreError::Closed);
        };
        execution
            .finish(Ending {
                outcome: Outcome::Ok,
                error_code: None,
                duration_us: Some(1_000),
                response_bytes: Some(400),
                key: KeyFate::Answer("x".repeat(400)),
                remark: None,
            })
            .await?;
        latencies.push(started.elapsed());
    }
    Ok(latencies)
}

fn entry() -> Entry {
    Entry {
        request_id: Uuid::now_v7().to_string(),
        timestamp_ms: 1_700_000_000_000,
        actor_id: "bench".into(),
        tool_id: "github:create_issue".into(),
        params_hash: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824".into(),
        parameters: None,
        reason: "allowed: scope github:write".into(),
        upstream: Some("github".into()),
        request_bytes: 250,
        trace_id: Some("4bf92f3577b34da6a3ce929d0e0e4736".into()),
    }
}
