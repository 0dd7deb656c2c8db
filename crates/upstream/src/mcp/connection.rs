//! A conversation with one server, and what was agreed at its beginning.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use toolcrib_core::limits::{ROUNDS_MAX, SSE_FALLBACK_MS};
use toolcrib_core::rpc::{Fault, MISSING_CAPABILITY};

use super::dialer::Dialer;
use super::endpoint::{Endpoint, Way};
use super::era::{Era, EraMemory, Manner, Negotiated};
use super::failure::said;
use super::handshake::{self, Before};
use super::object::{Fields, raw};
use super::peer::Listener;
use super::{CallError, Client, Failure, Options, Peer, stamp};

/// What opening a connection takes.
pub struct Opening<'a> {
    /// The server.
    pub endpoint: &'a Endpoint,
    /// Opens the way to it.
    pub dialer: &'a dyn Dialer,
    /// Which eras servers speak.
    pub memory: &'a EraMemory,
    /// Where its tasks run.
    pub tasks: &'a TaskTracker,
    /// The one client that owns the connection, where there is one.
    pub owner: Option<Arc<dyn Client>>,
    /// Makes the listener for notifications that concern the whole connection.
    pub listener: &'a (dyn Fn() -> Listener + Send + Sync),
}

/// An open conversation. Dropping it closes it.
#[derive(Debug)]
pub struct Connection {
    peer: Peer,
    negotiated: Negotiated,
}

impl Connection {
    /// Reaches a server and comes to terms with it, within the time that it may take to start.
    pub async fn open(opening: &Opening<'_>) -> Result<Self, Failure> {
        let endpoint = opening.endpoint;
        let deadline = Instant::now() + endpoint.start_timeout;
        let Way::Http(address) = &endpoint.way else {
            return Self::reach(opening, endpoint, deadline).await;
        };
        // A server of the older transport refuses what the newer one begins with, whatever the
        // configuration calls it.
        let older = Endpoint {
            way: Way::Sse(address.clone()),
            ..endpoint.clone()
        };
        let known = opening.memory.manner(&endpoint.fingerprint);
        if known.is_some_and(|known| known.is_over_sse) {
            let reached = Self::reach(opening, &older, deadline).await;
            return match &reached {
                // It may have moved on since.
                Err(failure) if has_no_stream(failure) => {
                    let newer = Self::reach(opening, endpoint, deadline).await;
                    newer.or(reached)
                }
                _ => reached,
            };
        }
        let reached = Self::reach(opening, endpoint, deadline).await;
        if !matches!(
            &reached,
            Err(Failure::Status {
                status: 400 | 404 | 405,
                ..
            })
        ) {
            return reached;
        }
        let patience = Instant::now() + Duration::from_millis(SSE_FALLBACK_MS);
        let older = Self::reach(opening, &older, deadline.min(patience)).await;
        older.or(reached)
    }

    async fn reach(
        opening: &Opening<'_>,
        endpoint: &Endpoint,
        deadline: Instant,
    ) -> Result<Self, Failure> {
        let mut legacy_only = matches!(endpoint.way, Way::Sse(_));
        let capabilities = capabilities(opening.owner.as_ref());
        loop {
            let link = opening.dialer.open(endpoint, opening.tasks);
            let link = tokio::time::timeout_at(deadline, link).await;
            let late = |stderr| Failure::NotReady {
                after: endpoint.start_timeout,
                stderr,
            };
            let link = link.map_err(|_| late(String::new()))??;
            let peer = Peer::new(link, (opening.listener)());
            peer.set_owner(opening.owner.clone());
            let before = Before {
                deadline,
                era: opening.memory.recall(&endpoint.fingerprint),
                legacy_only,
                capabilities: &capabilities,
            };
            match handshake::shake(&peer, before).await {
                Ok(negotiated) => {
                    let manner = Manner {
                        era: negotiated.era,
                        is_over_sse: matches!(
                            (&endpoint.way, &opening.endpoint.way),
                            (Way::Sse(_), Way::Http(_))
                        ),
                    };
                    opening.memory.remember(&endpoint.fingerprint, manner);
                    return Ok(Self { peer, negotiated });
                }
                // Some servers of the legacy era end when anything but `initialize` comes first.
                Err(Failure::Exited { .. } | Failure::Broken(_))
                    if !legacy_only && before.era != Some(Era::Legacy) =>
                {
                    legacy_only = true;
                }
                // What was left of the time when the last question was asked tells nobody anything.
                Err(Failure::TimedOut(_)) => return Err(late(peer.stderr())),
                Err(Failure::NotMcp(why)) => {
                    let why = format!("{why}{}", said(&peer.stderr()));
                    return Err(Failure::NotMcp(why));
                }
                Err(failure) => {
                    let why = peer.closed();
                    return Err(why
                        .filter(|_| matches!(failure, Failure::Unreachable(_)))
                        .unwrap_or(failure));
                }
            }
        }
    }

    /// What the server said of itself.
    pub fn negotiated(&self) -> &Negotiated {
        &self.negotiated
    }

    /// The conversation itself.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Asks the server, as its era wants to be asked. What it needs to know from the client on the way
    /// it is told.
    pub async fn request(
        &self,
        method: &str,
        params: Option<&RawValue>,
        schema: Option<&Value>,
        options: &Options,
    ) -> Result<Box<RawValue>, CallError> {
        if self.negotiated.era == Era::Legacy {
            let plain = params.and_then(stamp::legacy);
            return self
                .peer
                .request(method, plain.as_deref().or(params), options)
                .await;
        }
        let mut options = options.clone();
        options
            .headers
            .extend(stamp::headers(method, params, schema));
        let capabilities = capabilities(options.client.as_ref());
        let mut params = stamp::modern(params, &capabilities);
        for _ in 0..ROUNDS_MAX {
            let result = self.peer.request(method, Some(&params), &options).await?;
            if options.hands_on_questions {
                return Ok(result);
            }
            let Some(asked) = InputRequired::read(&result) else {
                return Ok(result);
            };
            params = answered(&params, asked, &options).await?;
        }
        Err(Failure::NotMcp(format!(
            "it asked for more input {ROUNDS_MAX} times in a row"
        ))
        .into())
    }

    /// Closes the conversation in good order and waits until it is over.
    pub async fn close(&self) {
        self.peer.close();
        self.peer.why_closed().await;
    }
}

/// Whether there is nothing at an address that streams events, as far as its answer tells.
fn has_no_stream(failure: &Failure) -> bool {
    matches!(
        failure,
        // The newer transport has a stream too, which never says where messages go.
        Failure::NotReady { .. }
            | Failure::NotMcp(_)
            | Failure::SessionLost
            | Failure::Status {
                status: 400 | 404..=406 | 410 | 415,
                ..
            }
    )
}

pub(super) fn capabilities(client: Option<&Arc<dyn Client>>) -> Box<RawValue> {
    client.map_or_else(
        || raw(&serde_json::json!({})),
        |client| client.capabilities(),
    )
}

/// A result that is none yet: the server wants to know something first.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InputRequired {
    result_type: String,
    #[serde(default)]
    input_requests: indexmap::IndexMap<String, Question>,
    #[serde(default)]
    request_state: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Question {
    method: String,
    #[serde(default)]
    params: Option<Box<RawValue>>,
}

impl InputRequired {
    fn read(result: &RawValue) -> Option<Self> {
        if !result.get().contains("input_required") {
            return None;
        }
        let read: Self = serde_json::from_str(result.get()).ok()?;
        (read.result_type == "input_required").then_some(read)
    }
}

/// The parameters again, with what the server wanted to know.
fn answered<'a>(
    params: &'a RawValue,
    asked: InputRequired,
    options: &'a Options,
) -> BoxFuture<'a, Result<Box<RawValue>, CallError>> {
    Box::pin(async move {
        let mut answers = indexmap::IndexMap::new();
        for (name, question) in asked.input_requests {
            let client = options.client.as_ref().ok_or_else(|| {
                let why = format!(
                    "`{}` is needed for this, and nobody is there to be asked",
                    question.method
                );
                CallError::Fault(Fault::new(MISSING_CAPABILITY, why))
            })?;
            let answer = client.request(&question.method, question.params.as_deref());
            let until = async {
                match options.deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            let began = Instant::now();
            let answer = tokio::select! {
                answer = answer => answer.map_err(CallError::Fault)?,
                () = options.cancel.cancelled() => return Err(Failure::Cancelled.into()),
                () = until => return Err(Failure::TimedOut(began.elapsed()).into()),
            };
            answers.insert(name, answer);
        }
        let mut fields = Fields::of(Some(params));
        fields.set("inputResponses", raw(&answers));
        match asked.request_state {
            Some(state) => fields.set("requestState", state),
            None => fields.remove("requestState"),
        }
        Ok(fields.write())
    })
}
