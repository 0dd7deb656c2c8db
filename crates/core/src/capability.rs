//! Capabilities: tools as units that can be known, approved, exported and looked up.
//!
//! A manifest says of one tool what a person approves and a planner needs: its id, the shapes of
//! arguments and result, who provides it, what it is about. The JSON Schemas are kept whole; types are
//! made from them where a capability file needs them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::canon::{Hash, definition_hash};
use crate::catalog::{Inference, Tool};
use crate::rtfs::{self, Capability, Dialect, Type};

/// The version of a capability whose server names none.
pub const VERSION: &str = "1.0.0";

/// One tool as a capability.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CapabilityManifest {
    /// `mcp.<server>.<tool>`
    pub id: String,
    /// A name for people: the tool's title, else its name.
    pub name: String,
    /// The version of the definition.
    pub version: String,
    /// What the tool does.
    pub description: String,
    /// JSON Schema of the arguments.
    pub input_schema: Value,
    /// The shape of the result, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Output>,
    /// Who provides it.
    pub provider: Provider,
    /// Domains such as `github.issues`.
    pub domains: Vec<String>,
    /// Categories such as `crud.read`.
    pub categories: Vec<String>,
    /// What else is known, such as `risk`; keys in alphabetical order.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
    /// The hash of the definition that this was made from.
    pub definition: Hash,
}

/// Who provides a capability.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provider {
    /// The server's name.
    pub server: String,
    /// Where it is; `stdio:` and a command line for a child process. Holds no secrets.
    pub server_url: String,
    /// The tool's name as its server spells it.
    pub tool_name: String,
}

/// How the shape of a result is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Output {
    /// The server says so, in JSON Schema.
    Declared(Value),
    /// It was seen in one answer; RTFS text.
    Inferred(String),
}

impl Output {
    /// A shape that was seen in an answer.
    pub fn seen(shape: &Type) -> Self {
        Self::Inferred(rtfs::text::of_type(shape, Dialect::Document))
    }

    fn shape(&self) -> Type {
        match self {
            Self::Declared(schema) => rtfs::from_schema(schema),
            // What does not read back came from elsewhere and tells nothing.
            Self::Inferred(text) => {
                rtfs::grammar::type_of_text(text, Dialect::Document).unwrap_or(Type::Any)
            }
        }
    }
}

impl CapabilityManifest {
    /// The manifest of a tool whose server is reached at `server_url`. Domains and categories are
    /// those of the tool; [`Self::with_inferred_domains_and_categories`] fills them where it has none.
    pub fn new(tool: &Tool, server_url: impl Into<String>) -> Self {
        let (server, name) = (tool.id.server(), tool.id.tool());
        Self {
            id: format!("mcp.{server}.{name}"),
            name: tool.title.clone().unwrap_or_else(|| name.to_owned()),
            version: VERSION.to_owned(),
            description: tool.description.clone(),
            input_schema: (*tool.input_schema).clone(),
            output_schema: tool.output_schema.as_deref().cloned().map(Output::Declared),
            provider: Provider {
                server: server.to_owned(),
                server_url: server_url.into(),
                tool_name: name.to_owned(),
            },
            domains: tool.domains.clone(),
            categories: tool.categories.clone(),
            metadata: BTreeMap::new(),
            definition: definition_hash(tool),
        }
    }

    /// With domains and categories read from the names of server and tool, where there are none.
    #[must_use]
    pub fn with_inferred_domains_and_categories(
        mut self,
        server: &str,
        inference: &Inference,
    ) -> Self {
        let tool = &self.provider.tool_name;
        if self.domains.is_empty() {
            self.domains = inference.domains(server, tool);
        }
        if self.categories.is_empty() {
            self.categories = inference.categories(server, tool);
        }
        self
    }

    /// Whether the shape of the result was seen rather than declared.
    pub fn output_is_inferred(&self) -> bool {
        matches!(self.output_schema, Some(Output::Inferred(_)))
    }

    /// What a capability file says of it.
    pub fn capability(&self) -> Capability {
        Capability {
            id: self.id.clone(),
            version: self.version.clone(),
            description: self.description.clone(),
            input: rtfs::from_arguments_schema(&self.input_schema),
            output: self.output_schema.as_ref().map(Output::shape),
            output_inferred: self.output_is_inferred(),
            server_url: self.provider.server_url.clone(),
            tool_name: self.provider.tool_name.clone(),
            domains: self.domains.clone(),
            categories: self.categories.clone(),
        }
    }

    /// The text of its capability file.
    pub fn to_text(&self, dialect: Dialect) -> String {
        self.capability().to_text(dialect)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ToolId;

    fn tool() -> Tool {
        Tool::new(
            ToolId::new("github", "list_issues"),
            "List issues",
            json!({"type": "object", "properties": {"repo": {"type": "string"}}, "required": ["repo"]}),
        )
    }

    #[test]
    fn a_tool_becomes_a_manifest_with_domains_and_categories() {
        let manifest = CapabilityManifest::new(&tool(), "https://api.github.com/mcp")
            .with_inferred_domains_and_categories("github", &Inference::default());
        assert_eq!(manifest.id, "mcp.github.list_issues");
        assert_eq!(
            (manifest.version.as_str(), manifest.name.as_str()),
            ("1.0.0", "list_issues")
        );
        assert_eq!(manifest.domains, ["github", "github.issues"]);
        assert_eq!(manifest.categories, ["crud.read"]);
        assert_eq!(manifest.definition, definition_hash(&tool()));
        let said = serde_json::to_string(&manifest).unwrap();
        assert_eq!(
            serde_json::from_str::<CapabilityManifest>(&said).unwrap(),
            manifest
        );
    }

    #[test]
    fn what_a_tool_says_of_itself_is_not_inferred() {
        let mut own = tool();
        own.domains = vec!["forge".into()];
        own.title = Some("Issues".into());
        let manifest = CapabilityManifest::new(&own, "stdio:x")
            .with_inferred_domains_and_categories("github", &Inference::default());
        assert_eq!(
            (manifest.name.as_str(), manifest.domains),
            ("Issues", vec!["forge".to_owned()])
        );
    }

    #[test]
    fn the_file_says_whether_an_output_was_declared_or_seen() {
        let mut manifest = CapabilityManifest::new(&tool(), "stdio:x");
        assert!(!manifest.to_text(Dialect::Document).contains("output"));
        manifest.output_schema = Some(Output::Declared(json!({"type": "integer"})));
        let text = manifest.to_text(Dialect::Document);
        assert!(
            text.contains(":output-schema :int") && !text.contains("inferred"),
            "{text}"
        );
        manifest.output_schema = Some(Output::seen(&rtfs::from_value(&json!([{"id": 1}]))));
        for dialect in [Dialect::Document, Dialect::Ccos] {
            let text = manifest.to_text(dialect);
            assert!(
                text.contains(":metadata {:output-schema-source \"inferred\"}"),
                "{text}"
            );
            let read = Capability::parse(&text, dialect).unwrap();
            assert_eq!(read, manifest.capability());
            assert!(read.output_inferred);
        }
        manifest.output_schema = Some(Output::Inferred("[".into()));
        assert_eq!(manifest.capability().output, Some(Type::Any));
    }
}
