//! The door on a pipe: one JSON message a line, answers as they are ready.
//!
//! Only the writer here touches the output, so that it carries MCP messages and nothing else.

use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures::FutureExt;
use futures::future::join_all;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;
use toolcrib_core::limits::{
    DOOR_BATCH_MESSAGES_MAX, DOOR_LINE_BYTES_MAX, DOOR_REQUESTS_IN_FLIGHT_MAX, SHUTDOWN_DRAIN_MS,
    SHUTDOWN_GRACE_MS, STDIO_DRAIN_MS, STDIO_QUEUE_MAX, STDIO_STALL_MS,
};
use toolcrib_core::policy::Caller;
use toolcrib_core::rpc::{self, Fault, Id, Malformed, Message};

use super::gate::{Entry, crowded};
use super::meta::Meta;
use super::outlet::{Outlet, one_line};
use super::revision::Revision;
use super::service::{Arrival, CANCELLED, Outcome, Request, Service, cancelled, panicked, twice};
use super::session::Session;

/// Who is on the other end, under the configuration in place: asked anew for every request.
pub type Whoever = Arc<dyn Fn() -> Arc<Caller> + Send + Sync>;

/// Serves one client until `input` ends or `ending` fires; then what is under way may still finish.
pub async fn serve<R, W>(
    service: Arc<Service>,
    caller: Whoever,
    input: R,
    output: W,
    ending: CancellationToken,
) -> io::Result<()>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (frames, queue) = mpsc::channel(STDIO_QUEUE_MAX);
    let said_all = CancellationToken::new();
    let writing = tokio::spawn(write(output, queue, said_all.clone()));
    let pipe = Pipe {
        session: Session::new(
            Arc::clone(&service),
            caller(),
            Some("stdio".into()),
            Arc::new(Queue(frames.clone())),
        ),
        service,
        caller,
        frames,
        tasks: TaskTracker::new(),
        running: Arc::default(),
        greeted: Mutex::new(no_handshake()),
    };
    let mut lines = Lines::new(input);
    loop {
        let line = tokio::select! {
            line = lines.next() => line,
            () = ending.cancelled() => break,
            () = pipe.frames.closed() => break,
        };
        match line? {
            Line::Text(text) => pipe.take(text).await,
            Line::TooLong => pipe.refuse(None, &too_long()),
            Line::End => break,
        }
    }
    pipe.drain(&ending).await;
    // Whoever still holds a way to the client, such as a server's connection, has nothing to say to it.
    said_all.cancel();
    let outcome = writing.await;
    outcome.unwrap_or_else(|error| Err(io::Error::other(error)))
}

/// One client on a pipe.
struct Pipe {
    service: Arc<Service>,
    session: Arc<Session>,
    caller: Whoever,
    frames: mpsc::Sender<Vec<u8>>,
    tasks: TaskTracker,
    /// Requests of the stateless era that are under way, and others that wait for the handshake.
    running: Arc<Mutex<Vec<Running>>>,
    /// Fires when the latest handshake was answered.
    greeted: Mutex<CancellationToken>,
}

/// What comes of a request.
struct Answer {
    /// None where the client does not want it any more.
    frame: Option<Vec<u8>>,
    /// Lets what came behind a handshake go on, once its answer is on its way.
    handshake: Option<DropGuard>,
}

impl Answer {
    async fn send(self, frames: &mpsc::Sender<Vec<u8>>) {
        if let Some(frame) = self.frame {
            let _ = frames.send(frame).await;
        }
        drop(self.handshake);
    }
}

/// Takes a request off the list when it is dropped.
struct Listed(Arc<Mutex<Vec<Running>>>, Id);

impl Drop for Listed {
    fn drop(&mut self) {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = running.iter().position(|other| other.id == self.1) {
            running.swap_remove(place);
        }
    }
}

struct Running {
    id: Id,
    cancel: CancellationToken,
    /// Whether it only tells changes and would go on for ever.
    listens: bool,
}

impl Pipe {
    async fn take(&self, text: &[u8]) {
        let text = text.trim_ascii();
        if text.is_empty() {
            return;
        }
        if text.starts_with(b"[") {
            return self.batch(text);
        }
        match rpc::parse(text) {
            Ok(message) => self.message(message, text.len()).await,
            Err(malformed) => self.refuse(malformed.id(), &described(&malformed)),
        }
    }

    async fn message(&self, message: Message, bytes: usize) {
        let Message::Request { id, method, params } = message else {
            return self.heed(message);
        };
        let held = match self.room(bytes) {
            Ok(held) => held,
            Err(fault) => return self.refuse(Some(&id), &fault),
        };
        let frames = self.frames.clone();
        let is_handshake = method == "initialize";
        let mut answering = Box::pin(self.answer(Request { id, method, params }));
        // The revision is agreed on in the first step, and what comes next may depend on it; who serves may
        // take a while to find out.
        if is_handshake && let Poll::Ready(answer) = futures::poll!(&mut answering) {
            return answer.send(&frames).await;
        }
        self.tasks.spawn(async move {
            answering.await.send(&frames).await;
            drop(held);
        });
    }

    /// Room for a request of so many bytes, or why there is none.
    fn room(&self, bytes: usize) -> Result<Entry, Fault> {
        if self.tasks.len() >= DOOR_REQUESTS_IN_FLIGHT_MAX {
            return Err(crowded());
        }
        self.service.gate().hold(bytes)
    }

    fn heed(&self, message: Message) {
        match message {
            Message::Notification { method, params } => {
                self.session.notification(&method, params.as_deref());
                if method == "notifications/cancelled" {
                    self.cancel(params.as_deref());
                }
            }
            Message::Answer { id, outcome } => self.session.answered(id.as_ref(), outcome),
            Message::Request { .. } => {}
        }
    }

    /// Answers a request. What comes behind a handshake needs it done and waits for it, also from a client that
    /// does not; a panic is one answer.
    fn answer(&self, request: Request) -> impl Future<Output = Answer> + Send + 'static {
        let id = request.id.clone();
        let cancel = CancellationToken::new();
        let arrival = Arrival {
            caller: (self.caller)(),
            outlet: Arc::new(Queue(self.frames.clone())),
            cancel: cancel.clone(),
            trace: None,
            network: "pipe",
        };
        let meta = Meta::of(request.params.as_deref());
        let is_stateless = meta.is_stateless() || request.method == "server/discover";
        let (greeted, handshake) = self.behind(&request.method, is_stateless);
        let waits = !greeted.is_cancelled();
        let listed = (is_stateless || waits).then(|| {
            self.list(Running {
                id: id.clone(),
                cancel: cancel.clone(),
                listens: is_stateless && request.method == "subscriptions/listen",
            })
        });
        let (service, session) = (Arc::clone(&self.service), Arc::clone(&self.session));
        let answering = async move {
            if let Some(None) = listed {
                return Err(twice());
            }
            if is_stateless {
                let reply = service.stateless(request, arrival).await;
                drop(listed);
                return reply.outcome;
            }
            tokio::select! {
                biased;
                () = greeted.cancelled() => {}
                () = cancel.cancelled() => return Err(cancelled()),
            }
            drop(listed);
            session.request(request, arrival).await
        };
        async move {
            let outcome = AssertUnwindSafe(answering).catch_unwind().await;
            let outcome = outcome.unwrap_or_else(|_| Err(panicked()));
            Answer {
                frame: frame(&id, outcome),
                handshake,
            }
        }
    }

    /// Lists a request, so that it can be cancelled; not a second one of its id, which would be cancelled in its place.
    fn list(&self, request: Running) -> Option<Listed> {
        let mut running = self.running();
        if running.iter().any(|other| other.id == request.id) {
            return None;
        }
        let listed = Listed(Arc::clone(&self.running), request.id.clone());
        running.push(request);
        Some(listed)
    }

    /// What a request has to wait for; and where it is a handshake, what lets those behind it go on.
    fn behind(&self, method: &str, is_stateless: bool) -> (CancellationToken, Option<DropGuard>) {
        if is_stateless || method == "ping" {
            return (no_handshake(), None);
        }
        let mut greeted = self.greeted.lock().unwrap_or_else(PoisonError::into_inner);
        let before = greeted.clone();
        if method != "initialize" {
            return (before, None);
        }
        *greeted = CancellationToken::new();
        (before, Some(greeted.clone().drop_guard()))
    }

    fn batch(&self, text: &[u8]) {
        if !self.session.revision().is_some_and(Revision::has_batches) {
            let fault = Fault::new(
                rpc::INVALID_REQUEST,
                "only revision 2025-03-26 has batches; send one message a line",
            );
            return self.refuse(None, &fault);
        }
        let messages = match serde_json::from_slice::<Vec<&RawValue>>(text) {
            Ok(messages) if (1..=DOOR_BATCH_MESSAGES_MAX).contains(&messages.len()) => messages,
            Ok(_) => {
                let why = format!("a batch holds 1 to {DOOR_BATCH_MESSAGES_MAX} messages");
                return self.refuse(None, &Fault::new(rpc::INVALID_REQUEST, why));
            }
            Err(error) => {
                return self.refuse(None, &Fault::new(rpc::PARSE_ERROR, error.to_string()));
            }
        };
        let held = match self.room(text.len()) {
            Ok(held) => held,
            Err(fault) => return self.refuse(None, &fault),
        };
        let mut answers = Vec::new();
        for message in messages {
            match rpc::parse(message.get().as_bytes()) {
                Ok(Message::Request { id, method, params }) => {
                    let answering = self.answer(Request { id, method, params });
                    let answering = async move { answering.await.frame };
                    answers.push(futures::future::Either::Left(answering));
                }
                Ok(other) => self.heed(other),
                Err(malformed) => {
                    let refused = rpc::fault(malformed.id(), &described(&malformed));
                    let ready = std::future::ready(Some(refused));
                    answers.push(futures::future::Either::Right(ready));
                }
            }
        }
        let frames = self.frames.clone();
        self.tasks.spawn(async move {
            let answers: Vec<Vec<u8>> = join_all(answers).await.into_iter().flatten().collect();
            if !answers.is_empty() {
                let _ = frames.send(joined(&answers)).await;
            }
            drop(held);
        });
    }

    /// Says that something was no message, or too much.
    fn refuse(&self, id: Option<&Id>, fault: &Fault) {
        // A client that floods us and does not read gets no answer to what was refused.
        let _ = self.frames.try_send(rpc::fault(id, fault));
    }

    fn cancel(&self, params: Option<&RawValue>) {
        let wanted = params
            .and_then(super::fields::Fields::of)
            .and_then(|fields| serde_json::from_str::<Id>(fields.get("requestId")?.get()).ok());
        let running = self.running();
        if let Some(found) = running.iter().find(|one| Some(&one.id) == wanted.as_ref()) {
            found.cancel.cancel();
        }
    }

    fn running(&self) -> MutexGuard<'_, Vec<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets what is under way finish, for a while, unless nobody can read it; cancels the rest.
    async fn drain(self, ending: &CancellationToken) {
        self.tasks.close();
        let asked = ending.is_cancelled();
        let bound_ms = if asked {
            SHUTDOWN_DRAIN_MS
        } else {
            STDIO_DRAIN_MS
        };
        for listener in self.running().iter().filter(|one| one.listens) {
            listener.cancel.cancel();
        }
        tokio::select! {
            () = self.tasks.wait() => {}
            () = tokio::time::sleep(Duration::from_millis(bound_ms)) => {}
            () = self.frames.closed() => {}
            // A client that has closed its end and then asks for ours does not wait for answers.
            () = ending.cancelled(), if !asked => {}
        }
        self.session.close();
        for running in self.running().drain(..) {
            running.cancel.cancel();
        }
        let grace = Duration::from_millis(SHUTDOWN_GRACE_MS);
        let _ = tokio::time::timeout(grace, self.tasks.wait()).await;
    }
}

/// What there is to wait for where nobody has begun a handshake.
fn no_handshake() -> CancellationToken {
    let greeted = CancellationToken::new();
    greeted.cancel();
    greeted
}

/// The text of an answer; none where the client does not want it any more.
fn frame(id: &Id, outcome: Outcome) -> Option<Vec<u8>> {
    match outcome {
        Ok(result) => Some(rpc::result(id, &result)),
        Err(fault) if fault.code == CANCELLED => None,
        Err(fault) => Some(rpc::fault(Some(id), &fault)),
    }
}

/// Several answers as one array.
pub(crate) fn joined(answers: &[Vec<u8>]) -> Vec<u8> {
    let mut text = vec![b'['];
    text.extend(answers.join(&b','));
    text.push(b']');
    text
}

/// What is wrong with a frame, as a fault.
pub(crate) fn described(malformed: &Malformed) -> Fault {
    Fault::new(malformed.code(), malformed.to_string())
}

fn too_long() -> Fault {
    Fault::new(
        rpc::INVALID_REQUEST,
        format!("a message is longer than {DOOR_LINE_BYTES_MAX} bytes"),
    )
}

/// Messages that wait to be written.
struct Queue(mpsc::Sender<Vec<u8>>);

impl Outlet for Queue {
    fn push(&self, frame: Vec<u8>) {
        if self.0.try_send(frame).is_err() {
            tracing::debug!("the client does not keep up; a message was dropped");
        }
    }
}

/// Writes messages, one a line, as many at once as there are.
async fn write<W: AsyncWrite + Unpin>(
    mut output: W,
    mut queue: mpsc::Receiver<Vec<u8>>,
    said_all: CancellationToken,
) -> io::Result<()> {
    let mut text = Vec::new();
    loop {
        let frame = tokio::select! {
            biased;
            frame = queue.recv() => frame,
            () = said_all.cancelled(), if !queue.is_closed() => {
                queue.close();
                continue;
            }
        };
        let Some(frame) = frame else { break };
        text.extend_from_slice(&one_line(frame));
        text.push(b'\n');
        while text.len() < DOOR_LINE_BYTES_MAX {
            let Ok(frame) = queue.try_recv() else { break };
            text.extend_from_slice(&one_line(frame));
            text.push(b'\n');
        }
        put(&mut output, &text, &said_all).await?;
        text.clear();
        text.shrink_to(64 * 1024);
    }
    Ok(())
}

/// Writes a text whole. Once all is said, a client that reads nothing for a while is given up: it must not
/// keep the process.
async fn put<W: AsyncWrite + Unpin>(
    output: &mut W,
    mut text: &[u8],
    said_all: &CancellationToken,
) -> io::Result<()> {
    while !text.is_empty() {
        let stuck = async {
            said_all.cancelled().await;
            tokio::time::sleep(Duration::from_millis(STDIO_STALL_MS)).await;
        };
        let written = tokio::select! {
            biased;
            written = output.write(text) => written?,
            () = stuck => {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read"));
            }
        };
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        text = &text[written..];
    }
    output.flush().await
}

/// What a read of a line gives.
enum Line<'a> {
    Text(&'a [u8]),
    TooLong,
    End,
}

/// Lines of bounded length. Waiting for one can be given up and begun again.
struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    is_whole: bool,
    skips: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    fn new(input: R) -> Self {
        Self {
            input: BufReader::with_capacity(64 * 1024, input),
            line: Vec::new(),
            is_whole: false,
            skips: false,
        }
    }

    async fn next(&mut self) -> io::Result<Line<'_>> {
        if self.is_whole {
            self.line.clear();
            self.line.shrink_to(64 * 1024);
            self.is_whole = false;
        }
        loop {
            let buffer = self.input.fill_buf().await?;
            if buffer.is_empty() {
                if self.line.is_empty() {
                    return Ok(Line::End);
                }
                // The last line may lack its end.
                self.is_whole = true;
                return Ok(Line::Text(&self.line));
            }
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(buffer.len());
            if !self.skips {
                self.line.extend_from_slice(&buffer[..taken]);
            }
            let used = end.map_or(taken, |end| end + 1);
            self.input.consume(used);
            if self.line.len() > DOOR_LINE_BYTES_MAX {
                self.line = Vec::new();
                self.skips = true;
            }
            if end.is_some() {
                if std::mem::take(&mut self.skips) {
                    return Ok(Line::TooLong);
                }
                self.is_whole = true;
                return Ok(Line::Text(&self.line));
            }
        }
    }
}

#[cfg(test)]
mod tests;
