//! The resources.

use serde_json::{Value, json};

use super::{Outcome, PNG, Refusal};

/// All resources that are no template.
pub(super) fn list() -> Value {
    let one = |uri: &str, name: &str, kind: &str| json!({ "uri": uri, "name": name, "description": name, "mimeType": kind });
    json!([
        one("test://static-text", "Static text", "text/plain"),
        one("test://static-binary", "Static binary", "image/png"),
        one("test://watched-resource", "Watched resource", "text/plain"),
    ])
}

/// All templates.
pub(super) fn templates() -> Value {
    json!([{
        "uriTemplate": "test://template/{id}/data", "name": "Template",
        "description": "Data of an id", "mimeType": "application/json",
    }])
}

/// The content of a resource.
pub(super) fn read(params: &Value, is_stateless: bool) -> Outcome {
    let uri = params["uri"].as_str().unwrap_or_default();
    let id = uri
        .strip_prefix("test://template/")
        .and_then(|rest| rest.strip_suffix("/data"));
    let text = |kind: &str, text: String| json!({ "uri": uri, "mimeType": kind, "text": text });
    let content = match (uri, id) {
        (_, Some(id)) => {
            let data =
                json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            text("application/json", data.to_string())
        }
        ("test://static-text", _) => text(
            "text/plain",
            "This is the content of the static text resource.".to_owned(),
        ),
        ("test://static-binary", _) => json!({ "uri": uri, "mimeType": "image/png", "blob": PNG }),
        ("test://watched-resource", _) => text("text/plain", "Watched.".to_owned()),
        _ => {
            let code = if is_stateless { -32602 } else { -32002 };
            return Err(Refusal {
                data: Some(json!({ "uri": uri })),
                ..Refusal::new(code, "Resource not found")
            });
        }
    };
    Ok(json!({ "contents": [content] }))
}
