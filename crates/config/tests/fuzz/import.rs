//! Files of clients that are almost right.
//!
//! Random bytes are hardly ever JSON, so the input is a list of changes to a real file.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use toolcrib_config::export::client::{EmptyRoot, Entry, add_entry, remove_entry};
use toolcrib_config::export::own::to_yaml;
use toolcrib_config::file::{self, Shape};
use toolcrib_config::import::{self, CLIENTS, Client, Imported, Scope};
use toolcrib_config::merge::merge;
use toolcrib_config::reader::Format;
use toolcrib_config::{Os, Source, Surroundings};

/// One change: a place as a fraction of the text, what to do there, and with what.
type Change = (u16, u8, u8);

/// Pieces that mean something in one of the formats.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "'",
    "\n",
    "\r\n",
    "\t",
    "#",
    "//",
    "/*",
    "*/",
    "- ",
    "null",
    "true",
    "-1",
    "1e400",
    "${",
    "${X}",
    "${X:-",
    "{env:X}",
    "{{a.b|into}}",
    "$X",
    "\u{feff}",
    "\u{2028}",
    "é",
    "\\",
    "&a",
    "*a",
    "<<: *a",
    "|",
    ">",
    "\"\"",
    "{}",
    "[]",
    "\"command\": 1,",
    "  ",
    "=",
    "[x]",
    "\0",
];

/// Every client with the text of its file.
static FILES: LazyLock<Vec<(&'static Client, PathBuf, String)>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/clients");
    let mut files = Vec::new();
    for client in CLIENTS {
        for ending in ["json", "jsonc", "yaml", "toml"] {
            let name = format!("{}.{ending}", client.id);
            if let Ok(text) = std::fs::read_to_string(folder.join(&name)) {
                files.push((client, Path::new("/home/ada").join(name), text));
            }
        }
    }
    assert_eq!(files.len(), CLIENTS.len());
    files
});

fn here() -> Surroundings {
    Surroundings::new(Os::Linux, "/home/ada", "/work/project", |_| None)
}

fn changed(text: &str, changes: &[Change]) -> String {
    let mut text = text.to_owned();
    for (place, kind, what) in changes.iter().take(6) {
        let boundary = |mut at: usize| {
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let at = boundary(usize::from(*place) * text.len() / 65_536);
        let end = boundary((at + usize::from(*what)).min(text.len()));
        match kind % 4 {
            0 => text.insert_str(at, PIECES[usize::from(*what) % PIECES.len()]),
            1 => text.replace_range(at..end, ""),
            2 => {
                let copy = text[at..end].to_owned();
                text.insert_str(end, &copy);
            }
            _ => text.truncate(at),
        }
    }
    text
}

fn read(client: &'static Client, path: &Path, text: &str) -> Imported {
    let source = Source::new(path, text);
    let imported = import::read(client, &source, Scope::User, &here());
    for finding in &imported.diagnostics {
        assert!(!finding.message.is_empty());
        assert!(!finding.to_string().is_empty());
    }
    for server in &imported.servers {
        assert!(
            !server.name.trim().is_empty() && !server.name.contains(':'),
            "{:?}",
            server.name
        );
        assert!(server.origin.line >= 1);
    }
    imported
}

#[test]
fn fuzz_import_of_changed_files() {
    bolero::check!()
        .with_type::<(u8, Vec<Change>)>()
        .for_each(|(which, changes)| {
            let (client, path, text) = &FILES[usize::from(*which) % FILES.len()];
            let text = changed(text, changes);
            let imported = read(client, path, &text);
            let merged = merge(imported.servers);
            let written = to_yaml(&merged.servers, "all");
            let source = Source::new("toolcrib.yaml", written.as_str());
            let loaded = file::parse(&source, Format::Yaml, Shape::Whole).unwrap();
            assert_eq!(loaded.diagnostics, [], "{written}");
            assert_eq!(loaded.servers.len(), merged.servers.len());
            for (mut back, server) in loaded.servers.into_iter().zip(merged.servers) {
                back.origin = server.origin.clone();
                assert_eq!(back, server, "{written}");
            }
        });
}

#[test]
fn fuzz_export_into_changed_files() {
    bolero::check!()
        .with_type::<(u8, Vec<Change>)>()
        .for_each(|(which, changes)| {
            let (client, path, text) = &FILES[usize::from(*which) % FILES.len()];
            let text = changed(text, changes);
            let mut entry = Entry::own(client, "/opt/toolcrib");
            "the-crib".clone_into(&mut entry.name);
            let Ok(added) = add_entry(client, path, Some(&text), &entry) else {
                return;
            };
            let names = |text: &str| -> Vec<String> {
                read(client, path, text)
                    .servers
                    .into_iter()
                    .map(|s| s.name)
                    .collect()
            };
            assert_eq!(names(&added), names(&text), "{text}\n=>\n{added}");
            if let Ok(removed) = remove_entry(client, path, &added, "the-crib", EmptyRoot::Keep) {
                assert_eq!(names(&removed), names(&text), "{added}\n=>\n{removed}");
            }
        });
}

/// The first line of an input that is text names the client, so that the corpus can be read and
/// written by people.
#[test]
fn fuzz_import_of_any_text() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let (first, rest) = text.split_once('\n').unwrap_or(("", &text));
        let named = FILES.iter().find(|(client, ..)| client.id == first.trim());
        let (client, path, _) = match named {
            Some(file) => file,
            None => &FILES[bytes.len() % FILES.len()],
        };
        read(client, path, rest);
    });
}
