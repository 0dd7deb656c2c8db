//! Importing the files of every client.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use toolcrib_config::import::{self, CLIENTS, Client, Scope};
use toolcrib_config::model::server::{Remote, Server, Transport};
use toolcrib_config::placeholder::Template;
use toolcrib_config::{Os, Source, Surroundings};

/// The text of a fixture.
pub(crate) fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/clients")
        .join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A place without any variables.
pub(crate) fn here() -> Surroundings {
    Surroundings::new(Os::Linux, "/home/ada", "/work/project", |_| None)
}

/// Reads text as a file of a client.
pub(crate) fn read(id: &str, path: &str, text: &str, scope: Scope) -> import::Imported {
    let client = Client::by_id(id).unwrap();
    import::read(client, &Source::new(path, text), scope, &here())
}

/// A server on one line, exactly.
pub(crate) fn show(server: &Server) -> String {
    let text = |template: &Template| template.exact().expose().to_owned();
    let mut out = server.name.clone();
    let pairs = |out: &mut String, map: &indexmap::IndexMap<String, Template>| {
        for (name, value) in map {
            let _ = write!(out, " {name}={}", text(value));
        }
    };
    match &server.transport {
        Transport::Stdio(stdio) => {
            let _ = write!(out, " $ {}", text(&stdio.command));
            for arg in &stdio.args {
                let _ = write!(out, " {}", text(arg));
            }
            pairs(&mut out, &stdio.env);
            for (label, path) in [("env-file", &stdio.env_file), ("cwd", &stdio.cwd)] {
                if let Some(path) = path {
                    let _ = write!(out, " {label}:{}", text(path));
                }
            }
        }
        Transport::Http(Remote { url, headers }) => {
            let _ = write!(out, " http {}", text(url));
            pairs(&mut out, headers);
        }
        Transport::Sse(Remote { url, headers }) => {
            let _ = write!(out, " sse {}", text(url));
            pairs(&mut out, headers);
        }
    }
    out + &show_rest(server)
}

fn show_rest(server: &Server) -> String {
    let mut out = String::new();
    if !server.enabled {
        out.push_str(" disabled");
    }
    if let Some(title) = &server.title {
        let _ = write!(out, " title:{title}");
    }
    for (label, tools) in [
        ("only", &server.include_tools),
        ("not", &server.exclude_tools),
    ] {
        if !tools.is_empty() {
            let _ = write!(out, " {label}:{}", tools.join(","));
        }
    }
    let handling = &server.handling;
    for (label, value) in [
        ("call", handling.call_timeout_ms),
        ("start", handling.start_timeout_ms),
        ("idle", handling.idle_close_ms),
    ] {
        if let Some(ms) = value {
            let _ = write!(out, " {label}:{ms}ms");
        }
    }
    if let Some(bearer) = &handling.bearer {
        let _ = write!(out, " bearer:{}", bearer.exact().expose());
    }
    if handling.oauth {
        out.push_str(" oauth");
    }
    for tool in &server.tools {
        let _ = write!(out, " tool:{}", tool.name);
    }
    out
}

/// Reads a fixture and compares the servers, and then what is skipped.
pub(crate) fn check(id: &str, name: &str, scope: Scope, servers: &[&str], skipped: &[&str]) {
    let path = match scope {
        Scope::User => format!("/home/ada/{name}"),
        Scope::Project => format!("/work/project/{}", Client::by_id(id).unwrap().project[0]),
    };
    let path = if path.ends_with("/*") {
        path.replace('*', "x.yaml")
    } else {
        path
    };
    let text = fixture(name).replace("@CWD@", "/work/project");
    let imported = read(id, &path, &text, scope);
    assert_eq!(
        imported.servers.iter().map(show).collect::<Vec<_>>(),
        servers,
        "{name}"
    );
    let left: Vec<String> = imported
        .skipped
        .iter()
        .map(|s| format!("{}: {}", s.name, s.reason))
        .collect();
    assert_eq!(left, skipped, "{name}");
    for server in &imported.servers {
        assert_eq!(server.origin.kind, id);
        assert_eq!(server.origin.path, PathBuf::from(&path));
        let line = text.lines().nth(server.origin.line - 1).unwrap();
        assert!(
            line.contains(&server.name),
            "{name}: line {} is {line:?}",
            server.origin.line
        );
    }
}

fn notes(id: &str, name: &str) -> Vec<String> {
    read(id, name, &fixture(name), Scope::User)
        .diagnostics
        .iter()
        .map(|d| format!("{}: {}", d.severity.word(), d.message))
        .collect()
}

#[test]
fn claude_desktop_gives_its_servers_and_skips_our_own() {
    check(
        "claude-desktop",
        "claude-desktop.json",
        Scope::User,
        &[
            "github $ npx -y @modelcontextprotocol/server-github GITHUB_PERSONAL_ACCESS_TOKEN=${GITHUB_TOKEN}",
            "filesystem $ npx -y @modelcontextprotocol/server-filesystem /srv/data",
        ],
        &["toolcrib: this is Toolcrib itself"],
    );
}

#[test]
fn claude_code_gives_the_users_servers_and_those_of_this_project() {
    check(
        "claude-code",
        "claude-code.json",
        Scope::User,
        &[
            "sentry http https://mcp.sentry.dev/mcp Authorization=Bearer ${SENTRY_TOKEN:-none}",
            "asana sse https://mcp.asana.com/sse",
            "local-db $ node ./tools/db.js cwd:/work/project",
        ],
        &["elsewhere: it belongs to the project /somewhere/else; import from there"],
    );
    check(
        "claude-code",
        "claude-code.project.json",
        Scope::Project,
        &["shared-api http ${API_BASE_URL:-https://api.example.com}/mcp X-Api-Key=${API_KEY}"],
        &[],
    );
}

#[test]
fn the_innermost_project_of_claude_code_counts() {
    let text = r#"{"projects": {
        "/work": {"mcpServers": {"outer": {"command": "a"}}},
        "/work/project": {"mcpServers": {"inner": {"command": "b"}}}}}"#;
    let imported = read("claude-code", ".claude.json", text, Scope::User);
    assert_eq!(
        imported.servers.iter().map(show).collect::<Vec<_>>(),
        ["inner $ b"]
    );
    let client = Client::by_id("claude-code").unwrap();
    let windows = Surroundings::new(
        Os::Windows,
        "C:/Users/ada",
        "C:\\Work\\Project\\src",
        |_| None,
    );
    let text = r#"{"projects": {"c:/work/project": {"mcpServers": {"x": {"command": "b"}}},
        "c:/work/pro": {"mcpServers": {"y": {"command": "c"}}}}}"#;
    let imported = import::read(client, &Source::new("c.json", text), Scope::User, &windows);
    assert_eq!(imported.servers.len(), 1);
    assert_eq!(imported.servers[0].name, "x");
}

#[test]
fn cursor_knows_addresses_environment_files_and_editor_variables() {
    check(
        "cursor",
        "cursor.json",
        Scope::User,
        &[
            "github $ npx -y @modelcontextprotocol/server-github GITHUB_PERSONAL_ACCESS_TOKEN=${GITHUB_TOKEN}",
            "linear sse https://mcp.linear.app/sse",
            "context7 http https://mcp.context7.com/mcp CONTEXT7_API_KEY=${CONTEXT7_API_KEY}",
            "notes $ python /home/ada/bin/notes.py env-file:/home/ada/.notes.env",
        ],
        &[],
    );
    check(
        "cursor",
        "cursor.project.json",
        Scope::Project,
        &["repo-tools $ node /work/project/tools/server.js"],
        &[],
    );
}

#[test]
fn windsurf_is_read_from_both_files() {
    check(
        "windsurf",
        "windsurf.json",
        Scope::User,
        &[
            "figma http https://mcp.figma.com/mcp Authorization=Bearer ${FIGMA_TOKEN} not:delete_file",
            "puppeteer $ npx -y @modelcontextprotocol/server-puppeteer disabled",
        ],
        &[],
    );
    check(
        "windsurf",
        "windsurf.2.json",
        Scope::User,
        &["github $ node /path/to/github-mcp/index.js GITHUB_TOKEN=${GITHUB_TOKEN}"],
        &[],
    );
}

#[test]
fn vs_code_inputs_become_named_variables() {
    check(
        "vscode",
        "vscode.json",
        Scope::User,
        &[
            "perplexity $ npx -y server-perplexity-ask PERPLEXITY_API_KEY=${INPUT_PERPLEXITY_KEY}",
            "playwright $ npx @playwright/mcp@latest",
            "deepwiki http https://mcp.deepwiki.com/mcp",
        ],
        &[],
    );
    assert_eq!(
        notes("vscode", "vscode.json"),
        [
            "note: the input \"perplexity-key\" becomes the environment variable INPUT_PERPLEXITY_KEY"
        ]
    );
    check(
        "vscode",
        "vscode.project.json",
        Scope::Project,
        &["build $ /work/project/bin/build-mcp env-file:/work/project/.env cwd:/work/project"],
        &[],
    );
    let undeclared =
        r#"{"servers": {"x": {"command": "a", "args": ["${input:k}", "${workspaceFolder}"]}}}"#;
    let imported = read("vscode", "mcp.json", undeclared, Scope::User);
    let said: Vec<_> = imported
        .diagnostics
        .iter()
        .map(|d| d.message.clone())
        .collect();
    assert_eq!(
        said,
        [
            "server \"x\": ${workspaceFolder} has no meaning here and stays as it is",
            "the input behind INPUT_K is not declared",
        ]
    );
}

#[test]
fn zed_is_read_in_both_shapes_and_without_placeholders() {
    check(
        "zed",
        "zed.json",
        Scope::User,
        &[
            "today $ uvx mcp-server-time TZ=$LOCAL call:30000ms",
            "older $ /opt/mcp/older run MODE=fast",
            "remote http https://mcp.example.com/mcp Authorization=Bearer abc disabled",
        ],
        &[
            "mcp-server-postgres: an extension of Zed brings it along",
            "postgres-context-server: an extension of Zed brings it along",
        ],
    );
}

#[test]
fn codex_keeps_seconds_tool_lists_and_names_of_variables() {
    check(
        "codex",
        "codex.toml",
        Scope::User,
        &[
            "docs $ npx -y docs-mcp LOG_LEVEL=debug DOCS_TOKEN=${DOCS_TOKEN} DOCS_REGION=${DOCS_REGION} cwd:/srv/docs only:search,open not:delete call:45500ms start:20000ms",
            "figma http https://mcp.figma.com/mcp X-Figma-Region=us-east-1 X-Trace=${TRACE_ID} disabled only:export bearer:${FIGMA_OAUTH_TOKEN}",
        ],
        &[],
    );
    assert_eq!(
        notes("codex", "codex.toml"),
        ["note: server \"figma\": `tools` is not taken over"]
    );
}

#[test]
fn gemini_has_two_kinds_of_address_and_milliseconds() {
    check(
        "gemini",
        "gemini.json",
        Scope::User,
        &[
            "python-tools $ python -m my_mcp_server --port 8080 DB_URL=${DB_CONNECTION} API_KEY=${EXTERNAL_API_KEY} cwd:./mcp_tools/python only:safe_tool,read not:dangerous call:15000ms",
            "old-remote sse http://localhost:8080/events",
            "new-remote http https://mcp.example.com/v1 Authorization=Bearer ${TOKEN} oauth",
        ],
        &[],
    );
    assert_eq!(
        notes("gemini", "gemini.json"),
        ["note: server \"python-tools\": `trust` is not taken over"]
    );
}

#[test]
fn goose_extensions_are_servers_unless_they_are_goose() {
    check(
        "goose",
        "goose.yaml",
        Scope::User,
        &[
            "slack $ npx -y @modelcontextprotocol/server-slack SLACK_TEAM_ID=T0123 PRICE=$5 SLACK_BOT_TOKEN=${SLACK_BOT_TOKEN} title:Slack call:120000ms",
            "remote http https://mcp.example.com/mcp Authorization=Bearer ${REMOTE_TOKEN} disabled call:300000ms",
        ],
        &[
            "developer: it is a part of Goose itself",
            "todo: it is a part of Goose itself",
        ],
    );
}

#[test]
fn opencode_is_read_in_both_revisions() {
    check(
        "opencode",
        "opencode.jsonc",
        Scope::User,
        &[
            "everything $ npx -y @modelcontextprotocol/server-everything KEY=${MY_KEY} PLAIN=$${not} $this call:10000ms",
            "jira http https://jira.example.com/mcp Authorization=Bearer ${JIRA_TOKEN} disabled",
        ],
        &["of-the-organisation: it switches a server that is defined elsewhere"],
    );
    check(
        "opencode",
        "opencode.2.jsonc",
        Scope::User,
        &["second $ bun x second-mcp cwd:/srv/second disabled call:60000ms start:20000ms"],
        &[],
    );
    let named_so = r#"{"mcp": {"servers": {"type": "local", "command": ["a"]}}}"#;
    let imported = read("opencode", "opencode.json", named_so, Scope::User);
    assert_eq!(
        imported.servers.iter().map(show).collect::<Vec<_>>(),
        ["servers $ a"]
    );
    let file = r#"{"mcp": {"x": {"type": "remote", "url": "https://a.example", "headers": {"K": "{file:~/.key}"}}}}"#;
    let imported = read("opencode", "opencode.json", file, Scope::User);
    assert_eq!(imported.servers.len(), 1);
    assert_eq!(
        imported.diagnostics[0].message,
        "server \"x\": {file:~/.key} has no meaning here and stays as it is"
    );
}

#[test]
fn cline_and_roo_keep_windows_commands_and_say_what_is_not_taken_over() {
    check(
        "cline",
        "cline.json",
        Scope::User,
        &[
            "weather $ cmd /c npx -y weather-mcp call:60000ms",
            "events http https://events.example.com/mcp Authorization=Bearer secret-value disabled",
        ],
        &[],
    );
    assert_eq!(
        notes("cline", "cline.json"),
        ["note: server \"weather\": `autoApprove` is not taken over"]
    );
    check(
        "roo",
        "roo.json",
        Scope::User,
        &[
            "search $ uvx search-mcp KEY=${SEARCH_KEY} not:index call:300000ms",
            "stream http https://stream.example.com/mcp",
        ],
        &[],
    );
}

#[test]
fn the_other_clients_with_a_map_are_read() {
    check(
        "lm-studio",
        "lm-studio.json",
        Scope::User,
        &["hf http https://huggingface.co/mcp Authorization=Bearer hf_0123456789abcdefghij"],
        &[],
    );
    check(
        "copilot",
        "copilot.json",
        Scope::User,
        &[
            "playwright $ npx @playwright/mcp@latest DISPLAY=${DISPLAY}",
            "cloud http https://cloud.example.com/mcp only:list,get",
        ],
        &[],
    );
    check(
        "amazon-q",
        "amazon-q.json",
        Scope::User,
        &[
            "aws-docs $ uvx awslabs.aws-documentation-mcp-server@latest FASTMCP_LOG_LEVEL=ERROR TOKEN=${Q_TOKEN} call:120000ms",
        ],
        &[],
    );
    check(
        "kiro",
        "kiro.json",
        Scope::User,
        &[
            "web $ uvx mcp-server-fetch KEY=${WEB_KEY} not:post",
            "api http https://api.example.com/mcp Authorization=Bearer ${API_TOKEN}",
        ],
        &[],
    );
    check(
        "warp",
        "warp.json",
        Scope::User,
        &[
            "grafana $ mcp-grafana -t stdio GRAFANA_URL=http://localhost:3000 GRAFANA_API_KEY=${GRAFANA_API_KEY} cwd:/srv/grafana",
        ],
        &[],
    );
    check(
        "docker-mcp",
        "docker-mcp.json",
        Scope::User,
        &[
            "github $ docker exec mcp-github mcp-github GITHUB_TOKEN=${GITHUB_TOKEN}",
            "filesystem $ docker exec mcp-filesystem mcp-filesystem",
        ],
        &[],
    );
}

#[test]
fn continue_has_a_list_and_reads_other_clients_maps() {
    check(
        "continue",
        "continue.yaml",
        Scope::User,
        &[
            "SQLite MCP $ npx -y mcp-sqlite /srv/test.db KEY=${SQLITE_KEY} start:8000ms",
            "Hosted http https://hosted.example.com/mcp Authorization=Bearer ${HOSTED_TOKEN}",
        ],
        &["continuedev/playwright-mcp: it is a block of Continue's hub"],
    );
    check(
        "continue",
        "continue.project.yaml",
        Scope::Project,
        &["Browser search $ npx @playwright/mcp@latest"],
        &[],
    );
    let text = fixture("claude-desktop.json");
    let imported = read(
        "continue",
        ".continue/mcpServers/x.json",
        &text,
        Scope::User,
    );
    assert_eq!(imported.servers.len(), 2);
}

#[test]
fn an_empty_file_and_a_file_without_servers_give_nothing() {
    for client in CLIENTS {
        for text in ["", "  \n", "{}"] {
            if client.id == "codex" && text == "{}" {
                continue;
            }
            let path = if client.id == "codex" {
                "config.toml"
            } else {
                "x.json"
            };
            let imported = read(client.id, path, text, Scope::User);
            assert_eq!(
                imported,
                import::Imported::default(),
                "{} {text:?}",
                client.id
            );
        }
    }
}

#[test]
fn values_of_variables_and_headers_are_never_shown() {
    let imported = read("cline", "x.json", &fixture("cline.json"), Scope::User);
    assert!(!format!("{:?}", imported.servers).contains("secret-value"));
    let imported = read(
        "lm-studio",
        "x.json",
        &fixture("lm-studio.json"),
        Scope::User,
    );
    assert!(!format!("{:?}", imported.servers).contains("hf_0123"));
}
