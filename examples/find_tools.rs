//! Finds the tool for a plain wish, without a server, a network or a clock.
//!
//! `cargo run -p toolcrib-core --example find_tools -- "open a ticket"`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use serde_json::json;
use toolcrib_core::search::{Filter, Index, ServerTools};
use toolcrib_core::{Tool, ToolId};

fn tool(server: &str, name: &str, about: &str, parameter: &str) -> Arc<Tool> {
    let schema = json!({"type": "object", "properties": {parameter: {"type": "string"}}});
    Arc::new(Tool::new(ToolId::new(server, name), about, schema))
}

/// Prints the best hits with how sure they are.
pub(crate) fn main() {
    let github = [
        tool(
            "github",
            "create_issue",
            "Opens a new issue in a repository.",
            "title",
        ),
        tool(
            "github",
            "list_pull_requests",
            "Lists the pull requests of a repository.",
            "repo",
        ),
    ];
    let files = [tool(
        "files",
        "read_file",
        "Reads a file from the disk.",
        "path",
    )];
    let index = Index::build([
        ServerTools {
            name: "github",
            aliases: &[],
            about: "Issues and pull requests",
            tools: &github,
        },
        ServerTools {
            name: "files",
            aliases: &[],
            about: "Files of this machine",
            tools: &files,
        },
    ]);
    let wish = std::env::args()
        .nth(1)
        .filter(|word| !word.starts_with('-'));
    let wish = wish.unwrap_or_else(|| "open a ticket".to_owned());
    let hits = index.search(&wish, &Filter::default());
    println!("{wish}: sure to {:.0} %", hits.confidence() * 100.0);
    for hit in &hits.hits {
        println!("  {} {:.2}", hit.id, hit.relevance);
    }
}
