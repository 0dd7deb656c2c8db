//! The wheel: the program as a script of a Python package, so that `uvx toolcrib` starts it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::peers::Peers;
use crate::{process, ui, workspace};

/// The maturin that builds a wheel from the sources.
const MATURIN: &str = "maturin==1.16.0";

/// Writes the wheel of a platform around a program.
pub(super) fn write(platform: &str, binary: &Path, out: &Path) -> Result<PathBuf> {
    let root = workspace::root();
    let folder = out.join("wheels");
    let _ = fs::remove_dir_all(&folder);
    let from = if binary.exists() {
        binary.to_owned()
    } else {
        binary.with_extension("exe")
    };
    let told = process::output(
        process::program(python())
            .arg(root.join("packaging/pypi/wheel.py"))
            .arg(
                fs::canonicalize(&from)
                    .with_context(|| format!("{} is not there", from.display()))?,
            )
            .args([&super::of_workspace(&root, "version")?, platform])
            .arg(&folder),
    )?;
    Ok(PathBuf::from(told.trim()))
}

/// What Python is called here.
fn python() -> &'static str {
    if cfg!(windows) { "python" } else { "python3" }
}

/// Installs the wheel as `uvx` and as `pip` do, from nowhere else, and starts it.
pub(super) fn try_out(peers: &Peers, wheel: &Path, out: &Path) -> Result<()> {
    let place = out.join("python");
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place)?;
    let folder = wheel.parent().context("a wheel stands in a folder")?;
    let uvx = || {
        let mut command = Command::new(peers.python_program("uvx"));
        command
            .args(["--quiet", "toolcrib"])
            .env("UV_NO_INDEX", "1")
            .env("UV_FIND_LINKS", folder)
            .env("UV_CACHE_DIR", place.join("cache"))
            .env("UV_TOOL_DIR", place.join("tools"))
            .env("UV_PYTHON_DOWNLOADS", "never")
            .env("HOME", &place)
            .current_dir(&place);
        command
    };
    let version = process::output(uvx().arg("--version"))?;
    ui::line(&format!("uvx toolcrib --version: {}", version.trim()));
    super::sees_five("uvx toolcrib", &mut uvx(), &place)?;
    super::sees_five("what pip installed", &mut pip(wheel, &place)?, &place)
}

/// The program that `pip` makes of a wheel, in an environment of its own.
fn pip(wheel: &Path, place: &Path) -> Result<Command> {
    let venv = place.join("venv");
    let _ = fs::remove_dir_all(&venv);
    process::run(process::program(python()).args(["-m", "venv"]).arg(&venv))?;
    let mut pip = Command::new(venv.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--no-index"]);
    process::run(pip.arg("--disable-pip-version-check").arg(wheel))?;
    Ok(Command::new(venv.join("bin/toolcrib")))
}

/// Lets maturin build a wheel from the sources, as an installation without a wheel for its platform does.
pub(super) fn try_maturin(out: &Path) -> Result<()> {
    let place = out.join("maturin");
    let _ = fs::remove_dir_all(&place);
    let venv = place.join("venv");
    process::run(process::program(python()).args(["-m", "venv"]).arg(&venv))?;
    let mut fetch = Command::new(venv.join("bin/python"));
    fetch.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]);
    process::run(fetch.arg(MATURIN))?;
    let folder = place.join("wheels");
    let mut build = process::program(venv.join("bin/maturin"));
    build
        .args(["build", "--release", "--locked", "--out"])
        .arg(&folder);
    build.current_dir(workspace::root().join("packaging/pypi"));
    process::run(build.env("CARGO_TARGET_DIR", workspace::target()))?;
    let mut wheels = fs::read_dir(&folder)?;
    let wheel = wheels.next().context("maturin wrote no wheel")??.path();
    super::told(std::slice::from_ref(&wheel))?;
    super::sees_five("the wheel of maturin", &mut pip(&wheel, &place)?, &place)
}
