//! A person's word on one call.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::json;
use serde_json::value::RawValue;
use toolcrib_core::Code;
use toolcrib_core::rpc::Fault;
use toolcrib_store::approval::{Target, Verdict};

use crate::engine::ask::CallOptions;
use crate::engine::definition::raw;
use crate::engine::fixture::{SERVERS, Workshop, answered, execution, key, keyed, refused};
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
