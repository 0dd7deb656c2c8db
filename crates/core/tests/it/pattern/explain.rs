use toolcrib_core::pattern::rules::{Extent, RuleSet, Standing, Strategy};

use Standing::{Decided, GaveUp, NotMatched, Overruled, Tagged, TooLate};

use super::{set, set_with};

fn check_explained(rules: &RuleSet, tool: &str, expected: &[(Standing, &str)]) {
    let explanation = rules.explain("g", tool);
    let found: Vec<_> = explanation
        .rules
        .iter()
        .map(|report| (report.standing, report.reason.as_str()))
        .collect();
    assert_eq!(found, expected, "{tool}");
    assert_eq!(explanation.verdict, rules.verdict("g", tool, &[]));
}

#[test]
fn every_rule_says_what_it_did_and_why() {
    let rules = set(&[
        "| * | +",
        "h | * | -",
        "| *issue* | | t",
        "| *delete* !*safe* | -",
        "| !x | -",
        "| a b | +",
        "| | -",
        "| /z/ | -",
    ]);
    check_explained(
        &rules,
        "delete_issue",
        &[
            (Overruled, "`*` matches, but rule 4 weighs more"),
            (NotMatched, "it is for server `h`"),
            (Tagged, "`*issue*` matches"),
            (Decided, "`*delete*` matches"),
            (
                TooLate,
                "nothing excludes it, but rule 4 had decided already",
            ),
            (NotMatched, "none of its patterns matches"),
            (
                TooLate,
                "it has no pattern and matches everything, but rule 4 had decided already",
            ),
            (NotMatched, "`/z/` does not match"),
        ],
    );
    let safe = rules.explain("g", "safe_delete");
    assert_eq!(safe.rules[3].reason, "`!*safe*` excludes it");
    assert_eq!(safe.rules[4].standing, Decided);
}

#[test]
fn an_allow_that_sets_the_default_can_decide() {
    let rules = set(&["| *issue* | -", "| * | +", "g | * | +"]);
    check_explained(
        &rules,
        "x",
        &[
            (NotMatched, "`*issue*` does not match"),
            (Decided, "`*` matches"),
            (TooLate, "`*` matches, but rule 2 had decided already"),
        ],
    );
}

#[test]
fn deny_overrides_explains_itself() {
    let rules = set_with(
        Strategy::DenyOverrides,
        &["| a* | +", "| *b | -", "| ab | -"],
    );
    check_explained(
        &rules,
        "ab",
        &[
            (Overruled, "`a*` matches, but rule 2 weighs more"),
            (Decided, "`*b` matches"),
            (TooLate, "`ab` matches, but rule 2 had decided already"),
        ],
    );
    assert_eq!(rules.explain("g", "ac").rules[0].standing, Decided);
    assert_eq!(rules.explain("g", "ac").rules[1].standing, NotMatched);
}

#[test]
fn a_rule_that_gave_up_is_explained() {
    let rules = set(&["| !x | +", "| *delete* | -", "g* | y\nz | -"]);
    let found = rules.explain("g", "a\nb");
    assert_eq!(found.rules[0].standing, Overruled);
    assert_eq!(
        found.rules[0].reason,
        "nothing excludes it, but rule 2 weighs more"
    );
    assert_eq!(found.rules[1].standing, GaveUp);
    assert_eq!(
        found.rules[1].reason,
        "`*delete*` could not be decided: the name holds a line break"
    );
    assert_eq!(found.rules[2].standing, NotMatched);
    let server = set(&["g* | x | -"]).explain("g\n", "x");
    assert_eq!(
        server.rules[0].reason,
        "`g*` could not be decided: the name holds a line break"
    );
}

#[test]
fn an_explanation_has_a_stable_json_form() {
    let explanation = set(&["| a | +", "| a | -"]).explain("g", "a");
    let json = serde_json::to_value(&explanation).unwrap();
    let expected = serde_json::json!({
        "server": "g",
        "tool": "a",
        "verdict": {
            "enabled": true,
            "tags": [],
            "decided_by": {"rule": {"rule": 0, "pattern": "a"}},
        },
        "rules": [
            {"rule": 0, "standing": "decided", "reason": "`a` matches"},
            {
                "rule": 1,
                "standing": "too_late",
                "reason": "`a` matches, but rule 1 had decided already",
                "never_because_of": 0,
            },
        ],
    });
    assert_eq!(json, expected);
}

#[test]
fn a_deny_in_vain_names_its_tools_and_the_rule_in_force() {
    let rules = set(&[
        "github | *issue* | +",
        "filesystem | *read* *list* | +",
        "| *delete* *remove* *rm* | -",
    ]);
    let tools = [
        ("github", "delete_issue"),
        ("github", "create_issue"),
        ("filesystem", "remove_file"),
        ("filesystem", "list_rm"),
    ];
    let shadows = rules.shadowed(tools);
    assert_eq!(shadows.len(), 1);
    let shadow = &shadows[0];
    assert_eq!(
        (shadow.rule, shadow.extent, shadow.harmless),
        (2, Extent::SomeTools, false)
    );
    assert_eq!(shadow.by, [0, 1]);
    let names: Vec<_> = shadow
        .tools
        .iter()
        .map(|t| (t.id.to_string(), t.by))
        .collect();
    assert_eq!(
        names,
        [
            ("filesystem:list_rm".to_owned(), 1),
            ("github:delete_issue".to_owned(), 0)
        ]
    );

    let mut backwards = tools;
    backwards.reverse();
    assert_eq!(rules.shadowed(backwards), shadows);

    let wholly = rules.shadowed([("github", "delete_issue")]);
    assert_eq!(wholly[0].extent, Extent::EveryTool);
    let json = serde_json::to_value(&wholly[0]).unwrap();
    assert_eq!(json["tools"][0]["id"], "github:delete_issue");
    assert_eq!(json["extent"], "every_tool");
}

#[test]
fn nothing_is_shadowed_where_the_deny_wins() {
    let tools = [("g", "delete_issue"), ("g", "create_issue")];
    for rules in [
        set(&["| * | +", "| *delete* | -"]),
        set(&["| *delete* | -", "| *issue* | +"]),
        set(&["| create* | +", "| *delete* | -"]),
        set_with(
            Strategy::DenyOverrides,
            &["| *issue* | +", "| *delete* | -"],
        ),
        set(&["| *issue* | | t", "| *issue* | - "]),
    ] {
        assert_eq!(rules.shadowed(tools), []);
    }
}

/// Each row: the rules, and for the last rule the rule that covers it.
fn check_covered(strategy: Strategy, rules: &[&str], expected: Option<usize>) {
    let set = set_with(strategy, rules);
    assert_eq!(set.covered_by(rules.len() - 1), expected, "{rules:?}");
    let never = set
        .shadowed([])
        .into_iter()
        .find(|shadow| shadow.rule + 1 == rules.len());
    assert_eq!(never.map(|shadow| shadow.by[0]), expected, "{rules:?}");
}

#[test]
fn a_rule_that_can_never_decide_is_found_without_tools() {
    for (rules, expected) in [
        (&["| a* | +", "| a* | -"][..], Some(0)),
        (&["| a* | +", "g | a* | -"], Some(0)),
        (&["g | a* | +", "| a* | -"], None),
        (&["g | a* | +", "h | a* | -"], None),
        (&["g* | a* | +", "github | a* | -"], Some(0)),
        (&["g* | a* | +", "jira | a* | -"], None),
        (&["g* | a* | +", "gh* | a* | -"], None),
        (&["| * | -", "| create_* | +"], Some(0)),
        (&["| | -", "| create_* | +"], Some(0)),
        (&["| * | -", "| !x | +"], Some(0)),
        (&["| !x | -", "| !x !y | +"], Some(0)),
        (&["| !x !y | -", "| !x | +"], None),
        (&["| *issue* | +", "| *_issue | -"], Some(0)),
        (&["| *issue* | +", "| create_issue | -"], Some(0)),
        (&["| *_issue | +", "| *issue* | -"], None),
        (&["| *issue* *pr* | +", "| issue_* a_pr_b | -"], Some(0)),
        (&["| *issue* | +", "| issue_* pr | -"], None),
        (&["| *issue* !*x* | +", "| issue_* | -"], None),
        (&["| *issue* !*x* | +", "| issue_* !*x* | -"], Some(0)),
        (&["| *issue* !xy | +", "| issue_* !*x* | -"], Some(0)),
        (&["| /issue/ | +", "| /issue/ !y | -"], Some(0)),
        (&["| /issue/ | +", "| *issue* | -"], None),
        (&["| // | -", "| x | +"], Some(0)),
        (&["| *:a* | +", "| *:ab* | -"], Some(0)),
        (&["| a* | +", "| *:a* | -"], None),
        (&["| {a,b} | +", "| {a,b} | -"], Some(0)),
        (&["| * | +", "| a | -"], None),
        (&["| * | +", "| a | +"], None),
        (&["| * | +", "| * | +"], Some(0)),
        (&["| a | +", "| a"], None),
        (&["| a", "| a | +"], None),
        (&["| ?* | -", "| a? | +"], None),
    ] {
        check_covered(Strategy::FirstMatch, rules, expected);
    }
    for (rules, expected) in [
        (&["| a* | +", "| ab | -"][..], None),
        (&["| a* | -", "| ab | +"], Some(0)),
        (&["| a* | -", "| ab | -"], Some(0)),
        (&["| * | +", "| ab | +"], Some(0)),
    ] {
        check_covered(Strategy::DenyOverrides, rules, expected);
    }
    let later = set_with(Strategy::DenyOverrides, &["| ab | +", "| a* | -"]);
    assert_eq!(later.covered_by(0), Some(1));
    assert_eq!(later.covered_by(9), None);
}

#[test]
fn a_repeated_rule_is_harmless_and_a_contradicted_one_is_not() {
    let extent = |rules: &[&str]| {
        let shadows = set(rules).shadowed([]);
        assert_eq!(shadows.len(), 1);
        assert_eq!(shadows[0].extent, Extent::Never);
        shadows[0].harmless
    };
    assert!(extent(&["| a* | -", "| ab | -"]));
    assert!(!extent(&["| a* | +", "| ab | -"]));
}
