#![expect(
    clippy::needless_pass_by_value,
    reason = "schemas are written in place"
)]

use serde_json::{Value, json};

use super::*;

#[track_caller]
fn check(schema: Value, expect: Value) {
    let made = sample(&schema);
    assert_eq!(made, Some(expect), "{schema}");
}

/// Only that it passes counts.
#[track_caller]
fn passes(schema: Value) {
    let made = sample(&schema).unwrap_or_else(|| panic!("nothing for {schema}"));
    let compiled = crate::schema::compile(&schema).unwrap();
    assert!(compiled.check(&made, Unknown::Refuse).is_ok(), "{made}");
}

fn one(schema: Value) -> Value {
    json!({"type": "object", "properties": {"x": schema}, "required": ["x"]})
}

#[test]
fn only_what_is_required_is_filled() {
    check(json!({}), json!({}));
    check(json!({"type": "object"}), json!({}));
    check(
        json!({
            "type": "object",
            "properties": {"title": {"type": "string"}, "body": {"type": "string"}},
            "required": ["title"]
        }),
        json!({"title": "Title"}),
    );
}

#[test]
fn what_the_schema_gives_is_preferred() {
    check(
        one(json!({"type": "string", "default": "main"})),
        json!({"x": "main"}),
    );
    check(
        one(json!({"type": "string", "examples": ["a", "b"]})),
        json!({"x": "a"}),
    );
    check(
        one(json!({"enum": ["open", "closed"]})),
        json!({"x": "open"}),
    );
    check(one(json!({"const": 5})), json!({"x": 5}));
    check(
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "examples": [{"a": 7}]}),
        json!({"a": 7}),
    );
}

#[test]
fn what_the_schema_gives_wrongly_is_not_used() {
    check(
        one(json!({"type": "integer", "default": "many"})),
        json!({"x": 1}),
    );
    check(
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "examples": [{"b": 7}]}),
        json!({}),
    );
}

#[test]
fn numbers_keep_their_bounds() {
    for (schema, expect) in [
        (json!({"type": "integer"}), json!(1)),
        (json!({"type": "integer", "minimum": 5}), json!(5)),
        (json!({"type": "integer", "maximum": -3}), json!(-3)),
        (json!({"type": "integer", "exclusiveMinimum": 5}), json!(6)),
        (
            json!({"type": "number", "exclusiveMinimum": 0, "maximum": 1}),
            json!(1),
        ),
        (
            json!({"type": "number", "exclusiveMaximum": 1, "minimum": 0}),
            json!(0.5),
        ),
        (json!({"type": "integer", "multipleOf": 10}), json!(10)),
        (
            json!({"type": "number", "minimum": 0.25, "maximum": 0.5}),
            json!(0.5),
        ),
    ] {
        check(one(schema), json!({"x": expect}));
    }
    let old = json!({
        "$schema": "http://json-schema.org/draft-04/schema#", "type": "object", "required": ["x"],
        "properties": {"x": {"type": "integer", "minimum": 5, "exclusiveMinimum": true, "maximum": 9}}
    });
    check(old, json!({"x": 6}));
}

#[test]
fn texts_keep_format_pattern_and_length() {
    for schema in [
        json!({"type": "string", "format": "date-time"}),
        json!({"type": "string", "format": "uuid"}),
        json!({"type": "string", "format": "email", "minLength": 3}),
        json!({"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}$"}),
        json!({"type": "string", "pattern": "^(open|closed)$"}),
        json!({"type": "string", "pattern": "^\\w+:[^:]+$", "minLength": 10}),
        json!({"type": "string", "pattern": "[\u{e000}-\u{f8ff}]"}),
        json!({"type": "string", "minLength": 40}),
        json!({"type": "string", "maxLength": 2}),
        json!({"type": "string", "minLength": 0, "maxLength": 0}),
    ] {
        passes(one(schema));
    }
    check(
        one(json!({"type": "string", "pattern": "^[A-Z]{3}$"})),
        json!({"x": "AAA"}),
    );
}

#[test]
fn names_say_what_a_text_looks_like() {
    let named = |name: &str| {
        let schema = json!({"properties": {name: {"type": "string"}}, "required": [name]});
        sample(&schema).unwrap()[name].clone()
    };
    assert_eq!(named("imageUrl"), "https://example.com");
    assert_eq!(named("file_path"), "docs/readme.md");
    assert_eq!(named("pullNumber"), "pull number");
    assert_eq!(named("_"), "text");
}

#[test]
fn arrays_and_objects_are_filled_inside() {
    check(
        one(json!({"type": "array", "items": {"type": "integer"}})),
        json!({"x": [1]}),
    );
    check(
        one(
            json!({"type": "array", "minItems": 2, "uniqueItems": true, "items": {"enum": ["a", "b"]}}),
        ),
        json!({"x": ["a", "b"]}),
    );
    check(
        one(
            json!({"type": "array", "minItems": 3, "uniqueItems": true, "items": {"type": "integer"}}),
        ),
        json!({"x": [1, 2, 3]}),
    );
    let number = json!({"type": "string", "pattern": "^(0|[1-9][0-9]*)$"});
    passes(one(
        json!({"type": "array", "minItems": 3, "uniqueItems": true, "items": number}),
    ));
    check(
        one(json!({"type": "array", "maxItems": 0})),
        json!({"x": []}),
    );
    check(one(json!({"type": "array"})), json!({"x": ["x"]}));
    passes(one(
        json!({"type": "array", "minItems": 2, "uniqueItems": true, "items": {"type": "boolean"}}),
    ));
    check(
        one(json!({"properties": {"a": {"type": "boolean"}, "b": {}}, "required": ["a"]})),
        json!({"x": {"a": true}}),
    );
    passes(one(json!({"type": "object", "minProperties": 2})));
    passes(one(
        json!({"type": "object", "minProperties": 2, "properties": {"a": {"type": "null"}}, "additionalProperties": true}),
    ));
    check(json!({"required": ["free"]}), json!({"free": "free"}));
}

#[test]
fn alternatives_and_references_are_followed() {
    check(
        one(json!({"anyOf": [{"type": "null"}, {"type": "integer"}]})),
        json!({"x": 1}),
    );
    check(one(json!({"type": ["null", "string"]})), json!({"x": "x"}));
    check(
        json!({
            "$defs": {"node": {"type": "object", "required": ["v"], "properties": {
                "v": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}}}},
            "properties": {"n": {"$ref": "#/$defs/node"}}, "required": ["n"]
        }),
        json!({"n": {"v": 1}}),
    );
    check(
        json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
               "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}),
        json!({"a": "a"}),
    );
    // The first alternative contradicts the rest of the schema, the second does not.
    check(
        one(
            json!({"anyOf": [{"type": "string", "minLength": 5, "maxLength": 2}, {"type": "integer"}]}),
        ),
        json!({"x": 1}),
    );
    check(
        json!({"allOf": [{"properties": {"a": {"type": "integer"}}}, {"required": ["a"]}]}),
        json!({"a": 1}),
    );
    passes(one(json!({"minimum": 3})));
    passes(one(json!({"items": {"type": "string"}})));
}

#[test]
fn a_schema_that_nothing_passes_gives_nothing() {
    assert_eq!(sample(&json!(false)), None);
    assert_eq!(sample(&one(json!(false))), None);
    assert_eq!(
        sample(&json!({"type": "object", "$ref": "https://example.com/x"})),
        None
    );
    let look_ahead = one(json!({"type": "string", "pattern": "^(?!x)(?=.*\\d)[a-w]{9}\\d$"}));
    assert_eq!(sample(&look_ahead), None);
    let huge = one(json!({"type": "string", "default": "x".repeat(9_000)}));
    assert_eq!(sample(&huge), Some(json!({"x": "x"})));
}

#[test]
fn a_pattern_is_repeated_to_the_length_that_is_asked_for() {
    let id =
        json!({"type": "string", "pattern": "^[0-9a-fA-F]+$", "minLength": 24, "maxLength": 24});
    check(one(id), json!({"x": "a".repeat(24)}));
    let key = json!({"type": "string", "pattern": "^k-[a-c]+$", "minLength": 30, "maxLength": 30});
    check(one(key), json!({"x": format!("k-{}", "a".repeat(28))}));
}

#[test]
fn bytes_are_given_in_base64_whatever_is_shown_of_them() {
    let bytes = json!({"type": "string", "contentEncoding": "base64", "examples": ["a file"]});
    check(one(bytes), json!({"x": "dGV4dA=="}));
}

#[test]
fn what_is_required_and_not_described_is_filled() {
    let schema =
        json!({"type": "object", "properties": {"login": {"type": "string"}}, "required": ["id"]});
    check(one(schema), json!({"x": {"id": "id"}}));
}
