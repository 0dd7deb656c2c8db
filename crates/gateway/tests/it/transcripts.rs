//! What every command prints, in success and in each documented failure, on screens of 60 and of 120
//! columns. The texts stand in `tests/transcripts/`; `TRANSCRIPTS=write` writes them anew.

use serde_json::json;

use crate::home::Home;
use crate::stage::{reader, staged, tool};
use crate::terminal::seen;

mod broken;
mod configuring;
mod describing;
mod executing;
pub(crate) mod finding;
mod json;
mod running;
mod screen;
mod settling;
mod whole;
mod width;

use screen::WIDTHS;
pub(crate) use screen::{without_figures, without_names};

/// A server with a tool that reads, one that fails and one that rules switch off.
fn furnished() -> Home {
    furnished_with("", "")
}

/// The same with more servers and rules.
fn furnished_with(servers: &str, rules: &str) -> Home {
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
        &format!("    description: Notes of the workshop\n{servers}"),
        &format!(
            "toolRules:\n  - {{pattern: ['secret_*'], enabled: false, tags: [private]}}\n{rules}"
        ),
    )
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
