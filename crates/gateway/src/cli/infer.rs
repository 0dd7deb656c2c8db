//! `toolcrib infer`: what a pair of names says about a tool.

use clap::Args;
use serde_json::json;
use toolcrib_config::load::Config;
use toolcrib_core::catalog::Inference;

use super::Context;
use crate::failure::Failure;

/// Show the domains and categories that the names of a server and a tool mean
#[derive(Debug, Args)]
pub struct Infer {
    /// The server's name
    server: String,
    /// The tool's name
    tool: String,
}

impl Infer {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        let known = inference(&context.loader().config()?);
        let domains = known.domains(&self.server, &self.tool);
        let categories = known.categories(&self.server, &self.tool);
        if context.ui.is_json() {
            context.ui.json(&json!({
                "server": self.server,
                "tool": self.tool,
                "domains": domains,
                "categories": categories,
            }));
        } else {
            context
                .ui
                .line(format!("Domains:    {}", domains.join(", ")));
            context
                .ui
                .line(format!("Categories: {}", categories.join(", ")));
        }
        Ok(())
    }
}

/// The built-in words with those of a configuration.
pub fn inference(config: &Config) -> Inference {
    let added = &config.settings.capabilities;
    Inference::with(
        added
            .domains
            .iter()
            .map(|(word, domain)| (word.as_str(), domain.as_str())),
        added
            .categories
            .iter()
            .map(|(verb, category)| (verb.as_str(), category.as_str())),
    )
}
