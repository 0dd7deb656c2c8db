//! No command is without its transcripts.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use toolcrib_core::Code;

use super::screen::place;

/// What no command line ends with as it is played here.
const ELSEWHERE: &[(Code, &str)] = &[
    (Code::Overloaded, "one call at a time overloads nothing"),
    (Code::Cancelled, "nobody interrupts"),
    (
        Code::ResultExpired,
        "the answers are small enough to be kept",
    ),
];

/// The commands of the book, each with the exit codes that its help documents.
pub(super) fn commands() -> BTreeMap<String, BTreeSet<i32>> {
    let book = include_str!("../../../../../docs/cli.md");
    let code = Regex::new(r"[:,]\s+(\d)\s").unwrap();
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
        if !documented.is_superset(&BTreeSet::from([0, 1])) {
            missing.push(format!("{command}: its help does not say how it ends"));
        }
        for code in documented.difference(&codes) {
            missing.push(format!(
                "{command}: exit code {code} is documented and not shown"
            ));
        }
        for code in codes.difference(&documented) {
            missing.push(format!(
                "{command}: exit code {code} is shown and not documented"
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

#[test]
fn every_code_is_shown() {
    if std::env::var_os("TRANSCRIPTS").is_some() {
        return;
    }
    let files = std::fs::read_dir(place()).unwrap();
    let texts = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    let texts = texts.collect::<String>();
    for code in Code::ALL {
        let elsewhere = ELSEWHERE.iter().any(|(other, _)| other == code);
        let shown = texts.contains(code.as_str());
        assert_eq!(shown, !elsewhere, "{code}");
    }
}
