//! Readers: the same tree from every format, with places, and errors in plain words.

use serde_json::{Value as Json, json};
use toolcrib_config::reader::{Format, read};
use toolcrib_config::{Node, Source, Value};

/// The text that a place covers.
fn text_at(text: &str, node: &Node) -> String {
    text[node.span.start..node.span.end].to_owned()
}

fn parse(format: Format, text: &str) -> Node {
    match read(&Source::new("test", text), format) {
        Ok(node) => node,
        Err(found) => panic!("{}\n{text}", shown(&found)),
    }
}

fn shown(found: &[toolcrib_config::Diagnostic]) -> String {
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

fn check(format: Format, text: &str, expected: &Json) {
    assert_eq!(&parse(format, text).to_json(), expected, "{text}");
}

/// The error has this place and says this.
fn fails(format: Format, text: &str, place: (usize, usize), words: &str) {
    let found = read(&Source::new("test", text), format).expect_err(text);
    let all = shown(&found);
    assert_eq!(found[0].position(), Some(place), "{text}\n{all}");
    assert!(all.contains(words), "{words:?} is not in\n{all}");
    assert!(found.iter().all(|d| d.help.is_some()), "no help in\n{all}");
}

#[test]
fn json_and_jsonc_give_the_tree() {
    let check = |text: &str, expected: Json| check(Format::Jsonc, text, &expected);
    check("{}", json!({}));
    check("[1, -2, 1.5, 1e3]", json!([1, -2, 1.5, 1000.0]));
    check(
        r#"{"a": true, "b": null, "c": "x"}"#,
        json!({"a": true, "b": null, "c": "x"}),
    );
    check("// c\n{\"a\": [1, /* { */ 2,],}\n", json!({"a": [1, 2]}));
    check(r#""\u00e9\n\"\ud83d\ude00""#, json!("é\n\"😀"));
    check("\u{feff}{\"a\": 1}", json!({"a": 1}));
    check(
        r#"{"url": "http://x//y", "b": "}"}"#,
        json!({"url": "http://x//y", "b": "}"}),
    );
}

#[test]
fn json_errors_are_plain_sentences_at_the_place() {
    let fails = |text: &str, place, words: &str| fails(Format::Jsonc, text, place, words);
    fails("", (1, 1), "the file is empty");
    fails("// only a comment\n", (2, 1), "the file is empty");
    fails(
        "{\"a\": 1 \"b\": 2}",
        (1, 8),
        "expected a comma between two entries",
    );
    fails("[1 2]", (1, 3), "expected a comma between two entries");
    fails("[01]", (1, 3), "cannot begin with 0");
    fails("{\"a\": 1,, \"b\": 2}", (1, 9), "a comma too many");
    fails("[1,,2]", (1, 4), "where a value should stand");
    fails("{\n  \"a\": \"x\n}", (2, 8), "this string is never closed");
    fails("{\"a\": [1, 2}", (1, 12), "this } closes a [");
    fails("{\n\"a\": [1\n", (2, 6), "this [ is never closed");
    fails("{}}", (1, 3), "closes nothing");
    fails("{} {}", (1, 4), "more text after the end");
    fails("{a: 1}", (1, 2), "a key must be in double quotes");
    fails("{'a': 1}", (1, 2), "single quotes");
    fails("{\"a\" 1}", (1, 6), "expected a colon");
    fails("{\"a\": }", (1, 7), "the brackets do not match");
    fails("{\"a\": True}", (1, 7), "write true");
    fails("{\"a\": undefined}", (1, 7), "leave the key out");
    fails("{\"a\": yes }", (1, 7), "write true");
    fails("{\"a\": maybe}", (1, 7), "put text in double quotes");
    fails("{\"a\": 0xff}", (1, 7), "hexadecimal");
    fails("{\"a\": +1}", (1, 7), "cannot begin with +");
    fails("{\"a\": .5}", (1, 7), "needs a digit on both sides");
    fails("{\"a\": -Infinity}", (1, 7), "Infinity and NaN");
    fails("{\"a\": NaN}", (1, 7), "finite number");
    fails("{\"a\": 1e}", (1, 9), "not complete");
    fails("{\"a\": 1e999}", (1, 7), "too large");
    fails("{\"a\": \"\\x\"}", (1, 8), "does not know this escape");
    fails("{\"a\": \"\\u12\"}", (1, 8), "four hexadecimal digits");
    fails("{\"a\": \"\\ud800\"}", (1, 8), "half a character");
    fails("{\"a\": \"x\ty\"}", (1, 9), "control character U+0009");
    fails("{ # x\n}", (1, 3), "begin the comment with //");
    fails("/* x", (1, 1), "this comment is never closed");
    fails("{\u{201c}a\u{201d}: 1}", (1, 2), "typographic quotes");
    fails("{\"a\": `x`}", (1, 7), "back quotes");
    fails("[:]", (1, 2), "a colon where a value should stand");
}

#[test]
fn yaml_gives_the_tree() {
    let check = |text: &str, expected: Json| check(Format::Yaml, text, &expected);
    check("", json!({}));
    check("# nothing\n", json!({}));
    check("---\n", json!({}));
    check(
        "a: 1\nb: [x, 'y', \"z\"]\n",
        json!({"a": 1, "b": ["x", "y", "z"]}),
    );
    check(
        "a:\n  - b: yes\n    c: on\n",
        json!({"a": [{"b": "yes", "c": "on"}]}),
    );
    check(
        "a: ~\nb:\nc: null\n",
        json!({"a": null, "b": null, "c": null}),
    );
    check("1: x\ntrue: y\n", json!({"1": "x", "true": "y"}));
    check(
        "a: |\n  x\n  y\nb: >-\n  x\n  y\n",
        json!({"a": "x\ny\n", "b": "x y"}),
    );
    check(
        "a: !!str 12\nb: ! 12\nc: !!int 12\n",
        json!({"a": "12", "b": "12", "c": 12}),
    );
    check(
        "base: &b {x: 1}\nc: *b\n",
        json!({"base": {"x": 1}, "c": {"x": 1}}),
    );
    check(
        "base: &b {x: 1, y: 2}\nc:\n  <<: *b\n  y: 3\n",
        json!({"base": {"x": 1, "y": 2}, "c": {"x": 1, "y": 3}}),
    );
    check(
        "- &a {x: 1}\n- &b {x: 2, y: 2}\n- <<: [*a, *b]\n",
        json!([{"x": 1}, {"x": 2, "y": 2}, {"x": 1, "y": 2}]),
    );
    check("&k key: v\nb: *k\n", json!({"key": "v", "b": "key"}));
    check("a: &k v\n*k : w\n", json!({"a": "v", "v": "w"}));
    check("\"<<\": 1\n", json!({"<<": 1}));
}

#[test]
fn yaml_errors_are_plain_sentences_at_the_place() {
    let fails = |text: &str, place, words: &str| fails(Format::Yaml, text, place, words);
    fails("a:\n\tb: 1\n", (2, 1), "tabs cannot indent YAML");
    fails("a: \"x\n", (1, 4), "never closed");
    fails("a: [1, 2\n", (1, 4), "never closed");
    fails("a: b: c\n", (1, 5), "second key on this line");
    fails("a: 1\na: 2\n", (2, 1), "stands twice");
    fails("a: *x\n", (1, 4), "not defined above");
    fails("a: &x [*x]\n", (1, 8), "inside the value that it refers to");
    fails("a: 1\n---\nb: 2\n", (2, 1), "a second document");
    fails(
        "a: !include x.yaml\n",
        (1, 4),
        "the tag !include is not known",
    );
    fails("a: !!binary x\n", (1, 4), "is not known");
    fails("a: !!int x\n", (1, 10), "does not fit");
    fails("a: !!map [1]\n", (1, 10), "does not fit");
    fails("a: .inf\n", (1, 4), "infinite");
    fails("a: 123456789012345678901234567890\n", (1, 4), "too large");
    fails("[a]: 1\n", (1, 1), "a key must be text");
    fails(": 1\n", (1, 1), "the key is missing");
    fails("a: @x\n", (1, 4), "cannot begin with @");
    fails("a: \"\\q\"\n", (1, 5), "do not know this escape");
    fails(
        "a: 1\n  b: 2\n",
        (2, 4),
        "does not fit under the line before it",
    );
    fails("a:\n    b: 1\n  c: 2\n", (3, 3), "indentation");
    fails("<<: 1\n", (1, 5), "<< takes in a map");
    fails("a: ]\n", (1, 4), "closes nothing");
    fails("a: [1}\n", (1, 4), "this } closes a [");
    fails("a: [1, 2\nb: 3\n", (2, 2), "a key cannot stand here");
    fails("a: \"x\nb: 1\n", (1, 4), "never closed");
    fails("a: x\n\t- b\n", (2, 1), "tabs cannot indent YAML");
    fails("a: \"\\ud800\"\n", (1, 5), "half a character");
    fails("a: &\n", (1, 4), "a name must follow");
    fails("%YAML 3.0\n---\na: 1\n", (1, 1), "directive");
    fails("a: |x\n  y\n", (1, 4), "on the next line");
    fails("a: 1\nb\n", (2, 1), "expected a colon");
    fails(
        "a: {x: 1\nb: 3\n",
        (2, 2),
        "expected a comma or a closing bracket",
    );
    fails("a: \0\n", (1, 4), "U+0000");
    fails("a: \"x\" y\n", (1, 8), "after the closing quote");
}

#[test]
fn toml_gives_the_tree() {
    let check = |text: &str, expected: Json| check(Format::Toml, text, &expected);
    check("", json!({}));
    check("b = 1\na = 2\n", json!({"b": 1, "a": 2}));
    check(
        "[s.x]\ncommand = 'npx'\n[s.x.env]\nK = \"v\"\n[[r]]\nn = 1\n[[r]]\nn = 2\n",
        json!({"s": {"x": {"command": "npx", "env": {"K": "v"}}}, "r": [{"n": 1}, {"n": 2}]}),
    );
    check(
        "a.b.c = { d = [1, 2] }\n",
        json!({"a": {"b": {"c": {"d": [1, 2]}}}}),
    );
    check(
        "d = 1979-05-27T07:32:00Z\n",
        json!({"d": "1979-05-27T07:32:00Z"}),
    );
    check(
        "a = 0x1F\nb = 1_000\nc = +5\nd = 1.5e3\ne = -2\nf = 1_0.5_0\n",
        json!({"a": 31, "b": 1000, "c": 5, "d": 1500.0, "e": -2, "f": 10.5}),
    );
}

#[test]
fn toml_keeps_the_order_of_the_file() {
    let node = parse(Format::Toml, "z = 1\n[m]\nb = 1\na = 2\n[a]\n");
    let keys: Vec<&str> = node.entries().iter().map(|e| e.key.as_str()).collect();
    assert_eq!(keys, ["z", "m", "a"]);
}

#[test]
fn toml_errors_are_plain_sentences_at_the_place() {
    let fails = |text: &str, place, words: &str| fails(Format::Toml, text, place, words);
    fails("a = 1\na = 2\n", (2, 1), "first here: test:1:1");
    fails("[a]\nx = 1\n[b]\n[a]\n", (4, 2), "first here: test:1:2");
    fails(
        "[[l]]\nx = 1\n[[l]]\nx = 1\nx = 2\n",
        (5, 1),
        "first here: test:4:1",
    );
    fails("a = {b = 1, b = 2}\n", (1, 13), "first here: test:1:6");
    fails(
        "a = [{b = 1}, {b = 1, b = 2}]\n",
        (1, 23),
        "first here: test:1:16",
    );
    fails("a = 1\n[a]\n", (2, 2), "first here: test:1:1");
    fails("a = 1\na.b = 2\n", (2, 1), "first here: test:1:1");
    fails("a = hello\n", (1, 5), "text must be in quotes");
    fails("a = \"x\n", (1, 5), "never closed");
    fails("a = \"\"\"x\n", (2, 1), "never closed");
    fails("a = 'x\n", (1, 5), "never closed");
    fails("a\n", (1, 2), "expected = and a value");
    fails("a =\n", (1, 4), "has no value");
    fails("a = [1 2]\n", (1, 6), "expected a comma");
    fails("a = [1, 2\n", (1, 5), "never closed");
    fails("a = {b = 1\n", (1, 5), "never closed");
    fails("[a\n", (1, 3), "expected ]");
    fails("a = 1 b = 2\n", (1, 9), "end of the line");
    fails("a = 007\n", (1, 5), "this number cannot be read");
    fails("a = inf\n", (1, 5), "infinite");
    fails("a = 99999999999999999999999\n", (1, 5), "too large");
    fails("a = null\n", (1, 5), "TOML has no null");
    fails("a = True\n", (1, 5), "write true");
    fails("a = 1.\n", (1, 7), "this number cannot be read");
    fails("a = \"\\q\"\n", (1, 7), "does not know this escape");
    fails("= 1\n", (1, 1), "the key is missing");
    fails("ä = 1\n", (1, 1), "put the key in quotes");
    fails("{\"a\": 1}\n", (1, 1), "this is not TOML");
    fails("a = 1979-13-45\n", (1, 5), "date");
    fails("a b = 1\n", (1, 3), "expected =");
}

#[test]
fn duplicate_keys_show_both_places() {
    fails(
        Format::Jsonc,
        "{\"a\": 1,\n \"a\": 2}",
        (2, 2),
        "first here: test:1:2",
    );
    fails(
        Format::Yaml,
        "x:\n  a: 1\n  a: 2\n",
        (3, 3),
        "first here: test:2:3",
    );
    fails(
        Format::Toml,
        "[t]\na = 1\na = 2\n",
        (3, 1),
        "first here: test:2:1",
    );
}

#[test]
fn every_key_and_value_has_its_place() {
    let check = |format, text: &str, key: &str, value: &str| {
        let node = parse(format, text);
        let entry = &node.entries()[0].value.entries()[0];
        assert_eq!(&text[entry.key_span.start..entry.key_span.end], key);
        assert_eq!(text_at(text, &entry.value), value);
    };
    check(
        Format::Jsonc,
        "{\"é\": { \"b\" : [1, 2] }}",
        "\"b\"",
        "[1, 2]",
    );
    check(Format::Yaml, "é:\n  b: [1, 2]\n", "b", "[1, 2]");
    check(
        Format::Yaml,
        "é:\n  b:\n    - 1\n    - 2\n\n\n# c\n",
        "b",
        "- 1\n    - 2",
    );
    check(Format::Yaml, "é:\n  \"b\": 'x'\n", "\"b\"", "'x'");
    check(Format::Yaml, "é:\n  b: x y\n", "b", "x y");
    check(Format::Toml, "[\"é\"]\nb = [1, 2]\n", "b", "[1, 2]");
    check(Format::Toml, "[\"é\"]\n'b' = \"x\"\n", "'b'", "\"x\"");
}

#[test]
fn a_value_that_is_left_out_has_a_place_by_its_key() {
    let text = "a:\nb: 1\n";
    let node = parse(Format::Yaml, text);
    assert_eq!(node.entries()[0].value.value, Value::Null);
    assert!(node.entries()[0].value.span.start <= 2);
}
