//! The program at the other end, as a surface sees it while it answers a request.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolcrib_core::rpc::{self, Fault};

use super::fields::raw;

/// How messages that belong to a request reach the client.
pub trait Way: Send + Sync {
    /// Hands over a notification. It may be lost where the client does not keep up.
    fn tell(&self, frame: Vec<u8>);

    /// Asks the client, and waits for what it says.
    fn ask(
        &self,
        method: String,
        params: Box<RawValue>,
    ) -> BoxFuture<'_, Result<Box<RawValue>, Fault>>;
}

/// The client of a request.
#[derive(Clone)]
pub struct Client {
    info: Arc<Value>,
    capabilities: Arc<Value>,
    threshold: Arc<Threshold>,
    stateless: bool,
    way: Arc<dyn Way>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("info", &self.info)
            .field("capabilities", &self.capabilities)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// A client that says of itself `info` and `capabilities`.
    pub fn new(
        info: Arc<Value>,
        capabilities: Arc<Value>,
        threshold: Arc<Threshold>,
        stateless: bool,
        way: Arc<dyn Way>,
    ) -> Self {
        Self {
            info,
            capabilities,
            threshold,
            stateless,
            way,
        }
    }

    /// What the client calls itself: for words and logs, not for decisions about rights.
    pub fn name(&self) -> &str {
        self.info.get("name").and_then(Value::as_str).unwrap_or("")
    }

    /// The client's `name`, `version` and so on; `null` where it said nothing.
    pub fn info(&self) -> &Value {
        &self.info
    }

    /// What the client can be asked.
    pub fn capabilities(&self) -> &Value {
        &self.capabilities
    }

    /// From which level on the client wants log messages, where it wants any.
    pub fn level(&self) -> Option<&'static str> {
        self.threshold.level()
    }

    /// Whether a question would reach someone who can answer it.
    pub fn can(&self, method: &str) -> bool {
        capability(method)
            .is_some_and(|name| self.capabilities.get(name).is_some_and(Value::is_object))
    }

    /// Tells the client something that belongs to the request; log messages below the level that the
    /// client wants are kept back.
    pub fn tell(&self, method: &str, params: &(impl Serialize + ?Sized)) {
        let params = raw(params);
        if method == "notifications/message" && !self.threshold.passes(&params) {
            return;
        }
        self.way.tell(rpc::notification(method, Some(&params)));
    }

    /// Asks the client: `elicitation/create`, `sampling/createMessage` or `roots/list`.
    ///
    /// A client of the stateless era gets the question as the result of its request, and the answer
    /// comes with the next one; whoever asks does not notice.
    pub async fn ask(&self, method: &str, params: Box<RawValue>) -> Result<Box<RawValue>, Fault> {
        if !self.can(method) {
            return Err(self.lacks(method));
        }
        self.way.ask(method.to_owned(), params).await
    }

    /// The fault of a request that needs what the client cannot do.
    pub fn lacks(&self, method: &str) -> Fault {
        let Some(name) = capability(method) else {
            return Fault::new(
                rpc::METHOD_NOT_FOUND,
                format!("clients cannot be asked for `{method}`"),
            );
        };
        if !self.stateless {
            return Fault::new(
                rpc::METHOD_NOT_FOUND,
                format!("this needs a client with the capability `{name}`"),
            );
        }
        Fault {
            code: rpc::MISSING_CAPABILITY,
            message: format!("this needs a client that declares the capability `{name}`"),
            data: Some(raw(&json!({ "requiredCapabilities": { name: {} } }))),
        }
    }
}

/// The capability that a question needs.
fn capability(method: &str) -> Option<&'static str> {
    match method {
        "elicitation/create" => Some("elicitation"),
        "sampling/createMessage" => Some("sampling"),
        "roots/list" => Some("roots"),
        _ => None,
    }
}

/// From which level on log messages are wanted.
#[derive(Debug)]
pub struct Threshold(AtomicU8);

/// The levels of log messages, least important first.
const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

const NONE: u8 = u8::MAX;

impl Threshold {
    /// Every message.
    pub const fn all() -> Self {
        Self(AtomicU8::new(0))
    }

    /// Messages from a level on; none where no level, or none that is known, is given.
    pub fn from(level: Option<&str>) -> Self {
        Self(AtomicU8::new(level.and_then(rank).unwrap_or(NONE)))
    }

    /// Sets the level; `false` where there is no such level.
    pub fn set(&self, level: &str) -> bool {
        rank(level).is_some_and(|rank| {
            self.0.store(rank, Ordering::Relaxed);
            true
        })
    }

    fn level(&self) -> Option<&'static str> {
        let least = usize::from(self.0.load(Ordering::Relaxed));
        LEVELS.get(least).copied()
    }

    fn passes(&self, params: &RawValue) -> bool {
        let least = self.0.load(Ordering::Relaxed);
        if least == NONE {
            return false;
        }
        let level = super::fields::Fields::of(params).and_then(|fields| fields.text("level"));
        level.and_then(|level| rank(&level)).unwrap_or(0) >= least
    }
}

fn rank(level: &str) -> Option<u8> {
    LEVELS
        .iter()
        .position(|known| *known == level)
        .and_then(|position| u8::try_from(position).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_messages_below_the_level_are_kept_back() {
        let passes =
            |threshold: &Threshold, level: &str| threshold.passes(&raw(&json!({ "level": level })));
        let all = Threshold::all();
        assert!(passes(&all, "debug") && passes(&all, "strange"));
        assert!(all.set("error") && !all.set("loud"));
        assert!(!passes(&all, "warning") && passes(&all, "error") && passes(&all, "emergency"));
        assert_eq!(all.level(), Some("error"));
        let none = Threshold::from(None);
        assert_eq!(none.level(), None);
        assert!(!passes(&none, "emergency"));
        assert!(passes(&Threshold::from(Some("info")), "info"));
        assert!(!passes(&Threshold::from(Some("loud")), "info"));
    }
}
