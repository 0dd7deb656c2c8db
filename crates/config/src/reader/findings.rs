//! What a reader has found wrong with a file: a bounded list, and sentences that readers share.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use toolcrib_core::limits::CONFIG_DIAGNOSTICS_MAX;

use crate::diagnostic::{Diagnostic, Severity};
use crate::node::Entry;
use crate::text::{Source, Span};

/// Findings about one file, at most [`CONFIG_DIAGNOSTICS_MAX`] of them; the rest is counted.
pub(super) struct Findings<'s> {
    source: &'s Arc<Source>,
    kept: Vec<Diagnostic>,
    left_out: usize,
}

impl<'s> Findings<'s> {
    pub(super) fn new(source: &'s Arc<Source>) -> Self {
        Self {
            source,
            kept: Vec::new(),
            left_out: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    pub(super) fn push(&mut self, diagnostic: Diagnostic) {
        if self.kept.len() < CONFIG_DIAGNOSTICS_MAX {
            self.kept.push(diagnostic);
        } else {
            self.left_out += 1;
        }
    }

    /// Adds a finding for each key that stands a second time.
    pub(super) fn duplicates(&mut self, entries: &[Entry]) {
        let mut seen: HashMap<&str, Span> = HashMap::with_capacity(entries.len());
        for entry in entries {
            match seen.get(entry.key.as_str()) {
                Some(first) => {
                    self.push(duplicate(self.source, &entry.key, entry.key_span, *first));
                }
                None => {
                    seen.insert(&entry.key, entry.key_span);
                }
            }
        }
    }

    /// The value where nothing was found, or else what was.
    pub(super) fn or<T>(mut self, value: T) -> Result<T, Vec<Diagnostic>> {
        if self.kept.is_empty() {
            return Ok(value);
        }
        if self.left_out > 0 {
            let message = format!("{} more findings are left out", self.left_out);
            let note = Diagnostic::new(Severity::Note, message).about(self.source);
            self.kept
                .push(note.help("correct the first ones, then look again"));
        }
        Err(self.kept)
    }

    /// What was found, and one thing more.
    pub(super) fn and<T>(mut self, diagnostic: Diagnostic) -> Result<T, Vec<Diagnostic>> {
        // The one that ended the reading is shown in any case.
        self.kept.truncate(CONFIG_DIAGNOSTICS_MAX - 1);
        self.kept.push(diagnostic);
        Err(self.kept)
    }
}

/// A name from the file, as long as a sentence can bear.
pub(super) fn brief(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(NAME_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &name[..end]).into(),
        None => name.into(),
    }
}

/// Longest name that a message repeats whole.
const NAME_CHARS_MAX: usize = 60;

/// The finding that a key stands twice in one map.
pub(super) fn duplicate(source: &Arc<Source>, key: &str, again: Span, first: Span) -> Diagnostic {
    Diagnostic::error(format!("the key {:?} stands twice in this map", brief(key)))
        .at(source, again)
        .also(first, "first here:")
        .help("keep one of the two, or give them different names")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_beyond_the_bound_are_counted() {
        let source = Source::new("a.yaml", "");
        let mut findings = Findings::new(&source);
        for _ in 0..CONFIG_DIAGNOSTICS_MAX + 5 {
            findings.push(Diagnostic::error("x"));
        }
        let found = findings.or(()).unwrap_err();
        assert_eq!(found.len(), CONFIG_DIAGNOSTICS_MAX + 1);
        assert_eq!(
            found[CONFIG_DIAGNOSTICS_MAX].message,
            "5 more findings are left out"
        );
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!(brief("short"), "short");
        assert_eq!(brief(&"é".repeat(100)).chars().count(), NAME_CHARS_MAX + 1);
    }
}
