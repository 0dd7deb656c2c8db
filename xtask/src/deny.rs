//! `deny.toml` in cargo-deny's format, as far as this project uses it.
//!
//! A key that is not known here is an error: the file must not promise what nobody checks offline.

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::workspace;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Deny {
    pub(crate) graph: Graph,
    pub(crate) licenses: Licences,
    pub(crate) bans: Bans,
    pub(crate) sources: Sources,
    #[serde(default)]
    pub(crate) advisories: Advisories,
}

/// What is looked at.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Graph {
    pub(crate) targets: Vec<String>,
    #[expect(
        dead_code,
        reason = "the graph is always read with all features; cargo-deny needs to be told"
    )]
    all_features: bool,
}

/// Which licences dependencies may have.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Licences {
    pub(crate) allow: Vec<String>,
    #[serde(default)]
    pub(crate) exceptions: Vec<LicenceException>,
    #[serde(default)]
    pub(crate) clarify: Vec<Clarification>,
}

/// More licences for one crate.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LicenceException {
    #[serde(rename = "crate")]
    pub(crate) name: String,
    pub(crate) allow: Vec<String>,
}

/// The licence of a crate whose manifest does not say it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Clarification {
    #[serde(rename = "crate")]
    pub(crate) name: String,
    pub(crate) expression: String,
    #[serde(default)]
    #[expect(
        dead_code,
        reason = "cargo-deny wants the hashes of the files that prove it"
    )]
    license_files: Vec<toml::Value>,
}

/// Crates that must not be in the graph.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Bans {
    pub(crate) multiple_versions: Level,
    pub(crate) wildcards: Level,
    pub(crate) allow_wildcard_paths: bool,
    pub(crate) deny: Vec<Ban>,
}

/// One crate that must not be in the graph.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ban {
    #[serde(rename = "crate")]
    pub(crate) name: String,
    pub(crate) reason: String,
}

/// Where crates may come from.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Sources {
    pub(crate) unknown_registry: Level,
    pub(crate) unknown_git: Level,
    pub(crate) allow_registry: Vec<String>,
}

/// Advisories that are known and accepted.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Advisories {
    #[serde(default)]
    pub(crate) ignore: Vec<Ignored>,
}

/// One accepted advisory and why.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ignored {
    pub(crate) id: String,
    pub(crate) reason: String,
}

/// What happens when something is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    Allow,
    Warn,
    Deny,
}

impl Deny {
    /// Reads the workspace's file.
    pub(crate) fn load() -> Result<Self> {
        let path = workspace::root().join("deny.toml");
        let text = std::fs::read_to_string(&path).context("cannot read deny.toml")?;
        Self::parse(&text)
    }

    pub(crate) fn parse(text: &str) -> Result<Self> {
        toml::from_str(text).context("deny.toml is not what this task understands")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_file_is_understood_and_bans_what_it_must() {
        let deny = Deny::load().unwrap();
        for name in [
            "ring",
            "openssl",
            "openssl-sys",
            "native-tls",
            "serde_yaml",
            "serde_yml",
        ] {
            assert!(
                deny.bans.deny.iter().any(|ban| ban.name == name),
                "{name} is not banned"
            );
        }
        assert!(deny.bans.deny.iter().all(|ban| !ban.reason.is_empty()));
        assert!(
            deny.advisories
                .ignore
                .iter()
                .all(|ignored| !ignored.reason.is_empty())
        );
    }

    #[test]
    fn a_promise_that_nobody_checks_is_refused() {
        let text = std::fs::read_to_string(workspace::root().join("deny.toml")).unwrap();
        let error = Deny::parse(&format!("{text}\n[telemetry]\nx = 1\n")).unwrap_err();
        assert!(format!("{error:#}").contains("telemetry"));
    }
}
