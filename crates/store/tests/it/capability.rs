//! Capabilities, and introspected servers put before a person.

use std::collections::HashMap;

use toolcrib_core::limits::DEFINITION_BYTES_MAX;
use toolcrib_core::policy::ApprovalMode;
use toolcrib_store::approval::introduction::Introduction;
use toolcrib_store::approval::judgement::Standing;
use toolcrib_store::approval::observation::{Definition, Observation};
use toolcrib_store::approval::{Kind, State as Asked, Target, Verdict};
use toolcrib_store::capability::{Capability, Filter, State};
use toolcrib_store::{Store, StoreError};

use crate::fixture::{Home, NOW};

const WEEK: i64 = 7 * 24 * 60 * 60 * 1_000;

fn capability(tool: &str, version: &str) -> Capability {
    Capability {
        server: "gh".into(),
        tool: tool.into(),
        hash: format!("hash-{version}"),
        id: format!("mcp.gh.{tool}"),
        manifest: format!("{{\"version\":\"{version}\"}}"),
    }
}

/// Tools written `name=version`.
fn list(tools: &str) -> Observation {
    let tools = tools.split_whitespace().map(|word| {
        let (tool, version) = word.split_once('=').unwrap();
        Definition {
            tool: tool.into(),
            hash: format!("hash-{version}"),
            definition: format!("{tool} does {version}"),
        }
    });
    Observation {
        server: "gh".into(),
        tools: tools.collect(),
        mode: ApprovalMode::Changed,
        first_list_accepted: false,
    }
}

fn introduction() -> Introduction {
    Introduction {
        detail: "all about it".into(),
        expires_ms: NOW + WEEK,
    }
}

async fn settle(store: &Store, verdict: Verdict, now: i64) -> usize {
    let target = Target::Server("gh".into());
    let settled = store.settle_approvals(&target, verdict, "ann", now).await;
    settled.unwrap().len()
}

async fn standing(store: &Store, tool: &str) -> Vec<(String, State)> {
    let filter = Filter {
        server: Some("gh".into()),
        id: Some(format!("mcp.gh.{tool}")),
        state: None,
    };
    let found = store.capabilities(&filter).await.unwrap();
    let mut found: Vec<_> = found
        .into_iter()
        .map(|one| (one.capability.hash, one.state))
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

#[tokio::test]
async fn a_capability_is_approved_exactly_while_its_definition_is() {
    let home = Home::new();
    let store = home.open().await;
    assert_eq!(
        store.keep_capability(capability("a", "1"), NOW).await,
        Ok(State::Known)
    );
    let introduced = store
        .introduce(list("a=1"), introduction(), NOW)
        .await
        .unwrap();
    assert!(introduced.server_waits);
    assert_eq!(introduced.tools[0].standing, Standing::PendingNew);
    assert_eq!(settle(&store, Verdict::Approve, NOW + 1).await, 2);
    assert_eq!(
        standing(&store, "a").await,
        [("hash-1".into(), State::Approved)]
    );
    let pins = store.accepted_definitions("gh").await.unwrap();
    assert_eq!((pins.len(), pins[0].definition.as_str()), (1, "a does 1"));

    store
        .keep_capability(capability("a", "2"), NOW)
        .await
        .unwrap();
    let introduced = store
        .introduce(list("a=2"), introduction(), NOW)
        .await
        .unwrap();
    assert!(!introduced.server_waits, "the server itself was approved");
    assert_eq!(introduced.tools[0].standing, Standing::PendingChanged);
    assert_eq!(settle(&store, Verdict::Approve, NOW + 2).await, 1);
    let archived = [
        ("hash-1".into(), State::Archived),
        ("hash-2".into(), State::Approved),
    ];
    assert_eq!(standing(&store, "a").await, archived);
    // Kept again, it is what it is.
    assert_eq!(
        store.keep_capability(capability("a", "2"), NOW).await,
        Ok(State::Approved)
    );

    store
        .introduce(list("a=3"), introduction(), NOW)
        .await
        .unwrap();
    store
        .keep_capability(capability("a", "3"), NOW)
        .await
        .unwrap();
    assert_eq!(settle(&store, Verdict::Reject, NOW + 3).await, 1);
    let approved = Filter {
        state: Some(State::Approved),
        ..Filter::default()
    };
    let all = store.capabilities(&approved).await.unwrap();
    assert_eq!(all[0].capability.hash, "hash-2");
    store.close().await;
}

#[tokio::test]
async fn the_question_about_a_server_expires_and_can_be_asked_again() {
    let home = Home::new();
    let store = home.open().await;
    let introduced = store
        .introduce(list("a=1 b=1"), introduction(), NOW)
        .await
        .unwrap();
    let after = NOW + WEEK;
    assert_eq!(
        store
            .approvals(Some(Asked::Pending), after - 1)
            .await
            .unwrap()
            .len(),
        3
    );
    assert_eq!(
        store
            .approvals(Some(Asked::Expired), after)
            .await
            .unwrap()
            .len(),
        3
    );
    assert_eq!(settle(&store, Verdict::Approve, after).await, 0, "too late");
    assert!(store.accepted_definitions("gh").await.unwrap().is_empty());
    store.purge(after).await.unwrap();

    let later = Introduction {
        detail: "again".into(),
        expires_ms: after + WEEK,
    };
    let again = store
        .introduce(list("a=1 b=1"), later, after)
        .await
        .unwrap();
    assert_eq!(again.request, introduced.request);
    assert_eq!(
        store
            .approvals(Some(Asked::Pending), after)
            .await
            .unwrap()
            .len(),
        3
    );
    assert_eq!(settle(&store, Verdict::Approve, after + 1).await, 3);
    let target = Target::Id(again.request.clone());
    let shown = store.show_approvals(&target, after).await.unwrap();
    assert_eq!(
        (shown[0].request.kind, shown[0].request.detail.as_str()),
        (Kind::Server, "again")
    );
    // What is said of an approved server outlives the history of other requests.
    store.purge(after + 100 * WEEK).await.unwrap();
    let left = store.approvals(None, after + 100 * WEEK).await.unwrap();
    assert_eq!(
        left.iter().map(|r| r.kind).collect::<Vec<_>>(),
        [Kind::Server]
    );
    store.close().await;
}

#[tokio::test]
async fn a_server_that_was_turned_down_can_be_introduced_again() {
    let home = Home::new();
    let store = home.open().await;
    store
        .introduce(list("a=1"), introduction(), NOW)
        .await
        .unwrap();
    assert_eq!(settle(&store, Verdict::Reject, NOW + 1).await, 1);
    let seen = store.observe(list("a=1"), NOW + 2).await.unwrap();
    assert_eq!(seen[0].standing, Standing::Rejected);
    let again = store
        .introduce(list("a=1"), introduction(), NOW + 3)
        .await
        .unwrap();
    assert_eq!(
        (again.server_waits, again.tools[0].standing),
        (true, Standing::PendingNew)
    );
    store.close().await;
}

#[tokio::test]
async fn what_is_too_long_is_refused() {
    let home = Home::new();
    let store = home.open().await;
    let long = "x".repeat(DEFINITION_BYTES_MAX + 1);
    let large = Capability {
        manifest: long.clone(),
        ..capability("a", "1")
    };
    let refused = store.keep_capability(large, NOW).await;
    assert!(matches!(refused, Err(StoreError::TooLong { .. })));
    let refused = store.introduce(
        list("a=1"),
        Introduction {
            detail: long,
            expires_ms: NOW,
        },
        NOW,
    );
    assert!(matches!(refused.await, Err(StoreError::TooLong { .. })));
    store.close().await;
}

#[tokio::test]
async fn what_an_approval_brings_about_is_remembered_until_it_is_done() {
    let home = Home::new();
    let store = home.open().await;
    assert_eq!(store.introduction("gh", NOW).await.unwrap(), None);
    assert!(store.introductions(NOW).await.unwrap().is_empty());
    store
        .introduce(list("a=1"), introduction(), NOW)
        .await
        .unwrap();
    assert!(store.unfinished_approvals().await.unwrap().is_empty());
    settle(&store, Verdict::Approve, NOW + 1).await;
    assert_eq!(store.unfinished_approvals().await.unwrap(), ["gh"]);
    let asked = store.introduction("gh", NOW).await.unwrap().unwrap();
    assert_eq!(
        (asked.state, asked.detail.as_str()),
        (Asked::Approved, "all about it")
    );
    let of_all = store.introductions(NOW).await.unwrap();
    assert_eq!(of_all, HashMap::from([("gh".to_owned(), asked)]));
    store.finish_approvals("gh", NOW + 2).await.unwrap();
    assert!(store.unfinished_approvals().await.unwrap().is_empty());
    store
        .introduce(list("a=2"), introduction(), NOW + 3)
        .await
        .unwrap();
    settle(&store, Verdict::Approve, NOW + 4).await;
    assert_eq!(store.unfinished_approvals().await.unwrap(), ["gh"]);
    store.close().await;
}
