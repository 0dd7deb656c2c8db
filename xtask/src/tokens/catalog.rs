//! The tools of real servers, and the wishes that are looked for among them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use serde_json::Value;
use toolcrib_core::catalog::inference::Inference;
use toolcrib_core::discovery::{listing, search};
use toolcrib_core::limits::SEARCH_LIMIT_DEFAULT;
use toolcrib_core::search::{Filter, Index, ServerTools};
use toolcrib_core::{Tool, ToolId};

use super::read;
use crate::source;

/// Most queries that are looked for.
const QUERIES_MAX: usize = 2_000;

/// A server and its tools.
pub(super) struct Server {
    pub(super) name: String,
    about: String,
    pub(super) tools: Vec<Arc<Tool>>,
}

/// All of them, and the index over them.
pub(super) struct Catalog {
    pub(super) servers: Vec<Server>,
    /// Every definition as its server sent it.
    pub(super) verbatim: Vec<String>,
    index: Index,
    by_id: HashMap<ToolId, Arc<Tool>>,
}

impl Catalog {
    /// The `tools/list` of each server, one JSON file each.
    pub(super) fn load(folder: &Path) -> Result<Self> {
        let inference = Inference::default();
        let mut servers = Vec::new();
        let mut verbatim = Vec::new();
        for path in source::files_below(folder, ".json") {
            let list: Value = serde_json::from_str(&read(&path)?)?;
            let text = |field: &str| list[field].as_str().unwrap_or_default().to_owned();
            let name = text("server");
            let mut tools = Vec::new();
            for sent in list["tools"].as_array().into_iter().flatten() {
                let of = |field: &str| sent[field].as_str().unwrap_or_default();
                let id = ToolId::new(name.as_str(), of("name"));
                let mut tool = Tool::new(id, of("description"), sent["inputSchema"].clone());
                tool.title = sent["title"].as_str().map(str::to_owned);
                tool.domains = inference.domains(&name, of("name"));
                tools.push(Arc::new(tool));
                verbatim.push(sent.to_string());
            }
            servers.push(Server {
                about: text("instructions"),
                name,
                tools,
            });
        }
        let index = Index::build(servers.iter().map(|server| ServerTools {
            name: &server.name,
            aliases: &[],
            about: &server.about,
            tools: &server.tools,
        }));
        let tools = servers.iter().flat_map(|server| &server.tools);
        let by_id = tools.map(|t| (t.id.clone(), Arc::clone(t))).collect();
        Ok(Self {
            servers,
            verbatim,
            index,
            by_id,
        })
    }

    pub(super) fn tools(&self) -> impl Iterator<Item = &Tool> {
        let tools = self.servers.iter().flat_map(|server| &server.tools);
        tools.map(|tool| &**tool)
    }

    /// The servers as `list_mcp_servers` lists them.
    pub(super) fn rows(&self) -> Vec<listing::ServerRow> {
        let row = |server: &Server| listing::ServerRow {
            name: server.name.clone(),
            description: server.about.clone(),
            tool_count: server.tools.len(),
            enabled_count: server.tools.len(),
            status: "connected".to_owned(),
            reason: None,
            since: None,
        };
        self.servers.iter().map(row).collect()
    }

    /// The answer of `search_tools` with the default limit: hits far behind the best are left out.
    pub(super) fn search(&self, query: &str) -> String {
        let filter = Filter {
            limit: Some(SEARCH_LIMIT_DEFAULT),
            ..Filter::default()
        };
        let found = self.index.search(query, &filter);
        let hits = found.close().iter().filter_map(|hit| {
            Some(search::Hit {
                tool: self.by_id.get(&hit.id)?,
                relevance: hit.relevance,
            })
        });
        search::answer(&search::Found {
            hits: hits.collect(),
            total: found.total,
            ..search::Found::default()
        })
    }
}

/// The wishes of the labelled sets: those that their baseline counts, in its order.
pub(super) fn queries(folder: &Path) -> Result<Vec<String>> {
    let chosen = read(&folder.join("baseline-queries.json"))?;
    let chosen: BTreeMap<String, HashSet<String>> = serde_json::from_str(&chosen)?;
    let mut queries = Vec::new();
    for (set, ids) in chosen {
        for line in read(&folder.join(&set).join("queries.jsonl"))?.lines() {
            let row: Value = serde_json::from_str(line)?;
            let wanted = row["id"].as_str().is_some_and(|id| ids.contains(id));
            if let Some(query) = row["query"].as_str().filter(|_| wanted) {
                queries.push(query.to_owned());
            }
        }
    }
    queries.truncate(QUERIES_MAX);
    Ok(queries)
}
