//! What the tools do.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::input::{self, Asked};
use super::{Asker, Fixture, Outcome, PNG, Refusal, WAV, text};

/// Calls a tool.
pub(super) async fn call(fixture: &Fixture, params: &Value, asker: &Arc<dyn Asker>) -> Outcome {
    let name = params["name"].as_str().unwrap_or_default();
    let image = json!({ "type": "image", "data": PNG, "mimeType": "image/png" });
    match name {
        "test_simple_text" => Ok(text("This is a simple text response for testing.")),
        "test_image_content" => Ok(json!({ "content": [image] })),
        "test_audio_content" => Ok(json!({
            "content": [{ "type": "audio", "data": WAV, "mimeType": "audio/wav" }],
        })),
        "test_embedded_resource" => Ok(json!({ "content": [{ "type": "resource", "resource": {
            "uri": "test://embedded-resource", "mimeType": "text/plain",
            "text": "This is an embedded resource content." } }] })),
        "test_multiple_content_types" => Ok(json!({ "content": [
            { "type": "text", "text": "Multiple content types test:" },
            image,
            { "type": "resource", "resource": {
                "uri": "test://mixed-content-resource", "mimeType": "application/json",
                "text": "{\"test\":\"data\",\"value\":123}" } },
        ]})),
        "test_error_handling" => {
            let mut failed = text("This tool intentionally returns an error for testing");
            failed["isError"] = json!(true);
            Ok(failed)
        }
        "test_tool_with_logging" | "test_logging_tool" => {
            log(&**asker).await;
            Ok(text("Logged."))
        }
        "test_tool_with_progress" => {
            progress(params, &**asker).await;
            Ok(text("Progressed."))
        }
        "test_trigger_tool_change" => {
            fixture.change("notifications/tools/list_changed");
            Ok(text("Changed."))
        }
        "test_trigger_prompt_change" => {
            fixture.change("notifications/prompts/list_changed");
            Ok(text("Changed."))
        }
        "test_missing_capability" => needs_sampling(&**asker),
        "test_streaming_elicitation" => Ok(input::streaming(params, &**asker)),
        "json_schema_2020_12_tool" | "test_x_mcp_header" => Ok(text("Taken.")),
        "test_sampling" => {
            let prompt = &params["arguments"]["prompt"];
            let question = json!({ "maxTokens": 100, "messages": [
                { "role": "user", "content": { "type": "text", "text": prompt } }] });
            let question = input::asked("sampling/createMessage", question, params, &**asker);
            let answer = match question.await? {
                Asked::Answered(answer) => answer,
                Asked::Wanted(wanted) => return Ok(wanted),
            };
            Ok(text(format!("LLM response: {}", answer["content"]["text"])))
        }
        "test_elicitation"
        | "test_elicitation_sep1034_defaults"
        | "test_elicitation_sep1330_enums" => {
            let question = input::form(name, &params["arguments"]);
            let question = input::asked("elicitation/create", question, params, &**asker);
            let answer = match question.await? {
                Asked::Answered(answer) => answer,
                Asked::Wanted(wanted) => return Ok(wanted),
            };
            let (action, content) = (&answer["action"], &answer["content"]);
            Ok(text(format!(
                "Elicitation completed: action={action}, content={content}"
            )))
        }
        _ => input::call(name, params, &**asker)
            .unwrap_or_else(|| Err(Refusal::new(-32602, format!("there is no tool `{name}`")))),
    }
}

fn needs_sampling(asker: &dyn Asker) -> Outcome {
    if asker.capabilities()["sampling"].is_object() {
        return Ok(text("The client can sample."));
    }
    Err(Refusal {
        data: Some(json!({ "requiredCapabilities": { "sampling": {} } })),
        ..Refusal::new(-32021, "this needs a client that can sample")
    })
}

async fn log(asker: &dyn Asker) {
    for said in [
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed",
    ] {
        asker.tell(
            "notifications/message",
            json!({ "level": "info", "logger": "fixture", "data": said }),
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn progress(params: &Value, asker: &dyn Asker) {
    for done in [0, 50, 100] {
        if let Some(token) = params["_meta"].get("progressToken") {
            asker.tell(
                "notifications/progress",
                json!({ "progressToken": token, "progress": done, "total": 100 }),
            );
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
