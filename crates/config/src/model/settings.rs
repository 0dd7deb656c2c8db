//! Everything that a configuration file of ours may hold.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::adapter::Adapter;
use super::entry::Servers;
use super::rule::{RuleStrategy, ServerRule, ToolRule};
use crate::placeholder::{SecretTemplate, Template};
use toolcrib_core::catalog::Inference;
use toolcrib_core::policy::settings::PolicySettings;

/// The configuration of Toolcrib. Every field is optional; keys may also be written in
/// `snake_case`, and all of them may stand under `discovery:` instead of at the top.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Settings {
    /// Address of the JSON Schema of this file, for editors; otherwise ignored.
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    /// `false` switches discovery off: the five tools stay listed and each says so; nothing connects.
    #[schemars(extend("default" = true))]
    pub enabled: On,
    /// Which five tools an agent sees. The environment variable `TOOLCRIB_PROFILE` overrides it.
    #[schemars(extend("default" = "discovery"))]
    pub profile: Profile,
    /// What is exposed: the five tools, every tool (for debugging), or one upstream passed through.
    /// The environment variable `MCP_TOOL_MODE` overrides it.
    #[schemars(extend("default" = "lazy"))]
    pub mode: Mode,
    /// How dots in tool names are spelt towards clients that refuse them.
    #[schemars(extend("default" = "auto"))]
    pub names: Names,
    /// Tools to list beside the five, as `server:tool`, each under the name that full mode gives it.
    pub surface: Vec<String>,
    /// How long what was learnt from servers is kept.
    pub cache: Option<Cache>,
    /// Client configurations to import servers from.
    pub sources: Vec<SourceEntry>,
    /// MCP servers: a map from name to server, or a list of servers with a `name` each.
    pub servers: Servers,
    /// Rules that switch whole servers on and off by name.
    pub server_rules: Vec<ServerRule>,
    /// Rules that switch tools on and off and tag them.
    pub tool_rules: Vec<ToolRule>,
    /// How rules that disagree are settled.
    #[schemars(extend("default" = "first-match"))]
    pub rule_strategy: RuleStrategy,
    /// Who may run what, and which controls a call needs.
    pub policy: PolicySettings,
    /// How tools are found.
    pub search: Search,
    /// REST APIs that become tools, by adapter name.
    pub adapters: IndexMap<String, Adapter>,
    /// The public registry of MCP servers, and the registry of operations.
    pub registry: Registry,
    /// The HTTP door.
    pub http: Http,
    /// What happens to large results.
    pub results: Results,
    /// Where state is kept.
    pub store: StoreSettings,
    /// What the audit log keeps.
    pub audit: Audit,
    /// Bounds that may be lowered or raised.
    pub limits: Limits,
    /// Capability export and review.
    pub capabilities: Capabilities,
    /// The log on standard error.
    pub log: Log,
    /// Traces sent elsewhere.
    pub telemetry: Telemetry,
    /// Which client configurations are used when there is no configuration file.
    pub imports: Imports,
    /// Whether changed files are noticed and reloaded without being asked.
    #[schemars(extend("default" = true))]
    pub watch: On,
}

/// A switch that is on unless it is set to `false`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct On(pub bool);

impl Default for On {
    fn default() -> Self {
        Self(true)
    }
}

/// Which five tools an agent sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// `list_mcp_servers`, `search_tools`, `list_tools`, `get_tool_details`, `execute_tool`.
    #[default]
    Discovery,
    /// `gateway.intent`, `gateway.execute`, `gateway.adapters`, `gateway.tools`, `gateway.reference`.
    Gateway,
}

/// What is exposed to an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The five tools of the profile.
    #[default]
    Lazy,
    /// Every enabled tool, for debugging.
    Full,
    /// One upstream, passed through as it is.
    Flat,
}

/// How dots in tool names are spelt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Names {
    /// Dotted, but hyphenated towards a client that is known to refuse dots.
    #[default]
    Auto,
    /// Always `gateway.intent`.
    Dot,
    /// Always `gateway-intent`.
    Hyphen,
    /// Always `gateway_intent`.
    Underscore,
}

/// How long what was learnt from servers is kept.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Cache {
    /// Whether anything is kept at all.
    pub enabled: bool,
    /// Seconds that server lists and tool summaries are kept in memory.
    #[serde(default = "ttl_default")]
    pub ttl: u64,
    /// Directory of the tool lists on disk; the user's cache directory unless given. The environment
    /// variables `TOOLCRIB_CACHE_DIR` and `CCOS_MCP_CACHE_DIR` override it.
    #[serde(default)]
    pub directory: Option<String>,
    /// Seconds that tool lists on disk count as fresh. The environment variables
    /// `TOOLCRIB_CACHE_TTL` and `CCOS_MCP_CACHE_TTL` override it.
    #[serde(default = "tool_list_ttl_default")]
    pub tool_list_ttl: u64,
    /// Seconds that answers of the public registry count as fresh.
    #[serde(default = "ttl_default")]
    pub registry_ttl: u64,
    /// Whether every server that is switched on is asked for its tools as soon as Toolcrib runs, where none
    /// that are fresh were kept. Each is started for that.
    #[serde(default)]
    pub warm_at_start: bool,
}

fn ttl_default() -> u64 {
    3_600
}

fn tool_list_ttl_default() -> u64 {
    86_400
}

impl Default for Cache {
    fn default() -> Self {
        Self {
            enabled: true,
            ttl: ttl_default(),
            directory: None,
            tool_list_ttl: tool_list_ttl_default(),
            registry_ttl: ttl_default(),
            warm_at_start: false,
        }
    }
}

/// A client configuration to import servers from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SourceEntry {
    /// The client whose format the file has, such as `claude-desktop`, `cursor` or `docker-mcp`;
    /// `custom` for the YAML form with `servers:`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The file; `~` is the home directory, a relative path starts at the configuration file. Where
    /// it is absent, the client's usual places are read.
    pub path: Option<String>,
}

/// How tools are found.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Search {
    /// Below this confidence nothing is recommended and the agent is asked to choose. The
    /// environment variable `MCP_SEARCH_MIN_CONFIDENCE` overrides it.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub min_confidence: f64,
    /// How many alternatives `gateway.intent` gives. The environment variable `MCP_DEFAULT_LIMIT`
    /// overrides it.
    #[schemars(range(min = 1, max = 50))]
    pub default_limit: u32,
    /// Whether what was run after which search lifts it next time.
    pub learn: bool,
}

impl Default for Search {
    fn default() -> Self {
        Self {
            min_confidence: 0.5,
            default_limit: 3,
            learn: false,
        }
    }
}

/// The public registry of MCP servers, and the registry of operations.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Registry {
    /// Base address of the registry's API.
    #[schemars(url)]
    pub url: String,
    /// Path of `operations.json`. The environment variable `MCP_REGISTRY_PATH` overrides it.
    pub operations_path: String,
    /// Whether `operations.json` is written at start.
    pub write_operations: bool,
}

impl Default for Registry {
    fn default() -> Self {
        Self {
            url: "https://registry.modelcontextprotocol.io".into(),
            operations_path: "./discovery/registry/operations.json".into(),
            write_operations: false,
        }
    }
}

/// The HTTP door.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Http {
    /// Address and port. Anything but loopback needs authentication.
    pub listen: String,
    /// Origins of web pages that may connect and whose scripts may read what they are answered. Loopback ones may always
    /// connect; for their scripts to read it, they are named here, too.
    pub allowed_origins: Vec<String>,
    /// Host names under which the door may be reached; loopback ones always may.
    pub allowed_hosts: Vec<String>,
    /// Bearer tokens that are accepted beside API keys.
    pub jwt: Option<Jwt>,
}

impl Default for Http {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:7332".into(),
            allowed_origins: Vec::new(),
            allowed_hosts: Vec::new(),
            jwt: None,
        }
    }
}

/// Bearer tokens that are accepted.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Jwt {
    /// Who must have issued the token.
    #[schemars(length(min = 1))]
    pub issuer: String,
    /// Whom it must be meant for.
    #[schemars(length(min = 1))]
    pub audience: String,
    /// Address or file of the issuer's public keys.
    #[schemars(length(min = 1))]
    pub jwks: String,
    /// The claim that lists the scopes.
    #[serde(default = "scope_claim_default")]
    pub scope_claim: String,
}

fn scope_claim_default() -> String {
    "scope".into()
}

/// What happens to large results.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Results {
    /// Tokens of a result that reach the agent at once; the rest is kept for later pages.
    #[schemars(range(min = 100))]
    pub max_tokens: u32,
    /// Minutes that the rest is kept.
    #[schemars(range(min = 1, max = 1440))]
    pub keep_minutes: u32,
}

impl Default for Results {
    fn default() -> Self {
        Self {
            max_tokens: 10_000,
            keep_minutes: 15,
        }
    }
}

/// Where state is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct StoreSettings {
    /// File of the SQLite store; under the user's data directory unless given.
    pub path: Option<String>,
}

/// What the audit log keeps.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Audit {
    /// Days that records are kept; 0 keeps them for ever.
    pub retention_days: u32,
    /// Megabytes of records that are kept; 0 sets no bound.
    pub max_megabytes: u32,
    /// Whether the parameters of calls are recorded, secrets masked, beside their hash.
    pub parameters: bool,
}

impl Default for Audit {
    fn default() -> Self {
        Self {
            retention_days: 90,
            max_megabytes: 512,
            parameters: false,
        }
    }
}

/// Bounds that may be lowered or raised.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Limits {
    /// Child processes at once.
    #[schemars(range(min = 1, max = 10_000))]
    pub children: u32,
    /// Calls under way at once, over all servers.
    #[schemars(range(min = 1, max = 100_000))]
    pub calls_in_flight: u32,
    /// Sessions of HTTP clients at once.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub sessions: u32,
    /// Servers that are asked for their tools at once.
    #[schemars(range(min = 1, max = 100))]
    pub parallel_discoveries: u32,
    /// Milliseconds that a call may take.
    #[schemars(range(min = 1, max = 86_400_000))]
    pub call_timeout_ms: u64,
    /// Milliseconds that starting a server may take.
    #[schemars(range(min = 1, max = 3_600_000))]
    pub start_timeout_ms: u64,
    /// Minutes after which an unused connection is closed; 0 never closes it.
    pub idle_close_minutes: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            children: 100,
            calls_in_flight: 256,
            sessions: 10_000,
            parallel_discoveries: 5,
            call_timeout_ms: 30_000,
            start_timeout_ms: 60_000,
            idle_close_minutes: 5,
        }
    }
}

/// Capability export and review.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Capabilities {
    /// Whether full mode also lists `ccos_introspect_remote_api` and `ccos_register_server`.
    pub tools: bool,
    /// Directory of exported capabilities; `capabilities/servers/pending` unless given.
    pub export_directory: Option<String>,
    /// Words of server names that mean a domain, added to the built-in ones: word to domain.
    pub domains: IndexMap<String, String>,
    /// Leading verbs that mean a category, added to the built-in ones: verb to category.
    pub categories: IndexMap<String, String>,
}

impl Capabilities {
    /// What names mean: the built-in words with those that are added here.
    pub fn inference(&self) -> Inference {
        Inference::with(
            self.domains.iter().map(|(a, b)| (a.as_str(), b.as_str())),
            self.categories
                .iter()
                .map(|(a, b)| (a.as_str(), b.as_str())),
        )
    }
}

/// The log of a process that serves, on standard error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Log {
    /// How much is logged. The environment variable `TOOLCRIB_LOG` overrides it, and `-v` both.
    #[schemars(extend("default" = "info"))]
    pub level: LogLevel,
    /// How a line looks. The option `--log-format` overrides it.
    #[schemars(extend("default" = "text"))]
    pub format: LogFormat,
}

/// How much is logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LogLevel {
    /// Nothing.
    Off,
    /// What failed.
    Error,
    /// And what will not do what it seems to.
    Warn,
    /// And what happened.
    #[default]
    Info,
    /// And how.
    Debug,
    /// And every step.
    Trace,
}

/// How a log line looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Traces sent elsewhere. The variables of OpenTelemetry (`OTEL_…`) override these settings.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Telemetry {
    /// Address of a collector that takes OTLP over HTTP, such as `http://127.0.0.1:4318`; none sends
    /// nothing.
    pub otlp_endpoint: Option<Template>,
    /// Headers of every delivery to the collector.
    pub headers: IndexMap<String, SecretTemplate>,
    /// The name under which the collector knows this process; `toolcrib` unless given.
    pub service_name: Option<String>,
    /// The share of traces that are recorded, where the caller did not decide; all unless given.
    #[schemars(range(min = 0, max = 1))]
    pub sample_ratio: Option<f64>,
}

/// Which client configurations are used when there is no configuration file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Imports {
    /// Whether the known client configurations are read beside this file as well. Without a
    /// configuration file they always are.
    pub auto: bool,
    /// Clients to read; all known ones unless given.
    pub clients: Option<Vec<String>>,
}
