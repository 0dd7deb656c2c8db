//! Outcomes as results that a model can read and act on.

use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolcrib_core::Code;
use toolcrib_core::content::Content;
use toolcrib_core::schema::signature;

use super::input::Bad;
use crate::engine::answer::Answered;
use crate::engine::error::Error;
use crate::engine::snapshot::Entry;
use crate::legible;
use crate::mcp::fields::raw;
use crate::telling::{self, Names};

/// A result of one text.
pub(super) fn text(text: &str) -> Box<RawValue> {
    raw(&json!({"content": [{"type": "text", "text": text}]}))
}

/// A failed result with what is known about the failure.
fn failed(error: &Value, blocks: Vec<Value>) -> Box<RawValue> {
    told_failed(&json!({"success": false, "error": error}), blocks)
}

fn told_failed(told: &Value, blocks: Vec<Value>) -> Box<RawValue> {
    raw(&json!({"content": with_text(told, blocks), "isError": true}))
}

/// What is told, as a text, before the other blocks. It may be long, and is moved where `json!` would copy it.
fn with_text(told: &Value, blocks: Vec<Value>) -> Value {
    let text = [("type", "text".into()), ("text", told.to_string().into())];
    let first = object(text);
    Value::Array(std::iter::once(first).chain(blocks).collect())
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let fields = fields.into_iter();
    Value::Object(
        fields
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    )
}

/// What the profile `discovery` calls things.
const NAMES: Names = Names {
    server: "server",
    risk: "risk",
    near,
};

/// A tool that may have been meant.
pub(super) fn near(entry: &Entry) -> Value {
    let id = &entry.tool.id;
    json!({
        "server": id.server(),
        "tool": id.tool(),
        "signature": signature(id.tool(), &entry.tool.input_schema),
    })
}

/// Wrong parameters of one of the five tools.
pub(super) fn bad(bad: &Bad) -> Box<RawValue> {
    let error = json!({
        "code": Code::ValidationError,
        "message": telling::cut(&bad.message),
        "field": telling::cut_name(&bad.field),
    });
    failed(&error, Vec::new())
}

/// What the engine refused or could not do.
pub(super) fn failure(error: &Error) -> Box<RawValue> {
    failed(&telling::failure(error, &NAMES), Vec::new())
}

/// What a tool answered. A result that asks for more input passes as it is.
pub(super) fn answered(answered: &Answered, server: &str, tool: &str) -> Box<RawValue> {
    let value = legible::value(&answered.result);
    if value["resultType"] == "input_required" {
        return answered.result.clone();
    }
    let content = Content::read(value);
    if answered.is_error {
        let mut error = json!({"code": Code::ToolExecutionError});
        for (name, value) in telling::reasons(&content.result) {
            error[name] = value;
        }
        error["server"] = server.into();
        error["tool"] = tool.into();
        let mut told = json!({"success": false, "error": error});
        telling::beside(answered, &mut told);
        return told_failed(&told, content.blocks);
    }
    let mut told = object([("success", true.into()), ("result", content.result)]);
    telling::beside(answered, &mut told);
    let mut result = content.rest;
    result.shift_remove("resultType");
    result.insert("content".into(), with_text(&told, content.blocks));
    raw(&Value::Object(result))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::answer::Rest;
    use crate::engine::error::Names;

    fn told(result: &RawValue) -> (Value, Value) {
        let result: Value = serde_json::from_str(result.get()).unwrap();
        let text = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        (result, text)
    }

    fn answer(result: &Value, is_error: bool, rest: Option<Rest>) -> Answered {
        Answered {
            result: raw(result),
            is_error,
            replayed: false,
            rest,
            unfiltered: None,
        }
    }

    #[test]
    fn a_success_has_the_documented_shape_and_keeps_other_content() {
        let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
        let result =
            json!({"content": [{"type": "text", "text": "{\"n\":1}"}, image], "_meta": {"a": 1}});
        let given = answered(&answer(&result, false, None), "s", "t");
        let (result, text) = told(&given);
        assert_eq!(text, json!({"success": true, "result": {"n": 1}}));
        assert_eq!(
            (&result["content"][1], &result["_meta"]["a"]),
            (&image, &json!(1))
        );
        assert_eq!(result.get("isError"), None);
        assert!(
            !result["content"][0]["text"]
                .as_str()
                .unwrap()
                .contains('\n')
        );
    }

    #[test]
    fn a_result_with_half_a_character_is_told_and_not_lost() {
        let result = r#"{"content":[{"type":"text","text":"hello \ud83d"}]}"#;
        let mut given = answer(&json!(null), false, None);
        given.result = RawValue::from_string(result.to_owned()).unwrap();
        let (_, text) = told(&answered(&given, "s", "t"));
        assert_eq!(text, json!({"success": true, "result": "hello \u{fffd}"}));
        given.is_error = true;
        let (_, text) = told(&answered(&given, "s", "t"));
        assert_eq!(text["error"]["message"], "hello \u{fffd}");
    }

    #[test]
    fn a_cut_result_says_how_to_read_on() {
        let rest = Rest {
            page: "ab.3".into(),
            left: "9 of 12 parts".into(),
        };
        let given = answered(
            &answer(&json!({"content": []}), false, Some(rest)),
            "s",
            "t",
        );
        let (_, text) = told(&given);
        assert_eq!(
            text,
            json!({"success": true, "result": null, "page": "ab.3", "left": "9 of 12 parts"})
        );
    }

    #[test]
    fn a_large_failure_is_not_cut_silently() {
        let rest = Rest {
            page: "ab.3".into(),
            left: "9 of 12 parts".into(),
        };
        let result = json!({"content": [{"type": "text", "text": "line 1"}], "isError": true});
        let (result, text) = told(&answered(&answer(&result, true, Some(rest)), "s", "t"));
        assert_eq!(result["isError"], true);
        assert_eq!(
            text,
            json!({"success": false, "error": {"code": "TOOL_EXECUTION_ERROR", "message": "line 1",
                "server": "s", "tool": "t"}, "page": "ab.3", "left": "9 of 12 parts"})
        );
    }

    #[test]
    fn the_refusal_of_an_api_is_told_in_its_parts() {
        let refusal = json!({"error": {"status": 404, "message": "no such order",
            "suggestion": "List first.", "meaning": "There is no such order", "provider": {"a": 1}}});
        let result = json!({"content": [], "structuredContent": refusal, "isError": true});
        let (_, text) = told(&answered(&answer(&result, true, None), "shop", "get"));
        assert_eq!(
            text,
            json!({"success": false, "error": {"code": "TOOL_EXECUTION_ERROR",
                "message": "The API answered HTTP 404: no such order", "status": 404,
                "meaning": "There is no such order", "suggestion": "List first.", "provider": {"a": 1},
                "server": "shop", "tool": "get"}})
        );
    }

    #[test]
    fn a_failed_tool_is_an_error_with_server_and_tool() {
        let result = json!({"content": [{"type": "text", "text": "rate limit"}], "isError": true});
        let (result, text) = told(&answered(
            &answer(&result, true, None),
            "github",
            "create_issue",
        ));
        assert_eq!(result["isError"], true);
        assert_eq!(
            text,
            json!({"success": false, "error": {"code": "TOOL_EXECUTION_ERROR", "message": "rate limit",
                "server": "github", "tool": "create_issue"}})
        );
        let (_, text) = told(&answered(
            &answer(&json!({"content": []}), true, None),
            "s",
            "t",
        ));
        assert_eq!(text["error"]["message"], "the tool gave no reason");
    }

    #[test]
    fn a_question_back_passes_as_it_is() {
        let asks =
            json!({"resultType": "input_required", "inputRequests": {}, "requestState": "x"});
        let given = answered(&answer(&asks, false, None), "s", "t");
        assert_eq!(given.get(), raw(&asks).get());
    }

    #[test]
    fn a_failure_tells_what_is_known_and_nothing_empty() {
        let plain = Error::new(Code::ToolDisabled, "Tool x is disabled.").of_tool("s", "x");
        let (result, text) = told(&failure(&plain));
        assert_eq!(result["isError"], true);
        assert_eq!(
            text,
            json!({"success": false, "error": {"code": "TOOL_DISABLED", "message": "Tool x is disabled.", "server": "s", "tool": "x"}})
        );
        let mut missing = Error::new(Code::ServerNotFound, "There is no server x.").suggest("Look");
        missing.more.available = Some(Names {
            names: vec!["a".into()],
            total: 7,
        });
        missing.more.retry_after_ms = Some(5);
        let (_, text) = told(&failure(&missing));
        let error = &text["error"];
        assert_eq!(
            (
                &error["available"],
                &error["total"],
                &error["suggestion"],
                &error["retry_after_ms"]
            ),
            (&json!(["a"]), &json!(7), &json!("Look"), &json!(5))
        );
    }

    #[test]
    fn wrong_parameters_name_their_field() {
        let (result, text) = told(&bad(&Bad::new("query", "is required")));
        assert_eq!(result["isError"], true);
        assert_eq!(
            text["error"],
            json!({"code": "VALIDATION_ERROR", "message": "`query` is required.", "field": "query"})
        );
    }
}
