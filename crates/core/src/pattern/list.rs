//! Lists of patterns: any positive one, and no negative one.

use super::rules::{Rule, ServerFilter};
use super::{GiveUp, Outcome, Pattern, PatternError, Subject};

/// The patterns of one rule or filter.
///
/// Negatives are looked at first, wherever they stand. A name matches when a positive pattern matches
/// it and no negative one does; where there are only negatives, everything else matches; an empty
/// list matches everything.
#[derive(Clone, Debug, Default)]
pub struct PatternList {
    patterns: Vec<Pattern>,
}

/// What trying a list on a tool gave, and which pattern (counted from 0) made it so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It matches: by this pattern, or by `None` because no negative one excludes it.
    Matched(Option<usize>),
    /// This negative pattern excludes it.
    Excluded(usize),
    /// No positive pattern matches it.
    Unmatched,
    /// This pattern could not be decided within its bounds, and no other decides.
    GaveUp(usize, GiveUp),
}

impl PatternList {
    /// Compiles every pattern; the first that is wrong is the error.
    pub fn new<S: AsRef<str>>(patterns: &[S]) -> Result<Self, PatternError> {
        let compiled = patterns.iter().map(|text| Pattern::new(text.as_ref()));
        Ok(Self {
            patterns: compiled.collect::<Result<_, _>>()?,
        })
    }

    /// Whether a tool matches. Where a pattern gives up, it does not.
    pub fn matches(&self, server: Option<&str>, tool: &str) -> bool {
        matches!(self.find(server, tool), Finding::Matched(_))
    }

    /// Whether a tool matches, and why.
    pub fn find(&self, server: Option<&str>, tool: &str) -> Finding {
        if self.patterns.is_empty() {
            return Finding::Matched(None);
        }
        let subject = Subject::new(server, tool);
        let outcomes = self.patterns.iter();
        decide(outcomes.map(|pattern| (pattern.negated, pattern.try_on(&subject))))
    }
}

/// Combines the outcomes of a list's patterns, given in order with whether each is negative.
pub(super) fn decide(outcomes: impl Iterator<Item = (bool, Outcome)>) -> Finding {
    let mut positives = 0_usize;
    let mut matched = None;
    let mut gave_up_positive = None;
    let mut gave_up_negative = None;
    for (index, (negated, outcome)) in outcomes.enumerate() {
        positives += usize::from(!negated);
        match (negated, outcome) {
            (true, Outcome::Yes) => return Finding::Excluded(index),
            (false, Outcome::Yes) => matched = matched.or(Some(index)),
            (true, Outcome::GaveUp(why)) => {
                gave_up_negative = gave_up_negative.or(Some((index, why)));
            }
            (false, Outcome::GaveUp(why)) => {
                gave_up_positive = gave_up_positive.or(Some((index, why)));
            }
            (_, Outcome::No) => {}
        }
    }
    let may_match = matched.is_some() || positives == 0;
    match (gave_up_negative, gave_up_positive) {
        (Some((index, why)), _) if may_match => Finding::GaveUp(index, why),
        (_, Some((index, why))) if !may_match => Finding::GaveUp(index, why),
        _ if may_match => Finding::Matched(matched),
        _ => Finding::Unmatched,
    }
}

/// Whether a tool's name matches a list of patterns. Compiles them for this one name; use
/// [`PatternList`] to try them on many.
pub fn matches<S: AsRef<str>>(tool_name: &str, patterns: &[S]) -> Result<bool, PatternError> {
    Ok(PatternList::new(patterns)?.matches(None, tool_name))
}

/// Whether a rule is about this tool of this server. Compiles the rule for this one name; use
/// [`super::rules::RuleSet`] to try rules on many.
pub fn matches_with_server(tool: &str, server: &str, rule: &Rule) -> Result<bool, PatternError> {
    let filter = rule
        .server
        .as_deref()
        .map_or_else(|| Ok(ServerFilter::any()), ServerFilter::new)?;
    let list = PatternList::new(&rule.pattern)?;
    Ok(filter.test(server) == Outcome::Yes && list.matches(Some(server), tool))
}
