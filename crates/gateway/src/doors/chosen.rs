//! What the configuration in place chose to serve: a configuration that chooses another mode holds for
//! the next request.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::value::RawValue;
use tokio::sync::broadcast;
use toolcrib_config::model::settings::{Mode, Profile};
use toolcrib_core::policy::Caller;
use toolcrib_core::rpc::Fault;

use crate::desk::Desk;
use crate::engine::Engine;
use crate::mcp::discovery::Discovery;
use crate::mcp::flat::Flat;
use crate::mcp::full::Full;
use crate::mcp::gateway::Gateway;
use crate::mcp::pinned::Pinned;
use crate::mcp::{Change, Context, Description, Surface};

/// The surface of each mode.
pub(super) struct Chosen {
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
        Self {
            engine: Arc::clone(engine),
            discovery: pinned(Discovery::new(Arc::clone(engine))),
            gateway: pinned(Gateway::new(desk)),
            full: Arc::new(Full::new(Arc::clone(engine))),
            flat: Arc::new(Flat::new(Arc::clone(engine))),
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
        self.now().describe(context)
    }

    fn handle<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawValue>,
        context: &'a Context,
    ) -> BoxFuture<'a, Result<Box<RawValue>, Fault>> {
        self.now().handle(method, params, context)
    }

    fn changes(&self, caller: &Caller) -> broadcast::Receiver<Change> {
        self.now().changes(caller)
    }

    fn mirrored(&self, caller: &Caller, tool: &str) -> Vec<(String, String)> {
        self.now().mirrored(caller, tool)
    }
}
