//! Servers and tools that are looked for, looked at and tried.

use super::furnished_with;
use super::screen::check;

/// The program itself as a server that keeps notes.
pub(crate) const NOTES: &str = concat!(
    "  notes: {command: '",
    env!("CARGO_BIN_EXE_toolcrib"),
    "', args: [workshop, notes], trusted: true}\n"
);

#[test]
fn finding_and_running() {
    check("finding", |screen| {
        let home = furnished_with(NOTES, "  - {pattern: ['*_notes'], tags: [paper]}\n");
        screen.types(
            &home,
            &[
                "list",
                "search 'look at a note'",
                "list",
                "list --status",
                "list --tools",
                "list --nope",
                "list --config nowhere.yaml",
                "search note --limit 1",
                "search note --limit 1000 --explain",
                "search 'secret note'",
                "search 'secret note' --all",
                "search note --pattern look*",
                "search note --pattern /^(/",
                "search 'find a note' --server notes --limit 2",
                "search zzzz qqqq",
                "search 'zzzz qqqq'",
                "search note --server stge",
                "search",
                "search note --limit 0",
                "search --forget",
                "tools stage",
                "tools stage --all --tags",
                "tools notes --tags",
                "tools stge",
                "tools",
                "inspect stage",
                "inspect stage look_at_note --examples",
                "inspect notes create_note --examples",
                "inspect notes:create_note --json --examples",
                "inspect stage look_at_nte",
                "inspect nots create_note",
                "execute stage echo",
                "execute notes create_note",
                "execute stage echo text=first",
                "execute stage echo text=first --json",
                "execute stage look_at_note title=first",
                "execute stage look_at_note --args {\"title\":\"first\"} --dry-run",
                "execute stage look_at_note --args '{\"title\": 7}'",
                "execute stage look_at_note --args {",
                "execute stage look_at_note --args @nowhere.json",
                "execute stage lok_at_note --args {}",
                "execute stage secret_note --args {}",
                "execute stage delete_note --args {}",
                "mcp tools stage",
                "serach note",
            ],
        );
    });
}
