//! The compiler wrapper that adds `-C instrument-coverage` to the product's crates and to nothing else.
//!
//! Cargo runs a `RUSTC_WORKSPACE_WRAPPER` for workspace members only and keys their artefacts by its path, so
//! instrumented and plain builds of the five crates live side by side and share every dependency. The
//! wrapper is a copy of this program under another name: nothing has to be installed for it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

/// The file name under which this program acts as the wrapper.
const NAME: &str = "rustc-with-coverage";

/// Whether the program was started as the wrapper.
pub(crate) fn is_wrapper(program: &str) -> bool {
    Path::new(program)
        .file_stem()
        .is_some_and(|stem| stem == NAME)
}

/// Puts the wrapper below `dir` and says where; an equal one is left alone, so that cargo sees no change.
pub(crate) fn install(dir: &Path) -> Result<PathBuf> {
    let own = std::env::current_exe().context("cannot find this program's own file")?;
    let to = dir
        .join(NAME)
        .with_extension(std::env::consts::EXE_EXTENSION);
    let content = std::fs::read(&own)?;
    if std::fs::read(&to).is_ok_and(|there| there == content) {
        return Ok(to);
    }
    // Written under another name first: the old one may be running.
    let fresh = dir.join(format!("{NAME}.new"));
    std::fs::copy(&own, &fresh)?;
    std::fs::rename(&fresh, &to)
        .with_context(|| format!("cannot put the wrapper at {}", to.display()))?;
    Ok(to)
}

/// Runs the compiler: `arguments` are its path and what cargo passes to it.
pub(crate) fn run(arguments: Vec<OsString>) -> ExitCode {
    let mut arguments = arguments.into_iter();
    let Some(compiler) = arguments.next() else {
        crate::ui::error(
            "the coverage wrapper is started by cargo, with the compiler as its first argument",
        );
        return ExitCode::FAILURE;
    };
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    let target = std::env::var("CARGO_CRATE_NAME").unwrap_or_default();
    let mut command = Command::new(&compiler);
    command.args(arguments);
    if is_counted(&package, &target) {
        command.args(["-C", "instrument-coverage"]);
    }
    match command.status() {
        Ok(status) => ExitCode::from(
            status
                .code()
                .and_then(|code| u8::try_from(code).ok())
                .unwrap_or(1),
        ),
        Err(error) => {
            crate::ui::error(&format!("cannot start {}: {error}", compiler.display()));
            ExitCode::FAILURE
        }
    }
}

/// Whether a crate is instrumented: the product's crates and their tests, but no build script (it would
/// write its data into the source tree) and none of the tools around the product.
fn is_counted(package: &str, target: &str) -> bool {
    crate::workspace::CRATES
        .iter()
        .any(|of| of.package == package)
        && !target.starts_with("build_script_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_products_crates_are_instrumented() {
        assert!(is_counted("toolcrib-core", "toolcrib_core"));
        assert!(is_counted("toolcrib", "it"));
        assert!(!is_counted("toolcrib", "build_script_build"));
        assert!(!is_counted("toolcrib-testkit", "toolcrib_testkit"));
        assert!(!is_counted("xtask", "xtask"));
        assert!(!is_counted("", ""));
    }

    #[test]
    fn the_wrapper_knows_itself_by_name() {
        assert!(is_wrapper("some/dir/rustc-with-coverage"));
        assert!(!is_wrapper("target/debug/xtask"));
    }

    #[test]
    fn an_installed_wrapper_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let first = install(dir.path()).unwrap();
        let made = std::fs::metadata(&first).unwrap().modified().unwrap();
        assert_eq!(install(dir.path()).unwrap(), first);
        assert_eq!(std::fs::metadata(&first).unwrap().modified().unwrap(), made);
    }
}
