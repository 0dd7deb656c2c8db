//! What every command shares: exit codes, JSON, colours, closed pipes.

use std::io::Read;
use std::process::Stdio;

use crate::home::Home;

#[test]
fn arguments_that_are_not_understood_end_with_1_and_the_code() {
    let home = Home::new();
    for arguments in [
        &["nonsense"][..],
        &["config", "nonsense"],
        &["config", "show", "--nonsense"],
        &["config", "show", "extra"],
        &["--color", "sometimes", "status"],
        &["config", "reload", "--pid", "x"],
        &["config", "reload", "--pid", "1"],
        &["rules", "explain", "nothing"],
        &["rules", "explain", ":x"],
        &["import", "--from", "nobody"],
        &["import", "--write", "--dry-run"],
        &["import", "--replace"],
        &["export"],
        &["export", "--to", "nobody"],
        &["trust", "missing-directory"],
        &["trust", "--list", "--revoke"],
    ] {
        let said = home.run(arguments);
        assert_eq!(said.code, Some(1), "{arguments:?}: {}", said.err);
        assert_eq!(said.out, "", "{arguments:?}");
        assert!(
            said.err.starts_with("error [VALIDATION_ERROR]: "),
            "{arguments:?}: {}",
            said.err
        );
    }
}

#[test]
fn a_command_that_lacks_its_own_command_shows_what_there_is() {
    let home = Home::new();
    for arguments in [&["config"][..], &["mcp"], &["approvals"]] {
        let said = home.run(arguments);
        assert_eq!(
            (said.code, said.out.as_str()),
            (Some(1), ""),
            "{arguments:?}"
        );
        assert!(
            said.err.contains("Usage: toolcrib ") && said.err.contains("Commands:"),
            "{}",
            said.err
        );
    }
}

#[test]
fn with_json_an_error_is_one_object_on_standard_output() {
    let home = Home::new();
    let said = home.run(&["confg", "--json"]);
    assert_eq!(said.code, Some(1));
    let error = &said.json()["error"];
    assert_eq!(error["code"], "VALIDATION_ERROR");
    assert_eq!(
        error["message"],
        "unrecognized subcommand 'confg'; tip: a similar subcommand exists: 'config'"
    );
}

#[test]
fn a_similar_command_is_named() {
    let said = Home::new().run(&["sttus"]);
    assert!(said.err.contains("'status'"), "{}", said.err);
}

#[test]
fn every_command_stands_at_the_top_and_below_mcp() {
    let home = Home::new();
    for arguments in [
        &["status"][..],
        &["config", "show"],
        &["config", "validate"],
        &["config", "sources"],
        &["config", "reload"],
        &["import"],
        &["export", "--to", "cursor", "--dry-run"],
        &["trust", "--list"],
        &["rules", "explain", "a:b"],
    ] {
        let top = home.run(arguments);
        let below = home.run(&[&["mcp"], arguments].concat());
        assert_eq!(top.code, Some(0), "{arguments:?}: {}", top.err);
        assert_eq!(top.out, below.out, "{arguments:?}");
        assert_eq!(below.code, Some(0), "{arguments:?}");
    }
}

#[test]
fn help_and_version_end_with_0() {
    let home = Home::new();
    for arguments in [
        &["--help"][..],
        &["help"],
        &["--version"],
        &["config", "-h"],
    ] {
        let said = home.run(arguments);
        assert_eq!(
            (said.code, said.err.as_str()),
            (Some(0), ""),
            "{arguments:?}"
        );
        assert!(!said.out.is_empty());
    }
}

#[test]
fn global_options_may_stand_anywhere() {
    let home = Home::new();
    for arguments in [
        &["--json", "config", "show"][..],
        &["config", "--json", "show"],
        &["config", "show", "--json"],
        &["mcp", "config", "show", "--json"],
    ] {
        let said = home.run(arguments);
        assert!(said.json().is_object(), "{arguments:?}");
    }
}

#[test]
fn colours_are_used_only_when_asked_for_in_a_pipe() {
    let home = Home::new();
    let plain = home.run(&["config", "show"]);
    assert!(!plain.out.contains('\u{1b}'), "{}", plain.out);
    let coloured = home.run(&["config", "show", "--color", "always"]);
    assert!(
        coloured.out.contains("\u{1b}[32mEnabled"),
        "{}",
        coloured.out
    );
    let never = home.run(&["config", "show", "--color=never"]);
    assert_eq!(never.out, plain.out);
}

#[test]
fn a_reader_that_closes_the_pipe_early_causes_no_noise() {
    let home = Home::new();
    for arguments in [&["config", "sources", "--all"][..], &["--help"]] {
        let mut child = home
            .command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Closed before the program can have written anything.
        drop(child.stdout.take());
        let mut noise = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut noise)
            .unwrap();
        assert!(child.wait().unwrap().success());
        assert!(
            !noise.contains("panic") && !noise.contains("pipe"),
            "{noise}"
        );
    }
}

#[test]
fn an_output_that_cannot_be_written_is_an_error() {
    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else {
        return;
    };
    let home = Home::new();
    let mut command = home.command(&["config", "show"]);
    let output = command.stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("the output cannot be written"), "{told}");
}

#[test]
fn a_log_filter_that_is_not_understood_is_told() {
    let home = Home::new();
    let output = home
        .command(&["status"])
        .env("TOOLCRIB_LOG", "toolcrib=loud")
        .output()
        .unwrap();
    assert!(output.status.success());
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.starts_with("TOOLCRIB_LOG is not understood"), "{told}");
}
