//! What `config validate` says beyond errors, and what changed between two configurations.

use serde_json::json;
use toolcrib_config::{Difference, Severity, file, validate};

use crate::load::Stage;

#[test]
fn four_different_faults_are_reported_in_one_run() {
    let mut stage = Stage::new();
    stage.trusted(
        "project/toolcrib.yaml",
        "servers:\n\
         \x20 github:\n\
         \x20   command: npx\n\
         \x20   args: [--password, hush, --token=abc, --token-file, x]\n\
         \x20   env: {GITHUB_TOKEN: ghp_0123456789abcdefghij}\n\
         \x20   tools: [{name: create_issue}, {name: delete_issue}]\n\
         toolRules:\n\
         \x20 - {server: github, pattern: ['*issue*'], enabled: true}\n\
         \x20 - {pattern: ['*delete*'], enabled: false}\n\
         \x20 - {pattern: ['/(unclosed/'], enabled: false}\n\
         \x20 - {server: gihtub, pattern: ['*'], tags: [x]}\n",
    );
    let (config, errors) = stage.inspect();
    let tools = [("github", "create_issue"), ("github", "delete_issue")];
    let all: Vec<_> = errors
        .into_iter()
        .chain(validate::findings(&config, &tools))
        .collect();
    let shown: Vec<String> = all.iter().map(ToString::to_string).collect();
    let shown = shown.join("\n");
    for expected in [
        "toolRules[1] disables nothing: toolRules[0] decides before it, and github:delete_issue stays enabled",
        "toolRules[2].pattern[0] is not a usable pattern",
        "toolRules[3].server names \"gihtub\", which no server or adapter is called",
        "did you mean `github`?",
        "servers.github.env.GITHUB_TOKEN holds a secret in plain text",
        "servers.github.args[1] holds a secret in plain text",
        "servers.github.args[2] holds a secret in plain text",
    ] {
        assert!(shown.contains(expected), "missing {expected:?} in\n{shown}");
    }
    for hidden in ["ghp_", "hush", "abc", "args[0]", "args[3]", "args[4]"] {
        assert!(!shown.contains(hidden), "{hidden} in\n{shown}");
    }
    assert!(all.iter().all(|d| d.position().is_some()), "{shown}");
    assert!(stage.load().is_err());
}

#[test]
fn patterns_over_server_and_tool_are_held_against_what_is_there() {
    let check = |pattern: &str, expected: &[(&str, &str)]| {
        let mut stage = Stage::new();
        let text = format!(
            "servers: {{github: {{command: x}}}}\ntoolRules: [{{pattern: ['{pattern}'], tags: [t]}}]\n"
        );
        stage.trusted("project/toolcrib.yaml", &text);
        let found = validate::findings(&stage.load().unwrap(), &[]);
        let said: Vec<(&str, &str)> = found
            .iter()
            .map(|d| (d.message.as_str(), d.help.as_deref().unwrap_or_default()))
            .collect();
        assert_eq!(said, expected, "{pattern}");
    };
    for fine in [
        "github:create_*",
        "GitHub:x",
        "*:x",
        "!git*:x",
        "/^gitub:.*x/",
        "create_*",
    ] {
        check(fine, &[]);
    }
    let unknown = "toolRules[0].pattern[0] names \"gitub\", which no server or adapter is called";
    check("gitub:create_*", &[(unknown, "did you mean `github`?")]);
    check("!gitub:create_*", &[(unknown, "did you mean `github`?")]);
    let glob = "toolRules[0].pattern[0] is read as a glob, so its slashes match slashes";
    let help = "set `server: github` and write /delete/i, or begin the expression with the server";
    check("github:/delete/i", &[(glob, help)]);
}

#[test]
fn nothing_is_said_about_what_a_rule_would_do_whose_pattern_cannot_be_used() {
    let mut stage = Stage::new();
    stage.trusted(
        "project/toolcrib.yaml",
        "toolRules:\n- {pattern: ['/(/'], enabled: false}\n- {pattern: ['/)/'], enabled: false}\n",
    );
    let (config, errors) = stage.inspect();
    assert_eq!(errors.len(), 2);
    assert!(validate::findings(&config, &[]).is_empty());
}

#[test]
fn addresses_that_cannot_be_one_are_found() {
    let mut stage = Stage::new();
    stage.trusted(
        "project/toolcrib.yaml",
        "servers:\n  a: {url: example.com/mcp}\n  b: {url: 'HTTPS://example.com'}\n  c: {url: '${HOST:-x}/mcp'}\nhttp: {listen: here}\n",
    );
    let found = validate::findings(&stage.load().unwrap(), &[]);
    let said: Vec<(usize, &str)> = found
        .iter()
        .map(|d| (d.position().unwrap().0, d.message.as_str()))
        .collect();
    assert_eq!(
        said,
        [
            (2, "servers.a.url is not an HTTP address"),
            (5, "http.listen is \"here\", which has no port"),
        ]
    );
}

#[test]
fn surface_entries_must_name_a_server_and_a_tool() {
    let mut stage = Stage::new();
    stage.trusted(
        "project/toolcrib.yaml",
        "servers: {github: {command: x, tools: [{name: a}, {name: a}]}}\nsurface: [github, 'gitub:x', 'github:a']\n",
    );
    let found = validate::findings(&stage.load().unwrap(), &[]);
    let said: Vec<(Severity, &str)> = found
        .iter()
        .map(|d| (d.severity, d.message.as_str()))
        .collect();
    assert_eq!(said.len(), 3, "{said:?}");
    assert_eq!(
        said[0],
        (
            Severity::Error,
            "surface[0] is \"github\", and must be `server:tool` to be listed"
        )
    );
    assert!(said[1].1.contains("surface[1] names \"gitub\""));
    assert!(said[2].1.contains("declares the tool \"a\" twice"));
}

/// The rows of the documents' own loader: what is said about a value that stands for a file.
#[test]
fn validation_names_the_field_and_what_it_must_be() {
    let check = |value: serde_json::Value, expected: &[&str]| {
        let said: Vec<String> = file::validate_value(&value)
            .into_iter()
            .map(|d| d.message)
            .collect();
        assert_eq!(said, expected, "{value}");
    };
    check(json!({"enabled": true}), &[]);
    check(json!({"enabled": "yes"}), &["enabled must be a boolean"]);
    check(
        json!({"toolRules": "not-an-array"}),
        &["toolRules must be an array"],
    );
    check(
        json!({"cache": {"ttl": 1}}),
        &["cache.enabled must be a boolean"],
    );
    check(json!({"sources": {}}), &["sources must be an array"]);
    check(
        json!({"toolRules": [{"pattern": "x"}]}),
        &["toolRules[0].pattern must be an array"],
    );
    check(
        json!({"toolRules": [{"pattern": ["x"], "server": 1, "enabled": "no"}]}),
        &[
            "toolRules[0].server must be a string",
            "toolRules[0].enabled must be a boolean",
        ],
    );
    check(
        json!({"toolRules": [{}]}),
        &["toolRules[0].pattern must be an array"],
    );
    check(
        json!({"results": {"maxTokens": 1.5}}),
        &["results.maxTokens must be a whole number"],
    );
    check(
        json!({"results": {"max_tokens": 5}}),
        &["results.maxTokens must be at least 100"],
    );
    check(
        json!({"results": {"max_tokens": 500, "maxTokens": 500}}),
        &["results.maxTokens is given twice"],
    );
    check(
        json!({"servers": {"a": {"command": "${A"}}}),
        &["servers.a.command: the placeholder that begins with ${ is never closed with }"],
    );
    check(
        json!({"servers": {"a": {"command": "x", "idleClose": "soon"}}}),
        &["servers.a.idleClose must be `never`"],
    );
    check(
        json!({"servers": {"a": {"command": "x", "idleClose": "never"}, "b": {"command": "x", "idleClose": 3}}}),
        &[],
    );
    check(
        json!({"servers": {"a": {"command": "x", "tools": [{"name": ""}]}}}),
        &["servers.a.tools[0].name must not be empty"],
    );
    check(
        json!({"servers": 1}),
        &["servers must be an object or an array"],
    );
    check(
        json!({"discovery": {"enabled": true}, "enabled": false}),
        &["enabled is given twice, here and before"],
    );
}

#[test]
fn a_long_list_of_problems_is_cut_and_counted() {
    let rules: Vec<_> = (0..300).map(|_| json!({"pattern": 1})).collect();
    let said = file::validate_value(&json!({ "toolRules": rules }));
    assert_eq!(said.len(), 101);
    assert_eq!(
        said[100].message,
        "200 more problems in this file are not listed"
    );
}

#[test]
fn the_difference_names_what_changed_and_nothing_else() {
    let load = |text: &str| {
        let mut stage = Stage::new();
        stage.write("home/.config/toolcrib/toolcrib.yaml", text);
        stage.load().unwrap()
    };
    let before = load("servers: {a: {command: x}, b: {command: y}, c: {command: z}}");
    let same = load("# moved\n\nservers: {a: {command: x}, b: {command: y}, c: {command: z}}");
    let difference = Difference::between(&before, &same);
    assert!(difference.is_empty(), "{difference:?}");
    assert_eq!(difference.unchanged, 3);
    let after = load(
        "mode: full\nservers: {a: {command: x}, b: {command: other}, d: {command: w}}\ntoolRules: [{pattern: ['*x*'], enabled: false}]\n",
    );
    let difference = Difference::between(&before, &after);
    assert_eq!(difference.added, ["d"]);
    assert_eq!(difference.removed, ["c"]);
    assert_eq!(difference.changed, ["b"]);
    assert_eq!(difference.unchanged, 1);
    assert!(difference.rules && difference.settings && !difference.is_empty());
}

#[test]
fn one_value_that_cannot_be_decoded_does_not_keep_the_rest_from_being_looked_at() {
    let parse = |text: &str| {
        let source = toolcrib_config::Source::new("toolcrib.yaml", text);
        toolcrib_config::file::parse(
            &source,
            toolcrib_config::reader::Format::Yaml,
            toolcrib_config::file::Shape::Whole,
        )
        .unwrap()
    };
    let file = parse(
        "toolRules: 7\nservers:\n  a: {command: 7}\n  b: {command: x}\n  'c:d': {command: y}\n",
    );
    assert!(!file.decoded && file.is_broken());
    let names: Vec<&str> = file.servers.iter().map(|server| &*server.name).collect();
    assert_eq!(names, ["b"]);
    assert_eq!(file.servers[0].origin.line, 4);
    let said: Vec<&str> = file
        .diagnostics
        .iter()
        .map(|found| &*found.message)
        .collect();
    for part in ["toolRules", "command", "has a `:`"] {
        assert!(
            said.iter().any(|said| said.contains(part)),
            "no {part} in {said:?}"
        );
    }
}
