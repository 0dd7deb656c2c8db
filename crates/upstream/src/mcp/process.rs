//! Child processes: how one is started, with which environment, and how it is brought to its end.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use toolcrib_core::limits::{CHILD_CLOSE_GRACE_MS, CHILD_TERM_GRACE_MS};
use toolcrib_core::secret::name_is_secret;

use super::endpoint::Command;
use super::{Failure, launcher};

/// What starting processes takes from the surroundings.
#[derive(Clone, Debug)]
pub struct Spawner {
    /// The program that acts as the launcher; `None`: servers are started without one.
    pub launcher: Option<PathBuf>,
    /// The environment of this process.
    pub environment: Vec<(OsString, OsString)>,
}

/// Variables that every child gets.
const BASE: &[&str] = &[
    "PATH",
    "HOME",
    "LANG",
    "LANGUAGE",
    "TMPDIR",
    "TMP",
    "TEMP",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
];

/// Variables without which nothing runs there.
#[cfg(windows)]
const SYSTEM: &[&str] = &[
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "COMSPEC",
    "PATHEXT",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
];
#[cfg(not(windows))]
const SYSTEM: &[&str] = &[];

/// This program, as it can be started once more; where there are no process groups it is not.
fn this_program() -> Option<PathBuf> {
    let named = std::env::current_exe().ok().filter(|_| cfg!(unix));
    #[cfg(target_os = "linux")]
    let named = Some(linked(named));
    named
}

/// The link leads to the running program also after an upgrade replaced its file.
#[cfg(target_os = "linux")]
fn linked(named: Option<PathBuf>) -> PathBuf {
    let link = PathBuf::from("/proc/self/exe");
    named
        .filter(|named| is_emulated(&link, named))
        .unwrap_or(link)
}

/// Whether the link leads to another program than the one that it names, which is there: an emulator or
/// valgrind runs this program and answers for the name, but would itself be started through the link.
#[cfg(target_os = "linux")]
fn is_emulated(link: &std::path::Path, named: &std::path::Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let file = |path| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.dev(), metadata.ino()))
    };
    let (runs, named) = (file(link), file(named));
    named.is_some() && runs != named
}

impl Spawner {
    /// One that re-executes this very program as the launcher. Its `main` must call
    /// [`launcher::run_if_launcher`].
    pub fn of_this_process() -> Self {
        Self {
            launcher: this_program(),
            environment: std::env::vars_os().collect(),
        }
    }

    /// The environment of a child: the short base, or all but Toolcrib's own secrets where that is
    /// asked for, and on top of it the variables of the server.
    pub fn environment(&self, command: &Command) -> Vec<(OsString, OsString)> {
        let is_own = |name: &str| command.env.iter().any(|(own, _)| own == name);
        let given = self.environment.iter().filter(|(name, _)| {
            let Some(name) = name.to_str() else {
                return command.inherit_env;
            };
            let passes = if command.inherit_env {
                !(name.starts_with("TOOLCRIB_") && name_is_secret(name))
            } else {
                is_base(name)
            };
            passes && !is_own(name)
        });
        let own = command.env.iter();
        let own = own.map(|(name, value)| (OsString::from(name), OsString::from(value.expose())));
        given.cloned().chain(own).collect()
    }

    /// Starts a child.
    pub fn start(&self, command: &Command) -> Result<Process, Failure> {
        let mut process = if let Some(launcher) = &self.launcher {
            let mut process = tokio::process::Command::new(launcher);
            let graces = [CHILD_CLOSE_GRACE_MS, CHILD_TERM_GRACE_MS];
            process.arg(launcher::MODE);
            process.args(graces.map(|grace| grace.to_string()));
            process.arg(&command.program);
            process
        } else {
            let mut process = tokio::process::Command::new(&command.program);
            process.kill_on_drop(true);
            process
        };
        process.args(command.args.iter().map(|arg| OsStr::new(arg.expose())));
        process.env_clear().envs(self.environment(command));
        process
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(cwd) = &command.cwd {
            if !cwd.is_dir() {
                let why = format!("its working directory {} is not there", cwd.display());
                return Err(Failure::NotStarted(why));
            }
            process.current_dir(cwd);
        }
        #[cfg(unix)]
        process.process_group(0);
        let mut child = process
            .spawn()
            .map_err(|error| Failure::NotStarted(unstarted(&command.program, &error)))?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) else {
            return Err(Failure::NotStarted(
                "its standard streams are missing".to_owned(),
            ));
        };
        let group = child.id();
        let streams = (stdin, stdout, stderr);
        Ok(Process {
            streams,
            life: Life {
                child,
                group,
                launched: self.launcher.is_some(),
            },
        })
    }
}

/// Why a program could not be started.
pub(super) fn unstarted(program: &str, error: &std::io::Error) -> String {
    let is_path = program.contains(std::path::is_separator);
    match error.kind() {
        std::io::ErrorKind::NotFound if !is_path => {
            format!("`{program}` is not installed or not on PATH")
        }
        std::io::ErrorKind::NotFound if std::path::Path::new(program).exists() => {
            format!("`{program}` is a script, and what is to run it is not installed")
        }
        std::io::ErrorKind::NotFound => format!("`{program}` is not there"),
        std::io::ErrorKind::PermissionDenied => format!("`{program}` may not be run by this user"),
        _ => format!("`{program}`: {error}"),
    }
}

fn is_base(name: &str) -> bool {
    let is_same = |base: &&str| {
        if cfg!(windows) {
            base.eq_ignore_ascii_case(name)
        } else {
            *base == name
        }
    };
    BASE.iter().chain(SYSTEM).any(is_same) || name.starts_with("LC_")
}

/// A child that was started.
#[derive(Debug)]
pub struct Process {
    /// Its standard streams.
    pub streams: (ChildStdin, ChildStdout, ChildStderr),
    /// Its life.
    pub life: Life,
}

/// The life of a child.
#[derive(Debug)]
pub struct Life {
    child: Child,
    group: Option<u32>,
    launched: bool,
}

impl Life {
    /// Waits for the end of the process, and then ends whatever it left behind.
    pub async fn ended(&mut self) -> Option<ExitStatus> {
        let status = self.child.wait().await.ok();
        self.sweep();
        status
    }

    /// Brings the process to its end once its input is closed: it may end by itself, then SIGTERM,
    /// then SIGKILL.
    pub async fn end(&mut self) -> Option<ExitStatus> {
        let grace = CHILD_CLOSE_GRACE_MS + CHILD_TERM_GRACE_MS;
        // The launcher does all of it, also when this process is gone; it gets a little longer.
        let patience = if self.launched {
            grace + CHILD_CLOSE_GRACE_MS
        } else {
            CHILD_CLOSE_GRACE_MS
        };
        if let Some(status) = self.ended_within(patience).await {
            return Some(status);
        }
        if !self.launched {
            #[cfg(unix)]
            self.signal(rustix::process::Signal::TERM);
            if let Some(status) = self.ended_within(CHILD_TERM_GRACE_MS).await {
                return Some(status);
            }
        }
        self.sweep();
        let _ = self.child.start_kill();
        self.child.wait().await.ok()
    }

    async fn ended_within(&mut self, millis: u64) -> Option<ExitStatus> {
        let limit = Duration::from_millis(millis);
        tokio::time::timeout(limit, self.ended())
            .await
            .ok()
            .flatten()
    }

    /// Ends whatever is left of the process group.
    fn sweep(&self) {
        #[cfg(unix)]
        self.signal(rustix::process::Signal::KILL);
    }

    #[cfg(unix)]
    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(group) = self.group.and_then(super::descendants::pid) {
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolcrib_core::secret::Secret;

    #[test]
    fn a_program_that_is_not_there_is_said_in_words() {
        let here = tempfile::NamedTempFile::new().unwrap();
        let script = here.path().display().to_string();
        let missing = std::io::ErrorKind::NotFound;
        for (program, kind, expect) in [
            ("nope", missing, "`nope` is not installed or not on PATH"),
            ("/nowhere/nope", missing, "`/nowhere/nope` is not there"),
            (&script, missing, "is a script, and what is to run it"),
            (
                "nope",
                std::io::ErrorKind::PermissionDenied,
                "may not be run",
            ),
            ("nope", std::io::ErrorKind::OutOfMemory, "`nope`: "),
        ] {
            let said = unstarted(program, &kind.into());
            assert!(said.contains(expect), "{said}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_under_an_emulator_is_started_again_by_its_name() {
        let home = tempfile::tempdir().unwrap();
        let [program, emulator, link] =
            ["program", "emulator", "link"].map(|name| home.path().join(name));
        std::fs::write(&program, "").unwrap();
        std::fs::write(&emulator, "").unwrap();
        std::os::unix::fs::symlink(&program, &link).unwrap();
        assert!(!is_emulated(&link, &program));
        let replaced = home.path().join("program (deleted)");
        assert!(!is_emulated(&link, &replaced), "an upgrade replaced it");
        std::fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(&emulator, &link).unwrap();
        assert!(is_emulated(&link, &program));
        assert_eq!(this_program(), Some("/proc/self/exe".into()));
    }

    fn names(command: &Command) -> Vec<(String, String)> {
        let given = [
            ("PATH", "/bin"),
            ("HOME", "/home/ada"),
            ("LANG", "C"),
            ("LC_ALL", "C"),
            ("TMPDIR", "/tmp"),
            ("https_proxy", "http://proxy"),
            ("GITHUB_TOKEN", "t"),
            ("TOOLCRIB_ADMIN_TOKEN", "t"),
            ("TOOLCRIB_LOG", "debug"),
            ("EDITOR", "vi"),
        ];
        let spawner = Spawner {
            launcher: None,
            environment: given
                .map(|(name, value)| (name.into(), value.into()))
                .to_vec(),
        };
        let text = |text: OsString| text.into_string().unwrap();
        let pairs = spawner.environment(command).into_iter();
        pairs
            .map(|(name, value)| (text(name), text(value)))
            .collect()
    }

    fn pairs<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
        pairs
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec()
    }

    #[test]
    fn a_child_gets_the_short_base_and_its_own_variables() {
        let mut command = Command::new("x");
        command
            .env
            .push(("GITHUB_TOKEN".to_owned(), Secret::new("own")));
        command
            .env
            .push(("PATH".to_owned(), Secret::new("/opt/bin")));
        let expected = pairs([
            ("HOME", "/home/ada"),
            ("LANG", "C"),
            ("LC_ALL", "C"),
            ("TMPDIR", "/tmp"),
            ("https_proxy", "http://proxy"),
            ("GITHUB_TOKEN", "own"),
            ("PATH", "/opt/bin"),
        ]);
        assert_eq!(names(&command), expected);
    }

    #[test]
    fn a_child_that_inherits_gets_all_but_our_secrets() {
        let mut command = Command::new("x");
        command.inherit_env = true;
        let names: Vec<_> = names(&command).into_iter().map(|(name, _)| name).collect();
        assert!(names.contains(&"EDITOR".to_owned()) && names.contains(&"TOOLCRIB_LOG".to_owned()));
        assert!(names.contains(&"GITHUB_TOKEN".to_owned()));
        assert!(!names.contains(&"TOOLCRIB_ADMIN_TOKEN".to_owned()));
    }

    #[tokio::test]
    async fn what_cannot_be_started_says_so() {
        let spawner = Spawner {
            launcher: None,
            environment: Vec::new(),
        };
        let mut command = Command::new("/nonexistent/program");
        let failure = spawner.start(&command).unwrap_err();
        assert!(
            failure.to_string().contains("/nonexistent/program"),
            "{failure}"
        );
        command.cwd = Some("/nonexistent".into());
        let failure = spawner.start(&command).unwrap_err();
        assert!(
            failure.to_string().contains("working directory"),
            "{failure}"
        );
    }
}
