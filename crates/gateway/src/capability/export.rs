//! The tools of a server as capability files, with what its reading tools were seen to answer.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_config::model::Server;
use toolcrib_core::CapabilityManifest;
use toolcrib_core::capability::Output;
use toolcrib_core::policy::{Approval, Caller};
use toolcrib_core::rtfs::Dialect;
use toolcrib_store::StoreError;

use super::market::Shelf;
use super::trial::{self, AtCounter};
use super::{files, server_url};
use crate::engine::Engine;
use crate::engine::ask::Listing;
use crate::engine::error::Error;
use crate::engine::snapshot::Entry;

/// How a server is exported.
#[derive(Clone, Debug)]
pub struct Export<'a> {
    /// Where the files go.
    pub directory: &'a Path,
    /// How they are written.
    pub dialect: Dialect,
    /// Whether approved tools that only read are run once, to learn what they answer.
    pub introspect_outputs: bool,
}

/// What was written of one server.
#[derive(Clone, Debug)]
pub struct Exported {
    /// The server.
    pub server: String,
    /// The files.
    pub files: Vec<PathBuf>,
    /// How many outputs were learnt.
    pub learnt: usize,
    /// Tools whose output was not learnt, each with the reason.
    pub untaught: Vec<(String, String)>,
}

impl Exported {
    /// What was written, as every door tells it.
    pub fn told(&self) -> Value {
        let untaught = self.untaught.iter();
        let untaught: Vec<Value> = untaught
            .map(|(tool, reason)| json!({ "tool": tool, "reason": reason }))
            .collect();
        json!({
            "server": self.server,
            "files": self.files,
            "outputs_learnt": self.learnt,
            "outputs_not_learnt": untaught,
        })
    }
}

/// Why a server is not exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// Its tools cannot be listed for this caller.
    #[error(transparent)]
    Refused(#[from] Box<Error>),
    /// What is remembered cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Files cannot be written.
    #[error("no files can be written to {path}: {source}")]
    Files {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl Export<'_> {
    /// Exports a server for a caller, whose rights hold for every tool that is run.
    pub async fn run(
        &self,
        engine: &Arc<Engine>,
        caller: Caller,
        server: &Server,
    ) -> Result<Exported, ExportError> {
        let listing = Listing {
            server: server.name.clone(),
            ..Listing::default()
        };
        engine.list_tools(&caller, listing).await?;
        let snapshot = engine.snapshot();
        let rack = snapshot
            .racks()
            .find(|rack| *rack.supplier.name == *server.name);
        let entries: Vec<Arc<Entry>> = rack.map_or_else(Vec::new, |rack| rack.entries().to_vec());
        let market = Shelf::new(engine.store().clone(), engine.clock().clone());
        let url = server_url(server);
        let trial = AtCounter::new(Arc::clone(engine), caller);
        let (mut manifests, mut learnt, mut untaught) = (Vec::new(), 0, Vec::new());
        for entry in &entries {
            let mut manifest = CapabilityManifest::new(&entry.tool, url.as_str());
            market.recall(std::slice::from_mut(&mut manifest)).await?;
            if self.introspect_outputs && manifest.output_schema.is_none() {
                match learn(&trial, entry).await {
                    Ok(output) => {
                        manifest.output_schema = Some(output);
                        market.keep(&manifest).await?;
                        learnt += 1;
                    }
                    Err(why) => untaught.push((entry.tool.id.tool().to_owned(), why)),
                }
            }
            manifests.push(manifest);
        }
        let written = files::write(self.directory, &server.name, &manifests, self.dialect);
        let files = written.map_err(|source| ExportError::Files {
            path: self.directory.to_owned(),
            source,
        })?;
        Ok(Exported {
            server: server.name.clone(),
            files,
            learnt,
            untaught,
        })
    }
}

async fn learn(trial: &AtCounter, entry: &Entry) -> Result<Output, String> {
    if entry.approval != Approval::Approved {
        return Err("nobody approved it, so it was not run".to_owned());
    }
    let seen = trial::output(trial, &entry.tool).await;
    seen.map(|seen| Output::seen(&seen))
        .map_err(|why| why.to_string())
}
