//! The registry of operations, made from the catalog; and what becomes of intent while a file of it
//! does not fit.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use toolcrib_config::output::{self, Former};
use toolcrib_core::Code;
use toolcrib_core::gateway::parameters;
use toolcrib_core::gateway::registry::{Drift, Operation, Registry, check};
use toolcrib_core::limits::REGISTRY_FILE_BYTES_MAX;
use toolcrib_core::policy::{Caller, Metadata};
use toolcrib_core::schema::outline::Reading;

use super::Desk;
use crate::engine::ask::Listing;
use crate::engine::error::{Error, Result};
use crate::engine::snapshot::{Entry, Snapshot};
use crate::engine::upstream::Adapter;

impl Desk {
    /// Everything that a caller can run, after every server was asked that can be; and the servers that could not
    /// be.
    pub async fn registry(&self, caller: &Caller) -> (Registry, Vec<Arc<str>>) {
        let before = self.engine.snapshot();
        let enabled = before.suppliers().filter(|supplier| supplier.enabled);
        let asking = enabled.map(|supplier| {
            let listing = Listing {
                server: supplier.name.to_string(),
                ..Listing::default()
            };
            let name = Arc::clone(&supplier.name);
            async move { (name, self.engine.list_tools(caller, listing).await) }
        });
        let asked = futures::future::join_all(asking).await;
        let snapshot = self.engine.snapshot();
        let (mut operations, mut left_out) = (BTreeMap::new(), Vec::new());
        for (name, page) in asked {
            let page = match page {
                Ok(page) => page,
                Err(error) => {
                    tracing::warn!(server = &*name, %error, "its operations are not in the registry");
                    left_out.push(name);
                    continue;
                }
            };
            let described = self.engine.described(&name);
            for entry in &page.tools {
                let operation = self.operation_of(entry, described.as_deref(), &snapshot);
                operations.insert(snapshot.canonical_id(entry), operation);
            }
        }
        let now = jiff::Timestamp::from_millisecond(self.engine.clock().now_ms());
        let at = now.map_or_else(|_| String::new(), |now| now.to_string());
        (Registry::new(at, operations), left_out)
    }

    fn operation_of(
        &self,
        entry: &Entry,
        described: Option<&Adapter>,
        snapshot: &Snapshot,
    ) -> Operation {
        let id = snapshot.canonical_id(entry);
        let (adapter, name) = id.split_once(':').unwrap_or((&id, ""));
        let tool = &entry.tool;
        let reading = Reading::new(&tool.input_schema);
        let outline = reading.outline();
        let (required, optional) = parameters::names(&outline);
        let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        let metadata = &entry.metadata;
        let api = described.and_then(|a| a.api().operation(tool.id.tool()));
        let errors = api.iter().flat_map(|operation| &operation.errors);
        let mut tags = tool.tags.clone();
        tags.extend(tool.domains.iter().cloned());
        let scopes = metadata
            .required_scopes
            .iter()
            .filter_map(|scope| scope.any_of().first());
        let bucket = metadata
            .rate_limit_bucket
            .as_ref()
            .map(|bucket| bucket.name.clone());
        Operation {
            adapter: adapter.to_owned(),
            tool: name.to_owned(),
            description: tool.description.clone(),
            tags,
            method: tool.method.clone(),
            path: tool.path.clone(),
            input_schema: (*tool.input_schema).clone(),
            required_params: owned(required),
            optional_params: owned(optional),
            risk_level: metadata.risk,
            idempotent: metadata.idempotent,
            reversible: metadata.reversible,
            requires_confirmation: metadata.confirmation_required,
            idempotency_required: metadata.idempotency_required,
            required_scopes: scopes.map(|scope| scope.as_str().to_owned()).collect(),
            rate_limit_bucket: bucket
                .unwrap_or_else(|| Metadata::usual_bucket(adapter, metadata.risk)),
            example_request: self.example(entry).unwrap_or(Value::Null),
            common_errors: errors.map(|error| error.status.clone()).collect(),
        }
    }

    /// Holds a file against the catalog. While something does not fit, intent is switched off.
    pub async fn verify(&self, caller: &Caller, path: &Path) -> Vec<Drift> {
        let found = match read(path) {
            Ok(None) => Vec::new(),
            Ok(Some(text)) => check(&text, &self.registry(caller).await.0),
            Err(why) => vec![Drift::Unreadable(why)],
        };
        let told = (!found.is_empty()).then(|| Arc::new(told(path, &found)));
        self.drift.store(told);
        found
    }

    /// Whether intent is switched off.
    pub fn is_degraded(&self) -> bool {
        self.drift.load().is_some()
    }

    /// Takes the file for one that fits: it was written from the catalog just now.
    pub fn trust_registry(&self) {
        self.drift.store(None);
    }

    /// Refuses what relies on a registry that does not fit.
    pub(super) fn require_registry(&self) -> Result<()> {
        match self.drift.load_full() {
            None => Ok(()),
            Some(why) => Err(Error::new(
                Code::ToolDisabled,
                format!("gateway.intent is switched off: {why}"),
            )
            .suggest(toolcrib_core::gateway::steps::DEGRADED)),
        }
    }
}

/// One sentence over everything that does not fit.
fn told(path: &Path, found: &[Drift]) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let first = found.first().map(ToString::to_string).unwrap_or_default();
    let more = match found.len() {
        0 | 1 => String::new(),
        n => format!(" (and {} more)", n - 1),
    };
    format!("the registry of operations ({name}) does not fit the catalog: {first}{more}.")
}

/// The text of a file, where there is one.
pub fn read(path: &Path) -> std::result::Result<Option<String>, String> {
    let size = match std::fs::metadata(path) {
        Ok(about) => about.len(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    if size > REGISTRY_FILE_BYTES_MAX {
        return Err("it is too large".to_owned());
    }
    std::fs::read_to_string(path)
        .map(Some)
        .map_err(|error| error.to_string())
}

/// Writes the file, whole or not at all.
pub fn write(path: &Path, text: &str) -> std::io::Result<()> {
    output::write(path, text, Former::Replaced)
}
