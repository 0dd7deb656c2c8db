//! The commands that go through the engine, against real child processes.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::json;

use crate::home::{Home, Said};

/// A home with the two small servers of the program, and rules.
pub(crate) fn furnished(more: &str) -> Home {
    let home = Home::new();
    let program = env!("CARGO_BIN_EXE_toolcrib");
    home.configure(&format!(
        "servers:\n  notes: {{command: '{program}', args: [workshop, notes], description: Notes of a person}}\n  calendar: {{command: '{program}', args: [workshop, calendar]}}\n{more}"
    ));
    home
}

#[test]
fn servers_are_listed_as_the_documents_print_them() {
    let home = furnished("");
    let said = home.run(&["list"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.starts_with("MCP Servers (2 configured):\n\n✗ notes (not asked yet)\n  Notes of a person\n  Status: Disconnected (idle; the next call connects it)\n"), "{}", said.out);
    assert_eq!(home.run(&["tools", "notes"]).code, Some(0));
    let said = home.run(&["mcp", "list", "--tools"]);
    assert!(said.out.contains("✗ notes (5 tools)\n"), "{}", said.out);
    assert!(!said.out.contains("Status:"), "{}", said.out);
    let said = home.run(&["list", "--status"]);
    assert!(
        said.out
            .contains("✗ notes\n  Status: Disconnected (idle; the next call connects it)\n"),
        "{}",
        said.out
    );
    let json = home.run(&["list", "--json"]).json();
    assert_eq!(json["servers"][0]["name"], "notes");
    assert_eq!(json["servers"][0]["toolCount"], 5);
    assert_eq!(json["servers"][0]["status"], "disconnected");
}

#[test]
fn the_list_counts_the_same_tools_in_text_and_in_json() {
    let check = |rules: &str, text: &str, all: u64, enabled: u64| {
        let home = furnished(rules);
        assert_eq!(home.run(&["tools", "notes"]).code, Some(0));
        let said = home.run(&["list"]);
        let line = format!("✗ notes ({text})\n");
        assert!(said.out.contains(&line), "{}", said.out);
        let json = home.run(&["list", "--json"]).json();
        let notes = &json["servers"][0];
        assert_eq!(notes["toolCount"], all, "{json}");
        assert_eq!(notes["enabledCount"], enabled, "{json}");
    };
    check("", "5 tools", 5, 5);
    let off = "toolRules:\n  - {pattern: ['*delete*'], enabled: false}\n";
    check(off, "5 tools, 4 enabled", 5, 4);
}

#[test]
fn tools_are_listed_with_what_rules_say() {
    let home = furnished(
        "toolRules:\n  - {pattern: ['*delete*'], enabled: false}\n  - {pattern: ['*note*'], tags: [paper]}\n",
    );
    let said = home.run(&["tools", "notes"]);
    assert!(said.out.starts_with("Tools from notes (4 enabled, 1 disabled):\n\n✓ create_note\n  Write a new note with a title and a body.\n"), "{}", said.out);
    assert!(
        !said.out.contains("delete_note") && !said.out.contains("Tags:"),
        "{}",
        said.out
    );
    let said = home.run(&["tools", "notes", "--all", "--tags"]);
    assert!(
        said.out.contains("✗ delete_note (disabled)\n"),
        "{}",
        said.out
    );
    assert!(said.out.contains("  Tags: paper\n"), "{}", said.out);
    let gone = home.run(&["tools", "noets"]);
    assert_eq!(gone.code, Some(2), "{}", gone.err);
    assert!(gone.err.contains("notes"), "{}", gone.err);
}

#[test]
fn a_search_finds_the_tool_and_says_when_nothing_fits() {
    let home = furnished("");
    let said = home.run(&["search", "write down a note"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(
        said.out
            .starts_with("Search results for \"write down a note\" ("),
        "{}",
        said.out
    );
    assert!(
        said.out.contains("\n1. notes:create_note ("),
        "{}",
        said.out
    );
    let within = home
        .run(&[
            "search", "list", "--server", "calendar", "--limit", "1", "--json",
        ])
        .json();
    assert_eq!(within["results"].as_array().unwrap().len(), 1);
    assert_eq!(within["results"][0]["server"], "calendar");
    let nothing = home.run(&["search", "zzqx"]);
    assert_eq!(nothing.code, Some(2));
    assert!(nothing.err.contains("try other words"), "{}", nothing.err);
    let explained = home
        .run(&["search", "delete note", "--explain", "--json"])
        .json();
    assert!(
        !explained["results"][0]["why"]
            .as_array()
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_tool_is_inspected_as_the_documents_print_it() {
    let home = furnished("");
    let said = home.run(&["inspect", "notes", "create_note", "--examples"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.starts_with("Tool: notes:create_note\n\nDescription:\n  Write a new note with a title and a body.\n\nParameters:\n  title (string, required)\n    A few words\n\n  body (string, required)\n"), "{}", said.out);
    let examples = "\nExamples:\n  minimal:\n    title: \"Title\"\n    body: \"Hello\"\n\nRisk: ";
    assert!(said.out.contains(examples), "{}", said.out);
    let told = home.run(&["inspect", "notes", "create_note", "--examples", "--json"]);
    assert_eq!(
        told.json()["examples"],
        json!([{"description": "minimal", "parameters": {"title": "Title", "body": "Hello"}}])
    );
    let gone = home.run(&["inspect", "notes", "create_notes"]);
    assert_eq!(gone.code, Some(2), "{}", gone.err);
    assert!(gone.err.contains("notes:create_note"), "{}", gone.err);
    let json = home
        .run(&["inspect", "notes", "read_note", "--json"])
        .json();
    assert_eq!(json["inputSchema"]["required"], json!(["id"]));
}

#[test]
fn a_tool_is_run_in_every_way_to_give_arguments() {
    let home = furnished("");
    let said = home.run(&[
        "execute",
        "notes",
        "create_note",
        "--args={\"title\":\"a\",\"body\":\"b\"}",
    ]);
    assert_eq!(said.code, Some(0), "{} {}", said.out, said.err);
    assert!(
        said.out.starts_with(
            "Executing: notes:create_note\n\n✓ Success\n\nResult:\n  ID: 1\n  Title: a\n"
        ),
        "{}",
        said.out
    );
    let json = home
        .run(&[
            "execute",
            "notes",
            "create_note",
            "title=5",
            "body=x",
            "--json",
        ])
        .json();
    assert_eq!(
        json,
        json!({"success": true, "result": {"id": 1, "title": "5"}})
    );
    home.write("work/a.json", r#"{"title": "f", "body": "b"}"#);
    let json = home
        .run(&[
            "execute",
            "notes",
            "create_note",
            "--args",
            "@a.json",
            "--json",
        ])
        .json();
    assert_eq!(json["result"]["title"], "f");
    let listed = home.run(&["execute", "notes", "list_notes"]);
    assert_eq!(listed.code, Some(0), "{}", listed.err);
    let none = home.run(&["execute", "notes", "create_note"]);
    assert_eq!(none.code, Some(1));
    assert!(none.err.contains("--args"), "{}", none.err);
}

#[test]
fn arguments_are_taken_in_both_spellings() {
    let home = furnished("");
    let note = r#"{"title": "a", "body": "b"}"#;
    home.write("work/a.json", note);
    let inline = format!("--args={note}");
    for given in [
        &["--args", note][..],
        &[&inline],
        &["--args", "@a.json"],
        &["--args=@a.json"],
        &["--args", "-"],
        &["--args=-"],
    ] {
        let arguments = [&["execute", "notes", "create_note"], given, &["--json"]].concat();
        let mut child = home
            .command(&arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // One that takes them from elsewhere may have ended before this is written.
        let _ = child.stdin.take().unwrap().write_all(note.as_bytes());
        let said = Said::of(child.wait_with_output().unwrap());
        assert_eq!(said.code, Some(0), "{given:?} {} {}", said.out, said.err);
        assert_eq!(said.json()["result"]["title"], "a", "{given:?}");
    }
}

#[test]
fn every_way_to_fail_has_its_exit_code_and_its_record() {
    let home = furnished("toolRules: [{pattern: ['cancel_*'], enabled: false}]\n");
    let check = |arguments: &[&str], code: i32, part: &str| {
        let said = home.run(arguments);
        assert_eq!(
            said.code,
            Some(code),
            "{arguments:?} {} {}",
            said.out,
            said.err
        );
        let all = format!("{}{}", said.out, said.err);
        assert!(all.contains(part), "{arguments:?} {all}");
    };
    check(
        &["execute", "notes", "create_note", "--args", "{oops"],
        1,
        "not JSON",
    );
    check(
        &["execute", "notes", "create_note", "--args", "{}"],
        1,
        "title",
    );
    check(
        &["execute", "notes", "gone", "--args", "{}"],
        2,
        "TOOL_NOT_FOUND",
    );
    check(
        &["execute", "gone", "x", "--args", "{}"],
        2,
        "SERVER_NOT_FOUND",
    );
    check(
        &["execute", "notes", "read_note", "id=7"],
        3,
        "There is no note 7",
    );
    check(
        &["execute", "calendar", "cancel_event", "id=1"],
        4,
        "TOOL_DISABLED",
    );
    check(
        &["execute", "notes", "delete_note", "id=1"],
        3,
        "CONFIRMATION_REQUIRED",
    );
    check(
        &[
            "execute",
            "notes",
            "delete_note",
            "id=1",
            "--dry-run",
            "--confirmed",
            "--idempotency-key",
            "k",
        ],
        0,
        "nothing was called",
    );
    let error = home.run(&["execute", "notes", "read_note", "id=7"]);
    assert!(
        error
            .out
            .contains("✗ Error\n\nCode: TOOL_EXECUTION_ERROR\nMessage: There is no note 7"),
        "{}",
        error.out
    );
    assert!(
        error.out.contains("\nServer: notes\nTool: read_note\n"),
        "{}",
        error.out
    );
    let log = home.run(&["audit", "search", "--json"]);
    assert_eq!(log.out.lines().count(), 8, "{}", log.out);
    assert_eq!(home.run(&["audit", "verify"]).code, Some(0));
}

#[test]
fn policy_is_explained_check_by_check() {
    let home = furnished("");
    let said = home.run(&["policy", "explain", "notes:delete_note"]);
    let in_two_words = home.run(&["policy", "explain", "notes", "delete_note"]);
    assert_eq!(in_two_words.out, said.out);
    let of_none = home.run(&["policy", "explain", "notes"]);
    assert_eq!(of_none.code, Some(1), "{}", of_none.err);
    assert!(of_none.err.contains("SERVER:TOOL"), "{}", of_none.err);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(
        said.out
            .starts_with("✗ local may not run notes:delete_note: CONFIRMATION_REQUIRED\n"),
        "{}",
        said.out
    );
    for part in ["confirmation", "failed", "Risk: destructive", "What helps:"] {
        assert!(said.out.contains(part), "{part}: {}", said.out);
    }
    let said = home.run(&[
        "policy",
        "explain",
        "notes:delete_note",
        "--confirmed",
        "--key",
    ]);
    assert!(
        said.out.starts_with("✓ local may run notes:delete_note"),
        "{}",
        said.out
    );
    let json = home
        .run(&[
            "policy",
            "explain",
            "notes:create_note",
            "--as",
            "loopback",
            "--json",
        ])
        .json();
    assert_eq!(
        (&json["permitted"], &json["principal"]),
        (&true.into(), &"loopback".into())
    );
    let json = home
        .run(&[
            "policy",
            "explain",
            "notes:read_note",
            "--as",
            "subject:eve",
            "--json",
        ])
        .json();
    assert_eq!(
        (&json["permitted"], &json["visibility"]),
        (&false.into(), &"hidden".into())
    );
    let json = home
        .run(&[
            "policy",
            "explain",
            "notes:read_note",
            "--as",
            "subject:eve",
            "--scope",
            "notes:read",
            "--json",
        ])
        .json();
    assert_eq!(json["permitted"], true);
    home.run(&["keys", "create", "ci", "--scope", "notes:*"]);
    let json = home
        .run(&[
            "policy",
            "explain",
            "notes:read_note",
            "--as",
            "key:ci",
            "--json",
        ])
        .json();
    assert_eq!(json["permitted"], true);
    for (arguments, part) in [
        (vec!["notes"], "SERVER:TOOL"),
        (vec!["notes:read_note", "--as", "key:gone"], "keys list"),
        (vec!["notes:read_note", "--as", "eve"], "is nobody"),
    ] {
        let mut all = vec!["policy", "explain"];
        all.extend(arguments);
        let said = home.run(&all);
        assert_eq!(said.code, Some(1), "{all:?}");
        assert!(said.err.contains(part), "{}", said.err);
    }
}

#[test]
fn json_that_is_printed_cannot_steer_the_terminal() {
    let mut odd = crate::stage::reader("odd", &json!({}));
    odd["description"] = json!("Reads \u{9b}31m and \u{202e}backwards");
    let home = crate::stage::staged(&json!([odd]), "", "");
    let said = home.run(&["inspect", "stage", "odd", "--json"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(!said.out.contains(['\u{9b}', '\u{202e}']), "{:?}", said.out);
    let told = said.json();
    assert_eq!(told["description"], odd["description"], "{told}");
}

#[test]
fn what_a_server_tells_meanwhile_is_shown_with_stream() {
    let home = Home::new();
    let program = toolcrib_testkit::program("conformance-server");
    let program = json!(program.display().to_string());
    home.configure(&format!(
        "policy: {{mode: relaxed, overrides: [{{idempotencyRequired: false, confirmationRequired: false}}]}}\nservers:\n  fixture: {{command: {program}}}\n"
    ));
    let execute = |tool: &str, more: &[&str]| {
        let mut words = vec!["execute", "fixture", tool, "--args", "{}"];
        words.extend(more);
        let said = home.run(&words);
        assert_eq!(said.code, Some(0), "{}", said.err);
        said
    };
    let said = execute("test_tool_with_progress", &["--stream"]);
    let expected = "progress 0/100\nprogress 50/100\nprogress 100/100\n";
    assert!(said.err.contains(expected), "{}", said.err);
    assert!(said.out.contains("Progressed."), "{}", said.out);
    let said = execute("test_tool_with_logging", &["--stream"]);
    assert!(said.err.contains("info: "), "{}", said.err);
    let words = [
        "execute",
        "fixture",
        "test_tool_with_logging",
        "--args",
        "{}",
        "--stream",
    ];
    let (_, beside, code) = crate::terminal::seen(&home, &words, 16);
    assert_eq!(code, Some(0), "{beside}");
    let told: Vec<&str> = beside
        .lines()
        .filter(|line| line.contains("info: "))
        .collect();
    assert!(!told.is_empty(), "{beside}");
    assert!(
        told.iter().all(|line| line.trim_end().len() <= 16),
        "{beside}"
    );
    let said = execute("test_tool_with_progress", &[]);
    assert!(!said.err.contains("progress"), "{}", said.err);
}

#[test]
fn a_search_waits_for_a_slow_server_where_nothing_else_fits() {
    let home = Home::new();
    let server = crate::stage::hostile().display().to_string();
    home.configure(&format!(
        "servers:\n  slow: {{command: '{server}', args: [--tools, '3', --slow-start, '2500']}}\n"
    ));
    let said = home.run(&["search", "tool", "--json"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(said.json()["results"][0]["server"], "slow");
}

#[test]
fn a_tool_is_named_as_a_search_prints_it() {
    let home = furnished("");
    let said = home.run(&["inspect", "notes:create_note"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(
        said.out.starts_with("Tool: notes:create_note\n"),
        "{}",
        said.out
    );
    let pairs = [
        "execute",
        "notes:create_note",
        "title=a",
        "body=b",
        "--json",
    ];
    assert_eq!(home.run(&pairs).json()["success"], true);
    let whole = ["execute", "notes:list_notes", "--args", "{}", "--json"];
    assert_eq!(home.run(&whole).json()["success"], true);
    for wrong in [
        &["inspect", "notes"][..],
        &["execute", "notes", "--args", "{}"],
        &["execute", "notes:create_note", "title=a", "--args", "{}"],
    ] {
        let said = home.run(wrong);
        assert_eq!(said.code, Some(1), "{wrong:?}: {} {}", said.out, said.err);
    }
}

#[test]
fn all_that_is_wrong_with_the_arguments_is_said_at_once() {
    let home = furnished("");
    let said = home.run(&["execute", "notes:create_note", "--args", "{}"]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    let all = "`title` is missing; `body` is missing.";
    assert!(said.err.contains(all), "{}", said.err);
    let wrong = [
        "execute",
        "notes:create_note",
        "--args",
        r#"{"title": 1, "body": [], "extra": 2}"#,
    ];
    let said = home.run(&wrong);
    for part in [
        "`title` must be a string, not an integer",
        "`body` must be a string, not an array",
    ] {
        let line = said.err.lines().find(|line| line.contains(part));
        let line = line.unwrap_or_else(|| panic!("no {part:?} in {}", said.err));
        assert_eq!(line.matches(part).count(), 1, "{line}");
    }
}
