//! `toolcrib infer`: what a pair of names says about a tool.

use clap::Args;
use serde_json::json;

use super::Context;
use crate::failure::Failure;

/// Show the domains and categories that the names of a server and a tool mean
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib infer github create_issue

Exit codes: 0 what the names mean is shown, 1 wrong arguments, 2 the configuration does not load.")]
pub struct Infer {
    /// The server's name
    #[arg(add = super::completions::server())]
    server: String,
    /// The tool's name
    #[arg(add = super::completions::tool())]
    tool: String,
}

impl Infer {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        let known = context.loader().config()?.settings.capabilities.inference();
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
