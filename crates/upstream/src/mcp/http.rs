//! Streamable HTTP: every message a POST, every answer a body or a stream of events.
//!
//! One task takes messages from the queue and gives each an exchange of its own, so that a slow answer
//! holds up nobody. The legacy era's session is kept here: its id is read from the first answer, sent
//! with what follows, and ended with DELETE when the way closes.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, StatusCode};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolcrib_core::limits::{
    HTTP_ANSWER_BEGINS_MS_MAX, HTTP_SESSION_END_MS_MAX, HTTP_TOLD_MS_MAX, HTTP_TOLD_WAIT_MS_MAX,
    LINK_MESSAGES_MAX, PEER_REQUESTS_MAX,
};
use toolcrib_core::rpc::Id;
use url::Url;

use super::authorisation::Authorisation;
use super::lines::Tail;
use super::link::{Incoming, Kind, Link, Outgoing};
use super::{Failure, lock};

mod answer;
mod events;
mod exchange;
mod stream;

pub use exchange::Client;

pub(super) use answer::{Form, Refused, body, excerpt, form, messages, refused};
pub(super) use events::Decoder;
pub(super) use exchange::{Draft, cause, send};

use stream::answers;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The first revision without sessions, standing streams and resumption.
const MODERN: &str = "2026-07-28";
const ACCEPT_BOTH: &str = "application/json, text/event-stream";

/// Where a remote server is, and what proves to it who we are.
#[derive(Clone)]
pub struct Remote {
    /// Its name in the configuration, for the log.
    pub name: String,
    /// Its address.
    pub url: Url,
    /// The headers and credentials that go with every request, to this address's origin only.
    pub authorisation: Arc<dyn Authorisation>,
    /// How long the answer to a request may take to begin.
    pub answer_begins_within: Duration,
}

impl Remote {
    /// A server with the usual time-out.
    pub fn new(name: impl Into<String>, url: Url, authorisation: Arc<dyn Authorisation>) -> Self {
        Self {
            name: name.into(),
            url,
            authorisation,
            answer_begins_within: Duration::from_millis(HTTP_ANSWER_BEGINS_MS_MAX),
        }
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Paths and queries of addresses may hold secrets.
        f.debug_struct("Remote")
            .field("name", &self.name)
            .field("origin", &self.url.origin().ascii_serialization())
            .finish_non_exhaustive()
    }
}

/// Opens a way to a server over Streamable HTTP. Nothing is sent before the first message.
pub fn open(client: &Client, remote: Remote, tasks: &TaskTracker) -> Link {
    let (outgoing, queue) = mpsc::channel(LINK_MESSAGES_MAX);
    let (sender, incoming) = mpsc::channel(LINK_MESSAGES_MAX);
    let close = CancellationToken::new();
    let way = Arc::new(Way {
        client: client.clone(),
        remote,
        incoming: sender,
        state: Mutex::default(),
    });
    let dispatcher = Dispatcher {
        way,
        exchanges: JoinSet::new(),
        running: HashMap::new(),
    };
    tasks.spawn(dispatcher.run(queue, close.clone()));
    Link {
        outgoing,
        incoming,
        close,
        stderr: Tail::default(),
    }
}

/// What the exchanges of one link share.
struct Way {
    client: Client,
    remote: Remote,
    incoming: mpsc::Sender<Incoming>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    session: Option<HeaderValue>,
    session_lost: bool,
    version: Option<HeaderValue>,
    listening: bool,
    stream_open: bool,
}

struct Dispatcher {
    way: Arc<Way>,
    exchanges: JoinSet<Option<Id>>,
    running: HashMap<Id, AbortHandle>,
}

impl Dispatcher {
    async fn run(mut self, mut queue: mpsc::Receiver<Outgoing>, close: CancellationToken) {
        loop {
            tokio::select! {
                () = close.cancelled() => break,
                Some(done) = self.exchanges.join_next() => {
                    if let Ok(Some(id)) = done {
                        self.running.remove(&id);
                    }
                }
                message = queue.recv() => match message {
                    Some(message) => {
                        tokio::select! {
                            () = close.cancelled() => break,
                            () = self.dispatch(message) => {}
                        }
                    }
                    None => break,
                },
            }
        }
        self.exchanges.shutdown().await;
        self.way.end_session().await;
        // Whoever dropped the link does not hear it, and need not.
        let _ = self
            .way
            .incoming
            .send(Incoming::Closed(Failure::Closed))
            .await;
    }

    async fn dispatch(&mut self, message: Outgoing) {
        let way = Arc::clone(&self.way);
        way.note_version(&message);
        match message.kind.clone() {
            Kind::Request(id) if self.running.len() >= PEER_REQUESTS_MAX => {
                let failure = Failure::Overloaded;
                let _ = way.incoming.send(Incoming::Failed { id, failure }).await;
            }
            Kind::Request(id) => {
                let key = id.clone();
                let handle = self.exchanges.spawn(async move {
                    if let Err(failure) = way.ask(message, &id).await {
                        way.note_failure(&failure);
                        let failed = Incoming::Failed {
                            id: id.clone(),
                            failure,
                        };
                        let _ = way.incoming.send(failed).await;
                    }
                    Some(id)
                });
                self.running.insert(key, handle);
            }
            Kind::Notification => {
                // What follows may rely on it: `tools/list` on `notifications/initialized`.
                let (told, done) = oneshot::channel();
                self.exchanges.spawn(async move {
                    let accepted = way.tell(message).await;
                    let _ = told.send(());
                    if accepted && way.may_listen() {
                        way.listen().await;
                    }
                    None
                });
                let wait = Duration::from_millis(HTTP_TOLD_WAIT_MS_MAX);
                let _ = tokio::time::timeout(wait, done).await;
            }
            Kind::Answer => self.tell_aside(message),
            Kind::Cancellation(id) => {
                if let Some(exchange) = self.running.remove(&id) {
                    exchange.abort();
                }
                if !message.text.is_empty() {
                    self.tell_aside(message);
                }
            }
        }
    }

    fn tell_aside(&mut self, message: Outgoing) {
        let way = Arc::clone(&self.way);
        self.exchanges.spawn(async move {
            way.tell(message).await;
            None
        });
    }
}

impl Way {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn session(&self) -> Option<HeaderValue> {
        self.state().session.clone()
    }

    fn note_version(&self, message: &Outgoing) {
        let version = message.headers.iter().find(|(name, _)| *name == VERSION);
        if let Some((_, version)) = version {
            self.state().version = Some(version.clone());
        }
    }

    fn note_failure(&self, failure: &Failure) {
        if *failure == Failure::SessionLost {
            self.state().session_lost = true;
        }
    }

    /// Whether the standing stream is to be opened now. Says yes once.
    fn may_listen(&self) -> bool {
        let mut state = self.state();
        let modern = state.version.as_ref().is_some_and(is_modern);
        !modern && !std::mem::replace(&mut state.listening, true)
    }

    fn note_stream(&self, open: bool) {
        self.state().stream_open = open;
    }

    /// Session and version, for requests that carry no message.
    fn standing_headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        let state = self.state();
        let session = state.session.clone().map(|id| (SESSION, id));
        let version = state.version.clone().map(|version| (VERSION, version));
        session.into_iter().chain(version).collect()
    }

    fn draft(&self, message: Outgoing, begins_within: Duration) -> (Draft<'_>, bool) {
        let modern = message
            .headers
            .iter()
            .any(|(name, value)| *name == VERSION && is_modern(value));
        let mut headers = message.headers;
        let session = self.session().filter(|_| !modern);
        let in_session = session.is_some();
        headers.extend(session.map(|id| (SESSION, id)));
        let draft = Draft {
            method: Method::POST,
            url: &self.remote.url,
            accept: ACCEPT_BOTH,
            headers,
            body: Some(Bytes::from(message.text)),
            begins_within,
        };
        (draft, in_session)
    }

    /// Sends a request and hands on whatever answers it.
    async fn ask(&self, message: Outgoing, id: &Id) -> Result<(), Failure> {
        let modern = message
            .headers
            .iter()
            .any(|(name, value)| *name == VERSION && is_modern(value));
        let (draft, in_session) = self.draft(message, self.remote.answer_begins_within);
        let reply = send(&self.client, &self.remote, &draft).await?;
        let status = reply.response.status();
        if !status.is_success() {
            return match refused(reply, Some(id), in_session).await {
                Refused::Failure(failure) => Err(failure),
                Refused::Answer(message) => {
                    let _ = self.incoming.send(Incoming::Message(message)).await;
                    Ok(())
                }
            };
        }
        if !modern && !in_session {
            let session = reply.response.headers().get(SESSION).cloned();
            self.state().session = session;
        }
        if form(reply.response.headers()) == Form::Events {
            return self.follow(reply.response, id, !modern).await;
        }
        if status == StatusCode::ACCEPTED && self.state().stream_open {
            // Some servers answer on the standing stream.
            return Ok(());
        }
        self.hand_on(reply, id).await
    }

    /// Hands on the messages of a whole body.
    async fn hand_on(&self, reply: exchange::Reply, id: &Id) -> Result<(), Failure> {
        let kind = form(reply.response.headers());
        let text = body(reply.response).await?;
        let Ok(messages) = messages(&text) else {
            let what = match kind {
                Form::Json => "it sent JSON that is no message",
                _ => "it sent a text that is no message",
            };
            return Err(answer::not_mcp(what, &text, &reply.secrets));
        };
        let mut answered = false;
        for message in messages {
            answered |= answers(&message, id);
            let _ = self.incoming.send(Incoming::Message(message)).await;
        }
        if answered {
            Ok(())
        } else {
            Err(Failure::NotMcp(
                "it answered without an answer to the request".to_owned(),
            ))
        }
    }

    /// Sends what wants no answer; says whether it was accepted.
    async fn tell(&self, message: Outgoing) -> bool {
        let within = Duration::from_millis(HTTP_TOLD_MS_MAX);
        let (draft, in_session) = self.draft(message, within);
        let failure = match send(&self.client, &self.remote, &draft).await {
            Ok(reply) if reply.response.status().is_success() => return true,
            Ok(reply) => match refused(reply, None, in_session).await {
                Refused::Failure(failure) => failure,
                Refused::Answer(_) => return false,
            },
            Err(failure) => failure,
        };
        tracing::debug!(server = %self.remote.name, %failure, "a message was not accepted");
        self.note_failure(&failure);
        false
    }

    /// Ends the session, as far as there is one.
    async fn end_session(&self) {
        let headers = self.standing_headers();
        {
            let state = self.state();
            if state.session.is_none() || state.session_lost {
                return;
            }
        }
        let within = Duration::from_millis(HTTP_SESSION_END_MS_MAX);
        let draft = Draft {
            method: Method::DELETE,
            url: &self.remote.url,
            accept: ACCEPT_BOTH,
            headers,
            body: None,
            begins_within: within,
        };
        let end = send(&self.client, &self.remote, &draft);
        if let Ok(Err(failure)) = tokio::time::timeout(within, end).await {
            tracing::debug!(server = %self.remote.name, %failure, "the session could not be ended");
        }
    }
}

/// Whether a protocol version is one without sessions. Versions are dates, so their order is that of text.
fn is_modern(version: &HeaderValue) -> bool {
    version.as_bytes() >= MODERN.as_bytes()
}
