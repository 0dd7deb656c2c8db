//! Several rule sets over each other.

use serde::Serialize;

use super::{DecidedBy, RuleSet, Verdict};
use crate::catalog::Tool;

/// Rule sets of several files, each of which can only take away: a tool is enabled when every layer
/// enables it. So a project's file never relaxes what the user's own file denies.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    layers: Vec<RuleSet>,
}

/// A verdict, and the layer it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LayerVerdict {
    /// The layer that decided, counted from 0: the first that disables the tool, else the first of
    /// which a rule enables it, else the first.
    pub layer: usize,
    /// Its decision, with the tags of all layers.
    #[serde(flatten)]
    pub verdict: Verdict,
}

impl Layers {
    /// The given layers, the most trusted first. None at all enables everything.
    pub fn new(layers: Vec<RuleSet>) -> Self {
        Self { layers }
    }

    /// The layers in order.
    pub fn sets(&self) -> &[RuleSet] {
        &self.layers
    }

    /// What all layers together say about a tool that comes with tags of its own.
    pub fn verdict(&self, server: &str, tool: &str, own_tags: &[String]) -> LayerVerdict {
        let mut tags = own_tags.to_vec();
        let mut verdicts = Vec::with_capacity(self.layers.len());
        for layer in &self.layers {
            let mut verdict = layer.verdict(server, tool, &tags);
            tags = std::mem::take(&mut verdict.tags);
            verdicts.push(verdict);
        }
        let by_rule = |v: &Verdict| matches!(v.decided_by, DecidedBy::Rule { .. });
        let layer = verdicts
            .iter()
            .position(|verdict| !verdict.enabled)
            .or_else(|| verdicts.iter().position(by_rule))
            .unwrap_or(0);
        let (enabled, decided_by) = match verdicts.into_iter().nth(layer) {
            Some(verdict) => (verdict.enabled, verdict.decided_by),
            None => (true, DecidedBy::Default { whitelist: false }),
        };
        let verdict = Verdict {
            enabled,
            tags,
            decided_by,
        };
        LayerVerdict { layer, verdict }
    }

    /// Sets `enabled` and adds the rules' tags on every tool.
    pub fn apply(&self, tools: &mut [Tool]) {
        for tool in tools {
            let found = self.verdict(tool.id.server(), tool.id.tool(), &tool.tags);
            tool.enabled = found.verdict.enabled;
            tool.tags = found.verdict.tags;
        }
    }
}
