//! `cargo xtask eval tokens`: what the five tools cost a model, over the tool lists of real servers.
//!
//! Every answer is made by the code that makes it for an agent and counted with the `o200k` encoding.
//! Each figure has a budget, which is what was promised, and a committed ceiling, which is what was
//! reached and must not be lost.

mod catalog;
mod figures;

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use toolcrib_core::discovery::details::{self, Standing};
use toolcrib_core::discovery::{definitions, listing};
use toolcrib_core::{Tool, schema};

use self::catalog::Catalog;
pub(crate) use self::figures::Figure;
use self::figures::Figures;
use crate::{ui, workspace};

/// `cargo xtask eval tokens`
pub(crate) fn run(args: &[String]) -> Result<()> {
    let write = match args {
        [] => false,
        [one] if one == "--write-floors" => true,
        [unknown, ..] => bail!("unknown option {unknown}; use --write-floors"),
    };
    let Some(shared) = workspace::shared() else {
        ui::line("no shared data beside the workspace: what answers cost is not looked at here");
        return Ok(());
    };
    let figures = of(&shared.join("data"))?;
    let path = workspace::root().join("eval/floors.toml");
    if write {
        figures.write(&path)?;
    }
    figures.check(&path)
}

/// What everything costs, with what was promised; nothing where there is no shared data.
pub(crate) fn figures() -> Result<Vec<Figure>> {
    let Some(shared) = workspace::shared() else {
        ui::line("no shared data beside the workspace: what answers cost is not looked at here");
        return Ok(Vec::new());
    };
    Ok(of(&shared.join("data"))?.into_vec())
}

fn of(data: &Path) -> Result<Figures> {
    let catalog = Catalog::load(&data.join("mcp-tools"))?;
    let queries = catalog::queries(&data.join("retrieval"))?;
    Ok(measured(&catalog, &queries))
}

/// How many `o200k` tokens a text is.
fn tokens(text: &str) -> usize {
    bpe_openai::o200k_base().count(text)
}

fn measured(catalog: &Catalog, queries: &[String]) -> Figures {
    let mut figures = Figures::default();
    let subjects = catalog.tools().map(|tool| {
        let domain = tool.domains.first();
        domain.map_or(tool.id.server(), String::as_str)
    });
    let digest = definitions::digest(catalog.servers.len(), catalog.tools().count(), subjects);
    let five = tokens(&json!(definitions::definitions(&digest)).to_string());
    figures.add("definitions", five, 399);
    let details = tell_details(catalog, &mut figures);
    tell_lists(catalog, &mut figures);
    let searches: Vec<usize> = queries.iter().map(|q| tokens(&catalog.search(q))).collect();
    let search = figures.median_and_max("search", searches, [199, 450]);
    let message = five + search + details;
    figures.add("per_message", message, 700);
    let everything: usize = catalog.verbatim.iter().map(|text| tokens(text)).sum();
    // At least 99.3 % must be saved, so many in ten thousand may be left.
    let left = per_10000(message, everything);
    figures.add("per_message_of_everything_per_10000", left, 70);
    tell_flows(catalog, five, everything, &mut figures);
    figures
}

/// What is left of a whole, in hundredths of a percent, rounded up.
fn per_10000(left: usize, whole: usize) -> usize {
    (left * 10_000).div_ceil(whole.max(1))
}

/// The details and signatures of every tool, and how long they take.
fn tell_details(catalog: &Catalog, figures: &mut Figures) -> usize {
    let mut costs = Vec::new();
    let mut signatures = Vec::new();
    let mut micros = Vec::new();
    let mut without = Vec::new();
    for tool in catalog.tools() {
        let start = Instant::now();
        let text = details::details(tool, &Standing::default());
        micros.push(start.elapsed().as_micros());
        costs.push(tokens(&text));
        signatures.push(tokens(&schema::signature(
            tool.id.tool(),
            &tool.input_schema,
        )));
        let answer: Value = serde_json::from_str(&text).unwrap_or_default();
        if answer["examples"].as_array().is_none_or(Vec::is_empty) {
            without.push(tool.id.to_string());
        }
    }
    micros.sort_unstable();
    let at = |percent: usize| micros.get(micros.len() * percent / 100).copied();
    ui::line(&format!(
        "details of {} tools: {} µs in the median, {} µs at the 99th percentile",
        costs.len(),
        at(50).unwrap_or_default(),
        at(99).unwrap_or_default()
    ));
    if !without.is_empty() {
        ui::line(&format!("without an example: {}", without.join(", ")));
    }
    figures.add("details_without_example", without.len(), 1);
    figures.median_and_max("signature", signatures, [30, 90]);
    figures.median_and_max("details", costs, [130, 1_500])
}

/// Every page of the list of servers and of each server's tools.
fn tell_lists(catalog: &Catalog, figures: &mut Figures) {
    let mut costs = Vec::new();
    let mut turn = |page: &dyn Fn(Option<&str>) -> Option<String>| {
        let mut cursor: Option<String> = None;
        while let Some(text) = page(cursor.as_deref()) {
            costs.push(tokens(&text));
            let answer: Value = serde_json::from_str(&text).unwrap_or_default();
            cursor = answer["next"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
    };
    turn(&|cursor| listing::servers(catalog.rows(), (0, 0), cursor).ok());
    for server in &catalog.servers {
        let tools: Vec<&Tool> = server.tools.iter().map(|tool| &**tool).collect();
        turn(&|cursor| listing::tools(&server.name, &tools, cursor).ok());
    }
    figures.median_and_max("list", costs, [1_000, 1_000]);
}

/// What an agent reads and writes to find, look at and run one tool, and two; the tool's own result,
/// which is what it would be without us, is left out.
fn tell_flows(catalog: &Catalog, five: usize, everything: usize, figures: &mut Figures) {
    let each: Vec<usize> = catalog
        .tools()
        .map(|tool| one_tool(catalog, tool))
        .collect();
    let single = each.iter().map(|flow| five + flow).collect();
    let other = each.iter().cycle().skip(each.len() / 2);
    let double = each.iter().zip(other).map(|(a, b)| five + a + b).collect();
    figures.add("single_tool_flow_median", figures::median(single), 950);
    let double = figures::median(double);
    figures.add("two_tool_flow_median", double, 1_600);
    let saved = 100.0 - 100.0 * as_share(double, everything);
    ui::line(&format!(
        "every definition at once: {everything} tokens; a flow of two tools saves {saved:.2} %"
    ));
    // At least 99 % must be saved.
    let left = per_10000(double, everything);
    figures.add("left_of_everything_per_10000", left, 100);
}

#[expect(clippy::cast_precision_loss, reason = "a share for people to read")]
fn as_share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn one_tool(catalog: &Catalog, tool: &Tool) -> usize {
    let (server, name) = (tool.id.server(), tool.id.tool());
    let arguments = schema::sample(&tool.input_schema).unwrap_or_else(|| json!({}));
    let wish = tool.summary();
    let asked = [
        json!({"query": wish}),
        json!({"server": server, "tool": name}),
        json!({"server": server, "tool": name, "arguments": arguments}),
    ];
    let told = [
        catalog.search(wish),
        details::details(tool, &Standing::default()),
        json!({"success": true, "result": null}).to_string(),
    ];
    let asked = asked.iter().map(|call| tokens(&call.to_string()));
    asked.chain(told.iter().map(|text| tokens(text))).sum()
}

/// The text of a file, or which one could not be read.
fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
