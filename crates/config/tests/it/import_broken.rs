//! Every client's file broken in five ways: what is said, where, and what would be right.

use toolcrib_config::import::{Client, Scope};
use toolcrib_config::reader::Format;

use crate::import::read;

/// The findings about a text, one to a line: `severity file:line:column message | help`.
fn said(id: &str, text: &str) -> (Vec<String>, Vec<String>) {
    let client = Client::by_id(id).unwrap();
    let file = match client.format {
        Format::Toml => "config.toml",
        Format::Yaml => "config.yaml",
        _ => "config.json",
    };
    let imported = read(id, file, text, Scope::User);
    let findings = imported
        .diagnostics
        .iter()
        .map(|d| {
            let (line, column) = d.position().unwrap();
            let path = d.source.as_ref().unwrap().path().display();
            let help = d.help.as_deref().unwrap_or("-");
            format!(
                "{} {path}:{line}:{column} {} | {help}",
                d.severity.word(),
                d.message
            )
        })
        .collect();
    (
        findings,
        imported.servers.into_iter().map(|s| s.name).collect(),
    )
}

/// A file with one broken server `a`, a good one `b`, and what is said.
struct Case {
    how: &'static str,
    text: String,
    findings: Vec<String>,
    servers: &'static [&'static str],
}

fn run(id: &str, cases: Vec<Case>) {
    assert!(cases.len() >= 5);
    for case in cases {
        let (findings, servers) = said(id, &case.text);
        assert_eq!(
            findings, case.findings,
            "{id}, {}:\n{}",
            case.how, case.text
        );
        assert_eq!(servers, case.servers, "{id}, {}:\n{}", case.how, case.text);
    }
}

const SHAPE: &str = "write { \"command\": \"…\", \"args\": […] } or { \"url\": \"…\" }";

/// The five ways, and some more, in JSON with the servers in a map.
fn json_cases(title: &str, root: &str) -> Vec<Case> {
    let within = |a: &str| {
        format!(
            "{{\n  \"{root}\": {{\n    \"a\": {a},\n    \"b\": {{ \"url\": \"https://b.example\" }}\n  }}\n}}\n"
        )
    };
    let column = root.len() + 7;
    vec![
        Case {
            how: "syntax",
            text: within("{ \"command\": \"x\" \"args\": [] }"),
            findings: vec!["error config.json:3:26 expected a comma between two entries | write a comma after the entry before this one".into()],
            servers: &[],
        },
        Case {
            how: "file of the wrong type",
            text: "[]\n".into(),
            findings: vec![format!("error config.json:1:1 the file of {title} must be a map with the key `{root}`, not a list | put the servers under `{root}`")],
            servers: &[],
        },
        Case {
            how: "root of the wrong type",
            text: format!("{{\n  \"{root}\": \"a\"\n}}\n"),
            findings: vec![format!("error config.json:2:{column} `{root}` must be a map of server names to servers, not a string | write each server under its name")],
            servers: &[],
        },
        Case {
            how: "entry of the wrong type",
            text: within("\"npx x\""),
            findings: vec![format!("warning config.json:3:10 server \"a\" must be a map, not a string | {SHAPE}")],
            servers: &["b"],
        },
        Case {
            how: "entry without a command",
            text: within("{ \"args\": [] }"),
            findings: vec!["warning config.json:3:5 server \"a\" has neither a command nor a url | give it a `command` that starts it or the `url` where it listens".into()],
            servers: &["b"],
        },
        Case {
            how: "field of the wrong type",
            text: within("{ \"url\": \"https://a.example\", \"disabled\": \"no\" }"),
            findings: vec!["warning config.json:3:52 server \"a\": `disabled` must be a boolean, not a string | write true or false".into()],
            servers: &["b"],
        },
        Case {
            how: "unknown key",
            text: within("{ \"url\": \"https://a.example\", \"heders\": {} }"),
            findings: vec!["warning config.json:3:40 server \"a\": `heders` is not a key that is known here and is left out | did you mean `headers`?".into()],
            servers: &["a", "b"],
        },
        Case {
            how: "duplicate name",
            text: within("{ \"url\": \"https://a.example\" },\n    \"a\": 1"),
            findings: vec!["error config.json:4:5 the key \"a\" stands twice in this map | keep one of the two, or give them different names".into()],
            servers: &[],
        },
    ]
}

#[test]
fn files_of_clients_with_json() {
    let clients = [
        "claude-desktop",
        "claude-code",
        "cursor",
        "windsurf",
        "vscode",
        "zed",
        "gemini",
        "opencode",
        "cline",
        "roo",
        "lm-studio",
        "copilot",
        "amazon-q",
        "kiro",
        "warp",
    ];
    for id in clients {
        let client = Client::by_id(id).unwrap();
        run(id, json_cases(client.title, client.roots.last().unwrap()));
    }
    run("docker-mcp", json_cases("Docker MCP Toolkit", "mcpServers"));
}

fn case(
    how: &'static str,
    text: &str,
    findings: &[&str],
    servers: &'static [&'static str],
) -> Case {
    Case {
        how,
        text: text.to_owned(),
        findings: findings.iter().map(|&f| f.to_owned()).collect(),
        servers,
    }
}

#[test]
fn the_file_of_codex() {
    let good = "[mcp_servers.b]\nurl = \"https://b.example\"\n";
    let with = |a: &str| format!("{good}{a}\n");
    run(
        "codex",
        vec![
            case(
                "syntax",
                &with("[mcp_servers.a\ncommand = \"x\""),
                &["error config.toml:3:15 expected ] at the end of this header | write [name]"],
                &[],
            ),
            case(
                "root of the wrong type",
                "mcp_servers = [\"a\"]\n",
                &[
                    "error config.toml:1:15 `mcp_servers` must be a map of server names to servers, not a list | write each server under its name",
                ],
                &[],
            ),
            case(
                "entry of the wrong type",
                "[mcp_servers]\na = 5\nb = { url = \"https://b.example\" }\n",
                &[&format!(
                    "warning config.toml:2:5 server \"a\" must be a map, not a number | {SHAPE}"
                )],
                &["b"],
            ),
            case(
                "field of the wrong type",
                &with("[mcp_servers.a]\ncommand = \"x\"\nargs = \"y\""),
                &[
                    "warning config.toml:5:8 server \"a\": `args` must be a list of strings, not a string | put each one in quotes within [ ]",
                ],
                &["b"],
            ),
            case(
                "unknown key",
                &with("[mcp_servers.a]\ncommand = \"x\"\nstartup_timeout_secs = 5"),
                &[
                    "warning config.toml:5:1 server \"a\": `startup_timeout_secs` is not a key that is known here and is left out | did you mean `startup_timeout_sec`?",
                ],
                &["b", "a"],
            ),
            case(
                "duplicate name",
                &with("[mcp_servers.b]\ncommand = \"x\""),
                &[
                    "error config.toml:3:14 the key \"b\" stands twice in this map | keep one of the two, or give them different names",
                ],
                &[],
            ),
        ],
    );
}

#[test]
fn the_file_of_goose() {
    let good = "extensions:\n  b: { type: sse, uri: 'https://b.example' }\n";
    let with = |a: &str| format!("{good}{a}\n");
    run(
        "goose",
        vec![
            case(
                "syntax",
                &with("  a: { type: stdio, cmd: x"),
                &[
                    "error config.yaml:3:6 a { is never closed | close every { with } and every [ with ]",
                ],
                &[],
            ),
            case(
                "root of the wrong type",
                "extensions: [a]\n",
                &[
                    "error config.yaml:1:13 `extensions` must be a map of server names to servers, not a list | write each server under its name",
                ],
                &[],
            ),
            case(
                "entry of the wrong type",
                &with("  a: npx"),
                &[&format!(
                    "warning config.yaml:3:6 server \"a\" must be a map, not a string | {SHAPE}"
                )],
                &["b"],
            ),
            case(
                "field of the wrong type",
                &with("  a:\n    type: stdio\n    cmd: x\n    envs: [SECRET]"),
                &[
                    "warning config.yaml:6:11 server \"a\": `envs` must be a map of strings, not a list | write NAME: \"value\" pairs",
                ],
                &["b"],
            ),
            case(
                "unknown type",
                &with("  a: { type: telepathy, cmd: x }"),
                &[
                    "warning config.yaml:3:14 server \"a\": `type` names a transport that Toolcrib does not have | write stdio, http or sse",
                ],
                &["b"],
            ),
            case(
                "unknown key",
                &with("  a: { type: stdio, cmd: x, timeot: 5 }"),
                &[
                    "warning config.yaml:3:29 server \"a\": `timeot` is not a key that is known here and is left out | did you mean `timeout`?",
                ],
                &["b", "a"],
            ),
            case(
                "duplicate name",
                &with("  b: { type: stdio, cmd: x }"),
                &[
                    "error config.yaml:3:3 the key \"b\" stands twice in this map | keep one of the two, or give them different names",
                ],
                &[],
            ),
        ],
    );
}

#[test]
fn the_file_of_continue() {
    let good = "mcpServers:\n  - { name: b, url: 'https://b.example' }\n";
    let with = |a: &str| format!("{good}{a}\n");
    run(
        "continue",
        vec![
            case(
                "syntax",
                &with("  - name: 'a"),
                &[
                    "error config.yaml:3:11 this string is never closed | close it with the quote that it began with",
                ],
                &[],
            ),
            case(
                "root of the wrong type",
                "mcpServers: a\n",
                &[
                    "error config.yaml:1:13 `mcpServers` must be a map of server names to servers, not a string | write each server under its name",
                ],
                &[],
            ),
            case(
                "entry of the wrong type",
                &with("  - npx"),
                &[&format!(
                    "warning config.yaml:3:5 `mcpServers[1]` must be a map, not a string | {SHAPE}"
                )],
                &["b"],
            ),
            case(
                "field of the wrong type",
                &with("  - name: a\n    command: x\n    args: [[1]]"),
                &[
                    "warning config.yaml:5:12 server \"a\": `args[0]` must be a string, not a list | put it in quotes",
                ],
                &["b"],
            ),
            case(
                "unknown key",
                &with("  - name: a\n    comand: x"),
                &[
                    "warning config.yaml:3:5 server \"a\" has neither a command nor a url | did you mean `command` where it says `comand`?",
                ],
                &["b"],
            ),
            case(
                "no name",
                &with("  - command: x"),
                &[
                    "warning config.yaml:3:5 a server without a name is left out | give it a name of letters, digits, `-` and `_`",
                ],
                &["b"],
            ),
        ],
    );
}

#[test]
fn the_registry_of_docker() {
    let docker = |text: &str| {
        read("docker-mcp", "registry.yaml", text, Scope::User)
            .diagnostics
            .iter()
            .map(|d| {
                format!(
                    "{:?} {} | {}",
                    d.position().unwrap(),
                    d.message,
                    d.help.as_deref().unwrap_or("-")
                )
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(
        docker("registry: {"),
        ["(1, 11) a { is never closed | close every { with } and every [ with ]"]
    );
    assert_eq!(
        docker("[a]"),
        [
            "(1, 1) the file of Docker MCP Toolkit must be a map with the key `registry`, not a list | put the servers under `registry`"
        ]
    );
    assert_eq!(
        docker("registry: [a]"),
        [
            "(1, 11) `registry` must be a map of server names, not a list | write each enabled server as `name: { ref: \"\" }`"
        ]
    );
    assert_eq!(
        docker("registry:\n  a: {}"),
        [
            "(2, 3) server \"a\" is enabled but in no catalog | run `docker mcp catalog update`, or remove it from the registry"
        ]
    );
    assert_eq!(
        docker("servers: {}"),
        [
            "(1, 1) `servers` is not where Docker MCP Toolkit keeps its servers, so none are read | did you mean `registry`?"
        ]
    );
}

#[test]
fn the_yaml_of_the_documents() {
    let good = "servers:\n  b: { connection: { url: 'https://b.example' } }\n";
    let with = |a: &str| format!("{good}{a}\n");
    run(
        "custom",
        vec![
            case(
                "syntax",
                "servers:\n\ta: 1\n",
                &[
                    "error config.yaml:2:1 tabs cannot indent YAML | indent with spaces, two for each level",
                ],
                &[],
            ),
            case(
                "root of the wrong type",
                "servers: a\n",
                &[
                    "error config.yaml:1:10 `servers` must be a map of server names to servers, not a string | write each server under its name",
                ],
                &[],
            ),
            case(
                "entry of the wrong type",
                &with("  a: 1"),
                &[
                    "warning config.yaml:3:6 server \"a\" must be a map, not a number | write `connection: { type: stdio, command: …, args: […] }`",
                ],
                &["b"],
            ),
            case(
                "field of the wrong type",
                &with("  a: { connection: { command: x }, tools: { t: 1 } }"),
                &[
                    "warning config.yaml:3:43 server \"a\": `tools` must be a list, not a map | write `- name: …` for each tool",
                ],
                &["b"],
            ),
            case(
                "tool without a name",
                &with("  a: { connection: { command: x }, tools: [{ description: d }] }"),
                &["warning config.yaml:3:44 server \"a\": `tools[0]` has no name | add `name`"],
                &["b"],
            ),
            case(
                "unknown key",
                &with("  a: { conection: { command: x } }"),
                &[
                    "warning config.yaml:3:3 server \"a\" has neither a command nor a url | did you mean `connection` where it says `conection`?",
                ],
                &["b"],
            ),
            case(
                "broken placeholder",
                &with("  a: { connection: { command: '${x' } }"),
                &[
                    "warning config.yaml:3:31 server \"a\": `connection`: the placeholder that begins with ${ is never closed with } | -",
                ],
                &["b"],
            ),
        ],
    );
}

#[test]
fn a_value_that_may_be_a_secret_is_not_shown_in_a_finding() {
    for text in [
        "{\"mcpServers\": {\"a\": {\"command\": \"x\", \"env\": {\"KEY\": [\"hush-hush\"]}}}}",
        "{\"mcpServers\": {\"a\": {\"url\": \"x\", \"headers\": {\"KEY\": {\"v\": \"hush-hush\"}}}}}",
    ] {
        let imported = read("claude-desktop", "x.json", text, Scope::User);
        assert_eq!(imported.diagnostics.len(), 1);
        let shown = imported.diagnostics[0].to_string();
        assert!(!shown.contains("hush"), "{shown}");
        assert!(shown.contains(".KEY` must be a string"), "{shown}");
    }
}

#[test]
fn odd_entries_are_read_with_a_warning() {
    let check = |entry: &str, expected: &[&str]| {
        let text = format!("{{\"mcpServers\": {{\"a\": {entry}}}}}");
        let imported = read("cursor", "x.json", &text, Scope::User);
        let said: Vec<String> = imported
            .diagnostics
            .iter()
            .map(|d| d.message.clone())
            .collect();
        assert_eq!(said, expected, "{entry}");
        assert_eq!(imported.servers.len(), 1, "{entry}");
    };
    check(
        r#"{"command": "x", "url": "y"}"#,
        &["server \"a\": `url` is left out, because `command` is there too"],
    );
    check(r#"{"command": "x", "url": "y", "type": "stdio"}"#, &[]);
    check(r#"{"command": "x", "url": "y", "type": "http"}"#, &[]);
    check(
        r#"{"command": "npx -y x"}"#,
        &["server \"a\": the command holds spaces and is run as one program"],
    );
    check(r#"{"command": "/Program Files/x"}"#, &[]);
    check(
        r#"{"command": "x", "env": {"A": null, "B": 1, "C": true}}"#,
        &[],
    );
    check(
        r#"{"command": "x", "//": "why", "_note": 1, "$schema": ""}"#,
        &[],
    );
    check(
        r#"{"command": {"path": "x", "argz": []}}"#,
        &["server \"a\": `command`: `argz` is not a key that is known here and is left out"],
    );
    check(r#"{"command": "x", "cwd": ""}"#, &[]);
    check(r#"{"command": "x", "timeout": 0}"#, &[]);
    check(
        r#"{"command": "x", "tools": []}"#,
        &["server \"a\" keeps none of its tools, so it is off"],
    );
    check(r#"{"command": "x", "disabledTools": ["a*", "b/c"]}"#, &[]);
}
