//! A person's word on one call.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::json;
use serde_json::value::RawValue;
use toolcrib_config::load::Config;
use toolcrib_core::Code;
use toolcrib_core::limits::{
    CONFIRMATION_QUESTION_CHARS_MAX, CONFIRMATIONS_PENDING_MAX, IDEMPOTENCY_KEY_BYTES_MAX,
};
use toolcrib_core::rpc::Fault;
use toolcrib_store::approval::{State, Target, Verdict};
use toolcrib_upstream::mcp::Failure;

use crate::engine::Engine;
use crate::engine::ask::CallOptions;
use crate::engine::definition::raw;
use crate::engine::error::Error;
use crate::engine::fixture::{
    Answers, SERVERS, Workshop, answered, execution, key, keyed, refused,
};
use crate::engine::upstream::Client;

const TITLE: &str = r#"{"title": "x", "password": "hunter2"}"#;
const RELAXED: &str = "policy: {strictArguments: false}\n";

/// A caller whose calls a person has to confirm.
fn agent() -> toolcrib_core::policy::Caller {
    toolcrib_core::policy::Caller {
        strict_arguments: false,
        ..keyed(&["*"])
    }
}

#[tokio::test]
async fn the_callers_own_word_counts_where_a_flag_is_enough() {
    let shop = Workshop::open(SERVERS).await;
    let flagged = CallOptions {
        confirmed: true,
        ..key("k")
    };
    answered(
        shop.run("github:delete_repo", TITLE, flagged.clone())
            .await
            .unwrap(),
    );
    let error = refused(
        shop.run_as(&agent(), "github:delete_repo", TITLE, flagged)
            .await,
    );
    assert_eq!(
        error.code,
        Code::ConfirmationRequired,
        "a flag is not a person"
    );
}

#[tokio::test]
async fn a_person_settles_a_challenge_that_is_good_for_one_call() {
    let shop = Workshop::open(&format!("{SERVERS}{RELAXED}")).await;
    let first = refused(
        shop.run_as(&agent(), "github:delete_repo", TITLE, key("k1"))
            .await,
    );
    let challenge = first.more.challenge.clone().unwrap();
    let again = refused(
        shop.run_as(&agent(), "github:delete_repo", TITLE, key("k1"))
            .await,
    );
    assert_eq!(
        again.more.challenge.as_ref().unwrap().id,
        challenge.id,
        "one question"
    );
    let target = Target::Id(challenge.id.clone());
    let shown = shop
        .store
        .show_approvals(&target, shop.clock.now_ms())
        .await
        .unwrap();
    assert_eq!(shown[0].request.detail, r#"{"title":"x","password":"***"}"#);
    shop.store
        .settle_approvals(&target, Verdict::Approve, "ann", shop.clock.now_ms())
        .await
        .unwrap();
    let other = refused(
        shop.run_as(
            &agent(),
            "github:delete_repo",
            r#"{"title": "y"}"#,
            key("k2"),
        )
        .await,
    );
    assert_eq!(
        other.code,
        Code::ConfirmationRequired,
        "not for other arguments"
    );
    answered(
        shop.run_as(&agent(), "github:delete_repo", TITLE, key("k1"))
            .await
            .unwrap(),
    );
    let named = CallOptions {
        challenge: Some(challenge.id.clone()),
        ..key("k3")
    };
    let spent = refused(
        shop.run_as(&agent(), "github:delete_repo", TITLE, named)
            .await,
    );
    assert_eq!(spent.code, Code::ConfirmationRequired, "good once");
    assert_ne!(spent.more.challenge.unwrap().id, challenge.id);
    assert_eq!(shop.calls().len(), 1);
}

/// Lets a person say yes to what a refusal waits for.
async fn approve(shop: &Workshop, refused: &Error) {
    let target = Target::Id(refused.more.challenge.clone().unwrap().id);
    let now_ms = shop.clock.now_ms();
    let settled = shop
        .store
        .settle_approvals(&target, Verdict::Approve, "ann", now_ms);
    assert_eq!(settled.await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_answer_that_is_given_again_needs_no_second_word() {
    let shop = Workshop::open(&format!("{SERVERS}{RELAXED}")).await;
    let run = async |options| {
        shop.run_as(&agent(), "github:delete_repo", TITLE, options)
            .await
    };
    approve(&shop, &refused(run(key("k")).await)).await;
    let first = answered(run(key("k")).await.unwrap());
    let again = answered(run(key("k")).await.unwrap());
    assert!(!first.replayed && again.replayed);
    assert_eq!(shop.calls().len(), 1);
    let waiting = shop
        .store
        .approvals(Some(State::Pending), shop.clock.now_ms());
    assert_eq!(waiting.await.unwrap(), [], "nobody is asked");
    // A key that was used for other arguments says so before anybody is asked, too.
    let other = r#"{"title": "y"}"#;
    let conflict = shop
        .run_as(&agent(), "github:delete_repo", other, key("k"))
        .await;
    assert_eq!(refused(conflict).code, Code::IdempotencyConflict);
    // What was cut off is told and not asked about.
    approve(&shop, &refused(run(key("k2")).await)).await;
    shop.puppets.answer(
        "github:delete_repo",
        Answers::Fails(Failure::Broken("reset".into())),
    );
    refused(run(key("k2")).await);
    let unknown = refused(run(key("k2")).await);
    assert_eq!(unknown.code, Code::IdempotencyUnknown);
    let earlier = unknown.more.earlier.unwrap().request_id;
    assert!(unknown.suggestion.unwrap().contains(&earlier));
    assert_eq!(shop.calls().len(), 2);
    // A caller that may not run it any more is not given the answer either.
    let narrowed = toolcrib_core::policy::Caller {
        scopes: toolcrib_core::policy::ScopeSet::none(),
        ..agent()
    };
    let hidden = shop
        .run_as(&narrowed, "github:delete_repo", TITLE, key("k"))
        .await;
    let code = refused(hidden).code;
    assert!(matches!(code, Code::ServerNotFound | Code::ToolNotFound));
}

/// A person who is asked, and before they say yes the configuration changes.
struct Slow {
    engine: Arc<Engine>,
    config: Arc<Config>,
}

impl std::fmt::Debug for Slow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Slow")
    }
}

impl Client for Slow {
    fn request<'a>(
        &'a self,
        _method: &'a str,
        _params: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, Fault>> {
        Box::pin(async {
            self.engine.reload(Arc::clone(&self.config)).await.unwrap();
            Ok(raw(
                &json!({"action": "accept", "content": {"confirm": true}}),
            ))
        })
    }

    fn notify(&self, _method: &str, _params: Option<&RawValue>) {}

    fn capabilities(&self) -> Box<RawValue> {
        raw(&json!({"elicitation": {}}))
    }
}

#[tokio::test]
async fn a_yes_counts_only_for_what_may_still_be_run() {
    for (change, code) in [
        ("", None),
        (
            "toolRules: [{pattern: ['delete_*'], enabled: false}]\n",
            Some(Code::ToolDisabled),
        ),
    ] {
        let shop = Workshop::open(&format!("{SERVERS}{RELAXED}")).await;
        let mut call = execution("github:delete_repo", TITLE);
        call.options = key("k");
        call.client = Some(Arc::new(Slow {
            engine: Arc::clone(&shop.engine),
            config: shop.config(&format!("{SERVERS}{RELAXED}{change}")),
        }));
        let outcome = shop.engine.execute(&agent(), call).await;
        let called = usize::from(code.is_none());
        assert_eq!(outcome.err().map(|error| error.code), code);
        assert_eq!(shop.calls().len(), called);
        assert_eq!(shop.records().await.len(), 1);
    }
}

#[tokio::test]
async fn a_no_holds_and_the_same_question_is_not_put_again() {
    let shop = Workshop::open(&format!("{SERVERS}{RELAXED}")).await;
    let first = refused(
        shop.run_as(&agent(), "github:delete_repo", TITLE, key("k"))
            .await,
    );
    let target = Target::Id(first.more.challenge.unwrap().id);
    shop.store
        .settle_approvals(&target, Verdict::Reject, "ann", shop.clock.now_ms())
        .await
        .unwrap();
    let second = refused(
        shop.run_as(&agent(), "github:delete_repo", TITLE, key("k"))
            .await,
    );
    assert_eq!(second.message, "A person refused to confirm this call.");
    assert_eq!(second.more.challenge, None);
    assert_eq!(shop.calls(), Vec::<String>::new());
}

#[derive(Debug)]
struct Asker {
    answer: serde_json::Value,
    capable: bool,
}

impl Client for Asker {
    fn request<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, Fault>> {
        assert_eq!(method, "elicitation/create");
        assert!(!params.unwrap().get().contains("hunter2"));
        Box::pin(async { Ok(raw(&self.answer)) })
    }

    fn notify(&self, _method: &str, _params: Option<&RawValue>) {}

    fn capabilities(&self) -> Box<RawValue> {
        raw(&if self.capable {
            json!({"elicitation": {}})
        } else {
            json!({})
        })
    }
}

#[tokio::test]
async fn a_client_that_can_ask_its_person_does() {
    for (capable, answer, code) in [
        (
            true,
            json!({"action": "accept", "content": {"confirm": true}}),
            None,
        ),
        (
            true,
            json!({"action": "accept", "content": {"confirm": false}}),
            Some(false),
        ),
        (true, json!({"action": "decline"}), Some(false)),
        (true, json!({"action": "cancel"}), Some(true)),
        (
            false,
            json!({"action": "accept", "content": {"confirm": true}}),
            Some(true),
        ),
    ] {
        let shop = Workshop::open(&format!("{SERVERS}{RELAXED}")).await;
        let mut call = execution("github:delete_repo", TITLE);
        call.options = key("k");
        call.client = Some(Arc::new(Asker {
            answer: answer.clone(),
            capable,
        }));
        let outcome = shop.engine.execute(&agent(), call).await;
        match code {
            None => drop(answered(outcome.unwrap())),
            Some(open) => {
                let error = refused(outcome);
                assert_eq!(error.code, Code::ConfirmationRequired);
                assert_eq!(error.more.challenge.is_some(), open, "{answer}");
            }
        }
    }
}

/// Says yes to everything, and keeps what it was asked.
#[derive(Debug, Default)]
struct Yes(std::sync::Mutex<Vec<String>>);

impl Client for Yes {
    fn request<'a>(
        &'a self,
        _method: &'a str,
        params: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, Fault>> {
        let asked: serde_json::Value = serde_json::from_str(params.unwrap().get()).unwrap();
        let message = asked["message"].as_str().unwrap().to_owned();
        self.0.lock().unwrap().push(message);
        Box::pin(async {
            Ok(raw(
                &json!({"action": "accept", "content": {"confirm": true}}),
            ))
        })
    }

    fn notify(&self, _method: &str, _params: Option<&RawValue>) {}

    fn capabilities(&self) -> Box<RawValue> {
        raw(&json!({"elicitation": {}}))
    }
}

#[tokio::test]
async fn a_person_is_asked_only_about_what_the_question_shows_whole() {
    let around = r#"{"title":""}"#.len();
    let fits = "x".repeat(CONFIRMATION_QUESTION_CHARS_MAX - around);
    for (title, shown) in [
        (fits.clone(), Some(fits.clone())),
        (format!("{fits}y"), None),
        (
            "a\u{202e}b\u{200b}c".to_owned(),
            Some("a\\u{202e}b\\u{200b}c".to_owned()),
        ),
    ] {
        let shop = Workshop::open(&format!("{SERVERS}{RELAXED}")).await;
        let client = Arc::new(Yes::default());
        let mut call = execution("github:delete_repo", &json!({ "title": title }).to_string());
        call.options = key("k");
        call.client = Some(client.clone());
        let outcome = shop.engine.execute(&agent(), call).await;
        let asked = client.0.lock().unwrap().clone();
        if let Some(shown) = shown {
            drop(answered(outcome.unwrap()));
            let question = format!("Run github:delete_repo with {{\"title\":\"{shown}\"}}?");
            assert_eq!(asked, [question]);
        } else {
            let error = refused(outcome);
            assert_eq!(error.code, Code::ConfirmationRequired);
            assert!(error.more.challenge.is_some());
            assert_eq!(asked, Vec::<String>::new());
        }
    }
}

#[tokio::test]
async fn a_client_cannot_say_yes_by_itself_where_its_answer_does_not_count() {
    let policy = "policy: {strictArguments: false, elicitation: false}\n";
    let shop = Workshop::open(&format!("{SERVERS}{policy}")).await;
    let client = Arc::new(Yes::default());
    let run = async || {
        let mut call = execution("github:delete_repo", TITLE);
        call.options = key("k");
        call.client = Some(client.clone());
        shop.engine.execute(&agent(), call).await
    };
    let error = refused(run().await);
    assert_eq!(error.code, Code::ConfirmationRequired);
    assert_eq!(*client.0.lock().unwrap(), Vec::<String>::new());
    approve(&shop, &error).await;
    answered(run().await.unwrap());
}

#[tokio::test]
async fn a_call_about_which_nobody_can_be_asked_leaves_its_record_too() {
    let shop = Workshop::open(&format!("{SERVERS}{RELAXED}")).await;
    let run = async |title: &str, name: &str| {
        let arguments = json!({ "title": title }).to_string();
        let outcome = shop
            .run_as(&agent(), "github:delete_repo", &arguments, key(name))
            .await;
        refused(outcome).code
    };
    let long = "k".repeat(IDEMPOTENCY_KEY_BYTES_MAX + 1);
    assert_eq!(run("0", &long).await, Code::ConfirmationRequired);
    for number in 1..CONFIRMATIONS_PENDING_MAX {
        let code = run(&number.to_string(), "k").await;
        assert_eq!(code, Code::ConfirmationRequired);
    }
    assert_eq!(run("one more", "k").await, Code::Overloaded);
    let records = shop.records().await;
    let calls = usize::try_from(CONFIRMATIONS_PENDING_MAX).unwrap() + 1;
    assert_eq!(records.len(), calls);
    let last = &records.last().unwrap().record;
    assert_eq!(last.error_code.as_deref(), Some("OVERLOADED"));
}

#[tokio::test]
async fn a_call_that_never_reached_its_server_does_not_use_up_a_yes() {
    let shop = Workshop::open(&format!("{SERVERS}{RELAXED}")).await;
    let run = async || {
        shop.run_as(&agent(), "github:delete_repo", TITLE, key("k"))
            .await
    };
    approve(&shop, &refused(run().await)).await;
    let away = Answers::Away(Failure::Unreachable("refused".into()));
    shop.puppets.answer("github:delete_repo", away);
    assert_eq!(refused(run().await).code, Code::ToolExecutionError);
    let there = Answers::Result(json!({"content": []}));
    shop.puppets.answer("github:delete_repo", there);
    answered(run().await.unwrap());
    let spent = shop
        .run_as(&agent(), "github:delete_repo", TITLE, key("k2"))
        .await;
    assert_eq!(refused(spent).code, Code::ConfirmationRequired, "good once");
}
