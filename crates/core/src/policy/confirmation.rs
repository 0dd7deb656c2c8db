//! Confirmation by a person: a challenge that is bound to one call and can be spent once.
//!
//! The challenge is plain data that a store keeps; what it binds, who may settle it and when it
//! counts is decided here. Spending must be made atomic by the store: it replaces an approved
//! challenge by its spent form only if it is still approved.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::caller::Caller;
use super::scope::Scope;
use crate::canon::Hash;
use crate::catalog::ToolId;
use crate::error::{Code, Error};
use crate::limits::CONFIRMATION_KEPT_MS;

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
    /// An id from random bytes: sixteen letters and digits without look-alikes.
    pub fn from_random(bytes: [u8; 10]) -> Self {
        const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
        let mut text = String::with_capacity(16);
        for chunk in bytes.chunks(5) {
            let wide = chunk
                .iter()
                .fold(0_u64, |wide, b| wide << 8 | u64::from(*b));
            for at in (0..8).rev() {
                let letter = wide >> (at * 5) & 31;
                text.push(char::from(LETTERS[usize::try_from(letter).unwrap_or(0)]));
            }
        }
        Self(text)
    }

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

/// Who settles a challenge.
#[derive(Clone, Copy, Debug)]
pub enum Settler<'a> {
    /// A person at a terminal of this machine, or at the console.
    Person,
    /// A person whom the client asked in a form of its own.
    Elicitation,
    /// The holder of credentials, over the REST API.
    Caller(&'a Caller),
}

/// A person's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Do it.
    Approve,
    /// Do not.
    Reject,
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
    /// A new challenge for a call.
    pub fn new(id: ChallengeId, binding: Binding, now_ms: i64) -> Self {
        Self {
            id,
            binding,
            expires_ms: now_ms.saturating_add(CONFIRMATION_KEPT_MS),
            state: ChallengeState::Waiting,
        }
    }

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

    /// The challenge after a person's answer. It can be settled once, in time, and not by the
    /// caller that waits for it.
    pub fn settle(&self, settler: Settler<'_>, answer: Answer, now_ms: i64) -> Result<Self, Error> {
        if let Settler::Caller(caller) = settler {
            caller.require(&Scope::of(super::scope::RESERVED_AREA, "approve"))?;
            ensure_another(caller, &self.binding.principal)?;
        }
        if self.state != ChallengeState::Waiting || now_ms >= self.expires_ms {
            let message = "This confirmation was settled before or has expired.";
            return Err(Error::new(Code::ConfirmationRequired, message)
                .suggest("Make the call again to get a new one"));
        }
        let state = match answer {
            Answer::Approve => ChallengeState::Approved,
            Answer::Reject => ChallengeState::Rejected,
        };
        Ok(Self {
            state,
            ..self.clone()
        })
    }

    /// The challenge after a call was made on the strength of it.
    pub fn spend(&self, binding: &Binding, now_ms: i64) -> Result<Self, Unconfirmed> {
        self.verify(binding, now_ms)?;
        Ok(Self {
            state: ChallengeState::Spent,
            ..self.clone()
        })
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

    fn waiting() -> Challenge {
        Challenge::new(ChallengeId::from_random([7; 10]), binding(), 1_000)
    }

    #[test]
    fn ids_are_sixteen_unmistakable_characters() {
        let id = ChallengeId::from_random([0xff; 10]);
        assert_eq!(id.as_str(), "zzzzzzzzzzzzzzzz");
        assert_eq!(
            ChallengeId::from_random([0; 10]).to_string(),
            "0".repeat(16)
        );
        assert_ne!(
            ChallengeId::from_random([1; 10]),
            ChallengeId::from_random([2; 10])
        );
        assert_eq!(ChallengeId::from_text("x").as_str(), "x");
    }

    #[test]
    fn it_confirms_one_call_once_and_in_time() {
        let challenge = waiting();
        assert_eq!(
            challenge.verify(&binding(), 1_000),
            Err(Unconfirmed::Waiting)
        );
        let approved = challenge
            .settle(Settler::Person, Answer::Approve, 2_000)
            .unwrap();
        assert_eq!(approved.verify(&binding(), 2_000), Ok(()));
        let last = 1_000 + CONFIRMATION_KEPT_MS;
        assert_eq!(approved.verify(&binding(), last - 1), Ok(()));
        assert_eq!(approved.verify(&binding(), last), Err(Unconfirmed::Expired));
        let spent = approved.spend(&binding(), 3_000).unwrap();
        assert_eq!(spent.verify(&binding(), 3_000), Err(Unconfirmed::Spent));
        assert_eq!(spent.spend(&binding(), 3_000), Err(Unconfirmed::Spent));
        let rejected = challenge
            .settle(Settler::Elicitation, Answer::Reject, 2_000)
            .unwrap();
        assert_eq!(
            rejected.verify(&binding(), 2_000),
            Err(Unconfirmed::Rejected)
        );
    }

    #[test]
    fn it_confirms_no_other_call() {
        let approved = waiting()
            .settle(Settler::Person, Answer::Approve, 2_000)
            .unwrap();
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
            assert_eq!(approved.verify(&other, 2_000), Err(Unconfirmed::Foreign));
            assert!(approved.spend(&other, 2_000).is_err());
        }
    }

    #[test]
    fn it_is_settled_once_and_never_by_the_caller_that_waits() {
        let settings = PolicySettings::default();
        let grants = ["toolcrib:approve", "*"];
        let agent = Caller::key("agent", ScopeSet::from_texts(grants), &settings);
        let keeper = Caller::key("keeper", ScopeSet::from_texts(grants), &settings);
        let user = Caller::key("user", ScopeSet::all(), &settings);
        let challenge = waiting();
        let by = |caller| challenge.settle(Settler::Caller(caller), Answer::Approve, 2_000);
        assert_eq!(by(&agent).unwrap_err().code, Code::ScopeRequired);
        assert_eq!(by(&user).unwrap_err().code, Code::ScopeRequired);
        let approved = by(&keeper).unwrap();
        assert_eq!(approved.state, ChallengeState::Approved);
        let again = approved.settle(Settler::Person, Answer::Reject, 2_000);
        assert_eq!(again.unwrap_err().code, Code::ConfirmationRequired);
        assert!(
            challenge
                .settle(Settler::Person, Answer::Approve, i64::MAX)
                .is_err()
        );
    }
}
