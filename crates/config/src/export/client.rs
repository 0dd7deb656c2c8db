//! Our entry in a client's file.

use std::path::{Path, PathBuf};

use super::document::Document;
use super::{flow, splice};
use crate::diagnostic::Diagnostic;
use crate::import::Client;
use crate::reader::Format;
use crate::surroundings::Surroundings;

/// What is put into a client's file: a server that the client starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name in the file.
    pub name: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables for it.
    pub env: Vec<(String, String)>,
}

/// Why a client's file is left as it is.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The client starts no servers from a file.
    #[error("{0} starts no servers from a file of its own; choose another client")]
    Unsupported(&'static str),
    /// The file cannot be read as what it should be.
    #[error("{path} cannot be read and is left as it is; correct it first")]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        diagnostics: Vec<Diagnostic>,
    },
    /// Another server has the name.
    #[error("{path} has another server named \"{name}\"; choose another name for Toolcrib's entry")]
    Occupied {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// The file is written in a way that cannot be edited without changing something else.
    #[error("{path} is written in a way that cannot be edited safely; change `{root}` by hand")]
    Unsafe {
        /// The file.
        path: PathBuf,
        /// The key that holds the servers.
        root: &'static str,
    },
    /// Somebody else has written the file since it was read.
    #[error("{path} was changed meanwhile and is left as it is now; run the command again")]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The disk refuses.
    #[error("{path} cannot be written: {source}")]
    Disk {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

/// What becomes of the client's key for servers when our entry was the only one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptyRoot {
    /// It stays, empty.
    Keep,
    /// It goes, because it came with our entry.
    Remove,
}

impl Entry {
    /// Toolcrib's own entry for a client: `command serve --stdio`, with hyphenated tool names for a
    /// client that refuses others.
    pub fn own(client: &Client, command: impl Into<String>) -> Self {
        let mut args = vec!["serve".to_owned(), "--stdio".to_owned()];
        if client.strict_names {
            args.extend(["--names".to_owned(), "hyphen".to_owned()]);
        }
        Self {
            name: "toolcrib".to_owned(),
            command: command.into(),
            args,
            env: Vec::new(),
        }
    }
}

/// The file of a client that an entry goes into: the first of the user's that is there, else the
/// first; in the working directory when `project` says so.
pub fn target(client: &Client, surroundings: &Surroundings, project: bool) -> Option<PathBuf> {
    let places = if project {
        client.project
    } else {
        client.user_paths(surroundings.os)
    };
    let paths: Vec<PathBuf> = places
        .iter()
        .filter(|place| !place.ends_with("/*"))
        .filter_map(|place| surroundings.resolve(place))
        .collect();
    paths
        .iter()
        .find(|path| path.exists())
        .or(paths.first())
        .cloned()
}

/// The text of a client's file with an entry in it. `None` stands for a file that is not there.
///
/// An entry of ours that is there already is replaced; another server of that name is an error.
pub fn add_entry(
    client: &'static Client,
    path: &Path,
    text: Option<&str>,
    entry: &Entry,
) -> Result<String, ExportError> {
    let file = Document::new(client, path)?;
    let (mark, text) = split_mark(text.unwrap_or_default());
    if text.trim().is_empty() {
        return Ok(format!("{mark}{}", file.fresh(entry)));
    }
    let tree = file.tree(text)?;
    if let Some(old) = file.find(&tree, &entry.name) {
        let wanted = file.value(&tree, entry);
        if old.to_json() == wanted {
            return Ok(format!("{mark}{text}"));
        }
        if !file.is_ours(text, &tree, &entry.name) {
            return Err(ExportError::Occupied {
                path: path.to_owned(),
                name: entry.name.clone(),
            });
        }
        let new = if file.format == Format::Jsonc {
            splice::apply(text, flow::replace(text, &tree, old, &wanted))
        } else {
            let without = remove_entry(client, path, text, &entry.name, EmptyRoot::Keep)?;
            add_entry(client, path, Some(&without), entry)?
        };
        return Ok(format!("{mark}{new}"));
    }
    let new = splice::apply(
        text,
        file.insertion(text, &tree, entry)
            .ok_or_else(|| file.refusal())?,
    );
    let mut expected = tree.to_json();
    file.put(&mut expected, &tree, entry);
    file.confirm(&new, &expected)?;
    Ok(format!("{mark}{new}"))
}

/// The text of a client's file without an entry. A name that is not there changes nothing.
pub fn remove_entry(
    client: &'static Client,
    path: &Path,
    text: &str,
    name: &str,
    empty_root: EmptyRoot,
) -> Result<String, ExportError> {
    let file = Document::new(client, path)?;
    let (mark, text) = split_mark(text);
    if text.trim().is_empty() {
        return Ok(format!("{mark}{text}"));
    }
    let tree = file.tree(text)?;
    if file.find(&tree, name).is_none() {
        return Ok(format!("{mark}{text}"));
    }
    let new = file
        .removal(text, &tree, name, empty_root)
        .ok_or_else(|| file.refusal())?;
    let mut expected = tree.to_json();
    file.take(&mut expected, &tree, name, empty_root);
    file.confirm(&new, &expected)?;
    Ok(format!("{mark}{new}"))
}

/// The text of a client's file with a server in it that another text of it has. A name that is there
/// already, or that the other text does not have, changes nothing.
pub fn copy_entry(
    client: &'static Client,
    path: &Path,
    text: &str,
    other: &str,
    name: &str,
) -> Result<String, ExportError> {
    let file = Document::new(client, path)?;
    let other = file.tree(split_mark(other).1)?;
    let Some(value) = file.find(&other, name).map(crate::node::Node::to_json) else {
        return Ok(text.to_owned());
    };
    let (mark, text) = split_mark(text);
    let tree = file.tree(text)?;
    if file.find(&tree, name).is_some() {
        return Ok(format!("{mark}{text}"));
    }
    let splices = file.insertion_of(text, &tree, name, &value);
    let new = splice::apply(text, splices.ok_or_else(|| file.refusal())?);
    let mut expected = tree.to_json();
    file.put_value(&mut expected, &tree, name, value);
    file.confirm(&new, &expected)?;
    Ok(format!("{mark}{new}"))
}

/// The names under which servers stand in a client's file, each with its line.
pub fn names(
    client: &'static Client,
    path: &Path,
    text: &str,
) -> Result<Vec<(String, usize)>, ExportError> {
    let file = Document::new(client, path)?;
    let (_, text) = split_mark(text);
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let tree = file.tree(text)?;
    Ok(file.names(text, &tree))
}

/// Whether a server of a client's file is Toolcrib itself.
pub fn is_ours(client: &'static Client, path: &Path, text: &str, name: &str) -> bool {
    let Ok(file) = Document::new(client, path) else {
        return false;
    };
    let (_, text) = split_mark(text);
    file.tree(text)
        .is_ok_and(|tree| file.is_ours(text, &tree, name))
}

/// Says what is wrong with a client's file that cannot be read.
pub(super) fn check(client: &'static Client, path: &Path, text: &str) -> Result<(), ExportError> {
    let file = Document::new(client, path)?;
    file.tree(split_mark(text).1).map(|_| ())
}

/// The program that a server of a client's file starts, as it is written there.
pub fn command_of(client: &'static Client, path: &Path, text: &str, name: &str) -> Option<String> {
    let file = Document::new(client, path).ok()?;
    let tree = file.tree(split_mark(text).1).ok()?;
    let entry = file.find(&tree, name)?;
    let written = ["command", "cmd"]
        .into_iter()
        .find_map(|key| entry.get(key))?;
    let program = written
        .as_str()
        .or_else(|| written.items().first()?.as_str());
    program.map(str::to_owned)
}

/// Whether a client's file has its key for servers.
pub fn has_root(client: &'static Client, path: &Path, text: &str) -> bool {
    let Ok(file) = Document::new(client, path) else {
        return false;
    };
    let (_, text) = split_mark(text);
    file.tree(text)
        .is_ok_and(|tree| file.servers(&tree).is_some())
}

/// A byte order mark, and the text after it.
pub(super) fn split_mark(text: &str) -> (&str, &str) {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => ("\u{feff}", rest),
        None => ("", text),
    }
}
