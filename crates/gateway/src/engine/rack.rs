//! The tools of one server, judged and ready to be found: one input of the catalog.

use std::sync::Arc;

use serde_json::value::RawValue;
use toolcrib_config::load::Config;
use toolcrib_core::Tool;
use toolcrib_core::canon::{Hash, definition_hash};
use toolcrib_core::policy::approval::Wait;
use toolcrib_core::policy::{Approval, ServerFacts};
use toolcrib_core::search::{Part, ServerTools, Weights};
use toolcrib_store::approval::judgement::Standing;
use toolcrib_store::approval::observation::{Definition, Observed};

use super::definition::{self, Malformed};
use super::snapshot::Entry;
use super::spelling::Spellings;
use super::stock::Terms;
use super::supplier::Supplier;
use super::upstream::{List, Offer};

/// Where a rack's list comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Nobody has asked the server yet, or it is switched off.
    Nothing,
    /// The configuration declares the tools.
    Declared,
    /// The server said so at this time, in milliseconds since the epoch; perhaps to an earlier
    /// process.
    Listed(i64),
}

/// The tools of one server.
#[derive(Debug)]
pub struct Rack {
    /// Whose tools these are.
    pub supplier: Arc<Supplier>,
    /// Where the list comes from.
    pub source: Source,
    /// What was wrong with the definitions that were left out.
    pub left_out: Vec<Malformed>,
    pub(super) part: Arc<Part>,
    entries: Vec<Arc<Entry>>,
    spellings: Spellings,
}

/// Tools as they were sent, before anything was judged.
pub(super) struct Draft {
    tools: Vec<(Offer, Hash)>,
    left_out: Vec<Malformed>,
}

impl Draft {
    /// Reads a list. Definitions that cannot be used are left out and named.
    pub(super) fn read(supplier: &Supplier, list: List) -> Self {
        let mut draft = Self {
            tools: Vec::new(),
            left_out: Vec::new(),
        };
        match list {
            List::Definitions(definitions) => {
                for definition in definitions {
                    let read = definition::read(&supplier.name, &definition);
                    draft.add(read.map(|tool| offer(tool, definition)));
                }
            }
            List::Operations(operations) => {
                for operation in operations {
                    draft.add(Ok(operation));
                }
            }
        }
        let mut names = std::collections::HashSet::new();
        let mut twice = Vec::new();
        draft.tools.retain(|(Offer { tool, .. }, _)| {
            let first = names.insert(tool.id.tool().to_owned());
            if !first {
                twice.push(Malformed::Twice(tool.id.tool().to_owned()));
            }
            first
        });
        draft.left_out.extend(twice);
        draft
    }

    /// What the configuration declares.
    pub(super) fn declared(supplier: &Supplier) -> Self {
        let declared = supplier.declared.iter();
        let operations = declared.map(|tool| {
            let (tool, definition) = definition::declared(&supplier.name, tool);
            offer(tool, definition)
        });
        Self::read(supplier, List::Operations(operations.collect()))
    }

    fn add(&mut self, read: Result<Offer, Malformed>) {
        match read {
            Ok(offer) => {
                let hash = definition_hash(&offer.tool);
                self.tools.push((offer, hash));
            }
            Err(malformed) => self.left_out.push(malformed),
        }
    }

    /// What was wrong with the definitions that were left out.
    pub(super) fn left_out(&self) -> &[Malformed] {
        &self.left_out
    }

    /// The definitions as approval looks at them.
    pub(super) fn definitions(&self) -> Vec<Definition> {
        let tools = self.tools.iter();
        tools
            .map(|(offer, hash)| as_defined(&offer.tool, &offer.definition, hash))
            .collect()
    }
}

fn as_defined(tool: &Tool, definition: &RawValue, hash: &Hash) -> Definition {
    Definition {
        tool: tool.id.tool().to_owned(),
        hash: hash.to_string(),
        definition: definition.get().to_owned(),
    }
}

/// What an MCP server or the configuration defines: neither keeps keys.
fn offer(tool: Tool, definition: Box<RawValue>) -> Offer {
    Offer {
        tool,
        definition,
        honours_key: false,
    }
}

/// What became of the definitions when they were held against what was accepted.
pub(super) enum Judged {
    /// They are accepted, whatever they are.
    Accepted,
    /// Each as it stands, in the order of the list.
    Observed(Vec<Observed>),
    /// It could not be found out, so nothing may be used.
    Unknown,
}

impl Judged {
    fn of(&self, at: usize) -> (Approval, Option<String>) {
        match self {
            Self::Accepted => (Approval::Approved, None),
            Self::Unknown => (Approval::Pending(Wait::New), None),
            Self::Observed(observed) => match observed.get(at) {
                Some(observed) => (approval(observed.standing), observed.request.clone()),
                None => (Approval::Pending(Wait::New), None),
            },
        }
    }
}

fn approval(standing: Standing) -> Approval {
    match standing {
        Standing::Unchanged | Standing::AcceptedNew | Standing::AcceptedChanged => {
            Approval::Approved
        }
        Standing::PendingNew => Approval::Pending(Wait::New),
        Standing::PendingChanged => Approval::Pending(Wait::Changed),
        Standing::Rejected => Approval::Rejected,
    }
}

impl Rack {
    /// A rack with nothing on it yet.
    pub(super) fn empty(supplier: Arc<Supplier>) -> Self {
        Self::stock(supplier, Source::Nothing, Vec::new(), Vec::new())
    }

    /// Puts judged tools on the rack: rules, approval and policy metadata applied.
    pub(super) fn build(
        supplier: Arc<Supplier>,
        source: Source,
        draft: Draft,
        judged: &Judged,
        terms: &Terms,
    ) -> Self {
        let mut spellings = Spellings::default();
        for (at, (offer, _)) in draft.tools.iter().enumerate() {
            spellings.add(offer.tool.id.tool(), at);
        }
        let tools = draft.tools.into_iter().enumerate();
        let entries = tools.map(|(at, (offer, hash))| {
            let facts = ServerFacts {
                honours_key: offer.honours_key,
                ..supplier.facts
            };
            let mut tool = offer.tool;
            let own_tags = tool.tags.clone();
            let rule = apply_rules(&supplier, &mut tool, &terms.config);
            let (server, name) = (tool.id.server(), tool.id.tool());
            let domains = terms.inference.domains(server, name);
            let categories = terms.inference.categories(server, name);
            // An API description may say itself what its operations are about.
            if tool.domains.is_empty() {
                tool.domains = domains;
            }
            if tool.categories.is_empty() {
                tool.categories = categories;
            }
            let mut metadata = terms.rulebook.metadata(&tool, &facts);
            metadata.timeout_ms = metadata.timeout_ms.or(supplier.timeout_ms);
            let (approval, request) = judged.of(at);
            Arc::new(Entry {
                canonical: spellings.canonical(tool.id.tool()),
                tool: Arc::new(tool),
                definition: offer.definition,
                hash,
                metadata,
                approval,
                request,
                rule,
                own_tags,
            })
        });
        let entries = entries.collect();
        Self::stock(supplier, source, entries, draft.left_out)
    }

    fn stock(
        supplier: Arc<Supplier>,
        source: Source,
        entries: Vec<Arc<Entry>>,
        left_out: Vec<Malformed>,
    ) -> Self {
        let mut spellings = Spellings::default();
        for (at, entry) in entries.iter().enumerate() {
            spellings.add(entry.tool.id.tool(), at);
        }
        let tools: Vec<Arc<Tool>> = entries.iter().map(|e| Arc::clone(&e.tool)).collect();
        let part = Part::build(
            &ServerTools {
                name: &supplier.name,
                aliases: &supplier.aliases,
                about: &supplier.description,
                tools: &tools,
            },
            &Weights::default(),
        );
        Self {
            part: Arc::new(part),
            supplier,
            source,
            left_out,
            entries,
            spellings,
        }
    }

    /// The same tools, judged again; `None` where nothing changed.
    pub(super) fn rejudged(&self, judged: &Judged) -> Option<Self> {
        let entries: Vec<Arc<Entry>> = self
            .entries
            .iter()
            .enumerate()
            .map(|(at, entry)| {
                let (approval, request) = judged.of(at);
                if approval == entry.approval && request == entry.request {
                    return Arc::clone(entry);
                }
                Arc::new(Entry {
                    tool: Arc::clone(&entry.tool),
                    definition: entry.definition.clone(),
                    hash: entry.hash,
                    metadata: entry.metadata.clone(),
                    approval,
                    request,
                    rule: entry.rule.clone(),
                    own_tags: entry.own_tags.clone(),
                    canonical: entry.canonical.clone(),
                })
            })
            .collect();
        let same = |(a, b): (&Arc<Entry>, &Arc<Entry>)| Arc::ptr_eq(a, b);
        let changed = !entries.iter().zip(&self.entries).all(same);
        changed.then(|| Self {
            supplier: Arc::clone(&self.supplier),
            source: self.source,
            left_out: self.left_out.clone(),
            part: Arc::clone(&self.part),
            entries,
            spellings: self.spellings.clone(),
        })
    }

    /// The tools as they were before anything was judged.
    pub(super) fn draft(&self) -> Draft {
        let tools = self.entries.iter().map(|entry| {
            let mut tool = (*entry.tool).clone();
            tool.tags.clone_from(&entry.own_tags);
            tool.enabled = true;
            let offer = Offer {
                tool,
                definition: entry.definition.clone(),
                honours_key: entry.metadata.honours_key,
            };
            (offer, entry.hash)
        });
        Draft {
            tools: tools.collect(),
            left_out: self.left_out.clone(),
        }
    }

    /// The definitions as approval looks at them.
    pub(super) fn definitions(&self) -> Vec<Definition> {
        let entries = self.entries.iter();
        entries
            .map(|entry| as_defined(&entry.tool, &entry.definition, &entry.hash))
            .collect()
    }

    /// The tools, in the order of the server.
    pub fn entries(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    /// Whether the tools are known.
    pub fn is_known(&self) -> bool {
        self.source != Source::Nothing
    }

    /// A tool by any of its spellings; a spelling that two tools share names neither.
    pub fn find(&self, tool: &str) -> Option<&Arc<Entry>> {
        self.entries.get(self.spellings.find(tool)?)
    }

    pub(super) fn exact(&self, tool: &str) -> Option<&Arc<Entry>> {
        let entry = self.find(tool)?;
        (entry.tool.id.tool() == tool).then_some(entry)
    }
}

/// Sets whether the tool is enabled and adds the rules' tags; says what decided.
fn apply_rules(supplier: &Supplier, tool: &mut Tool, config: &Config) -> String {
    let found = config
        .rules
        .verdict(&supplier.name, tool.id.tool(), &tool.tags);
    let said = found.verdict.to_string();
    tool.tags = found.verdict.tags;
    tool.enabled = found.verdict.enabled;
    match supplier.leaves_out(tool.id.tool()) {
        Some(why) if tool.enabled => {
            tool.enabled = false;
            format!("disabled: {why}")
        }
        _ => said,
    }
}
