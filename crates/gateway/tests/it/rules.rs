//! `rules explain`.

use crate::home::Home;

fn ruled() -> Home {
    let home = Home::new();
    home.configure(
        "servers:
  github:
    command: gh
    tools: [{name: delete_repo, description: Deletes}]
  off: {command: off, enabled: false}
toolRules:
  - {pattern: ['*repo*'], tags: [repos]}
  - {pattern: ['create_*'], enabled: true}
  - {pattern: ['*delete*'], enabled: false, tags: [dangerous]}
  - {pattern: ['create_issue'], enabled: false}
",
    );
    home
}

#[test]
fn explain_says_which_rule_decided_which_tagged_and_which_never_can() {
    let said = ruled().run(&["rules", "explain", "github:delete_repo"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let line = |start: &str| {
        let found = said.out.lines().find(|l| l.starts_with(start));
        found.unwrap_or_else(|| panic!("{start}: {}", said.out))
    };
    assert!(line("✗ github:delete_repo is disabled").contains("rule 3"));
    assert_eq!(line("  Tags:"), "  Tags: repos, dangerous");
    assert!(line("1  ").contains("only tagged"));
    assert!(line("2  ").contains("not matched"));
    assert!(line("3  ").contains("decided"));
    assert!(line("4  ").contains("can never take effect because of rule 2"));
    assert_eq!(said.err, "");
}

#[test]
fn explain_json_names_the_layer_and_every_rule() {
    let json = ruled()
        .run(&["rules", "explain", "github:create_issue", "--json"])
        .json();
    assert_eq!(json["enabled"], true);
    assert_eq!(json["decidedBy"]["rule"]["rule"], 1);
    assert_eq!(json["layers"][0]["rules"][3]["standing"], "too_late");
    assert_eq!(json["layers"][0]["rules"][3]["never_because_of"], 1);
}

#[test]
fn explain_tells_about_servers_that_are_not_there_or_off() {
    let home = ruled();
    let said = home.run(&["rules", "explain", "nobody:x"]);
    assert_eq!(said.code, Some(0));
    assert!(said.err.contains("[SERVER_NOT_FOUND]"), "{}", said.err);
    let said = home.run(&["rules", "explain", "off:x"]);
    assert!(said.err.contains("switched off as a whole"), "{}", said.err);
    let known = |tool: &str| {
        let said = home.run(&["rules", "explain", tool, "--json"]);
        assert_eq!(said.code, Some(0), "{}", said.err);
        said.json()["known"].clone()
    };
    assert_eq!([known("nobody:x"), known("off:x")], [false, true]);
}

#[test]
fn explain_without_rules_says_that_everything_is_enabled() {
    let said = Home::new().run(&["rules", "explain", "a:b"]);
    assert!(said.out.starts_with("✓ a:b is enabled"), "{}", said.out);
}

#[test]
fn names_tell_domains_and_categories_and_a_user_adds_words() {
    let home = Home::new();
    let said = home.run(&["infer", "modelcontextprotocol/github", "list_issues"]);
    assert_eq!(
        said.out,
        "Domains:    github, github.issues\nCategories: crud.read\n"
    );
    home.configure("capabilities: {domains: {acme: crm}, categories: {frobnicate: transform}}\n");
    let json = home
        .run(&["infer", "acme", "frobnicate_lead", "--json"])
        .json();
    assert_eq!(json["domains"], serde_json::json!(["crm", "crm.leads"]));
    assert_eq!(json["categories"], serde_json::json!(["transform"]));
}

#[test]
fn a_tool_that_its_server_does_not_have_is_said_to_be_missing() {
    let home = Home::new();
    home.configure(
        "servers:\n  notes: {command: x, tools: [{name: create_note, description: Writes}]}\n",
    );
    let said = home.run(&["rules", "explain", "notes:creat_note"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(
        said.err
            .contains("notes has no tool creat_note; did you mean notes:create_note?"),
        "{}",
        said.err
    );
    assert_eq!(home.run(&["rules", "explain", "notes:create_note"]).err, "");
}
