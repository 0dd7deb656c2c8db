//! The tools of one server, judged and ready to be found: one input of the catalog.

use std::sync::{Arc, OnceLock};

use serde_json::value::RawValue;
use toolcrib_config::load::Config;
use toolcrib_core::canon::{Hash, definition_hash};
use toolcrib_core::pattern::rules::Verdict;
use toolcrib_core::policy::approval::Wait;
use toolcrib_core::policy::{Approval, ServerFacts};
use toolcrib_core::search::{Part, ServerTools, Weights};
use toolcrib_core::{Tool, ToolId};
use toolcrib_store::approval::judgement::Standing;
use toolcrib_store::approval::observation::{Definition, Observed};

use super::definition::{self, Malformed};
use super::kit::Kit;
use super::mark::{Mark, Once};
use super::snapshot::Entry;
use super::spelling::Spellings;
use super::stock::Terms;
use super::supplier::Supplier;
use super::upstream::{List, Offer, Said};

/// Where a rack's list comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Nobody has asked the server yet, or it is switched off.
    Nothing,
    /// The configuration declares the tools.
    Declared,
    /// The server said so at this time; perhaps to an earlier process.
    Listed(Said),
}

/// The tools of one server.
#[derive(Debug)]
pub struct Rack {
    /// Whose tools these are.
    pub supplier: Arc<Supplier>,
    /// Where the list comes from.
    pub source: Source,
    pub(super) part: Arc<Part>,
    /// In the order of the part.
    marks: Vec<Mark>,
    /// What the tools are read from when one is first looked at.
    folded: Option<Folded>,
    tools: OnceLock<Tools>,
}

/// Tools that an earlier process read, and what this one judges them by.
#[derive(Debug)]
struct Folded {
    kit: Arc<Kit>,
    judged: Judged,
    terms: Terms,
}

/// The tools themselves.
#[derive(Clone, Debug, Default)]
struct Tools {
    entries: Vec<Arc<Entry>>,
    spellings: Spellings,
    left_out: Vec<Malformed>,
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
            .map(|(offer, hash)| as_defined(offer.tool.id.tool(), hash, offer.definition.get()))
            .collect()
    }

    /// The same without their texts.
    pub(super) fn names(&self) -> Vec<Definition> {
        let tools = self.tools.iter();
        tools
            .map(|(offer, hash)| as_defined(offer.tool.id.tool(), hash, ""))
            .collect()
    }
}

fn as_defined(tool: &str, hash: &Hash, definition: &str) -> Definition {
    Definition {
        tool: tool.to_owned(),
        hash: hash.to_string(),
        definition: definition.to_owned(),
    }
}

impl Kit {
    /// The tools as approval looks at them, without the texts of their definitions.
    pub(super) fn names(&self) -> Vec<Definition> {
        let tools = self.tools.iter();
        tools
            .filter_map(|tool| Some(as_defined(self.id(tool)?.tool(), &tool.hash, "")))
            .collect()
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    /// They are accepted, whatever they are.
    Accepted,
    /// Each as it stands, in the order of the list.
    Observed(Vec<Observed>),
    /// It could not be found out, so nothing may be used.
    Unknown,
}

impl Judged {
    /// What a list of so many definitions became. Where each is accepted there is no more to remember.
    pub(super) fn of_observed(observed: Vec<Observed>, count: usize) -> Self {
        let accepted = |tool: &Observed| {
            approval(tool.standing) == Approval::Approved && tool.request.is_none()
        };
        if observed.len() == count && observed.iter().all(accepted) {
            Self::Accepted
        } else {
            Self::Observed(observed)
        }
    }

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
        Self::stock(supplier, Source::Nothing, Tools::default())
    }

    /// Puts judged tools on the rack: rules, approval and policy metadata applied.
    pub(super) fn build(
        supplier: Arc<Supplier>,
        source: Source,
        draft: Draft,
        judged: &Judged,
        terms: &Terms,
    ) -> Self {
        let tools = Tools::of(&supplier, draft, judged, terms);
        Self::stock(supplier, source, tools)
    }

    /// Puts tools on the rack that an earlier process read; `None` where rules have given one of them
    /// other tags since. The definitions are read when a tool is first looked at.
    pub(super) fn unpack(
        supplier: Arc<Supplier>,
        source: Source,
        kit: Arc<Kit>,
        judged: Judged,
        terms: &Terms,
    ) -> Option<Self> {
        let mut once = Once::default();
        let mut marks = Vec::with_capacity(kit.tools.len());
        for (at, tool) in kit.tools.iter().enumerate() {
            let id = kit.id(tool)?;
            let (verdict, left_out) = ruled(&supplier, id.tool(), &[], &terms.config);
            if verdict.tags != tool.tags {
                return None;
            }
            let mark = Mark {
                enabled: verdict.enabled && left_out.is_none(),
                approval: judged.of(at).0,
                needs: once.needs(&terms.rulebook.needs(id, tool.risk)),
                domain: kit.domain.clone(),
            };
            marks.push((tool.place, mark));
        }
        marks.sort_unstable_by_key(|(place, _)| *place);
        Some(Self {
            part: Arc::clone(&kit.part),
            marks: marks.into_iter().map(|(_, mark)| mark).collect(),
            supplier,
            source,
            folded: Some(Folded {
                kit,
                judged,
                terms: terms.clone(),
            }),
            tools: OnceLock::new(),
        })
    }

    fn stock(supplier: Arc<Supplier>, source: Source, tools: Tools) -> Self {
        let listed: Vec<Arc<Tool>> = tools.entries.iter().map(|e| Arc::clone(&e.tool)).collect();
        let part = Part::build(
            &ServerTools {
                name: &supplier.name,
                aliases: &supplier.aliases,
                about: &supplier.description,
                tools: &listed,
            },
            &Weights::default(),
        );
        Self::of(supplier, source, Arc::new(part), tools)
    }

    fn of(supplier: Arc<Supplier>, source: Source, part: Arc<Part>, tools: Tools) -> Self {
        let mut once = Once::default();
        let marks = part.ids().filter_map(|id| {
            let entry = tools.exact(id.tool())?;
            let domain = entry.tool.domains.first();
            Some(Mark {
                enabled: entry.tool.enabled,
                approval: entry.approval,
                needs: once.needs(&entry.metadata.required_scopes),
                domain: domain.map(|domain| once.domain(domain)),
            })
        });
        Self {
            marks: marks.collect(),
            part,
            supplier,
            source,
            folded: None,
            tools: OnceLock::from(tools),
        }
    }

    fn tools(&self) -> &Tools {
        self.tools.get_or_init(|| match &self.folded {
            Some(Folded { kit, judged, terms }) => {
                Tools::of(&self.supplier, kit.draft(&self.supplier), judged, terms)
            }
            None => Tools::default(),
        })
    }

    /// The same tools, judged again; `None` where nothing changed.
    pub(super) fn rejudged(&self, judged: Judged) -> Option<Self> {
        let supplier = Arc::clone(&self.supplier);
        if let Some(Folded {
            kit,
            judged: before,
            terms,
        }) = &self.folded
        {
            if *before == judged {
                return None;
            }
            let kit = Arc::clone(kit);
            return Self::unpack(supplier, self.source, kit, judged, terms);
        }
        let tools = self.tools();
        let entries: Vec<Arc<Entry>> = tools
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
        let changed = !entries.iter().zip(&tools.entries).all(same);
        changed.then(|| {
            let rejudged = Tools {
                entries,
                spellings: tools.spellings.clone(),
                left_out: tools.left_out.clone(),
            };
            Self::of(supplier, self.source, Arc::clone(&self.part), rejudged)
        })
    }

    /// The tools as an earlier process packed them, where that still holds.
    pub(super) fn kit(&self, supplier: &Supplier, terms: &Terms) -> Option<Arc<Kit>> {
        let kit = &self.folded.as_ref()?.kit;
        kit.fits(supplier, terms).then(|| Arc::clone(kit))
    }

    /// The tools as they were before anything was judged.
    pub(super) fn draft(&self) -> Draft {
        let tools = self.entries().iter().map(|entry| {
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
            left_out: self.left_out().to_vec(),
        }
    }

    /// The definitions as approval looks at them.
    pub(super) fn definitions(&self) -> Vec<Definition> {
        let entries = self.entries().iter();
        entries
            .map(|entry| as_defined(entry.tool.id.tool(), &entry.hash, entry.definition.get()))
            .collect()
    }

    /// Whether another list offers the same tools, to the same callers.
    pub(crate) fn offers_as(&self, other: &Self) -> bool {
        self.is_known() == other.is_known()
            && self.marks == other.marks
            && self.names() == other.names()
    }

    /// The same without their texts.
    pub(super) fn names(&self) -> Vec<Definition> {
        if let Some(folded) = &self.folded {
            return folded.kit.names();
        }
        let entries = self.entries().iter();
        entries
            .map(|entry| as_defined(entry.tool.id.tool(), &entry.hash, ""))
            .collect()
    }

    /// The tools, in the order of the server. Those of an earlier process are read now.
    pub fn entries(&self) -> &[Arc<Entry>] {
        &self.tools().entries
    }

    /// What was wrong with the definitions that were left out.
    pub fn left_out(&self) -> &[Malformed] {
        &self.tools().left_out
    }

    /// Whether the tools came as an earlier process packed them.
    pub(super) fn is_packed(&self) -> bool {
        self.folded.is_some()
    }

    /// Whether the definitions were read.
    #[cfg(test)]
    pub(super) fn is_read(&self) -> bool {
        self.tools.get().is_some()
    }

    /// The ids of the tools, in the order of the server. Reads no definition.
    pub fn ids(&self) -> Vec<&ToolId> {
        match &self.folded {
            Some(folded) => {
                let tools = folded.kit.tools.iter();
                tools.filter_map(|tool| folded.kit.id(tool)).collect()
            }
            None => self.entries().iter().map(|e| &e.tool.id).collect(),
        }
    }

    /// What decides whether callers see the tools, in no order that means anything. Reads no definition.
    pub(crate) fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// What decides whether callers see a tool, by its own name.
    pub(super) fn mark(&self, tool: &str) -> Option<&Mark> {
        self.marks.get(self.part.place(tool)?)
    }

    /// Whether the tools are known.
    pub fn is_known(&self) -> bool {
        self.source != Source::Nothing
    }

    /// A tool by any of its spellings; a spelling that two tools share names neither.
    pub fn find(&self, tool: &str) -> Option<&Arc<Entry>> {
        let tools = self.tools();
        tools.entries.get(tools.spellings.find(tool)?)
    }

    pub(super) fn exact(&self, tool: &str) -> Option<&Arc<Entry>> {
        self.tools().exact(tool)
    }
}

impl Tools {
    fn of(supplier: &Supplier, draft: Draft, judged: &Judged, terms: &Terms) -> Self {
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
            let (verdict, left_out) = ruled(supplier, tool.id.tool(), &own_tags, &terms.config);
            let rule = match left_out {
                Some(why) if verdict.enabled => format!("disabled: {why}"),
                _ => verdict.to_string(),
            };
            tool.enabled = verdict.enabled && left_out.is_none();
            tool.tags = verdict.tags;
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
        Self {
            entries: entries.collect(),
            left_out: draft.left_out,
            spellings,
        }
    }

    fn exact(&self, tool: &str) -> Option<&Arc<Entry>> {
        let entry = self.entries.get(self.spellings.find(tool)?)?;
        (entry.tool.id.tool() == tool).then_some(entry)
    }
}

/// What rules say of a tool with its own tags, and why its server leaves it out, where it does.
fn ruled(
    supplier: &Supplier,
    tool: &str,
    own_tags: &[String],
    config: &Config,
) -> (Verdict, Option<&'static str>) {
    let verdict = config.rules.verdict(&supplier.name, tool, own_tags).verdict;
    (verdict, supplier.leaves_out(tool))
}
