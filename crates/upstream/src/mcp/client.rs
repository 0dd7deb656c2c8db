//! Whoever stands behind a request, and can be asked something in return.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;

use serde_json::value::RawValue;
use toolcrib_core::rpc::Fault;

/// An answer that is on its way.
pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<Box<RawValue>, Fault>> + Send + 'a>>;

/// The client that a call is made for.
///
/// A server may ask it (`elicitation/create`, `sampling/createMessage`, `roots/list`) and tell it
/// things (`notifications/progress`, `notifications/message`). Parameters are passed on as the server
/// wrote them, except that a progress token is the one that the client chose.
pub trait Client: Send + Sync + Debug {
    /// Answers a request of the server, or refuses it.
    fn request<'a>(&'a self, method: &'a str, params: Option<&'a RawValue>) -> Answer<'a>;

    /// Hears something. Must not block.
    fn notify(&self, method: &str, params: Option<&RawValue>);

    /// The capabilities that it declares, as the object that MCP calls `ClientCapabilities`.
    fn capabilities(&self) -> Box<RawValue>;
}
