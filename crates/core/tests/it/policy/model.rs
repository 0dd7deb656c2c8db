//! Every combination of what a decision depends on, compared with a naive model that was written
//! from the decisions alone.

use std::fmt::Debug;

use serde_json::json;
use toolcrib_core::Code;
use toolcrib_core::canon::{Hash, params_hash};
use toolcrib_core::limits::CONFIRMATION_KEPT_MS;
use toolcrib_core::policy::approval::Wait;
use toolcrib_core::policy::confirmation::{Binding, ChallengeState};
use toolcrib_core::policy::{
    Approval, Ask, Caller, Challenge, ChallengeId, Confirmation, Metadata, Mode, Outcome,
    PolicySettings, Principal, Request, Risk, ScopeSet, Subject, Validity, Visibility, decide,
    visible,
};
use toolcrib_core::schema::Violations;

use super::{NOW, metadata, of_risk, tool};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Local,
    Loopback,
    Key,
    Nobody,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    Nothing,
    Wrong,
    Needed,
    Everything,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Low,
    Medium,
    High,
    Destructive,
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gate {
    Open,
    Disabled,
    Pending,
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Never,
    Waiting,
    Yes,
    No,
    Spent,
    Late,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    Yes,
    No,
    Unchecked,
}

#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a dimension of the table"
)]
struct Case {
    who: Who,
    held: Held,
    kind: Kind,
    mode: Option<Mode>,
    confirmation: Option<Confirmation>,
    gate: Gate,
    asked: Asked,
    flag: bool,
    key: bool,
    fit: Fit,
    exempt: bool,
    limited: bool,
    dry: bool,
}

/// What the caller gets to see.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    Permit {
        person: bool,
    },
    Rehearsed,
    Refused {
        codes: Vec<Code>,
        asks: bool,
        waits: bool,
    },
}

/// The model: one sentence of the decisions after the other.
fn model(case: Case) -> Seen {
    // A tool that a caller's scopes forbid answers TOOL_NOT_FOUND; unknown callers get nothing.
    let covered = matches!(case.held, Held::Needed | Held::Everything);
    if case.who == Who::Nobody || !covered {
        let codes = vec![Code::ToolNotFound];
        return Seen::Refused {
            codes,
            asks: false,
            waits: false,
        };
    }
    let mut gates = Vec::new();
    if matches!(case.gate, Gate::Disabled | Gate::Both) {
        gates.push(Code::ToolDisabled);
    }
    if matches!(case.gate, Gate::Pending | Gate::Both) {
        gates.push(Code::ApprovalRequired);
    }
    // HTTP is strict by default, stdio relaxed.
    let strict = match case.mode {
        Some(mode) => mode == Mode::Strict,
        None => case.who != Who::Local,
    };
    // Confirmation by a person is for what the user marked so, and for HTTP in strict mode, but
    // loopback has the flag.
    let human = match case.confirmation {
        Some(confirmation) => confirmation == Confirmation::Human,
        None => strict && case.who == Who::Key,
    };
    let mut controls = Vec::new();
    let needs_confirmation = case.kind == Kind::Destructive;
    let confirmed = if human {
        case.asked == Asked::Yes
    } else {
        case.flag
    };
    if needs_confirmation && !confirmed {
        controls.push(Code::ConfirmationRequired);
    }
    // Strict: high and destructive need a key. Relaxed: destructive, and what nothing is known of.
    let needs_key = match case.kind {
        Kind::Destructive | Kind::Unknown => true,
        Kind::High => strict,
        Kind::Low | Kind::Medium => false,
    };
    if needs_key && !case.key && !case.exempt {
        controls.push(Code::IdempotencyRequired);
    }
    if case.fit != Fit::Yes {
        controls.push(Code::ToolValidationError);
    }
    if case.limited {
        controls.push(Code::RateLimited);
    }
    let at_gate = !gates.is_empty();
    let mut codes = gates;
    // A dry run reports each check; else nothing the caller could add would help at a gate.
    if !at_gate || case.dry {
        codes.extend(controls);
    }
    if codes.is_empty() {
        return if case.dry {
            Seen::Rehearsed
        } else {
            Seen::Permit {
                person: needs_confirmation && human,
            }
        };
    }
    let unconfirmed = human && codes.contains(&Code::ConfirmationRequired);
    let can_ask = matches!(case.asked, Asked::Never | Asked::Spent | Asked::Late);
    Seen::Refused {
        asks: unconfirmed && can_ask && case.fit == Fit::Yes && !case.dry,
        waits: unconfirmed && case.asked == Asked::Waiting,
        codes,
    }
}

struct World {
    tool: toolcrib_core::Tool,
    metadata: [Metadata; 5],
    violations: Violations,
    hash: Hash,
}

impl World {
    fn new() -> Self {
        let tool = tool("frobnicate");
        let risks = [Risk::Low, Risk::Medium, Risk::High, Risk::Destructive];
        let [low, medium, high, destructive] = risks.map(|risk| metadata(&tool, &[of_risk(risk)]));
        let unknown = metadata(&tool, &[]);
        Self {
            metadata: [low, medium, high, destructive, unknown],
            violations: Violations::whole("type", "must be object"),
            hash: params_hash(&json!({})),
            tool,
        }
    }

    fn caller(case: &Case) -> Caller {
        let settings = PolicySettings {
            mode: case.mode,
            confirmation: case.confirmation,
            ..PolicySettings::default()
        };
        let needed = match case.kind {
            Kind::Low => "bank:read",
            Kind::Medium | Kind::High | Kind::Unknown => "bank:write",
            Kind::Destructive => "bank:delete",
        };
        let scopes = match case.held {
            Held::Nothing => ScopeSet::none(),
            Held::Wrong => {
                ScopeSet::from_texts(["bank", "bank:other", "bankx:*", "x:*", "toolcrib:*"])
            }
            Held::Needed => ScopeSet::from_texts([needed]),
            Held::Everything => ScopeSet::all(),
        };
        let caller = match case.who {
            Who::Local => Caller::local(&settings),
            Who::Loopback => Caller::loopback(&settings),
            Who::Key => Caller::key("agent", ScopeSet::none(), &settings),
            Who::Nobody => Caller::anonymous(&settings),
        };
        Caller { scopes, ..caller }
    }

    fn challenge(&self, case: &Case, principal: &Principal) -> Option<Challenge> {
        let binding = Binding {
            tool: self.tool.id.clone(),
            params_hash: self.hash,
            principal: principal.to_string(),
        };
        let asked_at = if case.asked == Asked::Late { 0 } else { NOW };
        let state = match case.asked {
            Asked::Never => return None,
            Asked::Waiting => ChallengeState::Waiting,
            Asked::Yes | Asked::Late => ChallengeState::Approved,
            Asked::No => ChallengeState::Rejected,
            Asked::Spent => ChallengeState::Spent,
        };
        Some(Challenge {
            id: ChallengeId::from_text("c"),
            binding,
            expires_ms: asked_at + CONFIRMATION_KEPT_MS,
            state,
        })
    }

    fn seen(&self, case: &Case) -> Seen {
        let caller = Self::caller(case);
        let challenge = self.challenge(case, &caller.principal);
        let pending = Approval::Pending(Wait::Changed);
        let subject = Subject {
            id: &self.tool.id,
            enabled: !matches!(case.gate, Gate::Disabled | Gate::Both),
            rule: None,
            approval: match case.gate {
                Gate::Pending | Gate::Both => pending,
                Gate::Open | Gate::Disabled => Approval::Approved,
            },
            metadata: &self.metadata[case.kind as usize],
        };
        let request = Request {
            params_hash: self.hash,
            validity: match case.fit {
                Fit::Yes => Validity::Valid,
                Fit::No => Validity::Invalid(&self.violations),
                Fit::Unchecked => Validity::Unchecked,
            },
            idempotency_key: case.key.then_some("k-1"),
            confirmed: case.flag,
            challenge: challenge.as_ref(),
            dry_run: case.dry,
            timeout_ms: None,
            key_exempt: case.exempt,
            rate_wait_ms: case.limited.then_some(5),
        };
        let decision = decide(&caller, &subject, &request, NOW);
        check_visibility(visible(&caller, &subject), &decision.outcome);
        match decision.outcome {
            Outcome::Permitted(permit) => Seen::Permit {
                person: permit.challenge().is_some(),
            },
            Outcome::Rehearsed => Seen::Rehearsed,
            Outcome::Refused(refusal) => Seen::Refused {
                codes: refusal
                    .problems()
                    .iter()
                    .map(|problem| problem.code)
                    .collect(),
                asks: matches!(refusal.ask(), Some(Ask::Person(_))),
                waits: matches!(refusal.ask(), Some(Ask::Wait(_))),
            },
        }
    }
}

/// What may not be run is not found, by the same decision.
fn check_visibility(visibility: Visibility, outcome: &Outcome) {
    let code = match outcome {
        Outcome::Refused(refusal) => Some(refusal.code()),
        Outcome::Permitted(_) | Outcome::Rehearsed => None,
    };
    let expected = match code {
        Some(Code::ToolNotFound) => Visibility::Hidden,
        Some(Code::ToolDisabled) => Visibility::Disabled,
        Some(Code::ApprovalRequired) => Visibility::Pending,
        _ => Visibility::Shown,
    };
    assert_eq!(visibility, expected);
}

fn each<T: Copy + Debug>(values: &[T], cases: Vec<Case>, set: impl Fn(&mut Case, T)) -> Vec<Case> {
    let mut all = Vec::with_capacity(cases.len() * values.len());
    for case in cases {
        for value in values {
            let mut next = case;
            set(&mut next, *value);
            all.push(next);
        }
    }
    all
}

fn every_case() -> Vec<Case> {
    let start = Case {
        who: Who::Local,
        held: Held::Nothing,
        kind: Kind::Low,
        mode: None,
        confirmation: None,
        gate: Gate::Open,
        asked: Asked::Never,
        flag: false,
        key: false,
        fit: Fit::Yes,
        exempt: false,
        limited: false,
        dry: false,
    };
    let kinds = [
        Kind::Low,
        Kind::Medium,
        Kind::High,
        Kind::Destructive,
        Kind::Unknown,
    ];
    let modes = [None, Some(Mode::Strict), Some(Mode::Relaxed)];
    let confirmations = [None, Some(Confirmation::Flag), Some(Confirmation::Human)];
    let asked = [
        Asked::Never,
        Asked::Waiting,
        Asked::Yes,
        Asked::No,
        Asked::Spent,
        Asked::Late,
    ];
    let both = [false, true];
    let cases = vec![start];
    let cases = each(
        &[Who::Local, Who::Loopback, Who::Key, Who::Nobody],
        cases,
        |c, v| c.who = v,
    );
    let cases = each(&kinds, cases, |c, v| c.kind = v);
    let cases = each(&modes, cases, |c, v| c.mode = v);
    let cases = each(&confirmations, cases, |c, v| c.confirmation = v);
    let cases = each(
        &[Gate::Open, Gate::Disabled, Gate::Pending, Gate::Both],
        cases,
        |c, v| c.gate = v,
    );
    let cases = each(&asked, cases, |c, v| c.asked = v);
    let cases = each(&both, cases, |c, v| c.flag = v);
    let cases = each(&both, cases, |c, v| c.key = v);
    let cases = each(&[Fit::Yes, Fit::No, Fit::Unchecked], cases, |c, v| {
        c.fit = v;
    });
    let cases = each(
        &[Held::Nothing, Held::Wrong, Held::Needed, Held::Everything],
        cases,
        |c, v| c.held = v,
    );
    each(&both, cases, |c, v| c.dry = v)
}

#[test]
fn decisions_agree_with_the_model_in_every_combination() {
    let world = World::new();
    let mut cases = every_case();
    // Where the tool is hidden anyway, and where `*` is held in place of the scope that is needed,
    // two states of a challenge stand for all.
    cases.retain(|case| {
        let plain = case.who != Who::Nobody && case.held == Held::Needed;
        plain || matches!(case.asked, Asked::Never | Asked::Yes)
    });
    let mut permitted = 0;
    for case in &cases {
        let expected = model(*case);
        assert_eq!(world.seen(case), expected, "{case:?}");
        permitted += usize::from(matches!(expected, Seen::Permit { .. }));
    }
    println!("{} combinations, {permitted} permitted", cases.len());
    assert!(permitted > 0);
}

#[test]
fn exemption_and_rate_agree_with_the_model_wherever_the_gates_are_open() {
    let world = World::new();
    let cases = every_case().into_iter().filter(|case| {
        case.gate == Gate::Open
            && case.held == Held::Needed
            && matches!(case.asked, Asked::Never | Asked::Yes)
    });
    let both = [false, true];
    let cases = each(&both, cases.collect(), |c, v| c.exempt = v);
    let cases = each(&both, cases, |c, v| c.limited = v);
    for case in cases {
        assert_eq!(world.seen(&case), model(case), "{case:?}");
    }
}
