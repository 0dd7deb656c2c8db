//! Looking in every known place for what a person already has.

use std::path::{Path, PathBuf};

use super::client::{CLIENTS, Client, Scope};
use super::disk;
use super::file::{Imported, Skipped};
use crate::diagnostic::{Diagnostic, Severity};
use crate::model::server::Server;
use crate::reader;
use crate::surroundings::Surroundings;

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It was read; its servers can be used.
    Read,
    /// It is not there.
    Missing,
    /// It is there and cannot be read.
    Broken,
    /// It was read, lies in the working directory and is not trusted: its servers are listed only.
    Untrusted,
}

/// One file in one of the known places.
#[derive(Clone, Debug)]
pub struct Found {
    /// Whose file it is.
    pub client: &'static Client,
    /// Where it lies.
    pub path: PathBuf,
    /// Whose decision it is.
    pub scope: Scope,
    /// What became of it.
    pub state: State,
    /// The hash of its bytes, by which trust is pinned; `None` where it was not read.
    pub hash: Option<String>,
    /// Its servers, also while it is not trusted.
    pub servers: Vec<Server>,
    /// Entries that do not become servers.
    pub skipped: Vec<Skipped>,
    /// Everything worth knowing about it.
    pub diagnostics: Vec<Diagnostic>,
}

/// What was found in all known places, in the order of the table of clients.
#[derive(Clone, Debug, Default)]
pub struct Discovery {
    /// Every known place, missing ones too.
    pub files: Vec<Found>,
}

impl Discovery {
    /// The servers that can be used: those of every file that was read and is trusted.
    pub fn servers(&self) -> impl Iterator<Item = &Server> {
        self.files
            .iter()
            .filter(|file| file.state == State::Read)
            .flat_map(|file| &file.servers)
    }

    /// Lets the caller trust project files, by path and hash.
    pub fn trust(&mut self, mut trusts: impl FnMut(&Path, &str) -> bool) {
        for file in &mut self.files {
            if file.state == State::Untrusted
                && let Some(hash) = &file.hash
                && trusts(&file.path, hash)
            {
                file.state = State::Read;
            }
        }
    }
}

/// Looks in every place that a client of the table has here.
pub fn discover(surroundings: &Surroundings) -> Discovery {
    let files = CLIENTS
        .iter()
        .flat_map(|client| discover_client(client, surroundings))
        .collect();
    Discovery { files }
}

/// Looks in the places of one client.
pub fn discover_client(client: &'static Client, surroundings: &Surroundings) -> Vec<Found> {
    let user = client
        .user_paths(surroundings.os)
        .iter()
        .map(|p| (p, Scope::User));
    // In the user's home directory, the files of the working directory are the user's own.
    let here = if surroundings.cwd == surroundings.home {
        Scope::User
    } else {
        Scope::Project
    };
    let project = client.project.iter().map(|p| (p, here));
    let mut found: Vec<Found> = Vec::new();
    for (written, scope) in user.chain(project) {
        for path in places(written, surroundings) {
            // In the home directory a file can have two places.
            if !found.iter().any(|f| f.path == path) {
                found.push(look(client, &path, scope, surroundings));
            }
        }
    }
    found
}

/// The paths that a place in the table stands for here.
fn places(written: &str, surroundings: &Surroundings) -> Vec<PathBuf> {
    match written.strip_suffix("/*") {
        None => surroundings.resolve(written).into_iter().collect(),
        Some(folder) => surroundings
            .resolve(folder)
            .map(|folder| disk::files(&folder, &["yaml", "yml", "json"]))
            .unwrap_or_default(),
    }
}

/// Reads one file of a client.
pub fn look(
    client: &'static Client,
    path: &Path,
    scope: Scope,
    surroundings: &Surroundings,
) -> Found {
    let mut found = Found {
        client,
        path: path.to_owned(),
        scope,
        state: State::Missing,
        hash: None,
        servers: Vec::new(),
        skipped: Vec::new(),
        diagnostics: Vec::new(),
    };
    match reader::read_text(path, path) {
        Ok(None) => {}
        Ok(Some(source)) => {
            found.hash = Some(blake3::hash(source.text().as_bytes()).to_hex().to_string());
            found.take(super::read(client, &source, scope, surroundings));
        }
        Err(finding) => found.take(Imported::broken(vec![*finding])),
    }
    found
}

impl Found {
    fn take(&mut self, imported: Imported) {
        let broken = imported
            .diagnostics
            .iter()
            .any(|finding| finding.severity == Severity::Error);
        self.state = match self.scope {
            _ if broken => State::Broken,
            Scope::User => State::Read,
            Scope::Project => State::Untrusted,
        };
        self.servers = if broken { Vec::new() } else { imported.servers };
        self.skipped = imported.skipped;
        self.diagnostics = imported.diagnostics;
    }
}
