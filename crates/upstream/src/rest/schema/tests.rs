use serde_json::json;

use super::super::library::Place;
use super::super::parts::Parts;
use super::*;

/// The whole schema of `#/x`, and the warnings on the way.
fn whole(root: Value, siblings: bool, way: Way) -> (Value, Vec<String>) {
    let mut library = Library::default();
    library.add(Place::File("/work/project/api.yaml".into()), root);
    let mut warn = Warnings::default();
    let mut schemas = Schemas::new(&library, siblings);
    let root = schemas.translate(library.root().get("x").unwrap(), way, &mut warn);
    let shared = schemas.finish(&mut warn);
    let whole = Parts::new(shared).whole(&root);
    toolcrib_core::schema::compile(&whole).unwrap();
    let warnings = warn.finish().into_iter().map(|w| w.text).collect();
    (whole, warnings)
}

fn check(schema: &Value, expected: &Value) {
    let (made, _) = whole(json!({"x": schema}), false, Way::Request);
    assert_eq!(&made, expected);
}

#[test]
fn keywords_of_older_dialects_are_translated() {
    check(
        &json!({"type": "string", "nullable": true}),
        &json!({"type": ["string", "null"]}),
    );
    check(
        &json!({"type": "string", "nullable": true, "enum": ["a"]}),
        &json!({"type": ["string", "null"], "enum": ["a", null]}),
    );
    check(
        &json!({"nullable": true, "anyOf": [{"type": "string"}]}),
        &json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
    );
    check(
        &json!({"nullable": true, "allOf": [{"type": "string"}], "description": "d"}),
        &json!({"description": "d", "anyOf": [{"allOf": [{"type": "string"}]}, {"type": "null"}]}),
    );
    check(
        &json!({"type": "integer", "minimum": 1, "exclusiveMinimum": true}),
        &json!({"type": "integer", "exclusiveMinimum": 1}),
    );
    check(&json!({"type": "file"}), &json!({"type": "string"}));
    check(
        &json!({"type": "string", "example": "a"}),
        &json!({"type": "string", "examples": ["a"]}),
    );
    check(
        &json!({"type": "array", "items": [{"type": "string"}]}),
        &json!({"type": "array", "prefixItems": [{"type": "string"}]}),
    );
}

#[test]
fn what_contradicts_itself_is_loosened_so_that_something_fits() {
    let rules = json!({"type": "object", "additionalProperties": false, "properties": {"a": {}}, "required": ["a", "b"]});
    let (made, warnings) = whole(json!({"x": rules}), false, Way::Request);
    assert_eq!(made.get("additionalProperties"), None);
    assert!(
        warnings[0].starts_with("\"b\" is required but not"),
        "{warnings:?}"
    );
    let same = json!({"oneOf": [{"type": "string", "format": "upload"}, {"type": "string", "format": "asset"}]});
    let (made, warnings) = whole(json!({"x": same}), false, Way::Request);
    assert_eq!(made, json!({"anyOf": same["oneOf"]}));
    assert_eq!(warnings.len(), 1);
    for sound in [
        json!({"type": "object", "additionalProperties": false, "properties": {"a": {}}, "required": ["a"]}),
        json!({"oneOf": [{"type": "string"}, {"type": "integer"}]}),
    ] {
        assert_eq!(
            whole(json!({"x": sound}), false, Way::Request),
            (sound, Vec::new())
        );
    }
}

#[test]
fn what_is_broken_costs_its_keyword() {
    check(
        &json!({"type": "string", "enum": []}),
        &json!({"type": "string"}),
    );
    check(&json!({"type": "whatever"}), &json!({}));
    check(
        &json!({"type": "string", "minLength": "3", "required": true}),
        &json!({"type": "string"}),
    );
    check(
        &json!({"type": "integer", "multipleOf": 0, "maximum": "9"}),
        &json!({"type": "integer"}),
    );
    check(
        &json!({"type": "string", "pattern": "("}),
        &json!({"type": "string"}),
    );
    check(
        &json!({"allOf": [], "x-a": 1, "xml": {}, "$id": "u"}),
        &json!({}),
    );
    check(
        &json!({"properties": {"a": {"type": "string"}, "b": 5}, "required": ["a", "a", 7]}),
        &json!({"properties": {"a": {"type": "string"}}, "required": ["a"]}),
    );
}

#[test]
fn what_does_not_travel_this_way_is_left_out() {
    let root = json!({"x": {"type": "object", "required": ["id", "name"], "properties": {
        "id": {"type": "string", "readOnly": true}, "name": {"type": "string"},
        "ref": {"$ref": "#/r"}, "secret": {"type": "string", "writeOnly": true}}},
        "r": {"type": "string", "readOnly": true}});
    let names = |way| {
        let (made, _) = whole(root.clone(), false, way);
        let properties = made["properties"].as_object().unwrap().clone();
        (
            properties.keys().cloned().collect::<Vec<_>>().join(" "),
            made["required"].clone(),
        )
    };
    assert_eq!(
        names(Way::Request),
        ("name secret".to_owned(), json!(["name"]))
    );
    assert_eq!(
        names(Way::Answer),
        ("id name ref".to_owned(), json!(["id", "name"]))
    );
}

#[test]
fn parts_used_once_stand_in_place_and_others_are_shared() {
    let root = json!({"x": {"properties": {
        "a": {"$ref": "#/s/One", "description": "mine"}, "b": {"$ref": "#/s/Two"}, "c": {"$ref": "#/s/Two"}}},
        "s": {"One": {"type": "integer", "description": "theirs"}, "Two": {"type": "boolean"}}});
    let (made, _) = whole(root, false, Way::Request);
    assert_eq!(
        made["properties"]["a"],
        json!({"type": "integer", "description": "mine"})
    );
    assert_eq!(made["properties"]["c"], json!({"$ref": "#/$defs/Two"}));
    assert_eq!(made["$defs"], json!({"Two": {"type": "boolean"}}));
}

#[test]
fn circles_stay_references_and_knots_are_untied() {
    let root = json!({"x": {"$ref": "#/s/Tree"}, "s": {
        "Tree": {"type": "object", "properties": {"next": {"$ref": "#/s/Tree"}}}}});
    let (made, warnings) = whole(root, false, Way::Request);
    assert_eq!(
        made["$defs"]["Tree"]["properties"]["next"],
        json!({"$ref": "#/$defs/Tree"})
    );
    assert!(warnings.is_empty());
    for knot in [
        json!({"allOf": [{"$ref": "#/s/A"}, {"type": "object"}]}),
        json!({"$ref": "#/s/A"}),
        json!({"anyOf": [{"allOf": [{"$ref": "#/s/B"}]}]}),
        json!({"not": {"$ref": "#/s/A"}}),
        json!({"dependentSchemas": {"k": {"$ref": "#/s/A"}}}),
    ] {
        let root =
            json!({"x": {"$ref": "#/s/A"}, "s": {"A": knot, "B": {"oneOf": [{"$ref": "#/s/A"}]}}});
        let (_, warnings) = whole(root, true, Way::Request);
        assert!(
            warnings.iter().any(|w| w.contains("made of itself")),
            "{knot}: {warnings:?}"
        );
    }
}

#[test]
fn a_reference_to_nothing_accepts_anything_and_is_told() {
    let root = json!({"x": {"properties": {"a": {"$ref": "#/nothing"}}}});
    let (made, warnings) = whole(root, false, Way::Request);
    assert_eq!(made["properties"]["a"], json!({}));
    assert!(warnings[0].contains("names nothing"), "{warnings:?}");
}

#[test]
fn keywords_beside_a_reference_count_from_3_1_on() {
    let root = json!({"x": {"properties": {"a": {"$ref": "#/s", "maxLength": 3}}}, "s": {"type": "string"}});
    let (old, _) = whole(root.clone(), false, Way::Request);
    assert_eq!(old["properties"]["a"], json!({"type": "string"}));
    let (new, _) = whole(root, true, Way::Request);
    assert_eq!(
        new["properties"]["a"],
        json!({"$ref": "#/$defs/s", "maxLength": 3})
    );
}

#[test]
fn a_schema_that_would_be_too_large_loses_its_most_remote_parts() {
    let wide: Map<String, Value> = (0..3_000)
        .map(|n| (format!("p{n}"), json!({"type": "string", "title": "t"})))
        .collect();
    let parts: Map<String, Value> = (0..12)
        .map(|n| {
            let mut properties = wide.clone();
            properties.insert(
                "next".to_owned(),
                json!({"$ref": format!("#/s/n{}", n + 1)}),
            );
            (
                format!("n{n}"),
                json!({"type": "object", "properties": properties}),
            )
        })
        .collect();
    let root = json!({"x": {"$ref": "#/s/n0"}, "s": parts});
    let (made, _) = whole(root, true, Way::Request);
    assert!(made["properties"]["p1"].is_object());
}
