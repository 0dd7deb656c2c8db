//! Our own configuration, written and loaded again.

use indexmap::IndexMap;
use proptest::prelude::*;
use toolcrib_config::export::own::{plain_secrets, to_shown_yaml, to_yaml};
use toolcrib_config::file::{self, Shape};
use toolcrib_config::import::{self, CLIENTS, Client, Scope};
use toolcrib_config::merge::merge;
use toolcrib_config::model::server::{
    Handling, Isolation, Origin, Remote, Server, StaticTool, Stdio, Transport,
};
use toolcrib_config::placeholder::{Dialect, Template};
use toolcrib_config::reader::Format;
use toolcrib_config::{Source, Surroundings};

use crate::import::{fixture, here, read, show};

/// The servers of a text of ours, which must load without a word.
fn loaded(text: &str) -> Vec<Server> {
    let source = Source::new("toolcrib.yaml", text);
    let file = file::parse(&source, Format::Yaml, Shape::Whole).unwrap();
    let said: Vec<String> = file.diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!(said, [] as [&str; 0], "{text}");
    file.servers
}

/// The same servers, wherever they come from.
fn without_origin(servers: &[Server]) -> Vec<Server> {
    let origin = Origin {
        kind: String::new(),
        path: "".into(),
        line: 0,
    };
    servers
        .iter()
        .map(|server| Server {
            origin: origin.clone(),
            ..server.clone()
        })
        .collect()
}

fn fixtures() -> Vec<(&'static Client, &'static str)> {
    let names = [
        "claude-desktop.json",
        "claude-code.json",
        "cursor.json",
        "windsurf.json",
        "vscode.json",
        "zed.json",
        "codex.toml",
        "gemini.json",
        "goose.yaml",
        "opencode.jsonc",
        "cline.json",
        "roo.json",
        "lm-studio.json",
        "copilot.json",
        "docker-mcp.json",
        "continue.yaml",
        "amazon-q.json",
        "kiro.json",
        "warp.json",
        "custom.yaml",
    ];
    assert_eq!(names.len(), CLIENTS.len());
    names
        .into_iter()
        .map(|name| {
            (
                Client::by_id(name.split('.').next().unwrap()).unwrap(),
                name,
            )
        })
        .collect()
}

#[test]
fn what_every_client_gives_is_written_and_loads_back_to_the_same_servers() {
    for (client, name) in fixtures() {
        let imported = read(client.id, name, &fixture(name), Scope::User);
        let text = to_yaml(&imported.servers, "Imported");
        let again = loaded(&text);
        assert_eq!(
            without_origin(&again),
            without_origin(&imported.servers),
            "{name}:\n{text}"
        );
        assert_eq!(
            to_yaml(&again, "Imported").lines().count(),
            text.lines().count()
        );
    }
}

#[test]
fn everything_merged_loads_back_with_its_names_and_aliases() {
    let all = fixtures().into_iter().flat_map(|(client, name)| {
        let source = Source::new(name, fixture(name));
        import::read(client, &source, Scope::User, &here()).servers
    });
    let merged = merge(all);
    let text = to_yaml(&merged.servers, "All of them");
    assert_eq!(
        without_origin(&loaded(&text)),
        without_origin(&merged.servers)
    );
}

#[test]
fn the_text_is_made_to_be_read() {
    let imported = read(
        "codex",
        "/home/ada/.codex/config.toml",
        &fixture("codex.toml"),
        Scope::User,
    );
    assert_eq!(
        to_yaml(
            &imported.servers[1..],
            "Imported by Toolcrib.\nEdit as you like.\n"
        ),
        r#"# Imported by Toolcrib.
# Edit as you like.
servers:
  # from /home/ada/.codex/config.toml:14
  figma:
    enabled: false
    type: http
    url: "https://mcp.figma.com/mcp"
    headers:
      X-Figma-Region: "us-east-1"
      X-Trace: "${TRACE_ID}"
    includeTools: [export]
    bearer: "${FIGMA_OAUTH_TOKEN}"
"#
    );
    assert_eq!(to_yaml(&[], ""), "servers: {}\n");
    assert_eq!(loaded(&to_yaml(&[], "")), []);
}

#[test]
fn a_header_or_an_origin_cannot_leave_its_comment() {
    let mut server = read("cursor", "x.json", &fixture("cursor.json"), Scope::User)
        .servers
        .remove(0);
    server.origin.path = "a\nservers: {}\r#".into();
    let text = to_yaml(&[server], "one\u{85}two\r\nthree\rfour: 5");
    assert_eq!(loaded(&text).len(), 1, "{text}");
}

#[test]
fn literal_secrets_are_named_and_not_shown() {
    let text = r#"{"mcpServers": {
        "a": {"command": "x", "args": ["--key", "ghp_0123456789abcdefghij"], "env": {"API_TOKEN": "hush", "B": "${B}"}},
        "b": {"url": "https://u.example/?k=1", "headers": {"Authorization": "Bearer sk-0123456789abcdef01"}}}}"#;
    let mut servers = read("claude-desktop", "x.json", text, Scope::User).servers;
    servers[1].handling.bearer = Some(Template::literal("ghp_0123456789abcdefghij"));
    assert_eq!(
        plain_secrets(&servers),
        [
            "a: args",
            "a: API_TOKEN",
            "b: Authorization",
            "b: bearer token"
        ]
    );
}

#[test]
fn an_import_that_is_exported_finds_nothing_new_the_second_time() {
    let (client, name) = fixtures()[0];
    let source = Source::new(name, fixture(name));
    let somewhere: Surroundings = here();
    let imported = import::read(client, &source, Scope::User, &somewhere).servers;
    let own = loaded(&to_yaml(&imported, ""));
    let merged = merge(own.clone().into_iter().chain(imported));
    assert_eq!(merged.servers, own);
    assert_eq!(merged.findings.len(), own.len());
    assert!(show(&merged.servers[0]).starts_with("github $ npx"));
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9@/._-]{0,12}",
        "[ -~]{0,16}",
        "\\PC{0,8}",
        "[\\x00-\\x7f\\u{80}-\\u{a0}\\u{2028}\\u{feff}]{0,8}"
    ]
}

/// Text that a template can hold, placeholders included.
fn template() -> impl Strategy<Value = Template> {
    let piece = prop_oneof![
        text().prop_map(|t| Template::literal(t).exact().expose().to_owned()),
        "[A-Z_]{1,8}".prop_map(|name| format!("${{{name}}}")),
        ("[A-Z_]{1,8}", "[a-z :/.]{0,6}")
            .prop_map(|(name, default)| format!("${{{name}:-{default}}}")),
    ];
    prop::collection::vec(piece, 1..3).prop_filter_map("dollars that run together", |pieces| {
        Template::parse(&pieces.concat(), Dialect::Own).ok()
    })
}

fn filled() -> impl Strategy<Value = Template> {
    template().prop_filter("not empty", |t| !t.exact().expose().trim().is_empty())
}

fn pairs() -> impl Strategy<Value = IndexMap<String, Template>> {
    prop::collection::vec(("[A-Za-z_-]{1,8}", template()), 0..3).prop_map(|list| {
        list.into_iter()
            .map(|(name, value)| (name, value.sensitive()))
            .collect()
    })
}

fn transport() -> impl Strategy<Value = Transport> {
    let stdio = (
        filled(),
        prop::collection::vec(template(), 0..4),
        pairs(),
        prop::option::of(filled()),
        prop::option::of(filled()),
        any::<bool>(),
    )
        .prop_map(|(command, args, env, env_file, cwd, inherit_env)| {
            Transport::Stdio(Stdio {
                command,
                args,
                env,
                env_file,
                cwd,
                inherit_env,
            })
        });
    let remote = || (filled(), pairs()).prop_map(|(url, headers)| Remote { url, headers });
    prop_oneof![
        stdio,
        remote().prop_map(Transport::Http),
        remote().prop_map(Transport::Sse)
    ]
}

fn handling() -> impl Strategy<Value = Handling> {
    let isolation = prop_oneof![
        Just(Isolation::Shared),
        Just(Isolation::Principal),
        Just(Isolation::Session)
    ];
    (
        (
            any::<bool>(),
            prop::option::of(isolation),
            prop::option::of(1..86_400_000u64),
            prop::option::of(1..3_600_000u64),
        ),
        (
            prop::option::of(0..600u64),
            prop::option::of((1..1000u32, prop::option::of(1..1000u32))),
            prop::option::of(0..10u32),
        ),
        (prop::option::of(filled()), any::<bool>()),
    )
        .prop_map(
            |((trusted, isolation, call, start), (idle, rate, retries), (bearer, oauth))| {
                Handling {
                    trusted,
                    isolation,
                    call_timeout_ms: call,
                    start_timeout_ms: start,
                    idle_close_ms: idle.map(|minutes| minutes * 60_000),
                    rate_per_second: rate.map(|(rate, _)| rate),
                    rate_burst: rate.and_then(|(_, burst)| burst),
                    retries,
                    bearer: bearer.map(Template::sensitive),
                    oauth,
                }
            },
        )
}

fn tool() -> impl Strategy<Value = StaticTool> {
    let schema = prop_oneof![
        Just(None),
        Just(Some(
            serde_json::json!({"type": "object", "properties": {"q\n": {"default": [1, -2.5, null, true, "é\u{2028}"]}}})
        )),
    ];
    (
        "[a-z_]{1,8}",
        text(),
        schema,
        prop::collection::vec("[a-z]{1,4}", 0..2),
    )
        .prop_map(|(name, description, input_schema, tags)| StaticTool {
            name,
            description,
            input_schema,
            tags,
        })
}

fn server() -> impl Strategy<Value = Server> {
    let names = (
        "[a-zA-Z0-9]([a-zA-Z0-9_. é-]{0,8}[a-z])?",
        prop::collection::vec("[a-z]{1,5}", 0..2),
    );
    let texts = (
        prop::option::of("[a-z.]{1,8}/[a-z]{1,5}"),
        prop::option::of(text()),
        prop::option::of(text()),
    );
    let tools = (
        prop::collection::vec(tool(), 0..2),
        prop::collection::vec("[a-z*]{1,6}", 0..3),
        prop::collection::vec("[a-z]{1,6}", 0..3),
    );
    (names, texts, any::<bool>(), transport(), tools, handling()).prop_map(
        |(
            (name, aliases),
            (registry, title, description),
            enabled,
            transport,
            (tools, include_tools, exclude_tools),
            handling,
        )| Server {
            name,
            aliases,
            registry,
            title,
            description,
            enabled,
            transport,
            tools,
            include_tools,
            exclude_tools,
            handling,
            origin: Origin {
                kind: "custom".into(),
                path: "x".into(),
                line: 1,
            },
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_servers_load_back_the_same(servers in prop::collection::vec(server(), 0..4)) {
        let mut distinct: Vec<Server> = Vec::new();
        for server in servers {
            if !distinct.iter().any(|s| s.name == server.name) {
                distinct.push(server);
            }
        }
        let text = to_yaml(&distinct, "header");
        let again = loaded(&text);
        prop_assert_eq!(without_origin(&again), without_origin(&distinct), "{}", text);
    }
}

#[test]
fn what_is_shown_has_the_references_and_no_secret() {
    let text = "servers:\n  a:\n    command: a\n    args: [--token, hush, \"--key=${KEY}\", \"postgres://ada:hush@db/x\", fast]\n    env: {API_TOKEN: hush, MODE: fast, OTHER_TOKEN: \"${T:-hush}\", URL: \"https://x/?api_key=hush\"}\n  r:\n    url: https://x.example/mcp\n    headers: {Authorization: \"Bearer ${T}\", X-Api-Key: hush}\n";
    let source = Source::new("toolcrib.yaml", text);
    let file = file::parse(&source, Format::Yaml, Shape::Whole).unwrap();
    let shown = to_shown_yaml(&file.servers, "");
    assert!(!shown.contains("hush"), "{shown}");
    for line in [
        "args: [\"--token\", \"***\", \"--key=${KEY}\", \"***\", fast]",
        "API_TOKEN: \"***\"",
        "MODE: \"fast\"",
        "OTHER_TOKEN: \"${T:-***}\"",
        "Authorization: \"Bearer ${T}\"",
        "X-Api-Key: \"***\"",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
}
