//! Reload with a real process: every way to change a file, every way to ask.

use std::fs;
use std::io::Write;

use rustix::process::Signal;
use serde_json::Value;

use crate::home::{Home, eventually};

const ONE: &str = "servers: {a: {command: a}}\n";
const TWO: &str = "servers: {a: {command: a}, b: {command: b}}\n";
const BROKEN: &str = "servers: {a: {command: [}}\n";

/// The one running process.
fn status(home: &Home) -> Value {
    home.run(&["status", "--json"]).json()["processes"][0].take()
}

/// Waits until the process has that many servers, and has told how it came to have them.
fn becomes(home: &Home, servers: u64) -> Value {
    eventually(&format!("{servers} servers"), || {
        (status(home)["counts"]["serversConfigured"] == servers).then_some(())
    });
    eventually("the report", || {
        let status = status(home);
        (status["reload"]["generation"] == status["generation"]).then_some(status)
    })
}

/// Waits for the outcome of the last reload.
fn last_reload(home: &Home, outcome: &str) -> Value {
    eventually(outcome, || {
        let status = status(home);
        (status["reload"]["outcome"] == outcome).then_some(status)
    })
}

#[test]
fn a_file_edited_in_place_or_replaced_by_rename_is_applied() {
    let home = Home::new();
    let config = home.configure(ONE);
    let mut server = home.serve(&[]);
    // By the first look at the files all of them are watched.
    last_reload(&home, "unchanged");
    // In one step over what is there, which is shorter: at no moment is the file something else.
    let mut file = fs::File::options().write(true).open(&config).unwrap();
    file.write_all(TWO.as_bytes()).unwrap();
    drop(file);
    let said = server.hears("configuration reloaded");
    assert!(said.contains("1 added, 0 removed"), "{said}");
    assert_eq!(becomes(&home, 2)["generation"], 2);
    let other = home.write(".config/toolcrib/.toolcrib.yaml.swp", ONE);
    fs::rename(other, &config).unwrap();
    let said = server.hears("configuration reloaded");
    assert!(said.contains("0 added, 1 removed"), "{said}");
    assert_eq!(becomes(&home, 1)["generation"], 3);
}

#[test]
fn a_broken_file_keeps_what_runs_and_repairing_it_applies() {
    let home = Home::new();
    home.configure(TWO);
    let mut server = home.serve(&[]);
    home.configure(BROKEN);
    let now = last_reload(&home, "refused");
    assert_eq!(
        (&now["generation"], &now["counts"]["serversConfigured"]),
        (&1.into(), &2.into())
    );
    assert!(
        now["reload"]["error"]["diagnostics"][0]["line"] == 1,
        "{now}"
    );
    assert!(home.run(&["status"]).out.contains("refused: "));
    server.hears("the running one stays in place");
    home.configure(ONE);
    let now = becomes(&home, 1);
    assert_eq!(now["generation"], 2);
}

#[test]
fn hanging_up_reloads() {
    let home = Home::new();
    let config = home.configure(&format!("watch: false\n{ONE}"));
    let server = home.serve(&[]);
    fs::write(&config, format!("watch: false\n{TWO}")).unwrap();
    server.signal(Signal::HUP);
    let now = becomes(&home, 2);
    assert_eq!(now["reload"]["cause"], "signal");
}

#[test]
fn reload_over_the_socket_says_what_changed() {
    let home = Home::new();
    let config = home.configure(&format!("watch: false\n{ONE}"));
    let server = home.serve(&[]);
    let pid = server.pid();
    let said = home.run(&["config", "reload"]);
    assert_eq!(
        (said.code, said.out),
        (Some(0), format!("✓ {pid}: nothing changed\n"))
    );
    fs::write(&config, format!("watch: false\n{TWO}")).unwrap();
    let said = home.run(&["config", "reload"]);
    assert_eq!(
        said.out,
        format!("✓ {pid}: servers: 1 added, 0 removed, 0 changed, 1 unchanged\n")
    );
    let rule = "toolRules: [{pattern: ['*'], enabled: false}]\n";
    fs::write(
        &config,
        format!("watch: false\nprofile: gateway\n{rule}{TWO}"),
    )
    .unwrap();
    let json = home.run(&["config", "reload", "--json"]).json();
    let difference = &json["processes"][0]["difference"];
    assert_eq!(difference["rules"], true, "{json}");
    assert_eq!(difference["settings"], true, "{json}");
    assert_eq!(difference["unchanged"], 2, "{json}");
}

#[test]
fn a_refused_reload_over_the_socket_ends_with_2_and_the_findings() {
    let home = Home::new();
    let config = home.configure(&format!("watch: false\n{ONE}"));
    let server = home.serve(&[]);
    fs::write(&config, BROKEN).unwrap();
    let said = home.run(&["config", "reload"]);
    assert_eq!(said.code, Some(2));
    assert!(
        said.out.starts_with(&format!("✗ {}: ", server.pid())),
        "{}",
        said.out
    );
    assert!(said.err.contains("toolcrib.yaml:1:"), "{}", said.err);
    assert!(
        said.err
            .contains("error [CONFIGURATION_ERROR]: the process kept the running configuration"),
        "{}",
        said.err
    );
    let json = home.run(&["config", "reload", "--json"]).json();
    assert_eq!(json["error"]["code"], "CONFIGURATION_ERROR");
    assert_eq!(json["error"]["diagnostics"][0]["line"], 1);
    assert_eq!(json["error"]["processes"][0]["outcome"], "refused");
}

#[test]
fn a_rule_of_the_users_own_file_takes_effect_beside_a_projects_file() {
    let home = Home::new();
    home.write(
        "work/toolcrib.yaml",
        "servers: {a: {command: a, tools: [{name: t, description: d}]}}\n",
    );
    home.run(&["trust", "--yes"]);
    home.configure("toolRules: []\n");
    let _server = home.serve(&[]);
    assert_eq!(status(&home)["counts"]["toolsEnabled"], 1);
    home.configure("toolRules: [{pattern: [t], enabled: false}]\n");
    eventually("the rule of the user's file", || {
        (status(&home)["counts"]["toolsEnabled"] == 0).then_some(())
    });
}

#[test]
fn without_a_process_the_files_are_read_and_that_is_said() {
    let home = Home::new();
    home.configure(TWO);
    let said = home.run(&["config", "reload"]);
    assert_eq!(
        (said.code, said.out.as_str()),
        (
            Some(0),
            "✓ No process is running; the configuration loads with 2 servers.\n"
        )
    );
    home.configure(BROKEN);
    let said = home.run(&["config", "reload", "--json"]);
    assert_eq!(said.code, Some(2));
    assert_eq!(said.json()["error"]["code"], "CONFIGURATION_ERROR");
}

#[test]
fn a_configuration_that_appears_later_is_noticed() {
    let home = Home::new();
    let _server = home.serve(&[]);
    assert_eq!(status(&home)["config"], Value::Null);
    let config = home.configure(ONE);
    let now = becomes(&home, 1);
    assert_eq!(now["config"], config.to_str().unwrap());
    fs::remove_dir_all(home.path(".config")).unwrap();
    let now = becomes(&home, 0);
    assert_eq!(now["config"], Value::Null);
}

#[test]
fn a_linked_configuration_and_a_link_pointed_elsewhere_are_noticed() {
    let home = Home::new();
    let real = home.write("dotfiles/one.yaml", ONE);
    let other = home.write("dotfiles/two.yaml", TWO);
    fs::create_dir_all(home.path(".config/toolcrib")).unwrap();
    let link = home.path(".config/toolcrib/toolcrib.yaml");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let _server = home.serve(&[]);
    home.write("dotfiles/one.yaml", "servers: {}\n");
    becomes(&home, 0);
    let new = home.path(".config/toolcrib/new");
    std::os::unix::fs::symlink(&other, &new).unwrap();
    fs::rename(new, &link).unwrap();
    becomes(&home, 2);
}

#[test]
fn a_source_of_another_client_is_watched_too() {
    let home = Home::new();
    home.configure("sources: [{type: cursor, path: ~/.cursor/mcp.json}]\n");
    let _server = home.serve(&[]);
    home.write(
        ".cursor/mcp.json",
        r#"{"mcpServers":{"x":{"command":"x"}}}"#,
    );
    becomes(&home, 1);
}

#[test]
fn watching_can_be_switched_off_and_on_by_a_reload() {
    let home = Home::new();
    home.configure(&format!("watch: false\n{ONE}"));
    let _server = home.serve(&[]);
    home.configure(TWO);
    assert_eq!(home.run(&["config", "reload"]).code, Some(0));
    assert_eq!(status(&home)["counts"]["serversConfigured"], 2);
    home.configure(ONE);
    becomes(&home, 1);
}

#[test]
fn a_named_configuration_is_watched_and_the_others_are_not_used() {
    let home = Home::new();
    home.configure(TWO);
    let named = home.write("elsewhere/my.yaml", ONE);
    let _server = home.serve(&["--config", named.to_str().unwrap()]);
    assert_eq!(status(&home)["counts"]["serversConfigured"], 1);
    home.write(
        "elsewhere/my.yaml",
        "servers: {a: {command: a}, b: {command: b}, c: {command: c}}\n",
    );
    becomes(&home, 3);
    fs::remove_file(&named).unwrap();
    let now = last_reload(&home, "refused");
    assert_eq!(now["counts"]["serversConfigured"], 3);
}
