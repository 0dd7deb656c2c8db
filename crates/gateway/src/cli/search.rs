//! `toolcrib search`: the right tool for a plain wish, among the tools of all servers.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use toolcrib_core::Code;
use toolcrib_core::limits::{DISCOVERY_ATTEMPT_MS_DEFAULT, SEARCH_LIMIT_MAX, SEARCH_PATIENCE_MS};
use toolcrib_core::policy::Caller;

use super::Context;
use super::counter::{asking, local, refused, troubles, with_engine_to_look};
use super::memory::with_store_to_change;
use crate::engine::Engine;
use crate::engine::answer::{Found, Hit};
use crate::engine::ask;
use crate::engine::error::Result as Answer;
use crate::failure::Failure;
use crate::ui::{Line, Tone};

/// Search for tools across all servers
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  toolcrib search \"github issue\"\n  toolcrib search \"create\" --server github\n  toolcrib search \"file\" --limit 5\n  toolcrib search --forget\n\nExit codes: 0 something was found, 1 wrong arguments, 2 nothing was found, or the configuration does not load, 3 the server that was named cannot be asked, or the store cannot be used."
)]
pub struct Search {
    /// What is wanted, in plain words
    #[arg(value_name = "QUERY", required_unless_present = "forget")]
    query: Option<String>,
    /// Only tools of this server
    #[arg(long, value_name = "NAME", add = super::completions::server())]
    server: Option<String>,
    /// Most results to show [default: 10, without those that fit far worse than the best]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: Option<u16>,
    /// Only tools whose name this glob or `/regex/` matches
    #[arg(long)]
    pattern: Option<String>,
    /// Show also tools that rules switch off
    #[arg(long)]
    all: bool,
    /// Say why each tool was found
    #[arg(long)]
    explain: bool,
    /// Forget what `search.learn` noted about which tools were run after which searches
    #[arg(long, conflicts_with_all = ["query", "server", "limit", "pattern", "all", "explain"])]
    forget: bool,
}

impl Search {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        if self.forget {
            return forget(context);
        }
        let query = self.query.unwrap_or_default();
        let wish = ask::Search {
            query: query.clone(),
            server: self.server.clone(),
            pattern: self.pattern.clone(),
            limit: self.limit.map(usize::from),
            include_disabled: self.all,
            explain: self.explain,
            patience: None,
        };
        with_engine_to_look(context, async |context, engine| {
            let caller = local(engine);
            let search = find(engine, &caller, wish);
            let found = asking(context, engine, search).await.map_err(refused)?;
            let unheard = Unheard::of(engine, &caller, &found, self.server.as_deref()).await;
            if found.hits.is_empty() {
                let fruitless = Fruitless {
                    query: &query,
                    pattern: self.pattern.as_deref(),
                    known: known(engine, self.all),
                    matching: found.matching,
                    waiting: found.waiting,
                    unjudged: found.unjudged,
                };
                return Err(fruitless.told(&unheard));
            }
            if context.ui.is_json() {
                let results: Vec<Value> = found.hits.iter().map(hit_json).collect();
                context.ui.json(&json!({
                    "results": results,
                    "total": found.total,
                    "confidence": rounded(found.confidence),
                    "pendingServers": found.pending_servers,
                    "failedServers": unheard.why,
                }));
            } else {
                show(context, &query, &found, &unheard);
            }
            Ok(())
        })
    }
}

/// Searches, and waits for servers that have yet to answer: they end with this process, so that searching again would
/// start them anew. Where others have found something already, that is not for long.
async fn find(engine: &Arc<Engine>, caller: &Caller, wish: ask::Search) -> Answer<Found> {
    let found = engine.search_tools(caller, wish.clone()).await?;
    if found.pending_servers == 0 {
        return Ok(found);
    }
    let patience = if found.hits.is_empty() {
        DISCOVERY_ATTEMPT_MS_DEFAULT
    } else {
        SEARCH_PATIENCE_MS
    };
    let patient = ask::Search {
        patience: Some(Duration::from_millis(patience)),
        ..wish
    };
    engine.search_tools(caller, patient).await
}

fn forget(context: &mut Context) -> Result<(), Failure> {
    with_store_to_change(context, async |context, store| {
        let callers = store.forget_learned().await?;
        if context.ui.is_json() {
            context.ui.json(&json!({ "forgotten": callers }));
            return Ok(());
        }
        let what = match callers {
            0 => "nothing was learned".to_owned(),
            1 => "what one caller ran is forgotten".to_owned(),
            many => format!("what {many} callers ran is forgotten"),
        };
        context
            .ui
            .line(Line::new().mark(true).text(format_args!(" {what}")));
        Ok(())
    })
}

fn show(context: &mut Context, query: &str, found: &Found, unheard: &Unheard) {
    let count = found.hits.len();
    context
        .ui
        .line(format!("Search results for \"{query}\" ({count} found):"));
    for (index, hit) in found.hits.iter().enumerate() {
        let tool = &hit.entry.tool;
        context.ui.gap();
        let mut line = Line::new()
            .text(format_args!("{}. ", index + 1))
            .tone(Tone::Strong, &tool.id)
            .text(format_args!(" ({:.0}% match)", hit.relevance * 100.0));
        if !tool.enabled {
            line = line.text(" (disabled)");
        }
        context.ui.line(line);
        context.ui.line(format!("   {}", tool.summary()));
        if !tool.tags.is_empty() {
            context
                .ui
                .line(format!("   Tags: {}", tool.tags.join(", ")));
        }
        for reason in &hit.why {
            context
                .ui
                .line(Line::new().tone(Tone::Dim, format_args!("   {reason}")));
        }
    }
    if let Some(line) = further(found) {
        context.ui.gap();
        context.ui.line(Line::new().tone(Tone::Dim, line));
    }
    if let Some(told) = unheard.told() {
        for line in told.lines() {
            context.ui.note(line);
        }
    }
}

/// What is said of hits that are not shown.
fn further(found: &Found) -> Option<String> {
    let all = found.total.min(SEARCH_LIMIT_MAX);
    let shows = match all.checked_sub(found.hits.len())? {
        0 => return None,
        1 => format!("1 more; --limit {all} shows it"),
        more => format!("{more} more; --limit {all} shows them"),
    };
    Some(shows)
}

/// Servers whose reasons are shown; the others are counted.
const REASONS_SHOWN: usize = 3;

/// The servers that had no word in this.
struct Unheard {
    pending: usize,
    failed: usize,
    /// Why they failed, by their names, as far as that is known.
    why: BTreeMap<String, String>,
}

impl Unheard {
    async fn of(
        engine: &Arc<Engine>,
        caller: &Caller,
        found: &Found,
        server: Option<&str>,
    ) -> Self {
        let (pending, failed) = (found.pending_servers, found.failed_servers);
        let mut why = BTreeMap::new();
        if failed > 0 {
            why = troubles(engine, caller).await;
            why.retain(|name, _| server.is_none_or(|server| server == name));
        }
        Self {
            pending,
            failed,
            why,
        }
    }

    /// What is to be said about them.
    fn told(&self) -> Option<String> {
        let mut told = match (self.pending, self.failed) {
            (0, 0) => return None,
            (1, 0) => {
                "1 server has not answered yet; `toolcrib cache warm` waits for it".to_owned()
            }
            (pending, 0) => format!(
                "{pending} servers have not answered yet; `toolcrib cache warm` waits for them"
            ),
            (0, 1) => "1 server could not be asked; `toolcrib doctor` checks it".to_owned(),
            (0, failed) => {
                format!("{failed} servers could not be asked; `toolcrib doctor` checks them")
            }
            (pending, failed) => {
                let have = if pending == 1 { "has" } else { "have" };
                format!(
                    "{pending} of the servers {have} not answered yet and {failed} could not be asked; `toolcrib doctor` checks them"
                )
            }
        };
        for (name, reason) in self.why.iter().take(REASONS_SHOWN) {
            let _ = write!(told, "\n  {name}: {reason}");
        }
        Some(told)
    }
}

fn hit_json(hit: &Hit) -> Value {
    let tool = &hit.entry.tool;
    let mut shown = json!({
        "server": tool.id.server(),
        "tool": tool.id.tool(),
        "summary": tool.summary(),
        "relevance": rounded(hit.relevance),
        "tags": tool.tags,
    });
    if !hit.why.is_empty() {
        shown["why"] = json!(hit.why);
    }
    shown
}

fn rounded(relevance: f32) -> f64 {
    (f64::from(relevance) * 100.0).round() / 100.0
}

/// Among how many tools is searched.
fn known(engine: &Engine, with_disabled: bool) -> usize {
    let (all, enabled) = engine.snapshot().counts();
    if with_disabled { all } else { enabled }
}

/// A search that found nothing, and what may be the reason.
struct Fruitless<'a> {
    query: &'a str,
    pattern: Option<&'a str>,
    /// Among how many tools was searched.
    known: usize,
    /// How many of them the pattern lets through.
    matching: usize,
    /// How many would fit, had somebody approved them.
    waiting: usize,
    /// How many may fit, and nobody could find out whether they are approved.
    unjudged: usize,
}

impl Fruitless<'_> {
    fn told(&self, unheard: &Unheard) -> Failure {
        let mut message = match unheard.told() {
            Some(unheard) if self.pattern.is_none() && self.known == 1 => format!(
                "the 1 tool that is known does not fit {:?}; {unheard}",
                self.query
            ),
            Some(unheard) if self.pattern.is_none() => format!(
                "nothing fits {:?} among the {} tools that are known; {unheard}",
                self.query, self.known
            ),
            Some(unheard) => format!("{}; {unheard}", self.reason()),
            None if self.known == 0 && self.waiting == 0 && self.unjudged == 0 => "no server has any tools; `toolcrib import` shows the servers that your other clients have".to_owned(),
            None if self.waiting > 0 || self.unjudged > 0 => self.reason(),
            None => format!("{}; {}", self.reason(), self.advice()),
        };
        if self.waiting > 0 {
            let tools = match self.waiting {
                1 => "1 tool that may fit waits".to_owned(),
                n => format!("{n} tools that may fit wait"),
            };
            message = format!(
                "{message}; {tools} for approval, `toolcrib approvals list` shows what waits"
            );
        }
        if self.unjudged > 0 {
            let tools = match self.unjudged {
                1 => "1 tool that may fit is".to_owned(),
                n => format!("{n} tools that may fit are"),
            };
            message = format!(
                "{message}; {tools} not shown, as the store could not be asked about their approval: `toolcrib doctor` says why"
            );
        }
        let failure = Failure::not_found(Code::ToolNotFound, message);
        if unheard.why.is_empty() {
            return failure;
        }
        failure.with("failedServers", json!(unheard.why))
    }

    fn reason(&self) -> String {
        let (query, known) = (self.query, self.known);
        match self.pattern {
            Some(pattern) if self.matching == 0 => {
                format!(
                    "the pattern {pattern:?} matches the name of none of the {known} known tools"
                )
            }
            Some(pattern) => format!(
                "none of the {} tools that the pattern {pattern:?} matches fits {query:?}",
                self.matching
            ),
            None if known == 1 => format!("the 1 known tool does not fit {query:?}"),
            None => format!("none of the {known} known tools fits {query:?}"),
        }
    }

    fn advice(&self) -> &'static str {
        match self.pattern {
            Some(_) if self.matching == 0 => {
                "write a glob such as '*issue*', or leave --pattern out"
            }
            Some(_) => "try other words, or leave --pattern out",
            None => "try other words",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_spoken_of_as_many() {
        let check = |pending: usize, failed: usize, expected: &str| {
            let why = BTreeMap::new();
            let told = Unheard {
                pending,
                failed,
                why,
            };
            let told = told.told().unwrap();
            assert!(told.starts_with(expected), "{told}");
        };
        check(1, 0, "1 server has not answered yet;");
        check(1, 4, "1 of the servers has not answered yet and 4 could");
        check(2, 4, "2 of the servers have not answered yet and 4 could");
        check(0, 1, "1 server could not be asked;");
        let heard = Unheard {
            pending: 0,
            failed: 0,
            why: BTreeMap::new(),
        };
        let fruitless = Fruitless {
            query: "x",
            pattern: None,
            known: 1,
            matching: 1,
            waiting: 0,
            unjudged: 0,
        };
        let said = fruitless.told(&heard).message;
        assert!(said.starts_with("the 1 known tool does not fit"), "{said}");
        let fruitless = Fruitless {
            known: 0,
            unjudged: 3,
            ..fruitless
        };
        let said = fruitless.told(&heard).message;
        assert!(
            said.contains("3 tools that may fit are not shown"),
            "{said}"
        );
        assert!(!said.contains("approvals list"), "{said}");
    }
}
