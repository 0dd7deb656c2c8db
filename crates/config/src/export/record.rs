//! What was written into whose file, so that it can be taken back exactly.
//!
//! Each change is recorded before it is made, with the hash of the file before and after it. A file
//! that still has the hash of afterwards gets its old bytes back; one that was edited since loses
//! only what was put in, and gets back what was taken out.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::client::{EmptyRoot, ExportError, check, copy_entry, has_root, is_ours, remove_entry};
use super::install::{back_up, disk, read, write};
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
    /// The file was edited since: our entry is out, and these servers are back.
    TakenOut {
        /// The servers that were put back.
        back: Vec<String>,
        /// The servers that could not be put back; the backup has them.
        missing: Vec<String>,
    },
    /// Our own configuration was edited since and stays as it is.
    Kept,
}

/// The changes that were made, in their order.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    steps: Vec<Step>,
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
        Ok(Self { path, steps })
    }

    /// The changes, oldest first.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Records a change and makes it. The old bytes go into a file beside the changed one, named
    /// after `time`, a UTC time such as `20260131T120000Z`; its path is given back.
    pub fn make(
        &mut self,
        change: &Change<'_>,
        time: &str,
    ) -> Result<Option<PathBuf>, ExportError> {
        let backup = match change.old {
            Some(_) => back_up(change.path, time).map(Some),
            None => Ok(None),
        }
        .map_err(|source| disk(change.path, source))?;
        self.steps.push(Step {
            client: change.client.map(|client| client.id.to_owned()),
            file: change.path.to_owned(),
            backup: backup.clone(),
            before: change.old.map(hash),
            after: hash(change.new),
            entry: change.entry.to_owned(),
            taken: change.taken.to_vec(),
        });
        self.save()?;
        write(change.path, change.new)?;
        Ok(backup)
    }

    /// Takes back the newest change that `which` chooses and forgets it; `None` where there is none.
    pub fn revert(
        &mut self,
        which: impl Fn(&Step) -> bool,
    ) -> Option<(Step, Result<Reverted, ExportError>)> {
        let index = self.steps.iter().rposition(which)?;
        let step = self.steps[index].clone();
        let done = revert(&step).and_then(|reverted| {
            self.steps.remove(index);
            self.save().map(|()| reverted)
        });
        Some((step, done))
    }

    fn save(&self) -> Result<(), ExportError> {
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

fn revert(step: &Step) -> Result<Reverted, ExportError> {
    let before = match &step.backup {
        Some(backup) => read(backup)?.filter(|text| Some(hash(text)) == step.before),
        None => None,
    };
    let discard = || match &step.backup {
        Some(backup) => fs::remove_file(backup).map_err(|source| disk(backup, source)),
        None => Ok(()),
    };
    let Some(current) = read(&step.file)? else {
        return Ok(before.map_or(Reverted::Nothing, |_| Reverted::Gone));
    };
    let now = hash(&current);
    if now == step.after && step.before.is_none() {
        fs::remove_file(&step.file).map_err(|source| disk(&step.file, source))?;
        return Ok(Reverted::Deleted);
    }
    if let Some(before) = &before {
        if now == step.after {
            write(&step.file, before)?;
            return discard().map(|()| Reverted::Restored);
        }
        if *before == current {
            return discard().map(|()| Reverted::Nothing);
        }
    }
    match step.client.as_deref().and_then(Client::by_id) {
        Some(client) => take_out(client, step, &current, before.as_deref()),
        None => Ok(Reverted::Kept),
    }
}

/// Takes our entry out of a file that was edited, and puts back what was taken out of it. The backup
/// stays, because comments of the servers are only there.
fn take_out(
    client: &'static Client,
    step: &Step,
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
    if is_ours(client, path, &text, &step.entry) {
        let empty_root = match before {
            Some(before) if has_root(client, path, before) => EmptyRoot::Keep,
            _ => EmptyRoot::Remove,
        };
        text = remove_entry(client, path, &text, &step.entry, empty_root)?;
    }
    if text == current && missing.is_empty() {
        return Ok(Reverted::Nothing);
    }
    write(path, &text)?;
    Ok(Reverted::TakenOut { back, missing })
}
