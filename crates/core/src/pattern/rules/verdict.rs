//! What the rules say about one tool.

use std::fmt;

use indexmap::IndexSet;
use serde::Serialize;

use super::{Compiled, RuleSet, Strategy};
use crate::catalog::Tool;
use crate::pattern::bank::Outcomes;
use crate::pattern::error::Excerpt;
use crate::pattern::list::{Finding, decide};
use crate::pattern::{GiveUp, Outcome, Subject};

/// What the rules make of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Whether it may be found and run.
    pub enabled: bool,
    /// Its own tags, then those of every matching rule, each once.
    pub tags: Vec<String>,
    /// Who decided.
    pub decided_by: DecidedBy,
}

/// The rule that decided, or why none did. Rules count from 0; texts for people count from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// No rule that matched decides.
    Default {
        /// Whether some rule enables tools, so that the rest is disabled.
        whitelist: bool,
    },
    /// This rule.
    Rule {
        /// Which one.
        rule: usize,
        /// Its pattern that matches; `None` where it has only exclusions, or no pattern at all.
        pattern: Option<String>,
    },
    /// A pattern that could not be decided, which disables the tool.
    GaveUp {
        /// The rule that holds the pattern.
        rule: usize,
        /// The pattern.
        pattern: String,
        /// Why it gave up.
        why: GiveUp,
    },
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.enabled { "enabled" } else { "disabled" };
        match &self.decided_by {
            DecidedBy::Default { whitelist: true } => write!(
                f,
                "{state}: no rule decides, and where a rule enables tools the others are disabled"
            ),
            DecidedBy::Default { whitelist: false } => {
                write!(
                    f,
                    "{state}: no rule decides, and tools are enabled by default"
                )
            }
            DecidedBy::Rule {
                rule,
                pattern: Some(pattern),
            } => {
                let pattern = Excerpt(pattern);
                write!(f, "{state} by rule {}: {pattern} matches", rule + 1)
            }
            DecidedBy::Rule {
                rule,
                pattern: None,
            } => write!(f, "{state} by rule {}: nothing excludes it", rule + 1),
            DecidedBy::GaveUp { rule, pattern, why } => {
                let pattern = Excerpt(pattern);
                write!(
                    f,
                    "{state} because {pattern} of rule {} could not be decided: {why}",
                    rule + 1
                )
            }
        }
    }
}

/// What one rule makes of a tool, before rules are weighed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RuleFinding {
    OtherServer,
    /// The rule's `server` pattern gave up.
    ServerGaveUp(GiveUp),
    List(Finding),
}

impl RuleFinding {
    pub(super) fn matches(self) -> bool {
        matches!(self, Self::List(Finding::Matched(_)))
    }

    pub(super) fn gave_up(self) -> Option<GiveUp> {
        match self {
            Self::ServerGaveUp(why) | Self::List(Finding::GaveUp(_, why)) => Some(why),
            _ => None,
        }
    }
}

/// Which rule's word counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decider {
    Default,
    Rule(usize),
    GaveUp(usize),
}

impl RuleSet {
    /// What the rules say about a tool that comes with tags of its own.
    pub fn verdict(&self, server: &str, tool: &str, own_tags: &[String]) -> Verdict {
        let findings = if self.rules.is_empty() {
            Vec::new()
        } else {
            self.findings(server, &self.outcomes(server, tool))
        };
        let decider = self.decider(&findings);
        let matching = findings.iter().filter(|(_, finding)| finding.matches());
        let rule_tags = matching.flat_map(|(rule, _)| &self.rules[*rule].source.tags);
        let tags: IndexSet<&String> = own_tags.iter().chain(rule_tags).collect();
        Verdict {
            enabled: self.enabled(decider),
            tags: tags.into_iter().cloned().collect(),
            decided_by: self.decided_by(decider, &findings),
        }
    }

    /// Sets `enabled` and adds the rules' tags on every tool.
    pub fn apply(&self, tools: &mut [Tool]) {
        for tool in tools {
            let verdict = self.verdict(tool.id.server(), tool.id.tool(), &tool.tags);
            tool.enabled = verdict.enabled;
            tool.tags = verdict.tags;
        }
    }

    /// Tries every pattern on a tool.
    pub(super) fn outcomes(&self, server: &str, tool: &str) -> Outcomes {
        self.bank.outcomes(&Subject::new(Some(server), tool))
    }

    /// The rules that match the tool or gave up on it, in order.
    pub(super) fn findings(&self, server: &str, outcomes: &Outcomes) -> Vec<(usize, RuleFinding)> {
        let listed = outcomes.listed().flat_map(|id| &self.rules_of[id]);
        let mut candidates: Vec<usize> = listed.chain(&self.open).copied().collect();
        candidates.sort_unstable();
        candidates.dedup();
        candidates
            .into_iter()
            .map(|rule| (rule, self.finding(rule, server, outcomes)))
            .filter(|(_, finding)| finding.matches() || finding.gave_up().is_some())
            .collect()
    }

    /// What one rule makes of a tool.
    pub(super) fn finding(&self, rule: usize, server: &str, outcomes: &Outcomes) -> RuleFinding {
        let rule = &self.rules[rule];
        let server = rule.server.test(server);
        if server == Outcome::No {
            return RuleFinding::OtherServer;
        }
        let patterns = rule.patterns.iter();
        let finding = decide(patterns.map(|(number, negated)| (*negated, outcomes.of(*number))));
        match (server, finding) {
            (Outcome::GaveUp(why), Finding::Matched(_) | Finding::GaveUp(..)) => {
                RuleFinding::ServerGaveUp(why)
            }
            (_, finding) => RuleFinding::List(finding),
        }
    }

    /// Weighs the findings of [`Self::findings`].
    pub(super) fn decider(&self, findings: &[(usize, RuleFinding)]) -> Decider {
        if let Some((rule, _)) = findings.iter().find(|(_, f)| f.gave_up().is_some()) {
            return Decider::GaveUp(*rule);
        }
        let first = |test: &dyn Fn(&Compiled) -> bool| {
            let mut rules = findings.iter().map(|(rule, _)| *rule);
            rules.find(|rule| test(&self.rules[*rule]))
        };
        let found = match self.strategy {
            Strategy::FirstMatch => {
                first(&|rule| rule.source.enabled.is_some() && !rule.sets_default())
                    .or_else(|| first(&Compiled::sets_default))
            }
            Strategy::DenyOverrides => first(&|rule| rule.source.enabled == Some(false))
                .or_else(|| first(&|rule| rule.source.enabled == Some(true))),
        };
        found.map_or(Decider::Default, Decider::Rule)
    }

    pub(super) fn enabled(&self, decider: Decider) -> bool {
        match decider {
            Decider::Default => !self.whitelist,
            Decider::Rule(rule) => self.rules[rule].source.enabled == Some(true),
            Decider::GaveUp(_) => false,
        }
    }

    pub(super) fn decided_by(
        &self,
        decider: Decider,
        findings: &[(usize, RuleFinding)],
    ) -> DecidedBy {
        let finding_of = |rule: usize| findings.iter().find(|(r, _)| *r == rule).map(|(_, f)| *f);
        let text = |rule: usize, index: usize| self.rules[rule].source.pattern[index].clone();
        match decider {
            Decider::Default => DecidedBy::Default {
                whitelist: self.whitelist,
            },
            Decider::Rule(rule) => DecidedBy::Rule {
                rule,
                pattern: match finding_of(rule) {
                    Some(RuleFinding::List(Finding::Matched(Some(index)))) => {
                        Some(text(rule, index))
                    }
                    _ => None,
                },
            },
            Decider::GaveUp(rule) => {
                let finding = finding_of(rule);
                let pattern = match finding {
                    Some(RuleFinding::List(Finding::GaveUp(index, _))) => text(rule, index),
                    _ => self.rules[rule].source.server.clone().unwrap_or_default(),
                };
                DecidedBy::GaveUp {
                    rule,
                    pattern,
                    why: finding
                        .and_then(RuleFinding::gave_up)
                        .unwrap_or(GiveUp::Steps),
                }
            }
        }
    }
}
