//! The tools that are known, with the rules applied, ready to be searched.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::json;
use toolcrib_config::load::Config;
use toolcrib_core::search::{Index, ServerTools};
use toolcrib_core::{Tool, ToolId};

/// Every known tool that the rules leave enabled, and the index over them.
#[derive(Debug)]
pub struct Catalog {
    /// Finds tools.
    pub index: Index,
    tools: HashMap<ToolId, Arc<Tool>>,
}

impl Catalog {
    /// The tools that the configuration itself declares, of servers that are switched on.
    pub fn of(config: &Config) -> Self {
        let mut tools = HashMap::new();
        let mut lists = Vec::new();
        for server in config.servers.iter().filter(|s| s.enabled) {
            let mut list: Vec<Tool> = server
                .tools
                .iter()
                .map(|declared| {
                    let schema = declared.input_schema.clone();
                    let mut tool = Tool::new(
                        ToolId::new(server.name.as_str(), declared.name.as_str()),
                        declared.description.as_str(),
                        schema.unwrap_or_else(|| json!({ "type": "object" })),
                    );
                    tool.tags.clone_from(&declared.tags);
                    tool
                })
                .collect();
            config.rules.apply(&mut list);
            let list: Vec<Arc<Tool>> = list
                .into_iter()
                .filter(|t| t.enabled)
                .map(Arc::new)
                .collect();
            tools.extend(list.iter().map(|t| (t.id.clone(), Arc::clone(t))));
            lists.push((server, list));
        }
        let index = Index::build(lists.iter().map(|(server, list)| ServerTools {
            name: &server.name,
            aliases: &server.aliases,
            about: server.description.as_deref().unwrap_or_default(),
            tools: list,
        }));
        Self { index, tools }
    }

    /// A tool by its id.
    pub fn tool(&self, id: &ToolId) -> Option<&Arc<Tool>> {
        self.tools.get(id)
    }
}
