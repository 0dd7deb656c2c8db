//! `Cargo.lock`: what exactly is built.

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::workspace;

#[derive(Debug, Deserialize)]
struct Lockfile {
    package: Vec<Locked>,
}

/// One locked package.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Locked {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) source: Option<String>,
}

/// Every package that does not stand in this workspace.
pub(crate) fn foreign() -> Result<Vec<Locked>> {
    let text = std::fs::read_to_string(workspace::root().join("Cargo.lock"))
        .context("cannot read Cargo.lock")?;
    parse(&text)
}

fn parse(text: &str) -> Result<Vec<Locked>> {
    let lockfile: Lockfile = toml::from_str(text).context("cannot read Cargo.lock")?;
    Ok(lockfile
        .package
        .into_iter()
        .filter(|package| package.source.is_some())
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_packages_are_left_out() {
        let text = "version = 4\n[[package]]\nname = \"a\"\nversion = \"0.1.0\"\n[[package]]\nname = \"b\"\nversion = \"1.2.3\"\nsource = \"registry+x\"\n";
        let names: Vec<String> = parse(text)
            .unwrap()
            .into_iter()
            .map(|package| package.name)
            .collect();
        assert_eq!(names, ["b"]);
    }
}
