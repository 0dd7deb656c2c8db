//! Questions to clients of the stateless era: a request that needs an answer is parked, the client
//! gets the question as a result, and its next request goes on where the first one stopped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use toolcrib_core::limits::{DOOR_PARKED_MAX, DOOR_QUESTION_MS_MAX, DOOR_QUESTIONS_MAX};
use toolcrib_core::rpc::{self, Fault};
use uuid::Uuid;

use super::client::Way;
use super::fields::{Fields, raw};
use super::outlet::{Nowhere, Outlet};
use super::service::{Outcome, fault};

/// What every state of ours begins with, to tell it from the state of an upstream.
const PREFIX: &str = "tcr1.";

/// A question on its way to the client.
#[derive(Debug)]
struct Question {
    method: String,
    params: Box<RawValue>,
    reply: oneshot::Sender<Outcome>,
}

/// The way of a request of the stateless era to its client.
pub struct Road {
    outlet: Mutex<Arc<dyn Outlet>>,
    questions: mpsc::Sender<Question>,
}

impl Road {
    /// A way through `outlet`, and the end where questions come out.
    pub fn new(outlet: Arc<dyn Outlet>) -> (Arc<Self>, Questions) {
        let (questions, receiver) = mpsc::channel(DOOR_QUESTIONS_MAX);
        let road = Self {
            outlet: Mutex::new(outlet),
            questions,
        };
        (Arc::new(road), Questions(receiver))
    }

    fn lead_to(&self, outlet: Arc<dyn Outlet>) {
        *self.outlet.lock().unwrap_or_else(PoisonError::into_inner) = outlet;
    }
}

impl Way for Road {
    fn tell(&self, frame: Vec<u8>) {
        let outlet = self.outlet.lock().unwrap_or_else(PoisonError::into_inner);
        outlet.push(frame);
    }

    fn ask(&self, method: String, params: Box<RawValue>) -> BoxFuture<'_, Outcome> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            let question = Question {
                method,
                params,
                reply,
            };
            let unheard = || Fault::new(rpc::INTERNAL_ERROR, "the client did not answer");
            if self.questions.send(question).await.is_err() {
                return Err(unheard());
            }
            answer.await.unwrap_or_else(|_| Err(unheard()))
        })
    }
}

/// Where the questions of a request come out.
#[derive(Debug)]
pub struct Questions(mpsc::Receiver<Question>);

/// A request that is being answered.
pub struct Run {
    /// The task that answers it.
    pub task: JoinHandle<Outcome>,
    /// Its questions.
    pub questions: Questions,
    /// Its way to the client.
    pub road: Arc<Road>,
    /// Stops it.
    pub cancel: CancellationToken,
    /// What it may be taken up again by: the principal and the request.
    pub owner: String,
}

struct Parked {
    run: Option<Run>,
    asked: Vec<(String, Question)>,
    until: Instant,
}

impl Drop for Parked {
    fn drop(&mut self) {
        // Whoever takes it up again takes the run out; what still has one was given up.
        if let Some(run) = &self.run {
            run.cancel.cancel();
        }
    }
}

/// Requests that wait for their clients.
pub struct Rounds {
    key: [u8; 32],
    parked: Mutex<HashMap<Uuid, Parked>>,
}

impl Rounds {
    /// Nothing waits yet; `key` protects the states that clients carry.
    pub fn new(key: [u8; 32]) -> Self {
        Self {
            key,
            parked: Mutex::default(),
        }
    }

    /// Whether a `requestState` is one of ours.
    pub fn is_own(state: &str) -> bool {
        state.starts_with(PREFIX)
    }

    /// Waits until the request is answered or has questions; then the answer is those questions, and
    /// the request waits.
    ///
    /// Whoever does not want the answer any more fires `gone`.
    pub async fn drive(&self, mut run: Run, gone: &CancellationToken) -> Outcome {
        let ended = |ended: Result<Outcome, _>| ended.unwrap_or_else(|error| Err(fault(&error)));
        let question = tokio::select! {
            biased;
            Some(question) = run.questions.0.recv() => question,
            outcome = &mut run.task => return ended(outcome),
            () = gone.cancelled() => {
                run.cancel.cancel();
                return ended(run.task.await);
            }
        };
        // Whatever asks several things at once does so before it waits.
        tokio::task::yield_now().await;
        let mut asked = vec![question];
        while let Ok(question) = run.questions.0.try_recv() {
            asked.push(question);
        }
        let asked = asked.into_iter().enumerate();
        let asked = asked.map(|(n, question)| (format!("question-{}", n + 1), question));
        self.park(run, asked.collect())
    }

    /// Goes on with a request that waited for `responses`.
    pub async fn resume(
        &self,
        state: &str,
        owner: &str,
        responses: Option<&RawValue>,
        outlet: Arc<dyn Outlet>,
        gone: &CancellationToken,
    ) -> Outcome {
        let id = self.verify(state, owner)?;
        let responses = responses.and_then(Fields::of).ok_or_else(|| {
            Fault::new(
                rpc::INVALID_PARAMS,
                "`inputResponses` must be an object with an answer for each of `inputRequests`",
            )
        })?;
        let parked = self.parked().remove(&id);
        let mut parked = parked
            .filter(|p| p.until > Instant::now())
            .ok_or_else(forgotten)?;
        let asked = std::mem::take(&mut parked.asked);
        let run = parked.run.take().ok_or_else(forgotten)?;
        let is_answer = |name: &str| {
            responses
                .get(name)
                .is_some_and(|a| a.get().starts_with('{'))
        };
        if !asked.iter().all(|(name, _)| is_answer(name)) {
            return self.park(run, asked);
        }
        run.road.lead_to(outlet);
        for (name, question) in asked {
            if let Some(answer) = responses.get(&name) {
                let _ = question.reply.send(Ok(answer.to_owned()));
            }
        }
        self.drive(run, gone).await
    }

    fn park(&self, run: Run, asked: Vec<(String, Question)>) -> Outcome {
        run.road.lead_to(Arc::new(Nowhere));
        let requests: Map<String, Value> = asked
            .iter()
            .map(|(name, question)| {
                let request = json!({ "method": question.method, "params": question.params });
                (name.clone(), request)
            })
            .collect();
        let id = Uuid::now_v7();
        let state = self.state(id, &run.owner);
        let now = Instant::now();
        let mut parked = self.parked();
        parked.retain(|_, waiting| waiting.until > now);
        if parked.len() >= DOOR_PARKED_MAX {
            run.cancel.cancel();
            return Err(Fault::new(
                rpc::INTERNAL_ERROR,
                "too many requests wait for their clients; try again later",
            ));
        }
        let until = now + Duration::from_millis(DOOR_QUESTION_MS_MAX);
        let run = Some(run);
        parked.insert(id, Parked { run, asked, until });
        Ok(raw(&json!({
            "resultType": "input_required",
            "inputRequests": requests,
            "requestState": state,
        })))
    }

    fn state(&self, id: Uuid, owner: &str) -> String {
        let mut mac = blake3::Hasher::new_keyed(&self.key);
        mac.update(id.as_bytes()).update(owner.as_bytes());
        format!("{PREFIX}{}.{}", id.simple(), mac.finalize().to_hex())
    }

    fn verify(&self, state: &str, owner: &str) -> Result<Uuid, Fault> {
        let id = state
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.split_once('.'))
            .and_then(|(id, _)| Uuid::try_parse(id).ok());
        let genuine = id.filter(|id| {
            let expected = blake3::hash(self.state(*id, owner).as_bytes());
            // Hashes compare in constant time.
            expected == blake3::hash(state.as_bytes())
        });
        genuine.ok_or_else(|| {
            Fault::new(
                rpc::INVALID_PARAMS,
                "`requestState` is not what was given for this request; send the request without it",
            )
        })
    }

    fn parked(&self) -> MutexGuard<'_, HashMap<Uuid, Parked>> {
        self.parked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn forgotten() -> Fault {
    Fault::new(
        rpc::INVALID_PARAMS,
        "the request of this `requestState` waits no longer; send it again from the start",
    )
}
