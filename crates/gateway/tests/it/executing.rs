//! `toolcrib execute`: the whole of a result, arguments as the schema has them, and what is said of wrong ones.

use serde_json::{Value, json};

use crate::counter::furnished;
use crate::home::Home;
use crate::stage::{execute, reader, staged};
use crate::terminal::Terminal;

/// A server that gives its arguments back, and keeps an agent to a small part of them at once.
fn echoing(properties: &Value) -> Home {
    staged(
        &json!([reader("echo", properties), reader("huge", &json!({}))]),
        "",
        "results: {maxTokens: 200}\n",
    )
}

#[test]
fn a_large_result_comes_whole_to_a_person_and_a_pipe() {
    let home = echoing(&json!({}));
    let issues: Vec<Value> = (0..2_000)
        .map(|n| json!({"number": n, "title": format!("Issue {n}")}))
        .collect();
    let all = json!({ "issues": issues });
    home.write("work/all.json", &all.to_string());
    let told = execute(&home, "echo", "@all.json", &[]).json();
    assert_eq!(told["result"], all);
    assert!(told.get("rest").is_none(), "nothing is left to be read");
    let count = ["--select", ".issues | length"];
    let told = execute(&home, "echo", "@all.json", &count).json();
    assert_eq!(told["result"], 2_000);
    let said = home.run(&["execute", "stage:echo", "--args", "@all.json"]);
    assert!(said.out.contains("\"Issue 1999\""), "{}", said.out);
    assert_eq!(said.err, "");
}

#[test]
fn a_result_beyond_what_is_read_says_what_to_do() {
    let said = execute(&echoing(&json!({})), "huge", "{}", &[]);
    assert_eq!(said.code, Some(3));
    let message = said.json()["error"]["message"].to_string();
    assert!(message.contains("larger than what is read"), "{message}");
    assert!(message.contains("Ask it for less at once"), "{message}");
}

#[test]
fn pairs_are_what_the_schema_of_the_tool_says() {
    let text = json!({"type": "string"});
    let home = echoing(&json!({
        "path": text, "labels": {"type": "array", "items": text},
        "ids": {"type": "array", "items": {"type": "integer"}},
    }));
    let check = |pairs: &[&str], expected: Value| {
        let all = [&["execute", "stage:echo", "--json"], pairs].concat();
        let said = home.run(&all);
        assert_eq!(said.json()["result"], expected, "{pairs:?}: {}", said.err);
    };
    check(
        &["path=\"exact phrase\""],
        json!({"path": "\"exact phrase\""}),
    );
    check(&["labels=a"], json!({"labels": ["a"]}));
    check(&["labels=a", "labels=b"], json!({"labels": ["a", "b"]}));
    check(&["labels=[\"a\",\"b\"]"], json!({"labels": ["a", "b"]}));
    check(&["ids=1", "path=2"], json!({"ids": [1], "path": "2"}));
    let twice = home.run(&["execute", "stage:echo", "path=a", "path=b"]);
    assert_eq!(twice.code, Some(1), "{}", twice.out);
    let message = "`path` is given more than once and takes one value; leave out all but one";
    assert!(twice.err.contains(message), "{}", twice.err);
}

#[test]
fn an_argument_that_is_not_known_is_told_with_what_was_perhaps_meant() {
    let home = furnished("");
    for given in [
        &["titel=7", "body=x"][..],
        &["--args", "{\"titel\": 7, \"body\": \"x\"}"],
    ] {
        let said = home.run(&[&["execute", "notes:create_note"], given].concat());
        assert_eq!(said.code, Some(1), "{given:?}: {}", said.out);
        let wrong = "`title` is missing; `titel` is not known, perhaps `title` is meant.";
        assert!(said.err.contains(wrong), "{given:?}: {}", said.err);
    }
    let json = ["execute", "notes:create_note", "titel=7", "--json"];
    let told = home.run(&json).json();
    let listed = told["error"]["violations"].as_array().unwrap();
    assert_eq!(listed.len(), 3, "{listed:?}");
    let said = home.run(&["execute", "notes:read_note", "id=7", "colour=red"]);
    assert_eq!(said.code, Some(3), "{}", said.err);
    let note = "notes:read_note has no argument `colour`";
    assert!(said.err.contains(note), "{}", said.err);
    // What the schema leaves open goes to the tool.
    let said = home.run(&["execute", "notes:list_notes", "--args", "{}"]);
    assert_eq!(said.err, "");
    let home = echoing(&json!({"label": {"type": "string"}, "page": {"type": "string"}}));
    let said = home.run(&["execute", "stage:echo", "labl=a"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let note = "stage:echo has no argument `labl`; did you mean `label`?";
    assert!(said.err.contains(note), "{}", said.err);
}

#[test]
fn how_far_a_server_has_come_stands_beside_the_seconds() {
    let home = staged(&json!([reader("progress", &json!({}))]), "", "");
    let arguments = ["execute", "stage:progress", "--args", "{\"ms\": 900}"];
    let mut terminal = Terminal::start(&home, &arguments);
    terminal.shows("1/3 running stage:progress");
    terminal.shows("2/3 running stage:progress");
    assert!(!terminal.shown.contains("progress 1/3"), "only on request");
    assert!(terminal.ends().contains("progressed"));
}

#[test]
fn files_for_several_servers_are_counted_while_they_are_written() {
    let home = Home::new();
    let server = crate::stage::hostile().display().to_string();
    let slow = format!("{{command: '{server}', args: [--slow-start, '1200']}}");
    home.configure(&format!("servers:\n  one: {slow}\n  two: {slow}\n"));
    let mut terminal = Terminal::start(&home, &["export-rtfs", "--dir", "out"]);
    terminal.shows("0/2 asking one for its tools");
    terminal.shows("1/2 asking two for its tools");
    assert!(terminal.ends().contains("two: 1 file"));
}

#[test]
fn a_tool_that_requires_nothing_runs_without_arguments_and_any_other_says_what_it_needs() {
    let tools = json!([
        reader("echo", &json!({"path": {"type": "string"}})),
        {"name": "effect", "inputSchema": {"type": "object", "required": ["key", "to"]}},
    ]);
    let home = staged(&tools, "  gone: {command: /nowhere/at-all}\n", "");
    let said = home.run(&["execute", "stage", "echo", "--json"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(said.json()["result"], json!({}));
    let said = home.run(&["execute", "stage:effect"]);
    assert_eq!(said.code, Some(1), "{}", said.out);
    let why = "--args is required: stage:effect needs key, to; give";
    assert!(said.err.contains(why), "{}", said.err);
    // Of a server that does not start nothing else counts.
    let said = home.run(&["execute", "gone", "look"]);
    assert_eq!(said.code, Some(3), "{}", said.err);
    assert!(said.out.contains("/nowhere/at-all"), "{}", said.out);
    assert!(!said.err.contains("--args"), "{}", said.err);
}

#[test]
fn who_is_waited_for_at_the_keyboard_is_told_so() {
    let home = echoing(&json!({"text": {"type": "string"}}));
    let arguments = ["execute", "stage:echo", "--args", "-", "--json"];
    let mut terminal = Terminal::start(&home, &arguments);
    terminal.shows("Reading JSON from the keyboard; end with Ctrl-D.");
    terminal.types("{\"text\": \"typed\"}\n\u{4}");
    let told: Value = serde_json::from_str(&terminal.ends()).unwrap();
    assert_eq!(told["result"]["text"], "typed");
}
