//! Why a tool is on or off, rule by rule.

use serde::Serialize;

use super::verdict::{Decider, RuleFinding};
use super::{RuleSet, Strategy, Verdict};
use crate::pattern::error::Excerpt;
use crate::pattern::list::Finding;

/// Everything that the rules have to say about one tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The server of the tool.
    pub server: String,
    /// The tool's name.
    pub tool: String,
    /// The outcome; its tags are those of the rules alone.
    pub verdict: Verdict,
    /// One report for each rule, in order.
    pub rules: Vec<RuleReport>,
}

/// What became of one rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleReport {
    /// Which rule, counted from 0.
    pub rule: usize,
    /// What it did.
    pub standing: Standing,
    /// Why, as a sentence without its end.
    pub reason: String,
    /// The rule because of which this one can never decide, whatever the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub never_because_of: Option<usize>,
}

/// What a rule did to a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It decided.
    Decided,
    /// It matches and has no say over `enabled`, so it only tagged.
    Tagged,
    /// It matches, and an earlier rule had decided already.
    TooLate,
    /// It matches, and a rule that weighs more decided against or before it.
    Overruled,
    /// It is not about this tool.
    NotMatched,
    /// It could not be decided, which disables the tool.
    GaveUp,
}

impl RuleSet {
    /// Says of every rule what it does to a tool, and why.
    pub fn explain(&self, server: &str, tool: &str) -> Explanation {
        let outcomes = self.outcomes(server, tool);
        let findings = self.findings(server, &outcomes);
        let decider = self.decider(&findings);
        let reports = (0..self.rules.len()).map(|rule| {
            let finding = self.finding(rule, server, &outcomes);
            let standing = self.standing(rule, finding, decider);
            RuleReport {
                rule,
                standing,
                reason: self.reason(rule, finding, standing, decider),
                never_because_of: self.covered_by(rule),
            }
        });
        Explanation {
            rules: reports.collect(),
            verdict: self.verdict(server, tool, &[]),
            server: server.to_owned(),
            tool: tool.to_owned(),
        }
    }

    fn standing(&self, rule: usize, finding: RuleFinding, decider: Decider) -> Standing {
        if finding.gave_up().is_some() {
            return Standing::GaveUp;
        }
        if !finding.matches() {
            return Standing::NotMatched;
        }
        let source = &self.rules[rule].source;
        if source.enabled.is_none() {
            return Standing::Tagged;
        }
        match decider {
            Decider::Rule(winner) if winner == rule => Standing::Decided,
            Decider::Rule(winner) => {
                let outweighed = match self.strategy {
                    Strategy::FirstMatch => winner > rule,
                    Strategy::DenyOverrides => source.enabled != self.rules[winner].source.enabled,
                };
                if outweighed {
                    Standing::Overruled
                } else {
                    Standing::TooLate
                }
            }
            Decider::Default | Decider::GaveUp(_) => Standing::Overruled,
        }
    }

    fn reason(
        &self,
        rule: usize,
        finding: RuleFinding,
        standing: Standing,
        decider: Decider,
    ) -> String {
        let source = &self.rules[rule].source;
        let server = Excerpt(source.server.as_deref().unwrap_or_default());
        let quoted = |index: usize| Excerpt(&source.pattern[index]);
        let found = match finding {
            RuleFinding::OtherServer => format!("it is for server {server}"),
            RuleFinding::ServerGaveUp(why) => format!("{server} could not be decided: {why}"),
            RuleFinding::List(Finding::Matched(Some(index))) => {
                format!("{} matches", quoted(index))
            }
            RuleFinding::List(Finding::Matched(None)) if source.pattern.is_empty() => {
                "it has no pattern and matches everything".to_owned()
            }
            RuleFinding::List(Finding::Matched(None)) => "nothing excludes it".to_owned(),
            RuleFinding::List(Finding::Excluded(index)) => format!("{} excludes it", quoted(index)),
            RuleFinding::List(Finding::Unmatched) => match source.pattern.as_slice() {
                [only] => format!("{} does not match", Excerpt(only)),
                _ => "none of its patterns matches".to_owned(),
            },
            RuleFinding::List(Finding::GaveUp(index, why)) => {
                format!("{} could not be decided: {why}", quoted(index))
            }
        };
        match (standing, decider) {
            (Standing::TooLate, Decider::Rule(winner)) => {
                format!("{found}, but rule {} had decided already", winner + 1)
            }
            (Standing::Overruled, Decider::Rule(winner) | Decider::GaveUp(winner)) => {
                format!("{found}, but rule {} weighs more", winner + 1)
            }
            _ => found,
        }
    }
}
