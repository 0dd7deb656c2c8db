//! Everything about one server: its connections, how they are opened, watched, closed and healed.
//!
//! Nothing is opened before it is needed. A connection that is lost is opened again by whoever needs it
//! next; what was under way is sent again only where that repeats nothing, or may be repeated.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolcrib_core::limits::CONNECTIONS_PER_SERVER_MAX;
use toolcrib_core::retry::RetryPolicy;

use super::breaker::{Breaker, Next};
use super::connection;
use super::dialer::Dialer;
use super::endpoint::{Endpoint, Way};
use super::era::{EraMemory, Negotiated};
use super::listing::{Listing, What};
use super::places::Places;
use super::status::{Event, Happening, Health, Status};
use super::{CallError, Client, Failure, Options, lock};

mod opening;
pub(super) mod slot;

use slot::{Slot, State, Tenant, Use};

/// Whose connection is used: nobody else's requests go over it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// All callers share it.
    Shared,
    /// There is only one caller, and it may be asked things.
    Sole,
    /// One principal's.
    Principal(String),
    /// One session's.
    Session(String),
}

impl Key {
    /// Whether exactly one caller owns the connection, so that the server may ask it things.
    pub fn is_owned(&self) -> bool {
        *self != Key::Shared
    }
}

/// Reads the clock: milliseconds since the epoch.
pub type NowMs = Arc<dyn Fn() -> i64 + Send + Sync>;
/// Gives a random number from 0 to 1.
pub type Random = Arc<dyn Fn() -> f64 + Send + Sync>;

/// What supervising takes from the surroundings.
#[derive(Clone)]
pub struct Surroundings {
    /// Opens ways to servers.
    pub dialer: Arc<dyn Dialer>,
    /// Which eras servers speak.
    pub memory: Arc<EraMemory>,
    /// The clock.
    pub now_ms: NowMs,
    /// Chance, which spreads delays.
    pub random: Random,
}

/// What all servers share.
pub(super) struct House {
    pub(super) surroundings: Surroundings,
    pub(super) places: Places,
    pub(super) tasks: TaskTracker,
    pub(super) events: broadcast::Sender<Event>,
    pub(super) closing: CancellationToken,
}

/// What is wanted of a server.
#[derive(Clone, Copy)]
pub(super) enum Errand<'a> {
    Call {
        params: &'a RawValue,
        schema: Option<&'a Value>,
    },
    Ask {
        method: &'a str,
        params: Option<&'a RawValue>,
    },
    List(What),
    Connect,
}

/// What came of it.
pub(super) enum Outcome {
    Answer(Box<RawValue>),
    Listing(Listing),
    Connected(Negotiated),
}

/// What may be done about a failure on the way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    /// Only what was certainly not delivered is sent again.
    Undelivered,
    /// Also what may have been delivered.
    Always,
    /// Only what failed because an old connection had been lost.
    Healing,
}

struct Standing {
    health: Health,
    reason: Option<String>,
    since_ms: Option<i64>,
    version: Option<String>,
    open: usize,
}

/// One server.
pub(super) struct Supervisor {
    endpoint: Mutex<Arc<Endpoint>>,
    house: Arc<House>,
    slots: Mutex<HashMap<Key, Arc<Slot>>>,
    breaker: Mutex<Breaker>,
    standing: Mutex<Standing>,
    closing: CancellationToken,
}

impl Supervisor {
    pub(super) fn new(endpoint: Endpoint, house: Arc<House>) -> Self {
        let closing = house.closing.child_token();
        let standing = Standing {
            health: Health::Disconnected,
            reason: None,
            since_ms: None,
            version: None,
            open: 0,
        };
        Self {
            endpoint: Mutex::new(Arc::new(endpoint)),
            house,
            slots: Mutex::default(),
            breaker: Mutex::default(),
            standing: Mutex::new(standing),
            closing,
        }
    }

    pub(super) fn endpoint(&self) -> Arc<Endpoint> {
        Arc::clone(&lock(&self.endpoint))
    }

    /// Takes over how the server is treated from now on.
    pub(super) fn treat_as(&self, endpoint: Endpoint) {
        *lock(&self.endpoint) = Arc::new(endpoint);
    }

    pub(super) fn status(&self) -> Status {
        let standing = lock(&self.standing);
        Status {
            health: standing.health,
            reason: standing.reason.clone(),
            since_ms: standing.since_ms,
            version: standing.version.clone(),
            breaker: lock(&self.breaker).state(Instant::now()),
        }
    }

    /// Ends every connection for good.
    pub(super) fn close(&self) {
        self.closing.cancel();
    }

    /// Ends every connection; the next request opens one again.
    pub(super) fn disconnect(&self) {
        let slots: Vec<_> = lock(&self.slots).values().cloned().collect();
        for slot in slots {
            let open = match &*lock(&slot.state) {
                State::Open(tenant) => Some(Arc::clone(tenant)),
                _ => None,
            };
            if let Some(tenant) = open {
                slot.give_up(&tenant, None);
                tenant.connection.peer().close();
            }
        }
    }

    /// Does an errand, again where that is allowed and helps.
    pub(super) async fn run(
        self: &Arc<Self>,
        key: &Key,
        errand: Errand<'_>,
        mut options: Options,
        repeat: Repeat,
    ) -> Result<Outcome, CallError> {
        let retries = self.endpoint().retries;
        let policy = RetryPolicy {
            max_retries: retries,
            ..RetryPolicy::default()
        };
        let mut repeats = 0;
        // What an earlier attempt may have brought about stays unknown, however the next one fails.
        let mut unclear = None;
        loop {
            let (error, reused) = match self.once(key, errand, &mut options).await {
                Ok(outcome) => return Ok(outcome),
                Err(missed) => missed,
            };
            let Some(failure) = error.failure() else {
                return Err(error);
            };
            let is_clear = error.was_not_delivered();
            let give = |unclear: Option<CallError>| unclear.filter(|_| is_clear);
            let heals = reused && is_loss(failure);
            let may_repeat = match repeat {
                Repeat::Healing => heals,
                Repeat::Undelivered => failure.was_not_delivered(),
                Repeat::Always => failure.was_not_delivered() || failure.is_passing(),
            };
            // A program that is not there or does not get ready, or credentials that are refused twice,
            // stay so.
            let is_lasting = matches!(failure, Failure::NotStarted(_) | Failure::NotReady { .. })
                || matches!(failure, Failure::Unauthorised(_)) && (repeats > 0 || !reused);
            repeats += 1;
            if !may_repeat || is_lasting || repeats > retries.max(u32::from(heals)) {
                return Err(give(unclear).unwrap_or(error));
            }
            let pause = if heals && repeats == 1 {
                Duration::ZERO
            } else {
                self.pause(&policy, repeats, failure)
            };
            let until = Instant::now() + pause;
            if options.deadline.is_some_and(|deadline| until >= deadline) {
                return Err(give(unclear).unwrap_or(error));
            }
            tokio::select! {
                () = tokio::time::sleep_until(until) => {}
                () = options.cancel.cancelled() => return Err(Failure::Cancelled.into()),
            }
            if !is_clear {
                unclear = Some(error);
            }
        }
    }

    fn pause(&self, policy: &RetryPolicy, repeats: u32, failure: &Failure) -> Duration {
        let random = (self.house.surroundings.random)();
        let pause = Duration::from_millis(policy.jittered_delay_ms(repeats, random));
        match failure {
            Failure::Status {
                retry_after: Some(wished),
                ..
            } => pause.max(*wished),
            _ => pause,
        }
    }

    /// One attempt. With an error comes whether it was over a connection that was there before.
    async fn once(
        self: &Arc<Self>,
        key: &Key,
        errand: Errand<'_>,
        options: &mut Options,
    ) -> Result<Outcome, (CallError, bool)> {
        let no_way = |failure| (CallError::of_opening(failure), false);
        let owner = options.client.as_ref().filter(|_| key.is_owned()).cloned();
        let slot = self.slot(key, owner.as_ref()).map_err(no_way)?;
        if !matches!(errand, Errand::List(_) | Errand::Connect) {
            slot.claim();
        }
        let began = Instant::now();
        let waits = matches!(errand, Errand::Call { .. });
        let tenant = self.tenant(&slot, owner.as_ref(), options, waits).await;
        let (tenant, reused) = tenant.map_err(no_way)?;
        if waits {
            // The time that a call may take begins when the server is there.
            options.deadline = options.deadline.map(|deadline| deadline + began.elapsed());
        }
        let connection = &tenant.connection;
        if let Some(owner) = owner {
            connection.peer().set_owner(Some(owner));
        }
        let outcome = match errand {
            Errand::Call { params, schema } => {
                options.sent.begin();
                let answer = connection
                    .request("tools/call", Some(params), schema, options)
                    .await;
                answer.map(Outcome::Answer)
            }
            Errand::Ask { method, params } => {
                let answer = connection.request(method, params, None, options).await;
                answer.map(Outcome::Answer)
            }
            Errand::List(what) => connection.list(what, options).await.map(Outcome::Listing),
            Errand::Connect => return Ok(Outcome::Connected(connection.negotiated().clone())),
        };
        match outcome {
            Err(CallError::Failure(failure)) => {
                if waits && failure.was_not_delivered() {
                    options.sent.take_back();
                }
                let is_over = connection.peer().closed().is_some()
                    || matches!(
                        failure,
                        Failure::SessionLost | Failure::Unauthorised(_) | Failure::Unreachable(_)
                    );
                if is_over {
                    slot.give_up(&tenant, Some(&failure));
                }
                Err((failure.into(), reused))
            }
            answered => {
                slot.served.store(true, Ordering::Relaxed);
                lock(&self.breaker).succeeded();
                answered.map_err(|error| (error, reused))
            }
        }
    }

    fn slot(&self, key: &Key, owner: Option<&Arc<dyn Client>>) -> Result<Use, Failure> {
        let is_child = matches!(self.endpoint().way, Way::Stdio(_));
        let mut slots = lock(&self.slots);
        slots.retain(|_, slot| slot.is_used() || !slot.is_empty());
        if !slots.contains_key(key) {
            hand_over(&mut slots, key, owner);
        }
        if slots.len() >= CONNECTIONS_PER_SERVER_MAX && !slots.contains_key(key) {
            let idle = slots
                .iter()
                .filter_map(|(key, slot)| Some((slot.idle_since()?, key.clone())));
            let oldest = idle.min_by_key(|(since, _)| *since).map(|(_, key)| key);
            let gone = oldest.and_then(|oldest| slots.remove(&oldest));
            if !gone.is_some_and(|slot| slot.give_way()) {
                return Err(Failure::Overloaded);
            }
        }
        let is_spare = *key == Key::Shared && !slots.is_empty();
        let slot = slots
            .entry(key.clone())
            .or_insert_with(|| Arc::new(Slot::new(is_child, is_spare)));
        Ok(slot.use_it())
    }

    /// The open connection of a slot, opened if need be; and whether it was there before. Whoever
    /// `waits` does so for as long as the server may take to start.
    async fn tenant(
        self: &Arc<Self>,
        slot: &Use,
        owner: Option<&Arc<dyn Client>>,
        options: &Options,
        waits: bool,
    ) -> Result<(Arc<Tenant>, bool), Failure> {
        if self.closing.is_cancelled() {
            return Err(Failure::Closed);
        }
        let mut opened = {
            let mut state = lock(&slot.state);
            match &*state {
                State::Open(tenant) if tenant.connection.peer().closed().is_none() => {
                    return Ok((Arc::clone(tenant), true));
                }
                State::Opening(opened) => opened.clone(),
                State::Open(_) | State::Empty => {
                    let (sender, opened) = watch::channel(None);
                    *state = State::Opening(opened.clone());
                    let opening = Arc::clone(self).open(slot.use_it(), owner.cloned(), sender);
                    self.house.tasks.spawn(opening);
                    opened
                }
            }
        };
        let began = Instant::now();
        let deadline = options.deadline.filter(|_| !waits);
        tokio::select! {
            opened = opened.wait_for(Option::is_some) => {
                let lost = || Err(Failure::Broken("opening the connection failed".to_owned()));
                let tenant =
                    opened.map_or_else(|_| lost(), |opened| opened.clone().unwrap_or_else(lost));
                tenant.map(|tenant| (tenant, false))
            }
            () = options.cancel.cancelled() => Err(Failure::Cancelled),
            () = until(deadline) => Err(Failure::TimedOut(began.elapsed())),
        }
    }

    fn tell(&self, what: Happening) {
        // Nobody may be listening.
        let _ = self.house.events.send(Event {
            server: Arc::clone(&self.endpoint().name),
            what,
        });
    }

    /// Waits until the breaker lets an attempt through.
    async fn let_through(&self) -> Result<(), Failure> {
        loop {
            let next = lock(&self.breaker).next(Instant::now());
            match next {
                Next::Go => return Ok(()),
                Next::Wait(pause) => tokio::time::sleep(pause).await,
                Next::Refuse(pause) => {
                    let reason = lock(&self.standing).reason.clone().unwrap_or_default();
                    let seconds = pause.as_secs().max(1);
                    return Err(Failure::Resting { reason, seconds });
                }
            }
        }
    }
}

/// Gives a caller without a connection the one over which only lists were asked so far: one process of a server is
/// enough, and this one knows of nobody yet. Where its handshake did not say what this caller can be asked, it makes
/// room for the caller's own.
fn hand_over(slots: &mut HashMap<Key, Arc<Slot>>, key: &Key, owner: Option<&Arc<dyn Client>>) {
    let listed = slots.get(&Key::Shared).filter(|slot| slot.is_unclaimed());
    let Some(listed) = listed.cloned() else {
        return;
    };
    let said = connection::capabilities(None);
    if owner.is_none_or(|owner| owner.capabilities().get() == said.get()) {
        slots.remove(&Key::Shared);
        slots.insert(key.clone(), listed);
    } else {
        listed.give_way();
    }
}

/// Whether a failure means that the connection is of no more use.
fn is_loss(failure: &Failure) -> bool {
    matches!(
        failure,
        Failure::Exited { .. }
            | Failure::Broken(_)
            | Failure::Unreachable(_)
            | Failure::SessionLost
            | Failure::Unauthorised(_)
            | Failure::Closed
    )
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
