//! Upstream servers from the outside: stand-ins and faults over real sockets and processes.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop there"
)]

mod calls;
mod caps;
mod eras;
mod faults;
mod fixture;
mod healing;
mod pool;
mod remote;
mod remote_faults;
mod remote_oauth;
mod remote_sse;
mod rest;
mod scripted;
mod stdio;
mod storm;
mod ways;
