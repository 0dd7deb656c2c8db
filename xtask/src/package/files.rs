//! The files around the program: the image, the Compose file, the shell installer.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::peers::Peers;
use crate::{process, ui, workspace};

/// Lets other people's linters read them.
pub(super) fn lint(peers: &Peers) -> Result<()> {
    let packaging = workspace::root().join("packaging");
    let container = packaging.join("container");
    process::run(
        process::program(peers.python_program("hadolint")).arg(container.join("Dockerfile")),
    )?;
    let mut compose = process::program("node");
    compose.arg(peers.module("dclint/bin/dclint.cjs"));
    compose
        .args(["--max-warnings", "0"])
        .arg(container.join("compose.yaml"));
    process::run(&mut compose)?;
    process::run(
        process::program(peers.python_program("shellcheck")).arg(packaging.join("install.sh")),
    )
}

/// Installs from an archive as a release has it, and refuses one that is not what was published.
pub(super) fn try_installer(binary: &Path, out: &Path) -> Result<()> {
    let place = out.join("installer");
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(place.join("toolcrib"))?;
    fs::copy(binary, place.join("toolcrib/toolcrib"))?;
    let archive = "toolcrib.tar.gz";
    process::run(
        Command::new("tar")
            .args(["-czf", archive, "toolcrib"])
            .current_dir(&place),
    )?;
    let sum = process::output(Command::new("sha256sum").arg(archive).current_dir(&place))?;
    fs::write(place.join("toolcrib.tar.gz.sha256"), &sum)?;
    let install = || {
        let mut command = Command::new("sh");
        command.arg(workspace::root().join("packaging/install.sh"));
        command
            .args(["--from", archive, "--to"])
            .arg(place.join("bin"));
        command.env("HOME", &place).current_dir(&place);
        command
    };
    process::run(&mut install())?;
    let mut program = Command::new(place.join("bin/toolcrib"));
    super::sees_five("what install.sh installed", &mut program, &place)?;
    let wrong = "0".repeat(64);
    ensure!(
        !process::quietly(install().args(["--sha256", &wrong])),
        "install.sh took an archive with another sum than it was told"
    );
    ui::line("install.sh refuses an archive with another sum");
    Ok(())
}
