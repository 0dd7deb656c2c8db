//! Learning from use: what a caller runs after a search is lifted for it the next time.
//!
//! Only where `search.learn` says so. Which search came before a call is known to this process alone and
//! for a short time; what is learned from it is in the store, see [`toolcrib_core::search::Learned`].

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use toolcrib_core::ToolId;
use toolcrib_core::limits::{LEARNED_AFTER_MS, LEARNED_SEARCHES_MAX};
use toolcrib_core::policy::Caller;
use toolcrib_core::search::Lifts;

use super::Engine;
use super::answer::Hit;

/// The searches that a call may follow from, oldest first.
#[derive(Default)]
pub(super) struct Searches(Mutex<VecDeque<Searched>>);

struct Searched {
    principal: String,
    query: String,
    found: Vec<ToolId>,
    at_ms: i64,
}

impl Searches {
    fn note(&self, searched: Searched) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= LEARNED_SEARCHES_MAX {
            all.pop_front();
        }
        all.push_back(searched);
    }

    /// The words of the newest search of a caller that found a tool a short time ago.
    fn before(&self, principal: &str, tool: &ToolId, now_ms: i64) -> Option<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = |searched: &&Searched| {
            searched.principal == principal
                && now_ms.saturating_sub(searched.at_ms) <= LEARNED_AFTER_MS
        };
        let mut recent = all.iter().rev().filter(recent);
        let led = recent.find(|searched| searched.found.contains(tool))?;
        Some(led.query.clone())
    }
}

impl Engine {
    fn learns(&self) -> bool {
        self.snapshot.load().config.settings.search.learn
    }

    /// What the habits of a caller add for a query.
    pub(super) async fn lifts(&self, caller: &Caller, query: &str) -> Lifts {
        if !self.learns() || query.trim().is_empty() {
            return Lifts::default();
        }
        let principal = caller.principal.to_string();
        match self.store.learned(&principal).await {
            Ok(learned) => learned.lifts(&principal, query, seconds(self.clock.now_ms())),
            Err(error) => {
                tracing::warn!(%error, "what was learned from use cannot be read");
                Lifts::default()
            }
        }
    }

    /// Remembers a search for the calls that may follow it.
    pub(super) fn note_search(&self, caller: &Caller, query: &str, hits: &[Hit]) {
        if !self.learns() || query.trim().is_empty() || hits.is_empty() {
            return;
        }
        self.searches.note(Searched {
            principal: caller.principal.to_string(),
            query: query.to_owned(),
            found: hits.iter().map(|hit| hit.entry.tool.id.clone()).collect(),
            at_ms: self.clock.now_ms(),
        });
    }

    /// Learns from a call that did what it should, if a search led to it. The caller does not wait.
    pub(super) fn learn_from(&self, caller: &Caller, tool: &ToolId) {
        if !self.learns() {
            return;
        }
        let (principal, now_ms) = (caller.principal.to_string(), self.clock.now_ms());
        let Some(query) = self.searches.before(&principal, tool, now_ms) else {
            return;
        };
        let (store, tool) = (self.store.clone(), tool.clone());
        self.tasks.spawn(async move {
            if let Err(error) = store.learn(&principal, &query, &tool, now_ms).await {
                tracing::warn!(%error, "what was run after a search cannot be noted");
            }
        });
    }
}

fn seconds(ms: i64) -> u64 {
    u64::try_from(ms / 1_000).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn searched(principal: &str, query: &str, tools: &[&str], at_ms: i64) -> Searched {
        Searched {
            principal: principal.into(),
            query: query.into(),
            found: tools.iter().map(|tool| ToolId::new("s", *tool)).collect(),
            at_ms,
        }
    }

    #[test]
    fn a_call_follows_from_the_newest_search_that_found_its_tool() {
        let searches = Searches::default();
        searches.note(searched("ann", "first", &["a", "b"], 0));
        searches.note(searched("ann", "second", &["b"], 1));
        searches.note(searched("ben", "third", &["a"], 2));
        let check = |principal: &str, tool: &str, now_ms: i64, expected: Option<&str>| {
            let found = searches.before(principal, &ToolId::new("s", tool), now_ms);
            assert_eq!(found.as_deref(), expected, "{principal} {tool} {now_ms}");
        };
        check("ann", "a", 3, Some("first"));
        check("ann", "b", 3, Some("second"));
        check("ben", "a", 3, Some("third"));
        check("ben", "b", 3, None);
        check("ann", "c", 3, None);
        check("ann", "a", LEARNED_AFTER_MS + 1, None);
        for n in 0..LEARNED_SEARCHES_MAX {
            searches.note(searched("eve", &n.to_string(), &["c"], 3));
        }
        check("ann", "b", 3, None);
        assert_eq!(searches.0.lock().unwrap().len(), LEARNED_SEARCHES_MAX);
    }
}
