//! Calls: what is let through, what is refused, and the one record of each.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use toolcrib_core::Code;
use toolcrib_core::limits::SELECT_FILTER_BYTES_MAX;
use toolcrib_core::policy::{Caller, PolicySettings};
use toolcrib_store::audit::{Decision, Outcome as Recorded};
use toolcrib_upstream::mcp::Failure;

use crate::engine::answer::Outcome;
use crate::engine::ask::CallOptions;
use crate::engine::fixture::{
    Answers, Lists, Puppets, SERVERS, Still, Workshop, answered, execution, key, keyed, refused,
    text, until,
};
use crate::engine::upstream::Owner;

const TITLE: &str = r#"{"title": "x"}"#;

#[tokio::test]
async fn a_call_reaches_its_server_as_it_was_written_and_leaves_one_record() {
    let shop = Workshop::open(SERVERS).await;
    shop.puppets
        .answer("github:createIssue", Answers::Result(text("made")));
    let arguments = r#"{ "title":  "x", "n": 1.50 }"#;
    let reply = shop
        .run("github:create-issue", arguments, CallOptions::default())
        .await
        .unwrap();
    assert_eq!(reply.entry.as_ref().unwrap().tool.id.tool(), "createIssue");
    let id = reply.request_id.clone();
    let answer = answered(reply);
    assert_eq!(answer.result.get(), text("made").to_string());
    assert!(!answer.is_error && !answer.replayed && answer.rest.is_none());
    assert_eq!(shop.calls(), [format!("github:createIssue {arguments}")]);
    let records = shop.records().await;
    assert_eq!(records.len(), 1);
    let record = &records[0].record;
    assert_eq!(record.request_id, id);
    assert_eq!(uuid::Uuid::parse_str(&id).unwrap().get_version_num(), 7);
    assert_eq!(
        (record.actor_id.as_str(), record.tool_id.as_str()),
        ("local", "github:createIssue")
    );
    assert_eq!(
        (record.decision, record.outcome),
        (Decision::Allowed, Recorded::Ok)
    );
    assert_eq!(record.upstream.as_deref(), Some("github"));
    assert_eq!(record.parameters, None, "only where configured");
    assert!(record.duration_us.is_some() && record.response_bytes.is_some());
    assert!(record.reason.contains("local"), "{}", record.reason);
}

#[tokio::test]
async fn parameters_are_recorded_only_where_configured_and_masked() {
    let shop = Workshop::open(&format!("{SERVERS}audit: {{parameters: true}}\n")).await;
    let arguments = r#"{"title": "x", "password": "hunter2"}"#;
    shop.run("github:createIssue", arguments, CallOptions::default())
        .await
        .unwrap();
    let records = shop.records().await;
    let kept = records[0].record.parameters.as_deref().unwrap();
    assert_eq!(kept, r#"{"title":"x","password":"***"}"#);
    assert!(
        shop.calls()[0].contains("hunter2"),
        "the server gets what was sent"
    );
}

#[tokio::test]
async fn what_is_refused_calls_nothing_and_is_recorded_once() {
    let yaml = format!("{SERVERS}toolRules: [{{pattern: ['send_*'], enabled: false}}]\n");
    let shop = Workshop::open(&yaml).await;
    let local = shop.local();
    let strict = keyed(&["github:*"]);
    let table: [(&Caller, &str, &str, Code, Code); 9] = [
        (
            &local,
            "nowhere:x",
            "{}",
            Code::ServerNotFound,
            Code::ServerNotFound,
        ),
        (
            &local,
            "github:nothing",
            "{}",
            Code::ToolNotFound,
            Code::ToolNotFound,
        ),
        (
            &local,
            "github:send_mail",
            TITLE,
            Code::ToolDisabled,
            Code::ToolDisabled,
        ),
        (
            &local,
            "github:Send-Mail",
            TITLE,
            Code::ToolDisabled,
            Code::ToolDisabled,
        ),
        (
            &local,
            "github:createIssue",
            r#"{"title": 1}"#,
            Code::ToolValidationError,
            Code::ToolValidationError,
        ),
        (
            &local,
            "github:createIssue",
            r#"{"title": "a", "title": "b"}"#,
            Code::ToolValidationError,
            Code::ToolValidationError,
        ),
        (
            &local,
            "github:createIssue",
            "[]",
            Code::ToolValidationError,
            Code::ToolValidationError,
        ),
        (
            &strict,
            "github:createIssue",
            r#"{"title": "a", "odd": 1}"#,
            Code::ToolValidationError,
            Code::ToolValidationError,
        ),
        (
            &local,
            "github:delete_repo",
            TITLE,
            Code::ConfirmationRequired,
            Code::ConfirmationRequired,
        ),
    ];
    for (caller, id, arguments, code, recorded) in table {
        let before = shop.records().await.len();
        let error = refused(
            shop.run_as(caller, id, arguments, CallOptions::default())
                .await,
        );
        assert_eq!(error.code, code, "{id} {arguments}: {error}");
        let records = shop.records().await;
        assert_eq!(records.len(), before + 1, "{id}");
        let record = records
            .into_iter()
            .find(|r| Some(&r.record.request_id) == error.request_id.as_ref());
        let record = record.unwrap().record;
        assert_eq!(
            (record.decision, record.outcome),
            (Decision::Refused, Recorded::Refused)
        );
        assert_eq!(record.error_code.as_deref(), Some(recorded.as_str()));
    }
    assert_eq!(shop.calls(), Vec::<String>::new());
}

#[tokio::test]
async fn all_missing_controls_are_reported_at_once() {
    let shop = Workshop::open(SERVERS).await;
    let error = refused(
        shop.run("github:delete_repo", "{}", CallOptions::default())
            .await,
    );
    let codes: Vec<Code> = error.more.problems.iter().map(|p| p.code).collect();
    assert_eq!(
        codes,
        [
            Code::ConfirmationRequired,
            Code::IdempotencyRequired,
            Code::ToolValidationError
        ]
    );
    assert_eq!(error.more.violations.as_ref().unwrap().total, 1);
    assert_eq!(error.server.as_deref(), Some("github"));
    assert_eq!(error.tool.as_deref(), Some("delete_repo"));
}

#[tokio::test]
async fn a_tool_hidden_by_scopes_is_refused_like_one_that_is_not_there() {
    let shop = Workshop::open(SERVERS).await;
    let reader = keyed(&["github:read"]);
    let hidden = refused(
        shop.run_as(&reader, "github:createIssue", TITLE, key("k"))
            .await,
    );
    let absent = refused(
        shop.run_as(&reader, "github:createIssux", TITLE, key("k"))
            .await,
    );
    assert_eq!(
        (hidden.code, absent.code),
        (Code::ToolNotFound, Code::ToolNotFound)
    );
    assert_eq!(
        hidden.message.replace("createIssue", ""),
        absent.message.replace("createIssux", "")
    );
    assert_eq!(hidden.more.available, absent.more.available);
    assert!(hidden.more.problems.is_empty() && hidden.more.risk.is_none());
    let records = shop.records().await;
    assert!(
        records[0].record.reason.starts_with("SCOPE_REQUIRED"),
        "the record says why"
    );
    assert_eq!(
        records[0].record.error_code.as_deref(),
        Some("TOOL_NOT_FOUND")
    );
    let nobody = Caller::anonymous(&PolicySettings::default());
    let stranger = keyed(&["notes:read"]);
    for caller in [&nobody, &stranger] {
        let error = refused(
            shop.run_as(caller, "github:list_issues", TITLE, key("k"))
                .await,
        );
        assert_eq!(error.code, Code::ServerNotFound);
        let nowhere = refused(shop.run_as(caller, "gitlab:x", TITLE, key("k")).await);
        assert_eq!(
            error.message.replace("github", ""),
            nowhere.message.replace("gitlab", "")
        );
        let records = shop.records().await;
        let [.., hidden, absent] = &records[..] else {
            panic!("two records")
        };
        assert!(hidden.record.reason.starts_with("SCOPE_REQUIRED"));
        assert_eq!(absent.record.reason, nowhere.message);
    }
}

#[tokio::test]
async fn a_secret_in_the_place_of_a_name_is_not_recorded() {
    let shop = Workshop::open(SERVERS).await;
    let token = "ghp_0123456789abcdefghij0123456789abcdef";
    for (asked, recorded) in [
        (format!("{token}:list_issues"), "***:list_issues"),
        (format!("github:{token}"), "github:***"),
        ("api_key:reset".to_owned(), "api_key:reset"),
    ] {
        refused(shop.run(&asked, TITLE, CallOptions::default()).await);
        let records = shop.records().await;
        let record = &records.last().unwrap().record;
        assert_eq!(record.tool_id, recorded);
        assert!(!record.reason.contains(token), "{}", record.reason);
    }
}

#[tokio::test]
async fn a_dry_run_makes_every_check_and_calls_nothing() {
    let shop = Workshop::open(SERVERS).await;
    let dry = CallOptions {
        dry_run: true,
        ..CallOptions::default()
    };
    let reply = shop
        .run("github:createIssue", TITLE, dry.clone())
        .await
        .unwrap();
    let Outcome::Rehearsed(steps) = reply.outcome else {
        panic!("called")
    };
    assert_eq!(steps.len(), 8);
    let error = refused(shop.run("github:delete_repo", "{}", dry).await);
    assert_eq!(error.more.steps.len(), 8);
    let records = shop.records().await;
    let outcomes: Vec<_> = records.iter().map(|r| r.record.outcome).collect();
    assert_eq!(outcomes, [Recorded::DryRun, Recorded::Refused]);
    assert_eq!(shop.calls(), Vec::<String>::new());
}

#[tokio::test]
async fn how_a_call_failed_is_said_without_what_the_server_said() {
    let shop = Workshop::open(SERVERS).await;
    let broken = Failure::Broken("reset at /home/ada".into());
    let table = [
        (
            Answers::Fails(broken),
            Code::ToolExecutionError,
            Recorded::Error,
        ),
        (
            Answers::Fails(Failure::NotStarted("/usr/bin/gh".into())),
            Code::ToolExecutionError,
            Recorded::Error,
        ),
        (
            Answers::Fails(Failure::Overloaded),
            Code::Overloaded,
            Recorded::Error,
        ),
        (
            Answers::Fails(Failure::TimedOut(Duration::from_secs(1))),
            Code::ToolExecutionTimeout,
            Recorded::Timeout,
        ),
        (
            Answers::Fault(-32603, "no such branch"),
            Code::ToolExecutionError,
            Recorded::Error,
        ),
    ];
    for (answer, code, outcome) in table {
        shop.puppets.answer("github:createIssue", answer);
        let error = refused(
            shop.run("github:createIssue", TITLE, CallOptions::default())
                .await,
        );
        assert_eq!(error.code, code, "{error}");
        assert!(!error.message.contains('/'), "{error}");
        let records = shop.records().await;
        let record = records
            .iter()
            .find(|r| Some(&r.record.request_id) == error.request_id.as_ref());
        assert_eq!(record.unwrap().record.outcome, outcome);
    }
    let failed = json!({"isError": true, "content": [{"type": "text", "text": "no"}]});
    shop.puppets
        .answer("github:createIssue", Answers::Result(failed.clone()));
    let answer = answered(
        shop.run("github:createIssue", TITLE, CallOptions::default())
            .await
            .unwrap(),
    );
    assert!(answer.is_error, "what the tool says is passed on");
    assert_eq!(answer.result.get(), failed.to_string());
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_at_its_deadline_and_when_it_is_cancelled() {
    let _still = Still::new();
    let shop = Workshop::open(SERVERS).await;
    shop.run("github:createIssue", TITLE, CallOptions::default())
        .await
        .unwrap();
    shop.puppets.answer("github:createIssue", Answers::Hangs);
    let cancel = CancellationToken::new();
    let table = [
        (None, 30_000, Code::ToolExecutionTimeout, Recorded::Timeout),
        (
            Some(2_000),
            2_000,
            Code::ToolExecutionTimeout,
            Recorded::Timeout,
        ),
        (Some(5_000), 1_000, Code::Cancelled, Recorded::Cancelled),
    ];
    for (number, (timeout_ms, ends_ms, code, outcome)) in table.into_iter().enumerate() {
        let (engine, local) = (shop.engine.clone(), shop.local());
        let mut call = execution("github:createIssue", TITLE);
        call.options.timeout_ms = timeout_ms;
        call.cancel = cancel.clone();
        let call = tokio::spawn(async move { engine.execute(&local, call).await });
        until(|| shop.calls().len() == number + 2).await;
        tokio::time::advance(Duration::from_millis(ends_ms - 1)).await;
        assert!(!call.is_finished());
        tokio::time::advance(Duration::from_millis(1)).await;
        if code == Code::Cancelled {
            cancel.cancel();
        }
        let error = refused(call.await.unwrap());
        assert_eq!(error.code, code);
        let records = shop.records().await;
        assert_eq!(records.last().unwrap().record.outcome, outcome);
    }
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_a_record_all_the_same() {
    let shop = Workshop::open(SERVERS).await;
    shop.puppets.answer("github:createIssue", Answers::Hangs);
    let (engine, local) = (shop.engine.clone(), shop.local());
    let call = tokio::spawn(async move {
        engine
            .execute(&local, execution("github:createIssue", TITLE))
            .await
    });
    until(|| !shop.calls().is_empty()).await;
    call.abort();
    let _ = call.await;
    shop.engine.close(Duration::from_secs(10)).await;
    let records = shop.records().await;
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].record.outcome, Recorded::Cancelled);
}

#[tokio::test]
async fn buckets_bound_how_often_a_server_is_called() {
    let yaml = "
servers:
  github: {command: gh, rateLimit: {perSecond: 1, burst: 2}}
";
    let shop = Workshop::open(yaml).await;
    for _ in 0..2 {
        shop.run("github:list_issues", TITLE, CallOptions::default())
            .await
            .unwrap();
    }
    let error = refused(
        shop.run("github:list_issues", TITLE, CallOptions::default())
            .await,
    );
    assert_eq!(error.code, Code::RateLimited);
    assert!(error.more.retry_after_ms.is_some());
    let error = refused(shop.run("github:list_issues", TITLE, key("k")).await);
    assert_eq!(error.code, Code::RateLimited, "a key is no way around it");
    assert_eq!(shop.calls().len(), 2);
    assert_eq!(shop.records().await.len(), 4);
}

#[tokio::test]
async fn too_many_calls_at_once_are_refused() {
    let shop = Workshop::open(&format!("{SERVERS}limits: {{callsInFlight: 1}}\n")).await;
    shop.puppets.answer("github:createIssue", Answers::Hangs);
    let (engine, local) = (shop.engine.clone(), shop.local());
    let cancel = CancellationToken::new();
    let mut first = execution("github:createIssue", TITLE);
    first.cancel = cancel.clone();
    let first = tokio::spawn(async move { engine.execute(&local, first).await });
    until(|| !shop.calls().is_empty()).await;
    let error = refused(
        shop.run("github:list_issues", TITLE, CallOptions::default())
            .await,
    );
    assert_eq!(error.code, Code::Overloaded);
    cancel.cancel();
    assert_eq!(refused(first.await.unwrap()).code, Code::Cancelled);
    shop.run("github:list_issues", TITLE, CallOptions::default())
        .await
        .unwrap();
}

#[tokio::test]
async fn a_store_that_cannot_be_written_lets_nothing_run() {
    let shop = Workshop::open(SERVERS).await;
    shop.run("github:list_issues", TITLE, CallOptions::default())
        .await
        .unwrap();
    shop.store.close().await;
    for id in ["github:list_issues", "github:nothing", "github:delete_repo"] {
        let error = refused(shop.run(id, TITLE, CallOptions::default()).await);
        assert_eq!(error.code, Code::AuditUnavailable, "{id}");
        assert!(!error.message.contains('/'), "{error}");
    }
    assert_eq!(shop.calls().len(), 1);
}

#[tokio::test]
async fn connections_are_shared_or_apart_as_configured() {
    let yaml = "
servers:
  github: {command: gh}
  notes-v2: {command: notes, isolation: session}
";
    let shop = Workshop::open(yaml).await;
    let agent = keyed(&["*"]);
    shop.run("github:list_issues", TITLE, CallOptions::default())
        .await
        .unwrap();
    shop.run_as(&agent, "github:list_issues", TITLE, CallOptions::default())
        .await
        .unwrap();
    let mut call = execution("notes-v2:add_note", TITLE);
    call.session = Some("s1".into());
    shop.engine.execute(&agent, call).await.unwrap();
    let owners = shop.puppets.owners.lock().unwrap().clone();
    assert_eq!(
        owners,
        [
            Owner::Shared,
            Owner::Principal("key:k1".into()),
            Owner::Session("key:k1/s1".into()),
        ]
    );
}

#[tokio::test]
async fn a_large_result_is_read_page_by_page_by_its_caller_alone() {
    let shop = Workshop::open(&format!("{SERVERS}results: {{maxTokens: 100}}\n")).await;
    let long = "a line of the result\n".repeat(100);
    shop.puppets
        .answer("github:list_issues", Answers::Result(text(&long)));
    let mut answer = answered(
        shop.run("github:list_issues", TITLE, CallOptions::default())
            .await
            .unwrap(),
    );
    let mut read = String::new();
    loop {
        let value: serde_json::Value = serde_json::from_str(answer.result.get()).unwrap();
        read.push_str(value["content"][0]["text"].as_str().unwrap());
        let Some(rest) = answer.rest.take() else {
            break;
        };
        let page = CallOptions {
            page: Some(rest.page),
            ..CallOptions::default()
        };
        let stranger = shop
            .run_as(&keyed(&["*"]), "github:list_issues", "{}", page.clone())
            .await;
        assert_eq!(refused(stranger).code, Code::ResultExpired);
        answer = answered(shop.run("github:list_issues", "{}", page).await.unwrap());
    }
    assert_eq!(read, long);
    assert_eq!(shop.calls().len(), 1, "the tool is not called again");
    let gone = CallOptions {
        page: Some("x.1".into()),
        ..CallOptions::default()
    };
    assert_eq!(
        refused(shop.run("github:list_issues", "{}", gone).await).code,
        Code::ResultExpired
    );
}

#[tokio::test(start_paused = true)]
async fn the_rest_of_a_result_is_kept_as_long_as_configured_and_for_those_who_may_run_its_tool() {
    let _still = Still::new();
    let settings = "results: {maxTokens: 100, keepMinutes: 3}\n";
    let shop = Workshop::open(&format!("{SERVERS}{settings}")).await;
    let long = "a line of the result\n".repeat(100);
    shop.puppets
        .answer("github:list_issues", Answers::Result(text(&long)));
    let caller = keyed(&["github:*"]);
    let first = shop.run_as(&caller, "github:list_issues", TITLE, key("k"));
    let rest = answered(first.await.unwrap()).rest.unwrap();
    let page = CallOptions {
        page: Some(rest.page),
        ..CallOptions::default()
    };
    let narrowed = keyed(&["notes-v2:*"]);
    let read = async |caller| {
        let page = page.clone();
        shop.run_as(caller, "github:list_issues", "{}", page).await
    };
    assert_eq!(refused(read(&narrowed).await).code, Code::ResultExpired);
    assert!(read(&caller).await.is_ok());
    tokio::time::advance(Duration::from_secs(179)).await;
    assert!(read(&caller).await.is_ok());
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(refused(read(&caller).await).code, Code::ResultExpired);
}

#[tokio::test]
async fn a_caller_that_goes_away_before_the_decision_leaves_its_record() {
    let puppets = Arc::new(Puppets::default());
    puppets.list("github", Lists::Hangs);
    let shop = Workshop::with(SERVERS, puppets).await;
    let (engine, local) = (shop.engine.clone(), shop.local());
    let call = execution("github:list_issues", TITLE);
    let task = tokio::spawn(async move { engine.execute(&local, call).await });
    until(|| !shop.puppets.seen().is_empty()).await;
    task.abort();
    let records = loop {
        let records = shop.records().await;
        if !records.is_empty() {
            break records;
        }
        tokio::task::yield_now().await;
    };
    let record = &records[0].record;
    assert_eq!(record.outcome, Recorded::Cancelled);
    assert_eq!(record.tool_id, "github:list_issues");
    assert_eq!(shop.calls().len(), 0);
}

#[tokio::test]
async fn a_filter_that_cannot_be_used_is_refused_before_the_call() {
    let shop = Workshop::open(SERVERS).await;
    let select = CallOptions {
        select: Some(".".repeat(SELECT_FILTER_BYTES_MAX + 1)),
        ..CallOptions::default()
    };
    let error = refused(shop.run("github:list_issues", TITLE, select).await);
    assert_eq!(error.code, Code::ValidationError);
    assert_eq!(shop.calls(), Vec::<String>::new());
    assert_eq!(shop.records().await.len(), 1);
}
