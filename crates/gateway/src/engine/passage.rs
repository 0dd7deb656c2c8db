//! The way to what a server has beside tools: its resources, prompts, completions and what it says of
//! itself.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;
use toolcrib_upstream::mcp::Negotiated;

use super::upstream::{CallError, Client, Owner};

pub use super::execute::beside::{Passing, Unpassed};

/// The way to servers for what is no call of a tool.
pub trait Passage: Send + Sync {
    /// What a server says of itself, connecting to it where needed.
    fn describe<'a>(&'a self, asking: Asking<'a>) -> BoxFuture<'a, Result<Negotiated, CallError>>;

    /// Asks a server something; its answer as it was sent. Refuses to call a tool.
    ///
    /// Resources can be followed with the methods of the era with a handshake, whichever era the server
    /// is of.
    fn ask<'a>(
        &'a self,
        asking: Asking<'a>,
        method: &'a str,
        params: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, CallError>>;

    /// What a server says has changed, from now on.
    fn happenings(&self, server: &str) -> BoxStream<'static, Happening>;
}

/// Who asks which server.
pub struct Asking<'a> {
    /// The server.
    pub server: &'a str,
    /// Whose connection is used.
    pub owner: Owner,
    /// Who hears of progress and is asked what the server asks.
    pub client: Arc<dyn Client>,
    /// Fires when the answer is not wanted any more.
    pub cancel: CancellationToken,
    /// Whether the client answers a server's questions itself: they are the answer.
    pub hands_on_questions: bool,
}

/// Something that a server says has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// Its tools.
    Tools,
    /// Its prompts.
    Prompts,
    /// Its resources.
    Resources,
    /// One resource.
    Resource(String),
    /// More than could be told.
    Missed,
}
