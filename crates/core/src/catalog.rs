//! What is kept behind the counter: tools, their ids, and the servers they belong to.

pub mod inference;
pub(crate) mod name;

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

pub use inference::Inference;

/// Names one tool of one server. Written `server:tool`; the server part never holds a `:`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolId {
    server: Arc<str>,
    tool: Arc<str>,
}

impl ToolId {
    /// An id from its two parts, kept exactly as given.
    pub fn new(server: impl Into<Arc<str>>, tool: impl Into<Arc<str>>) -> Self {
        Self {
            server: server.into(),
            tool: tool.into(),
        }
    }

    /// Reads `server:tool`; the first `:` separates, both parts must be non-empty.
    pub fn parse(text: &str) -> Option<Self> {
        let (server, tool) = text.split_once(':')?;
        if server.is_empty() || tool.is_empty() {
            return None;
        }
        Some(Self::new(server, tool))
    }

    /// The server's configured name.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The tool's name as its server spells it.
    pub fn tool(&self) -> &str {
        &self.tool
    }
}

impl fmt::Display for ToolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.server, self.tool)
    }
}

impl Serialize for ToolId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A tool as its server describes it, plus what rules and inference added.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Which tool this is.
    pub id: ToolId,
    /// The display title, where the server gives one.
    pub title: Option<String>,
    /// The description in full, as the server sent it.
    pub description: String,
    /// JSON Schema of the arguments, key order and unknown fields kept.
    pub input_schema: Arc<Value>,
    /// JSON Schema of the result, where the server gives one.
    pub output_schema: Option<Arc<Value>>,
    /// MCP annotations (`readOnlyHint`, `destructiveHint`, …) as sent, or `Null`.
    pub annotations: Value,
    /// HTTP method, for tools made from an API description.
    pub method: Option<String>,
    /// HTTP path template, for tools made from an API description.
    pub path: Option<String>,
    /// The `x-` fields of the operation in the API description, or `Null`; never what an MCP server
    /// sent, because these fields are believed.
    pub extensions: Value,
    /// The provider's scopes that the API description asks for: one list for each way to
    /// authenticate, of which a call needs all.
    pub scopes: Vec<Vec<String>>,
    /// The tool's own tags and those of every matching rule, each once, in that order.
    pub tags: Vec<String>,
    /// Domains such as `github.issues`.
    pub domains: Vec<String>,
    /// Categories such as `crud.read`.
    pub categories: Vec<String>,
    /// Whether rules let it be found and run.
    pub enabled: bool,
}

impl Tool {
    /// A tool with nothing but a name, a description and a schema; the rest empty, enabled.
    pub fn new(id: ToolId, description: impl Into<String>, input_schema: Value) -> Self {
        Self {
            id,
            title: None,
            description: description.into(),
            input_schema: Arc::new(input_schema),
            output_schema: None,
            annotations: Value::Null,
            method: None,
            path: None,
            extensions: Value::Null,
            scopes: Vec::new(),
            tags: Vec::new(),
            domains: Vec::new(),
            categories: Vec::new(),
            enabled: true,
        }
    }

    /// The first sentence or line of the description, for lists.
    pub fn summary(&self) -> &str {
        let line = self.description.trim_start().lines().next().unwrap_or("");
        match line.find(". ") {
            Some(end) => &line[..=end],
            None => line.trim_end(),
        }
    }
}
