//! Rules over servers and tools, as a file writes them.

use schemars::JsonSchema;
use serde::Deserialize;

/// Switches tools on or off and tags them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolRule {
    /// Globs (`*issue*`), regular expressions (`/^create_/i`) and exclusions (`!*delete*`). A name
    /// matches when any positive pattern does and no exclusion does; with a `:` in it a pattern is
    /// matched against `server:tool`.
    pub pattern: Vec<ToolPattern>,
    /// Only tools of this server.
    #[serde(default)]
    pub server: Option<String>,
    /// Whether the tools are enabled; where it is absent, the rule only tags. Any `true` in the
    /// rules makes "disabled" the default for what no rule matches.
    #[serde(default)]
    pub enabled: Option<bool>,
    /// Tags for every tool that matches.
    #[serde(default)]
    pub tags: Vec<String>,
}

/// One pattern of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline, extend("format" = "tool-pattern"))]
pub struct ToolPattern(pub String);

/// Switches whole servers on or off.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServerRule {
    /// Patterns of server names.
    pub pattern: Vec<ToolPattern>,
    /// Whether the servers are used. Any `true` makes "not used" the default for the others.
    pub enabled: bool,
}

/// How rules that disagree are settled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RuleStrategy {
    /// The first rule that matches decides; an allow-everything rule only sets the default.
    #[default]
    FirstMatch,
    /// Any rule that disables wins.
    DenyOverrides,
}
