//! Whether a tool's definition has been accepted, or waits for a person.

use serde::Serialize;

use super::settings::ApprovalMode;
use crate::canon::Hash;

/// How a server came to be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The user wrote it down, imported it, or trusted the file that did.
    Configured,
    /// It was found in the registry or by introspection.
    Discovered,
}

/// What is remembered about a tool's definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pinned {
    /// The hash of the definition that was accepted, if one was.
    pub accepted: Option<Hash>,
    /// The hash of the definition that a person rejected last, if one was.
    pub rejected: Option<Hash>,
    /// Whether the server's first list has been seen and accepted as a whole.
    pub server_vetted: bool,
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

/// Whether the definition with hash `current` may be run.
///
/// A definition that a person rejected stays rejected in every mode. Servers that nobody
/// configured wait in every mode until they are accepted.
pub fn state(mode: ApprovalMode, origin: Origin, current: Hash, pinned: &Pinned) -> Approval {
    if pinned.rejected == Some(current) {
        return Approval::Rejected;
    }
    if pinned.accepted == Some(current) {
        return Approval::Approved;
    }
    if origin == Origin::Discovered && !pinned.server_vetted {
        return Approval::Pending(Wait::Server);
    }
    match (mode, pinned.accepted) {
        (ApprovalMode::Off, _) => Approval::Approved,
        (ApprovalMode::Changed | ApprovalMode::All, Some(_)) => Approval::Pending(Wait::Changed),
        (ApprovalMode::Changed, None) if !pinned.server_vetted => Approval::Approved,
        (ApprovalMode::Changed | ApprovalMode::All, None) => Approval::Pending(Wait::New),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_settled_by_mode_origin_and_memory() {
        use Approval::{Approved, Pending, Rejected};
        use ApprovalMode::{All, Changed, Off};
        use Origin::{Configured, Discovered};
        let (now, before) = (Hash::of(b"now"), Hash::of(b"before"));
        // Mode, origin, accepted, rejected, whether the server's first list was accepted.
        let table = [
            (Off, Configured, None, None, true, Approved),
            (Off, Configured, Some(before), None, true, Approved),
            (Off, Configured, None, Some(now), true, Rejected),
            (Off, Discovered, None, None, false, Pending(Wait::Server)),
            (Off, Discovered, None, None, true, Approved),
            (Changed, Configured, None, None, false, Approved),
            (Changed, Configured, None, None, true, Pending(Wait::New)),
            (Changed, Configured, Some(now), None, true, Approved),
            (
                Changed,
                Configured,
                Some(before),
                None,
                true,
                Pending(Wait::Changed),
            ),
            (
                Changed,
                Configured,
                Some(before),
                Some(before),
                true,
                Pending(Wait::Changed),
            ),
            (Changed, Configured, Some(before), Some(now), true, Rejected),
            (
                Changed,
                Discovered,
                None,
                None,
                false,
                Pending(Wait::Server),
            ),
            (Changed, Discovered, Some(now), None, false, Approved),
            (Changed, Discovered, None, None, true, Pending(Wait::New)),
            (All, Configured, None, None, false, Pending(Wait::New)),
            (All, Configured, None, None, true, Pending(Wait::New)),
            (All, Configured, Some(now), None, true, Approved),
            (
                All,
                Configured,
                Some(before),
                None,
                true,
                Pending(Wait::Changed),
            ),
        ];
        for (mode, origin, accepted, rejected, server_vetted, expected) in table {
            let pinned = Pinned {
                accepted,
                rejected,
                server_vetted,
            };
            let found = state(mode, origin, now, &pinned);
            assert_eq!(found, expected, "{mode:?} {origin:?} {pinned:?}");
        }
    }
}
