//! What the configuration in place chose to serve: a configuration that chooses another mode holds for
//! the next request.

use std::sync::{Arc, OnceLock};

use futures::future::BoxFuture;
use serde_json::value::RawValue;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use toolcrib_config::model::settings::{Mode, Profile};
use toolcrib_core::policy::Caller;
use toolcrib_core::rpc::Fault;

use crate::desk::Desk;
use crate::engine::Engine;
use crate::mcp::discovery::Discovery;
use crate::mcp::flat::{CHANGES_MAX, Flat};
use crate::mcp::full::Full;
use crate::mcp::gateway::Gateway;
use crate::mcp::listen::MISSED;
use crate::mcp::pinned::Pinned;
use crate::mcp::{Change, Context, Description, Surface};

/// What is chosen, and who is told when that is something else.
pub(super) struct Chosen {
    pub(super) modes: Modes,
    changes: OnceLock<broadcast::Sender<Change>>,
}

/// The surface of each mode.
#[derive(Clone)]
pub(super) struct Modes {
    engine: Arc<Engine>,
    /// The five tools of the profile `discovery`, with what is pinned beside them.
    pub(super) discovery: Arc<dyn Surface>,
    /// The five tools of the profile `gateway`, likewise.
    pub(super) gateway: Arc<dyn Surface>,
    /// Every tool.
    pub(super) full: Arc<dyn Surface>,
    flat: Arc<dyn Surface>,
}

impl Chosen {
    pub(super) fn new(engine: &Arc<Engine>, desk: Arc<Desk>) -> Self {
        let pinned = |five| -> Arc<dyn Surface> { Pinned::beside(five, Arc::clone(engine)) };
        let modes = Modes {
            engine: Arc::clone(engine),
            discovery: pinned(Discovery::new(Arc::clone(engine))),
            gateway: pinned(Gateway::new(desk)),
            full: Arc::new(Full::new(Arc::clone(engine))),
            flat: Arc::new(Flat::new(Arc::clone(engine))),
        };
        Self {
            modes,
            changes: OnceLock::new(),
        }
    }
}

impl Modes {
    /// Tells on what the chosen surface tells; where another one was chosen, everything has changed.
    async fn tell(
        self,
        caller: Caller,
        mut reloads: watch::Receiver<u64>,
        mut chosen: Arc<dyn Surface>,
        mut behind: broadcast::Receiver<Change>,
        changes: broadcast::Sender<Change>,
    ) {
        loop {
            let told = tokio::select! {
                change = behind.recv() => match change {
                    Ok(change) => vec![change],
                    Err(RecvError::Lagged(_)) => MISSED.to_vec(),
                    Err(RecvError::Closed) => return,
                },
                reloaded = reloads.changed() => match reloaded {
                    Ok(()) if Arc::ptr_eq(self.now(), &chosen) => continue,
                    Ok(()) => {
                        chosen = Arc::clone(self.now());
                        behind = chosen.changes(&caller);
                        MISSED.to_vec()
                    }
                    Err(_) => return,
                },
            };
            for change in told {
                // Nobody may be listening.
                let _ = changes.send(change);
            }
        }
    }

    fn now(&self) -> &Arc<dyn Surface> {
        let config = self.engine.config();
        match (config.settings.mode, config.settings.profile) {
            (Mode::Lazy, Profile::Discovery) => &self.discovery,
            (Mode::Lazy, Profile::Gateway) => &self.gateway,
            (Mode::Full, _) => &self.full,
            (Mode::Flat, _) => &self.flat,
        }
    }
}

impl Surface for Chosen {
    fn describe<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<Description, Fault>> {
        self.modes.now().describe(context)
    }

    fn introduces_itself(&self, caller: &Caller) -> bool {
        self.modes.now().introduces_itself(caller)
    }

    fn handle<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawValue>,
        context: &'a Context,
    ) -> BoxFuture<'a, Result<Box<RawValue>, Fault>> {
        self.modes.now().handle(method, params, context)
    }

    fn changes(&self, caller: &Caller) -> broadcast::Receiver<Change> {
        let changes = self.changes.get_or_init(|| {
            let changes = broadcast::Sender::new(CHANGES_MAX);
            let reloads = self.modes.engine.reloads();
            let chosen = Arc::clone(self.modes.now());
            let behind = chosen.changes(caller);
            // None of the surfaces tells one caller other things than another.
            let (modes, caller) = (self.modes.clone(), caller.clone());
            tokio::spawn(modes.tell(caller, reloads, chosen, behind, changes.clone()));
            changes
        });
        changes.subscribe()
    }

    fn mirrored(&self, caller: &Caller, tool: &str) -> Vec<(String, String)> {
        self.modes.now().mirrored(caller, tool)
    }
}
