//! What the server was told to do wrong.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// How the server takes the two eras.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Era {
    /// Refuses `server/discover`.
    #[default]
    Legacy,
    /// Refuses `initialize`.
    Modern,
    /// Takes both.
    Dual,
    /// Never answers `server/discover`.
    Silent,
    /// Answers it with an empty result.
    Empty,
    /// Ends when it is asked.
    Fragile,
}

/// How the server fails at a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It ends before writing it.
    #[default]
    Exit,
    /// It writes half of it and ends.
    Half,
    /// It leaves it out.
    Silence,
    /// It writes it twice.
    Twice,
    /// It writes something else.
    Junk,
}

/// All of it.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Flags {
    pub(crate) era: Era,
    pub(crate) version: Option<String>,
    pub(crate) tools: usize,
    pub(crate) page: Option<usize>,
    pub(crate) loop_cursor: bool,
    pub(crate) malformed: bool,
    pub(crate) junk: bool,
    pub(crate) invalid_utf8: bool,
    pub(crate) unasked: bool,
    pub(crate) deaf: bool,
    pub(crate) ignore_end: bool,
    pub(crate) fail_at: Option<u64>,
    pub(crate) fault: Fault,
    pub(crate) once: Option<PathBuf>,
    pub(crate) effects: Option<PathBuf>,
    pub(crate) starts: Option<PathBuf>,
    pub(crate) grandchild: Option<PathBuf>,
    pub(crate) slow_start: Option<Duration>,
    pub(crate) stderr: Option<String>,
    pub(crate) exit_at_once: Option<i32>,
    /// A file with the tools to list, read each time.
    pub(crate) offer: Option<PathBuf>,
    /// A variable whose value is written to standard error at the start.
    pub(crate) stderr_env: Option<String>,
}

impl Flags {
    pub(crate) fn read(mut args: impl Iterator<Item = String>) -> Self {
        let mut flags = Self::default();
        while let Some(flag) = args.next() {
            let mut value = || {
                args.next()
                    .unwrap_or_else(|| panic!("{flag} needs a value"))
            };
            match flag.as_str() {
                "--era" => flags.era = era(&value()),
                "--version" => flags.version = Some(value()),
                "--tools" => flags.tools = value().parse().expect("a number"),
                "--page" => flags.page = Some(value().parse().expect("a number")),
                "--loop-cursor" => flags.loop_cursor = true,
                "--malformed" => flags.malformed = true,
                "--junk" => flags.junk = true,
                "--invalid-utf8" => flags.invalid_utf8 = true,
                "--unasked" => flags.unasked = true,
                "--deaf" => flags.deaf = true,
                "--ignore-end" => flags.ignore_end = true,
                "--fail-at" => flags.fail_at = Some(value().parse().expect("a number")),
                "--fault" => flags.fault = fault(&value()),
                "--once" => flags.once = Some(value().into()),
                "--effects" => flags.effects = Some(value().into()),
                "--starts" => flags.starts = Some(value().into()),
                "--grandchild" => flags.grandchild = Some(value().into()),
                "--slow-start" => {
                    let millis = value().parse().expect("milliseconds");
                    flags.slow_start = Some(Duration::from_millis(millis));
                }
                "--stderr" => flags.stderr = Some(value()),
                "--offer" => flags.offer = Some(value().into()),
                "--stderr-env" => flags.stderr_env = Some(value()),
                "--exit" => flags.exit_at_once = Some(value().parse().expect("a code")),
                other => panic!("there is no flag {other}"),
            }
        }
        flags
    }

    /// What happens at the start.
    #[expect(clippy::zombie_processes, reason = "leaving it behind is the fault")]
    pub(crate) fn before_the_first_word(&self) {
        if let Some(file) = &self.starts {
            append(file, &std::process::id().to_string());
        }
        if let Some(text) = &self.stderr {
            let _ = writeln!(std::io::stderr(), "{text}");
        }
        if let Some(name) = &self.stderr_env {
            let value = std::env::var(name).unwrap_or_default();
            let _ = writeln!(std::io::stderr(), "cannot go on with {value}");
        }
        if let Some(file) = &self.grandchild {
            // It holds the standard output of its parent, as what `npx` starts does.
            let mut command = Command::new("sleep");
            let child = command
                .arg("600")
                .stdin(Stdio::null())
                .spawn()
                .expect("sleep starts");
            append(file, &child.id().to_string());
        }
        if let Some(time) = self.slow_start {
            std::thread::sleep(time);
        }
        if let Some(code) = self.exit_at_once {
            exit(code);
        }
    }
}

/// Ends the process from whatever thread.
#[expect(
    clippy::disallowed_methods,
    reason = "ending without care is what this program is for"
)]
pub(crate) fn exit(code: i32) -> ! {
    std::process::exit(code)
}

/// Adds a line to a file in one write.
pub(crate) fn append(file: &PathBuf, line: &str) {
    let file = std::fs::File::options()
        .create(true)
        .append(true)
        .open(file);
    let mut file = file.expect("the file can be written");
    file.write_all(format!("{line}\n").as_bytes())
        .expect("the file can be written");
}

fn era(name: &str) -> Era {
    match name {
        "legacy" => Era::Legacy,
        "modern" => Era::Modern,
        "dual" => Era::Dual,
        "silent" => Era::Silent,
        "empty" => Era::Empty,
        "fragile" => Era::Fragile,
        other => panic!("there is no era {other}"),
    }
}

fn fault(name: &str) -> Fault {
    match name {
        "exit" => Fault::Exit,
        "half" => Fault::Half,
        "silence" => Fault::Silence,
        "twice" => Fault::Twice,
        "junk" => Fault::Junk,
        other => panic!("there is no fault {other}"),
    }
}
