//! Real servers of other people: what discovery finds at each is what the server says without us.
//!
//! Their packages are pinned in `testkit/servers` and installed below `target/peers`, once. The program
//! that asks them is the example `servers` of the gateway.

mod peers;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::args::Args;
use crate::machine::Machine;
use crate::{process, ui, workspace};
use peers::{PEERS, Peer, Registry, Set};

const DOCUMENT: &str = "docs/servers.md";

/// `cargo xtask servers`
pub(crate) fn run(args: &mut Args) -> Result<()> {
    let all = args.flag("--all");
    args.finish()?;
    ui::line(&ask(all)?);
    Ok(())
}

/// Asks the few servers, or all of them, and writes the document then; gives the summary.
pub(crate) fn ask(all: bool) -> Result<String> {
    let machine = Machine::now();
    let sets: &[Set] = if all {
        &[Set::Few, Set::More]
    } else {
        &[Set::Few]
    };
    process::run(process::cargo().args([
        "build",
        "--locked",
        "--package",
        "toolcrib",
        "--example",
        "servers",
    ]))?;
    let mut rows = Vec::new();
    for set in sets {
        let place = install(*set)?;
        rows.extend(compare(*set, &place)?);
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

/// Puts the packages of a set where they are found again, unless they are there; gives the directory.
fn install(set: Set) -> Result<PathBuf> {
    let pins = workspace::root().join("testkit/servers").join(set.name());
    let place = workspace::target()
        .join("peers")
        .join(format!("servers-{}", set.name()));
    let mut wanted = String::new();
    for file in ["package.json", "package-lock.json", "requirements.txt"] {
        wanted.push_str(&std::fs::read_to_string(pins.join(file))?);
    }
    // Written last: what is in it is there whole.
    let mark = place.join("installed");
    if std::fs::read_to_string(&mark).is_ok_and(|there| there == wanted) {
        return Ok(place);
    }
    let _ = std::fs::remove_file(&mark);
    std::fs::create_dir_all(&place)?;
    for file in ["package.json", "package-lock.json"] {
        std::fs::copy(pins.join(file), place.join(file))?;
    }
    let mut npm = Command::new("npm");
    process::run(npm.current_dir(&place).args([
        "ci",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
    ]))?;
    let venv = place.join("venv");
    process::run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    let mut pip = Command::new(venv.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps"]);
    pip.args(["--disable-pip-version-check", "--requirement"]);
    process::run(pip.arg(pins.join("requirements.txt")))?;
    std::fs::write(mark, wanted)?;
    Ok(place)
}

/// What the example says about a server.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Found {
    server: String,
    revision: String,
    tools: usize,
    same: bool,
    start_ms: u64,
    said: usize,
    said_revision: String,
    error: Option<String>,
}

impl Found {
    fn is_same(&self) -> bool {
        self.error.is_none() && self.same
    }

    fn era(&self) -> &'static str {
        match self.revision.as_str() {
            "" => "",
            "2026-07-28" => "modern",
            _ => "legacy",
        }
    }

    fn judgement(&self) -> String {
        match &self.error {
            Some(error) => format!("failed: {error}"),
            None if self.same => "same".to_owned(),
            None => format!(
                "NOT THE SAME: {} tools in {}",
                self.said, self.said_revision
            ),
        }
    }
}

/// A server and what came of asking it.
struct Row {
    peer: &'static Peer,
    version: String,
    found: Found,
}

fn compare(set: Set, place: &Path) -> Result<Vec<Row>> {
    let file = place.join("servers.json");
    std::fs::write(&file, configuration(set, place).to_string())?;
    let kept = place.join("kept");
    std::fs::create_dir_all(&kept)?;
    let example = workspace::target().join("debug/examples/servers");
    let said = process::output(
        Command::new(example)
            .current_dir(place)
            .arg(&file)
            .arg(&kept),
    )?;
    let mut found: Vec<Found> = Vec::new();
    for line in said.lines() {
        found.push(serde_json::from_str(line).context("the example says something else")?);
    }
    let pins = workspace::root().join("testkit/servers").join(set.name());
    let packages: Value =
        serde_json::from_str(&std::fs::read_to_string(pins.join("package.json"))?)?;
    let requirements = std::fs::read_to_string(pins.join("requirements.txt"))?;
    let of_set = PEERS.iter().filter(|peer| peer.set == set);
    Ok(of_set
        .map(|peer| {
            let of_peer = found.iter().position(|found| found.server == peer.name);
            let found = of_peer.map_or_else(
                || Found {
                    error: Some("it was not asked".to_owned()),
                    ..Found::default()
                },
                |place| found.swap_remove(place),
            );
            Row {
                version: version(peer, &packages, &requirements),
                peer,
                found,
            }
        })
        .collect())
}

/// The servers of a set as Toolcrib is told about them.
fn configuration(set: Set, place: &Path) -> Value {
    let mut servers = Map::new();
    for peer in PEERS.iter().filter(|peer| peer.set == set) {
        let programs = match peer.registry {
            Registry::Npm => "node_modules/.bin",
            Registry::Pypi => "venv/bin",
        };
        let env: Map<String, Value> = peer
            .env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), json!(value)))
            .collect();
        let command = place.join(programs).join(peer.program);
        let started = json!({"command": command, "args": peer.args, "env": env});
        servers.insert(peer.name.to_owned(), started);
    }
    json!({"servers": servers})
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
         definition the same text, byte for byte, at once and from what it kept on disk. `start` is how \
         long discovery took from nothing to the list.\n\n{}\n{table}",
        machine.to_markdown()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_server_is_named_once_and_pinned() {
        for set in [Set::Few, Set::More] {
            let pins = workspace::root().join("testkit/servers").join(set.name());
            let read = |file: &str| std::fs::read_to_string(pins.join(file)).unwrap();
            let packages: Value = serde_json::from_str(&read("package.json")).unwrap();
            assert!(
                !read("package-lock.json").contains("\"resolved\""),
                "a lock file names no mirror"
            );
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
