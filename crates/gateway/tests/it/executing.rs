//! `toolcrib execute`: the whole of a result.

use serde_json::{Value, json};

use crate::home::Home;
use crate::stage::{execute, reader, staged};

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
    assert_eq!(told, json!({"success": true, "result": all}));
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
