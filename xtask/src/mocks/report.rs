//! What the mocks accepted, as rates.

use std::fmt;

/// The rate of one description before one mock.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) judge: &'static str,
    /// Operations that the mock found in the file.
    pub(super) operations: usize,
    /// Tools that were called.
    pub(super) called: usize,
    /// Calls that were refused, each of them explained.
    pub(super) refused: usize,
}

impl Row {
    fn accepted(&self) -> usize {
        self.called - self.refused
    }
}

impl fmt::Display for Row {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{} by {}: {} operations, {} called, {} accepted, {} refused",
            self.name,
            self.judge,
            self.operations,
            self.called,
            self.accepted(),
            self.refused
        )
    }
}

/// All rates of a run.
#[derive(Default)]
pub(crate) struct Report {
    pub(super) rows: Vec<Row>,
    remarks: Vec<String>,
}

impl Report {
    /// With a remark, which is printed at once.
    pub(super) fn told(mut self, remark: &str) -> Self {
        crate::ui::line(remark);
        self.remarks.push(remark.to_owned());
        self
    }

    /// One line: accepted of called for each, and the remarks.
    pub(crate) fn summary(&self) -> String {
        let rates = self.rows.iter().map(|row| {
            let (accepted, called) = (row.accepted(), row.called);
            format!("{} {accepted}/{called} ({})", row.name, row.judge)
        });
        let lines: Vec<String> = rates.chain(self.remarks.iter().cloned()).collect();
        lines.join(", ")
    }

    /// A table, the remarks below it.
    pub(crate) fn table(&self) -> Vec<String> {
        let mut lines = vec![
            "| description | mock | operations | called | accepted | refused, explained |"
                .to_owned(),
            "|---|---|---:|---:|---:|---:|".to_owned(),
        ];
        lines.extend(self.rows.iter().map(|row| {
            let (name, judge, accepted) = (&row.name, row.judge, row.accepted());
            let (operations, called, refused) = (row.operations, row.called, row.refused);
            format!("| {name} | {judge} | {operations} | {called} | {accepted} | {refused} |")
        }));
        lines.push(String::new());
        lines.extend(self.remarks.iter().cloned());
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_told_in_a_line_and_in_a_table() {
        let mut report = Report::default().told("done");
        report.rows.push(Row {
            name: "shop".to_owned(),
            judge: "prism",
            operations: 9,
            called: 8,
            refused: 1,
        });
        assert_eq!(report.summary(), "shop 7/8 (prism), done");
        let table = report.table();
        assert_eq!(table[2], "| shop | prism | 9 | 8 | 7 | 1 |");
        assert_eq!(table.last().map(String::as_str), Some("done"));
        let told = report.rows[0].to_string();
        assert_eq!(
            told,
            "shop by prism: 9 operations, 8 called, 7 accepted, 1 refused"
        );
    }
}
