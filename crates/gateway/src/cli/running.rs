//! Reaching running processes from a command.

use tokio::runtime::Runtime;
use toolcrib_core::Code;

use crate::control::client::{self, Process};
use crate::control::{Place, running};
use crate::failure::Failure;

/// What runs the few exchanges of one command.
pub(super) fn runtime() -> Result<Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| {
            Failure::new(
                Code::Overloaded,
                format!("the system gives this command too little to work with: {error}"),
            )
        })
}

/// The running processes.
pub(super) async fn all(place: &Place) -> Vec<Process> {
    running(place).await
}

/// The running process that works with the same configuration as the command, where there is one.
pub(super) async fn same(place: &Place, config: Option<&str>, directory: &str) -> Option<Process> {
    client::nearest(all(place).await, config, directory).await
}
