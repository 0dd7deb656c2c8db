//! What happens during a discovery, told while it happens.

use std::sync::Arc;
use std::time::Duration;

use super::{DiscoveryError, Source};

/// Something that happened to one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It is being asked.
    Asking {
        /// The server.
        server: String,
    },
    /// It failed in a way that may pass, and will be asked again.
    Waiting {
        /// The server.
        server: String,
        /// How often it was asked again, this time included.
        retry: u32,
        /// After how long.
        delay: Duration,
    },
    /// Its list is there.
    Found {
        /// The server.
        server: String,
        /// How many items the list has.
        items: usize,
        /// Where the list comes from.
        source: Source,
    },
    /// It gave nothing and is left out.
    Skipped {
        /// The server.
        server: String,
        /// Why.
        error: DiscoveryError,
    },
    /// A list that had grown old was replaced in the background.
    Refreshed {
        /// The server.
        server: String,
        /// How many items the new list has.
        items: usize,
    },
}

/// Who is told.
pub type Listener = Arc<dyn Fn(&Event) + Send + Sync>;
