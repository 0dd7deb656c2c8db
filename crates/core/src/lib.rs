//! The domain of Toolcrib, pure: what a tool is, how it is found, and who may run it.
//!
//! Nothing here does I/O, awaits, reads the clock or draws random numbers: bytes and `now` come in
//! as arguments. The same snapshot and the same query give the same answer on every machine.

pub mod canon;
pub mod capability;
pub mod catalog;
pub mod content;
pub mod discovery;
pub mod error;
pub mod gateway;
pub mod limits;
pub mod nearest;
pub mod pages;
pub mod pattern;
pub mod policy;
pub mod rest;
pub mod retry;
pub mod rpc;
pub mod rtfs;
pub mod schema;
pub mod search;
pub mod secret;
pub mod tokens;
pub mod trace;
pub mod written;

pub use capability::CapabilityManifest;
pub use catalog::{Tool, ToolId};
pub use error::{Code, Error};
