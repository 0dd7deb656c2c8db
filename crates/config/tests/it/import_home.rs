//! A home directory with the files of every client at once, on every operating system.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use toolcrib_config::import::{self, CLIENTS, Client, Scope, State};
use toolcrib_config::merge::merge;
use toolcrib_config::{Os, Surroundings};

use crate::import::{fixture, show};

/// The endings of the fixtures.
const ENDINGS: &[&str] = &["json", "jsonc", "yaml", "toml"];

fn fixture_of(id: &str, part: &str) -> Option<String> {
    ENDINGS.iter().find_map(|ending| {
        let name = format!("{id}{part}.{ending}");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/clients");
        folder.join(&name).exists().then_some(name)
    })
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A home with every client's first file (for some also the second), and a project with theirs.
fn furnished(os: Os) -> (TempDir, Surroundings) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (home, cwd) = (root.join("home"), root.join("project"));
    let (roaming, codex) = (home.join("AppData/Roaming"), root.join("codex"));
    let here = Surroundings::new(os, &home, &cwd, move |name| match name {
        "APPDATA" if os == Os::Windows => Some(roaming.display().to_string()),
        "CODEX_HOME" => Some(codex.display().to_string()),
        _ => None,
    });
    for client in CLIENTS {
        let places = client.user_paths(os);
        for (place, part) in places.iter().zip(["", ".2"]) {
            if let Some(name) = fixture_of(client.id, part) {
                let cwd = cwd.display().to_string().replace('\\', "/");
                put(
                    &here.resolve(place).unwrap(),
                    &fixture(&name).replace("@CWD@", &cwd),
                );
            }
        }
        if let (Some(place), Some(name)) =
            (client.project.first(), fixture_of(client.id, ".project"))
        {
            put(&cwd.join(place.replace('*', "x.yaml")), &fixture(&name));
        }
    }
    furnish_docker(&home);
    (folder, here)
}

fn furnish_docker(home: &Path) {
    for name in [
        "registry.yaml",
        "catalog.json",
        "config.yaml",
        "tools.yaml",
        "catalogs/docker-mcp.yaml",
        "catalogs/mine.yaml",
    ] {
        put(
            &home.join(".docker/mcp").join(name),
            &fixture(&format!("docker/{name}")),
        );
    }
}

/// How many servers each client's fixtures give to the user.
const USERS: &[(&str, usize)] = &[
    ("amazon-q", 1),
    ("claude-code", 3),
    ("claude-desktop", 2),
    ("cline", 2),
    ("codex", 2),
    ("continue", 2),
    ("copilot", 2),
    ("cursor", 4),
    ("docker-mcp", 6),
    ("gemini", 3),
    ("goose", 2),
    ("kiro", 2),
    ("lm-studio", 1),
    ("opencode", 3),
    ("roo", 2),
    ("vscode", 3),
    ("warp", 1),
    ("windsurf", 3),
    ("zed", 3),
];

#[test]
fn a_home_with_the_files_of_all_clients_imports_completely_on_every_system() {
    for os in [Os::Linux, Os::MacOs, Os::Windows] {
        let (_folder, here) = furnished(os);
        let discovery = import::discover(&here);
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for server in discovery.servers() {
            *counts
                .entry(
                    CLIENTS
                        .iter()
                        .find(|c| c.id == server.origin.kind)
                        .unwrap()
                        .id,
                )
                .or_default() += 1;
        }
        assert_eq!(counts.into_iter().collect::<Vec<_>>(), USERS, "{os:?}");
        for file in &discovery.files {
            let errors: Vec<_> = file.diagnostics.iter().map(ToString::to_string).collect();
            assert_ne!(
                file.state,
                State::Broken,
                "{os:?} {} {errors:?}",
                file.path.display()
            );
            assert_eq!(file.state == State::Missing, !file.path.exists());
        }
    }
}

#[test]
fn project_files_are_listed_and_used_only_when_they_are_trusted() {
    let (_folder, here) = furnished(Os::Linux);
    let mut discovery = import::discover(&here);
    let listed: Vec<String> = discovery
        .files
        .iter()
        .filter(|file| file.state == State::Untrusted)
        .flat_map(|file| {
            assert_eq!(file.scope, Scope::Project);
            file.servers
                .iter()
                .map(|s| format!("{} {}", file.client.id, s.name))
        })
        .collect();
    assert_eq!(
        listed,
        [
            "claude-code shared-api",
            "cursor repo-tools",
            "vscode build",
            "continue Browser search"
        ]
    );
    assert!(
        !discovery
            .servers()
            .any(|server| server.name == "shared-api")
    );
    let wanted = here.cwd.join(".mcp.json");
    let hash = blake3::hash(fixture("claude-code.project.json").as_bytes())
        .to_hex()
        .to_string();
    discovery.trust(|path, found| path == wanted && found == hash);
    assert!(
        discovery
            .servers()
            .any(|server| server.name == "shared-api")
    );
    assert!(
        !discovery
            .servers()
            .any(|server| server.name == "repo-tools")
    );
}

#[test]
fn in_the_home_directory_project_files_are_the_users_own() {
    let folder = tempfile::tempdir().unwrap();
    put(
        &folder.path().join(".mcp.json"),
        &fixture("claude-code.project.json"),
    );
    put(
        &folder.path().join(".cursor/mcp.json"),
        &fixture("cursor.json"),
    );
    let here = Surroundings::new(Os::Linux, folder.path(), folder.path(), |_| None);
    let discovery = import::discover(&here);
    assert!(discovery.files.iter().all(|file| file.scope == Scope::User));
    let cursor: Vec<_> = discovery
        .files
        .iter()
        .filter(|f| f.client.id == "cursor")
        .collect();
    assert_eq!(cursor.len(), 1);
    assert_eq!(discovery.servers().count(), 5);
}

#[test]
fn all_imported_servers_merge_without_loss() {
    let (_folder, here) = furnished(Os::Linux);
    let discovery = import::discover(&here);
    let merged = merge(discovery.servers().cloned());
    let find = |name: &str| merged.servers.iter().find(|s| s.name == name);
    // Claude Desktop and Cursor run the same server, each with its own spelling of the variable.
    let github = find("github").unwrap();
    assert_eq!(github.origin.kind, "claude-desktop");
    assert!(find("github-cursor").is_none());
    assert!(find("github-windsurf").is_some() && find("github-docker-mcp").is_some());
    assert!(find("figma").is_some() && find("figma-codex").is_some());
    let again = merge(import::discover(&here).servers().cloned());
    assert_eq!(merged, again);
}

#[test]
fn dockers_catalogs_become_commands_and_addresses() {
    let folder = tempfile::tempdir().unwrap();
    furnish_docker(folder.path());
    let here = Surroundings::new(Os::Linux, folder.path(), folder.path().join("work"), |_| {
        None
    });
    let client = Client::by_id("docker-mcp").unwrap();
    let path = folder.path().join(".docker/mcp/registry.yaml");
    let found = import::discover::look(client, &path, Scope::User, &here);
    let servers: Vec<String> = found.servers.iter().map(show).collect();
    let run = "$ docker run -i --rm --init --security-opt no-new-privileges";
    assert_eq!(
        servers,
        [
            format!("github-official {run} -e GITHUB_PERSONAL_ACCESS_TOKEN -e GITHUB_TOOLSETS ghcr.io/github/github-mcp-server@sha256:0123456789abcdef GITHUB_PERSONAL_ACCESS_TOKEN=${{GITHUB_PERSONAL_ACCESS_TOKEN}} GITHUB_TOOLSETS=all title:GitHub Official only:create_branch,add_issue_comment idle:0ms tool:create_branch"),
            format!("filesystem {run} --network none -v /srv/docs:/srv/docs -v /srv/photos:/photos mcp/filesystem /srv/docs /photos title:Filesystem (Reference)"),
            "notion-remote http https://mcp.notion.com/mcp Authorization=Bearer ${NOTION_TOKEN} title:Notion oauth".to_owned(),
            format!("my-own {run} -e OURS_REGION -e OURS_URL -v /var/cache/ours:/cache -u 1000 --add-host host.docker.internal:host-gateway registry.example.com/ours:2 --verbose OURS_REGION=eu OURS_URL=https://ours.example.com/api title:Ours"),
        ]
    );
    let skipped: Vec<String> = found
        .skipped
        .iter()
        .map(|s| format!("{}:{} {}", s.line, s.name, s.reason))
        .collect();
    assert_eq!(
        skipped,
        [
            "10:gone server \"gone\" is enabled but in no catalog",
            "12:shell-tools server \"shell-tools\" is a set of containers, not an MCP server",
        ]
    );
    let said: Vec<String> = found
        .diagnostics
        .iter()
        .map(|d| d.message.clone())
        .collect();
    assert!(said.contains(&"server \"github-official\": the secret github.personal_access_token stays with Docker".to_owned()));
    assert!(
        said.contains(&"server \"my-own\": the setting my-own.nothing is not set".to_owned()),
        "{said:?}"
    );
}

#[test]
fn a_broken_catalog_costs_its_servers_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    furnish_docker(folder.path());
    let mcp = folder.path().join(".docker/mcp");
    let here = Surroundings::new(Os::Linux, folder.path(), folder.path().join("work"), |_| {
        None
    });
    let client = Client::by_id("docker-mcp").unwrap();
    let look = || import::discover::look(client, &mcp.join("registry.yaml"), Scope::User, &here);
    put(&mcp.join("catalogs/docker-mcp.yaml"), "registry: [");
    let found = look();
    assert_eq!(found.state, State::Read);
    assert_eq!(found.servers.len(), 1);
    // Without the list of catalogs, every file of the folder is one.
    fs::remove_file(mcp.join("catalog.json")).unwrap();
    put(
        &mcp.join("catalogs/docker-mcp.yaml"),
        &fixture("docker/catalogs/docker-mcp.yaml"),
    );
    assert_eq!(look().servers.len(), 4);
    put(&mcp.join("registry.yaml"), "registry: 5\n");
    assert_eq!(look().state, State::Broken);
    put(&mcp.join("registry.yaml"), "registry:\n");
    assert_eq!((look().state, look().servers.len()), (State::Read, 0));
    put(&mcp.join("tools.yaml"), "github-official: []\n");
    put(
        &mcp.join("registry.yaml"),
        "registry: { github-official: {} }\n",
    );
    assert!(!look().servers[0].enabled);
}

#[test]
fn a_template_or_a_secret_that_cannot_be_understood_costs_its_server() {
    let check = |definition: &str, expected: &str| {
        let folder = tempfile::tempdir().unwrap();
        put(
            &folder.path().join("registry.yaml"),
            "registry: { x: {} }\n",
        );
        put(
            &folder.path().join("catalogs/a.yaml"),
            &format!("registry:\n  x: {definition}\n"),
        );
        put(
            &folder.path().join("config.yaml"),
            "x: { a: '-evil', b: 'C:\\data', c: [1, true] }\n",
        );
        let here = Surroundings::new(Os::Linux, folder.path(), folder.path().join("w"), |_| None);
        let client = Client::by_id("docker-mcp").unwrap();
        let path: PathBuf = folder.path().join("registry.yaml");
        let found = import::discover::look(client, &path, Scope::User, &here);
        let got = match found.servers.first() {
            Some(server) => show(server).replace(
                "$ docker run -i --rm --init --security-opt no-new-privileges",
                "$",
            ),
            None => found.skipped[0].reason.clone(),
        };
        assert_eq!(got, expected, "{definition}");
    };
    check(
        "{ image: i, command: ['{{x.a|frobnicate}}'] }",
        "server \"x\": the template x.a|frobnicate is not understood",
    );
    check(
        "{ image: i, command: ['a {{x.a'] }",
        "server \"x\": the template a {{x.a is not understood",
    );
    check(
        "{ image: i, secrets: [{ name: a }] }",
        "server \"x\": a secret has no `env`",
    );
    check(
        "{ title: t }",
        "server \"x\" has neither an image nor an address",
    );
    check("5", "server \"x\" must be a map, not a number");
    check(
        "{ image: i, volumes: ['{{x.a|into}}', '{{x.b|volume}}'] }",
        "x $ -v C:\\data:C:\\data i",
    );
    check(
        "{ image: i, command: ['{{x.c|into}}', '{{other.d}}', ''] }",
        "x $ i 1 true",
    );
    check(
        "{ sseEndpoint: 'https://a.example/sse' }",
        "x sse https://a.example/sse",
    );
    check(
        "{ remote: { url: 'https://a.example', transport_type: sse } }",
        "x sse https://a.example",
    );
    check("{ remote: {}, image: i }", "x $ i");
}
