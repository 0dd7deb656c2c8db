//! Rules: 10,000 tools against 100 rules.

use std::hint::black_box;

use anyhow::{Result, anyhow};
use serde_json::json;
use toolcrib_core::catalog::{Tool, ToolId};
use toolcrib_core::pattern::rules::{Rule, RuleSet, Strategy};

use super::recorder::Recorder;

const TOOLS: usize = 10_000;
const RULES: usize = 100;

pub(crate) fn run(recorder: &mut Recorder) -> Result<()> {
    let rules: Vec<Rule> = (0..RULES).map(rule).collect();
    let compile = || RuleSet::compile(rules.clone(), Strategy::FirstMatch);
    let set = compile().map_err(|errors| anyhow!("{errors:?}"))?;
    let tools: Vec<Tool> = (0..TOOLS).map(tool).collect();
    recorder.time("compile 100 rules", 20, || {
        let _ = black_box(compile());
    });
    let judge = || {
        for tool in &tools {
            black_box(set.verdict(tool.id.server(), tool.id.tool(), &tool.tags));
        }
    };
    recorder
        .time("10,000 tools against 100 rules", 20, judge)
        .at_most(100_000_000);
    recorder.instructions("10,000 tools against 100 rules, instructions", 2, judge)
}

fn rule(number: usize) -> Rule {
    let pattern = match number % 4 {
        0 => format!("*issue_{number}*"),
        1 => format!("/^(create|update)_.*{number}$/i"),
        2 => format!("get_{number}?_{{a,b}}"),
        _ => format!("*_{number}"),
    };
    Rule {
        pattern: vec![pattern, "!*dangerous*".into()],
        server: number
            .is_multiple_of(5)
            .then(|| format!("server-{}", number % 50)),
        enabled: Some(number.is_multiple_of(2)),
        tags: vec![format!("tag-{}", number % 10)],
    }
}

fn tool(number: usize) -> Tool {
    const VERBS: &[&str] = &["create", "update", "get", "list", "delete", "search"];
    const NOUNS: &[&str] = &[
        "issue",
        "repository",
        "file",
        "message",
        "page",
        "event",
        "row",
    ];
    let name = format!(
        "{}_{}_{}",
        VERBS[number % VERBS.len()],
        NOUNS[number % NOUNS.len()],
        number % 131
    );
    Tool::new(
        ToolId::new(format!("server-{}", number % 50), name),
        "",
        json!({}),
    )
}
