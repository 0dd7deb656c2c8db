//! VS Code: a map of servers, and `inputs` that the editor would ask for.

use std::collections::BTreeSet;

use super::file::{File, Imported};
use super::map;
use crate::diagnostic::{Diagnostic, Severity};
use crate::model::server::{Server, Transport};
use crate::node::Node;
use crate::placeholder::input_variable;

/// Reads the servers. Each input that one of them uses becomes a named variable; nothing is guessed.
pub(crate) fn read(file: &File<'_>, tree: &Node) -> Imported {
    let mut out = map::read(file, tree);
    let used: BTreeSet<String> = out
        .servers
        .iter()
        .flat_map(variables)
        .filter(|name| name.starts_with("INPUT_"))
        .collect();
    let mut declared = BTreeSet::new();
    for input in tree.get("inputs").map(Node::items).unwrap_or_default() {
        let Some(id) = input.get("id").and_then(Node::as_str) else {
            continue;
        };
        let name = input_variable(id);
        if used.contains(&name) {
            let asked = input.get("description").and_then(Node::as_str);
            let finding = Diagnostic::new(
                Severity::Note,
                format!("the input \"{id}\" becomes the environment variable {name}"),
            )
            .at(file.source, input.span)
            .help(match asked {
                Some(asked) => format!("set {name} ({asked}) before Toolcrib starts"),
                None => format!("set {name} before Toolcrib starts"),
            });
            out.diagnostics.push(finding);
        }
        declared.insert(name);
    }
    for name in used.difference(&declared) {
        out.diagnostics.push(
            Diagnostic::warning(format!("the input behind {name} is not declared"))
                .about(file.source)
                .help(format!(
                    "add it to `inputs`, or set {name} before Toolcrib starts"
                )),
        );
    }
    out
}

/// The variables that a server's definition refers to.
fn variables(server: &Server) -> Vec<String> {
    let templates: Vec<_> = match &server.transport {
        Transport::Stdio(stdio) => std::iter::once(&stdio.command)
            .chain(&stdio.args)
            .chain(stdio.env.values())
            .chain(&stdio.env_file)
            .chain(&stdio.cwd)
            .collect(),
        Transport::Http(remote) | Transport::Sse(remote) => std::iter::once(&remote.url)
            .chain(remote.headers.values())
            .collect(),
    };
    templates
        .into_iter()
        .flat_map(|template| template.variables().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}
