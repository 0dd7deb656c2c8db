//! What each big client does: its entry from the book, its handshake, its rules for names.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use toolcrib_config::export::client::target;
use toolcrib_config::import::{self, Client, Scope};
use toolcrib_config::{Node, Os, Source, Surroundings, reader};

use crate::home::{Home, Server};
use crate::web::Web;

/// The clients, what they call themselves, and the revision they greet with.
const CLIENTS: [(&str, &str, &str); 12] = [
    ("claude-desktop", "claude-ai", "2025-06-18"),
    ("claude-code", "claude-code", "2025-06-18"),
    ("cursor", "cursor-vscode", "2025-06-18"),
    ("windsurf", "windsurf-client", "2025-03-26"),
    ("vscode", "Visual Studio Code", "2025-11-25"),
    ("zed", "Zed", "2025-03-26"),
    ("codex", "codex-mcp-client", "2025-06-18"),
    ("gemini", "gemini-cli-mcp-client", "2025-06-18"),
    ("goose", "goose", "2025-03-26"),
    ("opencode", "opencode", "2025-06-18"),
    ("cline", "Cline", "2024-11-05"),
    ("lm-studio", "lmstudio-mcp-bridge", "2025-03-26"),
];

fn book() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/clients.md");
    std::fs::read_to_string(path).unwrap()
}

/// The block of a client in the book, as it is written there.
fn written(client: &str) -> String {
    let book = book();
    let mark = format!("<!-- client: {client} -->\n```");
    let at = book
        .find(&mark)
        .unwrap_or_else(|| panic!("no block of {client}"));
    let block = &book[at + mark.len()..];
    let (_, block) = block.split_once('\n').unwrap();
    let (block, _) = block.split_once("\n```").unwrap();
    format!("{block}\n")
}

/// The block of a client in the book, for this program.
fn block(client: &str) -> String {
    let block = written(client);
    assert!(block.contains("/path/to/toolcrib"), "{block}");
    block.replace("/path/to/toolcrib", env!("CARGO_BIN_EXE_toolcrib"))
}

/// The forms that start something else than the program itself, and stand-ins for what they start: each takes only
/// the arguments that the real one would need, notes that it ran, and becomes the program.
const FORMS: [(&str, &str); 3] = [
    ("npx", r#"[ "$1 $2" = "-y toolcrib" ] || exit 9; shift 2"#),
    ("uvx", r#"[ "$1" = toolcrib ] || exit 9; shift"#),
    (
        "docker",
        r#"[ "$1 $2 $3 $4 $6 $8" = "run -i --rm -v -v toolcrib" ] || exit 9
case $5 in *:@/.config/@:ro) ;; *) exit 8 ;; esac
[ "$7" = "toolcrib_data:@/.local/share/@" ] || exit 6
[ -f "${5%%:*}/toolcrib.yaml" ] || exit 7; shift 8"#,
    ),
];

/// Where the image has its files of a kind: the volume whose path holds `part`.
fn volume(part: &str) -> String {
    let image = root().join("packaging/container/Dockerfile");
    let image = std::fs::read_to_string(image).unwrap();
    let line = image.lines().find_map(|line| line.strip_prefix("VOLUME "));
    let volumes: Vec<String> = serde_json::from_str(line.unwrap()).unwrap();
    let place = volumes.into_iter().find(|place| place.contains(part));
    place.unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A home with the stand-ins on its path and a configuration.
fn with_stand_ins() -> Home {
    let home = Home::new();
    home.configure("servers: {}\n");
    for (name, takes) in FORMS {
        let kinds = ["/.config/", "/.local/share/"];
        let takes = kinds.iter().fold(takes.to_owned(), |takes, kind| {
            takes.replace(&format!("@{kind}@"), &volume(kind))
        });
        let script = format!(
            "#!/bin/sh\n{takes}\n: > '{}'\nexec '{}' \"$@\"\n",
            home.path(&format!("ran-{name}")).display(),
            env!("CARGO_BIN_EXE_toolcrib"),
        );
        let path = home.write(&format!("bin/{name}"), &script);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    home
}

fn surroundings(home: &Home) -> Surroundings {
    Surroundings::new(Os::Linux, home.path(""), home.path("work"), |_| None)
}

/// The command line that a client's file starts Toolcrib with.
fn started(client: &'static Client, path: &Path) -> Vec<String> {
    let source = Source::new(path, std::fs::read_to_string(path).unwrap());
    let format = reader::Format::of(path).unwrap_or(client.format);
    let tree = reader::read(&source, format).unwrap();
    let mut entry: Option<&Node> = None;
    for root in client.roots {
        let mut node = Some(&tree);
        for key in root.split('.').chain(["toolcrib"]) {
            node = node.and_then(|node| node.get(key));
        }
        entry = entry.or(node);
    }
    let entry = entry.unwrap();
    let words = |key: &str| -> Vec<String> {
        let value = entry.get(key).map(Node::to_json).unwrap_or_default();
        match value {
            Value::String(word) => vec![word],
            Value::Array(words) => words
                .iter()
                .map(|w| w.as_str().unwrap().to_owned())
                .collect(),
            _ => Vec::new(),
        }
    };
    [words("command"), words("cmd"), words("args")].concat()
}

/// The names of the tools, as a client of that name and revision gets them.
fn tools(mut command: Command, name: &str, revision: &str) -> Vec<String> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut ask = |message: Value| writeln!(input, "{message}").unwrap();
    ask(
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": revision, "capabilities": {"roots": {"listChanged": true}},
        "clientInfo": {"name": name, "version": "1.2.3"}}}),
    );
    let hello: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(
        hello["result"]["protocolVersion"], revision,
        "{name}: {hello}"
    );
    ask(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    ask(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}));
    let listed: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    drop(input);
    assert!(child.wait().unwrap().success(), "{name}");
    named(&listed)
}

/// The names of the tools in an answer.
fn named(listed: &Value) -> Vec<String> {
    let tools = listed["result"]["tools"].as_array().unwrap();
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

/// Whether a client takes a name; some refuse dots.
fn is_legal(client: &Client, name: &str) -> bool {
    let dot = |c: char| c == '.' && !client.strict_names;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-') || dot(c);
    (1..=64).contains(&name.len()) && name.chars().all(plain)
}

/// The profiles, each with one of its tools as it is called with a dot.
const PROFILES: [(&str, &str); 2] = [("discovery", "search_tools"), ("gateway", "gateway.intent")];

/// A client takes the names of the five tools of a profile.
fn takes(client: &Client, tools: &[String], one: &str) {
    let id = client.id;
    assert_eq!(tools.len(), 5, "{id}: {tools:?}");
    assert!(
        tools.iter().all(|tool| is_legal(client, tool)),
        "{id}: {tools:?}"
    );
    let one = if client.strict_names {
        one.replace('.', "-")
    } else {
        one.to_owned()
    };
    assert!(tools.contains(&one), "{id}: no {one} in {tools:?}");
}

fn start(home: &Home, client: &'static Client, path: &Path, name: &str, revision: &str) {
    let line = started(client, path);
    assert_eq!(line[0], env!("CARGO_BIN_EXE_toolcrib"), "{name}: {line:?}");
    let arguments: Vec<&str> = line[1..].iter().map(String::as_str).collect();
    for (profile, one) in PROFILES {
        let mut command = home.command(&arguments);
        command.env("TOOLCRIB_PROFILE", profile);
        takes(client, &tools(command, name, revision), one);
    }
}

#[test]
fn a_client_that_refuses_dots_is_known_by_its_name_too() {
    for (profile, one) in PROFILES {
        let home = Home::new();
        let started = |arguments: &[&str]| {
            let mut command = home.command(arguments);
            command.env("TOOLCRIB_PROFILE", profile);
            command
        };
        let mut web = Web::over(Server::start(started(&["serve"])));
        for (id, name, revision) in CLIENTS {
            let client = Client::by_id(id).unwrap();
            web.greet(name, revision);
            takes(client, &named(&web.request("tools/list", "{}")), one);
            takes(client, &tools(started(&[]), name, revision), one);
        }
    }
}

fn file(home: &Home, client: &'static Client) -> PathBuf {
    let path = target(client, &surroundings(home), false).unwrap();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    path
}

#[test]
fn the_block_of_each_client_starts_a_server_of_five_tools() {
    for (id, name, revision) in CLIENTS {
        let home = Home::new();
        let client = Client::by_id(id).unwrap();
        let path = file(&home, client);
        std::fs::write(&path, block(id)).unwrap();
        let source = Source::new(&path, block(id));
        let read = import::read(client, &source, Scope::User, &surroundings(&home));
        assert_eq!(read.skipped.len(), 1, "{id}: {read:?}");
        assert_eq!(read.skipped[0].reason, "this is Toolcrib itself", "{id}");
        start(&home, client, &path, name, revision);
    }
}

#[test]
fn the_blocks_with_packages_and_containers_start_a_server_of_five_tools() {
    for (id, name, revision) in CLIENTS {
        for (form, _) in FORMS {
            let home = with_stand_ins();
            let client = Client::by_id(id).unwrap();
            let path = file(&home, client);
            let of_home = home.path("");
            let of_home = of_home.to_str().unwrap().trim_end_matches('/');
            let text = written(&format!("{id}, {form}")).replace("/home/ada", of_home);
            std::fs::write(&path, &text).unwrap();
            let source = Source::new(&path, text);
            let read = import::read(client, &source, Scope::User, &surroundings(&home));
            assert_eq!(read.skipped.len(), 1, "{id}, {form}: {read:?}");
            let line = started(client, &path);
            assert_eq!(line[0], form, "{id}: {line:?}");
            let shaped = home.command(&[]);
            let mut command = Command::new(home.path("bin").join(form));
            command.args(&line[1..]).current_dir(home.path("work"));
            command.env_clear();
            for (name, value) in shaped.get_envs() {
                command.env(name, value.unwrap_or_default());
            }
            takes(client, &tools(command, name, revision), "search_tools");
            assert!(home.path(&format!("ran-{form}")).exists(), "{id}, {form}");
        }
    }
}

/// What stands in the fences of a language, each whole.
fn fences(text: &str, language: &str) -> Vec<String> {
    let opening = format!("```{language}\n");
    let fences = text.split(&opening).skip(1);
    let fences = fences.map(|rest| rest.split("```").next().unwrap().to_owned());
    fences.collect()
}

#[test]
fn the_readme_has_the_blocks_of_the_book() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    // Each fence is pasted as it stands, so that each must be a whole file.
    let whole = |text: &String| serde_json::from_str::<Value>(text).unwrap();
    let blocks: Vec<Value> = fences(&readme, "json").iter().map(whole).collect();
    for form in [
        "cursor",
        "cursor, npx",
        "cursor, uvx",
        "cursor, docker",
        "vscode",
    ] {
        let block: Value = serde_json::from_str(&written(form)).unwrap();
        assert!(blocks.contains(&block), "{form}: {block}");
    }
    let same = ["claude-desktop", "windsurf"].map(|client| written(client) == written("cursor"));
    assert_eq!(same, [true, true], "the README has one block for the three");
    assert!(fences(&readme, "toml").contains(&written("codex")));
}

#[test]
fn the_volume_of_the_container_is_that_of_compose() {
    let compose = root().join("packaging/container/compose.yaml");
    let compose = std::fs::read_to_string(compose).unwrap();
    let data = volume("/.local/share/");
    assert!(compose.contains("\nname: toolcrib\n"), "{compose}");
    assert!(compose.contains(&format!("- data:{data}\n")), "{compose}");
    let said = format!("-v toolcrib_data:{data} toolcrib");
    for file in [
        "docs/clients.md",
        "docs/operations.md",
        "packaging/container/Dockerfile",
    ] {
        let text = std::fs::read_to_string(root().join(file)).unwrap();
        assert!(text.contains(&said), "{file}");
    }
}

#[test]
fn the_entry_that_setup_writes_starts_a_server_of_five_tools() {
    for (id, name, revision) in CLIENTS {
        let home = Home::new();
        let said = home.run(&["setup", id, "--yes"]);
        assert_eq!(said.code, Some(0), "{id}: {}", said.err);
        let client = Client::by_id(id).unwrap();
        start(&home, client, &file(&home, client), name, revision);
    }
}

#[test]
fn the_forms_of_package_and_container_are_the_programs_own_command_line() {
    // `npx -y toolcrib ARGS` and `docker run -i --rm toolcrib ARGS` hand ARGS to the program.
    let root = root();
    let image = std::fs::read_to_string(root.join("packaging/container/Dockerfile")).unwrap();
    let words = |instruction: &str| -> Vec<String> {
        let line = image
            .lines()
            .rfind(|line| line.starts_with(instruction))
            .unwrap();
        serde_json::from_str(line.strip_prefix(instruction).unwrap().trim()).unwrap()
    };
    assert_eq!(words("ENTRYPOINT"), ["/usr/local/bin/toolcrib"]);
    let home = Home::new();
    let command = words("CMD");
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    assert_eq!(
        tools(home.command(&command), "docker", "2025-06-18").len(),
        5
    );
    let launcher = root.join("packaging/npm/toolcrib/bin/toolcrib.js");
    let launcher = std::fs::read_to_string(launcher).unwrap();
    assert!(
        launcher.contains("process.argv.slice(2), { stdio: \"inherit\""),
        "{launcher}"
    );
    assert_eq!(tools(home.command(&[]), "npx", "2025-06-18").len(), 5);
}
