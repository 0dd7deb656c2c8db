//! Processes that outlive the tests that started them.
//!
//! A gateway that supervises children must not leave any; a test that does hides a bug. Only programs from
//! this workspace's own target directory are looked at, and only those that were not there before.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::{process, ui, workspace};

/// How long a process that is on its way out may take.
const GRACE: Duration = Duration::from_secs(5);

/// The programs of this workspace that run now, by process id. Empty where `/proc` does not exist.
pub(crate) fn running() -> BTreeMap<u32, String> {
    let target = workspace::target();
    let own = std::process::id();
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return BTreeMap::new();
    };
    let ids = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|id| *id != own)
        .filter_map(|id| {
            let program = std::fs::read_link(format!("/proc/{id}/exe")).ok()?;
            let name = program
                .strip_prefix(&target)
                .ok()?
                .file_name()?
                .to_string_lossy()
                .into_owned();
            Some((id, name))
        })
        .collect()
}

/// Waits for what is new since `before` to end, ends by its id what does not, and names it.
pub(crate) fn end_new(before: &BTreeMap<u32, String>) -> Vec<String> {
    let fresh = || -> BTreeMap<u32, String> {
        running()
            .into_iter()
            .filter(|(id, name)| before.get(id) != Some(name))
            .collect()
    };
    let deadline = Instant::now() + GRACE;
    let mut left = fresh();
    while !left.is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(100));
        left = fresh();
    }
    for (id, name) in &left {
        ui::warn(&format!(
            "`{name}` (process {id}) outlived the tests; ending it"
        ));
        process::quietly(process::program("kill").arg(id.to_string()));
    }
    left.into_iter()
        .map(|(id, name)| format!("{name} (process {id})"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_before_is_left_alone() {
        assert!(end_new(&running()).is_empty());
    }

    #[test]
    fn this_process_is_never_on_the_list() {
        assert!(!running().contains_key(&std::process::id()));
    }
}
