//! The single checks of a decision: each gives its step, and its problem where it fails.

use std::borrow::Cow;

use super::approval::{Approval, Wait};
use super::caller::{Caller, Principal};
use super::confirmation::{Binding, ChallengeId, Unconfirmed};
use super::metadata::Requirement;
use super::refusal::{Check, Problem, Step, Verdict};
use super::request::{Request, Subject, Validity};
use super::scope::Scope;
use super::settings::{Confirmation, Mode};
use crate::error::Code;
use crate::limits::{IDEMPOTENCY_KEY_BYTES_MAX, VIOLATIONS_SAID_MAX};

pub(super) type Finding = (Step, Option<Problem>);

type Text = Cow<'static, str>;

fn step(check: Check, verdict: Verdict, evidence: impl Into<Text>) -> Finding {
    let evidence = evidence.into();
    let step = Step {
        check,
        verdict,
        evidence,
    };
    (step, None)
}

fn failed(
    check: Check,
    code: Code,
    evidence: impl Into<Text>,
    message: impl Into<Text>,
    suggestion: impl Into<Text>,
) -> Finding {
    let problem = Problem {
        check,
        code,
        message: message.into(),
        suggestion: suggestion.into(),
    };
    (step(check, Verdict::Failed, evidence).0, Some(problem))
}

pub(super) fn known(caller: &Caller) -> Finding {
    match &caller.principal {
        Principal::Anonymous => failed(
            Check::Caller,
            Code::ScopeRequired,
            "nobody known",
            "The caller is not known.",
            "Send credentials",
        ),
        Principal::Local => step(Check::Caller, Verdict::Passed, "local"),
        Principal::Loopback => step(Check::Caller, Verdict::Passed, "loopback"),
        principal => step(Check::Caller, Verdict::Passed, principal.to_string()),
    }
}

/// The first requirement that the caller does not meet.
pub(super) fn missing_scope<'a>(caller: &Caller, tool: &Subject<'a>) -> Option<&'a Requirement> {
    missing(caller, &tool.metadata.required_scopes)
}

/// The first of these needs that a caller's scopes do not meet.
pub(super) fn missing<'a>(caller: &Caller, needs: &'a [Requirement]) -> Option<&'a Requirement> {
    needs.iter().find(|need| !need.met_by(&caller.scopes))
}

pub(super) fn scoped(caller: &Caller, tool: &Subject<'_>) -> Finding {
    let listed = |need: &Requirement| {
        let texts: Vec<&str> = need.any_of().iter().map(Scope::as_str).collect();
        texts.join(" or ")
    };
    if let Some(need) = missing_scope(caller, tool) {
        return failed(
            Check::Scope,
            Code::ScopeRequired,
            format!("lacks {}", listed(need)),
            "A scope is missing.",
            "Use credentials that were granted it",
        );
    }
    let needed = &tool.metadata.required_scopes;
    if needed.is_empty() {
        return step(Check::Scope, Verdict::Unneeded, "needs none");
    }
    let held: Vec<String> = needed
        .iter()
        .filter_map(|need| {
            let (scope, grant) = need
                .any_of()
                .iter()
                .find_map(|scope| Some((scope, caller.scopes.covering(scope)?)))?;
            Some(format!("{scope} by {grant}"))
        })
        .collect();
    step(Check::Scope, Verdict::Passed, held.join(", "))
}

pub(super) fn enabled(tool: &Subject<'_>) -> Finding {
    let rule: Text = match tool.rule {
        Some(rule) => rule.to_owned().into(),
        None => "no rule".into(),
    };
    if tool.enabled {
        return step(Check::Enabled, Verdict::Passed, rule);
    }
    failed(
        Check::Enabled,
        Code::ToolDisabled,
        rule,
        "This tool is disabled by the tool rules.",
        "Choose another tool, or have it enabled in `toolRules`",
    )
}

pub(super) fn approved(tool: &Subject<'_>) -> Finding {
    let (evidence, message) = match tool.approval {
        Approval::Approved => return step(Check::Approval, Verdict::Passed, "accepted"),
        Approval::Pending(Wait::New) => ("new", "This tool is new and waits for approval."),
        Approval::Pending(Wait::Changed) => (
            "changed",
            "This tool has changed since it was accepted and waits for approval.",
        ),
        Approval::Pending(Wait::Server) => (
            "server not accepted",
            "This tool's server waits for approval.",
        ),
        Approval::Rejected => ("rejected", "This tool was rejected."),
    };
    failed(
        Check::Approval,
        Code::ApprovalRequired,
        evidence,
        message,
        format!(
            "A person can approve it: `toolcrib approvals approve {}`",
            tool.id
        ),
    )
}

/// Whether and how a call is confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Confirmed {
    /// It need not be.
    Unneeded,
    /// By the caller itself.
    ByFlag,
    /// By a person, through this challenge.
    ByPerson(ChallengeId),
    /// Not, and the caller itself can.
    Unflagged,
    /// Not, and no person was asked in a way that still counts.
    Unasked,
    /// Not yet: a person was asked.
    Waiting(ChallengeId),
    /// A person said no.
    Rejected,
}

pub(super) fn confirmed(
    caller: &Caller,
    tool: &Subject<'_>,
    request: &Request<'_>,
    binding: &Binding,
    now_ms: i64,
) -> Confirmed {
    if !tool.metadata.confirmation_required {
        return Confirmed::Unneeded;
    }
    match tool.metadata.confirmation.unwrap_or(caller.confirmation) {
        Confirmation::Flag if request.confirmed => Confirmed::ByFlag,
        Confirmation::Flag => Confirmed::Unflagged,
        Confirmation::Human => match request.challenge {
            None => Confirmed::Unasked,
            Some(challenge) => match challenge.verify(binding, now_ms) {
                Ok(()) => Confirmed::ByPerson(challenge.id.clone()),
                Err(Unconfirmed::Waiting) => Confirmed::Waiting(challenge.id.clone()),
                Err(Unconfirmed::Rejected) => Confirmed::Rejected,
                Err(Unconfirmed::Foreign | Unconfirmed::Spent | Unconfirmed::Expired) => {
                    Confirmed::Unasked
                }
            },
        },
    }
}

pub(super) fn confirmation(confirmed: &Confirmed, tool: &Subject<'_>) -> Finding {
    const DESTRUCTIVE: &str = "This operation is destructive and cannot be undone.";
    const ASKED: &str = "This operation needs confirmation.";
    let message = if tool.metadata.is_destructive() && !tool.metadata.reversible {
        DESTRUCTIVE
    } else {
        ASKED
    };
    let check = Check::Confirmation;
    let refuse = |evidence: &'static str, message: &'static str, suggestion: Text| {
        failed(
            check,
            Code::ConfirmationRequired,
            evidence,
            message,
            suggestion,
        )
    };
    match confirmed {
        Confirmed::Unneeded => step(check, Verdict::Unneeded, "needs none"),
        Confirmed::ByFlag => step(check, Verdict::Passed, "confirmed: true"),
        Confirmed::ByPerson(id) => step(check, Verdict::Passed, format!("confirmed as {id}")),
        Confirmed::Unflagged => refuse(
            "not confirmed",
            message,
            "Add confirmed: true to proceed".into(),
        ),
        Confirmed::Unasked => refuse(
            "no person has confirmed this call",
            message,
            "A person outside this conversation has to confirm this very call".into(),
        ),
        Confirmed::Waiting(id) => refuse(
            "a person was asked and has not answered",
            "This call waits for a person to confirm it.",
            format!("Make the same call again after a person has run `toolcrib approve {id}`")
                .into(),
        ),
        Confirmed::Rejected => refuse(
            "a person said no",
            "A person refused to confirm this call.",
            "Do not make this call again".into(),
        ),
    }
}

pub(super) fn keyed(caller: &Caller, tool: &Subject<'_>, request: &Request<'_>) -> Finding {
    let check = Check::Key;
    let needed = tool.metadata.needs_key(caller.mode) && !request.key_exempt;
    let usable = |key: &str| {
        !key.is_empty()
            && key.len() <= IDEMPOTENCY_KEY_BYTES_MAX
            && key.bytes().all(|b| b.is_ascii_graphic())
    };
    match request.idempotency_key {
        Some(key) if usable(key) => step(check, Verdict::Passed, "has a key"),
        // Also where none is needed: a key that cannot be kept must not seem to be.
        Some(_) => failed(
            check,
            Code::IdempotencyRequired,
            "key cannot be used",
            "The idempotency key cannot be used.",
            format!(
                "Use 1 to {IDEMPOTENCY_KEY_BYTES_MAX} printable ASCII characters without blanks"
            ),
        ),
        None if !needed && request.key_exempt => {
            step(check, Verdict::Unneeded, "this path is exempt")
        }
        None if !needed => step(check, Verdict::Unneeded, "needs none"),
        None => failed(
            check,
            Code::IdempotencyRequired,
            match caller.mode {
                Mode::Strict => "no key, under strict rules",
                Mode::Relaxed => "no key, under relaxed rules",
            },
            format!(
                "This operation is rated {} and must not run twice by accident.",
                tool.metadata.risk
            ),
            "Provide idempotency_key, a new one for each intended effect",
        ),
    }
}

pub(super) fn fitting(request: &Request<'_>) -> Finding {
    let check = Check::Schema;
    match request.validity {
        Validity::Valid => step(check, Verdict::Passed, "arguments fit"),
        Validity::Unchecked => failed(
            check,
            Code::ToolValidationError,
            "not checked",
            "The arguments were not checked.",
            "Try again",
        ),
        Validity::Invalid(violations) => {
            let said = violations.listed.iter().take(VIOLATIONS_SAID_MAX);
            let said: Vec<String> = said.map(ToString::to_string).collect();
            let shown = match said.as_slice() {
                [] => String::new(),
                said => format!(": {}", said.join("; ")),
            };
            let count = violations.total;
            failed(
                check,
                Code::ToolValidationError,
                format!("violations: {count}"),
                format!("The arguments do not fit the tool's schema{shown}."),
                "Correct the arguments as listed in violations",
            )
        }
    }
}

pub(super) fn in_rate(request: &Request<'_>) -> Finding {
    match request.rate_wait_ms {
        None => step(Check::Rate, Verdict::Passed, "within the rate"),
        Some(ms) => failed(
            Check::Rate,
            Code::RateLimited,
            "a bucket is empty",
            "A rate limit is used up for now.",
            format!("Try again in {ms} ms"),
        ),
    }
}
