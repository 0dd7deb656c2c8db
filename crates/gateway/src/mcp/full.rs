//! Every tool that the caller may run, each under a name that every client takes: for debugging.

mod capability;
mod names;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::{broadcast, watch};
use tokio::time::{Instant, timeout_at};
use toolcrib_core::limits::{FULL_PAGE_TOOLS, FULL_WAIT_MS};
use toolcrib_core::policy::Caller;
use toolcrib_core::rpc::{self, Fault};
use toolcrib_core::schema::signature;
use toolcrib_core::{Code, ToolId};

use super::bridge::{execution, failure, mirrored, options_in, passed};
use super::fields::{Fields, raw};
use super::given::Given;
use super::service::{Outcome, not_offered};
use super::surface::{Change, Context, Description, Surface};
use crate::engine::Engine;
use crate::engine::ask::{Execution, Listing};
use crate::engine::error::Error;
use crate::engine::snapshot::Entry;
use crate::telling;

pub(crate) use names::name;

/// Every tool of an engine.
pub struct Full {
    engine: Arc<Engine>,
    changes: broadcast::Sender<Change>,
    /// Is there once somebody tells when what there is may be something else.
    followed: OnceLock<()>,
    /// Servers that were left out of a list because they are slow, and are still waited for.
    late: Arc<Mutex<HashSet<String>>>,
    given: Arc<Given>,
}

impl Full {
    /// Every tool of this engine.
    pub fn new(engine: Arc<Engine>) -> Self {
        Self {
            engine,
            changes: broadcast::channel(16).0,
            followed: OnceLock::new(),
            late: Arc::default(),
            given: Arc::default(),
        }
    }

    /// The tools that a caller may run, in the order of the configuration, once every server has said
    /// which it has, or failed to.
    pub(crate) async fn tools(&self, caller: &Caller) -> Vec<Arc<Entry>> {
        let servers = self.servers();
        let lists = servers.iter().map(|server| self.tools_of(server, caller));
        join_all(lists).await.into_iter().flatten().collect()
    }

    /// The same as far as servers answer in time; when another one has, it is told that the list has
    /// changed. One that was waited for in vain is not waited for again as long as its attempt lasts.
    async fn ready(&self, caller: &Caller) -> Vec<Arc<Entry>> {
        let until = Instant::now() + Duration::from_millis(FULL_WAIT_MS);
        let servers = self.servers();
        let lists = servers.iter().map(async |server| {
            let before = self.engine.snapshot();
            let Some(list) = self.in_time(server, caller, until).await else {
                self.given.note(server, &before, &before);
                return Vec::new();
            };
            self.given.note(server, &before, &self.engine.snapshot());
            list
        });
        let tools = join_all(lists).await.into_iter().flatten().collect();
        // What came while others were waited for is in nobody's list.
        if self.given.renew(&self.engine.snapshot()) {
            let _ = self.changes.send(Change::Tools);
        }
        tools
    }

    /// The tools of a server that says them in time.
    async fn in_time(
        &self,
        server: &str,
        caller: &Caller,
        until: Instant,
    ) -> Option<Vec<Arc<Entry>>> {
        if self.is_late(server) {
            return None;
        }
        let list = timeout_at(until, self.tools_of(server, caller)).await;
        if list.is_err() {
            self.expect(server, caller);
        }
        list.ok()
    }

    /// The servers that are used, in the order of the configuration.
    fn servers(&self) -> Vec<String> {
        let snapshot = self.engine.snapshot();
        let used = snapshot.suppliers().filter(|supplier| supplier.enabled);
        used.map(|supplier| supplier.name.to_string()).collect()
    }

    /// The tools of one server; a server that cannot be asked has none now.
    async fn tools_of(&self, server: &str, caller: &Caller) -> Vec<Arc<Entry>> {
        tools_of(&self.engine, server, caller).await
    }

    /// Whether a server is still to say its tools and was waited for before.
    fn is_late(&self, server: &str) -> bool {
        let late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshot = self.engine.snapshot();
        late.contains(server) && snapshot.rack(server).is_some_and(|rack| !rack.is_known())
    }

    /// Notes a slow server until its attempt has ended; what it then has is told like all that changes.
    fn expect(&self, server: &str, caller: &Caller) {
        let mut late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
        if !late.insert(server.to_owned()) {
            return;
        }
        tracing::warn!(server, "no tools of it are listed yet: it is slow");
        let engine = Arc::clone(&self.engine);
        let (late, server, caller) = (Arc::clone(&self.late), server.to_owned(), caller.clone());
        tokio::spawn(async move {
            tools_of(&engine, &server, &caller).await;
            let mut late = late.lock().unwrap_or_else(PoisonError::into_inner);
            late.remove(&server);
        });
    }

    /// Tells whenever another configuration is in place, or a server has other tools than were listed of it.
    async fn tell(
        engine: Arc<Engine>,
        (mut reloads, mut restocks): (watch::Receiver<u64>, watch::Receiver<u64>),
        given: Arc<Given>,
        changes: broadcast::Sender<Change>,
    ) {
        loop {
            let (heard, always) = tokio::select! {
                heard = reloads.changed() => (heard, true),
                heard = restocks.changed() => (heard, false),
            };
            if heard.is_err() {
                return;
            }
            if given.renew(&engine.snapshot()) || always {
                // Nobody may be listening.
                let _ = changes.send(Change::Tools);
            }
        }
    }

    async fn list(&self, params: &Fields, context: &Context) -> Outcome {
        let tools = self.ready(&context.caller).await;
        let names = tools.iter().map(|entry| {
            let id = &entry.tool.id;
            name(id.server(), id.tool())
        });
        let names: Vec<String> = names.collect();
        let own = capability::definitions(&self.engine.config());
        let begin = begin(params.get("cursor"), own.len(), &names)?;
        let total = own.len().saturating_add(tools.len());
        let listed = tools.iter().zip(&names);
        let all = own
            .into_iter()
            .chain(listed.map(|(entry, name)| shown(entry, name)));
        let page: Vec<Box<RawValue>> = all.skip(begin).take(FULL_PAGE_TOOLS).collect();
        let mut result = json!({ "tools": page });
        let end = begin.saturating_add(page.len());
        let last = end.checked_sub(total - names.len() + 1);
        if end < total
            && let Some(last) = last.and_then(|last| names.get(last))
        {
            result["nextCursor"] = json!(last);
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
            near,
        )
        .await
    }

    /// The server and the tool that a name means. One that is not listed is taken apart, so that asking
    /// for it is decided and recorded like any other call. No server is asked but those that may have it.
    async fn named(&self, wanted: &str, caller: &Caller) -> (String, String) {
        if names::may_be_hashed(wanted) && self.hashed(wanted).is_none() {
            let servers = self.servers().into_iter();
            let servers: Vec<String> = servers.filter(|s| names::may_be_of(wanted, s)).collect();
            let lists = servers.iter().map(|server| self.tools_of(server, caller));
            join_all(lists).await;
        }
        if let Some(id) = self.hashed(wanted) {
            return (id.server().to_owned(), id.tool().to_owned());
        }
        let (server, tool) = names::apart(wanted);
        (server.to_owned(), tool.to_owned())
    }

    /// The tool that a name with a hash means, among those that are known.
    fn hashed(&self, wanted: &str) -> Option<ToolId> {
        if !names::may_be_hashed(wanted) {
            return None;
        }
        let snapshot = self.engine.snapshot();
        let racks = snapshot.racks().filter(|rack| rack.supplier.enabled);
        let racks = racks.filter(|rack| names::may_be_of(wanted, &rack.supplier.name));
        let mut ids = racks.flat_map(|rack| rack.ids());
        let found = ids.find(|id| name(id.server(), id.tool()) == wanted);
        found.cloned()
    }
}

/// Where a page begins: behind the tool that the page before ended with, wherever that stands by now. Servers may
/// have said their tools in between, so that a number would skip some and repeat others.
fn begin(cursor: Option<&RawValue>, own: usize, names: &[String]) -> Result<usize, Fault> {
    let Some(cursor) = cursor.filter(|cursor| cursor.get() != "null") else {
        return Ok(0);
    };
    let cursor: Option<String> = serde_json::from_str(cursor.get()).ok();
    let last = cursor.and_then(|cursor| names.iter().position(|name| *name == cursor));
    last.map(|last| own + last + 1).ok_or_else(|| {
        Fault::new(
            rpc::INVALID_PARAMS,
            "`cursor` is not what the page before gave, or its tool is gone; begin with the first page",
        )
    })
}

async fn tools_of(engine: &Arc<Engine>, server: &str, caller: &Caller) -> Vec<Arc<Entry>> {
    let listing = Listing {
        server: server.to_owned(),
        ..Listing::default()
    };
    match engine.list_tools(caller, listing).await {
        Ok(page) => page.tools,
        Err(error) => {
            tracing::debug!(server, %error, "no tools of it are listed");
            Vec::new()
        }
    }
}

/// A tool that may have been meant, under its name here.
fn near(entry: &Entry) -> Value {
    let id = &entry.tool.id;
    let name = name(id.server(), id.tool());
    json!({ "name": name, "signature": signature(&name, &entry.tool.input_schema) })
}

impl Surface for Full {
    fn describe<'a>(&'a self, _: &'a Context) -> BoxFuture<'a, Result<Description, Fault>> {
        let mut capabilities = Map::new();
        capabilities.insert("tools".into(), json!({ "listChanged": true }));
        Box::pin(async move { Ok(Description::own(capabilities, None)) })
    }

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
        self.followed.get_or_init(|| {
            let (engine, given) = (Arc::clone(&self.engine), Arc::clone(&self.given));
            let followed = (engine.reloads(), engine.restocks());
            tokio::spawn(Self::tell(engine, followed, given, self.changes.clone()));
        });
        self.changes.subscribe()
    }

    fn mirrored(&self, caller: &Caller, tool: &str) -> Vec<(String, String)> {
        let hashed = self.hashed(tool);
        let (server, tool) = hashed
            .as_ref()
            .map_or_else(|| names::apart(tool), |id| (id.server(), id.tool()));
        mirrored(&self.engine.snapshot(), caller, server, tool)
    }
}

/// Runs a tool for a client that calls it by its name; the result passes as it is. `near` tells how a tool
/// that may have been meant is written, with its `signature`.
pub(super) async fn run(
    engine: &Arc<Engine>,
    (server, tool): (&str, &str),
    params: &Fields,
    context: &Context,
    near: fn(&Entry) -> Value,
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
            let mut meant = error.more.nearest.clone();
            if meant.is_empty() {
                meant = engine.near_tools(&context.caller, tool);
            }
            let nearest = meant.iter().map(|entry| near(entry)).collect();
            Err(no_such(&wanted, nearest, &error))
        }
        Err(error) => Ok(failure(&error)),
    }
}

/// There is no tool of this name; these may have been meant.
pub(super) fn no_such(wanted: &str, nearest: Vec<Value>, error: &Error) -> Fault {
    let wanted = telling::cut_name(wanted);
    let shown = nearest.iter().filter_map(|near| near["signature"].as_str());
    let shown: Vec<&str> = shown.collect();
    let meant = match shown.as_slice() {
        [] => String::new(),
        some => format!("did you mean {}? ", some.join(" or ")),
    };
    let why = format!("there is no tool `{wanted}`; {meant}`tools/list` gives those there are");
    let mut data = json!({ "code": error.code });
    if !nearest.is_empty() {
        data["nearest"] = nearest.into();
    }
    Fault {
        data: Some(raw(&data)),
        ..Fault::new(rpc::INVALID_PARAMS, why)
    }
}

/// The definition of a tool under its name here.
pub(super) fn shown(entry: &Entry, name: &str) -> Box<RawValue> {
    let mut definition = Fields::of(&entry.definition).unwrap_or_default();
    definition.set("name", name);
    definition.raw()
}
