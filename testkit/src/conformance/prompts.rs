//! The prompts.

use serde_json::{Value, json};

use super::{Outcome, PNG, Refusal};

/// All prompts.
pub(super) fn list() -> Value {
    json!([
        { "name": "test_simple_prompt", "description": "One message" },
        { "name": "test_prompt_with_arguments", "description": "Repeats its arguments", "arguments": [
            { "name": "arg1", "description": "First test argument", "required": true },
            { "name": "arg2", "description": "Second test argument", "required": true },
        ]},
        { "name": "test_prompt_with_embedded_resource", "description": "Embeds a resource", "arguments": [
            { "name": "resourceUri", "description": "URI of the resource to embed", "required": true },
        ]},
        { "name": "test_prompt_with_image", "description": "Shows an image" },
        { "name": "test_input_required_result_prompt", "description": "Wants to know something first" },
    ])
}

fn user(content: &Value) -> Value {
    json!({ "role": "user", "content": content })
}

fn said(text: &str) -> Value {
    user(&json!({ "type": "text", "text": text }))
}

/// One prompt.
pub(super) fn get(params: &Value) -> Outcome {
    let argument = |name: &str| params["arguments"][name].as_str().unwrap_or_default();
    let messages = match params["name"].as_str().unwrap_or_default() {
        "test_simple_prompt" => json!([said("This is a simple prompt for testing.")]),
        "test_prompt_with_arguments" => {
            let (one, two) = (argument("arg1"), argument("arg2"));
            json!([said(&format!(
                "Prompt with arguments: arg1='{one}', arg2='{two}'"
            ))])
        }
        "test_prompt_with_embedded_resource" => json!([
            user(&json!({ "type": "resource", "resource": {
                "uri": argument("resourceUri"), "mimeType": "text/plain",
                "text": "Embedded resource content for testing." } })),
            said("Please process the embedded resource above."),
        ]),
        "test_prompt_with_image" => json!([
            user(&json!({ "type": "image", "data": PNG, "mimeType": "image/png" })),
            said("Please analyze the image above."),
        ]),
        "test_input_required_result_prompt" => match params["inputResponses"].get("user_context") {
            Some(answer) if answer.is_object() => {
                json!([said(&format!("Context: {}", answer["content"]["context"]))])
            }
            _ => {
                return Ok(json!({ "resultType": "input_required", "inputRequests": {
                    "user_context": { "method": "elicitation/create", "params": {
                        "message": "What context should the prompt use?",
                        "requestedSchema": { "type": "object",
                            "properties": { "context": { "type": "string" } }, "required": ["context"] },
                    }},
                }}));
            }
        },
        other => {
            return Err(Refusal::new(
                -32602,
                format!("there is no prompt `{other}`"),
            ));
        }
    };
    Ok(json!({ "messages": messages }))
}
