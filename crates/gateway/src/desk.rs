//! The desk behind the profile `gateway` and the REST API: wishes come in as plain data and answers go
//! out as JSON, the same for every door.
//!
//! Nothing is decided here. Finding and running go through the [`Engine`], and what answers look like
//! is settled in [`toolcrib_core::gateway`].

mod adapters;
mod execute;
mod facts;
mod intent;
pub mod keeper;
mod reference;
pub mod registry;
mod tools;

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use serde_json::{Map, Value};
use toolcrib_config::load::Config;
use toolcrib_core::gateway::listing::Window;
use toolcrib_core::gateway::reference::Section;

use crate::engine::Engine;

pub use execute::failure;
pub use facts::status;
pub use tools::Stocked;

/// The desk over an engine.
pub struct Desk {
    engine: Arc<Engine>,
    /// Why the registry of operations does not fit the catalog, where it does not.
    drift: ArcSwapOption<String>,
}

/// A wish in plain words.
#[derive(Clone, Debug, Default)]
pub struct Intent {
    /// What is wanted, or a tool's id.
    pub query: String,
    /// Only tools of this adapter.
    pub adapter: Option<String>,
    /// What is known beside the query.
    pub context: Map<String, Value>,
    /// Most alternatives to give.
    pub limit: Option<usize>,
}

/// A wish for the tools of an adapter.
#[derive(Clone, Debug, Default)]
pub struct Shelf {
    /// The adapter, by whatever spelling.
    pub adapter: String,
    /// Only tools that are about this.
    pub category: Option<String>,
    /// Only tools that these words find, best first.
    pub search: Option<String>,
    /// Which of them.
    pub window: Window,
}

/// A wish for help.
#[derive(Clone, Debug, Default)]
pub struct Reference {
    /// An adapter, a tool's id, or a concept.
    pub topic: String,
    /// Which part.
    pub section: Section,
}

impl Desk {
    /// The desk over an engine.
    pub fn new(engine: Arc<Engine>) -> Arc<Self> {
        Arc::new(Self {
            engine,
            drift: ArcSwapOption::empty(),
        })
    }

    /// The configuration in place.
    pub fn config(&self) -> Arc<Config> {
        self.engine.config()
    }

    /// The engine behind it.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }
}
