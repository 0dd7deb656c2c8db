//! What is said to people fits the screen it is said on.

use std::sync::LazyLock;

use regex::Regex;

use super::uncoloured;

/// What may be wider than the screen: in the output of which commands, and which rows of it.
static WIDE: LazyLock<Vec<[Regex; 2]>> = LazyLock::new(|| {
    [
        // For programs.
        (r"--json\b|^audit export\b|^completions ", ""),
        // Lines of the log.
        ("", r"^(\S+)? *(INFO|WARN|ERROR) "),
        // What a server says about a tool, letter by letter.
        (r"^(approvals show|approve) ", r"^  [+-] "),
        // A file as it would be written.
        (r" --dry-run\b", r"^ *(#|[\w-]+:) "),
        // A place in a file, and what stands there.
        ("", r"^ *(-->|\d* *\|) "),
        // A command that would be run, and an address: both to be copied.
        (r"^registry (show|add) ", r"^  (it )?(runs|is reached at) "),
        (r"^(introspect|approvals show|approve) ", r"^  at stdio:"),
    ]
    .map(|(command, row)| [command, row].map(|pattern| Regex::new(pattern).unwrap()))
    .into()
});

/// The rows of what a command wrote that do not fit, with the exceptions left out. Paths and addresses, which are
/// one word, are never broken.
pub(super) fn too_wide<'a>(
    command: &'a str,
    written: &'a str,
    columns: u16,
) -> impl Iterator<Item = String> + 'a {
    let exceptions = WIDE.iter().filter(|[known, _]| known.is_match(command));
    let exceptions: Vec<&Regex> = exceptions.map(|[_, row]| row).collect();
    let rows = written.split(['\n', '\r']).map(uncoloured);
    rows.filter(move |row| {
        let row = row.trim_end();
        row.chars().count() > usize::from(columns)
            && row.trim_start().contains(' ')
            && !exceptions.iter().any(|exception| exception.is_match(row))
    })
}

#[test]
fn what_does_not_fit_is_found() {
    let check = |command: &str, written: &str, expect: &[&str]| {
        let found: Vec<String> = too_wide(command, written, 8).collect();
        assert_eq!(found, expect, "{command}");
    };
    check(
        "list",
        "a word\n\u{1b}[1msix words\u{1b}[0m of",
        &["six words of"],
    );
    check("list", "12345678 \n  /long/path/of/one/word", &[]);
    check(
        "setup",
        "? one two three\r\u{1b}[2Kdone",
        &["? one two three"],
    );
    check("list --json", "{\"a\": \"a b c\"}", &[]);
    check("serve", "2026-01-31 INFO one two", &[]);
    check(
        "approve a:b",
        "  - one two\none two three",
        &["one two three"],
    );
}
