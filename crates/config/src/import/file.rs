//! One file of a client while it is read: what is known about it, and what came out of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::client::{Client, Scope};
use super::fields::Refused;
use super::name;
use crate::diagnostic::Diagnostic;
use crate::model::server::{Origin, Server, Stdio, Transport};
use crate::node::Node;
use crate::placeholder::Template;
use crate::surroundings::Surroundings;
use crate::text::{Source, Span};

/// An entry that was found and does not become a server, with the reason for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The name in the file.
    pub name: String,
    /// Why, as a sentence without a final full stop.
    pub reason: String,
    /// The line of the entry, from one.
    pub line: usize,
}

/// What came out of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// The servers, in the order of the file.
    pub servers: Vec<Server>,
    /// Entries that do not become servers.
    pub skipped: Vec<Skipped>,
    /// Everything worth knowing, with places. An error among them means the file gave nothing.
    pub diagnostics: Vec<Diagnostic>,
}

/// A client's file while it is read.
pub(crate) struct File<'a> {
    /// Whose file it is.
    pub(crate) client: &'static Client,
    /// Its text.
    pub(crate) source: &'a Arc<Source>,
    /// Whose decision it is.
    pub(crate) scope: Scope,
    /// The directory that relative paths in it start from, where it speaks for one.
    pub(crate) workspace: Option<PathBuf>,
    /// Where we are.
    pub(crate) surroundings: &'a Surroundings,
}

impl<'a> File<'a> {
    /// A file of a client.
    pub(crate) fn new(
        client: &'static Client,
        source: &'a Arc<Source>,
        scope: Scope,
        surroundings: &'a Surroundings,
    ) -> Self {
        Self {
            client,
            source,
            scope,
            workspace: (scope == Scope::Project).then(|| workspace(source.path(), client)),
            surroundings,
        }
    }

    /// The same file, read for entries that belong to a directory.
    pub(crate) fn for_workspace(&self, workspace: PathBuf) -> Self {
        Self {
            client: self.client,
            source: self.source,
            scope: self.scope,
            workspace: Some(workspace),
            surroundings: self.surroundings,
        }
    }

    /// The origin of a definition at a place.
    pub(crate) fn origin(&self, span: Span) -> Origin {
        Origin {
            kind: self.client.id.to_owned(),
            path: self.source.path().to_owned(),
            line: self.line(span),
        }
    }

    /// The line of a place, from one.
    pub(crate) fn line(&self, span: Span) -> usize {
        self.source.line(span.start)
    }
}

impl Imported {
    /// A file that cannot be used as a whole.
    pub(crate) fn broken(diagnostics: Vec<Diagnostic>) -> Self {
        Self {
            diagnostics,
            ..Self::default()
        }
    }

    /// Leaves an entry out for a reason that needs no diagnostic.
    pub(crate) fn skip(&mut self, file: &File<'_>, name: &str, span: Span, reason: &str) {
        self.skipped.push(Skipped {
            name: name.to_owned(),
            reason: reason.to_owned(),
            line: file.line(span),
        });
    }

    /// Leaves an entry out because of what is wrong with it.
    pub(crate) fn refuse(&mut self, file: &File<'_>, name: &str, span: Span, refused: Refused) {
        self.skip(file, name, span, &refused.0.message);
        self.diagnostics.push(*refused.0);
    }

    /// Adds a server under a legal form of its name, unless it is Toolcrib itself or has no name.
    pub(crate) fn add(&mut self, file: &File<'_>, mut server: Server, span: Span) {
        if let Some(reason) = super::myself::recognise(&server, file.surroundings) {
            self.skip(file, &server.name, span, reason);
            return;
        }
        let Some(legal) = name::legal(&server.name) else {
            let finding = Diagnostic::warning("a server without a name is left out")
                .at(file.source, span)
                .help("give it a name of letters, digits, `-` and `_`");
            self.skip(file, &server.name, span, &finding.message);
            self.diagnostics.push(finding);
            return;
        };
        if legal != server.name {
            let finding = Diagnostic::warning(format!(
                "server \"{}\" is imported as \"{legal}\"",
                server.name
            ))
            .at(file.source, span)
            .help("ids are written server:tool, so a name has no `:` and no space around it");
            self.diagnostics.push(finding);
            server.name = legal;
        }
        if let (Transport::Stdio(stdio), Some(workspace)) = (&mut server.transport, &file.workspace)
        {
            anchor(stdio, workspace);
        }
        self.servers.push(server);
    }
}

/// Gives a process whose command line names relative paths the directory that they start from.
fn anchor(stdio: &mut Stdio, workspace: &Path) {
    let relative = |word: &Template| {
        let word = word.exact();
        let word = word.expose();
        word == "."
            || word == ".."
            || [".\\", "..\\", "./", "../"]
                .iter()
                .any(|p| word.starts_with(p))
    };
    match &stdio.cwd {
        Some(cwd) if cwd.variables().next().is_none() => {
            let joined = workspace.join(cwd.exact().expose());
            stdio.cwd = Some(Template::literal(joined.to_string_lossy()));
        }
        None if std::iter::once(&stdio.command)
            .chain(&stdio.args)
            .any(relative) =>
        {
            stdio.cwd = Some(Template::literal(workspace.to_string_lossy()));
        }
        _ => {}
    }
}

/// The directory that a project file speaks for: as many levels up as its place in the table is deep.
fn workspace(path: &Path, client: &Client) -> PathBuf {
    let depth = client
        .project
        .iter()
        .filter(|place| {
            let tail = place.trim_end_matches("/*");
            path.ends_with(tail) || path.parent().is_some_and(|p| p.ends_with(tail))
        })
        .map(|place| place.split('/').count())
        .max()
        .unwrap_or(1);
    path.ancestors()
        .nth(depth)
        .unwrap_or(Path::new(""))
        .to_owned()
}

/// The value under one of the dotted keys, with the key that was found.
pub(crate) fn under<'a>(
    tree: &'a Node,
    roots: &[&'static str],
) -> Option<(&'static str, &'a Node)> {
    roots.iter().find_map(|root| {
        let mut node = tree;
        for key in root.split('.') {
            node = node.get(key)?;
        }
        Some((*root, node))
    })
}
