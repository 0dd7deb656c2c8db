use serde_json::{Value, json};

use super::*;
use crate::catalog::ToolId;

fn tool(description: &str, schema: Value) -> Tool {
    Tool::new(ToolId::new("github", "create_issue"), description, schema)
}

fn shown(description: &str, schema: Value) -> Value {
    let text = details(&tool(description, schema), &Standing::default());
    assert!(tokens::at_most(&text) <= DETAILS_TOKENS_MAX, "{text}");
    assert!(
        !text.contains('\n') && !text.contains("\": "),
        "no indentation: {text}"
    );
    serde_json::from_str(&text).unwrap()
}

#[test]
fn the_documented_shape_is_kept() {
    let schema = json!({
        "type": "object",
        "properties": {
            "repo": {"type": "string", "description": "Repository name (owner/repo)"},
            "body": {"type": "string", "description": "Issue body (markdown)"}
        },
        "required": ["repo"]
    });
    let text = details(
        &tool("Create a new GitHub issue", schema),
        &Standing::default(),
    );
    assert_eq!(
        text,
        r#"{"server":"github","tool":"create_issue","description":"Create a new GitHub issue","parameters":[{"name":"repo","type":"string","description":"Repository name (owner/repo)","required":true},{"name":"body","type":"string","description":"Issue body (markdown)"}],"examples":[{"description":"minimal","parameters":{"repo":"hello"}}]}"#
    );
}

#[test]
fn a_tool_without_anything_has_the_documented_arrays() {
    let text = details(&tool("", json!(false)), &Standing::default());
    assert_eq!(
        text,
        r#"{"server":"github","tool":"create_issue","parameters":[],"examples":[]}"#
    );
}

#[test]
fn values_defaults_formats_bounds_and_nesting_are_kept() {
    let schema = json!({"properties": {
        "state": {"enum": ["open", "closed"], "default": "open"},
        "since": {"type": "string", "format": "date-time"},
        "page": {"type": "integer", "minimum": 1, "maximum": 9_007_199_254_740_991_i64, "default": null},
        "name": {"type": "string", "minLength": 0, "maxLength": 80, "pattern": "^a"},
        "labels": {"type": "array", "items": {"type": "object", "required": ["text"], "properties": {
            "text": {"type": "string", "description": "What it says"},
            "style": {"type": "object", "properties": {"bold": {"type": "boolean", "default": true}}}}}},
        "bare": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}},
        "who": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": "", "description": "The who"}
    }, "required": ["who"]});
    let parameters = &shown("x", schema)["parameters"];
    assert_eq!(
        parameters,
        &json!([
            {"name": "who", "type": "string|null", "required": true},
            {"name": "state", "type": "'open'|'closed'", "default": "open"},
            {"name": "since", "type": "string", "format": "date-time"},
            {"name": "page", "type": "integer", "minimum": 1},
            {"name": "name", "type": "string", "maxLength": 80, "pattern": "^a"},
            {"name": "labels", "type": "object[]", "properties": [
                {"name": "text", "type": "string", "description": "What it says", "required": true},
                {"name": "style", "type": "object", "properties": [
                    {"name": "bold", "type": "boolean", "default": true}]}]},
            {"name": "bare", "type": "{a?: string, b?: integer}"}
        ])
    );
}

#[test]
fn fields_of_alternatives_are_listed_once() {
    let schema = json!({"oneOf": [
        {"properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["b"]}
    ]});
    let parameters = shown("x", schema)["parameters"].clone();
    let names: Vec<&str> = parameters
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn the_longest_texts_are_cut_first_and_that_is_marked() {
    let long = "This sentence tells a lot about it. ".repeat(40);
    let schema = json!({"properties": {
        "a": {"type": "string", "description": long}, "b": {"type": "string", "description": "Short sense"}}});
    let answer = shown(&long, schema);
    assert_eq!(answer["truncated"], true);
    assert_eq!(answer["parameters"][1]["description"], "Short sense");
    let cut = answer["parameters"][0]["description"].as_str().unwrap();
    assert!(
        cut.starts_with("This sentence") && cut.len() < long.len(),
        "{cut}"
    );
    assert!(answer["description"].as_str().unwrap().len() > cut.len());
}

#[test]
fn whatever_the_schema_the_answer_stays_within_its_budget() {
    let many = |n: usize, schema: &Value| {
        let named = (0..n).map(|i| (format!("parameter_number_{i}"), schema.clone()));
        json!({"type": "object", "properties": named.collect::<Map<String, Value>>()})
    };
    let text = json!({"type": "string", "description": "What this is for, in a sentence that goes on and on."});
    let values: Vec<String> = (0..500).map(|n| format!("value-{n}")).collect();
    let deep = (0..9).fold(text.clone(), |inner, _| many(3, &inner));
    for schema in [
        many(60, &text),
        many(1_000, &text),
        many(20, &many(20, &text)),
        many(4, &json!({"enum": values})),
        many(3, &json!({"type": "string", "default": "x".repeat(5_000)})),
        many(1, &json!({"type": "string", "pattern": "x".repeat(4_000)})),
        deep,
        json!({"properties": {"日本語の名前".repeat(400): {"type": "string"}}}),
    ] {
        let answer = shown(&"Long text. ".repeat(3_000), schema);
        assert_eq!(answer["truncated"], true);
    }
}

#[test]
fn the_verbatim_schema_is_given_when_asked_for() {
    let schema = json!({"type": "object", "x-own": [1], "properties": {"a": {"type": "string", "description": "d"}}});
    let long = "word ".repeat(4_000);
    let mut tool = tool(&long, schema.clone());
    tool.output_schema = Some(std::sync::Arc::new(json!({"type": "string"})));
    let answer: Value = serde_json::from_str(&verbatim(&tool, &Standing::default())).unwrap();
    assert_eq!(answer["inputSchema"], schema);
    assert_eq!(answer["outputSchema"], json!({"type": "string"}));
    assert_eq!(answer["description"], long);
    assert_eq!(
        answer["parameters"],
        json!([{"name": "a", "type": "string"}])
    );
    assert_eq!(answer.get("truncated"), None);
}

#[test]
fn what_a_call_needs_and_a_disabled_tool_are_said() {
    let standing = Standing {
        disabled: true,
        needs: vec!["idempotency_key".into()],
    };
    let answer: Value = serde_json::from_str(&details(&tool("x", json!({})), &standing)).unwrap();
    assert_eq!(
        (&answer["enabled"], &answer["needs"]),
        (&json!(false), &json!(["idempotency_key"]))
    );
}
