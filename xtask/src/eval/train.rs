//! Signals for training: what the ranking sees of each candidate, from dev queries only.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::json;
use toolcrib_core::search::{Filter, SIGNAL_NAMES, meaning_words};

use super::data::{self, Set};
use super::md5;
use super::report::line;

/// Writes one row of little-endian floats per candidate: number of the set, number of the query in
/// it, whether the tool is right, how many tools are right, then the signals. Queries that fit no
/// tool come from the project's own sets alone. Sets that may only be
/// measured on, and test halves, are left out. A `.txt` beside it names sets and columns.
pub(super) fn write_signals(sets: &[Set], path: &Path) -> Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    let mut names = Vec::new();
    for set in sets.iter().filter(|s| !s.measure_only) {
        let set_number = as_float(names.len());
        names.push(set.name.as_str());
        for (number, query) in set
            .queries
            .iter()
            .enumerate()
            .filter(|(_, q)| q.dev && (set.own || !q.gold.is_empty()))
        {
            for (id, signals) in set.index.signals(&query.text, &Filter::default()) {
                let right = as_float(usize::from(query.gold.contains(&id)));
                let head = [
                    set_number,
                    as_float(number),
                    right,
                    as_float(query.gold.len()),
                ];
                for value in head.iter().chain(&signals) {
                    out.write_all(&value.to_le_bytes())?;
                }
            }
        }
        line(&format!("eval: signals of {} written", set.name));
    }
    std::fs::write(
        path.with_extension("txt"),
        format!("{}\n{}\n", names.join(" "), SIGNAL_NAMES.join(" ")),
    )?;
    Ok(())
}

/// Writes the words of every tool and dev query that may be trained on, one JSON object per line.
pub(super) fn write_words(folders: &[PathBuf], path: &Path) -> Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    for folder in folders {
        let mut paths: Vec<_> = std::fs::read_dir(folder)?
            .filter_map(Result::ok)
            .map(|e| e.path())
            .collect();
        paths.sort();
        for path in paths.iter().filter(|p| p.join("tools.jsonl").is_file()) {
            let set = data::name_of(path);
            if data::MEASURE_ONLY.contains(&set.as_str()) {
                continue;
            }
            for tool in data::read_lines::<data::ToolLine>(&path.join("tools.jsonl"))? {
                let mut parameters = String::new();
                if let Some(properties) = tool
                    .input_schema
                    .get("properties")
                    .and_then(|p| p.as_object())
                {
                    for (name, value) in properties {
                        let about = value
                            .get("description")
                            .and_then(|d| d.as_str())
                            .unwrap_or_default();
                        let _ = write!(parameters, "{name} {about} ");
                    }
                }
                let row = json!({
                    "set": set, "tool": tool.id, "name": meaning_words(&tool.name), "server": meaning_words(&tool.server),
                    "text": meaning_words(tool.description.as_deref().unwrap_or_default()), "parameters": meaning_words(&parameters),
                });
                writeln!(out, "{row}")?;
            }
            if !path.join("queries.jsonl").is_file() {
                continue;
            }
            for query in data::read_lines::<data::QueryLine>(&path.join("queries.jsonl"))? {
                if md5::is_even(&query.id) {
                    let row = json!({"set": set, "query": query.id, "words": meaning_words(&query.query), "gold": query.gold});
                    writeln!(out, "{row}")?;
                }
            }
        }
    }
    Ok(())
}

#[expect(
    clippy::cast_precision_loss,
    reason = "numbers of queries are far below 2^24"
)]
fn as_float(n: usize) -> f32 {
    n as f32
}
