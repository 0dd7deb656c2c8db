//! Every tool that the caller may run, each under a name that every client takes: for debugging.

mod capability;

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::broadcast;
use toolcrib_core::Code;
use toolcrib_core::limits::FULL_PAGE_TOOLS;
use toolcrib_core::policy::Caller;
use toolcrib_core::rpc::{self, Fault};

use super::bridge::{execution, failure, options_in, passed};
use super::fields::{Fields, raw};
use super::service::{Outcome, not_offered};
use super::surface::{Change, Context, Surface};
use crate::engine::Engine;
use crate::engine::ask::{Execution, Listing};
use crate::engine::snapshot::Entry;

/// Longest name that every client takes.
const NAME_BYTES_MAX: usize = 64;
/// Digits of the hash that tells names apart which would be the same otherwise.
const HASH_DIGITS: usize = 8;

/// Every tool of an engine.
pub struct Full {
    engine: Arc<Engine>,
    changes: broadcast::Sender<Change>,
}

impl Full {
    /// Every tool of this engine.
    pub fn new(engine: Arc<Engine>) -> Self {
        Self {
            engine,
            changes: broadcast::channel(16).0,
        }
    }

    /// The tools that a caller may run, in the order of the configuration.
    pub(crate) async fn tools(&self, caller: &Caller) -> Vec<Arc<Entry>> {
        let snapshot = self.engine.snapshot();
        let mut tools = Vec::new();
        for supplier in snapshot.suppliers().filter(|supplier| supplier.enabled) {
            let listing = Listing {
                server: supplier.name.to_string(),
                ..Listing::default()
            };
            // A server that cannot be asked has no tools now; the others do.
            match self.engine.list_tools(caller, listing).await {
                Ok(page) => tools.extend(page.tools),
                Err(error) => {
                    tracing::debug!(server = %supplier.name, %error, "no tools of it are listed");
                }
            }
        }
        tools
    }

    async fn list(&self, params: &Fields, context: &Context) -> Outcome {
        let begin = match params.text("cursor") {
            None => 0,
            Some(cursor) => cursor.parse::<usize>().map_err(|_| {
                Fault::new(
                    rpc::INVALID_PARAMS,
                    "`cursor` must be what the page before gave",
                )
            })?,
        };
        let tools = self.tools(&context.caller).await;
        let own = capability::definitions(&self.engine.config());
        let total = own.len().saturating_add(tools.len());
        let all = own.into_iter().chain(tools.iter().map(|entry| {
            let id = &entry.tool.id;
            shown(entry, &name(id.server(), id.tool()))
        }));
        let page: Vec<Box<RawValue>> = all.skip(begin).take(FULL_PAGE_TOOLS).collect();
        let mut result = json!({ "tools": page });
        let end = begin.saturating_add(page.len());
        if end < total {
            result["nextCursor"] = json!(end.to_string());
        }
        Ok(raw(&result))
    }

    async fn call(&self, params: &Fields, context: &Context) -> Outcome {
        let wanted = params
            .text("name")
            .ok_or_else(|| Fault::new(rpc::INVALID_PARAMS, "`name` must be the name of a tool"))?;
        if let Some(own) = capability::Own::named(&wanted, &self.engine.config()) {
            return Ok(own
                .call(&self.engine, params.get("arguments"), context)
                .await);
        }
        let (server, tool) = self.named(&wanted, &context.caller).await;
        run(
            &self.engine,
            (server.as_str(), tool.as_str()),
            params,
            context,
        )
        .await
    }

    /// The server and the tool that a name means. One that is not listed is taken apart, so that asking
    /// for it is decided and recorded like any other call.
    async fn named(&self, wanted: &str, caller: &Caller) -> (String, String) {
        let tools = self.tools(caller).await;
        let mut ids = tools.iter().map(|entry| &entry.tool.id);
        if let Some(id) = ids.find(|id| name(id.server(), id.tool()) == wanted) {
            return (id.server().to_owned(), id.tool().to_owned());
        }
        let (server, tool) = wanted.split_once("__").unwrap_or(("", wanted));
        (server.to_owned(), tool.to_owned())
    }
}

impl Surface for Full {
    fn handle<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawValue>,
        context: &'a Context,
    ) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let params = params.and_then(Fields::of).unwrap_or_default();
            match method {
                "tools/list" => self.list(&params, context).await,
                "tools/call" => self.call(&params, context).await,
                _ => Err(not_offered(method)),
            }
        })
    }

    fn changes(&self, _: &Caller) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }
}

/// Runs a tool for a client that calls it by its name; the result passes as it is.
pub(super) async fn run(
    engine: &Arc<Engine>,
    (server, tool): (&str, &str),
    params: &Fields,
    context: &Context,
) -> Outcome {
    let options = match options_in(params.get("_meta"), context) {
        Ok(options) => options,
        Err(answer) => return answer,
    };
    let call = Execution {
        whole: true,
        options,
        ..execution(server, tool, params.get("arguments"), context)
    };
    match engine.execute(&context.caller, call).await {
        Ok(reply) => Ok(passed(reply.outcome)),
        Err(error) if matches!(error.code, Code::ToolNotFound | Code::ServerNotFound) => {
            let wanted = params.text("name").unwrap_or_default();
            let why = format!("there is no tool `{wanted}`; `tools/list` gives those there are");
            Err(Fault::new(rpc::INVALID_PARAMS, why))
        }
        Err(error) => Ok(failure(&error)),
    }
}

/// The definition of a tool under its name here.
pub(super) fn shown(entry: &Entry, name: &str) -> Box<RawValue> {
    let mut definition = Fields::of(&entry.definition).unwrap_or_default();
    definition.set("name", name);
    definition.raw()
}

/// The name of a tool: `server__tool` where that is legal and can be taken apart again, else with a
/// hash at its end. It depends on nothing but the two names, so that it stays as it is.
pub(super) fn name(server: &str, tool: &str) -> String {
    let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let plain = format!("{server}__{tool}");
    let is_whole = plain.len() <= NAME_BYTES_MAX
        && plain.chars().all(is_legal)
        && plain.match_indices("__").count() == 1
        && !plain.contains("___");
    if is_whole {
        return plain;
    }
    let hash = blake3::hash(json!([server, tool]).to_string().as_bytes()).to_hex();
    let kept: String = plain
        .chars()
        .map(|c| if is_legal(c) { c } else { '_' })
        .take(NAME_BYTES_MAX - HASH_DIGITS - 1)
        .collect();
    format!("{kept}-{}", &hash[..HASH_DIGITS])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn legal_names_stay_readable() {
        assert_eq!(name("github", "create_issue"), "github__create_issue");
        assert_eq!(name("a", "b-c"), "a__b-c");
    }

    proptest! {
        #[test]
        fn names_are_legal_stable_and_unique(
            one in (".{1,80}", ".{1,80}"),
            other in ("[a-c_.]{1,4}", "[a-c_.]{1,4}"),
            third in ("[a-c_.]{1,4}", "[a-c_.]{1,4}"),
        ) {
            for (server, tool) in [&one, &other, &third] {
                let made = name(server, tool);
                prop_assert!((1..=NAME_BYTES_MAX).contains(&made.len()));
                prop_assert!(made.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'));
                prop_assert_eq!(&made, &name(server, tool));
            }
            prop_assert_eq!(
                name(&other.0, &other.1) == name(&third.0, &third.1),
                other == third
            );
        }
    }
}
