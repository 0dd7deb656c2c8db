//! What a decision leaves behind: its steps, and where it says no, why and what to do.

use std::borrow::Cow;

use serde::Serialize;

use super::confirmation::{Binding, ChallengeId};
use super::risk::Risk;
use crate::error::{Code, Error};
use crate::schema::Violations;

/// The checks of a decision, in the order in which they are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Check {
    /// Is the caller known.
    Caller,
    /// Does the caller hold the scopes that the tool needs.
    Scope,
    /// Do the rules let the tool run.
    Enabled,
    /// Has the tool's definition been accepted.
    Approval,
    /// Is the call confirmed, where it must be.
    Confirmation,
    /// Does the call carry a key, where it must.
    Key,
    /// Do the arguments fit the schema.
    Schema,
    /// Is there a token in every bucket.
    Rate,
}

impl Check {
    /// All checks, in order.
    pub const ALL: [Check; 8] = [
        Check::Caller,
        Check::Scope,
        Check::Enabled,
        Check::Approval,
        Check::Confirmation,
        Check::Key,
        Check::Schema,
        Check::Rate,
    ];

    /// Whether a caller that fails this check may not even know of the tool.
    pub const fn hides(self) -> bool {
        matches!(self, Check::Caller | Check::Scope)
    }

    /// Whether nothing that the caller could add to the request would help.
    pub const fn is_gate(self) -> bool {
        matches!(
            self,
            Check::Caller | Check::Scope | Check::Enabled | Check::Approval
        )
    }
}

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// What was needed is there.
    Passed,
    /// Nothing was needed.
    Unneeded,
    /// What was needed is missing.
    Failed,
}

/// One check of a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Which check.
    pub check: Check,
    /// How it came out.
    pub verdict: Verdict,
    /// What it was judged by, in words.
    pub evidence: Cow<'static, str>,
}

/// Something that stands in the way of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The check that failed.
    #[serde(skip)]
    pub check: Check,
    /// The public code.
    pub code: Code,
    /// One sentence for the caller.
    pub message: Cow<'static, str>,
    /// What the caller can do about it.
    pub suggestion: Cow<'static, str>,
}

/// How a missing confirmation can be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// By making a challenge for this call, for a person to settle.
    Person(Binding),
    /// By waiting for the person who was asked before.
    Wait(ChallengeId),
}

/// A call that may not be made, as its caller sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    problems: Vec<Problem>,
    reason: Code,
    risk: Option<Risk>,
    violations: Option<Violations>,
    ask: Option<Ask>,
    retry_after_ms: Option<u64>,
}

/// What a refusal adds to its problems.
#[derive(Clone, Debug, Default)]
pub(super) struct Details {
    pub(super) risk: Option<Risk>,
    pub(super) violations: Option<Violations>,
    pub(super) ask: Option<Ask>,
    pub(super) retry_after_ms: Option<u64>,
    pub(super) dry_run: bool,
}

impl Refusal {
    /// The refusal of a tool that does not exist. The refusal of a tool that is hidden from its
    /// caller is equal to it but for [`Refusal::reason`].
    pub fn not_found() -> Self {
        Self {
            problems: vec![Problem {
                check: Check::Scope,
                code: Code::ToolNotFound,
                message: "There is no such tool.".into(),
                suggestion: "Search for the tool first; ids are written `server:tool`".into(),
            }],
            reason: Code::ToolNotFound,
            risk: None,
            violations: None,
            ask: None,
            retry_after_ms: None,
        }
    }

    /// The refusal for these problems, of which there is at least one, in the order of the checks.
    pub(super) fn new(mut problems: Vec<Problem>, details: Details) -> Self {
        if problems.iter().any(|problem| problem.check.hides()) {
            return Self {
                reason: Code::ScopeRequired,
                ..Self::not_found()
            };
        }
        let at_gate = problems.iter().any(|problem| problem.check.is_gate());
        if at_gate && !details.dry_run {
            problems.retain(|problem| problem.check.is_gate());
        }
        let has = |check| problems.iter().any(|problem| problem.check == check);
        let (violations, ask) = (
            details.violations.filter(|_| has(Check::Schema)),
            details.ask.filter(|_| has(Check::Confirmation)),
        );
        Self {
            reason: problems
                .first()
                .map_or(Code::ToolNotFound, |problem| problem.code),
            retry_after_ms: details.retry_after_ms.filter(|_| has(Check::Rate)),
            risk: details.risk,
            problems,
            violations,
            ask,
        }
    }

    /// The public code: that of the first problem.
    pub fn code(&self) -> Code {
        self.problems
            .first()
            .map_or(self.reason, |problem| problem.code)
    }

    /// Why, for records; this may tell what the caller may not know.
    pub fn reason(&self) -> Code {
        self.reason
    }

    /// Everything that stands in the way, in the order of the checks.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The tool's risk, where the caller may know of the tool.
    pub fn risk(&self) -> Option<Risk> {
        self.risk
    }

    /// What is wrong with the arguments.
    pub fn violations(&self) -> Option<&Violations> {
        self.violations.as_ref()
    }

    /// How the missing confirmation can be had from a person.
    pub fn ask(&self) -> Option<&Ask> {
        self.ask.as_ref()
    }

    /// When to try again, where only the rate stands in the way.
    pub fn retry_after_ms(&self) -> Option<u64> {
        self.retry_after_ms
    }

    /// Whether the caller may not know that the tool exists.
    pub fn is_hidden(&self) -> bool {
        self.reason == Code::ScopeRequired
    }

    /// The refusal as one error: the first problem, and all suggestions.
    pub fn to_error(&self) -> Error {
        let message = self.problems.first().map_or("", |problem| &problem.message);
        let suggestions: Vec<&str> = self
            .problems
            .iter()
            .map(|p| p.suggestion.as_ref())
            .collect();
        Error::new(self.code(), message).suggest(suggestions.join("; "))
    }
}
