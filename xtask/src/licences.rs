//! Licences, bans and sources of dependencies, held to `deny.toml` without network.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

use crate::args::Args;
use crate::deny::{Deny, Level};
use crate::metadata::{Metadata, Package};
use crate::spdx::Expression;
use crate::ui;

/// `cargo xtask licences`
pub(crate) fn run(args: &mut Args) -> Result<()> {
    args.finish()?;
    let note = check()?;
    ui::line(&note);
    Ok(())
}

/// Checks every package that is built for one of our targets.
pub(crate) fn check() -> Result<String> {
    let deny = Deny::load()?;
    let mut packages: BTreeMap<String, Package> = BTreeMap::new();
    let mut findings = Vec::new();
    for target in &deny.graph.targets {
        let metadata = Metadata::for_target(target)?;
        if packages.is_empty() {
            findings.extend(
                metadata
                    .own()
                    .into_iter()
                    .flat_map(|package| wildcards(&deny, package)),
            );
        }
        packages.extend(
            metadata
                .foreign()
                .into_iter()
                .map(|package| (package.id.clone(), package.clone())),
        );
    }
    let packages: Vec<Package> = packages.into_values().collect();
    findings.extend(graph_findings(&deny, &packages));
    for finding in findings
        .iter()
        .filter(|finding| finding.level == Level::Warn)
    {
        ui::warn(&finding.text);
    }
    let wrong: Vec<&Finding> = findings
        .iter()
        .filter(|finding| finding.level == Level::Deny)
        .collect();
    for finding in &wrong {
        ui::error(&finding.text);
    }
    if !wrong.is_empty() {
        bail!("{} dependencies break deny.toml", wrong.len());
    }
    Ok(format!(
        "{} packages for {} targets",
        packages.len(),
        deny.graph.targets.len()
    ))
}

/// Something in the graph that deny.toml has a word on.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    level: Level,
    text: String,
}

fn graph_findings(deny: &Deny, packages: &[Package]) -> Vec<Finding> {
    let mut found = Vec::new();
    for package in packages {
        let mut say = |level: Level, text: String| {
            if level != Level::Allow {
                found.push(Finding {
                    level,
                    text: format!("{} {}: {text}", package.name, package.version),
                });
            }
        };
        if let Err(why) = licence(deny, package) {
            say(Level::Deny, format!("{why:#}"));
        }
        if let Some(ban) = deny.bans.deny.iter().find(|ban| ban.name == package.name) {
            say(Level::Deny, format!("banned: {}", ban.reason));
        }
        let source = package.source.as_deref().unwrap_or("path");
        if source.starts_with("git+") {
            say(deny.sources.unknown_git, format!("comes from {source}"));
        } else if let Some(registry) = registry(source)
            && !deny
                .sources
                .allow_registry
                .iter()
                .any(|allowed| allowed == registry)
        {
            say(
                deny.sources.unknown_registry,
                format!("comes from the registry {registry}"),
            );
        }
    }
    found.extend(duplicates(deny.bans.multiple_versions, packages));
    found
}

/// The address of the registry that a source names.
fn registry(source: &str) -> Option<&str> {
    source
        .strip_prefix("registry+")
        .or_else(|| source.strip_prefix("sparse+"))
}

/// Dependencies of our own packages that name no version.
fn wildcards(deny: &Deny, package: &Package) -> Vec<Finding> {
    let bare = package
        .dependencies
        .iter()
        .filter(|dependency| dependency.req == "*");
    bare.filter(|dependency| !(deny.bans.allow_wildcard_paths && dependency.path.is_some()))
        .map(|dependency| Finding {
            level: deny.bans.wildcards,
            text: format!(
                "{} asks for any version of {}; name one",
                package.name, dependency.name
            ),
        })
        .collect()
}

fn licence(deny: &Deny, package: &Package) -> Result<()> {
    let clarified = deny
        .licenses
        .clarify
        .iter()
        .find(|clarification| clarification.name == package.name);
    let Some(text) = clarified
        .map(|clarification| &clarification.expression)
        .or(package.license.as_ref())
    else {
        bail!(
            "its manifest names no licence; look it up and add a [[licenses.clarify]] to deny.toml"
        );
    };
    let exception = deny
        .licenses
        .exceptions
        .iter()
        .find(|exception| exception.name == package.name);
    let allowed = |licence: &str| {
        let more = exception
            .map(|exception| exception.allow.as_slice())
            .unwrap_or_default();
        deny.licenses
            .allow
            .iter()
            .chain(more)
            .any(|allowed| allowed == licence)
    };
    if !Expression::parse(text)?.is_met(&allowed) {
        bail!("its licence `{text}` is not allowed");
    }
    Ok(())
}

fn duplicates(level: Level, packages: &[Package]) -> Option<Finding> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in packages {
        versions
            .entry(&package.name)
            .or_default()
            .push(&package.version);
    }
    let twice: Vec<String> = versions
        .into_iter()
        .filter(|(_, versions)| versions.len() > 1)
        .map(|(name, versions)| format!("{name} ({})", versions.join(", ")))
        .collect();
    let text = format!("in more than one version: {}", twice.join("; "));
    (level != Level::Allow && !twice.is_empty()).then_some(Finding { level, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

    fn package(name: &str, licence: Option<&str>, source: &str) -> Package {
        Package {
            id: name.into(),
            name: name.into(),
            version: "1.0.0".into(),
            license: licence.map(str::to_owned),
            source: Some(source.into()),
            dependencies: Vec::new(),
        }
    }

    fn denied(package: Package) -> Option<String> {
        let deny = Deny::load().unwrap();
        graph_findings(&deny, &[package])
            .into_iter()
            .find(|finding| finding.level == Level::Deny)
            .map(|finding| finding.text)
    }

    #[test]
    fn a_good_package_passes() {
        assert_eq!(
            denied(package("good", Some("MIT OR GPL-3.0"), CRATES_IO)),
            None
        );
    }

    #[test]
    fn a_licence_that_is_not_allowed_or_not_known_is_refused() {
        assert!(
            denied(package("bad", Some("GPL-3.0-only"), CRATES_IO))
                .unwrap()
                .contains("not allowed")
        );
        assert!(
            denied(package("bad", None, CRATES_IO))
                .unwrap()
                .contains("names no licence")
        );
        assert!(
            denied(package("bad", Some("look here"), CRATES_IO))
                .unwrap()
                .contains("look here")
        );
    }

    #[test]
    fn a_banned_crate_is_refused_with_its_reason() {
        assert!(
            denied(package("ring", Some("MIT"), CRATES_IO))
                .unwrap()
                .contains("aws-lc-rs")
        );
    }

    #[test]
    fn foreign_registries_and_git_are_refused() {
        assert!(
            denied(package("x", Some("MIT"), "git+https://example.org/x#abc"))
                .unwrap()
                .contains("git+")
        );
        assert!(
            denied(package(
                "x",
                Some("MIT"),
                "sparse+https://crates.example.org/"
            ))
            .unwrap()
            .contains("crates.example.org")
        );
    }

    #[test]
    fn a_dependency_without_a_version_is_refused_unless_it_is_a_path() {
        let mut own = package("own", Some("MIT"), CRATES_IO);
        let dependency = |name: &str, path: Option<&str>| crate::metadata::Dependency {
            name: name.into(),
            req: "*".into(),
            path: path.map(str::to_owned),
            kind: None,
        };
        own.dependencies = vec![
            dependency("any", None),
            dependency("ours", Some("crates/ours")),
        ];
        let found = wildcards(&Deny::load().unwrap(), &own);
        assert_eq!(found.len(), 1);
        assert!(found[0].level == Level::Deny && found[0].text.contains("any version of any"));
    }

    #[test]
    fn two_versions_are_listed_not_refused() {
        let mut other = package("x", Some("MIT"), CRATES_IO);
        other.version = "2.0.0".into();
        let found =
            duplicates(Level::Warn, &[package("x", Some("MIT"), CRATES_IO), other]).unwrap();
        assert!(found.text.contains("x (1.0.0, 2.0.0)"), "{}", found.text);
        assert_eq!(
            duplicates(Level::Warn, &[package("x", Some("MIT"), CRATES_IO)]),
            None
        );
    }
}
