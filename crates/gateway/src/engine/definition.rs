//! From a definition as a server sent it to a [`Tool`].
//!
//! What a tool cannot do without must be there; a field of the wrong type that it can do without
//! counts as absent. One bad definition costs that tool, never the list.

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use toolcrib_config::model::server::StaticTool;
use toolcrib_core::limits::TOOL_NAME_CHARS_MAX;
use toolcrib_core::{Tool, ToolId};

/// Why a definition is left out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// It is no JSON object.
    #[error("a definition is no JSON object")]
    NoObject,
    /// It has no name, or an empty one.
    #[error("a definition has no name")]
    NoName,
    /// Its name cannot be used.
    #[error("the name of `{0}` is too long or holds control characters")]
    BadName(String),
    /// Its schema is missing or no object.
    #[error("`{0}` has no object as its `inputSchema`")]
    NoSchema(String),
    /// Another definition of the list has its name.
    #[error("`{0}` is defined twice; the first one counts")]
    Twice(String),
}

/// Reads one item of `tools/list`.
pub fn read(server: &str, raw: &RawValue) -> Result<Tool, Malformed> {
    let mut fields: Map<String, Value> =
        serde_json::from_str(raw.get()).map_err(|_| Malformed::NoObject)?;
    let name = match fields.remove("name") {
        Some(Value::String(name)) if !name.is_empty() => name,
        _ => return Err(Malformed::NoName),
    };
    if name.chars().count() > TOOL_NAME_CHARS_MAX || name.chars().any(char::is_control) {
        let shown = name.chars().filter(|c| !c.is_control()).take(64);
        return Err(Malformed::BadName(shown.collect()));
    }
    let Some(schema @ Value::Object(_)) = fields.remove("inputSchema") else {
        return Err(Malformed::NoSchema(name));
    };
    let mut text = |field: &str| match fields.remove(field) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let (title, description) = (text("title"), text("description"));
    let mut tool = Tool::new(
        ToolId::new(server, name),
        description.unwrap_or_default(),
        schema,
    );
    tool.title = title;
    tool.output_schema = match fields.remove("outputSchema") {
        Some(schema @ Value::Object(_)) => Some(schema.into()),
        _ => None,
    };
    tool.annotations = match fields.remove("annotations") {
        Some(annotations @ Value::Object(_)) => annotations,
        _ => Value::Null,
    };
    Ok(tool)
}

/// A tool that the configuration declares, and the definition that its server might have sent.
pub fn declared(server: &str, tool: &StaticTool) -> (Tool, Box<RawValue>) {
    let schema = tool.input_schema.clone();
    let schema = schema.unwrap_or_else(|| serde_json::json!({ "type": "object" }));
    let definition = serde_json::json!({
        "name": tool.name,
        "description": tool.description,
        "inputSchema": schema,
    });
    let mut known = Tool::new(
        ToolId::new(server, tool.name.as_str()),
        tool.description.as_str(),
        schema,
    );
    known.tags.clone_from(&tool.tags);
    (known, raw(&definition))
}

/// A value as the text that stands for it.
pub fn raw(value: &Value) -> Box<RawValue> {
    // A value is always writable; the fallback is only there so that nothing can panic.
    serde_json::value::to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(definition: &Value) -> Result<Tool, Malformed> {
        read("s", &raw(definition))
    }

    #[test]
    fn a_definition_keeps_everything_that_the_catalog_knows() {
        let tool = check(&json!({
            "name": "createIssue", "title": "Create", "description": "Creates. More.",
            "inputSchema": {"type": "object", "x-odd": 1}, "outputSchema": {"type": "string"},
            "annotations": {"readOnlyHint": true}, "execution": {"taskSupport": "optional"},
        }))
        .unwrap();
        assert_eq!(tool.id.to_string(), "s:createIssue");
        assert_eq!(tool.title.as_deref(), Some("Create"));
        assert_eq!(tool.summary(), "Creates.");
        assert_eq!(tool.input_schema["x-odd"], 1);
        assert_eq!(tool.output_schema.as_ref().unwrap()["type"], "string");
        assert_eq!(tool.annotations["readOnlyHint"], true);
        assert_eq!(
            tool.extensions,
            Value::Null,
            "what a server sends is not believed"
        );
    }

    #[test]
    fn fields_of_the_wrong_type_count_as_absent_where_they_may_be() {
        let tool = check(&json!({
            "name": "x", "title": 1, "description": null, "inputSchema": {},
            "outputSchema": true, "annotations": [],
        }))
        .unwrap();
        assert_eq!((tool.title, tool.description.as_str()), (None, ""));
        assert_eq!((tool.output_schema, tool.annotations), (None, Value::Null));
    }

    #[test]
    fn what_a_tool_cannot_do_without_must_be_there() {
        let long = "x".repeat(TOOL_NAME_CHARS_MAX + 1);
        for (definition, expected) in [
            (json!(1), Malformed::NoObject),
            (json!({"inputSchema": {}}), Malformed::NoName),
            (json!({"name": "", "inputSchema": {}}), Malformed::NoName),
            (json!({"name": 1, "inputSchema": {}}), Malformed::NoName),
            (json!({"name": "x"}), Malformed::NoSchema("x".into())),
            (
                json!({"name": "x", "inputSchema": true}),
                Malformed::NoSchema("x".into()),
            ),
            (
                json!({"name": "a\u{7}b", "inputSchema": {}}),
                Malformed::BadName("ab".into()),
            ),
            (
                json!({"name": long, "inputSchema": {}}),
                Malformed::BadName("x".repeat(64)),
            ),
        ] {
            assert_eq!(check(&definition), Err(expected), "{definition}");
        }
    }

    #[test]
    fn a_declared_tool_has_a_definition_like_any_other() {
        let declared_tool = StaticTool {
            name: "t".into(),
            description: "Does it.".into(),
            input_schema: None,
            tags: vec!["a".into()],
        };
        let (tool, definition) = declared("s", &declared_tool);
        assert_eq!(tool.tags, ["a"]);
        let again = read("s", &definition).unwrap();
        assert_eq!(again.description, tool.description);
        assert_eq!(again.input_schema, tool.input_schema);
    }
}
