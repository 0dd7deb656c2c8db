//! All tools of all descriptions in one index, as a catalog has them: none is left out, and each has what
//! it is found, checked and judged by.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use anyhow::{Result, ensure};
use toolcrib_core::Tool;
use toolcrib_core::policy::Risk;
use toolcrib_core::policy::risk::{Inputs, derive};
use toolcrib_core::search::{Index, ServerTools};
use toolcrib_upstream::rest::Api;

use crate::ui;

/// What the documents count.
const SERVICES_MIN: usize = 18;
const TOOLS_MIN: usize = 1_604;

/// Fails where a tool is missing from the index or lacks its schema or risk.
pub(super) fn hold(apis: &BTreeMap<String, Api>) -> Result<()> {
    let servers: Vec<(&str, &str, Vec<Arc<Tool>>)> = apis
        .iter()
        .map(|(name, api)| {
            let tools = api.operations.iter();
            let tools = tools.map(|operation| Arc::new(operation.tool.clone()));
            (
                name.as_str(),
                api.description.as_deref().unwrap_or_default(),
                tools.collect(),
            )
        })
        .collect();
    let index = Index::build(servers.iter().map(|(name, about, tools)| ServerTools {
        name,
        aliases: &[],
        about,
        tools,
    }));
    let known: HashSet<String> = index.ids().map(ToString::to_string).collect();
    let mut risks: BTreeMap<Risk, usize> = BTreeMap::new();
    let (mut all, mut tagged) = (0, 0);
    for tool in servers.iter().flat_map(|(_, _, tools)| tools) {
        let id = &tool.id;
        ensure!(known.contains(&id.to_string()), "{id} is not indexed");
        ensure!(tool.input_schema["type"] == "object", "{id} has no schema");
        let (risk, evidence) = derive(&Inputs::of(tool, false, None));
        ensure!(
            !evidence.detail().is_empty(),
            "{id} is {risk} for no reason"
        );
        *risks.entry(risk).or_default() += 1;
        tagged += usize::from(!tool.tags.is_empty());
        all += 1;
    }
    ensure!(index.len() == all, "{} of {all} are indexed", index.len());
    ensure!(
        apis.len() >= SERVICES_MIN && all >= TOOLS_MIN,
        "{} services and {all} tools are fewer than documented",
        apis.len()
    );
    let risks: Vec<String> = risks
        .iter()
        .map(|(risk, n)| format!("{n} {risk}"))
        .collect();
    ui::line(&format!(
        "all {all} tools of {} services are indexed with schema and risk ({}), {tagged} of them with tags",
        apis.len(),
        risks.join(", ")
    ));
    Ok(())
}
