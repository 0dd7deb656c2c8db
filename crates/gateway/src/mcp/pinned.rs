//! Tools that the user wants beside the five, each under a name that every client takes.
//!
//! The five stay what they are; what is pinned follows them in the list, as far as the caller may run it, and
//! is called by its name like a tool of any other server.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{broadcast, watch};
use toolcrib_core::limits::{PINNED_TOOLS_MAX, PINNED_WAIT_MS};
use toolcrib_core::policy::{Caller, Visibility};
use toolcrib_core::rpc::Fault;
use toolcrib_core::schema::signature;

use super::bridge::mirrored;
use super::fields::Fields;
use super::flat::CHANGES_MAX;
use super::full::{name, run, shown};
use super::service::Outcome;
use super::surface::{Change, Context, Description, Surface};
use crate::engine::Engine;
use crate::engine::mark::Mark;
use crate::engine::snapshot::Entry;

/// Five tools, and those that are pinned beside them.
pub struct Pinned {
    five: Arc<dyn Surface>,
    engine: Arc<Engine>,
    changes: OnceLock<broadcast::Sender<Change>>,
}

/// A tool that is to be listed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pin {
    server: String,
    tool: String,
    name: String,
}

/// What `surface` of the configuration names, each once, in its order.
fn pins(surface: &[String]) -> Vec<Pin> {
    let mut pins: Vec<Pin> = Vec::new();
    for (server, tool) in surface.iter().filter_map(|id| id.split_once(':')) {
        let name = name(server, tool);
        if pins.len() < PINNED_TOOLS_MAX && pins.iter().all(|pin| pin.name != name) {
            pins.push(Pin {
                server: server.to_owned(),
                tool: tool.to_owned(),
                name,
            });
        }
    }
    pins
}

/// A pin, and what is known now of its tool: the definition, and who may see it.
type Sight = (Pin, Option<(String, Mark)>);

fn sights(engine: &Engine) -> Vec<Sight> {
    let pins = pins(&engine.config().settings.surface).into_iter();
    pins.map(|pin| {
        let seen = engine.glimpse(&pin.server, &pin.tool);
        let seen = seen.map(|(entry, mark)| (entry.definition.get().to_owned(), mark));
        (pin, seen)
    })
    .collect()
}

impl Pinned {
    /// These five, with what the engine's configuration pins beside them.
    pub fn beside(five: Arc<dyn Surface>, engine: Arc<Engine>) -> Arc<Self> {
        Arc::new(Self {
            five,
            engine,
            changes: OnceLock::new(),
        })
    }

    fn pins(&self) -> Vec<Pin> {
        pins(&self.engine.config().settings.surface)
    }

    /// Tells whenever other tools are pinned, or those that are have come, gone or changed.
    async fn tell(
        engine: Arc<Engine>,
        (mut reloads, mut restocks): (watch::Receiver<u64>, watch::Receiver<u64>),
        mut before: Vec<Sight>,
        changes: broadcast::Sender<Change>,
    ) {
        loop {
            let heard = tokio::select! {
                heard = reloads.changed() => heard,
                heard = restocks.changed() => heard,
            };
            if heard.is_err() {
                return;
            }
            let now = sights(&engine);
            if now != before {
                before = now;
                // Nobody may be listening.
                let _ = changes.send(Change::Tools);
            }
        }
    }

    async fn described(&self, context: &Context) -> Result<Description, Fault> {
        let mut five = self.five.describe(context).await?;
        let tools = json!({ "listChanged": true });
        five.capabilities.insert("tools".into(), tools);
        Ok(five)
    }

    async fn list(&self, params: Option<&RawValue>, context: &Context) -> Outcome {
        let five = self.five.handle("tools/list", params, context).await?;
        let pins = self.pins();
        let Some(mut fields) = Fields::of(&five).filter(|_| !pins.is_empty()) else {
            return Ok(five);
        };
        let pinned = pins.iter().map(|pin| self.definition(pin, &context.caller));
        let pinned = join_all(pinned).await;
        let listed = fields.get("tools").map_or("[]", RawValue::get);
        let mut tools: Vec<Box<RawValue>> = serde_json::from_str(listed).unwrap_or_default();
        tools.extend(pinned.into_iter().flatten());
        fields.set("tools", &tools);
        Ok(fields.raw())
    }

    /// How a pinned tool is listed; not at all where the caller may not run it, or its server does not say in
    /// time what it has.
    async fn definition(&self, pin: &Pin, caller: &Caller) -> Option<Box<RawValue>> {
        let asking = self.engine.tool_details(caller, &pin.server, &pin.tool);
        let patience = Duration::from_millis(PINNED_WAIT_MS);
        match tokio::time::timeout(patience, asking).await {
            Ok(Ok(found)) if found.visibility == Visibility::Shown => {
                Some(shown(&found.entry, &pin.name))
            }
            Ok(Ok(_)) => None,
            Ok(Err(error)) => {
                tracing::debug!(pin = pin.name, %error, "a pinned tool is not listed");
                None
            }
            Err(_) => {
                tracing::warn!(
                    pin = pin.name,
                    "a pinned tool is not listed: its server is slow"
                );
                None
            }
        }
    }

    async fn call(&self, params: Option<&RawValue>, context: &Context) -> Outcome {
        let fields = params.and_then(Fields::of).unwrap_or_default();
        let wanted = fields.text("name").unwrap_or_default();
        match self.pins().iter().find(|pin| pin.name == wanted) {
            Some(pin) => {
                let id = (pin.server.as_str(), pin.tool.as_str());
                run(&self.engine, id, &fields, context, near).await
            }
            None => self.five.handle("tools/call", params, context).await,
        }
    }
}

impl Surface for Pinned {
    fn describe<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<Description, Fault>> {
        Box::pin(self.described(context))
    }

    fn handle<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawValue>,
        context: &'a Context,
    ) -> BoxFuture<'a, Outcome> {
        match method {
            "tools/list" => Box::pin(self.list(params, context)),
            "tools/call" => Box::pin(self.call(params, context)),
            _ => self.five.handle(method, params, context),
        }
    }

    fn changes(&self, _: &Caller) -> broadcast::Receiver<Change> {
        let changes = self.changes.get_or_init(|| {
            let changes = broadcast::Sender::new(CHANGES_MAX);
            let engine = Arc::clone(&self.engine);
            let followed = (engine.reloads(), engine.restocks());
            let before = sights(&engine);
            tokio::spawn(Self::tell(engine, followed, before, changes.clone()));
            changes
        });
        changes.subscribe()
    }

    fn mirrored(&self, caller: &Caller, tool: &str) -> Vec<(String, String)> {
        match self.pins().iter().find(|pin| pin.name == tool) {
            Some(pin) => mirrored(&self.engine.snapshot(), caller, &pin.server, &pin.tool),
            None => self.five.mirrored(caller, tool),
        }
    }
}

/// A tool that may have been meant: not under a name here, which only those that are pinned have.
fn near(entry: &Entry) -> Value {
    let id = &entry.tool.id;
    json!({
        "server": id.server(),
        "tool": id.tool(),
        "signature": signature(&id.to_string(), &entry.tool.input_schema),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pinned_is_named_once_and_in_its_order() {
        let check = |surface: &[&str], expected: &[&str]| {
            let surface: Vec<String> = surface.iter().map(|&id| id.to_owned()).collect();
            let names: Vec<String> = pins(&surface).into_iter().map(|pin| pin.name).collect();
            assert_eq!(names, expected, "{surface:?}");
        };
        check(&[], &[]);
        check(&["b:x", "a:y", "b:x"], &["b__x", "a__y"]);
        check(&["no-tool"], &[]);
        let many: Vec<String> = (0..=PINNED_TOOLS_MAX).map(|n| format!("s:t{n}")).collect();
        assert_eq!(pins(&many).len(), PINNED_TOOLS_MAX);
    }
}
