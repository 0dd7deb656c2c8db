//! `toolcrib audit`: what was asked, decided and done.

use std::collections::HashSet;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use toolcrib_config::output::{self, Former};
use toolcrib_core::{Code, limits, nearest};
use toolcrib_store::Store;
use toolcrib_store::audit::export::{csv_header, csv_rows, json_lines};
use toolcrib_store::audit::query::{Entry, Filter};
use toolcrib_store::audit::{Decision, Outcome};

use super::counter::{doing, server_names};
use super::memory::{moment, since_ms, with_store};
use super::shown::counted;
use super::{Context, now_ms};
use crate::failure::{Failure, exit};
use crate::known::Known;
use crate::ui::{Line, PROGRESS_DELAY, Progress, Table};

/// Read the audit log, and prove that nothing was taken out of it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib audit tail -n 50
  toolcrib audit search --server github --since 2d
  toolcrib audit export --format csv -o audit.csv
  toolcrib audit verify")]
pub struct Audit {
    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    /// Show the newest records
    ///
    /// With `--json` each record is one line of JSON, so that they can be read while they come.
    #[command(after_help = "\
Examples:
  toolcrib audit tail
  toolcrib audit tail --follow --json | jq .tool_id

Exit codes: 0 the records are shown, 1 wrong arguments, 2 the configuration does not load, 3 the \
store cannot be used.")]
    Tail {
        /// How many
        #[arg(
            short = 'n',
            long,
            visible_alias = "lines",
            value_name = "COUNT",
            default_value_t = 20
        )]
        limit: usize,
        /// Go on with records as they are written, until interrupted
        #[arg(short, long)]
        follow: bool,
        #[command(flatten)]
        which: Which,
    },
    /// Show the newest records that fit
    #[command(after_help = "\
Examples:
  toolcrib audit search --decision refused --since 2h
  toolcrib audit search --tool github:create_issue --json

Exit codes: 0 the records are shown, 1 wrong arguments, 2 the configuration does not load, 3 the \
store cannot be used.")]
    Search {
        /// Show at most so many
        #[arg(long, value_name = "COUNT", default_value_t = 100)]
        limit: usize,
        #[command(flatten)]
        which: Which,
    },
    /// Write records out as JSON Lines or CSV
    ///
    /// Standard output holds the records and nothing else; JSON Lines are one object a line, with `--json` as without.
    /// With `--output` and `--json` it says how many were written, and where.
    #[command(after_help = "\
Examples:
  toolcrib audit export > records.jsonl
  toolcrib audit export --format csv --since 7d --output week.csv

Exit codes: 0 the records are written, 1 wrong arguments, 2 the configuration does not load, 3 the \
file cannot be written, or the store cannot be used.")]
    Export {
        /// The form
        #[arg(long, value_enum, default_value = "jsonl")]
        format: Form,
        /// The file to write; standard output unless given
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        which: Which,
    },
    /// Check that no record was altered or removed
    #[command(after_help = "\
Examples:
  toolcrib audit verify

Exit codes: 0 the log is intact, 1 wrong arguments, 2 the configuration does not load, 3 it is not \
intact, or the store cannot be used.")]
    Verify,
}

/// How records are exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// One JSON object a line
    Jsonl,
    /// RFC 4180, with a line of names
    Csv,
}

/// Which records are wanted.
#[derive(Clone, Debug, Default, Args)]
struct Which {
    /// Not older than this: a date, a time, or a span before now such as `2h`
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Older than this
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
    /// Of this caller, such as `local` or `key:key-12ab`
    #[arg(long, value_name = "CALLER")]
    actor: Option<String>,
    /// Of this tool, as SERVER:TOOL
    #[arg(long, value_name = "SERVER:TOOL", add = super::completions::tool_id())]
    tool: Option<String>,
    /// Of any tool of this server
    #[arg(long, add = super::completions::server())]
    server: Option<String>,
    /// With this decision: allowed or refused
    #[arg(long, value_parser = decision)]
    decision: Option<Decision>,
    /// With this outcome, such as `ok`, `error` or `refused`
    #[arg(long, value_parser = outcome)]
    outcome: Option<Outcome>,
    /// With this error code
    #[arg(long, value_name = "CODE")]
    code: Option<String>,
    /// Of this request
    #[arg(long, value_name = "ID")]
    request: Option<String>,
    /// Of this trace
    #[arg(long, value_name = "ID")]
    trace: Option<String>,
    /// With parameters of this hash
    #[arg(long, value_name = "HASH")]
    params_hash: Option<String>,
}

fn decision(text: &str) -> Result<Decision, String> {
    Decision::parse(text).ok_or_else(|| one_of(text, Decision::ALL.iter().map(|d| d.as_str())))
}

fn outcome(text: &str) -> Result<Outcome, String> {
    Outcome::parse(text).ok_or_else(|| one_of(text, Outcome::ALL.iter().map(|o| o.as_str())))
}

fn one_of<'a>(text: &str, words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<&str> = words.collect();
    format!("{text} is none of {}", words.join(", "))
}

impl Which {
    fn filter(self, now: i64) -> Result<Filter, Failure> {
        let at = |text: Option<String>| -> Result<Option<i64>, Failure> {
            text.map(|text| since_ms(&text, now))
                .transpose()
                .map_err(Failure::usage)
        };
        Ok(Filter {
            since_ms: at(self.since)?,
            until_ms: at(self.until)?,
            actor_id: self.actor,
            tool_id: self.tool,
            server: self.server,
            decision: self.decision,
            outcome: self.outcome,
            error_code: self.code,
            request_id: self.request,
            trace_id: self.trace,
            params_hash: self.params_hash,
        })
    }
}

impl Audit {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        match self.command {
            AuditCommand::Tail {
                limit,
                follow,
                which,
            } => {
                let filter = which.filter(now_ms())?;
                with_store(context, async |context, store| {
                    tail(context, store, &filter, limit, follow).await
                })
            }
            AuditCommand::Search { limit, which } => {
                let filter = which.filter(now_ms())?;
                with_store(context, async |context, store| {
                    tail(context, store, &filter, limit, false).await
                })
            }
            AuditCommand::Export {
                format,
                output,
                which,
            } => {
                let filter = which.filter(now_ms())?;
                if context.ui.is_json() && form_is_no_json(format, output.as_deref()) {
                    return Err(Failure::usage(
                        "CSV is not JSON; leave out --json, or name a file with --output",
                    ));
                }
                with_store(context, async |context, store| {
                    export(context, store, filter, format, output.as_deref()).await
                })
            }
            AuditCommand::Verify => with_store(context, verify),
        }
    }
}

async fn tail(
    context: &mut Context,
    store: &Store,
    filter: &Filter,
    count: usize,
    follow: bool,
) -> Result<(), Failure> {
    // Taken first, so that nothing falls between what is shown and what follows.
    let mut position = store.audit_position().await?;
    let count = count.min(limits::AUDIT_PAGE_ROWS_MAX);
    let entries = store.audit_tail(filter, count).await?;
    if entries.is_empty() && !follow && !context.ui.is_json() {
        let is_empty = store.audit_tail(&Filter::default(), 1).await?.is_empty();
        if is_empty {
            let line = "Nothing was run yet; every call will leave a record here.";
            context.ui.line(line);
            return Ok(());
        }
        context.ui.line("No record fits.");
        if let Some(hint) = meant(context, filter) {
            context.ui.note(hint);
        }
        return Ok(());
    }
    show(context, &entries, true)?;
    if !follow {
        return Ok(());
    }
    let name = |entry: &Entry| (entry.writer_id.clone(), entry.seq);
    let shown: HashSet<(String, i64)> = entries.iter().map(name).collect();
    loop {
        // Whoever follows wants to see what is there.
        context.ui.finish().map_err(|error| unwritten(&error))?;
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(limits::AUDIT_FOLLOW_MS)) => {}
            _ = tokio::signal::ctrl_c() => return Ok(()),
        }
        let mut entries = store.audit_follow(filter, &mut position).await?;
        entries.retain(|entry| !shown.contains(&name(entry)));
        show(context, &entries, false)?;
    }
}

/// What was perhaps meant, where there is no server or tool of the name that was given.
fn meant(context: &Context, filter: &Filter) -> Option<String> {
    let config = context.loader().config().ok()?;
    let tool = filter.tool_id.as_deref();
    let of_tool = tool.and_then(|tool| tool.split_once(':'));
    let server = filter.server.as_deref();
    let unknown = |named: &str| {
        let near = nearest::nearest(named, server_names(&config), 1);
        let near = near.first().filter(|near| **near != named)?;
        Some(format!("There is no server {named}; did you mean {near}?"))
    };
    let of_server = server.or(of_tool.map(|(server, _)| server));
    of_server.and_then(unknown).or_else(|| {
        let known = context.known_tools(&config);
        meant_tool(&known, tool?)
    })
}

/// The tool that was perhaps meant, where none of that id is known; its server may have been left out.
fn meant_tool(known: &[Known], named: &str) -> Option<String> {
    let is_id = named.contains(':');
    let of = |tool: &Known| {
        let id = format!("{}:{}", tool.server, tool.tool);
        let name = if is_id { id.clone() } else { tool.tool.clone() };
        (name, id)
    };
    let candidates: Vec<(String, String)> = known.iter().map(of).collect();
    let near = nearest::nearest(named, candidates.iter().map(|(name, _)| name.as_str()), 1);
    let near = *near.first().filter(|near| !is_id || **near != named)?;
    let alike = candidates.iter().filter(|(name, _)| name == near);
    let meant = alike.take(limits::NEAREST_TOOLS_MAX);
    let meant: Vec<&str> = meant.map(|(_, id)| id.as_str()).collect();
    let meant = meant.join(" or ");
    Some(format!("No tool {named} is known; did you mean {meant}?"))
}

fn show(context: &mut Context, entries: &[Entry], head: bool) -> Result<(), Failure> {
    if context.ui.is_json() {
        let lines = text_of(|out| json_lines(out, entries))?;
        context.ui.json_lines(&lines);
        return Ok(());
    }
    if !head {
        for entry in entries {
            context.ui.line(Line::new().whole(row(entry).join("  ")));
        }
        return Ok(());
    }
    let mut table = Table::new(["TIME (UTC)", "ACTOR", "TOOL", "OUTCOME", "MS", "WHY"]);
    for entry in entries {
        table.row(row(entry));
    }
    context.ui.table(&table);
    Ok(())
}

fn row(entry: &Entry) -> [String; 6] {
    let record = &entry.record;
    let took = record.duration_us.map(|us| (us / 1000).to_string());
    [
        moment(record.timestamp_ms),
        record.actor_id.clone(),
        record.tool_id.clone(),
        record.outcome.as_str().to_owned(),
        took.unwrap_or_else(|| "-".to_owned()),
        record.reason.clone(),
    ]
}

/// Whether standard output would hold something else than JSON.
fn form_is_no_json(form: Form, output: Option<&Path>) -> bool {
    form == Form::Csv && output.is_none()
}

async fn export(
    context: &mut Context,
    store: &Store,
    filter: Filter,
    form: Form,
    output: Option<&Path>,
) -> Result<(), Failure> {
    let place = output.map(|path| context.surroundings.cwd.join(path));
    let shown = output.map_or_else(
        || "standard output".to_owned(),
        |path| context.surroundings.display(path),
    );
    let failed = |error: std::io::Error| Failure::unwritten(&shown, &error);
    let mut out = Output::open(output).map_err(failed)?;
    let mut waiting = Waiting::begin(context, &out);
    let mut written = 0;
    if form == Form::Csv {
        out.write(context, csv_header).map_err(failed)?;
    }
    let mut pages = store.audit_pages(filter);
    while let Some(page) = pages.next().await? {
        written += page.len();
        match (&mut out, form) {
            (Output::Standard, Form::Jsonl) => {
                let lines = text_of(|out| json_lines(out, &page))?;
                context.ui.json_lines(&lines);
            }
            (out, Form::Jsonl) => out
                .write(context, |out| json_lines(out, &page))
                .map_err(failed)?,
            (out, Form::Csv) => out
                .write(context, |out| csv_rows(out, &page))
                .map_err(failed)?,
        }
        waiting.tell(written);
    }
    drop(waiting);
    out.finish().map_err(failed)?;
    let Some(place) = place else {
        return Ok(());
    };
    if context.ui.is_json() {
        context
            .ui
            .json(&json!({ "written": written, "file": place.display().to_string() }));
    } else {
        context
            .ui
            .note(format!("wrote {} to {shown}", counted(written, "record")));
    }
    Ok(())
}

/// What a terminal is shown while an export takes its time.
struct Waiting {
    begun: Instant,
    progress: Option<Progress>,
    hidden: bool,
}

impl Waiting {
    /// Nothing yet, and nothing ever where the records themselves are seen.
    fn begin(context: &Context, out: &Output) -> Self {
        let records_seen = matches!(out, Output::Standard) && std::io::stdout().is_terminal();
        Self {
            begun: Instant::now(),
            progress: None,
            hidden: records_seen || context.ui.is_json(),
        }
    }

    fn tell(&mut self, written: usize) {
        if self.begun.elapsed() < PROGRESS_DELAY {
            return;
        }
        let hidden = self.hidden;
        let progress = self
            .progress
            .get_or_insert_with(|| Progress::spinner(hidden));
        progress.say(&format!("{written} records"));
    }
}

/// Where an export goes: what was named, or standard output.
enum Output {
    Named(output::Output),
    Standard,
}

impl Output {
    fn open(path: Option<&Path>) -> std::io::Result<Self> {
        let Some(path) = path else {
            return Ok(Self::Standard);
        };
        output::Output::open(path).map(Self::Named)
    }

    fn write(
        &mut self,
        context: &mut Context,
        text: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        text(&mut bytes)?;
        match self {
            Self::Named(named) => named.write_all(&bytes),
            Self::Standard => {
                context.ui.data(&String::from_utf8_lossy(&bytes));
                Ok(())
            }
        }
    }

    fn finish(self) -> std::io::Result<()> {
        match self {
            Self::Named(named) => named.finish(Former::Replaced),
            Self::Standard => Ok(()),
        }
    }
}

fn text_of(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    write(&mut bytes).map_err(|error| unwritten(&error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn unwritten(error: &std::io::Error) -> Failure {
    Failure::unwritten("standard output", error)
}

fn many(count: u64, what: &str) -> String {
    counted(usize::try_from(count).unwrap_or(usize::MAX), what)
}

async fn verify(context: &mut Context, store: &Store) -> Result<(), Failure> {
    let verdict = doing(context, "checking the audit log", store.audit_verify()).await?;
    if context.ui.is_json() {
        let problems: Vec<String> = verdict.problems.iter().map(ToString::to_string).collect();
        context.ui.json(&json!({
            "intact": verdict.is_intact(),
            "records": verdict.records,
            "writers": verdict.writers,
            "removed_by_retention": verdict.removed,
            "problems": problems,
            "problem_count": verdict.problem_count,
        }));
        // What is wrong stands in it; a second object would not be JSON any more.
        context.ui.mute();
    } else {
        let state = if verdict.is_intact() {
            "intact"
        } else {
            "not intact"
        };
        context
            .ui
            .line(Line::new().mark(verdict.is_intact()).text(format_args!(
                " The audit log is {state}: {} of {} checked, {} removed by retention",
                many(verdict.records, "record"),
                many(verdict.writers, "process"),
                verdict.removed
            )));
        for problem in &verdict.problems {
            context.ui.line(format!("  {problem}"));
        }
    }
    if verdict.is_intact() {
        return Ok(());
    }
    let mut failure = Failure::new(
        Code::AuditUnavailable,
        format!(
            "the audit log was tampered with or damaged in {}; keep the file and find out who could write to it",
            many(verdict.problem_count, "place")
        ),
    );
    failure.exit = exit::FAILED;
    Err(failure)
}
