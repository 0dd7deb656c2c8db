#![expect(
    clippy::needless_pass_by_value,
    reason = "schemas are written in place"
)]

use serde_json::{Value, json};

use super::*;

#[track_caller]
fn check(schema: Value, expect: &str) {
    assert_eq!(signature("t", &schema), format!("t({expect})"), "{schema}");
}

#[track_caller]
fn check_type(schema: Value, expect: &str) {
    check(
        json!({"properties": {"x": schema}, "required": ["x"]}),
        &format!("x: {expect}"),
    );
}

#[test]
fn required_parameters_come_first_and_the_rest_is_marked() {
    check(json!({}), "");
    check(json!({"type": "object", "properties": {}}), "");
    check(json!(true), "");
    check(
        json!({"properties": {"b": {"type": "string"}, "a": {"type": "integer"}}, "required": ["a"]}),
        "a: integer, b?: string",
    );
}

#[test]
fn types_are_written_as_a_reader_expects() {
    check_type(json!({"type": "string"}), "string");
    check_type(json!({}), "any");
    check_type(json!(true), "any");
    check_type(json!({"type": ["string", "integer"]}), "string|integer");
    check_type(json!({"type": "array"}), "array");
    check_type(
        json!({"type": "array", "items": {"type": "string"}}),
        "string[]",
    );
    check_type(
        json!({"type": "array", "items": {"type": ["string", "number"]}}),
        "(string|number)[]",
    );
    check_type(json!({"items": {"type": "string"}}), "string[]");
    check_type(
        json!({"type": "array", "items": [{"type": "string"}]}),
        "string[]",
    );
    check_type(
        json!({"prefixItems": [{"type": "string"}], "type": "array"}),
        "string[]",
    );
    check_type(json!({"type": "object"}), "object");
    check_type(
        json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "null"}}, "required": ["a"]}),
        "{a: string, b?: null}",
    );
    check_type(
        json!({"type": "array", "items": {"properties": {"a": {"enum": ["x", "y"]}}}}),
        "{a?: 'x'|'y'}[]",
    );
}

#[test]
fn listed_values_are_shown_up_to_a_number() {
    check_type(json!({"enum": ["open", "closed"]}), "'open'|'closed'");
    check_type(json!({"enum": [1, true, null]}), "1|true|null");
    check_type(json!({"const": "a"}), "'a'");
    check_type(json!({"enum": [[1], {"a": 1}]}), "array|object");
    let many: Vec<String> = (0..20).map(|n| format!("v{n}")).collect();
    check_type(
        json!({"type": "string", "enum": many}),
        "'v0'|'v1'|'v2'|'v3'|'v4'|'v5'|'v6'|'v7'|…",
    );
}

#[test]
fn null_is_shown_only_where_it_must_be_sent() {
    check_type(json!({"type": ["string", "null"]}), "string|null");
    check_type(
        json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
        "string|null",
    );
    check(
        json!({"properties": {"x": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null}}}),
        "x?: string",
    );
    check_type(
        json!({"oneOf": [{"const": null}, {"enum": [null]}]}),
        "null",
    );
}

#[test]
fn alternatives_and_references_are_read() {
    check_type(
        json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
        "string|string[]",
    );
    check_type(
        json!({"oneOf": [{"const": "a"}, {"const": "b"}]}),
        "'a'|'b'",
    );
    check(
        json!({
            "properties": {"x": {"$ref": "#/$defs/x"}, "y": {"$ref": "#named"}, "z": {"$ref": "#/nowhere"}},
            "$defs": {"x": {"type": "integer"}, "y": {"$anchor": "named", "type": "boolean"}}
        }),
        "x?: integer, y?: boolean, z?: any",
    );
    check_type(
        json!({"allOf": [{"type": "string"}, {"minLength": 1}]}),
        "string",
    );
    check(
        json!({"allOf": [{"properties": {"a": {"type": "string"}}}, {"required": ["a"]}]}),
        "a: string",
    );
    check(
        json!({"oneOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}]}),
        "a: string",
    );
}

#[test]
fn a_schema_that_goes_round_in_a_circle_ends() {
    let schema = json!({
        "$defs": {"node": {"type": "object", "properties": {
            "value": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}}}},
        "properties": {"head": {"$ref": "#/$defs/node"}}
    });
    check(schema, "head?: {value?: integer, next?: any}");
    check(json!({"$ref": "#"}), "");
    check(json!({"properties": {"a": {"$ref": "#"}}}), "a?: any");
}

#[test]
fn a_long_signature_says_less_and_stays_within_its_budget() {
    let nested = json!({"type": "object", "properties": {
        "name": {"type": "string"}, "kind": {"enum": ["one", "two", "three", "four", "five"]},
        "labels": {"type": "array", "items": {"type": "string"}}, "amount": {"type": "number"}}});
    let mut properties = serde_json::Map::new();
    for n in 0..8 {
        properties.insert(format!("part{n}"), nested.clone());
    }
    let line = signature(
        "t",
        &json!({"properties": properties, "required": ["part3"]}),
    );
    assert!(
        line.starts_with("t(part3: object, part0?: object"),
        "{line}"
    );
    for n in 0..200 {
        properties.insert(format!("parameter{n}"), json!({"type": "string"}));
    }
    let line = signature("t", &json!({"properties": properties}));
    assert!(line.ends_with(", …)"), "{line}");
    assert!(tokens::fits(&line, SIGNATURE_TOKENS_MAX), "{line}");
    let line = signature(&"name".repeat(200), &json!({"properties": {"a": {}}}));
    assert!(
        line.chars().count() < SIGNATURE_NAME_CHARS_MAX + 10,
        "{line}"
    );
    let wide = json!({"enum": ["x".repeat(300), "y".repeat(300)]});
    check_type(wide, "string");
}
