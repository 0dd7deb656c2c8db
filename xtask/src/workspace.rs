//! Where things are: the workspace, its crates, and the data beside it.

use std::path::{Path, PathBuf};

/// The five product crates: directory under `crates/`, package name, and the share of lines (in percent)
/// that tests must run.
pub(crate) const CRATES: &[Crate] = &[
    Crate {
        dir: "core",
        package: "toolcrib-core",
        floor_percent: 90,
    },
    Crate {
        dir: "config",
        package: "toolcrib-config",
        floor_percent: 90,
    },
    Crate {
        dir: "upstream",
        package: "toolcrib-upstream",
        floor_percent: 90,
    },
    Crate {
        dir: "store",
        package: "toolcrib-store",
        floor_percent: 90,
    },
    Crate {
        dir: "gateway",
        package: "toolcrib",
        floor_percent: 90,
    },
];

/// A product crate.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Crate {
    pub(crate) dir: &'static str,
    pub(crate) package: &'static str,
    pub(crate) floor_percent: u32,
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_owned()
}

/// `target/xtask`, where tasks keep what they produce for themselves.
pub(crate) fn scratch() -> PathBuf {
    target().join("xtask")
}

/// The target directory that cargo uses.
pub(crate) fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

/// The shared data for evaluations: `TOOLCRIB_SHARED`, else `../shared` from the root; `None` where it is not there.
pub(crate) fn shared() -> Option<PathBuf> {
    let dir = match std::env::var_os("TOOLCRIB_SHARED") {
        Some(dir) => PathBuf::from(dir),
        None => root().parent()?.join("shared"),
    };
    dir.join("data").is_dir().then_some(dir)
}

/// A path as it is written in messages: relative to the root, with forward slashes.
pub(crate) fn relative(path: &Path) -> String {
    let root = root();
    path.strip_prefix(&root)
        .unwrap_or(path)
        .to_string_lossy()
        .replace('\\', "/")
}
