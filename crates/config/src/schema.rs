//! The JSON Schema of our own files, generated from [`crate::model::Settings`].

use std::sync::OnceLock;

use serde_json::Value as Json;

use crate::model::Settings;

/// Where the committed copy stands, relative to the workspace.
pub const COMMITTED_PATH: &str = "docs/toolcrib.schema.json";

/// The schema as a value, built once.
pub fn value() -> &'static Json {
    static SCHEMA: OnceLock<Json> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let mut schema = schemars::schema_for!(Settings).to_value();
        if let Some(root) = schema.as_object_mut() {
            root.insert("title".into(), "Toolcrib configuration".into());
        }
        schema
    })
}

/// The schema as the committed file has it.
pub fn text() -> String {
    let mut text = serde_json::to_string_pretty(value()).unwrap_or_default();
    text.push('\n');
    text
}
