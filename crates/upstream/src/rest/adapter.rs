//! An API as a server of tools.

use std::sync::Arc;

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Value;
use toolcrib_core::{Tool, ToolId};
use url::{Host, Url};

use super::description::{Description, Draft};
use super::guard::check_literal;
use super::library::{Library, Place};
use super::name;
use super::operation::Operation;
use super::parts::Parts;
use super::prose;
use super::security::{Alternative, Scheme};
use super::server::{self, Address};
use super::{openapi, postman};
use crate::rest::warning::Warning;

/// Why a description gives no tools at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("{place} cannot be read: {why}")]
    Unreadable {
        /// The file or address.
        place: String,
        /// What went wrong.
        why: String,
    },
    /// It is neither JSON nor YAML.
    #[error("{place} is neither JSON nor YAML: {why}")]
    Malformed {
        /// The file or address.
        place: String,
        /// What went wrong.
        why: String,
    },
    /// It describes no API.
    #[error(
        "{0} is neither an OpenAPI description (2.0 or 3.x) nor a Postman collection (2.0 or 2.1)"
    )]
    Unknown(String),
    /// It may not be read.
    #[error("{place} is not read: {why}")]
    Refused {
        /// The file or address.
        place: String,
        /// Why not, and what would allow it.
        why: String,
    },
}

/// An API and the tools that its operations became.
#[derive(Clone, Debug)]
pub struct Api {
    /// What the description is: `openapi`, `swagger` or `postman`.
    pub format: &'static str,
    /// Its version, such as `3.0.1`.
    pub version: String,
    /// The API's title.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// The provider's documentation.
    pub documentation: Option<String>,
    /// Its addresses; the first is used unless configured otherwise.
    pub servers: Vec<Address>,
    /// How it wants its callers to authenticate.
    pub schemes: IndexMap<String, Scheme>,
    /// How many operations the description has, those that are left out included.
    pub counted: usize,
    /// The operations that became tools, in the order of the description.
    pub operations: Vec<Arc<Operation>>,
    /// What is wrong with the description and cost less than the whole.
    pub warnings: Vec<Warning>,
    /// The address that the description came from, where it was not a file.
    pub origin: Option<Url>,
}

impl Api {
    /// Reads a description that stands in one text. `adapter` is the server part of the tools' ids.
    pub fn read(adapter: &str, place: Place, text: &str) -> Result<Self, LoadError> {
        let root = super::library::read(text).map_err(|why| LoadError::Malformed {
            place: place.to_string(),
            why,
        })?;
        let mut library = Library::default();
        library.add(place, root);
        Self::of(adapter, library, Vec::new())
    }

    /// Makes the tools of a description whose files are all there.
    pub(super) fn of(
        adapter: &str,
        library: Library,
        mut warnings: Vec<Warning>,
    ) -> Result<Self, LoadError> {
        let root = library.root();
        let place = &library.document(0).place;
        let description = if openapi::recognises(root.value) {
            openapi::read(&library)
        } else if postman::recognises(root.value) {
            postman::read(root.value)
        } else {
            return Err(LoadError::Unknown(place.to_string()));
        };
        let origin = match place {
            Place::Address(url) => Some(url.clone()),
            Place::File(_) => None,
        };
        drop(library);
        warnings.extend(description.warnings.iter().cloned());
        Ok(Self::made(adapter, description, warnings, origin))
    }

    fn made(
        adapter: &str,
        description: Description,
        warnings: Vec<Warning>,
        origin: Option<Url>,
    ) -> Self {
        let origins: Vec<name::Origin> = description
            .drafts
            .iter()
            .map(|d| d.origin.clone())
            .collect();
        let names = name::names(&origins);
        let parts = Arc::new(Parts::new(description.shared));
        let server: Arc<str> = adapter.into();
        let drafts = description.drafts.into_iter().zip(names);
        let operations = drafts.map(|(draft, name)| {
            let id = ToolId::new(Arc::clone(&server), name);
            Arc::new(operation(draft, id, &parts))
        });
        Self {
            format: description.format,
            version: description.version,
            title: description.title,
            description: description.about,
            documentation: description.documentation,
            servers: description.servers,
            schemes: description.schemes,
            counted: description.counted,
            operations: operations.collect(),
            warnings,
            origin,
        }
    }

    /// The base address of requests: the configured one, else the first of the operation or of the
    /// API with its variables filled in.
    pub fn base(
        &self,
        operation: &Operation,
        configured: Option<&str>,
        variables: &IndexMap<String, String>,
    ) -> Result<Url, String> {
        if let Some(configured) = configured {
            return server::base(configured, None);
        }
        let own = operation.servers.first().or(self.servers.first());
        let Some(address) = own else {
            // A description without addresses is about the host that it came from.
            if self.origin.is_some() {
                return server::base("/", self.origin.as_ref());
            }
            return Err("its description names no address; set baseUrl".to_owned());
        };
        server::base(&address.filled(variables)?, self.origin.as_ref())
    }

    /// The operation behind a tool.
    pub fn operation(&self, tool: &str) -> Option<&Arc<Operation>> {
        self.operations.iter().find(|o| o.tool.id.tool() == tool)
    }

    /// The address that requests go to unless configured otherwise, where it is one of this machine
    /// or of its network.
    pub fn private_address(&self) -> Option<Url> {
        let filled = self.servers.first()?.filled(&IndexMap::new()).ok()?;
        let url = server::base(&filled, self.origin.as_ref()).ok()?;
        let by_name = matches!(url.host(), Some(Host::Domain(name)) if name == "localhost" || name.ends_with(".localhost"));
        (by_name || check_literal(&url).is_err()).then_some(url)
    }

    /// The word for how it authenticates, as `auth_type` has it: that of the scheme which most
    /// operations accept first.
    pub fn auth_type(&self) -> &'static str {
        let mut counts: IndexMap<&str, usize> = IndexMap::new();
        for operation in &self.operations {
            let need = operation.security.first().and_then(|any| any.all.first());
            if let Some(scheme) = need.and_then(|need| self.schemes.get(&need.scheme)) {
                *counts.entry(scheme.as_str()).or_default() += 1;
            }
        }
        let most = counts.values().copied().max();
        let used = most.and_then(|most| {
            let word = counts.iter().find(|(_, count)| **count == most);
            word.map(|(word, _)| *word)
        });
        let declared = self.schemes.values().next().map(Scheme::as_str);
        let word = used.or(declared).unwrap_or("none");
        ["bearer", "basic", "apikey", "oauth2", "other"]
            .into_iter()
            .find(|known| *known == word)
            .unwrap_or("none")
    }

    /// How many operations and tools there are, for a report.
    pub fn counts(&self) -> Counts {
        Counts {
            operations: self.counted,
            tools: self.operations.len(),
            warnings: self.warnings.len(),
        }
    }
}

/// How many operations a description has and what became of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Operations in the description.
    pub operations: usize,
    /// Tools that were made.
    pub tools: usize,
    /// Warnings on the way.
    pub warnings: usize,
}

fn operation(draft: Draft, id: ToolId, parts: &Arc<Parts>) -> Operation {
    let schema = parts.whole(&draft.schema);
    let title = Some(draft.summary.clone()).filter(|summary| !summary.is_empty());
    let mut tool = Tool::new(id, text(&draft), schema);
    tool.title = title;
    tool.method = Some(draft.method);
    tool.path = Some(draft.path);
    tool.extensions = draft.extensions;
    tool.scopes = scopes(&draft.security);
    tool.tags = draft.tags;
    Operation {
        tool,
        operation_id: draft.origin.id,
        category: draft.category,
        deprecated: draft.deprecated,
        inputs: draft.flat.inputs,
        body: draft.flat.body,
        errors: draft.errors,
        documentation: draft.documentation,
        security: draft.security,
        servers: draft.servers,
        accepts: draft.accepts,
        given: draft.flat.given,
        output: draft.output.filter(|schema| schema != &Value::Bool(true)),
        parts: Arc::clone(parts),
    }
}

/// The scopes of each way to authenticate; none at all where no way has any.
fn scopes(security: &[Alternative]) -> Vec<Vec<String>> {
    let of = |way: &Alternative| {
        way.all
            .iter()
            .flat_map(|need| need.scopes.clone())
            .collect()
    };
    let ways: Vec<Vec<String>> = security.iter().map(of).collect();
    ways.into_iter()
        .filter(|scopes| !scopes.is_empty())
        .collect()
}

/// The summary, then what the description says beyond it.
fn text(draft: &Draft) -> String {
    let (summary, description) = (draft.summary.trim(), draft.description.trim());
    let begins = || {
        let first = prose::first_sentence(description).trim_end_matches('.');
        first.eq_ignore_ascii_case(summary.trim_end_matches('.'))
    };
    match (summary.is_empty(), description.is_empty()) {
        (true, true) => format!("{} {}", draft.method, draft.path),
        (true, false) => description.to_owned(),
        (false, true) => summary.to_owned(),
        (false, false) if begins() => description.to_owned(),
        (false, false) => {
            let stop = if summary.ends_with(['.', '!', '?', ':']) {
                ""
            } else {
                "."
            };
            format!("{summary}{stop}\n\n{description}")
        }
    }
}
