//! Every server, each with its connections: the one way by which requests reach them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::broadcast;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolcrib_core::canon;
use toolcrib_core::limits::{CONNECTIONS_CLOSE_MS, SERVER_EVENTS_MAX};
use toolcrib_core::policy::Permit;
use toolcrib_core::rpc::{Fault, INVALID_REQUEST};

use super::connection::Opening;
use super::era::Negotiated;
use super::listing::{Listing, What};
use super::object::{Fields, raw};
use super::places::Places;
use super::status::{Event, Health, Status};
use super::supervisor::{Errand, House, Key, Outcome, Repeat, Supervisor, Surroundings};
use super::{CallError, Client, Connection, Endpoint, Failure, Options, lock};
use crate::sent::Sent;

/// The servers of a configuration. Nothing is connected before it is needed.
pub struct Pool {
    house: Arc<House>,
    servers: Mutex<HashMap<Arc<str>, Arc<Supervisor>>>,
}

/// One call of a tool, as far as the permit does not say it already.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// Whose connection is used.
    pub key: Key,
    /// The arguments that the permit was given for.
    pub arguments: &'a RawValue,
    /// What else goes with the call: `progressToken`, `traceparent`.
    pub meta: Option<Box<RawValue>>,
    /// The schema of the arguments, whose annotations say what goes into headers.
    pub schema: Option<&'a Value>,
    /// Who hears of its progress and is asked what the server asks.
    pub client: Option<Arc<dyn Client>>,
    /// Ends the call.
    pub cancel: CancellationToken,
    /// How long the server may be silent where progress keeps the call alive.
    pub idle: Option<Duration>,
    /// Counts how often it is sent.
    pub sent: Sent,
    /// Where the client goes its rounds itself: what it brings, and the server's questions are the answer.
    pub round: Option<Round>,
}

/// One round of a call whose server asks for input: what the client answers to the round before.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// `inputResponses`, as the client wrote them.
    pub responses: Option<Box<RawValue>>,
    /// `requestState`, as the server gave it.
    pub state: Option<Box<RawValue>>,
}

impl<'a> Call<'a> {
    /// A call for nobody in particular.
    pub fn new(key: Key, arguments: &'a RawValue) -> Self {
        Self {
            key,
            arguments,
            meta: None,
            schema: None,
            client: None,
            cancel: CancellationToken::new(),
            idle: None,
            sent: Sent::default(),
            round: None,
        }
    }
}

impl Pool {
    /// A pool without servers.
    pub fn new(surroundings: Surroundings) -> Self {
        let house = House {
            surroundings,
            places: Places::default(),
            tasks: TaskTracker::new(),
            events: broadcast::Sender::new(SERVER_EVENTS_MAX),
            closing: CancellationToken::new(),
        };
        Self {
            house: Arc::new(house),
            servers: Mutex::default(),
        }
    }

    /// Sets how many child processes there may be at once.
    pub fn allow_children(&self, most: usize) {
        self.house.places.allow_children(most);
    }

    /// Puts these servers in the place of those before. A server that runs the same thing under the
    /// same name keeps its connections; the others are closed.
    pub fn configure(&self, endpoints: Vec<Endpoint>) {
        let mut servers = lock(&self.servers);
        let mut before = std::mem::take(&mut *servers);
        for endpoint in endpoints {
            let same = before.remove(&endpoint.name).filter(|supervisor| {
                let same = supervisor.endpoint().is_reached_like(&endpoint);
                if !same {
                    supervisor.close();
                }
                same
            });
            let name = Arc::clone(&endpoint.name);
            let supervisor = if let Some(supervisor) = same {
                supervisor.treat_as(endpoint);
                supervisor
            } else {
                Arc::new(Supervisor::new(endpoint, Arc::clone(&self.house)))
            };
            servers.insert(name, supervisor);
        }
        for supervisor in before.values() {
            supervisor.close();
        }
    }

    /// Calls a tool. There is no other way to call one.
    ///
    /// The permit says which tool, how long it may take, and whether the call may be repeated; it is
    /// used up. A server that has to be started first may take its own time for that.
    pub async fn call(&self, permit: Permit, call: Call<'_>) -> Result<Box<RawValue>, CallError> {
        let server = self.server(permit.tool().server())?;
        let arguments: Value = serde_json::from_str(call.arguments.get()).unwrap_or_default();
        if canon::params_hash(&arguments) != permit.params_hash() {
            let why = "the permit was given for other arguments";
            return Err(CallError::Fault(Fault::new(INVALID_REQUEST, why)));
        }
        let left_ms = permit
            .deadline_ms()
            .saturating_sub((self.house.surroundings.now_ms)());
        let left = Duration::from_millis(u64::try_from(left_ms).unwrap_or(0));
        let options = Options {
            deadline: Instant::now().checked_add(left),
            idle: call.idle,
            cancel: call.cancel,
            client: call.client,
            headers: Vec::new(),
            hands_on_questions: call.round.is_some(),
            sent: call.sent,
        };
        let mut params = Fields::default();
        params.set("name", raw(permit.tool().tool()));
        params.set("arguments", call.arguments.to_owned());
        if let Some(meta) = call.meta {
            params.set("_meta", meta);
        }
        let round = call.round.unwrap_or_default();
        for (name, value) in [
            ("inputResponses", round.responses),
            ("requestState", round.state),
        ] {
            if let Some(value) = value {
                params.set(name, value);
            }
        }
        let params = params.write();
        let errand = Errand::Call {
            params: &params,
            schema: call.schema,
        };
        let repeat = if permit.may_retry() {
            Repeat::Always
        } else {
            Repeat::Undelivered
        };
        answer(server.run(&call.key, errand, options, repeat).await)
    }

    /// Asks a server something else, its answer as it was sent. Refuses `tools/call`.
    pub async fn ask(
        &self,
        server: &str,
        key: &Key,
        method: &str,
        params: Option<&RawValue>,
        options: Options,
    ) -> Result<Box<RawValue>, CallError> {
        if method == "tools/call" {
            let why = "a tool is called with a permit, not by its method";
            return Err(CallError::Fault(Fault::new(INVALID_REQUEST, why)));
        }
        let server = self.server(server)?;
        let options = with_deadline(options, &server.endpoint());
        let errand = Errand::Ask { method, params };
        let repeat = if only_reads(method) {
            Repeat::Always
        } else {
            Repeat::Undelivered
        };
        answer(server.run(key, errand, options, repeat).await)
    }

    /// A whole list of a server. Nothing is retried but what failed because an old connection was lost.
    pub async fn list(
        &self,
        server: &str,
        key: &Key,
        what: What,
        options: Options,
    ) -> Result<Listing, CallError> {
        let server = self.server(server)?;
        let options = with_deadline(options, &server.endpoint());
        match server
            .run(key, Errand::List(what), options, Repeat::Healing)
            .await?
        {
            Outcome::Listing(listing) => Ok(listing),
            Outcome::Answer(_) | Outcome::Connected(_) => Ok(Listing::default()),
        }
    }

    /// A list of a server that need not be in the pool, over a connection that is ended at once, also
    /// when the future is dropped.
    pub async fn list_once(
        &self,
        endpoint: &Endpoint,
        what: What,
        options: Options,
    ) -> Result<Listing, CallError> {
        let opening = Opening {
            endpoint,
            dialer: &*self.house.surroundings.dialer,
            memory: &self.house.surroundings.memory,
            tasks: &self.house.tasks,
            owner: None,
            listener: &|| Box::new(|_, _| {}),
        };
        let options = with_deadline(options, endpoint);
        let visit = async {
            let connection = Connection::open(&opening).await;
            let connection = connection.map_err(CallError::of_opening)?;
            let listing = connection.list(what, &options).await;
            connection.close().await;
            listing
        };
        tokio::select! {
            listing = visit => listing,
            () = self.house.closing.cancelled() => Err(Failure::Closed.into()),
            () = options.cancel.cancelled() => Err(Failure::Cancelled.into()),
        }
    }

    /// Connects a server that is not, without asking it anything.
    pub async fn connect(&self, server: &str, key: &Key) -> Result<(), CallError> {
        let described = self.describe(server, key, Options::default());
        described.await.map(drop)
    }

    /// What a server said of itself, connecting it where it is not.
    pub async fn describe(
        &self,
        server: &str,
        key: &Key,
        mut options: Options,
    ) -> Result<Negotiated, CallError> {
        let server = self.server(server)?;
        let patience = Instant::now().checked_add(server.endpoint().start_timeout);
        options.deadline = options.deadline.or(patience);
        let connecting = server.run(key, Errand::Connect, options, Repeat::Undelivered);
        match connecting.await? {
            Outcome::Connected(negotiated) => Ok(negotiated),
            Outcome::Answer(_) | Outcome::Listing(_) => Err(Failure::Closed.into()),
        }
    }

    /// Closes the connections of a server; the next request opens one again.
    pub fn disconnect(&self, server: &str) {
        if let Ok(server) = self.server(server) {
            server.disconnect();
        }
    }

    /// Whether there is a connection to a server.
    pub fn is_connected(&self, server: &str) -> bool {
        self.status(server)
            .is_some_and(|status| status.health == Health::Connected)
    }

    /// How things stand with a server; `None` where there is none of that name.
    pub fn status(&self, server: &str) -> Option<Status> {
        self.server(server).ok().map(|server| server.status())
    }

    /// What happens from now on.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.house.events.subscribe()
    }

    /// Closes every connection in good order, and waits until they are closed. Nothing is opened after
    /// that.
    pub async fn close(&self) {
        self.house.closing.cancel();
        self.house.tasks.close();
        let patience = Duration::from_millis(CONNECTIONS_CLOSE_MS);
        let _ = tokio::time::timeout(patience, self.house.tasks.wait()).await;
    }

    fn server(&self, name: &str) -> Result<Arc<Supervisor>, Failure> {
        let servers = lock(&self.servers);
        let server = servers.get(name).map(Arc::clone);
        server.ok_or_else(|| Failure::NotStarted(format!("there is no server `{name}` any more")))
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.house.closing.cancel();
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let servers: Vec<_> = lock(&self.servers).keys().cloned().collect();
        f.debug_struct("Pool")
            .field("servers", &servers)
            .finish_non_exhaustive()
    }
}

fn answer(outcome: Result<Outcome, CallError>) -> Result<Box<RawValue>, CallError> {
    match outcome? {
        Outcome::Answer(answer) => Ok(answer),
        Outcome::Listing(_) | Outcome::Connected(_) => Ok(raw(&())),
    }
}

/// A request that sets no time of its own may take as long as a start and a call may.
fn with_deadline(mut options: Options, endpoint: &Endpoint) -> Options {
    let usual = endpoint.start_timeout + endpoint.call_timeout;
    options.deadline = options
        .deadline
        .or_else(|| Instant::now().checked_add(usual));
    options
}

/// Whether a method changes nothing, so that asking twice does no harm.
fn only_reads(method: &str) -> bool {
    method.ends_with("/list")
        || matches!(
            method,
            "resources/read" | "prompts/get" | "completion/complete" | "ping" | "tasks/get"
        )
}
