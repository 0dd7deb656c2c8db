//! The control socket: how a command reaches a running process of the same user.
//!
//! Each running process has one socket of its own in a directory that only the user may enter
//! ([`place`]). Requests and answers are lines of JSON ([`protocol`]). [`server`] answers them;
//! [`client`] finds the running processes and asks them.

pub mod client;
pub mod place;
pub mod protocol;
#[cfg(unix)]
pub mod server;

pub use client::{Process, running};
pub use place::Place;
pub use protocol::{Counts, Op, ServerState, Status, ToolCounts};
