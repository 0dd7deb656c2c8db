//! Whose file it is that a user names.

use std::path::Path;

use toolcrib_config::import::{CLIENTS, Client};
use toolcrib_config::node::Node;
use toolcrib_config::reader;
use toolcrib_config::surroundings::Surroundings;

/// The client whose format the file has: by its place, then by what it holds.
pub(super) fn client_of(path: &Path, surroundings: &Surroundings) -> &'static Client {
    by_place(path, surroundings)
        .or_else(|| by_content(path))
        .unwrap_or(&CLIENTS[0])
}

/// The client that keeps a file here, or that calls a file so wherever it lies.
fn by_place(path: &Path, surroundings: &Surroundings) -> Option<&'static Client> {
    let places = || {
        CLIENTS.iter().flat_map(|client| {
            let places = client.user_paths(surroundings.os).iter();
            places
                .chain(client.project)
                .map(move |place| (client, *place))
        })
    };
    let same = |place: &str| surroundings.resolve(place).is_some_and(|p| p == path);
    let called = |place: &str| {
        let tail: Vec<&str> = place.rsplit('/').take(2).collect();
        let name = tail.iter().rev().collect::<std::path::PathBuf>();
        tail.len() == 2 && !tail[1].starts_with(['~', '$', '%']) && path.ends_with(name)
    };
    places()
        .find(|(_, place)| same(place))
        .or_else(|| places().find(|(_, place)| called(place)))
        .map(|(client, _)| client)
}

/// The client whose key for servers the file has.
fn by_content(path: &Path) -> Option<&'static Client> {
    let (_, tree) = reader::read_file(path, path).ok()?;
    let id = if tree.get("context_servers").is_some() {
        "zed"
    } else if tree.get("mcp_servers").is_some() {
        "codex"
    } else if tree.get("extensions").is_some() {
        "goose"
    } else if tree.get("mcp").is_some() {
        "opencode"
    } else if tree.get("registry").is_some() {
        "docker-mcp"
    } else if let Some(servers) = tree.get("servers") {
        if has_connections(servers) {
            "custom"
        } else {
            "vscode"
        }
    } else {
        return None;
    };
    Client::by_id(id)
}

/// Whether the servers are written as in our own documents.
fn has_connections(servers: &Node) -> bool {
    let entries = servers.entries().iter().map(|entry| &entry.value);
    entries
        .chain(servers.items())
        .any(|server| server.get("connection").is_some())
}

#[cfg(test)]
mod tests {
    use toolcrib_config::surroundings::Os;

    use super::*;

    fn check(path: &str, text: &str, expected: &str) {
        let dir = tempfile::tempdir().unwrap();
        let here = Surroundings::new(Os::Linux, dir.path(), dir.path().join("work"), |_| None);
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        assert_eq!(client_of(&path, &here).id, expected, "{}", path.display());
    }

    #[test]
    fn the_place_says_whose_file_it_is() {
        check(".cursor/mcp.json", "{}", "cursor");
        check("work/.vscode/mcp.json", "{}", "vscode");
        check("backup/.codex/config.toml", "", "codex");
        check("somewhere/zed/settings.json", "{}", "zed");
    }

    #[test]
    fn elsewhere_the_key_for_servers_does() {
        check("a.json", r#"{"context_servers":{}}"#, "zed");
        check("a.toml", "[mcp_servers.x]\ncommand = 'x'\n", "codex");
        check("a.yaml", "extensions: {}\n", "goose");
        check("a.json", r#"{"mcp":{}}"#, "opencode");
        check("a.yaml", "registry: {}\n", "docker-mcp");
        check("a.json", r#"{"servers":{"x":{"command":"x"}}}"#, "vscode");
        check(
            "a.yaml",
            "servers: {x: {connection: {command: x}}}\n",
            "custom",
        );
        check("a.json", r#"{"mcpServers":{}}"#, "claude-desktop");
        check("a.json", "broken", "claude-desktop");
    }
}
