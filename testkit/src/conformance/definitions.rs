//! What is offered, as the lists show it.

use serde_json::{Value, json};

/// The capabilities.
pub fn capabilities() -> Value {
    json!({
        "tools": { "listChanged": true },
        "prompts": { "listChanged": true },
        "resources": { "subscribe": true, "listChanged": true },
        "completions": {},
        "logging": {},
    })
}

/// Tools without parameters: name and description.
const PLAIN: &[(&str, &str)] = &[
    ("test_simple_text", "Returns one text"),
    ("test_image_content", "Returns an image"),
    ("test_audio_content", "Returns audio"),
    ("test_embedded_resource", "Returns an embedded resource"),
    (
        "test_multiple_content_types",
        "Returns text, an image and a resource",
    ),
    ("test_tool_with_logging", "Logs three messages"),
    ("test_logging_tool", "Logs one message"),
    ("test_error_handling", "Fails"),
    ("test_tool_with_progress", "Reports progress"),
    ("test_missing_capability", "Needs a client that can sample"),
    ("test_streaming_elicitation", "Asks on a stream"),
    ("test_trigger_tool_change", "Says that the tools changed"),
    (
        "test_trigger_prompt_change",
        "Says that the prompts changed",
    ),
    ("test_elicitation_sep1034_defaults", "Asks with defaults"),
    ("test_elicitation_sep1330_enums", "Asks with enumerations"),
    ("test_input_required_result_elicitation", "Wants a name"),
    ("test_input_required_result_sampling", "Wants a capital"),
    ("test_input_required_result_list_roots", "Wants roots"),
    (
        "test_input_required_result_request_state",
        "Wants a confirmation, with state",
    ),
    (
        "test_input_required_result_multiple_inputs",
        "Wants three things",
    ),
    (
        "test_input_required_result_multi_round",
        "Wants one thing after the other",
    ),
    (
        "test_input_required_result_tampered_state",
        "Protects its state",
    ),
    (
        "test_input_required_result_capabilities",
        "Wants what the client can do",
    ),
];

/// All tools.
pub(super) fn tools() -> Vec<Value> {
    let plain = PLAIN.iter().map(|(name, description)| {
        json!({ "name": name, "description": description,
            "inputSchema": { "type": "object", "properties": {} } })
    });
    let more = [
        json!({ "name": "test_sampling", "description": "Asks a model", "inputSchema": {
            "type": "object", "properties": { "prompt": { "type": "string" } }, "required": ["prompt"] } }),
        json!({ "name": "test_elicitation", "description": "Asks the user", "inputSchema": {
            "type": "object", "properties": { "message": { "type": "string" } }, "required": ["message"] } }),
        json!({ "name": "test_x_mcp_header", "description": "Repeats a parameter in a header", "inputSchema": {
            "type": "object",
            "properties": { "region": { "type": "string", "x-mcp-header": "Region" } },
            "required": ["region"] } }),
        json!({ "name": "json_schema_2020_12_tool", "description": "Tool with JSON Schema 2020-12 features",
            "inputSchema": schema() }),
    ];
    plain.chain(more).collect()
}

fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
        }},
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}
