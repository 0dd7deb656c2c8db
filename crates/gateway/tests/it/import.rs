//! `import`.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::home::{Home, Said, names};
use crate::terminal::together;

/// A home with the files of three clients that overlap.
fn furnished() -> Home {
    let home = Home::new();
    home.write(
        ".config/Claude/claude_desktop_config.json",
        r#"{"mcpServers":{
            "github":{"command":"npx","args":["gh"],"env":{"GITHUB_TOKEN":"ghp_0123456789abcdefghijklmnop"}},
            "toolcrib":{"command":"toolcrib","args":["serve","--stdio"]}}}"#,
    );
    home.write(
        ".cursor/mcp.json",
        r#"{"mcpServers":{
            "github":{"command":"other"},
            "remote":{"url":"https://example.com/mcp","headers":{"X-Key":"${env:REMOTE_KEY}"}}}}"#,
    );
    home.write(
        "work/.mcp.json",
        r#"{"mcpServers":{"project":{"command":"p"}}}"#,
    );
    home
}

const TARGET: &str = ".config/toolcrib/toolcrib.yaml";

#[test]
fn import_shows_what_was_found_where_and_what_is_skipped() {
    let home = furnished();
    let said = home.run(&["import"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let line = |words: &[&str]| {
        let found = said
            .out
            .lines()
            .find(|l| words.iter().all(|w| l.contains(w)));
        assert!(found.is_some(), "{words:?}: {}", said.out);
    };
    line(&["SERVER", "CLIENT", "FILE", "NOTE"]);
    line(&[
        "github",
        "claude-desktop",
        "~/.config/Claude/claude_desktop_config.json:2",
    ]);
    line(&["github", "cursor", "called github-cursor"]);
    line(&["remote", "cursor", "set aside until REMOTE_KEY is set"]);
    line(&["project", "claude-code", "~/work/.mcp.json", "not trusted"]);
    line(&["toolcrib", "claude-desktop", "skipped:"]);
    line(&["3 servers found; `toolcrib import --write`"]);
    assert!(
        said.err
            .contains("github: GITHUB_TOKEN is a secret in plain text"),
        "{}",
        said.err
    );
    assert!(!home.path(TARGET).exists());
}

#[test]
fn what_is_written_loads_and_is_for_the_user_alone() {
    let home = furnished();
    let said = home.run(&["import", "--write"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let end = format!(
        "✓ 3 servers written to ~/{TARGET}\n\n`toolcrib list` shows them; `toolcrib setup` puts Toolcrib into your clients.\n"
    );
    assert!(said.out.ends_with(&end), "{}", said.out);
    let target = home.path(TARGET);
    let mode = std::fs::metadata(&target).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let json = home.run(&["config", "show", "--json"]).json();
    assert_eq!(json["config"], target.to_str().unwrap());
    assert_eq!(json["servers"]["configured"], 3);
}

#[test]
fn a_server_that_waits_for_a_variable_runs_once_it_is_set_and_one_that_is_off_stays_off() {
    let home = Home::new();
    home.write(
        ".config/Code/User/mcp.json",
        r#"{"inputs": [{"id": "linear-key", "type": "promptString"}], "servers": {
            "linear": {"command": "linear", "env": {"KEY": "${input:linear-key}"}},
            "other": {"command": "other"}}}"#,
    );
    home.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"resting": {"command": "resting", "disabled": true}}}"#,
    );
    let with = |arguments: &[&str]| {
        let mut command = home.command(arguments);
        Said::of(command.env("INPUT_LINEAR_KEY", "k").output().unwrap())
    };
    let said = home.run(&["import", "--write"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let note = "set aside until INPUT_LINEAR_KEY is set";
    assert!(said.out.contains(note), "{}", said.out);
    let text = std::fs::read_to_string(home.path(TARGET)).unwrap();
    assert_eq!(text.matches("enabled: false").count(), 1, "{text}");
    let (_, resting) = text.split_once("resting:").unwrap();
    assert!(resting.contains("enabled: false"), "{text}");

    let valid = home.run(&["config", "validate"]);
    assert_eq!(valid.code, Some(0), "{}", valid.err);
    let aside = "the server linear is set aside";
    assert!(
        (valid.out + &valid.err).contains(aside),
        "what is set aside is said"
    );
    let valid = with(&["config", "validate"]);
    assert!(!(valid.out + &valid.err).contains(aside));
    let status = |json: &Value| {
        let servers = json["servers"].as_array().unwrap();
        let row = servers.iter().find(|row| row["name"] == "linear").unwrap();
        row["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(status(&home.run(&["list", "--json"]).json()), "error");
    assert_eq!(status(&with(&["list", "--json"]).json()), "disconnected");
    let doctor = home.run(&["doctor"]);
    assert!(doctor.out.contains("linear: set aside"), "{}", doctor.out);

    let moved = |said: &Said| said.json()["clients"][0]["moved"].clone();
    let setup = ["setup", "vscode", "--dry-run", "--json"];
    assert_eq!(moved(&home.run(&setup)), json!(["other"]));
    assert_eq!(moved(&with(&setup)), json!(["linear", "other"]));
}

#[test]
fn a_configuration_that_is_there_is_replaced_only_when_asked_to_and_kept_beside() {
    let home = furnished();
    home.configure("servers: {}\n");
    let said = home.run(&["import", "--write"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("--replace"), "{}", said.err);
    assert_eq!(
        std::fs::read_to_string(home.path(TARGET)).unwrap(),
        "servers: {}\n"
    );
    let said = home.run(&["import", "--write", "--replace"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let kept = names(&home.path(".config/toolcrib"));
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert!(
        kept[1].starts_with("toolcrib.yaml.toolcrib-backup-"),
        "{kept:?}"
    );
}

#[test]
fn a_configuration_in_another_format_is_not_pushed_aside() {
    let own = "[policy]\nconfirmation = \"destructive\"\n";
    for file in [
        ".config/toolcrib/toolcrib.toml",
        ".anygpt/mcp-discovery.config.json",
    ] {
        let home = furnished();
        let own = if file.ends_with("toml") { own } else { "{}" };
        home.write(file, own);
        for arguments in [
            &["import", "--write"][..],
            &["import", "--write", "--replace"],
        ] {
            let said = home.run(arguments);
            assert_eq!(said.code, Some(2), "{}", said.out);
            assert!(
                said.err.contains(file) && said.err.contains("move it away first"),
                "{}",
                said.err
            );
        }
        assert!(!home.path(TARGET).exists());
        assert_eq!(std::fs::read_to_string(home.path(file)).unwrap(), own);
        let said = home.run(&["import", "--dry-run"]);
        let told = format!("this is what to add to ~/{file} by hand:");
        assert!(said.out.contains(&told), "{}", said.out);
    }
}

#[test]
fn a_file_that_would_not_be_yaml_is_not_written() {
    let home = furnished();
    let said = home.run(&["import", "--write", "--config", "new.toml"]);
    assert_eq!(said.code, Some(2), "{}", said.out);
    assert!(said.err.contains("ends in .yaml"), "{}", said.err);
    assert!(!home.path("work/new.toml").exists());
}

#[test]
fn a_dry_run_prints_what_would_be_written() {
    let home = furnished();
    let said = home.run(&["import", "--dry-run", "--from", "cursor"]);
    assert!(said.out.contains("\nservers:\n"), "{}", said.out);
    assert!(said.out.contains("${REMOTE_KEY}"), "{}", said.out);
    assert!(!home.path(TARGET).exists());
    let json = home.run(&["import", "--dry-run", "--json"]).json();
    assert!(json["text"].as_str().unwrap().contains("servers:"));
    assert_eq!(json["written"], serde_json::Value::Null);
}

#[test]
fn on_a_terminal_a_dry_run_shows_no_secret_and_says_where_it_is() {
    let home = furnished();
    let arguments = ["import", "--dry-run"];
    let shown = together(&home, &arguments);
    assert!(!shown.contains("ghp_"), "{shown}");
    assert!(shown.contains("GITHUB_TOKEN: \"***\""), "{shown}");
    assert!(shown.contains("${REMOTE_KEY}"), "{shown}");
    assert!(shown.contains("they are whole in a pipe"), "{shown}");
    let piped = home.run(&arguments);
    assert!(piped.out.contains("ghp_0123"), "{}", piped.out);
    assert!(!piped.err.contains("in a pipe"), "{}", piped.err);
}

#[test]
fn of_two_that_write_at_once_one_is_told_that_the_file_is_there() {
    for _ in 0..5 {
        let home = furnished();
        let start = || {
            let mut command = home.command(&["import", "--write"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().unwrap()
        };
        let both = [start(), start()].map(|child| child.wait_with_output().unwrap());
        let mut codes = both.each_ref().map(|output| output.status.code());
        codes.sort_unstable();
        assert_eq!(codes, [Some(0), Some(2)]);
        let refused = both.iter().find(|output| !output.status.success());
        let said = String::from_utf8_lossy(&refused.unwrap().stderr);
        assert!(said.contains("is there already"), "{said}");
        assert_eq!(names(&home.path(".config/toolcrib")), ["toolcrib.yaml"]);
    }
}

#[test]
fn json_names_servers_files_and_what_was_skipped() {
    let json = furnished().run(&["import", "--json"]).json();
    let status = |name: &str, client: &str| {
        let servers = json["servers"].as_array().unwrap();
        let found = servers
            .iter()
            .find(|s| s["name"] == name && s["client"] == client);
        found.unwrap()["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(status("github", "claude-desktop"), "imported");
    assert_eq!(status("github", "cursor"), "renamed");
    assert_eq!(status("remote", "cursor"), "waiting");
    assert_eq!(status("project", "claude-code"), "untrusted");
    assert_eq!(json["skipped"][0]["name"], "toolcrib");
    assert_eq!(json["files"].as_array().unwrap().len(), 3);
    assert_eq!(json["plainSecrets"][0], "github: GITHUB_TOKEN");
}

#[test]
fn a_file_is_imported_by_its_path_whoever_wrote_it() {
    let home = Home::new();
    home.write(
        "backup/settings.json",
        r#"{"context_servers":{"z":{"command":"z"}}}"#,
    );
    let said = home.run(&["import", "--from", "../backup/settings.json", "--write"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.contains("zed"), "{}", said.out);
    home.write("backup/broken.json", "{");
    let said = home.run(&["import", "--from", "../backup/broken.json"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("broken.json:1:"), "{}", said.err);
}

#[test]
fn one_broken_file_does_not_keep_the_others_from_being_imported() {
    let home = furnished();
    home.write(".cursor/mcp.json", "{");
    let said = home.run(&["import"]);
    assert_eq!(said.code, Some(2), "what was left out is no success");
    assert!(
        said.err
            .contains("[CONFIGURATION_ERROR]: ~/.cursor/mcp.json cannot be read"),
        "{}",
        said.err
    );
    let json = home.run(&["import", "--json"]);
    assert_eq!(json.code, Some(2));
    let json = json.json();
    let states: Vec<&str> = json["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["read", "untrusted", "broken"]);
    let told = &json["files"][2]["diagnostics"][0];
    assert_eq!((&told["line"], &told["column"]), (&1.into(), &1.into()));
    assert!(told["message"].is_string(), "{json}");
    assert!(said.err.contains("mcp.json:1:1\n"), "{}", said.err);
    assert!(said.err.contains("what else was found"), "{}", said.err);
    assert!(said.out.contains("1 server found"), "{}", said.out);
}

#[test]
fn the_same_server_in_two_files_is_imported_once() {
    let home = Home::new();
    let text = r#"{"mcpServers":{"x":{"command":"x"}}}"#;
    home.write(".cursor/mcp.json", text);
    home.write(".lmstudio/mcp.json", text);
    let said = home.run(&["import"]);
    assert!(said.out.contains("same server as x"), "{}", said.out);
    assert!(said.out.contains("1 server found"), "{}", said.out);
}

#[test]
fn a_place_that_cannot_be_written_is_an_error() {
    let home = furnished();
    home.write(".config/toolcrib", "a file in place of the directory");
    let said = home.run(&["import", "--write"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("cannot be written"), "{}", said.err);
}

#[test]
fn an_empty_home_has_nothing_to_import() {
    let home = Home::new();
    let said = home.run(&["import", "--write"]);
    assert_eq!(
        (said.code, said.out.as_str()),
        (Some(0), "No client has any servers.\n")
    );
    assert!(!home.path(TARGET).exists());
}
