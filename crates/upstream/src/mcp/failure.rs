//! Why an exchange with a server failed, in words that a person can act on.

use std::time::Duration;

use toolcrib_core::rpc::Fault;

/// Why a request got no answer, or a connection came to its end.
///
/// Texts are for people: one sentence each, no secret, bounded. What came from the server is an
/// excerpt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The program could not be started.
    #[error("it could not be started: {0}")]
    NotStarted(String),
    /// The process ended.
    #[error("its process ended ({status}){}", said(stderr))]
    Exited {
        /// How it ended: `exit status: 1`, `signal: 9 (SIGKILL)`.
        status: String,
        /// The last lines that it wrote to standard error.
        stderr: String,
    },
    /// No connection could be made, or it broke before the request was sent.
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    /// The connection broke after the request was sent.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// It sent the call on to another host.
    #[error("it redirects to {0}, which is not followed")]
    Elsewhere(String),
    /// The arguments cannot be made into a request.
    #[error("the arguments cannot be sent: {0}")]
    Arguments(String),
    /// The configuration does not let it be called.
    #[error("it cannot be called as it is configured: {0}")]
    Configuration(String),
    /// It did not answer in time.
    #[error("it did not answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// It was started or reached and did not come to terms with us in time.
    #[error("it did not answer within {} ms{}", after.as_millis(), said(stderr))]
    NotReady {
        /// How long it had.
        after: Duration,
        /// The last lines that it wrote to standard error.
        stderr: String,
    },
    /// It answered with an HTTP status that is no answer.
    #[error("it answered HTTP {status}{}", said(excerpt))]
    Status {
        /// The status.
        status: u16,
        /// The beginning of what it said.
        excerpt: String,
        /// How long it asked to be left alone.
        retry_after: Option<Duration>,
    },
    /// It wants credentials, or refuses the ones it got.
    #[error("it refuses the credentials; {0}")]
    Unauthorised(String),
    /// It does not know the session any more.
    #[error("it has forgotten the session")]
    SessionLost,
    /// It sent what is no MCP.
    #[error("it does not speak MCP: {0}")]
    NotMcp(String),
    /// Its answer came and cannot be read.
    #[error("its answer is {0}; tell whoever maintains it")]
    Garbled(&'static str),
    /// What it sent is larger than what is read.
    #[error("it sent more than {0} bytes in one message")]
    TooLarge(usize),
    /// Too much is under way already.
    #[error("too many requests to it are under way; try again in a moment")]
    Overloaded,
    /// It failed so often that it is left alone for a while.
    #[error(
        "it is left alone after failing repeatedly ({reason}); it is tried again in {seconds} s"
    )]
    Resting {
        /// Why it failed last.
        reason: String,
        /// When it is tried again.
        seconds: u64,
    },
    /// Whoever asked does not want the answer any more.
    #[error("the request was cancelled")]
    Cancelled,
    /// The connection was closed by us.
    #[error("the connection was closed")]
    Closed,
}

pub(super) fn said(excerpt: &str) -> String {
    let excerpt = excerpt.trim();
    if excerpt.is_empty() {
        String::new()
    } else {
        format!("; it said: {excerpt}")
    }
}

impl Failure {
    /// Whether the request certainly had no effect, so that sending it again repeats nothing.
    ///
    /// HTTP 429 is a refusal before the work begins. HTTP 503 is not counted: a proxy says it too when
    /// the server behind it went away in the middle, with `Retry-After` or without.
    pub fn was_not_delivered(&self) -> bool {
        matches!(
            self,
            Failure::NotStarted(_)
                | Failure::NotReady { .. }
                | Failure::Unreachable(_)
                | Failure::Arguments(_)
                | Failure::Configuration(_)
                | Failure::Unauthorised(_)
                | Failure::SessionLost
                | Failure::Overloaded
                | Failure::Status { status: 429, .. }
        )
    }

    /// Whether trying again may help: 429, 503, time-outs and connections that broke.
    pub fn is_passing(&self) -> bool {
        match self {
            Failure::Status { status, .. } => matches!(status, 429 | 503),
            Failure::TimedOut(_)
            | Failure::Broken(_)
            | Failure::Unreachable(_)
            | Failure::Exited { .. }
            | Failure::SessionLost => true,
            _ => false,
        }
    }
}

/// Why a request was not fulfilled: the server said so, or it never got there or back.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CallError {
    /// The server's own words.
    #[error("{0}")]
    Fault(Fault),
    /// There was no answer.
    #[error("{0}")]
    Failure(#[from] Failure),
    /// There was no connection to send the request over, so that it certainly had no effect.
    #[error("{0}")]
    Unsent(Failure),
}

impl CallError {
    /// Why there was no answer, where there was none.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            CallError::Failure(failure) | CallError::Unsent(failure) => Some(failure),
            CallError::Fault(_) => None,
        }
    }

    /// Whether the request certainly had no effect, so that sending it again repeats nothing.
    pub fn was_not_delivered(&self) -> bool {
        match self {
            CallError::Unsent(_) => true,
            CallError::Failure(failure) => failure.was_not_delivered(),
            CallError::Fault(_) => false,
        }
    }

    /// A failure to get a connection. Whoever withdrew is told so in the same way at any time.
    pub(super) fn of_opening(failure: Failure) -> Self {
        match failure {
            Failure::Cancelled => CallError::Failure(failure),
            failure => CallError::Unsent(failure),
        }
    }
}
