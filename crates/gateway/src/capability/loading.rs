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
        for server in &self.config.servers {
            let mut directories = BTreeSet::from([beside(pending, "approved")]);
            let now_ms = self.clock.now_ms();
            if let Some(asked) = self.store.introduction(&server.name, now_ms).await? {
                directories.extend(Dossier::of(&asked).map(|dossier| dossier.approved()));
            }
            let found = of_server(directories, &server.name, &mut loaded).await?;
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

async fn of_server(
    directories: BTreeSet<PathBuf>,
    server: &str,
    loaded: &mut Loaded,
) -> Result<Vec<(PathBuf, Capability)>, ReviewError> {
    let mut all = Vec::new();
    for directory in directories {
        let (path, name) = (directory.clone(), server.to_owned());
        let reading = tokio::task::spawn_blocking(move || files::read(&path, &name));
        let Ok(read) = reading.await else { continue };
        let (found, unreadable) = read.map_err(|source| ReviewError::Files {
            path: directory,
            source,
        })?;
        let said = unreadable.into_iter();
        let said = said.map(|bad| format!("{}: {}", bad.path.display(), bad.reason));
        loaded.left_out.extend(said);
        all.extend(found.into_iter().map(|one| (one.path, one.capability)));
    }
    Ok(all)
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
