//! From a wish to an action that is ready to be executed.

use std::sync::Arc;

use serde_json::Value;
use toolcrib_core::gateway::intent::{self, Action, Asked, Choice, Constraints};
use toolcrib_core::gateway::money;
use toolcrib_core::limits::{INTENT_LIMIT_MAX, SEARCH_ALTERNATIVES};
use toolcrib_core::policy::Caller;
use toolcrib_core::{ToolId, schema};

use super::{Desk, Intent};
use crate::engine::answer::{Found, Hit};
use crate::engine::ask::Search;
use crate::engine::error::Result;
use crate::engine::snapshot::Entry;

/// Most reasons that are told for one tool.
const REASONS_MAX: usize = 3;

impl Desk {
    /// Finds the tool for a wish and everything that is needed to run it.
    pub async fn intent(&self, caller: &Caller, wish: Intent) -> Result<Value> {
        self.require_registry()?;
        let usual = self.config().settings.search.default_limit;
        let limit = wish.limit.or_else(|| usize::try_from(usual).ok());
        let limit = limit.unwrap_or(SEARCH_ALTERNATIVES).min(INTENT_LIMIT_MAX);
        let search = Search {
            query: searched(&wish, |code| self.serves(code)),
            server: wish.adapter.clone(),
            limit: wish.limit.map(|_| limit + 1),
            explain: true,
            ..Search::default()
        };
        let found = self.engine.search_tools(caller, search).await?;
        let asked = Asked {
            query: &wish.query,
            context: &wish.context,
            scoped: wish.adapter.is_some(),
        };
        let hits = suited(&found, &wish);
        let least = found.snapshot.config.settings.search.min_confidence;
        let sure = hits.first().filter(|hit| f64::from(hit.relevance) >= least);
        let choose = |hits: &[Hit], most: usize| -> Vec<Choice> {
            let hits = hits.iter().take(most);
            hits.map(|hit| choice(&found, hit, &wish)).collect()
        };
        let (pending, failed) = (found.pending_servers, found.failed_servers);
        let told = if let Some(hit) = sure {
            let entry = &hit.entry;
            let action = Action {
                schema: &entry.tool.input_schema,
                example: self.example(entry),
                constraints: constraints(caller, entry),
            };
            intent::Found {
                recommended: Some((choice(&found, hit, &wish), action)),
                alternatives: choose(&hits[1..], limit),
                pending,
                failed,
            }
        } else {
            intent::Found {
                recommended: None,
                alternatives: choose(&found.alternatives, limit.max(2)),
                pending,
                failed,
            }
        };
        Ok(intent::answer(&asked, &told))
    }

    /// Whether some adapter says that it serves a country.
    fn serves(&self, country: &str) -> bool {
        let config = self.config();
        let mut adapters = config.settings.adapters.values();
        adapters.any(|adapter| {
            let mut served = adapter.countries.iter();
            served.any(|code| code.eq_ignore_ascii_case(country))
        })
    }

    /// Arguments that fit a tool: those that its description gives, else made from its schema.
    pub fn example(&self, entry: &Entry) -> Option<Value> {
        let id = &entry.tool.id;
        let described = self.engine.described(id.server());
        let operation = described
            .as_ref()
            .and_then(|a| a.api().operation(id.tool()));
        match operation.map(Arc::as_ref) {
            Some(operation) => operation.example(),
            None => schema::sample(&entry.tool.input_schema),
        }
    }
}

/// The hits, those of adapters that are known to serve other countries only behind the others.
fn suited(found: &Found, wish: &Intent) -> Vec<Hit> {
    let Some(country) = country(wish) else {
        return found.hits.clone();
    };
    let named = ToolId::parse(wish.query.trim()).is_some();
    let elsewhere = |hit: &&Hit| {
        let served = countries(found, hit);
        !named
            && !served.is_empty()
            && !served.iter().any(|code| code.eq_ignore_ascii_case(country))
    };
    let (behind, first): (Vec<&Hit>, Vec<&Hit>) = found.hits.iter().partition(elsewhere);
    first.into_iter().chain(behind).cloned().collect()
}

fn countries(found: &Found, hit: &Hit) -> Vec<String> {
    let name = hit.entry.tool.id.server();
    let configured = found.snapshot.config.settings.adapters.get(name);
    configured
        .map(|adapter| adapter.countries.clone())
        .unwrap_or_default()
}

fn choice(found: &Found, hit: &Hit, wish: &Intent) -> Choice {
    let id = found.snapshot.canonical_id(&hit.entry);
    let (adapter, tool) = id.split_once(':').unwrap_or((&id, ""));
    let mut why: Vec<String> = hit.why.iter().take(REASONS_MAX).cloned().collect();
    let name = hit.entry.tool.id.server();
    if let Some(code) = country(wish)
        && countries(found, hit)
            .iter()
            .any(|own| own.eq_ignore_ascii_case(code))
    {
        why.push(format!("{name} serves {code}"));
    }
    let adapters = &found.snapshot.config.settings.adapters;
    if let Some(code) = wish.context.get("currency").and_then(Value::as_str)
        && let Some(configured) = adapters.get(name)
        && configured
            .currencies
            .iter()
            .any(|own| own.eq_ignore_ascii_case(code))
    {
        why.push(format!("{name} handles {code}"));
    }
    if why.is_empty() {
        why.push("its words come nearest to the query".to_owned());
    }
    Choice {
        adapter: adapter.to_owned(),
        tool: tool.to_owned(),
        confidence: hit.relevance,
        why: why.join("; "),
        tool_id: id.clone(),
    }
}

/// What a call of this caller has to carry.
pub(super) fn constraints(caller: &Caller, entry: &Entry) -> Constraints {
    let metadata = &entry.metadata;
    Constraints {
        risk_level: metadata.risk,
        requires_idempotency: metadata.needs_key(caller.mode),
        requires_confirmation: metadata.confirmation_required,
        rate_limit: metadata.shown_rate().to_string(),
    }
}

/// What is searched for: the query, and the kind of use that the context names where it adds
/// something. A country that adapters say they serve chooses among them, and is no word that a tool
/// has to have.
fn searched(wish: &Intent, serves: impl Fn(&str) -> bool) -> String {
    if ToolId::parse(wish.query.trim()).is_some() {
        return wish.query.clone();
    }
    let query = without_country(&wish.query, serves).unwrap_or_else(|| wish.query.clone());
    let case = wish.context.get("use_case").and_then(Value::as_str);
    let adds = |case: &&str| *case != "one-time" && !query.to_lowercase().contains(*case);
    match case.filter(adds) {
        Some(case) => format!("{query} {case}"),
        None => query,
    }
}

/// A query without the country that it names, where that is served and something is left.
fn without_country(query: &str, serves: impl Fn(&str) -> bool) -> Option<String> {
    let (start, end, _) = money::country_in(query).filter(|(.., code)| serves(code))?;
    let before = query[..start].trim_end();
    let before = before
        .strip_suffix("in")
        .filter(|rest| rest.is_empty() || rest.ends_with(' '))
        .unwrap_or(before);
    let left = format!("{} {}", before.trim_end(), query[end..].trim_start());
    let left = left.trim();
    left.contains(char::is_alphanumeric)
        .then(|| left.to_owned())
}

/// The country that a wish is about.
fn country(wish: &Intent) -> Option<&'static str> {
    let given = wish.context.get("country").and_then(Value::as_str);
    match given {
        Some(text) => money::country_code(text),
        None => money::country_in(&wish.query).map(|(_, _, code)| code),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;

    #[test]
    fn the_use_case_is_searched_for_where_it_adds_something() {
        for (query, case, expect) in [
            (
                "charge a card",
                "subscription",
                "charge a card subscription",
            ),
            (
                "start a Subscription",
                "subscription",
                "start a Subscription",
            ),
            ("charge a card", "one-time", "charge a card"),
            ("a:b", "marketplace", "a:b"),
        ] {
            let mut context = Map::new();
            context.insert("use_case".into(), case.into());
            let wish = Intent {
                query: query.into(),
                context,
                ..Intent::default()
            };
            assert_eq!(searched(&wish, |_| false), expect);
        }
    }

    #[test]
    fn a_country_that_adapters_serve_is_no_word_to_be_found() {
        for (query, expect) in [
            ("charge a card in Nigeria", "charge a card"),
            ("in Nigeria charge a card", "charge a card"),
            ("charge within Nigeria", "charge within"),
            ("paystack:charge-nigeria", "paystack:charge-nigeria"),
            ("charge Nigeria cards", "charge cards"),
            ("charge a card in France", "charge a card in France"),
            ("Nigeria", "Nigeria"),
        ] {
            let wish = Intent {
                query: query.into(),
                ..Intent::default()
            };
            assert_eq!(searched(&wish, |code| code == "NG"), expect);
        }
    }
}
