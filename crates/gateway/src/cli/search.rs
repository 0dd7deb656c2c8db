//! `toolcrib search`: the right tool for a plain wish, among the tools that are known.

use clap::Args;
use serde_json::json;
use toolcrib_core::Code;
use toolcrib_core::search::Filter;

use super::Context;
use crate::catalog::Catalog;
use crate::failure::Failure;
use crate::ui::{Line, Tone};

/// Search for tools across all servers
#[derive(Debug, Args)]
pub struct Search {
    /// What is wanted, in plain words
    #[arg(value_name = "QUERY")]
    query: String,
    /// Only tools of this server
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// Most results to show
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
}

impl Search {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        let config = context.loader().config()?;
        let catalog = Catalog::of(&config);
        let found = catalog.index.search(
            &self.query,
            &Filter {
                server: self.server.as_deref(),
                limit: Some(usize::from(self.limit)),
                ..Filter::default()
            },
        );
        if found.hits.is_empty() {
            return Err(nothing(&self.query, &catalog));
        }
        let tools = found
            .hits
            .iter()
            .filter_map(|hit| Some((hit, catalog.tool(&hit.id)?)));
        if context.ui.is_json() {
            let results: Vec<_> = tools
                .map(|(hit, tool)| {
                    json!({
                        "server": tool.id.server(),
                        "tool": tool.id.tool(),
                        "summary": tool.summary(),
                        "relevance": (f64::from(hit.relevance) * 100.0).round() / 100.0,
                        "tags": tool.tags,
                    })
                })
                .collect();
            context
                .ui
                .json(&json!({ "results": results, "total": found.total }));
            return Ok(());
        }
        let shown: Vec<_> = tools.collect();
        context.ui.line(format!(
            "Search results for \"{}\" ({} found):",
            self.query,
            shown.len()
        ));
        for (index, (hit, tool)) in shown.into_iter().enumerate() {
            context.ui.gap();
            context.ui.line(
                Line::new()
                    .text(format_args!("{}. ", index + 1))
                    .tone(Tone::Strong, &tool.id)
                    .text(format_args!(" ({:.0}% match)", hit.relevance * 100.0)),
            );
            context.ui.line(format!("   {}", tool.summary()));
            if !tool.tags.is_empty() {
                context
                    .ui
                    .line(format!("   Tags: {}", tool.tags.join(", ")));
            }
        }
        Ok(())
    }
}

fn nothing(query: &str, catalog: &Catalog) -> Failure {
    let message = if catalog.index.is_empty() {
        "no tools are known yet: none are declared in the configuration".to_owned()
    } else {
        format!(
            "none of the {} known tools fits {query:?}; try other words",
            catalog.index.len()
        )
    };
    Failure::not_found(Code::ToolNotFound, message)
}
