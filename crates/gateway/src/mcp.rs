//! The MCP door: what an agent speaks to, in both eras of the protocol, over any transport.
//!
//! [`surface`] is what is served: the five tools, with some [`pinned`] beside them, every tool, or one upstream
//! passed through.
//! [`service`] and [`session`] are the protocol around it: handshake or per-request metadata,
//! cancellation, progress, questions back to the client. [`stdio`] carries it over a pipe;
//! [`crate::http`] carries it over HTTP. Messages stay the text they came in as: what nobody here
//! knows is handed on.

pub mod bridge;
pub mod client;
pub mod discovery;
pub mod fields;
pub mod flat;
pub mod full;
pub mod gate;
pub mod gateway;
mod given;
pub mod listen;
pub mod meta;
pub mod outlet;
pub mod pinned;
pub mod pipe;
pub mod revision;
pub mod rounds;
pub mod service;
pub mod session;
#[cfg(test)]
pub(crate) mod stand_in;
pub mod stdio;
pub mod surface;
mod watched;

pub use client::Client;
pub use revision::Revision;
pub use service::Service;
pub use surface::{Change, Context, Description, Surface};
