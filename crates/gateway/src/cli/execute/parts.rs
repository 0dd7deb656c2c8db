//! What a tool answered beside text: images, audio, links and resources.

use serde_json::Value;
use serde_json::value::RawValue;

use super::result;
use crate::cli::stats::grouped;
use crate::legible;
use crate::ui::{Line, Ui};

/// The content of an answer, where not all of it is text.
pub(super) struct Parts {
    parts: Vec<Value>,
    /// Whether the result is something else than the texts of the content.
    structured: bool,
}

impl Parts {
    /// The parts of an answer; `None` where they are texts alone, and the result says it all.
    pub(super) fn of(answer: &RawValue) -> Option<Self> {
        let mut answer = legible::value(answer);
        let structured = answer.get("structuredContent").is_some();
        let Value::Array(parts) = answer.get_mut("content")?.take() else {
            return None;
        };
        let found = parts.iter().any(|part| text(part).is_none());
        found.then_some(Self { parts, structured })
    }

    /// The parts as the tool gave them, for JSON; `None` where the result is them.
    pub(super) fn beside(&self, result: &Value) -> Option<&[Value]> {
        let same = result.as_array() == Some(&self.parts);
        (!same).then_some(&*self.parts)
    }

    /// Prints the texts, in their order with a line for each other part; a result that is none of them comes first.
    pub(super) fn show(&self, ui: &mut Ui, shown: &Value) {
        if self.structured {
            result::show(ui, shown);
        }
        for part in &self.parts {
            match text(part) {
                Some(_) if self.structured => {}
                Some(text) => result::show(ui, &Value::String(text.to_owned())),
                None => ui.line(Line::new().text("  ").whole(described(part))),
            }
        }
    }
}

fn text(part: &Value) -> Option<&str> {
    let text = part.get("text").and_then(Value::as_str);
    text.filter(|_| part["type"] == "text")
}

/// One part that is no text, on a line.
fn described(part: &Value) -> String {
    let kind = part["type"].as_str().unwrap_or("part");
    let resource = &part["resource"];
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match kind {
        "image" | "audio" => {
            let media = part["mimeType"].as_str().unwrap_or(kind);
            format!("[{media}, {}]", size(&part["data"]))
        }
        "resource_link" => {
            let (name, uri) = (word(&part["name"]), word(&part["uri"]));
            format!("[resource link {name}: {uri}]")
        }
        "resource" => {
            let bytes = match resource["text"].as_str() {
                Some(text) => bytes(text.len()),
                None => size(&resource["blob"]),
            };
            let media = resource["mimeType"].as_str();
            let media = media.map_or_else(String::new, |media| format!("{media}, "));
            format!("[resource {}: {media}{bytes}]", word(&resource["uri"]))
        }
        other => format!("[{other}]"),
    }
}

/// How much stands in a text in base64.
fn size(data: &Value) -> String {
    let data = data.as_str().unwrap_or_default();
    let digits = data.bytes().filter(|byte| !b"=\r\n".contains(byte)).count();
    bytes(digits * 3 / 4)
}

fn bytes(count: usize) -> String {
    match count {
        1 => "1 byte".to_owned(),
        count => format!("{} bytes", grouped(count)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ui::Color;
    use crate::ui::tests::{Heard, ui};

    fn check(answer: &Value, result: &Value, expected: Option<&str>) {
        let raw = RawValue::from_string(answer.to_string()).unwrap();
        let told = Parts::of(&raw).map(|parts| {
            let (out, err) = (Heard::default(), Heard::default());
            let mut ui = ui(&out, &err, Color::Never, false);
            parts.show(&mut ui, result);
            ui.finish().unwrap();
            out.text()
        });
        assert_eq!(told.as_deref(), expected, "{answer}");
    }

    #[test]
    fn each_part_has_its_line_between_the_texts() {
        let image = json!({"type": "image", "data": "A".repeat(1646), "mimeType": "image/png"});
        let link = json!({"type": "resource_link", "name": "Text 1", "uri": "demo://1"});
        let file = json!({"type": "resource", "resource": {"uri": "demo://2", "mimeType": "text/plain", "text": "abc"}});
        let blob = json!({"type": "resource", "resource": {"uri": "demo://3", "blob": "AA=="}});
        let text = |text: &str| json!({"type": "text", "text": text});
        check(
            &json!({"content": [text("Here:"), image, text("it\nwas")]}),
            &json!("Here:\nit\nwas"),
            Some("  Here:\n  [image/png, 1,234 bytes]\n  it\n  was\n"),
        );
        check(
            &json!({"content": [link, file, blob, {"type": "audio"}, {"type": "odd"}, 7]}),
            &json!([]),
            Some(
                "  [resource link Text 1: demo://1]\n  [resource demo://2: text/plain, 3 bytes]\n  \
                 [resource demo://3: 1 byte]\n  [audio, 0 bytes]\n  [odd]\n  [part]\n",
            ),
        );
        check(
            &json!({"content": [text("{}"), link], "structuredContent": {"a": 1}}),
            &json!({"a": 1}),
            Some("  A: 1\n  [resource link Text 1: demo://1]\n"),
        );
        check(&json!({"content": [text("x")]}), &json!("x"), None);
        check(&json!({"content": []}), &json!([]), None);
        check(&json!({"structuredContent": {}}), &json!({}), None);
    }
}
