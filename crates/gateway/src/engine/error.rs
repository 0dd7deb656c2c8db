//! Why a request was not fulfilled, with everything that helps its caller.
//!
//! Nothing in here but [`More::fault`] holds a path, a secret or an upstream's internals; the log has
//! those under the same request id.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use toolcrib_core::policy::{Problem, Refusal, Risk, Step};
use toolcrib_core::rpc::Fault;
use toolcrib_core::schema::Violations;
use toolcrib_core::{self as core, Code};
use toolcrib_store::StoreError;

use super::snapshot::Entry;

/// What the engine gives: an answer, or why there is none.
pub type Result<T> = std::result::Result<T, Box<Error>>;

/// A failure as its caller may see it.
#[derive(Clone, Debug)]
pub struct Error {
    /// What kind of failure this is.
    pub code: Code,
    /// One sentence.
    pub message: String,
    /// What the caller can do about it.
    pub suggestion: Option<String>,
    /// The server that was asked for, by its name where it is known, else as it was written.
    pub server: Option<String>,
    /// The tool that was asked for, likewise.
    pub tool: Option<String>,
    /// Names the request in records and logs, where it left one.
    pub request_id: Option<String>,
    /// What else is known.
    pub more: More,
}

/// What a failure adds to its sentence; only what applies is filled.
#[derive(Clone, Debug, Default)]
pub struct More {
    /// The tool's risk.
    pub risk: Option<Risk>,
    /// Everything that stands in the way, in the order of the checks.
    pub problems: Vec<Problem>,
    /// What is wrong with the arguments.
    pub violations: Option<Violations>,
    /// The question that a person has to answer first.
    pub challenge: Option<Waiting>,
    /// After how many milliseconds to try again.
    pub retry_after_ms: Option<u64>,
    /// The tools that may have been meant, nearest first.
    pub nearest: Vec<Arc<Entry>>,
    /// The names that there are instead, bounded.
    pub available: Option<Names>,
    /// The execution that holds the idempotency key.
    pub earlier: Option<Earlier>,
    /// Every check, where a dry run failed.
    pub steps: Vec<Step>,
    /// What the upstream said, word for word, for a door that passes one upstream through.
    pub fault: Option<Fault>,
}

/// A question to a person that has no answer yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// What `toolcrib approve` takes.
    pub id: String,
    /// Until when it can be answered and used, in milliseconds since the epoch.
    pub expires_ms: i64,
}

/// Names of tools or servers, and how many there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Names {
    /// The first of them.
    pub names: Vec<String>,
    /// How many there are.
    pub total: usize,
}

/// The execution that holds an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Earlier {
    /// Its request, to look up with `toolcrib audit search`.
    pub request_id: String,
    /// When it began, in milliseconds since the epoch.
    pub started_ms: i64,
}

impl Error {
    /// A failure with its one sentence.
    pub fn new(code: Code, message: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            code,
            message: message.into(),
            suggestion: None,
            server: None,
            tool: None,
            request_id: None,
            more: More::default(),
        })
    }

    /// Adds what the caller can do next.
    #[must_use]
    pub fn suggest(mut self: Box<Self>, suggestion: impl Into<String>) -> Box<Self> {
        self.suggestion = Some(suggestion.into());
        self
    }

    /// Adds the server that was asked for.
    #[must_use]
    pub fn of_server(mut self: Box<Self>, server: &str) -> Box<Self> {
        self.server = Some(server.to_owned());
        self
    }

    /// Adds the tool that was asked for.
    #[must_use]
    pub fn of_tool(mut self: Box<Self>, server: &str, tool: &str) -> Box<Self> {
        self.tool = Some(tool.to_owned());
        self.of_server(server)
    }

    /// What policy refused, as its caller may know it.
    pub fn refused(refusal: &Refusal) -> Box<Self> {
        let mut error = Self::from(refusal.to_error());
        error.more = More {
            risk: refusal.risk(),
            problems: refusal.problems().to_vec(),
            violations: refusal.violations().cloned(),
            retry_after_ms: refusal.retry_after_ms(),
            ..More::default()
        };
        Box::new(error)
    }
}

impl From<core::Error> for Error {
    fn from(error: core::Error) -> Self {
        Self {
            code: error.code,
            message: error.message,
            suggestion: error.suggestion,
            server: None,
            tool: None,
            request_id: None,
            more: More::default(),
        }
    }
}

impl From<&StoreError> for Box<Error> {
    fn from(error: &StoreError) -> Self {
        Box::new(Error::from(error.to_caller()))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
