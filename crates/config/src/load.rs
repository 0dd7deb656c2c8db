//! From files on disk to one [`Config`], or to everything that is wrong with them.
//!
//! The first file of the search order that is there is the configuration. One that is there and
//! does not load is an error, never a silent default: the defaults enable every tool.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolcrib_core::pattern::rules::{Layers, RuleSet};

use crate::diagnostic::{Diagnostic, Severity};
use crate::environment;
use crate::file::{self, ConfigFile, Shape};
use crate::import::Scope;
use crate::model::{Server, Settings};
use crate::places::Places;
use crate::reader;
use crate::surroundings::Surroundings;
use crate::text::Source;
use crate::trust::{Trust, TrustStore};

pub mod candidates;
pub mod floor;
pub mod rules;
pub mod sources;

use candidates::Candidate;
pub use sources::{SourceReport, SourceState};

/// What to load from.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// Where we are.
    pub surroundings: &'a Surroundings,
    /// The file named by `--config` or `TOOLCRIB_CONFIG`; naming a file is trusting it.
    pub explicit: Option<PathBuf>,
    /// Which project files may be used.
    pub trust: &'a TrustStore,
}

/// A configuration that loaded, whole.
#[derive(Debug)]
pub struct Config {
    /// The file it comes from; `None` where there is none and the defaults hold.
    pub path: Option<PathBuf>,
    /// The settings.
    pub settings: Settings,
    /// Every server, imported ones included, in a fixed order.
    pub servers: Vec<Server>,
    /// Servers and adapters that are switched on and cannot be used as things are, with the reason.
    pub set_aside: BTreeMap<String, String>,
    /// The compiled rules; a tool must be enabled by every layer.
    pub rules: Layers,
    /// What each source gave.
    pub sources: Vec<SourceReport>,
    /// Warnings and notes.
    pub diagnostics: Vec<Diagnostic>,
    /// Every file that was looked at, there or not: a change of one may change the configuration.
    pub watched: Vec<PathBuf>,
    /// The files that were read as configuration, for checks that need their text.
    pub files: Vec<Arc<ConfigFile>>,
    /// Our own directories.
    pub places: Places,
    /// Where capability files go for review, where `capabilities.exportDirectory` names a place.
    pub export_directory: Option<PathBuf>,
}

impl Config {
    /// The rules of each file that has a say, the user's own first, with the file.
    pub fn layers(&self) -> impl Iterator<Item = (&RuleSet, &ConfigFile)> {
        let files = self.files.iter().rev().map(|file| &**file);
        self.rules.sets().iter().zip(files)
    }
}

/// Everything that keeps a configuration from loading.
#[derive(Debug)]
pub struct Failure {
    /// The errors, and the warnings that were found on the way.
    pub diagnostics: Vec<Diagnostic>,
    /// Every file that was looked at.
    pub watched: Vec<PathBuf>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.diagnostics.iter().enumerate() {
            if index > 0 {
                f.write_str("\n\n")?;
            }
            diagnostic.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

/// What is gathered while loading.
#[derive(Debug, Default)]
struct Progress {
    diagnostics: Vec<Diagnostic>,
    watched: Vec<PathBuf>,
    set_aside: BTreeMap<String, String>,
}

impl Progress {
    fn failed(&self) -> bool {
        self.diagnostics
            .iter()
            .any(|d| d.severity == Severity::Error)
    }

    fn failure(self) -> Failure {
        Failure {
            diagnostics: self.diagnostics,
            watched: self.watched,
        }
    }
}

/// Loads the configuration, whole or not at all.
pub fn load(request: &Request<'_>) -> Result<Config, Failure> {
    let (config, progress) = examine(request);
    if progress.failed() {
        return Err(progress.failure());
    }
    Ok(Config {
        diagnostics: progress.diagnostics,
        watched: progress.watched,
        ..config
    })
}

/// Loads as far as it goes and gives everything that is to be said about it, errors included.
pub fn inspect(request: &Request<'_>) -> (Config, Vec<Diagnostic>) {
    let (mut config, progress) = examine(request);
    config.watched = progress.watched;
    (config, progress.diagnostics)
}

fn examine(request: &Request<'_>) -> (Config, Progress) {
    let mut progress = Progress::default();
    let places = Places::of(request.surroundings);
    let chosen = choose(request, &places, &mut progress);
    let base = match &chosen {
        Some(chosen) if chosen.scope == Scope::Project => {
            user_file(request, &places, &mut progress)
        }
        _ => None,
    };
    let mut settings = Settings::default();
    let mut servers = Vec::new();
    let mut files = Vec::new();
    let path = chosen.as_ref().map(|c| c.file.source.path().to_owned());
    if let Some(chosen) = &chosen {
        settings = chosen.file.settings.clone();
        servers.clone_from(&chosen.file.servers);
        progress
            .diagnostics
            .extend(chosen.file.diagnostics.iter().cloned());
        check_environment(&chosen.file, request.surroundings, &mut progress);
        files.push(Arc::clone(&chosen.file));
    }
    if let Some(base) = &base {
        progress
            .diagnostics
            .extend(base.diagnostics.iter().cloned());
        floor::hold(&mut settings, &base.settings);
        floor::hold_servers(&mut servers, &base.settings);
        files.push(Arc::clone(base));
    }
    progress
        .diagnostics
        .extend(environment::apply(&mut settings, request.surroundings));
    let file = chosen.as_ref().map(|c| &*c.file);
    let mut surroundings = request.surroundings.clone();
    // An entry that points at the address where we listen is Toolcrib itself.
    surroundings
        .own_addresses
        .push(settings.http.listen.clone());
    let request = &Request {
        surroundings: &surroundings,
        explicit: request.explicit.clone(),
        ..*request
    };
    // A file that was named and cannot be had is what there is to say, not what stands elsewhere.
    let sources = if request.explicit.is_some() && file.is_none() {
        Vec::new()
    } else {
        sources::import(request, &settings, file, &mut servers, &mut progress)
    };
    rules::apply_to_servers(
        &settings.server_rules,
        &mut servers,
        &mut progress.diagnostics,
    );
    set_aside(&servers, request.surroundings, &mut progress);
    let rules = rules::compile(&files, &mut progress.diagnostics);
    let named = settings.capabilities.export_directory.as_deref();
    let export_directory = named.and_then(|written| request.surroundings.resolve(written));
    let config = Config {
        path,
        settings,
        servers,
        set_aside: std::mem::take(&mut progress.set_aside),
        rules,
        sources,
        diagnostics: Vec::new(),
        watched: Vec::new(),
        files,
        places,
        export_directory,
    };
    (config, progress)
}

struct Chosen {
    file: Arc<ConfigFile>,
    scope: Scope,
}

/// The first file of the search order that is there and may be used.
fn choose(request: &Request<'_>, places: &Places, progress: &mut Progress) -> Option<Chosen> {
    if let Some(path) = &request.explicit {
        return explicit(path, progress);
    }
    let mut chosen: Option<Chosen> = None;
    for candidate in candidates::all(request.surroundings, places) {
        progress.watched.push(candidate.path.clone());
        if chosen
            .as_ref()
            .is_some_and(|c| !same_directory(&c.file, &candidate))
        {
            continue;
        }
        let Some(source) = opened(&candidate.path, progress) else {
            continue;
        };
        if let Some(chosen) = &chosen {
            let used = chosen.file.source.path().display();
            progress.diagnostics.push(
                Diagnostic::warning(format!(
                    "{} is not read, because {used} stands before it",
                    candidate.path.display()
                ))
                .help("keep one of the two"),
            );
            continue;
        }
        if candidate.scope == Scope::Project && !is_trusted(request, &source, progress) {
            continue;
        }
        chosen = parsed(&source, &candidate).map(|file| Chosen {
            file: Arc::new(file),
            scope: candidate.scope,
        });
    }
    chosen
}

fn same_directory(file: &ConfigFile, candidate: &Candidate) -> bool {
    candidate.shape == Shape::Whole && file.source.path().parent() == candidate.path.parent()
}

fn explicit(path: &Path, progress: &mut Progress) -> Option<Chosen> {
    progress.watched.push(path.to_owned());
    let errors_before = progress.diagnostics.len();
    let Some(source) = opened(path, progress) else {
        if progress.diagnostics.len() == errors_before {
            progress.diagnostics.push(
                Diagnostic::error(format!(
                    "the configuration file {} is not there",
                    path.display()
                ))
                .help("check the path given by --config or TOOLCRIB_CONFIG"),
            );
        }
        return None;
    };
    let candidate = Candidate::explicit(path);
    let file = parsed(&source, &candidate).or_else(|| {
        progress.diagnostics.push(
            Diagnostic::error("this file has neither a `discovery` nor an `mcp` section")
                .about(&source),
        );
        None
    })?;
    Some(Chosen {
        file: Arc::new(file),
        scope: Scope::User,
    })
}

/// The text of a file; `None` where it is not there, or cannot be read, which is then said.
fn opened(path: &Path, progress: &mut Progress) -> Option<Arc<Source>> {
    reader::read_text(path, path).unwrap_or_else(|diagnostic| {
        progress.diagnostics.push(*diagnostic);
        None
    })
}

fn parsed(source: &Arc<Source>, candidate: &Candidate) -> Option<ConfigFile> {
    match file::format_of(&candidate.path, source) {
        Ok(format) => file::parse(source, format, candidate.shape),
        Err(diagnostic) => Some(file::unusable(source, vec![diagnostic])),
    }
}

/// Whether a project file may be used; where not, that is said.
fn is_trusted(request: &Request<'_>, source: &Arc<Source>, progress: &mut Progress) -> bool {
    let reason = match request.trust.state(source.path(), source.text()) {
        Trust::Trusted => return true,
        Trust::Changed => "has changed since it was trusted",
        Trust::Unknown => "is not trusted",
    };
    let path = source.path().display();
    progress.diagnostics.push(
        Diagnostic::warning(format!("{path} {reason} and is not used"))
            .help("read it, then run `toolcrib trust` in this directory"),
    );
    false
}

/// The user's own file, whose policy a project file cannot relax.
fn user_file(
    request: &Request<'_>,
    places: &Places,
    progress: &mut Progress,
) -> Option<Arc<ConfigFile>> {
    let user = candidates::all(request.surroundings, places)
        .into_iter()
        .filter(|c| c.scope == Scope::User);
    for candidate in user {
        let Some(source) = opened(&candidate.path, progress) else {
            continue;
        };
        if let Some(file) = parsed(&source, &candidate) {
            return Some(Arc::new(file));
        }
    }
    None
}

/// The file that is in force of those of one scope: the first of the search order that is there and that we are
/// in. One that cannot be read is an error: what stands after it would not be used either.
pub fn in_force(
    scope: Scope,
    surroundings: &Surroundings,
    places: &Places,
) -> Result<Option<PathBuf>, Box<Diagnostic>> {
    let all = candidates::all(surroundings, places).into_iter();
    for candidate in all.filter(|candidate| candidate.scope == scope) {
        if let Some(source) = reader::read_text(&candidate.path, &candidate.path)?
            && parsed(&source, &candidate).is_some()
        {
            return Ok(Some(candidate.path));
        }
    }
    Ok(None)
}

/// Reports variables that are not set, where something that is switched on needs them. A server or an adapter
/// that needs one is set aside; anything else cannot do without.
fn check_environment(file: &ConfigFile, surroundings: &Surroundings, progress: &mut Progress) {
    let owners = owners(file);
    for found in &file.templates {
        let lookup = |name: &str| surroundings.var(name);
        let Err(unset) = found.template.expand(&lookup) else {
            continue;
        };
        let (path, name) = (&found.path, &unset.name);
        let owner = owners.iter().filter(|one| path.starts_with(&one.prefix));
        let diagnostic = match owner.max_by_key(|one| one.prefix.len()) {
            Some(owner) if !owner.enabled => continue,
            Some(owner) => {
                let (what, whose) = (owner.what, owner.name);
                progress
                    .set_aside
                    .insert(whose.to_owned(), unset.to_string());
                Diagnostic::warning(format!(
                    "{path} needs {name}, and {unset}; the {what} {whose} is set aside, the others run"
                ))
                .help(format!(
                    "set {name} where Toolcrib is started, or give a default with ${{{name}:-…}}, or disable the {what}"
                ))
            }
            None => Diagnostic::error(format!("{path} needs {name}, and {unset}"))
                .help(format!("set {name}, or give a default with ${{{name}:-…}}")),
        };
        progress
            .diagnostics
            .push(diagnostic.at(&file.source, found.span));
    }
}

/// Sets servers aside that came from elsewhere and need what is not set; their sources have told it.
fn set_aside(servers: &[Server], surroundings: &Surroundings, progress: &mut Progress) {
    let lookup = |name: &str| surroundings.var(name);
    for server in servers.iter().filter(|server| server.enabled) {
        if let Some(unset) = server.unset(&lookup) {
            let reason = progress.set_aside.entry(server.name.clone());
            reason.or_insert_with(|| unset.to_string());
        }
    }
}

/// A server or an adapter of a file, and what the paths of everything in it begin with, such as
/// `servers.github.` for `servers.github.env.TOKEN`.
struct Owner<'a> {
    prefix: String,
    what: &'static str,
    name: &'a str,
    enabled: bool,
}

fn owners(file: &ConfigFile) -> Vec<Owner<'_>> {
    let servers = file.servers.iter().enumerate();
    let servers = servers.flat_map(|(at, server)| {
        let in_map = format!("servers.{}.", server.name);
        [in_map, format!("servers[{at}].")].map(|prefix| Owner {
            prefix,
            what: "server",
            name: &server.name,
            enabled: server.enabled,
        })
    });
    let adapters = file.settings.adapters.iter();
    let adapters = adapters.map(|(name, adapter)| Owner {
        prefix: format!("adapters.{name}."),
        what: "adapter",
        name,
        enabled: adapter.enabled.0,
    });
    servers.chain(adapters).collect()
}
