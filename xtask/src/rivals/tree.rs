//! What a process and its children use, on Linux.

use std::fs;

use anyhow::{Context, Result};

/// Ticks of a second in `/proc/PID/stat`.
const TICKS_PER_SECOND: u64 = 100;

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

/// Milliseconds of processor time that they have used.
pub(crate) fn cpu_ms(members: &[u32]) -> u64 {
    let ticks = members.iter().filter_map(|pid| stat(*pid));
    ticks.map(|stat| stat.ticks).sum::<u64>() * 1000 / TICKS_PER_SECOND
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
        assert!(cpu_ms(&own) < 10_000_000);
    }
}
