//! `export`.

use crate::home::{Home, names};

const CURSOR: &str = "// mine\n{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a\"}\n  }\n}\n";

#[test]
fn our_entry_goes_into_the_file_and_out_again() {
    let home = Home::new();
    let file = home.write(".cursor/mcp.json", CURSOR);
    let said = home.run(&["export", "--to", "cursor"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(
        said.out
            .starts_with("✓ ~/.cursor/mcp.json has the entry now"),
        "{}",
        said.out
    );
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("// mine\n"), "{text}");
    assert!(
        text.contains("\"toolcrib\"") && text.contains("--stdio"),
        "{text}"
    );
    assert_eq!(names(&home.path(".cursor")).len(), 2);
    let again = home.run(&["export", "--to", "cursor", "--json"]).json();
    assert_eq!(again["outcome"], "unchanged");
    let said = home.run(&["export", "--to", "cursor", "--undo"]);
    assert_eq!(said.out, "~/.cursor/mcp.json is as it was before.\n");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), CURSOR);
    let json = home
        .run(&["export", "--to", "cursor", "--undo", "--json"])
        .json();
    assert_eq!(json["outcome"], "unchanged");
}

#[test]
fn the_entry_starts_this_program_and_is_not_imported_again() {
    let home = Home::new();
    let config = home.write("my.yaml", "servers: {}\n");
    let said = home.run(&[
        "export",
        "--to",
        "claude-desktop",
        "--config",
        config.to_str().unwrap(),
    ]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let file = home.path(".config/Claude/claude_desktop_config.json");
    let text = std::fs::read_to_string(file).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let entry = &json["mcpServers"]["toolcrib"];
    assert_eq!(entry["command"], env!("CARGO_BIN_EXE_toolcrib"));
    let arguments: Vec<&str> = entry["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| a.as_str().unwrap())
        .collect();
    let output = home.command(&arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?} {output:?}");
    let imported = home.run(&["import", "--json"]).json();
    assert_eq!(imported["servers"].as_array().unwrap().len(), 0);
    assert_eq!(imported["skipped"][0]["name"], "toolcrib");
    let said = home.run(&["export", "--to", "claude-desktop", "--undo"]);
    assert!(said.out.contains("Claude"), "{}", said.out);
}

#[test]
fn a_dry_run_shows_the_entry_and_writes_nothing() {
    let home = Home::new();
    let file = home.write(".cursor/mcp.json", CURSOR);
    let said = home.run(&["export", "--to", "cursor", "--dry-run"]);
    assert!(
        said.out
            .starts_with("~/.cursor/mcp.json would get this entry:\n"),
        "{}",
        said.out
    );
    assert!(!said.out.contains("\"a\""), "{}", said.out);
    assert_eq!(std::fs::read_to_string(file).unwrap(), CURSOR);
    let json = home
        .run(&["export", "--to", "cursor", "--dry-run", "--json"])
        .json();
    assert_eq!(json["outcome"], "dry-run");
}

#[test]
fn a_broken_file_is_left_alone() {
    let home = Home::new();
    let file = home.write(".cursor/mcp.json", "{\"mcpServers\": {");
    for arguments in [
        &["export", "--to", "cursor"][..],
        &["export", "--to", "cursor", "--dry-run"],
    ] {
        let said = home.run(arguments);
        assert_eq!(said.code, Some(2), "{arguments:?}");
        assert!(said.err.contains("CONFIGURATION_ERROR"), "{}", said.err);
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), "{\"mcpServers\": {");
}

#[test]
fn a_dry_run_fails_where_the_run_would() {
    let home = Home::new();
    let file = home.write(".cursor/mcp.json", "{}");
    std::fs::write(&file, b"{\"a\": \"\xff\"}").unwrap();
    for arguments in [
        &["export", "--to", "cursor"][..],
        &["export", "--to", "cursor", "--dry-run"],
    ] {
        let said = home.run(arguments);
        assert_eq!(said.code, Some(2), "{arguments:?} {}", said.out);
        assert!(said.err.contains("cannot be read"), "{}", said.err);
    }
}

#[test]
fn what_the_file_was_is_kept_where_it_did_not_go_back_to_it() {
    let home = Home::new();
    let file = home.write(".cursor/mcp.json", CURSOR);
    assert_eq!(home.run(&["export", "--to", "cursor"]).code, Some(0));
    let edited = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, edited.replace("// mine", "// mine, edited")).unwrap();
    for outcome in ["taken-out", "unchanged", "unchanged"] {
        let json = home.run(&["export", "--to", "cursor", "--undo", "--json"]);
        assert_eq!(json.json()["outcome"], outcome);
        let there = names(&home.path(".cursor"));
        assert_eq!(there.len(), 2, "{there:?}");
        let backup = home.path(".cursor").join(&there[1]);
        assert_eq!(std::fs::read_to_string(backup).unwrap(), CURSOR);
    }
}

#[test]
fn a_misspelt_client_is_told_the_right_name() {
    let said = Home::new().run(&["export", "--to", "curser"]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("did you mean cursor?"), "{}", said.err);
}
