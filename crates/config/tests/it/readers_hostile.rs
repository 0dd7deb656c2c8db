//! Hostile files end in an error, not in a crash or a full memory.

use toolcrib_config::Source;
use toolcrib_config::reader::{Format, read};
use toolcrib_core::limits::{CONFIG_DEPTH_MAX, CONFIG_NODES_MAX, CONFIG_STRING_BYTES_MAX};

fn fails(format: Format, text: impl Into<String>, words: &str) {
    let source = Source::new("hostile", text);
    let found = read(&source, format).expect_err("hostile text was read");
    let all: Vec<String> = found.iter().map(ToString::to_string).collect();
    let all = all.join("\n");
    assert!(all.contains(words), "{words:?} is not in\n{all}");
    assert!(all.len() < 20_000, "{} bytes of message", all.len());
}

const DEEP: usize = 100_000;

#[test]
fn deep_nesting_is_refused() {
    let deep = "nested more than 64 levels deep";
    fails(Format::Jsonc, "[".repeat(DEEP), deep);
    fails(Format::Jsonc, "{\"a\":".repeat(DEEP), deep);
    fails(Format::Yaml, "[".repeat(DEEP), deep);
    fails(Format::Yaml, "{a: ".repeat(DEEP), deep);
    fails(Format::Yaml, "- ".repeat(DEEP), deep);
    fails(Format::Yaml, "? ".repeat(DEEP), "");
    let blocks: Vec<String> = (0..1000).map(|i| " ".repeat(i) + "a:").collect();
    fails(Format::Yaml, blocks.join("\n"), deep);
    fails(Format::Toml, format!("a = {}", "[".repeat(DEEP)), deep);
    fails(Format::Toml, format!("a = {}", "{a = ".repeat(DEEP)), deep);
    fails(Format::Toml, format!("[{}a]", "a.".repeat(DEEP)), deep);
    fails(Format::Toml, format!("{}a = 1", "a.".repeat(DEEP)), deep);
    fails(
        Format::Toml,
        format!("x = {{{}a = 1}}", "a.".repeat(DEEP)),
        deep,
    );
}

#[test]
fn nesting_up_to_the_bound_is_read() {
    for (format, text) in [
        (
            Format::Jsonc,
            format!(
                "{}{}",
                "[".repeat(CONFIG_DEPTH_MAX),
                "]".repeat(CONFIG_DEPTH_MAX)
            ),
        ),
        (
            Format::Yaml,
            format!(
                "{}{}",
                "[".repeat(CONFIG_DEPTH_MAX),
                "]".repeat(CONFIG_DEPTH_MAX)
            ),
        ),
        (Format::Yaml, format!("{}x", "- ".repeat(CONFIG_DEPTH_MAX))),
        (
            Format::Toml,
            format!("{}a = 1", "a.".repeat(CONFIG_DEPTH_MAX - 1)),
        ),
    ] {
        assert!(
            read(&Source::new("deep", text.clone()), format).is_ok(),
            "{text}"
        );
    }
    fails(
        Format::Toml,
        format!("{}a = 1", "a.".repeat(CONFIG_DEPTH_MAX)),
        "levels deep",
    );
    fails(
        Format::Yaml,
        format!("a: &a {}x\nb: [*a]", "- ".repeat(CONFIG_DEPTH_MAX - 1)).replace("&a -", "&a\n  -"),
        "levels deep",
    );
}

#[test]
fn alias_bombs_are_refused() {
    let level = |level: usize| {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        format!("a{level}: &a{level} [{aliases}]")
    };
    let mut bomb = vec!["a0: &a0 [x, x, x, x, x, x, x, x, x, x]".to_owned()];
    bomb.extend((1..30).map(level));
    fails(Format::Yaml, bomb.join("\n"), "repeat fewer aliases");

    let mut text = format!("a: &a {}\nb:\n", "x".repeat(CONFIG_STRING_BYTES_MAX));
    text.push_str(&"  - *a\n".repeat(10_000));
    fails(Format::Yaml, text, "bytes of text");

    let level = |level: usize| {
        let pair = format!("[*m{0}, *m{0}]", level - 1);
        format!("m{level}: &m{level}\n  <<: {pair}\n  k{level}: {pair}")
    };
    let mut merges = vec!["m0: &m0 {a: 1, b: 2, c: 3}".to_owned()];
    merges.extend((1..40).map(level));
    fails(Format::Yaml, merges.join("\n"), "repeat fewer aliases");
}

#[test]
fn more_values_than_allowed_are_refused() {
    let many = format!("[{}]", "1,".repeat(CONFIG_NODES_MAX + 1));
    fails(Format::Jsonc, many.clone(), "more than 500000 values");
    fails(Format::Yaml, many.clone(), "more than 500000 values");
    fails(
        Format::Toml,
        format!("a = {many}"),
        "more than 500000 values",
    );
}

#[test]
fn strings_longer_than_allowed_are_refused() {
    let long = "x".repeat(CONFIG_STRING_BYTES_MAX + 1);
    fails(
        Format::Jsonc,
        format!("\"{long}\""),
        "string is longer than",
    );
    fails(Format::Yaml, long.clone(), "string is longer than");
    fails(
        Format::Toml,
        format!("a = '{long}'"),
        "string is longer than",
    );
    fails(
        Format::Jsonc,
        format!("{{\"{long}\": 1}}"),
        "string is longer than",
    );
}

#[test]
fn nul_bytes_and_half_characters_are_refused() {
    fails(Format::Jsonc, "{\"a\": \"\0\"}", "control character U+0000");
    fails(Format::Jsonc, "\0", "neither a string");
    fails(Format::Toml, "a = \"\0\"", "cannot have");
    fails(Format::Jsonc, "\"\\udc00\"", "half a character");
    fails(Format::Yaml, "\"\\udc00\"", "half a character");
    fails(Format::Toml, "a = \"\\udc00\"", "");
}

#[test]
fn huge_numbers_are_refused() {
    let digits = "9".repeat(400);
    for number in [digits.as_str(), "1e999", "-1e999"] {
        fails(Format::Jsonc, number, "too large");
        fails(Format::Yaml, number, "too large");
        fails(Format::Toml, format!("a = {number}"), "too large");
    }
}

#[test]
fn a_single_line_of_many_megabytes_is_shown_in_part() {
    let text = format!("{{\"a\": [{}x]}}", "1, ".repeat(400_000));
    fails(Format::Jsonc, text.clone(), "");
    fails(Format::Yaml, format!("{text}}}"), "");
}
