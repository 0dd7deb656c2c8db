//! Patterns and rules, seen from outside.

mod explain;
mod globs;
mod lists;
mod properties;
mod regexes;
mod rules;

use toolcrib_core::pattern::rules::{Rule, RuleSet, Strategy};

/// A rule in the shorthand of the tables: `"server | pattern pattern | + or - or nothing | tag tag"`,
/// where a `|` that separates stands between blanks.
fn rule(text: &str) -> Rule {
    let mut fields: [Vec<String>; 4] = Default::default();
    let mut field = 0;
    for word in text.split_whitespace() {
        match word {
            "|" => field += 1,
            word => fields[field].push(word.to_owned()),
        }
    }
    let [server, pattern, enabled, tags] = fields;
    Rule {
        pattern,
        server: server.into_iter().next(),
        enabled: enabled.first().map(|sign| match sign.as_str() {
            "+" => true,
            "-" => false,
            other => panic!("{other} is neither + nor -"),
        }),
        tags,
    }
}

fn set_with(strategy: Strategy, rules: &[&str]) -> RuleSet {
    let rules = rules.iter().map(|text| rule(text)).collect();
    RuleSet::compile(rules, strategy).unwrap()
}

fn set(rules: &[&str]) -> RuleSet {
    set_with(Strategy::FirstMatch, rules)
}
