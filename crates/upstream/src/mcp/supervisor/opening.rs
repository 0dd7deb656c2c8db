//! Opening a connection, and watching over it until its end.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;
use toolcrib_core::retry::RetryPolicy;

use super::slot::{Opened, Slot, State, Tenant, Use};
use super::{Supervisor, is_loss};
use crate::mcp::connection::Opening;
use crate::mcp::era::Era;
use crate::mcp::object::{Fields, raw};
use crate::mcp::peer::Listener;
use crate::mcp::places::Place;
use crate::mcp::status::{Event, Happening, Health};
use crate::mcp::{CallError, Client, Connection, Failure, Options, lock};

impl Supervisor {
    /// Opens a connection for a slot and tells everybody who waits for it.
    pub(super) async fn open(
        self: Arc<Self>,
        slot: Use,
        owner: Option<Arc<dyn Client>>,
        opened: watch::Sender<Opened>,
    ) {
        let attempt = tokio::select! {
            attempt = self.attempt(&slot, owner) => attempt,
            () = self.closing.cancelled() => Err(Failure::Closed),
        };
        let outcome = match attempt {
            Ok((connection, place)) => {
                let tenant = Arc::new(Tenant::new(connection));
                *lock(&slot.state) = State::Open(Arc::clone(&tenant));
                self.opened(&tenant.connection);
                let watching =
                    Arc::clone(&self).watch(Arc::clone(&slot), Arc::clone(&tenant), place);
                self.house.tasks.spawn(watching);
                Ok(tenant)
            }
            Err(failure) => {
                *lock(&slot.state) = State::Empty;
                self.not_opened(&failure);
                Err(failure)
            }
        };
        opened.send_replace(Some(outcome));
    }

    async fn attempt(
        &self,
        slot: &Arc<Slot>,
        owner: Option<Arc<dyn Client>>,
    ) -> Result<(Connection, Place), Failure> {
        self.let_through().await?;
        let place = self.house.places.take(slot, slot.is_child).await?;
        slot.served.store(false, Ordering::Relaxed);
        let endpoint = self.endpoint();
        let opening = Opening {
            endpoint: &endpoint,
            dialer: &*self.house.surroundings.dialer,
            memory: &self.house.surroundings.memory,
            tasks: &self.house.tasks,
            owner,
            listener: &|| self.listener(),
        };
        Ok((Connection::open(&opening).await?, place))
    }

    /// Turns notifications of the server into events.
    fn listener(&self) -> Listener {
        let events = self.house.events.clone();
        let server = Arc::clone(&self.endpoint().name);
        Box::new(move |method, params| {
            if let Some(what) = Happening::of(method, params) {
                let _ = events.send(Event {
                    server: Arc::clone(&server),
                    what,
                });
            }
        })
    }

    fn opened(&self, connection: &Connection) {
        let negotiated = connection.negotiated();
        let mut standing = lock(&self.standing);
        standing.open += 1;
        standing.version = Some(negotiated.version.clone());
        if standing.health != Health::Connected {
            standing.health = Health::Connected;
            standing.reason = None;
            standing.since_ms = Some((self.house.surroundings.now_ms)());
        }
        drop(standing);
        let server = &self.endpoint().name;
        tracing::info!(%server, version = negotiated.version, "connected");
        self.tell(Happening::Connected);
    }

    fn not_opened(&self, failure: &Failure) {
        if matches!(
            failure,
            Failure::Closed | Failure::Overloaded | Failure::Resting { .. }
        ) {
            return;
        }
        let random = (self.house.surroundings.random)();
        lock(&self.breaker).failed(Instant::now(), random);
        let server = &self.endpoint().name;
        tracing::warn!(%server, %failure, "a server could not be connected");
        let mut standing = lock(&self.standing);
        if standing.open == 0 {
            standing.health = Health::Error;
            standing.reason = Some(failure.to_string());
            standing.since_ms = Some((self.house.surroundings.now_ms)());
        }
    }

    /// Watches a connection until its end, and brings that about when nobody uses it for long.
    async fn watch(self: Arc<Self>, slot: Arc<Slot>, tenant: Arc<Tenant>, place: Place) {
        let mut over = tenant.connection.peer().ending();
        let listening = self.house.tasks.spawn(listen(Arc::clone(&tenant)));
        let usual = self.endpoint().idle_close;
        loop {
            let idle = slot.patience(usual);
            tokio::select! {
                _ = over.wait_for(Option::is_some) => break,
                () = tenant.given_up.cancelled() => break,
                () = slot.unused_for(idle) => {
                    // Meanwhile somebody may have asked for more than lists.
                    if slot.patience(usual) == idle {
                        slot.give_way();
                    }
                }
                () = self.closing.cancelled() => {
                    slot.give_up(&tenant, None);
                    tenant.connection.peer().close();
                }
            }
        }
        let failed = over.borrow().clone().filter(|why| *why != Failure::Closed);
        slot.give_up(&tenant, failed.as_ref());
        let why = tenant.why();
        // Whoever still uses it keeps it open.
        drop(tenant);
        listening.abort();
        let _ = over.wait_for(Option::is_some).await;
        self.ended(&slot, why.as_ref());
        // Only now, so that no more are said to be connected than there are places.
        drop(place);
    }

    fn ended(&self, slot: &Slot, why: Option<&Failure>) {
        let server = &self.endpoint().name;
        let mut standing = lock(&self.standing);
        standing.open -= 1;
        if standing.open == 0 {
            standing.health = if why.is_some() {
                Health::Error
            } else {
                Health::Disconnected
            };
            standing.reason = why.map(ToString::to_string);
            standing.since_ms = Some((self.house.surroundings.now_ms)());
        }
        drop(standing);
        let Some(why) = why else {
            tracing::info!(%server, "disconnected");
            return;
        };
        tracing::warn!(%server, %why, "a connection was lost");
        // A server that works and then fails is tried again at once; one that never works is not.
        if !slot.served.load(Ordering::Relaxed) {
            let random = (self.house.surroundings.random)();
            lock(&self.breaker).failed(Instant::now(), random);
        }
        self.tell(Happening::Lost);
    }
}

/// Asks a server of the modern era to tell when its lists change, for as long as it does.
async fn listen(tenant: Arc<Tenant>) {
    let connection = &tenant.connection;
    let negotiated = connection.negotiated();
    let capabilities = Fields::of(Some(&negotiated.capabilities));
    let tells = |name: &str| {
        let announced = Fields::of(capabilities.get(name));
        announced
            .get("listChanged")
            .is_some_and(|value| value.get() == "true")
    };
    let wanted = json!({
        "toolsListChanged": tells("tools"),
        "promptsListChanged": tells("prompts"),
        "resourcesListChanged": tells("resources"),
    });
    let is_told = wanted
        .as_object()
        .is_some_and(|wanted| wanted.values().any(|tells| *tells == true));
    if negotiated.era != Era::Modern || !is_told {
        return;
    }
    let params = raw(&json!({"notifications": wanted}));
    let policy = RetryPolicy::default();
    for attempt in 1.. {
        let ended = connection
            .request(
                "subscriptions/listen",
                Some(&params),
                None,
                &Options::default(),
            )
            .await;
        match ended {
            Err(CallError::Fault(_)) => return,
            Err(CallError::Failure(failure)) if is_loss(&failure) => return,
            // The server ends a subscription when it wants to; it is asked again, not too often.
            Ok(_) | Err(_) => {
                let pause = Duration::from_millis(policy.delay_ms(attempt));
                tokio::time::sleep(pause).await;
            }
        }
    }
}
