//! jq filters over results, each run in a process of its own.
//!
//! A filter can loop, recurse and grow without end, and nothing stops it from within. So it runs in a
//! child of this very program that has no environment, bounded memory and processor time, and that is
//! killed when its time is up. It speaks to nobody but us.

mod filter;

use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Semaphore;
use toolcrib_core::limits::{
    SELECT_CPU_SECONDS_MAX, SELECT_FILTER_BYTES_MAX, SELECT_MEMORY_BYTES_MAX, SELECT_MS_MAX,
    SELECT_OUTPUT_BYTES_MAX, SELECTS_MAX,
};

/// The first argument that makes a process a filter.
const MODE: &str = "__select";

/// Exit code of a filter that said what is wrong.
const REFUSED: i32 = 1;

/// How much the allocator of the child takes at a time, in KiB, so that its memory can be bounded.
const ARENA_KIB: &str = "65536";

/// Filters that run now.
static RUNNING: Semaphore = Semaphore::const_new(SELECTS_MAX);

/// Why a filter gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    /// It is wrong, or does not fit the value.
    #[error("{0}")]
    Wrong(String),
    /// It took more time or memory than it may.
    #[error("the filter needs more time or memory than it may have")]
    Exceeded,
    /// No process could be started for it.
    #[error("the filter could not be run on this machine")]
    NotRun(#[source] std::io::Error),
}

/// What the child is told.
#[derive(Deserialize, Serialize)]
struct Order {
    filter: String,
    /// Absent where the filter is only to be checked.
    value: Option<Box<RawValue>>,
}

/// Whether this is a filter that can be applied to something.
pub async fn check(filter: &str) -> Result<(), Unfit> {
    if filter.len() > SELECT_FILTER_BYTES_MAX {
        return Err(Unfit::Wrong(format!(
            "the filter is longer than {SELECT_FILTER_BYTES_MAX} bytes"
        )));
    }
    give(filter, None).await.map(drop)
}

/// What the filter makes of a value: its one output, or the list of all where there are none or several.
pub async fn apply(filter: &str, value: &Value) -> Result<Value, Unfit> {
    let value = serde_json::value::to_raw_value(value).map_err(|error| wrong(&error))?;
    let output = give(filter, Some(value)).await?;
    serde_json::from_slice(&output)
        .map_err(|_| Unfit::Wrong("the filter gives something that JSON cannot hold".to_owned()))
}

fn wrong(error: &serde_json::Error) -> Unfit {
    Unfit::Wrong(format!("the result cannot be filtered: {error}"))
}

/// Gives an order to a child and what it answers.
async fn give(filter: &str, value: Option<Box<RawValue>>) -> Result<Vec<u8>, Unfit> {
    let order = Order {
        filter: filter.to_owned(),
        value,
    };
    let order = serde_json::to_vec(&order).map_err(|error| wrong(&error))?;
    let work = async {
        let _place = RUNNING.acquire().await;
        exchange(&order).await.map_err(Unfit::NotRun)
    };
    let time = Duration::from_millis(SELECT_MS_MAX);
    let (code, output) = tokio::time::timeout(time, work)
        .await
        .map_err(|_| Unfit::Exceeded)??;
    match code {
        Some(0) => Ok(output),
        Some(REFUSED) => Err(Unfit::Wrong(String::from_utf8_lossy(&output).into_owned())),
        // Its memory or its processor time ran out, or its stack.
        _ => Err(Unfit::Exceeded),
    }
}

async fn exchange(order: &[u8]) -> std::io::Result<(Option<i32>, Vec<u8>)> {
    let mut child = tokio::process::Command::new(program()?)
        .arg(MODE)
        .env_clear()
        .env("MIMALLOC_ARENA_RESERVE", ARENA_KIB)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // A child that ended before it read everything says why by its end.
        let _ = input.write_all(order).await;
    }
    let mut output = Vec::new();
    if let Some(mut from) = child.stdout.take() {
        let most = u64::try_from(SELECT_OUTPUT_BYTES_MAX).unwrap_or(u64::MAX);
        (&mut from).take(most).read_to_end(&mut output).await?;
    }
    Ok((child.wait().await?.code(), output))
}

/// This very program; on Linux also after an upgrade replaced its file.
fn program() -> std::io::Result<PathBuf> {
    if cfg!(target_os = "linux") {
        return Ok(PathBuf::from("/proc/self/exe"));
    }
    std::env::current_exe()
}

/// Runs as a filter if the arguments of this process say so. To be called early in `main`.
pub fn run_if_filter(args: &[OsString]) -> Option<ExitCode> {
    if args.get(1)? != MODE {
        return None;
    }
    bound();
    let mut text = Vec::new();
    let order = std::io::stdin().lock().read_to_end(&mut text);
    let order: Option<Order> = order.ok().and_then(|_| serde_json::from_slice(&text).ok());
    let Some(order) = order else {
        return Some(ExitCode::from(2));
    };
    let value = order.value.as_deref().map(|value| value.get().as_bytes());
    let (code, output) = match filter::run(&order.filter, value) {
        Ok(output) => (ExitCode::SUCCESS, output),
        Err(why) => (ExitCode::FAILURE, why.into_bytes()),
    };
    let mut out = std::io::stdout().lock();
    let written = out.write_all(&output).and_then(|()| out.flush());
    Some(written.map_or(ExitCode::from(2), |()| code))
}

/// Takes from this process what a filter does not need.
fn bound() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let most = |resource, most| {
            let limit = Rlimit {
                current: Some(most),
                maximum: Some(most),
            };
            // Where a system knows no such bound, the time of the whole still holds.
            let _ = setrlimit(resource, limit);
        };
        most(Resource::Cpu, SELECT_CPU_SECONDS_MAX);
        most(Resource::Core, 0);
        most(Resource::As, SELECT_MEMORY_BYTES_MAX);
    }
}
