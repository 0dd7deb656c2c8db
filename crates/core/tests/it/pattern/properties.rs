use proptest::prelude::*;
use toolcrib_core::catalog::{Tool, ToolId};
use toolcrib_core::pattern::rules::{Layers, Rule, RuleSet, Strategy as Weighing};
use toolcrib_core::pattern::{Outcome, Pattern};

/// Matches a glob of `*`, `?`, `[…]` and `{…}` the slow and obvious way.
fn naive(pattern: &[char], name: &[char]) -> bool {
    let Some((first, rest)) = pattern.split_first() else {
        return name.is_empty();
    };
    match first {
        '*' => (0..=name.len()).any(|skip| naive(rest, &name[skip..])),
        '?' => !name.is_empty() && naive(rest, &name[1..]),
        '[' => {
            let end = rest.iter().position(|c| *c == ']').unwrap();
            let (members, negated) = match &rest[..end] {
                ['!', members @ ..] => (members, true),
                members => (members, false),
            };
            let member = name
                .first()
                .map(|c| members.contains(&c.to_ascii_lowercase()));
            member.is_some_and(|member| member != negated) && naive(&rest[end + 1..], &name[1..])
        }
        '{' => {
            let end = rest.iter().position(|c| *c == '}').unwrap();
            rest[..end].split(|c| *c == ',').any(|branch| {
                let unfolded: Vec<char> = branch.iter().chain(&rest[end + 1..]).copied().collect();
                naive(&unfolded, name)
            })
        }
        c => {
            let same = name.first().is_some_and(|n| n.eq_ignore_ascii_case(c));
            same && naive(rest, &name[1..])
        }
    }
}

fn glob() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => "[abAB_]{1,2}",
        3 => Just("*".to_owned()),
        1 => Just("?".to_owned()),
        1 => "\\[!?[ab_]{1,2}\\]",
        1 => "\\{[ab*?]{0,2},[ab_]{0,2}\\}",
    ];
    prop::collection::vec(part, 0..7).prop_map(|parts| parts.concat())
}

fn pattern() -> impl Strategy<Value = String> {
    let regex = prop_oneof![
        Just("/^a/"),
        Just("/b$/"),
        Just("/(a|b)_/i"),
        Just("/^(?!a)/")
    ];
    let body =
        prop_oneof![3 => glob(), 1 => regex.prop_map(str::to_owned), 1 => Just("*".to_owned())];
    (prop::bool::weighted(0.2), body)
        .prop_map(|(negated, body)| if negated { format!("!{body}") } else { body })
}

fn rule() -> impl Strategy<Value = Rule> {
    (
        prop::collection::vec(pattern(), 0..3),
        prop::option::of(prop_oneof![Just("g"), Just("h"), Just("*")]),
        prop::option::of(any::<bool>()),
        prop::collection::vec("[xyz]", 0..2),
    )
        .prop_map(|(pattern, server, enabled, tags)| Rule {
            pattern,
            server: server.map(str::to_owned),
            enabled,
            tags,
        })
}

fn rules() -> impl Strategy<Value = Vec<Rule>> {
    prop::collection::vec(rule(), 0..6)
}

fn tools() -> impl Strategy<Value = Vec<Tool>> {
    let tool = ("[gh]", "[abAB_]{1,5}").prop_map(|(server, name)| {
        Tool::new(ToolId::new(server, name), "", serde_json::Value::Null)
    });
    prop::collection::vec(tool, 1..12)
}

fn compile(rules: &[Rule], strategy: Weighing) -> RuleSet {
    RuleSet::compile(rules.to_vec(), strategy).unwrap()
}

fn strategy() -> impl Strategy<Value = Weighing> {
    prop_oneof![Just(Weighing::FirstMatch), Just(Weighing::DenyOverrides)]
}

fn enabled(rules: &RuleSet, tool: &Tool) -> bool {
    rules.verdict(tool.id.server(), tool.id.tool(), &[]).enabled
}

/// Decision D11 and D12 read straight from the text, one pattern at a time.
fn naive_verdict(rules: &[Rule], strategy: Weighing, tool: &Tool) -> (bool, Vec<String>) {
    let matching: Vec<&Rule> = rules
        .iter()
        .filter(|rule| {
            let server = rule.server.as_deref();
            server.is_none_or(|server| server == "*" || server == tool.id.server())
                && toolcrib_core::pattern::matches(tool.id.tool(), &rule.pattern).unwrap()
        })
        .collect();
    let allows_all = |rule: &Rule| {
        let stars = |text: &String| !text.is_empty() && text.chars().all(|c| c == '*');
        let negatives = rule.pattern.iter().any(|text| text.starts_with('!'));
        let all = rule.pattern.is_empty() || rule.pattern.iter().any(stars);
        rule.enabled == Some(true) && all && !negatives
    };
    let first = |test: &dyn Fn(&Rule) -> bool| matching.iter().find(|rule| test(rule));
    let decided = match strategy {
        Weighing::FirstMatch => first(&|rule| rule.enabled.is_some() && !allows_all(rule))
            .or_else(|| first(&allows_all)),
        Weighing::DenyOverrides => first(&|rule| rule.enabled == Some(false))
            .or_else(|| first(&|rule| rule.enabled == Some(true))),
    };
    let default = !rules.iter().any(|rule| rule.enabled == Some(true));
    let mut tags: Vec<String> = Vec::new();
    for tag in matching.iter().flat_map(|rule| &rule.tags) {
        if !tags.contains(tag) {
            tags.push(tag.clone());
        }
    }
    (
        decided.map_or(default, |rule| rule.enabled == Some(true)),
        tags,
    )
}

proptest! {
    #[test]
    fn a_glob_equals_the_naive_matcher(pattern in glob(), name in "[abAB_]{0,6}") {
        let chars: Vec<char> = pattern.chars().collect();
        let name_chars: Vec<char> = name.chars().collect();
        let outcome = Pattern::new(&pattern).unwrap().test(None, &name);
        let folded: Vec<char> = chars.iter().map(char::to_ascii_lowercase).collect();
        prop_assert_eq!(outcome == Outcome::Yes, naive(&folded, &name_chars), "{} {}", pattern, name);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[!/a*?{}()|+.,:<=>k^$1dbwuxpc0\\[\\]\\\\-]{0,24}[gi/]?") {
        if let Err(error) = Pattern::new(&text) {
            prop_assert!(error.offset <= text.chars().count(), "{}", error);
        }
    }

}

// Compiling rule sets takes most of the time of these.
proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_rule_set_equals_its_rules_read_one_by_one(rules in rules(), weighing in strategy(), tools in tools()) {
        let set = compile(&rules, weighing);
        for tool in &tools {
            let verdict = set.verdict(tool.id.server(), tool.id.tool(), &[]);
            let expected = naive_verdict(&rules, weighing, tool);
            prop_assert_eq!((verdict.enabled, verdict.tags), expected);
        }
    }

    #[test]
    fn verdicts_do_not_depend_on_the_order_of_tools(rules in rules(), weighing in strategy(), tools in tools()) {
        let set = compile(&rules, weighing);
        let mut forwards = tools.clone();
        set.apply(&mut forwards);
        let mut backwards = tools.clone();
        backwards.reverse();
        set.apply(&mut backwards);
        backwards.reverse();
        prop_assert_eq!(&forwards, &backwards);
        for (tool, applied) in tools.iter().zip(&forwards) {
            prop_assert_eq!(enabled(&set, tool), applied.enabled);
        }
        let pairs = |tools: &[Tool]| -> Vec<(String, String)> {
            tools.iter().map(|t| (t.id.server().to_owned(), t.id.tool().to_owned())).collect()
        };
        let mut names = pairs(&tools);
        let shadows = set.shadowed(names.iter().map(|(s, t)| (s.as_str(), t.as_str())));
        names.reverse();
        prop_assert_eq!(shadows, set.shadowed(names.iter().map(|(s, t)| (s.as_str(), t.as_str()))));
    }

    #[test]
    fn a_deny_at_the_end_never_enables(rules in rules(), weighing in strategy(), tools in tools(), deny in rule()) {
        let before = compile(&rules, weighing);
        let mut more = rules.clone();
        more.push(Rule { enabled: Some(false), ..deny });
        let after = compile(&more, weighing);
        for tool in &tools {
            prop_assert!(enabled(&before, tool) || !enabled(&after, tool));
        }
    }

    #[test]
    fn removing_a_deny_never_disables_when_denies_override(rules in rules(), tools in tools(), at in any::<prop::sample::Index>()) {
        let weighing = Weighing::DenyOverrides;
        let denies: Vec<usize> = (0..rules.len()).filter(|i| rules[*i].enabled == Some(false)).collect();
        prop_assume!(!denies.is_empty());
        let mut fewer = rules.clone();
        fewer.remove(denies[at.index(denies.len())]);
        let (all, fewer) = (compile(&rules, weighing), compile(&fewer, weighing));
        for tool in &tools {
            prop_assert!(!enabled(&all, tool) || enabled(&fewer, tool));
        }
    }

    #[test]
    fn when_denies_override_the_order_of_rules_does_not_matter(rules in rules(), tools in tools()) {
        let mut reversed = rules.clone();
        reversed.reverse();
        let (one, other) = (compile(&rules, Weighing::DenyOverrides), compile(&reversed, Weighing::DenyOverrides));
        for tool in &tools {
            prop_assert_eq!(enabled(&one, tool), enabled(&other, tool));
        }
    }

    #[test]
    fn a_covered_rule_can_be_taken_out(rules in rules(), weighing in strategy(), tools in tools()) {
        let set = compile(&rules, weighing);
        for (index, rule) in rules.iter().enumerate() {
            if set.covered_by(index).is_none() {
                continue;
            }
            // Without `enabled` it still tags, and whether there is a whitelist is not its doing.
            let mut fewer = rules.clone();
            fewer[index].enabled = None;
            let whitelist = |rules: &[Rule]| rules.iter().any(|rule| rule.enabled == Some(true));
            if whitelist(&rules) != whitelist(&fewer) {
                continue;
            }
            let without = compile(&fewer, weighing);
            for tool in &tools {
                prop_assert_eq!(enabled(&set, tool), enabled(&without, tool), "{:?}", rule);
            }
        }
    }

    #[test]
    fn another_layer_never_enables(first in rules(), second in rules(), tools in tools()) {
        let first = compile(&first, Weighing::FirstMatch);
        let second = compile(&second, Weighing::FirstMatch);
        let both = Layers::new(vec![first.clone(), second.clone()]);
        for tool in &tools {
            let verdict = both.verdict(tool.id.server(), tool.id.tool(), &[]).verdict;
            prop_assert_eq!(verdict.enabled, enabled(&first, tool) && enabled(&second, tool));
        }
    }
}
