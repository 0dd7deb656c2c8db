//! How files look: their size, their names, and what must never be in them.

use std::path::PathBuf;

use crate::requirements::KnownTests;
use crate::source::{Source, files_below};
use crate::{process, workspace};

/// The most lines that a source file may have.
const LINES_MAX: usize = 600;

/// Longer files that are tables rather than code, each with its reason.
const TABLES: &[(&str, &str)] = &[];

/// Names that say nothing about what is inside.
const NAMES: &[&str] = &[
    "util", "utils", "helper", "helpers", "common", "types", "manager", "misc",
];

/// Where made-up people live in tests and documents; any other absolute path of that kind is a real machine's.
const PLACEHOLDERS: &[&str] = &["/home/ada", "/home/u/", "/home/user", "/work/pro"];

/// Folders whose content stands for files of other people's machines.
const FIXTURES: &[&str] = &["fixtures/", "__fuzz__/"];

/// Every file of the repository, tracked or about to be, as a path relative to the root.
fn repository() -> Vec<String> {
    let mut git = process::program("git");
    git.args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]);
    let listed = process::output(&mut git).ok().map(|list| {
        list.split('\0')
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    });
    // An unpacked release has no history; then everything that is there counts.
    let mut files = listed.unwrap_or_else(|| {
        files_below(&workspace::root(), "")
            .iter()
            .map(|path| workspace::relative(path))
            .collect()
    });
    files.retain(|name| workspace::root().join(name).is_file());
    files.sort();
    files
}

/// Every Rust file with its text.
fn sources() -> Vec<(String, String)> {
    let rust = repository()
        .into_iter()
        .filter(|name| has_ending(name, "rs"));
    rust.map(|name| {
        (
            name.clone(),
            std::fs::read_to_string(workspace::root().join(&name)).unwrap(),
        )
    })
    .collect()
}

fn has_ending(name: &str, ending: &str) -> bool {
    std::path::Path::new(name)
        .extension()
        .is_some_and(|found| found == ending)
}

/// Every text file with its text.
fn texts() -> Vec<(String, String)> {
    let read = |name: String| {
        std::fs::read_to_string(workspace::root().join(&name))
            .ok()
            .map(|text| (name, text))
    };
    repository().into_iter().filter_map(read).collect()
}

fn none(found: &[String]) {
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

#[test]
fn source_files_fit_in_a_head() {
    let long = |(name, text): (String, String)| {
        let lines = text.lines().count();
        let is_table = TABLES.iter().any(|(table, _)| *table == name);
        (lines > LINES_MAX && !is_table)
            .then(|| format!("{name} has {lines} lines, more than {LINES_MAX}: split it"))
    };
    none(&sources().into_iter().filter_map(long).collect::<Vec<_>>());
}

#[test]
fn listed_tables_exist_and_are_long() {
    for (name, reason) in TABLES {
        let text = std::fs::read_to_string(workspace::root().join(name)).unwrap();
        assert!(
            text.lines().count() > LINES_MAX,
            "{name} no longer needs its exception ({reason})"
        );
    }
}

#[test]
fn modules_are_named_after_what_they_are() {
    let bad = |(name, text): (String, String)| {
        let path = PathBuf::from(&name);
        let stem = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let code = Source::new(&text).code();
        let words: Vec<&str> = code
            .split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .filter(|word| !word.is_empty())
            .collect();
        let inside = words
            .windows(2)
            .find(|pair| pair[0] == "mod" && NAMES.contains(&pair[1]))
            .map(|pair| pair[1].to_owned());
        if stem == "mod" {
            return Some(format!(
                "{name}: a module `foo` stands in foo.rs, not in foo/mod.rs"
            ));
        }
        let named = NAMES.contains(&stem.as_str()).then_some(stem).or(inside)?;
        Some(format!(
            "{name}: `{named}` says nothing about what is inside"
        ))
    };
    none(&sources().into_iter().filter_map(bad).collect::<Vec<_>>());
}

#[test]
fn every_file_is_part_of_a_crate() {
    let all = sources();
    let orphan = |(name, _): &(String, String)| {
        let path = PathBuf::from(name);
        let stem = path.file_stem()?.to_string_lossy().into_owned();
        let dir = path.parent()?;
        let above = dir.file_name()?.to_string_lossy().into_owned();
        let is_root = matches!(stem.as_str(), "lib" | "main" | "build")
            || dir.ends_with("src/bin")
            || ["tests", "benches", "examples"].contains(&above.as_str())
                && !name.contains("/src/");
        if is_root || name.contains("fixtures/") {
            return None;
        }
        let parents = [
            dir.with_extension("rs"),
            dir.join("lib.rs"),
            dir.join("main.rs"),
        ];
        let declared = parents.iter().any(|parent| {
            let parent = parent.to_string_lossy().replace('\\', "/");
            all.iter()
                .any(|(other, text)| *other == parent && declares(text, &stem))
        });
        (!declared).then(|| format!("{name}: no `mod {stem};` beside it, so it is never compiled"))
    };
    none(&all.iter().filter_map(orphan).collect::<Vec<_>>());
}

/// Whether a file declares a module of that name.
fn declares(text: &str, module: &str) -> bool {
    let code = Source::new(text).code();
    let words: Vec<&str> = code
        .split(|c: char| c.is_whitespace())
        .filter(|word| !word.is_empty())
        .collect();
    let spelt = format!("{module};");
    words
        .windows(2)
        .any(|pair| pair[0] == "mod" && pair[1] == spelt)
}

#[test]
fn nothing_is_left_to_do_in_code() {
    let macros = ["todo!", "unimplemented!"];
    let bad = |(name, text): (String, String)| {
        let code = Source::new(&text).code();
        macros
            .iter()
            .find(|word| code.contains(*word))
            .map(|word| format!("{name}: {word}"))
    };
    none(&sources().into_iter().filter_map(bad).collect::<Vec<_>>());
}

#[test]
fn every_module_says_what_it_is_for() {
    let bad = |(name, text): (String, String)| {
        let described = text.trim_start().starts_with("//!");
        // A file of tests belongs to the module beside it, which says what it is for.
        let tests =
            name.ends_with("/tests.rs") || name.contains("/tests/") || name.contains("fixtures/");
        (!described && !tests).then(|| format!("{name}: begins without `//!`"))
    };
    none(&sources().into_iter().filter_map(bad).collect::<Vec<_>>());
}

#[test]
fn no_file_names_a_place_on_somebodys_machine() {
    let mut found = Vec::new();
    for (name, text) in texts() {
        if FIXTURES.iter().any(|dir| name.contains(dir)) {
            continue;
        }
        let lines = text.lines().enumerate();
        found.extend(lines.filter_map(|(index, line)| {
            machine_path(line).map(|path| format!("{name}:{}: {path}", index + 1))
        }));
    }
    none(&found);
}

/// An absolute path below a home or a work folder, unless it is a placeholder.
fn machine_path(line: &str) -> Option<String> {
    for root in ["work", "root", "home"] {
        let prefix = format!("/{root}/");
        for (at, _) in line.match_indices(&prefix) {
            let is_start =
                !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-~*}%".contains(c));
            let tail = &line[at..];
            let is_named = tail[prefix.len()..].starts_with(|c: char| c.is_alphanumeric());
            if is_start && is_named && !PLACEHOLDERS.iter().any(|allowed| tail.starts_with(allowed))
            {
                return Some(tail.chars().take(40).collect());
            }
        }
    }
    None
}

#[test]
fn no_file_names_a_mirror() {
    // Spelled in two parts so that this file does not find itself.
    let word = concat!("arti", "factory");
    let mut found: Vec<String> = texts()
        .iter()
        .filter(|(_, text)| text.to_lowercase().contains(word))
        .map(|(name, _)| name.clone())
        .collect();
    for (name, text) in texts() {
        let urls: Vec<&str> = match name.rsplit('/').next() {
            Some("package-lock.json") => text
                .split('"')
                .filter(|part| part.starts_with("http") && has_ending(part, "tgz"))
                .collect(),
            Some("Cargo.lock") => text
                .lines()
                .filter_map(|line| line.strip_prefix("source = "))
                .collect(),
            _ => continue,
        };
        let foreign = |url: &&&str| {
            !url.contains("//registry.npmjs.org/")
                && !url.contains("//github.com/rust-lang/crates.io-index")
        };
        found.extend(
            urls.iter()
                .filter(foreign)
                .map(|url| format!("{name}: {url}")),
        );
    }
    none(&found);
}

#[test]
fn places_on_a_machine_are_told_from_other_text() {
    for line in [
        concat!("see /ro", "ot/x"),
        concat!("\"/ho", "me/bob/.config\""),
        concat!("cd /wo", "rk/main"),
    ] {
        assert!(machine_path(line).is_some(), "{line}");
    }
    for line in [
        "/home/ada/.claude.json",
        "https://example.org/work/order",
        "a/root/b",
        "`/home/`",
        "/work/project/x",
        "$HOME/root/x",
    ] {
        assert_eq!(machine_path(line), None, "{line}");
    }
}

#[test]
fn the_architecture_names_tests_that_exist() {
    let text = std::fs::read_to_string(workspace::root().join("ARCHITECTURE.md")).unwrap();
    let known = KnownTests::of_workspace();
    let spans = text.split('`').skip(1).step_by(2);
    let is_test = |span: &&str| {
        let of_ours = ["xtask::", "toolcrib::", "toolcrib_"]
            .iter()
            .any(|start| span.starts_with(start));
        of_ours && span.matches("::").count() >= 2
    };
    let named: Vec<&str> = spans.filter(is_test).collect();
    assert!(named.len() > 5, "the invariants name no tests");
    let gone: Vec<String> = named
        .iter()
        .filter(|span| !known.has(span))
        .map(|span| (*span).to_owned())
        .collect();
    none(&gone);
}
