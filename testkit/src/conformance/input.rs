//! Tools that want to know something first.

use serde_json::{Value, json};

use super::{Asker, Outcome, Refusal, text};

/// What the state of a request carries, so that a changed one is told.
const SEAL: &str = "fixture-seal-of-";

fn question(message: &str, field: &str, kind: &str) -> Value {
    json!({ "method": "elicitation/create", "params": {
        "message": message,
        "requestedSchema": {
            "type": "object", "properties": { field: { "type": kind } }, "required": [field],
        },
    }})
}

fn sampling(asked: &str, tokens: u32) -> Value {
    json!({ "method": "sampling/createMessage", "params": {
        "messages": [{ "role": "user", "content": { "type": "text", "text": asked } }],
        "maxTokens": tokens,
    }})
}

fn wanted(requests: &Value, state: Option<String>) -> Value {
    let mut result = json!({ "resultType": "input_required", "inputRequests": requests });
    if let Some(state) = state {
        result["requestState"] = json!(state);
    }
    result
}

/// An answer of the client, where it is one.
fn given<'a>(params: &'a Value, name: &str) -> Option<&'a Value> {
    params["inputResponses"]
        .get(name)
        .filter(|answer| answer.is_object())
}

/// Checks the state of a request, and gives what it says.
fn state(params: &Value) -> Result<Option<&str>, Refusal> {
    match params.get("requestState") {
        None => Ok(None),
        Some(state) => {
            let said = state.as_str().and_then(|state| state.strip_prefix(SEAL));
            match said {
                Some(said @ ("one" | "two" | "all" | "confirm")) => Ok(Some(said)),
                _ => Err(Refusal::new(-32602, "the state of the request was changed")),
            }
        }
    }
}

/// What comes of a question.
pub(super) enum Asked {
    /// The client said this.
    Answered(Value),
    /// The client has to be asked with this result first.
    Wanted(Value),
}

/// Asks the client as its era wants to be asked.
pub(super) async fn asked(
    method: &str,
    question: Value,
    params: &Value,
    asker: &dyn Asker,
) -> Result<Asked, Refusal> {
    if !asker.is_stateless() {
        return asker.ask(method, question).await.map(Asked::Answered);
    }
    Ok(if let Some(answer) = given(params, "asked") {
        Asked::Answered(answer.clone())
    } else {
        let requests = json!({ "asked": { "method": method, "params": question } });
        Asked::Wanted(wanted(&requests, None))
    })
}

/// A tool that asks while its answer streams.
pub(super) fn streaming(params: &Value, asker: &dyn Asker) -> Value {
    match given(params, "user_name") {
        Some(answer) => text(format!("Answered: {answer}")),
        None if asker.capabilities()["elicitation"].is_object() => wanted(
            &json!({ "user_name": question("What is your name?", "name", "string") }),
            None,
        ),
        None => text("Nobody can be asked."),
    }
}

/// Calls one of the tools that want input; `None` where there is no such tool.
pub(super) fn call(name: &str, params: &Value, asker: &dyn Asker) -> Option<Outcome> {
    let which = name.strip_prefix("test_input_required_result_")?;
    Some(match which {
        "elicitation" => Ok(match given(params, "user_name") {
            Some(answer) => text(format!(
                "Hello, {}!",
                answer["content"]["name"].as_str().unwrap_or("you")
            )),
            None => wanted(
                &json!({ "user_name": question("What is your name?", "name", "string") }),
                None,
            ),
        }),
        "sampling" => Ok(match given(params, "capital_question") {
            Some(answer) => text(format!("The model says: {}", answer["content"]["text"])),
            None => wanted(
                &json!({ "capital_question": sampling("What is the capital of France?", 100) }),
                None,
            ),
        }),
        "list_roots" => Ok(match given(params, "client_roots") {
            Some(answer) => text(format!("Roots: {}", answer["roots"])),
            None => wanted(
                &json!({ "client_roots": { "method": "roots/list", "params": {} } }),
                None,
            ),
        }),
        "request_state" | "tampered_state" => confirmed(params),
        "multiple_inputs" => several(params),
        "multi_round" => rounds(params),
        "capabilities" => Ok(possible(asker)),
        _ => return None,
    })
}

fn confirmed(params: &Value) -> Outcome {
    let state = state(params)?;
    Ok(match (given(params, "confirm"), state) {
        (Some(_), Some("confirm")) => text("state-ok"),
        _ => wanted(
            &json!({ "confirm": question("Please confirm", "ok", "boolean") }),
            Some(format!("{SEAL}confirm")),
        ),
    })
}

fn several(params: &Value) -> Outcome {
    state(params)?;
    let names = ["user_name", "greeting", "client_roots"];
    if names.iter().all(|name| given(params, name).is_some()) {
        return Ok(text("All answers are there."));
    }
    Ok(wanted(
        &json!({
            "user_name": question("What is your name?", "name", "string"),
            "greeting": sampling("Generate a greeting", 50),
            "client_roots": { "method": "roots/list", "params": {} },
        }),
        Some(format!("{SEAL}all")),
    ))
}

fn rounds(params: &Value) -> Outcome {
    Ok(
        match (
            state(params)?,
            given(params, "step1"),
            given(params, "step2"),
        ) {
            (Some("two"), _, Some(_)) => text("Both steps are done."),
            (Some("one"), Some(_), _) => wanted(
                &json!({ "step2": question("Step 2: What is your favorite color?", "color", "string") }),
                Some(format!("{SEAL}two")),
            ),
            _ => wanted(
                &json!({ "step1": question("Step 1: What is your name?", "name", "string") }),
                Some(format!("{SEAL}one")),
            ),
        },
    )
}

fn possible(asker: &dyn Asker) -> Value {
    let can = asker.capabilities();
    let mut requests = json!({});
    if can["elicitation"].is_object() {
        requests["user_name"] = question("What is your name?", "name", "string");
    }
    if can["sampling"].is_object() {
        requests["greeting"] = sampling("Generate a greeting", 50);
    }
    wanted(&requests, None)
}

/// The form of a tool that asks the user in the middle of its call.
pub(super) fn form(tool: &str, arguments: &Value) -> Value {
    let titled = |names: [&str; 3]| -> Vec<Value> {
        let options = ["value1", "value2", "value3"].into_iter().zip(names);
        options
            .map(|(value, title)| json!({ "const": value, "title": title }))
            .collect()
    };
    let properties = match tool {
        "test_elicitation" => json!({
            "username": { "type": "string", "description": "User's response" },
            "email": { "type": "string", "description": "User's email address" },
        }),
        "test_elicitation_sep1034_defaults" => json!({
            "name": { "type": "string", "description": "User name", "default": "John Doe" },
            "age": { "type": "integer", "description": "User age", "default": 30 },
            "score": { "type": "number", "description": "User score", "default": 95.5 },
            "status": { "type": "string", "description": "User status",
                "enum": ["active", "inactive", "pending"], "default": "active" },
            "verified": { "type": "boolean", "description": "Verification status", "default": true },
        }),
        _ => json!({
            "untitledSingle": { "type": "string", "enum": ["option1", "option2", "option3"] },
            "titledSingle": { "type": "string",
                "oneOf": titled(["First Option", "Second Option", "Third Option"]) },
            "legacyEnum": { "type": "string", "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"] },
            "untitledMulti": { "type": "array",
                "items": { "type": "string", "enum": ["option1", "option2", "option3"] } },
            "titledMulti": { "type": "array",
                "items": { "anyOf": titled(["First Choice", "Second Choice", "Third Choice"]) } },
        }),
    };
    let required = if tool == "test_elicitation" {
        json!(["username", "email"])
    } else {
        json!([])
    };
    let message = arguments["message"]
        .as_str()
        .unwrap_or("Please fill in the form");
    json!({
        "message": message,
        "requestedSchema": { "type": "object", "properties": properties, "required": required },
    })
}
