//! What a server asks in return.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::value::RawValue;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use toolcrib_core::limits::{CLIENT_REQUESTS_MAX, LINK_MESSAGES_MAX};
use toolcrib_core::rpc::{self, Fault, Id};

use super::Shared;
use crate::mcp::object::Fields;
use crate::mcp::{Kind, Outgoing, lock};

/// Requests of the server that wait for their client.
pub(super) struct Asked {
    waiting: Mutex<HashMap<Id, CancellationToken>>,
    /// How many answers of ours may wait until the server reads them.
    answers: Arc<Semaphore>,
    ended: CancellationToken,
}

impl Default for Asked {
    fn default() -> Self {
        Self {
            waiting: Mutex::default(),
            answers: Arc::new(Semaphore::new(LINK_MESSAGES_MAX)),
            ended: CancellationToken::new(),
        }
    }
}

/// What a server may ask a client.
const FOR_CLIENTS: [&str; 3] = ["elicitation/create", "sampling/createMessage", "roots/list"];

impl Asked {
    /// Takes a request: every one is answered, by the client that owns the connection or by a refusal.
    pub(super) fn take(
        &self,
        shared: &Arc<Shared>,
        id: Id,
        method: String,
        params: Option<Box<RawValue>>,
    ) {
        let shared = Arc::clone(shared);
        if method == "ping" {
            self.answer(shared, rpc::result(&id, &serde_json::json!({})));
            return;
        }
        let owner = lock(&shared.owner).clone();
        let refusal = if !FOR_CLIENTS.contains(&method.as_str()) {
            Some(Fault::new(
                rpc::METHOD_NOT_FOUND,
                format!("there is no method `{method}` here"),
            ))
        } else if owner.is_none() {
            Some(Fault::new(
                rpc::METHOD_NOT_FOUND,
                format!(
                    "`{method}` is refused: this connection is shared by several callers, or by one that \
                 cannot be asked; set `isolation: session` for this server"
                ),
            ))
        } else if lock(&self.waiting).len() >= CLIENT_REQUESTS_MAX {
            Some(Fault::new(
                rpc::INTERNAL_ERROR,
                "too many requests wait for the client already",
            ))
        } else {
            None
        };
        if let (None, Some(owner)) = (&refusal, owner) {
            let cancelled = self.ended.child_token();
            lock(&self.waiting).insert(id.clone(), cancelled.clone());
            tokio::spawn(async move {
                let outcome = tokio::select! {
                    outcome = owner.request(&method, params.as_deref()) => Some(outcome),
                    () = cancelled.cancelled() => None,
                };
                lock(&shared.asked.waiting).remove(&id);
                match outcome {
                    Some(Ok(result)) => send(&shared, rpc::result(&id, &*result)).await,
                    Some(Err(fault)) => send(&shared, rpc::fault(Some(&id), &fault)).await,
                    None => {}
                }
            });
        } else if let Some(fault) = refusal {
            self.answer(shared, rpc::fault(Some(&id), &fault));
        }
    }

    /// Answers at once, unless the server asks faster than it reads.
    fn answer(&self, shared: Arc<Shared>, text: Vec<u8>) {
        let Ok(place) = Arc::clone(&self.answers).try_acquire_owned() else {
            tracing::debug!("a server asks faster than it reads: one answer was dropped");
            return;
        };
        tokio::spawn(async move {
            send(&shared, text).await;
            drop(place);
        });
    }

    /// The server does not want an answer any more.
    pub(super) fn cancelled(&self, params: Option<&RawValue>) {
        let fields = Fields::of(params);
        let id = fields
            .get("requestId")
            .and_then(|id| serde_json::from_str::<Id>(id.get()).ok());
        if let Some(token) = id.and_then(|id| lock(&self.waiting).remove(&id)) {
            token.cancel();
        }
    }

    /// Nobody waits any more.
    pub(super) fn end(&self) {
        self.ended.cancel();
    }
}

async fn send(shared: &Shared, text: Vec<u8>) {
    let headers = shared.with_headers(&[]);
    let _ = shared
        .outgoing
        .send(Outgoing {
            kind: Kind::Answer,
            text,
            headers,
        })
        .await;
}
