//! What changed between two configurations, so that the rest can keep what did not.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::load::Config;
use crate::model::Server;
use crate::model::rule::{RuleStrategy, ToolRule};

/// The difference between a configuration and the one before it. Names are sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Servers that are new.
    pub added: Vec<String>,
    /// Servers that are gone.
    pub removed: Vec<String>,
    /// Servers that are reached or treated in another way.
    pub changed: Vec<String>,
    /// Servers that stayed as they were.
    pub unchanged: usize,
    /// Whether the rules over tools changed.
    pub rules: bool,
    /// Whether any other setting changed.
    pub settings: bool,
}

impl Difference {
    /// What leads from `before` to `after`.
    pub fn between(before: &Config, after: &Config) -> Self {
        let old = by_name(&before.servers);
        let new = by_name(&after.servers);
        let mut difference = Self {
            rules: !rules(before).eq(rules(after)),
            settings: !same_settings(before, after),
            ..Self::default()
        };
        for (name, server) in &new {
            match old.get(name) {
                None => difference.added.push((*name).to_owned()),
                Some(other) if same_server(other, server) => difference.unchanged += 1,
                Some(_) => difference.changed.push((*name).to_owned()),
            }
        }
        difference.removed = old
            .keys()
            .filter(|name| !new.contains_key(*name))
            .map(|name| (*name).to_owned())
            .collect();
        difference
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty()
            && self.removed.is_empty()
            && self.changed.is_empty()
            && !self.rules
            && !self.settings
    }
}

/// The rules of every layer: those of the user's own file hold beside a project's.
fn rules(config: &Config) -> impl Iterator<Item = (&[ToolRule], RuleStrategy)> {
    config.files.iter().map(|file| {
        let settings = &file.settings;
        (settings.tool_rules.as_slice(), settings.rule_strategy)
    })
}

fn by_name(servers: &[Server]) -> BTreeMap<&str, &Server> {
    servers.iter().map(|s| (s.name.as_str(), s)).collect()
}

/// Equal in everything but the place of the definition: moving it down a line changes nothing.
fn same_server(a: &Server, b: &Server) -> bool {
    let mut moved = a.clone();
    moved.origin = b.origin.clone();
    moved == *b
}

/// Equal settings but for servers and rules, which are compared on their own.
fn same_settings(before: &Config, after: &Config) -> bool {
    let mut moved = before.settings.clone();
    moved.servers = after.settings.servers.clone();
    moved.tool_rules.clone_from(&after.settings.tool_rules);
    moved.rule_strategy = after.settings.rule_strategy;
    moved == after.settings
}
