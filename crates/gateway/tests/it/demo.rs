//! The demo and the search over declared tools, as a newcomer sees them.

use crate::home::Home;

#[test]
fn an_agent_finds_runs_and_is_refused_over_the_real_door() {
    let home = Home::new();
    let ran = home.run(&["demo"]);
    assert_eq!(ran.code, Some(0), "{} {}", ran.out, ran.err);
    for expected in [
        "  search_tools  ",
        "create_note(title: string, body: string)",
        "\"success\":true,\"result\":{\"id\":1,",
        "TOOL_VALIDATION_ERROR",
        "CONFIRMATION_REQUIRED",
        "\"deleted\":1",
        "TOOL_DISABLED",
        "{\"results\":[{\"server\":\"parcels\",\"tool\":\"quote-rate\",",
        "\"cents\":690",
        "These 14 small tools alone cost ",
        "The whole session cost ",
        "The audit log is intact: 6 records",
    ] {
        assert!(
            ran.out.contains(expected),
            "missing {expected:?} in\n{}",
            ran.out
        );
    }
    assert_eq!(ran.err, "");
    assert_eq!(std::fs::read_dir(home.path("")).unwrap().count(), 2);
}

#[test]
fn the_demo_plays_every_step_and_touches_nothing_of_the_user() {
    let home = Home::new();
    let ran = home.run(&["demo", "setup"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for expected in [
        "same server as filesystem",
        "called github-cursor, the name is taken",
        "skipped: this is Toolcrib itself",
        "6 servers written to ~/.config/toolcrib/toolcrib.yaml",
        "Tools: 3 total, 2 enabled",
        "github:delete_issue is disabled by rule 2",
    ] {
        assert!(
            ran.out.contains(expected),
            "missing {expected:?} in\n{}",
            ran.out
        );
    }
    for expected in [
        "toolRules[2].pattern[0] is not a usable pattern",
        "github:delete_issue stays enabled",
        "did you mean `github`?",
        "holds a secret in plain text",
    ] {
        assert!(
            ran.err.contains(expected),
            "missing {expected:?} in\n{}",
            ran.err
        );
    }
    assert!(!ran.out.contains("ghp_") && !ran.err.contains("ghp_"));
    let left: Vec<_> = std::fs::read_dir(home.path(""))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(
        left.len(),
        2,
        "only the stage directories of the test: {left:?}"
    );
    assert_eq!(home.run(&["demo", "--json"]).code, Some(1));
}

#[test]
fn search_prints_the_documented_layout_and_exit_codes() {
    let home = Home::new();
    home.configure(
        "servers:\n  github:\n    command: x\n    tools:\n      - {name: create_issue, description: Create a new GitHub issue, tags: [github, issues]}\n      - {name: delete_issue, description: Delete an issue}\ntoolRules: [{pattern: ['*delete*'], enabled: false}]\n",
    );
    let ran = home.run(&["search", "github issue"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines[0], "Search results for \"github issue\" (1 found):");
    assert!(
        lines[2].starts_with("1. github:create_issue (") && lines[2].ends_with("% match)"),
        "{}",
        ran.out
    );
    assert_eq!(
        lines[3..],
        ["   Create a new GitHub issue", "   Tags: github, issues"]
    );
    assert_eq!(
        home.run(&[
            "mcp", "search", "create", "--server", "github", "--limit", "5"
        ])
        .code,
        Some(0)
    );
    assert_eq!(home.run(&["search", "zzzz qqqq"]).code, Some(2));
    assert_eq!(home.run(&["search"]).code, Some(1));
    assert_eq!(home.run(&["search", "x", "--limit", "0"]).code, Some(1));
    let json = home.run(&["search", "issue", "--json"]).json();
    assert_eq!(json["results"][0]["tool"], "create_issue");
    assert_eq!(json["results"].as_array().unwrap().len(), 1);
}
