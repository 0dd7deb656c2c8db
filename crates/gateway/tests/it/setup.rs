//! `setup`.

use serde_json::Value;

use crate::home::{Home, names};
use crate::terminal::{Input, Terminal, watched};

mod ours;

const CURSOR: &str = "// mine\n{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a\", \"env\": {\"TOKEN\": \"${env:HOME}\"}}, // tools\n    \"off\": {\"command\": \"${env:NOT_SET}\"}\n  }\n}\n";
const CODEX: &str = "# mine\nmodel = \"x\"\n\n[mcp_servers.b]\ncommand = \"b\"\n";
const TARGET: &str = ".config/toolcrib/toolcrib.yaml";

fn furnished() -> Home {
    let home = Home::new();
    home.write(".cursor/mcp.json", CURSOR);
    home.write(".codex/config.toml", CODEX);
    home
}

fn read(home: &Home, path: &str) -> String {
    std::fs::read_to_string(home.path(path)).unwrap()
}

fn configured(home: &Home) -> Vec<String> {
    let json = home.run(&["config", "validate", "--json"]).json();
    assert_eq!(json["valid"], true, "{json}");
    let text = read(home, TARGET);
    let lines = text.lines().filter_map(|line| line.strip_prefix("  "));
    let names = lines.filter(|line| !line.starts_with([' ', '#']));
    names
        .map(|line| line.trim_end_matches(':').to_owned())
        .collect()
}

#[test]
fn servers_go_behind_toolcrib_and_every_byte_comes_back() {
    let home = furnished();
    let said = home.run(&["setup", "--yes"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(
        said.out
            .contains("✓ Cursor has Toolcrib in the place of 1 server now: ~/.cursor/mcp.json"),
        "{}",
        said.out
    );
    assert!(
        said.out
            .contains("✓ 2 servers written to ~/.config/toolcrib/toolcrib.yaml"),
        "{}",
        said.out
    );
    assert!(
        said.err.contains("off stays there: it needs NOT_SET"),
        "{}",
        said.err
    );
    assert!(
        said.err.contains("Restart Cursor and Codex"),
        "{}",
        said.err
    );
    assert_eq!(configured(&home), ["a", "b"]);
    let cursor = read(&home, ".cursor/mcp.json");
    assert!(cursor.starts_with("// mine\n"), "{cursor}");
    assert!(
        cursor.contains("toolcrib") && cursor.contains("NOT_SET") && !cursor.contains("\"a\":"),
        "{cursor}"
    );
    let again = home.run(&["setup", "--yes", "--json"]).json();
    assert_eq!(again["clients"][0]["outcome"], "unchanged");
    assert_eq!(again["configuration"]["added"].as_array().unwrap().len(), 0);
    let said = home.run(&["setup", "--undo"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(
        said.out
            .contains("~/.cursor/mcp.json is as it was before, every byte of it."),
        "{}",
        said.out
    );
    assert_eq!(read(&home, ".cursor/mcp.json"), CURSOR);
    assert_eq!(read(&home, ".codex/config.toml"), CODEX);
    assert!(!home.path(TARGET).exists());
    assert_eq!(names(&home.path(".cursor")), ["mcp.json"]);
    assert_eq!(
        home.run(&["setup", "--undo"]).out,
        "Nothing is left to undo.\n"
    );
}

#[test]
fn only_the_clients_that_were_named_are_connected() {
    let home = furnished();
    assert_eq!(home.run(&["setup", "--yes", "cursor"]).code, Some(0));
    let text = read(&home, ".cursor/mcp.json");
    let text = text
        .lines()
        .filter(|line| !line.starts_with("//"))
        .collect::<String>();
    let text = text.replace("// tools", "");
    let json: Value = serde_json::from_str(&text).unwrap();
    let entry = &json["mcpServers"]["toolcrib"];
    assert_eq!(entry["command"], env!("CARGO_BIN_EXE_toolcrib"));
    assert_eq!(
        read(&home, ".codex/config.toml"),
        CODEX,
        "only who was named"
    );
    assert_eq!(configured(&home), ["a"]);
}

#[test]
fn a_file_that_cannot_be_read_any_more_is_said_to_be_and_nothing_is_forgotten() {
    let home = furnished();
    home.run(&["setup", "cursor", "--yes"]);
    let ours = read(&home, ".cursor/mcp.json");
    home.write(".cursor/mcp.json", &format!("{ours}oops"));
    let said = home.run(&["setup", "--undo"]);
    assert_ne!(said.code, Some(0), "{}", said.out);
    assert!(
        said.err.contains("cannot be read and is left as it is"),
        "{}",
        said.err
    );
    assert!(!said.out.contains("taken out"), "{}", said.out);
    assert_eq!(configured(&home), ["a"], "the servers are still there");
    home.write(".cursor/mcp.json", &ours);
    let said = home.run(&["setup", "--undo"]);
    assert!(said.out.contains("every byte of it"), "{}", said.out);
}

#[test]
fn of_a_file_that_was_removed_the_backup_is_named() {
    let home = furnished();
    home.run(&["setup", "cursor", "--yes"]);
    std::fs::remove_file(home.path(".cursor/mcp.json")).unwrap();
    let said = home.run(&["setup", "--undo"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(
        said.out.contains("was removed since and is not put back"),
        "{}",
        said.out
    );
    let backup = "The file before setup is ~/.cursor/mcp.json.toolcrib-backup-";
    assert!(said.err.contains(backup), "{}", said.err);
    let kept = format!(
        "~/{TARGET} stays as it is, because it alone has the servers that ~/.cursor/mcp.json had.\n"
    );
    assert!(said.out.ends_with(&kept), "{}", said.out);
    assert_eq!(configured(&home), ["a"]);
    assert_eq!(
        home.run(&["setup", "--undo"]).out,
        "Nothing is left to undo.\n"
    );
}

#[test]
fn servers_of_a_file_that_was_removed_are_kept_also_when_another_client_is_taken_back_last() {
    let home = furnished();
    home.run(&["setup", "--yes"]);
    std::fs::remove_file(home.path(".cursor/mcp.json")).unwrap();
    let said = home.run(&["setup", "--undo", "cursor"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let json = home.run(&["setup", "--undo", "codex", "--json"]).json();
    assert_eq!(json["files"][0]["outcome"], "restored", "{json}");
    assert_eq!(json["files"][1]["outcome"], "kept", "{json}");
    assert_eq!(configured(&home), ["a", "b"]);
}

#[test]
fn an_entry_that_was_deleted_by_hand_is_not_said_to_be_taken_out() {
    let home = furnished();
    home.run(&["setup", "--yes", "cursor"]);
    home.write(".cursor/mcp.json", "{\"mcpServers\": {}}\n");
    let said = home.run(&["setup", "--undo", "--dry-run"]);
    let told = "~/.cursor/mcp.json was edited since: only \"a\" would be put back.\n";
    assert!(said.out.starts_with(told), "{}", said.out);
    let said = home.run(&["setup", "--undo"]);
    let told = "~/.cursor/mcp.json was edited since and had nothing of Toolcrib any more: \"a\" put back; your changes stay.\n";
    assert!(said.out.starts_with(told), "{}", said.out);
    assert!(read(&home, ".cursor/mcp.json").contains("${env:HOME}"));
}

#[test]
fn what_undo_would_do_is_shown_and_not_done() {
    let home = furnished();
    for client in ["cursor", "codex"] {
        assert_eq!(home.run(&["setup", "--yes", client]).code, Some(0));
    }
    let ours = read(&home, ".cursor/mcp.json");
    let said = home.run(&["setup", "--undo", "--dry-run"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let lines: Vec<&str> = said.out.lines().collect();
    assert_eq!(
        lines,
        [
            "~/.codex/config.toml would be as it was before, every byte of it.",
            "~/.cursor/mcp.json would be as it was before, every byte of it.",
            "~/.config/toolcrib/toolcrib.yaml was made by setup and would be gone.",
        ]
    );
    assert!(said.err.contains("Nothing was changed"), "{}", said.err);
    let json = home.run(&["setup", "--undo", "--dry-run", "--json"]).json();
    assert_eq!(json["dryRun"], true);
    assert_eq!(json["files"][2]["outcome"], "deleted", "{json}");
    assert_eq!(read(&home, ".cursor/mcp.json"), ours);
    assert_eq!(configured(&home), ["a", "b"]);
    assert_eq!(home.run(&["setup", "--undo"]).code, Some(0));
    assert_eq!(read(&home, ".cursor/mcp.json"), CURSOR);
    assert!(!home.path(TARGET).exists());
}

#[test]
fn of_two_at_once_the_second_finds_what_the_first_has_done() {
    let home = furnished();
    for _ in 0..5 {
        let start = || {
            let mut command = home.command(&["setup", "--yes", "--json"]);
            command.stdout(std::process::Stdio::piped());
            command.spawn().unwrap()
        };
        let both = [start(), start()].map(|child| child.wait_with_output().unwrap());
        let mut outcomes: Vec<String> = both
            .iter()
            .map(|output| {
                let json: Value = serde_json::from_slice(&output.stdout).unwrap();
                json["clients"][0]["outcome"].as_str().unwrap().to_owned()
            })
            .collect();
        outcomes.sort();
        assert_eq!(outcomes, ["changed", "unchanged"]);
        assert_eq!(configured(&home), ["a", "b"]);
        assert_eq!(home.run(&["setup", "--undo"]).code, Some(0));
        assert_eq!(read(&home, ".cursor/mcp.json"), CURSOR);
        assert_eq!(names(&home.path(".cursor")), ["mcp.json"]);
        assert_eq!(names(&home.path(".codex")), ["config.toml"]);
        assert!(names(&home.path(".config/toolcrib")).is_empty());
    }
}

#[test]
fn a_server_that_comes_with_the_program_is_a_server_like_any_other() {
    let home = Home::new();
    let text = r#"{"mcpServers":{"notes":{"command":"toolcrib","args":["workshop","notes"]}}}"#;
    home.write(".cursor/mcp.json", text);
    let doctor = home.run(&["doctor", "--offline"]);
    assert!(
        doctor
            .out
            .contains("~/.cursor/mcp.json does not have Toolcrib"),
        "{}",
        doctor.out
    );
    let json = home.run(&["import", "--json"]).json();
    assert_eq!(json["servers"][0]["status"], "imported", "{json}");
    assert_eq!(home.run(&["setup", "--yes"]).code, Some(0));
    assert_eq!(configured(&home), ["notes"]);
    let again = home.run(&["setup", "--yes", "--json"]).json();
    assert_eq!(again["clients"][0]["outcome"], "unchanged", "{again}");
}

#[test]
fn a_client_without_a_file_is_said_to_get_one() {
    let home = Home::new();
    std::fs::create_dir(home.path(".cursor")).unwrap();
    let said = home.run(&["setup", "--dry-run"]);
    assert!(
        said.out
            .contains("~/.cursor/mcp.json  no file yet, one is made"),
        "{}",
        said.out
    );
    let json = home.run(&["setup", "--dry-run", "--json"]).json();
    assert_eq!(json["clients"][0]["outcome"], "created", "{json}");
    assert!(names(&home.path(".cursor")).is_empty());
}

#[test]
fn a_file_that_was_edited_since_loses_only_what_was_put_in() {
    let home = furnished();
    home.run(&["setup", "--yes"]);
    let edited = read(&home, ".cursor/mcp.json").replace("// mine", "// mine, edited");
    home.write(".cursor/mcp.json", &edited);
    home.write(TARGET, &format!("# edited\n{}", read(&home, TARGET)));
    let said = home.run(&["setup", "--undo"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.contains("~/.cursor/mcp.json was edited since: only Toolcrib's entry was taken out and \"a\" put back; your changes stay."), "{}", said.out);
    assert!(
        said.err
            .contains("The file before setup is ~/.cursor/mcp.json.toolcrib-backup-"),
        "{}",
        said.err
    );
    assert!(
        said.out
            .contains("toolcrib.yaml was edited since and stays as it is"),
        "{}",
        said.out
    );
    let text = read(&home, ".cursor/mcp.json");
    assert!(
        text.starts_with("// mine, edited\n") && !text.contains("toolcrib"),
        "{text}"
    );
    assert!(
        text.contains("\"a\"") && text.contains("${env:HOME}"),
        "{text}"
    );
    assert_eq!(read(&home, ".codex/config.toml"), CODEX);
}

#[test]
fn one_client_can_be_taken_back_alone() {
    let home = furnished();
    home.run(&["setup", "--yes"]);
    let other = home.run(&["setup", "--undo", "windsurf"]);
    assert_eq!(other.out, "Nothing of Windsurf is left to undo.\n");
    let json = home.run(&["setup", "--undo", "codex", "--json"]).json();
    assert_eq!(json["files"].as_array().unwrap().len(), 1, "{json}");
    assert_eq!(read(&home, ".codex/config.toml"), CODEX);
    assert!(read(&home, ".cursor/mcp.json").contains("toolcrib"));
    assert!(home.path(TARGET).exists(), "Cursor still needs it");
    let json = home.run(&["setup", "--undo", "--json"]).json();
    assert_eq!(json["files"][0]["outcome"], "restored");
    assert_eq!(json["files"][1]["outcome"], "deleted");
}

#[test]
fn new_servers_join_the_configuration_that_is_there() {
    let home = furnished();
    let own = "# my own\nservers:\n  a: {command: other}\n  c: {command: b}\n";
    home.configure(own);
    let json = home.run(&["setup", "--yes", "--json"]).json();
    assert_eq!(
        json["configuration"]["added"],
        serde_json::json!(["a-cursor"]),
        "{json}"
    );
    assert!(
        read(&home, TARGET).starts_with(own),
        "{}",
        read(&home, TARGET)
    );
    home.run(&["setup", "--undo"]);
    assert_eq!(read(&home, TARGET), own);
}

#[test]
fn taking_the_entry_out_by_export_is_refused_so_that_undo_still_finds_its_backup() {
    let home = furnished();
    assert_eq!(home.run(&["setup", "cursor", "--yes"]).code, Some(0));
    let ours = read(&home, ".cursor/mcp.json");
    for _ in 0..2 {
        let said = home.run(&["export", "--to", "cursor", "--undo"]);
        assert_eq!(said.code, Some(1), "{}", said.out);
        assert!(
            said.err.contains("`toolcrib setup --undo cursor`"),
            "{}",
            said.err
        );
        assert_eq!(read(&home, ".cursor/mcp.json"), ours);
        assert_eq!(names(&home.path(".cursor")).len(), 2, "and its backup");
    }
    let said = home.run(&["setup", "--undo"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(read(&home, ".cursor/mcp.json"), CURSOR);
    assert_eq!(names(&home.path(".cursor")), ["mcp.json"]);
    let said = home.run(&["export", "--to", "cursor", "--undo"]);
    assert_eq!(said.out, "~/.cursor/mcp.json has no entry of Toolcrib.\n");
}

#[test]
fn without_a_terminal_it_says_what_to_pass_and_changes_nothing() {
    let home = furnished();
    for arguments in [&["setup"][..], &["setup", "--json"], &["setup", "cursor"]] {
        let said = home.run(arguments);
        assert_eq!(said.code, Some(1), "{}", said.err);
        assert!(said.err.contains("add --yes"), "{}", said.err);
    }
    let said = home.run(&["setup", "--dry-run"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.contains("off: it needs NOT_SET"), "{}", said.out);
    let json = home.run(&["setup", "--dry-run", "--json"]).json();
    assert_eq!(json["dryRun"], true);
    let told = |index: usize| {
        let client = &json["clients"][index];
        [&client["client"], &client["outcome"], &client["moved"][0]]
    };
    assert_eq!(told(0), ["cursor", "changed", "a"], "{json}");
    assert_eq!(told(1), ["codex", "changed", "b"], "{json}");
    let stays = &json["clients"][0]["stays"][0]["reason"];
    assert_eq!(stays, "it needs NOT_SET, which is not set here");
    assert_eq!(
        json["configuration"]["added"],
        serde_json::json!(["a", "b"])
    );
    assert_eq!(json["clients"][0]["backup"], Value::Null);
    assert_eq!(names(&home.path(".cursor")), ["mcp.json"]);
    assert_eq!(read(&home, ".cursor/mcp.json"), CURSOR);
    assert!(!home.path(TARGET).exists());
}

#[test]
fn a_terminal_asks_which_clients() {
    let home = furnished();
    let mut terminal = Terminal::start(&home, &["setup"]);
    // The first of the two is switched off.
    terminal.press("Which clients", " \r");
    terminal.press("Change this file?", "y");
    let out = terminal.ends();
    assert!(out.contains("Codex") && !out.contains("Cursor"), "{out}");
    assert_eq!(read(&home, ".cursor/mcp.json"), CURSOR);
}

#[test]
fn who_does_not_say_yes_at_the_end_has_changed_nothing() {
    // A word and Enter leave every client ticked, as Enter alone does.
    for (first, second) in [("n\r", "n"), ("no\r", "\r"), ("\r", "\u{3}")] {
        let home = furnished();
        let mut terminal = Terminal::start(&home, &["setup"]);
        terminal.press("Which clients", first);
        terminal.shows("Toolcrib goes into ~/.cursor/mcp.json and ~/.codex/config.toml.");
        terminal.press("Change these 2 files?", second);
        terminal.shows("nothing was changed");
        terminal.wait_out();
        assert_eq!(read(&home, ".cursor/mcp.json"), CURSOR);
        assert_eq!(read(&home, ".codex/config.toml"), CODEX);
        assert!(!home.path(TARGET).exists());
    }
}

#[test]
fn who_leaves_the_question_has_changed_nothing() {
    let home = furnished();
    let mut terminal = Terminal::start(&home, &["setup"]);
    terminal.press("Which clients", "q");
    terminal.shows("nothing was changed");
    terminal.wait_out();
    assert_eq!(read(&home, ".cursor/mcp.json"), CURSOR);
    assert!(!home.path(TARGET).exists());
    // Ctrl-C leaves it too, and the terminal as it was.
    let mut terminal = Terminal::start(&home, &["setup"]);
    terminal.press("Which clients", "\u{3}");
    terminal.shows("nothing was changed");
    let (hidden, shown) = ("\u{1b}[?25l", "\u{1b}[?25h");
    let last = |sign| terminal.shown.rfind(sign);
    assert!(last(hidden).is_some() && last(shown) > last(hidden));
    terminal.wait_out();
    assert_eq!(read(&home, ".cursor/mcp.json"), CURSOR);
    assert!(!home.path(TARGET).exists());
}

#[test]
fn what_comes_next_is_setup_only_as_long_as_a_client_can_be_connected() {
    let home = furnished();
    let advice = || watched(&home, &[], 100, Input::Keyboard, |_| {}).0;
    assert!(advice().contains("  toolcrib setup "), "{}", advice());
    assert_eq!(home.run(&["setup", "--yes", "cursor"]).code, Some(0));
    assert!(advice().contains("  toolcrib setup "), "{}", advice());
    assert_eq!(home.run(&["setup", "--yes"]).code, Some(0));
    let said = advice();
    assert!(
        !said.contains("toolcrib setup") && said.contains("  toolcrib doctor "),
        "{said}"
    );
}

#[test]
fn a_broken_file_is_left_alone_and_named_while_the_others_are_connected() {
    let home = furnished();
    home.write(".cursor/mcp.json", "{");
    let said = home.run(&["setup", "--yes"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("Cursor: "), "{}", said.err);
    assert!(said.out.contains("Codex"), "{}", said.out);
    assert_eq!(read(&home, ".cursor/mcp.json"), "{");
    let json = home.run(&["setup", "--yes", "--json"]);
    assert_eq!(json.json()["problems"][0]["client"], "cursor");
}

#[test]
fn an_empty_home_is_told_what_to_name() {
    let home = Home::new();
    let said = home.run(&["setup", "--yes"]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("`toolcrib setup cursor`"), "{}", said.err);
    let said = home.run(&["setup", "docker-mcp", "--yes"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    let said = home.run(&["setup", "curser", "--yes"]);
    assert!(said.err.contains("did you mean cursor?"), "{}", said.err);
    let said = home.run(&["setup", "cursor", "--yes"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(
        said.out.contains("~/.cursor/mcp.json was made"),
        "{}",
        said.out
    );
    let said = home.run(&["setup", "--undo"]);
    assert_eq!(
        said.out,
        "~/.cursor/mcp.json was made by setup and is gone.\n"
    );
}

#[test]
fn a_file_that_cannot_be_put_back_does_not_keep_the_others_from_it() {
    let home = furnished();
    assert_eq!(home.run(&["setup", "--yes"]).code, Some(0));
    // What is no text cannot be read any more.
    std::fs::write(home.path(".codex/config.toml"), [0xff, 0xfe]).unwrap();
    let said = home.run(&["setup", "--undo", "--json"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    let told = said.json();
    assert_eq!(told["files"][0]["client"], "cursor", "{told}");
    assert_eq!(told["files"][0]["outcome"], "restored", "{told}");
    assert_eq!(told["failures"][0]["client"], "codex", "{told}");
    assert_eq!(read(&home, ".cursor/mcp.json"), CURSOR);
    assert!(home.path(TARGET).exists(), "Codex still starts Toolcrib");
    let said = home.run(&["setup", "--undo"]);
    assert_eq!(said.code, Some(2), "{}", said.out);
    assert!(
        said.err
            .contains("; the file before setup is ~/.codex/config.toml.toolcrib-backup-"),
        "{}",
        said.err
    );
    std::fs::write(home.path(".codex/config.toml"), CODEX).unwrap();
    assert_eq!(home.run(&["setup", "--undo"]).code, Some(0));
    assert!(!home.path(TARGET).exists());
}

#[test]
fn a_file_that_setup_made_and_changed_is_told_of_once() {
    let home = furnished();
    for client in ["cursor", "codex"] {
        assert_eq!(home.run(&["setup", "--yes", client]).code, Some(0));
    }
    let said = home.run(&["setup", "--undo"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let about: Vec<&str> = said
        .out
        .lines()
        .filter(|line| line.contains("toolcrib.yaml"))
        .collect();
    assert_eq!(
        about,
        ["~/.config/toolcrib/toolcrib.yaml was made by setup and is gone."],
        "{}",
        said.out
    );
    assert_eq!(said.out.lines().count(), 3, "{}", said.out);
}
