//! What was written into whose file, so that it can be taken back exactly.
//!
//! Each change is recorded before it is made, with the hash of the file before and after it. A file
//! that still has the hash of afterwards gets its old bytes back; one that was edited since loses
//! only what was put in, and gets back what was taken out.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::client::{EmptyRoot, ExportError, check, copy_entry, has_root, is_ours, remove_entry};
use super::files::Files;
use super::install::{disk, keep, read, real, replace};
use crate::diagnostic::Diagnostic;
use crate::import::Client;
use crate::trust::write_private;

/// One change of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// Whose file it is; `None` for our own configuration.
    pub client: Option<String>,
    /// The file.
    pub file: PathBuf,
    /// Where its old bytes are; `None` where there was no file.
    pub backup: Option<PathBuf>,
    /// The hash of the file before.
    before: Option<String>,
    /// The hash of the file afterwards.
    after: String,
    /// The name of our entry.
    pub entry: String,
    /// The names of the servers that were taken out.
    pub taken: Vec<String>,
    /// Of our own configuration: the client's file whose servers are in no other file any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    needed: Option<PathBuf>,
}

/// What is to be changed.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// Whose file it is; `None` for our own configuration.
    pub client: Option<&'static Client>,
    /// The file.
    pub path: &'a Path,
    /// Its text; `None` where it is not there.
    pub old: Option<&'a str>,
    /// What it becomes.
    pub new: &'a str,
    /// The name of our entry.
    pub entry: &'a str,
    /// The names of the servers that are taken out.
    pub taken: &'a [String],
}

/// What taking a step back did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reverted {
    /// There was nothing to take back: the file is as before, or gone and nothing was there before.
    Nothing,
    /// Somebody removed the file; the backup has what it was before.
    Gone,
    /// The file has its old bytes again.
    Restored,
    /// The file was ours alone and is gone.
    Deleted,
    /// The file was edited since: nothing of ours is in it any more, and these servers are back.
    TakenOut {
        /// Whether our entry was still there to be taken out.
        entry: bool,
        /// The servers that were put back.
        back: Vec<String>,
        /// The servers that could not be put back; the backup has them.
        missing: Vec<String>,
    },
    /// Our own configuration was edited since and stays as it is.
    Kept,
    /// Our own configuration stays as it is: it alone has the servers that this file had.
    Needed(PathBuf),
}

/// The changes that were made, in their order.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    steps: Vec<Step>,
    files: Files,
    /// Held as long as this process may change what is recorded.
    _turn: Option<fs::File>,
}

impl Record {
    /// Reads the record; one that is not there is empty.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, ExportError> {
        let path = path.into();
        let steps = match read(&path)? {
            None => Vec::new(),
            Some(text) => serde_json::from_str(&text).map_err(|error| ExportError::Broken {
                path: path.clone(),
                diagnostics: vec![Diagnostic::error(error.to_string())],
            })?,
        };
        Ok(Self {
            path,
            steps,
            files: Files::default(),
            _turn: None,
        })
    }

    /// The same, to change it: waits until no other process does.
    pub fn hold(path: impl Into<PathBuf>) -> Result<Self, ExportError> {
        let path = path.into();
        let turn = turn(&path.with_extension("lock")).map_err(|source| disk(&path, source))?;
        let record = Self::open(path)?;
        Ok(Self {
            _turn: Some(turn),
            ..record
        })
    }

    /// From now on nothing is changed; what would be done is told all the same.
    pub fn rehearse(&mut self) {
        self.files.rehearse();
    }

    /// Whether nothing is changed.
    pub fn is_rehearsal(&self) -> bool {
        self.files.is_rehearsal()
    }

    /// The changes, oldest first.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Whether a change of this file can be taken back; links are followed.
    pub fn has(&self, path: &Path) -> bool {
        let path = real(path);
        self.steps.iter().any(|step| step.file == path)
    }

    /// Records a change and makes it, where the file is still what it was said to be. The old bytes go into a
    /// file beside the changed one, named after `time`, a UTC time such as `20260131T120000Z`; its path is
    /// given back. In a rehearsal there is none.
    pub fn make(
        &mut self,
        change: &Change<'_>,
        time: &str,
    ) -> Result<Option<PathBuf>, ExportError> {
        if self.files.is_rehearsal() {
            self.files.write(change.path, change.new)?;
            return Ok(None);
        }
        let backup = match change.old {
            Some(_) => Some(keep(change.path, time)?),
            None => None,
        };
        self.steps.push(Step {
            client: change.client.map(|client| client.id.to_owned()),
            file: change.path.to_owned(),
            backup: backup.clone(),
            before: change.old.map(hash),
            after: hash(change.new),
            entry: change.entry.to_owned(),
            taken: change.taken.to_vec(),
            needed: None,
        });
        self.save()?;
        match replace(change.path, change.old, change.new) {
            Ok(()) => Ok(backup),
            Err(error) => {
                // Nothing was changed, so there is nothing to be taken back.
                self.steps.pop();
                if self.save().is_ok()
                    && let Some(backup) = backup
                {
                    let _ = fs::remove_file(backup);
                }
                Err(error)
            }
        }
    }

    /// Takes back the newest change that `which` chooses and forgets it; `None` where there is none.
    pub fn revert(
        &mut self,
        which: impl Fn(&Step) -> bool,
    ) -> Option<(Step, Result<Reverted, ExportError>)> {
        let index = self.steps.iter().rposition(which)?;
        let step = self.steps[index].clone();
        let done = revert(&step, &mut self.files).and_then(|reverted| {
            self.steps.remove(index);
            if is_lost(&step, &reverted) {
                for own in self.steps.iter_mut().filter(|own| own.client.is_none()) {
                    own.needed = Some(step.file.clone());
                }
            }
            self.save().map(|()| reverted)
        });
        Some((step, done))
    }

    fn save(&self) -> Result<(), ExportError> {
        if self.files.is_rehearsal() {
            return Ok(());
        }
        let failed = |source| disk(&self.path, source);
        if self.steps.is_empty() {
            return match fs::remove_file(&self.path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(error)),
                _ => Ok(()),
            };
        }
        let text = serde_json::to_string_pretty(&self.steps).unwrap_or_default();
        write_private(&self.path, text.as_bytes()).map_err(failed)
    }
}

fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// Waits for the lock of a file, which is made where it is not there. A file system without locks gives
/// everybody their turn.
fn turn(path: &Path) -> std::io::Result<fs::File> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    let file = fs::File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    match file.lock() {
        Err(error) if error.kind() != std::io::ErrorKind::Unsupported => Err(error),
        _ => Ok(file),
    }
}

/// Whether servers that were taken out of a client's file did not come back.
fn is_lost(step: &Step, reverted: &Reverted) -> bool {
    match reverted {
        Reverted::Gone => !step.taken.is_empty(),
        Reverted::TakenOut { missing, .. } => !missing.is_empty(),
        _ => false,
    }
}

fn revert(step: &Step, files: &mut Files) -> Result<Reverted, ExportError> {
    let before = match &step.backup {
        Some(backup) => files
            .read(backup)?
            .filter(|text| Some(hash(text)) == step.before),
        None => None,
    };
    let Some(current) = files.read(&step.file)? else {
        let was_there = step.client.is_some() && step.before.is_some() || before.is_some();
        return Ok(if was_there {
            Reverted::Gone
        } else {
            Reverted::Nothing
        });
    };
    if let Some(client_file) = &step.needed {
        return Ok(Reverted::Needed(client_file.clone()));
    }
    let now = hash(&current);
    if now == step.after && step.before.is_none() {
        files.remove(&step.file)?;
        return Ok(Reverted::Deleted);
    }
    if let (Some(before), Some(backup)) = (&before, &step.backup) {
        if now == step.after {
            files.write(&step.file, before)?;
            return files.remove(backup).map(|()| Reverted::Restored);
        }
        if *before == current {
            return files.remove(backup).map(|()| Reverted::Nothing);
        }
    }
    match step.client.as_deref().and_then(Client::by_id) {
        Some(client) => take_out(client, step, files, &current, before.as_deref()),
        None => Ok(Reverted::Kept),
    }
}

/// Takes our entry out of a file that was edited, and puts back what was taken out of it. The backup
/// stays, because comments of the servers are only there.
fn take_out(
    client: &'static Client,
    step: &Step,
    files: &mut Files,
    current: &str,
    before: Option<&str>,
) -> Result<Reverted, ExportError> {
    let path = &step.file;
    check(client, path, current)?;
    let mut text = current.to_owned();
    let (mut back, mut missing) = (Vec::new(), Vec::new());
    for name in &step.taken {
        let put = before.map(|before| copy_entry(client, path, &text, before, name));
        match put {
            Some(Ok(new)) if new != text => {
                text = new;
                back.push(name.clone());
            }
            // Who edited the file has put it back already.
            Some(Ok(_)) => {}
            Some(Err(_)) | None => missing.push(name.clone()),
        }
    }
    let entry = is_ours(client, path, &text, &step.entry);
    if entry {
        let empty_root = match before {
            Some(before) if has_root(client, path, before) => EmptyRoot::Keep,
            _ => EmptyRoot::Remove,
        };
        text = remove_entry(client, path, &text, &step.entry, empty_root)?;
    }
    if text == current && missing.is_empty() {
        return Ok(Reverted::Nothing);
    }
    if text != current {
        files.write(path, &text)?;
    }
    Ok(Reverted::TakenOut {
        entry,
        back,
        missing,
    })
}
