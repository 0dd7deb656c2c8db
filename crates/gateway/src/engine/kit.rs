//! The tools of one server, read and packed for the next process.
//!
//! A kit holds what finding tools needs: the part of the index, and of each tool what decides whether a
//! caller sees it. The definitions lie in it as they were sent and are read again, by the rules that
//! always hold, when a tool is looked at. Nothing that the configuration decides is in a kit: whether
//! a tool is enabled, approved and within a caller's scopes is found out anew by each process.

use std::io::{Read as _, Write as _};
use std::sync::{Arc, LazyLock};
use std::time::UNIX_EPOCH;

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde_json::value::RawValue;
use toolcrib_core::ToolId;
use toolcrib_core::canon::Hash;
use toolcrib_core::catalog::Inference;
use toolcrib_core::limits::CACHE_FILE_BYTES_MAX;
use toolcrib_core::policy::Risk;
use toolcrib_core::search::Part;
use toolcrib_core::written::{Reader, Writer};

use super::answer::Kind;
use super::rack::{Draft, Rack, Source};
use super::stock::Terms;
use super::supplier::Supplier;
use super::upstream::List;

/// Tells this program from every other that may have packed a kit: they may read tools differently.
static PROGRAM: LazyLock<Option<(u64, u64)>> = LazyLock::new(|| {
    let file = std::fs::metadata(std::env::current_exe().ok()?).ok()?;
    let written = file.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some((file.len(), u64::try_from(written.as_nanos()).ok()?))
});

/// The packed tools of one server.
#[derive(Debug)]
pub(super) struct Kit {
    /// In the order of the server.
    pub(super) tools: Vec<Packed>,
    pub(super) part: Arc<Part>,
    /// What the server is about.
    pub(super) domain: Option<Arc<str>>,
    seal: Hash,
    /// The definitions as a JSON array, deflated.
    definitions: Box<[u8]>,
}

/// What is known of a tool without reading its definition.
#[derive(Debug)]
pub(super) struct Packed {
    /// Where it stands in the part.
    pub(super) place: usize,
    /// The hash of what a person approves.
    pub(super) hash: Hash,
    /// Its risk as long as no override says otherwise.
    pub(super) risk: Risk,
    /// The tags that the index knows it by.
    pub(super) tags: Vec<String>,
}

/// Stands for this program and how it reads tools under a configuration.
pub(super) fn reading(inference: &Inference) -> Option<Hash> {
    let (length, written) = (*PROGRAM)?;
    let mut to = Writer::default();
    to.u64(length);
    to.u64(written);
    inference.write(&mut to);
    Some(Hash::of(&to.into_bytes()))
}

/// Stands for everything beside the list itself that a kit follows from.
fn seal(supplier: &Supplier, terms: &Terms) -> Option<Hash> {
    // What a trusted server says of itself counts for more than a kit holds.
    if supplier.kind != Kind::Server || supplier.facts.trusted {
        return None;
    }
    let mut to = Writer::default();
    to.bytes(terms.reading?.as_bytes());
    to.text(&supplier.name);
    to.text(&supplier.description);
    to.count(supplier.aliases.len());
    for alias in &supplier.aliases {
        to.text(alias);
    }
    Some(Hash::of(&to.into_bytes()))
}

impl Kit {
    /// Whether the kit was packed by this program and under what holds now.
    pub(super) fn fits(&self, supplier: &Supplier, terms: &Terms) -> bool {
        seal(supplier, terms) == Some(self.seal)
    }

    /// Packs what a server listed; `None` where that cannot be packed.
    pub(super) fn pack(rack: &Rack, terms: &Terms) -> Option<Vec<u8>> {
        let seal = seal(&rack.supplier, terms)?;
        if !matches!(rack.source, Source::Listed(_)) || !rack.left_out().is_empty() {
            return None;
        }
        let mut to = Writer::default();
        to.bytes(seal.as_bytes());
        let domain = rack.entries().first().and_then(|e| e.tool.domains.first());
        to.text(domain.map_or("", String::as_str));
        to.count(rack.entries().len());
        let mut list = DeflateEncoder::new(Vec::new(), Compression::fast());
        for (at, entry) in rack.entries().iter().enumerate() {
            to.count(rack.part.place(entry.tool.id.tool())?);
            to.bytes(entry.hash.as_bytes());
            let risk = Risk::of_unbelieved(&entry.tool);
            to.count(Risk::ALL.iter().position(|level| *level == risk)?);
            to.count(entry.tool.tags.len());
            for tag in &entry.tool.tags {
                to.text(tag);
            }
            list.write_all(if at == 0 { b"[" } else { b"," }).ok()?;
            list.write_all(entry.definition.get().as_bytes()).ok()?;
        }
        list.write_all(if rack.entries().is_empty() {
            b"[]"
        } else {
            b"]"
        })
        .ok()?;
        to.bytes(&list.finish().ok()?);
        rack.part.write(&mut to);
        Some(to.into_bytes())
    }

    /// Opens a kit; `None` where it is damaged, of another program, or packed under other terms.
    pub(super) fn open(bytes: &[u8], supplier: &Supplier, terms: &Terms) -> Option<Self> {
        let seal = seal(supplier, terms)?;
        let mut from = Reader::new(bytes);
        if from.bytes()? != seal.as_bytes() {
            return None;
        }
        let domain = Some(from.text()?).filter(|domain| !domain.is_empty());
        let count = from.count()?;
        let mut tools = Vec::with_capacity(count.min(from.left()));
        for _ in 0..count {
            tools.push(Packed {
                place: from.count()?,
                hash: Hash::from_bytes(from.bytes()?.try_into().ok()?),
                risk: *Risk::ALL.get(from.count()?)?,
                tags: {
                    let count = from.count()?;
                    (0..count)
                        .map(|_| from.text().map(str::to_owned))
                        .collect::<Option<_>>()?
                },
            });
        }
        let definitions = from.bytes()?.into();
        let part = Part::of_written(&mut from)?;
        // Each tool of the part once.
        let mut places: Vec<usize> = tools.iter().map(|tool| tool.place).collect();
        places.sort_unstable();
        let whole = places.into_iter().eq(0..part.len());
        (whole && *part.server() == *supplier.name).then(|| Self {
            domain: domain.map(Arc::from),
            part: Arc::new(part),
            tools,
            seal,
            definitions,
        })
    }

    /// The id of one of its tools.
    pub(super) fn id(&self, tool: &Packed) -> Option<&ToolId> {
        self.part.id(tool.place)
    }

    /// The tools as the server sent them.
    pub(super) fn draft(&self, supplier: &Supplier) -> Draft {
        let mut text = Vec::new();
        let inflated = DeflateDecoder::new(&*self.definitions)
            .take(CACHE_FILE_BYTES_MAX)
            .read_to_end(&mut text);
        let list: Option<Vec<Box<RawValue>>> = inflated
            .ok()
            .and_then(|_| serde_json::from_slice(&text).ok());
        Draft::read(supplier, List::Definitions(list.unwrap_or_default()))
    }
}
