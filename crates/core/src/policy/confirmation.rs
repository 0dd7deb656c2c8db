//! Confirmation by a person: a challenge that is bound to one call and can be spent once.
//!
//! The challenge is plain data that a store keeps, settles and spends; what it binds and when it counts is
//! decided here. Spending is atomic there: an approved challenge becomes a spent one only if it is still
//! approved.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::caller::Caller;
use crate::canon::Hash;
use crate::catalog::ToolId;
use crate::error::{Code, Error};

/// The call that a confirmation is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Which tool.
    pub tool: ToolId,
    /// The hash of its parameters.
    pub params_hash: Hash,
    /// Who asks, as [`super::Principal`] is written.
    pub principal: String,
}

/// Names a challenge; short enough to be typed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChallengeId(String);

impl ChallengeId {
    /// An id as it was written down before.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ChallengeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What became of a challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChallengeState {
    /// Nobody has settled it.
    Waiting,
    /// A person said yes.
    Approved,
    /// A person said no.
    Rejected,
    /// A call was made on the strength of it.
    Spent,
}

/// A question to a person about one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    /// Its name.
    pub id: ChallengeId,
    /// The call it is for.
    pub binding: Binding,
    /// From when on it counts no more, in milliseconds since the epoch.
    pub expires_ms: i64,
    /// What became of it.
    pub state: ChallengeState,
}

/// Why a challenge does not confirm a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unconfirmed {
    /// It is for another tool, other parameters or another caller.
    Foreign,
    /// Nobody has settled it yet.
    Waiting,
    /// A person said no.
    Rejected,
    /// It was used before.
    Spent,
    /// It was not used in time.
    Expired,
}

impl Challenge {
    /// Whether this challenge confirms the call `binding` now.
    pub fn verify(&self, binding: &Binding, now_ms: i64) -> Result<(), Unconfirmed> {
        if self.binding != *binding {
            return Err(Unconfirmed::Foreign);
        }
        match self.state {
            ChallengeState::Spent => Err(Unconfirmed::Spent),
            _ if now_ms >= self.expires_ms => Err(Unconfirmed::Expired),
            ChallengeState::Waiting => Err(Unconfirmed::Waiting),
            ChallengeState::Rejected => Err(Unconfirmed::Rejected),
            ChallengeState::Approved => Ok(()),
        }
    }
}

/// Refuses a caller that would confirm what it asked for itself. `asked_by` is as [`super::Principal`] is
/// written.
pub fn ensure_another(caller: &Caller, asked_by: &str) -> Result<(), Error> {
    if caller.principal.to_string() != asked_by {
        return Ok(());
    }
    let message = "A caller cannot confirm its own request.";
    Err(Error::new(Code::ScopeRequired, message)
        .suggest("Let a person settle it with `toolcrib approve`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{PolicySettings, ScopeSet};

    fn binding() -> Binding {
        Binding {
            tool: ToolId::new("bank", "pay"),
            params_hash: Hash::of(b"{}"),
            principal: "key:agent".into(),
        }
    }

    fn challenge(state: ChallengeState) -> Challenge {
        Challenge {
            id: ChallengeId::from_text("c"),
            binding: binding(),
            expires_ms: 2_000,
            state,
        }
    }

    #[test]
    fn it_confirms_one_call_once_and_in_time() {
        for (state, now_ms, expect) in [
            (ChallengeState::Waiting, 1_999, Err(Unconfirmed::Waiting)),
            (ChallengeState::Waiting, 2_000, Err(Unconfirmed::Expired)),
            (ChallengeState::Approved, 1_999, Ok(())),
            (ChallengeState::Approved, 2_000, Err(Unconfirmed::Expired)),
            (ChallengeState::Rejected, 1_999, Err(Unconfirmed::Rejected)),
            (ChallengeState::Spent, 1_999, Err(Unconfirmed::Spent)),
            (ChallengeState::Spent, 2_000, Err(Unconfirmed::Spent)),
        ] {
            let verdict = challenge(state).verify(&binding(), now_ms);
            assert_eq!(verdict, expect, "{state:?} {now_ms}");
        }
    }

    #[test]
    fn it_confirms_no_other_call() {
        let others = [
            Binding {
                tool: ToolId::new("bank", "close"),
                ..binding()
            },
            Binding {
                params_hash: Hash::of(b"{\"a\":1}"),
                ..binding()
            },
            Binding {
                principal: "key:other".into(),
                ..binding()
            },
        ];
        for other in others {
            let verdict = challenge(ChallengeState::Approved).verify(&other, 1_000);
            assert_eq!(verdict, Err(Unconfirmed::Foreign));
        }
    }

    #[test]
    fn a_caller_never_confirms_what_it_asked_for_itself() {
        let settings = PolicySettings::default();
        let [agent, keeper] =
            ["agent", "keeper"].map(|name| Caller::key(name, ScopeSet::all(), &settings));
        let refused = ensure_another(&agent, "key:agent").unwrap_err();
        assert_eq!(refused.code, Code::ScopeRequired);
        assert_eq!(ensure_another(&keeper, "key:agent"), Ok(()));
    }
}
