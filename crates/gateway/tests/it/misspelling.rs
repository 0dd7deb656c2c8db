//! Names that are nearly right, and those that are not: what is said to have been meant.

use serde_json::{Value, json};

use crate::home::{Home, Said};
use crate::stage::{reader, staged};

/// Servers whose tools are known without asking them, and a call that is on record.
fn known() -> Home {
    let home = Home::new();
    let tool = |name: &str| json!({"name": name, "description": format!("Does {name}")});
    let declared = |names: &[&str]| -> Vec<Value> { names.iter().map(|name| tool(name)).collect() };
    let servers = json!({
        "github": {"command": "x", "tools": declared(&["create_issue", "delete_repo"])},
        "files": {"command": "x", "tools": declared(&["read_file"])},
        "depot": {"command": "x", "tools": declared(&["read_file"])},
    });
    home.configure(&json!({"servers": servers}).to_string());
    let said = home.run(&["execute", "nobody:x", "--args", "{}"]);
    assert_eq!(said.code, Some(2), "there is a record: {}", said.err);
    home
}

fn all(said: &Said) -> String {
    format!("{}{}", said.out, said.err)
}

#[test]
fn a_server_or_tool_that_was_mistyped_is_named_as_it_is() {
    let home = known();
    let check = |arguments: &[&str], code: i32, part: &str| {
        let said = home.run(arguments);
        assert_eq!(said.code, Some(code), "{arguments:?}: {}", all(&said));
        assert!(all(&said).contains(part), "{arguments:?}: {}", all(&said));
    };
    check(
        &["rules", "explain", "githb:x"],
        0,
        "there is no server githb; did you mean github? the rules are asked all the same",
    );
    let of_tools = "is known; did you mean github:create_issue?";
    for named in ["create_isue", "create_issue", "github:create_isue"] {
        check(&["audit", "search", "--tool", named], 0, of_tools);
    }
    check(
        &["audit", "tail", "--tool", "read_file"],
        0,
        "No tool read_file is known; did you mean files:read_file or depot:read_file?",
    );
    check(
        &["audit", "search", "--tool", "githb:create_issue"],
        0,
        "There is no server githb; did you mean github?",
    );
    check(
        &["approve", "githb"],
        2,
        "nothing waits under githb; did you mean github?",
    );
    for wrong in ["githb:create_issue", "github:create_isue"] {
        let meant = format!("nothing waits under {wrong}; did you mean github:create_issue?");
        check(&["approvals", "approve", wrong], 2, &meant);
        check(&["approvals", "show", wrong], 2, &meant);
    }
}

#[test]
fn nothing_is_meant_by_what_is_right_or_like_nothing() {
    let home = known();
    for arguments in [
        &["rules", "explain", "github:create_issue"][..],
        &["rules", "explain", "nothing:x"],
        &["audit", "search", "--tool", "github:create_issue"],
        &["audit", "search", "--tool", "frobnicate"],
        &["approve", "github"],
        &["approve", "github:create_issue"],
        // The server alone would be all of its tools.
        &["approve", "github:frobnicate"],
        &["approve", "frobnicate"],
    ] {
        let said = all(&home.run(arguments));
        assert!(
            !said.to_lowercase().contains("did you mean"),
            "{arguments:?}: {said}"
        );
    }
}

#[test]
fn only_a_close_spelling_is_said_to_be_meant() {
    let tools = ["update_issue", "list_repos", "create_issue"];
    let tools: Vec<Value> = tools.iter().map(|tool| reader(tool, &json!({}))).collect();
    let notes = crate::transcripts::finding::NOTES;
    let home = staged(&json!(tools), notes, "");
    let check = |tool: &str, meant: Option<&str>, nearest: &[&str]| {
        for command in [
            &["execute", "stage", tool, "--args", "{}"][..],
            &["inspect", "stage", tool],
        ] {
            let told = home.run(&[command, &["--json"]].concat()).json();
            let error = &told["error"];
            let message = error["message"].as_str().unwrap();
            match meant {
                Some(meant) => {
                    let meant = format!("Did you mean {meant}?");
                    assert!(message.ends_with(&meant), "{command:?}: {message}");
                }
                None => assert!(message.contains("`toolcrib search`"), "{message}"),
            }
            let told = error["nearest"].as_array();
            let told = told.map(|told| told.iter().filter_map(Value::as_str).collect::<Vec<_>>());
            for near in nearest {
                let told = told.as_ref().unwrap();
                assert!(told.contains(near), "{command:?}: {told:?}");
            }
        }
    };
    assert_eq!(home.run(&["search", "note"]).code, Some(0));
    check(
        "update_isue",
        Some("stage:update_issue"),
        &["stage:update_issue"],
    );
    check("get_repos", Some("stage:list_repos"), &["stage:list_repos"]);
    check("show_repos", None, &["stage:list_repos"]);
    check("nope", None, &[]);
    check(
        "create_note",
        Some("notes:create_note"),
        &["notes:create_note"],
    );
}
