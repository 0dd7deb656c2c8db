//! TypeScript and JavaScript are read without being run.

use serde_json::{Value as Json, json};
use toolcrib_config::reader::{Format, read};
use toolcrib_config::{Diagnostic, Node, Source};

fn parse(text: &str) -> Result<Node, Vec<Diagnostic>> {
    read(&Source::new("anygpt.config.ts", text), Format::Script)
}

fn check(text: &str, expected: &Json) {
    match parse(text) {
        Ok(node) => assert_eq!(&node.to_json(), expected, "{text}"),
        Err(found) => panic!("{text}\n{}", shown(&found)),
    }
}

fn shown(found: &[Diagnostic]) -> String {
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// The first error stands at this place and says this; each has help.
fn fails(text: &str, place: (usize, usize), words: &str) {
    let found = parse(text).expect_err(text);
    let all = shown(&found);
    assert_eq!(found[0].position(), Some(place), "{text}\n{all}");
    assert!(all.contains(words), "{words:?} is not in\n{all}");
    assert!(found.iter().all(|d| d.help.is_some()), "no help in\n{all}");
}

#[test]
fn the_exported_literal_is_read() {
    let check = |text: &str| check(text, &json!({"a": 1}));
    check("export default {a: 1}");
    check("export default { a: 1, } as const;");
    check("export default ({ a: 1 }) satisfies Config;");
    check("export default <Config>{ a: 1 };");
    check("module.exports = { a: 1 };");
    check("exports.default = { a: 1 };");
    check("export = { a: 1 };");
    check("const config: Config = { a: 1 };\nexport default config;");
    check("const config = { a: 1 };\nexport { config as default };");
    check("export default config;\nconst config = { a: 1 };");
    check("#!/usr/bin/env node\n'use strict';\n/* c */ export default { a: 1 } // d");
    check("import type { C } from 'c';\nimport 'x';\nexport * from 'y';\nexport default { a: 1 }");
    check(
        "type T = { b: string };\ninterface I { c: number }\ndeclare const d: T;\nexport default { a: 1 }",
    );
    check("export const other = 5;\nexport { other };\n;\nexport default { a: 1 }");
    check("function unused() { return 1 }\nclass Unused {}\nenum E { A }\nexport default { a: 1 }");
}

#[test]
fn one_call_around_the_exported_value_is_taken_off() {
    let check = |text: &str| check(text, &json!({"a": 1}));
    check("import { config } from '@anygpt/config';\nexport default config({ a: 1 });");
    check("export default defineConfig<Config>({ a: 1 });");
    check("export default anygpt.config({ a: 1 });");
    check("const c = config({ a: 1 });\nexport default c;");
    check("const c = { a: 1 };\nmodule.exports = config(c);");
    let words = "one call with one argument";
    fails("export default config();", (1, 16), words);
    fails("export default config({}, {});", (1, 16), words);
    fails("export default config(...x);", (1, 16), words);
    fails("export default make()({});", (1, 16), words);
    fails(
        "export default config(other({}));",
        (1, 23),
        "a function call would need running",
    );
    fails(
        "const config = (c) => c;\nexport default config({});",
        (2, 16),
        "the function config of this file would need running",
    );
}

#[test]
fn values_are_literals_constants_and_spreads() {
    check(
        "export default { a: [true, false, null, 'x', \"y\", `z`], b: -1.5, c: +2, d: 0x10, e: 1_000, f: 1e3 }",
        &json!({"a": [true, false, null, "x", "y", "z"], "b": -1.5, "c": 2, "d": 16, "e": 1000, "f": 1000}),
    );
    check(
        "const base = { command: 'npx', args: ['-y'] };\n\
         const more = [...base2, 'c'];\nconst base2 = ['a', 'b'];\n\
         export default { x: { ...base, command: 'uvx' }, y: { command: 'a', ...base }, more }",
        &json!({
            "x": {"command": "uvx", "args": ["-y"]},
            "y": {"command": "npx", "args": ["-y"]},
            "more": ["a", "b", "c"],
        }),
    );
    check(
        "const k = 'key', n = 3;\nexport default { [k]: 1, [`${k}2`]: 2, 'q-k': 3, 5: 4, k, n, [n]: 6 }",
        &json!({"key": 1, "key2": 2, "q-k": 3, "5": 4, "k": "key", "n": 3, "3": 6}),
    );
    check(
        "export default { a: undefined, ...undefined, ...null, b: 1, ...{ c: 2 }, c: undefined }",
        &json!({"b": 1}),
    );
    check(
        "const a = 'x';\nexport default { a: a + '-' + 1 + true, b: `${a}/${a} ${2}`, c: 30 * 1000 - 1 }",
        &json!({"a": "x-1true", "b": "x/x 2", "c": 29999}),
    );
    check(
        "const deep = { a: 1 } as const satisfies T;\nexport default { d: deep!, e: (deep as unknown) as T }",
        &json!({"d": {"a": 1}, "e": {"a": 1}}),
    );
}

#[test]
fn constants_of_constants_are_read_once() {
    let mut lines: Vec<String> = (1..60)
        .map(|n| format!("const a{n} = [...a{0}, ...a{0}];", n - 1))
        .collect();
    lines.push("const a0 = [];\nexport default { x: a59 };".to_owned());
    check(&lines.join("\n"), &json!({"x": []}));
}

#[test]
fn environment_variables_become_placeholders() {
    check(
        "export default {\n\
         a: process.env.A, b: process.env['B'], c: process.env.C!, d: process.env.D as string,\n\
         e: process.env.E ?? 'x y', f: process.env.F || 'y', g: process.env.G ?? 8080,\n\
         h: `pre ${process.env.H} post`, i: 'a' + process.env.I, j: process.env?.J,\n\
         k: (process.env.K ?? ''),\n}",
        &json!({
            "a": "${A}", "b": "${B}", "c": "${C}", "d": "${D}",
            "e": "${E:-x y}", "f": "${F:-y}", "g": "${G:-8080}",
            "h": "pre ${H} post", "i": "a${I}", "j": "${J}", "k": "${K:-}",
        }),
    );
    check(
        "import process from 'node:process';\nconst key = process.env.KEY;\nexport default { key, auth: `Bearer ${key}` }",
        &json!({"key": "${KEY}", "auth": "Bearer ${KEY}"}),
    );
}

#[test]
fn a_literal_dollar_brace_is_escaped() {
    check(
        "export default { a: '${X}', b: `\\${Y}`, c: '$' + process.env.Z, d: '$$', e: '$' + '{q}' }",
        &json!({"a": "$${X}", "b": "$${Y}", "c": "$$${Z}", "d": "$$", "e": "$${q}"}),
    );
}

#[test]
fn escaped_text_reads_back_as_it_was_meant() {
    use toolcrib_config::placeholder::{Dialect, Template};
    let node = parse("export default ['${X}', '$$${', 'a' + process.env.A + '{$}']").unwrap();
    let expand = |node: &Node| {
        Template::parse(node.as_str().unwrap(), Dialect::Own)
            .unwrap()
            .expand(&|name| (name == "A").then(|| "alpha".to_owned()))
            .unwrap()
            .expose()
            .to_owned()
    };
    let texts: Vec<String> = node.items().iter().map(expand).collect();
    assert_eq!(texts, ["${X}", "$$${", "aalpha{$}"]);
}

#[test]
fn what_would_need_running_is_refused_by_name() {
    let fails = |value: &str, words: &str| {
        fails(
            &format!("export default {{\n  a: {value},\n}}"),
            (2, 6),
            words,
        );
    };
    fails("foo()", "a function call would need running");
    fails("process.cwd()", "a function call");
    fails("a?.b()", "an optional access");
    fails("new Foo()", "new would need running");
    fails("() => 1", "a function would need running");
    fails("function () {}", "a function");
    fails("class {}", "a class");
    fails("await x", "await");
    fails("import('x')", "import");
    fails("import.meta", "import");
    fails("import.meta.env.X", "access to a property");
    fails("x ? 1 : 2", "a condition");
    fails("x && 1", "a condition");
    fails("1 ?? 2", "a condition");
    fails("1 > 2", "this calculation");
    fails("2 ** 3", "this calculation");
    fails("!1", "this operator");
    fails("x = 1", "an assignment");
    fails("x++", "an assignment");
    fails("tag`x`", "a tagged template string");
    fails("10n", "a big integer");
    fails("this", "the word this");
    fails("a.b", "access to a property");
    fails("a['b']", "access to a property");
    fails("'x'.length", "access to a property");
    fails("/x/", "regular expressions");
    fails("process.env", "whole environment");
    fails("y", "y is not defined in this file");
    fails("NaN", "NaN");
    fails("'x' - 1", "only numbers");
    fails("-'x'", "only a number can have a sign");
    fails("1e999", "too large");
    fails("12345678901234567890", "too large");
    fails("'\\ud800'", "half a character");
    fails("`\\ud800`", "half a character");
    fails(
        "process.env['a b']",
        "not the name of an environment variable",
    );
    fails("process.env[1]", "not the name of an environment variable");
}

#[test]
fn defaults_are_plain_text() {
    let fails = |value: &str, words: &str| {
        let found = parse(&format!("export default {{ a: {value} }}")).unwrap_err();
        assert!(shown(&found).contains(words), "{}", shown(&found));
    };
    fails(
        "process.env.A ?? process.env.B",
        "cannot be another variable",
    );
    fails("process.env.A ?? '}'", "cannot contain }");
    fails("process.env.A ?? null", "null cannot stand inside text");
    fails("('x' + process.env.A) ?? 'y'", "other than one variable");
}

#[test]
fn every_unreadable_place_is_reported_at_once() {
    let found = parse("export default {\n  a: foo(),\n  b: 1,\n  c: [x, y],\n  get d() { return 1 },\n  e() {},\n}")
        .unwrap_err();
    let places: Vec<_> = found.iter().filter_map(Diagnostic::position).collect();
    assert_eq!(places, [(2, 6), (4, 7), (4, 10), (5, 3), (6, 3)]);
}

#[test]
fn names_and_keys_are_held_to_their_rules() {
    fails(
        "import y from 'z';\nexport default { y }",
        (2, 18),
        "imported from \"z\"",
    );
    fails(
        "let x = 1;\nexport default { x }",
        (2, 18),
        "a variable that may change",
    );
    fails(
        "const { x } = y;\nexport default { x }",
        (2, 18),
        "taken apart",
    );
    fails("enum E { A }\nexport default { E }", (2, 18), "an enum");
    fails(
        "import x = require('x');\nexport default { x }",
        (2, 18),
        "an import",
    );
    fails(
        "const a = 1;\nconst a = 2;\nexport default {}",
        (2, 7),
        "defined twice",
    );
    fails(
        "export default { a: 1,\n a: 2 }",
        (2, 2),
        "first here: anygpt.config.ts:1:18",
    );
    fails(
        "export default {};\nmodule.exports = {};",
        (2, 1),
        "two configurations",
    );
    fails("export default { __proto__: {} }", (1, 18), "__proto__");
    fails("export default { [x()]: 1 }", (1, 19), "a function call");
    fails(
        "export default { [process.env.A]: 1 }",
        (1, 19),
        "a key must be text",
    );
    fails("export default [1,,2]", (1, 19), "a hole");
    fails(
        "export default [undefined]",
        (1, 17),
        "undefined stands in this list",
    );
    fails(
        "export default [...'x']",
        (1, 20),
        "only a list can be spread",
    );
    fails(
        "export default {...[1]}",
        (1, 20),
        "only a map can be spread",
    );
    fails(
        "export default { a: `${null}` }",
        (1, 24),
        "null cannot stand inside text",
    );
    fails("export default undefined", (1, 16), "undefined is exported");
}

#[test]
fn statements_that_would_run_are_refused() {
    let fails = |statement: &str, words: &str| {
        fails(&format!("{statement}\nexport default {{}}"), (1, 1), words);
    };
    fails("console.log(1);", "a function call");
    fails("config.servers = [];", "an assignment");
    fails("if (x) {}", "a condition");
    fails("for (const x of y) {}", "a loop");
    fails("while (x) {}", "a loop");
    fails("{ }", "a block");
    fails("try { } catch { }", "error handling");
    fails("namespace N { export const a = 1 }", "a namespace");
    fails("export { default } from './x';", "another file's export");
    fails("export default function () {}", "a function");
    fails("export default class {}", "a class");
}

#[test]
fn a_script_without_a_configuration_says_so() {
    for text in ["", "const a = 1;", "export const a = 1;", "import 'x';"] {
        let found = parse(text).unwrap_err();
        assert!(shown(&found).contains("exports no configuration"), "{text}");
    }
    fails("export { x as default };", (1, 10), "no constant");
}

#[test]
fn syntax_errors_are_plain_sentences_at_the_place() {
    fails(
        "export default { a: 1 b: 2 }",
        (1, 23),
        "expected a comma or }",
    );
    fails(
        "export default { a: 'x\n}",
        (1, 21),
        "this string is never closed",
    );
    fails("export default { a: [1, 2 }", (1, 27), "this } closes a [");
    fails("export default {\n", (1, 16), "this { is never closed");
    fails("export default {}}", (1, 18), "closes nothing");
    fails(
        "export default `x",
        (1, 16),
        "template string is never closed",
    );
    fails(
        "export default `${x`",
        (1, 20),
        "template string is never closed",
    );
    fails("/* x", (1, 1), "this comment is never closed");
    fails("export default {,}", (1, 17), "cannot stand here");
    fails(
        "const x;\nexport default {}",
        (1, 7),
        "this constant has no value",
    );
    fails("<<<<<<< HEAD\nexport default {}", (1, 1), "merge conflict");
    fails("<!-- x -->\nexport default {}", (1, 1), "HTML comments");
    fails("export default { a: '\\u{zz}' }", (1, 22), "escape");
}

#[test]
fn places_of_keys_and_values_are_those_of_the_script() {
    let text = "const é = 'x';\nexport default config({ 'ä': { b: [1, 2], é } });";
    let node = parse(text).unwrap();
    let inner = &node.entries()[0];
    let covered = |span: toolcrib_config::Span| &text[span.start..span.end];
    assert_eq!(covered(inner.key_span), "'ä'");
    assert_eq!(covered(inner.value.span), "{ b: [1, 2], é }");
    assert_eq!(covered(inner.value.entries()[0].value.span), "[1, 2]");
    assert_eq!(covered(inner.value.entries()[1].value.span), "é");
}
