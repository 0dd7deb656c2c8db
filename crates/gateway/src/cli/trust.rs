//! `toolcrib trust`: lets the files of a working directory be used, as they are now.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use toolcrib_config::file;
use toolcrib_config::import::{Scope, discover};
use toolcrib_config::load::candidates;
use toolcrib_config::model::Server;
use toolcrib_config::places::Places;
use toolcrib_config::reader;
use toolcrib_config::trust::{Trust as State, TrustStore};

use super::{Context, is_interactive, shown, unanswered};
use crate::failure::{Failure, unread};
use crate::loader::trust_record;
use crate::ui::{Line, Table, Tone};

/// Let the configuration files of a working directory be used, as they are now
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib trust           show the files of the working directory and ask
  toolcrib trust --yes     without asking, as in a script
  toolcrib trust --list
  toolcrib trust --revoke

Exit codes: 0 it is as was asked for or answered, 1 wrong arguments, or nobody can be asked, 2 a \
file cannot be read or written.")]
pub struct Trust {
    /// The directory; the working directory unless given
    directory: Option<PathBuf>,
    /// List the files that are trusted
    #[arg(long, conflicts_with = "revoke")]
    list: bool,
    /// Trust the files of the directory no longer
    #[arg(long)]
    revoke: bool,
    /// Do not ask; needed where there is no terminal
    #[arg(short, long)]
    yes: bool,
}

/// A file of a working directory that could start processes.
struct ProjectFile {
    path: PathBuf,
    text: String,
    servers: Vec<Server>,
}

impl Trust {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        let mut store = TrustStore::open(trust_record(&context.surroundings))?;
        if self.list {
            list(context, &store, self.directory.as_deref());
            return Ok(());
        }
        let directory = self.directory.unwrap_or_else(|| PathBuf::from("."));
        let directory = context.surroundings.cwd.join(directory);
        let directory = directory.canonicalize().map_err(|error| {
            Failure::usage(format!(
                "{} is not a directory that can be read: {}",
                directory.display(),
                unread(&error)
            ))
        })?;
        if self.revoke {
            return revoke(context, &mut store, &directory);
        }
        let files = files(context, &directory);
        let pinned = pin(context, &mut store, &files, !self.yes)?;
        tell(context, &directory, &files, &pinned);
        Ok(())
    }
}

/// On a terminal, asks whether files of the working directory that are not trusted may be used.
pub(super) fn offer(context: &mut Context) -> Result<(), Failure> {
    if !is_interactive(context) || context.explicit_config().is_some() {
        return Ok(());
    }
    let mut store = TrustStore::open(trust_record(&context.surroundings))?;
    let directory = context.surroundings.cwd.clone();
    let files = files(context, &directory);
    pin(context, &mut store, &files, true)?;
    Ok(())
}

/// Our own files and those of other clients that a directory brings along.
fn files(context: &mut Context, directory: &Path) -> Vec<ProjectFile> {
    let mut here = context.surroundings.clone();
    directory.clone_into(&mut here.cwd);
    let mut files: Vec<ProjectFile> = Vec::new();
    for candidate in candidates::all(&here, &Places::of(&here)) {
        if candidate.scope != Scope::Project {
            continue;
        }
        match reader::read_text(&candidate.path, &candidate.path) {
            Ok(Some(source)) => {
                let format = reader::Format::of(&candidate.path);
                let parsed = format.and_then(|f| file::parse(&source, f, candidate.shape));
                files.push(ProjectFile {
                    path: candidate.path,
                    text: source.text().to_owned(),
                    servers: parsed.map(|file| file.servers).unwrap_or_default(),
                });
            }
            Ok(None) => {}
            Err(diagnostic) => context.ui.finding(&(&*diagnostic).into()),
        }
    }
    for found in discover::discover(&here).files {
        if found.scope != Scope::Project || found.hash.is_none() {
            continue;
        }
        if let Ok(Some(source)) = reader::read_text(&found.path, &found.path) {
            files.push(ProjectFile {
                path: found.path,
                text: source.text().to_owned(),
                servers: found.servers,
            });
        }
    }
    files
}

/// Shows what is not trusted yet, asks where that is wanted, and records it. Gives what is new.
fn pin(
    context: &mut Context,
    store: &mut TrustStore,
    files: &[ProjectFile],
    ask: bool,
) -> Result<Vec<PathBuf>, Failure> {
    let mut new = Vec::new();
    for file in files {
        let why = match store.state(&file.path, &file.text) {
            State::Trusted => continue,
            State::Changed => "changed since it was trusted",
            State::Unknown => "new",
        };
        let path = context.surroundings.display(&file.path);
        context.ui.note(
            Line::new()
                .text(&path)
                .tone(Tone::Dim, format_args!(" ({why})")),
        );
        for server in &file.servers {
            let line = format!("  {}: {}", server.name, shown::reached(server));
            context.ui.note(Line::new().whole(line));
        }
        new.push(file);
    }
    if new.is_empty() {
        return Ok(Vec::new());
    }
    if ask && !is_interactive(context) {
        return Err(Failure::usage(
            "nothing was trusted, because nobody can be asked here; read the files above and add --yes",
        ));
    }
    if ask && !confirmed(context, new.len())? {
        return Ok(Vec::new());
    }
    for file in &new {
        store.trust(&file.path, &file.text);
    }
    store.save()?;
    Ok(new.iter().map(|file| file.path.clone()).collect())
}

fn confirmed(context: &mut Context, count: usize) -> Result<bool, Failure> {
    let question = match count {
        1 => "May this file be used? It can start these programs.".to_owned(),
        n => format!("May these {n} files be used? They can start these programs."),
    };
    let answered = context.ui.confirm(&question);
    let answered = answered.map_err(|error| unanswered(&error))?;
    answered.ok_or_else(|| Failure::usage("nothing was trusted, because the question was left"))
}

fn tell(context: &mut Context, directory: &Path, files: &[ProjectFile], pinned: &[PathBuf]) {
    if context.ui.is_json() {
        context.ui.json(&json!({
            "directory": directory,
            "trusted": pinned,
            "files": files.iter().map(|file| &file.path).collect::<Vec<_>>(),
        }));
        return;
    }
    let place = context.surroundings.display(directory);
    let line = match (files.len(), pinned.len()) {
        (0, _) => Line::from(format!("There is no configuration file in {place}.")),
        (_, 0) => Line::from(format!("Nothing more is trusted in {place} than before.")),
        (_, 1) => trusted(&format!("1 file of {place} may be used as it is now")),
        (_, n) => trusted(&format!("{n} files of {place} may be used as they are now")),
    };
    context.ui.line(line);
}

fn trusted(what: &str) -> Line {
    Line::new()
        .mark(true)
        .text(format_args!(" {what}; a change asks again."))
}

fn revoke(context: &mut Context, store: &mut TrustStore, place: &Path) -> Result<(), Failure> {
    let gone = store.revoke(place);
    if !gone.is_empty() {
        store.save()?;
    }
    if context.ui.is_json() {
        context.ui.json(&json!({ "revoked": gone }));
        return Ok(());
    }
    let place = context.surroundings.display(place);
    context.ui.line(match gone.len() {
        0 => format!("Nothing in {place} was trusted."),
        1 => format!("1 file of {place} is not trusted any more."),
        n => format!("{n} files of {place} are not trusted any more."),
    });
    Ok(())
}

fn list(context: &mut Context, store: &TrustStore, below: Option<&Path>) {
    let below = below.map(|path| {
        let path = context.surroundings.cwd.join(path);
        path.canonicalize().unwrap_or(path)
    });
    let files: Vec<(PathBuf, &str)> = store
        .files()
        .filter(|file| below.as_ref().is_none_or(|place| file.starts_with(place)))
        .map(|file| (file.to_owned(), state(store, file)))
        .collect();
    if context.ui.is_json() {
        let files: Vec<_> = files
            .iter()
            .map(|(path, state)| json!({ "path": path, "state": state }))
            .collect();
        context.ui.json(&json!({ "files": files }));
        return;
    }
    if files.is_empty() {
        context.ui.line("No file is trusted.");
        return;
    }
    let mut table = Table::new(["FILE", "STATE"]);
    for (path, state) in files {
        table.row([context.surroundings.display(&path), state.to_owned()]);
    }
    context.ui.table(&table);
}

/// Whether a file that was trusted still is what was trusted.
fn state(store: &TrustStore, file: &Path) -> &'static str {
    match reader::read_text(file, file) {
        Ok(Some(source)) => match store.state(file, source.text()) {
            State::Trusted => "trusted",
            State::Changed | State::Unknown => "changed",
        },
        Ok(None) => "gone",
        Err(_) => "unreadable",
    }
}
