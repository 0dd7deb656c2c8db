//! The gateway: engine, doors, command line and reload of the `toolcrib` binary.

pub mod control;
pub mod finding;
pub mod reload;
