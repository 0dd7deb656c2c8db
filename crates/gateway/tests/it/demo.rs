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
        "\"replayed\":true",
        "TOOL_DISABLED",
        "{\"results\":[{\"server\":\"parcels\",\"tool\":\"quote-rate\",",
        "\"cents\":690",
        "> get_tool_details {\"server\":\"notes\",\"tool\":\"delete_note\"}",
        " when these 13 small ones are shown, and 100,000 and more ",
        "Over the 12 messages of this session that is ",
        "The audit log is intact: 7 records",
    ] {
        assert!(
            ran.out.contains(expected),
            "missing {expected:?} in\n{}",
            ran.out
        );
    }
    assert!(!found_by_name(&ran.out).contains("cancel_event"));
    assert_eq!(ran.err, "");
    assert_eq!(std::fs::read_dir(home.path("")).unwrap().count(), 2);
}

/// The answer to the search for what a rule has switched off.
fn found_by_name(told: &str) -> &str {
    let search = "> search_tools {\"query\":\"cancel the meeting with Ada\"}\n";
    let answer = told.split_once(search).expect("it is searched for").1;
    answer.lines().next().unwrap()
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
        "toolRules[2].pattern[0] is not a usable pattern",
        "github:delete_issue stays enabled",
        "did you mean `github`?",
        "holds a secret in plain text",
    ] {
        assert!(
            ran.out.contains(expected),
            "missing {expected:?} in\n{}",
            ran.out
        );
    }
    assert_eq!(ran.err, "", "the story is told in one place");
    assert!(!ran.out.contains("ghp_"));
    let left: Vec<_> = std::fs::read_dir(home.path(""))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(
        left.len(),
        2,
        "only the stage directories of the test: {left:?}"
    );
}

#[test]
fn the_demo_is_told_in_json_with_what_every_step_cost() {
    let home = Home::new();
    let ran = home.run(&["demo", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told = ran.json();
    let steps = told["steps"].as_array().unwrap();
    let called: Vec<&str> = steps
        .iter()
        .filter_map(|step| step["tool"].as_str())
        .collect();
    assert_eq!(called.len(), 11, "{told}");
    assert!(called.contains(&"get_tool_details"), "{called:?}");
    assert_eq!(steps.last().unwrap()["answer"]["intact"], true, "{told}");
    let tokens = |name: &str| told["tokens"][name].as_u64().unwrap();
    assert!(tokens("five") < tokens("all"), "{told}");
    assert!(
        tokens("sessionWithFive") < tokens("sessionWithAll"),
        "{told}"
    );
    let setup = home.run(&["demo", "setup", "--json"]).json();
    let commands = setup["steps"].as_array().unwrap().iter();
    let commands: Vec<&str> = commands
        .map(|step| step["command"].as_str().unwrap())
        .collect();
    assert_eq!(commands.len(), 5, "{setup}");
    assert_eq!(
        setup["steps"][3]["answer"]["tools"]["enabled"], 2,
        "{setup}"
    );
}

#[test]
fn a_named_configuration_is_no_part_of_the_demo() {
    let home = Home::new();
    let new = home.path("work/new.yaml");
    let ran = home.run(&["demo", "setup", "--config", new.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(!new.exists(), "{}", ran.out);
    assert!(
        ran.out
            .contains("6 servers written to ~/.config/toolcrib/toolcrib.yaml")
    );
    let own = home.write("own.yaml", "store: {path: ~/own.db}\n");
    let ran = home.run(&["demo", "--config", own.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{} {}", ran.out, ran.err);
    assert!(
        ran.out.contains("The audit log is intact: 7 records"),
        "{}",
        ran.out
    );
    assert!(!home.path("own.db").exists());
}

#[test]
fn an_interrupted_demo_leaves_nothing_behind() {
    let home = Home::new();
    let mut child = home
        .command(&["demo", "setup"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // From its first byte on the demo has taken over the signals, and has a stage to clear away.
    let mut out = child.stdout.take().unwrap();
    let mut first = [0; 1];
    std::io::Read::read_exact(&mut out, &mut first).unwrap();
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    std::io::copy(&mut out, &mut std::io::sink()).unwrap();
    let status = child.wait().unwrap();
    assert!(status.code().is_some(), "killed by a signal: {status}");
    assert_eq!(crate::home::names(&home.path("run")), Vec::<String>::new());
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

#[test]
fn the_searches_of_the_documents_find_what_they_are_for() {
    let home = Home::new();
    home.configure(
        "servers:
  github:
    command: x
    tools:
      - {name: create_issue, description: Create a new GitHub issue}
      - {name: create_branch, description: Create a branch in a repository}
      - {name: list_issues, description: List the issues of a repository}
  files:
    command: x
    tools:
      - {name: create_directory, description: Create a directory}
      - {name: read_file, description: Read a file from disk}
      - {name: write_file, description: Write a file to disk}
      - {name: move_file, description: Move a file or rename it}
      - {name: copy_file, description: Copy a file}
      - {name: delete_file, description: Delete a file from disk}
      - {name: file_info, description: Show the size and the date of a file}
",
    );
    let check = |arguments: &[&str], server: &str, count: usize, tool: &str| {
        let said = home.run(&[&["mcp", "search"], arguments, &["--json"]].concat());
        assert_eq!(said.code, Some(0), "{arguments:?} {}", said.err);
        let found = said.json();
        let found = found["results"].as_array().unwrap();
        assert_eq!(found.len(), count, "{arguments:?} {found:?}");
        for hit in found {
            assert_eq!(hit["server"], server, "{arguments:?}");
        }
        let tools = found.iter().any(|hit| hit["tool"] == tool);
        assert!(tools, "{arguments:?} {found:?}");
    };
    check(&["github issue"], "github", 2, "create_issue");
    check(
        &["create", "--server", "github"],
        "github",
        2,
        "create_issue",
    );
    check(&["file", "--limit", "5"], "files", 5, "read_file");
}
