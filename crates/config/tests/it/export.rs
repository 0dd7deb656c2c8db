//! Our entry in other clients' files.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use toolcrib_config::Source;
use toolcrib_config::export::client::{EmptyRoot, add_entry, has_root, remove_entry};
use toolcrib_config::export::{Entry, ExportError};
use toolcrib_config::import::{self, CLIENTS, Client, Scope};
use toolcrib_config::reader::Format;

use crate::import::{fixture, here, show};

pub(crate) fn client(id: &str) -> &'static Client {
    Client::by_id(id).unwrap()
}

/// The clients that take an entry.
pub(crate) fn exportable() -> impl Iterator<Item = &'static Client> {
    CLIENTS
        .iter()
        .filter(|c| !matches!(c.id, "docker-mcp" | "custom"))
}

pub(crate) fn file_of(client: &Client) -> PathBuf {
    let place = client.linux[0];
    Path::new("/home/ada").join(place.rsplit('/').next().unwrap())
}

pub(crate) fn fixture_of(client: &Client) -> String {
    let ending = match (client.format, client.id) {
        (Format::Toml, _) => "toml",
        (Format::Yaml, _) => "yaml",
        (_, "opencode") => "jsonc",
        _ => "json",
    };
    fixture(&format!("{}.{ending}", client.id))
}

pub(crate) fn ours(client: &Client) -> Entry {
    let mut entry = Entry::own(client, "/opt/toolcrib/bin/toolcrib");
    "crib".clone_into(&mut entry.name);
    entry
}

fn servers(client: &'static Client, path: &Path, text: &str) -> Vec<String> {
    let imported = import::read(client, &Source::new(path, text), Scope::User, &here());
    imported.servers.iter().map(show).collect()
}

/// Adds the entry, checks that the client's servers are the same, removes it: the same bytes.
fn round_trip(client: &'static Client, text: &str) -> String {
    let path = file_of(client);
    let entry = ours(client);
    let before = servers(client, &path, text);
    let added = add_entry(client, &path, Some(text), &entry).unwrap();
    assert_eq!(servers(client, &path, &added), before, "{added}");
    let imported = import::read(client, &Source::new(&path, &*added), Scope::User, &here());
    let skipped: Vec<_> = imported
        .skipped
        .iter()
        .filter(|s| s.name == "crib")
        .collect();
    assert_eq!(skipped.len(), 1, "{added}");
    assert_eq!(skipped[0].reason, "this is Toolcrib itself");
    let again = add_entry(client, &path, Some(&added), &entry).unwrap();
    assert_eq!(again, added, "adding twice changes nothing");
    let empty_root = if has_root(client, &path, text) {
        EmptyRoot::Keep
    } else {
        EmptyRoot::Remove
    };
    let removed = remove_entry(client, &path, &added, "crib", empty_root).unwrap();
    assert_eq!(removed, text, "{}: after removing from\n{added}", client.id);
    added
}

#[test]
fn every_clients_real_file_takes_our_entry_and_gives_it_back() {
    for client in exportable() {
        let text = fixture_of(client);
        round_trip(client, &text);
        round_trip(client, &text.replace('\n', "\r\n"));
        round_trip(client, text.trim_end());
        let marked = format!("\u{feff}{text}");
        let added = add_entry(client, &file_of(client), Some(&marked), &ours(client)).unwrap();
        assert!(added.starts_with('\u{feff}'));
    }
}

#[test]
fn line_ends_stay_what_they_are() {
    for client in exportable() {
        let text = fixture_of(client).replace('\n', "\r\n");
        let added = add_entry(client, &file_of(client), Some(&text), &ours(client)).unwrap();
        let bare = added.replace("\r\n", "").contains('\n');
        assert!(!bare, "{}: {added:?}", client.id);
    }
}

#[test]
fn a_missing_file_is_made_in_the_clients_own_shape() {
    let check = |id: &str, expected: &str| {
        let client = client(id);
        let entry = Entry::own(client, "/bin/toolcrib");
        let text = add_entry(client, &file_of(client), None, &entry).unwrap();
        assert_eq!(text, expected, "{id}");
    };
    check(
        "claude-desktop",
        "{\n  \"mcpServers\": {\n    \"toolcrib\": {\n      \"command\": \"/bin/toolcrib\",\n      \"args\": [\"serve\", \"--stdio\", \"--names\", \"hyphen\"]\n    }\n  }\n}\n",
    );
    check(
        "gemini",
        "{\n  \"mcpServers\": {\n    \"toolcrib\": {\n      \"command\": \"/bin/toolcrib\",\n      \"args\": [\"serve\", \"--stdio\"]\n    }\n  }\n}\n",
    );
    check(
        "vscode",
        "{\n  \"servers\": {\n    \"toolcrib\": {\n      \"type\": \"stdio\",\n      \"command\": \"/bin/toolcrib\",\n      \"args\": [\"serve\", \"--stdio\", \"--names\", \"hyphen\"]\n    }\n  }\n}\n",
    );
    check(
        "opencode",
        "{\n  \"mcp\": {\n    \"toolcrib\": {\n      \"type\": \"local\",\n      \"command\": [\"/bin/toolcrib\", \"serve\", \"--stdio\"],\n      \"enabled\": true\n    }\n  }\n}\n",
    );
    check(
        "copilot",
        "{\n  \"mcpServers\": {\n    \"toolcrib\": {\n      \"type\": \"local\",\n      \"command\": \"/bin/toolcrib\",\n      \"args\": [\"serve\", \"--stdio\", \"--names\", \"hyphen\"],\n      \"tools\": [\"*\"]\n    }\n  }\n}\n",
    );
    check(
        "codex",
        "[mcp_servers.toolcrib]\ncommand = \"/bin/toolcrib\"\nargs = [\"serve\", \"--stdio\", \"--names\", \"hyphen\"]\n",
    );
    check(
        "goose",
        "extensions:\n  toolcrib:\n    name: toolcrib\n    type: stdio\n    enabled: true\n    cmd: \"/bin/toolcrib\"\n    args: [\"serve\", \"--stdio\", \"--names\", \"hyphen\"]\n    timeout: 300\n",
    );
    check(
        "continue",
        "name: Local Config\nversion: 1.0.0\nschema: v1\nmcpServers:\n  - name: toolcrib\n    command: \"/bin/toolcrib\"\n    args: [\"serve\", \"--stdio\"]\n",
    );
}

#[test]
fn comments_order_and_layout_around_the_entry_stay() {
    let check = |id: &str, text: &str, expected: &str| {
        assert_eq!(round_trip(client(id), text), expected, "{id}");
    };
    let entry = "\"crib\": {\n      \"command\": \"/opt/toolcrib/bin/toolcrib\",\n      \"args\": [\"serve\", \"--stdio\"]\n    }";
    check(
        "cline",
        "{\n  // mine\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\" } // keep\n\n    // tail\n  },\n  \"z\": 1\n}\n",
        &format!(
            "{{\n  // mine\n  \"mcpServers\": {{\n    \"a\": {{ \"command\": \"x\" }}, // keep\n\n    // tail\n    {entry}\n  }},\n  \"z\": 1\n}}\n"
        ),
    );
    check(
        "cline",
        "{\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\" },\n  },\n}",
        &format!(
            "{{\n  \"mcpServers\": {{\n    \"a\": {{ \"command\": \"x\" }},\n    {entry},\n  }},\n}}"
        ),
    );
    check(
        "cline",
        "{\n  \"mcpServers\": {}\n}",
        &format!("{{\n  \"mcpServers\": {{\n    {entry}\n  }}\n}}"),
    );
    check(
        "cline",
        "{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}",
        "{\"mcpServers\":{\"a\":{\"command\":\"x\"}, \"crib\": {\"command\": \"/opt/toolcrib/bin/toolcrib\", \"args\": [\"serve\", \"--stdio\"]}}}",
    );
    check(
        "cline",
        "{\"mcpServers\": {}}",
        "{\"mcpServers\": {\"crib\": {\"command\": \"/opt/toolcrib/bin/toolcrib\", \"args\": [\"serve\", \"--stdio\"]}}}",
    );
    check(
        "cline",
        "{}",
        &format!("{{\n  \"mcpServers\": {{\n    {entry}\n  }}\n}}"),
    );
    check(
        "cline",
        "{ \"a\": 1 /* c */ }",
        "{ \"a\": 1, /* c */ \"mcpServers\": {\"crib\": {\"command\": \"/opt/toolcrib/bin/toolcrib\", \"args\": [\"serve\", \"--stdio\"]}} }",
    );
    check(
        "gemini",
        "{\n\t\"theme\": \"x\"\n}\n",
        "{\n\t\"theme\": \"x\",\n\t\"mcpServers\": {\n\t\t\"crib\": {\n\t\t\t\"command\": \"/opt/toolcrib/bin/toolcrib\",\n\t\t\t\"args\": [\"serve\", \"--stdio\"]\n\t\t}\n\t}\n}\n",
    );
    check(
        "goose",
        "extensions:\n  a:\n    type: stdio\n    cmd: x\n    args:\n    - y\n\n# later\nGOOSE_MODE: auto\n",
        "extensions:\n  a:\n    type: stdio\n    cmd: x\n    args:\n    - y\n  crib:\n    name: crib\n    type: stdio\n    enabled: true\n    cmd: \"/opt/toolcrib/bin/toolcrib\"\n    args: [\"serve\", \"--stdio\", \"--names\", \"hyphen\"]\n    timeout: 300\n\n# later\nGOOSE_MODE: auto\n",
    );
    check(
        "continue",
        "name: x\nmcpServers:\n- name: a\n  command: x\nmodels: []\n",
        "name: x\nmcpServers:\n- name: a\n  command: x\n- name: crib\n  command: \"/opt/toolcrib/bin/toolcrib\"\n  args: [\"serve\", \"--stdio\"]\nmodels: []\n",
    );
    check(
        "codex",
        "model = \"x\"\n\n[mcp_servers.a]\ncommand = \"x\" # keep\n\n# last words\n",
        "model = \"x\"\n\n[mcp_servers.a]\ncommand = \"x\" # keep\n\n# last words\n\n[mcp_servers.crib]\ncommand = \"/opt/toolcrib/bin/toolcrib\"\nargs = [\"serve\", \"--stdio\", \"--names\", \"hyphen\"]\n",
    );
}

#[test]
fn other_ways_to_write_the_same_are_understood() {
    for (id, text) in [
        ("goose", "extensions: {}\nGOOSE_MODE: auto\n"),
        ("goose", "GOOSE_MODE: auto"),
        ("goose", "# nothing yet\n"),
        ("goose", "extensions: {a: {type: stdio, cmd: x}}\n"),
        (
            "goose",
            "{\"extensions\": {\"a\": {\"type\": \"stdio\", \"cmd\": \"x\"}}}\n",
        ),
        (
            "goose",
            "extensions:\n    a: {type: stdio, cmd: x} # c\n    # d\nb: 1\n",
        ),
        ("continue", "name: x\n"),
        ("continue", "mcpServers: []\nname: x\n"),
        ("continue", "mcpServers:\n  a: { command: x }\n"),
        ("codex", "[mcp_servers]\n"),
        ("codex", "a = 1"),
        (
            "opencode",
            "{\"mcp\": {\"servers\": {\"a\": {\"type\": \"local\", \"command\": [\"x\"]}}}}",
        ),
        ("zed", "// c\n{\n  // d\n}\n"),
    ] {
        round_trip(client(id), text);
    }
    // What stood for nothing is not kept to the letter, but nothing else changes.
    for (id, text) in [
        ("goose", "extensions:\nGOOSE_MODE: auto\n"),
        ("goose", "extensions: null # none\n"),
        ("cline", "{\"mcpServers\": null}"),
        ("continue", "mcpServers:\n"),
    ] {
        let path = file_of(client(id));
        let added = add_entry(client(id), &path, Some(text), &ours(client(id))).unwrap();
        let imported = import::read(
            client(id),
            &Source::new(&path, &*added),
            Scope::User,
            &here(),
        );
        assert_eq!(imported.skipped.len(), 1, "{added}");
    }
}

#[test]
fn removing_keeps_what_stands_around_the_entry() {
    let check = |id: &str, text: &str, expected: &str| {
        let client = client(id);
        let removed =
            remove_entry(client, &file_of(client), text, "crib", EmptyRoot::Keep).unwrap();
        assert_eq!(removed, expected, "{id}: {text}");
    };
    check(
        "cline",
        "{\"mcpServers\": {\"crib\": {}, \"b\": {}}}",
        "{\"mcpServers\": {\"b\": {}}}",
    );
    check(
        "cline",
        "{\"mcpServers\": {\"a\": {}, \"crib\": {} /* c */, \"b\": {}}}",
        "{\"mcpServers\": {\"a\": {}, /* c */ \"b\": {}}}",
    );
    check(
        "cline",
        "{\"mcpServers\": {\"a\": {}}}",
        "{\"mcpServers\": {\"a\": {}}}",
    );
    check(
        "cline",
        "{\"mcpServers\": {/* c */ \"crib\": {}}}",
        "{\"mcpServers\": {/* c */}}",
    );
    check("cline", "", "");
    check(
        "goose",
        "extensions:\n  crib: {cmd: x}\n  b: {cmd: y}\n",
        "extensions:\n  b: {cmd: y}\n",
    );
    check(
        "goose",
        "extensions:\n  crib: {cmd: x}\n",
        "extensions: {}\n",
    );
    check(
        "continue",
        "mcpServers:\n  - name: crib\n    command: x\n",
        "mcpServers: []\n",
    );
    check(
        "codex",
        "[mcp_servers.crib]\ncommand = \"x\"\n\n[mcp_servers.crib.env]\nA = \"b\"\n\n# about b\n[mcp_servers.b]\ncommand = \"y\"\n",
        "\n# about b\n[mcp_servers.b]\ncommand = \"y\"\n",
    );
}

#[test]
fn an_older_entry_of_ours_is_replaced_and_anothers_is_not() {
    for client in exportable() {
        let path = file_of(client);
        let text = fixture_of(client);
        let mut old = ours(client);
        old.command = "/old/toolcrib".to_owned();
        old.env = vec![("TOOLCRIB_PROFILE".to_owned(), "gateway".to_owned())];
        let with_old = add_entry(client, &path, Some(&text), &old).unwrap();
        let with_new = add_entry(client, &path, Some(&with_old), &ours(client)).unwrap();
        assert_eq!(
            with_new,
            add_entry(client, &path, Some(&text), &ours(client)).unwrap(),
            "{}",
            client.id
        );
        let mut other = ours(client);
        other.command = "some-other-program".to_owned();
        let taken = add_entry(client, &path, Some(&text), &other).unwrap();
        let refused = add_entry(client, &path, Some(&taken), &ours(client)).unwrap_err();
        assert!(matches!(refused, ExportError::Occupied { .. }), "{refused}");
    }
}

#[test]
fn files_that_cannot_be_edited_safely_are_left_alone() {
    let check = |id: &str, text: &str, expected: &str| {
        let client = client(id);
        let error = add_entry(client, &file_of(client), Some(text), &ours(client)).unwrap_err();
        assert_eq!(error.to_string(), expected, "{id}: {text}");
    };
    let broken = "cannot be read and is left as it is; correct it first";
    let by_hand = "is written in a way that cannot be edited safely; change";
    check(
        "cline",
        "{",
        &format!("/home/ada/cline_mcp_settings.json {broken}"),
    );
    check(
        "cline",
        "[]",
        &format!("/home/ada/cline_mcp_settings.json {broken}"),
    );
    check(
        "cline",
        "{\"mcpServers\": 5}",
        &format!("/home/ada/cline_mcp_settings.json {by_hand} `mcpServers` by hand"),
    );
    check(
        "codex",
        "mcp_servers = { a = { command = \"x\" } }\n",
        &format!("/home/ada/config.toml {by_hand} `mcp_servers` by hand"),
    );
    check(
        "goose",
        "extensions: [a]\n",
        &format!("/home/ada/config.yaml {by_hand} `extensions` by hand"),
    );
    check(
        "goose",
        "a: 1\n...\n",
        &format!("/home/ada/config.yaml {by_hand} `extensions` by hand"),
    );
    check(
        "continue",
        "mcpServers: [{name: a, command: x}]\n",
        &format!("/home/ada/config.yaml {by_hand} `mcpServers` by hand"),
    );
    check(
        "goose",
        "extensions:\n  a: {type: stdio, cmd: x}\r",
        &format!("/home/ada/config.yaml {by_hand} `extensions` by hand"),
    );
    let removed = remove_entry(
        client("codex"),
        Path::new("c.toml"),
        "[mcp_servers.crib]\ncommand = \"x\"\n[a]\n[mcp_servers.crib.env]\nA = \"b\"\n",
        "crib",
        EmptyRoot::Keep,
    );
    assert!(removed.is_err());
    for id in ["docker-mcp", "custom"] {
        let error =
            add_entry(client(id), Path::new("x.json"), None, &ours(client(id))).unwrap_err();
        assert!(matches!(error, ExportError::Unsupported(_)), "{error}");
        assert!(!has_root(client(id), Path::new("x.json"), "{}"));
    }
}

/// JSON texts in all sorts of layouts.
fn layout() -> impl Strategy<Value = String> {
    let name = "[a-z]{1,4}";
    let value = prop_oneof![
        Just("{\"command\": \"x\"}".to_owned()),
        Just("{\n      \"command\": \"x\" // c }\n    }".to_owned()),
        Just("{\"url\": \"https://a.example/}{\", \"note\": [1, {}]}".to_owned()),
    ];
    let space = prop_oneof![
        Just(""),
        Just(" "),
        Just("\n    "),
        Just("\n\n\t"),
        Just(" /* , } */ "),
        Just("\n  // { ,\n  ")
    ];
    let member = (name, value, space.clone(), space.clone());
    (prop::collection::btree_map(name, (member, any::<bool>()), 0..4), space, any::<bool>(), any::<bool>()).prop_map(
        |(members, end, trailing, crlf)| {
            let mut body = String::new();
            let count = members.len();
            for (index, (name, ((_, value, before, after), _))) in members.into_iter().enumerate() {
                let comma = if index + 1 < count || trailing { "," } else { "" };
                let _ = write!(body, "{before}\"{name}\": {value}{after}{comma}");
            }
            let end = if count == 0 { "" } else { end };
            let text = format!("// top\n{{\n  \"before\": [1, 2],\n  \"mcpServers\": {{{body}{end}}},\n  \"after\": {{}}\n}}\n");
            if crlf { text.replace('\n', "\r\n") } else { text }
        },
    )
}

/// Text of the kind that ends up in configuration, and of the kind that should not.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9@/._-]{1,12}",
        "[ -~]{1,12}",
        "\\PC{1,6}",
        Just("true".to_owned()),
        Just("- x: {".to_owned())
    ]
    .prop_filter("placeholders differ between clients", |w| {
        !w.contains(['$', '{']) && !w.trim().is_empty()
    })
}

fn entries() -> impl Strategy<Value = Vec<Entry>> {
    let entry = (
        "[a-zA-Z][a-zA-Z0-9_. -]{0,8}[a-z0-9]",
        word(),
        prop::collection::vec(word(), 0..4),
        prop::collection::btree_map("[A-Z_]{1,6}", word(), 0..3),
    );
    prop::collection::vec(entry, 1..5).prop_map(|list| {
        let mut entries: Vec<Entry> = Vec::new();
        for (name, command, args, env) in list {
            if !entries.iter().any(|e| e.name == name) {
                entries.push(Entry {
                    name,
                    command,
                    args,
                    env: env.into_iter().collect(),
                });
            }
        }
        entries
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn adding_and_removing_gives_the_same_bytes_in_any_layout(text in layout()) {
        round_trip(client("cline"), &text);
    }

    #[test]
    fn import_export_import_is_stable_for_every_client(entries in entries()) {
        for client in exportable() {
            let path = file_of(client);
            let mut text = String::new();
            for entry in &entries {
                text = add_entry(client, &path, Some(&text), entry).unwrap();
            }
            let read = |text: &str| import::read(client, &Source::new(&path, text), Scope::User, &here());
            let first = read(&text);
            prop_assert_eq!(first.servers.len(), entries.len(), "{}\n{}\n{:?}", client.id, text, first.skipped);
            for (server, entry) in first.servers.iter().zip(&entries) {
                prop_assert_eq!(&server.name, &entry.name);
            }
            for entry in entries.iter().rev() {
                text = remove_entry(client, &path, &text, &entry.name, EmptyRoot::Keep).unwrap();
            }
            prop_assert_eq!(read(&text).servers.len(), 0);
        }
    }
}
