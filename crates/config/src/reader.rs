//! Readers: text of each format to the one tree.
//!
//! Every reader gives the same [`Node`]s with the place of each key and value, and every error says
//! in plain words what is wrong, where, and what would be right. Whatever the text, reading ends
//! within the bounds of [`toolcrib_core::limits`]: no reader recurses deeper than they allow.

mod brackets;
mod file;
mod findings;
mod jsonc;
mod script;
mod tally;
mod toml;
mod yaml;

use std::path::Path;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, veil};
use crate::node::Node;
use crate::text::Source;

pub use file::read_text;

/// The formats that configuration files come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON with comments and trailing commas; plain JSON is a part of it.
    Jsonc,
    /// YAML 1.2.
    Yaml,
    /// TOML.
    Toml,
    /// TypeScript or JavaScript, read statically, never run.
    Script,
}

impl Format {
    /// The format that a file's name says.
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "json" | "jsonc" | "json5" => Some(Self::Jsonc),
            "yaml" | "yml" => Some(Self::Yaml),
            "toml" => Some(Self::Toml),
            "ts" | "js" | "mjs" | "cjs" | "mts" | "cts" => Some(Self::Script),
            _ => None,
        }
    }
}

/// Reads text into a tree, or says what is wrong with it and where.
///
/// The strings of a [`Format::Script`] are in the spelling of our own files: `process.env.X` has
/// become `${X}`, and a literal `${` is written `$${`.
pub fn read(source: &Arc<Source>, format: Format) -> Result<Node, Vec<Diagnostic>> {
    let node = match format {
        Format::Jsonc => jsonc::read(source),
        Format::Yaml => yaml::read(source),
        Format::Toml => toml::read(source),
        Format::Script => script::read(source),
    }?;
    source.set_secrets(veil::secrets_of(&node));
    Ok(node)
}

/// Reads the file at `path` in the format that its name says; messages name it `label`.
/// A file that is not there is an error here.
pub fn read_file(path: &Path, label: &Path) -> Result<(Arc<Source>, Node), Vec<Diagnostic>> {
    match read_file_if_present(path, label)? {
        Some(read) => Ok(read),
        None => Err(vec![
            Diagnostic::error("there is no such file").about(&Source::new(label, "")),
        ]),
    }
}

/// As [`read_file`], but `None` where there is no such file: missing is not broken.
pub fn read_file_if_present(
    path: &Path,
    label: &Path,
) -> Result<Option<(Arc<Source>, Node)>, Vec<Diagnostic>> {
    let Some(source) = read_text(path, label).map_err(|diagnostic| vec![*diagnostic])? else {
        return Ok(None);
    };
    let Some(format) = Format::of(path) else {
        return Err(vec![
            Diagnostic::error("the name of this file does not say its format")
                .about(&source)
                .help("end it in .yaml, .yml, .toml, .json, .jsonc, .ts or .js"),
        ]);
    };
    let node = read(&source, format)?;
    Ok(Some((source, node)))
}
