//! Ways around policy that must not work.

use serde_json::{Value, json};
use toolcrib_core::canon::{params_hash, parse_strict};
use toolcrib_core::limits::CONFIRMATION_KEPT_MS;
use toolcrib_core::policy::approval::Wait;
use toolcrib_core::policy::confirmation::{Binding, ChallengeState};
use toolcrib_core::policy::{
    Approval, Ask, Caller, Challenge, ChallengeId, Check, Outcome, PolicySettings, Refusal,
    Request, Risk, ScopeSet, Subject, Verdict, Visibility, decide, visible,
};
use toolcrib_core::schema::{self, Unknown};
use toolcrib_core::{Code, Tool, ToolId};

use super::{NOW, agent, metadata, of_risk, refusal, subject, tool, valid};

fn code(caller: &Caller, tool: &Subject<'_>, request: &Request<'_>) -> Code {
    refusal(&decide(caller, tool, request, NOW)).code()
}

#[test]
fn a_hidden_tool_and_an_unknown_tool_look_the_same() {
    let hidden = tool("delete_account");
    let metadata = metadata(&hidden, &[]);
    let request = Request {
        idempotency_key: Some("k"),
        ..valid(&json!({}))
    };
    let decision = decide(
        &agent(&["other:*"]),
        &subject(&hidden, &metadata),
        &request,
        NOW,
    );
    let hidden = refusal(&decision);
    let unknown = Refusal::not_found();
    assert_eq!(hidden.to_error(), unknown.to_error());
    assert_eq!(hidden.problems(), unknown.problems());
    assert_eq!((hidden.risk(), hidden.ask()), (None, None));
    assert!(decision.report().is_empty());
    assert_eq!(hidden.reason(), Code::ScopeRequired);
    assert_eq!(unknown.reason(), Code::ToolNotFound);
    assert!(!unknown.is_hidden());
}

#[test]
fn wildcards_cover_no_more_than_they_say() {
    let bank = tool("delete_account");
    let metadata = metadata(&bank, &[]);
    let subject = subject(&bank, &metadata);
    let refused = [
        "*:read",
        "bank:read",
        "bank:write",
        "bank",
        "bank*:delete",
        "ba*",
        "**",
        "bank:**",
        "bank:delete:all",
        "*:*:*",
        "BANK :delete",
        "bank:\u{434}elete",
        "b\u{430}nk:delete",
        "toolcrib:*",
    ];
    for scope in refused {
        assert_eq!(
            visible(&agent(&[scope]), &subject),
            Visibility::Hidden,
            "{scope}"
        );
    }
    for scope in ["bank:delete", "bank:*", "*:delete", "*", "BANK:Delete"] {
        assert_eq!(
            visible(&agent(&[scope]), &subject),
            Visibility::Shown,
            "{scope}"
        );
    }
}

#[test]
fn a_server_named_like_a_scope_or_like_toolcrib_gains_nothing() {
    for (server, grant) in [
        ("*", "github:*"),
        ("github:read", "github:*"),
        ("GITHUB\u{200b}", "github:*"),
        ("toolcrib", "*"),
    ] {
        let odd = Tool::new(ToolId::new(server, "get_x"), "", json!({}));
        let metadata = metadata(&odd, &[]);
        let seen = visible(&agent(&[grant]), &subject(&odd, &metadata));
        assert_eq!(seen, Visibility::Hidden, "{server:?}");
    }
}

#[test]
fn what_is_disabled_or_pending_is_refused_whatever_is_added() {
    let bank = tool("list_accounts");
    let metadata = metadata(&bank, &[]);
    let everything = Request {
        idempotency_key: Some("k"),
        confirmed: true,
        key_exempt: true,
        ..valid(&json!({}))
    };
    let disabled = Subject {
        enabled: false,
        rule: Some("rule 2"),
        ..subject(&bank, &metadata)
    };
    let local = Caller::local(&PolicySettings::default());
    assert_eq!(code(&local, &disabled, &everything), Code::ToolDisabled);
    assert_eq!(visible(&local, &disabled), Visibility::Disabled);
    let waits = [Wait::New, Wait::Changed, Wait::Server].map(Approval::Pending);
    for approval in waits.into_iter().chain([Approval::Rejected]) {
        let pending = Subject {
            approval,
            ..subject(&bank, &metadata)
        };
        assert_eq!(code(&local, &pending, &everything), Code::ApprovalRequired);
        let error = refusal(&decide(&local, &pending, &everything, NOW)).to_error();
        let next = error.suggestion.unwrap();
        assert!(
            next.contains("toolcrib approvals approve bank:list_accounts"),
            "{next}"
        );
    }
}

#[test]
fn a_flag_does_not_replace_a_person() {
    let bank = tool("delete_account");
    let metadata = metadata(&bank, &[]);
    let subject = subject(&bank, &metadata);
    let request = Request {
        confirmed: true,
        idempotency_key: Some("k"),
        ..valid(&json!({"id": 1}))
    };
    let caller = agent(&["*"]);
    let decision = decide(&caller, &subject, &request, NOW);
    let refused = refusal(&decision);
    assert_eq!(refused.code(), Code::ConfirmationRequired);
    let Some(Ask::Person(binding)) = refused.ask() else {
        panic!("a person is to be asked");
    };
    assert_eq!(binding.params_hash, params_hash(&json!({"id": 1})));
    let loopback = Caller::loopback(&PolicySettings::default());
    let decision = decide(&loopback, &subject, &request, NOW);
    assert!(matches!(decision.outcome, Outcome::Permitted(_)));
}

#[test]
fn a_challenge_serves_one_call_of_one_caller_once() {
    let bank = tool("delete_account");
    let metadata = metadata(&bank, &[]);
    let subject_ = subject(&bank, &metadata);
    let caller = agent(&["*"]);
    let call = json!({"id": 1});
    let binding = Binding {
        tool: bank.id.clone(),
        params_hash: params_hash(&call),
        principal: caller.principal.to_string(),
    };
    let [asked, approved, spent] = [
        ChallengeState::Waiting,
        ChallengeState::Approved,
        ChallengeState::Spent,
    ]
    .map(|state| Challenge {
        id: ChallengeId::from_text("c"),
        binding: binding.clone(),
        expires_ms: NOW + CONFIRMATION_KEPT_MS,
        state,
    });
    let with = |challenge, arguments: &Value| Request {
        challenge: Some(challenge),
        idempotency_key: Some("k"),
        ..valid(arguments)
    };
    let decision = decide(&caller, &subject_, &with(&approved, &call), NOW);
    let Outcome::Permitted(permit) = decision.outcome else {
        panic!("{:?}", decision.outcome);
    };
    assert_eq!(permit.challenge(), Some(&approved.id));
    let other_tool = tool("close_account");
    let others = Caller::key("other", ScopeSet::all(), &PolicySettings::default());
    let attempts = [
        (&caller, subject_, with(&spent, &call)),
        (&caller, subject_, with(&asked, &call)),
        (&caller, subject_, with(&approved, &json!({"id": 2}))),
        (&others, subject_, with(&approved, &call)),
        (
            &caller,
            subject(&other_tool, &metadata),
            with(&approved, &call),
        ),
    ];
    for (caller, subject, request) in attempts {
        assert_eq!(code(caller, &subject, &request), Code::ConfirmationRequired);
    }
    let late = decide(
        &caller,
        &subject_,
        &with(&approved, &call),
        NOW + CONFIRMATION_KEPT_MS,
    );
    assert_eq!(refusal(&late).code(), Code::ConfirmationRequired);
}

#[test]
fn a_person_is_not_asked_about_calls_that_could_not_be_made() {
    let bank = tool("delete_account");
    let metadata = metadata(&bank, &[]);
    let subject = subject(&bank, &metadata);
    let caller = agent(&["*"]);
    let unchecked = Request::plain(params_hash(&json!({})));
    assert_eq!(
        refusal(&decide(&caller, &subject, &unchecked, NOW)).ask(),
        None
    );
    let dry = Request {
        dry_run: true,
        ..valid(&json!({}))
    };
    assert_eq!(refusal(&decide(&caller, &subject, &dry, NOW)).ask(), None);
    let pending = Subject {
        approval: Approval::Pending(Wait::New),
        ..subject
    };
    assert_eq!(
        refusal(&decide(&caller, &pending, &valid(&json!({})), NOW)).ask(),
        None
    );
}

#[test]
fn keys_that_cannot_be_kept_are_no_keys() {
    let bank = tool("send_money");
    let metadata = metadata(&bank, &[]);
    let subject = subject(&bank, &metadata);
    let long = "k".repeat(256);
    for key in ["", " ", "a b", "a\u{200b}", "k\n", long.as_str()] {
        let request = Request {
            idempotency_key: Some(key),
            ..valid(&json!({}))
        };
        assert_eq!(
            code(&agent(&["*"]), &subject, &request),
            Code::IdempotencyRequired,
            "{key:?}"
        );
    }
}

#[test]
fn the_compatible_path_is_exempt_from_keys_and_nothing_else() {
    let bank = tool("delete_account");
    let metadata = metadata(&bank, &[]);
    let exempt = Request {
        key_exempt: true,
        ..valid(&json!({}))
    };
    let loopback = Caller::loopback(&PolicySettings::default());
    let subject = subject(&bank, &metadata);
    assert_eq!(
        code(&loopback, &subject, &exempt),
        Code::ConfirmationRequired
    );
    assert_eq!(
        code(&agent(&["x:*"]), &subject, &exempt),
        Code::ToolNotFound
    );
    let disabled = Subject {
        enabled: false,
        ..subject
    };
    assert_eq!(code(&loopback, &disabled, &exempt), Code::ToolDisabled);
    let confirmed = Request {
        confirmed: true,
        ..exempt
    };
    let decision = decide(&loopback, &subject, &confirmed, NOW);
    assert!(matches!(decision.outcome, Outcome::Permitted(_)));
}

#[test]
fn everything_that_is_missing_is_reported_at_once_and_in_order() {
    let bank = tool("delete_account");
    let metadata = metadata(&bank, &[]);
    let invalid = schema::compile(&json!({"required": ["id"]}))
        .unwrap()
        .check(&json!({}), Unknown::Refuse)
        .unwrap_err();
    let request = Request {
        validity: toolcrib_core::policy::Validity::Invalid(&invalid),
        rate_wait_ms: Some(250),
        ..Request::plain(params_hash(&json!({})))
    };
    let loopback = Caller::loopback(&PolicySettings::default());
    let decision = decide(&loopback, &subject(&bank, &metadata), &request, NOW);
    let refused = refusal(&decision);
    let codes: Vec<Code> = refused.problems().iter().map(|p| p.code).collect();
    let expected = [
        Code::ConfirmationRequired,
        Code::IdempotencyRequired,
        Code::ToolValidationError,
        Code::RateLimited,
    ];
    assert_eq!(codes, expected);
    assert_eq!(refused.violations().unwrap().total, 1);
    assert_eq!(refused.retry_after_ms(), Some(250));
    assert_eq!(refused.risk(), Some(Risk::Destructive));
    let error = refused.to_error();
    assert_eq!(
        error.message,
        "This operation is destructive and cannot be undone."
    );
    let next = error.suggestion.unwrap();
    assert!(
        next.starts_with("Add confirmed: true to proceed; Provide idempotency_key"),
        "{next}"
    );
}

#[test]
fn a_dry_run_goes_through_every_check_and_gives_no_permit() {
    let bank = tool("list_accounts");
    let metadata = metadata(&bank, &[]);
    let caller = agent(&["bank:read"]);
    let dry = Request {
        dry_run: true,
        ..valid(&json!({}))
    };
    let decision = decide(&caller, &subject(&bank, &metadata), &dry, NOW);
    assert_eq!(decision.outcome, Outcome::Rehearsed);
    let checks: Vec<Check> = decision.report().iter().map(|step| step.check).collect();
    assert_eq!(checks, Check::ALL);
    let disabled = Subject {
        enabled: false,
        rule: Some("rule 1: `list_*`"),
        ..subject(&bank, &metadata)
    };
    let decision = decide(&caller, &disabled, &dry, NOW);
    assert_eq!(decision.report().len(), Check::ALL.len());
    let step = &decision.report()[2];
    assert_eq!(
        (step.verdict, step.evidence.as_ref()),
        (Verdict::Failed, "rule 1: `list_*`")
    );
}

#[test]
fn arguments_that_could_mean_two_things_never_reach_a_schema() {
    let deep = format!("{}1{}", "{\"a\":".repeat(60), "}".repeat(60));
    for text in [
        r#"{"amount": 1, "amount": 1000000}"#,
        r#"{"amount": 1, "amo\u0075nt": 2}"#,
        r#"{"__proto__": {"admin": true}}"#,
        r#"{"constructor": {"prototype": {"admin": true}}}"#,
        r#"{"amount": 100000000000000000000000000000000}"#,
        r#"{"amount": 1e999}"#,
        &deep,
    ] {
        assert!(parse_strict(text).is_err(), "{text}");
    }
}

#[test]
fn a_rename_by_case_or_look_alike_is_another_tool() {
    let bank = tool("list_accounts");
    for other in [
        "List_Accounts",
        "list_account\u{455}",
        "list_accounts\u{200b}",
    ] {
        let renamed = tool(other);
        assert_ne!(bank.id, renamed.id);
        let (a, b) = (
            toolcrib_core::canon::definition_hash(&bank),
            toolcrib_core::canon::definition_hash(&renamed),
        );
        assert_ne!(a, b, "{other}");
    }
}

#[test]
fn a_permit_says_what_may_be_called_and_how() {
    let bank = tool("list_accounts");
    let mut limits = toolcrib_core::policy::RateLimits::default();
    limits
        .buckets
        .insert("slow".into(), toolcrib_core::policy::Rate::per_second(1, 1));
    let slow = toolcrib_core::policy::Override {
        rate_limit_bucket: Some("slow".into()),
        timeout_ms: Some(900_000),
        ..of_risk(Risk::Medium)
    };
    let facts = toolcrib_core::policy::ServerFacts {
        honours_key: true,
        ..Default::default()
    };
    let metadata = toolcrib_core::policy::Metadata::derive(&bank, &facts, &[&slow], &limits);
    let settings = PolicySettings {
        rate_limits: toolcrib_core::policy::RateLimits {
            per_principal: Some(toolcrib_core::policy::Rate::per_second(2, 2)),
            ..Default::default()
        },
        ..Default::default()
    };
    let caller = Caller::key("agent", ScopeSet::all(), &settings);
    let deadline = |timeout_ms| {
        let request = Request {
            timeout_ms,
            ..valid(&json!({}))
        };
        match decide(&caller, &subject(&bank, &metadata), &request, NOW).outcome {
            Outcome::Permitted(permit) => permit.deadline_ms() - NOW,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(deadline(None), 900_000);
    assert_eq!(deadline(Some(5)), 5);
    assert_eq!(deadline(Some(0)), 1);
    assert_eq!(deadline(Some(u64::MAX)), 900_000);
    let keyed = Request {
        idempotency_key: Some("k"),
        ..valid(&json!({"a": 1}))
    };
    let outcome = decide(&caller, &subject(&bank, &metadata), &keyed, NOW).outcome;
    let Outcome::Permitted(permit) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(permit.tool(), &bank.id);
    assert_eq!(permit.params_hash(), params_hash(&json!({"a": 1})));
    assert_eq!(
        (permit.principal(), permit.idempotency_key()),
        ("key:agent", Some("k"))
    );
    assert!(permit.may_retry());
    let names: Vec<&str> = permit.buckets().iter().map(|b| b.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "server:bank",
            "principal:key:agent",
            "bucket:slow:key:agent"
        ]
    );
}
