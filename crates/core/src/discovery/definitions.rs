//! The five tools themselves, and the line that tells what is behind them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::limits::{DIGEST_DOMAINS_MAX, DIGEST_TOKENS_MAX};
use crate::tokens;

/// The names of the five tools, in the order in which they are listed.
pub const NAMES: [&str; 5] = [
    "list_mcp_servers",
    "search_tools",
    "list_tools",
    "get_tool_details",
    "execute_tool",
];

/// The definitions of the five tools. `digest` ends the description of `search_tools`; it may be empty.
pub fn definitions(digest: &str) -> Vec<Value> {
    let search = "Search for tools across all MCP servers using free-text query";
    let search = match digest {
        "" => search.to_owned(),
        digest => format!("{search}. {digest}"),
    };
    let text = |description: &str| json!({"type": "string", "description": description});
    let cursor = json!({"type": "string"});
    let schemas = [
        json!({"type": "object", "properties": {}, "required": []}),
        json!({
            "type": "object",
            "properties": {
                "query": text("Free-text search query"),
                "server": text("Optional: filter by server name"),
                "limit": {"type": "number", "description": "Optional: max results (default: 10)"},
            },
            "required": ["query"],
        }),
        json!({
            "type": "object",
            "properties": {
                "server": text("Server name"),
                "includeDisabled": {
                    "type": "boolean",
                    "description": "Include disabled tools (default: false)",
                },
                "cursor": cursor,
            },
            "required": ["server"],
        }),
        json!({
            "type": "object",
            "properties": {"server": text("Server name"), "tool": text("Tool name")},
            "required": ["server", "tool"],
        }),
        json!({
            "type": "object",
            "properties": {
                "server": text("Server name"),
                "tool": text("Tool name"),
                "arguments": {"type": "object", "description": "Tool arguments"},
                "options": {
                    "type": "object",
                    "description": "idempotency_key, confirmed, dry_run, timeout, select (jq), page",
                },
            },
            "required": ["server", "tool", "arguments"],
        }),
    ];
    let descriptions = [
        "List all available MCP servers with metadata",
        search.as_str(),
        "List all tools from a specific MCP server",
        "Get detailed description and parameters for a specific tool",
        "Execute a tool from any discovered MCP server (proxy the call)",
    ];
    let rows = NAMES.iter().zip(descriptions).zip(schemas);
    rows.map(|((name, description), schema)| {
        json!({"name": name, "description": description, "inputSchema": schema})
    })
    .collect()
}

/// One line on what is behind the counter: how many tools on how many servers, and the subjects with the
/// most tools. The same catalog gives the same line.
pub fn digest<'a>(servers: usize, tools: usize, subjects: impl Iterator<Item = &'a str>) -> String {
    if tools == 0 {
        return String::new();
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for subject in subjects {
        let head = subject.split('.').next().unwrap_or(subject);
        if !head.is_empty() {
            *counts.entry(head).or_default() += 1;
        }
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
    let counts = counts.iter().map(|(name, count)| format!("{name} {count}"));
    let head = format!(
        "{} on {}",
        counted(tools, "tool"),
        counted(servers, "server")
    );
    bounded(head, &counts.collect::<Vec<_>>())
}

/// The same while servers have not said yet which tools they have: how many servers there are, and the first
/// of them by name.
pub fn digest_of_servers(servers: &[&str]) -> String {
    if servers.is_empty() {
        return String::new();
    }
    let names: Vec<String> = servers.iter().map(|&name| name.to_owned()).collect();
    bounded(counted(servers.len(), "server"), &names)
}

fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

/// A beginning and as many items behind it as the line may hold.
fn bounded(head: String, items: &[String]) -> String {
    for shown in (1..=items.len().min(DIGEST_DOMAINS_MAX)).rev() {
        let more = if shown < items.len() { ", …" } else { "" };
        let line = format!("{head}: {}{more}", items[..shown].join(", "));
        if tokens::fits(&line, DIGEST_TOKENS_MAX) {
            return line;
        }
    }
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    fn real(text: &str) -> usize {
        bpe_openai::o200k_base().count(text)
    }

    #[test]
    fn the_five_definitions_cost_less_than_400_tokens_with_the_longest_digest() {
        let subjects: Vec<String> = (0..40).map(|n| format!("subject{n}.inner")).collect();
        let line = digest(1_000, 100_000, subjects.iter().map(String::as_str));
        assert!(tokens::at_most(&line) <= DIGEST_TOKENS_MAX, "{line}");
        let text = serde_json::to_string(&definitions(&line)).unwrap();
        assert!(real(&text) < 400, "{}: {text}", real(&text));
        let names: Vec<String> = (0..1_000).map(|n| format!("{n}-日本語-qzxj")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let line = digest_of_servers(&names);
        assert!(line.starts_with("1000 servers: 0-"), "{line}");
        let text = serde_json::to_string(&definitions(&line)).unwrap();
        assert!(real(&text) < 400, "{}: {text}", real(&text));
    }

    #[test]
    fn names_sentences_and_parameters_are_the_documented_ones() {
        let tools = definitions("");
        let names: Vec<&str> = tools.iter().map(|t| t["name"].as_str().unwrap()).collect();
        assert_eq!(names, NAMES);
        for (at, description, properties, required) in [
            (
                0,
                "List all available MCP servers with metadata",
                json!([]),
                json!([]),
            ),
            (
                1,
                "Search for tools across all MCP servers using free-text query",
                json!(["query", "server", "limit"]),
                json!(["query"]),
            ),
            (
                2,
                "List all tools from a specific MCP server",
                json!(["server", "includeDisabled", "cursor"]),
                json!(["server"]),
            ),
            (
                3,
                "Get detailed description and parameters for a specific tool",
                json!(["server", "tool"]),
                json!(["server", "tool"]),
            ),
            (
                4,
                "Execute a tool from any discovered MCP server (proxy the call)",
                json!(["server", "tool", "arguments", "options"]),
                json!(["server", "tool", "arguments"]),
            ),
        ] {
            let schema = &tools[at]["inputSchema"];
            let keys: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
            assert_eq!(tools[at]["description"], description);
            assert_eq!((json!(keys), &schema["required"]), (properties, &required));
            assert!(crate::schema::compile(schema).is_ok());
        }
        assert_eq!(
            tools[1]["inputSchema"]["properties"]["limit"]["type"],
            "number"
        );
    }

    #[test]
    fn the_digest_follows_the_documented_sentence() {
        let tools = definitions("3 tools on 1 server: github 3");
        let text = tools[1]["description"].as_str().unwrap();
        assert!(
            text.starts_with(
                "Search for tools across all MCP servers using free-text query. 3 tools"
            )
        );
    }

    #[test]
    fn the_digest_names_servers_while_their_tools_are_not_known() {
        assert_eq!(digest_of_servers(&[]), "");
        assert_eq!(digest_of_servers(&["good"]), "1 server: good");
        assert_eq!(
            digest_of_servers(&["dead", "good"]),
            "2 servers: dead, good"
        );
        let long = "x".repeat(500);
        assert_eq!(digest_of_servers(&[long.as_str()]), "1 server");
    }

    #[test]
    fn the_digest_counts_subjects_and_does_not_depend_on_their_order() {
        let subjects = ["github.issues", "github.pulls", "files", "", "mail.send"];
        let line = digest(3, 5, subjects.into_iter());
        assert_eq!(line, "5 tools on 3 servers: github 2, files 1, mail 1");
        assert_eq!(line, digest(3, 5, subjects.into_iter().rev()));
        assert_eq!(digest(2, 0, subjects.into_iter()), "");
        assert_eq!(digest(1, 2, [].into_iter()), "2 tools on 1 server");
        let long = "x".repeat(500);
        assert_eq!(
            digest(1, 1, [long.as_str()].into_iter()),
            "1 tool on 1 server"
        );
    }
}
