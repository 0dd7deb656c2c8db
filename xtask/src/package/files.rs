//! The files around the program: the image, the Compose file, the shell installer.

use std::fs;
use std::path::{Path, PathBuf};
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

/// Where the manual stands in an archive and below a prefix.
const MANUAL: &str = "share/man/man1";

/// The pages of the manual in a directory.
fn pages(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "1") {
            pages.push(path);
        }
    }
    ensure!(
        !pages.is_empty(),
        "there are no pages in {}",
        directory.display()
    );
    Ok(pages)
}

/// Looks for every page beside the program, and in the archive and the image that are made elsewhere.
fn sees_manual(pages: &[PathBuf], prefix: &Path) -> Result<()> {
    for page in pages {
        let name = page.file_name().unwrap_or_default();
        let installed = fs::read(prefix.join(MANUAL).join(name)).unwrap_or_default();
        ensure!(
            installed == fs::read(page)?,
            "install.sh did not install {}",
            name.display()
        );
    }
    for (file, line) in [
        (
            ".github/workflows/release.yml",
            "cp docs/man/*.1 out/toolcrib/share/man/man1/",
        ),
        (
            "packaging/container/Dockerfile",
            "/src/docs/man/*.1 /usr/local/share/man/man1/",
        ),
    ] {
        let text = fs::read_to_string(workspace::root().join(file))?;
        ensure!(
            text.contains(line),
            "{file} leaves out the manual: it has no {line}"
        );
    }
    let count = pages.len();
    ui::line(&format!("install.sh installed {count} pages of the manual"));
    Ok(())
}

/// Installs from an archive as a release has it, and refuses one that is not what was published.
pub(super) fn try_installer(binary: &Path, out: &Path) -> Result<()> {
    let place = out.join("installer");
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(place.join("toolcrib").join(MANUAL))?;
    fs::copy(binary, place.join("toolcrib/toolcrib"))?;
    let pages = pages(&workspace::root().join("docs/man"))?;
    for page in &pages {
        let name = page.file_name().unwrap_or_default();
        fs::copy(page, place.join("toolcrib").join(MANUAL).join(name))?;
    }
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
    sees_manual(&pages, &place)?;
    let wrong = "0".repeat(64);
    ensure!(
        !process::quietly(install().args(["--sha256", &wrong])),
        "install.sh took an archive with another sum than it was told"
    );
    ui::line("install.sh refuses an archive with another sum");
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Installs an archive that holds a script in place of the program, and says whether that went well.
    fn install(place: &Path, script: &str) -> Result<bool> {
        let _ = fs::remove_dir_all(place.join("toolcrib"));
        fs::create_dir_all(place.join("toolcrib"))?;
        fs::write(place.join("toolcrib/toolcrib"), script)?;
        let mut tar = Command::new("tar");
        tar.args(["-czf", "toolcrib.tar.gz", "toolcrib"]);
        process::run(tar.current_dir(place))?;
        let mut install = Command::new("sh");
        install
            .arg(workspace::root().join("packaging/install.sh"))
            .args(["--from", "toolcrib.tar.gz", "--to", "bin"]);
        Ok(process::quietly(
            install.env("HOME", place).current_dir(place),
        ))
    }

    #[test]
    fn an_upgrade_that_does_not_start_leaves_what_was_installed() {
        let place = tempfile::tempdir().unwrap();
        let works = "#!/bin/sh\necho toolcrib 1.0.0\n";
        assert!(install(place.path(), works).unwrap());
        let installed = || fs::read_to_string(place.path().join("bin/toolcrib")).unwrap();
        assert_eq!(installed(), works);
        for broken in ["#!/bin/sh\nexit 127\n", "#!/no/such/interpreter\n"] {
            assert!(!install(place.path(), broken).unwrap());
            assert_eq!(installed(), works);
        }
        let files = fs::read_dir(place.path().join("bin")).unwrap();
        assert_eq!(files.count(), 1, "what was tried is gone");
    }
}
