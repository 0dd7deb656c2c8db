//! What a tool answered, as people read it.

use serde_json::{Map, Value};

use crate::ui::{Line, Ui};

/// Prints a result below its headline: an object of nothing but single values as lines such as
/// `Title: Bug report`, anything else as it is.
pub(super) fn show(ui: &mut Ui, result: &Value) {
    if let Some(lines) = result.as_object().and_then(fields) {
        for line in lines {
            ui.line(format!("  {line}"));
        }
        return;
    }
    for line in plain(result).lines() {
        ui.line(Line::new().text("  ").whole(line));
    }
}

/// A value as one text.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

/// A line for each field, where every value is single and fits on one.
fn fields(object: &Map<String, Value>) -> Option<Vec<String>> {
    let line = |(name, value): (&String, &Value)| {
        let value = match value {
            Value::String(text) if text.is_empty() || text.contains('\n') => return None,
            Value::String(text) => text.clone(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
            Value::Array(_) | Value::Object(_) => return None,
        };
        Some(format!("{}: {value}", title(name)?))
    };
    let lines: Option<Vec<String>> = object.iter().map(line).collect();
    lines.filter(|lines| !lines.is_empty())
}

/// Names that are written in capitals.
const CAPITALS: [&str; 4] = ["id", "ip", "uri", "url"];

/// `Issue number` for `issue_number`, `URL` for `url`; none for what is no name.
fn title(name: &str) -> Option<String> {
    let is_letter = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || !name.chars().all(is_letter) {
        return None;
    }
    let mut words: Vec<String> = name.split('_').map(str::to_owned).collect();
    for word in &mut words {
        if CAPITALS.contains(&word.as_str()) {
            *word = word.to_ascii_uppercase();
        }
    }
    let title = words.join(" ");
    let mut rest = title.chars();
    let first = rest.next()?;
    Some(first.to_uppercase().chain(rest).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ui::Color;
    use crate::ui::tests::{Heard, ui};

    fn check(result: &Value, expected: &str) {
        let (out, err) = (Heard::default(), Heard::default());
        let mut ui = ui(&out, &err, Color::Never, false);
        show(&mut ui, result);
        ui.finish().unwrap();
        assert_eq!(out.text(), expected);
    }

    #[test]
    fn an_object_of_single_values_is_lines() {
        let issue = json!({
            "issue_number": 123, "url": "https://github.com/owner/repo/issues/123",
            "title": "Bug report", "state": "open", "locked": false, "closed_by": null,
        });
        check(
            &issue,
            "  Issue number: 123\n  URL: https://github.com/owner/repo/issues/123\n  Title: Bug report\n  State: open\n  Locked: false\n  Closed by: null\n",
        );
    }

    #[test]
    fn anything_else_is_as_it_is() {
        check(&json!("one\n  two"), "  one\n    two\n");
        check(
            &json!({"ids": [1]}),
            "  {\n    \"ids\": [\n      1\n    ]\n  }\n",
        );
        check(
            &json!({"text": "a\nb"}),
            "  {\n    \"text\": \"a\\nb\"\n  }\n",
        );
        check(&json!({"a: b": 1}), "  {\n    \"a: b\": 1\n  }\n");
        check(&json!({}), "  {}\n");
        check(&json!(7), "  7\n");
    }
}
