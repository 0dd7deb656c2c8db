//! One surface, served: requests of the stateless era, and what both eras share.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use futures::FutureExt;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;
use toolcrib_core::limits::{DOOR_CANCEL_GRACE_MS, DOOR_REQUEST_MS_MAX, LIST_TTL_MS};
use toolcrib_core::policy::Caller;
use toolcrib_core::rpc::{self, Fault, Id};
use toolcrib_core::trace::SpanContext;
use tracing::Instrument;

use super::client::{Client, Threshold};
use super::fields::{Fields, raw};
use super::gate::Gate;
use super::listen;
use super::meta::{self, Meta};
use super::outlet::Outlet;
use super::revision::Revision;
use super::rounds::{Road, Rounds, Run};
use super::surface::{Context, Description, Surface};
use super::watched::Watched;
use crate::telemetry::Tracer;

/// What comes of a request.
pub type Outcome = Result<Box<RawValue>, Fault>;

/// The code of a request that its client does not want answered any more.
pub const CANCELLED: i64 = -32800;

/// Methods that the stateless era did away with.
const REMOVED: &[&str] = &[
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
    "roots/list",
];

/// A request to be answered.
#[derive(Clone, Debug)]
pub struct Request {
    /// What the answer carries.
    pub id: Id,
    /// What is asked for.
    pub method: String,
    /// With what.
    pub params: Option<Box<RawValue>>,
}

/// What a transport knows of a request beside its text.
#[derive(Clone)]
pub struct Arrival {
    /// Who asks.
    pub caller: Arc<Caller>,
    /// Where messages go that belong to the request.
    pub outlet: Arc<dyn Outlet>,
    /// Fires when the answer is not wanted any more.
    pub cancel: CancellationToken,
    /// The trace that the transport says the request belongs to.
    pub trace: Option<SpanContext>,
    /// What it came over: `pipe` or `tcp`.
    pub network: &'static str,
}

/// What comes of a request of the stateless era.
#[derive(Debug)]
pub struct Reply {
    /// The result or the fault.
    pub outcome: Outcome,
    /// Whether the request itself was wrong, so that nothing was done.
    pub is_malformed: bool,
}

/// A surface with the state that its protocol needs.
pub struct Service {
    surface: Arc<dyn Surface>,
    gate: Arc<Gate>,
    rounds: Rounds,
    /// Who serves, as it was told last.
    info: ArcSwapOption<Value>,
    closing: CancellationToken,
    tracer: Tracer,
}

impl Service {
    /// Serves a surface. `key` is random and protects what stateless clients carry for us; `closing`
    /// fires when the process ends, `tracer` makes spans of requests.
    pub fn new(
        surface: Arc<dyn Surface>,
        gate: Arc<Gate>,
        key: [u8; 32],
        closing: CancellationToken,
        tracer: Tracer,
    ) -> Arc<Self> {
        Arc::new(Self {
            surface,
            gate,
            rounds: Rounds::new(key),
            info: ArcSwapOption::empty(),
            closing,
            tracer,
        })
    }

    /// What is served.
    pub fn surface(&self) -> &Arc<dyn Surface> {
        &self.surface
    }

    /// What counts the requests.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Makes spans of requests.
    pub fn tracer(&self) -> &Tracer {
        &self.tracer
    }

    /// Fires when the process ends.
    pub fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// Who serves, and what it offers.
    pub async fn describe(&self, context: &Context) -> Result<Description, Fault> {
        let (surface, own) = (Arc::clone(&self.surface), context.clone());
        // In a task of its own, so that a panic costs one request.
        let describing = tokio::spawn(async move {
            tokio::select! {
                description = surface.describe(&own) => description,
                () = given_up(&own.cancel) => Err(cancelled()),
            }
        });
        let description = describing.await;
        let description = description.unwrap_or_else(|error| Err(fault(&error)))?;
        if self.surface.introduces_itself(&context.caller) {
            self.info.store(Some(Arc::new(description.info.clone())));
        }
        Ok(description)
    }

    /// Lets the surface answer; a panic costs this request and nothing else.
    pub(super) fn attend(
        &self,
        method: String,
        params: Option<Box<RawValue>>,
        context: Context,
    ) -> impl Future<Output = Outcome> + Send + use<> {
        let surface = Arc::clone(&self.surface);
        let span = crate::telemetry::request_span(&method, context.trace.as_ref());
        let work = async move {
            let answer = surface.handle(&method, params.as_deref(), &context);
            tokio::select! {
                outcome = answer => outcome,
                () = given_up(&context.cancel) => Err(cancelled()),
                () = tokio::time::sleep(Duration::from_millis(DOOR_REQUEST_MS_MAX)) => Err(Fault::new(
                    rpc::INTERNAL_ERROR,
                    "the request took too long",
                )),
            }
        };
        let work = AssertUnwindSafe(work.instrument(span)).catch_unwind();
        work.map(|ended| ended.unwrap_or_else(|_| Err(panicked())))
    }

    /// Answers a request that stands alone.
    pub async fn stateless(&self, request: Request, mut arrival: Arrival) -> Reply {
        let meta = Meta::of(request.params.as_deref());
        let watched = Watched::begin(&self.tracer, &request, &meta, &mut arrival);
        let reply = self.checked(request, arrival, &meta).await;
        watched.end(meta.version().as_deref(), &reply.outcome);
        reply
    }

    async fn checked(&self, request: Request, arrival: Arrival, meta: &Meta) -> Reply {
        let (revision, capabilities) = match meta.check() {
            Ok(checked) => checked,
            Err(fault) => {
                return Reply {
                    outcome: Err(fault),
                    is_malformed: true,
                };
            }
        };
        let (method, caller) = (request.method.clone(), Arc::clone(&arrival.caller));
        let outcome = self
            .answer(request, arrival, meta, revision, capabilities)
            .await;
        Reply {
            outcome: outcome.map(|result| self.dress(&method, result, &caller)),
            is_malformed: false,
        }
    }

    async fn answer(
        &self,
        request: Request,
        arrival: Arrival,
        meta: &Meta,
        revision: Revision,
        capabilities: Value,
    ) -> Outcome {
        let Request { id, method, params } = request;
        if REMOVED.contains(&method.as_str()) {
            return Err(not_offered(&method));
        }
        let now_ms = jiff::Timestamp::now().as_millisecond();
        let entry = self.gate.enter(&arrival.caller.principal, now_ms)?;
        let (road, questions) = Road::new(Arc::clone(&arrival.outlet));
        let client = Client::new(
            Arc::new(meta.client_info().unwrap_or(Value::Null)),
            Arc::new(capabilities),
            Arc::new(Threshold::from(meta.level().as_deref())),
            true,
            Arc::clone(&road) as Arc<dyn super::client::Way>,
        );
        let context = Context {
            client,
            revision,
            progress: meta.progress(),
            trace: arrival.trace,
            session: None,
            caller: arrival.caller,
            cancel: arrival.cancel.clone(),
        };
        match method.as_str() {
            "server/discover" => self.discover(&context).await,
            "subscriptions/listen" => {
                drop(entry);
                listen::listen(self, &id, params.as_deref(), &context, &*arrival.outlet).await
            }
            _ => {
                let fields = params.as_deref().and_then(Fields::of).unwrap_or_default();
                let owner = owner(&context.caller, &method, &fields);
                let state = fields.text("requestState");
                if let Some(state) = state.filter(|state| Rounds::is_own(state)) {
                    let responses = fields.get("inputResponses");
                    let going_on = self.rounds.resume(
                        &state,
                        &owner,
                        responses,
                        arrival.outlet,
                        &arrival.cancel,
                    );
                    return going_on.await;
                }
                // A request that waits for its client outlives the one that brought it.
                let cancel = CancellationToken::new();
                let context = Context {
                    cancel: cancel.clone(),
                    ..context
                };
                let run = Run {
                    task: tokio::spawn(self.attend(method, params, context)),
                    questions,
                    road,
                    cancel,
                    owner,
                };
                self.rounds.drive(run, &arrival.cancel).await
            }
        }
    }

    async fn discover(&self, context: &Context) -> Outcome {
        let description = self.describe(context).await?;
        let mut result = json!({
            "supportedVersions": Revision::STATELESS.map(Revision::as_str),
            "capabilities": description.capabilities,
        });
        if let Some(instructions) = description.instructions {
            result["instructions"] = instructions.into();
        }
        Ok(raw(&result))
    }

    /// Adds what every result of the stateless era carries.
    fn dress(&self, method: &str, result: Box<RawValue>, caller: &Caller) -> Box<RawValue> {
        let Some(mut fields) = Fields::of(&result) else {
            return result;
        };
        if !fields.has("resultType") {
            fields.set("resultType", "complete");
        }
        let kept_ms = match method {
            "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
            | "server/discover" => Some(LIST_TTL_MS),
            "resources/read" => Some(0),
            _ => None,
        };
        if let Some(kept_ms) = kept_ms
            && fields.text("resultType").as_deref() == Some("complete")
        {
            if !fields.has("ttlMs") {
                fields.set("ttlMs", &kept_ms);
            }
            if !fields.has("cacheScope") {
                fields.set("cacheScope", "private");
            }
        }
        if let Some(info) = self.info.load_full()
            && self.surface.introduces_itself(caller)
        {
            let mut about = fields.get("_meta").and_then(Fields::of).unwrap_or_default();
            if !about.has(meta::SERVER_INFO) {
                about.set(meta::SERVER_INFO, &*info);
                fields.set("_meta", &about);
            }
        }
        fields.raw()
    }
}

/// What a request may be taken up again by.
fn owner(caller: &Caller, method: &str, fields: &Fields) -> String {
    let name = fields.text("name").or_else(|| fields.text("uri"));
    let arguments = fields.get("arguments").map_or("", RawValue::get);
    json!([caller.principal.to_string(), method, name, arguments]).to_string()
}

async fn given_up(cancel: &CancellationToken) {
    cancel.cancelled().await;
    tokio::time::sleep(Duration::from_millis(DOOR_CANCEL_GRACE_MS)).await;
}

/// The fault of a request that was cancelled.
pub fn cancelled() -> Fault {
    Fault::new(CANCELLED, "the request was cancelled")
}

/// The fault of a request whose id another one has that is under way.
pub(super) fn twice() -> Fault {
    Fault::new(
        rpc::INVALID_REQUEST,
        "a request with this `id` is under way",
    )
}

/// The fault of a method that is not offered.
pub fn not_offered(method: &str) -> Fault {
    Fault::new(
        rpc::METHOD_NOT_FOUND,
        format!("there is no method `{method}`"),
    )
}

/// The fault of a task that did not come to its end.
pub(super) fn fault(error: &JoinError) -> Fault {
    if error.is_cancelled() {
        return cancelled();
    }
    tracing::error!(%error, "a request ended in a panic");
    panicked()
}

/// The fault of a request that ended in a panic.
pub(super) fn panicked() -> Fault {
    Fault::new(
        rpc::INTERNAL_ERROR,
        "Toolcrib met a fault of its own while it answered; its log says more",
    )
}
