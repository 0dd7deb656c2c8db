//! The HTTP transport of the first revision: one stream of events for everything that the server says,
//! whose first event names the address to which messages go.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use reqwest::Response;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolcrib_core::limits::{
    HTTP_TOLD_WAIT_MS_MAX, LINK_MESSAGES_MAX, MESSAGE_BYTES_MAX, PEER_REQUESTS_MAX,
    SSE_ENDPOINT_MS_MAX,
};
use toolcrib_core::rpc::{self, Id};
use url::Url;

use super::Failure;
use super::http::{
    Client, Decoder, Draft, Form, Refused, Remote, body, cause, excerpt, form, messages, refused,
    send,
};
use super::link::{Incoming, Kind, Link, Outgoing};
use crate::mcp::Tail;

/// Opens a way to a server over HTTP with a stream of events. It connects at once; messages wait until
/// the server has said where they go.
pub fn open(client: &Client, remote: Remote, tasks: &TaskTracker) -> Link {
    let (outgoing, queue) = mpsc::channel(LINK_MESSAGES_MAX);
    let (incoming, receiver) = mpsc::channel(LINK_MESSAGES_MAX);
    let close = CancellationToken::new();
    let way = Arc::new(Way {
        client: client.clone(),
        remote,
        incoming,
    });
    tasks.spawn(run(way, queue, close.clone()));
    Link {
        outgoing,
        incoming: receiver,
        close,
        stderr: Tail::default(),
    }
}

struct Way {
    client: Client,
    remote: Remote,
    incoming: mpsc::Sender<Incoming>,
}

async fn run(way: Arc<Way>, mut queue: mpsc::Receiver<Outgoing>, close: CancellationToken) {
    let (found, place) = oneshot::channel();
    let reading = Arc::clone(&way);
    let mut reader = tokio::spawn(async move { reading.read(found).await });
    let mut exchanges = Exchanges::default();
    let endpoint = tokio::select! {
        () = close.cancelled() => Err(Failure::Closed),
        () = way.incoming.closed() => Err(Failure::Closed),
        place = endpoint(place, &mut reader) => place,
    };
    let why = match endpoint {
        Err(failure) => failure,
        Ok(endpoint) => {
            let endpoint = Arc::new(endpoint);
            loop {
                tokio::select! {
                    () = close.cancelled() => break Failure::Closed,
                    ended = &mut reader => break ended.unwrap_or(Failure::Closed),
                    Some(done) = exchanges.set.join_next() => {
                        if let Ok(Some(id)) = done {
                            exchanges.running.remove(&id);
                        }
                    }
                    message = queue.recv() => match message {
                        Some(message) => exchanges.dispatch(&way, &endpoint, message).await,
                        None => break Failure::Closed,
                    },
                }
            }
        }
    };
    reader.abort();
    exchanges.set.shutdown().await;
    let _ = way.incoming.send(Incoming::Closed(why)).await;
}

/// Waits for the address to which messages go, or for the reason why there is none.
async fn endpoint(
    place: oneshot::Receiver<Url>,
    reader: &mut JoinHandle<Failure>,
) -> Result<Url, Failure> {
    let limit = Duration::from_millis(SSE_ENDPOINT_MS_MAX);
    match tokio::time::timeout(limit, place).await {
        Ok(Ok(endpoint)) => Ok(endpoint),
        Ok(Err(_)) => Err(reader.await.unwrap_or(Failure::Closed)),
        Err(_) => Err(Failure::TimedOut(limit)),
    }
}

/// The messages on their way to the server.
#[derive(Default)]
struct Exchanges {
    set: JoinSet<Option<Id>>,
    running: HashMap<Id, AbortHandle>,
}

impl Exchanges {
    async fn dispatch(&mut self, way: &Arc<Way>, endpoint: &Arc<Url>, message: Outgoing) {
        let id = match &message.kind {
            Kind::Request(id) => Some(id.clone()),
            Kind::Notification | Kind::Answer => None,
            Kind::Cancellation(id) => {
                if let Some(exchange) = self.running.remove(id) {
                    exchange.abort();
                }
                if message.text.is_empty() {
                    return;
                }
                None
            }
        };
        if let Some(id) = &id
            && self.running.len() >= PEER_REQUESTS_MAX
        {
            let failure = Failure::Overloaded;
            let _ = way
                .incoming
                .send(Incoming::Failed {
                    id: id.clone(),
                    failure,
                })
                .await;
            return;
        }
        let (way, endpoint) = (Arc::clone(way), Arc::clone(endpoint));
        let (key, in_order) = (id.clone(), message.kind == Kind::Notification);
        let (told, done) = oneshot::channel();
        let handle = self.set.spawn(async move {
            let sent = way.post(&endpoint, message).await;
            let _ = told.send(());
            way.report(sent, id.as_ref()).await;
            id
        });
        if let Some(key) = key {
            self.running.insert(key, handle);
        } else if in_order {
            let wait = Duration::from_millis(HTTP_TOLD_WAIT_MS_MAX);
            let _ = tokio::time::timeout(wait, done).await;
        }
    }
}

impl Way {
    /// Reads the stream to its end, which has a reason.
    async fn read(&self, found: oneshot::Sender<Url>) -> Failure {
        let mut found = Some(found);
        let mut response = match self.connect().await {
            Ok(response) => response,
            Err(failure) => return failure,
        };
        let mut decoder = Decoder::new(MESSAGE_BYTES_MAX);
        loop {
            let chunk = match response.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return Failure::Broken("the stream of events ended".to_owned()),
                Err(error) => return Failure::Broken(cause(error)),
            };
            let Ok(events) = decoder.feed(&chunk) else {
                return Failure::TooLarge(MESSAGE_BYTES_MAX);
            };
            for event in events {
                if event.kind == "endpoint" {
                    match self.resolve(&event.data) {
                        Ok(url) => {
                            // A second one changes nothing: what is under way goes to the first.
                            let _ = found.take().map(|found| found.send(url));
                        }
                        Err(failure) => return failure,
                    }
                } else if event.is_message() {
                    let incoming = match rpc::parse(&event.data) {
                        Ok(message) => Incoming::Message(message),
                        Err(_) => Incoming::Junk(excerpt(&event.data, &[])),
                    };
                    if self.incoming.send(incoming).await.is_err() {
                        return Failure::Closed;
                    }
                }
            }
        }
    }

    async fn connect(&self) -> Result<Response, Failure> {
        let draft = Draft {
            method: Method::GET,
            url: &self.remote.url,
            accept: "text/event-stream",
            headers: Vec::new(),
            body: None,
            begins_within: Duration::from_millis(SSE_ENDPOINT_MS_MAX),
        };
        let reply = send(&self.client, &self.remote, &draft).await?;
        if !reply.response.status().is_success() {
            return match refused(reply, None, false).await {
                Refused::Failure(failure) => Err(failure),
                Refused::Answer(_) => Err(Failure::NotMcp(
                    "it answered a stream with a message".to_owned(),
                )),
            };
        }
        if form(reply.response.headers()) == Form::Events {
            Ok(reply.response)
        } else {
            Err(Failure::NotMcp(
                "it answered without a stream of events".to_owned(),
            ))
        }
    }

    /// The address to which messages go; credentials go with them, so it must be of the same origin.
    fn resolve(&self, data: &[u8]) -> Result<Url, Failure> {
        let text = String::from_utf8_lossy(data);
        let url = self.remote.url.join(text.trim()).map_err(|_| {
            Failure::NotMcp("the address that it names for messages cannot be read".to_owned())
        })?;
        if url.origin() == self.remote.url.origin() {
            Ok(url)
        } else {
            Err(Failure::NotMcp(format!(
                "it wants messages to go to another place, {}",
                url.origin().ascii_serialization()
            )))
        }
    }

    async fn post(&self, endpoint: &Url, message: Outgoing) -> Result<Vec<Incoming>, Failure> {
        let id = match &message.kind {
            Kind::Request(id) => Some(id.clone()),
            _ => None,
        };
        let draft = Draft {
            method: Method::POST,
            url: endpoint,
            accept: "application/json",
            headers: message.headers,
            body: Some(Bytes::from(message.text)),
            begins_within: self.remote.answer_begins_within,
        };
        let reply = send(&self.client, &self.remote, &draft).await?;
        if !reply.response.status().is_success() {
            return match refused(reply, id.as_ref(), true).await {
                Refused::Failure(failure) => Err(failure),
                Refused::Answer(message) => Ok(vec![Incoming::Message(message)]),
            };
        }
        // Most servers say only `Accepted`; some answer here.
        if form(reply.response.headers()) != Form::Json {
            return Ok(Vec::new());
        }
        let text = body(reply.response).await?;
        let messages = messages(&text).unwrap_or_default();
        Ok(messages.into_iter().map(Incoming::Message).collect())
    }

    async fn report(&self, sent: Result<Vec<Incoming>, Failure>, id: Option<&Id>) {
        let arrived = match (sent, id) {
            (Ok(arrived), _) => arrived,
            (Err(failure), Some(id)) => vec![Incoming::Failed {
                id: id.clone(),
                failure,
            }],
            (Err(failure), None) => {
                tracing::debug!(server = %self.remote.name, %failure, "a message was not accepted");
                Vec::new()
            }
        };
        for incoming in arrived {
            let _ = self.incoming.send(incoming).await;
        }
    }
}
