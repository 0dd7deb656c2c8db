//! Rules as files write them, compiled.

use std::sync::Arc;

use toolcrib_core::pattern::Pattern;
use toolcrib_core::pattern::rules::{Layers, Rule, RuleError, RuleSet, Strategy};

use crate::diagnostic::Diagnostic;
use crate::file::{ConfigFile, locate};
use crate::model::Server;
use crate::model::rule::{RuleStrategy, ServerRule, ToolPattern, ToolRule};

/// One layer for each file, the user's own first. Patterns that do not compile have been reported
/// at their place; here they match nothing, so that the rest can still be looked at and every rule
/// keeps its number.
///
/// What else keeps rules from compiling is an error at its place; the layer then denies everything.
pub fn compile(files: &[Arc<ConfigFile>], found: &mut Vec<Diagnostic>) -> Layers {
    let sets = files.iter().rev().map(|file| {
        rule_set(&file.settings.tool_rules, file.settings.rule_strategy).unwrap_or_else(|errors| {
            found.extend(errors.iter().map(|error| placed(error, file)));
            denies_everything()
        })
    });
    Layers::new(sets.collect())
}

fn placed(error: &RuleError, file: &ConfigFile) -> Diagnostic {
    let index = error.rule().to_string();
    let span = locate(&file.root, &["toolRules", &index, "server"])
        .filter(|_| !matches!(error, RuleError::TooMany { .. }))
        .or_else(|| locate(&file.root, &["toolRules", &index]))
        .unwrap_or_default();
    Diagnostic::error(format!("toolRules: {error}")).at(&file.source, span)
}

/// What stands in for rules that cannot be read: the safe outcome.
fn denies_everything() -> RuleSet {
    let rule = Rule {
        pattern: vec!["*".into()],
        server: None,
        enabled: Some(false),
        tags: Vec::new(),
    };
    RuleSet::compile(vec![rule], Strategy::DenyOverrides).unwrap_or_default()
}

fn rule_set(rules: &[ToolRule], strategy: RuleStrategy) -> Result<RuleSet, Vec<RuleError>> {
    let strategy = match strategy {
        RuleStrategy::FirstMatch => Strategy::FirstMatch,
        RuleStrategy::DenyOverrides => Strategy::DenyOverrides,
    };
    let rules = rules.iter().map(|rule| Rule {
        pattern: usable(&rule.pattern),
        server: rule.server.clone(),
        enabled: rule.enabled,
        tags: rule.tags.clone(),
    });
    RuleSet::compile(rules.collect(), strategy)
}

/// The patterns that compile. Where none is left, one that matches nothing: an empty list would
/// match everything.
fn usable(patterns: &[ToolPattern]) -> Vec<String> {
    let texts = patterns.iter().map(|p| p.0.clone());
    let usable: Vec<String> = texts.filter(|p| Pattern::new(p).is_ok()).collect();
    if usable.is_empty() && !patterns.is_empty() {
        return vec!["!*".into()];
    }
    usable
}

/// Switches servers off as the rules over their names say, by the same reading as tool rules.
pub fn apply_to_servers(rules: &[ServerRule], servers: &mut [Server], found: &mut Vec<Diagnostic>) {
    let rules: Vec<Rule> = rules
        .iter()
        .map(|rule| Rule {
            pattern: usable(&rule.pattern),
            server: None,
            enabled: Some(rule.enabled),
            tags: Vec::new(),
        })
        .collect();
    if rules.is_empty() {
        return;
    }
    let set = RuleSet::compile(rules, Strategy::FirstMatch).unwrap_or_else(|errors| {
        found.extend(
            errors
                .iter()
                .map(|error| Diagnostic::error(format!("serverRules: {error}"))),
        );
        denies_everything()
    });
    for server in servers {
        server.enabled &= set.verdict(&server.name, &server.name, &[]).enabled;
    }
}
