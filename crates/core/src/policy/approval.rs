//! Whether a tool's definition has been accepted, or waits for a person.

use serde::Serialize;

/// How a server came to be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The user wrote it down, imported it, or trusted the file that did.
    Configured,
    /// It was found in the registry or by introspection.
    Discovered,
}

/// Why a tool waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Wait {
    /// It was not there before.
    New,
    /// Its definition is not the one that was accepted.
    Changed,
    /// Its server was never accepted.
    Server,
}

/// Whether a tool may be run as far as its definition goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Approval {
    /// It may.
    Approved,
    /// A person has to look at it first.
    Pending(Wait),
    /// A person looked at this very definition and said no.
    Rejected,
}
