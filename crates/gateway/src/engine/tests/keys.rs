//! Idempotency: the same key gives the same answer and has one effect.

use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use toolcrib_core::Code;
use toolcrib_store::approval::{Target, Verdict};
use toolcrib_store::audit::Outcome as Recorded;
use toolcrib_upstream::mcp::Failure;

use crate::engine::ask::{CallOptions, Execution};
use crate::engine::definition::raw;
use crate::engine::fixture::{
    Answers, SERVERS, Workshop, answered, execution, key, keyed, refused, text, until,
};
use crate::engine::upstream::Round;

const TITLE: &str = r#"{"title": "x"}"#;

#[tokio::test]
async fn the_same_key_gives_the_same_answer_without_calling() {
    let shop = Workshop::open(SERVERS).await;
    shop.puppets
        .answer("github:send_mail", Answers::Result(text("sent")));
    let first = answered(
        shop.run("github:send_mail", TITLE, key("k1"))
            .await
            .unwrap(),
    );
    shop.puppets
        .answer("github:send_mail", Answers::Result(text("sent twice")));
    let again = r#"{"title":"x"}"#;
    let second = answered(
        shop.run("github:send-mail", again, key("k1"))
            .await
            .unwrap(),
    );
    assert!(!first.replayed && second.replayed);
    assert_eq!(first.result.get(), second.result.get());
    assert_eq!(shop.calls().len(), 1);
    let outcomes: Vec<_> = shop
        .records()
        .await
        .iter()
        .map(|r| r.record.outcome)
        .collect();
    assert_eq!(outcomes, [Recorded::Ok, Recorded::Replayed]);
    let error = refused(
        shop.run("github:send_mail", r#"{"title": "y"}"#, key("k1"))
            .await,
    );
    assert_eq!(error.code, Code::IdempotencyConflict);
    assert!(error.more.earlier.is_some());
    let other = keyed(&["*"]);
    let theirs = answered(
        shop.run_as(&other, "github:send_mail", TITLE, key("k1"))
            .await
            .unwrap(),
    );
    assert!(!theirs.replayed, "another caller's key is another key");
}

#[tokio::test]
async fn what_the_tool_said_no_to_is_remembered_too() {
    let shop = Workshop::open(SERVERS).await;
    shop.puppets.answer(
        "github:send_mail",
        Answers::Fault(-32000, "no such address"),
    );
    let first = refused(shop.run("github:send_mail", TITLE, key("k")).await);
    shop.puppets.answer(
        "github:send_mail",
        Answers::Result(json!({"isError": true})),
    );
    let second = refused(shop.run("github:send_mail", TITLE, key("k")).await);
    assert_eq!(first.message, second.message);
    let failed = answered(
        shop.run("github:send_mail", TITLE, key("k2"))
            .await
            .unwrap(),
    );
    let again = answered(
        shop.run("github:send_mail", TITLE, key("k2"))
            .await
            .unwrap(),
    );
    assert!(failed.is_error && again.is_error && again.replayed);
    assert_eq!(shop.calls().len(), 2);
}

#[tokio::test]
async fn a_call_that_was_cut_off_is_never_run_again_under_its_key() {
    let shop = Workshop::open(SERVERS).await;
    shop.puppets.answer(
        "github:send_mail",
        Answers::Fails(Failure::Broken("reset".into())),
    );
    let first = refused(shop.run("github:send_mail", TITLE, key("k")).await);
    shop.puppets
        .answer("github:send_mail", Answers::Result(text("sent")));
    let second = refused(shop.run("github:send_mail", TITLE, key("k")).await);
    assert_eq!(second.code, Code::IdempotencyUnknown);
    assert_eq!(
        second.more.earlier.unwrap().request_id,
        first.request_id.unwrap()
    );
    assert_eq!(shop.calls().len(), 1);
}

#[tokio::test]
async fn a_call_that_had_no_effect_frees_its_key() {
    let shop = Workshop::open(SERVERS).await;
    shop.puppets.answer(
        "github:send_mail",
        Answers::Fails(Failure::Unreachable("refused".into())),
    );
    refused(shop.run("github:send_mail", TITLE, key("k")).await);
    shop.puppets
        .answer("github:send_mail", Answers::Result(text("sent")));
    let second = answered(shop.run("github:send_mail", TITLE, key("k")).await.unwrap());
    assert!(!second.replayed);
    assert_eq!(shop.calls().len(), 2);
}

#[tokio::test]
async fn a_second_call_waits_for_the_first_with_its_key() {
    let shop = Workshop::open(SERVERS).await;
    shop.puppets.answer("github:send_mail", Answers::Hangs);
    let start = |cancel: CancellationToken| {
        let (engine, local) = (shop.engine.clone(), shop.local());
        let mut call = execution("github:send_mail", TITLE);
        call.options = key("k");
        call.cancel = cancel;
        tokio::spawn(async move { engine.execute(&local, call).await })
    };
    let cancel = CancellationToken::new();
    let first = start(cancel.clone());
    until(|| !shop.calls().is_empty()).await;
    let second = start(CancellationToken::new());
    let third = CancellationToken::new();
    third.cancel();
    let third = refused(start(third).await.unwrap());
    assert_eq!(third.code, Code::Cancelled, "waiting can be given up");
    assert!(!second.is_finished());
    cancel.cancel();
    assert_eq!(refused(first.await.unwrap()).code, Code::Cancelled);
    assert_eq!(
        refused(second.await.unwrap()).code,
        Code::IdempotencyUnknown
    );
    assert_eq!(shop.calls().len(), 1);
    assert_eq!(shop.records().await.len(), 3);
}

#[tokio::test]
async fn a_server_that_could_not_be_reached_does_not_use_up_the_key() {
    let exited = Failure::Exited {
        status: "exit status: 1".into(),
        stderr: String::new(),
    };
    let resting = Failure::Resting {
        reason: "it ended".into(),
        seconds: 9,
    };
    let late = Failure::NotReady {
        after: Duration::from_mins(1),
        stderr: String::new(),
    };
    for failure in [exited, resting, late] {
        let shop = Workshop::open(SERVERS).await;
        let away = Answers::Away(failure.clone());
        shop.puppets.answer("github:send_mail", away);
        let error = refused(shop.run("github:send_mail", TITLE, key("k")).await);
        let advice = error.suggestion.as_deref().unwrap_or_default();
        assert!(
            advice.starts_with("The call had no effect"),
            "{error}: {advice}"
        );
        shop.puppets
            .answer("github:send_mail", Answers::Result(text("sent")));
        let sent = shop.run("github:send_mail", TITLE, key("k")).await;
        assert!(!answered(sent.unwrap()).replayed, "{failure}");
    }
}

/// A call of the stateless era, in its first round or a later one.
fn in_rounds(id: &str, options: CallOptions, state: Option<&str>) -> Execution {
    let mut call = execution(id, TITLE);
    call.options = options;
    call.round = Some(Round {
        responses: state.map(|_| raw(&json!({"who": {"action": "accept"}}))),
        state: state.map(|state| raw(&json!(state))),
    });
    call
}

fn question() -> Answers {
    Answers::Result(json!({
        "resultType": "input_required", "inputRequests": {"who": {}}, "requestState": "s1",
    }))
}

#[tokio::test]
async fn a_keyed_call_whose_server_asks_first_goes_on_under_its_key() {
    let shop = Workshop::open(SERVERS).await;
    let local = shop.local();
    shop.puppets.answer("github:send_mail", question());
    let run = async |state| {
        let call = in_rounds("github:send_mail", key("k"), state);
        answered(shop.engine.execute(&local, call).await.unwrap())
    };
    let first = run(None).await;
    assert!(first.result.get().contains("input_required"));
    shop.puppets
        .answer("github:send_mail", Answers::Result(text("sent")));
    let second = run(Some("s1")).await;
    assert!(second.result.get().contains("sent") && !second.replayed);
    let again = run(Some("s1")).await;
    assert!(
        again.replayed,
        "a final answer stays with its key: {again:?}"
    );
    assert_eq!(shop.calls().len(), 2);
}

#[tokio::test]
async fn a_question_that_nobody_can_answer_is_an_answer_like_any_other() {
    let shop = Workshop::open(SERVERS).await;
    shop.puppets.answer("github:send_mail", question());
    for replayed in [false, true] {
        let said = shop.run("github:send_mail", TITLE, key("k")).await.unwrap();
        assert_eq!(answered(said).replayed, replayed);
    }
    assert_eq!(shop.calls().len(), 1);
}

#[tokio::test]
async fn a_persons_word_holds_for_the_rounds_of_one_call() {
    let shop = Workshop::open(&format!(
        "{SERVERS}policy: {{confirmation: human, strictArguments: false}}\n"
    ))
    .await;
    let local = shop.local();
    shop.puppets.answer("github:delete_repo", question());
    let run = async |name: &str, state| {
        let call = in_rounds("github:delete_repo", key(name), state);
        shop.engine.execute(&local, call).await
    };
    let waits = refused(run("k", None).await);
    let target = Target::Id(waits.more.challenge.unwrap().id);
    let now_ms = shop.clock.now_ms();
    let settled = shop
        .store
        .settle_approvals(&target, Verdict::Approve, "ann", now_ms);
    settled.await.unwrap();
    answered(run("k", None).await.unwrap());
    shop.puppets
        .answer("github:delete_repo", Answers::Result(text("gone")));
    let second = answered(run("k", Some("s1")).await.unwrap());
    assert!(second.result.get().contains("gone"));
    let third = refused(run("k2", None).await);
    assert_eq!(
        third.code,
        Code::ConfirmationRequired,
        "the word is used up with the result"
    );
    assert_eq!(shop.calls().len(), 2);
}

#[tokio::test]
async fn a_rehearsal_says_that_its_key_would_be_refused() {
    let shop = Workshop::open(SERVERS).await;
    let rehearse = async |title: &str, name: &str| {
        let options = CallOptions {
            dry_run: true,
            ..key(name)
        };
        let arguments = json!({ "title": title }).to_string();
        shop.run("github:send_mail", &arguments, options).await
    };
    assert!(rehearse("x", "k").await.is_ok(), "the key is free");
    answered(shop.run("github:send_mail", TITLE, key("k")).await.unwrap());
    assert!(
        rehearse("x", "k").await.is_ok(),
        "its answer would be given"
    );
    let conflict = refused(rehearse("y", "k").await);
    assert_eq!(conflict.code, Code::IdempotencyConflict);
    let cut_off = Answers::Fails(Failure::Broken("reset".into()));
    shop.puppets.answer("github:send_mail", cut_off);
    refused(shop.run("github:send_mail", TITLE, key("k2")).await);
    let unknown = refused(rehearse("x", "k2").await);
    assert_eq!(unknown.code, Code::IdempotencyUnknown);
    assert_eq!(shop.calls().len(), 2);
    let records = shop.records().await;
    assert_eq!(records.len(), 6, "one for each");
}
