//! Every server and API: started or called once, timed, and what is wrong with it in a sentence.

use std::sync::Arc;
use std::time::Instant;

use futures::StreamExt;
use toolcrib_config::load::Config;
use toolcrib_store::Store;
use toolcrib_upstream::mcp::oauth::TokenStore;
use toolcrib_upstream::rest;

use super::{Check, Doctor, State, counted};
use crate::cli::counter::{counting, unknown_server};
use crate::cli::{Context, now_ms};
use crate::engine::clock::Clock;
use crate::engine::connections::{Connections, Users};
use crate::engine::discovery::DiscoveryError;
use crate::engine::observe_list;
use crate::engine::upstream::{List, Upstream as _, Wish};
use crate::failure::Failure;
use crate::tokens::Tokens;
use crate::ui::Progress;

const AREA: &str = "servers";

/// What is slower than this to give its list is worth knowing, in milliseconds.
const SLOW_MS: u128 = 10_000;

/// One server or API of the configuration.
struct Named {
    name: String,
    enabled: bool,
    declares: bool,
    way: Way,
}

/// How it is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// As a process of this machine.
    Process,
    /// At an address.
    Remote,
    /// As a REST API, by its description.
    Api,
}

fn all(config: &Config) -> Vec<Named> {
    use toolcrib_config::model::server::Transport;
    let servers = config.servers.iter().map(|server| Named {
        name: server.name.clone(),
        enabled: server.enabled,
        declares: !server.tools.is_empty(),
        way: match server.transport {
            Transport::Stdio(_) => Way::Process,
            Transport::Http(_) | Transport::Sse(_) => Way::Remote,
        },
    });
    let known: Vec<Named> = servers.collect();
    let adapters = config.settings.adapters.iter();
    let adapters = adapters
        .filter(|(name, _)| !known.iter().any(|server| server.name == **name))
        .map(|(name, adapter)| Named {
            name: name.clone(),
            enabled: adapter.enabled.0,
            declares: false,
            way: Way::Api,
        });
    let adapters: Vec<Named> = adapters.collect();
    known.into_iter().chain(adapters).collect()
}

/// Whether the configuration has a server or API of that name.
pub(super) fn has(config: &Config, name: &str) -> bool {
    all(config).iter().any(|server| server.name == name)
}

/// What is said of a name that is none.
pub(super) fn unknown(config: &Config, name: &str) -> Failure {
    let all = all(config);
    let known = all.iter().map(|server| server.name.as_str());
    unknown_server(name, known)
}

/// Asks every server that is wanted for its tools.
pub(super) async fn check(
    context: &Context,
    config: &Config,
    store: Option<&Store>,
    asked: &Doctor,
) -> Vec<Check> {
    let wanted = |server: &Named| asked.servers.is_empty() || asked.servers.contains(&server.name);
    let (on, off): (Vec<Named>, Vec<Named>) = all(config)
        .into_iter()
        .filter(wanted)
        .partition(|server| server.enabled);
    if on.is_empty() && off.is_empty() {
        let none = Check::new(AREA, "all", State::Warning, "there are none")
            .advise("`toolcrib import` shows the servers of your clients, `toolcrib registry search` finds others");
        return vec![none];
    }
    let mut found = if asked.offline {
        on.into_iter()
            .map(|server| Check::new(AREA, server.name, State::Unasked, "not asked"))
            .collect()
    } else {
        ask_all(context, config, store, on).await
    };
    let off = off.into_iter();
    found.extend(off.map(|server| {
        let check = Check::new(AREA, server.name, State::Unasked, "switched off");
        check.with("enabled", false)
    }));
    found
}

async fn ask_all(
    context: &Context,
    config: &Config,
    store: Option<&Store>,
    servers: Vec<Named>,
) -> Vec<Check> {
    let tokens: Option<Arc<dyn TokenStore>> =
        store.map(|store| Arc::new(Tokens::new(store.clone(), now_ms)) as Arc<dyn TokenStore>);
    let surroundings = context.surroundings.clone();
    let connections = Connections::new(Users::Many, surroundings, tokens, Clock::system());
    // A copy of what the loader gave: the connections keep it.
    let Ok(loaded) = context.loader().config() else {
        let message = "not asked, because the configuration does not load";
        let named = servers.into_iter();
        return named
            .map(|server| Check::new(AREA, server.name, State::Warning, message))
            .collect();
    };
    let loaded = Arc::new(loaded);
    connections.configure(&loaded);
    let visit = Visit {
        connections: &connections,
        config: &loaded,
        store,
        file: loaded.path.as_ref().map_or_else(
            || "the configuration".to_owned(),
            |path| context.surroundings.display(path),
        ),
    };
    let parallel = usize::try_from(config.settings.limits.parallel_discoveries).unwrap_or(1);
    let progress = Progress::waiting(servers.len());
    let asking = futures::stream::iter(servers.iter().enumerate())
        .map(|(index, server)| {
            let (visit, progress) = (&visit, &progress);
            async move {
                progress.say(&format!("asking {}", server.name));
                let check = visit.ask(server).await;
                progress.step();
                (index, check)
            }
        })
        .buffer_unordered(parallel.max(1))
        .collect();
    let mut found: Vec<(usize, Check)> = counting(context, &progress, asking).await;
    drop(progress);
    connections.close().await;
    found.sort_by_key(|(index, _)| *index);
    found.into_iter().map(|(_, check)| check).collect()
}

/// What a look at servers is made with.
struct Visit<'a> {
    connections: &'a Connections,
    config: &'a Arc<Config>,
    store: Option<&'a Store>,
    /// The configuration file, as a person writes it.
    file: String,
}

impl Visit<'_> {
    async fn ask(&self, server: &Named) -> Check {
        if let Some(why) = self.config.set_aside.get(&server.name) {
            let why = format!("set aside: {why}");
            let advice = "set the variable where Toolcrib is started, or give a default with ${NAME:-…} in the configuration";
            return Check::new(AREA, &server.name, State::Bad, why).advise(advice);
        }
        let connections = self.connections;
        let begun = Instant::now();
        let listed = connections.list(&server.name, Wish::Anew).await;
        let ms = begun.elapsed().as_millis();
        let status = connections.pool().status(&server.name);
        let version = status.and_then(|status| status.version);
        let check = match listed {
            Ok(listed) => {
                let tools = match &listed.list {
                    List::Definitions(items) => items.len(),
                    List::Operations(offers) => offers.len(),
                };
                let spoken = version.as_deref().map_or_else(
                    || "REST".to_owned(),
                    |version| format!("MCP {version} ({})", era(version)),
                );
                let message = format!("{} in {}, {spoken}", counted(tools, "tool"), time(ms));
                let check = if ms > SLOW_MS {
                    Check::new(AREA, &server.name, State::Warning, message).advise(
                        "it is slow to start; its list is kept, so only the first call waits",
                    )
                } else if tools == 0 {
                    Check::new(AREA, &server.name, State::Warning, message)
                        .advise("it offers no tools; check its arguments and credentials")
                } else {
                    Check::good(AREA, &server.name, message)
                };
                self.note(server, listed.list).await;
                let check = match self.trouble(server).await {
                    Some(failure) => self.uncallable(server, check, &failure),
                    None => check,
                };
                check.with("tools", tools)
            }
            Err(error) => {
                let advice = advice(&error, server);
                let message = timed(&said(&error, server), ms);
                Check::new(AREA, &server.name, State::Bad, message).advise(advice)
            }
        };
        let ms = u64::try_from(ms).unwrap_or(u64::MAX);
        let check = check.with("ms", ms).with("declares", server.declares);
        match version {
            Some(version) => check.with("era", era(&version)).with("protocol", version),
            None => check,
        }
    }

    /// What would keep the calls of an API from being made.
    async fn trouble(&self, server: &Named) -> Option<rest::Failure> {
        let adapter = self.connections.described(&server.name)?;
        adapter.reach().await.err()
    }

    /// What is said of an API whose description is fine and that cannot be called, and what to set.
    fn uncallable(&self, server: &Named, check: Check, failure: &rest::Failure) -> Check {
        let (name, file) = (&server.name, &self.file);
        let advice = match failure {
            rest::Failure::Private(_) => format!(
                "set `adapters.{name}.allowPrivateAddresses: true` in {file} if that address is meant, or another `baseUrl`"
            ),
            _ => format!(
                "see that the API runs and the network leads there, or set `adapters.{name}.baseUrl` in {file}"
            ),
        };
        let message = match failure {
            rest::Failure::Private(host) => {
                format!("calls would be refused: {host} leads to a private or link-local address")
            }
            failure => format!("its description is read, but {failure}"),
        };
        Check {
            state: State::Bad,
            message,
            ..check
        }
        .advise(advice)
    }

    /// Puts down what changed, so that it waits from now on.
    async fn note(&self, server: &Named, list: List) {
        let Some(store) = self.store else {
            return;
        };
        let noted = observe_list(self.config, store, &server.name, list, now_ms()).await;
        if let Err(error) = noted {
            tracing::warn!(server = server.name, %error, "what changed cannot be put down");
        }
    }
}

/// The first revision without a handshake; revisions are dates, so they sort as text.
const MODERN: &str = "2026-07-28";

fn era(version: &str) -> &'static str {
    if version < MODERN { "legacy" } else { "modern" }
}

fn time(ms: u128) -> String {
    if ms < 1_000 {
        format!("{ms} ms")
    } else {
        format!("{}.{} s", ms / 1_000, ms % 1_000 / 100)
    }
}

/// What is wrong and after how long that was clear, before what the server itself said.
fn timed(said: &str, ms: u128) -> String {
    let (wrong, words) = said.split_at(said.find(ITS_WORDS).unwrap_or(said.len()));
    format!("{wrong}, after {}{words}", time(ms))
}

/// What stands before the words of a server.
const ITS_WORDS: &str = "; it said: ";

/// What is wrong, without what the advice says of it.
fn said(error: &DiscoveryError, server: &Named) -> String {
    match error {
        DiscoveryError::ConnectionFailed(why) | DiscoveryError::StartFailed(why)
            if server.way == Way::Api =>
        {
            why.clone()
        }
        DiscoveryError::AuthenticationFailed(hint) => match login(hint, server) {
            Some((_, words)) => format!("it refuses the credentials{words}"),
            None => error.reason(),
        },
        error => error.reason(),
    }
}

/// Where a hint says how to log in to this server: that, and what the server itself said.
fn login<'a>(hint: &'a str, server: &Named) -> Option<(&'a str, &'a str)> {
    if !hint.contains(&format!("`toolcrib login {}`", server.name)) {
        return None;
    }
    Some(hint.split_at(hint.find(ITS_WORDS).unwrap_or(hint.len())))
}

fn advice(error: &DiscoveryError, server: &Named) -> String {
    let name = &server.name;
    match error {
        DiscoveryError::AuthenticationFailed(hint) if login(hint, server).is_some() => {
            login(hint, server).map_or_else(String::new, |(how, _)| how.to_owned())
        }
        DiscoveryError::AuthenticationFailed(_) if server.way == Way::Remote => {
            format!("run `toolcrib login {name}`, or set its headers in the configuration")
        }
        DiscoveryError::AuthenticationFailed(_) => {
            "set the token that it needs in its `env`".to_owned()
        }
        DiscoveryError::Timeout(..) => {
            "start it by hand to see what it waits for; raise `startTimeoutMs` if it is just slow".to_owned()
        }
        DiscoveryError::RateLimited(wait) => {
            format!("try again in {} s", wait.as_secs_f64().ceil())
        }
        DiscoveryError::SessionInitFailed(_) => {
            "check its command or address: what answers is no MCP server".to_owned()
        }
        DiscoveryError::ConnectionFailed(_) | DiscoveryError::StartFailed(_) if server.way == Way::Api => format!(
            "correct `adapters.{name}` in the configuration: `spec` says where its description is, `auth` where its secret is"
        ),
        DiscoveryError::ConnectionFailed(_) if server.way == Way::Remote => {
            "check its address and the network".to_owned()
        }
        DiscoveryError::ConnectionFailed(_) | DiscoveryError::StartFailed(_) => {
            "run its command by hand; install what is missing, or take it out of the configuration".to_owned()
        }
        DiscoveryError::ToolsListFailed(_)
        | DiscoveryError::SchemaConversionFailed(_)
        | DiscoveryError::Registry(_) => {
            "report it to its maker with the sentence above; the other servers are not touched by it".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use DiscoveryError as E;

    use super::*;

    #[test]
    fn every_failure_has_its_advice() {
        let check = |error: E, way, part: &str| {
            let named = Named {
                name: "x".to_owned(),
                enabled: true,
                declares: false,
                way,
            };
            let advice = advice(&error, &named);
            assert!(advice.contains(part), "{error:?}: {advice}");
        };
        let (process, remote) = (Way::Process, Way::Remote);
        check(
            E::AuthenticationFailed(String::new()),
            remote,
            "toolcrib login x",
        );
        check(E::AuthenticationFailed(String::new()), process, "`env`");
        check(
            E::Timeout(Duration::ZERO, String::new()),
            remote,
            "startTimeoutMs",
        );
        let wait = Duration::from_millis(6_500);
        check(E::RateLimited(wait), remote, "try again in 7 s");
        check(E::SessionInitFailed(String::new()), remote, "no MCP server");
        check(E::ConnectionFailed(String::new()), remote, "network");
        check(E::ConnectionFailed(String::new()), process, "by hand");
        check(E::StartFailed(String::new()), process, "by hand");
        check(E::ConnectionFailed(String::new()), Way::Api, "adapters.x");
        check(E::ToolsListFailed(String::new()), process, "maker");
    }

    #[test]
    fn how_to_log_in_is_said_once() {
        let named = Named {
            name: "x".to_owned(),
            enabled: true,
            declares: false,
            way: Way::Remote,
        };
        let hint = "run `toolcrib login x`, or put a token into X; it said: no";
        let error = E::AuthenticationFailed(hint.to_owned());
        assert_eq!(
            said(&error, &named),
            "it refuses the credentials; it said: no"
        );
        assert_eq!(
            advice(&error, &named),
            "run `toolcrib login x`, or put a token into X"
        );
    }

    #[test]
    fn eras_and_times_are_told() {
        assert_eq!((era("2025-11-25"), era("2026-07-28")), ("legacy", "modern"));
        assert_eq!(
            (time(12), time(1_250)),
            ("12 ms".to_owned(), "1.2 s".to_owned())
        );
        let check = |said: &str, expect: &str| assert_eq!(timed(said, 12), expect);
        check("it is gone", "it is gone, after 12 ms");
        let ended = "its process ended (exit status: 3)";
        check(
            &format!("{ended}; it said: boom; it said: bang"),
            &format!("{ended}, after 12 ms; it said: boom; it said: bang"),
        );
    }
}
