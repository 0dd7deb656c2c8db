//! What Toolcrib remembers: audit, idempotency, approvals, tool lists, habits, counters.
//!
//! [`Store`] is one handle over a database. Everything above [`backend`] is written once, with one
//! SQL text; [`sqlite`] is the database that needs no setting up. Whatever a method reports as done is
//! on the disk.

pub mod approval;
pub mod audit;
pub mod backend;
pub mod cache;
pub mod capability;
mod chain;
pub mod counter;
mod error;
pub mod idempotency;
pub mod journal;
pub mod key;
mod learned;
pub mod maintenance;
pub mod page;
pub mod rate;
mod reader;
pub mod sqlite;
mod store;
mod text;
pub mod token;
mod word;
mod writer;

pub use error::StoreError;
pub use idempotency::Begin;
pub use journal::{Ending, Entry, Execution};
pub use rate::Tokens;
pub use sqlite::SqliteOptions;
pub use store::Store;
