//! MCP servers: how they are reached, asked and healed.
//!
//! A transport ([`stdio`], [`http`], [`sse`]) opens a [`Link`]; a [`Peer`] asks many things over it at
//! once;
//! a [`Connection`] is that and what was agreed with the server. The [`Pool`] keeps the connections of
//! all servers, and is the only way to call a tool.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub mod authorisation;
pub mod breaker;
pub mod client;
pub mod connection;
pub mod credential;
#[cfg(unix)]
mod descendants;
pub mod dialer;
pub mod endpoint;
pub mod era;
pub mod failure;
mod handshake;
pub mod http;
pub mod launcher;
mod lines;
pub mod link;
pub mod listing;
pub mod oauth;
pub mod object;
pub mod peer;
mod places;
pub mod pool;
pub mod process;
pub mod sse;
mod stamp;
pub mod status;
pub mod stdio;
mod supervisor;

pub use client::Client;
pub use connection::Connection;
pub use dialer::{Dialer, Ways};
pub use endpoint::{Address, Command, Endpoint, Way};
pub use era::{Era, EraMemory, Manner, Negotiated};
pub use failure::{CallError, Failure};
pub use lines::Tail;
pub use link::{Incoming, Kind, Link, Outgoing};
pub use listing::{Listing, What};
pub use peer::{Options, Peer};
pub use pool::{Call, Pool, Round};
pub use process::Spawner;
pub use status::{Event, Happening, Health, Status};
pub use supervisor::{Key, NowMs, Random, Surroundings};

/// What is behind a lock. A holder that panicked leaves a value that is whole: each change is one step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
