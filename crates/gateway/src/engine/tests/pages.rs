//! What is kept of large results: who may read it, and that it is written down.

use toolcrib_core::Code;
use toolcrib_store::audit::{Decision, Outcome as Recorded};

use crate::engine::ask::CallOptions;
use crate::engine::fixture::{Answers, SERVERS, Workshop, answered, refused, text};

const SMALL: &str = "results: {maxTokens: 100}\n";

/// A workshop that keeps the rest of a result, and how the rest is asked for.
async fn with_rest() -> (Workshop, CallOptions) {
    let shop = Workshop::open(&format!("{SERVERS}{SMALL}")).await;
    let long = "a line of the result\n".repeat(100);
    shop.puppets
        .answer("github:list_issues", Answers::Result(text(&long)));
    let title = r#"{"title": "x"}"#;
    let first = shop.run("github:list_issues", title, CallOptions::default());
    let rest = answered(first.await.unwrap()).rest.unwrap();
    let page = CallOptions {
        page: Some(rest.page),
        ..CallOptions::default()
    };
    (shop, page)
}

#[tokio::test]
async fn a_page_of_a_kept_result_leaves_its_record() {
    let (shop, page) = with_rest().await;
    let part = shop.run("github:list_issues", "{}", page).await.unwrap();
    let gone = CallOptions {
        page: Some("00.1".into()),
        ..CallOptions::default()
    };
    refused(shop.run("github:list_issues", "{}", gone).await);
    let records = shop.records().await;
    let found: Vec<_> = records
        .iter()
        .map(|r| (r.record.outcome, r.record.decision))
        .collect();
    assert_eq!(
        found,
        [
            (Recorded::Ok, Decision::Allowed),
            (Recorded::Ok, Decision::Allowed),
            (Recorded::Refused, Decision::Refused),
        ]
    );
    let read = &records[1].record;
    assert_eq!(read.request_id, part.request_id);
    assert_eq!(read.reason, "a kept result was read");
    assert_eq!(read.tool_id, "github:list_issues");
    let bytes = answered(part).result.get().len();
    assert_eq!(read.response_bytes, i64::try_from(bytes).ok());
    assert_eq!(
        records[2].record.error_code.as_deref(),
        Some("RESULT_EXPIRED")
    );
    assert_eq!(shop.calls().len(), 1);
}

#[tokio::test]
async fn a_result_kept_before_its_tool_was_switched_off_is_not_given_any_more() {
    let (shop, page) = with_rest().await;
    let off = "toolRules: [{pattern: ['list_*'], enabled: false}]\n";
    let config = shop.config(&format!("{SERVERS}{SMALL}{off}"));
    shop.engine.reload(config).await.unwrap();
    let read = async || {
        let page = page.clone();
        shop.run("github:list_issues", "{}", page).await
    };
    assert_eq!(refused(read().await).code, Code::ToolDisabled);
    let config = shop.config(&format!("{SERVERS}{SMALL}"));
    shop.engine.reload(config).await.unwrap();
    assert!(read().await.is_ok());
}
