//! API descriptions of real services as tools: all of them load, and what they become is held to floors.
//!
//! Per file: operations in the file beside the tools made, arguments, examples that fit, how long it took. For every tool: a
//! legal and unique id, a schema that compiles with nothing left open, the same bytes on every load. Labelled operations are
//! rated as the product rates them, through the tools that were made.

mod floors;
mod indexed;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use toolcrib_core::policy::Risk;
use toolcrib_core::policy::risk::{Inputs, derive};
use toolcrib_core::{canon, schema};
use toolcrib_upstream::rest::{Api, Operation, Place};

use crate::{ui, workspace};
use floors::Row;

/// How long all files may take together, and Stripe's alone.
const ALL_SECONDS_MAX: f64 = 5.0;
const STRIPE_SECONDS_MAX: f64 = 1.0;
/// How much memory this process may have held at once after loading Stripe's file.
const STRIPE_KIB_MAX: u64 = 150 * 1024;
/// How many of a hundred labels must be right.
const RIGHT_PERCENT_MIN: usize = 90;

/// `cargo xtask eval adapters`
pub(crate) fn run(args: &[String]) -> Result<()> {
    let write = match args {
        [] => false,
        [option] if option == "--write-floors" => true,
        other => bail!("the adapters take --write-floors and nothing else, not {other:?}"),
    };
    let Some(shared) = workspace::shared() else {
        ui::line("no shared data beside the workspace: API descriptions are not looked at here");
        return Ok(());
    };
    let folder = shared.join("data/openapi");
    let mut apis = BTreeMap::new();
    let mut rows = BTreeMap::new();
    let mut total = Duration::ZERO;
    ui::line("| file | operations | tools | arguments | examples | warnings | load ms |");
    ui::line("|---|---|---|---|---|---|---|");
    for path in real_files(&folder)? {
        let (name, api, took) = load(&path)?;
        if name == "stripe" {
            hold_stripe(took)?;
        }
        total += took;
        let row = examine(&path, &name, &api)?;
        ui::line(&format!(
            "| {name} | {} | {} | {} | {} | {} | {:.0} |",
            row.operations,
            row.tools,
            row.arguments,
            row.examples,
            api.warnings.len(),
            took.as_secs_f64() * 1e3
        ));
        rows.insert(name.clone(), row);
        apis.insert(name, api);
    }
    let sum = |of: fn(&Row) -> usize| rows.values().map(of).sum::<usize>();
    ui::line(&format!(
        "{} operations, {} tools, {} examples that fit, {:.2} s",
        sum(|row| row.operations),
        sum(|row| row.tools),
        sum(|row| row.examples),
        total.as_secs_f64()
    ));
    if !cfg!(debug_assertions) {
        ensure!(
            total.as_secs_f64() < ALL_SECONDS_MAX,
            "all files together may take {ALL_SECONDS_MAX} s"
        );
    }
    indexed::hold(&apis)?;
    labels(&folder.join("risk_labels.jsonl"), &apis)?;
    floors::hold(&workspace::root().join("eval/adapters.toml"), &rows, write)
}

/// The descriptions: Stripe's first, so that its memory is seen on its own.
pub(crate) fn real_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in [folder.to_owned(), folder.join("postman")] {
        let entries = std::fs::read_dir(&folder)
            .with_context(|| format!("cannot read {}", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            let kind = path.extension().and_then(|e| e.to_str());
            let described = matches!(kind, Some("json" | "yaml" | "yml"));
            if described && !path.ends_with("MANIFEST.json") {
                found.push(path);
            }
        }
    }
    found.sort_by_key(|path| (!path.ends_with("stripe.yaml"), path.clone()));
    Ok(found)
}

/// Reads a description, and says how long that took.
pub(crate) fn load(path: &Path) -> Result<(String, Api, Duration)> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or("api");
    let name = stem.replace(".postman_collection", "-postman");
    let start = Instant::now();
    let api = Api::read(&name, Place::File(path.to_owned()), &text)?;
    Ok((name, api, start.elapsed()))
}

fn hold_stripe(took: Duration) -> Result<()> {
    let peak = peak_kib();
    if let Some(peak) = peak {
        ui::line(&format!(
            "memory held at most after stripe: {} MiB",
            peak / 1024
        ));
    }
    if !cfg!(debug_assertions) {
        ensure!(
            took.as_secs_f64() < STRIPE_SECONDS_MAX,
            "stripe took {took:?}"
        );
        ensure!(
            peak.is_none_or(|kib| kib < STRIPE_KIB_MAX),
            "stripe took {peak:?} KiB"
        );
    }
    Ok(())
}

/// The most memory that this process ever held, where the system says so.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Looks at every tool of a description.
fn examine(path: &Path, name: &str, api: &Api) -> Result<Row> {
    let mut seen = HashSet::new();
    let mut row = Row {
        operations: api.counted,
        tools: api.operations.len(),
        ..Row::default()
    };
    for operation in &api.operations {
        let id = operation.tool.id.to_string();
        ensure!(is_legal(&id), "{id} is not a legal id");
        ensure!(seen.insert(id.clone()), "{id} is given twice");
        let compiled = schema::compile(&operation.tool.input_schema);
        compiled.with_context(|| format!("{name}: {} {}", operation.method(), operation.path()))?;
        if let Some(output) = operation.output_schema() {
            let compiled = schema::compile(&output);
            compiled.with_context(|| format!("{name}: the answer of {}", operation.path()))?;
        }
        row.arguments += operation.inputs.len();
        match operation.example() {
            Some(_) => row.examples += 1,
            None => ui::line(&format!("no example fits {id}")),
        }
    }
    let again = load(path)?.1;
    ensure!(
        digest(api) == digest(&again),
        "{name} differs from load to load"
    );
    Ok(row)
}

/// `^[A-Za-z0-9._-]+:[A-Za-z0-9._/-]+$`, at most 128 characters after the colon.
fn is_legal(id: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    id.split_once(':').is_some_and(|(server, tool)| {
        !server.is_empty()
            && server.chars().all(legal)
            && !tool.is_empty()
            && tool.len() <= 128
            && tool.chars().all(|c| legal(c) || c == '/')
    })
}

fn digest(api: &Api) -> Vec<(String, String, String)> {
    let of = |operation: &std::sync::Arc<Operation>| {
        let tool = &operation.tool;
        let schema = serde_json::to_string(&*tool.input_schema).unwrap_or_default();
        (
            tool.id.to_string(),
            canon::definition_hash(tool).to_string(),
            schema,
        )
    };
    api.operations.iter().map(of).collect()
}

/// Rates labelled operations through their tools.
fn labels(path: &Path, apis: &BTreeMap<String, Api>) -> Result<()> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut known: HashMap<(String, String, String), &Operation> = HashMap::new();
    for (name, api) in apis {
        for operation in &api.operations {
            let key = (
                name.clone(),
                operation.method().to_owned(),
                operation.path().to_owned(),
            );
            known.insert(key, operation);
        }
    }
    let (mut right, mut all, mut grave) = (0, 0, 0);
    for line in text.lines() {
        let row: Value = serde_json::from_str(line)?;
        let of = |field: &str| row[field].as_str().unwrap_or("").to_owned();
        let key = (of("adapter"), of("method"), of("path"));
        let Some(operation) = known.get(&key) else {
            bail!("no tool was made of {key:?}");
        };
        let (risk, evidence) = derive(&Inputs::of(&operation.tool, false, None));
        let also = row["also_acceptable"].as_array().into_iter().flatten();
        let accepted = also
            .chain([&row["risk"]])
            .any(|label| label == risk.as_str());
        all += 1;
        right += usize::from(accepted);
        if !accepted {
            let id = &operation.tool.id;
            ui::line(&format!(
                "{id} is {}, not {risk} ({})",
                of("risk"),
                evidence.detail()
            ));
        }
        let underrated = of("risk") == "destructive" && risk < Risk::High;
        let overrated = of("risk") == "low" && risk > Risk::Medium;
        grave += usize::from(underrated || overrated);
    }
    ui::line(&format!(
        "{right} of {all} labelled tools are rated right, {grave} gravely wrong"
    ));
    ensure!(
        right * 100 >= all * RIGHT_PERCENT_MIN && grave == 0,
        "at least {RIGHT_PERCENT_MIN} % must be right and none gravely wrong"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_held_to_the_advertised_pattern() {
        let table = [
            ("stripe:get-x", true),
            ("a.b_c:x/y.z_1", true),
            ("x", false),
            (":x", false),
            ("x:", false),
            ("a b:c", false),
            ("a:b c", false),
            ("a:b:c", false),
        ];
        for (id, legal) in table {
            assert_eq!(is_legal(id), legal, "{id}");
        }
    }
}
