//! The store over the real SQLite, in directories of its own.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on should stop there, and figures are for whoever reads the output"
)]

mod approval;
mod audit;
mod cache;
mod capability;
mod crash;
mod fault;
mod fixture;
mod idempotency;
mod journal;
mod keeping;
mod lists;
mod rate;
mod soon;
mod sqlite;
