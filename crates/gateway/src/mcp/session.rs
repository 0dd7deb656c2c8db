//! One client of the era with a handshake: what was agreed on, and what is under way.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, oneshot};
use tokio_util::sync::CancellationToken;
use toolcrib_core::limits::DOOR_SUBSCRIPTIONS_MAX;
use toolcrib_core::policy::Caller;
use toolcrib_core::rpc::{self, Fault, Id};

use super::client::{Client, Threshold};
use super::fields::{Fields, raw};
use super::listen;
use super::meta::Meta;
use super::outlet::Outlet;
use super::revision::Revision;
use super::service::{Arrival, Outcome, Request, Service, twice};
use super::surface::{Change, Context};
use super::watched::Watched;

mod question;

pub(crate) use question::Line;

/// A client and what it agreed on.
pub struct Session {
    service: Arc<Service>,
    caller: Arc<Caller>,
    id: Option<Arc<str>>,
    /// Where messages go that belong to no request.
    standing: Arc<dyn Outlet>,
    threshold: Arc<Threshold>,
    state: Mutex<State>,
    closing: CancellationToken,
}

/// A request that is being answered. Its id is free again however that ends.
struct Underway<'a> {
    session: &'a Session,
    id: Id,
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        self.session.state().running.remove(&self.id);
    }
}

#[derive(Default)]
struct State {
    greeting: Option<Greeting>,
    running: HashMap<Id, CancellationToken>,
    asked: HashMap<Id, oneshot::Sender<Outcome>>,
    questions: i64,
    subscribed: HashSet<String>,
}

#[derive(Clone)]
struct Greeting {
    revision: Revision,
    info: Arc<Value>,
    capabilities: Arc<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Initialize {
    protocol_version: String,
    #[serde(default)]
    capabilities: Value,
    #[serde(default)]
    client_info: Value,
}

impl Session {
    /// A client that has not said anything yet.
    pub fn new(
        service: Arc<Service>,
        caller: Arc<Caller>,
        id: Option<Arc<str>>,
        standing: Arc<dyn Outlet>,
    ) -> Arc<Self> {
        Arc::new(Self {
            service,
            caller,
            id,
            standing,
            threshold: Arc::new(Threshold::all()),
            state: Mutex::default(),
            // When the process ends, whoever keeps the session closes it once what is under way had its time.
            closing: CancellationToken::new(),
        })
    }

    /// The revision that was agreed on, once it was.
    pub fn revision(&self) -> Option<Revision> {
        let state = self.state();
        state.greeting.as_ref().map(|greeting| greeting.revision)
    }

    /// Who speaks.
    pub fn caller(&self) -> &Arc<Caller> {
        &self.caller
    }

    /// Whether a request is being answered.
    pub fn is_busy(&self) -> bool {
        !self.state().running.is_empty()
    }

    /// Fires when the session has ended.
    pub fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// Ends the session: what is under way is cancelled, what was subscribed to is given back.
    pub fn close(self: &Arc<Self>) {
        if self.closing.is_cancelled() && self.state().subscribed.is_empty() {
            return;
        }
        self.closing.cancel();
        let (running, subscribed) = {
            let mut state = self.state();
            state.asked.clear();
            (
                std::mem::take(&mut state.running),
                std::mem::take(&mut state.subscribed),
            )
        };
        for cancel in running.into_values() {
            cancel.cancel();
        }
        if subscribed.is_empty() {
            return;
        }
        let session = Arc::clone(self);
        tokio::spawn(async move {
            let context = session.context(&Meta::default(), session.bare_arrival());
            for uri in subscribed {
                let params = raw(&json!({ "uri": uri }));
                let surface = session.service.surface();
                let given_back = surface.handle("resources/unsubscribe", Some(&params), &context);
                drop(given_back.await);
            }
        });
    }

    /// Answers a request of the client whose session this is; what it may do is what its caller may now.
    pub async fn request(self: &Arc<Self>, request: Request, mut arrival: Arrival) -> Outcome {
        let meta = Meta::of(request.params.as_deref());
        let watched = Watched::begin(self.service.tracer(), &request, &meta, &mut arrival);
        let outcome = self.admitted(request, arrival, &meta).await;
        watched.end(self.revision().map(Revision::as_str), &outcome);
        outcome
    }

    async fn admitted(
        self: &Arc<Self>,
        request: Request,
        arrival: Arrival,
        meta: &Meta,
    ) -> Outcome {
        let now_ms = jiff::Timestamp::now().as_millisecond();
        let principal = &self.caller.principal;
        let _entry = self.service.gate().enter(principal, now_ms)?;
        let id = request.id.clone();
        {
            let mut state = self.state();
            if state.running.contains_key(&id) {
                return Err(twice());
            }
            state.running.insert(id.clone(), arrival.cancel.clone());
        }
        let _underway = Underway { session: self, id };
        self.answer(request, arrival, meta).await
    }

    async fn answer(self: &Arc<Self>, request: Request, arrival: Arrival, meta: &Meta) -> Outcome {
        let Request { method, params, .. } = request;
        match method.as_str() {
            "initialize" => return self.initialize(params.as_deref(), arrival).await,
            "ping" => return Ok(raw(&json!({}))),
            _ if self.revision().is_none() => {
                return Err(Fault::new(
                    rpc::INVALID_REQUEST,
                    "send `initialize` first, or name the protocol version in `_meta`",
                ));
            }
            _ => {}
        }
        let context = self.context(meta, arrival);
        match method.as_str() {
            "logging/setLevel" => self.set_level(params, context).await,
            "resources/subscribe" | "resources/unsubscribe" => {
                self.subscribe(method, params, context).await
            }
            _ => self.rounds(method, params, context).await,
        }
    }

    async fn initialize(self: &Arc<Self>, params: Option<&RawValue>, arrival: Arrival) -> Outcome {
        let text = params.map_or("{}", RawValue::get);
        let wanted: Initialize = serde_json::from_str(text)
            .map_err(|error| Fault::new(rpc::INVALID_PARAMS, format!("`initialize`: {error}")))?;
        let greeting = Greeting {
            revision: Revision::negotiate(&wanted.protocol_version),
            info: Arc::new(wanted.client_info),
            capabilities: Arc::new(wanted.capabilities),
        };
        {
            let mut state = self.state();
            if state.greeting.is_some() {
                return Err(Fault::new(
                    rpc::INVALID_REQUEST,
                    "`initialize` was answered already; open another session to start again",
                ));
            }
            state.greeting = Some(greeting.clone());
        }
        let context = self.context(&Meta::default(), arrival);
        let description = match self.service.describe(&context).await {
            Ok(description) => description,
            Err(fault) => {
                self.state().greeting = None;
                return Err(fault);
            }
        };
        let changes = self.service.surface().changes(&self.caller);
        tokio::spawn(Arc::clone(self).tell_changes(changes));
        let mut result = json!({
            "protocolVersion": greeting.revision.as_str(),
            "capabilities": description.capabilities,
            "serverInfo": description.info,
        });
        if let Some(instructions) = description.instructions {
            result["instructions"] = instructions.into();
        }
        Ok(raw(&result))
    }

    async fn set_level(&self, params: Option<Box<RawValue>>, context: Context) -> Outcome {
        let level = params
            .as_deref()
            .and_then(Fields::of)
            .and_then(|fields| fields.text("level"));
        if !level.is_some_and(|level| self.threshold.set(&level)) {
            return Err(Fault::new(
                rpc::INVALID_PARAMS,
                "`level` must be debug, info, notice, warning, error, critical, alert or emergency",
            ));
        }
        // An upstream that is passed through may want to know; whether it does is its own matter.
        let surface = self.service.surface();
        drop(
            surface
                .handle("logging/setLevel", params.as_deref(), &context)
                .await,
        );
        Ok(raw(&json!({})))
    }

    async fn subscribe(
        &self,
        method: String,
        params: Option<Box<RawValue>>,
        context: Context,
    ) -> Outcome {
        let uri = params
            .as_deref()
            .and_then(Fields::of)
            .and_then(|fields| fields.text("uri"));
        let uri = uri.ok_or_else(|| Fault::new(rpc::INVALID_PARAMS, "`uri` must be a text"))?;
        let starts = method == "resources/subscribe";
        if starts && self.state().subscribed.len() >= DOOR_SUBSCRIPTIONS_MAX {
            return Err(Fault::new(
                rpc::INVALID_PARAMS,
                format!("more than {DOOR_SUBSCRIPTIONS_MAX} resources cannot be followed at once"),
            ));
        }
        let outcome = self.rounds(method, params, context).await?;
        let mut state = self.state();
        if starts {
            state.subscribed.insert(uri);
        } else {
            state.subscribed.remove(&uri);
        }
        Ok(outcome)
    }

    /// Lets the surface answer; where it wants to know something from the client first, asks the
    /// client and goes on.
    async fn rounds(
        &self,
        method: String,
        mut params: Option<Box<RawValue>>,
        context: Context,
    ) -> Outcome {
        for _ in 0..toolcrib_core::limits::DOOR_ROUNDS_MAX {
            let attending = self
                .service
                .attend(method.clone(), params.clone(), context.clone());
            let result = attending.await?;
            let Some(wanted) = question::wanted(&result) else {
                return Ok(result);
            };
            params = Some(question::answered(params.as_deref(), wanted, &context.client).await?);
        }
        Err(Fault::new(
            rpc::INTERNAL_ERROR,
            "the request asked for input again and again",
        ))
    }

    /// Takes a notification.
    pub fn notification(&self, method: &str, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Cancelled {
            request_id: Id,
        }
        if method != "notifications/cancelled" {
            return;
        }
        let params = params.and_then(|p| serde_json::from_str::<Cancelled>(p.get()).ok());
        if let Some(Cancelled { request_id }) = params
            && let Some(cancel) = self.state().running.get(&request_id)
        {
            cancel.cancel();
        }
    }

    /// Takes the answer to a question of ours.
    pub fn answered(&self, id: Option<&Id>, outcome: Outcome) {
        let waiting = id.and_then(|id| self.state().asked.remove(id));
        if let Some(waiting) = waiting {
            let _ = waiting.send(outcome);
        }
    }

    fn context(self: &Arc<Self>, meta: &Meta, arrival: Arrival) -> Context {
        let greeting = self.state().greeting.clone();
        let greeting = greeting.unwrap_or_else(|| Greeting {
            revision: Revision::LAST_WITH_HANDSHAKE,
            info: Arc::default(),
            capabilities: Arc::default(),
        });
        let line = Line::new(Arc::clone(self), arrival.outlet, arrival.cancel.clone());
        Context {
            client: Client::new(
                greeting.info,
                greeting.capabilities,
                Arc::clone(&self.threshold),
                false,
                Arc::new(line),
            ),
            revision: greeting.revision,
            caller: arrival.caller,
            cancel: arrival.cancel,
            progress: meta.progress(),
            trace: arrival.trace,
            session: self.id.clone(),
        }
    }

    fn bare_arrival(&self) -> Arrival {
        Arrival {
            caller: Arc::clone(&self.caller),
            outlet: Arc::clone(&self.standing),
            cancel: CancellationToken::new(),
            trace: None,
            network: "pipe",
        }
    }

    async fn tell_changes(self: Arc<Self>, mut changes: broadcast::Receiver<Change>) {
        loop {
            let change = tokio::select! {
                change = changes.recv() => change,
                () = self.closing.cancelled() => return,
            };
            let told: &[Change] = match &change {
                Ok(change) => std::slice::from_ref(change),
                Err(RecvError::Lagged(_)) => &listen::MISSED,
                Err(RecvError::Closed) => return,
            };
            for change in told {
                let unwanted = matches!(change, Change::Resource(uri) if !self.state().subscribed.contains(uri));
                if !unwanted {
                    self.standing.push(listen::notification(change, None));
                }
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
