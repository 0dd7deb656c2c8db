//! The search order, trust, defaults, and what keeps a configuration from loading.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use toolcrib_config::load::{self, Config, Request, SourceState};
use toolcrib_config::trust::TrustStore;
use toolcrib_config::{Os, Severity, Surroundings};
use toolcrib_core::policy::{Risk, Rulebook, ServerFacts};
use toolcrib_core::{Tool, ToolId};

/// A home directory and a working directory of their own.
pub(crate) struct Stage {
    root: TempDir,
    env: HashMap<String, String>,
    explicit: Option<PathBuf>,
    trust: TrustStore,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for name in ["home", "project"] {
            std::fs::create_dir(root.path().join(name)).unwrap();
        }
        let trust = TrustStore::open(root.path().join("trust.json")).unwrap();
        Self {
            root,
            env: HashMap::new(),
            explicit: None,
            trust,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn write(&mut self, name: &str, text: &str) -> &mut Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn trusted(&mut self, name: &str, text: &str) -> &mut Self {
        self.write(name, text);
        let path = self.path(name);
        self.trust.trust(&path, text);
        self
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) -> &mut Self {
        self.env.insert(name.into(), value.into());
        self
    }

    pub(crate) fn explicit(&mut self, name: &str) -> &mut Self {
        self.explicit = Some(self.path(name));
        self
    }

    pub(crate) fn surroundings(&self) -> Surroundings {
        let env = self.env.clone();
        Surroundings::new(
            Os::Linux,
            self.path("home"),
            self.path("project"),
            move |name| env.get(name).cloned(),
        )
    }

    pub(crate) fn load(&self) -> Result<Config, load::Failure> {
        load::load(&Request {
            surroundings: &self.surroundings(),
            explicit: self.explicit.clone(),
            trust: &self.trust,
        })
    }

    pub(crate) fn inspect(&self) -> (Config, Vec<toolcrib_config::Diagnostic>) {
        load::inspect(&Request {
            surroundings: &self.surroundings(),
            explicit: self.explicit.clone(),
            trust: &self.trust,
        })
    }

    /// The messages that keep it from loading.
    pub(crate) fn errors(&self) -> Vec<String> {
        let failure = self.load().unwrap_err();
        failure
            .diagnostics
            .iter()
            .filter(|d| d.severity == Severity::Error)
            .map(|d| d.message.clone())
            .collect()
    }
}

const NAMED: &str = "servers: {NAME: {command: run}}";

fn named(name: &str) -> String {
    NAMED.replace("NAME", name)
}

pub(crate) fn server_names(config: &Config) -> Vec<&str> {
    config.servers.iter().map(|s| s.name.as_str()).collect()
}

#[test]
fn without_any_file_the_documented_defaults_hold() {
    let config = Stage::new().load().unwrap();
    assert_eq!(config.path, None);
    assert!(config.settings.enabled.0);
    let cache = config.settings.cache.clone().unwrap_or_default();
    assert_eq!((cache.enabled, cache.ttl), (true, 3600));
    assert!(config.settings.sources.is_empty());
    assert!(config.settings.tool_rules.is_empty());
    assert!(config.rules.verdict("any", "tool", &[]).verdict.enabled);
    assert!(
        config
            .sources
            .iter()
            .all(|s| s.state == SourceState::NotFound)
    );
    assert_eq!(config.diagnostics, []);
}

#[test]
fn the_first_file_of_the_search_order_wins() {
    let own = named("x");
    let json = r#"{"servers":{"x":{"command":"run"}}}"#;
    let script = "export default { servers: { x: { command: 'run' } } };";
    let section =
        "export default config({ other: 1, discovery: { servers: { x: { command: 'run' } } } });";
    let order: &[(&str, &str)] = &[
        ("project/toolcrib.yaml", &own),
        ("project/toolcrib.yml", &own),
        ("project/toolcrib.toml", "[servers.x]\ncommand = 'run'\n"),
        ("project/toolcrib.json", json),
        ("project/toolcrib.jsonc", json),
        ("project/.toolcrib/toolcrib.yaml", &own),
        ("home/.config/toolcrib/toolcrib.yaml", &own),
        ("project/.anygpt/mcp-discovery.config.ts", script),
        ("project/.anygpt/mcp-discovery.config.json", json),
        ("project/anygpt.config.ts", section),
        ("home/.anygpt/mcp-discovery.config.ts", script),
        ("home/.anygpt/mcp-discovery.config.yaml", &own),
    ];
    let mut stage = Stage::new();
    for (name, text) in order.iter().rev() {
        stage.trusted(name, text);
        let config = stage.load().unwrap_or_else(|f| panic!("{name}: {f}"));
        assert_eq!(
            config.path.as_deref(),
            Some(stage.path(name).as_path()),
            "{name}"
        );
        assert_eq!(server_names(&config), ["x"], "{name}");
    }
}

#[test]
fn a_second_file_beside_the_chosen_one_is_reported() {
    let mut stage = Stage::new();
    stage
        .trusted("project/toolcrib.yaml", &named("a"))
        .trusted("project/toolcrib.json", r#"{"servers":{}}"#);
    let config = stage.load().unwrap();
    assert!(
        config
            .diagnostics
            .iter()
            .any(|d| d.message.contains("toolcrib.json is not read"))
    );
}

#[test]
fn a_file_without_our_section_is_passed_over() {
    let mut stage = Stage::new();
    stage
        .trusted(
            "project/anygpt.config.ts",
            "export default { providers: {} };",
        )
        .write(
            "home/.anygpt/mcp-discovery.config.ts",
            "export default { discovery: { enabled: false } };",
        );
    let config = stage.load().unwrap();
    assert!(!config.settings.enabled.0);
}

#[test]
fn the_mcp_section_holds_servers_as_a_map_or_a_list() {
    for section in ["{ a: { command: 'x' } }", "[{ name: 'a', command: 'x' }]"] {
        let mut stage = Stage::new();
        stage.trusted(
            "project/anygpt.config.js",
            &format!("module.exports = {{ mcp: {section} }};"),
        );
        assert_eq!(server_names(&stage.load().unwrap()), ["a"], "{section}");
    }
    let mut stage = Stage::new();
    stage.trusted(
        "project/anygpt.config.js",
        "module.exports = { mcp: [{ command: 'x' }] };",
    );
    assert_eq!(
        stage.errors(),
        [r#"MCP server in array format must have a "name" field"#]
    );
}

#[test]
fn an_explicit_path_overrides_the_search_order_and_needs_no_trust() {
    let mut stage = Stage::new();
    stage
        .trusted("project/toolcrib.yaml", &named("found"))
        .write("project/other.yaml", &named("given"))
        .explicit("project/other.yaml");
    assert_eq!(server_names(&stage.load().unwrap()), ["given"]);
    stage
        .write("home/.cursor/mcp.json", "{")
        .explicit("project/nowhere.yaml");
    assert!(stage.errors()[0].contains("nowhere.yaml is not there"));
    assert_eq!(
        stage.inspect().1.len(),
        1,
        "other clients are no matter here"
    );
    stage.write("project/x.ini", "").explicit("project/x.ini");
    assert!(stage.errors()[0].contains("no known kind of configuration file"));
    stage
        .write("project/anygpt.config.json", "{}")
        .explicit("project/anygpt.config.json");
    assert!(stage.errors()[0].contains("neither a `discovery` nor an `mcp` section"));
}

#[test]
fn a_project_file_is_not_used_until_its_exact_content_is_trusted() {
    let mut stage = Stage::new();
    stage.write("project/toolcrib.yaml", &named("x"));
    let config = stage.load().unwrap();
    assert_eq!(config.path, None);
    assert!(
        config.diagnostics[0]
            .message
            .contains("is not trusted and is not used")
    );
    stage.trusted("project/toolcrib.yaml", &named("x"));
    assert_eq!(server_names(&stage.load().unwrap()), ["x"]);
    stage.write("project/toolcrib.yaml", &named("y"));
    let config = stage.load().unwrap();
    assert_eq!(server_names(&config), Vec::<&str>::new());
    assert!(
        config.diagnostics[0]
            .message
            .contains("has changed since it was trusted")
    );
}

#[test]
fn a_file_that_a_project_names_inside_the_project_needs_trust_too() {
    let mut stage = Stage::new();
    let custom = "servers: {github: {connection: {type: stdio, command: npx}}}";
    stage
        .trusted(
            "project/toolcrib.yaml",
            "sources: [{type: custom, path: ./mcp-servers.yaml}]",
        )
        .write("project/mcp-servers.yaml", custom);
    let config = stage.load().unwrap();
    assert_eq!(config.sources[0].state, SourceState::Untrusted);
    assert!(config.servers.is_empty());
    stage.trusted("project/mcp-servers.yaml", custom);
    let config = stage.load().unwrap();
    assert_eq!(config.sources[0].state, SourceState::Read(1));
    assert_eq!(server_names(&config), ["github"]);
}

#[test]
fn a_project_file_cannot_relax_what_the_users_file_sets() {
    let mut stage = Stage::new();
    stage
        .write(
            "home/.config/toolcrib/toolcrib.yaml",
            "policy: {mode: strict, confirmation: human, elicitation: false, approval: all, loopbackScopes: ['github:read']}\n\
             audit: {parameters: true}\n\
             toolRules: [{pattern: ['*delete*'], enabled: false}]\n",
        )
        .trusted(
            "project/toolcrib.yaml",
            "policy: {mode: relaxed, confirmation: flag, elicitation: true, approval: off, restCompat: true}\n\
             store: {path: /elsewhere}\n\
             servers: {own: {command: x, trusted: true}}\n\
             toolRules: [{pattern: ['*'], enabled: true}]\n",
        );
    let config = stage.load().unwrap();
    let policy = &config.settings.policy;
    assert_eq!(
        format!(
            "{:?} {:?} {:?}",
            policy.mode, policy.confirmation, policy.approval
        ),
        "Some(Strict) Some(Human) All"
    );
    assert_eq!(policy.loopback_scopes.len(), 1);
    assert!(!policy.rest_compat && !policy.elicitation);
    assert!(!config.servers[0].handling.trusted);
    assert_eq!(config.settings.store.path, None);
    assert!(config.settings.audit.parameters);
    assert!(
        !config
            .rules
            .verdict("github", "delete_repo", &[])
            .verdict
            .enabled
    );
    assert!(
        config
            .rules
            .verdict("github", "create_issue", &[])
            .verdict
            .enabled
    );
}

#[test]
fn a_project_override_cannot_switch_off_what_the_users_file_sets() {
    let overrides = "policy: {overrides: [{pattern: ['*'], risk: low, idempotencyRequired: false, \
                     confirmationRequired: false, requiredScopes: []}]}\n";
    let judged = |user: &str| {
        let mut stage = Stage::new();
        stage
            .write("home/.config/toolcrib/toolcrib.yaml", user)
            .trusted("project/toolcrib.yaml", overrides);
        let config = stage.load().unwrap();
        let rulebook = Rulebook::compile(&config.settings.policy).unwrap();
        let id = ToolId::new("github", "delete_repo");
        rulebook.metadata(
            &Tool::new(id, "", serde_json::json!({})),
            &ServerFacts::default(),
        )
    };
    let held = judged("policy: {mode: strict, confirmation: human}\n");
    assert_eq!(held.risk, Risk::Destructive);
    assert!(held.idempotency_required && held.confirmation_required);
    assert_eq!(held.required_scopes.len(), 1);
    let free = judged("servers: {}\n");
    assert_eq!(free.risk, Risk::Low);
}

#[test]
fn a_broken_file_is_an_error_and_never_the_defaults() {
    for (name, text) in [
        ("project/toolcrib.yaml", "servers: [unclosed"),
        ("project/toolcrib.json", "{\"servers\": }"),
        ("project/toolcrib.toml", "= 1"),
        (
            "project/anygpt.config.ts",
            "export default { discovery: { enabled: check() } };",
        ),
        ("project/toolcrib.yaml", "- a list"),
    ] {
        let mut stage = Stage::new();
        stage.trusted(name, text);
        let failure = stage.load().unwrap_err();
        let shown = failure.to_string();
        assert!(shown.contains(name.rsplit('/').next().unwrap()), "{shown}");
        assert!(failure.diagnostics[0].position().is_some(), "{shown}");
    }
}

#[test]
fn a_directory_in_place_of_the_file_is_said() {
    let mut stage = Stage::new();
    std::fs::create_dir(stage.path("project/toolcrib.yaml")).unwrap();
    stage.explicit("project/toolcrib.yaml");
    assert!(
        stage.errors()[0].contains("directory"),
        "{:?}",
        stage.errors()
    );
}

#[test]
fn everything_wrong_with_a_file_is_said_at_once() {
    let mut stage = Stage::new();
    stage.trusted(
        "project/toolcrib.yaml",
        "enabeld: true\n\
         toolRules:\n  - pattern: x\n    server: 1\n    enabled: 'no'\n\
         search: {minConfidence: 2}\n\
         mode: lasy\n\
         servers:\n  a: {}\n  b: {command: x, url: y}\n",
    );
    let failure = stage.load().unwrap_err();
    let shown = failure.to_string();
    for expected in [
        "unknown key `enabeld`",
        "did you mean `enabled`?",
        "toolRules[0].pattern must be an array",
        "toolRules[0].server must be a string",
        "toolRules[0].enabled must be a boolean",
        "search.minConfidence must be from 0 to 1",
        "mode must be `lazy`, `full` or `flat`",
        "did you mean `lazy`?",
    ] {
        assert!(shown.contains(expected), "missing {expected:?} in\n{shown}");
    }
    assert!(failure.diagnostics.iter().all(|d| d.position().is_some()));
}

#[test]
fn servers_that_cannot_be_reached_are_named() {
    let mut stage = Stage::new();
    stage.trusted(
        "project/toolcrib.yaml",
        "servers:\n  a: {}\n  b: {command: x, url: y}\n  'c:d': {command: x}\n  e: {type: sse, command: x}\n  f: {type: stdio, url: y}\n",
    );
    assert_eq!(
        stage.errors(),
        [
            "the server \"a\" needs a command to start or a url to connect to",
            "the server \"b\" has both a command and a url; keep the one that is meant",
            "the server name \"c:d\" has a `:`, which separates server and tool",
            "the server \"e\" says type sse but has a command",
            "the server \"f\" says type stdio but has a url",
        ]
    );
}

#[test]
fn with_no_file_the_known_clients_are_used_and_a_broken_one_is_a_warning() {
    let mut stage = Stage::new();
    stage
        .write(
            "home/.cursor/mcp.json",
            r#"{"mcpServers":{"github":{"command":"npx","args":["-y","x"]}}}"#,
        )
        .write("home/.lmstudio/mcp.json", "{ broken");
    let config = stage.load().unwrap();
    assert_eq!(server_names(&config), ["github"]);
    assert!(config.diagnostics.iter().any(|d| {
        d.severity == Severity::Warning
            && d.source
                .as_ref()
                .is_some_and(|s| s.path().ends_with("mcp.json"))
    }));
}

#[test]
fn an_imported_entry_that_points_at_our_own_address_is_left_out() {
    let mut stage = Stage::new();
    stage
        .write(
            "home/.cursor/mcp.json",
            r#"{"mcpServers":{"crib":{"url":"http://localhost:7991/mcp"},"usual":{"url":"http://127.0.0.1:7332/mcp"}}}"#,
        )
        .write(
            "home/.config/toolcrib/toolcrib.yaml",
            "http: {listen: '127.0.0.1:7991'}\nsources: [{type: cursor}]\n",
        );
    assert_eq!(server_names(&stage.load().unwrap()), ["usual"]);
}

#[test]
fn named_sources_are_imported_merged_and_a_missing_one_is_a_warning() {
    let mut stage = Stage::new();
    stage
        .write("home/.cursor/mcp.json", r#"{"mcpServers":{"github":{"command":"npx","args":["a"]},"fs":{"command":"fs"}}}"#)
        .write("home/.docker/mcp-servers.json", r#"{"mcpServers":{"github":{"command":"docker"}}}"#)
        .write(
            "home/.config/toolcrib/toolcrib.yaml",
            "sources:\n  - {type: docker-mcp, path: '~/.docker/mcp-servers.json'}\n  - {type: cursor}\n  - {type: windsurf, path: '~/.windsurf/mcp.json'}\nservers: {own: {command: fs}}\n",
        );
    let config = stage.load().unwrap();
    assert_eq!(server_names(&config), ["own", "github", "github-cursor"]);
    assert_eq!(config.servers[0].aliases, ["fs"]);
    let said: Vec<&str> = config
        .diagnostics
        .iter()
        .map(|d| d.message.as_str())
        .collect();
    assert!(
        said.iter()
            .any(|m| m.contains("~/.windsurf/mcp.json (windsurf) is not there")),
        "{said:?}"
    );
    assert!(
        said.iter().any(|m| m.contains("is another server than")),
        "{said:?}"
    );
}

#[test]
fn a_source_of_an_unknown_kind_or_broken_file_is_an_error() {
    let mut stage = Stage::new();
    stage.write(
        "home/.config/toolcrib/toolcrib.yaml",
        "sources: [{type: cursro}]",
    );
    let failure = stage.load().unwrap_err().to_string();
    assert!(failure.contains("did you mean `cursor`?"), "{failure}");
    stage.write("home/x.json", "{").write(
        "home/.config/toolcrib/toolcrib.yaml",
        "sources: [{type: cursor, path: '~/x.json'}]",
    );
    assert!(stage.load().is_err());
    stage.write(
        "home/.config/toolcrib/toolcrib.yaml",
        "sources: [{type: custom}]",
    );
    assert!(
        stage.errors()[0].contains("needs a path"),
        "{:?}",
        stage.errors()
    );
}

#[test]
fn server_rules_switch_servers_off() {
    let mut stage = Stage::new();
    stage.write(
        "home/.config/toolcrib/toolcrib.yaml",
        "servers: {a: {command: x}, b: {command: y}}\nserverRules: [{pattern: [b], enabled: false}]\n",
    );
    let config = stage.load().unwrap();
    let on: Vec<bool> = config.servers.iter().map(|s| s.enabled).collect();
    assert_eq!(on, [true, false]);
}

#[test]
fn rules_that_cannot_be_read_are_errors_and_never_enable_anything() {
    for server in ["''", "'git[z-a]'"] {
        let mut stage = Stage::new();
        stage.write(
            "home/.config/toolcrib/toolcrib.yaml",
            &format!("toolRules: [{{pattern: ['*x*'], server: {server}, enabled: false}}]"),
        );
        assert!(
            stage.errors()[0].starts_with("toolRules: rule 1"),
            "{server}"
        );
        let (config, said) = stage.inspect();
        assert!(said.iter().all(|d| d.position().is_some()));
        assert!(!config.rules.verdict("any", "tool", &[]).verdict.enabled);
    }
    let many = vec!["{pattern: [a], enabled: false}"; 10_001].join(", ");
    let mut stage = Stage::new();
    stage.write(
        "home/.config/toolcrib/toolcrib.yaml",
        &format!("serverRules: [{many}]\nservers: {{a: {{command: x}}}}"),
    );
    assert!(stage.errors()[0].contains("one too many"));
    assert!(!stage.inspect().0.servers[0].enabled);
}

#[test]
fn every_place_that_was_looked_at_is_watched() {
    let config = Stage::new().load().unwrap();
    for tail in [
        "project/toolcrib.yaml",
        ".config/toolcrib/toolcrib.json",
        ".cursor/mcp.json",
    ] {
        assert!(
            config.watched.iter().any(|p| p.ends_with(Path::new(tail))),
            "{tail}"
        );
    }
}
