//! The committed advisories: `supply-chain/advisories.toml`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::lockfile::Locked;
use crate::{process, workspace};

const HEADER: &str = "\
# Advisories on the crates of Cargo.lock, kept here so that the check needs no network.
# `covers` names every crate that was looked up; a crate without an advisory below had none on that date.
# Renew from a checkout of the database: cargo xtask advisories --from DIR
";

/// What was known on one day about the crates in use.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Snapshot {
    pub(crate) date: String,
    pub(crate) source: String,
    /// What a reader must know about how the snapshot came to be.
    #[serde(default)]
    pub(crate) note: String,
    pub(crate) covers: BTreeSet<String>,
    #[serde(default)]
    pub(crate) advisory: Vec<Advisory>,
}

/// One advisory.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Advisory {
    pub(crate) id: String,
    #[serde(rename = "crate")]
    pub(crate) name: String,
    /// `vulnerability`, `unsound`, `unmaintained` or `notice`.
    pub(crate) kind: String,
    pub(crate) title: String,
    pub(crate) patched: Vec<String>,
    pub(crate) unaffected: Vec<String>,
}

impl Advisory {
    /// Whether a locked package is one that the advisory warns of; what cannot be read counts as such.
    pub(crate) fn concerns(&self, package: &Locked) -> bool {
        if self.name != package.name {
            return false;
        }
        let Ok(version) = semver::Version::parse(&package.version) else {
            return true;
        };
        let mut safe = self.patched.iter().chain(&self.unaffected);
        !safe.any(|range| {
            semver::VersionReq::parse(range).is_ok_and(|range| range.matches(&version))
        })
    }
}

impl Snapshot {
    fn path() -> PathBuf {
        workspace::root().join("supply-chain/advisories.toml")
    }

    pub(crate) fn load() -> Result<Self> {
        let text = std::fs::read_to_string(Self::path())
            .context("cannot read supply-chain/advisories.toml")?;
        toml::from_str(&text)
            .context("supply-chain/advisories.toml is not a snapshot of advisories")
    }

    pub(crate) fn save(&self) -> Result<()> {
        std::fs::write(Self::path(), self.to_toml())
            .context("cannot write supply-chain/advisories.toml")
    }

    /// Reads from a checkout of the `RustSec` database what concerns `packages`.
    pub(crate) fn collect(checkout: &Path, packages: &[Locked]) -> Result<Self> {
        let mut git = process::program("git");
        git.args(["log", "-1", "--format=%cs"])
            .current_dir(checkout);
        let date = process::output(&mut git)
            .with_context(|| format!("{} is not a checkout", checkout.display()))?;
        let covers: BTreeSet<String> = packages
            .iter()
            .map(|package| package.name.clone())
            .collect();
        let mut advisory = Vec::new();
        for name in &covers {
            for file in crate::source::files_below(&checkout.join("crates").join(name), ".md") {
                let text = std::fs::read_to_string(&file)?;
                advisory.extend(
                    parse(&text).with_context(|| format!("cannot read {}", file.display()))?,
                );
            }
        }
        Ok(Self {
            date: date.trim().into(),
            source: "https://github.com/rustsec/advisory-db".into(),
            note: "All crates of Cargo.lock, from a checkout of that date.".into(),
            covers,
            advisory,
        })
    }

    fn to_toml(&self) -> String {
        let mut text = String::from(HEADER);
        let string = |value: &str| toml::Value::from(value).to_string();
        let list = |values: &[String]| {
            values
                .iter()
                .map(|value| string(value))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let _ = writeln!(
            text,
            "date = {}\nsource = {}\nnote = {}\ncovers = [",
            string(&self.date),
            string(&self.source),
            string(&self.note)
        );
        for name in &self.covers {
            let _ = writeln!(text, "    {},", string(name));
        }
        text.push_str("]\n");
        for one in &self.advisory {
            let _ = write!(
                text,
                "\n[[advisory]]\nid = {}\ncrate = {}\nkind = {}\ntitle = {}\npatched = [{}]\nunaffected = [{}]\n",
                string(&one.id),
                string(&one.name),
                string(&one.kind),
                string(&one.title),
                list(&one.patched),
                list(&one.unaffected)
            );
        }
        text
    }
}

/// The part of a database entry that says whom it concerns.
#[derive(Deserialize)]
struct Entry {
    advisory: Head,
    versions: Versions,
}

#[derive(Deserialize)]
struct Head {
    id: String,
    package: String,
    informational: Option<String>,
    withdrawn: Option<toml::Value>,
}

#[derive(Deserialize)]
struct Versions {
    patched: Vec<String>,
    #[serde(default)]
    unaffected: Vec<String>,
}

/// Reads one entry of the database: a fenced TOML block, then the title; `None` where it was withdrawn.
fn parse(text: &str) -> Result<Option<Advisory>> {
    let block = text
        .split("```toml")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .context("it has no TOML block")?;
    let entry: Entry = toml::from_str(block)?;
    let title = text
        .lines()
        .find_map(|line| line.strip_prefix("# "))
        .unwrap_or("(no title)")
        .trim()
        .to_owned();
    if entry.advisory.withdrawn.is_some() {
        return Ok(None);
    }
    Ok(Some(Advisory {
        id: entry.advisory.id,
        name: entry.advisory.package,
        kind: entry
            .advisory
            .informational
            .unwrap_or_else(|| "vulnerability".into()),
        title,
        patched: entry.versions.patched,
        unaffected: entry.versions.unaffected,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: &str = "```toml\n[advisory]\nid = \"RUSTSEC-2020-0001\"\npackage = \"old\"\ndate = \"2020-01-01\"\n\n[versions]\npatched = [\">= 1.2\"]\n```\n\n# It \"leaks\"\n\nText.\n";

    #[test]
    fn an_entry_of_the_database_is_read() {
        let advisory = parse(ENTRY).unwrap().unwrap();
        assert_eq!(
            (advisory.id.as_str(), advisory.kind.as_str()),
            ("RUSTSEC-2020-0001", "vulnerability")
        );
        assert_eq!(advisory.title, "It \"leaks\"");
        assert_eq!(advisory.patched, [">= 1.2"]);
    }

    #[test]
    fn a_withdrawn_entry_is_left_out_and_a_broken_one_is_an_error() {
        assert!(
            parse(&ENTRY.replace("date =", "withdrawn = \"2021-01-01\"\ndate ="))
                .unwrap()
                .is_none()
        );
        assert!(parse("# no block").is_err());
    }

    #[test]
    fn what_is_written_is_read_back() {
        let snapshot = Snapshot {
            date: "2026-01-02".into(),
            source: "x".into(),
            note: "by \"hand\"".into(),
            covers: ["old".to_owned()].into(),
            advisory: parse(ENTRY).unwrap().into_iter().collect(),
        };
        let again: Snapshot = toml::from_str(&snapshot.to_toml()).unwrap();
        assert_eq!(again.to_toml(), snapshot.to_toml());
    }

    #[test]
    fn the_committed_snapshot_is_readable_and_names_only_what_it_covers() {
        let snapshot = Snapshot::load().unwrap();
        for advisory in &snapshot.advisory {
            assert!(
                snapshot.covers.contains(&advisory.name),
                "{} is not covered",
                advisory.name
            );
            for range in advisory.patched.iter().chain(&advisory.unaffected) {
                assert!(
                    semver::VersionReq::parse(range).is_ok(),
                    "{}: {range}",
                    advisory.id
                );
            }
        }
    }
}
