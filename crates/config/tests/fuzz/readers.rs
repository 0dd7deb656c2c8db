//! Readers: whatever the text, they come back with a tree within bounds or with findings that can be
//! shown.

use std::collections::HashSet;
use std::sync::Arc;

use bolero::check;
use toolcrib_config::reader::{Format, read};
use toolcrib_config::{Diagnostic, Node, Severity, Source, Span, Value};
use toolcrib_core::limits::{
    CONFIG_DEPTH_MAX, CONFIG_DIAGNOSTICS_MAX, CONFIG_NODES_MAX, CONFIG_STRING_BYTES_MAX,
};

use crate::soup;

const SHARED: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    ",",
    ":",
    "=",
    ";",
    "\"",
    "'",
    "`",
    "\\",
    " ",
    "\n",
    "\t",
    "  ",
    "a",
    "b",
    "env",
    "token",
    "1",
    "-1",
    "0",
    "1.5",
    "1e9",
    "1e999",
    "true",
    "false",
    "null",
    "\"x\"",
    "'y'",
    "é",
    "日",
    "\u{1f600}",
    "\0",
    "\u{7f}",
    "\u{feff}",
    "\u{2028}",
    "\r",
    "\r\n",
    ".",
    "-",
    "+",
    "/",
    "#",
    "//",
    "/*",
    "*/",
    "99999999999999999999",
    "\\u12",
    "\\ud800",
    "\\n",
];

const JSON: &[&str] = &[
    "{\"a\": [1, 2.5, true, null, \"x\\u00e9\"], \"b\": {\"c\": {}}}",
    "// c\n{\"env\": {\"TOKEN\": \"abc\"}, /* d */ \"l\": [[], {},],}\n",
];

const YAML: &[&str] = &[
    "a: 1\nb:\n  - x\n  - {c: d, e: [f, 'g', \"h\"]}\ni: |\n  j\n  k\nl: >-\n  m\n",
    "base: &b\n  x: 1\nc: {<<: *b, y: 2}\nd: [*b, *b]\n? e\n: f\n!!str g: !!int 3\n",
    "env:\n  TOKEN: abc # c\n  'K': \"v\\n\"\nl:\n- - a\n  - b\n-\n  c: ~\n",
];

const TOML: &[&str] = &[
    "a = 1\nb.c = 'x'\n[t.u]\nv = [1, 2, {w = 3}]\n[[l]]\nm = \"\"\"\nn\n\"\"\"\n[[l]]\no = 1979-05-27\n",
    "[s.env]\n\"K\" = \"v\\n\"\nd = 0x1F\ne = 1_000\nf = 1.5e3\n# c\n",
];

const SCRIPT: &[&str] = &[
    "const a = { x: [1, -2, 'b'] } as const;\nexport default config({ ...a, c: `d${a}`, [e]: process.env.F ?? 'g' });",
    "import { y } from 'z';\ntype T = Record<string, A<B>>;\nconst s = 'u' + 'v';\nmodule.exports = { s, n: undefined, t: 1 * 2 };",
];

const YAML_TOKENS: &[&str] = &[
    "- ",
    "? ",
    ": ",
    "&a ",
    "*a",
    "<<: ",
    "!!str ",
    "!x ",
    "|",
    ">",
    "|-\n",
    "---\n",
    "...\n",
    "%YAML 1.2\n",
    "~",
    "yes",
    ".inf",
    "0x1",
    "a: ",
    "b: ",
    "\n  ",
    "\n    ",
    "# c\n",
    "@",
];

const TOML_TOKENS: &[&str] = &[
    "[a]\n",
    "[[a]]\n",
    "a = ",
    "b = ",
    "a.b = ",
    "\"\"\"",
    "'''",
    "1979-05-27",
    "inf",
    "0x1",
    "1_0",
    "\n",
];

const SCRIPT_TOKENS: &[&str] = &[
    "export default ",
    "const a = ",
    "const b = ",
    "module.exports = ",
    "config(",
    "...a",
    "...b",
    "${",
    "=>",
    "?",
    "??",
    "||",
    "!",
    "as const",
    "satisfies T",
    "<",
    ">",
    "process.env.A",
    "process.env",
    "undefined",
    "await ",
    "new ",
    "function f() {}",
    "class A {}",
    "if (a) ",
    "else ",
    "import a from 'b';",
    "type T = ",
    "`",
    "get a() {}",
    "a: ",
    "b: ",
    "[a]: ",
    "/x/",
    "10n",
    "let a = 1;",
    "export { a as default };",
    "<!--",
];

fn fuzz(name: &str, format: Format, tokens: &[&str], samples: &[&str]) {
    let vocabulary: Vec<&str> = SHARED.iter().chain(tokens).copied().collect();
    check!(name = name).for_each(|bytes: &[u8]| {
        holds(format, &soup::text(bytes, &vocabulary, samples));
    });
}

#[test]
fn fuzz_reader_jsonc() {
    fuzz("reader_jsonc", Format::Jsonc, &[], JSON);
}

#[test]
fn fuzz_reader_yaml() {
    fuzz("reader_yaml", Format::Yaml, YAML_TOKENS, YAML);
}

#[test]
fn fuzz_reader_toml() {
    fuzz("reader_toml", Format::Toml, TOML_TOKENS, TOML);
}

#[test]
fn fuzz_reader_script() {
    fuzz("reader_script", Format::Script, SCRIPT_TOKENS, SCRIPT);
}

/// JSON of any value reads back equal, as JSONC and, because JSON is YAML, as YAML.
#[test]
fn fuzz_reader_json_value() {
    check!(name = "reader_json_value").for_each(|bytes: &[u8]| {
        let value = soup::value(&mut bytes.iter(), 5);
        let short = value.to_string();
        let long = format!("{value:#}");
        for text in [short, long] {
            for format in [Format::Jsonc, Format::Yaml] {
                if format == Format::Yaml && text.contains(is_foreign_to_yaml) {
                    continue;
                }
                match read(&Source::new("value", text.as_str()), format) {
                    Ok(node) => assert_eq!(node.to_json(), value, "{format:?} of {text}"),
                    Err(found) => panic!("{format:?} of {text:?}: {}", found[0]),
                }
            }
        }
    });
}

/// Characters that JSON may have in a string as they are and YAML only as escapes.
fn is_foreign_to_yaml(c: char) -> bool {
    matches!(c, '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}')
}

fn holds(format: Format, text: &str) {
    let source = Source::new("fuzz", text);
    match read(&source, format) {
        Ok(node) => tree_holds(&source, &node),
        Err(found) => {
            assert!(!found.is_empty() && found.len() <= CONFIG_DIAGNOSTICS_MAX + 1);
            assert_eq!(found[0].severity, Severity::Error);
            found.iter().for_each(finding_holds);
        }
    }
}

fn finding_holds(finding: &Diagnostic) {
    assert!(finding.severity != Severity::Warning);
    assert!(finding.help.is_some() && finding.source.is_some());
    let shown = finding.to_string();
    assert!(
        shown.lines().all(|line| line.chars().count() < 500),
        "{shown}"
    );
    assert!(finding.to_json()["message"].is_string());
    let text = finding.source.as_ref().map_or("", |source| source.text());
    let related = finding.related.iter().map(|(span, _)| *span);
    finding
        .span
        .into_iter()
        .chain(related)
        .for_each(|span| span_holds(text, span));
}

fn span_holds(text: &str, span: Span) {
    assert!(
        text.get(span.start..span.end).is_some(),
        "{span:?} of {text:?}"
    );
}

fn tree_holds(source: &Arc<Source>, root: &Node) {
    let mut nodes = 0;
    let mut open = vec![(root, 0)];
    while let Some((node, depth)) = open.pop() {
        nodes += 1;
        assert!(depth <= CONFIG_DEPTH_MAX);
        span_holds(source.text(), node.span);
        match &node.value {
            Value::String(text) => assert!(text.len() <= 2 * CONFIG_STRING_BYTES_MAX),
            Value::List(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Map(entries) => {
                let keys: HashSet<&str> = entries.iter().map(|e| e.key.as_str()).collect();
                assert_eq!(keys.len(), entries.len(), "a key stands twice");
                for entry in entries {
                    span_holds(source.text(), entry.key_span);
                    open.push((&entry.value, depth + 1));
                }
            }
            _ => {}
        }
        if nodes < 20 {
            let finding = Diagnostic::error("x").at(source, node.span).help("y");
            finding_holds(&finding);
        }
    }
    assert!(nodes <= CONFIG_NODES_MAX);
    let _ = root.to_json();
}
