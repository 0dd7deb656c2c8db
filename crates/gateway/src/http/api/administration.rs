//! What the gateway itself does, over REST: records, counts, configuration.

use serde_json::{Map, Value, json};
use toolcrib_config::model::server::Transport;
use toolcrib_config::model::settings::{Mode, Profile};
use toolcrib_core::Code;
use toolcrib_core::limits::AUDIT_PAGE_ROWS_MAX;
use toolcrib_store::audit::Outcome;
use toolcrib_store::audit::query::Filter;

use super::problem::Problem;
use super::{Asked, Counter, Told, json};

/// Records that are given unless asked for otherwise.
const AUDIT_ROWS_DEFAULT: usize = 100;
/// Days that are counted unless asked for otherwise.
const STATS_DAYS_DEFAULT: i64 = 30;
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

impl Counter {
    pub(super) async fn audit(&self, asked: &Asked) -> Told {
        let filter = Filter {
            since_ms: asked.number("since_ms"),
            until_ms: asked.number("until_ms"),
            actor_id: asked.text("actor_id"),
            tool_id: asked.text("tool_id"),
            server: asked.text("server"),
            outcome: asked.text("outcome").and_then(|word| Outcome::parse(&word)),
            request_id: asked.text("request_id"),
            ..Filter::default()
        };
        let count = asked.count("limit").unwrap_or(AUDIT_ROWS_DEFAULT);
        let count = count.min(AUDIT_PAGE_ROWS_MAX);
        let records = self.engine().store().audit_tail(&filter, count).await?;
        Ok(json(&json!({"records": records})))
    }

    pub(super) async fn stats(&self, asked: &Asked) -> Told {
        let counts = self.engine().counts();
        let days = asked.number("days").unwrap_or(STATS_DAYS_DEFAULT);
        let since = self
            .door
            .clock
            .now_ms()
            .saturating_sub(days.saturating_mul(DAY_MS));
        let store = self.engine().store();
        store.flush_counters().await?;
        let mut counters: Map<String, Value> = Map::new();
        for count in store.counts(since).await? {
            let before = counters.get(&count.name).and_then(Value::as_i64);
            let sum = before.unwrap_or(0).saturating_add(count.value);
            counters.insert(count.name, sum.into());
        }
        Ok(json(&json!({
            "servers": {"configured": counts.servers_configured, "connected": counts.servers_connected},
            "tools": {"total": counts.tools_total, "enabled": counts.tools_enabled},
            "days": days,
            "counters": counters,
        })))
    }

    /// What the configuration says, as far as it can hold no secret.
    pub(super) fn configuration(&self) -> axum::response::Response {
        let config = self.desk().config();
        let settings = &config.settings;
        let servers = config.servers.iter().map(|server| {
            let (transport, names) = match &server.transport {
                Transport::Stdio(stdio) => ("stdio", stdio.env.keys().collect::<Vec<_>>()),
                Transport::Http(remote) => ("http", remote.headers.keys().collect()),
                Transport::Sse(remote) => ("sse", remote.headers.keys().collect()),
            };
            json!({
                "name": server.name,
                "enabled": server.enabled,
                "transport": transport,
                "secrets": names,
                "trusted": server.handling.trusted,
                "source": server.origin.kind,
            })
        });
        let adapters = settings.adapters.iter().map(|(name, adapter)| {
            json!({
                "name": name,
                "enabled": adapter.enabled.0,
                "category": adapter.category,
                "capabilities": adapter.capabilities,
                "countries": adapter.countries,
                "currencies": adapter.currencies,
                "documentation": adapter.documentation,
                "secret_env": adapter.auth.as_ref().and_then(|auth| auth.env.clone()),
            })
        });
        json(&json!({
            "enabled": settings.enabled.0,
            "profile": match settings.profile {
                Profile::Discovery => "discovery",
                Profile::Gateway => "gateway",
            },
            "mode": match settings.mode {
                Mode::Lazy => "lazy",
                Mode::Full => "full",
                Mode::Flat => "flat",
            },
            "servers": servers.collect::<Vec<_>>(),
            "adapters": adapters.collect::<Vec<_>>(),
            "tool_rules": config.files.iter().map(|file| file.settings.tool_rules.len()).sum::<usize>(),
            "search": {
                "min_confidence": settings.search.min_confidence,
                "default_limit": settings.search.default_limit,
                "learn": settings.search.learn,
            },
            "policy": {
                "rest_compat": settings.policy.rest_compat,
                "overrides": settings.policy.overrides.len(),
            },
            "audit": {"retention_days": settings.audit.retention_days, "parameters": settings.audit.parameters},
        }))
    }

    pub(super) async fn reload(&self) -> Told {
        match (self.api.reload)().await {
            Some(report) => Ok(json(&report)),
            None => Err(Problem::plain(Code::Overloaded, "The process is ending.")),
        }
    }
}
