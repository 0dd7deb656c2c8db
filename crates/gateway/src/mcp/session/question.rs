//! Questions to clients of the era with a handshake: requests of ours on the way back.

use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, try_join_all};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use toolcrib_core::limits::{DOOR_QUESTION_MS_MAX, DOOR_QUESTIONS_MAX};
use toolcrib_core::rpc::{self, Fault, Id};

use super::Session;
use crate::mcp::client::{Client, Way};
use crate::mcp::fields::Fields;
use crate::mcp::outlet::Outlet;
use crate::mcp::service::{Outcome, cancelled};

/// The way of one request to its client.
pub(crate) struct Line {
    session: Arc<Session>,
    outlet: Arc<dyn Outlet>,
    cancel: CancellationToken,
}

impl Line {
    pub(crate) fn new(
        session: Arc<Session>,
        outlet: Arc<dyn Outlet>,
        cancel: CancellationToken,
    ) -> Self {
        Self {
            session,
            outlet,
            cancel,
        }
    }

    fn enlist(&self) -> Result<(Id, oneshot::Receiver<Outcome>), Fault> {
        let mut state = self.session.state();
        if state.asked.len() >= DOOR_QUESTIONS_MAX {
            return Err(Fault::new(
                rpc::INTERNAL_ERROR,
                "too many questions to the client wait for an answer",
            ));
        }
        state.questions += 1;
        let id = Id::Number(state.questions);
        let (reply, answer) = oneshot::channel();
        state.asked.insert(id.clone(), reply);
        Ok((id, answer))
    }
}

impl Way for Line {
    fn tell(&self, frame: Vec<u8>) {
        self.outlet.push(frame);
    }

    fn ask(&self, method: String, params: Box<RawValue>) -> BoxFuture<'_, Outcome> {
        Box::pin(async move {
            let (id, answer) = self.enlist()?;
            self.outlet.push(rpc::request(&id, &method, Some(&params)));
            let given_up = tokio::select! {
                answer = answer => {
                    return answer.unwrap_or_else(|_| Err(cancelled()));
                }
                () = self.cancel.cancelled() => cancelled(),
                () = self.session.closing().cancelled() => cancelled(),
                () = tokio::time::sleep(Duration::from_millis(DOOR_QUESTION_MS_MAX)) => {
                    Fault::new(rpc::INTERNAL_ERROR, "the client did not answer in time")
                }
            };
            self.session.state().asked.remove(&id);
            let params = json!({ "requestId": id, "reason": given_up.message });
            let told = rpc::notification("notifications/cancelled", Some(&params));
            self.outlet.push(told);
            Err(given_up)
        })
    }
}

/// What a result wants to know before there is one.
#[derive(Debug)]
pub(super) struct Wanted {
    requests: Fields,
    state: Option<Box<RawValue>>,
}

/// Reads an `input_required` result; `None` where the result is one.
pub(super) fn wanted(result: &RawValue) -> Option<Wanted> {
    // Looking for the words is cheaper than taking a large result apart.
    if !result.get().contains("input_required") {
        return None;
    }
    let mut fields = Fields::of(result)?;
    if fields.text("resultType").as_deref() != Some("input_required") {
        return None;
    }
    let requests = fields.get("inputRequests").and_then(Fields::of);
    Some(Wanted {
        requests: requests.unwrap_or_default(),
        state: fields.remove("requestState"),
    })
}

/// Asks the client everything that is wanted, and gives the parameters to go on with.
pub(super) async fn answered(
    params: Option<&RawValue>,
    wanted: Wanted,
    client: &Client,
) -> Result<Box<RawValue>, Fault> {
    let asking = wanted.requests.iter().map(|(name, request)| async move {
        let fields = Fields::of(request).unwrap_or_default();
        let method = fields.text("method").unwrap_or_default();
        let params = fields.get("params").map(ToOwned::to_owned);
        let params = params.unwrap_or_else(|| crate::mcp::fields::raw(&json!({})));
        let answer = client.ask(&method, params).await?;
        Ok::<_, Fault>((name.to_owned(), answer))
    });
    let mut responses = Fields::default();
    for (name, answer) in try_join_all(asking).await? {
        responses.set(&name, &answer);
    }
    let mut params = params.and_then(Fields::of).unwrap_or_default();
    params.set("inputResponses", &responses);
    match wanted.state {
        Some(state) => params.set("requestState", &state),
        None => drop(params.remove("requestState")),
    }
    Ok(params.raw())
}
