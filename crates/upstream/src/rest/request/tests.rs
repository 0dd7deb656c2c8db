use serde_json::json;

use super::super::adapter::Api;
use super::super::library::Place;
use super::*;

fn api(paths: &Value) -> Api {
    let text = json!({"openapi": "3.0.0", "info": {}, "servers": [{"url": "https://api.example.com/v1"}], "paths": paths});
    Api::read(
        "demo",
        Place::File("/work/project/api.json".into()),
        &text.to_string(),
    )
    .unwrap()
}

/// The request for the only operation of `paths` as text: method, address, headers but `accept`,
/// body.
fn sent(paths: &Value, arguments: &Value) -> Result<String, Failure> {
    let api = api(paths);
    let operation = &api.operations[0];
    let base = Url::parse("https://api.example.com/v1").unwrap();
    let request = build(operation, &base, arguments.as_object().unwrap())?;
    let mut lines = vec![format!("{} {}", request.method, request.url)];
    for (name, value) in request
        .headers
        .iter()
        .filter(|(name, _)| *name != header::ACCEPT)
    {
        lines.push(format!(
            "{name}: {}",
            String::from_utf8_lossy(value.as_bytes())
        ));
    }
    if let Some(body) = request.body {
        lines.push(format!("\n{}", String::from_utf8_lossy(&body)));
    }
    Ok(lines.join("\n"))
}

fn parameter(name: &str, spot: &str, more: &Value) -> Value {
    let mut parameter = json!({"name": name, "in": spot, "schema": {}});
    parameter
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    parameter
}

fn body(media: &str, schema: &Value) -> Value {
    json!({"/x": {"post": {"requestBody": {"required": true, "content": {media: {"schema": schema}}}}}})
}

#[test]
fn values_go_where_they_belong() {
    let paths = json!({"/users/{id}/x": {"post": {
        "parameters": [
            parameter("id", "path", &json!({})), parameter("q", "query", &json!({})),
            parameter("f", "query", &json!({"style": "deepObject", "explode": true})),
            parameter("X-H", "header", &json!({})), parameter("c", "cookie", &json!({})),
        ],
        "requestBody": {"content": {"application/json": {"schema": {"type": "object", "properties": {"id": {}, "n": {}}}}}},
    }}});
    let arguments = json!({"id": "a/b", "q": ["1", "2"], "f": {"a": {"b": 1}}, "X-H": "h", "c": "x;y", "body_id": 7, "n": null});
    assert_eq!(
        sent(&paths, &arguments).unwrap(),
        "POST https://api.example.com/v1/users/a%2Fb/x?q=1&q=2&f[a][b]=1\nx-h: h\ncookie: c=x%3By\ncontent-type: application/json\n\n{\"id\":7,\"n\":null}"
    );
}

#[test]
fn the_style_of_cookies_escapes_nothing_and_lets_no_value_end_its_cookie() {
    let paths =
        |more: &Value| json!({"/x": {"get": {"parameters": [parameter("c", "cookie", more)]}}});
    let check = |more: Value, value: Value, expected: Option<&str>| {
        let outcome = sent(&paths(&more), &json!({"c": value}));
        match expected {
            Some(cookie) => {
                let text = outcome.unwrap();
                assert_eq!(
                    text.lines().last(),
                    Some(format!("cookie: {cookie}").as_str())
                );
            }
            None => assert!(
                matches!(&outcome, Err(Failure::Arguments(why)) if why.contains("`c`")),
                "{value}: {outcome:?}"
            ),
        }
    };
    let cookie = json!({"style": "cookie"});
    let joined = json!({"style": "cookie", "explode": false});
    check(cookie.clone(), json!("a/b+c==%20"), Some("c=a/b+c==%20"));
    check(cookie.clone(), json!("\"q\""), Some("c=\"q\""));
    check(cookie.clone(), json!(["a", 1]), Some("c=a; c=1"));
    check(joined.clone(), json!(["a", 1]), Some("c=a,1"));
    check(
        cookie.clone(),
        json!({"k": "a", "l": true}),
        Some("k=a; l=true"),
    );
    check(joined, json!({"k": "a", "l": 2}), Some("c=k,a,l,2"));
    for broken in [
        "x; admin=1",
        "x,y",
        "a b",
        "a\r\nx: 1",
        "\u{e9}",
        "\\",
        "\"a\"b\"",
    ] {
        check(cookie.clone(), json!(broken), None);
    }
    check(cookie.clone(), json!({"k; admin": "1"}), None);
    check(cookie, json!({"k=1; a": "1"}), None);
    check(json!({"style": "form"}), json!("x;y"), Some("c=x%3By"));
}

#[test]
fn null_is_sent_in_json_and_nowhere_else() {
    let schema = json!({"type": "object", "properties": {
        "assignee": {"type": ["string", "null"]}}, "additionalProperties": true});
    let cleared =
        json!({"id": "1", "q": null, "X-H": null, "c": null, "assignee": null, "more": null});
    let of = |media: &str| {
        let paths = json!({"/items/{id}": {"patch": {
            "parameters": [
                parameter("id", "path", &json!({})), parameter("q", "query", &json!({})),
                parameter("X-H", "header", &json!({})), parameter("c", "cookie", &json!({})),
            ],
            "requestBody": {"required": true, "content": {media: {"schema": schema}}}}}});
        sent(&paths, &cleared).unwrap()
    };
    let to = "PATCH https://api.example.com/v1/items/1\ncontent-type:";
    assert_eq!(
        of("application/json"),
        format!("{to} application/json\n\n{{\"assignee\":null,\"more\":null}}")
    );
    assert_eq!(
        of("application/x-www-form-urlencoded"),
        format!("{to} application/x-www-form-urlencoded\n\n")
    );
}

#[test]
fn arguments_cannot_steer_a_request_elsewhere() {
    let paths = json!({"/files/{name}/y": {"get": {"parameters": [
        parameter("name", "path", &json!({})), parameter("X-H", "header", &json!({})),
    ]}}});
    for name in ["..", ".", "", "%2e%2e", "%2E."] {
        let outcome = sent(&paths, &json!({"name": name}));
        match outcome {
            Err(Failure::Arguments(_)) => {}
            Ok(text) => assert!(text.contains("/v1/files/%25"), "{name}: {text}"),
            Err(other) => panic!("{name}: {other:?}"),
        }
    }
    let table = [
        (
            "../../admin",
            "https://api.example.com/v1/files/..%2F..%2Fadmin/y",
        ),
        (
            "a?b=c#d",
            "https://api.example.com/v1/files/a%3Fb%3Dc%23d/y",
        ),
        (
            "@evil.com",
            "https://api.example.com/v1/files/%40evil.com/y",
        ),
        ("\\..\\x", "https://api.example.com/v1/files/%5C..%5Cx/y"),
        (
            "a\r\nHost: evil",
            "https://api.example.com/v1/files/a%0D%0AHost%3A%20evil/y",
        ),
        ("ﬁle", "https://api.example.com/v1/files/%EF%AC%81le/y"),
    ];
    for (name, expected) in table {
        assert_eq!(
            sent(&paths, &json!({"name": name})).unwrap(),
            format!("GET {expected}")
        );
    }
    let split = sent(
        &paths,
        &json!({"name": "a", "X-H": "x\r\nAuthorization: evil"}),
    );
    assert!(matches!(split, Err(Failure::Arguments(_))));
    let unknown = sent(&paths, &json!({"name": "a", "other": 1}));
    assert!(matches!(unknown, Err(Failure::Arguments(_))));
    assert!(matches!(
        sent(&paths, &json!({})),
        Err(Failure::Arguments(_))
    ));
}

#[test]
fn headers_of_the_protocol_are_no_arguments() {
    let headers = [
        "Host",
        "Authorization",
        "Content-Length",
        "Transfer-Encoding",
        "Cookie",
        "Connection",
    ];
    let parameters: Vec<Value> = headers
        .iter()
        .map(|name| parameter(name, "header", &json!({})))
        .collect();
    let paths = json!({"/x": {"get": {"parameters": parameters}}});
    assert!(api(&paths).operations[0].inputs.is_empty());
}

#[test]
fn forms_have_nested_brackets() {
    let schema =
        json!({"type": "object", "properties": {"items": {}, "metadata": {}, "tags": {}, "n": {}}});
    let arguments = json!({"n": 1, "items": [{"price": "p"}], "metadata": {"a": {"b": true}}, "tags": ["x", "y&z"]});
    let text = sent(
        &body("application/x-www-form-urlencoded", &schema),
        &arguments,
    )
    .unwrap();
    assert!(
        text.ends_with("\n\nitems[0][price]=p&metadata[a][b]=true&tags=x&tags=y%26z&n=1"),
        "{text}"
    );
    let deep = json!({"/x": {"post": {"requestBody": {"content": {"application/x-www-form-urlencoded": {
        "schema": {"type": "object", "properties": {"expand": {}}},
        "encoding": {"expand": {"style": "deepObject", "explode": true}}}}}}}});
    let text = sent(&deep, &json!({"expand": ["a", "b"]})).unwrap();
    assert!(text.ends_with("\n\nexpand[0]=a&expand[1]=b"), "{text}");
}

#[test]
fn a_pair_of_the_template_that_is_a_parameter_too_is_sent_once() {
    let kind = parameter(
        "type",
        "query",
        &json!({"required": true, "schema": {"enum": ["card"]}}),
    );
    let more = parameter("more", "query", &json!({}));
    let paths = json!({"/charges?type=card": {"post": {"parameters": [kind, more]}}});
    for arguments in [json!({"type": "card", "more": 1}), json!({"more": 1})] {
        let text = sent(&paths, &arguments).unwrap();
        assert_eq!(
            text,
            "POST https://api.example.com/v1/charges?type=card&more=1"
        );
    }
}

#[test]
fn a_body_that_is_needed_and_has_no_fields_is_sent_empty() {
    let nothing = json!({"type": "object", "properties": {}});
    let text = sent(&body("application/json", &nothing), &json!({})).unwrap();
    assert!(
        text.ends_with("content-type: application/json\n\n{}"),
        "{text}"
    );
    let mut optional = body("application/json", &nothing);
    optional["/x"]["post"]["requestBody"]["required"] = false.into();
    let text = sent(&optional, &json!({})).unwrap();
    assert_eq!(text, "POST https://api.example.com/v1/x");
}

#[test]
fn an_object_that_a_form_needs_is_written_by_the_example() {
    let schema = json!({"type": "object", "required": ["parts", "more"], "properties": {
        "parts": {"type": "object", "properties": {"door": {"type": "object", "required": ["open"],
            "properties": {"open": {"type": "boolean"}}}}},
        "more": {"type": "object", "additionalProperties": {"type": "string"}},
        "rest": {"type": "object", "properties": {"a": {"type": "string"}}},
    }});
    let paths = body("application/x-www-form-urlencoded", &schema);
    let api = api(&paths);
    let example = api.operations[0].example().unwrap();
    assert_eq!(example["parts"], json!({"door": {"open": true}}));
    let written = sent(&paths, &example).unwrap();
    assert!(written.ends_with("\n\nparts[door][open]=true"), "{written}");
    let refused = json!({"parts": {}, "more": {}});
    let compiled = toolcrib_core::schema::compile(&api.operations[0].tool.input_schema).unwrap();
    let unknown = toolcrib_core::schema::Unknown::Refuse;
    assert!(
        compiled.check(&refused, unknown).is_err(),
        "nothing would be sent of it"
    );
    let as_json = self::api(&self::body("application/json", &schema));
    let parts = &as_json.operations[0].tool.input_schema["properties"]["parts"];
    assert_eq!(parts.get("minProperties"), None, "JSON has empty objects");
}

#[test]
fn multipart_carries_files_and_fields() {
    let schema = json!({"type": "object", "properties": {
        "file": {"type": "string", "format": "binary"}, "note": {"type": "string"}, "o": {"type": "object"}}});
    let paths = body("multipart/form-data", &schema);
    let arguments = json!({"file": "aGVsbG8=", "note": "a\"b\r\n--x", "o": {"k": 1}});
    let text = sent(&paths, &arguments).unwrap();
    assert!(text.contains("Content-Disposition: form-data; name=\"file\"; filename=\"file\"\r\nContent-Type: application/octet-stream\r\n\r\nhello\r\n"), "{text}");
    assert!(
        text.contains("name=\"note\"\r\n\r\na\"b\r\n--x\r\n"),
        "{text}"
    );
    assert!(
        text.contains("name=\"o\"\r\nContent-Type: application/json\r\n\r\n{\"k\":1}\r\n"),
        "{text}"
    );
    assert_eq!(text, sent(&paths, &arguments).unwrap());
    let wrong = sent(&paths, &json!({"file": "not base64!"}));
    assert!(matches!(wrong, Err(Failure::Arguments(_))));
}

#[test]
fn files_are_told_however_they_are_described() {
    let file = json!({"type": "string", "format": "binary"});
    let text = json!({"openapi": "3.1.0", "components": {"schemas": {"File": file}}, "paths": {"/x": {"post": {
        "requestBody": {"content": {
            "application/json": {"schema": {"type": "object", "properties": {"a": {"type": "string"}}}},
            "multipart/form-data": {"schema": {"type": "object", "properties": {
                "a": {"$ref": "#/components/schemas/File"},
                "b": {"anyOf": [{"$ref": "#/components/schemas/File"}, {"type": "null"}]},
                "c": {"oneOf": [file, {"type": "array", "items": file}]},
                "d": {"contentMediaType": "image/png"},
                "e": {"type": "string", "contentMediaType": "text/csv"},
                "f": {"allOf": [{"$ref": "#/components/schemas/File"}], "description": "F"},
            }}, "encoding": {"d": {"contentType": "image/png"}}}}}}}}});
    let place = Place::File("/work/project/api.json".into());
    let api = Api::read("demo", place, &text.to_string()).unwrap();
    let operation = &api.operations[0];
    let base = Url::parse("https://api.example.com/v1").unwrap();
    let arguments = json!({"a": "aGVsbG8=", "b": "data:text/css;base64,aGVsbG8=", "c": ["aGVsbG8="],
        "d": "data:image/gif;base64,aGVsbG8=", "e": "aGVsbG8=", "f": "data:a\r\nX: y;base64,aGVsbG8="});
    let compiled = toolcrib_core::schema::compile(&operation.tool.input_schema).unwrap();
    compiled
        .check(&arguments, toolcrib_core::schema::Unknown::Refuse)
        .unwrap();
    let request = build(operation, &base, arguments.as_object().unwrap()).unwrap();
    let sent = String::from_utf8_lossy(&request.body.unwrap()).into_owned();
    for (name, media) in [
        ("a", "application/octet-stream"),
        ("b", "text/css"),
        ("c", "application/octet-stream"),
        ("d", "image/gif"),
        ("f", "application/octet-stream"),
    ] {
        let part = format!(
            "name=\"{name}\"; filename=\"{name}\"\r\nContent-Type: {media}\r\n\r\nhello\r\n"
        );
        assert!(sent.contains(&part), "{name}: {sent}");
    }
    assert!(sent.contains("name=\"e\"\r\n\r\naGVsbG8=\r\n"), "{sent}");
}

#[test]
fn values_are_written_as_their_media_types_say() {
    let address = json!({"type": "object", "properties": {"address": {"type": "object"}}});
    let form = json!({"/x": {"post": {"requestBody": {"content": {"application/x-www-form-urlencoded": {
        "schema": address, "encoding": {"address": {"contentType": "application/json"}}}}}}}});
    let text = sent(&form, &json!({"address": {"city": "L"}})).unwrap();
    assert!(
        text.ends_with("\n\naddress=%7B%22city%22%3A%22L%22%7D"),
        "{text}"
    );
    let of = |spot: &str, media: &str| {
        let parameter = json!({"name": "q", "in": spot, "content": {media: {"schema": {}}}});
        json!({"/x": {"get": {"parameters": [parameter]}}})
    };
    for (paths, value, expected) in [
        (of("query", "text/plain"), json!("blue"), "?q=blue"),
        (
            of("query", "application/json"),
            json!("blue"),
            "?q=%22blue%22",
        ),
        (
            of("querystring", "application/json"),
            json!({"a": 1}),
            "?%7B%22a%22%3A1%7D",
        ),
        (
            of("querystring", "application/x-www-form-urlencoded"),
            json!({"a": 1, "b": 2}),
            "?a=1&b=2",
        ),
    ] {
        let text = sent(&paths, &json!({"q": value})).unwrap();
        assert_eq!(text, format!("GET https://api.example.com/v1/x{expected}"));
    }
}

#[test]
fn lists_of_an_old_form_in_parts_are_joined_as_it_says() {
    let list = |name: &str, format: &str| json!({"name": name, "in": "formData", "type": "array", "items": {"type": "string"}, "collectionFormat": format});
    let text = json!({"swagger": "2.0", "paths": {"/x": {"post": {"consumes": ["multipart/form-data"],
        "parameters": [list("a", "csv"), list("b", "multi"), list("c", "pipes")]}}}});
    let place = Place::File("/work/project/api.json".into());
    let api = Api::read("demo", place, &text.to_string()).unwrap();
    let base = Url::parse("https://api.example.com/v1").unwrap();
    let arguments = json!({"a": ["1", "2"], "b": ["3", "4"], "c": ["5", "6"]});
    let request = build(&api.operations[0], &base, arguments.as_object().unwrap()).unwrap();
    let sent = String::from_utf8_lossy(&request.body.unwrap()).into_owned();
    for part in [
        "\"a\"\r\n\r\n1,2\r\n",
        "\"b\"\r\n\r\n3\r\n",
        "\"b\"\r\n\r\n4\r\n",
        "\"c\"\r\n\r\n5|6\r\n",
    ] {
        assert!(sent.contains(part), "{part}: {sent}");
    }
}

#[test]
fn other_bodies_are_one_argument() {
    let text = sent(
        &body("text/plain", &json!({"type": "string"})),
        &json!({"body": "hi"}),
    )
    .unwrap();
    assert!(text.ends_with("content-type: text/plain\n\nhi"), "{text}");
    let bytes = sent(
        &body("application/octet-stream", &json!({})),
        &json!({"body": "data:x/y;base64,aGk="}),
    )
    .unwrap();
    assert!(bytes.ends_with("\n\nhi"), "{bytes}");
    let list = sent(
        &body("application/json", &json!({"type": "array"})),
        &json!({"body": [1]}),
    )
    .unwrap();
    assert!(list.ends_with("\n\n[1]"), "{list}");
    let open = json!({"type": "object", "properties": {"a": {}}, "additionalProperties": true});
    let text = sent(&body("application/json", &open), &json!({"a": 1, "z": 2})).unwrap();
    assert!(text.ends_with("{\"a\":1,\"z\":2}"), "{text}");
    let empty = sent(&body("application/json", &open), &json!({})).unwrap();
    assert!(empty.ends_with("\n\n{}"), "{empty}");
}

#[test]
fn defaults_fill_what_the_path_needs() {
    let paths = json!({"/{version}/x": {"get": {"parameters": [
        {"name": "version", "in": "path", "required": true, "schema": {"type": "string", "enum": ["2024"]}}]}}});
    assert_eq!(
        sent(&paths, &json!({})).unwrap(),
        "GET https://api.example.com/v1/2024/x"
    );
}

#[test]
fn requests_are_bounded() {
    let paths = json!({"/x": {"get": {"parameters": [parameter("q", "query", &json!({}))]}}});
    let long = sent(&paths, &json!({"q": "x".repeat(ADAPTER_ADDRESS_BYTES_MAX)}));
    assert!(matches!(long, Err(Failure::Arguments(_))));
    let large = json!({"body": "x".repeat(ADAPTER_REQUEST_BYTES_MAX + 1)});
    let large = sent(&body("text/plain", &json!({"type": "string"})), &large);
    assert!(matches!(large, Err(Failure::Arguments(_))));
}
