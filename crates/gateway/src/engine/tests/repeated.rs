//! Calls that were sent more than once: nobody is left to believe that it was once.

use serde_json::json;
use toolcrib_upstream::mcp::Failure;

use crate::engine::ask::CallOptions;
use crate::engine::fixture::{Answers, SERVERS, Workshop, answered, refused};

const TITLE: &str = r#"{"title": "x"}"#;

#[tokio::test]
async fn a_call_that_was_sent_more_than_once_says_so_to_its_caller_and_in_its_record() {
    let shop = Workshop::open(SERVERS).await;
    let run = async |answer| {
        shop.puppets.answer("github:createIssue", answer);
        shop.run("github:createIssue", TITLE, CallOptions::default())
            .await
    };
    let broken = || Box::new(Answers::Fails(Failure::Broken("reset".into())));
    let error = refused(run(Answers::Sent(3, broken())).await);
    assert_eq!(
        error.message,
        "Tool execution failed: the connection to its server broke before an answer came; it was sent 4 times."
    );
    let single = refused(run(Answers::Sent(0, broken())).await);
    assert!(!single.message.contains("sent"), "{single}");
    let works = Answers::Result(json!({"content": []}));
    answered(run(Answers::Sent(1, Box::new(works))).await.unwrap());
    let records = shop.records().await;
    let reasons: Vec<_> = records.iter().map(|r| r.record.reason.as_str()).collect();
    let [four, one, two] = reasons[..] else {
        panic!("{reasons:?}")
    };
    assert!(four.ends_with("; sent 4 times"), "{four}");
    assert!(!one.contains("sent"), "{one}");
    assert!(two.ends_with("; sent 2 times"), "{two}");
}
