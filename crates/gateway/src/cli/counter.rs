//! What commands share that go through the engine: they stand at the same counter as agents.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use toolcrib_config::load::Config;
use toolcrib_config::model::Server;
use toolcrib_core::limits;
use toolcrib_core::policy::Caller;
use toolcrib_core::{Code, nearest};

use super::memory::{Purpose, tell_closed};
use super::{Context, running};
use crate::engine::Engine;
use crate::engine::answer::ServerRow;
use crate::engine::connections::Users;
use crate::engine::error::Error;
use crate::engine::open_on;
use crate::failure::Failure;
use crate::storage;
use crate::telemetry::Tracer;
use crate::ui::{PROGRESS_DELAY, Progress};

/// Runs `work` at an engine of its own, on the user's configuration and store. Nothing is connected
/// before it is needed, and everything is closed at the end.
pub(super) fn with_engine<T>(
    context: &mut Context,
    work: impl AsyncFnOnce(&mut Context, &Arc<Engine>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    at_engine(context, Purpose::Change, work)
}

/// As [`with_engine`], for `work` that calls no tool: it goes on where the store can only be read.
pub(super) fn with_engine_to_look<T>(
    context: &mut Context,
    work: impl AsyncFnOnce(&mut Context, &Arc<Engine>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    at_engine(context, Purpose::Look, work)
}

fn at_engine<T>(
    context: &mut Context,
    purpose: Purpose,
    work: impl AsyncFnOnce(&mut Context, &Arc<Engine>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let config = Arc::new(context.loader().config()?);
    let grace = Duration::from_millis(limits::SHUTDOWN_GRACE_MS);
    running::runtime()?.block_on(async {
        let store = match purpose {
            Purpose::Change => storage::open(&config, &context.surroundings).await?,
            Purpose::Look => {
                let (store, closed) = storage::open_to_look(&config, &context.surroundings).await?;
                tell_closed(context, closed.as_ref());
                store
            }
        };
        let (users, tracer) = (Users::One, Tracer::off());
        let engine = open_on(store, config, &context.surroundings, users, tracer).await?;
        let outcome = work(context, &engine).await;
        engine.close(grace).await;
        // The record of a call may still wait for others to share its commit.
        engine.store().close().await;
        outcome
    })
}

/// How often the count of servers is brought up to date.
const COUNT: Duration = Duration::from_millis(100);

/// Waits for an answer that servers may have to be asked for. After half a second a terminal shows how
/// many have said their tools.
pub(super) async fn asking<T>(
    context: &Context,
    engine: &Engine,
    work: impl Future<Output = T>,
) -> T {
    let mut work = std::pin::pin!(work);
    if let Ok(done) = tokio::time::timeout(PROGRESS_DELAY, &mut work).await {
        return done;
    }
    let counted = || {
        let snapshot = engine.snapshot();
        let racks = snapshot.racks().filter(|rack| rack.supplier.enabled);
        racks.fold((0, 0), |(known, all), rack| {
            (known + usize::from(rack.is_known()), all + 1)
        })
    };
    let (known, all) = counted();
    let progress = Progress::new(all, context.ui.is_json());
    progress.reach(known);
    progress.say("asking servers for their tools");
    loop {
        match tokio::time::timeout(COUNT, &mut work).await {
            Ok(done) => return done,
            Err(_) => progress.reach(counted().0),
        }
    }
}

/// Waits for what counts its steps itself. After half a second a terminal shows them.
pub(super) async fn counting<T>(
    context: &Context,
    progress: &Progress,
    work: impl Future<Output = T>,
) -> T {
    let mut work = std::pin::pin!(work);
    if let Ok(done) = tokio::time::timeout(PROGRESS_DELAY, &mut work).await {
        return done;
    }
    progress.appear(context.ui.is_json());
    work.await
}

/// Waits for what has no steps. After half a second a terminal shows what it is, and the seconds.
pub(super) async fn doing<T>(context: &Context, what: &str, work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    if let Ok(done) = tokio::time::timeout(PROGRESS_DELAY, &mut work).await {
        return done;
    }
    let progress = Progress::spinner(context.ui.is_json());
    progress.say(what);
    work.await
}

/// The server and the tool that a command names, as two words or as SERVER:TOOL.
pub(super) fn named<'a>(server: &'a str, tool: Option<&'a str>) -> Option<(&'a str, &'a str)> {
    match tool {
        Some(tool) => Some((server, tool)),
        None => server.split_once(':'),
    }
}

/// What is said where a command of one tool does not get one.
pub(super) fn one_tool(command: &str) -> Failure {
    Failure::usage(format!(
        "which tool is not said; write `toolcrib {command} SERVER TOOL` or `toolcrib {command} SERVER:TOOL`, `toolcrib search` finds tools"
    ))
}

/// What is said of a server that is not among the known ones, in the words of the engine.
pub(super) fn unknown_server<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Failure {
    let hint = match nearest::nearest(name, known, 1).first() {
        Some(near) => format!("Did you mean {near}?"),
        None => "`toolcrib list` shows the servers".to_owned(),
    };
    let message = format!("There is no server {name}. {hint}");
    Failure::not_found(Code::ServerNotFound, message)
}

/// The names of all servers that are configured, those that are made of a REST API among them.
pub(super) fn server_names(config: &Config) -> impl Iterator<Item = &str> {
    let servers = config.servers.iter().map(|server| server.name.as_str());
    servers.chain(config.settings.adapters.keys().map(String::as_str))
}

/// The servers that were named, or all that are switched on.
pub(super) fn chosen(servers: &[Server], names: &[String]) -> Result<Vec<Server>, Failure> {
    if names.is_empty() {
        let on = servers.iter().filter(|server| server.enabled);
        return Ok(on.cloned().collect());
    }
    let find = |name: &String| {
        let found = servers.iter().find(|server| server.name == *name);
        found.cloned().ok_or_else(|| {
            let known = servers.iter().map(|server| server.name.as_str());
            unknown_server(name, known)
        })
    };
    names.iter().map(find).collect()
}

/// The person at the terminal.
pub(super) fn local(engine: &Engine) -> Caller {
    Caller::local(&engine.config().settings.policy)
}

/// What the engine advises callers of its doors, and the same in the words of the command line; the first that fits a
/// place holds there.
const IN_COMMANDS: [(&str, &str); 10] = [
    ("confirmed: true", "--confirmed"),
    ("; Provide idempotency_key", ", and give --idempotency-key"),
    ("Provide idempotency_key", "Give --idempotency-key"),
    ("idempotency_key", "--idempotency-key"),
    (
        "List the servers first",
        "`toolcrib list` shows the servers",
    ),
    (
        "Search for the tool first; ids are written `server:tool`",
        "`toolcrib search` finds tools, `toolcrib tools {server}` lists them",
    ),
    (
        "Correct the arguments as listed in violations",
        "`toolcrib inspect {server} {tool}` shows what it takes",
    ),
    (
        "have it enabled in `toolRules`",
        "change the rule; `toolcrib rules explain {server}:{tool}` says which",
    ),
    ("more time with `timeout`", "more time with --timeout"),
    ("eave out `select`", "eave out --select"),
];

/// Advice in the words of the command line, about a tool where one was named.
pub(super) fn in_commands(advice: &str, about: Option<(&str, &str)>) -> String {
    let (server, tool) = about.unwrap_or(("SERVER", "TOOL"));
    let worded = |advice: String, (said, command): &(&str, &str)| {
        let command = command.replace("{server}", server).replace("{tool}", tool);
        advice.replace(said, &command)
    };
    IN_COMMANDS.iter().fold(advice.to_owned(), worded)
}

/// A message in the words of the command line, where it begins with what was given.
pub(super) fn of_options(message: &str) -> String {
    for option in ["select", "pattern"] {
        if let Some(rest) = message.strip_prefix(&format!("`{option}`")) {
            return format!("--{option}{rest}");
        }
    }
    message.to_owned()
}

/// What the engine refused, as a command gives it back.
pub(super) fn refused(mut error: Box<Error>) -> Failure {
    let about = error.server.clone().zip(error.tool.clone());
    let about = about
        .as_ref()
        .map(|(server, tool)| (server.as_str(), tool.as_str()));
    error.suggestion = error.suggestion.map(|advice| in_commands(&advice, about));
    error.message = of_options(&error.message);
    let id = error.request_id.clone();
    let violations = error.more.violations.take().map(|found| found.listed);
    // The sentence names the first few; a person wants to mend them all at once.
    let further = violations.iter().flatten().map(ToString::to_string);
    let further = further.filter(|violation| !error.message.contains(violation));
    let further = further.collect::<Vec<_>>().join("; ");
    if !further.is_empty() {
        error.message = format!("{}; {further}.", error.message.trim_end_matches('.'));
    }
    let challenge = error
        .more
        .challenge
        .as_ref()
        .map(|waiting| waiting.id.clone());
    let nearest = error
        .more
        .nearest
        .iter()
        .map(|entry| entry.tool.id.to_string());
    let nearest: Vec<String> = nearest.collect();
    let mut failure = Failure::from(*error);
    if !nearest.is_empty() {
        failure = failure.with("nearest", nearest);
    }
    if let Some(violations) = violations {
        failure = failure.with("violations", serde_json::json!(violations));
    }
    let told = [("request_id", id), ("challenge", challenge)];
    for (name, value) in told {
        if let Some(value) = value {
            failure = failure.with(name, value);
        }
    }
    failure
}

/// Why servers could not be asked, by their names: for the person who runs them, what they and the system said.
pub(super) async fn troubles(engine: &Arc<Engine>, caller: &Caller) -> BTreeMap<String, String> {
    let found = engine.list_servers(caller).await;
    let rows = found.map(|found| found.servers).unwrap_or_default();
    let why = |row: ServerRow| row.standing.reason.map(|reason| (row.name, reason));
    rows.into_iter().filter_map(why).collect()
}

/// What the engine refused, and why the server behind it could not be reached where that is it.
pub(super) async fn explained(engine: &Arc<Engine>, caller: &Caller, error: Box<Error>) -> Failure {
    let (code, server) = (error.code, error.server.clone());
    let failure = refused(error);
    let of_server = matches!(code, Code::ServerConnectionError | Code::ToolExecutionError);
    let Some(server) = server.filter(|_| of_server) else {
        return failure;
    };
    match troubles(engine, caller).await.remove(&*server) {
        Some(reason) if !failure.message.contains(&reason) => Failure {
            message: format!("{}\nWhy: {reason}", failure.message),
            ..failure
        }
        .with("reason", reason),
        _ => failure,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The program text below a directory, without its tests.
    fn sources(place: &Path) -> String {
        let mut found = String::new();
        for entry in std::fs::read_dir(place).unwrap() {
            let path = entry.unwrap().path();
            let is_test = path.file_stem().is_some_and(|name| name == "tests");
            if path.is_dir() && !is_test {
                found += &sources(&path);
            } else if path.is_file() && !is_test {
                let text = std::fs::read_to_string(&path).unwrap();
                found += text.split("#[cfg(test)]").next().unwrap();
            }
        }
        found
    }

    #[test]
    fn advice_that_is_worded_anew_is_still_given_in_these_words() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let said = sources(&here.join("src/engine")) + &sources(&here.join("../core/src"));
        for (words, _) in IN_COMMANDS {
            // What stands in the way together is joined by it.
            let words = words.trim_start_matches("; ");
            assert!(said.contains(words), "nothing advises {words:?} any more");
        }
    }

    #[test]
    fn advice_of_the_policy_names_options_of_the_command_line() {
        let check = |advice: &str, expect: &str| {
            assert_eq!(in_commands(advice, Some(("a", "b"))), expect);
        };
        check(
            "Add confirmed: true to proceed; Provide idempotency_key, a new one for each intended effect",
            "Add --confirmed to proceed, and give --idempotency-key, a new one for each intended effect",
        );
        check(
            "Choose another tool, or have it enabled in `toolRules`",
            "Choose another tool, or change the rule; `toolcrib rules explain a:b` says which",
        );
    }
}
