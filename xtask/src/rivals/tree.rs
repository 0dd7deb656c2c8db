//! What a process and its children use, on Linux.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, ensure};

/// Microseconds of a tick in `/proc/PID/stat`. `schedstat` is finer, but forgets threads that have ended.
const TICK_US: u64 = 10_000;

/// The process and what it started, without those whose command line holds a word: the servers behind it are not its own.
pub(crate) fn members(root: u32, without: &str) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let pid: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            Some((pid, stat(pid)?.parent))
        })
        .collect();
    let mut found = vec![root];
    let mut at = 0;
    while let Some(&parent) = found.get(at) {
        found.extend(
            parents
                .iter()
                .filter(|(_, of)| *of == parent)
                .map(|(pid, _)| *pid),
        );
        at += 1;
    }
    found.retain(|pid| *pid == root || !runs(*pid, without));
    found
}

/// Whether a process is one of the servers: its own program, not a launcher that has it as an argument.
fn runs(pid: u32, word: &str) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut words = line.split(|byte| *byte == 0).skip(1);
    words.next() == Some(word.as_bytes())
}

/// What each of some processes has used of the processor, in ticks.
pub(crate) type Ticks = BTreeMap<u32, u64>;

/// What they have used so far.
pub(crate) fn ticks(members: &[u32]) -> Ticks {
    let used = |pid: &u32| Some((*pid, stat(*pid)?.ticks));
    members.iter().filter_map(used).collect()
}

/// Microseconds of processor time between two looks at a process and what it started. What one used that ended in
/// between is lost, so that there is no figure then.
pub(crate) fn cpu_us(before: &Ticks, after: &Ticks) -> Result<u64> {
    for pid in before.keys() {
        ensure!(
            after.contains_key(pid),
            "process {pid} ended while its processor time was measured; measure again"
        );
    }
    let mut sum = 0;
    for (pid, now) in after {
        let then = before.get(pid).copied().unwrap_or_default();
        let used = now.checked_sub(then);
        sum += used.with_context(|| format!("process {pid} became another one"))?;
    }
    Ok(sum * TICK_US)
}

/// KiB of memory that they hold, what is shared between processes divided among them.
pub(crate) fn memory_kib(members: &[u32]) -> Result<u64> {
    let mut sum = 0;
    for pid in members {
        let Ok(text) = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) else {
            continue;
        };
        let line = text.lines().find(|line| line.starts_with("Pss:"));
        let figure = line.and_then(|line| line.split_whitespace().nth(1));
        sum += figure
            .context("the system does not say what a process holds")?
            .parse::<u64>()?;
    }
    Ok(sum)
}

struct Stat {
    parent: u32,
    ticks: u64,
}

fn stat(pid: u32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in brackets and may hold anything.
    let fields: Vec<&str> = text.rsplit_once(") ")?.1.split(' ').collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Stat {
        parent: fields.get(1)?.parse().ok()?,
        ticks: number(11)? + number(12)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_a_member_that_uses_something() {
        let own = members(std::process::id(), "nothing-of-this-name");
        assert!(own.contains(&std::process::id()));
        assert!(memory_kib(&own).unwrap() > 100);
        let used = ticks(&own);
        assert!(used.contains_key(&std::process::id()));
        assert!(cpu_us(&used, &ticks(&own)).unwrap() < 10_000_000_000);
    }

    #[test]
    fn processor_time_is_a_difference_or_an_error_in_words() {
        let used = |of: &[(u32, u64)]| of.iter().copied().collect::<Ticks>();
        let before = used(&[(1, 5), (2, 7)]);
        let and_a_new_one = used(&[(1, 6), (2, 7), (3, 2)]);
        assert_eq!(cpu_us(&before, &and_a_new_one).unwrap(), 30_000);
        let check = |after: &[(u32, u64)], expected: &str| {
            let error = cpu_us(&before, &used(after)).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check(&[(1, 6)], "process 2 ended while");
        check(&[(1, 6), (2, 1)], "process 2 became another one");
    }
}
