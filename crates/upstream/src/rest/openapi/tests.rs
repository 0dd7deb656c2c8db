use serde_json::json;
use toolcrib_core::schema;

use super::super::adapter::{Api, LoadError};
use super::super::library::Place;
use super::super::operation::Media;
use super::*;

fn load(root: &Value) -> Api {
    let place = Place::File("/work/project/api.json".into());
    let api = Api::read("demo", place, &root.to_string()).unwrap();
    for operation in &api.operations {
        let id = &operation.tool.id;
        schema::compile(&operation.tool.input_schema).unwrap_or_else(|e| panic!("{id}: {e}"));
        if let Some(output) = operation.output_schema() {
            schema::compile(&output).unwrap_or_else(|e| panic!("{id}: {e}"));
        }
    }
    api
}

fn one(version: &str, operation: &Value) -> Api {
    load(
        &json!({"openapi": version, "info": {"title": "Demo"}, "paths": {"/things/{id}": {"post": operation}}}),
    )
}

#[test]
fn an_operation_becomes_a_tool() {
    let api = load(&json!({
        "openapi": "3.0.1", "info": {"title": "Shop", "description": "<p>Sells.</p>"},
        "externalDocs": {"url": "https://docs.example.com"},
        "servers": [{"url": "https://api.example.com"}],
        "tags": [{"name": "Order Items", "externalDocs": {"url": "https://docs.example.com/items"}}],
        "security": [{"token": []}],
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "paths": {"/orders/{id}/items": {
            "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}, "example": 7}],
            "post": {
                "operationId": "addOrderItem", "summary": "Add an item", "description": "Adds it.", "tags": ["Order Items"],
                "x-risk": "high", "deprecated": true,
                "security": [{"token": ["orders:write", "items:write"]}, {"key": []}, {"token": ["admin"]}],
                "parameters": [{"name": "dry", "in": "query", "schema": {"type": "boolean"}}],
                "requestBody": {"required": true, "content": {"application/json": {
                    "schema": {"type": "object", "required": ["sku"], "properties": {"id": {"type": "string"}, "sku": {"type": "string"}}},
                    "example": {"sku": "A1"}}}},
                "responses": {
                    "201": {"description": "ok", "content": {"application/json": {"schema": {"type": "object", "properties": {"id": {"type": "integer"}}}}}},
                    "404": {"description": "No such order"}, "default": {"description": "Anything else"}},
            }}},
    }));
    let operation = &api.operations[0];
    let tool = &operation.tool;
    assert_eq!(tool.id.to_string(), "demo:add-order-item");
    assert_eq!(tool.description, "Add an item.\n\nAdds it.");
    assert_eq!(tool.title.as_deref(), Some("Add an item"));
    assert_eq!(tool.tags, ["Order Items"]);
    assert_eq!(tool.extensions, json!({"x-risk": "high"}));
    assert_eq!(
        json!(tool.scopes),
        json!([["orders:write", "items:write"], ["admin"]])
    );
    assert_eq!(
        *tool.input_schema,
        json!({"type": "object", "properties": {
            "id": {"type": "integer"}, "dry": {"type": "boolean"}, "body_id": {"type": "string"}, "sku": {"type": "string"}},
            "required": ["id", "sku"]})
    );
    assert_eq!(operation.required().collect::<Vec<_>>(), ["id", "sku"]);
    assert_eq!(operation.optional().collect::<Vec<_>>(), ["dry", "body_id"]);
    assert_eq!(operation.category.as_deref(), Some("order-items"));
    assert_eq!(
        operation.documentation.as_deref(),
        Some("https://docs.example.com/items")
    );
    assert_eq!(operation.errors.len(), 2);
    assert_eq!(
        Value::Object(operation.given().clone()),
        json!({"id": 7, "sku": "A1"})
    );
    assert!(operation.deprecated && tool.output_schema.is_none());
    assert_eq!(
        operation.output_schema().unwrap()["properties"]["id"]["type"],
        "integer"
    );
    assert_eq!(
        (api.title.as_deref(), api.description.as_deref()),
        (Some("Shop"), Some("Sells."))
    );
    assert_eq!(
        (api.auth_type(), api.counted, api.warnings.len()),
        ("bearer", 1, 0)
    );
}

#[test]
fn a_broken_operation_costs_that_operation() {
    let api = load(&json!({"openapi": "3.0.0", "paths": {
        "/good": {"get": {"operationId": "good"}},
        "/bad": {"get": "nonsense"},
        "bad": {"get": {}},
        "/gone": {"$ref": "#/nothing"},
        "/worse": 7,
        "x-note": {"get": {}},
        "/odd/{a}": {"get": {"parameters": [{"$ref": "#/nothing"}, {"in": "query"}, 5, {"name": "b", "in": "query", "schema": {"enum": []}}]}},
    }}));
    let names: Vec<&str> = api.operations.iter().map(|o| o.tool.id.tool()).collect();
    assert_eq!(names, ["good", "get-odd-a"]);
    assert_eq!(api.operations[1].required().collect::<Vec<_>>(), ["a"]);
    let at: Vec<&str> = api.warnings.iter().map(|w| w.at.as_str()).collect();
    for expected in ["GET /bad", "GET bad", "/gone", "/worse", "GET /odd/{a}"] {
        assert!(at.contains(&expected), "{expected}: {at:?}");
    }
}

#[test]
fn a_body_may_be_needed_optional_or_one_argument() {
    let object = json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}, "b": {"type": "string"}}});
    let of = |body: Value| one("3.0.0", &json!({"requestBody": body})).operations[0].clone();
    let json_body = |schema: &Value| json!({"application/json": {"schema": schema}});
    let silent = of(json!({"content": json_body(&object)}));
    assert_eq!(silent.required().collect::<Vec<_>>(), ["id", "a"]);
    let optional = of(json!({"required": false, "content": json_body(&object)}));
    assert_eq!(optional.required().collect::<Vec<_>>(), ["id"]);
    assert_eq!(
        optional.tool.input_schema["dependentRequired"],
        json!({"a": ["a"], "b": ["a"]})
    );
    for schema in [
        json!({"type": "array", "items": {"type": "string"}}),
        json!({"oneOf": [object.clone(), {"type": "object", "properties": {"c": {}}}]}),
        json!({"type": "object"}),
    ] {
        let whole = of(json!({"content": json_body(&schema)}));
        assert_eq!(
            whole.required().collect::<Vec<_>>(),
            ["id", "body"],
            "{schema}"
        );
    }
    let any = json!({"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {}, "b": {}}});
    let any = of(json!({"content": json_body(&any)}));
    assert!(any.tool.input_schema["allOf"][0]["anyOf"].is_array());
    let joined = json!({"allOf": [object, {"type": "object", "required": ["c"], "properties": {"c": {}, "a": {"maxLength": 3}}}]});
    let joined = of(json!({"content": json_body(&joined)}));
    assert_eq!(joined.required().collect::<Vec<_>>(), ["id", "a", "c"]);
    assert!(joined.tool.input_schema["properties"]["a"]["allOf"].is_array());
    let empty = of(
        json!({"content": {"application/x-www-form-urlencoded": {"schema": {"type": "object", "properties": {}}}}}),
    );
    assert!(empty.body.is_none());
}

#[test]
fn the_best_media_type_is_sent() {
    let media = |content: Value| {
        let api = one("3.1.0", &json!({"requestBody": {"content": content}}));
        let body = api.operations[0].body.clone().unwrap();
        (body.content_type, body.media)
    };
    let object = json!({"schema": {"type": "object", "properties": {"a": {}}}});
    let table = [
        (
            json!({"multipart/form-data": object, "application/json": object}),
            "application/json",
            Media::Json,
        ),
        (
            json!({"application/x-www-form-urlencoded": object}),
            "application/x-www-form-urlencoded",
            Media::Form,
        ),
        (
            json!({"application/merge-patch+json": object}),
            "application/merge-patch+json",
            Media::Json,
        ),
        (json!({"*/*": object}), "application/json", Media::Json),
        (
            json!({"application/xml": object}),
            "application/xml",
            Media::Text,
        ),
        (
            json!({"image/png": {"schema": {"type": "string", "format": "binary"}}}),
            "image/png",
            Media::Binary,
        ),
        (
            json!({"image/jpeg": {"schema": {"type": "string", "format": "byte"}}}),
            "image/jpeg",
            Media::Text,
        ),
        (
            json!({"*/*": {"schema": {"type": "string"}}}),
            "application/octet-stream",
            Media::Binary,
        ),
    ];
    for (content, name, expected) in table {
        assert_eq!(media(content), (name.to_owned(), expected));
    }
}

#[test]
fn swagger_has_forms_files_and_lists_of_its_own() {
    let api = load(&json!({
        "swagger": "2.0", "host": "api.example.com", "basePath": "/v2", "schemes": ["http", "https"],
        "consumes": ["application/json"],
        "securityDefinitions": {"key": {"type": "apiKey", "name": "X-Key", "in": "header"}}, "security": [{"key": []}],
        "definitions": {"Pet": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}},
        "paths": {
            "/pets": {"post": {"operationId": "addPet", "parameters": [{"name": "pet", "in": "body", "required": true, "schema": {"$ref": "#/definitions/Pet"}}],
                "responses": {"200": {"description": "ok", "schema": {"$ref": "#/definitions/Pet"}}}},
                "get": {"operationId": "find", "parameters": [
                    {"name": "tags", "in": "query", "type": "array", "items": {"type": "string"}, "collectionFormat": "multi"},
                    {"name": "ids", "in": "query", "type": "array", "items": {"type": "integer"}},
                    {"name": "s", "in": "query", "type": "array", "collectionFormat": "ssv"},
                    {"name": "p", "in": "query", "type": "array", "collectionFormat": "pipes"},
                    {"name": "t", "in": "query", "type": "array", "collectionFormat": "tsv"}]}},
            "/upload": {"post": {"operationId": "upload", "parameters": [
                {"name": "file", "in": "formData", "type": "file", "required": true}, {"name": "note", "in": "formData", "type": "string"}, {"in": "formData"}]}},
            "/form": {"post": {"operationId": "form", "consumes": ["application/x-www-form-urlencoded"], "parameters": [{"name": "a", "in": "formData", "type": "integer"}]}},
        },
    }));
    let of = |name: &str| api.operation(name).unwrap();
    assert_eq!(api.servers[0].template, "https://api.example.com/v2");
    assert_eq!(of("add-pet").required().collect::<Vec<_>>(), ["name"]);
    assert!(of("add-pet").output_schema().is_some());
    let writings: Vec<_> = of("find")
        .inputs
        .iter()
        .map(|i| (i.writing.style, i.writing.explode))
        .collect();
    assert_eq!(
        writings,
        [
            (Style::Form, true),
            (Style::Form, false),
            (Style::SpaceDelimited, false),
            (Style::PipeDelimited, false),
            (Style::TabDelimited, false)
        ]
    );
    let upload = of("upload").body.clone().unwrap();
    assert_eq!(upload.media, Media::Multipart);
    assert!(upload.fields["file"].binary);
    assert_eq!(of("form").body.clone().unwrap().media, Media::Form);
    assert_eq!(api.auth_type(), "apikey");
}

#[test]
fn later_versions_have_more_methods_and_places() {
    let api = load(&json!({"openapi": "3.2.0", "paths": {"/s": {
        "query": {"operationId": "ask"},
        "additionalOperations": {"LINK": {"operationId": "link"}},
        "get": {"operationId": "g", "parameters": [
            {"name": "q", "in": "querystring", "content": {"application/x-www-form-urlencoded": {"schema": {"type": "object"}}}},
            {"name": "j", "in": "query", "content": {"application/json": {"schema": {"type": "object"}}}}]}}}}));
    let methods: Vec<&str> = api.operations.iter().map(|o| o.method()).collect();
    assert_eq!(methods, ["GET", "QUERY", "LINK"]);
    let styles: Vec<Style> = api.operations[0]
        .inputs
        .iter()
        .map(|i| i.writing.style)
        .collect();
    assert_eq!(styles, [Style::Json, Style::Form]);
}

#[test]
fn a_hundred_thousand_operations_are_bounded() {
    let paths: Map<String, Value> = (0..100_000)
        .map(|n| (format!("/p{n}"), json!({"get": {}})))
        .collect();
    let text = json!({"openapi": "3.0.0", "paths": paths}).to_string();
    let api = Api::read("big", Place::File("/x".into()), &text).unwrap();
    assert_eq!(
        (api.counted, api.operations.len()),
        (100_000, ADAPTER_OPERATIONS_MAX)
    );
    assert!(
        api.warnings
            .iter()
            .any(|w| w.text.contains("only the first"))
    );
}

#[test]
fn a_ten_megabyte_description_is_cut() {
    let api = one(
        "3.0.0",
        &json!({"description": "x".repeat(10_000_000), "responses": {"400": {"description": "y".repeat(1_000_000)}}}),
    );
    let operation = &api.operations[0];
    assert!(operation.tool.description.len() <= ADAPTER_DESCRIPTION_BYTES_MAX);
    assert!(operation.errors[0].meaning.len() <= ADAPTER_NOTE_BYTES_MAX);
}

#[test]
fn parameters_that_stand_nowhere_are_told_with_their_operation() {
    let api = load(&json!({"openapi": "3.0.0", "paths": {
        "/a": {"get": {"parameters": [{"name": "x", "in": "body"}, {"name": "y", "in": "query"}, {"name": "z"}]}},
        "/b": {"get": {"parameters": "none"}}}}));
    assert_eq!(api.operations[0].inputs.len(), 1);
    let told: Vec<String> = api.warnings.iter().map(ToString::to_string).collect();
    let spots = "path, query, querystring, header, cookie";
    assert_eq!(
        told,
        [
            format!("GET /a: the parameter `x` is left out: its `in` is none of {spots}"),
            format!("GET /a: the parameter `z` is left out: its `in` is none of {spots}"),
            "GET /b: its parameters are left out: they are not a list".to_owned(),
        ]
    );
}

#[test]
fn a_circle_of_all_of_costs_that_part_only() {
    let api = load(&json!({"openapi": "3.0.0", "components": {"schemas": {
        "A": {"allOf": [{"$ref": "#/components/schemas/B"}, {"properties": {"a": {"type": "string"}}}]},
        "B": {"allOf": [{"$ref": "#/components/schemas/A"}, {"properties": {"b": {"type": "string"}}}]}}},
        "paths": {"/x": {"post": {"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}}}}}}));
    let told: Vec<&str> = api.warnings.iter().map(|w| w.text.as_str()).collect();
    assert_eq!(
        told,
        ["the schema `A` is made of itself by way of `B`; that part of it is left out"]
    );
    let schema = api.operations[0].tool.input_schema.to_string();
    for kept in [r#""a":{"type":"string"}"#, r#""b":{"type":"string"}"#] {
        assert!(schema.contains(kept), "{schema}");
    }
}

#[test]
fn what_describes_no_api_is_refused() {
    let read = |text: &str| Api::read("x", Place::File("/x".into()), text).unwrap_err();
    assert!(matches!(read("{}"), LoadError::Unknown(_)));
    assert!(matches!(read("a: [1"), LoadError::Malformed { .. }));
    assert!(matches!(
        read("{\"info\": {\"schema\": \"x\"}}"),
        LoadError::Unknown(_)
    ));
}

#[test]
fn ids_do_not_change_when_the_file_is_turned_over() {
    let paths = json!({"/a": {"get": {"operationId": "same"}}, "/b": {"get": {"operationId": "same"}}, "/c": {"get": {}}, "/d": {"get": {"operationId": "getX"}}, "/e": {"get": {"operationId": "get_x"}}});
    let mut turned = paths
        .as_object()
        .unwrap()
        .clone()
        .into_iter()
        .collect::<Vec<_>>();
    turned.reverse();
    let ids = |paths: Value| {
        let api = load(&json!({"openapi": "3.0.0", "paths": paths}));
        let mut ids: Vec<String> = api
            .operations
            .iter()
            .map(|o| format!("{} {}", o.path(), o.tool.id))
            .collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(paths), ids(Value::Object(turned.into_iter().collect())));
}

#[test]
fn an_example_gives_a_file_in_base64_though_the_description_shows_it_as_it_is() {
    let api = load(
        &json!({"openapi": "3.0.0", "paths": {"/files": {"post": {"requestBody": {"content": {"multipart/form-data": {
            "schema": {"type": "object", "required": ["file", "name"], "properties": {
                "file": {"type": "string", "format": "binary", "example": "the text"},
                "name": {"type": "string", "example": "a.txt"}}},
            "example": {"file": "the text", "name": "a.txt"}}}}}}}}),
    );
    let example = api.operations[0].example().unwrap();
    assert_eq!(example, json!({"file": "dGV4dA==", "name": "a.txt"}));
}

#[test]
fn a_key_that_every_call_carries_is_no_argument_that_it_needs() {
    let key = json!({"name": "Idempotency-Key", "in": "header", "required": true, "schema": {"type": "string"}});
    let paths = json!({"/x": {"post": {"parameters": [key]}, "get": {"parameters": [key]}}});
    let text = json!({"openapi": "3.0.0", "paths": paths}).to_string();
    let api = Api::read("demo", Place::File("/work/project/a.json".into()), &text).unwrap();
    let of = |tool: &str| api.operation(tool).unwrap();
    assert_eq!(of("post-x").required().count(), 0);
    assert_eq!(of("post-x").tool.input_schema.get("required"), None);
    assert_eq!(of("get-x").required().count(), 1, "no key is sent with it");
}

#[test]
fn a_description_without_addresses_is_about_where_it_came_from() {
    let text = json!({"openapi": "3.0.0", "paths": {"/x": {"get": {}}}}).to_string();
    let base = |place| {
        let api = Api::read("demo", place, &text).unwrap();
        api.base(&api.operations[0], None, &indexmap::IndexMap::new())
    };
    let url = url::Url::parse("https://api.example.com/docs/openapi.json").unwrap();
    let found = base(Place::Address(url)).unwrap();
    assert_eq!(found.as_str(), "https://api.example.com/");
    let file = base(Place::File("/work/project/a.json".into()));
    assert!(file.unwrap_err().contains("baseUrl"));
}

#[test]
fn what_stands_beside_the_reference_of_a_path_counts() {
    let id = json!({"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}});
    let text = json!({"openapi": "3.1.0",
        "components": {"pathItems": {"one": {"get": {"responses": {"default": {"$ref": "none.yaml"}}}}}},
        "paths": {"/x/{id}": {"$ref": "#/components/pathItems/one", "parameters": [id]}}});
    let place = Place::File("/work/project/a.json".into());
    let api = Api::read("demo", place, &text.to_string()).unwrap();
    let schema = &api.operations[0].tool.input_schema;
    assert_eq!(schema["properties"]["id"]["type"], "integer");
    let warned: Vec<String> = api.warnings.iter().map(ToString::to_string).collect();
    assert!(
        warned.len() == 1 && warned[0].contains("an answer is left out"),
        "{warned:?}"
    );
}
