use toolcrib_core::pattern::rules::Rule;
use toolcrib_core::pattern::{Finding, GiveUp, PatternList, matches, matches_with_server};

fn check(patterns: &[&str], matching: &[&str], other: &[&str]) {
    for name in matching {
        assert!(matches(name, patterns).unwrap(), "{patterns:?} {name}");
    }
    for name in other {
        assert!(!matches(name, patterns).unwrap(), "{patterns:?} {name}");
    }
}

#[test]
fn an_empty_list_matches_everything() {
    check(&[], &["any_tool", ""], &[]);
}

#[test]
fn any_positive_and_no_negative() {
    let mixed = ["*github*", "/issue/", "!*delete*"];
    check(
        &mixed,
        &["create_issue", "github_x"],
        &["delete_issue", "jira", "github_delete"],
    );
}

#[test]
fn negatives_count_wherever_they_stand() {
    for patterns in [["!*delete*", "/issue/"], ["/issue/", "!*delete*"]] {
        check(&patterns, &["create_issue"], &["delete_issue", "create"]);
    }
    check(&["!*delete*", "*"], &["read_x"], &["delete_x"]);
}

#[test]
fn only_negatives_match_everything_else() {
    check(
        &["!*delete*", "!*remove*"],
        &["create_issue"],
        &["remove_x", "delete_x"],
    );
    check(&["!/delete/"], &["read_x", "DELETE_X"], &["delete_x"]);
    check(&["!!bang"], &["x", "bang"], &["!bang"]);
    check(&["!"], &["x"], &[""]);
}

#[test]
fn the_first_pattern_in_order_is_named() {
    let find = |patterns: &[&str], name| PatternList::new(patterns).unwrap().find(None, name);
    let mixed = ["!*x*", "a*", "*b"];
    assert_eq!(find(&mixed, "ab"), Finding::Matched(Some(1)));
    assert_eq!(find(&mixed, "cb"), Finding::Matched(Some(2)));
    assert_eq!(find(&mixed, "axb"), Finding::Excluded(0));
    assert_eq!(find(&mixed, "c"), Finding::Unmatched);
    assert_eq!(find(&["!x"], "y"), Finding::Matched(None));
    assert_eq!(find(&[], "y"), Finding::Matched(None));
}

#[test]
fn a_pattern_that_gives_up_counts_only_where_it_matters() {
    let bomb = r"/^(?:a(?=[ab])|a)*[^b]$/";
    let not_bomb = format!("!{bomb}");
    let name = format!("{}b", "a".repeat(60));
    let find = |patterns: &[&str]| PatternList::new(patterns).unwrap().find(None, &name);
    let steps = GiveUp::Steps;
    assert_eq!(find(&[bomb]), Finding::GaveUp(0, steps));
    assert_eq!(find(&[bomb, "a*"]), Finding::Matched(Some(1)));
    assert_eq!(find(&[bomb, "!a*"]), Finding::Excluded(1));
    assert_eq!(find(&[&not_bomb]), Finding::GaveUp(0, steps));
    assert_eq!(find(&["a*", &not_bomb]), Finding::GaveUp(1, steps));
    assert_eq!(find(&["x*", &not_bomb]), Finding::Unmatched);
    assert_eq!(find(&[bomb, &not_bomb]), Finding::GaveUp(0, steps));
    assert!(!matches(&name, &[bomb]).unwrap());
}

#[test]
fn a_rule_with_a_server_is_about_that_server_only() {
    let rule = Rule {
        pattern: vec!["*issue*".into()],
        server: Some("github".into()),
        ..Rule::default()
    };
    let test = |tool, server, rule| matches_with_server(tool, server, rule).unwrap();
    assert!(test("create_issue", "github", &rule));
    assert!(!test("create_issue", "gitlab", &rule));
    assert!(!test("create_pr", "github", &rule));
    let everywhere = Rule {
        server: None,
        ..rule.clone()
    };
    assert!(test("create_issue", "gitlab", &everywhere));
    let bad = Rule {
        pattern: vec!["/(/".into()],
        ..rule
    };
    assert!(matches_with_server("x", "y", &bad).is_err());
}
