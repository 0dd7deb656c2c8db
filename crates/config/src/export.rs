//! Writing: our own configuration, and our entry in other clients' files.
//!
//! A client's file is edited as text: what is not our entry keeps every byte, its comments, order,
//! indentation and line ends. Each edit is read back before it counts; one that would change
//! anything else is refused.

pub mod addition;
pub mod client;
mod document;
mod files;
mod flow;
pub mod install;
mod lines;
pub mod own;
pub mod record;
mod splice;
pub mod takeover;
mod toml;
mod yaml;

pub use client::{Entry, ExportError};
