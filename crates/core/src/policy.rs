//! Who may run what, and under which conditions: scopes, risk, confirmation, approval, rates.
//!
//! [`decide()`] is the one decision that every door goes through, and the only maker of a
//! [`Permit`]; [`visible`] says by the same checks what a caller may find. Both are pure: what they
//! need to know comes in as arguments.

pub mod approval;
pub mod bucket;
mod caller;
mod checks;
pub mod confirmation;
mod decide;
mod metadata;
mod refusal;
mod request;
pub mod risk;
mod rulebook;
pub mod scope;
pub mod settings;
pub mod suspicion;

pub use approval::Approval;
pub use bucket::Rate;
pub use caller::{Caller, Principal};
pub use confirmation::{Challenge, ChallengeId};
pub use decide::{
    Bucket, Decision, Outcome, Permit, Visibility, buckets, decide, server_buckets, visible,
    visible_by,
};
pub use metadata::{Metadata, NamedRate, Requirement, ServerFacts};
pub use refusal::{Ask, Check, Problem, Refusal, Step, Verdict};
pub use request::{Request, Subject, Validity};
pub use risk::Risk;
pub use rulebook::{Rulebook, RulebookError};
pub use scope::{Grant, Scope, ScopeSet};
pub use settings::{ApprovalMode, Confirmation, Mode, Override, PolicySettings, RateLimits};
