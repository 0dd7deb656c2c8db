//! The first minute as the book shows it: what a person does, in an empty home and with one client. The texts in
//! `docs/first-minute.md` are what the program says, with the figures of one run; `DOCUMENTS=write` writes them anew.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::home::Home;
use crate::terminal::{Input, watched};
use crate::transcripts::{without_figures, without_names};

/// Columns of the terminal on which it was played.
const COLUMNS: u16 = 100;

/// The commands of the README that need nothing but this machine, `setup` where it asks nobody.
const WALK: &[&[&str]] = &[
    &[],
    &["import"],
    &["import", "--write"],
    &["list"],
    &["search", "write down a note"],
    &["list"],
    &["inspect", "notes:create_note"],
    &[
        "execute",
        "notes:create_note",
        "title=Coffee",
        "body=None left",
    ],
    &["execute", "notes:delete_note", "id=1"],
    &["policy", "explain", "notes:delete_note"],
    &["approvals", "list"],
    &["audit", "verify"],
    &["config", "validate"],
    &["doctor"],
    &["setup", "--yes"],
    &["list"],
    &["setup", "--undo"],
];

/// What a newcomer without any client does.
const EMPTY: &[&[&str]] = &[
    &[],
    &["import"],
    &["list"],
    &["search", "write down a note"],
    &["doctor", "--offline"],
    &["setup"],
];

fn played(home: &Home, commands: &[&[&str]]) -> String {
    let mut text = String::from("```console\n");
    for arguments in commands {
        let (out, err, code) = watched(home, arguments, COLUMNS, Input::Keyboard, |_| {});
        let words = ["toolcrib"].iter().chain(*arguments).map(|word| {
            if word.contains(' ') {
                format!("\"{word}\"")
            } else {
                (*word).to_owned()
            }
        });
        let line: Vec<String> = words.collect();
        let _ = writeln!(text, "$ {}", line.join(" "));
        text += &trimmed(&without_names(home, &out));
        text += &trimmed(&without_names(home, &err));
        if code != Some(0) {
            let _ = writeln!(text, "(ends with {})", code.unwrap());
        }
        text.push('\n');
    }
    format!("{}\n```\n", text.trim_end())
}

/// The text without spaces at the end of lines.
fn trimmed(text: &str) -> String {
    text.lines()
        .fold(String::new(), |out, line| out + line.trim_end() + "\n")
}

/// The demo, with the figures of this run.
fn demo() -> String {
    let home = Home::new();
    let said = home.run(&["demo"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let text = trimmed(&without_names(&home, &said.out));
    format!(
        "```console\n$ cargo run --release -- demo\n{}\n```\n",
        text.trim()
    )
}

/// What the figures of the page were measured with.
const BUILDS: [&str; 2] = ["the optimised build", "the build that is not optimised"];

fn document() -> String {
    let build = BUILDS[usize::from(cfg!(debug_assertions))];
    let one = Home::new();
    let program = env!("CARGO_BIN_EXE_toolcrib");
    // Under its own name the program would be known for Toolcrib itself.
    let script = format!("#!/bin/sh\nexec '{program}' workshop notes\n");
    let server = one.write("bin/notes-server", &script);
    std::fs::set_permissions(&server, std::fs::Permissions::from_mode(0o755)).unwrap();
    let client = serde_json::json!({"mcpServers": {"notes": {"command": server}}});
    one.write(".cursor/mcp.json", &client.to_string());
    format!(
        "# The first minute\n\nWhat the program prints for the commands of the README, with a server for notes in the place of GitHub and `setup --yes` where it\n\
         would ask; `audit tail`, `stats`, `completions` and `serve` are left out. The terminal has {COLUMNS} columns. A test plays them and\n\
         compares. Times and what hangs on them are those of one run ({build}); ids and paths that differ stand in brackets.\n\
         `DOCUMENTS=write cargo test --release -p toolcrib --test it minute` writes this page anew where something else changed.\n\n\
         ## The demo\n\nOn a fresh clone with an empty home, on 19 November 2026, the build took 5 min 7 s on two cores, everything from nothing. The first \
         line\nthen stood there in less than a second, the whole within two; nothing was left in the home.\n\n{}\n\
         ## With one client\n\nCursor is there, with one server.\n\n{}\n\
         ## In an empty home\n\n{}",
        demo(),
        played(&one, WALK),
        played(&Home::new(), EMPTY),
    )
}

/// The page without what differs from run to run.
fn lasting(page: &str) -> String {
    let page = BUILDS.iter().fold(page.to_owned(), |page, build| {
        page.replace(&format!("({build})"), "([BUILD])")
    });
    without_figures(&page)
}

#[test]
fn the_book_shows_what_the_program_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/first-minute.md");
    let is = document();
    let was = std::fs::read_to_string(&path).unwrap();
    // The figures of the page stay until something else of it changes.
    let write = std::env::var_os("DOCUMENTS").is_some_and(|wish| wish == "write");
    if write && lasting(&is) != lasting(&was) {
        std::fs::write(&path, &is).unwrap();
    }
    let was = std::fs::read_to_string(&path).unwrap();
    let steps = was.lines().filter(|line| line.ends_with(" tokens]"));
    assert_eq!(
        steps.count(),
        12,
        "each step of the demo has its time and tokens"
    );
    for veil in ["[SPAN]", "[COUNT]", "[RECORDS]", "[STORE]", "[NOW]"] {
        assert!(!was.contains(veil), "{veil} hides a figure in the book");
    }
    let (is, was) = (lasting(&is), lasting(&was));
    for (is, was) in is.lines().zip(was.lines()) {
        assert_eq!(is, was, "docs/first-minute.md; DOCUMENTS=write renews it");
    }
    assert_eq!(is.lines().count(), was.lines().count());
}
