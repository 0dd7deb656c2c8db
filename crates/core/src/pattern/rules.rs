//! Tool rules: which tools are switched on, and which tags they get.
//!
//! Rules are read in order. The first that matches a tool and has `enabled` decides, except that a
//! rule which allows everything only sets the default, so that a later deny still wins. Any rule with
//! `enabled: true` makes "disabled" the default for what no rule matched. Tags come from every rule
//! that matches. A rule whose pattern gives up on a name disables the tool, whatever else it says:
//! what cannot be decided is denied.

mod explain;
mod layers;
mod server;
mod shadow;
mod verdict;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

pub use explain::{Explanation, RuleReport, Standing};
pub use layers::{LayerVerdict, Layers};
pub use server::ServerFilter;
pub use shadow::{Extent, Shadow, ShadowedTool};
pub use verdict::{DecidedBy, Verdict};

use super::bank::Bank;
use super::{Pattern, PatternError};
use crate::limits;

/// One rule as it is written in a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Which tools it is about, see [`super::PatternList`].
    pub pattern: Vec<String>,
    /// Which server's tools it is about; all servers' when absent. See [`ServerFilter`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Switches tools on or off; a rule without it only adds tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Tags for the tools it matches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// How several matching rules are weighed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// The first matching rule decides; a rule that allows everything only sets the default.
    #[default]
    FirstMatch,
    /// A matching deny wins over every allow, wherever it stands.
    DenyOverrides,
}

/// A rule that cannot be used. Rules and patterns count from 0.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// One of its patterns is not valid.
    #[error("rule {}: {error}", rule + 1)]
    Pattern {
        /// Which rule.
        rule: usize,
        /// Which of its patterns.
        index: usize,
        /// What is wrong with it.
        error: PatternError,
    },
    /// Its `server` is not valid.
    #[error("rule {}, server: {error}", rule + 1)]
    Server {
        /// Which rule.
        rule: usize,
        /// What is wrong with it.
        error: PatternError,
    },
    /// Its `server` is the empty text.
    #[error("rule {}: the server is empty, name one or leave `server` out", rule + 1)]
    EmptyServer {
        /// Which rule.
        rule: usize,
    },
    /// From this rule on there are too many rules or patterns, or they are too large together.
    #[error("rule {} is one too many: use fewer rules, fewer patterns or simpler ones", rule + 1)]
    TooMany {
        /// The first rule that is over the limit.
        rule: usize,
    },
}

impl RuleError {
    /// Which rule it is about, counted from 0.
    pub fn rule(&self) -> usize {
        match self {
            Self::Pattern { rule, .. }
            | Self::Server { rule, .. }
            | Self::EmptyServer { rule }
            | Self::TooMany { rule } => *rule,
        }
    }
}

/// Compiled rules.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    rules: Vec<Compiled>,
    bank: Bank,
    strategy: Strategy,
    /// Whether any rule enables something, so that the default is "disabled".
    whitelist: bool,
    /// Rules without a positive pattern, which can match any name.
    open: Vec<usize>,
    /// For each pattern of the bank, the rules that hold it as a positive one.
    rules_of: Vec<Vec<usize>>,
}

#[derive(Clone, Debug)]
struct Compiled {
    source: Rule,
    server: ServerFilter,
    /// The patterns in order: their number in the bank, and whether this rule negates them.
    patterns: Vec<(usize, bool)>,
    /// Whether it matches every tool of its servers.
    everything: bool,
}

impl Compiled {
    fn positives(&self) -> impl Iterator<Item = usize> {
        let positive = |(number, negated): &(usize, bool)| (!negated).then_some(*number);
        self.patterns.iter().filter_map(positive)
    }

    fn negatives(&self) -> impl Iterator<Item = usize> {
        let negative = |(number, negated): &(usize, bool)| negated.then_some(*number);
        self.patterns.iter().filter_map(negative)
    }

    /// A rule that allows everything, and so only sets the default.
    fn sets_default(&self) -> bool {
        self.everything && self.source.enabled == Some(true)
    }
}

impl RuleSet {
    /// Compiles rules; every rule that is wrong is reported.
    pub fn compile(rules: Vec<Rule>, strategy: Strategy) -> Result<Self, Vec<RuleError>> {
        let mut compiler = Compiler::default();
        for (index, rule) in rules.into_iter().enumerate() {
            compiler.add(index, rule);
            if compiler.is_over_limit() {
                compiler.errors.push(RuleError::TooMany { rule: index });
                break;
            }
        }
        compiler.finish(strategy)
    }

    /// The rules as they were given.
    pub fn rules(&self) -> impl ExactSizeIterator<Item = &Rule> {
        self.rules.iter().map(|rule| &rule.source)
    }

    /// How rules are weighed.
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// Each server that a rule names outright, with the rule's number counted from 0: a name that no
    /// server has is a mistake worth reporting.
    pub fn named_servers(&self) -> impl Iterator<Item = (usize, &str)> {
        self.rules
            .iter()
            .enumerate()
            .filter_map(|(index, rule)| Some((index, rule.server.exact()?)))
    }
}

#[derive(Default)]
struct Compiler {
    rules: Vec<Compiled>,
    patterns: Vec<Pattern>,
    numbers: HashMap<String, usize>,
    pattern_count: usize,
    steps: usize,
    errors: Vec<RuleError>,
}

impl Compiler {
    fn is_over_limit(&self) -> bool {
        self.rules.len() > limits::RULES_MAX
            || self.pattern_count > limits::RULE_SET_PATTERNS_MAX
            || self.steps > limits::RULE_SET_STEPS_MAX
    }

    fn add(&mut self, rule: usize, source: Rule) {
        let server = self.server(rule, source.server.as_deref());
        let mut patterns = Vec::with_capacity(source.pattern.len());
        for (index, text) in source.pattern.iter().enumerate() {
            self.pattern_count += 1;
            if self.is_over_limit() {
                break;
            }
            match self.number(text) {
                Ok(number) => patterns.push((number, text.starts_with('!'))),
                Err(error) => self.errors.push(RuleError::Pattern { rule, index, error }),
            }
        }
        let matches_all = |(number, _): &(usize, bool)| self.patterns[*number].everything;
        let everything = patterns.iter().all(|(_, negated)| !negated)
            && (source.pattern.is_empty() || patterns.iter().any(matches_all));
        self.rules.push(Compiled {
            source,
            server,
            patterns,
            everything,
        });
    }

    fn server(&mut self, rule: usize, text: Option<&str>) -> ServerFilter {
        let error = match text.map(ServerFilter::new) {
            None => return ServerFilter::any(),
            Some(Ok(_)) if text == Some("") => RuleError::EmptyServer { rule },
            Some(Ok(filter)) => return filter,
            Some(Err(error)) => RuleError::Server { rule, error },
        };
        self.errors.push(error);
        ServerFilter::any()
    }

    /// The number of a pattern in the bank, where it is kept once and without its `!`.
    fn number(&mut self, text: &str) -> Result<usize, PatternError> {
        let bare = text.strip_prefix('!').unwrap_or(text);
        if let Some(number) = self.numbers.get(bare) {
            return Ok(*number);
        }
        let pattern = Pattern::new(text)?;
        self.steps += pattern.steps;
        self.patterns.push(pattern);
        self.numbers
            .insert(bare.to_owned(), self.patterns.len() - 1);
        Ok(self.patterns.len() - 1)
    }

    fn finish(self, strategy: Strategy) -> Result<RuleSet, Vec<RuleError>> {
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        let mut rules_of = vec![Vec::new(); self.patterns.len()];
        let mut open = Vec::new();
        for (index, rule) in self.rules.iter().enumerate() {
            if rule.positives().next().is_none() {
                open.push(index);
            }
            rule.positives()
                .for_each(|number| rules_of[number].push(index));
        }
        let enables = |rule: &Compiled| rule.source.enabled == Some(true);
        Ok(RuleSet {
            whitelist: self.rules.iter().any(enables),
            rules: self.rules,
            bank: Bank::new(self.patterns),
            strategy,
            open,
            rules_of,
        })
    }
}
