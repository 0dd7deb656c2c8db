//! Toolcrib in the place of a client's servers: which of them it can take over, and what becomes of
//! the client's file.

use std::path::{Path, PathBuf};

use super::client::{
    EmptyRoot, Entry, ExportError, add_entry, command_of, is_ours, names, remove_entry, target,
};
use super::install;
use crate::import::{self, Client, Family, Scope, name};
use crate::model::server::Server;
use crate::reader;
use crate::surroundings::Surroundings;
use crate::text::Source;
use crate::{Diagnostic, Severity};

/// A client's file and what could be done with it.
#[derive(Clone, Debug)]
pub struct Takeover {
    /// Whose file it is.
    pub client: &'static Client,
    /// The file, links followed.
    pub path: PathBuf,
    /// Its text; `None` where it is not there.
    pub text: Option<String>,
    /// The servers that Toolcrib can take over, each with its name in the file.
    pub moving: Vec<(String, Server)>,
    /// The entries that stay where they are, each with the reason.
    pub staying: Vec<(String, String)>,
}

impl Takeover {
    /// Reads the user's file of a client; `None` where the client starts no servers from a file.
    pub fn look(
        client: &'static Client,
        surroundings: &Surroundings,
    ) -> Result<Option<Self>, ExportError> {
        if matches!(client.family, Family::Docker | Family::Custom) {
            return Ok(None);
        }
        let Some(path) = target(client, surroundings, false) else {
            return Ok(None);
        };
        let path = install::real(&path);
        // Read within the bounds of every foreign file, and told with the place where it fails.
        let source =
            reader::read_text(&path, &path).map_err(|found| broken(&path, vec![*found]))?;
        let mut takeover = Self {
            client,
            text: source.as_ref().map(|source| source.text().to_owned()),
            path,
            moving: Vec::new(),
            staying: Vec::new(),
        };
        // What is left of a byte order mark or of an encoding must come back byte for byte.
        let exact = install::read(&takeover.path)?;
        if let (Some(text), Some(source)) = (exact, source) {
            takeover.sort(&source, &text, surroundings)?;
            takeover.text = Some(text);
        }
        Ok(Some(takeover))
    }

    /// Whether the client seems to be used on this machine: its file or the folder of it is there.
    pub fn is_here(&self, surroundings: &Surroundings) -> bool {
        let folder = self.path.parent();
        self.text.is_some()
            || folder.is_some_and(|folder| folder.is_dir() && folder != surroundings.home)
    }

    /// The text of the file with our entry in the place of the servers that move.
    pub fn result(&self, entry: &Entry) -> Result<String, ExportError> {
        let mut text = add_entry(self.client, &self.path, self.text.as_deref(), entry)?;
        for (name, _) in &self.moving {
            text = remove_entry(self.client, &self.path, &text, name, EmptyRoot::Keep)?;
        }
        Ok(text)
    }

    /// The name of our own entry in the file, and the program that it starts.
    pub fn own_entry(&self) -> Option<(String, Option<String>)> {
        let text = self.text.as_deref()?;
        let names = names(self.client, &self.path, text).ok()?;
        let (name, _) = names
            .into_iter()
            .find(|(name, _)| is_ours(self.client, &self.path, text, name))?;
        let command = command_of(self.client, &self.path, text, &name);
        Some((name, command))
    }

    fn sort(
        &mut self,
        source: &std::sync::Arc<Source>,
        text: &str,
        surroundings: &Surroundings,
    ) -> Result<(), ExportError> {
        // What belongs to one project of the client is not the user's everywhere.
        let mut nowhere = surroundings.clone();
        if self.client.family == Family::ClaudeCode {
            nowhere.cwd = PathBuf::new();
        }
        let imported = import::read(self.client, source, Scope::User, &nowhere);
        if imported
            .diagnostics
            .iter()
            .any(|found| found.severity == Severity::Error)
        {
            return Err(broken(&self.path, imported.diagnostics));
        }
        let lookup = |name: &str| surroundings.var(name);
        let mut servers = imported.servers;
        for (key, line) in names(self.client, &self.path, text)? {
            let legal = name::legal(&key);
            let found = servers.iter().position(|server| {
                Some(&server.name) == legal.as_ref() && server.origin.line == line
            });
            let Some(found) = found else {
                let skipped = imported.skipped.iter().find(|skipped| skipped.name == key);
                let reason = skipped.map(|skipped| skipped.reason.clone());
                self.staying.push((
                    key,
                    reason.unwrap_or_else(|| "it cannot be read".to_owned()),
                ));
                continue;
            };
            let server = servers.remove(found);
            if !server.enabled {
                self.staying.push((key, "it is switched off".to_owned()));
            } else if let Some(unset) = server.unset(&lookup) {
                self.staying.push((
                    key,
                    format!("it needs {}, which is not set here", unset.name),
                ));
            } else {
                self.moving.push((key, server));
            }
        }
        Ok(())
    }
}

fn broken(path: &Path, diagnostics: Vec<Diagnostic>) -> ExportError {
    ExportError::Broken {
        path: path.to_owned(),
        diagnostics,
    }
}
