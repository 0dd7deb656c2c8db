//! What every command prints, in success and in each documented failure, on screens of 60 and of 120
//! columns. The texts stand in `tests/transcripts/`; `TRANSCRIPTS=write` writes them anew.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;

use crate::home::Home;
use crate::stage::{reader, staged, tool};
use crate::terminal::seen;

const WIDTHS: [u16; 2] = [60, 120];

/// Runs commands one after the other in one home and compares what they print.
fn check(name: &str, home: &Home, commands: &[&[&str]]) {
    let mut told = String::new();
    for arguments in commands {
        for columns in WIDTHS {
            let mut all = vec!["--color", "never"];
            all.extend(*arguments);
            let (out, err, code) = seen(home, &all, columns);
            let line = arguments.join(" ");
            let _ = writeln!(told, "$ toolcrib {line}    # {columns} columns");
            told += &veiled(home, &out);
            if !err.is_empty() {
                let _ = writeln!(
                    told,
                    "-- on standard error:\n{}",
                    veiled(home, err.trim_end())
                );
            }
            let _ = writeln!(told, "-- exit code {}\n", code.unwrap());
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/transcripts/{name}.txt"));
    if std::env::var_os("TRANSCRIPTS").is_some_and(|wish| wish == "write") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &told).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    for (number, (is, was)) in told.lines().zip(expected.lines()).enumerate() {
        assert_eq!(
            is,
            was,
            "{name}.txt:{}; TRANSCRIPTS=write accepts it",
            number + 1
        );
    }
    assert_eq!(told.lines().count(), expected.lines().count(), "{name}.txt");
}

/// Without what differs from run to run: places, times, versions, requests.
fn veiled(home: &Home, text: &str) -> String {
    let mut text = text
        .replace(home.path("work").to_str().unwrap(), "[WORK]")
        .replace(
            home.path("").to_str().unwrap().trim_end_matches('/'),
            "[HOME]",
        )
        .replace(env!("CARGO_BIN_EXE_toolcrib"), "[PROGRAM]")
        .replace(crate::stage::hostile().to_str().unwrap(), "[SERVER]")
        .replace(env!("CARGO_PKG_VERSION"), "[VERSION]");
    text = text.lines().fold(String::new(), |mut out, line| {
        let line = if line.contains("system time: ") {
            "  ✓ system time: [NOW]"
        } else if line.starts_with("Since ") {
            "Since [WHEN]"
        } else if line.contains("database: ") {
            "  ✓ database: [STORE]"
        } else if line.trim_start().starts_with("\"request_id\": ") {
            "    \"request_id\": [REQUEST]"
        } else if let Some(at) = line.find(".toolcrib-backup-") {
            return format!("{out}{}.toolcrib-backup-[TIME]\n", &line[..at]);
        } else {
            line
        };
        out += line;
        out.push('\n');
        out
    });
    text
}

/// A server with a tool that reads, one that fails and one that rules switch off.
fn furnished() -> Home {
    let look = reader(
        "look_at_note",
        &json!({"title": {"type": "string", "description": "Which note"}}),
    );
    let tools = json!([
        look,
        tool("delete_note", &json!({"title": {"type": "string"}})),
        reader("secret_note", &json!({}))
    ]);
    staged(
        &tools,
        "    description: Notes of the workshop\n",
        "toolRules:\n  - {pattern: ['secret_*'], enabled: false, tags: [private]}\n",
    )
}

#[test]
fn finding_and_running() {
    let home = furnished();
    check(
        "finding",
        &home,
        &[
            &["list"],
            &["search", "look at a note"],
            &["list"],
            &["list", "--status"],
            &["list", "--tools"],
            &["search", "note", "--limit", "1"],
            &["search", "zzzz qqqq"],
            &["search", "note", "--server", "stge"],
            &["search"],
            &["tools", "stage"],
            &["tools", "stage", "--all", "--tags"],
            &["tools", "stge"],
            &["inspect", "stage", "look_at_note", "--examples"],
            &["inspect", "stage", "look_at_nte"],
            &["execute", "stage", "echo", "text=first"],
            &["execute", "stage", "echo", "text=first", "--json"],
            &["execute", "stage", "look_at_note", "title=first"],
            &[
                "execute",
                "stage",
                "look_at_note",
                "--args",
                "{\"title\":\"first\"}",
                "--dry-run",
            ],
            &[
                "execute",
                "stage",
                "look_at_note",
                "--args",
                "{\"title\": 7}",
            ],
            &["execute", "stage", "look_at_note", "--args", "{"],
            &["execute", "stage", "lok_at_note", "--args", "{}"],
            &["execute", "stage", "secret_note", "--args", "{}"],
            &["execute", "stage", "delete_note", "--args", "{}"],
            &["mcp", "tools", "stage"],
            &["serach", "note"],
        ],
    );
}

#[test]
fn configuring() {
    let home = Home::new();
    home.configure("servers:\n  files: {command: files-server, args: [--root, /srv]}\n  remote: {url: 'https://example.com/mcp', enabled: false}\ntoolRules:\n  - {pattern: ['*delete*'], enabled: false, tags: [dangerous]}\n");
    home.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"a": {"command": "a-server"}}}"#,
    );
    check(
        "configuring",
        &home,
        &[
            &["config", "show"],
            &["config", "validate"],
            &["config", "sources"],
            &["config", "reload"],
            &["import"],
            &["import", "--from", "nowhere.json"],
            &["import", "--write"],
            &["export", "--to", "cursor", "--undo"],
            &["export", "--to", "curser"],
            &["rules", "explain", "files:delete_file"],
            &["trust", "--list"],
            &["trust"],
            &["setup", "--dry-run"],
            &["setup"],
            &["status"],
            &["doctor", "--offline"],
            &["doctor", "fils"],
            &["stats"],
        ],
    );
    home.configure("servers: {a: {command: x}}\ntoolRules: 7\n");
    home.write(".cursor/mcp.json", "{");
    check(
        "broken",
        &home,
        &[
            &["config", "show"],
            &["config", "validate"],
            &["list"],
            &["import"],
            &["doctor", "--offline"],
        ],
    );
}

#[test]
fn setting_up_and_back() {
    let home = Home::new();
    home.write(
        ".cursor/mcp.json",
        "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a-server\"}\n  }\n}\n",
    );
    check(
        "setup",
        &home,
        &[
            &["setup", "--dry-run"],
            &["setup", "--yes"],
            &["setup", "--undo"],
            &["setup", "curser", "--yes"],
            &["setup", "docker-mcp", "--yes"],
        ],
    );
}

#[test]
fn remembering() {
    let home = furnished();
    check(
        "remembering",
        &home,
        &[
            &["cache", "show"],
            &["cache", "clear"],
            &["approvals", "list"],
            &["approve", "nothing"],
            &["audit", "tail"],
            &["audit", "verify"],
            &["audit", "search", "--decision", "maybe"],
            &["keys", "list"],
            &["keys", "revoke", "key-none"],
            &["policy", "explain", "stage:look_at_note"],
            &["login", "nowhere"],
            &["logout", "nowhere"],
            &["infer", "github", "list_issues"],
            &["rtfs", "check", "missing.rtfs"],
            &["types", "from-schema", "missing.json"],
            &["adapter", "check", "missing.yaml"],
        ],
    );
}

#[test]
fn no_table_is_wider_than_the_screen() {
    let home = Home::new();
    let long = "a-server-with-quite-a-long-name-that-goes-on-and-on";
    home.write(
        ".cursor/mcp.json",
        &json!({"mcpServers": {long: {"command": "x"}, "b": {"command": "y"}}}).to_string(),
    );
    for columns in WIDTHS {
        for arguments in [&["import"][..], &["setup", "--dry-run"]] {
            let (out, _, code) = seen(&home, arguments, columns);
            assert_eq!(code, Some(0), "{out}");
            let plain = uncoloured(&out);
            let table = plain.lines().take_while(|line| !line.is_empty());
            for line in table {
                assert!(
                    line.chars().count() <= usize::from(columns),
                    "{columns}: {line:?}"
                );
            }
        }
    }
}

/// Text without colours.
fn uncoloured(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c == '\u{1b}' {
            let _ = rest.by_ref().find(char::is_ascii_alphabetic);
        } else {
            out.push(c);
        }
    }
    out
}

#[test]
fn what_takes_over_half_a_second_shows_a_count_on_a_terminal() {
    let home = Home::new();
    let server = crate::stage::hostile().display().to_string();
    home.configure(&format!(
        "servers:\n  slow: {{command: '{server}', args: [--slow-start, '1500']}}\n"
    ));
    let mut terminal = crate::terminal::Terminal::start(&home, &["tools", "slow"]);
    terminal.shows("0/1 asking servers for their tools");
    assert!(terminal.ends().starts_with("Tools from slow ("));
}
