//! The processes below this one: finding and ending them.

use rustix::process::{Pid, Signal};

/// The id of a process, as the system calls want it.
pub(super) fn pid(id: u32) -> Option<Pid> {
    i32::try_from(id).ok().and_then(Pid::from_raw)
}

/// Most rounds of ending what is left; each ends at least what the one before uncovered.
#[cfg(target_os = "linux")]
const ROUNDS_MAX: usize = 1_000;

/// Sends a signal to every process below this one.
#[cfg(target_os = "linux")]
pub(super) fn signal_all(signal: Signal) {
    for process in below(std::process::id()) {
        let _ = rustix::process::kill_process(process, signal);
    }
}

/// Sends a signal to the process group, as far as this process outlives it: elsewhere than on Linux
/// nobody tells which processes are below this one, and the group holds this one too.
#[cfg(not(target_os = "linux"))]
pub(super) fn signal_all(signal: Signal) {
    if signal == Signal::KILL {
        let _ = rustix::process::kill_current_process_group(signal);
    }
}

/// Ends every process below this one and waits until they are gone.
///
/// Orphans become children of this process, so that ending children until there are none ends all.
#[cfg(target_os = "linux")]
pub(super) fn end_all() {
    use rustix::process::{WaitOptions, wait};
    for _ in 0..ROUNDS_MAX {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => {
                signal_all(Signal::KILL);
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            Err(_) => return,
        }
    }
}

/// Nothing: whoever started this process ends its group once more when it is gone.
#[cfg(not(target_os = "linux"))]
pub(super) fn end_all() {}

/// Every process below `root`.
#[cfg(target_os = "linux")]
fn below(root: u32) -> Vec<Pid> {
    let parents: Vec<(u32, u32)> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            // The name of the program stands in parentheses and may hold anything.
            let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?;
            Some((id, parent.parse().ok()?))
        })
        .collect();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        let children = parents.iter().filter(|(_, of)| *of == parent);
        found.extend(children.map(|(id, _)| *id));
        next += 1;
    }
    found.into_iter().skip(1).filter_map(pid).collect()
}
