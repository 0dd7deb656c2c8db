//! Entries of clients' files that cannot be started, and why.

use toolcrib_config::import::{Client, Scope};

use crate::import::read;

#[test]
fn entries_that_cannot_be_started_are_refused() {
    let check = |client: &str, entry: &str, expected: &str| {
        let root = Client::by_id(client).unwrap().roots[0];
        let text = format!("{{\"{root}\": {{\"a\": {entry}}}}}");
        let imported = read(client, "x.json", &text, Scope::User);
        assert_eq!(imported.servers, [], "{entry}");
        assert_eq!(imported.skipped[0].reason, expected, "{entry}");
    };
    check(
        "cursor",
        r#"{"command": ""}"#,
        "server \"a\" has an empty command",
    );
    check(
        "cursor",
        r#"{"command": {}}"#,
        "server \"a\" has an empty command",
    );
    check(
        "cursor",
        r#"{"command": [1]}"#,
        "server \"a\": `command` must be a list of strings, not a number",
    );
    check(
        "cursor",
        r#"{"command": {"path": 1}}"#,
        "server \"a\": `command` must be a string, not a number",
    );
    check(
        "cursor",
        r#"{"url": 5}"#,
        "server \"a\": `url` must be a string, not a number",
    );
    check(
        "cursor",
        r#"{"command": "x", "cwd": 5}"#,
        "server \"a\": `cwd` must be a string, not a number",
    );
    check(
        "cursor",
        r#"{"command": "x", "timeout": "5"}"#,
        "server \"a\": `timeout` must be a number, not a string",
    );
    check(
        "cursor",
        r#"{"command": "x", "timeout": -5}"#,
        "server \"a\": `timeout` must be zero or more, not a number",
    );
    check(
        "cursor",
        r#"{"command": "x", "description": 5}"#,
        "server \"a\": `description` must be a string, not a number",
    );
    check(
        "cursor",
        r#"{"command": "x", "env_vars": [5]}"#,
        "server \"a\": `env_vars` must be a list of names",
    );
    check(
        "cursor",
        r#"{"command": "${env:a b}"}"#,
        "server \"a\": \"a b\" is not the name of an environment variable (letters, digits and _); write $${ for a literal ${",
    );
    let bad = "server \"a\": \"A B\" is not the name of an environment variable (letters, digits and _); write $${ for a literal ${";
    check("codex", r#"{"command": "x", "env_vars": ["A B"]}"#, bad);
    check("codex", r#"{"command": "x", "env_keys": ["A B"]}"#, bad);
    check(
        "codex",
        r#"{"url": "x", "bearer_token_env_var": "A B"}"#,
        bad,
    );
    check(
        "codex",
        r#"{"url": "x", "env_http_headers": {"H": "A:-x"}}"#,
        "server \"a\": \"A:-x\" is not the name of a variable",
    );
    let empty = read(
        "cursor",
        "x.json",
        r#"{"mcpServers": {" ": {"command": "x"}, "a:b": {"command": "y"}}}"#,
        Scope::User,
    );
    assert_eq!(empty.servers[0].name, "a-b");
    assert_eq!(
        empty.skipped[0].reason,
        "a server without a name is left out"
    );
    assert_eq!(
        empty.diagnostics[1].message,
        "server \"a:b\" is imported as \"a-b\""
    );
}
