//! How messages travel: what every transport hands to the peer above it.
//!
//! A transport runs as tasks of its own behind two bounded queues. It knows nothing of MCP but what an
//! [`Outgoing`] tells it, and it never parses a message that it sends.

use http::{HeaderName, HeaderValue};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use toolcrib_core::rpc::{Id, Message};

use super::Failure;
use super::lines::Tail;

/// One open way to a server. Dropping it closes the way.
#[derive(Debug)]
pub struct Link {
    /// Where messages go. Full: the server does not keep up.
    pub outgoing: mpsc::Sender<Outgoing>,
    /// Where messages come from. Its last item is [`Incoming::Closed`].
    pub incoming: mpsc::Receiver<Incoming>,
    /// Closes the way in good order when cancelled: a session is ended, a process asked to go.
    pub close: CancellationToken,
    /// What the server says to people meanwhile, where it is a child process.
    pub stderr: Tail,
}

/// A message on its way to the server.
#[derive(Debug)]
pub struct Outgoing {
    /// What it is, for transports that treat kinds apart.
    pub kind: Kind,
    /// Its text, one JSON value without a line break.
    pub text: Vec<u8>,
    /// Headers that go with it over HTTP: `MCP-Protocol-Version`, `Mcp-Method`, `Mcp-Name`, …
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

/// What an outgoing message is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It will be answered under this id.
    Request(Id),
    /// It tells, and wants no answer.
    Notification,
    /// It answers the server.
    Answer,
    /// It tells that this request is not wanted any more. HTTP drops the exchange of that request, which
    /// is how the modern era cancels, and sends the text only where there is one.
    Cancellation(Id),
}

/// What came back.
#[derive(Debug)]
pub enum Incoming {
    /// A message.
    Message(Message),
    /// Something that is no message; what it began with. The way stays open.
    Junk(String),
    /// A request will not be answered; the way stays open.
    Failed {
        /// The request.
        id: Id,
        /// Why.
        failure: Failure,
    },
    /// The way is closed, and nothing more comes.
    Closed(Failure),
}
