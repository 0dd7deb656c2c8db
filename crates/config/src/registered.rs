//! Servers that a person approved after they were introspected.
//!
//! They stand in a file of the user's data directory, in the form of a configuration of ours, and are
//! servers like any other: what of them may be run is for approval to say. The file belongs to Toolcrib;
//! a server that is taken out of it by hand is gone.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Severity};
use crate::export::own;
use crate::file::{self, ConfigFile, Shape};
use crate::model::Server;
use crate::places::Places;
use crate::reader::Format;
use crate::text::Source;

/// The kind of source that such a server has.
pub const KIND: &str = "introspection";

const HEADER: &str = "Servers that were introspected and approved. Toolcrib writes this file;\n\
                      `toolcrib introspect` and `toolcrib approvals` change what is in it.";

/// The file.
pub fn path(places: &Places) -> PathBuf {
    places.data.join("servers.yaml")
}

/// The text of the file with a server in it, in the place of one of its name; `None` where it is there
/// as it is. A file that cannot be read is an error: nothing is thrown away.
pub fn with(
    path: &Path,
    text: Option<&str>,
    server: &Server,
) -> Result<Option<String>, Vec<Diagnostic>> {
    let mut servers = match text {
        Some(text) => servers(path, text)?,
        None => Vec::new(),
    };
    let server = registered(server.clone(), path);
    match servers.iter_mut().find(|known| known.name == server.name) {
        Some(known) if alike(known, &server) => return Ok(None),
        Some(known) => *known = server,
        None => servers.push(server),
    }
    Ok(Some(own::to_yaml(&servers, HEADER)))
}

/// The definition of one server as text, to be kept until it is approved.
pub fn definition(server: &Server) -> String {
    own::to_yaml(std::slice::from_ref(server), "")
}

/// The server that [`definition`] wrote down.
pub fn from_definition(text: &str) -> Option<Server> {
    let path = Path::new("definition.yaml");
    let server = servers(path, text).ok()?.into_iter().next()?;
    Some(registered(server, path))
}

/// The servers of the file.
pub fn servers(path: &Path, text: &str) -> Result<Vec<Server>, Vec<Diagnostic>> {
    let file = read(&Source::new(path, text));
    if file.is_broken() {
        return Err(file.diagnostics);
    }
    let servers = file.servers.into_iter();
    Ok(servers.map(|server| registered(server, path)).collect())
}

/// What the file holds; trouble with it is a warning, because the rest of a configuration does not
/// depend on it.
pub(crate) fn load(source: &Arc<Source>) -> (Vec<Server>, Vec<Diagnostic>) {
    let file = read(source);
    let diagnostics = file.diagnostics.into_iter().map(|mut diagnostic| {
        diagnostic.severity = diagnostic.severity.min(Severity::Warning);
        diagnostic
    });
    let path = source.path();
    let servers = file.servers.into_iter();
    (
        servers.map(|server| registered(server, path)).collect(),
        diagnostics.collect(),
    )
}

fn read(source: &Arc<Source>) -> ConfigFile {
    file::parse(source, Format::Yaml, Shape::Whole)
        .unwrap_or_else(|| file::unusable(source, Vec::new()))
}

fn registered(mut server: Server, path: &Path) -> Server {
    KIND.clone_into(&mut server.origin.kind);
    path.clone_into(&mut server.origin.path);
    server
}

fn alike(one: &Server, other: &Server) -> bool {
    let mut other = other.clone();
    other.origin.clone_from(&one.origin);
    *one == other
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;

    use super::*;
    use crate::model::server::{Origin, Remote, Transport};
    use crate::placeholder::{Dialect, Template};

    fn server(name: &str, url: &str) -> Server {
        let own = |text: &str| Template::parse(text, Dialect::Own).unwrap();
        let headers = IndexMap::from([(
            "Authorization".to_owned(),
            own("Bearer ${TOKEN}").sensitive(),
        )]);
        let remote = Remote {
            url: own(url),
            headers,
        };
        let origin = Origin {
            kind: "x".into(),
            path: "x".into(),
            line: 0,
        };
        Server::new(name, Transport::Http(remote), origin)
    }

    #[test]
    fn a_server_is_put_in_once_and_replaced_by_name() {
        let path = Path::new("servers.yaml");
        let first = with(path, None, &server("a", "https://a.example/mcp"))
            .unwrap()
            .unwrap();
        assert!(
            first.starts_with("# Servers that were introspected"),
            "{first}"
        );
        assert!(first.contains("Bearer ${TOKEN}"), "{first}");
        assert_eq!(
            with(path, Some(&first), &server("a", "https://a.example/mcp")).unwrap(),
            None
        );
        let both = with(path, Some(&first), &server("b", "https://b.example/mcp"))
            .unwrap()
            .unwrap();
        let moved = with(path, Some(&both), &server("a", "https://c.example/mcp"))
            .unwrap()
            .unwrap();
        let read = servers(path, &moved).unwrap();
        let names: Vec<&str> = read.iter().map(|server| server.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert!(read.iter().all(|server| server.origin.kind == KIND));
        assert!(moved.contains("c.example") && !moved.contains("a.example"));
    }

    #[test]
    fn a_definition_comes_back_as_it_was() {
        let server = server("a", "https://a.example/mcp");
        let back = from_definition(&definition(&server)).unwrap();
        assert!(alike(&back, &server));
        assert_eq!(from_definition("servers: ["), None);
    }

    #[test]
    fn a_file_that_cannot_be_read_loses_nothing() {
        let path = Path::new("servers.yaml");
        assert!(with(path, Some("servers: ["), &server("a", "https://a.example")).is_err());
        let (servers, diagnostics) = load(&Source::new(path, "servers: ["));
        assert!(servers.is_empty());
        assert!(
            diagnostics.iter().all(|d| d.severity != Severity::Error) && !diagnostics.is_empty()
        );
    }
}
