//! MCP servers: how they are reached, asked and healed.
//!
//! A transport ([`stdio`], [`http`], [`sse`]) opens a [`Link`]; a [`Peer`] asks many things over it at
//! once.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub mod authorisation;
pub mod client;
pub mod credential;
#[cfg(unix)]
mod descendants;
pub mod endpoint;
pub mod failure;
pub mod http;
pub mod launcher;
mod lines;
pub mod link;
pub mod oauth;
pub mod object;
pub mod peer;
pub mod process;
pub mod sse;
pub mod stdio;

pub use client::Client;
pub use endpoint::{Address, Command, Endpoint, Isolation, Way};
pub use failure::{CallError, Failure};
pub use link::{Incoming, Kind, Link, Outgoing};
pub use peer::{Options, Peer};
pub use process::Spawner;

/// What is behind a lock. A holder that panicked leaves a value that is whole: each change is one step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
