//! What was found where, and what becomes of it.

use serde::Serialize;
use serde_json::{Value, json};
use toolcrib_config::Severity;
use toolcrib_config::import::Discovery;
use toolcrib_config::import::discover::State;
use toolcrib_config::merge::{Finding, Merged};
use toolcrib_config::model::server::{Origin, Server};
use toolcrib_config::surroundings::Surroundings;

use crate::cli::Context;
use crate::ui::{Line, Table};

/// A server that is set aside where it is used, until a variable that it needs is set.
pub(super) struct Waiting {
    name: String,
    variable: String,
}

/// The servers that need a variable which is not set.
pub(super) fn waiting(servers: &[Server], surroundings: &Surroundings) -> Vec<Waiting> {
    let lookup = |name: &str| surroundings.var(name);
    let waits = |server: &Server| {
        let unset = server.unset(&lookup)?;
        Some(Waiting {
            name: server.name.clone(),
            variable: unset.name,
        })
    };
    let enabled = servers.iter().filter(|server| server.enabled);
    enabled.filter_map(waits).collect()
}

/// One server of one file.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    client: &'static str,
    file: String,
    line: usize,
    /// `imported`, `same`, `renamed`, `untrusted`, `waiting`.
    status: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    note: String,
}

/// One entry that does not become a server.
#[derive(Debug, Serialize)]
struct Left {
    name: String,
    client: &'static str,
    file: String,
    line: usize,
    reason: String,
}

/// Everything that was found.
#[derive(Debug)]
pub(super) struct Inventory {
    rows: Vec<Row>,
    left: Vec<Left>,
    files: Vec<Value>,
}

impl Inventory {
    pub(super) fn of(discovery: &Discovery, merged: &Merged, waiting: &[Waiting]) -> Self {
        let mut inventory = Self {
            rows: Vec::new(),
            left: Vec::new(),
            files: Vec::new(),
        };
        for found in &discovery.files {
            let path = found.path.display().to_string();
            let state = match found.state {
                State::Missing => continue,
                State::Read => "read",
                State::Broken => "broken",
                State::Untrusted => "untrusted",
            };
            let mut file = json!({ "client": found.client.id, "path": path, "state": state });
            let told = found.diagnostics.iter();
            let told = told.filter(|diagnostic| diagnostic.severity != Severity::Note);
            let told: Vec<crate::finding::Finding> =
                told.map(crate::finding::Finding::from).collect();
            if !told.is_empty() {
                file["diagnostics"] = json!(told);
            }
            inventory.files.push(file);
            for server in &found.servers {
                let (status, note) = if found.state == State::Untrusted {
                    ("untrusted", "not trusted; run `toolcrib trust`".to_owned())
                } else {
                    fate(server, merged, waiting)
                };
                inventory.rows.push(Row {
                    name: server.name.clone(),
                    client: found.client.id,
                    file: path.clone(),
                    line: server.origin.line,
                    status,
                    note,
                });
            }
            inventory
                .left
                .extend(found.skipped.iter().map(|skipped| Left {
                    name: skipped.name.clone(),
                    client: found.client.id,
                    file: path.clone(),
                    line: skipped.line,
                    reason: skipped.reason.clone(),
                }));
        }
        inventory
    }

    pub(super) fn servers(&self) -> Value {
        json!(self.rows)
    }

    pub(super) fn skipped(&self) -> Value {
        json!(self.left)
    }

    pub(super) fn files(&self) -> Value {
        json!(self.files)
    }

    /// The table of what was found where, and what is skipped and why.
    pub(super) fn show(&self, context: &mut Context) {
        if !self.rows.is_empty() || !self.left.is_empty() {
            self.show_servers(context);
        } else if self.broken().next().is_none() {
            context.ui.line("No client has any servers.");
        }
    }

    /// The files that are there and cannot be read.
    fn broken(&self) -> impl Iterator<Item = &Value> {
        self.files.iter().filter(|file| file["state"] == "broken")
    }

    /// Names the files that cannot be read, where nothing else says it.
    pub(super) fn show_broken(&self, context: &mut Context) {
        for file in self.broken() {
            let path = file["path"].as_str().unwrap_or_default();
            let path = context.surroundings.display(path.as_ref());
            context.ui.line(
                Line::new()
                    .mark(false)
                    .text(format_args!(" {path} cannot be read")),
            );
        }
    }

    /// The table of servers and of entries that become none.
    fn show_servers(&self, context: &mut Context) {
        let place = |context: &Context, file: &str, line: usize| {
            let file = context.surroundings.display(file.as_ref());
            if line > 0 {
                format!("{file}:{line}")
            } else {
                file
            }
        };
        let mut table = Table::new(["SERVER", "CLIENT", "FILE", "NOTE"]);
        for row in &self.rows {
            table.row([
                row.name.clone(),
                row.client.to_owned(),
                place(context, &row.file, row.line),
                row.note.clone(),
            ]);
        }
        for left in &self.left {
            table.row([
                left.name.clone(),
                left.client.to_owned(),
                place(context, &left.file, left.line),
                format!("skipped: {}", left.reason),
            ]);
        }
        context.ui.table(&table);
    }
}

/// What merging and writing make of a server.
fn fate(server: &Server, merged: &Merged, waiting: &[Waiting]) -> (&'static str, String) {
    let is_it = |name: &str, origin: &Origin| *name == server.name && *origin == server.origin;
    let mut written = server.name.as_str();
    for finding in &merged.findings {
        match finding {
            Finding::Same {
                kept,
                other,
                other_from,
                ..
            } if is_it(other, other_from) => return ("same", format!("same server as {kept}")),
            Finding::Conflict {
                name,
                renamed,
                renamed_from,
                ..
            } if is_it(name, renamed_from) => written = renamed,
            _ => {}
        }
    }
    if let Some(waiting) = waiting.iter().find(|waiting| waiting.name == written) {
        let note = format!("set aside until {} is set", waiting.variable);
        return ("waiting", note);
    }
    if written == server.name {
        let off = if server.enabled {
            ""
        } else {
            "switched off there"
        };
        ("imported", off.to_owned())
    } else {
        ("renamed", format!("called {written}, the name is taken"))
    }
}
