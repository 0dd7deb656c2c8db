//! A server put into a configuration of ours.

use std::path::Path;

use toolcrib_config::Source;
use toolcrib_config::export::ExportError;
use toolcrib_config::export::addition::{add_server, install};
use toolcrib_config::export::install::Written;
use toolcrib_config::file::{self, Shape};
use toolcrib_config::model::Server;
use toolcrib_config::model::server::{
    Handling, Isolation, Origin, Remote, StaticTool, Stdio, Transport,
};
use toolcrib_config::placeholder::Template;
use toolcrib_config::reader::Format;

fn origin() -> Origin {
    Origin {
        kind: "registry".into(),
        path: "io.github.ada/weather".into(),
        line: 0,
    }
}

fn weather() -> Server {
    let stdio = Stdio {
        command: Template::literal("npx"),
        args: vec![
            Template::literal("-y"),
            Template::literal("@ada/weather@2.0.0"),
            Template::literal("--place=").then_variable("PLACE", Some("here".into())),
        ],
        env: [("KEY".to_owned(), Template::variable("KEY").sensitive())]
            .into_iter()
            .collect(),
        env_file: None,
        cwd: None,
        inherit_env: false,
    };
    let mut server = Server::new("weather", Transport::Stdio(stdio), origin());
    server.description = Some("Weather: \"of any place\" # really".into());
    server.enabled = false;
    server
}

fn remote() -> Server {
    let remote = Remote {
        url: Template::literal("https://")
            .then_variable("REGION", Some("eu".into()))
            .then_literal(".example/mcp"),
        headers: [(
            "Authorization".to_owned(),
            Template::literal("Bearer ")
                .then_variable("TOKEN", None)
                .sensitive(),
        )]
        .into_iter()
        .collect(),
    };
    Server::new("issues", Transport::Sse(remote), origin())
}

/// A server with every field set.
fn full() -> Server {
    let mut server = weather();
    if let Transport::Stdio(stdio) = &mut server.transport {
        stdio.env_file = Some(Template::literal(".env"));
        stdio.cwd = Some(Template::literal("/work/project"));
        stdio.inherit_env = true;
    }
    server.title = Some("Weather".into());
    server.aliases = vec!["sky".into()];
    server.include_tools = vec!["get_*".into()];
    server.exclude_tools = vec!["*_all".into()];
    server.tools = vec![StaticTool {
        name: "get".into(),
        description: "Gets.".into(),
        input_schema: Some(serde_json::json!({"type": "object"})),
        tags: vec!["a".into()],
    }];
    server.handling = Handling {
        trusted: true,
        isolation: Some(Isolation::Session),
        call_timeout_ms: Some(1_000),
        start_timeout_ms: Some(2_000),
        idle_close_ms: Some(0),
        rate_per_second: Some(3),
        rate_burst: Some(4),
        retries: Some(5),
        bearer: Some(Template::variable("BEARER").sensitive()),
        oauth: true,
    };
    server
}

fn servers(path: &str, text: &str) -> Vec<Server> {
    let source = Source::new(path, text);
    let format = Format::of(Path::new(path)).unwrap();
    let file = file::parse(&source, format, Shape::Whole).unwrap();
    assert!(!file.is_broken(), "{text}\n{:?}", file.diagnostics);
    let mut servers = file.servers;
    for server in &mut servers {
        server.origin = origin();
    }
    servers
}

#[test]
fn what_was_there_keeps_every_byte() {
    let check = |path: &str, before: &str, expect: &str| {
        let after = add_server(Path::new(path), Some(before), &remote()).unwrap();
        assert_eq!(after, expect, "{path}");
    };
    check(
        "a.yaml",
        "# mine\nservers:\n  a: {command: a} # first\n\ntoolRules: []\n",
        "# mine\nservers:\n  a: {command: a} # first\n  issues:\n    type: sse\n    url: \"https://${REGION:-eu}.example/mcp\"\n    headers:\n      Authorization: \"Bearer ${TOKEN}\"\n\ntoolRules: []\n",
    );
    check(
        "a.yaml",
        "servers:\n  - name: a\n    command: a\n",
        "servers:\n  - name: a\n    command: a\n  - name: issues\n    type: sse\n    url: \"https://${REGION:-eu}.example/mcp\"\n    headers:\n      Authorization: \"Bearer ${TOKEN}\"\n",
    );
    check(
        "a.toml",
        "[servers.a]\ncommand = \"a\" # first\n",
        "[servers.a]\ncommand = \"a\" # first\n\n[servers.issues]\ntype = \"sse\"\nurl = \"https://${REGION:-eu}.example/mcp\"\n\n[servers.issues.headers]\nAuthorization = \"Bearer ${TOKEN}\"\n",
    );
    check(
        "a.json",
        "{\"servers\": {\"a\": {\"command\": \"a\"}}}",
        "{\"servers\": {\"a\": {\"command\": \"a\"}, \"issues\": {\"type\": \"sse\", \"url\": \"https://${REGION:-eu}.example/mcp\", \"headers\": {\"Authorization\": \"Bearer ${TOKEN}\"}}}}",
    );
}

#[test]
fn wherever_servers_stand_the_new_one_is_among_them() {
    for (path, before) in [
        ("a.yaml", "enabled: true\n"),
        ("a.yaml", "servers: {}\n"),
        ("a.yaml", "servers:\n"),
        ("a.yaml", "servers: {a: {command: a}}\n"),
        ("a.yaml", "mcpServers:\n  a:\n    command: a"),
        ("a.yaml", "discovery:\n  enabled: true\n"),
        ("a.yaml", "discovery: {servers: {a: {command: a}}}\n"),
        ("a.yaml", ""),
        (
            "a.json",
            "{\n  \"discovery\": {\n    \"servers\": {}\n  }\n}\n",
        ),
        (
            "a.jsonc",
            "// mine\n{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a\"}, // first\n  },\n}\n",
        ),
        ("a.json", ""),
        ("a.toml", "enabled = true\n"),
        ("a.toml", ""),
    ] {
        for server in [weather(), remote()] {
            let after = add_server(Path::new(path), Some(before), &server)
                .unwrap_or_else(|error| panic!("{path} {before:?}: {error}"));
            let found = servers(path, &after);
            assert_eq!(found.last(), Some(&server), "{path} {before:?}\n{after}");
        }
    }
}

#[test]
fn every_field_of_a_server_is_written() {
    let (path, before) = ("a.json", "{\"servers\": {}}");
    let after = add_server(Path::new(path), Some(before), &full()).unwrap();
    assert_eq!(servers(path, &after), [full()]);
}

#[test]
fn a_new_file_keeps_the_servers_of_other_clients() {
    for path in ["a.yaml", "a.toml", "a.json"] {
        let text = add_server(Path::new(path), None, &weather()).unwrap();
        let source = Source::new(path, text.as_str());
        let format = Format::of(Path::new(path)).unwrap();
        let file = file::parse(&source, format, Shape::Whole).unwrap();
        assert!(file.settings.imports.auto, "{text}");
        assert_eq!(file.servers.len(), 1);
    }
}

#[test]
fn what_cannot_be_edited_is_left_alone() {
    let unsafe_to_edit = [
        ("a.ts", "export default { servers: {} }"),
        ("anygpt.config.yaml", "discovery: {}\n"),
        ("a.yaml", "discovery:\n  servers:\n    a: {command: a}\n"),
        ("a.yaml", "enabled: true\rservers: {}\r"),
        (
            "a.json",
            "{\"servers\": [{\"name\": \"a\", \"command\": \"a\"}]}",
        ),
        ("a.toml", "[discovery.servers.a]\ncommand = \"a\"\n"),
    ];
    for (path, before) in unsafe_to_edit {
        let refused = add_server(Path::new(path), Some(before), &weather());
        assert!(
            matches!(refused, Err(ExportError::Unsafe { .. })),
            "{path} {before:?}: {refused:?}"
        );
    }
    let broken = add_server(Path::new("a.yaml"), Some("servers: ["), &weather());
    assert!(matches!(broken, Err(ExportError::Broken { .. })));
    let wrong = add_server(Path::new("a.yaml"), Some("servers: 7\n"), &weather());
    assert!(matches!(wrong, Err(ExportError::Broken { .. })));
    let taken = add_server(
        Path::new("a.yaml"),
        Some("servers: {weather: {command: a}}\n"),
        &weather(),
    );
    assert!(matches!(taken, Err(ExportError::Occupied { .. })));
}

#[test]
fn a_backup_is_kept_beside_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("toolcrib.yaml");
    let written = install(&path, &weather(), "20260131T120000Z").unwrap();
    assert_eq!(written, Written::Created);
    let before = std::fs::read_to_string(&path).unwrap();
    let Written::Changed(backup) = install(&path, &remote(), "20260131T120001Z").unwrap() else {
        panic!("it was there");
    };
    assert_eq!(std::fs::read_to_string(backup).unwrap(), before);
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(servers("a.yaml", &text), [weather(), remote()]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn a_byte_order_mark_stays_where_it_is() {
    let text = "\u{feff}servers:\n  a: {command: a}\n";
    let new = add_server(Path::new("toolcrib.yaml"), Some(text), &weather()).unwrap();
    assert!(new.starts_with(text), "{new:?}");
    assert!(new.contains("\n  weather:"), "{new:?}");
}
