//! Our side of a conversation: many requests at once over one [`Link`].
//!
//! Every request gets an id and a progress token of ours, so that callers never meet. Whatever comes
//! back is an answer to one of them, a notification for one of the clients behind them, or a request
//! that goes to the client that owns the connection. Nothing is left hanging: a request ends with its
//! answer, its deadline, its cancellation, or the connection.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use serde_json::value::RawValue;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolcrib_core::limits::PEER_REQUESTS_MAX;
use toolcrib_core::rpc::{self, Id};

use super::lines::Tail;
use super::object::{Fields, raw};
use super::{CallError, Client, Failure, Kind, Link, Outgoing, lock};
use crate::sent::Sent;

mod asked;
mod reader;

use asked::Asked;

/// How one request is made.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// When it must have been answered. `None`: whenever.
    pub deadline: Option<Instant>,
    /// How long the server may be silent: progress starts it anew.
    pub idle: Option<Duration>,
    /// Ends the request, and tells the server.
    pub cancel: CancellationToken,
    /// Who hears of its progress.
    pub client: Option<Arc<dyn Client>>,
    /// Headers that go with it over HTTP.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Whether a result that asks for input is the answer, and not a question to the client.
    pub hands_on_questions: bool,
    /// Counts how often it is sent.
    pub sent: Sent,
}

impl Options {
    /// A request that must be answered within this time.
    pub fn within(time: Duration) -> Self {
        Self {
            deadline: Instant::now().checked_add(time),
            ..Self::default()
        }
    }
}

/// What happened on a connection besides answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Answers that came after their request had ended.
    pub late: u64,
    /// Answers to what was never asked.
    pub unasked: u64,
    /// Things that were no messages.
    pub junk: u64,
}

/// Hears every notification that concerns the whole connection, `list_changed` among them.
pub type Listener = Box<dyn Fn(&str, Option<&RawValue>) + Send + Sync>;

/// One side of a conversation. Dropping it closes the link.
pub struct Peer {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Peer")
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

pub(super) struct Shared {
    outgoing: mpsc::Sender<Outgoing>,
    close: CancellationToken,
    next: AtomicI64,
    pending: Mutex<HashMap<i64, Pending>>,
    places: Arc<Semaphore>,
    owner: Mutex<Option<Arc<dyn Client>>>,
    headers: Mutex<Vec<(HeaderName, HeaderValue)>>,
    asked: Asked,
    closed: watch::Sender<Option<Failure>>,
    late: AtomicU64,
    unasked: AtomicU64,
    junk: AtomicU64,
    first_junk: Mutex<Option<String>>,
    stderr: Tail,
    listener: Listener,
}

/// A request that waits for its answer.
struct Pending {
    answer: oneshot::Sender<Result<Box<RawValue>, CallError>>,
    /// Told at each sign of progress.
    progress: watch::Sender<Instant>,
    /// The token that the client chose, to be put back.
    token: Option<Box<RawValue>>,
    client: Option<Arc<dyn Client>>,
}

impl Peer {
    /// Starts the conversation.
    pub fn new(link: Link, listener: Listener) -> Self {
        let shared = Arc::new(Shared {
            outgoing: link.outgoing,
            close: link.close,
            next: AtomicI64::new(1),
            pending: Mutex::default(),
            places: Arc::new(Semaphore::new(PEER_REQUESTS_MAX)),
            owner: Mutex::default(),
            headers: Mutex::default(),
            asked: Asked::default(),
            closed: watch::Sender::new(None),
            late: AtomicU64::new(0),
            unasked: AtomicU64::new(0),
            junk: AtomicU64::new(0),
            first_junk: Mutex::default(),
            stderr: link.stderr,
            listener,
        });
        tokio::spawn(reader::run(Arc::clone(&shared), link.incoming));
        Self { shared }
    }

    /// Says which client owns the connection: it gets the server's requests and log messages.
    pub fn set_owner(&self, owner: Option<Arc<dyn Client>>) {
        *lock(&self.shared.owner) = owner;
    }

    /// Says which headers go with every message from now on.
    pub fn set_headers(&self, headers: Vec<(HeaderName, HeaderValue)>) {
        *lock(&self.shared.headers) = headers;
    }

    /// Asks, and waits for the answer.
    pub async fn request(
        &self,
        method: &str,
        params: Option<&RawValue>,
        options: &Options,
    ) -> Result<Box<RawValue>, CallError> {
        self.begin(method, params, options)
            .await?
            .answer(options)
            .await
    }

    /// Sends a request; the answer is waited for with [`Waiting::answer`].
    pub async fn begin(
        &self,
        method: &str,
        params: Option<&RawValue>,
        options: &Options,
    ) -> Result<Waiting, Failure> {
        let began = Instant::now();
        if let Some(why) = self.closed() {
            return Err(Failure::Unreachable(why.to_string()));
        }
        let place = Arc::clone(&self.shared.places).try_acquire_owned();
        let place = place.map_err(|_| Failure::Overloaded)?;
        let number = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let (params, token) = with_own_token(params, number, options.idle.is_some());
        let id = Id::Number(number);
        let text = rpc::request(&id, method, params.as_deref());
        let (answer, receiver) = oneshot::channel();
        let (progress, activity) = watch::channel(began);
        let client = options.client.clone();
        let pending = Pending {
            answer,
            progress,
            token,
            client,
        };
        lock(&self.shared.pending).insert(number, pending);
        // From here on the request is taken back when it is not waited for any more.
        let mut waiting = Waiting {
            shared: Arc::clone(&self.shared),
            number,
            receiver,
            activity,
            began,
            // Before it is sent there is nothing to cancel, and `initialize` must not be.
            cancellable: false,
            _place: place,
        };
        // The conversation may have ended meanwhile; whoever ended it did not see this request.
        if let Some(why) = self.closed() {
            return Err(Failure::Unreachable(why.to_string()));
        }
        let headers = self.shared.with_headers(&options.headers);
        let message = Outgoing {
            kind: Kind::Request(id),
            text,
            headers,
        };
        let sent = tokio::select! {
            sent = self.shared.outgoing.send(message) => sent,
            () = options.cancel.cancelled() => return Err(Failure::Cancelled),
            () = until(options.deadline) => return Err(Failure::TimedOut(began.elapsed())),
        };
        if sent.is_err() {
            return Err(Failure::Unreachable(self.why_closed().await.to_string()));
        }
        waiting.cancellable = method != "initialize";
        Ok(waiting)
    }

    /// Tells the server something.
    pub async fn notify(&self, method: &str, params: Option<&RawValue>) -> Result<(), Failure> {
        let message = Outgoing {
            kind: Kind::Notification,
            text: rpc::notification(method, params),
            headers: self.shared.with_headers(&[]),
        };
        let sent = self.shared.outgoing.send(message).await;
        match sent {
            Ok(()) => Ok(()),
            Err(_) => Err(self.why_closed().await),
        }
    }

    /// Why the conversation is over, where it is.
    pub fn closed(&self) -> Option<Failure> {
        self.shared.closed.borrow().clone()
    }

    /// Waits until the conversation is over, and says why.
    pub async fn why_closed(&self) -> Failure {
        let mut closed = self.shared.closed.subscribe();
        let why = closed.wait_for(Option::is_some).await;
        why.ok()
            .and_then(|why| why.clone())
            .unwrap_or(Failure::Closed)
    }

    /// Tells when the conversation is over, without keeping it alive.
    pub fn ending(&self) -> watch::Receiver<Option<Failure>> {
        self.shared.closed.subscribe()
    }

    /// Closes the link in good order.
    pub fn close(&self) {
        self.shared.close.cancel();
    }

    /// How many requests wait for their answers.
    pub fn under_way(&self) -> usize {
        lock(&self.shared.pending).len()
    }

    /// What happened besides answers.
    pub fn counts(&self) -> Counts {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let shared = &self.shared;
        Counts {
            late: get(&shared.late),
            unasked: get(&shared.unasked),
            junk: get(&shared.junk),
        }
    }

    /// The first thing that came and was no message.
    pub fn first_junk(&self) -> Option<String> {
        lock(&self.shared.first_junk).clone()
    }

    /// The last that the server said to people, on one line.
    pub fn stderr(&self) -> String {
        self.shared.stderr.text()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn with_headers(&self, own: &[(HeaderName, HeaderValue)]) -> Vec<(HeaderName, HeaderValue)> {
        let standing = lock(&self.headers);
        standing.iter().chain(own).cloned().collect()
    }
}

/// A request that was sent. Dropping it tells the server that the answer is not wanted any more.
pub struct Waiting {
    shared: Arc<Shared>,
    number: i64,
    receiver: oneshot::Receiver<Result<Box<RawValue>, CallError>>,
    activity: watch::Receiver<Instant>,
    began: Instant,
    cancellable: bool,
    _place: OwnedSemaphorePermit,
}

impl std::fmt::Debug for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waiting")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

impl Waiting {
    /// Waits for the answer.
    pub async fn answer(&mut self, options: &Options) -> Result<Box<RawValue>, CallError> {
        loop {
            let silent_until = options
                .idle
                .and_then(|idle| self.activity.borrow().checked_add(idle));
            let until_when = match (options.deadline, silent_until) {
                (Some(deadline), Some(silent)) => Some(deadline.min(silent)),
                (deadline, silent) => deadline.or(silent),
            };
            tokio::select! {
                biased;
                answer = &mut self.receiver => {
                    return answer.unwrap_or(Err(CallError::Failure(Failure::Closed)));
                }
                () = options.cancel.cancelled() => return Err(Failure::Cancelled.into()),
                changed = self.activity.changed() => if changed.is_err() {
                    let answer = (&mut self.receiver).await;
                    return answer.unwrap_or(Err(CallError::Failure(Failure::Closed)));
                },
                () = until(until_when) => {
                    return Err(Failure::TimedOut(self.began.elapsed()).into());
                }
            }
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let was_pending = lock(&self.shared.pending).remove(&self.number).is_some();
        if !was_pending || !self.cancellable {
            return;
        }
        let id = Id::Number(self.number);
        let params =
            raw(&serde_json::json!({"requestId": id, "reason": "nobody waits for it any more"}));
        // A link that is so full that this does not fit has worse to fear than a useless answer.
        let _ = self.shared.outgoing.try_send(Outgoing {
            text: rpc::notification("notifications/cancelled", Some(&*params)),
            kind: Kind::Cancellation(id),
            headers: self.shared.with_headers(&[]),
        });
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// The parameters with a progress token of ours in place of the caller's, and the caller's. Where
/// progress is `wanted` without one, ours is added.
fn with_own_token(
    params: Option<&RawValue>,
    number: i64,
    wanted: bool,
) -> (Option<Cow<'_, RawValue>>, Option<Box<RawValue>>) {
    let mentioned = params.is_some_and(|params| params.get().contains("progressToken"));
    if !mentioned && !wanted {
        return (params.map(Cow::Borrowed), None);
    }
    let mut fields = Fields::of(params);
    let meta = fields.get("_meta").map(ToOwned::to_owned);
    let mut meta = Fields::of(meta.as_deref());
    let token = meta.get("progressToken").map(ToOwned::to_owned);
    if token.is_none() && !wanted {
        return (params.map(Cow::Borrowed), None);
    }
    meta.set("progressToken", raw(&number));
    fields.set("_meta", meta.write());
    (Some(Cow::Owned(fields.write())), token)
}

#[cfg(test)]
mod tests;
