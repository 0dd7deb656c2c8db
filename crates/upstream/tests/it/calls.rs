//! Calls: what goes along with them, both ways, and how they end.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use toolcrib_upstream::mcp::{Call, CallError, Client, Failure, Key};

use crate::fixture::{Person, arrived, call, call_with, endpoint, permit, pool, raw};

/// The text of a result's first content.
fn text(result: &str) -> String {
    let result: Value = serde_json::from_str(result).unwrap();
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_keeps_everything_that_was_in_it() {
    for era in ["legacy", "modern"] {
        let pool = pool(endpoint(&format!("--era {era}")));
        let result = call(&pool, "echo", r#"{"z":1.50,"a":[1e2,null]}"#)
            .await
            .unwrap();
        for part in [
            r#""x-unknown":1}"#,
            r#"{"type":"image","data":"AA==","mimeType":"image/png"}"#,
            r#"{"type":"audio","data":"AA==","mimeType":"audio/wav"}"#,
            r#"{"type":"resource_link","uri":"x:1","name":"one"}"#,
            r#"{"type":"resource","resource":{"uri":"x:1","text":"one"}}"#,
            r#"{"type":"x-new","z":1,"a":2.0}"#,
            r#""structuredContent":{"z":1.5,"a":[100.0,null]},"_meta":{"vendor/y":"#,
        ] {
            assert!(result.contains(part), "{era}: {part} is not in {result}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_the_server_comes_through_as_it_is() {
    let pool = pool(endpoint(""));
    let error = call(&pool, "refuse", "{}").await.unwrap_err();
    let CallError::Fault(fault) = error else {
        panic!("{error}")
    };
    assert_eq!(
        (fault.code, fault.message.as_str()),
        (-32602, "the arguments do not please me")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_cancelled_or_given_up_is_taken_back_from_the_server() {
    for era in ["legacy", "modern"] {
        let directory = tempfile::tempdir().unwrap();
        let effects = directory.path().join("effects");
        let flags = format!("--era {era} --effects {}", effects.display());
        let pool = pool(endpoint(&flags));
        let cancel = CancellationToken::new();
        let (cancelled, ()) = tokio::join!(
            call_with(&pool, "never", "{}", true, |call| call.cancel =
                cancel.clone()),
            async {
                arrived(&effects, 1).await;
                cancel.cancel();
            }
        );
        assert!(matches!(
            cancelled.unwrap_err().failure(),
            Some(Failure::Cancelled)
        ));
        tokio::select! {
            answer = call(&pool, "never", "{}") => panic!("{answer:?}"),
            () = arrived(&effects, 2) => {}
        }
        let told: Vec<i64> =
            serde_json::from_str(&text(&call(&pool, "cancelled", "{}").await.unwrap())).unwrap();
        assert_eq!(told.len(), 2, "{era}: {told:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_comes_back_under_the_token_of_its_caller() {
    for era in ["legacy", "modern"] {
        let pool = pool(endpoint(&format!("--era {era}")));
        let tokens = [r#""a""#, r#""a""#, "7"];
        let people: Vec<_> = tokens.iter().map(|_| Arc::new(Person::default())).collect();
        let metas: Vec<_> = tokens
            .iter()
            .map(|token| raw(&format!(r#"{{"progressToken":{token},"x":1}}"#)))
            .collect();
        let calls = people.iter().zip(&metas).map(|(person, meta)| {
            call_with(&pool, "progress", "{}", false, |call| {
                call.client = Some(Arc::clone(person) as Arc<dyn Client>);
                call.meta = Some(meta.clone());
            })
        });
        for result in futures::future::join_all(calls).await {
            result.unwrap();
        }
        for (person, token) in people.iter().zip(tokens) {
            let expected: Vec<_> = (1..=3)
                .map(|n| format!(r#"notifications/progress {{"progressToken":{token},"progress":{n},"total":3,"x":{{"b":1}}}}"#))
                .collect();
            assert_eq!(*person.heard.lock().unwrap(), expected);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn log_messages_reach_the_client_behind_the_call() {
    let pool = pool(endpoint(""));
    let person = Arc::new(Person::default());
    let client = Arc::clone(&person) as Arc<dyn Client>;
    call_with(&pool, "log", "{}", false, |call| call.client = Some(client))
        .await
        .unwrap();
    let heard = person.heard.lock().unwrap().clone();
    assert_eq!(
        heard,
        [r#"notifications/message {"level":"info","data":"working"}"#]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_asks_the_one_client_that_owns_the_connection_and_nobody_else() {
    let check = async |era: &str, key: Key, person: bool, tool: &str, expected: &str| {
        let pool = pool(endpoint(&format!("--era {era}")));
        let client = Arc::new(Person::default());
        let result = call_with(&pool, tool, "{}", false, |call| {
            call.key = key;
            call.client = person.then(|| Arc::clone(&client) as Arc<dyn Client>);
        });
        let result = match result.await {
            Ok(result) => text(&result),
            Err(error) => error.to_string(),
        };
        assert!(result.contains(expected), "{era} {tool}: {result}");
        std::mem::take(&mut *client.heard.lock().unwrap())
    };
    let accepted = r#"{"action":"accept","content":{"name":"Ada"}}"#;
    let owned = [
        Key::Sole,
        Key::Principal("a".to_owned()),
        Key::Session("s".to_owned()),
    ];
    for key in owned {
        let heard = check("legacy", key.clone(), true, "elicit", accepted).await;
        assert_eq!(
            heard,
            [r#"elicitation/create {"message":"Your name?","z":1}"#]
        );
    }
    check("legacy", Key::Sole, true, "sample", accepted).await;
    check("legacy", Key::Sole, true, "roots", "no roots for you").await;
    let heard = check(
        "legacy",
        Key::Shared,
        true,
        "elicit",
        "is refused: this connection is shared",
    )
    .await;
    assert!(heard.is_empty());
    check("legacy", Key::Sole, false, "elicit", "that cannot be asked").await;
    // The modern era asks in the answer to a request, so that it is always clear whom.
    let heard = check(
        "modern",
        Key::Shared,
        true,
        "elicit",
        &format!(r#"{{"q":{accepted}}}"#),
    )
    .await;
    assert_eq!(
        heard,
        [r#"elicitation/create {"message":"Your name?","z":1}"#]
    );
    check(
        "modern",
        Key::Shared,
        false,
        "elicit",
        "nobody is there to be asked",
    )
    .await;
    check("modern", Key::Shared, true, "roots", "no roots for you").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_never_answers_holds_up_nobody_else() {
    for era in ["legacy", "modern"] {
        let pool = pool(endpoint(&format!("--era {era}")));
        let person: Arc<dyn Client> = Arc::new(Person {
            silent: true,
            ..Person::default()
        });
        let arguments = raw("{}");
        let mut asked = Call::new(Key::Sole, &arguments);
        asked.client = Some(person);
        let short = permit("elicit", "{}", false, Duration::from_secs(3));
        let (asked, other) = tokio::join!(
            pool.call(short, asked),
            call_with(&pool, "echo", "{}", false, |call| call.key = Key::Sole)
        );
        assert!(
            asked.unwrap_err().to_string().contains("did not answer"),
            "{era}"
        );
        other.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_sees_the_short_environment() {
    let pool = pool(endpoint(""));
    let names = text(&call(&pool, "env", "{}").await.unwrap());
    assert!(names.split(' ').any(|name| name == "PATH"), "{names}");
    assert!(!names.contains("CARGO"), "{names}");
}
