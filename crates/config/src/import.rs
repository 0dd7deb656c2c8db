//! Importers: the configuration that a person already has, in the formats of other clients.
//!
//! A client's file becomes [`crate::model::server::Server`]s with their origin. One bad entry costs
//! that entry, named and with its place; only a file that cannot be read as a whole gives nothing.
//! Nothing is expanded here: placeholders are kept until a server is started.

mod claude_code;
pub mod client;
mod continue_dev;
mod custom;
pub mod discover;
mod disk;
mod docker;
mod entry;
mod fields;
mod file;
mod goose;
mod map;
mod myself;
pub mod name;
mod opencode;
mod vscode;
mod workspace;
mod zed;

use std::sync::Arc;

pub use client::{CLIENTS, Client, Family, Scope};
pub use discover::{Discovery, Found, State, discover};
pub use file::{Imported, Skipped};

use crate::node::Node;
use crate::reader::{self, Format};
use crate::surroundings::{Os, Surroundings};
use crate::text::Source;
use file::File;

/// Reads the text of a client's file.
///
/// The format is the one that the file's name says, else the client's usual one. An empty file has
/// no servers.
pub fn read(
    client: &'static Client,
    source: &Arc<Source>,
    scope: Scope,
    surroundings: &Surroundings,
) -> Imported {
    if source.text().trim().is_empty() {
        return Imported::default();
    }
    let format = Format::of(source.path()).unwrap_or(client.format);
    match reader::read(source, format) {
        Ok(tree) => read_tree(client, &tree, source, scope, surroundings),
        Err(diagnostics) => Imported::broken(diagnostics),
    }
}

/// Reads a client's file that is a tree already.
pub fn read_tree(
    client: &'static Client,
    tree: &Node,
    source: &Arc<Source>,
    scope: Scope,
    surroundings: &Surroundings,
) -> Imported {
    let file = File::new(client, source, scope, surroundings);
    match client.family {
        Family::Map => map::read(&file, tree),
        Family::Docker => docker::read(&file, tree),
        Family::ClaudeCode => claude_code::read(&file, tree),
        Family::VsCode => vscode::read(&file, tree),
        Family::Zed => zed::read(&file, tree),
        Family::Goose => goose::read(&file, tree),
        Family::Opencode => opencode::read(&file, tree),
        Family::Continue => continue_dev::read(&file, tree),
        Family::Custom => custom::read(&file, tree),
    }
}

/// Whether an entry of a client's file is Toolcrib itself.
pub(crate) fn names_toolcrib(
    client: &'static Client,
    tree: &Node,
    source: &Arc<Source>,
    name: &str,
) -> bool {
    let nowhere = Surroundings::new(Os::current(), "", "", |_| None);
    read_tree(client, tree, source, Scope::User, &nowhere)
        .skipped
        .iter()
        .any(|skipped| skipped.name == name && skipped.reason == myself::REASON)
}
