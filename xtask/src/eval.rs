//! `cargo xtask eval`: how good the shipped ranking is, on every labelled set at hand.
//!
//! A set is a folder with `tools.jsonl` and `queries.jsonl`; a query belongs to the dev half when
//! the MD5 of its id is even, else to the test half. Weights and words are chosen on dev halves;
//! what counts, and what the floors hold, is the test half.

mod ablate;
mod data;
mod floors;
mod md5;
mod metrics;
pub(crate) mod others;
mod report;
mod score;
mod train;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

pub(crate) use data::MEASURE_ONLY;
use data::{Reading, Set};
use report::Report;

/// What is printed.
#[derive(Debug, Default, PartialEq, Eq)]
enum Output {
    #[default]
    Table,
    Json,
    Ablation,
}

/// What the command line asks for.
#[derive(Debug, Default)]
struct Options {
    data: Vec<PathBuf>,
    only: Vec<String>,
    output: Output,
    reading: Reading,
    write_floors: bool,
    signals: Option<PathBuf>,
    words: Option<PathBuf>,
}

impl Options {
    fn read(args: &[String]) -> Result<Self> {
        let mut options = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().with_context(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--data" => options.data.push(value()?.into()),
                "--set" => options.only.push(value()?.clone()),
                "--signals" => options.signals = Some(value()?.into()),
                "--words" => options.words = Some(value()?.into()),
                "--json" => options.output = Output::Json,
                "--every-query" => options.reading.every_query = true,
                "--bare" => options.reading.bare = true,
                "--ablate" => options.output = Output::Ablation,
                "--write-floors" => options.write_floors = true,
                other => bail!(
                    "unknown option {other}; use --data DIR, --set NAME, --json, --every-query, --bare, --ablate, --write-floors, --signals FILE or --words FILE"
                ),
            }
        }
        Ok(options)
    }
}

/// Scores every set, prints what it found, and fails where a floor is not held.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let options = Options::read(args)?;
    let folders = match options.data.as_slice() {
        [] => default_folders(),
        given => given.to_vec(),
    };
    if folders.is_empty() {
        report::line(
            "eval: no labelled data beside the workspace; set TOOLCRIB_SHARED or give --data DIR",
        );
        return Ok(());
    }
    if let Some(path) = &options.words {
        return train::write_words(&folders, path);
    }
    let mut sets = Vec::new();
    for folder in &folders {
        sets.extend(Set::load_all(folder, options.reading)?);
    }
    if options.data.is_empty()
        && let Some(shared) = shared()
    {
        sets.extend(Set::load_own(
            &workspace().join("eval/queries"),
            &shared.join("data/mcp-tools"),
        )?);
    }
    sets.retain(|set| options.only.is_empty() || options.only.contains(&set.name));
    if let Some(path) = &options.signals {
        return train::write_signals(&sets, path);
    }
    if options.output == Output::Ablation {
        report::line(&ablate::table(&sets));
        return Ok(());
    }
    let results: Vec<_> = sets.iter().map(score::score_set).collect();
    let report = Report::new(results);
    report::line(&if options.output == Output::Json {
        report.json()?
    } else {
        report.table()
    });
    let path = workspace().join("eval/floors.toml");
    if options.write_floors {
        return floors::write(&path, &report);
    }
    let reading = options.reading;
    if options.data.is_empty() && options.only.is_empty() && !reading.every_query && !reading.bare {
        floors::check(&path, &report)?;
    }
    Ok(())
}

fn workspace() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}

fn shared() -> Option<PathBuf> {
    let beside = || workspace().join("../shared");
    let folder = std::env::var_os("TOOLCRIB_SHARED").map_or_else(beside, PathBuf::from);
    folder.is_dir().then_some(folder)
}

/// The labelled sets beside the workspace.
fn default_folders() -> Vec<PathBuf> {
    let sets = shared().map(|shared| shared.join("data/retrieval"));
    sets.into_iter().filter(|folder| folder.is_dir()).collect()
}
