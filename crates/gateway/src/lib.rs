//! The gateway: engine, doors, command line and reload of the `toolcrib` binary.

pub mod capability;
pub mod catalog;
pub mod cli;
pub mod control;
pub mod desk;
pub mod doors;
pub mod engine;
pub mod failure;
mod fault;
pub mod finding;
pub mod http;
pub mod known;
pub mod legible;
pub mod loader;
pub mod mcp;
pub mod process;
pub mod reload;
pub mod select;
mod signals;
pub mod storage;
pub mod telemetry;
mod telling;
pub mod tokens;
pub mod ui;
pub mod veil;
pub mod workshop;
