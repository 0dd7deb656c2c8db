//! Tools that are run, in every way to give arguments and every way to be refused.

use std::os::unix::fs::symlink;

use serde_json::json;

use super::finding::NOTES;
use super::screen::check;
use crate::home::Home;
use crate::memory::remember;
use crate::stage::{reader, staged, tool};
use crate::terminal::Input;

/// A server whose tools really do something, and one that keeps notes.
fn workshop() -> Home {
    let mut effect = tool("effect", &json!({"key": {"type": "string"}}));
    effect["annotations"] = json!({"destructiveHint": true});
    let mut half = tool("half", &json!({}));
    half["annotations"] = json!({"destructiveHint": true});
    let tools = json!([
        effect,
        half,
        reader("progress", &json!({"ms": {"type": "integer"}})),
        reader("never", &json!({})),
        reader("refuse", &json!({})),
    ]);
    staged(&tools, NOTES, "")
}

#[test]
fn executing() {
    check("executing", |screen| {
        let home = workshop();
        home.write("work/note.json", r#"{"title": "a", "body": "b"}"#);
        screen.types(
            &home,
            &[
                "execute notes create_note title=a body=b",
                "execute notes:create_note title=a body=b --json",
                "execute notes create_note --args @note.json",
                "execute notes create_note title=a body=b --select .id",
                "execute notes create_note title=a body=b --select '.id | ('",
                "execute notes create_note title=a",
                "execute notes create_note titel=a body=b",
                "execute notes create_note title=a title=b",
                "execute noets create_note title=a body=b",
                "execute notes search_notes query=a titel=b",
                "execute notes create_note title=a --args {}",
                "execute notes read_note id=7",
                "execute notes read_note id=7 --json",
                "execute stage progress ms=1 --stream",
                "execute stage refuse --args {}",
                "execute stage never --args {} --timeout 200",
            ],
        );
        let stdin = ["execute", "notes", "create_note", "--args", "-"];
        let note = r#"{"title": "a", "body": "b"}"#;
        screen.run(&home, &stdin, Input::Text(note), |_| {});
        screen.types(
            &home,
            &[
                "execute stage effect key=1",
                "execute stage effect key=1 --confirmed",
                "execute stage effect key=1 --confirmed --idempotency-key k",
                "execute stage effect key=1 --confirmed --idempotency-key k",
                "execute stage effect key=2 --confirmed --idempotency-key k",
                "execute stage half --args {} --confirmed --idempotency-key h",
                "execute stage half --args {} --confirmed --idempotency-key h",
            ],
        );
    });
}

#[test]
fn being_refused() {
    check("refused", |screen| {
        let slow = "policy: {rateLimits: {perPrincipal: {requests: 1, perSeconds: 3600}}}\n";
        let home = staged(&json!([reader("effect", &json!({}))]), "", slow);
        let effect = "execute stage effect --args {}";
        screen.types(&home, &[effect, effect]);
        // Nothing can be put beside the database any more.
        let home = workshop();
        remember(&home, async |_| ());
        let beside = home.path(".local/share/toolcrib/store/toolcrib.db-shm");
        symlink("/nowhere/at/all", beside).unwrap();
        screen.types(
            &home,
            &[
                "execute notes list_notes --args {}",
                "keys create ci --scope stage:read",
                "doctor --offline",
                "audit tail",
            ],
        );
        let home = Home::new();
        home.configure("servers: 7\n");
        screen.types(&home, &["execute stage effect --args {}"]);
    });
}
