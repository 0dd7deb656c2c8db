//! Tools that say of themselves that another one of their server has taken their place.

use super::hits::Ranked;
use super::index::Index;

/// How a description says that its tool is not to be used any more.
const WORD: &str = "deprecated";
/// How far behind that word the other tool is named, in bytes.
const REACH: usize = 200;
/// What stands right before the name of the other tool.
const LEADS: [&str; 7] = ["by", "of", "prefer", "see", "to", "use", "with"];

/// The name of the tool that a description sends its readers to, if `is_tool` knows it.
pub(super) fn named(description: &str, is_tool: impl Fn(&str) -> bool) -> Option<&str> {
    let said = |window: &[u8]| window.eq_ignore_ascii_case(WORD.as_bytes());
    let at = description.as_bytes().windows(WORD.len()).position(said)?;
    // The word is ASCII, so that the text can be cut behind it.
    let behind = description.get(at + WORD.len()..)?;
    let end = behind.char_indices().map(|(at, _)| at).nth(REACH);
    let words = behind[..end.unwrap_or(behind.len())]
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/')))
        .map(|word| word.trim_end_matches('.'))
        .filter(|word| !word.is_empty());
    let mut before = "";
    for word in words {
        let leads = LEADS.iter().any(|lead| lead.eq_ignore_ascii_case(before));
        if leads && is_tool(word) {
            return Some(word);
        }
        before = word;
    }
    None
}

impl Index {
    /// Puts tools before those that they have replaced. The likelihoods stay where they are: what was meant is as likely
    /// as before, only it has another name now.
    pub(super) fn let_successors_lead(&self, ranked: &mut [Ranked]) {
        for at in 0..ranked.len() {
            let Some(successor) = self.successor(ranked[at].number) else {
                continue;
            };
            let behind = ranked[at + 1..].iter().position(|r| r.number == successor);
            let Some(place) = behind.map(|place| at + 1 + place) else {
                continue;
            };
            // Who spells the name of the old one means it.
            if !ranked[at].exact {
                ranked.swap(at, place);
                let score = ranked[at].score;
                ranked[at].score = ranked[place].score;
                ranked[place].score = score;
            }
        }
    }

    /// The tool that has taken the place of another.
    pub(super) fn successor(&self, number: u32) -> Option<u32> {
        let (slot, tool) = self.locate(number);
        let successors = &self.part(slot)?.successors;
        let at = successors.binary_search_by_key(&tool, |pair| pair.0).ok()?;
        Some(self.bases[slot as usize] + successors[at].1)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::catalog::{Tool, ToolId};
    use crate::search::{Filter, Part, ServerTools, Weights};

    #[test]
    fn a_description_names_who_took_its_place() {
        let check = |description: &str, expected: Option<&str>| {
            let is_tool = |word: &str| ["read_text", "list-all", "scrape"].contains(&word);
            assert_eq!(named(description, is_tool), expected, "{description}");
        };
        check(
            "Reads. DEPRECATED: Use read_text instead.",
            Some("read_text"),
        );
        check("Deprecated in favour of `list-all`.", Some("list-all"));
        check(
            "Deprecated entry point. Use scrape once per URL.",
            Some("scrape"),
        );
        check("Is deprecated (replaced by scrape)", Some("scrape"));
        check("Replaces the deprecated read_text.", None);
        check("Deprecated. Use something else.", None);
        check("Use read_text, which is not deprecated", None);
        check("Überholt, deprecated – use “read_text”", Some("read_text"));
        check(&format!("deprecated{} use scrape", " x".repeat(200)), None);
        check("", None);
    }

    fn tool(name: &str, description: &str) -> Arc<Tool> {
        let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
        Arc::new(Tool::new(ToolId::new("files", name), description, schema))
    }

    fn files(tools: &[Arc<Tool>]) -> Index {
        let server = ServerTools {
            name: "files",
            aliases: &[],
            about: "",
            tools,
        };
        Index::from_parts([Arc::new(Part::build(&server, &Weights::default()))])
    }

    #[test]
    fn who_took_the_place_of_a_tool_is_found_in_its_place() {
        let old = "Read the complete contents of a file as text.";
        let new =
            "Read the complete contents of a file from the file system as text, with its lines.";
        let other = tool("write_file", "Write a file.");
        let before = [
            tool("read_file", old),
            tool("read_text_file", new),
            other.clone(),
        ];
        let said = format!("{old} DEPRECATED: Use read_text_file instead.");
        let after = [tool("read_file", &said), tool("read_text_file", new), other];
        let names = |index: &Index, wish: &str| {
            let hits = index.search(wish, &Filter::default());
            let found = hits.hits.iter().map(|hit| hit.id.tool().to_owned());
            (found.collect::<Vec<_>>(), hits.confidence())
        };
        let wish = "read a file please";
        let (found, sure) = names(&files(&before), wish);
        assert_eq!(found[0], "read_file", "{found:?}");
        let (found, now) = names(&files(&after), wish);
        assert_eq!(found[..2], ["read_text_file", "read_file"]);
        assert!(
            now > sure / 2.0,
            "what was meant is as likely as before: {sure}, {now}"
        );
        let (found, _) = names(&files(&after), "read_file");
        assert_eq!(found[0], "read_file", "who spells a name means it");
        let index = files(&after);
        let is_allowed = |id: &ToolId| id.tool() != "read_text_file";
        let filter = Filter {
            allow: Some(&is_allowed),
            ..Filter::default()
        };
        let hits = index.search(wish, &filter).hits;
        assert!(hits.iter().all(|hit| hit.id.tool() != "read_text_file"));
    }
}
