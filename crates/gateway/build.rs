//! Lets the linker put the functions that a session runs next to each other (ADR 0011).
//!
//! The system maps code in runs of pages around each one that is touched, so what an idle process holds follows how far
//! apart the functions are that it ran. `link/hot.txt` names them; `cargo xtask hot` writes it. Where a linker cannot do
//! this, the program is linked as usual.

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const LIST: &str = "link/hot.txt";
/// Names a file with the very functions that ran in this build, which `cargo xtask trained` knows.
const ORDER: &str = "TOOLCRIB_LINK_ORDER";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={LIST}");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={ORDER}");
    if variable("CARGO_CFG_TARGET_OS") != "linux" || variable("OPT_LEVEL") == "0" {
        return Ok(());
    }
    let place = PathBuf::from(variable("OUT_DIR"));
    let order = variable(ORDER);
    let option = if order.is_empty() {
        let script = place.join("hot.ld");
        fs::write(&script, sections(&fs::read_to_string(LIST)?)?)?;
        format!("-Wl,-T,{}", script.display())
    } else {
        println!("cargo::rerun-if-changed={order}");
        format!("-Wl,--no-warn-symbol-ordering,--symbol-ordering-file={order}")
    };
    if understands(&place, &option) {
        println!("cargo::rustc-link-arg-bins={option}");
    }
    Ok(())
}

/// A script for the linker: a section of the listed functions before that of all others.
fn sections(list: &str) -> Result<String, std::fmt::Error> {
    let mut script = String::from("SECTIONS {\n  .text.session : {\n");
    for name in list.lines() {
        writeln!(
            script,
            "    *(.text.{name} .text.unlikely.{name} .text.startup.{name})"
        )?;
    }
    script.push_str("  }\n} INSERT BEFORE .text;\n");
    Ok(script)
}

/// Whether the linker takes the option: only LLD goes through so many names quickly.
fn understands(place: &Path, option: &str) -> bool {
    let source = place.join("probe.rs");
    if fs::write(&source, "fn main() {}").is_err() {
        return false;
    }
    let mut probe = Command::new(variable("RUSTC"));
    probe.args(["--target", &variable("TARGET"), "--out-dir"]);
    probe.arg(place).arg(source);
    let linker = variable("RUSTC_LINKER");
    if !linker.is_empty() {
        probe.arg("-C").arg(format!("linker={linker}"));
    }
    let flags = variable("CARGO_ENCODED_RUSTFLAGS");
    probe.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    // An option that only LLD has.
    probe.args(["-C", "link-arg=-Wl,--lto-O2", "-C"]);
    probe.arg(format!("link-arg={option}"));
    probe.stdout(Stdio::null()).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}

/// A variable that Cargo sets; empty where it does not.
fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}
