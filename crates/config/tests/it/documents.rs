//! Configurations exactly as the specification documents print them.

use toolcrib_config::Config;

use crate::load::Stage;

fn load(name: &str, text: &str) -> Config {
    let mut stage = Stage::new();
    stage
        .write(
            "home/.docker/mcp-servers.json",
            r#"{"mcpServers": {
                "github": {"command": "docker", "args": ["exec", "mcp-github", "mcp-github"], "env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}"}},
                "filesystem": {"command": "docker", "args": ["exec", "mcp-filesystem", "mcp-filesystem"]}
            }}"#,
        )
        .trusted(name, text);
    stage.load().unwrap_or_else(|f| panic!("{f}"))
}

/// Server, tool, whether it is enabled, and its tags.
fn check(config: &Config, expected: &[(&str, &str, bool, &[&str])]) {
    for (server, tool, enabled, tags) in expected {
        let found = config.rules.verdict(server, tool, &[]).verdict;
        assert_eq!(found.enabled, *enabled, "{server}:{tool}");
        assert_eq!(found.tags, *tags, "{server}:{tool}");
    }
}

const SOURCES: &str =
    "  sources:\n    - type: 'docker-mcp'\n      path: '~/.docker/mcp-servers.json'\n";

fn example(rules: &str) -> Config {
    load(
        "project/toolcrib.yaml",
        &format!("discovery:\n  enabled: true\n{SOURCES}  toolRules:\n{rules}"),
    )
}

#[test]
fn example_1_enables_every_tool_of_the_docker_toolkit() {
    let config = example("    - pattern: ['*']\n      enabled: true\n");
    assert_eq!(config.servers.len(), 2);
    assert_eq!(config.servers[0].origin.kind, "docker-mcp");
    check(&config, &[("github", "delete_repo", true, &[])]);
}

#[test]
fn example_2_enables_only_what_it_lists() {
    let config = example(
        "    - server: 'github'\n      pattern: ['*issue*']\n      enabled: true\n      tags: ['github', 'issues']\n\
         \x20   - server: 'filesystem'\n      pattern: ['*read*', '*list*']\n      enabled: true\n      tags: ['filesystem', 'safe']\n\
         \x20   - pattern: ['*delete*', '*remove*', '*rm*']\n      enabled: false\n      tags: ['dangerous']\n",
    );
    check(
        &config,
        &[
            ("github", "create_issue", true, &["github", "issues"]),
            (
                "github",
                "delete_issue",
                true,
                &["github", "issues", "dangerous"],
            ),
            ("github", "list_repos", false, &[]),
            ("filesystem", "read_file", true, &["filesystem", "safe"]),
            ("filesystem", "remove_file", false, &["dangerous"]),
        ],
    );
}

#[test]
fn example_3_merges_sources_and_denies_over_the_default() {
    let config = load(
        "project/toolcrib.yaml",
        "discovery:\n  sources:\n    - type: 'docker-mcp'\n      path: '~/.docker/mcp-servers.json'\n\
         \x20   - type: 'claude-desktop'\n      path: '~/Library/Application Support/Claude/claude_desktop_config.json'\n\
         \x20 toolRules:\n    - pattern: ['*']\n      enabled: true\n    - pattern: ['*delete*', '*destroy*']\n      enabled: false\n",
    );
    assert_eq!(config.sources.len(), 2);
    check(
        &config,
        &[
            ("github", "create_issue", true, &[]),
            ("github", "delete_repo", false, &[]),
        ],
    );
}

#[test]
fn example_4_reads_regular_expressions() {
    let config = example(
        "    - server: 'github'\n      pattern: ['/^(create|update)_/']\n      enabled: true\n      tags: ['github', 'write']\n\
         \x20   - server: 'filesystem'\n      pattern: [\"/\\\\b(read|list|get)\\\\b/i\"]\n      enabled: true\n      tags: ['filesystem', 'read']\n\
         \x20   - pattern: ['/(delete|remove|destroy)/i']\n      enabled: false\n      tags: ['dangerous']\n",
    );
    check(
        &config,
        &[
            ("github", "create_issue", true, &["github", "write"]),
            ("github", "list_issues", false, &[]),
            ("filesystem", "READ file", true, &["filesystem", "read"]),
            ("filesystem", "Delete_File", false, &["dangerous"]),
        ],
    );
}

#[test]
fn the_advanced_typescript_configuration_loads_as_written() {
    let text = "// anygpt.config.ts\nexport default {\n  discovery: {\n    enabled: true,\n    cache: {\n      enabled: true,\n      ttl: 3600\n    },\n\
                \x20   toolRules: [\n      {\n        pattern: ['*github*'],\n        enabled: true,\n        tags: ['github']\n      }\n    ]\n  }\n};\n";
    let config = load("project/anygpt.config.ts", text);
    assert_eq!(config.settings.cache.as_ref().map(|c| c.ttl), Some(3600));
    check(
        &config,
        &[
            ("any", "github_create", true, &["github"]),
            ("any", "other", false, &[]),
        ],
    );
}

#[test]
fn the_typescript_configuration_with_servers_loads_as_written() {
    let text = "export default config({\n  // ... existing config ...\n  discovery: {\n    enabled: true,\n    servers: [\n      {\n        name: 'github',\n\
                \x20       description: 'GitHub API integration',\n        connection: {\n          type: 'stdio',\n          command: 'npx',\n\
                \x20         args: ['-y', '@modelcontextprotocol/server-github'],\n        },\n      },\n    ],\n    toolRules: [\n      /* optional filtering */\n    ],\n  },\n});\n";
    let config = load("project/anygpt.config.ts", text);
    assert_eq!(config.servers.len(), 1);
    assert_eq!(config.servers[0].name, "github");
    assert_eq!(
        config.servers[0].description.as_deref(),
        Some("GitHub API integration")
    );
    let shown = format!("{:?}", config.servers[0].transport);
    assert!(
        shown.contains("\"npx\"") && shown.contains("server-github"),
        "{shown}"
    );
}

#[test]
fn the_mixed_example_of_all_fields_loads_in_every_format_to_the_same() {
    let yaml = "cache: {enabled: false, ttl: 7200}\nservers: {a: {command: x, env: {K: 'v'}}}\ntoolRules: [{pattern: ['*github*', '/issue/', '!*delete*'], enabled: true, tags: [github, safe]}]\n";
    let json = r#"{"cache":{"enabled":false,"ttl":7200},"servers":{"a":{"command":"x","env":{"K":"v"}}},"toolRules":[{"pattern":["*github*","/issue/","!*delete*"],"enabled":true,"tags":["github","safe"]}]}"#;
    let toml = "[cache]\nenabled = false\nttl = 7200\n[servers.a]\ncommand = 'x'\nenv = { K = 'v' }\n[[toolRules]]\npattern = ['*github*', '/issue/', '!*delete*']\nenabled = true\ntags = ['github', 'safe']\n";
    let script = format!("export default {json};");
    let first = load("project/toolcrib.yaml", yaml);
    for (name, text) in [
        ("project/toolcrib.json", json),
        ("project/toolcrib.jsonc", json),
        ("project/toolcrib.toml", toml),
        ("project/.anygpt/mcp-discovery.config.ts", &script),
        ("project/.anygpt/mcp-discovery.config.js", &script),
    ] {
        let other = load(name, text);
        assert_eq!(other.settings, first.settings, "{name}");
        assert!(
            toolcrib_config::Difference::between(&first, &other).is_empty(),
            "{name}"
        );
    }
}
