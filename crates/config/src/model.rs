//! The configuration as the rest of the product sees it.
//!
//! [`settings::Settings`] is what a file of ours may hold; its doc comments are the one place where
//! each field is explained, and the JSON Schema and the reference are generated from them.
//! [`server::Server`] is one server, whichever file it came from.

pub mod adapter;
pub mod entry;
pub mod rule;
pub mod server;
pub mod settings;

pub use server::Server;
pub use settings::Settings;
