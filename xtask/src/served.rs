//! The program, serving over HTTP in a home of its own, for tasks that look at it from the outside.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::{process, workspace};

/// A running `toolcrib serve`; ended with this.
pub(crate) struct Served {
    child: Child,
    /// Where it listens, such as `127.0.0.1:40001`.
    pub(crate) address: String,
}

/// A program of the debug build.
pub(crate) fn built(name: &str) -> PathBuf {
    workspace::target()
        .join("debug")
        .join(name)
        .with_extension(std::env::consts::EXE_EXTENSION)
}

/// Builds the program and the servers of the test kit.
pub(crate) fn build() -> Result<()> {
    process::run(process::cargo().args([
        "build",
        "--locked",
        "-p",
        "toolcrib",
        "-p",
        "toolcrib-testkit",
        "--bins",
    ]))
}

impl Served {
    /// Starts it on a configuration, in a home that holds nothing else, and waits until it listens.
    pub(crate) fn start(name: &str, config: &str) -> Result<Self> {
        let home = workspace::scratch().join("served").join(name);
        let _ = fs::remove_dir_all(&home);
        let place = home.join(".config/toolcrib");
        fs::create_dir_all(&place)?;
        fs::write(place.join("toolcrib.yaml"), config)?;
        let log = home.join("log");
        let program = built("toolcrib");
        let mut child = Command::new(&program)
            .args(["serve", "--listen", "127.0.0.1:0", "--color", "never"])
            .current_dir(&home)
            .env_clear()
            .env("HOME", &home)
            .env("XDG_RUNTIME_DIR", &home)
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
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
