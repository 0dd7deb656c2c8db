//! Lines of words that fit the terminal. What follows goes on below the text of the first line, past
//! its mark, number or label.

use super::line::{self, Line, Piece, Tone, clean};

/// One character of a line.
#[derive(Clone, Copy)]
struct Cell {
    c: char,
    tone: Tone,
    /// Whether the line may end here.
    parts: bool,
}

const SPACE: Cell = Cell {
    c: ' ',
    tone: Tone::Plain,
    parts: false,
};

/// The line as lines of at most so many columns. A word that is wider stays whole, and so does a command
/// in backquotes that fits on a line of its own.
pub(super) fn wrapped(line: Line, columns: usize) -> Vec<Line> {
    let mut cells = cells(&line);
    if width(&cells) <= columns {
        return vec![line];
    }
    let Hang { begin, below } = Hang::of(&cells, columns);
    keep_commands_whole(&mut cells, columns.saturating_sub(below));
    keep_numbers_with_words(&mut cells);
    let mut lines = Vec::new();
    let mut open = cells[..begin].to_vec();
    let mut is_bare = true;
    let mut rest = &cells[begin..];
    while !rest.is_empty() {
        let gap = rest.iter().take_while(|cell| cell.parts).count();
        let word = rest[gap..].iter().take_while(|cell| !cell.parts).count();
        if word == 0 {
            break;
        }
        let (space, letters) = rest[..gap + word].split_at(gap);
        if !is_bare && width(&open) + gap + width(letters) > columns {
            lines.push(std::mem::replace(&mut open, vec![SPACE; below]));
        } else {
            open.extend(space);
        }
        open.extend(letters);
        is_bare = false;
        rest = &rest[gap + word..];
    }
    lines.push(open);
    lines.iter().map(|cells| joined(cells)).collect()
}

fn cells(line: &Line) -> Vec<Cell> {
    let pieces = line.pieces.iter();
    let of_piece = |piece: &Piece| {
        let (tone, whole) = (piece.tone, piece.whole);
        let cell = move |c| Cell {
            c,
            tone,
            parts: c == ' ' && !whole,
        };
        clean(&piece.text).chars().map(cell).collect::<Vec<_>>()
    };
    pieces.flat_map(of_piece).collect()
}

fn joined(cells: &[Cell]) -> Line {
    let same = cells.chunk_by(|one, other| one.tone == other.tone);
    same.fold(Line::new(), |line, run| line.tone(run[0].tone, text(run)))
}

/// No line ends inside a command that fits on one.
fn keep_commands_whole(cells: &mut [Cell], room: usize) {
    let quotes: Vec<usize> = (0..cells.len()).filter(|at| cells[*at].c == '`').collect();
    for pair in quotes.chunks_exact(2) {
        let command = pair[0]..=pair[1];
        if width(&cells[command.clone()]) <= room {
            for cell in &mut cells[command] {
                cell.parts = false;
            }
        }
    }
}

/// Nor between a number and what it counts, nor between a date and its time.
fn keep_numbers_with_words(cells: &mut [Cell]) {
    let mut before = String::new();
    for at in 0..cells.len() {
        if cells[at].c != ' ' {
            before.push(cells[at].c);
            continue;
        }
        let word = std::mem::take(&mut before);
        let next = word_at(cells, at + 1);
        let is_number = |word: &str| word.chars().all(|c| c.is_ascii_digit());
        let counts = !word.is_empty() && is_number(&word) && !is_number(&next);
        let is_date = word.len() == 10 && word.get(4..5) == Some("-");
        let is_time = next.get(2..3) == Some(":");
        if counts || is_date && is_time {
            cells[at].parts = false;
        }
    }
}

/// How many columns they take.
fn width(cells: &[Cell]) -> usize {
    line::width(&text(cells))
}

fn text(cells: &[Cell]) -> String {
    cells.iter().map(|cell| cell.c).collect()
}

fn word_at(cells: &[Cell], at: usize) -> String {
    word(cells.get(at..).unwrap_or_default())
}

/// Where the words of a line begin.
struct Hang {
    /// On the first line, in characters.
    begin: usize,
    /// On those below it, in columns.
    below: usize,
}

/// What stands before a text and is no word of it.
const MARKS: [&str; 7] = ["✓", "✗", "○", "!", "-", "=", "──"];

/// How far the lines below a label are moved.
const STEP: usize = 2;

impl Hang {
    fn of(cells: &[Cell], columns: usize) -> Self {
        let spaces = |from: usize| {
            cells[from..]
                .iter()
                .take_while(|cell| cell.c == ' ')
                .count()
        };
        let indent = spaces(0);
        let mut begin = indent;
        while let Some(length) = mark(&cells[begin..]) {
            begin += length;
        }
        let label = label(&cells[begin..]);
        let step = match label.map(|length| (length, spaces(begin + length))) {
            None => 0,
            // What stands in a column below others goes on in that column.
            Some((length, gap @ STEP..)) => {
                begin += length + gap;
                0
            }
            Some(_) if begin > indent => 0,
            Some(_) => STEP,
        };
        let below = width(&cells[..begin]) + step;
        if below * 2 > columns {
            let below = (indent + STEP).min(columns / 2);
            return Self { begin, below };
        }
        Self { begin, below }
    }
}

/// How many characters a mark or a number has, with the space behind it.
fn mark(cells: &[Cell]) -> Option<usize> {
    let word: String = word(cells);
    let number = word.strip_suffix('.').is_some_and(|digits| {
        !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_digit())
    });
    let length = word.chars().count();
    let is_mark = number || MARKS.contains(&word.as_str());
    (is_mark && cells.get(length).is_some_and(|cell| cell.c == ' ')).then_some(length + 1)
}

/// How many characters a label has: one or two words that end in a colon.
fn label(cells: &[Cell]) -> Option<usize> {
    let first = word(cells);
    let length = first.chars().count();
    if first.ends_with(':') {
        return Some(length);
    }
    let second = word(cells.get(length + 1..)?);
    second
        .ends_with(':')
        .then(|| length + 1 + second.chars().count())
}

fn word(cells: &[Cell]) -> String {
    let letters = cells.iter().map(|cell| cell.c);
    letters.take_while(|c| *c != ' ').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: impl Into<Line>, columns: usize, expected: &[&str]) {
        let lines = wrapped(line.into(), columns);
        let shown: Vec<String> = lines
            .iter()
            .map(|line| anstream::adapter::strip_str(&line.render()).to_string())
            .collect();
        let shown: Vec<&str> = shown
            .iter()
            .map(|line| line.trim_end_matches('\n'))
            .collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn prose_is_broken_between_words() {
        check("a line that fits", 16, &["a line that fits"]);
        check("a line that is longer", 16, &["a line that is", "longer"]);
        check(
            "  moved text stays moved",
            12,
            &["  moved text", "  stays", "  moved"],
        );
        check(
            "gaps  stay  where they are",
            16,
            &["gaps  stay", "where they are"],
        );
        check("", 1, &[""]);
    }

    #[test]
    fn what_follows_stands_below_the_text() {
        check("✓ one two three", 9, &["✓ one two", "  three"]);
        check("  12. one two three", 13, &["  12. one two", "      three"]);
        check(
            "   = help: one two three",
            16,
            &["   = help: one", "     two three"],
        );
        check("── 1. one two three", 14, &["── 1. one two", "      three"]);
        check(
            "Message: one two three",
            14,
            &["Message: one", "  two three"],
        );
        check("error [CODE]: one two", 18, &["error [CODE]: one", "  two"]);
        check(
            "Calls:     one two three",
            22,
            &["Calls:     one two", "           three"],
        );
        check(
            "  ✗ gone: one two three",
            14,
            &["  ✗ gone: one", "    two three"],
        );
    }

    #[test]
    fn no_word_and_no_command_is_broken() {
        check(
            "at /a/very/long/path it is",
            10,
            &["at", "/a/very/long/path", "it is"],
        );
        check(
            "✗ /a/very/long/path it is",
            10,
            &["✗ /a/very/long/path", "  it is"],
        );
        check("run `a b c` now", 10, &["run", "`a b c`", "now"]);
        check("it has 12 words", 10, &["it has", "12 words"]);
        check(
            "on 2026-01-31 12:00:00 UTC",
            19,
            &["on", "2026-01-31 12:00:00", "UTC"],
        );
        check("1 2 3 4 5 6", 5, &["1 2 3", "4 5 6"]);
        check(
            "run `a b c d e f g` now",
            10,
            &["run `a b c", "d e f g`", "now"],
        );
        let line = Line::new().text("  it runs ").whole("npx -y a b c d");
        check(line, 12, &["  it runs", "  npx -y a b c d"]);
        check(Line::new().whole("{ \"a\": 1 }"), 4, &["{ \"a\": 1 }"]);
    }

    #[test]
    fn tones_go_on_across_lines() {
        let line = Line::new().mark(true).tone(Tone::Strong, " one two");
        let lines = wrapped(line, 6);
        assert_eq!(
            lines[0].render(),
            "\u{1b}[32m✓\u{1b}[0m\u{1b}[1m one\u{1b}[0m\n"
        );
        assert_eq!(lines[1].render(), "  \u{1b}[1mtwo\u{1b}[0m\n");
    }

    #[test]
    fn a_label_that_takes_half_the_screen_moves_nothing_that_far() {
        check(
            "A-label-so-long:   one two three",
            22,
            &["A-label-so-long:   one", "  two three"],
        );
    }

    #[test]
    fn wide_characters_take_two_columns() {
        check("文書 文書 文書", 14, &["文書 文書 文書"]);
        check("文書 文書 文書", 13, &["文書 文書", "文書"]);
        check("✗ 文書: one two", 11, &["✗ 文書: one", "  two"]);
        check("✗ 文書: one two", 10, &["✗ 文書:", "  one two"]);
    }
}
