//! `trust`: files of a working directory are used only after the user said so.

use crate::home::{Home, eventually};
use crate::terminal::Terminal;

fn project() -> Home {
    let home = Home::new();
    home.write(
        "work/toolcrib.yaml",
        "servers: {p: {command: prog, args: [--token=abc]}}\n",
    );
    home.write("work/.mcp.json", r#"{"mcpServers":{"q":{"command":"q"}}}"#);
    home
}

/// The configuration file in use.
fn used(home: &Home) -> serde_json::Value {
    home.run(&["config", "show", "--json"]).json()["config"].take()
}

fn configured(home: &Home) -> serde_json::Value {
    home.run(&["config", "show", "--json"]).json()["servers"]["configured"].take()
}

#[test]
fn a_project_file_is_used_once_it_is_trusted_and_until_it_changes() {
    let home = project();
    assert_eq!(configured(&home), 0);
    let said = home.run(&["trust", "--yes"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(
        said.out,
        "✓ 2 files of ~/work may be used as they are now; a change asks again.\n"
    );
    assert!(
        said.err
            .contains("~/work/toolcrib.yaml (new)\n  p: prog --token=***\n"),
        "{}",
        said.err
    );
    let file = home.path("work/toolcrib.yaml");
    assert_eq!(used(&home), file.to_str().unwrap());
    home.write("work/toolcrib.yaml", "servers: {p: {command: evil}}\n");
    assert_eq!(used(&home), serde_json::Value::Null);
    let said = home.run(&["trust", "--yes"]);
    assert!(
        said.err.contains("(changed since it was trusted)"),
        "{}",
        said.err
    );
    assert_eq!(used(&home), file.to_str().unwrap());
}

#[test]
fn trust_can_be_listed_and_revoked() {
    let home = project();
    assert_eq!(home.run(&["trust", "--list"]).out, "No file is trusted.\n");
    let json = home.run(&["trust", "--yes", "--json"]).json();
    assert_eq!(json["trusted"].as_array().unwrap().len(), 2);
    home.write("work/.mcp.json", "{}");
    let out = home.run(&["trust", "--list"]).out;
    assert!(out.contains("~/work/toolcrib.yaml  trusted"), "{out}");
    assert!(out.contains("~/work/.mcp.json      changed"), "{out}");
    std::fs::remove_file(home.path("work/.mcp.json")).unwrap();
    let json = home.run(&["trust", "--list", "--json"]).json();
    let states: Vec<_> = json["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| &f["state"])
        .collect();
    assert_eq!(states, ["gone", "trusted"]);
    assert_eq!(
        home.run(&["trust", "--list", "../run"]).out,
        "No file is trusted.\n"
    );
    let said = home.run(&["trust", "--revoke"]);
    assert_eq!(said.out, "2 files of ~/work are not trusted any more.\n");
    assert_eq!(configured(&home), 0);
    let said = home.run(&["trust", "--revoke", ".", "--json"]);
    assert_eq!(said.json()["revoked"].as_array().unwrap().len(), 0);
}

#[test]
fn there_may_be_nothing_to_trust() {
    let home = Home::new();
    assert_eq!(
        home.run(&["trust", "../run"]).out,
        "There is no configuration file in ~/run.\n"
    );
    home.write("work/toolcrib.yaml", "servers: {}\n");
    home.run(&["trust", "--yes"]);
    assert_eq!(
        home.run(&["trust", "--yes"]).out,
        "Nothing more is trusted in ~/work than before.\n"
    );
}

#[test]
fn a_damaged_record_is_an_error_and_nothing_is_used() {
    let home = project();
    home.write(".local/share/toolcrib/trust.json", "{}");
    for arguments in [
        &["trust"][..],
        &["config", "show"],
        &["config", "validate"],
        &["import"],
    ] {
        let said = home.run(arguments);
        assert_eq!(said.code, Some(2), "{arguments:?}: {}", said.err);
        assert!(said.err.contains("trust.json"), "{}", said.err);
    }
}

#[test]
fn a_running_process_takes_up_what_is_trusted_meanwhile() {
    let home = project();
    let _server = home.serve(&[]);
    home.run(&["trust", "--yes"]);
    eventually("the project's server", || {
        let json = home.run(&["status", "--json"]).json();
        (json["processes"][0]["counts"]["serversConfigured"] == 1).then_some(())
    });
}

#[test]
fn naming_a_file_is_trusting_it() {
    let home = project();
    let json = home
        .run(&["config", "show", "--json", "--config", "toolcrib.yaml"])
        .json();
    assert_eq!(json["servers"]["configured"], 1);
}

#[test]
fn a_terminal_asks() {
    let home = project();
    for (key, expected, servers) in [
        ("n", "Nothing more is trusted in ~/work than before.\n", 0),
        (
            "y",
            "✓ 2 files of ~/work may be used as they are now; a change asks again.\n",
            1,
        ),
    ] {
        let mut terminal = Terminal::start(&home, &["trust"]);
        terminal.press("be used?", key);
        assert!(
            terminal.shown.contains("p: prog --token=***"),
            "{}",
            terminal.shown
        );
        assert_eq!(terminal.ends(), expected);
        assert_eq!(configured(&home), servers);
    }
}

#[test]
fn ctrl_c_at_the_question_starts_nothing_and_shows_the_cursor_again() {
    let home = project();
    for command in ["trust", "serve"] {
        let mut terminal = Terminal::start(&home, &[command]);
        terminal.press("be used?", "\u{3}");
        terminal.shows("nothing was trusted");
        let shown = terminal.shown.clone();
        assert_eq!(terminal.child.wait().unwrap().code(), Some(1), "{shown}");
        assert!(
            shown.rfind("\u{1b}[?25h") > shown.rfind("\u{1b}[?25l"),
            "{shown:?}"
        );
        assert_eq!(configured(&home), 0);
    }
}

#[test]
fn a_process_that_is_started_on_a_terminal_asks_before_it_uses_a_project_file() {
    let home = project();
    let mut terminal = Terminal::start(&home, &["serve"]);
    terminal.press("be used?", "y");
    terminal.shows("ready");
    let json = home.run(&["status", "--json"]).json();
    assert_eq!(json["processes"][0]["counts"]["serversConfigured"], 1);
    let pid = i32::try_from(terminal.child.id()).unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(terminal.ends(), "");
}

#[test]
fn without_a_terminal_nothing_is_trusted_unless_it_says_so() {
    let home = project();
    for arguments in [&["trust"][..], &["trust", "--json"]] {
        let said = home.run(arguments);
        assert_eq!(said.code, Some(1), "{}", said.err);
        assert!(said.err.contains("add --yes"), "{}", said.err);
        assert!(said.err.contains("p: prog --token=***"), "{}", said.err);
        assert_eq!(configured(&home), 0);
    }
}

#[test]
fn yes_on_the_command_line_is_an_answer() {
    let home = project();
    let terminal = Terminal::start(&home, &["trust", "--yes"]);
    assert!(terminal.ends().starts_with("✓ 2 files"));
}
