//! What comes back over a link, and to whom it goes.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::Instant;
use toolcrib_core::rpc::{Fault, Id, Message};

use super::{CallError, Pending, Shared};
use crate::mcp::object::Fields;
use crate::mcp::{Client, Failure, Incoming, lock};

/// Hands on what comes until nothing comes any more.
pub(super) async fn run(shared: Arc<Shared>, mut incoming: mpsc::Receiver<Incoming>) {
    let mut why = Failure::Broken("the link ended without a word".to_owned());
    while let Some(item) = incoming.recv().await {
        match item {
            Incoming::Message(message) => hand_on(&shared, message),
            Incoming::Junk(text) => {
                tracing::debug!(text, "a server sent what is no message");
                shared.junk.fetch_add(1, Ordering::Relaxed);
                lock(&shared.first_junk).get_or_insert(text);
            }
            Incoming::Failed { id, failure } => settle(&shared, &id, Err(failure.into())),
            Incoming::Closed(failure) => {
                why = failure;
                break;
            }
        }
    }
    end(&shared, &why);
}

/// Ends everything that waits, and whatever comes later.
fn end(shared: &Shared, why: &Failure) {
    // First said, then cleared: a request that comes in between sees one of the two.
    shared.closed.send_replace(Some(why.clone()));
    let pending = std::mem::take(&mut *lock(&shared.pending));
    for (_, request) in pending {
        let _ = request.answer.send(Err(why.clone().into()));
    }
    shared.asked.end();
    shared.close.cancel();
}

fn hand_on(shared: &Arc<Shared>, message: Message) {
    match message {
        Message::Answer {
            id: Some(id),
            outcome,
        } => {
            settle(shared, &id, outcome.map_err(CallError::Fault));
        }
        Message::Answer { id: None, outcome } => settle_only(shared, outcome),
        Message::Request { id, method, params } => shared.asked.take(shared, id, method, params),
        Message::Notification { method, params } => heard(shared, &method, params.as_deref()),
    }
}

/// Gives a request its answer.
fn settle(shared: &Shared, id: &Id, answer: Result<Box<RawValue>, CallError>) {
    // Some servers send numbers back as texts.
    let number = match id {
        Id::Number(number) => Some(*number),
        Id::Text(text) => text.parse().ok(),
    };
    let request = number.and_then(|number| lock(&shared.pending).remove(&number));
    if let Some(request) = request {
        let _ = request.answer.send(answer);
        return;
    }
    let was_asked =
        number.is_some_and(|number| (1..shared.next.load(Ordering::Relaxed)).contains(&number));
    let count = if was_asked {
        &shared.late
    } else {
        &shared.unasked
    };
    count.fetch_add(1, Ordering::Relaxed);
    tracing::debug!(%id, was_asked, "a server answered what nobody waits for");
}

/// An error without an id means a request that the server could not read: where only one waits, that
/// one.
fn settle_only(shared: &Shared, outcome: Result<Box<RawValue>, Fault>) {
    let mut pending = lock(&shared.pending);
    let only = pending
        .keys()
        .next()
        .copied()
        .filter(|_| pending.len() == 1);
    match only.and_then(|number| pending.remove(&number)) {
        Some(request) => {
            let _ = request.answer.send(outcome.map_err(CallError::Fault));
        }
        None => {
            shared.unasked.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn heard(shared: &Shared, method: &str, params: Option<&RawValue>) {
    match method {
        "notifications/progress" => progress(shared, params),
        "notifications/message" => {
            if let Some(client) = addressee(shared) {
                client.notify(method, params);
            }
        }
        "notifications/cancelled" => shared.asked.cancelled(params),
        _ => (shared.listener)(method, params),
    }
}

/// Who hears what concerns no request: the owner, or the only client that has requests under way.
fn addressee(shared: &Shared) -> Option<Arc<dyn Client>> {
    if let Some(owner) = lock(&shared.owner).clone() {
        return Some(owner);
    }
    let pending = lock(&shared.pending);
    let mut clients = pending
        .values()
        .filter_map(|request| request.client.as_ref());
    let first = clients.next()?;
    clients
        .all(|client| Arc::ptr_eq(client, first))
        .then(|| Arc::clone(first))
}

/// Hands progress on under the token that the client chose.
fn progress(shared: &Shared, params: Option<&RawValue>) {
    let mut fields = Fields::of(params);
    let number = fields.get("progressToken").and_then(|token| {
        let text = token.get().trim_matches('"');
        text.parse::<i64>().ok()
    });
    let pending = lock(&shared.pending);
    let Some(Pending {
        progress,
        token,
        client,
        ..
    }) = number.and_then(|n| pending.get(&n))
    else {
        return;
    };
    progress.send_replace(Instant::now());
    let (token, client) = (token.clone(), client.clone());
    drop(pending);
    if let (Some(token), Some(client)) = (token, client) {
        fields.set("progressToken", token);
        client.notify("notifications/progress", Some(&fields.write()));
    }
}
