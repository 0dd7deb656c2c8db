//! The OpenAPI 3.1 document of the REST API.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{ADMIN_SCOPE, Method, Parameter, Place, ROUTES, Route, schemas};
use crate::Code;

/// Where the document stands in the repository.
pub const COMMITTED_PATH: &str = "docs/api/openapi.json";

/// The document as it is committed and served.
pub fn text() -> String {
    let mut text = serde_json::to_string_pretty(&document()).unwrap_or_default();
    text.push('\n');
    text
}

/// The document.
pub fn document() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in ROUTES {
        let entry = paths.entry(route.path).or_insert_with(|| json!({}));
        let method = match route.method {
            Method::Get => "get",
            Method::Post => "post",
        };
        entry[method] = operation(route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Toolcrib",
            "version": "1",
            "description": "Find and run the tools of MCP servers and REST APIs under one policy. Errors are problem details (RFC 9457) whose `code` is stable.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{}, {"token": []}, {"key": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "An API key or a token"},
                "key": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "An API key"},
            },
            "responses": {"Problem": {
                "description": "Why the request was not fulfilled",
                "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
            }},
            "schemas": schemas::all(),
        },
    })
}

/// Every status that a failure can have: those of the table of codes, and that of missing credentials.
fn failures() -> BTreeSet<u16> {
    let mut all: BTreeSet<u16> = Code::ALL.iter().map(|code| code.http_status()).collect();
    all.insert(401);
    all
}

fn operation(route: &Route) -> Value {
    let mut told = json!({
        "operationId": route.id,
        "summary": route.summary,
    });
    if route.admin {
        told["description"] = format!("Needs the scope `{ADMIN_SCOPE}`.").into();
    }
    if !route.parameters.is_empty() {
        told["parameters"] = route.parameters.iter().map(parameter).collect();
    }
    if route.body {
        told["requestBody"] = json!({
            "required": true,
            "content": {"application/json": {"schema": schemas::request(route.operation)}},
        });
    }
    let (kind, schema) = schemas::answer(route.operation);
    let mut answers = json!({"200": {
        "description": "The answer",
        "content": {kind: {"schema": schema}},
    }});
    for status in failures() {
        answers[status.to_string()] = json!({"$ref": "#/components/responses/Problem"});
    }
    told["responses"] = answers;
    told
}

fn parameter(parameter: &Parameter) -> Value {
    let place = match parameter.place {
        Place::Path => "path",
        Place::Query => "query",
        Place::Header => "header",
    };
    json!({
        "name": parameter.name,
        "in": place,
        "required": parameter.required,
        "description": parameter.about,
        "schema": parameter.kind.schema(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every `$ref` in a value.
    fn references(value: &Value, into: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                for (name, inner) in fields {
                    match (name.as_str(), inner) {
                        ("$ref", Value::String(target)) => into.push(target.clone()),
                        _ => references(inner, into),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, into)),
            _ => {}
        }
    }

    #[test]
    fn every_route_is_described_and_every_reference_leads_somewhere() {
        let document = document();
        for route in ROUTES {
            let method = if route.method == Method::Get {
                "get"
            } else {
                "post"
            };
            let told = &document["paths"][route.path][method];
            assert_eq!(told["operationId"], route.id);
            assert!(told["responses"]["200"].is_object());
            for code in Code::ALL {
                let status = code.http_status().to_string();
                assert!(
                    told["responses"][&status].is_object(),
                    "{} {status}",
                    route.path
                );
            }
        }
        let mut all = Vec::new();
        references(&document, &mut all);
        assert!(!all.is_empty());
        for target in all {
            let pointer = target.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{target}");
        }
    }

    #[test]
    fn every_schema_compiles() {
        for (name, schema) in schemas::all().as_object().unwrap() {
            let mut whole = schema.clone();
            whole["components"] = json!({"schemas": schemas::all()});
            assert!(crate::schema::compile(&whole).is_ok(), "{name}");
        }
    }
}
