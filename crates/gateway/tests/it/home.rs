//! A user's home of its own for each test, and the program run in it with nothing else around.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long anything may take that a test waits for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A home directory with a working directory in it.
pub(crate) struct Home {
    dir: tempfile::TempDir,
}

/// What a command said.
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The JSON on standard output, which must be all there is.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|error| panic!("{error}: {:?} {:?}", self.out, self.err))
    }
}

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self {
            // Where lines break depends on how long the paths in them are.
            dir: tempfile::tempdir_in("/tmp").unwrap(),
        };
        for directory in ["work", "run"] {
            std::fs::create_dir(home.path(directory)).unwrap();
        }
        home
    }

    /// A path below the home directory, links resolved.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(path)
    }

    /// Writes a file below the home directory, whole at once: nobody who watches it reads half of it.
    pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let new = self.path(".written");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(&new, &path).unwrap();
        path
    }

    /// Writes the user's own configuration file.
    pub(crate) fn configure(&self, yaml: &str) -> PathBuf {
        self.write(".config/toolcrib/toolcrib.yaml", yaml)
    }

    /// The program, to be run in `work` with an environment that holds nothing of the machine's.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolcrib"));
        command
            .args(arguments)
            .current_dir(self.path("work"))
            .env_clear()
            .env("HOME", self.path(""))
            .env("XDG_RUNTIME_DIR", self.path("run"))
            .env("TMPDIR", self.path("run"))
            .env("TOOLCRIB_LISTEN", "127.0.0.1:0")
            .stdin(Stdio::null());
        // So that coverage sees what the program does.
        if let Some(profile) = std::env::var_os("LLVM_PROFILE_FILE") {
            command.env("LLVM_PROFILE_FILE", profile);
        }
        command
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Said {
        Said::of(self.command(arguments).output().unwrap())
    }

    /// Starts the program and waits until it is ready.
    pub(crate) fn serve(&self, arguments: &[&str]) -> Server {
        let mut all = vec!["serve"];
        all.extend(arguments);
        Server::start(self.command(&all))
    }
}

/// A running process; ended with the test.
pub(crate) struct Server {
    child: Child,
    log: Receiver<String>,
    heard: Vec<String>,
}

impl Server {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = child.stderr.take().unwrap();
        let (sender, log) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines() {
                if sender.send(line.unwrap()).is_err() {
                    break;
                }
            }
        });
        let mut server = Self {
            child,
            log,
            heard: Vec::new(),
        };
        server.hears("ready");
        server
    }

    /// The line of the log, said already, that holds the text.
    pub(crate) fn heard(&self, text: &str) -> String {
        let found = self.heard.iter().find(|line| line.contains(text));
        found
            .unwrap_or_else(|| panic!("{text:?} not said: {:#?}", self.heard))
            .clone()
    }

    /// Whether the log has a line already that holds the text.
    pub(crate) fn said(&self, text: &str) -> bool {
        self.heard.iter().any(|line| line.contains(text))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line of the log that holds the text, and gives it.
    pub(crate) fn hears(&mut self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.log.recv_timeout(left);
            let line = line.unwrap_or_else(|_| panic!("{text:?} not said: {:#?}", self.heard));
            self.heard.push(line.clone());
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Everything that was said until now or until the end.
    pub(crate) fn rest(mut self) -> Vec<String> {
        self.heard.extend(self.log.iter());
        std::mem::take(&mut self.heard)
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = i32::try_from(self.pid()).unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    pub(crate) fn stdin(&mut self) -> &mut ChildStdin {
        self.child.stdin.as_mut().unwrap()
    }

    /// What it writes to standard output, to be read while it runs.
    pub(crate) fn take_stdout(&mut self) -> ChildStdout {
        self.child.stdout.take().unwrap()
    }

    pub(crate) fn close_stdin(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Waits for the end.
    pub(crate) fn ends(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("it did not end: {:#?}", self.heard);
    }

    /// What it wrote to standard output, after its end.
    pub(crate) fn stdout(&mut self) -> String {
        std::io::read_to_string(self.child.stdout.take().unwrap()).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Looks again and again until something is there; for what nothing announces.
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("never happened: {what}");
}

/// The files in a directory, sorted.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
