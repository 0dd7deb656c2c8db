//! All patterns of a rule set, each once, tried on a name in one pass.
//!
//! Nearly every pattern needs some literal to be in the name. One automaton looks for all of these
//! at once, and only the patterns whose literal was found are tried.

use std::collections::HashMap;

use aho_corasick::AhoCorasick;

use super::{Body, Outcome, Pattern, Subject};

/// Patterns without their `!`, numbered from 0.
#[derive(Clone, Debug, Default)]
pub(super) struct Bank {
    patterns: Vec<Pattern>,
    /// Patterns that need no literal and are always tried.
    always: Vec<usize>,
    /// Whether a pattern wants to see `server:tool`.
    qualified: bool,
    finder: Option<Finder>,
}

#[derive(Clone, Debug)]
struct Finder {
    automaton: AhoCorasick,
    /// For each literal of the automaton, the patterns that need it.
    wanted_by: Vec<Vec<usize>>,
}

/// The outcomes of all patterns for one name; those not listed are `No`.
pub(super) struct Outcomes {
    listed: Vec<(usize, Outcome)>,
}

impl Outcomes {
    pub(super) fn of(&self, pattern: usize) -> Outcome {
        match self.listed.binary_search_by_key(&pattern, |entry| entry.0) {
            Ok(found) => self.listed[found].1,
            Err(_) => Outcome::No,
        }
    }

    /// The patterns that match or gave up.
    pub(super) fn listed(&self) -> impl Iterator<Item = usize> {
        self.listed.iter().map(|entry| entry.0)
    }
}

impl Bank {
    pub(super) fn new(patterns: Vec<Pattern>) -> Self {
        let mut always = Vec::new();
        let mut literals: Vec<&str> = Vec::new();
        let mut wanted_by: Vec<Vec<usize>> = Vec::new();
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        for (id, pattern) in patterns.iter().enumerate() {
            let Some(needles) = &pattern.needles else {
                always.push(id);
                continue;
            };
            for needle in needles {
                let number = *numbers.entry(needle).or_insert_with(|| {
                    literals.push(needle);
                    wanted_by.push(Vec::new());
                    literals.len() - 1
                });
                wanted_by[number].push(id);
            }
        }
        // Names are far shorter than what the prefilter is made for: it would cost more than it saves.
        let automaton = AhoCorasick::builder()
            .prefilter(false)
            .build(&literals)
            .ok();
        if automaton.is_none() {
            always = (0..patterns.len()).collect();
        }
        Self {
            always,
            qualified: patterns.iter().any(|pattern| pattern.qualified),
            finder: automaton.map(|automaton| Finder {
                automaton,
                wanted_by,
            }),
            patterns,
        }
    }

    pub(super) fn pattern(&self, id: usize) -> &Pattern {
        &self.patterns[id]
    }

    /// The patterns that are certain to match every name that this one matches, itself included.
    pub(super) fn covering(&self, narrow: usize) -> Vec<usize> {
        let narrow = &self.patterns[narrow];
        let mut wide = self.always.clone();
        match (&narrow.body, &self.finder) {
            (Body::Plain(segments), Some(finder)) => {
                wide.extend(finder.wanting(&segments.sample()));
            }
            _ => wide = (0..self.patterns.len()).collect(),
        }
        wide.sort_unstable();
        wide.dedup();
        wide.retain(|id| self.patterns[*id].covers(narrow));
        wide
    }

    /// Tries every pattern on a name.
    pub(super) fn outcomes(&self, subject: &Subject<'_>) -> Outcomes {
        let mut candidates = if subject.too_long {
            (0..self.patterns.len()).collect()
        } else {
            self.candidates(subject)
        };
        candidates.sort_unstable();
        candidates.dedup();
        let tried = candidates
            .into_iter()
            .map(|id| (id, self.patterns[id].try_on(subject)));
        Outcomes {
            listed: tried.filter(|entry| entry.1 != Outcome::No).collect(),
        }
    }

    /// The patterns that might not say `No`. A name with a line break is shown to all of them.
    fn candidates(&self, subject: &Subject<'_>) -> Vec<usize> {
        let mut candidates = self.always.clone();
        let Some(finder) = &self.finder else {
            return candidates;
        };
        if subject.line_break {
            return (0..self.patterns.len()).collect();
        }
        // The tool's name is the end of `server:tool`, so one search serves both.
        let text = match subject.qualified() {
            Some(names) if self.qualified => &names.folded,
            _ => &*subject.folded,
        };
        candidates.extend(finder.wanting(text));
        candidates
    }
}

impl Finder {
    /// The patterns that need a literal which is in the text, some perhaps several times.
    fn wanting(&self, text: &str) -> impl Iterator<Item = usize> {
        let found = self.automaton.find_overlapping_iter(text);
        found.flat_map(|found| self.wanted_by[found.pattern().as_usize()].iter().copied())
    }
}
