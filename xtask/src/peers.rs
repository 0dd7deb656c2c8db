//! Programs of other people that ours is judged by: from the npm registry and `PyPI`, pinned.
//!
//! What is pinned stands in `testkit/peers/NAME`; it is installed below `target/peers/NAME`, once, from the
//! registries that this machine is configured for. Nothing has to be there but `npm` and `python3`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{process, workspace};

/// The file that is written last: what stands in it is installed whole.
const MARK: &str = "installed";

/// Packages that are installed together.
#[derive(Debug)]
pub(crate) struct Peers {
    place: PathBuf,
}

/// Where the pins of a set stand.
pub(crate) fn pins(name: &str) -> PathBuf {
    workspace::root().join("testkit/peers").join(name)
}

/// Whether packages of npm can be installed here.
pub(crate) fn has_npm() -> bool {
    process::quietly(process::node_script("npm").arg("--version"))
}

/// Whether packages of `PyPI` can be installed here.
pub(crate) fn has_python() -> bool {
    process::quietly(Command::new("python3").args(["-m", "venv", "--help"]))
}

impl Peers {
    /// Installs a set unless it is there as it is pinned.
    pub(crate) fn install(name: &str) -> Result<Self> {
        let pins = pins(name);
        let peers = Self {
            place: workspace::target().join("peers").join(name),
        };
        let mut wanted = String::new();
        for file in ["package.json", "package-lock.json", "requirements.txt"] {
            wanted.push_str(&std::fs::read_to_string(pins.join(file)).unwrap_or_default());
        }
        let mark = peers.place.join(MARK);
        if std::fs::read_to_string(&mark).is_ok_and(|there| there == wanted) {
            return Ok(peers);
        }
        let _ = std::fs::remove_file(&mark);
        std::fs::create_dir_all(&peers.place)?;
        peers
            .install_npm(&pins)
            .and_then(|()| peers.install_python(&pins))
            .with_context(|| format!("cannot install the peers `{name}`"))?;
        std::fs::write(mark, wanted)?;
        Ok(peers)
    }

    fn install_npm(&self, pins: &Path) -> Result<()> {
        if !pins.join("package.json").is_file() {
            return Ok(());
        }
        for file in ["package.json", "package-lock.json"] {
            std::fs::copy(pins.join(file), self.place.join(file))?;
        }
        let mut npm = process::node_script("npm");
        // Not `ci`: it refuses a lock file that lacks packages for other systems.
        npm.current_dir(&self.place).args(["install", "--no-save"]);
        npm.arg("--ignore-scripts");
        process::run(npm.args(["--no-audit", "--no-fund", "--loglevel=error"]))?;
        // The one package whose script is run: it fetches the Node for this machine.
        let node = self.place.join("node_modules/node");
        if node.is_dir() {
            let mut fetch = Command::new("node");
            process::run(fetch.current_dir(node).arg("installArchSpecificPackage.js"))?;
        }
        Ok(())
    }

    fn install_python(&self, pins: &Path) -> Result<()> {
        let requirements = pins.join("requirements.txt");
        if !requirements.is_file() {
            return Ok(());
        }
        let venv = self.place.join("venv");
        process::run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        let mut pip = Command::new(self.python());
        pip.args(["-m", "pip", "install", "--quiet", "--no-deps"]);
        pip.args(["--disable-pip-version-check", "--requirement"]);
        process::run(pip.arg(requirements))
    }

    /// The Node that came along.
    pub(crate) fn node(&self) -> PathBuf {
        self.place.join("node_modules/node/bin/node")
    }

    /// The Python that the packages of `PyPI` are installed for.
    pub(crate) fn python(&self) -> PathBuf {
        self.place.join("venv/bin/python")
    }

    /// A file of an npm package.
    pub(crate) fn module(&self, file: &str) -> PathBuf {
        self.place.join("node_modules").join(file)
    }

    /// A program that an npm package installed.
    pub(crate) fn npm_program(&self, name: &str) -> PathBuf {
        self.place.join("node_modules/.bin").join(name)
    }

    /// A program that a package of `PyPI` installed.
    pub(crate) fn python_program(&self, name: &str) -> PathBuf {
        self.place.join("venv/bin").join(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_files_name_no_mirror_and_every_package_is_pinned() {
        for name in [
            "clients",
            "conformance",
            "package",
            "prism",
            "servers-few",
            "servers-more",
        ] {
            let read = |file: &str| std::fs::read_to_string(pins(name).join(file)).unwrap();
            assert!(
                !read("package-lock.json").contains("\"resolved\""),
                "{name}"
            );
            let packages: serde_json::Value = serde_json::from_str(&read("package.json")).unwrap();
            for (package, version) in packages["dependencies"].as_object().unwrap() {
                let is_exact = version
                    .as_str()
                    .is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()));
                assert!(is_exact, "{name}: {package} {version}");
            }
        }
    }
}
