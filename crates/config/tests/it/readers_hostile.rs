//! Hostile files end in an error, not in a crash or a full memory.

use toolcrib_config::Source;
use toolcrib_config::reader::{Format, read};
use toolcrib_core::limits::{
    CONFIG_DEPTH_MAX, CONFIG_NODES_MAX, CONFIG_SCRIPT_BRACKETS_MAX, CONFIG_SCRIPT_BYTES_MAX,
    CONFIG_SCRIPT_CHAIN_TOKENS_MAX, CONFIG_SCRIPT_PARENS_NESTED_MAX, CONFIG_STRING_BYTES_MAX,
};

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
fn deep_scripts_are_refused_before_they_are_parsed() {
    let fails = |text: String, words| fails(Format::Script, text, words);
    let deep = "levels deep";
    let long = "too long to be read";
    let many = "too many parentheses";
    fails(format!("export default {}", "[".repeat(DEEP)), deep);
    fails(format!("export default {}", "{a:".repeat(DEEP)), deep);
    fails(format!("export default {}", "`${".repeat(DEEP)), deep);
    fails(format!("export default {}", "(".repeat(DEEP)), many);
    fails(format!("export default {}", "a<".repeat(DEEP)), many);
    fails(format!("type T = {}", "A<a,".repeat(DEEP)), many);
    fails("(a);".repeat(DEEP), many);
    for chain in [
        "!",
        "- ",
        "a?",
        "a?b:",
        "a=",
        "a=>",
        "a**",
        "new ",
        "typeof ",
        "await ",
        "a:",
        "do ",
        "a+",
        "a.",
        "if(a)",
        "if(a);else ",
        "for(;;)",
        "A extends B?",
        "keyof ",
        "namespace a.",
        "1+",
    ] {
        let text = format!("export default {}", chain.repeat(DEEP / 2));
        let found = read(&Source::new("chain", text), Format::Script).expect_err(chain);
        let shown = found[0].to_string();
        assert!(
            shown.contains(long) || shown.contains(many),
            "{chain}: {shown}"
        );
    }
}

#[test]
fn scripts_as_deep_as_the_scan_lets_through_are_read_or_refused() {
    let chain = CONFIG_SCRIPT_CHAIN_TOKENS_MAX - 64;
    let brackets = CONFIG_SCRIPT_BRACKETS_MAX - 2;
    let parens = CONFIG_SCRIPT_PARENS_NESTED_MAX - 1;
    let around = |open: &str, n: usize, middle: &str, close: &str| {
        format!(
            "export default {}{middle}{}",
            open.repeat(n),
            close.repeat(n)
        )
    };
    let texts = [
        around("!", chain, "1", ""),
        around("- ", chain, "1", ""),
        around("a?", chain / 2, "1", ":a"),
        around("a?b:", chain / 4, "1", ""),
        around("a=>", chain / 3, "1", ""),
        around("a=", chain / 2, "1", ""),
        around("a**", chain / 3, "1", ""),
        around("new ", chain, "A", ""),
        around("1+", chain / 2, "1", ""),
        around("'x'+", chain / 2, "'x'", ""),
        around("await ", chain, "1", ""),
        around("[", brackets, "1", "]"),
        around("{a:", brackets, "1", "}"),
        around("`${", brackets, "1", "}`"),
        around("(", parens, "1", ")"),
        around("(a=(", parens / 2, "1", ")=>1)"),
        around("f<", parens, "a", ">()"),
        format!("{};", "if(a)".repeat(chain / 4)),
        format!("{};", "if(a);else ".repeat(chain / 5)),
        format!("type T = {}A;", "A extends A?".repeat(chain / 4)),
        format!("type T = {}A;", "keyof ".repeat(chain)),
        format!("type T = {}A;", "()=>".repeat(chain / 4)),
        format!("namespace {}a {{}}", "a.".repeat(chain / 2)),
    ];
    for text in texts {
        // Whatever comes of it, it comes back.
        let _ = read(&Source::new("chain", text), Format::Script);
    }
    // A stack that the caller has nearly used up makes no difference.
    let text = around("!", chain, "1", "");
    let small = std::thread::Builder::new().stack_size(64 * 1024);
    let reading = small.spawn(move || read(&Source::new("chain", text), Format::Script).is_err());
    assert!(reading.unwrap().join().unwrap());
}

#[test]
fn constants_that_grow_without_end_are_refused() {
    let doubling = |first: &str, next: &dyn Fn(usize) -> String| {
        let mut lines = vec![first.to_owned()];
        lines.extend((1..60).map(next));
        lines.push("export default { x: a59 };".to_owned());
        lines.join("\n")
    };
    let fails = |text: String, words| fails(Format::Script, text, words);
    fails(
        doubling("const a0 = [1];", &|n| {
            format!("const a{n} = [...a{0}, ...a{0}];", n - 1)
        }),
        "more than 500000 values",
    );
    fails(
        doubling("const a0 = {x: 1};", &|n| {
            format!("const a{n} = {{ l: a{0}, r: a{0} }};", n - 1)
        }),
        "more than 500000 values",
    );
    fails(
        doubling("const a0 = 'text';", &|n| {
            format!("const a{n} = a{0} + a{0};", n - 1)
        }),
        "bytes",
    );
    fails(
        "const a = { ...b };\nconst b = { ...a };\nexport default a;".to_owned(),
        "contains itself",
    );
    fails(
        "const a = b;\nconst b = a;\nexport default { a };".to_owned(),
        "contains itself",
    );
    fails(
        "const a = b;\nconst b = a;\nexport default a;".to_owned(),
        "contains itself",
    );
    let chain: Vec<String> = (0..30_000)
        .map(|n| format!("const a{n} = a{};", n + 1))
        .collect();
    fails(
        format!("{}\nexport default [a0];", chain.join("\n")),
        "levels deep",
    );
}

#[test]
fn a_script_larger_than_a_mebibyte_is_refused() {
    let text = format!(
        "export default {{}} // {}",
        "x".repeat(CONFIG_SCRIPT_BYTES_MAX)
    );
    fails(Format::Script, text, "larger than 1 MiB");
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
