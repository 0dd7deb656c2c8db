//! The servers of clients in our own configuration.

use std::path::PathBuf;

use serde_json::{Value, json};
use toolcrib_config::export::record::{Change, Record, Reverted};
use toolcrib_config::export::takeover::Takeover;
use toolcrib_config::export::{ExportError, addition, install, own};
use toolcrib_config::file;
use toolcrib_config::load::candidates::Candidate;
use toolcrib_config::load::rules;
use toolcrib_config::merge::{self, Finding};
use toolcrib_config::model::Server;
use toolcrib_config::model::rule::ServerRule;
use toolcrib_config::reader::{self, Format};

use crate::cli::shown::counted;
use crate::cli::target::{Whose, target};
use crate::cli::{Context, export};
use crate::failure::Failure;
use crate::loader::Loader;
use crate::ui::Line;

/// The comment at the top of a new file.
const HEADER: &str = "Written by `toolcrib setup`. `toolcrib config validate` checks it.";

/// Our configuration as it is before.
struct Known {
    /// The file, links followed.
    path: PathBuf,
    /// Its text, every byte of it; `None` where it is not there.
    text: Option<String>,
    servers: Vec<Server>,
    rules: Vec<ServerRule>,
}

impl Known {
    fn read(context: &Context) -> Result<Self, Failure> {
        let path = target(context, Whose::User)?;
        let path = std::fs::canonicalize(&path).unwrap_or(path);
        let found = reader::read_text(&path, &path)
            .map_err(|found| Failure::configuration(found.to_string()))?;
        let text = install::read(&path).map_err(|error| export::refused(&error))?;
        let format = Format::of(&path).unwrap_or(Format::Yaml);
        let shape = Candidate::explicit(&path).shape;
        let file = found.and_then(|source| file::parse(&source, format, shape));
        let (servers, rules) = file
            .map(|file| (file.servers, file.settings.server_rules))
            .unwrap_or_default();
        Ok(Self {
            path,
            text,
            servers,
            rules,
        })
    }

    /// Whether a server would not run behind Toolcrib: every definition of it there is switched off, by
    /// itself or by a rule.
    fn keeps_off(&self, server: &Server) -> bool {
        let same = self
            .servers
            .iter()
            .filter(|own| merge::is_same(own, server));
        let mut same: Vec<Server> = same.cloned().collect();
        if same.is_empty() {
            same.push(server.clone());
        }
        // What is wrong with the rules is said when the file is loaded.
        rules::apply_to_servers(&self.rules, &mut same, &mut Vec::new());
        same.iter().all(|server| !server.enabled)
    }

    fn loads(&self, context: &Context) -> Result<(), Failure> {
        let loader = Loader::new(context.surroundings.clone(), Some(self.path.clone()));
        loader.config().map(drop)
    }
}

/// Leaves with the clients what our configuration has switched off: behind Toolcrib it would not run any more.
pub(super) fn leave_switched_off(
    context: &Context,
    offers: &mut [Takeover],
) -> Result<(), Failure> {
    if offers.iter().all(|offer| offer.moving.is_empty()) {
        return Ok(());
    }
    let known = Known::read(context)?;
    let reason = format!(
        "it is switched off in {}",
        context.surroundings.display(&known.path)
    );
    for offer in offers {
        let all = std::mem::take(&mut offer.moving).into_iter();
        let (off, moving) = all.partition(|(_, server)| known.keeps_off(server));
        let off: Vec<(String, Server)> = off;
        offer.moving = moving;
        let off = off.into_iter().map(|(name, _)| (name, reason.clone()));
        offer.staying.extend(off);
    }
    Ok(())
}

/// What became of our own configuration.
pub(super) struct Own {
    path: PathBuf,
    added: Vec<String>,
    backup: Option<PathBuf>,
    secrets: Vec<String>,
    /// What was not taken over as it was, in sentences.
    notes: Vec<String>,
}

impl Own {
    /// Writes the servers that our configuration does not have yet into it, and makes sure that it
    /// loads; where it does not, it is put back. In a rehearsal it is left as it is.
    pub(super) fn write(
        context: &Context,
        record: &mut Record,
        offers: &[Takeover],
        time: &str,
    ) -> Result<Self, Failure> {
        let refused = |error| export::refused(&error);
        let known = Known::read(context)?;
        let servers = offers.iter().flat_map(|offer| &offer.moving);
        let merged = merge::beside(&known.servers, servers.map(|(_, server)| server.clone()));
        let new = merged.servers;
        let mut own = Self {
            path: known.path.clone(),
            added: new.iter().map(|server| server.name.clone()).collect(),
            backup: None,
            secrets: own::plain_secrets(&new),
            notes: notes(&merged.findings),
        };
        if new.is_empty() {
            // A client whose Toolcrib does not start has no servers any more.
            if !offers.is_empty() && known.text.is_some() {
                known.loads(context).map_err(|failure| Failure {
                    message: format!("{}; no client was changed", failure.message),
                    ..failure
                })?;
            }
            return Ok(own);
        }
        let text = match &known.text {
            None => own::to_yaml(&new, HEADER),
            Some(old) => new.iter().try_fold(old.clone(), |text, server| {
                addition::add_server(&own.path, Some(&text), server).map_err(refused)
            })?,
        };
        let change = Change {
            client: None,
            path: &own.path,
            old: known.text.as_deref(),
            new: &text,
            entry: "",
            taken: &[],
        };
        own.backup = record.make(&change, time).map_err(refused)?;
        if record.is_rehearsal() {
            return Ok(own);
        }
        known.loads(context).map_err(|failure| {
            let reverted = record.revert(|step| step.client.is_none());
            let shown = context.surroundings.display(&own.path);
            let backup = own.backup.as_deref();
            let backup = backup.map(|backup| context.surroundings.display(backup));
            let left = left(reverted.map(|(_, done)| done).as_ref(), backup.as_deref());
            Failure {
                message: format!(
                    "{shown} would not load with the new servers and {left}; no client was changed"
                ),
                ..failure
            }
        })?;
        Ok(own)
    }

    pub(super) fn to_json(&self) -> Value {
        json!({ "file": self.path, "added": self.added, "backup": self.backup, "plainSecrets": self.secrets, "notes": self.notes })
    }

    pub(super) fn tell(&self, context: &mut Context) {
        let path = context.surroundings.display(&self.path);
        if !self.added.is_empty() {
            let count = counted(self.added.len(), "server");
            let line = Line::new().mark(true);
            context
                .ui
                .line(line.text(format_args!(" {count} written to {path}")));
        }
        for note in &self.notes {
            context.ui.note(note);
        }
        for place in &self.secrets {
            context.ui.note(format!(
                "{place} is a secret in plain text; put it into the environment and write ${{NAME}}"
            ));
        }
    }
}

/// What a person does not expect of servers that were put together.
fn notes(findings: &[Finding]) -> Vec<String> {
    let unexpected = findings.iter().filter(|finding| match finding {
        Finding::Same { differs, .. } => !differs.is_empty(),
        Finding::Conflict { .. } | Finding::TooMany { .. } => true,
    });
    unexpected.map(|finding| format!("{finding}.")).collect()
}

/// What became of a file that should be as it was.
fn left(reverted: Option<&Result<Reverted, ExportError>>, backup: Option<&str>) -> String {
    match (reverted, backup) {
        (Some(Ok(Reverted::Restored | Reverted::Deleted | Reverted::Nothing)), _) => {
            "was left as it was".to_owned()
        }
        (_, Some(backup)) => format!("could not be put back; what it was is in {backup}"),
        (_, None) => "could not be taken away again; correct it or remove it".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_could_not_be_put_back_is_not_said_to_be_as_it_was() {
        let failed: Result<Reverted, ExportError> = Err(ExportError::Changed {
            path: PathBuf::from("a"),
        });
        let said = |done, backup| left(Some(done), backup);
        assert_eq!(
            said(&Ok(Reverted::Restored), Some("b")),
            "was left as it was"
        );
        for done in [&failed, &Ok(Reverted::Kept)] {
            assert!(said(done, Some("b")).ends_with("what it was is in b"));
            assert!(said(done, None).contains("remove it"));
        }
        assert!(left(None, None).contains("could not"));
    }
}
