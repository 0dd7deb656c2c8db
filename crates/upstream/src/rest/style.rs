//! How values are written into paths, queries, headers, cookies and forms.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::operation::{Style, Writing};

/// Everything but letters, digits and `-._~` is escaped.
const STRICT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
/// What `allowReserved` lets stand in a query. `#` would end the query and `&`, `=`, `+` would make
/// one value two, so these are escaped all the same.
const RESERVED: &AsciiSet = &STRICT
    .remove(b':')
    .remove(b'/')
    .remove(b'?')
    .remove(b'[')
    .remove(b']')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b',')
    .remove(b';');

/// Escapes a text for a path, a query or a form.
pub(super) fn escape(text: &str) -> String {
    utf8_percent_encode(text, STRICT).to_string()
}

fn escape_as(text: &str, writing: Writing) -> String {
    if writing.allow_reserved {
        utf8_percent_encode(text, RESERVED).to_string()
    } else {
        escape(text)
    }
}

/// A value that is neither a list nor an object, as text; those are JSON.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The value as it stands in a path segment, escaped.
pub(super) fn in_path(name: &str, value: &Value, writing: Writing) -> String {
    let strict = Writing {
        allow_reserved: false,
        ..writing
    };
    let each = |value: &Value| escape_as(&plain(value), strict);
    let name = escape(name);
    match (writing.style, value) {
        (Style::Json, value) => escape(&value.to_string()),
        (Style::Label, Value::Array(items)) => {
            let joint = if writing.explode { "." } else { "," };
            format!(".{}", join(items.iter().map(each), joint))
        }
        (Style::Label, Value::Object(_)) => {
            let (joint, inner) = if writing.explode {
                (".", "=")
            } else {
                (",", ",")
            };
            format!(".{}", pairs(value, joint, inner))
        }
        (Style::Label, value) => format!(".{}", each(value)),
        (Style::Matrix, Value::Array(items)) if writing.explode => join(
            items.iter().map(|item| format!(";{name}={}", each(item))),
            "",
        ),
        (Style::Matrix, Value::Array(items)) => {
            format!(";{name}={}", join(items.iter().map(each), ","))
        }
        (Style::Matrix, Value::Object(_)) if writing.explode => {
            format!(";{}", pairs(value, ";", "="))
        }
        (Style::Matrix, Value::Object(_)) => format!(";{name}={}", pairs(value, ",", ",")),
        (Style::Matrix, value) => format!(";{name}={}", each(value)),
        (_, Value::Array(items)) => join(items.iter().map(each), ","),
        (_, Value::Object(_)) => pairs(value, ",", if writing.explode { "=" } else { "," }),
        (_, value) => each(value),
    }
}

/// The value as it stands in a header: nothing is escaped, lists are joined by commas.
pub(super) fn in_header(value: &Value, writing: Writing) -> String {
    match (writing.style, value) {
        (Style::Json, value) => value.to_string(),
        (_, Value::Array(items)) => join(items.iter().map(plain), ","),
        (_, Value::Object(fields)) => {
            let inner = if writing.explode { "=" } else { "," };
            join(
                fields
                    .iter()
                    .map(|(key, value)| format!("{key}{inner}{}", plain(value))),
                ",",
            )
        }
        (_, value) => plain(value),
    }
}

/// The pairs that a value makes in a query or a form, both sides escaped.
pub(super) fn in_query(name: &str, value: &Value, writing: Writing) -> Vec<(String, String)> {
    let text = |value: &Value| escape_as(&plain(value), writing);
    let one = |text: String| vec![(escape_name(name), text)];
    match (writing.style, value) {
        // Exploded JSON is the whole query.
        (Style::Json, value) if writing.explode => {
            vec![(String::new(), escape(&value.to_string()))]
        }
        (Style::Json, value) => one(escape(&value.to_string())),
        (Style::DeepObject, Value::Object(_) | Value::Array(_)) => {
            let mut out = Vec::new();
            brackets(&escape_name(name), value, &mut out);
            out
        }
        (style, Value::Array(items)) if writing.explode || style == Style::DeepObject => {
            // A list of lists or objects has no style of its own; brackets are what APIs read.
            if items.iter().any(|item| item.is_object() || item.is_array()) {
                let mut out = Vec::new();
                brackets(&escape_name(name), value, &mut out);
                return out;
            }
            items
                .iter()
                .map(|item| (escape_name(name), text(item)))
                .collect()
        }
        (style, Value::Array(items)) => {
            let joint = match style {
                Style::SpaceDelimited => "%20",
                Style::PipeDelimited => "%7C",
                Style::TabDelimited => "%09",
                _ => ",",
            };
            one(join(items.iter().map(text), joint))
        }
        (Style::Form, Value::Object(fields)) if writing.explode => {
            let mut out = Vec::new();
            for (key, value) in fields {
                if value.is_object() || value.is_array() {
                    brackets(&escape_name(key), value, &mut out);
                } else {
                    out.push((escape_name(key), text(value)));
                }
            }
            out
        }
        (style, Value::Object(_)) => {
            let joint = match style {
                Style::SpaceDelimited => "%20",
                Style::PipeDelimited => "%7C",
                _ => ",",
            };
            one(pairs(value, joint, joint))
        }
        (_, value) => one(text(value)),
    }
}

/// The pairs that a value makes in the style of cookies, which escapes nothing; `None` where that
/// would make more of it than one value.
pub(super) fn in_cookie(
    name: &str,
    value: &Value,
    writing: Writing,
) -> Option<Vec<(String, String)>> {
    let named = |value: &Value| Some((name.to_owned(), crumb(&plain(value))?));
    match value {
        Value::Array(items) if writing.explode => items.iter().map(named).collect(),
        Value::Array(items) => {
            let items: Option<Vec<_>> = items.iter().map(|item| crumb(&plain(item))).collect();
            Some(vec![(name.to_owned(), items?.join(","))])
        }
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| {
                let key = crumb(key).filter(|key| !key.contains('='))?;
                Some((key, crumb(&plain(value))?))
            });
            let fields: Vec<(String, String)> = fields.collect::<Option<_>>()?;
            if writing.explode {
                return Some(fields);
            }
            let flat: Vec<String> = fields.into_iter().flat_map(|(k, v)| [k, v]).collect();
            Some(vec![(name.to_owned(), flat.join(","))])
        }
        value => named(value).map(|pair| vec![pair]),
    }
}

/// The text where a cookie may hold it as it is (RFC 6265, `cookie-octet`).
fn crumb(text: &str) -> Option<String> {
    let bare = text
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    let legal = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | ',' | ';' | '\\');
    let whole = bare.unwrap_or(text).chars().all(legal);
    whole.then(|| text.to_owned())
}

/// A list of plain values as one text, where its elements do not stand each for itself.
pub(super) fn joined(value: &Value, writing: Writing) -> Option<Value> {
    let items = value.as_array().filter(|_| !writing.explode)?;
    let joint = match writing.style {
        Style::Form | Style::Simple => ",",
        Style::SpaceDelimited => " ",
        Style::PipeDelimited => "|",
        Style::TabDelimited => "\t",
        _ => return None,
    };
    let plain_items = !items.iter().any(|item| item.is_object() || item.is_array());
    plain_items.then(|| join(items.iter().map(plain), joint).into())
}

/// Names of queries and forms keep their brackets, as APIs that use them expect.
pub(super) fn escape_name(name: &str) -> String {
    const NAME: &AsciiSet = &STRICT.remove(b'[').remove(b']').remove(b'$').remove(b':');
    utf8_percent_encode(name, NAME).to_string()
}

/// `name[key][0]=value` for every value inside, as deep as it goes.
pub(super) fn brackets(name: &str, value: &Value, out: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                brackets(&format!("{name}[{}]", escape(key)), value, out);
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                brackets(&format!("{name}[{at}]"), item, out);
            }
        }
        value => out.push((name.to_owned(), escape(&plain(value)))),
    }
}

fn pairs(value: &Value, joint: &str, inner: &str) -> String {
    let fields = value.as_object().into_iter().flatten();
    let each =
        fields.map(|(key, value)| format!("{}{inner}{}", escape(key), escape(&plain(value))));
    join(each, joint)
}

fn join(parts: impl Iterator<Item = String>, joint: &str) -> String {
    parts.collect::<Vec<_>>().join(joint)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn writing(style: Style, explode: bool) -> Writing {
        Writing {
            style,
            explode,
            allow_reserved: false,
        }
    }

    /// The table of the specification: empty string aside, every style, exploded or not.
    #[test]
    fn paths_are_written_as_the_specification_has_them() {
        let (text, list) = (json!("blue"), json!(["blue", "black", "brown"]));
        let object = json!({"R": 100, "G": 200, "B": 150});
        let table = [
            (
                Style::Simple,
                false,
                "blue",
                "blue,black,brown",
                "R,100,G,200,B,150",
            ),
            (
                Style::Simple,
                true,
                "blue",
                "blue,black,brown",
                "R=100,G=200,B=150",
            ),
            (
                Style::Label,
                false,
                ".blue",
                ".blue,black,brown",
                ".R,100,G,200,B,150",
            ),
            (
                Style::Label,
                true,
                ".blue",
                ".blue.black.brown",
                ".R=100.G=200.B=150",
            ),
            (
                Style::Matrix,
                false,
                ";color=blue",
                ";color=blue,black,brown",
                ";color=R,100,G,200,B,150",
            ),
            (
                Style::Matrix,
                true,
                ";color=blue",
                ";color=blue;color=black;color=brown",
                ";R=100;G=200;B=150",
            ),
        ];
        for (style, explode, one, many, fields) in table {
            let writing = writing(style, explode);
            assert_eq!(in_path("color", &text, writing), one);
            assert_eq!(in_path("color", &list, writing), many);
            assert_eq!(in_path("color", &object, writing), fields);
        }
    }

    #[test]
    fn queries_are_written_as_the_specification_has_them() {
        let (text, list) = (json!("blue"), json!(["blue", "black", "brown"]));
        let object = json!({"R": 100, "G": 200, "B": 150});
        let table = [
            (
                Style::Form,
                false,
                "color=blue",
                "color=blue,black,brown",
                "color=R,100,G,200,B,150",
            ),
            (
                Style::Form,
                true,
                "color=blue",
                "color=blue&color=black&color=brown",
                "R=100&G=200&B=150",
            ),
            (
                Style::SpaceDelimited,
                false,
                "color=blue",
                "color=blue%20black%20brown",
                "color=R%20100%20G%20200%20B%20150",
            ),
            (
                Style::PipeDelimited,
                false,
                "color=blue",
                "color=blue%7Cblack%7Cbrown",
                "color=R%7C100%7CG%7C200%7CB%7C150",
            ),
            (
                Style::TabDelimited,
                false,
                "color=blue",
                "color=blue%09black%09brown",
                "color=R,100,G,200,B,150",
            ),
            (
                Style::DeepObject,
                true,
                "color=blue",
                "color[0]=blue&color[1]=black&color[2]=brown",
                "color[R]=100&color[G]=200&color[B]=150",
            ),
            (
                Style::Json,
                false,
                "color=%22blue%22",
                "color=%5B%22blue%22%2C%22black%22%2C%22brown%22%5D",
                "color=%7B%22R%22%3A100%2C%22G%22%3A200%2C%22B%22%3A150%7D",
            ),
        ];
        for (style, explode, one, many, fields) in table {
            let write = |value| {
                let pairs = in_query("color", value, writing(style, explode));
                join(pairs.into_iter().map(|(k, v)| format!("{k}={v}")), "&")
            };
            assert_eq!(write(&text), one);
            assert_eq!(write(&list), many);
            assert_eq!(write(&object), fields);
        }
    }

    #[test]
    fn reserved_characters_stand_where_they_may_and_never_end_the_query() {
        let open = Writing {
            style: Style::Form,
            explode: true,
            allow_reserved: true,
        };
        let value = json!("a/b:c?d&e=f#g h");
        assert_eq!(in_query("q", &value, open)[0].1, "a/b:c?d%26e%3Df%23g%20h");
        assert_eq!(
            in_query("q[x]", &json!("/"), writing(Style::Form, true))[0],
            ("q[x]".into(), "%2F".into())
        );
        assert_eq!(in_path("p", &json!("a/../b"), open), "a%2F..%2Fb");
    }

    #[test]
    fn nested_values_have_nested_brackets() {
        let value = json!({"items": [{"price": "p", "metadata": {"a b": 1}}], "none": null});
        let written = in_query("sub", &value, writing(Style::DeepObject, true));
        let written: Vec<String> = written
            .into_iter()
            .map(|(k, v)| format!("{k}={v}"))
            .collect();
        assert_eq!(
            written,
            [
                "sub[items][0][price]=p",
                "sub[items][0][metadata][a%20b]=1",
                "sub[none]="
            ]
        );
        let nested = in_query("l", &json!([{"a": 1}]), writing(Style::Form, true));
        assert_eq!(nested, [("l[0][a]".to_owned(), "1".to_owned())]);
        let fields = in_query(
            "o",
            &json!({"a": {"b": 1}, "c": 2}),
            writing(Style::Form, true),
        );
        assert_eq!(
            fields,
            [
                ("a[b]".to_owned(), "1".to_owned()),
                ("c".to_owned(), "2".to_owned())
            ]
        );
    }

    #[test]
    fn headers_are_joined_by_commas() {
        let simple = |explode| writing(Style::Simple, explode);
        assert_eq!(in_header(&json!(["a", 1]), simple(false)), "a,1");
        assert_eq!(
            in_header(&json!({"a": 1, "b": true}), simple(true)),
            "a=1,b=true"
        );
        assert_eq!(in_header(&json!({"a": 1}), simple(false)), "a,1");
        assert_eq!(
            in_header(&json!({"a": 1}), writing(Style::Json, false)),
            "{\"a\":1}"
        );
    }
}
