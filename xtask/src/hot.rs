//! `cargo xtask hot`: the functions that a session of the program runs, for the linker to put next to each other
//! (ADR 0011).
//!
//! Sessions over both doors run under callgrind, which names every function that ran.

mod names;

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::args::Args;
use crate::{process, session, ui, workspace};

/// Where the list stands.
const LIST: &str = "crates/gateway/link/hot.txt";
/// The file of callgrind in the home of a session.
const COUNTS: &str = "callgrind.out";

/// The program as `cargo install` makes it.
fn installed() -> PathBuf {
    workspace::target()
        .join("release/toolcrib")
        .with_extension(std::env::consts::EXE_EXTENSION)
}

/// Runs the sessions and writes the list.
pub(crate) fn run(args: &mut Args) -> Result<()> {
    args.finish()?;
    // As it is installed, but with the names of its functions.
    let mut build = process::cargo();
    build.args(["build", "--locked", "--release", "-p", "toolcrib"]);
    process::run(build.env("CARGO_PROFILE_RELEASE_STRIP", "none"))?;
    let ran = ran(&installed())?;
    let symbols = symbols(&installed())?;
    let list = names::list(&symbols, &ran);
    ui::line(&format!(
        "{} names; {} of {} KiB of code stand together, of which {} KiB ran",
        list.names.len(),
        list.together_bytes / 1024,
        symbols.values().sum::<u64>() / 1024,
        list.ran_bytes / 1024,
    ));
    fs::write(workspace::root().join(LIST), list.names.join("\n") + "\n")?;
    Ok(())
}

/// The functions that run in a program during sessions, under the names that the linker knows.
pub(crate) fn ran(program: &Path) -> Result<HashSet<String>> {
    let mut ran = HashSet::new();
    for home in session::play(program, |home| watched(program, &home.join(COUNTS)))? {
        ran.extend(functions(&fs::read_to_string(home.join(COUNTS))?));
    }
    Ok(ran)
}

fn watched(program: &Path, counts: &Path) -> Command {
    let mut command = process::program("valgrind");
    command
        .args(["--tool=callgrind", "--demangle=no"])
        .arg(format!("--callgrind-out-file={}", counts.display()))
        .arg(program);
    command
}

/// The functions in callgrind's file, under the names that the linker knows.
fn functions(counts: &str) -> impl Iterator<Item = String> {
    counts.lines().filter_map(|line| {
        let of = line
            .strip_prefix("fn=")
            .or_else(|| line.strip_prefix("cfn="))?;
        let (_, name) = of.split_once(' ')?;
        // One that called itself is counted by depth.
        Some(name.split('\'').next().unwrap_or(name).to_owned())
    })
}

/// The functions in a program and how many bytes each has.
fn symbols(program: &Path) -> Result<BTreeMap<String, u64>> {
    let said = process::output(process::program("nm").arg("-S").arg(program))?;
    let symbols: BTreeMap<String, u64> = said.lines().filter_map(symbol).collect();
    if symbols.is_empty() {
        bail!("nm names no function of {}", program.display());
    }
    Ok(symbols)
}

fn symbol(line: &str) -> Option<(String, u64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [_, bytes, kind, name] = words[..] else {
        return None;
    };
    let bytes = u64::from_str_radix(bytes, 16).ok()?;
    matches!(kind, "t" | "T" | "w" | "W").then(|| (name.to_owned(), bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_read_from_callgrinds_file() {
        let text =
            "fn=(1) main\n1 5\ncfn=(2) _ZN3foo3bar17h0123456789abcdefE'2\ncalls=3 0\nfn=(2)\n";
        let found: Vec<String> = functions(text).collect();
        assert_eq!(found, ["main", "_ZN3foo3bar17h0123456789abcdefE"]);
    }

    #[test]
    fn functions_of_a_program_have_their_sizes() {
        let of = |line| symbol(line);
        assert_eq!(
            of("0000000000001139 000000000000001a T main"),
            Some(("main".into(), 26))
        );
        assert_eq!(of("0000000000004010 0000000000000004 B number"), None);
        assert_eq!(of("                 U puts"), None);
    }

    #[test]
    fn the_list_stands_where_the_build_reads_it() {
        let text = fs::read_to_string(workspace::root().join(LIST)).unwrap();
        assert!(text.lines().count() > 100);
        let odd = text.lines().find(|name| !names::is_plain(name));
        assert_eq!(odd, None, "the linker would misread it");
    }
}
