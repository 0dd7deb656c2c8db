//! REST APIs as servers of tools: their descriptions, their operations, and calls to them.
//!
//! A description (OpenAPI 2.0 to 3.2, or a Postman collection) is read as plain values with
//! references of our own resolution, because real files bend every rule: what is broken costs the
//! part it stands in, never the whole. Nothing is fetched that the user did not name.

pub mod adapter;
pub mod answer;
pub mod auth;
pub mod caller;
mod description;
pub mod failure;
mod flat;
mod guard;
mod idempotency;
mod knot;
mod library;
pub mod load;
mod mask;
mod name;
mod openapi;
pub mod operation;
mod paging;
mod parts;
mod postman;
mod prose;
mod request;
mod schema;
pub mod security;
pub mod server;
mod style;
pub mod tokens;
pub mod warning;
mod wire;
mod yaml;

pub use adapter::{Api, Counts, LoadError};
pub use answer::Answer;
pub use auth::{Credential, Credentials};
pub use caller::{Adapter, Moment, Settings};
pub use failure::Failure;
pub use library::Place;
pub use load::Source;
pub use operation::Operation;
pub use warning::Warning;
