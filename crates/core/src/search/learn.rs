//! Learning from use: what was run after which search is lifted the next time.
//!
//! The state is plain data: bounded, per principal, fading, and forgotten on request. The same
//! state, query and time give the same lifts; nothing is learned unless someone records it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::arithmetic::exp;
use super::part::short;
use super::query::Query;
use super::words::READER;
use crate::catalog::ToolId;
use crate::limits::{
    LEARNED_HABITS_MAX, LEARNED_HALF_LIFE_SECONDS, LEARNED_PRINCIPALS_MAX, LEARNED_WORDS_MAX,
};

/// The most that habits add to a score: enough to settle a close call, not to bring up what does
/// not fit.
const LIFT_MAX: f64 = 1.5;
/// Least share of words in common at which a habit speaks for a query.
const ALIKE_MIN: f64 = 0.5;
/// A habit that has faded below this many uses is forgotten.
const USES_MIN: f64 = 0.05;
/// More uses than these count no more.
const USES_MAX: f64 = 8.0;

/// What principals ran after which searches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Learned {
    principals: BTreeMap<String, Vec<Habit>>,
}

/// One tool, run after queries of these words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Habit {
    /// Short numbers of the words, in order of number.
    words: Vec<u32>,
    tool: String,
    /// How often, faded to the time below.
    uses: f64,
    /// Seconds.
    at: u64,
}

impl Habit {
    /// How often, faded to `now`; time that runs backwards fades nothing.
    fn uses(&self, now: u64) -> f64 {
        let age = u32::try_from(now.saturating_sub(self.at)).unwrap_or(u32::MAX);
        let half_lives = f64::from(age) / f64::from(LEARNED_HALF_LIFE_SECONDS);
        self.uses * exp(-half_lives * std::f64::consts::LN_2)
    }
}

/// What habits add to the scores of tools, for one query of one principal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lifts {
    /// By tool.
    tools: BTreeMap<String, f32>,
}

impl Lifts {
    /// The tools and what is added to each, in the order of their ids.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ToolId, f32)> {
        let parsed = |(tool, lift): (&String, &f32)| Some((ToolId::parse(tool)?, *lift));
        self.tools.iter().filter_map(parsed)
    }

    /// Whether nothing is lifted.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }
}

impl Learned {
    /// Notes that a principal ran a tool after a search. `now` is in seconds.
    pub fn record(&mut self, principal: &str, query: &str, tool: &ToolId, now: u64) {
        let words = words(query);
        if words.is_empty() {
            return;
        }
        self.make_room(principal, now);
        let habits = self.principals.entry(principal.to_owned()).or_default();
        let tool = tool.to_string();
        if let Some(habit) = habits
            .iter_mut()
            .find(|h| h.tool == tool && h.words == words)
        {
            habit.uses = (habit.uses(now) + 1.0).min(USES_MAX);
            habit.at = habit.at.max(now);
            return;
        }
        if habits.len() >= LEARNED_HABITS_MAX {
            forget_weakest(habits, now);
        }
        habits.push(Habit {
            words,
            tool,
            uses: 1.0,
            at: now,
        });
    }

    /// What the habits of a principal add for a query. `now` is in seconds.
    pub fn lifts(&self, principal: &str, query: &str, now: u64) -> Lifts {
        let mut lifts = Lifts::default();
        let Some(habits) = self.principals.get(principal) else {
            return lifts;
        };
        let words = words(query);
        let mut uses: BTreeMap<&str, f64> = BTreeMap::new();
        for habit in habits {
            let alike = alike(&words, &habit.words);
            if alike >= ALIKE_MIN {
                *uses.entry(&habit.tool).or_default() += alike * habit.uses(now);
            }
        }
        for (tool, uses) in uses.into_iter().filter(|(_, uses)| *uses >= USES_MIN) {
            #[expect(clippy::cast_possible_truncation, reason = "at most LIFT_MAX")]
            let lift = (LIFT_MAX * uses / (uses + 1.0)) as f32;
            lifts.tools.insert(tool.to_owned(), lift);
        }
        lifts
    }

    /// Forgets what one principal did.
    pub fn forget(&mut self, principal: &str) {
        self.principals.remove(principal);
    }

    /// Forgets everything.
    pub fn reset(&mut self) {
        self.principals.clear();
    }

    /// How many habits are kept, of all principals.
    pub fn len(&self) -> usize {
        self.principals.values().map(Vec::len).sum()
    }

    /// Whether nothing was learned.
    pub fn is_empty(&self) -> bool {
        self.principals.is_empty()
    }

    /// Where there are too many principals, the one whose last use is longest ago goes.
    fn make_room(&mut self, principal: &str, now: u64) {
        for habits in self.principals.values_mut() {
            habits.retain(|h| h.uses(now) >= USES_MIN);
        }
        self.principals.retain(|_, habits| !habits.is_empty());
        if self.principals.contains_key(principal) || self.principals.len() < LEARNED_PRINCIPALS_MAX
        {
            return;
        }
        let last_use = |habits: &Vec<Habit>| habits.iter().map(|h| h.at).max();
        let oldest = self
            .principals
            .iter()
            .min_by_key(|(name, habits)| (last_use(habits), (*name).clone()))
            .map(|(name, _)| name.clone());
        if let Some(oldest) = oldest {
            self.principals.remove(&oldest);
        }
    }
}

/// The weakest habit goes; among equals the first by tool and words.
fn forget_weakest(habits: &mut Vec<Habit>, now: u64) {
    let weakest = (0..habits.len()).min_by(|&a, &b| {
        let (a, b) = (&habits[a], &habits[b]);
        a.uses(now)
            .total_cmp(&b.uses(now))
            .then_with(|| (&a.tool, &a.words).cmp(&(&b.tool, &b.words)))
    });
    if let Some(weakest) = weakest {
        habits.remove(weakest);
    }
}

/// The words of a query that carry weight, by number, each once.
fn words(query: &str) -> Vec<u32> {
    let query = READER.with_borrow_mut(|reader| Query::read(query, reader));
    let said = query.terms.iter().filter(|term| !term.value);
    let mut words: Vec<u32> = said.map(|term| short(term.word.id)).collect();
    words.truncate(LEARNED_WORDS_MAX);
    words.sort_unstable();
    words.dedup();
    words
}

/// Share of words that two queries have in common, 0 to 1; both are in order.
fn alike(a: &[u32], b: &[u32]) -> f64 {
    let count = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    let shared = a
        .iter()
        .filter(|word| b.binary_search(word).is_ok())
        .count();
    let all = a.len() + b.len() - shared;
    if all == 0 {
        return 0.0;
    }
    count(shared) / count(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400;

    fn tool(name: &str) -> ToolId {
        ToolId::new("tracker", name)
    }

    fn lift(learned: &Learned, principal: &str, query: &str, now: u64, id: &ToolId) -> f32 {
        let lifts = learned.lifts(principal, query, now);
        let found = lifts.iter().find(|(have, _)| have == id);
        found.map_or(0.0, |(_, lift)| lift)
    }

    #[test]
    fn what_was_run_is_lifted_for_like_queries_of_the_same_principal() {
        let mut learned = Learned::default();
        let id = tool("create_issue");
        learned.record("ann", "open a new ticket", &id, 0);
        assert!(lift(&learned, "ann", "please open a new ticket!", 0, &id) > 0.5);
        assert!(lift(&learned, "ann", "delete the calendar", 0, &id).abs() < f32::EPSILON);
        assert!(lift(&learned, "ben", "open a new ticket", 0, &id).abs() < f32::EPSILON);
        learned.record("ann", "?!", &id, 0);
        assert_eq!(learned.len(), 1);
    }

    #[test]
    fn lifts_are_bounded_and_fade() {
        let mut learned = Learned::default();
        let id = tool("create_issue");
        for _ in 0..1_000 {
            learned.record("ann", "open a ticket", &id, 0);
        }
        let now = lift(&learned, "ann", "open a ticket", 0, &id);
        let later = lift(&learned, "ann", "open a ticket", 90 * DAY, &id);
        assert!(f64::from(now) <= LIFT_MAX && later < now && later > 0.0);
        assert!(
            learned
                .lifts("ann", "open a ticket", 3_000 * DAY)
                .is_empty()
        );
        // A clock that was set back neither fades nor fails.
        learned.record("ann", "open a ticket", &id, 5 * DAY);
        assert!(lift(&learned, "ann", "open a ticket", 0, &id) > 0.0);
    }

    #[test]
    fn the_state_is_bounded_and_keeps_what_is_used_most() {
        let mut learned = Learned::default();
        let kept = tool("kept");
        for _ in 0..3 {
            learned.record("ann", "always the same words", &kept, 0);
        }
        for n in 0..LEARNED_HABITS_MAX * 2 {
            learned.record("ann", &format!("words{n}x and more"), &tool("other"), 0);
        }
        assert_eq!(learned.len(), LEARNED_HABITS_MAX);
        assert!(lift(&learned, "ann", "always the same words", 0, &kept) > 0.0);
        for n in 0..=LEARNED_PRINCIPALS_MAX {
            learned.record(&format!("p{n}"), "some words", &kept, 1 + n as u64);
        }
        assert_eq!(learned.principals.len(), LEARNED_PRINCIPALS_MAX);
        assert!(!learned.principals.contains_key("ann"));
    }

    #[test]
    fn it_is_forgotten_on_request_and_survives_being_stored() {
        let mut learned = Learned::default();
        learned.record("ann", "open a ticket", &tool("a"), 7);
        learned.record("ben", "open a ticket", &tool("b"), 8);
        let text = serde_json::to_string(&learned).unwrap();
        assert_eq!(serde_json::from_str::<Learned>(&text).unwrap(), learned);
        learned.forget("ann");
        assert_eq!(learned.len(), 1);
        learned.reset();
        assert!(learned.is_empty());
    }
}
