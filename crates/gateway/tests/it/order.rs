//! What a person sees on one screen comes in the order in which it is to be read.

use crate::counter::furnished;
use crate::home::Home;
use crate::terminal::together;

/// The parts stand on the screen one after the other.
fn check(home: &Home, arguments: &[&str], parts: &[&str]) {
    let shown = together(home, arguments);
    let mut from = 0;
    for part in parts {
        let at = shown[from..].find(part);
        let at = at.unwrap_or_else(|| panic!("{part:?} is not where it belongs in\n{shown}"));
        from += at + part.len();
    }
}

#[test]
fn a_failed_call_is_told_once_after_what_was_called() {
    let home = furnished("");
    let arguments = ["execute", "notes", "read_note", "title=none"];
    let code = "TOOL_VALIDATION_ERROR";
    check(
        &home,
        &arguments,
        &["Executing: ", "✗ Error", code, "Tool: "],
    );
    assert_eq!(together(&home, &arguments).matches(code).count(), 1);
}

#[test]
fn what_to_do_next_stands_below_what_was_done() {
    let home = Home::new();
    home.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"a": {"command": "a"}, "off": {"command": "${env:NOT_SET}"}}}"#,
    );
    let broken = home.write(".lmstudio/mcp.json", "{");
    check(&home, &["import"], &["SERVER", "off", "shown above"]);
    std::fs::remove_file(broken).unwrap();
    check(
        &home,
        &["setup", "--yes"],
        &[
            "✓ Cursor has",
            "off stays there",
            "✓ 1 server written",
            "Restart Cursor",
        ],
    );
}
