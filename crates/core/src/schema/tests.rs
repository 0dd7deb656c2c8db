use serde_json::json;

use super::*;
use crate::limits::{ARGUMENTS_DEPTH_MAX, VIOLATIONS_COUNTED_MAX, VIOLATIONS_MAX};

/// All violations as `path: message`.
fn said(schema: &Value, arguments: &Value, unknown: Unknown) -> Vec<String> {
    let compiled = compile(schema).unwrap();
    let violations = compiled.check(arguments, unknown).err().unwrap_or_default();
    let listed = violations.listed.into_iter();
    listed
        .map(|v| format!("{}: {}", v.path, v.message))
        .collect()
}

fn refuses(schema: &Value, arguments: &Value) -> Vec<String> {
    said(schema, arguments, Unknown::Refuse)
}

fn every_rule() -> Value {
    json!({
        "type": "object",
        "properties": {
            "amount": {"type": "integer", "minimum": 1, "maximum": 9, "multipleOf": 2},
            "currency": {"enum": ["NGN", "GHS"]},
            "kind": {"const": "card"},
            "email": {"type": "string", "minLength": 3, "maxLength": 5, "pattern": "^a"},
            "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2, "uniqueItems": true},
            "either": {"type": ["string", "null"]},
            "who": {"anyOf": [{"required": ["id"]}, {"properties": {"age": {"type": "integer"}}}]},
            "gone": false,
            "odd": {"not": {"type": "string"}},
            "two": {"oneOf": [{"minimum": 1}, {"minimum": 2}]},
            "some": {"contains": {"type": "string"}},
            "few": {"exclusiveMinimum": 1, "exclusiveMaximum": 0},
            "map": {"minProperties": 1, "maxProperties": 0, "propertyNames": {"maxLength": 1}},
        },
        "required": ["amount", "absent"],
    })
}

#[test]
fn every_violation_is_listed_with_its_place_and_what_is_allowed() {
    let schema = every_rule();
    let table = [
        (json!({"amount": 2}), vec![": `absent` is missing"]),
        (
            json!({"absent": 1, "amount": "2"}),
            vec!["/amount: must be an integer, not a string"],
        ),
        (
            json!({"absent": 1, "amount": 11}),
            vec![
                "/amount: must be 9 or less",
                "/amount: must be a multiple of 2",
            ],
        ),
        (
            json!({"absent": 1, "amount": 0}),
            vec!["/amount: must be 1 or more"],
        ),
        (
            json!({"absent": 1, "amount": 2, "currency": "secret"}),
            vec![r#"/currency: must be one of "NGN", "GHS""#],
        ),
        (
            json!({"absent": 1, "amount": 2, "kind": "x"}),
            vec![r#"/kind: must be "card""#],
        ),
        (
            json!({"absent": 1, "amount": 2, "email": "b"}),
            vec![
                "/email: must have at least 3 characters",
                "/email: must match /^a/",
            ],
        ),
        (
            json!({"absent": 1, "amount": 2, "email": "abcdef"}),
            vec!["/email: must have at most 5 characters"],
        ),
        (
            json!({"absent": 1, "amount": 2, "tags": []}),
            vec!["/tags: must have at least 1 items"],
        ),
        (
            json!({"absent": 1, "amount": 2, "tags": [1, 1, 1]}),
            vec![
                "/tags/0: must be a string, not an integer",
                "/tags/1: must be a string, not an integer",
                "/tags/2: must be a string, not an integer",
                "/tags: must have at most 2 items",
                "/tags: must not repeat items",
            ],
        ),
        (
            json!({"absent": 1, "amount": 2, "either": 1.5}),
            vec!["/either: must be null or a string, not a number"],
        ),
        (
            json!({"absent": 1, "amount": 2, "who": {"age": true}}),
            vec![
                "/who: fits none of 2 alternatives: /who `id` is missing, /who/age must be an integer, not a boolean",
            ],
        ),
        (
            json!({"absent": 1, "amount": 2, "gone": 1}),
            vec!["/gone: must be left out"],
        ),
        (
            json!({"absent": 1, "amount": 2, "odd": "x"}),
            vec!["/odd: is what the schema rules out"],
        ),
        (
            json!({"absent": 1, "amount": 2, "two": 3}),
            vec!["/two: fits more than one of the alternatives, where it must fit exactly one"],
        ),
        (
            json!({"absent": 1, "amount": 2, "some": [1]}),
            vec!["/some: must contain an item that it lacks"],
        ),
        (
            json!({"absent": 1, "amount": 2, "few": 1}),
            vec!["/few: must be more than 1", "/few: must be less than 0"],
        ),
        (
            json!({"absent": 1, "amount": 2, "map": {"ab": 1}}),
            vec![
                "/map: must have at most 0 properties",
                "/map: a property's name is wrong: must have at most 1 characters",
            ],
        ),
        (json!([]), vec![": must be an object, not an array"]),
    ];
    for (arguments, mut expected) in table {
        let mut found = said(&schema, &arguments, Unknown::Pass);
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{arguments}");
    }
    assert!(said(&schema, &json!({"absent": 1, "amount": 2}), Unknown::Pass).is_empty());
}

#[test]
fn values_are_never_repeated() {
    let schema = json!({"properties": {
        "a": {"type": "integer"}, "b": {"enum": ["x"]}, "c": {"pattern": "^z"}, "d": {"anyOf": [{"const": 1}]},
    }});
    let canary = "hunter2-canary";
    let arguments = json!({"a": canary, "b": canary, "c": canary, "d": {"deep": [canary]}});
    let compiled = compile(&schema).unwrap();
    let violations = compiled.check(&arguments, Unknown::Refuse).unwrap_err();
    assert_eq!(violations.total, 4);
    assert!(
        !serde_json::to_string(&violations)
            .unwrap()
            .contains("canary")
    );
}

#[test]
fn long_lists_are_bounded_and_counted() {
    let options: Vec<String> = (0..500).map(|n| format!("option-{n}")).collect();
    let schema = json!({"items": {"enum": options}});
    let compiled = compile(&schema).unwrap();
    let violations = compiled
        .check(&json!(vec![0; 5_000]), Unknown::Pass)
        .unwrap_err();
    assert_eq!(violations.listed.len(), VIOLATIONS_MAX);
    assert_eq!(violations.total, VIOLATIONS_COUNTED_MAX);
    let message = &violations.listed[0].message;
    assert!(
        message.len() < 260 && message.ends_with("more"),
        "{message}"
    );
    let long = json!({"const": "x".repeat(1_000)});
    let found = said(&long, &json!(1), Unknown::Pass);
    assert_eq!(found, [": must be 1 values that are too long to list"]);
}

#[test]
fn unknown_properties_are_refused_where_the_schema_is_silent() {
    let closed = json!({"type": "object", "properties": {"a": {}, "b": {"properties": {"c": {}}}}});
    let table = [
        (
            json!({"x": 1}),
            vec![": `x` is not known; known are `a`, `b`"],
        ),
        (
            json!({"b": {"x": 1}}),
            vec!["/b: `x` is not known; known are `c`"],
        ),
        (json!({"a": {"anything": 1}, "b": {"c": 1}}), vec![]),
        (
            json!({"__proto__": 1}),
            vec![": `__proto__` is not known; known are `a`, `b`"],
        ),
    ];
    for (arguments, expected) in table {
        assert_eq!(refuses(&closed, &arguments), expected, "{arguments}");
        assert!(said(&closed, &arguments, Unknown::Pass).is_empty());
    }
    let none = json!({"type": "object", "properties": {}});
    assert_eq!(
        refuses(&none, &json!({"x": 1})),
        [": `x` is not known; no properties are"]
    );
}

#[test]
fn unknown_properties_pass_where_the_schema_speaks_about_them() {
    let open = [
        json!({"type": "object"}),
        json!(true),
        json!({"properties": {"a": {}}, "additionalProperties": true}),
        json!({"properties": {"a": {}}, "additionalProperties": {"type": "integer"}}),
        json!({"properties": {"a": {}}, "patternProperties": {"^x": {}}}),
        json!({"properties": {"a": {}}, "unevaluatedProperties": {}}),
        json!({"properties": {"a": {}}, "allOf": [{"additionalProperties": {}}]}),
        json!({"properties": {"a": {}}, "anyOf": [true, false]}),
        json!({"anyOf": [{"properties": {"a": {}}}, {"properties": {"x": {}}}]}),
        json!({"$ref": "#/$defs/d", "$defs": {"d": {"properties": {"x": {}}}}}),
        json!({"properties": {"a": {}}, "if": {"required": ["x"]}, "then": {"properties": {"x": {}}}}),
        json!({"properties": {"a": {}}, "dependentSchemas": {"a": {"properties": {"x": {}}}}}),
        json!({"properties": {"a": {}}, "required": ["x"]}),
        json!({"properties": {"a": {}}, "allOf": [{"required": ["x"]}]}),
    ];
    for schema in open {
        assert!(refuses(&schema, &json!({"x": 1})).is_empty(), "{schema}");
    }
    let own = json!({"properties": {"a": {}}, "additionalProperties": false});
    assert_eq!(refuses(&own, &json!({"x": 1})), [": `x` not allowed"]);
    let items =
        json!({"items": {"properties": {"a": {}}}, "prefixItems": [{"properties": {"p": {}}}]});
    assert!(refuses(&items, &json!([{"p": 1}])).is_empty());
    assert_eq!(
        refuses(&items, &json!([{"a": 1}, {"p": 1}])),
        ["/1: `p` is not known; known are `a`"]
    );
}

#[test]
fn dialects_are_read_as_declared() {
    let tuple = |schema: &str| json!({"$schema": schema, "items": [{"type": "string"}], "additionalItems": false});
    for old in [
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2019-09/schema",
    ] {
        let found = said(&tuple(old), &json!([1]), Unknown::Pass);
        assert_eq!(found, ["/0: must be a string, not an integer"], "{old}");
    }
    let modern = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "prefixItems": [{"type": "string"}]});
    assert_eq!(said(&modern, &json!([1]), Unknown::Pass).len(), 1);
    let exclusive = json!({"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": true});
    assert_eq!(said(&exclusive, &json!(1), Unknown::Pass).len(), 1);
    let undeclared = json!({"minimum": 1, "exclusiveMinimum": true});
    assert_eq!(said(&undeclared, &json!(1), Unknown::Pass).len(), 1);
    let unknown = json!({"$schema": "https://example.com/mine", "type": "string"});
    assert_eq!(said(&unknown, &json!(1), Unknown::Pass).len(), 1);
    let declared = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "minimum": 1, "exclusiveMinimum": true});
    let error = compile(&declared).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the tool's schema is not valid at `/exclusiveMinimum`: its `type` is wrong"
    );
}

#[test]
fn references_are_followed_within_the_schema_only() {
    let refused = [
        (
            "https://example.com/s.json",
            SchemaError::Remote("https://example.com/s.json".into()),
        ),
        (
            "file:///etc/passwd",
            SchemaError::Remote("file:///etc/passwd".into()),
        ),
        ("other.json#/a", SchemaError::Remote("other.json#/a".into())),
        ("#/$defs/none", SchemaError::Dangling("#/$defs/none".into())),
        ("#none", SchemaError::Dangling("#none".into())),
    ];
    for (reference, expected) in refused {
        let schema = json!({"properties": {"a": {"$ref": reference}}});
        assert_eq!(compile(&schema).unwrap_err(), expected);
    }
    let inside = [
        json!({"$ref": "#/$defs/a%20b~1c", "$defs": {"a b/c": {"properties": {"n": {"type": "integer"}}}}}),
        json!({"$ref": "#named", "$defs": {"x": {"$anchor": "named", "properties": {"n": {"type": "integer"}}}}}),
        json!({"$id": "https://e.com/s", "$ref": "https://e.com/s#/$defs/x", "$defs": {"x": {"properties": {"n": {"type": "integer"}}}}}),
    ];
    for schema in inside {
        assert_eq!(
            refuses(&schema, &json!({"n": "1"})),
            ["/n: must be an integer, not a string"],
            "{schema}"
        );
        assert_eq!(
            refuses(&schema, &json!({"m": 1})),
            [": `m` is not known; known are `n`"],
            "{schema}"
        );
    }
    let own_description = json!({"$ref": "http://json-schema.org/draft-07/schema#"});
    assert!(refuses(&own_description, &json!({"type": "string", "x": 1})).is_empty());
    let embedded = json!({"properties": {"a": {"$id": "https://e.com/t", "$ref": "#"}}});
    assert_eq!(
        compile(&embedded).unwrap_err(),
        SchemaError::Embedded("https://e.com/t".into())
    );
}

fn doubling(levels: usize) -> Value {
    let mut definitions = serde_json::Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        definitions.insert(format!("d{level}"), json!({"allOf": [next, next]}));
    }
    definitions.insert(format!("d{levels}"), json!({"type": "object"}));
    json!({"$ref": "#/$defs/d0", "$defs": definitions})
}

#[test]
fn schema_bombs_are_refused_before_they_are_compiled() {
    let deep = (0..200).fold(json!({}), |inner, _| json!({"not": inner}));
    let long_chain = (0..60).fold(json!({}), |inner, _| json!({"not": inner}));
    let wide = json!({"enum": vec![0; SCHEMA_NODES_MAX]});
    let many_patterns = json!({"allOf": vec![json!({"pattern": "a"}); SCHEMA_PATTERNS_MAX + 1]});
    let long_pattern = json!({"pattern": "a".repeat(SCHEMA_PATTERN_BYTES_MAX + 1)});
    let table = [
        (doubling(18), SchemaError::Explosive),
        (deep, SchemaError::TooDeep),
        (long_chain, SchemaError::Chain),
        (wide, SchemaError::TooLarge),
        (many_patterns, SchemaError::Patterns),
        (long_pattern, SchemaError::Patterns),
        (json!({"$ref": "#"}), SchemaError::Endless),
        (
            json!({"anyOf": [{"$ref": "#"}, {"type": "string"}]}),
            SchemaError::Endless,
        ),
        (
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"not": {"$ref": "#/$defs/b"}}, "b": {"if": {"$ref": "#/$defs/a"}}}}),
            SchemaError::Endless,
        ),
    ];
    for (schema, expected) in table {
        let shown = schema.to_string().chars().take(80).collect::<String>();
        assert_eq!(compile(&schema).unwrap_err(), expected, "{shown}");
    }
    assert!(compile(&doubling(8)).is_ok());
    let regex_bomb = json!({"pattern": "((a{1000}){1000}){1000}"});
    assert!(matches!(
        compile(&regex_bomb).unwrap_err(),
        SchemaError::Invalid { .. }
    ));
}

#[test]
fn arguments_that_make_a_recursive_schema_explode_are_refused() {
    let twice = json!({"$ref": "#/$defs/t"});
    let schema = json!({
        "$ref": "#/$defs/t",
        "$defs": {"t": {"properties": {"c": {"allOf": [twice, twice]}}}},
    });
    let nested = |depth: usize| (0..depth).fold(json!({}), |inner, _| json!({"c": inner}));
    assert!(said(&schema, &nested(8), Unknown::Pass).is_empty());
    let found = said(&schema, &nested(ARGUMENTS_DEPTH_MAX), Unknown::Pass);
    assert!(found[0].contains("too costly to check"), "{found:?}");
    let flat = json!({"items": {"allOf": vec![json!({"minimum": 0}); 500]}});
    assert!(said(&flat, &json!(vec![1; 100]), Unknown::Pass).is_empty());
    let found = said(&flat, &json!(vec![1; 5_000]), Unknown::Pass);
    assert!(found[0].contains("too costly to check"), "{found:?}");
}

#[test]
fn a_backtracking_pattern_ends() {
    let schema = json!({"pattern": "^(?=(a+)+b)(a|aa)+$"});
    let found = said(&schema, &json!("a".repeat(2_000)), Unknown::Pass);
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn the_deepest_arguments_fit_a_small_stack() {
    let mut schema = json!({"type": "object", "properties": {"a": {"$ref": "#"}}});
    for _ in 0..SCHEMA_CHAIN_MAX - 3 {
        schema = json!({"allOf": [schema]});
    }
    let compiled = compile(&schema).unwrap();
    let deepest = (1..ARGUMENTS_DEPTH_MAX).fold(json!(1), |inner, _| json!({"a": inner}));
    let check = move || compiled.check(&deepest, Unknown::Refuse).unwrap_err().total;
    let thread = std::thread::Builder::new().stack_size(1024 * 1024);
    assert_eq!(thread.spawn(check).unwrap().join().unwrap(), 1);
}

#[test]
fn validators_are_kept_by_hash_and_bounded() {
    let mut validators = Validators::bounded(2, 1_000);
    assert!(validators.is_empty());
    let schemas = [
        json!({"type": "string"}),
        json!({"type": "integer"}),
        json!({"type": "null"}),
    ];
    let first = validators.get(key(&schemas[0]), &schemas[0]).unwrap();
    validators.get(key(&schemas[1]), &schemas[1]).unwrap();
    let again = validators.get(key(&schemas[0]), &schemas[0]).unwrap();
    assert!(std::sync::Arc::ptr_eq(&first, &again));
    validators.get(key(&schemas[2]), &schemas[2]).unwrap();
    assert_eq!(validators.len(), 2);
    let kept = validators.get(key(&schemas[0]), &schemas[0]).unwrap();
    assert!(std::sync::Arc::ptr_eq(&first, &kept));
    let bomb = doubling(18);
    assert_eq!(
        validators.get(key(&bomb), &bomb).unwrap_err(),
        SchemaError::Explosive
    );
    assert_eq!(
        validators.get(key(&bomb), &json!(true)).unwrap_err(),
        SchemaError::Explosive
    );
    let mut small = Validators::bounded(10, 5);
    small.get(key(&doubling(3)), &doubling(3)).unwrap();
    assert!(small.is_empty());
    assert!(Validators::default().is_empty());
}

#[test]
fn two_spellings_of_one_schema_share_a_validator() {
    let a: Value = serde_json::from_str(r#"{"type":"object","minProperties":1.0}"#).unwrap();
    let b: Value = serde_json::from_str(r#"{"minProperties":1,"type":"object"}"#).unwrap();
    assert_eq!(key(&a), key(&b));
}

#[test]
fn a_refusal_without_a_reason_is_still_a_refusal() {
    let violations = listed(Violations::default(), std::iter::empty());
    let said: Vec<_> = violations.listed.iter().map(|v| &v.message).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("do not fit"), "{said:?}");
}
