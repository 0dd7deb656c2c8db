//! Keeping the configuration current while the process runs.
//!
//! A configuration is put in place whole or not at all: [`queue`] loads it on a blocking thread, and
//! only a load that succeeds replaces what [`live::Live`] hands to readers. A reload is asked for by
//! [`watch`] when a file changed, by a signal, or over the control socket; requests are answered one
//! after the other, each with the outcome of a load that began after it was made.

pub mod brief;
#[cfg(test)]
mod fixture;
pub mod live;
pub mod queue;
pub mod report;
pub mod stamp;
pub mod watch;

use std::path::PathBuf;

use toolcrib_config::Difference;

pub use brief::Brief;
pub use live::{Generation, Live};
pub use queue::Requests;
pub use report::{Cause, Outcome, Refusal, Report};

/// What reads a configuration, compares two, and knows which files decide.
pub trait Load: Send + Sync + 'static {
    /// The configuration.
    type Config: Send + Sync + 'static;

    /// Reads everything afresh. Runs on a thread that may block.
    fn load(&self) -> Attempt<Self::Config>;

    /// What differs. Empty only where nothing that anyone uses does.
    fn compare(&self, old: &Self::Config, new: &Self::Config) -> Difference;

    /// The settings of `now` that hold only once the process is started again, which it was with
    /// `started`.
    fn waiting(&self, _started: &Self::Config, _now: &Self::Config) -> Vec<&'static str> {
        Vec::new()
    }
}

/// What one load gave.
#[derive(Debug)]
pub struct Attempt<C> {
    /// The configuration, or why there is none.
    pub result: Result<C, Refusal>,
    /// The files that decided, also those that are not there: a change of one means a reload.
    pub files: Vec<PathBuf>,
}
