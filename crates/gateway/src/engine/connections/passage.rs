//! What servers have beside tools, over the connections of the pool.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use toolcrib_core::limits::{FOLLOW_MS_MAX, FOLLOW_PAUSE_MS};
use toolcrib_core::rpc::{Fault, INVALID_PARAMS};
use toolcrib_upstream::mcp::{self, CallError, Era, Key, Negotiated, Options, Pool};

use super::Connections;
use crate::engine::passage::{Asking, Happening, Passage};
use crate::mcp::fields::{Fields, raw};

/// The resources of servers of the modern era that somebody follows: such a server is asked once for
/// each, however many do.
#[derive(Debug, Default)]
pub(super) struct Follows(Mutex<HashMap<(String, Key, String), Follow>>);

#[derive(Debug)]
struct Follow {
    count: usize,
    _until: DropGuard,
}

impl Follows {
    /// One more follows a resource; gives what ends the following where nobody did before.
    fn begin(&self, what: (String, Key, String)) -> Option<CancellationToken> {
        let mut follows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(follow) = follows.get_mut(&what) {
            follow.count += 1;
            return None;
        }
        let until = CancellationToken::new();
        let follow = Follow {
            count: 1,
            _until: until.clone().drop_guard(),
        };
        follows.insert(what, follow);
        Some(until)
    }

    /// One less does.
    fn end(&self, what: &(String, Key, String)) {
        let mut follows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(follow) = follows.get_mut(what) else {
            return;
        };
        follow.count -= 1;
        if follow.count == 0 {
            follows.remove(what);
        }
    }
}

/// Asks a server of the modern era to tell when a resource changes, until nobody wants to know.
async fn follow(pool: Arc<Pool>, what: (String, Key, String), until: CancellationToken) {
    let (server, key, uri) = what;
    let params = raw(&json!({ "notifications": { "resourceSubscriptions": [uri] } }));
    while !until.is_cancelled() {
        let options = Options {
            deadline: Instant::now().checked_add(Duration::from_millis(FOLLOW_MS_MAX)),
            cancel: until.clone(),
            ..Options::default()
        };
        let listening = pool.ask(
            &server,
            &key,
            "subscriptions/listen",
            Some(&params),
            options,
        );
        if let Err(CallError::Fault(fault)) = listening.await {
            tracing::debug!(server, %fault, "a server does not tell of its resources");
            return;
        }
        let pause = tokio::time::sleep(Duration::from_millis(FOLLOW_PAUSE_MS));
        until.run_until_cancelled(pause).await;
    }
}

impl Connections {
    fn options(asking: &Asking<'_>) -> Options {
        Options {
            client: Some(Arc::clone(&asking.client)),
            cancel: asking.cancel.clone(),
            hands_on_questions: asking.hands_on_questions,
            ..Options::default()
        }
    }

    async fn asked(
        &self,
        asking: Asking<'_>,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Box<RawValue>, CallError> {
        let key = self.key(asking.owner.clone());
        let options = Self::options(&asking);
        if matches!(method, "resources/subscribe" | "resources/unsubscribe") {
            let said = self.pool.describe(asking.server, &key, options.clone());
            if said.await?.era == Era::Modern {
                return self.followed(&asking, key, method, params);
            }
        }
        self.pool
            .ask(asking.server, &key, method, params, options)
            .await
    }

    /// Begins or ends to follow a resource of a server that knows no sessions.
    fn followed(
        &self,
        asking: &Asking<'_>,
        key: Key,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Box<RawValue>, CallError> {
        let fields = params.and_then(Fields::of).unwrap_or_default();
        let uri = fields
            .text("uri")
            .ok_or_else(|| CallError::Fault(Fault::new(INVALID_PARAMS, "`uri` must be a text")))?;
        let what = (asking.server.to_owned(), key, uri);
        if method == "resources/unsubscribe" {
            self.follows.end(&what);
        } else if let Some(until) = self.follows.begin(what.clone()) {
            tokio::spawn(follow(Arc::clone(&self.pool), what, until));
        }
        Ok(raw(&json!({})))
    }
}

impl Passage for Connections {
    fn describe<'a>(&'a self, asking: Asking<'a>) -> BoxFuture<'a, Result<Negotiated, CallError>> {
        Box::pin(async move {
            let key = self.key(asking.owner.clone());
            let options = Self::options(&asking);
            self.pool.describe(asking.server, &key, options).await
        })
    }

    fn ask<'a>(
        &'a self,
        asking: Asking<'a>,
        method: &'a str,
        params: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, CallError>> {
        Box::pin(self.asked(asking, method, params))
    }

    fn happenings(&self, server: &str) -> BoxStream<'static, Happening> {
        let state = (self.pool.events(), server.to_owned());
        Box::pin(futures::stream::unfold(
            state,
            |(mut events, server)| async move {
                loop {
                    let told = match events.recv().await {
                        Ok(event) if *event.server == *server => told(event.what),
                        Ok(_) => None,
                        Err(RecvError::Lagged(_)) => Some(Happening::Missed),
                        Err(RecvError::Closed) => return None,
                    };
                    if let Some(told) = told {
                        return Some((told, (events, server)));
                    }
                }
            },
        ))
    }
}

fn told(what: mcp::Happening) -> Option<Happening> {
    match what {
        mcp::Happening::Tools => Some(Happening::Tools),
        mcp::Happening::Prompts => Some(Happening::Prompts),
        mcp::Happening::Resources => Some(Happening::Resources),
        mcp::Happening::Resource(params) => {
            let uri = Fields::of(params.as_deref()?)?.text("uri")?;
            Some(Happening::Resource(uri))
        }
        mcp::Happening::Connected | mcp::Happening::Lost => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_followed_until_the_last_one_has_enough() {
        let follows = Follows::default();
        let what = ("s".to_owned(), Key::Shared, "a://b".to_owned());
        let until = follows.begin(what.clone()).unwrap();
        assert!(follows.begin(what.clone()).is_none());
        follows.end(&what);
        assert!(!until.is_cancelled());
        follows.end(&what);
        assert!(until.is_cancelled());
        follows.end(&what);
        assert!(follows.begin(what).is_some());
    }
}
