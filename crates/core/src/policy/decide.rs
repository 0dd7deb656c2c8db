//! The decision: may this caller make this call now.
//!
//! Checks run in one order: caller and scope, enabled and approved, confirmation and key, schema,
//! rate. Each leaves a [`Step`]. A caller that may not see a tool learns nothing but that there is
//! no such tool; otherwise everything that is missing is reported at once. A [`Permit`] is made
//! here and nowhere else.

use super::approval::Approval;
use super::bucket::Rate;
use super::caller::{Caller, Principal};
use super::checks::{self, Confirmed};
use super::confirmation::{Binding, ChallengeId};
use super::metadata::Requirement;
use super::refusal::{Ask, Details, Refusal, Step};
use super::request::{Request, Subject, Validity};
use crate::canon::Hash;
use crate::catalog::ToolId;
use crate::limits::{CALL_TIMEOUT_MS_ASKED_MAX, CALL_TIMEOUT_MS_DEFAULT};

/// Leave to make one call. Nothing reaches an upstream without one, and only [`decide`] makes one:
/// its fields are private and it cannot be copied.
///
/// ```compile_fail
/// use toolcrib_core::policy::Permit;
/// fn twice(permit: Permit) -> (Permit, Permit) {
///     (permit.clone(), permit)
/// }
/// ```
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a permit that is not used is a call that is not made"]
pub struct Permit {
    tool: ToolId,
    params_hash: Hash,
    principal: String,
    idempotency_key: Option<String>,
    challenge: Option<ChallengeId>,
    may_retry: bool,
    deadline_ms: i64,
    buckets: Vec<Bucket>,
}

impl Permit {
    /// The tool that may be called.
    pub fn tool(&self) -> &ToolId {
        &self.tool
    }

    /// The hash of the arguments that it may be called with.
    pub fn params_hash(&self) -> Hash {
        self.params_hash
    }

    /// Who calls, as records have it.
    pub fn principal(&self) -> &str {
        &self.principal
    }

    /// The key that the call must be recorded under.
    pub fn idempotency_key(&self) -> Option<&str> {
        self.idempotency_key.as_deref()
    }

    /// The challenge that must be spent before the call.
    pub fn challenge(&self) -> Option<&ChallengeId> {
        self.challenge.as_ref()
    }

    /// Whether the call may be repeated when it fails on the way.
    pub fn may_retry(&self) -> bool {
        self.may_retry
    }

    /// When the call must have ended, in milliseconds since the epoch.
    pub fn deadline_ms(&self) -> i64 {
        self.deadline_ms
    }

    /// The buckets that the call is taken from, all of them or none.
    pub fn buckets(&self) -> &[Bucket] {
        &self.buckets
    }
}

/// A token bucket that a call is taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// What it is kept under; no two buckets share a name.
    pub name: String,
    /// Its rate.
    pub rate: Rate,
}

/// The buckets that a call of this tool by this caller is taken from: the server's, the caller's,
/// and the named one of the tool for this caller.
pub fn buckets(caller: &Caller, tool: &Subject<'_>) -> Vec<Bucket> {
    let principal = &caller.principal;
    let named = tool.metadata.rate_limit_bucket.as_ref();
    let named = named.map(|named| Bucket {
        name: format!("bucket:{}:{principal}", named.name),
        rate: named.rate,
    });
    let mut buckets = server_buckets(caller, tool.id.server(), tool.metadata.server_rate);
    buckets.extend(named);
    buckets
}

/// The buckets that any request of this caller to a server of this rate is taken from: the server's
/// and the caller's.
pub fn server_buckets(caller: &Caller, server: &str, rate: Rate) -> Vec<Bucket> {
    let server = Bucket {
        name: format!("server:{server}"),
        rate,
    };
    let own = caller.rate.map(|rate| Bucket {
        name: format!("principal:{}", caller.principal),
        rate,
    });
    std::iter::once(server).chain(own).collect()
}

/// What a caller sees of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// Found, listed and runnable.
    Shown,
    /// Listed only on request, and refused with `TOOL_DISABLED`.
    Disabled,
    /// Counted, not shown, and refused with `APPROVAL_REQUIRED`.
    Pending,
    /// Not there.
    Hidden,
}

/// What `caller` sees of `tool`, by the same checks that [`decide`] makes.
pub fn visible(caller: &Caller, tool: &Subject<'_>) -> Visibility {
    let needs = &tool.metadata.required_scopes;
    visible_by(caller, needs, tool.enabled, tool.approval)
}

/// What `caller` sees of a tool that needs these scopes, as [`visible`] has it.
pub fn visible_by(
    caller: &Caller,
    needs: &[Requirement],
    enabled: bool,
    approval: Approval,
) -> Visibility {
    let known = caller.principal != Principal::Anonymous;
    if !known || checks::missing(caller, needs).is_some() {
        Visibility::Hidden
    } else if !enabled {
        Visibility::Disabled
    } else if approval != Approval::Approved {
        Visibility::Pending
    } else {
        Visibility::Shown
    }
}

/// How a request ends, as far as policy goes.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It may be made.
    Permitted(Permit),
    /// Only the checks were wanted, and all passed.
    Rehearsed,
    /// It may not be made.
    Refused(Box<Refusal>),
}

/// An outcome and how it came about.
#[derive(Debug, PartialEq, Eq)]
pub struct Decision {
    /// How the request ends.
    pub outcome: Outcome,
    /// Every check in order, with its evidence. It may tell more than the caller may know; use
    /// [`Decision::report`] for the caller.
    pub trace: Vec<Step>,
}

impl Decision {
    /// The steps that the caller may see: none where the tool is hidden from it.
    pub fn report(&self) -> &[Step] {
        match &self.outcome {
            Outcome::Refused(refusal) if refusal.is_hidden() => &[],
            _ => &self.trace,
        }
    }
}

/// Decides one request. Pure: the same inputs give the same decision.
pub fn decide(caller: &Caller, tool: &Subject<'_>, request: &Request<'_>, now_ms: i64) -> Decision {
    let binding = Binding {
        tool: tool.id.clone(),
        params_hash: request.params_hash,
        principal: caller.principal.to_string(),
    };
    let confirmed = checks::confirmed(caller, tool, request, &binding, now_ms);
    let findings = [
        checks::known(caller),
        checks::scoped(caller, tool),
        checks::enabled(tool),
        checks::approved(tool),
        checks::confirmation(&confirmed, tool),
        checks::keyed(caller, tool, request),
        checks::fitting(request),
        checks::in_rate(request),
    ];
    let mut trace = Vec::with_capacity(findings.len());
    let mut problems = Vec::new();
    for (step, problem) in findings {
        trace.push(step);
        problems.extend(problem);
    }
    let outcome = if !problems.is_empty() {
        let details = Details {
            risk: Some(tool.metadata.risk),
            violations: match request.validity {
                Validity::Invalid(violations) => Some(violations.clone()),
                Validity::Valid | Validity::Unchecked => None,
            },
            ask: ask(confirmed, binding, request),
            retry_after_ms: request.rate_wait_ms,
            dry_run: request.dry_run,
        };
        Outcome::Refused(Box::new(Refusal::new(problems, details)))
    } else if request.dry_run {
        Outcome::Rehearsed
    } else {
        Outcome::Permitted(issue(caller, tool, request, binding, confirmed, now_ms))
    };
    Decision { outcome, trace }
}

/// A person is asked only about calls that could then be made: with arguments that fit.
fn ask(confirmed: Confirmed, binding: Binding, request: &Request<'_>) -> Option<Ask> {
    let askable = matches!(request.validity, Validity::Valid) && !request.dry_run;
    match confirmed {
        Confirmed::Unasked if askable => Some(Ask::Person(binding)),
        Confirmed::Waiting(id) => Some(Ask::Wait(id)),
        _ => None,
    }
}

fn issue(
    caller: &Caller,
    tool: &Subject<'_>,
    request: &Request<'_>,
    binding: Binding,
    confirmed: Confirmed,
    now_ms: i64,
) -> Permit {
    let metadata = tool.metadata;
    let usual = metadata.timeout_ms.unwrap_or(CALL_TIMEOUT_MS_DEFAULT);
    let longest = usual.max(CALL_TIMEOUT_MS_ASKED_MAX);
    let timeout = request.timeout_ms.unwrap_or(usual).clamp(1, longest);
    let key = request.idempotency_key;
    Permit {
        tool: binding.tool,
        params_hash: binding.params_hash,
        principal: binding.principal,
        idempotency_key: key.map(str::to_owned),
        challenge: match confirmed {
            Confirmed::ByPerson(id) => Some(id),
            _ => None,
        },
        may_retry: metadata.idempotent || metadata.honours_key && key.is_some(),
        deadline_ms: now_ms.saturating_add(i64::try_from(timeout).unwrap_or(i64::MAX)),
        buckets: buckets(caller, tool),
    }
}
