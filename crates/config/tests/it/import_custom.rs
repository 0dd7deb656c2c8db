//! The formats of the documents: servers and their tools by hand, and variables in them.

use toolcrib_config::import::Scope;
use toolcrib_config::model::server::Transport;

use crate::import::{check, fixture, read, show};

#[test]
fn the_documents_yaml_gives_tools_without_connecting() {
    check(
        "custom",
        "custom.yaml",
        Scope::User,
        &[
            "github $ npx -y @modelcontextprotocol/server-github title:GitHub MCP Server tool:create_issue tool:list_repos",
            "hosted http https://hosted.example.com/mcp Authorization=Bearer ${HOSTED_TOKEN} tool:search",
        ],
        &[],
    );
    let imported = read("custom", "x.yaml", &fixture("custom.yaml"), Scope::User);
    assert_eq!(
        imported.servers[0].description.as_deref(),
        Some("GitHub API integration")
    );
    assert_eq!(
        imported.servers[0].tools[0].description,
        "Create a GitHub issue"
    );
    let search = &imported.servers[1].tools[0];
    assert_eq!(search.tags, ["search"]);
    assert_eq!(
        search.input_schema.as_ref().unwrap()["properties"]["q"]["type"],
        "string"
    );
    assert_eq!(imported.diagnostics, []);
}

#[test]
fn the_documents_yaml_may_also_be_a_list_or_a_clients_map() {
    let list = "servers:\n  - name: a\n    description: A\n    connection: { type: stdio, command: x }\n    tools: [one]\n";
    let imported = read("custom", "x.yaml", list, Scope::User);
    assert_eq!(
        imported.servers.iter().map(show).collect::<Vec<_>>(),
        ["a $ x tool:one"]
    );
    let flat = "discovery:\n  servers:\n    a: { command: x, tools: [{name: t}] }\n";
    let imported = read("custom", "x.yaml", flat, Scope::User);
    assert_eq!(
        imported.servers.iter().map(show).collect::<Vec<_>>(),
        ["a $ x tool:t"]
    );
    let map = "mcpServers:\n  a: { command: x }\n";
    let imported = read("custom", "x.yaml", map, Scope::User);
    assert_eq!(
        imported.servers.iter().map(show).collect::<Vec<_>>(),
        ["a $ x"]
    );
    assert_eq!(
        read("custom", "x.yaml", "servers:\n", Scope::User).servers,
        []
    );
}

#[test]
fn variables_of_the_documented_formats_are_expanded_when_a_server_is_started() {
    let lookup = |name: &str| (name == "GITHUB_TOKEN").then(|| "from-the-environment".to_owned());
    for (id, name, variable) in [
        ("docker-mcp", "docker-mcp.json", "GITHUB_TOKEN"),
        (
            "claude-desktop",
            "claude-desktop.json",
            "GITHUB_PERSONAL_ACCESS_TOKEN",
        ),
        ("windsurf", "windsurf.2.json", "GITHUB_TOKEN"),
    ] {
        let imported = read(id, name, &fixture(name), Scope::User);
        let github = imported
            .servers
            .iter()
            .find(|s| s.name == "github")
            .unwrap();
        let Transport::Stdio(stdio) = &github.transport else {
            panic!("{name}: {:?}", github.transport)
        };
        let value = &stdio.env[variable];
        assert_eq!(
            value.expand(&lookup).unwrap().expose(),
            "from-the-environment",
            "{name}"
        );
        let unset = value.expand(&|_| None).unwrap_err();
        assert_eq!(
            unset.to_string(),
            "the environment variable GITHUB_TOKEN is not set"
        );
    }
}

#[test]
fn a_tool_without_a_name_keeps_its_server_out_and_says_so() {
    for tool in ["{name: ''}", "''", "{description: d}"] {
        let text = format!("servers:\n  a: {{ command: x, tools: [{tool}] }}\n");
        let imported = read("custom", "x.yaml", &text, Scope::User);
        assert_eq!(imported.servers, [], "{tool}");
        assert!(
            imported.diagnostics[0].message.contains("`tools[0]`"),
            "{tool}: {:?}",
            imported.diagnostics
        );
    }
}
