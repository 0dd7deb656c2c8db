//! The servers of clients in our own configuration.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolcrib_config::export::record::{Change, Record};
use toolcrib_config::export::{addition, own};
use toolcrib_config::file::{self, Shape};
use toolcrib_config::import::Scope;
use toolcrib_config::load::candidates;
use toolcrib_config::merge;
use toolcrib_config::model::Server;
use toolcrib_config::places::Places;
use toolcrib_config::reader::{self, Format};

use crate::cli::{Context, export};
use crate::failure::Failure;
use crate::loader::Loader;
use crate::ui::Line;

/// The comment at the top of a new file.
const HEADER: &str = "Written by `toolcrib setup`. `toolcrib config validate` checks it.";

/// What became of our own configuration.
pub(super) struct Own {
    path: PathBuf,
    added: Vec<String>,
    backup: Option<PathBuf>,
    secrets: Vec<String>,
}

impl Own {
    /// Writes the servers that our configuration does not have yet into it, and makes sure that it
    /// loads; where it does not, it is put back. In a rehearsal it is left as it is.
    pub(super) fn write(
        context: &Context,
        record: &mut Record,
        servers: &[Server],
        time: &str,
    ) -> Result<Self, Failure> {
        let path = target(context);
        let refused = |error| export::refused(&error);
        let found = reader::read_text(&path, &path)
            .map_err(|found| Failure::configuration(found.to_string()))?;
        let old = found.as_ref().map(|source| source.text().to_owned());
        let format = Format::of(&path).unwrap_or(Format::Yaml);
        let known = found.and_then(|source| file::parse(&source, format, Shape::Whole));
        let known = known.map(|file| file.servers).unwrap_or_default();
        let count = known.len();
        let merged = merge::merge(known.into_iter().chain(servers.iter().cloned()));
        let new: Vec<Server> = merged.servers.into_iter().skip(count).collect();
        let mut own = Self {
            path,
            added: new.iter().map(|server| server.name.clone()).collect(),
            backup: None,
            secrets: own::plain_secrets(&new),
        };
        if new.is_empty() {
            return Ok(own);
        }
        let text = match &old {
            None => own::to_yaml(&new, HEADER),
            Some(old) => new.iter().try_fold(old.clone(), |text, server| {
                addition::add_server(&own.path, Some(&text), server).map_err(refused)
            })?,
        };
        let change = Change {
            client: None,
            path: &own.path,
            old: old.as_deref(),
            new: &text,
            entry: "",
            taken: &[],
        };
        own.backup = record.make(&change, time).map_err(refused)?;
        if record.is_rehearsal() {
            return Ok(own);
        }
        let loader = Loader::new(context.surroundings.clone(), Some(own.path.clone()));
        if let Err(failure) = loader.config() {
            record.revert(|step| step.client.is_none());
            let shown = context.surroundings.display(&own.path);
            return Err(Failure {
                message: format!(
                    "{shown} would not load with the new servers and was left as it was; no client was changed"
                ),
                ..failure
            });
        }
        Ok(own)
    }

    pub(super) fn to_json(&self) -> Value {
        json!({ "file": self.path, "added": self.added, "backup": self.backup, "plainSecrets": self.secrets })
    }

    pub(super) fn tell(&self, context: &mut Context) {
        let path = context.surroundings.display(&self.path);
        let count = match self.added.len() {
            0 => return,
            1 => "1 server".to_owned(),
            n => format!("{n} servers"),
        };
        let line = Line::new().mark(true);
        context
            .ui
            .line(line.text(format_args!(" {count} written to {path}")));
        for place in &self.secrets {
            context.ui.note(format!(
                "{place} is a secret in plain text; put it into the environment and write ${{NAME}}"
            ));
        }
    }
}

/// Our configuration of the user: the one that is named, else the one that is there, else a new one.
fn target(context: &Context) -> PathBuf {
    let places = Places::of(&context.surroundings);
    let there = || {
        let all = candidates::all(&context.surroundings, &places);
        let mut mine = all.into_iter().filter(|found| found.scope == Scope::User);
        mine.find(|found| found.path.exists())
            .map(|found| found.path)
    };
    let path = context.explicit_config().or_else(there);
    let path = path.unwrap_or_else(|| places.config.join("toolcrib.yaml"));
    real(&path)
}

/// The file that a path leads to, links followed.
fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
