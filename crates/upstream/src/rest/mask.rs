//! Secrets that come back in answers, in whatever form they were sent or are written.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};
use toolcrib_core::secret::{MASK, Secret};

use super::style;

/// Shortest secret that is looked for in answers: shorter ones are parts of other words.
const SECRET_BYTES_MIN: usize = 8;

/// What browsers and most servers leave as it is in a query.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*');

/// The texts that are not let through.
#[derive(Debug)]
pub(super) struct Masks {
    /// Longest first, so that no part of one is left where another is found in it.
    forms: Vec<Secret>,
}

impl Masks {
    pub(super) fn new(secrets: impl Iterator<Item = Secret>) -> Self {
        let long = secrets.filter(|secret| secret.expose().len() >= SECRET_BYTES_MIN);
        let mut forms: Vec<String> = long.flat_map(|secret| forms(secret.expose())).collect();
        forms.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        forms.dedup();
        Self {
            forms: forms.into_iter().map(Secret::new).collect(),
        }
    }

    /// The text without secrets.
    pub(super) fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for form in self.forms.iter().map(Secret::expose) {
            if text.contains(form) {
                text = text.replace(form, MASK);
            }
        }
        text
    }

    /// The value without secrets in its texts, names and numbers.
    pub(super) fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.text(&text).into(),
            Value::Number(number) => {
                let text = number.to_string();
                if self.forms.iter().any(|form| text.contains(form.expose())) {
                    return MASK.into();
                }
                Value::Number(number)
            }
            Value::Array(items) => items.into_iter().map(|item| self.value(item)).collect(),
            Value::Object(fields) => {
                let fields = fields.into_iter();
                let fields = fields.map(|(name, value)| (self.text(&name), self.value(value)));
                Value::Object(fields.collect::<Map<String, Value>>())
            }
            other => other,
        }
    }

    /// The bytes without secrets.
    pub(super) fn bytes(&self, data: Vec<u8>) -> Vec<u8> {
        let mut data = data;
        for form in self.forms.iter().map(|form| form.expose().as_bytes()) {
            let mut rest = data.as_slice();
            let mut out = Vec::new();
            while let Some(at) = find(rest, form) {
                out.extend_from_slice(&rest[..at]);
                out.extend_from_slice(MASK.as_bytes());
                rest = &rest[at + form.len()..];
            }
            if rest.len() < data.len() {
                out.extend_from_slice(rest);
                data = out;
            }
        }
        data
    }
}

fn find(data: &[u8], form: &[u8]) -> Option<usize> {
    data.windows(form.len()).position(|window| window == form)
}

/// A secret as it is, escaped for addresses and JSON, and in base64.
fn forms(secret: &str) -> Vec<String> {
    let component = utf8_percent_encode(secret, COMPONENT).to_string();
    let form: String = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect();
    let escaped = Value::from(secret).to_string();
    let escaped = escaped.trim_matches('"').to_owned();
    let mut forms = vec![
        secret.to_owned(),
        // Some writers of JSON escape every slash, or everything that HTML would read.
        escaped.replace('/', "\\/"),
        html_safe(&escaped),
        escaped,
    ];
    for encoded in [style::escape(secret), component, form] {
        forms.push(lower(&encoded));
        forms.push(encoded);
    }
    for engine in [STANDARD, URL_SAFE] {
        let encoded = engine.encode(secret);
        forms.push(encoded.trim_end_matches('=').to_owned());
        forms.push(encoded);
    }
    if secret.ends_with('=') {
        forms.push(secret.trim_end_matches('=').to_owned());
    }
    forms.retain(|form| form.len() >= SECRET_BYTES_MIN);
    forms
}

fn html_safe(escaped: &str) -> String {
    escaped
        .replace('&', "\\u0026")
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
}

/// The digits of escapes in lower case.
fn lower(encoded: &str) -> String {
    let mut out = String::with_capacity(encoded.len());
    let mut escaped = 0_usize;
    for char in encoded.chars() {
        if char == '%' {
            escaped = 3;
        }
        out.push(if escaped > 0 {
            char.to_ascii_lowercase()
        } else {
            char
        });
        escaped = escaped.saturating_sub(1);
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_that_come_back_are_masked_in_every_form() {
        let secret = "s3cr3t+va/lue&\"x\"";
        let masks = Masks::new([Secret::new(secret), Secret::new("short")].into_iter());
        let escaped = "s3cr3t%2Bva%2Flue%26%22x%22";
        let shown = [
            format!("/q?key={escaped}&a=1"),
            format!(
                "/q?key={}&a=1",
                escaped.replace("%2B", "%2b").replace("%2F", "%2f")
            ),
            "{\"a\": \"s3cr3t+va/lue&\\\"x\\\"\"}".to_owned(),
            "{\"a\": \"s3cr3t+va\\/lue&\\\"x\\\"\"}".to_owned(),
            "{\"a\": \"s3cr3t+va/lue\\u0026\\\"x\\\"\"}".to_owned(),
            format!("in base64 {}", STANDARD.encode(secret)),
        ];
        for text in shown {
            let text = masks.text(&text);
            assert!(text.contains(MASK) && !text.contains("s3cr3t"), "{text}");
            assert!(!text.contains(&STANDARD.encode(secret)[..12]), "{text}");
        }
        let value = json!({"a": [secret, {secret: 1}], "n": 1, "kept": "short"});
        let expected = json!({"a": [MASK, {MASK: 1}], "n": 1, "kept": "short"});
        assert_eq!(masks.value(value), expected);
        let digits = Masks::new([Secret::new("1234567890")].into_iter());
        assert_eq!(digits.value(json!(1_234_567_890)), json!(MASK));
        let bytes = [
            &[0xff, 0xfe][..],
            secret.as_bytes(),
            &[0xff],
            secret.as_bytes(),
        ]
        .concat();
        assert_eq!(
            masks.bytes(bytes),
            [&[0xff, 0xfe][..], b"***", &[0xff], b"***"].concat()
        );
        assert_eq!(masks.bytes(vec![0xff]), vec![0xff]);
    }
}
