//! MCP servers: how they are reached, asked and healed.

pub mod failure;
pub mod link;

pub use failure::Failure;
pub use link::{Incoming, Kind, Link, Outgoing};
