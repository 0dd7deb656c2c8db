//! Claude Code: servers for everywhere, and servers that belong to one project each.

use std::path::Path;

use super::entry::Habits;
use super::file::{File, Imported};
use super::map;
use crate::node::Node;
use crate::surroundings::{Os, Surroundings};

/// Reads the servers of the user and those of the project that the working directory lies in; those
/// of other projects are named and left out, because they are meant for there.
pub(crate) fn read(file: &File<'_>, tree: &Node) -> Imported {
    let mut out = map::read(file, tree);
    let projects = tree.get("projects").map(Node::entries).unwrap_or_default();
    // Of directories within each other, the innermost is the project.
    let current = projects
        .iter()
        .map(|project| project.key.as_str())
        .filter(|path| holds(path, file.surroundings))
        .max_by_key(|path| path.len());
    for project in projects {
        let Some(servers) = project.value.get("mcpServers") else {
            continue;
        };
        if current == Some(&project.key) {
            let file = file.for_workspace(project.key.clone().into());
            let root = format!("projects[{:?}].mcpServers", project.key);
            map::read_servers(&file, &root, servers, Habits::of(&file), &mut out);
        } else {
            let reason = format!(
                "it belongs to the project {}; import from there",
                project.key
            );
            for server in servers.entries() {
                out.skip(file, &server.key, server.key_span, &reason);
            }
        }
    }
    out
}

/// Whether the working directory is that directory or lies below it.
fn holds(project: &str, surroundings: &Surroundings) -> bool {
    if surroundings.os != Os::Windows {
        return surroundings.cwd.starts_with(Path::new(project));
    }
    let plain = |text: &str| text.replace('\\', "/").trim_end_matches('/').to_lowercase();
    let (cwd, project) = (plain(&surroundings.cwd.to_string_lossy()), plain(project));
    cwd.strip_prefix(&project)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
