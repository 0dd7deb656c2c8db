//! `cargo xtask bench search`: how fast the index is built, changed and searched.
//!
//! Catalogs are the tools of the shared corpora, repeated under other server names until there are
//! enough; the queries are those of the evaluation.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::Value;
use toolcrib_core::search::{Filter, Index, Part, ServerTools, Weights};
use toolcrib_core::{Tool, ToolId};

use super::recorder::Recorder;
use crate::{ui, workspace};

/// Sizes of catalogs and the median that each must stay under, nanoseconds.
const SIZES: [(usize, u64); 4] = [
    (1_000, 100_000),
    (2_400, 100_000),
    (10_000, 300_000),
    (100_000, 1_500_000),
];
/// What the 99th percentile must stay under, nanoseconds.
const P99_NS: u64 = 5_000_000;
/// What building the largest catalog may take, milliseconds, and may hold, bytes.
const BUILD_MS: u64 = 5_000;
const BUILD_BYTES: u64 = 200 * 1024 * 1024;
/// What changing one server of a thousand may take, nanoseconds.
const UPDATE_NS: u64 = 10_000_000;

/// Tools of one server of a catalog.
struct Server {
    name: String,
    tools: Vec<Arc<Tool>>,
}

impl Server {
    fn part(&self) -> Arc<Part> {
        Arc::new(Part::build(&self.words(), &Weights::default()))
    }

    fn words(&self) -> ServerTools<'_> {
        ServerTools {
            name: &self.name,
            aliases: &[],
            about: "",
            tools: &self.tools,
        }
    }
}

pub(crate) fn run(recorder: &mut Recorder) -> Result<()> {
    let Some(shared) = workspace::shared() else {
        ui::line("no shared data beside the workspace: search is not timed here");
        return Ok(());
    };
    let data = shared.join("data");
    let tools = real_tools(&data)?;
    let queries = queries(&data)?;
    for (size, p50_max_ns) in SIZES {
        let servers = catalog(
            &tools,
            size,
            if size == 100_000 { 1_000 } else { size / 40 },
        );
        let counted = format!("hundred searches in {size} tools, instructions");
        if recorder.counts_something_else(&counted) {
            continue;
        }
        let before = resident();
        let start = Instant::now();
        let index = Index::build(servers.iter().map(Server::words));
        let build_ms = u64::try_from(start.elapsed().as_millis())?;
        let held = resident().saturating_sub(before);
        let hundred = || {
            for query in queries.iter().step_by(queries.len() / 100) {
                black_box(index.search(black_box(query), &Filter::default()));
            }
        };
        // What the first searches of a process make ready belongs to none of those that are counted.
        hundred();
        recorder.instructions(&counted, 2, hundred)?;
        if recorder.is_counting() {
            continue;
        }
        let (p50, p99) = search_times(&index, &queries);
        let label = |what: &str| format!("{what}, {size} tools");
        recorder
            .value(&label("search, median"), p50, "ns")
            .at_most(p50_max_ns);
        recorder
            .value(&label("search, 99th percentile"), p99, "ns")
            .at_most(P99_NS);
        recorder
            .value(&label("build"), build_ms, "ms")
            .at_most(BUILD_MS);
        recorder
            .value(&label("memory"), held, "bytes")
            .at_most(BUILD_BYTES);
        let update = update_time(&index, &servers);
        recorder
            .value(&label("one server changed"), update, "ns")
            .at_most(UPDATE_NS);
    }
    Ok(())
}

/// The tools of the shared MCP servers, then those of the corpora.
fn real_tools(data: &Path) -> Result<Vec<(String, Value)>> {
    let mut out = Vec::new();
    let mut files: Vec<_> = std::fs::read_dir(data.join("mcp-tools"))?
        .filter_map(Result::ok)
        .map(|e| e.path())
        .collect();
    files.sort();
    for file in files
        .iter()
        .filter(|f| f.extension().is_some_and(|e| e == "json"))
    {
        let value: Value = serde_json::from_slice(&std::fs::read(file)?)?;
        let server = value["server"].as_str().unwrap_or("server").to_owned();
        for tool in value["tools"].as_array().into_iter().flatten() {
            let mut tool = tool.clone();
            tool["input_schema"] = tool["inputSchema"].take();
            out.push((server.clone(), tool));
        }
    }
    for corpus in [
        "corpus-mcpzero",
        "corpus-docker",
        "corpus-github-mcp",
        "corpus-toucan",
    ] {
        let path = data.join("retrieval").join(corpus).join("tools.jsonl");
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        for row in text.lines() {
            let tool: Value = serde_json::from_str(row)?;
            out.push((tool["server"].as_str().unwrap_or_default().to_owned(), tool));
        }
    }
    Ok(out)
}

fn queries(data: &Path) -> Result<Vec<String>> {
    let mut out = Vec::new();
    for set in [
        "mcptoolbenchpp",
        "graph-toucan",
        "toolalpaca",
        "bfcl-live",
        "stabletoolbench-g1",
        "toollens",
    ] {
        let text = std::fs::read_to_string(data.join("retrieval").join(set).join("queries.jsonl"))?;
        for row in text.lines().take(100) {
            let row: Value = serde_json::from_str(row)?;
            out.push(row["query"].as_str().unwrap_or_default().to_owned());
        }
    }
    Ok(out)
}

/// `size` tools spread over `count` servers, in the order of the source.
fn catalog(tools: &[(String, Value)], size: usize, count: usize) -> Vec<Server> {
    let each = size.div_ceil(count.max(1));
    let mut out: Vec<Server> = Vec::new();
    for number in 0..size {
        let (server, value) = &tools[number % tools.len()];
        if number % each == 0 {
            out.push(Server {
                name: format!("{server}-{}", out.len()),
                tools: Vec::new(),
            });
        }
        let Some(last) = out.last_mut() else {
            continue;
        };
        let name = value["name"].as_str().unwrap_or_default();
        let id = ToolId::new(last.name.as_str(), format!("{name}-{number}"));
        let description = value["description"].as_str().unwrap_or_default();
        last.tools.push(Arc::new(Tool::new(
            id,
            description,
            value["input_schema"].clone(),
        )));
    }
    out
}

fn search_times(index: &Index, queries: &[String]) -> (u64, u64) {
    let mut times = Vec::with_capacity(queries.len() * 3);
    for _ in 0..3 {
        for query in queries {
            let start = Instant::now();
            black_box(index.search(query, &Filter::default()));
            times.push(nanoseconds(start));
        }
    }
    // The first round warms the caches up.
    let mut times = times.split_off(queries.len());
    times.sort_unstable();
    (times[times.len() / 2], times[times.len() * 99 / 100])
}

/// Median time of putting one server in anew, its reading included.
fn update_time(index: &Index, servers: &[Server]) -> u64 {
    let sample = servers.iter().step_by((servers.len() / 9).max(1));
    let mut times: Vec<u64> = sample
        .map(|server| {
            let start = Instant::now();
            black_box(index.with_server(server.part()));
            nanoseconds(start)
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

fn nanoseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Memory of this process in bytes; 0 where the system does not tell.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text
        .split_whitespace()
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4_096
}
