//! Where and when figures were taken: without that they mean little. Names no host.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::process;

/// A description of the machine and of the moment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Machine {
    /// The commit the figures belong to, marked where files were changed since.
    pub(crate) commit: String,
    /// The day, in UTC.
    pub(crate) date: String,
    pub(crate) processor: String,
    pub(crate) cores: usize,
    pub(crate) memory_gib: u64,
    pub(crate) system: String,
    pub(crate) compiler: String,
    /// The load average of the last minute when the run began.
    pub(crate) load: String,
}

impl Machine {
    /// What can be found out here; what cannot says so.
    pub(crate) fn now() -> Self {
        let unknown = || "unknown".to_owned();
        let said = |program: &str, arguments: &[&str]| {
            let text = process::output(process::program(program).args(arguments)).ok()?;
            Some(text.trim().to_owned())
        };
        let commit = said("git", &["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(unknown);
        let changed = said("git", &["status", "--porcelain", "--untracked-files=no"])
            .is_some_and(|text| !text.is_empty());
        Self {
            commit: if changed {
                format!("{commit} with changes")
            } else {
                commit
            },
            date: said("date", &["-u", "+%Y-%m-%d"]).unwrap_or_else(unknown),
            processor: field("/proc/cpuinfo", "model name")
                .unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_gib: field("/proc/meminfo", "MemTotal")
                .and_then(|text| kib(&text))
                .map_or(0, |kib| kib.div_ceil(1024 * 1024)),
            system: said("uname", &["-sr"]).unwrap_or_else(|| std::env::consts::OS.to_owned()),
            compiler: said("rustc", &["--version"]).unwrap_or_else(unknown),
            load: load().unwrap_or_else(unknown),
        }
    }

    pub(crate) fn to_markdown(&self) -> String {
        let mut text = String::from("| | |\n|---|---|\n");
        for (name, value) in [
            ("date", &self.date),
            ("commit", &self.commit),
            (
                "processor",
                &format!("{}, {} cores", self.processor, self.cores),
            ),
            ("memory", &format!("{} GiB", self.memory_gib)),
            ("system", &self.system),
            ("compiler", &self.compiler),
            ("load at the start", &self.load),
        ] {
            let _ = writeln!(text, "| {name} | {value} |");
        }
        text
    }
}

/// The load average of the last minute, where the system tells.
pub(crate) fn load() -> Option<String> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next().map(str::to_owned)
}

fn field(file: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_once(':')
        .map(|(_, value)| value.trim().to_owned())
}

fn kib(text: &str) -> Option<u64> {
    text.strip_suffix(" kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_has_a_date_and_no_empty_field() {
        let machine = Machine::now();
        assert_eq!(machine.date.len(), 10, "{}", machine.date);
        let text = machine.to_markdown();
        assert!(!text.contains("|  |"), "{text}");
        assert!(machine.cores > 0);
    }

    #[test]
    fn memory_is_read_from_kilobytes() {
        assert_eq!(kib("24600000 kB"), Some(24_600_000));
        assert_eq!(kib("plenty"), None);
    }
}
