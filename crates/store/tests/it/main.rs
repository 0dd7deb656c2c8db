//! The store over the real SQLite, in directories of its own.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop there"
)]

mod approval;
mod audit;
mod cache;
mod fixture;
mod idempotency;
mod journal;
mod keeping;
mod sqlite;
