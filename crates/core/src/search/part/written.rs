//! A part as bytes: whoever kept them need not read the tools again.
//!
//! The bytes follow from how this very program reads tools, and say so nowhere: whoever keeps them
//! must know by itself that the same program wrote them. Damaged bytes are no part; they never panic.

use super::{Part, PartWord, Posting, Row};
use crate::catalog::ToolId;
use crate::search::meaning::DIMENSIONS;
use crate::search::signs::Signs;
use crate::written::{Reader, Writer};

impl Part {
    /// Writes the part down.
    pub fn write(&self, to: &mut Writer) {
        to.text(&self.server);
        to.numbers(&self.server_words);
        to.count(self.ids.len());
        for id in &self.ids {
            to.text(id.tool());
        }
        to.rows(&self.rows, |row| {
            let numbers = [row.name, row.text, row.held, row.letters];
            let numbers = numbers
                .into_iter()
                .chain([u32::from(row.takes), row.actions]);
            let mut bytes = [0; 24];
            for (place, number) in bytes.as_chunks_mut().0.iter_mut().zip(numbers) {
                *place = number.to_le_bytes();
            }
            bytes
        });
        to.numbers(&self.sequences);
        to.numbers(&self.held);
        to.text(&self.texts);
        to.rows(&self.words, |word| {
            let mut bytes = [0; 20];
            bytes[..8].copy_from_slice(&word.id.to_le_bytes());
            bytes[8..12].copy_from_slice(&word.ends.to_le_bytes());
            bytes[12..16].copy_from_slice(&word.start.to_le_bytes());
            bytes[16..].copy_from_slice(&word.len.to_le_bytes());
            bytes
        });
        to.rows(&self.postings, |posting| posting.written().to_le_bytes());
        to.rows(&self.vectors, |vector| vector.map(i8::cast_unsigned));
        to.rows(&self.scales, |scale| scale.to_le_bytes());
        to.rows(&self.signs, |signs| {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&signs[0].to_le_bytes());
            bytes[8..].copy_from_slice(&signs[1].to_le_bytes());
            bytes
        });
        to.rows(&self.keys, |(key, tool)| {
            let mut bytes = [0; 12];
            bytes[..8].copy_from_slice(&key.to_le_bytes());
            bytes[8..].copy_from_slice(&tool.to_le_bytes());
            bytes
        });
        to.rows(&self.successors, |(tool, by)| {
            let mut bytes = [0; 8];
            bytes[..4].copy_from_slice(&tool.to_le_bytes());
            bytes[4..].copy_from_slice(&by.to_le_bytes());
            bytes
        });
    }

    /// Reads a part that was written down; `None` where there is none.
    pub fn of_written(from: &mut Reader<'_>) -> Option<Self> {
        let server: std::sync::Arc<str> = from.text()?.into();
        let server_words = from.numbers()?.into();
        let count = from.count()?;
        let mut ids = Vec::with_capacity(count.min(from.left()));
        for _ in 0..count {
            ids.push(ToolId::new(std::sync::Arc::clone(&server), from.text()?));
        }
        let rows = from.rows(|bytes: &[u8; 24]| Row {
            name: short(bytes, 0),
            text: short(bytes, 4),
            held: short(bytes, 8),
            letters: short(bytes, 12),
            // What is larger was not written by us, and means nothing.
            takes: u16::try_from(short(bytes, 16)).unwrap_or_default(),
            actions: short(bytes, 20),
        })?;
        let sequences = from.numbers()?;
        let held = from.numbers()?;
        let texts: Box<str> = from.text()?.into();
        let part = Self {
            server,
            server_words,
            ids,
            rows,
            sequences,
            held,
            texts,
            words: from.rows(|bytes: &[u8; 20]| PartWord {
                id: long(bytes, 0),
                ends: short(bytes, 8),
                start: short(bytes, 12),
                len: short(bytes, 16),
            })?,
            postings: from
                .rows(|bytes: &[u8; 4]| Posting::of_written(u32::from_le_bytes(*bytes)))?,
            vectors: from.rows(|bytes: &[u8; DIMENSIONS]| bytes.map(u8::cast_signed))?,
            scales: from.rows(|bytes: &[u8; 4]| f32::from_le_bytes(*bytes))?,
            signs: from.rows(|bytes: &[u8; 16]| -> Signs { [long(bytes, 0), long(bytes, 8)] })?,
            keys: from.rows(|bytes: &[u8; 12]| (long(bytes, 0), short(bytes, 8)))?,
            successors: from.rows(|bytes: &[u8; 8]| (short(bytes, 0), short(bytes, 4)))?,
        };
        part.is_whole().then_some(part)
    }

    /// Whether everything that is pointed at is there.
    fn is_whole(&self) -> bool {
        let tools = self.ids.len();
        let is_there = |tool: u32| (tool as usize) < tools;
        let listed = |word: &PartWord| {
            let end = u64::from(word.start) + u64::from(word.len);
            end <= self.postings.len() as u64
        };
        let spelt = |pair: &[PartWord]| pair[0].ends <= pair[1].ends;
        let last = self.words.last().map_or(0, |word| word.ends as usize);
        let kept = [self.vectors.len(), self.scales.len(), self.signs.len()];
        kept == [tools; 3]
            && self.rows.len() == tools
            && (0..tools).all(|place| self.entry(place).is_some())
            && self.postings.iter().all(|posting| is_there(posting.tool()))
            && self.keys.iter().all(|(_, tool)| is_there(*tool))
            && self
                .successors
                .iter()
                .all(|(tool, by)| is_there(*tool) && is_there(*by))
            && self.words.iter().all(listed)
            && self.words.windows(2).all(spelt)
            && self
                .words
                .iter()
                .all(|word| self.texts.is_char_boundary(word.ends as usize))
            && last == self.texts.len()
    }
}

fn short<const N: usize>(bytes: &[u8; N], at: usize) -> u32 {
    let mut out = [0; 4];
    out.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(out)
}

fn long<const N: usize>(bytes: &[u8; N], at: usize) -> u64 {
    let mut out = [0; 8];
    out.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(out)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::catalog::Tool;
    use crate::search::{Filter, Index, ServerTools, Weights};

    fn part() -> Part {
        let tools = ["create_issue", "closeIssue", "Übersicht"].map(|name| {
            let schema =
                json!({"properties": {"title": {"type": "string", "description": "Überschrift"}}});
            Arc::new(Tool::new(
                ToolId::new("tracker", name),
                "Works on issues. Deprecated, use closeIssue.",
                schema,
            ))
        });
        let server = ServerTools {
            name: "tracker",
            aliases: &["bugs".to_owned()],
            about: "Issues and their fates",
            tools: &tools,
        };
        Part::build(&server, &Weights::default())
    }

    #[test]
    fn what_was_written_is_what_is_read() {
        let part = part();
        let mut writer = Writer::default();
        part.write(&mut writer);
        let bytes = writer.into_bytes();
        let mut reader = Reader::new(&bytes);
        let read = Part::of_written(&mut reader).unwrap();
        assert_eq!((&read, reader.left()), (&part, 0));
        let found =
            Index::from_parts([Arc::new(read)]).search("close an issue", &Filter::default());
        assert_eq!(found.hits[0].id.tool(), "closeIssue");
    }

    #[test]
    fn damaged_bytes_are_no_part_and_harm_nobody() {
        let mut writer = Writer::default();
        part().write(&mut writer);
        let bytes = writer.into_bytes();
        for length in 0..bytes.len() {
            assert!(Part::of_written(&mut Reader::new(&bytes[..length])).is_none());
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0xff;
            if let Some(part) = Part::of_written(&mut Reader::new(&damaged)) {
                let index = Index::from_parts([Arc::new(part)]);
                drop(index.search("close an issue", &Filter::default()));
            }
        }
    }
}
