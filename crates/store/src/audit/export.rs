//! The audit log as files: JSON Lines and CSV.

use std::io::{self, Write};

use super::query::Entry;
use super::timestamp;

/// Writes one JSON object per line, under the exported names.
pub fn json_lines(out: &mut impl Write, entries: &[Entry]) -> io::Result<()> {
    for entry in entries {
        serde_json::to_writer(&mut *out, entry)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// The columns of the CSV form.
const COLUMNS: [&str; 18] = [
    "request_id",
    "timestamp",
    "actor_id",
    "tool_id",
    "params_hash",
    "parameters",
    "decision",
    "reason",
    "outcome",
    "error_code",
    "duration_us",
    "upstream",
    "request_bytes",
    "response_bytes",
    "trace_id",
    "writer",
    "seq",
    "hash",
];

/// Writes the first line of a CSV file.
pub fn csv_header(out: &mut impl Write) -> io::Result<()> {
    csv_row(out, COLUMNS)
}

/// Writes one line of CSV (RFC 4180) per record. A cell that a spreadsheet would take for a formula
/// gets a leading apostrophe.
pub fn csv_rows(out: &mut impl Write, entries: &[Entry]) -> io::Result<()> {
    for entry in entries {
        let record = &entry.record;
        let number = |value: Option<i64>| value.map(|n| n.to_string()).unwrap_or_default();
        let cells: [&str; COLUMNS.len()] = [
            &record.request_id,
            &timestamp(record.timestamp_ms),
            &record.actor_id,
            &record.tool_id,
            &record.params_hash,
            record.parameters.as_deref().unwrap_or_default(),
            record.decision.as_str(),
            &record.reason,
            record.outcome.as_str(),
            record.error_code.as_deref().unwrap_or_default(),
            &number(record.duration_us),
            record.upstream.as_deref().unwrap_or_default(),
            &record.request_bytes.to_string(),
            &number(record.response_bytes),
            record.trace_id.as_deref().unwrap_or_default(),
            &entry.writer_id,
            &entry.seq.to_string(),
            &entry.hash,
        ];
        csv_row(out, cells)?;
    }
    Ok(())
}

fn csv_row<const N: usize>(out: &mut impl Write, cells: [&str; N]) -> io::Result<()> {
    for (place, cell) in cells.into_iter().enumerate() {
        if place > 0 {
            out.write_all(b",")?;
        }
        csv_cell(out, cell)?;
    }
    out.write_all(b"\r\n")
}

fn csv_cell(out: &mut impl Write, cell: &str) -> io::Result<()> {
    let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
    if !formula && !cell.contains([',', '"', '\r', '\n']) {
        return out.write_all(cell.as_bytes());
    }
    out.write_all(b"\"")?;
    if formula {
        out.write_all(b"'")?;
    }
    out.write_all(cell.replace('"', "\"\"").as_bytes())?;
    out.write_all(b"\"")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn row(cells: [&str; 2]) -> String {
        let mut out = Vec::new();
        csv_row(&mut out, cells).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn cells_are_quoted_where_csv_needs_it() {
        let check = |cells, expect: &str| assert_eq!(row(cells), expect);
        check(["a", "b c"], "a,b c\r\n");
        check(["a,b", "say \"hi\""], "\"a,b\",\"say \"\"hi\"\"\"\r\n");
        check(["two\nlines", ""], "\"two\nlines\",\r\n");
    }

    #[test]
    fn a_cell_is_never_a_formula() {
        for start in ["=", "+", "-", "@", "\t", "\r", "\n", "＝"] {
            let text = row([&format!("{start}cmd|' /C calc'!A0"), "x"]);
            assert!(text.starts_with("\"'"), "{text:?}");
        }
    }

    /// Reads one row back as RFC 4180 has it.
    fn parse(row: &str) -> Vec<String> {
        let mut cells = vec![String::new()];
        let mut quoted = false;
        let mut chars = row.strip_suffix("\r\n").unwrap().chars().peekable();
        while let Some(c) = chars.next() {
            let cell = cells.last_mut().unwrap();
            match c {
                '"' if quoted && chars.peek() == Some(&'"') => {
                    chars.next();
                    cell.push('"');
                }
                '"' => quoted = !quoted,
                ',' if !quoted => cells.push(String::new()),
                c => cell.push(c),
            }
        }
        cells
    }

    proptest! {
        #[test]
        fn what_is_written_can_be_read_back(a in any::<String>(), b in any::<String>()) {
            let read = parse(&row([&a, &b]));
            prop_assert_eq!(read.len(), 2);
            for (cell, original) in read.iter().zip([a, b]) {
                let guarded = format!("'{original}");
                prop_assert!(*cell == original || *cell == guarded);
                prop_assert!(!cell.starts_with(['=', '+', '-', '@', '\t', '\r']));
            }
        }
    }
}
