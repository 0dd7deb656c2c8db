//! The program, serving over HTTP in a home of its own, for tasks that look at it from the outside.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::args::Args;
use crate::{process, workspace};

/// A running `toolcrib serve`; ended with this.
pub(crate) struct Served {
    child: Child,
    /// Where it listens, such as `127.0.0.1:40001`.
    pub(crate) address: String,
}

/// The build whose programs are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Build {
    /// The debug build, for work at the desk.
    Debug,
    /// The one that CI makes, once, for all that it looks at from the outside.
    Ci,
    /// The program as it is packaged, made by `cargo xtask trained`.
    #[cfg(feature = "product")]
    Shipped,
}

impl Build {
    /// The debug build, unless the command line says `--optimised`.
    pub(crate) fn named(args: &mut Args) -> Self {
        if args.flag("--optimised") {
            Self::Ci
        } else {
            Self::Debug
        }
    }

    /// Builds the program and the test kit's. What is built together shares its dependencies: another
    /// choice of packages would build half of them again.
    pub(crate) fn make(self) -> Result<()> {
        let mut command = process::cargo();
        command.args(["build", "--locked", "--bins"]);
        command.args(["-p", "toolcrib", "-p", "toolcrib-testkit"]);
        if self == Self::Ci {
            command.args(["--profile", "ci", "-p", "xtask"]);
        }
        process::run(&mut command)
    }

    /// One of its programs.
    pub(crate) fn program(self, name: &str) -> PathBuf {
        self.place()
            .join(name)
            .with_extension(std::env::consts::EXE_EXTENSION)
    }

    /// Where its programs are.
    fn place(self) -> PathBuf {
        match self {
            Self::Debug => workspace::target().join("debug"),
            Self::Ci => workspace::target().join("ci"),
            #[cfg(feature = "product")]
            Self::Shipped => crate::trained::place(),
        }
    }

    /// The program in a home of its own, seeing nothing of this machine's user but the path.
    pub(crate) fn toolcrib(self, home: &Path) -> Command {
        let mut command = Command::new(self.program("toolcrib"));
        command
            .current_dir(home)
            .env_clear()
            .env("HOME", home)
            .env("XDG_RUNTIME_DIR", home)
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .stdin(Stdio::null());
        command
    }
}

/// Where the program looks for its configuration, below the home of its user.
pub(crate) const SETTINGS: &str = if cfg!(target_os = "macos") {
    "Library/Application Support/toolcrib"
} else {
    ".config/toolcrib"
};

/// Where the home of this name is.
pub(crate) fn place(name: &str) -> PathBuf {
    workspace::scratch().join("served").join(name)
}

/// Makes a home that holds a configuration and nothing else.
pub(crate) fn home(name: &str, config: &str) -> Result<PathBuf> {
    let home = place(name);
    let _ = fs::remove_dir_all(&home);
    let place = home.join(SETTINGS);
    fs::create_dir_all(&place)?;
    fs::write(place.join("toolcrib.yaml"), config)?;
    Ok(home)
}

impl Served {
    /// Starts it on a configuration, in a home that holds nothing else, and waits until it listens.
    pub(crate) fn start(build: Build, name: &str, config: &str) -> Result<Self> {
        let home = home(name, config)?;
        let log = home.join("log");
        let mut child = build
            .toolcrib(&home)
            .args(["serve", "--listen", "127.0.0.1:0", "--color", "never"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start the program")?;
        let stderr = child.stderr.take().context("its log is read")?;
        let mut lines = BufReader::new(stderr).lines();
        let mut said = Vec::new();
        for line in lines.by_ref() {
            let line = line?;
            let address = line.split("listening address=").nth(1).map(str::to_owned);
            said.push(line);
            if let Some(address) = address {
                // Its log is read to the end, so that it never waits for us.
                std::thread::spawn(move || {
                    for line in lines.map_while(Result::ok) {
                        said.push(line);
                    }
                    let _ = fs::write(log, said.join("\n"));
                });
                let address = address.trim().to_owned();
                return Ok(Self { child, address });
            }
        }
        let _ = child.wait();
        bail!("it did not start: {}", said.join("\n"));
    }

    /// The process.
    #[cfg(feature = "product")]
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// How much memory it uses, in KiB.
    pub(crate) fn memory_kib(&self) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))
            .context("its memory can be read on Linux only")?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let figure = line.and_then(|line| line.split_whitespace().nth(1));
        let figure = figure.context("the system does not say how much memory it uses")?;
        Ok(figure.parse()?)
    }

    /// The address of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
