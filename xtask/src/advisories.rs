//! Known advisories on what `Cargo.lock` holds, from a snapshot committed beside it.
//!
//! The snapshot makes the check work without network and give the same answer for the same commit. It is
//! renewed from a checkout of the `RustSec` database: `cargo xtask advisories --from DIR`.

mod index;
mod snapshot;

use std::collections::BTreeSet;

use anyhow::{Result, bail};

use crate::args::Args;
use crate::deny::Deny;
use crate::lockfile::{self, Locked};
use crate::ui;

use index::Index;
use snapshot::Snapshot;

/// `cargo xtask advisories`
pub(crate) fn run(args: &mut Args) -> Result<()> {
    let from = args.options("--from")?.pop();
    let missing = args.flag("--missing");
    args.finish()?;
    if let Some(dir) = from {
        let snapshot = Snapshot::collect(std::path::Path::new(&dir), &lockfile::foreign()?)?;
        snapshot.save()?;
    }
    if missing {
        for name in uncovered(&Snapshot::load()?, &lockfile::foreign()?) {
            ui::line(name);
        }
        return Ok(());
    }
    let note = check()?;
    ui::line(&note);
    Ok(())
}

/// The crates that nobody looked up, each once.
fn uncovered<'a>(snapshot: &Snapshot, packages: &'a [Locked]) -> BTreeSet<&'a str> {
    let names = packages.iter().map(|package| package.name.as_str());
    names
        .filter(|name| !snapshot.covers.contains(*name))
        .collect()
}

/// Checks `Cargo.lock` against the snapshot, and against what the local registry index knows of yanked releases.
pub(crate) fn check() -> Result<String> {
    let (snapshot, deny, packages) = (Snapshot::load()?, Deny::load()?, lockfile::foreign()?);
    let report = Report::new(&snapshot, &deny, &packages, &Index::of_cargo());
    for text in &report.notes {
        ui::warn(text);
    }
    for text in &report.wrong {
        ui::error(text);
    }
    if !report.wrong.is_empty() {
        bail!(
            "{} findings; update the crate, or accept one with its reason in deny.toml",
            report.wrong.len()
        );
    }
    Ok(format!(
        "{} of {} packages looked up on {}, {} advisories on them, none of which applies; {} checked for being yanked",
        report.covered,
        packages.len(),
        snapshot.date,
        snapshot.advisory.len(),
        report.known_to_index
    ))
}

/// What the check found.
#[derive(Debug, Default)]
struct Report {
    wrong: Vec<String>,
    notes: Vec<String>,
    covered: usize,
    known_to_index: usize,
}

impl Report {
    fn new(snapshot: &Snapshot, deny: &Deny, packages: &[Locked], index: &Index) -> Self {
        let mut report = Self::default();
        for package in packages {
            report.covered += usize::from(snapshot.covers.contains(&package.name));
            for advisory in snapshot
                .advisory
                .iter()
                .filter(|advisory| advisory.concerns(package))
            {
                let text = format!(
                    "{} {}: {} ({})",
                    package.name, package.version, advisory.title, advisory.id
                );
                match deny
                    .advisories
                    .ignore
                    .iter()
                    .find(|ignored| ignored.id == advisory.id)
                {
                    Some(ignored) => report
                        .notes
                        .push(format!("{text}, accepted: {}", ignored.reason)),
                    None => report.wrong.push(text),
                }
            }
            match index.is_yanked(&package.name, &package.version) {
                Some(true) => report.wrong.push(format!(
                    "{} {} was yanked by its author",
                    package.name, package.version
                )),
                Some(false) => report.known_to_index += 1,
                None => {}
            }
        }
        for ignored in &deny.advisories.ignore {
            if !snapshot
                .advisory
                .iter()
                .any(|advisory| advisory.id == ignored.id)
            {
                report.notes.push(format!(
                    "deny.toml accepts {}, which no crate here has",
                    ignored.id
                ));
            }
        }
        let missing = uncovered(snapshot, packages).len();
        if missing > 0 {
            report.notes.push(format!(
                "{missing} crates were never looked up for advisories; `cargo xtask advisories --missing` names them"
            ));
        }
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use snapshot::Advisory;

    fn locked(name: &str, version: &str) -> Locked {
        Locked {
            name: name.into(),
            version: version.into(),
            source: Some("registry+x".into()),
        }
    }

    fn snapshot() -> Snapshot {
        Snapshot {
            date: "2026-01-02".into(),
            source: "a database".into(),
            note: String::new(),
            covers: ["old".to_owned(), "fine".to_owned()].into(),
            advisory: vec![Advisory {
                id: "RUSTSEC-2020-0001".into(),
                name: "old".into(),
                kind: "vulnerability".into(),
                title: "It leaks.".into(),
                patched: vec![">= 1.2.3".into()],
                unaffected: vec!["< 1.0.0".into()],
            }],
        }
    }

    fn deny(ignored: &str) -> Deny {
        let mut deny = Deny::load().unwrap();
        deny.advisories = toml::from_str(ignored).unwrap();
        deny
    }

    #[test]
    fn an_affected_version_is_wrong_and_a_patched_one_is_not() {
        for (version, wrong) in [("1.2.2", 1), ("1.2.3", 0), ("0.9.9", 0), ("2.0.0", 0)] {
            let report = Report::new(
                &snapshot(),
                &deny(""),
                &[locked("old", version)],
                &Index::default(),
            );
            assert_eq!(report.wrong.len(), wrong, "{version}");
        }
    }

    #[test]
    fn an_accepted_advisory_is_shown_with_its_reason() {
        let accepted =
            deny("ignore = [{ id = \"RUSTSEC-2020-0001\", reason = \"not reachable\" }]");
        let report = Report::new(
            &snapshot(),
            &accepted,
            &[locked("old", "1.1.0")],
            &Index::default(),
        );
        assert!(report.wrong.is_empty());
        assert!(report.notes[0].contains("not reachable"));
    }

    #[test]
    fn an_acceptance_without_an_advisory_is_noted() {
        let accepted = deny("ignore = [{ id = \"RUSTSEC-1999-0001\", reason = \"x\" }]");
        let report = Report::new(&snapshot(), &accepted, &[], &Index::default());
        assert!(report.notes[0].contains("RUSTSEC-1999-0001"));
    }

    #[test]
    fn a_crate_that_was_never_looked_up_is_counted_and_named() {
        let packages = [
            locked("new", "1.0.0"),
            locked("new", "2.0.0"),
            locked("fine", "1.0.0"),
        ];
        let report = Report::new(&snapshot(), &deny(""), &packages, &Index::default());
        assert_eq!(report.covered, 1);
        assert!(
            report.notes[0].starts_with("1 crates were never looked up"),
            "{:?}",
            report.notes
        );
        assert_eq!(uncovered(&snapshot(), &packages), ["new"].into());
    }

    #[test]
    fn a_yanked_release_is_wrong() {
        let index = Index::with(&[("fine", "1.0.0", true), ("old", "2.0.0", false)]);
        let report = Report::new(
            &snapshot(),
            &deny(""),
            &[locked("fine", "1.0.0"), locked("old", "2.0.0")],
            &index,
        );
        assert_eq!(report.wrong, ["fine 1.0.0 was yanked by its author"]);
        assert_eq!(report.known_to_index, 1);
    }
}
