//! One server as the registry describes it.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use toolcrib_core::limits::REGISTRY_NAME_CHARS_MAX;

use super::input::{Input, KeyValue};
use super::offer::{self, Offer, Unusable};

/// What the registry says of an entry's standing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It is in use.
    #[default]
    Active,
    /// Its authors advise against it.
    Deprecated,
    /// It was taken back.
    Deleted,
}

impl Status {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Deprecated => "deprecated",
            Self::Deleted => "deleted",
        }
    }
}

/// One version of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its name: `io.github.ada/tools`.
    pub name: String,
    /// A title for people.
    pub title: Option<String>,
    /// What it is for.
    pub description: String,
    /// The version.
    pub version: String,
    /// Its standing.
    pub status: Status,
    /// Why it has that standing, where the registry says so.
    pub status_message: Option<String>,
    /// Whether this is the newest version.
    pub is_latest: bool,
    /// Where its source is.
    pub repository: Option<String>,
    /// Where its documentation is.
    pub website: Option<String>,
    pub(super) packages: Vec<Package>,
    pub(super) remotes: Vec<Remote>,
}

/// A package that can be run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Package {
    pub(super) registry_type: String,
    pub(super) registry_base_url: Option<String>,
    pub(super) identifier: String,
    #[serde(default)]
    pub(super) version: Option<String>,
    pub(super) file_sha256: Option<String>,
    pub(super) runtime_hint: Option<String>,
    #[serde(default)]
    pub(super) transport: Transport,
    #[serde(default)]
    pub(super) runtime_arguments: Vec<Argument>,
    #[serde(default, rename = "packageArguments")]
    pub(super) arguments: Vec<Argument>,
    #[serde(default)]
    pub(super) environment_variables: Vec<KeyValue>,
}

/// How a package speaks.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Transport {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) url: Option<String>,
}

impl Default for Transport {
    fn default() -> Self {
        Self {
            kind: "stdio".to_owned(),
            url: None,
        }
    }
}

/// An argument of a runtime or a package.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum Argument {
    /// A value by its place.
    Positional {
        #[serde(rename = "valueHint")]
        value_hint: Option<String>,
        #[serde(flatten)]
        input: Input,
    },
    /// A flag, with or without a value.
    Named {
        name: String,
        #[serde(flatten)]
        input: Input,
    },
}

/// A server at an address.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Remote {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) url: String,
    #[serde(default)]
    pub(super) headers: Vec<KeyValue>,
    #[serde(default)]
    pub(super) variables: HashMap<String, Input>,
}

/// Entries, and what was wrong with those that could not be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// The entries, in the registry's order.
    pub entries: Vec<Entry>,
    /// One sentence for each that was skipped.
    pub warnings: Vec<String>,
}

impl Reading {
    /// Only one version of each name: the newest, as far as the registry says which that is.
    #[must_use]
    pub fn latest(mut self) -> Self {
        let mut best: HashMap<String, usize> = HashMap::new();
        for (index, entry) in self.entries.iter().enumerate() {
            let known = best.entry(entry.name.clone()).or_insert(index);
            if entry.is_latest && !self.entries[*known].is_latest {
                *known = index;
            }
        }
        let mut index = 0;
        self.entries.retain(|entry| {
            index += 1;
            best.get(&entry.name) == Some(&(index - 1))
        });
        self
    }
}

/// Reads entries as the registry sent them. One that breaks the schema is skipped and named.
pub fn entries<'a>(items: impl IntoIterator<Item = &'a RawValue>) -> Reading {
    let mut reading = Reading::default();
    for (index, item) in items.into_iter().enumerate() {
        match Entry::read(item) {
            Ok(entry) => reading.entries.push(entry),
            Err(reason) => {
                let which = name_of(item).unwrap_or_else(|| format!("number {}", index + 1));
                let warning = format!("The registry's entry {which} was skipped: {reason}.");
                reading.warnings.push(warning);
            }
        }
    }
    reading
}

/// The name in an entry, whatever else is wrong with it.
fn name_of(item: &RawValue) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(item.get()).ok()?;
    let name = value.pointer("/server/name").or(value.get("name"))?;
    Some(
        name.as_str()?
            .chars()
            .take(REGISTRY_NAME_CHARS_MAX)
            .collect(),
    )
}

#[derive(Deserialize)]
struct Wrapped {
    server: Server,
    #[serde(default, rename = "_meta")]
    meta: Meta,
}

#[derive(Default, Deserialize)]
struct Meta {
    #[serde(default, rename = "io.modelcontextprotocol.registry/official")]
    official: Official,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Official {
    status: Option<Status>,
    status_message: Option<String>,
    #[serde(default)]
    is_latest: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Server {
    name: String,
    title: Option<String>,
    #[serde(default)]
    description: String,
    #[serde(default)]
    version: String,
    status: Option<Status>,
    website_url: Option<String>,
    repository: Option<Repository>,
    #[serde(default)]
    packages: Vec<Package>,
    #[serde(default)]
    remotes: Vec<Remote>,
}

#[derive(Deserialize)]
struct Repository {
    url: Option<String>,
}

impl Entry {
    /// Reads one entry, or says what is wrong with it.
    pub fn read(item: &RawValue) -> Result<Self, String> {
        let Wrapped { server, meta } =
            serde_json::from_str(item.get()).map_err(|error| plain(&error))?;
        let name = server.name;
        let odd = |c: char| c.is_whitespace() || c.is_control() || c == ':';
        if name.is_empty() || name.contains(odd) || name.chars().count() > REGISTRY_NAME_CHARS_MAX {
            return Err("its name is no name".to_owned());
        }
        let official = meta.official;
        Ok(Self {
            name,
            title: server.title,
            description: server.description,
            version: server.version,
            status: official.status.or(server.status).unwrap_or_default(),
            status_message: official.status_message,
            is_latest: official.is_latest,
            repository: server.repository.and_then(|repository| repository.url),
            website: server.website_url,
            packages: server.packages,
            remotes: server.remotes,
        })
    }

    /// The ways in which it can be used, remotes first. `prefix` begins the names of variables that
    /// the user has to set.
    pub fn offers(&self, prefix: &str) -> Vec<Result<Offer, Unusable>> {
        let remotes = self.remotes.iter().map(|r| offer::of_remote(r, prefix));
        let packages = self.packages.iter().map(|p| offer::of_package(p, prefix));
        remotes.chain(packages).collect()
    }
}

/// An error of the JSON reader without the place, which means nothing to anybody.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}
