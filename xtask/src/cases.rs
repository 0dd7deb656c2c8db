//! Behaviour cases of the shared data: one JSON object per line, an input and what is right.
//!
//! What a row recommends overrules what it expects, see the README beside the files. A file whose part of the
//! product does not exist yet is listed as such and fails nothing.

mod elsewhere;
mod judge;
mod retry;

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{ui, workspace};

pub(crate) use elsewhere::markdown;

/// One file of cases and the function that holds the product to a row of it.
struct Suite {
    file: &'static str,
    judge: fn(&Value) -> Result<Judgement>,
}

/// What became of a row.
#[derive(Debug, PartialEq, Eq)]
enum Judgement {
    /// The product does what the row says.
    Right,
    /// It does something else: what was wanted and what was given.
    Wrong(String),
    /// A test of the product plays the row.
    Elsewhere,
    /// The row binds nobody here, or nobody yet.
    Passed,
}

/// Every file that the product is held to. A new one is a line here and a function in `judge`.
const SUITES: &[Suite] = &[
    Suite {
        file: "glob.jsonl",
        judge: judge::glob,
    },
    Suite {
        file: "rules.jsonl",
        judge: judge::rules,
    },
    Suite {
        file: "misc.jsonl",
        judge: judge::misc,
    },
    Suite {
        file: "domain.jsonl",
        judge: judge::domain,
    },
    Suite {
        file: "category.jsonl",
        judge: judge::category,
    },
    Suite {
        file: "schema_to_typeexpr.jsonl",
        judge: judge::schema_to_type,
    },
    Suite {
        file: "infer_type_from_value.jsonl",
        judge: judge::value_to_type,
    },
    Suite {
        file: "rtfs_text.jsonl",
        judge: judge::rtfs_text,
    },
    Suite {
        file: "retry_rate_cache.jsonl",
        judge: retry::retry,
    },
    Suite {
        file: "policy-risk.jsonl",
        judge: judge::risk,
    },
];

/// Holds the product to every case; a row that is not held fails the run.
pub(crate) fn run(args: &[String]) -> Result<()> {
    if let Some(unknown) = args.first() {
        bail!("the behaviour cases take no arguments, but `{unknown}` was given");
    }
    let Some(shared) = workspace::shared() else {
        ui::line("no shared data beside the workspace: behaviour cases are not run here");
        return Ok(());
    };
    let mut wrong = 0;
    for path in crate::source::files_below(&shared.join("data/cases"), ".jsonl") {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let rows = read(&path)?;
        match SUITES.iter().find(|suite| suite.file == name) {
            Some(suite) => wrong += hold(suite, &rows)?,
            None => ui::line(&format!("{name:<28} {:>3} cases, not held yet", rows.len())),
        }
    }
    if wrong > 0 {
        bail!("{wrong} behaviour cases are not held");
    }
    Ok(())
}

/// Judges every row of a file, prints the figures, and says how many are wrong.
fn hold(suite: &Suite, rows: &[Value]) -> Result<usize> {
    let (mut right, mut played, mut wrong) = (0, 0, 0);
    for row in rows {
        match (suite.judge)(row).with_context(|| format!("{} of {}", row["id"], suite.file))? {
            Judgement::Right => right += 1,
            Judgement::Elsewhere => played += 1,
            Judgement::Passed => {}
            Judgement::Wrong(why) => {
                wrong += 1;
                ui::error(&format!("{} of {}: {why}", row["id"], suite.file));
            }
        }
    }
    let passed = rows.len() - right - played - wrong;
    ui::line(&format!(
        "{:<28} {right:>3} held, {played} played by tests, {wrong} wrong, {passed} not binding",
        suite.file
    ));
    Ok(wrong)
}

/// The rows of a case file.
fn read(path: &Path) -> Result<Vec<Value>> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let rows = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(serde_json::from_str);
    rows.collect::<Result<_, _>>()
        .with_context(|| format!("{} is not one JSON object per line", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rows_are_counted_by_what_became_of_them() {
        let suite = Suite {
            file: "x.jsonl",
            judge: |row| {
                Ok(match row["is"].as_str() {
                    Some("right") => Judgement::Right,
                    Some("wrong") => Judgement::Wrong("no".into()),
                    Some("played") => Judgement::Elsewhere,
                    _ => Judgement::Passed,
                })
            },
        };
        let rows = [
            json!({"is": "right"}),
            json!({"is": "wrong"}),
            json!({}),
            json!({"is": "played"}),
            json!({"is": "wrong"}),
        ];
        assert_eq!(hold(&suite, &rows).unwrap(), 2);
    }

    #[test]
    fn a_file_that_is_not_lines_of_json_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bad.jsonl");
        std::fs::write(&path, "{}\n\n{\n").unwrap();
        assert!(format!("{:#}", read(&path).unwrap_err()).contains("bad.jsonl"));
        std::fs::write(&path, "{}\n\n{\"a\":1}\n").unwrap();
        assert_eq!(read(&path).unwrap().len(), 2);
    }
}
