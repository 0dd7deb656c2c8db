//! Real servers of other people: what discovery finds at each is what the server says without us.
//!
//! Their packages are pinned in `testkit/peers`. Each is asked in plain JSON-RPC, and by the program, whose
//! list on disk is then compared with the answer, text by text.

mod peers;
mod plain;
mod review;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::args::Args;
use crate::machine::Machine;
use crate::peers::{Peers, pins};
use crate::served::{self, Build};
use crate::{process, ui, workspace};
use peers::{PEERS, Peer, Registry, Set};

const DOCUMENT: &str = "docs/servers.md";

/// `cargo xtask servers`
pub(crate) fn run(args: &mut Args) -> Result<()> {
    let build = Build::named(args);
    let all = args.flag("--all");
    args.finish()?;
    ui::line(&ask(build, all)?);
    Ok(())
}

/// Asks the few servers, or all of them, and writes the document then; gives the summary.
pub(crate) fn ask(build: Build, all: bool) -> Result<String> {
    let machine = Machine::now();
    let sets: &[Set] = if all {
        &[Set::Few, Set::More]
    } else {
        &[Set::Few]
    };
    build.make()?;
    let mut rows = Vec::new();
    for set in sets {
        let peers = Peers::install(set.name())?;
        rows.extend(compare(build, *set, &peers)?);
        if *set == Set::Few {
            ui::line(&review::run(build, &peers)?);
        }
    }
    let table = table(&rows);
    ui::line(&table);
    if all {
        let text = document(&machine, &table);
        std::fs::write(workspace::root().join(DOCUMENT), text)?;
        ui::line(&format!("wrote {DOCUMENT}"));
    }
    verdict(&rows)
}

fn verdict(rows: &[Row]) -> Result<String> {
    let wrong: Vec<&str> = rows
        .iter()
        .filter(|row| !row.found.is_same())
        .map(|row| row.peer.name)
        .collect();
    if !wrong.is_empty() {
        bail!("not the same through discovery: {}", wrong.join(", "));
    }
    let modern = rows.iter().filter(|row| row.found.era() == "modern");
    let tools: usize = rows.iter().map(|row| row.found.tools).sum();
    Ok(format!(
        "{} servers, {} of them of the modern era, {tools} tools: all the same",
        rows.len(),
        modern.count()
    ))
}

/// What came of asking a server.
#[derive(Debug, Default)]
struct Found {
    revision: String,
    tools: usize,
    same: bool,
    start_ms: u128,
    said: usize,
    error: Option<String>,
}

impl Found {
    fn is_same(&self) -> bool {
        self.error.is_none() && self.same
    }

    fn era(&self) -> &'static str {
        match self.revision.as_str() {
            "" => "",
            plain::MODERN => "modern",
            _ => "legacy",
        }
    }

    fn judgement(&self) -> String {
        match &self.error {
            Some(error) => format!("failed: {error}"),
            None if self.same => "same".to_owned(),
            None => format!("NOT THE SAME: {} tools without us", self.said),
        }
    }
}

/// A server and what came of asking it.
struct Row {
    peer: &'static Peer,
    version: String,
    found: Found,
}

/// How a server is started.
struct Start {
    program: PathBuf,
    peer: &'static Peer,
}

impl Start {
    fn of(peer: &'static Peer, peers: &Peers) -> Self {
        let program = match peer.registry {
            Registry::Npm => peers.npm_program(peer.program),
            Registry::Pypi => peers.python_program(peer.program),
        };
        Self { program, peer }
    }

    /// With the environment that Toolcrib gives a server.
    fn command(&self, home: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(self.peer.args).current_dir(home).env_clear();
        command.env("HOME", home);
        for name in ["PATH", "TMPDIR", "LANG"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command.envs(self.peer.env.iter().copied());
        command
    }

    fn configured(&self) -> Value {
        let env = self.peer.env.iter();
        let env: Map<String, Value> = env
            .map(|(name, value)| ((*name).to_owned(), json!(value)))
            .collect();
        json!({"command": self.program, "args": self.peer.args, "env": env})
    }
}

fn compare(build: Build, set: Set, peers: &Peers) -> Result<Vec<Row>> {
    let of_set = PEERS.iter().filter(|peer| peer.set == set);
    let starts: Vec<Start> = of_set.map(|peer| Start::of(peer, peers)).collect();
    let servers: Map<String, Value> = starts
        .iter()
        .map(|start| (start.peer.name.to_owned(), start.configured()))
        .collect();
    let home = served::home(set.name(), &json!({"mcpServers": servers}).to_string())?;
    let pins = pins(set.name());
    let packages = std::fs::read_to_string(pins.join("package.json"))?;
    let packages: Value = serde_json::from_str(&packages)?;
    let requirements = std::fs::read_to_string(pins.join("requirements.txt"))?;
    let row = |start: &Start| {
        let found = both(build, start, &home).unwrap_or_else(|error| Found {
            error: Some(format!("{error:#}")),
            ..Found::default()
        });
        ui::line(&format!("{}: {}", start.peer.name, found.judgement()));
        Row {
            version: version(start.peer, &packages, &requirements),
            peer: start.peer,
            found,
        }
    };
    Ok(starts.iter().map(row).collect())
}

/// The list that the program keeps of a server, as far as it is looked at.
#[derive(Deserialize)]
struct Kept {
    items: Vec<Box<RawValue>>,
}

/// Asks one server in both ways.
fn both(build: Build, start: &Start, home: &Path) -> Result<Found> {
    let plain = plain::ask(start, home)?;
    let name = start.peer.name;
    let begun = Instant::now();
    process::output(build.toolcrib(home).args(["cache", "warm", name, "--json"]))?;
    let start_ms = begun.elapsed().as_millis();
    let kept = home.join(format!(".cache/toolcrib/tools_{name}.json"));
    let kept = std::fs::read_to_string(kept).context("its list is not kept")?;
    let kept: Kept = serde_json::from_str(&kept).context("its list is kept otherwise")?;
    let texts = |tools: &[Box<RawValue>]| -> Vec<String> {
        tools.iter().map(|tool| tool.get().to_owned()).collect()
    };
    Ok(Found {
        tools: kept.items.len(),
        same: texts(&kept.items) == texts(&plain.tools),
        said: plain.tools.len(),
        revision: plain.revision,
        start_ms,
        error: None,
    })
}

/// The version that is pinned.
fn version(peer: &Peer, packages: &Value, requirements: &str) -> String {
    let pinned = match peer.registry {
        Registry::Npm => packages["dependencies"][peer.package].as_str(),
        Registry::Pypi => requirements.lines().find_map(|line| {
            let (name, version) = line.split_once("==")?;
            (name == peer.package).then_some(version)
        }),
    };
    pinned.unwrap_or_default().to_owned()
}

fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| server | package | era | revision | tools | through discovery | start |\n|---|---|---|---|---:|---|---:|\n",
    );
    for Row {
        peer,
        version,
        found,
    } in rows
    {
        let registry = match peer.registry {
            Registry::Npm => "npm",
            Registry::Pypi => "PyPI",
        };
        let _ = writeln!(
            text,
            "| {} | {registry} `{}` {version} | {} | {} | {} | {} | {} ms |",
            peer.name,
            peer.package,
            found.era(),
            found.revision,
            found.tools,
            found.judgement(),
            found.start_ms,
        );
    }
    text
}

fn document(machine: &Machine, table: &str) -> String {
    format!(
        "# Real servers\n\n\
         Written by `cargo xtask servers --all`. Each server is asked for its tools twice: in plain JSON-RPC, \
         and through discovery. `same` means that discovery gave the same tools in the same order, every \
         definition the same text, byte for byte, as it is kept on disk. `start` is how long \
         `toolcrib cache warm SERVER` took from nothing to that list.\n\n{}\n{table}",
        machine.to_markdown()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_server_is_named_once_and_pinned() {
        for set in [Set::Few, Set::More] {
            let pins = pins(set.name());
            let read = |file: &str| std::fs::read_to_string(pins.join(file)).unwrap();
            let packages: Value = serde_json::from_str(&read("package.json")).unwrap();
            for peer in PEERS.iter().filter(|peer| peer.set == set) {
                let pinned = version(peer, &packages, &read("requirements.txt"));
                let is_exact = pinned.starts_with(|c: char| c.is_ascii_digit());
                assert!(is_exact, "{} is not pinned: {pinned}", peer.name);
                let same = PEERS.iter().filter(|other| other.name == peer.name);
                assert_eq!(same.count(), 1, "{}", peer.name);
            }
        }
        assert!(PEERS.len() >= 20);
    }

    #[test]
    fn one_server_that_differs_fails_and_is_named() {
        let row = |same, error: Option<&str>| Row {
            peer: &PEERS[0],
            version: "1".to_owned(),
            found: Found {
                revision: "2026-07-28".to_owned(),
                tools: 3,
                same,
                error: error.map(ToOwned::to_owned),
                ..Found::default()
            },
        };
        let good = verdict(&[row(true, None)]).unwrap();
        assert!(
            good.contains("1 of them of the modern era, 3 tools"),
            "{good}"
        );
        for bad in [row(false, None), row(true, Some("it ended"))] {
            let error = verdict(&[row(true, None), bad]).unwrap_err().to_string();
            assert!(error.ends_with(PEERS[0].name), "{error}");
        }
        let text = document(&Machine::now(), &table(&[row(false, None)]));
        assert!(
            text.contains("| modern |") && text.contains("NOT THE SAME"),
            "{text}"
        );
    }
}
