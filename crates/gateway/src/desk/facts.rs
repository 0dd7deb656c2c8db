//! What is known of an adapter beyond its tools, from the configuration and from its description.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::Value;
use toolcrib_config::load::Config;
use toolcrib_config::model::adapter::{Adapter as Configured, AuthKind};
use toolcrib_config::model::server::Transport;
use toolcrib_core::gateway::{category, money};

use super::Desk;
use crate::engine::snapshot::{Entry, Snapshot};
use crate::engine::spelling::kebab;
use crate::engine::upstream::{Adapter as Described, Breaker, Health, Standing};

/// What is known of one adapter.
pub(super) struct Facts {
    name: String,
    config: Arc<Config>,
    described: Option<Arc<Described>>,
    /// What each operation is about, as the description groups them.
    groups: HashMap<String, String>,
}

impl Desk {
    /// What is known of an adapter by its name.
    pub(super) fn facts(&self, name: &str, snapshot: &Snapshot) -> Facts {
        let described = self.engine.described(name);
        let groups = described.iter().flat_map(|adapter| {
            let operations = adapter.api().operations.iter();
            operations.filter_map(|operation| {
                let category = operation.category.clone()?;
                Some((operation.tool.id.tool().to_owned(), category))
            })
        });
        Facts {
            name: name.to_owned(),
            config: Arc::clone(&snapshot.config),
            groups: groups.collect(),
            described,
        }
    }
}

impl Facts {
    pub(super) fn configured(&self) -> Option<&Configured> {
        self.config.settings.adapters.get(&self.name)
    }

    pub(super) fn described(&self) -> Option<&Described> {
        self.described.as_deref()
    }

    /// A title for people.
    pub(super) fn title(&self, given: Option<&str>) -> String {
        let own = self.described().and_then(|a| a.api().title.as_deref());
        let title = given
            .or(own)
            .map(str::trim)
            .filter(|title| !title.is_empty());
        title.map_or_else(|| spoken(&self.name), str::to_owned)
    }

    /// What it is for.
    pub(super) fn about(&self, given: &str) -> String {
        let own = self
            .described()
            .and_then(|a| a.api().description.as_deref());
        let given = Some(given).filter(|text| !text.is_empty());
        given.or(own).unwrap_or("").to_owned()
    }

    /// What kind of service it is.
    pub(super) fn category(&self, title: &str, about: &str) -> String {
        let configured = self.configured().and_then(|c| c.category.as_deref());
        let facts = category::Facts {
            id: &self.name,
            title,
            description: about,
        };
        category::of(configured, facts)
    }

    /// The countries that it serves: as configured, else those that a parameter of it lists.
    pub(super) fn countries(&self, tools: &[Arc<Entry>]) -> Vec<String> {
        let configured = self.configured().map(|c| c.countries.clone());
        configured.filter(|all| !all.is_empty()).unwrap_or_else(|| {
            listed(tools, "country", |text| {
                text.len() == 2 && money::country_code(text) == Some(text)
            })
        })
    }

    /// The currencies that it handles, likewise.
    pub(super) fn currencies(&self, tools: &[Arc<Entry>]) -> Vec<String> {
        let configured = self.configured().map(|c| c.currencies.clone());
        configured
            .filter(|all| !all.is_empty())
            .unwrap_or_else(|| listed(tools, "currency", money::is_currency))
    }

    /// What a tool is about.
    pub(super) fn group(&self, entry: &Entry) -> String {
        let tool = &entry.tool;
        if let Some(group) = self.groups.get(tool.id.tool()) {
            return group.clone();
        }
        if let Some(tag) = entry.own_tags.first().filter(|_| tool.method.is_some()) {
            return kebab(tag);
        }
        let narrow = tool.domains.iter().find_map(|domain| {
            let primary = tool.domains.first()?;
            domain.strip_prefix(primary.as_str())?.strip_prefix('.')
        });
        let kind = || tool.categories.first().map(String::as_str);
        narrow.or_else(kind).unwrap_or("other").to_owned()
    }

    /// How many tools are about what, most first.
    pub(super) fn groups(&self, tools: &[Arc<Entry>]) -> IndexMap<String, usize> {
        let mut counts: IndexMap<String, usize> = IndexMap::new();
        for entry in tools {
            *counts.entry(self.group(entry)).or_default() += 1;
        }
        counts.sort_by(|a, m, b, n| n.cmp(m).then_with(|| a.cmp(b)));
        counts
    }

    /// How it authenticates, in one word.
    pub(super) fn auth_type(&self) -> &'static str {
        let configured = self.configured().and_then(|c| c.auth.as_ref()?.kind);
        match configured {
            Some(AuthKind::Bearer) => return "bearer",
            Some(AuthKind::Basic) => return "basic",
            Some(AuthKind::ApiKey) => return "apikey",
            Some(AuthKind::Oauth2) => return "oauth2",
            Some(AuthKind::None) => return "none",
            None => {}
        }
        if let Some(described) = self.described() {
            return described.api().auth_type();
        }
        let mut servers = self.config.servers.iter();
        let Some(server) = servers.find(|server| server.name == self.name) else {
            return "none";
        };
        let headers = match &server.transport {
            Transport::Http(remote) | Transport::Sse(remote) => Some(&remote.headers),
            Transport::Stdio(_) => None,
        };
        let mut names = headers.iter().flat_map(|headers| headers.keys());
        if server.handling.oauth {
            "oauth2"
        } else if server.handling.bearer.is_some()
            || names
                .clone()
                .any(|name| name.eq_ignore_ascii_case("authorization"))
        {
            "bearer"
        } else if names.next().is_some() {
            "apikey"
        } else {
            "none"
        }
    }
}

/// The values that parameters of a name list, sorted, each once.
fn listed(tools: &[Arc<Entry>], parameter: &str, is_one: impl Fn(&str) -> bool) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for entry in tools {
        let part = entry
            .tool
            .input_schema
            .get("properties")
            .and_then(|p| p.get(parameter));
        let values = part
            .and_then(|part| part.get("enum"))
            .and_then(Value::as_array);
        for text in values.into_iter().flatten().filter_map(Value::as_str) {
            if is_one(text) && !all.iter().any(|known| known == text) {
                all.push(text.to_owned());
            }
        }
    }
    all.sort();
    all
}

/// How things stand with an adapter, in one word.
pub fn status(enabled: bool, standing: &Standing) -> &'static str {
    match (enabled, standing.breaker, standing.health) {
        (false, _, _) => "disabled",
        (_, Breaker::Open, _) => "down",
        (_, Breaker::HalfOpen, _) | (_, _, Health::Error) => "degraded",
        _ => "operational",
    }
}

/// A name as words for people: `initialize-transaction` is `Initialize Transaction`.
pub(super) fn spoken(name: &str) -> String {
    let kebab = kebab(name);
    let words = kebab
        .split(['-', '_', '/', '.'])
        .filter(|word| !word.is_empty());
    let words: Vec<String> = words
        .map(|word| {
            let mut chars = word.chars();
            let first = chars.next().map(|c| c.to_uppercase().collect::<String>());
            first.unwrap_or_default() + chars.as_str()
        })
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_says_how_things_stand() {
        let standing = |health, breaker| Standing {
            health,
            breaker,
            ..Standing::default()
        };
        for (enabled, health, breaker, expect) in [
            (true, Health::Connected, Breaker::Closed, "operational"),
            (true, Health::Disconnected, Breaker::Closed, "operational"),
            (true, Health::Connected, Breaker::HalfOpen, "degraded"),
            (true, Health::Error, Breaker::Closed, "degraded"),
            (true, Health::Error, Breaker::Open, "down"),
            (false, Health::Connected, Breaker::Open, "disabled"),
        ] {
            assert_eq!(status(enabled, &standing(health, breaker)), expect);
        }
    }

    #[test]
    fn names_are_spoken() {
        assert_eq!(spoken("initialize-transaction"), "Initialize Transaction");
        assert_eq!(spoken("createIssue"), "Create Issue");
        assert_eq!(spoken(""), "");
    }
}
