//! Approved capability files, read when a process starts.
//!
//! A file lets nothing run that nobody accepted: it adds what is known of an accepted definition (the
//! shape of its output, the domains and categories that a person corrected), and files of anything else
//! are named and left alone. Files in `pending/` are not even looked at.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use toolcrib_core::CapabilityManifest;
use toolcrib_core::capability::Output;
use toolcrib_core::rtfs::Capability;

use super::files;
use super::market::Shelf;
use super::review::{Desk, Dossier, ReviewError, accepted, beside};
use super::server_url;

/// The files of each server, and those that cannot be read.
type Read = (Vec<Vec<(PathBuf, Capability)>>, Vec<files::Unreadable>);

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// How many capabilities are registered from files.
    pub capabilities: usize,
    /// Files that were left alone, each with the reason.
    pub left_out: Vec<String>,
}

impl Desk {
    /// Finishes what an approval brings about where a process ended in between, and registers what is
    /// in `approved/` beside `pending`, and beside the directories that servers were introspected into.
    pub async fn load(&self, pending: &Path) -> Result<Loaded, ReviewError> {
        self.finish().await?;
        let mut loaded = Loaded::default();
        let introductions = self.store.introductions(self.clock.now_ms()).await?;
        let shared = beside(pending, "approved");
        let places = self.config.servers.iter().map(|server| {
            let asked = introductions.get(&server.name);
            let own = asked.and_then(Dossier::of);
            let own = own.map(|dossier| dossier.approved());
            let directories = [Some(shared.clone()), own].into_iter().flatten();
            (server.name.clone(), directories.collect())
        });
        let places = places.collect();
        let reading = tokio::task::spawn_blocking(move || read_all(places));
        let Ok(read) = reading.await else {
            return Ok(loaded);
        };
        let (found, unreadable) = read?;
        let said = unreadable.into_iter();
        let said = said.map(|bad| format!("{}: {}", bad.path.display(), bad.reason));
        loaded.left_out.extend(said);
        for (server, found) in self.config.servers.iter().zip(found) {
            if found.is_empty() {
                continue;
            }
            let url = server_url(server);
            let manifests = accepted(&self.store, &self.clock, &self.config, &server.name, &url);
            let manifests = manifests.await?;
            let market = Shelf::new(self.store.clone(), self.clock.clone());
            for (path, capability) in found {
                let of_file = |manifest: &&CapabilityManifest| {
                    manifest.id == capability.id
                        && manifest.provider.tool_name == capability.tool_name
                };
                let Some(manifest) = manifests.iter().find(of_file) else {
                    let said = "nobody accepted its tool";
                    loaded.left_out.push(format!("{}: {said}", path.display()));
                    continue;
                };
                let enriched = enriched(manifest, &capability);
                if enriched != *manifest {
                    market.keep(&enriched).await?;
                }
                loaded.capabilities += 1;
            }
        }
        Ok(loaded)
    }
}

/// Reads the capability files of servers in their directories: those of each server by themselves, and those
/// that cannot be read. A directory that is not there is looked for once, not once for each server.
fn read_all(places: Vec<(String, BTreeSet<PathBuf>)>) -> Result<Read, ReviewError> {
    let mut missing = BTreeSet::new();
    let mut read = Read::default();
    for (server, directories) in places {
        let mut of_server = Vec::new();
        for directory in directories {
            if missing.contains(&directory) {
                continue;
            }
            if !directory.try_exists().unwrap_or(true) {
                missing.insert(directory);
                continue;
            }
            let files = files::read(&directory, &server);
            let (found, unreadable) = files.map_err(|source| ReviewError::Files {
                path: directory,
                source,
            })?;
            read.1.extend(unreadable);
            of_server.extend(found.into_iter().map(|one| (one.path, one.capability)));
        }
        read.0.push(of_server);
    }
    Ok(read)
}

/// A manifest with what its file adds to the definition.
fn enriched(manifest: &CapabilityManifest, file: &Capability) -> CapabilityManifest {
    let mut enriched = manifest.clone();
    if let Some(output) = &file.output
        && file.output_inferred
        && !matches!(manifest.output_schema, Some(Output::Declared(_)))
    {
        enriched.output_schema = Some(Output::seen(output));
    }
    enriched.domains.clone_from(&file.domains);
    enriched.categories.clone_from(&file.categories);
    enriched
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_gets_its_files_and_directories_that_are_not_there_hold_none() {
        let home = tempfile::tempdir().unwrap();
        let (here, away) = (home.path().join("approved"), home.path().join("away"));
        let put = |server: &str| {
            let directory = here.join(server);
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join("bad.rtfs"), "(capability").unwrap();
        };
        put("a");
        put("c");
        let both = || BTreeSet::from([here.clone(), away.clone()]);
        let places = ["a", "b", "c"].map(|server| (server.to_owned(), both()));
        let (found, unreadable) = read_all(places.into()).unwrap();
        assert!(found.len() == 3 && found.iter().all(Vec::is_empty));
        let named: Vec<PathBuf> = unreadable.into_iter().map(|bad| bad.path).collect();
        let expected = ["a", "c"].map(|server| here.join(server).join("bad.rtfs"));
        assert_eq!(named, expected);
    }

    #[test]
    fn a_directory_that_cannot_be_listed_is_said_to_be_the_trouble() {
        let home = tempfile::tempdir().unwrap();
        let approved = home.path().join("approved");
        std::fs::create_dir(&approved).unwrap();
        std::fs::write(approved.join("a"), "a file").unwrap();
        let places = vec![("a".to_owned(), BTreeSet::from([approved.clone()]))];
        let refused = read_all(places).unwrap_err();
        assert!(matches!(refused, ReviewError::Files { path, .. } if path == approved));
    }
}
