//! Who supplies tools, as the configuration describes them: MCP servers and REST APIs alike.

use std::sync::Arc;

use toolcrib_config::load::Config;
use toolcrib_config::model::Server;
use toolcrib_config::model::adapter::Adapter;
use toolcrib_config::model::server::{Isolation, StaticTool};
use toolcrib_config::model::settings::Mode;
use toolcrib_core::limits::CALL_TIMEOUT_MS_DEFAULT;
use toolcrib_core::pattern::{Pattern, PatternList};
use toolcrib_core::policy::approval::Origin;
use toolcrib_core::policy::{Principal, Rate, ServerFacts};

use super::answer::Kind;
use super::upstream::Owner;

/// One server or adapter.
#[derive(Clone, Debug)]
pub struct Supplier {
    /// The name that ids and rules use.
    pub name: Arc<str>,
    /// Other names it answers to.
    pub aliases: Vec<String>,
    /// What it is.
    pub kind: Kind,
    /// A title for people.
    pub title: Option<String>,
    /// What it is for; empty where nobody said.
    pub description: String,
    /// Whether it is used at all.
    pub enabled: bool,
    /// What policy needs to know of it.
    pub facts: ServerFacts,
    /// How long a call may take, where the configuration says so.
    pub timeout_ms: Option<u64>,
    /// How long starting it may take.
    pub start_timeout_ms: u64,
    /// Whether callers share one connection, where the configuration says so.
    pub isolation: Option<Isolation>,
    /// How it came to be known.
    pub origin: Origin,
    /// Stands for how it is reached: lists that were kept under another one do not count.
    pub fingerprint: String,
    /// Tools that are known without connecting.
    pub declared: Vec<StaticTool>,
    /// Tools to keep, and tools to leave out.
    pub include: PatternList,
    pub(super) exclude: Option<PatternList>,
}

impl Supplier {
    /// Every supplier of a configuration, servers first, each name once.
    pub fn all(config: &Config) -> Vec<Arc<Self>> {
        let servers = config.servers.iter();
        let mut suppliers: Vec<Arc<Self>> = servers
            .map(|server| Arc::new(Self::of_server(server, config)))
            .collect();
        for (name, adapter) in &config.settings.adapters {
            if !suppliers.iter().any(|known| *known.name == **name) {
                suppliers.push(Arc::new(Self::of_adapter(name, adapter, config)));
            }
        }
        suppliers
    }

    fn of_server(server: &Server, config: &Config) -> Self {
        let handling = &server.handling;
        let limits = &config.settings.limits;
        let rate = handling.rate_per_second.map(|requests| {
            let burst = handling.rate_burst.unwrap_or(requests.max(1));
            Rate::per_second(requests, burst)
        });
        let burst_only = handling.rate_burst.map(|burst| Rate {
            burst: Some(burst.max(1)),
            ..Rate::default()
        });
        // A server that is passed through may ask its client things: nobody else's connection will do.
        let passed_through = (config.settings.mode == Mode::Flat).then_some(Isolation::Session);
        Self {
            name: server.name.as_str().into(),
            aliases: server.aliases.clone(),
            kind: Kind::Server,
            title: server.title.clone(),
            description: server.description.clone().unwrap_or_default(),
            enabled: server.enabled,
            facts: ServerFacts {
                trusted: handling.trusted,
                honours_key: false,
                rate: rate.or(burst_only),
            },
            timeout_ms: handling.call_timeout_ms.or_else(|| usual_timeout(config)),
            start_timeout_ms: handling.start_timeout_ms.unwrap_or(limits.start_timeout_ms),
            isolation: handling.isolation.or(passed_through),
            origin: match server.origin.kind.as_str() {
                "registry" | "introspection" => Origin::Discovered,
                _ if server.registry.is_some() => Origin::Discovered,
                _ => Origin::Configured,
            },
            fingerprint: server.fingerprint(),
            declared: server.tools.clone(),
            include: usable(&server.include_tools).unwrap_or_default(),
            exclude: usable(&server.exclude_tools),
        }
    }

    fn of_adapter(name: &str, adapter: &Adapter, config: &Config) -> Self {
        Self {
            name: name.into(),
            aliases: Vec::new(),
            kind: Kind::Adapter,
            title: adapter.name.clone(),
            description: adapter.description.clone().unwrap_or_default(),
            enabled: adapter.enabled.0,
            facts: ServerFacts {
                // The user chose the description, so it is believed.
                trusted: true,
                // Which operations take keys is known once the description was read.
                honours_key: false,
                rate: None,
            },
            timeout_ms: adapter.timeout_ms.or_else(|| usual_timeout(config)),
            start_timeout_ms: config.settings.limits.start_timeout_ms,
            isolation: Some(Isolation::Shared),
            origin: Origin::Configured,
            fingerprint: adapter.fingerprint(),
            declared: Vec::new(),
            include: PatternList::default(),
            exclude: None,
        }
    }

    /// Whose connection a call of this principal, in this session, uses.
    pub fn owner(&self, principal: &Principal, session: Option<&str>) -> Owner {
        let usual = match principal {
            Principal::Local => Isolation::Shared,
            _ => Isolation::Principal,
        };
        match (self.isolation.unwrap_or(usual), session) {
            (Isolation::Shared, _) => Owner::Shared,
            (Isolation::Session, Some(session)) => Owner::Session(format!("{principal}/{session}")),
            (Isolation::Principal | Isolation::Session, _) => {
                Owner::Principal(principal.to_string())
            }
        }
    }

    /// Why a tool is left out by the server's own lists of tools, where it is.
    pub(super) fn leaves_out(&self, tool: &str) -> Option<&'static str> {
        let excluded = self
            .exclude
            .as_ref()
            .is_some_and(|e| e.matches(Some(&self.name), tool));
        if excluded {
            Some("left out by the server's `excludeTools`")
        } else if !self.include.matches(Some(&self.name), tool) {
            Some("not among the server's `includeTools`")
        } else {
            None
        }
    }
}

/// The configured time-out of all calls, unless it is what holds anyway.
fn usual_timeout(config: &Config) -> Option<u64> {
    let usual = config.settings.limits.call_timeout_ms;
    (usual != CALL_TIMEOUT_MS_DEFAULT).then_some(usual)
}

/// A list of patterns; `None` where it is empty. Those that do not compile were reported when the
/// configuration was loaded, and match nothing.
fn usable(patterns: &[String]) -> Option<PatternList> {
    if patterns.is_empty() {
        return None;
    }
    let usable: Vec<&str> = patterns
        .iter()
        .map(String::as_str)
        .filter(|text| Pattern::new(text).is_ok())
        .collect();
    let usable = if usable.is_empty() {
        vec!["!*"]
    } else {
        usable
    };
    PatternList::new(&usable).ok()
}
