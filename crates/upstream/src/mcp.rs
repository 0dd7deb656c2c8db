//! MCP servers: how they are reached, asked and healed.

pub mod authorisation;
pub mod credential;
pub mod failure;
pub mod http;
pub mod link;
pub mod sse;

pub use failure::Failure;
pub use link::{Incoming, Kind, Link, Outgoing};
