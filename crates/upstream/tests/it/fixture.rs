//! Hostile servers, and what is needed to watch them.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::value::RawValue;
use toolcrib_upstream::mcp::{Command, Spawner};

/// The hostile server, which is its own launcher too.
pub(crate) fn hostile() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| toolcrib_testkit::program("hostile"))
}

/// The hostile server with flags, separated by blanks.
pub(crate) fn server(flags: &str) -> Command {
    let program = hostile().to_str().unwrap().to_owned();
    flags
        .split_whitespace()
        .fold(Command::new(program), Command::arg)
}

/// Starts processes through the launcher.
pub(crate) fn spawner() -> Spawner {
    Spawner {
        launcher: Some(hostile().to_owned()),
        environment: std::env::vars_os().collect(),
    }
}

/// JSON as text.
pub(crate) fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

/// Whether a process is there, zombies not counted.
pub(crate) fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit_once(')')
        .map_or("", |(_, rest)| rest.trim_start());
    !state.is_empty() && !state.starts_with('Z')
}

/// The numbers in a file, one on each line.
pub(crate) fn numbers(file: &Path) -> Vec<u32> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// Waits until something holds, or gives up after ten seconds.
pub(crate) async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..1_000 {
        if holds() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("it never came about that {what}");
}
