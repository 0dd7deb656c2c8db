//! One upstream passed through as it is: names, messages and all.
//!
//! Calls of tools still go through the engine: they need a permit, and leave a record. Everything else
//! is passed under policy as well: to a caller without a scope for reading from the server, there is none.

use std::sync::{Arc, OnceLock};

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::{broadcast, watch};
use toolcrib_config::load::Config;
use toolcrib_config::model::settings::Mode;
use toolcrib_core::Code;
use toolcrib_core::policy::Caller;
use toolcrib_core::rpc::{self, Fault};
use toolcrib_core::schema::signature;

use super::bridge::{self, Bridge, OPTIONS, execution, failure, options_in};
use super::fields::{Fields, raw};
use super::full::no_such;
use super::gate::limited;
use super::given::Given;
use super::listen::MISSED;
use super::meta::{LOG_LEVEL, set_trace};
use super::service::{Outcome, not_offered};
use super::surface::{Change, Context, Description, Surface};
use super::watched::Passed;
use crate::engine::Engine;
use crate::engine::answer::Kind;
use crate::engine::ask::{Execution, Listing};
use crate::engine::error::Error;
use crate::engine::passage::{Asking, Happening, Passing, Unpassed};
use crate::engine::snapshot::{Entry, Snapshot};
use crate::engine::supplier::Supplier;
use crate::engine::upstream::{CallError, Round};
use crate::veil::cover;

/// What an upstream may be asked beside its tools.
const PASSED: &[&str] = &[
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "completion/complete",
    "logging/setLevel",
];

/// How many changes a listener may be behind.
pub const CHANGES_MAX: usize = 64;

/// The one server that is passed through, or what to do where there is not exactly one.
pub fn sole(snapshot: &Snapshot) -> Result<Arc<Supplier>, String> {
    let used = snapshot.suppliers().filter(|supplier| supplier.enabled);
    let used: Vec<&Arc<Supplier>> = used.collect();
    let named = used.iter().map(|supplier| (&*supplier.name, supplier.kind));
    only(&named.collect::<Vec<_>>())?;
    Ok(Arc::clone(used[0]))
}

/// Whether a configuration that wants it can be passed through, or what to do.
pub fn check(config: &Config) -> Result<(), String> {
    let servers = config.servers.iter().filter(|server| server.enabled);
    let servers = servers.map(|server| (server.name.as_str(), Kind::Server));
    let adapters = config.settings.adapters.iter();
    let adapters = adapters.filter(|(name, adapter)| {
        let taken = config.servers.iter().any(|server| server.name == **name);
        adapter.enabled.0 && !taken
    });
    let adapters = adapters.map(|(name, _)| (name.as_str(), Kind::Adapter));
    match config.settings.mode {
        Mode::Flat => only(&servers.chain(adapters).collect::<Vec<_>>()),
        Mode::Lazy | Mode::Full => Ok(()),
    }
}

/// Exactly one MCP server must be used.
fn only(used: &[(&str, Kind)]) -> Result<(), String> {
    match used {
        [(_, Kind::Server)] => Ok(()),
        [(name, Kind::Adapter)] => Err(format!(
            "mode `flat` passes one MCP server through, and `{name}` is a REST API; set mode to lazy or full"
        )),
        [] => Err(
            "mode `flat` passes one MCP server through, and none is enabled; enable one, or set mode to lazy"
                .to_owned(),
        ),
        several => {
            let names: Vec<String> = several.iter().map(|(name, _)| format!("`{name}`")).collect();
            Err(format!(
                "mode `flat` passes one MCP server through, and several are enabled: {}; set `enabled: false` for all but one, or set mode to lazy",
                names.join(", ")
            ))
        }
    }
}

/// One upstream.
pub struct Flat {
    engine: Arc<Engine>,
    changes: OnceLock<broadcast::Sender<Change>>,
    given: Arc<Given>,
}

impl Flat {
    /// Passes the only server of this engine through.
    pub fn new(engine: Arc<Engine>) -> Self {
        Self {
            engine,
            changes: OnceLock::new(),
            given: Arc::default(),
        }
    }

    fn sole(&self) -> Result<Arc<Supplier>, Fault> {
        sole(&self.engine.snapshot()).map_err(|why| Fault::new(rpc::INTERNAL_ERROR, why))
    }

    async fn list(&self, context: &Context) -> Outcome {
        let server = self.sole()?.name.to_string();
        let listing = Listing {
            server: server.clone(),
            ..Listing::default()
        };
        let before = self.engine.snapshot();
        let page = self.engine.list_tools(&context.caller, listing).await;
        let now = self.engine.snapshot();
        self.given.note(&server, &before, &now);
        // What came meanwhile may be in nobody's list.
        if let Some(changes) = self.changes.get()
            && self.given.renew(&now)
        {
            let _ = changes.send(Change::Tools);
        }
        let page = match page {
            Ok(page) => page,
            Err(error) if error.code == Code::ServerNotFound => {
                return Ok(raw(&json!({ "tools": [] })));
            }
            Err(error) => return Err(Fault::new(rpc::INTERNAL_ERROR, error.message)),
        };
        let tools: Vec<&RawValue> = page.tools.iter().map(|entry| &*entry.definition).collect();
        Ok(raw(&json!({ "tools": tools })))
    }

    async fn call(&self, params: Option<&RawValue>, context: &Context) -> Outcome {
        let server = self.sole()?;
        let fields = params.and_then(Fields::of).unwrap_or_default();
        let name = fields
            .text("name")
            .ok_or_else(|| Fault::new(rpc::INVALID_PARAMS, "`name` must be the name of a tool"))?;
        let owned = |name: &str| fields.get(name).map(ToOwned::to_owned);
        let round = context.revision.is_stateless().then(|| Round {
            responses: owned("inputResponses"),
            state: owned("requestState"),
        });
        let options = match options_in(fields.get("_meta"), context) {
            Ok(options) => options,
            Err(answer) => return answer,
        };
        let call = Execution {
            meta: meta(&fields, context),
            options,
            round,
            whole: true,
            ..execution(&server.name, &name, fields.get("arguments"), context)
        };
        match self.engine.execute(&context.caller, call).await {
            Ok(reply) => Ok(bridge::passed(reply.outcome)),
            Err(error) => refused(&error, &name),
        }
    }

    async fn pass(&self, method: &str, params: Option<&RawValue>, context: &Context) -> Outcome {
        let server = self.sole()?;
        let tracer = self.engine.tracer();
        let passed = Passed::begin(tracer, method, &server.name, context.trace.as_ref());
        let context = &Context {
            trace: passed.context(),
            ..context.clone()
        };
        let mut fields = params.and_then(Fields::of).unwrap_or_default();
        if let Some(meta) = meta(&fields, context) {
            fields.set("_meta", &meta);
        }
        let passing = Passing {
            method,
            params: &fields.raw(),
            asking: asking(&server, context),
            trace: context.trace.clone(),
        };
        let outcome = match self.engine.pass(&context.caller, passing).await {
            Ok(answer) => Ok(answer),
            Err(Unpassed::Absent) => nothing(method, &fields, context),
            Err(Unpassed::Refused(error)) => Err(unasked(&error)),
            Err(Unpassed::Unanswered(error)) => Err(told(error)),
        };
        passed.end(&outcome);
        outcome
    }

    async fn described(&self, context: &Context) -> Result<Description, Fault> {
        let server = self.sole()?;
        let asking = asking(&server, context);
        let said = match self.engine.describe_server(&context.caller, asking).await {
            Ok(said) => said,
            Err(Unpassed::Absent) => {
                let mut capabilities = Map::new();
                capabilities.insert("tools".into(), json!({ "listChanged": true }));
                return Ok(Description::own(capabilities, None));
            }
            Err(Unpassed::Refused(error)) => return Err(unasked(&error)),
            Err(Unpassed::Unanswered(error)) => return Err(told(error)),
        };
        let mut capabilities = serde_json::from_str(said.capabilities.get())
            .ok()
            .and_then(|value: Value| value.as_object().cloned())
            .unwrap_or_default();
        // A task would be a call without a permit.
        capabilities.remove("tasks");
        // What a person accepts changes the list, also where the server itself never changes it.
        if let Some(tools) = capabilities.get_mut("tools").and_then(Value::as_object_mut) {
            tools.insert("listChanged".into(), json!(true));
        }
        let info = said
            .info
            .and_then(|info| serde_json::from_str(info.get()).ok());
        let own = Description::own(capabilities, said.instructions);
        Ok(Description {
            info: info.unwrap_or(own.info),
            ..own
        })
    }

    /// Tells on what the server says has changed, and of its tools once they are known here; and of its tools
    /// whenever others are offered than were listed.
    async fn tell(
        engine: Arc<Engine>,
        (mut reloads, mut restocks): (watch::Receiver<u64>, watch::Receiver<u64>),
        given: Arc<Given>,
        mut followed: Followed,
        changes: broadcast::Sender<Change>,
    ) {
        let tell_others = || {
            if given.renew(&engine.snapshot()) {
                let _ = changes.send(Change::Tools);
            }
        };
        loop {
            // What the server says comes first: the tools that are then fetched are told of once.
            let happening = tokio::select! {
                biased;
                happening = followed.happenings.next() => happening,
                reloaded = reloads.changed() => match reloaded {
                    Ok(()) if passed(&engine) == followed.server => {
                        tell_others();
                        continue;
                    }
                    Ok(()) => {
                        followed = Followed::now(&engine);
                        // Everything is another server's from now on.
                        Some(Happening::Missed)
                    }
                    Err(_) => None,
                },
                restocked = restocks.changed() => match restocked {
                    Ok(()) => {
                        tell_others();
                        continue;
                    }
                    Err(_) => None,
                },
            };
            let Some(happening) = happening else { return };
            let told = match (happening, &followed.server) {
                (Happening::Tools, Some(server)) => {
                    engine.relist(server).await;
                    given.renew(&engine.snapshot());
                    vec![Change::Tools]
                }
                (Happening::Tools, None) => vec![Change::Tools],
                (Happening::Prompts, _) => vec![Change::Prompts],
                (Happening::Resources, _) => vec![Change::Resources],
                (Happening::Resource(uri), _) => vec![Change::Resource(uri)],
                (Happening::Missed, _) => MISSED.to_vec(),
            };
            for change in told {
                // Nobody may be listening.
                let _ = changes.send(change);
            }
        }
    }
}

/// The server that is passed through, and what it says has changed; where there is none, nothing does.
struct Followed {
    server: Option<Arc<str>>,
    happenings: BoxStream<'static, Happening>,
}

impl Followed {
    fn now(engine: &Engine) -> Self {
        let server = passed(engine);
        let happenings = server.as_deref().and_then(|name| engine.happenings(name));
        let happenings = happenings.unwrap_or_else(|| futures::stream::pending().boxed());
        Self { server, happenings }
    }
}

/// The name of the server that is passed through.
fn passed(engine: &Engine) -> Option<Arc<str>> {
    let server = sole(&engine.snapshot()).ok()?;
    Some(Arc::clone(&server.name))
}

fn asking<'a>(server: &'a Supplier, context: &Context) -> Asking<'a> {
    Asking {
        server: &server.name,
        owner: server.owner(&context.caller.principal, context.session.as_deref()),
        client: Bridge::new(context),
        cancel: context.cancel.clone(),
        hands_on_questions: context.revision.is_stateless(),
    }
}

/// The client's `_meta`. A client that agreed on a level of log messages in a handshake gets them from
/// a server that wants to be told with every request, too.
fn meta(fields: &Fields, context: &Context) -> Option<Box<RawValue>> {
    let given = fields.get("_meta").and_then(Fields::of);
    let level = context.client.level();
    let level = level.filter(|_| !context.revision.is_stateless());
    if given.is_none() && level.is_none() && context.trace.is_none() {
        return None;
    }
    let mut meta = given.unwrap_or_default();
    // These are for this process.
    meta.remove(OPTIONS);
    set_trace(&mut meta, context.trace.as_ref());
    if let Some(level) = level {
        meta.set(LOG_LEVEL, level);
    }
    Some(meta.raw())
}

/// Why there is no result: in the words of the upstream where it has any; a fault where there is no
/// such tool; else a result that a model can read.
fn refused(error: &Error, tool: &str) -> Outcome {
    if let Some(fault) = &error.more.fault {
        return Err(veiled(fault.clone()));
    }
    match error.code {
        // Whoever may not know of the server is not told its name.
        Code::ServerNotFound => Err(Fault::new(
            rpc::INVALID_PARAMS,
            format!("there is no tool `{tool}`"),
        )),
        Code::ToolNotFound => {
            let nearest = error.more.nearest.iter().map(|entry| near(entry));
            Err(no_such(tool, nearest.collect(), error))
        }
        _ => Ok(failure(error)),
    }
}

/// A tool that may have been meant, under its own name.
fn near(entry: &Entry) -> Value {
    let name = entry.tool.id.tool();
    json!({ "name": name, "signature": signature(name, &entry.tool.input_schema) })
}

/// The answer of a server that has nothing: what a caller gets for whom the server is not there.
fn nothing(method: &str, params: &Fields, context: &Context) -> Outcome {
    let list = match method {
        "prompts/list" => "prompts",
        "resources/list" => "resources",
        "resources/templates/list" => "resourceTemplates",
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
            let code = if context.revision.is_stateless() {
                rpc::INVALID_PARAMS
            } else {
                rpc::RESOURCE_NOT_FOUND
            };
            let uri = params.text("uri").unwrap_or_default();
            return Err(Fault {
                data: Some(raw(&json!({ "uri": uri }))),
                ..Fault::new(code, "there is no such resource")
            });
        }
        "prompts/get" => {
            return Err(Fault::new(
                rpc::INVALID_PARAMS,
                "there is no prompt of this name",
            ));
        }
        "completion/complete" => {
            return Err(Fault::new(
                rpc::INVALID_PARAMS,
                "there is nothing to complete under this reference",
            ));
        }
        _ => return Err(not_offered(method)),
    };
    Ok(raw(&json!({ list: [] })))
}

/// What the upstream refused, word for word but for the secrets that it was given.
fn veiled(fault: Fault) -> Fault {
    let data = fault.data.and_then(|data| {
        let covered = cover(data.get());
        RawValue::from_string(covered).ok()
    });
    Fault {
        code: fault.code,
        message: cover(&fault.message),
        data,
    }
}

/// Why the upstream was not asked.
fn unasked(error: &Error) -> Fault {
    match error.code {
        Code::RateLimited => limited(error.more.retry_after_ms),
        code => Fault::new(code.json_rpc().into(), error.message.clone()),
    }
}

/// Why the upstream gave no answer, in its own words where it has any.
fn told(error: CallError) -> Fault {
    match error {
        CallError::Fault(fault) => veiled(fault),
        CallError::Failure(failure) | CallError::Unsent(failure) => {
            tracing::warn!(%failure, "the server that is passed through gave no answer");
            Fault::new(
                rpc::INTERNAL_ERROR,
                "the server behind this one gave no answer; the log says why",
            )
        }
    }
}

impl Surface for Flat {
    fn describe<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<Description, Fault>> {
        Box::pin(self.described(context))
    }

    fn introduces_itself(&self, caller: &Caller) -> bool {
        passed(&self.engine).is_some_and(|server| self.engine.may_read(caller, &server))
    }

    fn handle<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawValue>,
        context: &'a Context,
    ) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            match method {
                "tools/list" => self.list(context).await,
                "tools/call" => self.call(params, context).await,
                _ if PASSED.contains(&method) => self.pass(method, params, context).await,
                _ => Err(not_offered(method)),
            }
        })
    }

    fn changes(&self, _: &Caller) -> broadcast::Receiver<Change> {
        let changes = self.changes.get_or_init(|| {
            let changes = broadcast::Sender::new(CHANGES_MAX);
            let (engine, given) = (Arc::clone(&self.engine), Arc::clone(&self.given));
            let heard = (engine.reloads(), engine.restocks());
            let followed = Followed::now(&engine);
            tokio::spawn(Self::tell(engine, heard, given, followed, changes.clone()));
            changes
        });
        changes.subscribe()
    }

    fn mirrored(&self, caller: &Caller, tool: &str) -> Vec<(String, String)> {
        let snapshot = self.engine.snapshot();
        match sole(&snapshot) {
            Ok(server) => bridge::mirrored(&snapshot, caller, &server.name, tool),
            Err(_) => Vec::new(),
        }
    }
}
