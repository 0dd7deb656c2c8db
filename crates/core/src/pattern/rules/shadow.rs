//! Rules that cannot take effect.

use serde::Serialize;

use super::verdict::Decider;
use super::{Compiled, RuleSet, Strategy};
use crate::catalog::ToolId;

/// A rule that cannot take effect, wholly or for some tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shadow {
    /// The rule, counted from 0.
    pub rule: usize,
    /// How far it is without effect.
    pub extent: Extent,
    /// The rules in force instead, in order.
    pub by: Vec<usize>,
    /// Whether nothing would change if it did take effect: the rules in force say the same.
    pub harmless: bool,
    /// The tools that it denies and that stay enabled, sorted.
    pub tools: Vec<ShadowedTool>,
}

/// How far a rule is without effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// It never decides, whatever tools there are.
    Never,
    /// It decides for none of the tools that it matches.
    EveryTool,
    /// It decides for some of the tools that it matches.
    SomeTools,
}

/// A tool that a rule denies in vain.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ShadowedTool {
    /// The tool.
    pub id: ToolId,
    /// The rule that enables it, counted from 0.
    pub by: usize,
}

impl RuleSet {
    /// The rules that cannot take effect: denies that leave one of the given `(server, tool)` pairs
    /// enabled, and any rule that can never decide. The order of the tools does not matter, and none
    /// are needed for the second kind.
    pub fn shadowed<'a>(&self, tools: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<Shadow> {
        let mut in_vain: Vec<Vec<ShadowedTool>> = vec![Vec::new(); self.rules.len()];
        let mut effective = vec![false; self.rules.len()];
        for (server, tool) in tools {
            let findings = self.findings(server, &self.outcomes(server, tool));
            let decider = self.decider(&findings);
            for (rule, _) in findings.iter().filter(|(_, finding)| finding.matches()) {
                match decider {
                    Decider::Rule(by) if self.denies(*rule) && self.enabled(decider) => {
                        let id = ToolId::new(server, tool);
                        in_vain[*rule].push(ShadowedTool { id, by });
                    }
                    _ => effective[*rule] = true,
                }
            }
        }
        let shadows = in_vain.into_iter().enumerate().zip(effective);
        shadows
            .filter_map(|((rule, tools), effective)| self.shadow(rule, tools, effective))
            .collect()
    }

    fn denies(&self, rule: usize) -> bool {
        self.rules[rule].source.enabled == Some(false)
    }

    fn shadow(&self, rule: usize, mut tools: Vec<ShadowedTool>, effective: bool) -> Option<Shadow> {
        tools.sort_unstable();
        tools.dedup();
        let never = self.covered_by(rule);
        let extent = match (never, effective) {
            (Some(_), _) => Extent::Never,
            (None, _) if tools.is_empty() => return None,
            (None, true) => Extent::SomeTools,
            (None, false) => Extent::EveryTool,
        };
        let mut by: Vec<usize> = tools.iter().map(|tool| tool.by).chain(never).collect();
        by.sort_unstable();
        by.dedup();
        let wanted = self.rules[rule].source.enabled;
        Some(Shadow {
            rule,
            extent,
            harmless: by.iter().all(|by| self.rules[*by].source.enabled == wanted),
            by,
            tools,
        })
    }

    /// The rule because of which this one never decides, whatever the tool: one that takes precedence
    /// and is certain to match whatever this one matches. `None` says nothing: there may be one that
    /// only a list of tools shows.
    pub fn covered_by(&self, rule: usize) -> Option<usize> {
        let narrow = self.rules.get(rule)?;
        narrow.source.enabled?;
        let mut candidates = self.open.clone();
        match narrow.positives().next() {
            Some(first) => {
                let wide = self.bank.covering(first);
                candidates.extend(wide.iter().flat_map(|id| &self.rules_of[*id]));
            }
            None => candidates.extend(0..self.rules.len()),
        }
        candidates.sort_unstable();
        candidates
            .into_iter()
            .filter(|other| self.takes_precedence(*other, rule))
            .find(|other| self.covers(&self.rules[*other], narrow))
    }

    fn takes_precedence(&self, other: usize, rule: usize) -> bool {
        let (over, under) = (&self.rules[other], &self.rules[rule]);
        let Some(enabled) = over.source.enabled else {
            return false;
        };
        match self.strategy {
            Strategy::FirstMatch => other < rule && (!over.sets_default() || under.sets_default()),
            Strategy::DenyOverrides if under.source.enabled == Some(enabled) => other < rule,
            Strategy::DenyOverrides => !enabled,
        }
    }

    /// Whether every tool that `narrow` matches is certain to be matched by `wide`.
    fn covers(&self, wide: &Compiled, narrow: &Compiled) -> bool {
        let covers = |a: usize, b: usize| self.bank.pattern(a).covers(self.bank.pattern(b));
        let positives_hold = wide.positives().next().is_none()
            || wide.everything
            || narrow.positives().next().is_some()
                && narrow
                    .positives()
                    .all(|b| wide.positives().any(|a| covers(a, b)));
        let negatives_hold = wide
            .negatives()
            .all(|excluded| narrow.negatives().any(|b| covers(b, excluded)));
        positives_hold && negatives_hold && wide.server.covers(&narrow.server)
    }
}
