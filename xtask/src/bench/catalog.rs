//! Ids and summaries: what every answer that lists tools does for each of them.

use std::hint::black_box;

use anyhow::Result;
use serde_json::json;
use toolcrib_core::catalog::{Tool, ToolId};

use super::recorder::Recorder;

const TOOLS: usize = 10_000;

pub(crate) fn run(recorder: &mut Recorder) -> Result<()> {
    let names: Vec<String> = (0..TOOLS)
        .map(|number| format!("server-{}:tool_{number}", number % 100))
        .collect();
    let parse = || {
        for name in &names {
            black_box(ToolId::parse(black_box(name)));
        }
    };
    recorder.time("parse 10,000 ids", 50, parse);
    recorder.instructions("parse 10,000 ids, instructions", 5, parse)?;

    let tool = |number: usize| {
        let text = format!("Creates the thing number {number}. Then it does more.\nAnd more.");
        Tool::new(
            ToolId::new("server", format!("tool_{number}")),
            text,
            json!({}),
        )
    };
    let tools: Vec<Tool> = (0..TOOLS).map(tool).collect();
    let summarise = || {
        for tool in &tools {
            black_box(black_box(tool).summary());
        }
    };
    recorder.time("summaries of 10,000 tools", 50, summarise);
    recorder.ratio("a summary in units of an id", 20, parse, summarise);
    recorder
        .value(
            "size of a tool without its texts",
            u64::try_from(size_of::<Tool>())?,
            "bytes",
        )
        .at_most(512);
    Ok(())
}
