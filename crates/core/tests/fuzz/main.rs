//! Fuzz targets. Plain `cargo test` replays `__fuzz__/NAME/corpus` and tries random input for a second
//! each; `BOLERO_RANDOM_TEST_TIME_MS` and `BOLERO_RANDOM_ITERATIONS` make it longer.

use serde_json::{Value, json};
use toolcrib_core::canon::{canonical, check_value, parse_strict};
use toolcrib_core::pattern::Pattern;
use toolcrib_core::policy::suspicion::{self, Neighbours};
use toolcrib_core::policy::{Grant, Metadata, RateLimits, Scope, ServerFacts};
use toolcrib_core::rpc;
use toolcrib_core::schema::{self, Unknown};
use toolcrib_core::{Tool, ToolId};

/// Fragments from which random bytes make JSON that gets past the first brace.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\\u00",
    " ",
    "1",
    "-",
    "0",
    ".",
    "e9",
    "true",
    "null",
    "\"a\"",
    "\"$ref\"",
    "\"#\"",
    "\"#/$defs/a\"",
    "\"$defs\"",
    "\"allOf\"",
    "\"anyOf\"",
    "\"not\"",
    "\"properties\"",
    "\"items\"",
    "\"enum\"",
    "\"pattern\"",
    "\"^(a+)+$\"",
    "\"type\"",
    "\"object\"",
    "\"$id\"",
    "\"$anchor\"",
    "\"additionalProperties\"",
    "\"__proto__\"",
    "{\"a\":",
    "{\"$ref\":\"#\"}",
    "\n",
];

/// The input as text, and as a text of [`PIECES`] that the same bytes choose.
fn texts(bytes: &[u8]) -> [String; 2] {
    let pieces = bytes
        .iter()
        .map(|byte| PIECES[usize::from(*byte) % PIECES.len()]);
    [
        String::from_utf8_lossy(bytes).into_owned(),
        pieces.collect(),
    ]
}

#[test]
fn fuzz_strict_json() {
    bolero::check!().for_each(|bytes: &[u8]| {
        for text in texts(bytes) {
            let Ok(value) = parse_strict(&text) else {
                continue;
            };
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
            assert_eq!(check_value(&value), Ok(()));
            let once = canonical(&value);
            let again: Value = serde_json::from_str(&once).unwrap();
            assert_eq!(canonical(&again), once);
        }
    });
}

#[test]
fn fuzz_schema() {
    bolero::check!().for_each(|bytes: &[u8]| {
        for text in texts(bytes) {
            let (schema, arguments) = text.split_once('\n').unwrap_or((&text, "{}"));
            let Ok(schema) = serde_json::from_str::<Value>(schema) else {
                continue;
            };
            let Ok(compiled) = schema::compile(&schema) else {
                continue;
            };
            let arguments = parse_strict(arguments).unwrap_or_else(|_| json!({"a": {"a": [1]}}));
            let lenient = compiled.check(&arguments, Unknown::Pass);
            let strict = compiled.check(&arguments, Unknown::Refuse);
            assert!(lenient.is_ok() || strict.is_err(), "{schema} {arguments}");
        }
    });
}

#[test]
fn fuzz_definition() {
    let neighbours = Neighbours::new(&[ToolId::new("mail", "send_email")]);
    bolero::check!().for_each(|bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let (name, description) = text.split_once('\n').unwrap_or((&text, ""));
        let mut tool = Tool::new(
            ToolId::new("server", name),
            description,
            json!({name: description}),
        );
        for method in [None, Some("GET"), Some("POST")] {
            tool.method = method.map(str::to_owned);
            tool.path = method.map(|_| format!("/{name}/{{id}}/{description}"));
            let metadata =
                Metadata::derive(&tool, &ServerFacts::default(), &[], &RateLimits::default());
            assert!(!metadata.evidence.findings.is_empty());
            let need = metadata.required_scopes[0].any_of()[0].as_str();
            assert!(need.starts_with("server:"));
        }
        suspicion::inspect(&tool, &neighbours);
        let area = Scope::of(name, "read");
        assert!(
            Grant::parse(area.as_str()).is_ok_and(|grant| grant.covers(&area))
                || name.is_empty()
                || name.len() > 50
        );
        let _ = Scope::parse(description);
    });
}

#[test]
fn fuzz_pattern() {
    let names = [
        "create_issue",
        "github:delete_repo",
        "",
        "Ünïcode",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaa!",
    ];
    bolero::check!().for_each(|bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let (pattern, name) = text.split_once('\n').unwrap_or((&text, "a"));
        for written in [
            pattern.to_owned(),
            format!("/{pattern}/i"),
            format!("!{pattern}"),
        ] {
            let Ok(pattern) = Pattern::new(&written) else {
                continue;
            };
            for name in names.into_iter().chain([name]) {
                let once = pattern.test(Some("github"), name);
                assert_eq!(once, pattern.test(Some("github"), name), "{written} {name}");
            }
        }
    });
}

#[test]
fn fuzz_rpc() {
    bolero::check!().for_each(|bytes: &[u8]| {
        if let Ok(message) = rpc::parse(bytes) {
            let written = rpc::text(&message);
            let again = rpc::parse(&written).unwrap();
            assert_eq!(rpc::text(&again), written);
        }
    });
}
