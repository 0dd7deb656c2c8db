//! No command is without its transcripts.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

use super::screen::place;

/// Commands that fail only when a configuration does not load, which `broken.txt` shows for all.
const CANNOT_FAIL: &[(&str, &str)] = &[
    ("status", "where nothing runs, that is its answer"),
    ("infer", "any two names mean something or nothing"),
    ("keys list", "an empty list is an answer"),
    ("approvals list", "an empty list is an answer"),
    ("cache show", "an empty list is an answer"),
];

/// The commands of the book, each with the exit codes that its help documents.
pub(super) fn commands() -> BTreeMap<String, BTreeSet<i32>> {
    let book = include_str!("../../../../../docs/cli.md");
    let code = Regex::new(r"[:,]\s+(\d) ").unwrap();
    let chapters = book.split("\n## `toolcrib").skip(1);
    let leaves = chapters.filter(|chapter| !chapter.contains("\nCommands:\n"));
    let documented = |chapter: &str| {
        let (_, codes) = chapter.split_once("Exit codes").unwrap_or_default();
        let found = code
            .captures_iter(codes)
            .map(|found| found[1].parse().unwrap());
        found.collect()
    };
    leaves
        .map(|chapter| {
            let (name, text) = chapter.split_once('`').unwrap();
            (name.trim().to_owned(), documented(text))
        })
        .collect()
}

/// Every command line that was played, and how it ended.
fn played() -> Vec<(String, i32)> {
    let mut played = Vec::new();
    for file in std::fs::read_dir(place()).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let mut line = "";
        for row in text.lines() {
            if let Some((command, _)) = row
                .strip_prefix("$ toolcrib")
                .and_then(|row| row.split_once("    "))
            {
                line = command.trim();
            } else if let Some(code) = row.strip_prefix("-- exit code ") {
                played.push((line.to_owned(), code.parse().unwrap()));
            }
        }
    }
    played
}

#[test]
fn every_command_is_shown_in_success_and_in_each_documented_failure() {
    if std::env::var_os("TRANSCRIPTS").is_some() {
        return;
    }
    let played = played();
    let mut missing = Vec::new();
    for (command, documented) in commands() {
        let of = |line: &str| {
            let rest = line.strip_prefix(command.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        let codes: BTreeSet<i32> = played
            .iter()
            .filter(|(line, _)| of(line))
            .map(|(_, code)| *code)
            .collect();
        let excused = CANNOT_FAIL.iter().any(|(name, _)| *name == command);
        if !codes.contains(&0) {
            missing.push(format!("{command}: no success"));
        }
        if !excused && !codes.iter().any(|code| *code != 0) {
            missing.push(format!("{command}: no failure"));
        }
        for code in documented.difference(&codes) {
            missing.push(format!(
                "{command}: exit code {code} is documented and not shown"
            ));
        }
    }
    let ends: BTreeSet<i32> = played.iter().map(|(_, code)| *code).collect();
    assert_eq!(
        ends,
        BTreeSet::from([0, 1, 2, 3, 4]),
        "each code of the book"
    );
    assert!(missing.is_empty(), "{missing:#?}");
}
