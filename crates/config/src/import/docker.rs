//! Docker's MCP Toolkit: a list of enabled servers, catalogs that describe them, and the user's
//! settings, each in a file of its own under `~/.docker/mcp`.
//!
//! The older `mcp-servers.json` is a map like any client's. Today's files are put together here: an
//! image becomes `docker run`, a secret that Docker keeps becomes a variable of the same name.

mod catalog;
mod template;

use std::path::Path;
use std::sync::Arc;

use super::disk;
use super::file::{File, Imported};
use super::{map, name};
use crate::diagnostic::Diagnostic;
use crate::model::server::Server;
use crate::node::{Entry, Node, Value};
use crate::reader;
use crate::text::Source;

/// A file that stands beside the list of enabled servers.
pub(crate) struct Sheet {
    source: Arc<Source>,
    tree: Node,
}

/// Everything that describes the enabled servers.
#[derive(Default)]
struct Toolkit {
    catalogs: Vec<Sheet>,
    config: Option<Sheet>,
    tools: Option<Sheet>,
}

/// Reads either revision.
pub(crate) fn read(file: &File<'_>, tree: &Node) -> Imported {
    let Some(registry) = tree.get("registry") else {
        return map::read(file, tree);
    };
    let mut out = Imported::default();
    let entries = match &registry.value {
        Value::Map(entries) => entries.as_slice(),
        Value::Null => &[],
        other => {
            let finding = Diagnostic::error(format!(
                "`registry` must be a map of server names, not {}",
                other.kind()
            ))
            .at(file.source, registry.span)
            .help("write each enabled server as `name: { ref: \"\" }`");
            return Imported::broken(vec![finding]);
        }
    };
    let folder = file.source.path().parent().unwrap_or(Path::new(""));
    let toolkit = Toolkit::open(folder, &mut out.diagnostics);
    for entry in entries {
        add(file, entry, &toolkit, &mut out);
    }
    out
}

fn add(file: &File<'_>, entry: &Entry, toolkit: &Toolkit, out: &mut Imported) {
    let Some((sheet, definition)) = toolkit.definition(&entry.key) else {
        let finding = Diagnostic::warning(format!(
            "server \"{}\" is enabled but in no catalog",
            entry.key
        ))
        .at(file.source, entry.key_span)
        .help("run `docker mcp catalog update`, or remove it from the registry");
        out.skip(file, &entry.key, entry.key_span, &finding.message);
        out.diagnostics.push(finding);
        return;
    };
    let config = toolkit.config.as_ref().map(|sheet| &sheet.tree);
    match catalog::server(file, entry, &sheet.source, definition, config) {
        Ok((mut server, findings)) => {
            toolkit.restrict(&mut server, &entry.key);
            out.diagnostics.extend(findings);
            out.add(file, server, entry.key_span);
        }
        Err(refused) => out.refuse(file, &entry.key, entry.key_span, refused),
    }
}

impl Toolkit {
    /// Opens the files beside the registry. One that is missing is empty, one that is broken is
    /// reported and empty.
    fn open(folder: &Path, findings: &mut Vec<Diagnostic>) -> Self {
        let listed = sheet(&folder.join("catalog.json"), findings);
        let mut paths: Vec<_> = listed
            .iter()
            .filter_map(|sheet| sheet.tree.get("catalogs"))
            .flat_map(Node::entries)
            .filter(|catalog| !catalog.key.contains(['/', '\\']))
            .map(|catalog| {
                folder
                    .join("catalogs")
                    .join(format!("{}.yaml", catalog.key))
            })
            .collect();
        if paths.is_empty() {
            paths = disk::files(&folder.join("catalogs"), &["yaml", "yml"]);
        }
        Self {
            catalogs: paths
                .iter()
                .filter_map(|path| sheet(path, findings))
                .collect(),
            config: sheet(&folder.join("config.yaml"), findings),
            tools: sheet(&folder.join("tools.yaml"), findings),
        }
    }

    /// The description of a server. Where several catalogs have one, the last counts, as in Docker.
    fn definition(&self, name: &str) -> Option<(&Sheet, &Node)> {
        self.catalogs
            .iter()
            .rev()
            .find_map(|sheet| Some((sheet, sheet.tree.get("registry")?.get(name)?)))
    }

    /// Keeps only the tools that the user chose.
    fn restrict(&self, server: &mut Server, name: &str) {
        let chosen = self.tools.as_ref().and_then(|sheet| sheet.tree.get(name));
        if let Some(Node {
            value: Value::List(items),
            ..
        }) = chosen
        {
            server.include_tools = items
                .iter()
                .filter_map(|item| item.as_str().map(name::exact_pattern))
                .collect();
            // An empty choice keeps nothing, and an empty list would keep everything.
            server.enabled &= !items.is_empty();
        }
    }
}

/// A file beside the registry.
fn sheet(path: &Path, findings: &mut Vec<Diagnostic>) -> Option<Sheet> {
    match reader::read_file_if_present(path, path) {
        Ok(read) => read.map(|(source, tree)| Sheet { source, tree }),
        Err(broken) => {
            findings.extend(broken.into_iter().map(as_warning));
            None
        }
    }
}

/// A broken catalog costs its servers, not the registry.
fn as_warning(mut finding: Diagnostic) -> Diagnostic {
    finding.severity = crate::diagnostic::Severity::Warning;
    finding
}
