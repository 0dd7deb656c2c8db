//! What an agent may have meant, and what it is told of servers and tools that are not as they were.

use serde_json::json;

use super::{Talk, run};
use crate::counter::furnished;
use crate::home::eventually;
use crate::stage::{execute, offer, reader, staged};

#[test]
fn a_name_that_is_none_of_the_five_is_never_answered_with_what_destroys() {
    let home = furnished("");
    let mut talk = Talk::begin(&home, "2025-06-18");
    talk.done("search_tools", json!({"query": "note"}));
    let mut check = |name: &str, meant: &str| {
        let fault = talk.fault(name, json!({}));
        let message = fault["message"].as_str().unwrap();
        assert!(
            message.contains("the tools are list_mcp_servers"),
            "{message}"
        );
        assert_eq!(
            message.contains("execute_tool runs"),
            !meant.is_empty(),
            "{message}"
        );
        assert!(message.contains(meant), "{message}");
    };
    check("nope", "");
    check("delete_note", "");
    check("notes:delete_note", "");
    check(
        "creat_note",
        "create_note(title: string, body: string) of the server notes",
    );
    check(
        "notes__read_note",
        "read_note(id: integer) of the server notes",
    );
}

#[test]
fn an_id_where_a_name_belongs_means_its_tool() {
    let home = furnished("");
    let mut talk = Talk::begin(&home, "2025-11-25");
    let ids = [
        json!({"server": "notes", "tool": "notes:list_notes"}),
        json!({"tool": "notes:list_notes"}),
    ];
    for mut given in ids {
        let details = talk.done("get_tool_details", given.clone());
        assert_eq!(details["tool"], "list_notes", "{details}");
        given["arguments"] = json!({});
        assert_eq!(talk.done("execute_tool", given)["success"], true);
    }
    let error = talk.failed("execute_tool", json!({"tool": "list_notes"}));
    assert_eq!(error["field"], "server", "{error}");
    let error = talk.failed(
        "execute_tool",
        run("notes", "calendar:list_notes", json!({})),
    );
    assert_eq!(error["code"], "TOOL_NOT_FOUND", "{error}");
}

#[test]
fn a_server_that_is_set_aside_is_listed_with_the_reason() {
    let tools = json!([reader("echo", &json!({}))]);
    let lame = "  lame: {command: lame, env: {TOKEN: '${NO_SUCH_TOKEN}'}}\n";
    let home = staged(&tools, lame, "");
    let mut talk = Talk::begin(&home, "2025-11-25");
    let listed = talk.done("list_mcp_servers", json!({}));
    let rows = listed["servers"].as_array().unwrap();
    let row = rows.iter().find(|row| row["name"] == "lame").unwrap();
    let why = "the environment variable NO_SUCH_TOKEN is not set";
    assert_eq!(
        (&row["status"], &row["reason"]),
        (&"error".into(), &why.into())
    );
    let done = talk.done("execute_tool", run("stage", "echo", json!({})));
    assert_eq!(done["success"], true);
}

#[test]
fn a_tool_that_changed_before_the_process_began_is_refused_soon_after_its_server_is_reached() {
    let before = reader("echo", &json!({}));
    let home = staged(&json!([before.clone()]), "", "");
    assert_eq!(execute(&home, "echo", "{}", &[]).code, Some(0));
    let mut after = before;
    after["description"] = "Does echo, and more.".into();
    offer(&home, &json!([after]));
    let mut talk = Talk::begin(&home, "2025-11-25");
    // The list is fresh, so that nobody would ask for it until tomorrow.
    eventually("the change is seen", || {
        let (failed, told) = talk.call("execute_tool", run("stage", "echo", json!({})));
        (failed && told["error"]["code"] == "APPROVAL_REQUIRED").then_some(())
    });
    let listed = home.run(&["approvals", "list"]).out;
    assert!(listed.contains("stage:echo"), "{listed}");
}
