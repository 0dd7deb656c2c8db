//! What every command prints, in success and in each documented failure, on screens of 60 and of 120
//! columns. The texts stand in `tests/transcripts/`; `TRANSCRIPTS=write` writes them anew.

use serde_json::json;

use crate::home::Home;
use crate::stage::{reader, staged, tool};
use crate::terminal::seen;

mod describing;
mod running;
mod screen;
mod settling;
mod whole;

pub(crate) use screen::veiled;
use screen::{WIDTHS, check};

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
    check("finding", |screen| {
        let home = furnished();
        screen.runs(
            &home,
            &[
                &["list"],
                &["search", "look at a note"],
                &["list"],
                &["list", "--status"],
                &["list", "--tools"],
                &["search", "note", "--limit", "1"],
                &["list", "--nope"],
                &["search", "zzzz qqqq"],
                &["search", "note", "--server", "stge"],
                &["search"],
                &["search", "note", "--limit", "0"],
                &["tools", "stage"],
                &["tools", "stage", "--all", "--tags"],
                &["tools", "stge"],
                &["tools"],
                &["inspect", "stage"],
                &["inspect", "stage", "look_at_note", "--examples"],
                &["inspect", "stage", "look_at_nte"],
                &["execute", "stage", "echo"],
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
                &[
                    "execute",
                    "stage",
                    "look_at_note",
                    "--args",
                    "@nowhere.json",
                ],
                &["list", "--config", "nowhere.yaml"],
                &["execute", "stage", "lok_at_note", "--args", "{}"],
                &["execute", "stage", "secret_note", "--args", "{}"],
                &["execute", "stage", "delete_note", "--args", "{}"],
                &["mcp", "tools", "stage"],
                &["serach", "note"],
            ],
        );
    });
}

#[test]
fn configuring() {
    check("configuring", |screen| {
        let home = Home::new();
        home.configure("servers:\n  files: {command: files-server, args: [--root, /srv]}\n  remote: {url: 'https://example.com/mcp', enabled: false}\ntoolRules:\n  - {pattern: ['*delete*'], enabled: false, tags: [dangerous]}\n");
        home.write(
            ".cursor/mcp.json",
            r#"{"mcpServers": {"a": {"command": "a-server"}}}"#,
        );
        screen.runs(
            &home,
            &[
                &["config", "show"],
                &["config", "show", "--nope"],
                &["config", "validate"],
                &["config", "validate", "--nope"],
                &["config", "sources"],
                &["config", "sources", "--nope"],
                &["config", "reload"],
                &["import"],
                &["import", "--from", "nowhere.json"],
                &["import", "--from", "curser"],
                &["import", "--from", "cursor", "--dry-run"],
                &["import", "--write"],
                &["export", "--to", "cursor", "--undo"],
                &["export", "--to", "cursor", "--dry-run"],
                &["export", "--to", "cursor"],
                &["export", "--to", "cursor"],
                &["export", "--to", "cursor", "--undo"],
                &["export", "--to", "curser"],
                &["rules", "explain", "files:delete_file"],
                &["rules", "explain", "files"],
                &["setup", "--dry-run"],
                &["setup"],
                &["status"],
                &["doctor", "--offline"],
                &["doctor", "fils"],
                &["doctor", "--nope"],
                &["stats"],
                &["stats", "--since", "soon"],
                &["completions", "bash"],
                &["completions", "tcsh"],
            ],
        );
    });
}

#[test]
fn trusting() {
    check("trusting", |screen| {
        let home = Home::new();
        home.write(
            "work/toolcrib.yaml",
            "servers: {p: {command: prog, args: [--token=abc]}}\n",
        );
        screen.runs(
            &home,
            &[
                &["config", "show"],
                &["trust", "--list"],
                &["trust"],
                &["trust", "--yes"],
                &["trust", "--list"],
                &["trust", "--revoke"],
                &["trust", "--yes", "nowhere"],
            ],
        );
    });
}

#[test]
fn with_a_broken_configuration() {
    check("broken", |screen| {
        let home = Home::new();
        home.configure("servers: {a: {command: x}}\ntoolRules: 7\n");
        home.write(".cursor/mcp.json", "{");
        screen.runs(
            &home,
            &[
                &["config", "show"],
                &["config", "validate"],
                &["config", "sources"],
                &["list"],
                &["import"],
                &["doctor", "--offline"],
                &["serve"],
            ],
        );
        screen.at_the_keyboard(&home, &[]);
    });
}

#[test]
fn setting_up_and_back() {
    check("setup", |screen| {
        let home = Home::new();
        home.write(
            ".cursor/mcp.json",
            "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a-server\"}\n  }\n}\n",
        );
        screen.at_the_keyboard(&home, &[]);
        screen.runs(
            &home,
            &[
                &["setup", "--dry-run"],
                &["setup", "--yes"],
                &["setup", "--yes"],
                &["setup", "--undo"],
                &["setup", "--undo"],
                &["setup", "curser", "--yes"],
                &["setup", "docker-mcp", "--yes"],
            ],
        );
        screen.at_the_keyboard(&Home::new(), &[]);
    });
}

#[test]
fn playing() {
    check("demo", |screen| {
        let home = Home::new();
        screen.runs(
            &home,
            &[&["demo"], &["demo", "setup"], &["demo", "nowhere"]],
        );
    });
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

#[test]
fn what_comes_next_fits_a_narrow_screen() {
    let servers = Home::new();
    servers.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"a": {"command": "a"}}}"#,
    );
    for home in [Home::new(), servers] {
        let (out, _, code) =
            crate::terminal::watched(&home, &[], 60, crate::terminal::Input::Keyboard, |_| {});
        assert_eq!(code, Some(0), "{out}");
        let (_, next) = out.split_once("Next:\n").unwrap();
        for line in next.lines() {
            assert!(line.chars().count() <= 60, "{line:?}");
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
    let path = home.path("work/made.json").display().to_string();
    for (arguments, shown) in [
        (
            &["execute", "slow", "echo", "text=a"][..],
            "0/1 asking servers for their tools",
        ),
        (
            &["execute", "slow", "echo", "--args", "{}", "--stream"],
            "running slow:echo",
        ),
        (
            &["policy", "explain", "slow:echo"],
            "0/1 asking servers for their tools",
        ),
        (&["export-rtfs", "slow"], "asking slow for its tools"),
        (&["search", "echo"], "0/1 asking servers for their tools"),
        (
            &["inspect", "slow", "echo"],
            "0/1 asking servers for their tools",
        ),
        (&["cache", "warm"], "0/1 asking slow"),
        (&["doctor"], "0/1 asking slow"),
        (
            &["registry-file", "write", "--path", &path],
            "0/1 asking servers for their tools",
        ),
        (
            &[
                "introspect",
                &format!("{server} --slow-start 1500"),
                "--name",
                "new",
            ],
            "asking new what it offers",
        ),
    ] {
        assert_eq!(home.run(&["cache", "clear"]).code, Some(0));
        let mut terminal = crate::terminal::Terminal::start(&home, arguments);
        terminal.shows(shown);
        terminal.wait_out();
    }
}

#[test]
fn what_waits_for_an_address_shows_that_on_a_terminal() {
    // It takes connections and says nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", silent.local_addr().unwrap());
    let home = Home::new();
    home.configure(&format!(
        "registry: {{url: '{address}'}}\nservers: {{far: {{url: '{address}/mcp'}}}}\n"
    ));
    let spec = format!("{address}/api.yaml");
    for (arguments, shown) in [
        (&["registry", "search", "x"][..], "asking the registry"),
        (
            &["adapter", "check", &spec, "--allow-private"],
            "reading http",
        ),
        (&["login", "far", "--no-browser"], "asking far"),
    ] {
        let mut terminal = crate::terminal::Terminal::start(&home, arguments);
        terminal.shows(shown);
        terminal.child.kill().unwrap();
        terminal.child.wait().unwrap();
    }
}
