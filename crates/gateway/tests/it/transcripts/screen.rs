//! A screen that remembers what was seen on it, and the file it is compared with.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::width::too_wide;
use crate::home::Home;
use crate::terminal::{Input, watched};

/// How wide the screens are.
pub(super) const WIDTHS: [u16; 2] = [60, 120];

/// Where the texts stand.
pub(super) fn place() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts")
}

/// One command and what came of it.
#[derive(PartialEq)]
pub(super) struct Scene {
    line: String,
    text: String,
}

/// A screen of one width.
pub(super) struct Screen {
    columns: u16,
    scenes: Vec<Scene>,
    too_wide: Vec<String>,
}

impl Screen {
    /// Runs commands one after the other.
    pub(super) fn runs(&mut self, home: &Home, commands: &[&[&str]]) {
        for arguments in commands {
            self.run(home, arguments, Input::Nothing, |_| {});
        }
    }

    /// Runs commands as they are typed, one a line; what stands in single quotes is one argument.
    pub(super) fn types(&mut self, home: &Home, lines: &[&str]) {
        for line in lines {
            let arguments = words(line);
            self.run(home, &arguments, Input::Nothing, |_| {});
        }
    }

    /// Runs a command that a person starts, who then types nothing.
    pub(super) fn at_the_keyboard(&mut self, home: &Home, arguments: &[&str]) {
        self.run(home, arguments, Input::Keyboard, |_| {});
    }

    /// Runs a command with something on its standard input, and with somebody who hears what it says beside.
    pub(super) fn run(
        &mut self,
        home: &Home,
        arguments: &[&str],
        input: Input<'_>,
        hear: impl FnMut(&str) + Send,
    ) {
        let all = [&["--color", "never"], arguments].concat();
        let (out, err, code) = watched(home, &all, self.columns, input, hear);
        let command = arguments.join(" ");
        for written in [&out, &err] {
            let written = without_checkout(written);
            let rows = too_wide(&command, &written, self.columns);
            let told = rows.map(|row| format!("{} columns, {command}: {row}", self.columns));
            self.too_wide.extend(told);
        }
        let given = match input {
            Input::Text(text) => format!("    < {text}"),
            Input::Answer(_, keys) => format!("    < {}", keys.escape_default()),
            Input::Nothing | Input::Keyboard => String::new(),
        };
        let mut text = veiled(home, &settled(&out));
        if !err.is_empty() {
            let err = veiled(home, settled(&err).trim_end());
            let _ = writeln!(text, "-- on standard error:\n{}", err.trim_end());
        }
        let _ = writeln!(text, "-- exit code {}", code.unwrap());
        let line = ["toolcrib"].iter().chain(arguments).map(|word| typed(word));
        let line = line.collect::<Vec<_>>().join(" ");
        self.remember(home, &format!("{line}{given}"), text);
    }

    /// Notes a command that was run in another way.
    pub(super) fn remember(&mut self, home: &Home, line: &str, text: String) {
        self.scenes.push(Scene {
            line: veiled(home, line).trim_end().to_owned(),
            text,
        });
    }
}

/// An argument as it has to be typed.
fn typed(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=,@[]".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{word}'")
    }
}

/// What stands on a screen after everything on it was written, taken back and written over.
fn settled(text: &str) -> String {
    let mut rows = vec![Vec::new()];
    let (mut row, mut column) = (0_usize, 0);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\n' => (row, column) = (row + 1, 0),
            '\r' => column = 0,
            '\u{1b}' => {
                let number: String = rest
                    .by_ref()
                    .skip_while(|c| *c == '[')
                    .take_while(|c| !matches!(c, 'A' | 'B' | 'G' | 'J' | 'K' | 'h' | 'l' | 'm'))
                    .collect();
                let sequence = &text[..text.len() - rest.as_str().len()];
                let count = number.parse().unwrap_or(1);
                match sequence.chars().next_back() {
                    Some('A') => row = row.saturating_sub(count),
                    Some('B') => row += count,
                    Some('G') => column = count - 1,
                    Some('J') => rows.truncate(row),
                    Some('K') => rows[row].clear(),
                    _ => {}
                }
            }
            c => {
                let line: &mut Vec<char> = &mut rows[row];
                line.resize(line.len().max(column + 1), ' ');
                line[column] = c;
                column += 1;
            }
        }
        rows.resize_with(rows.len().max(row + 1), Vec::new);
    }
    let rows: Vec<String> = rows.into_iter().map(String::from_iter).collect();
    rows.join("\n")
}

/// The arguments of a line.
fn words(line: &str) -> Vec<&str> {
    let (mut words, mut rest) = (Vec::new(), line);
    while !rest.is_empty() {
        let (quoted, text) = match rest.strip_prefix('\'') {
            Some(text) => ("' ", text),
            None => (" ", rest),
        };
        let (word, after) = text.split_once(quoted).unwrap_or((text, ""));
        words.push(word.trim_end_matches('\''));
        rest = after;
    }
    words
}

/// Plays on a screen of each width and compares what was seen.
pub(super) fn check(name: &str, play: impl Fn(&mut Screen)) {
    let [narrow, wide] = WIDTHS.map(|columns| {
        let mut screen = Screen {
            columns,
            scenes: Vec::new(),
            too_wide: Vec::new(),
        };
        play(&mut screen);
        assert!(screen.too_wide.is_empty(), "{:#?}", screen.too_wide);
        screen.scenes
    });
    let mut told = String::new();
    for (narrow, wide) in narrow.iter().zip(&wide) {
        let [first, second] = WIDTHS;
        let mut tell = |scene: &Scene, columns: &str| {
            let _ = writeln!(
                told,
                "$ {}    # {columns} columns\n{}",
                scene.line, scene.text
            );
        };
        if narrow == wide {
            tell(narrow, &format!("{first} and {second}"));
        } else {
            tell(narrow, &first.to_string());
            tell(wide, &second.to_string());
        }
    }
    let path = place().join(format!("{name}.txt"));
    if std::env::var_os("TRANSCRIPTS").is_some_and(|wish| wish == "write") {
        std::fs::create_dir_all(place()).unwrap();
        std::fs::write(&path, &told).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    for (number, (is, was)) in told.lines().zip(expected.lines()).enumerate() {
        assert_eq!(
            is,
            was,
            "{name}.txt:{}; TRANSCRIPTS=write accepts it",
            number + 1
        );
    }
    assert_eq!(told.lines().count(), expected.lines().count(), "{name}.txt");
}

/// Names that are new with every run, and what is shown for them.
static NAMES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    patterns(&[
        (
            r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
            "[ID]",
        ),
        (r"\btck_[0-9a-f]{64}\b", "tck_[SECRET]"),
        (r"\bkey-[0-9a-f]{16}\b", "key-[0123456789]"),
        (r"\bc-[0-9a-f]{16}\b", "c-[01234567890123]"),
        (r"\b([ts])-[0-9a-f]{12}\b", "$1-[0123456789]"),
        (r"\btoolcrib-demo-\w{6}\b", "toolcrib-demo-[DEMO]"),
        (r"\b[0-9a-f]{64}\b", "[HASH]"),
        (r"127\.0\.0\.1:\d{2,5}", "127.0.0.1:[PORT]"),
        (r"localhost:\d{2,5}", "localhost:[PORT]"),
        (r"(/authorize)\?\S+", "$1?[WHAT IS ASKED FOR]"),
        (r"\.tmp\w{6}\b", ".tmp[RANDOM]"),
        (r"\x1b\[[0-9;]*m", ""),
    ])
});

/// Figures that differ from run to run wherever they stand, and what is shown for them.
static FIGURES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    patterns(&[
        (
            r"\d{4}-\d\d-\d\d[ T\u{a0}]\d\d:\d\d:\d\d(\.\d+)?Z?",
            "[DATE AND TIME OF DAY]",
        ),
        (r"\b\d+(\.\d+)? (ms|µs)\b", "[SPAN]"),
        // Whether it fits on the line of its headline depends on how long it took.
        (r"\s+\[\[SPAN\], \d+ tokens\]", "  [[SPAN], [COUNT] tokens]"),
        (
            r"session that is \d+ tokens",
            "session that is [COUNT] tokens",
        ),
        (r"\(\d+ characters\)", "([COUNT] characters)"),
        // The demo's records are as wide as its calls took long.
        (
            r"(?s)(\$ toolcrib audit tail\n).*?(\$ toolcrib audit verify)",
            "$1[RECORDS]\n$2",
        ),
        (r"(?m)^PID +DOOR +STARTED", "PID  DOOR  STARTED"),
        (r"(?m)^PID( +)\d+$", "PID$1[PID]"),
        (r"(?m)^\d+ +(http://\S+|stdio) +\[DATE", "[PID]  $1  [DATE"),
        // A cell that goes on stands as far to the right as the number of the process is long.
        (r"(?m)^ {60,}", "[AS FAR RIGHT]  "),
        (r"(✓|✗) \d+: ", "$1 [PID]: "),
        (r"/\d+\.sock", "/[PID].sock"),
        (
            r"\.toolcrib-backup-\d{8}T\d{6}Z(-\d+)?",
            ".toolcrib-backup-[TIME]",
        ),
        (r"\bpid=\d+", "pid=[PID]"),
        (r"\btook_ms=\d+", "took_ms=[SPAN]"),
    ])
});

fn patterns(all: &[(&str, &'static str)]) -> Vec<(Regex, &'static str)> {
    let all = all.iter();
    all.map(|(pattern, shown)| (Regex::new(pattern).unwrap(), *shown))
        .collect()
}

fn replaced(patterns: &[(Regex, &str)], text: String) -> String {
    patterns.iter().fold(text, |text, (pattern, shown)| {
        pattern.replace_all(&text, *shown).into_owned()
    })
}

/// Without what differs from run to run: places, names, times, versions.
pub(crate) fn veiled(home: &Home, text: &str) -> String {
    without_figures(&without_names(home, text))
}

/// Without the places and names that differ from run to run.
pub(crate) fn without_names(home: &Home, text: &str) -> String {
    let text = text
        .replace(home.path("work").to_str().unwrap(), "[WORK]")
        .replace(
            home.path("").to_str().unwrap().trim_end_matches('/'),
            "[HOME]",
        );
    replaced(&NAMES, without_checkout(&text))
}

/// Without the programs that were built, whose paths are as long as that of the checkout.
fn without_checkout(text: &str) -> String {
    text.replace(env!("CARGO_BIN_EXE_toolcrib"), "[PROGRAM]")
        .replace(crate::stage::hostile().to_str().unwrap(), "[SERVER]")
}

/// Without the times and counts that differ from run to run.
pub(crate) fn without_figures(text: &str) -> String {
    let text = replaced(&FIGURES, text.to_owned());
    let mut goes_on = false;
    text.lines().fold(String::new(), |mut out, line| {
        // What stands in for a line stands in for those that it was broken into.
        if goes_on && line.starts_with("    ") {
            return out;
        }
        goes_on = line.contains("✓ database: ");
        let line = if line.contains("system time: ") {
            "  ✓ system time: [NOW]"
        } else if line.starts_with("Since ") {
            "Since [WHEN]"
        } else if line.contains("✓ database: ") {
            "  ✓ database: [STORE]"
        } else {
            line.trim_end()
        };
        out += line;
        out.push('\n');
        out
    })
}
