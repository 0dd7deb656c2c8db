//! `cargo xtask trained`: the program as it is packaged, compiled by what its sessions did (ADR 0013).
//!
//! A build that counts has a session over each door; the compiler then shapes code by these counts. Sessions of what it
//! made tell which functions run, and the linker puts these next to each other. Counts and names fit this compiler and
//! this lock file only, so that they are made anew and never kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::UNIX_EPOCH;

use anyhow::{Result, ensure};

use crate::args::Args;
use crate::coverage::tools::{Tools, host};
use crate::{hot, process, session, ui, workspace};

/// `cargo xtask trained [--out FILE]`
pub(crate) fn run(args: &mut Args) -> Result<()> {
    let out = args.options("--out")?.pop().map(PathBuf::from);
    args.finish()?;
    let program = build()?;
    let told = match out {
        Some(out) => {
            fs::copy(&program, &out)?;
            out
        }
        None => program,
    };
    let bytes = fs::metadata(&told)?.len();
    ui::line(&format!("built {}, {bytes} bytes", told.display()));
    Ok(())
}

/// Builds it and says where it is.
pub(crate) fn build() -> Result<PathBuf> {
    let place = place();
    let counts = place.join("counts");
    let counting = compiled(&place, "counting", "generate", &counts, None)?;
    let (stamp, made, program) = (stamp(&counting)?, place.join("made"), named(&place));
    if program.is_file() && fs::read_to_string(&made).is_ok_and(|of| of == stamp) {
        return Ok(program);
    }
    let profile = place.join(format!("{stamp}.profdata"));
    if !profile.is_file() {
        let _ = fs::remove_dir_all(&counts);
        fs::create_dir_all(&counts)?;
        session::play(&counting, |_| Command::new(&counting))?;
        let mut merge = process::program(Tools::find_or_install()?.profdata);
        process::run(merge.arg("merge").arg("-o").arg(&profile).arg(&counts))?;
    }
    let mut done = compiled(&place, "done", "use", &profile, None)?;
    if process::quietly(process::program("valgrind").arg("--version")) {
        let order = order(&place, &done)?;
        done = compiled(&place, "done", "use", &profile, Some(&order))?;
    } else {
        ui::line("no valgrind here: the functions stay where the compiler put them");
    }
    fs::copy(done, &program)?;
    process::run(process::program(Tools::find_or_install()?.strip).arg(&program))?;
    fs::write(made, stamp)?;
    Ok(program)
}

/// A file with the functions that run in sessions of a program.
fn order(place: &Path, program: &Path) -> Result<PathBuf> {
    let mut names: Vec<String> = hot::ran(program)?.into_iter().collect();
    names.sort_unstable();
    let order = place.join("order.txt");
    fs::write(&order, names.join("\n") + "\n")?;
    Ok(order)
}

/// Where the program is when it was built.
pub(crate) fn place() -> PathBuf {
    workspace::target().join("trained")
}

/// The program in a directory.
fn named(directory: &Path) -> PathBuf {
    directory
        .join("toolcrib")
        .with_extension(std::env::consts::EXE_EXTENSION)
}

/// Tells one build of a program from the next, so that what was counted in it is neither lost nor taken for another's.
fn stamp(program: &Path) -> Result<String> {
    let changed = fs::metadata(program)?.modified()?;
    Ok(changed.duration_since(UNIX_EPOCH)?.as_nanos().to_string())
}

/// The program with the names of its functions, compiled in a directory of its own with a flag for the compiler. A
/// target is named so that what runs while it is built is compiled as usual.
fn compiled(
    place: &Path,
    name: &str,
    what: &str,
    file: &Path,
    order: Option<&Path>,
) -> Result<PathBuf> {
    let flags = format!("-Cprofile-{what}={}", file.display());
    ensure!(
        !flags.contains(char::is_whitespace),
        "the directory of the build has a space in its name, which the compiler's flags cannot hold: {}",
        file.display()
    );
    let (host, directory) = (host()?, place.join(name));
    let mut build = process::cargo();
    build
        .args(["build", "--locked", "--release", "-p", "toolcrib", "--bins"])
        .args(["--target", &host, "--target-dir"])
        .arg(&directory)
        .env("RUSTFLAGS", flags)
        .env("CARGO_PROFILE_RELEASE_STRIP", "none");
    if let Some(order) = order {
        build.env("TOOLCRIB_LINK_ORDER", order);
    }
    process::run(&mut build)?;
    Ok(named(&directory.join(host).join("release")))
}
