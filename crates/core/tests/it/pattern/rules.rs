use toolcrib_core::catalog::{Tool, ToolId};
use toolcrib_core::pattern::rules::{
    DecidedBy, Layers, Rule, RuleError, RuleSet, ServerFilter, Strategy,
};
use toolcrib_core::pattern::{GiveUp, Outcome, Problem};

use super::{rule, set, set_with};

/// Expectations are `"server:tool + tag tag"`, or `-` for disabled.
fn check_set(rules: &RuleSet, expected: &[&str]) {
    for line in expected {
        let mut words = line.split_whitespace();
        let id = ToolId::parse(words.next().unwrap()).unwrap();
        let enabled = words.next() == Some("+");
        let tags: Vec<&str> = words.collect();
        let tool = id.tool().replace('~', " ");
        let verdict = rules.verdict(id.server(), &tool, &[]);
        assert_eq!(
            (verdict.enabled, verdict.tags),
            (enabled, tags.iter().map(ToString::to_string).collect()),
            "{line}"
        );
    }
}

fn check(rules: &[&str], expected: &[&str]) {
    check_set(&set(rules), expected);
}

#[test]
fn example_1_a_lone_star_enables_everything() {
    check(&["| * | +"], &["github:create_issue +", "any:delete_all +"]);
}

#[test]
fn example_2_selected_tools_of_selected_servers() {
    check(
        &[
            "github | *issue* | + | github issues",
            "filesystem | *read* *list* | + | filesystem safe",
            "| *delete* *remove* *rm* | - | dangerous",
        ],
        &[
            "github:create_issue + github issues",
            "github:delete_issue + github issues dangerous",
            "github:list_repos -",
            "filesystem:read_file + filesystem safe",
            "filesystem:list_directory + filesystem safe",
            "filesystem:write_file -",
            "filesystem:remove_file - dangerous",
            "jira:list_tickets -",
        ],
    );
}

#[test]
fn example_3_everything_but_the_dangerous() {
    check(
        &["| * | +", "| *delete* *destroy* | -"],
        &[
            "github:create_issue +",
            "github:delete_repo -",
            "jira:destroy -",
            "jira:create +",
        ],
    );
}

#[test]
fn example_4_regular_expressions() {
    check(
        &[
            "github | /^(create|update)_/ | + | github write",
            r"filesystem | /\b(read|list|get)\b/i | + | filesystem read",
            "| /(delete|remove|destroy)/i | - | dangerous",
        ],
        &[
            "github:create_issue + github write",
            "github:create_and_delete + github write dangerous",
            "github:list_repos -",
            "filesystem:read_file -",
            "filesystem:Read~file + filesystem read",
            "filesystem:DELETE_file - dangerous",
        ],
    );
}

#[test]
fn the_first_matching_rule_decides() {
    check(
        &["| create_* | +", "| *issue* | -"],
        &["g:create_issue +", "g:list_issue -", "g:x -"],
    );
    check(
        &["| *issue* | -", "| create_* | +"],
        &["g:create_issue -", "g:create_pr +"],
    );
    check(&["| create_* | +", "| * | -"], &["g:create_x +", "g:y -"]);
    check(&["| *delete* | -", "| * | +"], &["g:delete_x -", "g:x +"]);
}

#[test]
fn a_rule_that_allows_everything_only_sets_the_default() {
    for allow in [
        "| * | +",
        "g | * | +",
        "| | +",
        "| ** | +",
        "| // | +",
        "| /.*/ | +",
        "| /^.+$/ | +",
        "| *:* | +",
        "| x* * | +",
        "* | * | +",
    ] {
        check(&[allow, "| *delete* | -"], &["g:delete_x -", "g:read +"]);
    }
    check(
        &["| * | +", "| create_* | +", "| *issue* | -"],
        &["g:create_issue +", "g:issue -"],
    );
    check(
        &["| * !keep | +", "| *delete* | -"],
        &["g:delete_x +", "g:keep -"],
    );
    check(&["g | * | +"], &["g:x +", "h:x -"]);
}

#[test]
fn a_whitelist_disables_what_no_rule_matches() {
    check(&["| *create* | +"], &["g:create_x +", "g:delete_x -"]);
    check(&["| *create* | + ", "| *x* | | t"], &["g:x - t"]);
}

#[test]
fn without_a_whitelist_tools_are_enabled() {
    check(&[], &["g:anything +"]);
    check(&["| *delete* | -"], &["g:create_x +", "g:delete_x -"]);
    check(&["| !*delete* | -"], &["g:delete_x +", "g:create_x -"]);
}

#[test]
fn a_rule_without_enabled_only_adds_tags() {
    check(&["| * | | all", "| a | -"], &["g:a - all", "g:b + all"]);
}

#[test]
fn tags_come_from_every_matching_rule_once_each() {
    let rules = set(&["| * | | y x", "| a | | y z", "g | a | | g"]);
    let own = ["x".to_owned(), "x".to_owned()];
    let verdict = rules.verdict("g", "a", &own);
    assert_eq!(verdict.tags, ["x", "y", "z", "g"]);
    check(
        &[
            "| *create* | | create",
            "| *issue* | | issues",
            "github | * | | github",
        ],
        &[
            "github:create_issue + create issues github",
            "jira:create + create",
        ],
    );
}

#[test]
fn mixed_patterns_in_a_rule() {
    check(
        &["| *github* /issue/ !*delete* | + | github safe"],
        &[
            "github:github_create_issue + github safe",
            "github:github_delete_issue -",
            "x:issue_y + github safe",
        ],
    );
}

#[test]
fn rules_can_be_for_one_server() {
    check(
        &[
            "github | *issue* *pr* | +",
            "filesystem | *delete* *rm* *remove* | -",
        ],
        &[
            "github:create_pr +",
            "github:star -",
            "filesystem:rm -",
            "filesystem:read -",
            "jira:issue -",
        ],
    );
}

#[test]
fn the_server_is_an_exact_name_or_a_pattern() {
    let test = |filter: &str, server| ServerFilter::new(filter).unwrap().test(server);
    for (filter, server, expected) in [
        ("github", "github", Outcome::Yes),
        ("github", "GitHub", Outcome::No),
        ("github", "github2", Outcome::No),
        ("git*", "GitHub", Outcome::Yes),
        ("git*", "legit", Outcome::No),
        ("{a,b}", "b", Outcome::Yes),
        ("odd[name]", "odd[name]", Outcome::Yes),
        ("!git*", "jira", Outcome::Yes),
        ("!git*", "github", Outcome::No),
        ("/^git/", "github", Outcome::Yes),
        ("/^git/", "GitHub", Outcome::No),
        ("a/b", "a/b", Outcome::Yes),
        ("git*", "git\nhub", Outcome::GaveUp(GiveUp::LineBreak)),
    ] {
        assert_eq!(test(filter, server), expected, "{filter} {server}");
    }
    assert_eq!(ServerFilter::any().test("x"), Outcome::Yes);
    let rules = set(&["github | *", "git* | *", "| *", "jira | * | -"]);
    let named: Vec<_> = rules.named_servers().collect();
    assert_eq!(named, [(0, "github"), (3, "jira")]);
}

#[test]
fn deny_overrides_lets_every_deny_win() {
    let rules = |rules: &[&str]| set_with(Strategy::DenyOverrides, rules);
    check_set(
        &rules(&["| create_* | +", "| *issue* | -"]),
        &["g:create_issue -", "g:create_pr +", "g:x -"],
    );
    check_set(
        &rules(&["| create_* | +", "| * | -"]),
        &["g:create_x -", "g:y -"],
    );
    check_set(&rules(&["| x | -"]), &["g:x -", "g:y +"]);
}

#[test]
fn a_verdict_says_who_decided() {
    let rules = set(&["| *issue* | | t", "| *delete* | -", "| !x | -", "| x | +"]);
    for (tool, words) in [
        ("delete_x", "disabled by rule 2: `*delete*` matches"),
        ("other", "disabled by rule 3: nothing excludes it"),
        ("x", "enabled by rule 4: `x` matches"),
    ] {
        assert_eq!(rules.verdict("g", tool, &[]).to_string(), words);
    }
    let default = |rules: &[&str]| set(rules).verdict("g", "other", &[]).to_string();
    assert_eq!(
        default(&["| x | -"]),
        "enabled: no rule decides, and tools are enabled by default"
    );
    assert_eq!(
        default(&["| x | +"]),
        "disabled: no rule decides, and where a rule enables tools the others are disabled"
    );
}

const BOMB: &str = "/^(?:a(?=[ab])|a)*[^b]$/";

#[test]
fn a_pattern_that_gives_up_denies_in_whatever_rule_it_stands() {
    let name = format!("{}b", "a".repeat(60));
    for rules in [
        vec![format!("| {BOMB} | +")],
        vec![format!("| {BOMB} | -")],
        vec![format!("| !{BOMB} | +")],
        vec![format!("| !{BOMB} | -")],
        vec![format!("| {BOMB} | | tag")],
        vec!["| * | +".to_owned(), format!("| {BOMB} | -")],
        vec!["| a* | +".to_owned(), format!("| {BOMB} | +")],
        vec![format!("| {BOMB} | +"), "| a* | +".to_owned()],
    ] {
        for strategy in [Strategy::FirstMatch, Strategy::DenyOverrides] {
            let texts: Vec<&str> = rules.iter().map(String::as_str).collect();
            let verdict = set_with(strategy, &texts).verdict("g", &name, &[]);
            assert!(!verdict.enabled, "{rules:?}");
            assert!(verdict.tags.is_empty());
            let DecidedBy::GaveUp { pattern, why, .. } = &verdict.decided_by else {
                panic!("{verdict:?}");
            };
            assert!(pattern.ends_with(BOMB));
            assert_eq!(*why, GiveUp::Steps);
            assert!(
                verdict.to_string().contains("more than 100000 steps"),
                "{verdict}"
            );
        }
    }
    let elsewhere = format!("other | {BOMB} | -");
    assert!(set(&[&elsewhere]).verdict("g", &name, &[]).enabled);
}

#[test]
fn a_name_cannot_hide_behind_a_line_break_or_its_length() {
    let denied = |rules: &[&str], server: &str, tool: &str| {
        let verdict = set(rules).verdict(server, tool, &[]);
        assert!(!verdict.enabled, "{rules:?} {tool:?}");
        verdict.to_string()
    };
    let why = denied(&["| *delete* | -"], "g", "delete\nx");
    assert_eq!(
        why,
        "disabled because `*delete*` of rule 1 could not be decided: the name holds a line break"
    );
    denied(&["| * | +", "| *delete* | -"], "g", "x\u{2029}delete");
    denied(&["| /^.*delete/ | -"], "g", "x\ndelete");
    denied(&["g* | x | -"], "g\n", "x");
    let why = denied(&["| *delete* | -"], "g", &"x".repeat(2000));
    assert!(why.ends_with("the name is longer than 1024 bytes"), "{why}");
    denied(&["| * | +"], &"x".repeat(2000), "x");
    assert!(set(&[]).verdict("g", "a\nb", &[]).enabled);
}

#[test]
fn every_wrong_rule_is_reported() {
    let rules = vec![
        rule("| ok /(/ [z-a] | -"),
        rule("git[z-a] | * | +"),
        Rule {
            server: Some(String::new()),
            ..rule("| *")
        },
        rule("| *"),
        rule("| !/a/z"),
    ];
    let errors = RuleSet::compile(rules, Strategy::FirstMatch).unwrap_err();
    let places: Vec<usize> = errors.iter().map(RuleError::rule).collect();
    assert_eq!(places, [0, 0, 1, 2, 4]);
    let RuleError::Pattern {
        rule: 0,
        index: 1,
        error,
    } = &errors[0]
    else {
        panic!("{errors:?}");
    };
    assert_eq!((error.offset, &error.problem), (1, &Problem::UnclosedGroup));
    let words: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert!(words[0].starts_with("rule 1: pattern `/(/` is not valid at character 2"));
    assert!(words[2].starts_with("rule 2, server: pattern `git[z-a]`"));
    assert_eq!(
        words[3],
        "rule 3: the server is empty, name one or leave `server` out"
    );
}

#[test]
fn too_many_rules_are_refused() {
    let first_over = |rules: Vec<Rule>| match RuleSet::compile(rules, Strategy::FirstMatch) {
        Err(errors) => errors.last().map(RuleError::rule),
        Ok(_) => None,
    };
    assert_eq!(first_over(vec![rule("| x | -"); 10_000]), None);
    assert_eq!(first_over(vec![rule("| x | -"); 10_001]), Some(10_000));
    let crowded = Rule {
        pattern: vec!["x".into(); 60_000],
        ..Rule::default()
    };
    assert_eq!(first_over(vec![crowded]), Some(0));
    let heavy = |i: usize| rule(&format!("| /(?:x{{100}}y){{150}}{i}/ | -"));
    assert_eq!(first_over((0..60).map(heavy).collect()), Some(32));
}

#[test]
fn a_rule_reads_from_json_and_refuses_unknown_fields() {
    let read = |text: &str| serde_json::from_str::<Rule>(text);
    let full = read(r#"{"pattern":["a"],"server":"s","enabled":false,"tags":["t"]}"#).unwrap();
    assert_eq!(full, rule("s | a | - | t"));
    assert_eq!(read(r#"{"pattern":["a"]}"#).unwrap(), rule("| a"));
    assert!(read(r#"{"pattern":["a"],"enable":true}"#).is_err());
    assert!(read(r#"{"pattern":"a"}"#).is_err());
    assert_eq!(
        serde_json::to_string(&rule("| a | +")).unwrap(),
        r#"{"pattern":["a"],"enabled":true}"#
    );
    let strategy: Strategy = serde_json::from_str("\"deny-overrides\"").unwrap();
    assert_eq!(strategy, Strategy::DenyOverrides);
}

#[test]
fn a_layer_can_only_take_away() {
    let user = set(&["| * | +", "| *delete* | - | user"]);
    let project = set(&["| * | + | project", "| write | -"]);
    let layers = Layers::new(vec![user, project]);
    let verdict = |tool| layers.verdict("g", tool, &["own".to_owned()]);
    let denied = verdict("delete_x");
    assert_eq!((denied.layer, denied.verdict.enabled), (0, false));
    assert_eq!(denied.verdict.tags, ["own", "user", "project"]);
    assert_eq!(
        (verdict("write").layer, verdict("write").verdict.enabled),
        (1, false)
    );
    assert_eq!(
        (verdict("read").layer, verdict("read").verdict.enabled),
        (0, true)
    );
    assert_eq!(layers.sets().len(), 2);

    let silent = Layers::new(vec![set(&["| x | -"]), set(&["| read | +"])]);
    assert_eq!(silent.verdict("g", "read", &[]).layer, 1);
    let none = Layers::default().verdict("g", "x", &[]);
    assert!(none.verdict.enabled);
    let json = serde_json::to_value(&none).unwrap();
    assert_eq!(json["decided_by"]["default"]["whitelist"], false);
}

#[test]
fn rules_are_applied_to_tools() {
    let mut tools: Vec<Tool> = ["create", "delete"]
        .map(|name| Tool::new(ToolId::new("g", name), "", serde_json::json!({})))
        .into();
    tools[0].tags = vec!["own".into()];
    let rules = set(&["| *e* | | t", "| delete | -"]);
    let mut layered = tools.clone();
    Layers::new(vec![rules.clone()]).apply(&mut layered);
    rules.apply(&mut tools);
    assert_eq!(tools, layered);
    assert_eq!((tools[0].enabled, tools[1].enabled), (true, false));
    assert_eq!(tools[0].tags, ["own", "t"]);
    assert_eq!(rules.rules().len(), 2);
    assert_eq!(rules.strategy(), Strategy::FirstMatch);
}
