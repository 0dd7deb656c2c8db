//! The LLVM programs of the toolchain in use.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::{process, ui};

/// The programs that read what was counted, and the one that takes names out.
#[derive(Debug)]
pub(crate) struct Tools {
    pub(crate) profdata: PathBuf,
    pub(crate) cov: PathBuf,
    #[cfg_attr(
        not(feature = "product"),
        expect(dead_code, reason = "used with the product")
    )]
    pub(crate) strip: PathBuf,
}

impl Tools {
    /// Finds the tools; where they are missing, asks rustup for its component `llvm-tools` once.
    pub(crate) fn find_or_install() -> Result<Self> {
        let dir = bin_dir()?;
        if let Some(tools) = Self::below(&dir) {
            return Ok(tools);
        }
        ui::line("the toolchain has no llvm-tools yet; asking rustup for them");
        process::run(process::program("rustup").args(["component", "add", "llvm-tools"]))
            .context("the component `llvm-tools` is missing and rustup could not add it")?;
        match Self::below(&dir) {
            Some(tools) => Ok(tools),
            None => bail!("rustup added `llvm-tools`, but llvm-cov is not in the toolchain"),
        }
    }

    fn below(dir: &Path) -> Option<Self> {
        let file = |name: &str| {
            let path = dir
                .join(name)
                .with_extension(std::env::consts::EXE_EXTENSION);
            path.is_file().then_some(path)
        };
        Some(Self {
            profdata: file("llvm-profdata")?,
            cov: file("llvm-cov")?,
            strip: file("llvm-strip")?,
        })
    }
}

/// `lib/rustlib/HOST/bin` of the toolchain that cargo uses here.
fn bin_dir() -> Result<PathBuf> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let sysroot = process::output(process::program(&rustc).args(["--print", "sysroot"]))?;
    Ok(Path::new(sysroot.trim())
        .join("lib/rustlib")
        .join(host()?)
        .join("bin"))
}

/// The platform that the compiler in use runs on and compiles for.
pub(crate) fn host() -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = process::output(process::program(&rustc).arg("-vV"))?;
    let mut lines = version.lines();
    let host = lines.find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("`rustc -vV` names no host")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_one_of_two_tools_does_not_do() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(
            dir.path()
                .join("llvm-cov")
                .with_extension(std::env::consts::EXE_EXTENSION),
            "",
        )
        .unwrap();
        assert!(Tools::below(dir.path()).is_none());
    }

    #[test]
    fn the_folder_is_inside_the_toolchain() {
        assert!(bin_dir().unwrap().ends_with("bin"));
    }
}
