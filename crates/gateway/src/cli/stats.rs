//! `toolcrib stats`: what standing behind five tools saves, and how the calls went.

use std::collections::BTreeMap;
use std::sync::Arc;

use clap::Args;
use serde::Serialize;
use toolcrib_config::model::settings::Profile;
use toolcrib_core::ToolId;
use toolcrib_core::gateway::definitions::{Spelling, definitions};
use toolcrib_store::audit::Outcome;
use toolcrib_store::audit::query::{Entry, Filter};

use super::counter::{doing, local, with_engine_to_look};
use super::memory::{moment, since_ms, timestamp};
use super::shown::counted;
use super::{Context, now_ms};
use crate::desk::Desk;
use crate::engine::Engine;
use crate::engine::answer::Kind;
use crate::failure::Failure;
use crate::mcp::discovery::Discovery;
use crate::ui::Table;

/// Show tokens saved, calls, cache hits and the slowest servers
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib stats              the last 30 days
  toolcrib stats --since 2h   the last two hours
  toolcrib stats --json       the same for programs

Tokens are counted as o200k does. What exposing everything costs is what a client would put into \
every message if the same tools were configured in it directly.

Exit codes: 0 the numbers are shown, 1 wrong arguments, 2 the configuration does not load, 3 the \
store cannot be used.")]
pub struct Stats {
    /// Count from here: a date, a time, or a span before now such as `2h`
    #[arg(long, value_name = "WHEN", default_value = "30d")]
    since: String,
    /// Show at most so many servers
    #[arg(long, value_name = "COUNT", default_value_t = 5)]
    limit: usize,
}

/// What the definitions of tools cost in every message.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Tokens {
    /// How many servers and APIs are switched on.
    servers: usize,
    /// Of how many of them the tools are known.
    servers_known: usize,
    tools: usize,
    /// All of them, as their servers define them.
    everything: usize,
    /// The five that stand in for them.
    surface: usize,
    saved: usize,
    /// How much more the five cost, where there are too few tools to make up for them.
    lost: usize,
    /// Whether there is a server whose tools can be asked for.
    #[serde(skip)]
    is_open: bool,
}

/// How the calls went.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Calls {
    total: u64,
    ok: u64,
    failed: u64,
    refused: u64,
    /// Answered from the record of an idempotency key, or only tried.
    not_sent: u64,
}

/// How often tool lists were answered from what was kept.
#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Cache {
    hits: u64,
    misses: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    hit_rate: Option<f64>,
}

/// How long a server takes.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Pace {
    server: String,
    calls: usize,
    failed: usize,
    median_ms: f64,
    p95_ms: f64,
}

#[derive(Debug, Serialize)]
struct Report {
    since: String,
    #[serde(skip)]
    since_ms: i64,
    tokens: Tokens,
    calls: Calls,
    searches: u64,
    cache: Cache,
    slowest: Vec<Pace>,
}

/// What was seen of one server.
#[derive(Debug, Default)]
struct Seen {
    micros: Vec<i64>,
    failed: usize,
}

impl Stats {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        let since = since_ms(&self.since, now_ms()).map_err(Failure::usage)?;
        with_engine_to_look(context, async |context, engine| {
            let counting = gather(engine, since, self.limit);
            let report = doing(context, "counting tokens and calls", counting).await?;
            if context.ui.is_json() {
                context.ui.json(&report);
            } else {
                show(context, &report);
            }
            Ok(())
        })
    }
}

async fn gather(engine: &Arc<Engine>, since: i64, limit: usize) -> Result<Report, Failure> {
    let mut calls = Calls::default();
    let mut seen: BTreeMap<String, Seen> = BTreeMap::new();
    let mut pages = engine.store().audit_pages(Filter {
        since_ms: Some(since),
        ..Filter::default()
    });
    while let Some(page) = pages.next().await? {
        for entry in &page {
            calls.add(entry);
            see(&mut seen, entry);
        }
    }
    let counts = engine.store().counts(since).await?;
    let count = |name: &str| -> u64 {
        let values = counts.iter().filter(|count| count.name == name);
        let sum: i64 = values.map(|count| count.value).sum();
        u64::try_from(sum).unwrap_or_default()
    };
    Ok(Report {
        since: timestamp(since),
        since_ms: since,
        tokens: tokens(engine).await,
        calls,
        searches: count("search"),
        cache: Cache::of(
            count(crate::engine::LIST_KEPT),
            count(crate::engine::LIST_ASKED),
        ),
        slowest: slowest(seen, limit),
    })
}

/// What all known tools cost against the five of the profile that is configured.
async fn tokens(engine: &Arc<Engine>) -> Tokens {
    let counter = bpe_openai::o200k_base();
    let caller = local(engine);
    // The descriptions of APIs are at hand; servers are not started for a count.
    let desk = Desk::new(Arc::clone(engine));
    if let Err(error) = desk.adapter_rows(&caller).await {
        tracing::warn!(%error, "the tools of APIs are not counted");
    }
    let snapshot = engine.snapshot();
    let (mut tools, mut everything) = (0, 0);
    let (mut servers, mut servers_known, mut is_open) = (0, 0, false);
    for rack in snapshot.racks().filter(|rack| rack.supplier.enabled) {
        servers += 1;
        servers_known += usize::from(rack.is_known());
        is_open |= !rack.is_known() && rack.supplier.kind == Kind::Server;
        for entry in rack.entries().iter().filter(|entry| entry.tool.enabled) {
            tools += 1;
            everything += counter.count(entry.definition.get());
        }
    }
    let config = desk.config();
    let five = match config.settings.profile {
        Profile::Discovery => Discovery::new(Arc::clone(engine)).tools(&caller),
        Profile::Gateway => definitions(Spelling::Dot, config.settings.search.default_limit),
    };
    let surface = five
        .iter()
        .map(|tool| counter.count(&tool.to_string()))
        .sum();
    Tokens {
        servers,
        servers_known,
        tools,
        everything,
        surface,
        saved: everything.saturating_sub(surface),
        lost: surface.saturating_sub(everything),
        is_open,
    }
}

impl Calls {
    fn add(&mut self, entry: &Entry) {
        self.total += 1;
        match entry.record.outcome {
            Outcome::Ok => self.ok += 1,
            Outcome::Refused => self.refused += 1,
            Outcome::Replayed | Outcome::DryRun => self.not_sent += 1,
            Outcome::Error | Outcome::Timeout | Outcome::Cancelled | Outcome::Unknown => {
                self.failed += 1;
            }
        }
    }
}

impl Cache {
    fn of(hits: u64, misses: u64) -> Self {
        let all = hits + misses;
        #[expect(
            clippy::cast_precision_loss,
            reason = "a rate is shown to a tenth of a percent"
        )]
        let hit_rate = (all > 0).then(|| hits as f64 / all as f64);
        Self {
            hits,
            misses,
            hit_rate,
        }
    }
}

/// Remembers how long a call took that reached its server.
fn see(seen: &mut BTreeMap<String, Seen>, entry: &Entry) {
    let record = &entry.record;
    let reached = matches!(
        record.outcome,
        Outcome::Ok | Outcome::Error | Outcome::Timeout
    );
    let (true, Some(micros)) = (reached, record.duration_us) else {
        return;
    };
    let Some(id) = ToolId::parse(&record.tool_id) else {
        return;
    };
    let of_server = seen.entry(id.server().to_owned()).or_default();
    of_server.micros.push(micros);
    of_server.failed += usize::from(record.outcome != Outcome::Ok);
}

/// The servers by what one call in twenty takes longer than.
fn slowest(seen: BTreeMap<String, Seen>, limit: usize) -> Vec<Pace> {
    let mut all: Vec<(i64, Pace)> = Vec::new();
    for (server, mut of_server) in seen {
        of_server.micros.sort_unstable();
        let at = |percent: usize| {
            let last = of_server.micros.len().saturating_sub(1);
            of_server
                .micros
                .get(last * percent / 100)
                .copied()
                .unwrap_or_default()
        };
        let (median, p95) = (at(50), at(95));
        let pace = Pace {
            server,
            calls: of_server.micros.len(),
            failed: of_server.failed,
            median_ms: milliseconds(median),
            p95_ms: milliseconds(p95),
        };
        all.push((p95, pace));
    }
    all.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.server.cmp(&b.1.server)));
    all.into_iter().take(limit).map(|(_, pace)| pace).collect()
}

/// Milliseconds with one decimal.
fn milliseconds(micros: i64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "no call takes longer than a double counts exactly"
    )]
    let tenths = (micros as f64 / 100.0).round();
    tenths / 10.0
}

/// What the five save or cost, and how much of what is configured that covers.
fn told(tokens: &Tokens) -> Vec<String> {
    let Some(percent) = (tokens.saved * 100).checked_div(tokens.everything) else {
        let none =
            "Tokens:    no server was asked for its tools yet; `toolcrib cache warm` asks them";
        return vec![none.to_owned()];
    };
    let mut lines = vec![format!(
        "Tokens:    {} in every message instead of {} for {} exposed directly",
        grouped(tokens.surface),
        grouped(tokens.everything),
        if tokens.tools == 1 {
            "1 tool".to_owned()
        } else {
            format!("{} tools", grouped(tokens.tools))
        },
    )];
    lines.push(if tokens.lost > 0 {
        format!(
            "           {} more than these alone each time; more tools make up for it",
            grouped(tokens.lost)
        )
    } else {
        format!(
            "           {} saved each time, {percent} %",
            grouped(tokens.saved)
        )
    });
    if tokens.servers_known < tokens.servers {
        let rest = if tokens.is_open {
            "`toolcrib cache warm` asks the others"
        } else {
            "`toolcrib doctor` says why the others are not"
        };
        lines.push(format!(
            "           of the {} of {} whose tools are known; {rest}",
            counted(tokens.servers_known, "server"),
            tokens.servers
        ));
    }
    lines
}

fn show(context: &mut Context, report: &Report) {
    let Report {
        tokens,
        calls,
        cache,
        ..
    } = report;
    let ui = &mut context.ui;
    ui.line(format!("Since {} UTC", moment(report.since_ms)));
    ui.gap();
    for line in told(tokens) {
        ui.line(line);
    }
    ui.line(format!(
        "Calls:     {} ({} ok, {} failed, {} refused, {} not sent)",
        calls.total, calls.ok, calls.failed, calls.refused, calls.not_sent
    ));
    ui.line(format!("Searches:  {}", report.searches));
    ui.line(match cache.hit_rate {
        Some(rate) => format!(
            "Cache:     {:.1} % of {} lists were kept ones",
            rate * 100.0,
            cache.hits + cache.misses
        ),
        None => "Cache:     no list was needed".to_owned(),
    });
    if report.slowest.is_empty() {
        return;
    }
    let mut table = Table::new(["SLOWEST SERVER", "CALLS", "FAILED", "MEDIAN", "95 %"]);
    for pace in &report.slowest {
        table.row([
            pace.server.clone(),
            pace.calls.to_string(),
            pace.failed.to_string(),
            format!("{} ms", pace.median_ms),
            format!("{} ms", pace.p95_ms),
        ]);
    }
    ui.gap();
    ui.table(&table);
}

/// `12,345`.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_rates_counted() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(Cache::of(0, 0).hit_rate, None);
        assert_eq!(Cache::of(3, 1).hit_rate, Some(0.75));
    }

    #[test]
    fn a_loss_is_told_and_what_the_figures_cover() {
        let check = |(servers, servers_known), everything, is_open, expect: &[&str]| {
            let tokens = Tokens {
                servers,
                servers_known,
                tools: servers_known,
                everything,
                surface: 370,
                saved: usize::saturating_sub(everything, 370),
                lost: usize::saturating_sub(370, everything),
                is_open,
            };
            let told = told(&tokens);
            let told: Vec<&str> = told.iter().map(|line| line.trim_start()).collect();
            assert_eq!(told, expect);
        };
        check(
            (11, 1),
            65,
            true,
            &[
                "Tokens:    370 in every message instead of 65 for 1 tool exposed directly",
                "305 more than these alone each time; more tools make up for it",
                "of the 1 server of 11 whose tools are known; `toolcrib cache warm` asks the others",
            ],
        );
        check(
            (3, 2),
            740,
            false,
            &[
                "Tokens:    370 in every message instead of 740 for 2 tools exposed directly",
                "370 saved each time, 50 %",
                "of the 2 servers of 3 whose tools are known; `toolcrib doctor` says why the others are not",
            ],
        );
        check(
            (2, 2),
            370,
            false,
            &[
                "Tokens:    370 in every message instead of 370 for 2 tools exposed directly",
                "0 saved each time, 0 %",
            ],
        );
        check(
            (2, 0),
            0,
            true,
            &["Tokens:    no server was asked for its tools yet; `toolcrib cache warm` asks them"],
        );
    }

    #[test]
    fn the_slowest_come_first() {
        let server = |micros: &[i64]| Seen {
            micros: micros.to_vec(),
            failed: 1,
        };
        let seen = BTreeMap::from([
            ("a".to_owned(), server(&[1_000, 9_000, 2_000])),
            ("b".to_owned(), server(&[50_049])),
            ("c".to_owned(), server(&[])),
        ]);
        let slowest = slowest(seen, 2);
        assert_eq!(slowest.len(), 2);
        assert_eq!((&*slowest[0].server, slowest[0].p95_ms), ("b", 50.0));
        assert_eq!((&*slowest[1].server, slowest[1].median_ms), ("a", 2.0));
    }
}
