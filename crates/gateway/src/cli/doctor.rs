//! `toolcrib doctor`: looks at everything that can go wrong, and ends with what to do.

use std::io::Write as _;
use std::path::Path;

use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use toolcrib_config::Severity;
use toolcrib_config::load::Config;
use toolcrib_core::Code;
use toolcrib_core::limits::DISK_PROBE_BYTES;
use toolcrib_store::StoreError;

use super::shown::counted;
use super::{Context, now_ms, running};
use crate::failure::Failure;
use crate::known;
use crate::storage;
use crate::ui::{Line, Tone};

mod clients;
mod servers;

/// Check configuration, servers, store, cache, clock and clients, and say what to do
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib doctor                check everything; every server is started or called once
  toolcrib doctor github files   of the servers, only these
  toolcrib doctor --offline      connect to nothing
  toolcrib doctor --json         the same for programs

Exit codes: 0 all is well or only worth knowing, 1 wrong arguments, 2 the configuration or \
another file or place of this machine is broken, 3 a server or the store cannot be used.")]
pub struct Doctor {
    /// Only these servers; all of them unless given
    #[arg(value_name = "SERVER", add = super::completions::server())]
    servers: Vec<String>,
    /// Connect to no server
    #[arg(long)]
    offline: bool,
}

/// How something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    /// As it should be.
    Good,
    /// Nobody asked.
    Unasked,
    /// It works, and is worth knowing.
    Warning,
    /// It does not work.
    Bad,
}

/// One thing that was looked at.
#[derive(Clone, Debug, Serialize)]
struct Check {
    /// Which part it belongs to.
    area: &'static str,
    /// What was looked at.
    name: String,
    state: State,
    /// What was found, in a sentence.
    message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
    /// What programs may want to know beside.
    #[serde(flatten)]
    more: serde_json::Map<String, Value>,
}

impl Check {
    fn new(
        area: &'static str,
        name: impl Into<String>,
        state: State,
        message: impl Into<String>,
    ) -> Self {
        Self {
            area,
            name: name.into(),
            state,
            message: message.into(),
            advice: None,
            more: serde_json::Map::new(),
        }
    }

    fn good(area: &'static str, name: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(area, name, State::Good, message)
    }

    fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.more.insert(name.to_owned(), value.into());
        self
    }
}

impl Doctor {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        let (config, findings) = context.loader().inspect()?;
        for name in &self.servers {
            if !servers::has(&config, name) {
                return Err(servers::unknown(&config, name));
            }
        }
        let mut checks = vec![configuration(context, &config, &findings)];
        let broken = checks[0].state == State::Bad;
        let runtime = running::runtime()?;
        checks.extend(runtime.block_on(async {
            let (store, opened) = store(context, &config).await;
            let mut checks = vec![processes(context).await, opened, cache(context, &config)];
            checks.push(clock(store.as_ref()).await);
            checks.extend(clients::check(context));
            let found = servers::check(context, &config, store.as_ref(), &self).await;
            checks.extend(found);
            if let Some(store) = store {
                // Servers that were asked may have brought what waits.
                checks[1] = waiting(&store, checks[1].clone()).await;
                store.close().await;
            }
            checks
        }));
        tell(context, &checks);
        ended(context, &checks, broken)
    }
}

fn configuration(
    context: &Context,
    config: &Config,
    findings: &[toolcrib_config::Diagnostic],
) -> Check {
    let count = |severity| findings.iter().filter(|f| f.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let place = config.path.as_ref().map_or_else(
        || "no file of ours; the servers of other clients are used as they are".to_owned(),
        |path| context.surroundings.display(path),
    );
    let mut servers = counted(config.servers.len(), "server");
    let adapters = config.settings.adapters.len();
    if adapters > 0 {
        servers = format!("{servers}, {}", counted(adapters, "adapter"));
    }
    let check = if errors > 0 {
        let first = findings.iter().find(|f| f.severity == Severity::Error);
        let first = first.map(|f| f.message.clone()).unwrap_or_default();
        let message = format!("{place}: {}, the first: {first}", counted(errors, "error"));
        Check::new("configuration", "files", State::Bad, message)
            .advise("correct what `toolcrib config validate` shows; until then nothing runs")
    } else if warnings > 0 {
        let message = format!("{place}: {servers}, {}", counted(warnings, "warning"));
        Check::new("configuration", "files", State::Warning, message)
            .advise("read the warnings of `toolcrib config validate`")
    } else {
        Check::good("configuration", "files", format!("{place}: {servers}"))
    };
    check.with("file", json!(config.path))
}

async fn processes(context: &Context) -> Check {
    let running = running::all(&context.control_place()).await.len();
    let message = match running {
        0 => "no process is running; clients start one when they need it".to_owned(),
        1 => "1 process is running".to_owned(),
        n => format!("{n} processes are running"),
    };
    Check::good("processes", "processes", message).with("count", running)
}

async fn store(context: &Context, config: &Config) -> (Option<toolcrib_store::Store>, Check) {
    let path = storage::path(config, &context.surroundings);
    let shown = context.surroundings.display(&path);
    let opened = storage::open(config, &context.surroundings).await;
    match opened {
        Ok(store) => {
            let size = std::fs::metadata(&path).map_or(0, |found| found.len());
            let good = || Check::good("store", "database", format!("{shown}, {}", bytes(size)));
            let hindrance = hindrance(&store, &path, &shown).await;
            let check = hindrance.unwrap_or_else(good);
            (
                Some(store),
                check.with("file", json!(path)).with("bytes", size),
            )
        }
        Err(error) => (
            None,
            unusable(&error, &path, &shown).with("file", json!(path)),
        ),
    }
}

/// What keeps records from finding a place, where something does: the log of the store may have room for the next one
/// and the disk none for those behind it.
async fn hindrance(store: &toolcrib_store::Store, path: &Path, shown: &str) -> Option<Check> {
    if let Err(error) = store.try_write().await {
        return Some(unusable(&error, path, shown));
    }
    let error = writable(path.parent()?).err()?;
    if is_full(&error) {
        return Some(unusable(&StoreError::Full, path, shown));
    }
    let why = Failure::unwritten_for(&error);
    let message = format!("{shown}: files cannot be written beside it: {why}");
    Some(Check::new("store", "database", State::Bad, message).advise(WRITE))
}

fn is_full(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
    )
}

fn unusable(error: &StoreError, path: &Path, shown: &str) -> Check {
    // Most of the sentences name the file themselves.
    let said = error.to_string();
    let named = said.replace(&path.display().to_string(), shown);
    let message = if named == said {
        format!("{shown}: {said}")
    } else {
        named
    };
    Check::new("store", "database", State::Bad, message).advise(remedy(error))
}

/// What helps where the store cannot be opened.
fn remedy(error: &StoreError) -> &'static str {
    match error {
        StoreError::Corrupt { .. } | StoreError::Foreign { .. } => {
            "move the file away and put a backup in its place or start with a new one, or name another in `store.path`; without it nothing is run"
        }
        StoreError::Newer { .. } => {
            "update Toolcrib, or name another file in `store.path`; without it nothing is run"
        }
        StoreError::Full => "make room on the disk; without the store nothing is run",
        StoreError::Locked { .. } => "end the program that holds it; without it nothing is run",
        _ => WRITE,
    }
}

/// What helps where nothing can be written.
const WRITE: &str = "see that the file and its directory can be written, or name another in `store.path`; without it nothing is run";

/// What is said of the store where tools wait in it.
async fn waiting(store: &toolcrib_store::Store, check: Check) -> Check {
    let waiting = store.pending_tools().await.map(|all| all.values().sum());
    let waiting: i64 = waiting.unwrap_or_default();
    if waiting == 0 || check.state == State::Bad {
        return check;
    }
    let many = counted(usize::try_from(waiting).unwrap_or(usize::MAX), "tool");
    Check {
        state: State::Warning,
        message: format!("{}; {many} waiting for approval", check.message),
        ..check
    }
    .advise("look at `toolcrib approvals list`")
}

fn cache(context: &Context, config: &Config) -> Check {
    let lists = known::kept_lists(config, &context.surroundings);
    let directory = lists.directory().to_owned();
    let shown = context.surroundings.display(&directory);
    let enabled = config
        .settings
        .cache
        .as_ref()
        .is_none_or(|cache| cache.enabled);
    if !enabled {
        return Check::new(
            "cache",
            "tool lists",
            State::Warning,
            "switched off; every start asks every server",
        )
        .advise("set `cache.enabled: true` unless that is meant");
    }
    let (mut kept, mut stale) = (0, 0);
    for server in config.servers.iter().filter(|server| server.enabled) {
        if let Some(list) = lists.get_tools(&server.name, &server.fingerprint(), now_ms()) {
            kept += 1;
            stale += usize::from(list.stale);
        }
    }
    if let Err(error) = writable(&directory) {
        return Check::new(
            "cache",
            "tool lists",
            State::Bad,
            format!(
                "{shown} cannot be written: {}",
                Failure::unwritten_for(&error)
            ),
        )
        .advise(if is_full(&error) {
            "make room on the disk, or name another directory in `cache.directory`"
        } else {
            "see that the directory can be written, or name another in `cache.directory`"
        });
    }
    let message = match (kept, stale) {
        (0, _) => format!("{shown} holds no list yet"),
        (_, 0) => format!("{shown} holds the lists of {}", counted(kept, "server")),
        _ => format!(
            "{shown} holds the lists of {}, {stale} of them old",
            counted(kept, "server")
        ),
    };
    Check::good("cache", "tool lists", message)
        .with("directory", json!(directory))
        .with("kept", kept)
        .with("stale", stale)
}

/// Whether files can be made and filled in a directory, or the directory itself where it is missing.
fn writable(directory: &Path) -> std::io::Result<()> {
    let there = directory.ancestors().find(|folder| folder.exists());
    let there = there.ok_or(std::io::ErrorKind::NotFound)?;
    if !there.is_dir() {
        return Err(std::io::ErrorKind::NotADirectory.into());
    }
    let mut file = tempfile::NamedTempFile::new_in(there)?;
    file.write_all(&vec![0; DISK_PROBE_BYTES])?;
    file.as_file().sync_data()
}

/// Before this no release was made: a clock that says so is wrong. 2026-01-01.
const FIRST_RELEASE_MS: i64 = 1_767_225_600_000;

/// How far ahead of the clock a record may be. A minute.
const AHEAD_MS: i64 = 60_000;

async fn clock(store: Option<&toolcrib_store::Store>) -> Check {
    let now = now_ms();
    let last = match store {
        Some(store) => store
            .audit_tail(&toolcrib_store::audit::query::Filter::default(), 1)
            .await
            .ok(),
        None => None,
    };
    let last = last.and_then(|entries| entries.last().map(|entry| entry.record.timestamp_ms));
    judged_clock(now, last).with("now", super::memory::moment(now))
}

fn judged_clock(now: i64, last: Option<i64>) -> Check {
    let shown = super::memory::moment(now);
    if now < FIRST_RELEASE_MS {
        return Check::new(
            "clock",
            "system time",
            State::Bad,
            format!("it is set to {shown} UTC"),
        )
        .advise("set the clock of this machine; certificates and tokens are judged by it");
    }
    match last {
        Some(last) if last - now > AHEAD_MS => {
            let message = format!(
                "it says {shown} UTC, and the newest audit record is from {}",
                super::memory::moment(last)
            );
            Check::new("clock", "system time", State::Warning, message)
                .advise("set the clock of this machine; it went back since the last call")
        }
        _ => Check::good("clock", "system time", format!("{shown} UTC")),
    }
}

fn bytes(size: u64) -> String {
    const KIB: u64 = 1024;
    match size {
        0..KIB => format!("{size} B"),
        _ if size < KIB * KIB => format!("{} KiB", size.div_ceil(KIB)),
        _ => format!("{} MiB", size.div_ceil(KIB * KIB)),
    }
}

/// What to do, worst first, each thing once.
fn todo(checks: &[Check]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for state in [State::Bad, State::Warning] {
        for check in checks.iter().filter(|check| check.state == state) {
            let Some(advice) = &check.advice else {
                continue;
            };
            let line = match check.area {
                "servers" | "clients" if check.name != "all" => format!("{}: {advice}", check.name),
                area => format!("{area}: {advice}"),
            };
            if !all.contains(&line) {
                all.push(line);
            }
        }
    }
    all
}

fn tell(context: &mut Context, checks: &[Check]) {
    let todo = todo(checks);
    let bad = checks
        .iter()
        .filter(|check| check.state == State::Bad)
        .count();
    if context.ui.is_json() {
        context
            .ui
            .json(&json!({ "ok": bad == 0, "checks": checks, "todo": todo }));
        return;
    }
    let mut area = "";
    for check in checks {
        if check.area != area {
            if !area.is_empty() {
                context.ui.gap();
            }
            area = check.area;
            let mut title: String = area.to_owned();
            title[..1].make_ascii_uppercase();
            context.ui.line(Line::new().tone(Tone::Strong, title));
        }
        let line = match check.state {
            State::Good => Line::new().text("  ").mark(true),
            State::Unasked => Line::new().text("  ").neutral(),
            State::Warning => Line::new().text("  ").doubt(),
            State::Bad => Line::new().text("  ").mark(false),
        };
        let name = format!(" {}: ", check.name);
        context.ui.line(line.text(name).text(&check.message));
    }
    context.ui.gap();
    if todo.is_empty() {
        let unasked = checks.iter().any(is_unasked);
        context.ui.line(if unasked {
            "Nothing wrong was found in what was looked at; `toolcrib doctor` without --offline asks the servers too."
        } else {
            "All is well; there is nothing to do."
        });
        return;
    }
    context.ui.line("What to do:");
    for (number, line) in (1..).zip(todo) {
        context.ui.line(format!("  {number}. {line}"));
    }
}

/// Whether it is a server that would have been asked without `--offline`.
fn is_unasked(check: &Check) -> bool {
    check.state == State::Unasked && !check.more.contains_key("enabled")
}

/// Nothing more is printed where the report was JSON: it has said everything.
fn ended(context: &mut Context, checks: &[Check], broken: bool) -> Result<(), Failure> {
    let bad: Vec<&Check> = checks
        .iter()
        .filter(|check| check.state == State::Bad)
        .collect();
    if bad.is_empty() {
        return Ok(());
    }
    if context.ui.is_json() {
        context.ui.mute();
    }
    let many = match bad.len() {
        1 => "1 thing is broken".to_owned(),
        n => format!("{n} things are broken"),
    };
    let message = format!("{many}; the list above says what to do");
    if broken {
        return Err(Failure::configuration(message));
    }
    let in_area = |area| bad.iter().any(|check| check.area == area);
    if in_area("servers") {
        return Err(Failure::new(Code::ServerConnectionError, message));
    }
    if in_area("store") {
        return Err(Failure::new(Code::AuditUnavailable, message));
    }
    Err(Failure::configuration(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_wrong_is_told() {
        let check = |now, last, expect: State| {
            let found = judged_clock(now, last);
            assert_eq!(found.state, expect, "{found:?}");
            assert_eq!(found.advice.is_some(), expect != State::Good);
        };
        let now = FIRST_RELEASE_MS + 1_000;
        check(now, None, State::Good);
        check(now, Some(now + AHEAD_MS), State::Good);
        check(now, Some(now + AHEAD_MS + 1), State::Warning);
        check(FIRST_RELEASE_MS - 1, None, State::Bad);
    }

    #[test]
    fn what_to_do_is_said_worst_first_and_once() {
        let checks = [
            Check::good("store", "database", "fine"),
            Check::new("cache", "x", State::Warning, "meh").advise("do this"),
            Check::new("servers", "a", State::Bad, "gone").advise("start it"),
            Check::new("cache", "y", State::Warning, "meh").advise("do this"),
        ];
        assert_eq!(todo(&checks), ["a: start it", "cache: do this"]);
    }

    #[test]
    fn sizes_and_counts_read_well() {
        assert_eq!(bytes(10), "10 B");
        assert_eq!(bytes(1025), "2 KiB");
        assert_eq!(bytes(3 * 1024 * 1024), "3 MiB");
    }
}
