//! Servers from the files of other clients: those that `sources` names, or all that are known.

use std::path::{Path, PathBuf};

use toolcrib_core::nearest;

use super::{Progress, Request};
use crate::diagnostic::{Diagnostic, Severity};
use crate::file::{ConfigFile, locate};
use crate::import::discover::{self, Found, State};
use crate::import::{CLIENTS, Client, Scope, Skipped};
use crate::merge::{self, Finding};
use crate::model::Server;
use crate::model::settings::{Settings, SourceEntry};
use crate::places::Places;
use crate::registered;
use crate::trust::Trust;

/// What became of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceState {
    /// It was read and gave so many servers.
    Read(usize),
    /// It is not there.
    NotFound,
    /// It is there and cannot be read.
    Broken,
    /// It stands in the working directory and is not trusted.
    Untrusted,
}

/// One source and what it gave.
#[derive(Clone, Debug)]
pub struct SourceReport {
    /// The client whose format it has.
    pub kind: String,
    /// The path as a person writes it.
    pub shown: String,
    /// The file.
    pub path: PathBuf,
    /// What became of it.
    pub state: SourceState,
    /// Entries of it that are not used, with the reason.
    pub skipped: Vec<Skipped>,
    /// Whether it was looked for without being named in the configuration.
    pub automatic: bool,
}

/// Imports what the settings ask for into `servers`, whose own entries come first.
pub(super) fn import(
    request: &Request<'_>,
    settings: &Settings,
    file: Option<&ConfigFile>,
    servers: &mut Vec<Server>,
    progress: &mut Progress,
) -> Vec<SourceReport> {
    let mut reports = Vec::new();
    let mut imported = Vec::new();
    for (index, entry) in settings.sources.iter().enumerate() {
        for found in named(request, file, index, entry, progress) {
            take(request, found, false, &mut imported, &mut reports, progress);
        }
    }
    if file.is_none() || settings.imports.auto {
        let wanted = settings.imports.clients.as_deref();
        for client in CLIENTS {
            if wanted.is_some_and(|ids| !ids.iter().any(|id| id == client.id)) {
                continue;
            }
            for found in discover::discover_client(client, request.surroundings) {
                progress.watched.push(found.path.clone());
                take(request, found, true, &mut imported, &mut reports, progress);
            }
        }
    }
    let found = approved(request, progress);
    if imported.is_empty() && found.is_empty() {
        return reports;
    }
    let imported = found.into_iter().chain(imported);
    let merged = merge::merge(std::mem::take(servers).into_iter().chain(imported));
    *servers = merged.servers;
    for finding in &merged.findings {
        let severity = match finding {
            Finding::Same { .. } => Severity::Note,
            Finding::Conflict { .. } | Finding::TooMany { .. } => Severity::Warning,
        };
        progress
            .diagnostics
            .push(Diagnostic::new(severity, finding.to_string()));
    }
    reports
}

/// The servers that were introspected and approved.
fn approved(request: &Request<'_>, progress: &mut Progress) -> Vec<Server> {
    let path = registered::path(&Places::of(request.surroundings));
    progress.watched.push(path.clone());
    let Some(source) = super::opened(&path, progress) else {
        return Vec::new();
    };
    let (servers, diagnostics) = registered::load(&source);
    progress.diagnostics.extend(diagnostics);
    servers
}

/// The files that one entry of `sources` means.
fn named(
    request: &Request<'_>,
    file: Option<&ConfigFile>,
    index: usize,
    entry: &SourceEntry,
    progress: &mut Progress,
) -> Vec<Found> {
    let Some(client) = Client::by_id(&entry.kind) else {
        let message = format!(
            "sources[{index}].type names no known client: {:?}",
            entry.kind
        );
        let ids = CLIENTS.iter().map(|c| c.id);
        let help = match nearest::nearest(&entry.kind, ids.clone(), 1).first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known are {}", ids.collect::<Vec<_>>().join(", ")),
        };
        progress.diagnostics.push(placed(
            Diagnostic::error(message).help(help),
            file,
            index,
            "type",
        ));
        return Vec::new();
    };
    let Some(written) = &entry.path else {
        let found = discover::discover_client(client, request.surroundings);
        if found.is_empty() {
            let message = format!(
                "sources[{index}] needs a path: {} has no usual place",
                client.id
            );
            progress
                .diagnostics
                .push(placed(Diagnostic::error(message), file, index, "type"));
        }
        progress
            .watched
            .extend(found.iter().map(|f| f.path.clone()));
        return present_or_first(found);
    };
    let Some(path) = beside(request, file, written) else {
        let message = format!("sources[{index}].path begins with a variable that is not set");
        progress
            .diagnostics
            .push(placed(Diagnostic::error(message), file, index, "path"));
        return Vec::new();
    };
    progress.watched.push(path.clone());
    // What a project's own file names inside the project came with the project.
    let in_project = path.starts_with(&request.surroundings.cwd)
        && request.surroundings.cwd != request.surroundings.home
        && request.explicit.is_none();
    let scope = if in_project {
        Scope::Project
    } else {
        Scope::User
    };
    vec![discover::look(client, &path, scope, request.surroundings)]
}

/// The places that hold something; where none does, the first stands for all.
fn present_or_first(mut found: Vec<Found>) -> Vec<Found> {
    if found.iter().any(|f| f.state != State::Missing) {
        found.retain(|f| f.state != State::Missing);
    } else {
        found.truncate(1);
    }
    found
}

fn placed(
    diagnostic: Diagnostic,
    file: Option<&ConfigFile>,
    index: usize,
    field: &str,
) -> Diagnostic {
    let index = index.to_string();
    match file {
        Some(file) => match locate(&file.root, &["sources", &index, field]) {
            Some(span) => diagnostic.at(&file.source, span),
            None => diagnostic.about(&file.source),
        },
        None => diagnostic,
    }
}

/// A written path made absolute; a relative one starts at the configuration file.
fn beside(request: &Request<'_>, file: Option<&ConfigFile>, written: &str) -> Option<PathBuf> {
    let relative = !written.starts_with(['~', '$', '%']) && Path::new(written).is_relative();
    match file.and_then(|f| f.source.path().parent()) {
        Some(directory) if relative => {
            let tail = written.strip_prefix("./").unwrap_or(written);
            Some(request.surroundings.cwd.join(directory).join(tail))
        }
        _ => request.surroundings.resolve(written),
    }
}

/// Takes over what one file gave.
fn take(
    request: &Request<'_>,
    found: Found,
    automatic: bool,
    imported: &mut Vec<Server>,
    reports: &mut Vec<SourceReport>,
    progress: &mut Progress,
) {
    let shown = request.surroundings.display(&found.path);
    let mut state = match found.state {
        State::Read => SourceState::Read(found.servers.len()),
        State::Missing => SourceState::NotFound,
        State::Broken => SourceState::Broken,
        State::Untrusted => SourceState::Untrusted,
    };
    if state == SourceState::Untrusted {
        let hash = found.hash.as_deref().unwrap_or_default();
        let reason = match request.trust.state_of_hash(&found.path, hash) {
            Trust::Trusted => {
                state = SourceState::Read(found.servers.len());
                None
            }
            Trust::Changed => Some("has changed since it was trusted"),
            Trust::Unknown => Some("is not trusted"),
        };
        if let Some(reason) = reason {
            progress.diagnostics.push(
                Diagnostic::warning(format!("{shown} {reason}, so its servers are not used"))
                    .help("read it, then run `toolcrib trust` in this directory"),
            );
        }
    }
    match state {
        SourceState::Read(_) => {
            let lookup = |name: &str| request.surroundings.var(name);
            for server in found.servers.iter().filter(|s| s.enabled) {
                if let Some(unset) = server.unset(&lookup) {
                    let (name, from) = (&server.name, &server.origin);
                    progress.diagnostics.push(
                        Diagnostic::warning(format!(
                            "the server {name:?} of {from} cannot start: {unset}"
                        ))
                        .help(format!("set {} before Toolcrib starts", unset.name)),
                    );
                }
            }
            imported.extend(found.servers);
        }
        SourceState::NotFound if !automatic => progress.diagnostics.push(Diagnostic::warning(
            format!("the source {shown} ({}) is not there", found.client.id),
        )),
        _ => {}
    }
    // A broken file that nobody named is one client's trouble; one that was named is ours.
    progress
        .diagnostics
        .extend(found.diagnostics.into_iter().map(|mut d| {
            if automatic {
                d.severity = d.severity.min(Severity::Warning);
            }
            d
        }));
    reports.push(SourceReport {
        kind: found.client.id.to_owned(),
        shown,
        path: found.path,
        state,
        skipped: found.skipped,
        automatic,
    });
}
