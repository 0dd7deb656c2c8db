//! Tables: aligned columns that fit the terminal, and plain text in a pipe.

use comfy_table::{ColumnConstraint, ContentArrangement, Width, presets};

use super::line::{Line, Tone, clean, width};

/// A table with a headline.
#[derive(Clone, Debug)]
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headlines.
    pub fn new<const N: usize>(head: [&str; N]) -> Self {
        Self {
            head: head.map(str::to_owned).to_vec(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows
            .push(cells.map(|cell| clean(&cell).into_owned()).to_vec());
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The lines, at most `columns` wide where a width is given. No word is broken, so that what is shown
    /// can be copied: a table that is too wide for that is written as one block for each row.
    pub(super) fn lines(&self, columns: Option<usize>) -> Vec<Line> {
        let Some(columns) = columns else {
            return self.side_by_side(&self.widths(widest_line));
        };
        match self.fitting(columns) {
            Some(widths) => self.side_by_side(&widths),
            None => self.in_blocks(columns),
        }
    }

    /// For each column the greatest of what is measured in its headline and cells.
    fn widths(&self, measure: fn(&str) -> usize) -> Vec<usize> {
        let column = |at: usize| {
            let cells = self.rows.iter().map(move |row| measure(&row[at]));
            cells.fold(measure(&self.head[at]), usize::max)
        };
        (0..self.head.len()).map(column).collect()
    }

    /// Widths that fit and break no word. What is left goes to the columns that lack most.
    fn fitting(&self, columns: usize) -> Option<Vec<usize>> {
        let wanted = self.widths(widest_line);
        let mut widths = self.widths(longest_word);
        let gaps = GAP * self.head.len().saturating_sub(1);
        let mut left = columns.checked_sub(widths.iter().sum::<usize>() + gaps)?;
        while left > 0 {
            let lacking = |at: &usize| wanted[*at] - widths[*at];
            let most = (0..widths.len()).max_by_key(lacking)?;
            if wanted[most] == widths[most] {
                break;
            }
            widths[most] += 1;
            left -= 1;
        }
        Some(widths)
    }

    fn side_by_side(&self, widths: &[usize]) -> Vec<Line> {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(&self.head);
        table.add_rows(&self.rows);
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(u16::MAX);
        let gap = u16::try_from(GAP).unwrap_or(u16::MAX);
        for (column, width) in table.column_iter_mut().zip(widths) {
            column.set_padding((0, gap));
            let width = u16::try_from(width + GAP).unwrap_or(u16::MAX);
            column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width)));
        }
        table
            .lines()
            .enumerate()
            .map(|(at, text)| {
                let tone = if at == 0 { Tone::Strong } else { Tone::Plain };
                Line::new().tone(tone, text.trim_end())
            })
            .collect()
    }

    fn in_blocks(&self, columns: usize) -> Vec<Line> {
        let indent = self.head.iter().map(|head| widest_line(head)).max();
        let indent = indent.unwrap_or_default() + GAP;
        let mut lines = Vec::new();
        for row in &self.rows {
            if !lines.is_empty() {
                lines.push(Line::new());
            }
            let told = self.head.iter().zip(row);
            for (head, cell) in told.filter(|(_, cell)| !matches!(cell.trim(), "" | "-")) {
                let mut head = head.as_str();
                let mut indent = indent;
                if indent + longest_word(cell) > columns {
                    // What is too wide beside its headline stands below it.
                    lines.push(Line::new().tone(Tone::Strong, head));
                    (head, indent) = ("", GAP);
                }
                for text in wrapped(cell, columns.saturating_sub(indent)) {
                    let start = format!("{head:<indent$}");
                    lines.push(Line::new().tone(Tone::Strong, start).text(text));
                    head = "";
                }
            }
        }
        lines
    }
}

/// How many columns stand empty between two.
const GAP: usize = 2;

fn widest_line(text: &str) -> usize {
    text.lines().map(width).max().unwrap_or_default()
}

/// An indent belongs to the word that it moves.
fn longest_word(text: &str) -> usize {
    let indent = text.chars().take_while(|c| *c == ' ').count();
    let words = text.split([' ', '\n']).filter(|word| !word.is_empty());
    let widths = words.map(width);
    let first = widths.clone().next().unwrap_or_default();
    widths.fold(indent + first, usize::max)
}

/// Lines of whole words, at most so wide unless one word is wider.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let mut open = String::new();
        for word in line.split_whitespace() {
            if !open.is_empty() && width(&open) + 1 + width(word) > columns {
                lines.push(std::mem::take(&mut open));
            }
            if !open.is_empty() {
                open.push(' ');
            }
            open.push_str(word);
        }
        lines.push(open);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(columns: Option<usize>) -> Vec<String> {
        let mut table = Table::new(["SERVER", "FROM"]);
        table.row(["github".into(), "a long path with several words".into()]);
        table.row(["fs\u{1b}".into(), "b".into()]);
        assert!(!table.is_empty());
        table
            .lines(columns)
            .iter()
            .map(|line| anstream::adapter::strip_str(&line.render()).to_string())
            .collect()
    }

    #[test]
    fn columns_are_aligned_and_nothing_is_cut_in_a_pipe() {
        assert_eq!(
            shown(None),
            [
                "SERVER    FROM\n",
                "github    a long path with several words\n",
                "fs\\u{1b}  b\n"
            ]
        );
    }

    #[test]
    fn a_table_fits_the_terminal() {
        let lines = shown(Some(30));
        assert!(lines.len() > 3, "{lines:?}");
        assert!(
            lines.iter().all(|l| l.trim_end().chars().count() <= 30),
            "{lines:?}"
        );
    }

    #[test]
    fn wide_characters_take_two_columns_and_are_not_split() {
        let mut table = Table::new(["FILE", "STATE"]);
        table.row(["~/文書/.cursor/mcp.json".into(), "trusted".into()]);
        table.row(["~/a".into(), "changed since it was trusted".into()]);
        let shown = |columns| {
            let lines = table.lines(columns);
            let lines = lines
                .iter()
                .map(|line| anstream::adapter::strip_str(&line.render()).to_string());
            lines.collect::<String>()
        };
        assert_eq!(
            shown(None),
            "FILE                     STATE\n~/文書/.cursor/mcp.json  trusted\n~/a                      changed since it was trusted\n"
        );
        assert_eq!(
            shown(Some(40)),
            "FILE                     STATE\n~/文書/.cursor/mcp.json  trusted\n~/a                      changed since\n                         it was trusted\n"
        );
        assert_eq!(wrapped("文書 文書 文書", 9), ["文書 文書", "文書"]);
    }

    #[test]
    fn where_a_word_would_be_broken_each_row_is_a_block() {
        let mut table = Table::new(["ID", "WHAT"]);
        table.row(["t-92e27e39fd3a".into(), "a tool that has changed".into()]);
        table.row(["t-5dc328f0ca3d".into(), "-".into()]);
        table.row(["t-35424c05a13b-and-more".into(), "  moved".into()]);
        assert_eq!(table.widths(longest_word), [23, 7]);
        let lines = table.lines(Some(20));
        let shown = lines
            .iter()
            .map(|line| anstream::adapter::strip_str(&line.render()).to_string());
        assert_eq!(
            shown.collect::<String>(),
            "ID    t-92e27e39fd3a\nWHAT  a tool that\n      has changed\n\nID    t-5dc328f0ca3d\n\nID\n  t-35424c05a13b-and-more\nWHAT  moved\n"
        );
    }
}
