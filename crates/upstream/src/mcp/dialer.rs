//! Opening ways to servers, whatever kind they are.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio_util::task::TaskTracker;

use super::endpoint::{Address, Endpoint, Way};
use super::http::{self, Remote};
use super::{Failure, Link, Spawner, sse, stdio};

/// Opens ways to servers. What it starts runs as `tasks`.
pub trait Dialer: Send + Sync {
    /// Opens a way. Nothing is said on it yet.
    fn open<'a>(
        &'a self,
        endpoint: &'a Endpoint,
        tasks: &'a TaskTracker,
    ) -> BoxFuture<'a, Result<Link, Failure>>;
}

/// The ways that there are: child processes and HTTP.
#[derive(Clone, Debug)]
pub struct Ways {
    /// Starts child processes.
    pub spawner: Spawner,
    /// Sends requests over HTTP.
    pub http: http::Client,
}

impl Ways {
    /// As this process can open them. Its `main` must call
    /// [`run_if_launcher`](super::launcher::run_if_launcher).
    pub fn of_this_process() -> Self {
        Self {
            spawner: Spawner::of_this_process(),
            http: http::Client::new(),
        }
    }
}

impl Dialer for Ways {
    fn open<'a>(
        &'a self,
        endpoint: &'a Endpoint,
        tasks: &'a TaskTracker,
    ) -> BoxFuture<'a, Result<Link, Failure>> {
        Box::pin(async move {
            match &endpoint.way {
                Way::Stdio(command) => stdio::open(&endpoint.name, command, &self.spawner, tasks),
                Way::Http(address) => Ok(http::open(&self.http, remote(endpoint, address), tasks)),
                Way::Sse(address) => Ok(sse::open(&self.http, remote(endpoint, address), tasks)),
            }
        })
    }
}

fn remote(endpoint: &Endpoint, address: &Address) -> Remote {
    let authorisation = Arc::clone(&address.authorisation);
    let mut remote = Remote::new(&*endpoint.name, address.url.clone(), authorisation);
    // Deadlines of requests come first; this one ends what they do not cover.
    remote.answer_begins_within = remote
        .answer_begins_within
        .max(endpoint.call_timeout + Duration::from_secs(1));
    remote
}
