//! The catalog as one request sees it: whole, immutable, and never half of two.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::value::RawValue;
use toolcrib_config::load::Config;
use toolcrib_core::canon::Hash;
use toolcrib_core::policy::{Approval, Metadata, Rulebook, Subject};
use toolcrib_core::search::Index;
use toolcrib_core::{Tool, ToolId};

use super::mark::Mark;
use super::rack::Rack;
use super::spelling::Spellings;
use super::supplier::Supplier;

/// A tool and everything that is held about it.
#[derive(Debug)]
pub struct Entry {
    /// The tool, with what rules and inference added.
    pub tool: Arc<Tool>,
    /// Its definition as its server sent it, byte for byte.
    pub definition: Box<RawValue>,
    /// The hash of what a person approves.
    pub hash: Hash,
    /// Its policy metadata.
    pub metadata: Metadata,
    /// Whether its definition has been accepted.
    pub approval: Approval,
    /// The request that a person can settle, where it waits or was turned down.
    pub request: Option<String>,
    /// What decided whether it is enabled, in words.
    pub rule: String,
    /// The tags that it came with, before rules added theirs.
    pub own_tags: Vec<String>,
    /// The tool's part of its canonical id: kebab case, unless two tools share that.
    pub canonical: String,
}

impl Entry {
    /// The tool as policy looks at it.
    pub fn subject(&self) -> Subject<'_> {
        Subject {
            id: &self.tool.id,
            enabled: self.tool.enabled,
            rule: Some(&self.rule),
            approval: self.approval,
            metadata: &self.metadata,
        }
    }
}

/// The catalog, its index, and the configuration that both come from.
#[derive(Debug)]
pub struct Snapshot {
    /// Counts from one, by one with every snapshot that was published.
    pub number: u64,
    /// The configuration.
    pub config: Arc<Config>,
    /// The policy settings, compiled.
    pub rulebook: Arc<Rulebook>,
    /// Finds tools.
    pub index: Index,
    racks: HashMap<Arc<str>, Arc<Rack>>,
    order: Arc<[Arc<str>]>,
    spellings: Arc<Spellings>,
}

fn index_of(racks: &[Arc<Rack>]) -> Index {
    Index::from_parts(racks.iter().map(|rack| Arc::clone(&rack.part)))
}

impl Snapshot {
    /// A catalog of these racks, in the order of the configuration.
    pub fn new(
        number: u64,
        config: Arc<Config>,
        rulebook: Arc<Rulebook>,
        racks: Vec<Arc<Rack>>,
    ) -> Self {
        let index = index_of(&racks);
        Self::with_index(number, config, rulebook, racks, index)
    }

    /// The same with an index that was put together before; where it is of other parts it is put
    /// together anew.
    pub(super) fn with_index(
        number: u64,
        config: Arc<Config>,
        rulebook: Arc<Rulebook>,
        racks: Vec<Arc<Rack>>,
        index: Index,
    ) -> Self {
        let of_these = index.servers().count() == racks.len()
            && racks.iter().all(|rack| index.holds(&rack.part));
        let index = if of_these { index } else { index_of(&racks) };
        let mut spellings = Spellings::default();
        for (at, rack) in racks.iter().enumerate() {
            spellings.add(&rack.supplier.name, at);
        }
        for (at, rack) in racks.iter().enumerate() {
            for alias in &rack.supplier.aliases {
                spellings.add(alias, at);
            }
        }
        let name = |rack: &Arc<Rack>| Arc::clone(&rack.supplier.name);
        Self {
            number,
            config,
            rulebook,
            index,
            order: racks.iter().map(name).collect(),
            racks: racks.into_iter().map(|rack| (name(&rack), rack)).collect(),
            spellings: Arc::new(spellings),
        }
    }

    /// The same catalog with one rack replaced, as the next in the sequence. A rack of a supplier
    /// that is not there, or is there in another form by now, changes nothing.
    #[must_use]
    pub fn with(&self, rack: Arc<Rack>) -> Option<Self> {
        let known = self.racks.get(&rack.supplier.name)?;
        if !Arc::ptr_eq(&known.supplier, &rack.supplier) {
            return None;
        }
        let index = self.index.with_server(Arc::clone(&rack.part));
        let mut racks = self.racks.clone();
        racks.insert(Arc::clone(&rack.supplier.name), rack);
        Some(Self {
            number: self.number + 1,
            config: Arc::clone(&self.config),
            rulebook: Arc::clone(&self.rulebook),
            index,
            racks,
            order: Arc::clone(&self.order),
            spellings: Arc::clone(&self.spellings),
        })
    }

    /// The racks, in the order of the configuration.
    pub fn racks(&self) -> impl Iterator<Item = &Arc<Rack>> {
        self.order.iter().filter_map(|name| self.racks.get(name))
    }

    /// The rack of a server, by its name and nothing else.
    pub(crate) fn own_rack(&self, server: &str) -> Option<&Arc<Rack>> {
        self.racks.get(server)
    }

    /// The rack of a server, by its name, an alias, another spelling, or the beginning of its name
    /// where no other begins so.
    pub fn rack(&self, server: &str) -> Option<&Arc<Rack>> {
        let at = self
            .spellings
            .find(server)
            .or_else(|| self.spellings.find_by_prefix(server))?;
        self.racks.get(self.order.get(at)?)
    }

    /// A tool by its id, exactly as it is kept.
    pub fn entry(&self, id: &ToolId) -> Option<&Arc<Entry>> {
        self.racks.get(id.server())?.exact(id.tool())
    }

    /// What decides whether callers see a tool, by its id exactly as it is kept. Reads no definition.
    pub(super) fn mark(&self, id: &ToolId) -> Option<&Mark> {
        self.racks.get(id.server())?.mark(id.tool())
    }

    /// The id that is shown for a tool where ids are in kebab case.
    pub fn canonical_id(&self, entry: &Entry) -> String {
        let server = self.spellings.canonical(entry.tool.id.server());
        format!("{server}:{}", entry.canonical)
    }

    /// The suppliers, in the order of the configuration.
    pub fn suppliers(&self) -> impl Iterator<Item = &Arc<Supplier>> {
        self.racks().map(|rack| &rack.supplier)
    }

    /// How many tools are known, and how many of them rules leave enabled.
    pub fn counts(&self) -> (usize, usize) {
        self.racks()
            .flat_map(|rack| rack.marks())
            .fold((0, 0), |(all, enabled), mark| {
                (all + 1, enabled + usize::from(mark.enabled))
            })
    }
}
