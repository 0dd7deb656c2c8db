//! Tables: aligned columns that fit the terminal, and plain text in a pipe.

use comfy_table::{ContentArrangement, presets};

use super::line::{Line, Tone, clean};

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

    /// The lines, at most `columns` wide where a width is given.
    pub(super) fn lines(&self, columns: Option<usize>) -> Vec<Line> {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(&self.head);
        table.add_rows(&self.rows);
        match columns {
            Some(columns) => table
                .set_content_arrangement(ContentArrangement::Dynamic)
                .set_width(u16::try_from(columns).unwrap_or(u16::MAX)),
            None => table.set_content_arrangement(ContentArrangement::Disabled),
        };
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
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
}
