//! What an approval brings about on disk: the server's entry, and its files from `pending/` to
//! `approved/`, what was approved before into `archive/`.
//!
//! Every step replaces one whole file, may be done again, and is done in an order in which nothing is
//! lost: a file is archived before another takes its place, and leaves `pending/` after it is in
//! `approved/`. A process that ends in between is taken up where it ended.

use std::path::{Path, PathBuf};

use toolcrib_config::registered;
use toolcrib_core::CapabilityManifest;
use toolcrib_core::rtfs::Capability;

use super::files::{self, Disk};
use super::review::Dossier;

/// Digits of the hash in the name of an archived file.
const HASH_DIGITS: usize = 12;

/// What was promoted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Promoted {
    /// The files that are approved now and were not before.
    pub approved: Vec<PathBuf>,
    /// Where files went that were approved before.
    pub archived: Vec<PathBuf>,
    /// Whether the server's entry was written now.
    pub registered: bool,
}

/// Why an approval cannot be carried out on disk. What is approved stays approved; the rest is done
/// the next time.
#[derive(Debug, thiserror::Error)]
pub enum PromotionError {
    /// A file cannot be read or written.
    #[error(
        "{path} cannot be written: {source}; correct that and run `toolcrib approvals list` to go on"
    )]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file of approved servers cannot be read.
    #[error(
        "{0} cannot be read; correct it, or move it away, and run `toolcrib approvals list` to go on"
    )]
    Entries(PathBuf),
    /// The entry that was approved cannot be read.
    #[error("the entry of {0} cannot be read; introspect it again")]
    Definition(String),
    /// The process is ending.
    #[error("the process is ending; what is left is done by the next one")]
    Ended,
}

/// Brings the files of a server to what is approved of it.
pub(super) fn carry_out(
    disk: &dyn Disk,
    server: &str,
    dossier: &Dossier,
    manifests: &[CapabilityManifest],
    entries: &Path,
) -> Result<Promoted, PromotionError> {
    let mut promoted = Promoted::default();
    let folder = files::directory_name(server);
    let (approved, archive) = (
        dossier.approved().join(&folder),
        dossier.archive().join(&folder),
    );
    let tools = manifests.iter().map(|m| m.provider.tool_name.as_str());
    let names = files::file_names(tools);
    for manifest in manifests {
        let path = approved.join(&names[manifest.provider.tool_name.as_str()]);
        let text = manifest.to_text(dossier.dialect());
        let old = std::fs::read(&path).ok();
        if old.as_deref() == Some(text.as_bytes()) {
            continue;
        }
        if let Some(old) = old {
            promoted.archived.push(keep(disk, &archive, &path, &old)?);
        }
        disk.replace(&path, text.as_bytes()).map_err(at(&path))?;
        promoted.approved.push(path);
    }
    for path in files::paths(&approved).map_err(at(&approved))? {
        let is_wanted = names.values().any(|name| path.ends_with(name));
        if !is_wanted && let Ok(old) = std::fs::read(&path) {
            promoted.archived.push(keep(disk, &archive, &path, &old)?);
            disk.remove(&path).map_err(at(&path))?;
        }
    }
    clear_pending(disk, server, dossier, manifests)?;
    promoted.registered = register(disk, server, dossier, entries)?;
    Ok(promoted)
}

fn at(path: &Path) -> impl FnOnce(std::io::Error) -> PromotionError {
    let path = path.to_owned();
    |source| PromotionError::File { path, source }
}

/// Keeps a file that was approved; the name holds a hash of it, so that doing it again changes nothing.
fn keep(
    disk: &dyn Disk,
    archive: &Path,
    path: &Path,
    old: &[u8],
) -> Result<PathBuf, PromotionError> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let hash = blake3::hash(old).to_hex();
    let kept = archive.join(format!("{stem}.{}.rtfs", &hash[..HASH_DIGITS]));
    disk.replace(&kept, old).map_err(at(&kept))?;
    Ok(kept)
}

/// Takes the files that are approved now out of `pending/`; a newer definition that waits stays.
fn clear_pending(
    disk: &dyn Disk,
    server: &str,
    dossier: &Dossier,
    manifests: &[CapabilityManifest],
) -> Result<(), PromotionError> {
    let accepted: Vec<Capability> = manifests
        .iter()
        .map(CapabilityManifest::capability)
        .collect();
    let pending = &dossier.pending;
    let (waiting, _) = files::read(pending, server).map_err(at(pending))?;
    for found in waiting
        .iter()
        .filter(|found| accepted.contains(&found.capability))
    {
        disk.remove(&found.path).map_err(at(&found.path))?;
    }
    // An empty directory says that nothing is left to review; one that is not empty stays.
    let _ = std::fs::remove_dir(pending.join(files::directory_name(server)));
    Ok(())
}

/// Writes the server's entry; `false` where it is there already.
fn register(
    disk: &dyn Disk,
    server: &str,
    dossier: &Dossier,
    entries: &Path,
) -> Result<bool, PromotionError> {
    let definition = registered::from_definition(&dossier.definition);
    let definition = definition.ok_or_else(|| PromotionError::Definition(server.to_owned()))?;
    let text = match std::fs::read_to_string(entries) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(at(entries)(error)),
    };
    let new = registered::with(entries, text.as_deref(), &definition)
        .map_err(|_| PromotionError::Entries(entries.to_owned()))?;
    let Some(new) = new else { return Ok(false) };
    disk.replace_private(entries, new.as_bytes())
        .map_err(at(entries))?;
    Ok(true)
}
