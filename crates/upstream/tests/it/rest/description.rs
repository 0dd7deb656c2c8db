//! Descriptions of several files and from addresses: what is read, and what is not.

use serde_json::json;
use toolcrib_testkit::api::{Api, Reply};
use toolcrib_upstream::rest::{LoadError, Place, Source};

fn source(place: Place) -> Source {
    Source {
        adapter: "demo".to_owned(),
        place,
        ref_hosts: Vec::new(),
        ref_folder: None,
        allow_private: false,
    }
}

fn written(folder: &std::path::Path, name: &str, text: &str) -> std::path::PathBuf {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}

#[tokio::test]
async fn several_files_make_one_description() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| written(folder.path(), name, text);
    let secret = folder
        .path()
        .parent()
        .unwrap()
        .join("toolcrib-outside.yaml");
    std::fs::write(&secret, "x: {type: string}").unwrap();
    let main = write(
        "api/main.yaml",
        "openapi: 3.0.0\npaths:\n  /a:\n    $ref: paths/a.yaml\n  /b:\n    post:\n      requestBody:\n        content:\n          application/json:\n            schema: {properties: {o: {$ref: '../../toolcrib-outside.yaml#/x'}, w: {$ref: 'http://169.254.169.254/latest#/x'}, f: {$ref: 'file:///etc/hostname'}, m: {$ref: missing.yaml}}}\n",
    );
    write(
        "api/paths/a.yaml",
        "get:\n  operationId: getA\n  parameters:\n    - $ref: '../shared.json#/q'\n",
    );
    write(
        "api/shared.json",
        r##"{"q": {"name": "q", "in": "query", "schema": {"$ref": "#/s"}}, "s": {"type": "integer"}}"##,
    );
    let api = source(Place::File(main)).load().await.unwrap();
    std::fs::remove_file(secret).unwrap();
    let schema = &api.operation("get-a").unwrap().tool.input_schema;
    assert_eq!(schema["properties"], json!({"q": {"type": "integer"}}));
    let warnings: Vec<String> = api.warnings.iter().map(ToString::to_string).collect();
    for part in [
        "was not named",
        "not in the folder",
        "missing.yaml cannot be read",
    ] {
        assert!(
            warnings.iter().any(|w| w.contains(part)),
            "{part}: {warnings:?}"
        );
    }
}

#[tokio::test]
async fn files_above_the_description_are_read_within_the_folder_that_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| written(folder.path(), name, text);
    let main = write(
        "specs/api/main.yaml",
        "openapi: 3.0.0\npaths:\n  /a:\n    get:\n      operationId: getA\n      parameters:\n        - $ref: '../common/q.yaml#/q'\n        - $ref: '../../outside.yaml#/q'\n",
    );
    let parameter =
        |name: &str| format!("q: {{name: {name}, in: query, schema: {{type: integer}}}}");
    write("specs/common/q.yaml", &parameter("q"));
    write("outside.yaml", &parameter("out"));
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.path(), folder.path().join("specs/up")).unwrap();
    let load = async |ref_folder: Option<&str>| {
        let source = Source {
            ref_folder: ref_folder.map(|name| folder.path().join(name)),
            ..source(Place::File(main.clone()))
        };
        let api = source.load().await.unwrap();
        let schema = &api.operation("get-a").unwrap().tool.input_schema;
        let names: Vec<String> = schema["properties"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect();
        let warnings: Vec<String> = api.warnings.iter().map(ToString::to_string).collect();
        (names.join(" "), warnings.join("\n"))
    };
    let (names, warnings) = load(None).await;
    assert_eq!(names, "");
    assert!(
        warnings.contains("name a folder that holds both as refFolder"),
        "{warnings}"
    );
    let (names, warnings) = load(Some("specs")).await;
    assert_eq!(names, "q");
    assert!(warnings.contains("it is not in refFolder"), "{warnings}");
    assert_eq!(load(Some(".")).await.0, "q out");
    // What counts is where a file is, not what leads there.
    let text = std::fs::read_to_string(&main).unwrap();
    std::fs::write(
        &main,
        text.replace("../../outside.yaml", "../up/outside.yaml"),
    )
    .unwrap();
    assert_eq!(load(Some("specs")).await.0, "q");
}

#[tokio::test]
async fn a_description_from_an_address_stays_with_its_host() {
    let main = json!({"openapi": "3.1.0", "servers": [{"url": "/v1"}], "paths": {"/a": {"get": {"operationId": "a", "parameters": [
        {"name": "x", "in": "query", "schema": {"$ref": "part.json#/s"}},
        {"name": "y", "in": "query", "schema": {"$ref": "http://169.254.169.254/latest/meta-data"}},
        {"name": "z", "in": "query", "schema": {"$ref": "file:///etc/passwd"}}]}}}});
    let api = Api::start([
        Reply::json(200, &main),
        Reply::json(200, &json!({"s": {"type": "boolean"}})),
    ])
    .await
    .unwrap();
    let url = format!("{}/docs/openapi.json", api.url());
    let place = Source::place(&url, std::path::Path::new("/work/project"));
    let read = source(place).load().await.unwrap();
    let schema = &read.operations[0].tool.input_schema;
    assert_eq!(schema["properties"]["x"], json!({"type": "boolean"}));
    assert_eq!(schema["properties"]["y"], json!({}));
    let targets: Vec<String> = api.received().into_iter().map(|r| r.target).collect();
    assert_eq!(targets, ["/docs/openapi.json", "/docs/part.json"]);
    let base = read
        .base(&read.operations[0], None, &indexmap::IndexMap::new())
        .unwrap();
    assert_eq!(base.as_str(), format!("{}/v1", api.url()));
}

#[tokio::test]
async fn what_cannot_be_read_is_an_error_with_its_place() {
    let missing = source(Place::File("/work/project/none.yaml".into()))
        .load()
        .await;
    assert!(matches!(missing, Err(LoadError::Unreadable { .. })));
    let page = Reply {
        status: 200,
        headers: vec![("content-type", "text/html; charset=utf-8".to_owned())],
        body: b"<html>".to_vec(),
    };
    let api = Api::start([page, Reply::json(404, &json!({}))])
        .await
        .unwrap();
    for part in ["web page", "HTTP 404"] {
        let place = Source::place(&api.url(), std::path::Path::new("/"));
        let error = source(place).load().await.unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}
