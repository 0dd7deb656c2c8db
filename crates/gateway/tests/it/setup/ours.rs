//! What `setup` makes of a configuration of ours that is there already.

use super::{TARGET, furnished, read};
use crate::home::Home;

#[test]
fn a_new_server_is_added_also_where_two_of_ours_run_the_same_command() {
    let home = Home::new();
    let own = "servers:\n  fs: {command: x}\n  fs-ro: {command: x, excludeTools: [w]}\n";
    home.configure(own);
    home.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"b": {"command": "b"}}}"#,
    );
    let said = home.run(&["setup", "cursor", "--yes"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.contains("1 server written to"), "{}", said.out);
    assert!(!read(&home, ".cursor/mcp.json").contains("\"b\""));
    assert!(read(&home, TARGET).starts_with(own));
    assert!(
        read(&home, TARGET).contains("\n  b:"),
        "{}",
        read(&home, TARGET)
    );
}

#[test]
fn a_server_that_we_have_switched_off_stays_with_its_client() {
    let home = Home::new();
    home.configure(
        "servers:\n  mine: {command: x, enabled: false}\nserverRules:\n  - {pattern: ['*'], enabled: true}\n  - {pattern: [ruled], enabled: false}\n",
    );
    home.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"x": {"command": "x"}, "y": {"command": "y"}, "ruled": {"command": "z"}}}"#,
    );
    let reason = "it is switched off in ~/.config/toolcrib/toolcrib.yaml";
    let said = home.run(&["setup", "cursor", "--dry-run"]);
    assert!(said.out.contains(&format!("x: {reason}")), "{}", said.out);
    let said = home.run(&["setup", "cursor", "--yes"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let told = format!("  x stays there: {reason}.\n");
    assert!(said.err.contains(&told), "{}", said.err);
    let cursor = read(&home, ".cursor/mcp.json");
    for (name, stays) in [("x", true), ("ruled", true), ("y", false)] {
        assert_eq!(cursor.contains(&format!("\"{name}\":")), stays, "{cursor}");
    }
    let json = home.run(&["config", "show", "--json"]).json();
    assert_eq!(json["servers"]["configured"], 2, "{json}");
}

#[test]
fn what_ours_says_differently_of_a_server_is_told() {
    let home = Home::new();
    home.configure("servers:\n  fs: {command: x, excludeTools: [w]}\n");
    home.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"files": {"command": "x"}}}"#,
    );
    let said = home.run(&["setup", "cursor", "--yes"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let told = "they differ in which tools are kept, where";
    assert!(said.err.contains(told), "{}", said.err);
    assert!(!said.out.contains("written to"), "{}", said.out);
}

#[test]
fn no_client_is_changed_where_ours_does_not_load_although_nothing_is_added_to_it() {
    let home = Home::new();
    home.configure(
        "servers:\n  a: {command: a}\npolicy:\n  overrides: [{pattern: ['/(/'], risk: high}]\n",
    );
    let text = r#"{"mcpServers": {"a": {"command": "a"}}}"#;
    home.write(".cursor/mcp.json", text);
    let said = home.run(&["setup", "cursor", "--yes"]);
    assert_eq!(said.code, Some(2), "{}", said.out);
    assert!(
        said.err.contains("no client was changed") && said.err.contains("overrides"),
        "{}",
        said.err
    );
    assert_eq!(read(&home, ".cursor/mcp.json"), text);
}

#[test]
fn ours_with_a_byte_order_mark_comes_back_with_it() {
    let home = furnished();
    let own = "\u{feff}servers:\r\n  c: {command: c}\r\n";
    home.configure(own);
    let said = home.run(&["setup", "--yes"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(read(&home, TARGET).starts_with(own));
    assert_eq!(home.run(&["setup", "--undo"]).code, Some(0));
    assert_eq!(read(&home, TARGET), own);
}
