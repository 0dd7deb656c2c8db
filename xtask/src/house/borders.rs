//! Who may know whom. The table of crates in ARCHITECTURE.md, as tests.

use std::collections::BTreeSet;

use crate::metadata::Metadata;
use crate::source::{Source, files_below};
use crate::workspace;

/// A crate, which of our crates it may name, and which foreign ones must not be linked into it, not even from afar.
struct Border {
    package: &'static str,
    ours: &'static [&'static str],
    never: &'static [&'static str],
}

/// What talks to a network, to a runtime or to a database.
const NETWORK: &[&str] = &[
    "tokio", "mio", "socket2", "hyper", "reqwest", "axum", "rmcp", "rustls", "rusqlite", "redis",
];

const BORDERS: &[Border] = &[
    Border {
        package: "toolcrib-core",
        ours: &[],
        never: &[
            "tokio",
            "mio",
            "socket2",
            "hyper",
            "reqwest",
            "axum",
            "rmcp",
            "rustls",
            "rusqlite",
            "redis",
            "notify",
            "tempfile",
            "walkdir",
            "async-trait",
        ],
    },
    Border {
        package: "toolcrib-config",
        ours: &["toolcrib-core"],
        never: NETWORK,
    },
    Border {
        package: "toolcrib-upstream",
        ours: &["toolcrib-core"],
        never: &["rusqlite", "axum", "utoipa-axum"],
    },
    Border {
        package: "toolcrib-store",
        ours: &["toolcrib-core"],
        never: &["rmcp", "axum"],
    },
    Border {
        package: "toolcrib",
        ours: &[
            "toolcrib-core",
            "toolcrib-config",
            "toolcrib-upstream",
            "toolcrib-store",
        ],
        never: &[],
    },
];

#[test]
fn the_product_is_five_crates() {
    let dirs = std::fs::read_dir(workspace::root().join("crates")).unwrap();
    let found: BTreeSet<String> = dirs
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    let known: BTreeSet<String> = workspace::CRATES
        .iter()
        .map(|of| of.dir.to_owned())
        .collect();
    assert_eq!(
        found, known,
        "a further product crate needs a line in docs/adr that argues for it"
    );
}

#[test]
fn crates_name_only_the_crates_of_ours_that_they_may_know() {
    let metadata = Metadata::for_all_targets().unwrap();
    let own = metadata.own();
    for border in BORDERS {
        let package = own
            .iter()
            .find(|package| package.name == border.package)
            .unwrap();
        let named = package
            .dependencies
            .iter()
            .filter(|dependency| dependency.name.starts_with("toolcrib"));
        for dependency in named {
            // Stand-in servers are for tests alone.
            let in_tests =
                dependency.kind.as_deref() == Some("dev") && dependency.name == "toolcrib-testkit";
            let may = border.ours.contains(&dependency.name.as_str()) || in_tests;
            assert!(
                may,
                "{} must not depend on {}",
                border.package, dependency.name
            );
        }
    }
}

#[test]
fn crates_do_not_link_what_they_must_not_know() {
    let metadata = Metadata::for_all_targets().unwrap();
    let own = metadata.own();
    for border in BORDERS {
        let package = own
            .iter()
            .find(|package| package.name == border.package)
            .unwrap();
        let linked = metadata.linked_into(package);
        for name in border.never {
            assert!(
                !linked.contains(name),
                "{name} is linked into {}",
                border.package
            );
        }
    }
}

#[test]
fn core_does_no_input_or_output_and_never_awaits() {
    let found = breaches("core", &|source| {
        let code = shipped_code(source);
        let modules = ["fs", "net", "env", "process", "thread"]
            .into_iter()
            .filter(|name| names_of_std(&code, name))
            .map(|name| format!("std::{name}"));
        let words = [
            "SystemTime",
            "Instant",
            "await",
            "tokio",
            "stdin",
            "stdout",
            "stderr",
        ];
        modules
            .chain(
                words
                    .into_iter()
                    .filter(|word| has_word(&code, word))
                    .map(str::to_owned),
            )
            .collect()
    });
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn only_the_two_mcp_modules_name_rmcp() {
    only_below(
        "rmcp",
        &["crates/gateway/src/mcp", "crates/upstream/src/mcp"],
    );
}

#[test]
fn only_the_http_door_names_axum() {
    only_below("axum", &["crates/gateway/src/http"]);
}

#[test]
fn only_the_store_names_rusqlite() {
    only_below("rusqlite", &["crates/store/src"]);
}

#[test]
fn only_the_store_holds_sql() {
    for of in workspace::CRATES.iter().filter(|of| of.dir != "store") {
        let found = breaches(of.dir, &|source| {
            if holds_sql(&shipped(source, &source.strings())) {
                vec!["SQL".into()]
            } else {
                Vec::new()
            }
        });
        assert_eq!(found, Vec::<String>::new());
    }
}

/// Fails when a crate names `word` in code outside the given modules (`a/b` means `a/b.rs` and everything below `a/b/`).
fn only_below(word: &str, modules: &[&str]) {
    for of in workspace::CRATES {
        let found = breaches(of.dir, &|source| {
            if has_word(&shipped_code(source), word) {
                vec![word.to_owned()]
            } else {
                Vec::new()
            }
        });
        let outside = found.into_iter().filter(|text| {
            let file = text.split(": ").next().unwrap_or_default();
            !modules.iter().any(|module| {
                file == format!("{module}.rs") || file.starts_with(&format!("{module}/"))
            })
        });
        assert_eq!(
            outside.collect::<Vec<_>>(),
            Vec::<String>::new(),
            "only {modules:?} may name {word}"
        );
    }
}

/// What `look` finds in each source file of a crate, as `file: finding`.
fn breaches(dir: &str, look: &dyn Fn(&Source<'_>) -> Vec<String>) -> Vec<String> {
    let mut found = Vec::new();
    for path in files_below(
        &workspace::root().join("crates").join(dir).join("src"),
        ".rs",
    ) {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = workspace::relative(&path);
        if !name.ends_with("/tests.rs") && !name.contains("/tests/") {
            found.extend(
                look(&Source::new(&text))
                    .into_iter()
                    .map(|finding| format!("{name}: {finding}")),
            );
        }
    }
    found
}

fn shipped_code(source: &Source<'_>) -> String {
    shipped(source, &source.code())
}

/// The given view of a file without the lines that exist in tests only.
fn shipped(source: &Source<'_>, view: &str) -> String {
    let tests = source.test_lines();
    let lines = view
        .lines()
        .enumerate()
        .filter(|(index, _)| !tests.iter().any(|range| range.contains(&(index + 1))));
    lines.flat_map(|(_, line)| [line, "\n"]).collect()
}

/// Whether the word stands in the code on its own.
fn has_word(code: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word)
        .any(|(at, _)| !code[..at].ends_with(part) && !code[at + word.len()..].starts_with(part))
}

/// Whether the code names a module of the standard library, also within `use std::{…}`.
fn names_of_std(code: &str, module: &str) -> bool {
    if has_word(code, &format!("std::{module}")) {
        return true;
    }
    code.match_indices("std::{").any(|(at, found)| {
        let mut depth = 0_usize;
        let mut first = String::new();
        for c in code[at + found.len()..].chars() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                c if depth == 0 => first.push(c),
                _ => {}
            }
        }
        first.split(',').any(|item| {
            item.split("::")
                .next()
                .is_some_and(|name| name.split_whitespace().next() == Some(module))
        })
    })
}

/// Whether text holds a statement of SQL. Key words are written in capitals, as everywhere in the store.
fn holds_sql(text: &str) -> bool {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let both = |first: &str, second: &str| {
        text.find(first)
            .is_some_and(|at| text[at..].contains(second))
    };
    [
        "INSERT INTO ",
        "DELETE FROM ",
        "CREATE TABLE ",
        "CREATE INDEX ",
        "PRAGMA ",
    ]
    .iter()
    .any(|words| text.contains(words))
        || both("SELECT ", " FROM ")
        || both("UPDATE ", " SET ")
}

#[test]
fn a_word_is_not_found_inside_another() {
    assert!(has_word("use axum::Router;", "axum"));
    assert!(!has_word("let taxumi = axumite;", "axum"));
    assert!(has_word("fut.await?", "await"));
    assert!(!has_word("fn awaits()", "await"));
}

#[test]
fn modules_of_std_are_found_in_groups() {
    assert!(names_of_std("use std::fs;", "fs"));
    assert!(names_of_std("use std::{fmt, fs::File};", "fs"));
    assert!(names_of_std(
        "use std::{collections::{BTreeMap, BTreeSet}, net};",
        "net"
    ));
    assert!(!names_of_std("use std::{fmt::{self, fs}};", "fs"));
    assert!(!names_of_std("use std::fmt;", "fs"));
}

#[test]
fn sql_is_told_from_prose() {
    for text in [
        "SELECT id\n FROM calls",
        "INSERT INTO calls VALUES (1)",
        "UPDATE calls SET ended = 1",
    ] {
        assert!(holds_sql(text), "{text}");
    }
    for text in [
        "select a tool from the list",
        "UPDATE AVAILABLE",
        "SELECT one",
    ] {
        assert!(!holds_sql(text), "{text}");
    }
}

#[test]
fn tests_may_do_what_shipped_code_may_not() {
    let source = Source::new("fn a() {}\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n");
    assert!(!names_of_std(&shipped_code(&source), "fs"));
}
