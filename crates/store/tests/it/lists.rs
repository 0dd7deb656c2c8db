//! The lists of many servers, held against what was accepted all at once.

use std::sync::{Arc, Mutex};

use toolcrib_core::policy::ApprovalMode;
use toolcrib_store::approval::judgement::Standing;
use toolcrib_store::approval::observation::{Definition, Observation};
use toolcrib_store::approval::{Target, Verdict};
use toolcrib_store::sqlite::Sqlite;
use toolcrib_store::{Store, StoreError};
use uuid::Uuid;

use crate::fault::{Hook, Hooked};
use crate::fixture::{Home, NOW};

/// Remembers what was asked of the database.
#[derive(Default)]
struct Witness(Mutex<Vec<String>>);

impl Witness {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Hook for Witness {
    fn before(&self, call: &str) -> Result<usize, StoreError> {
        self.0.lock().unwrap().push(call.to_owned());
        Ok(0)
    }

    fn after(&self, _number: usize) -> Result<(), StoreError> {
        Ok(())
    }
}

fn list(server: usize, version: usize, first_list_accepted: bool) -> Observation {
    let tools = ["read", "write"].map(|tool| Definition {
        tool: tool.into(),
        hash: format!("{tool}-{version}"),
        definition: format!("{tool} of server {server} does {version}"),
    });
    Observation {
        server: format!("server-{server}"),
        tools: tools.to_vec(),
        mode: ApprovalMode::Changed,
        first_list_accepted,
    }
}

fn without_text(definition: &Definition) -> Definition {
    Definition {
        definition: String::new(),
        ..definition.clone()
    }
}

fn lists(version: usize) -> Vec<Observation> {
    (0..200).map(|server| list(server, version, true)).collect()
}

fn count(calls: &[String], beginning: &str) -> usize {
    let found = calls.iter().filter(|call| call.starts_with(beginning));
    found.count()
}

#[tokio::test]
async fn many_lists_cost_as_many_questions_and_commits_as_one() {
    let home = Home::new();
    let witness = Arc::new(Witness::default());
    let inner = Sqlite::open(home.options()).await.unwrap();
    let backend = Hooked {
        inner,
        hook: Arc::clone(&witness),
    };
    let store = Store::open(Arc::new(backend), Uuid::now_v7())
        .await
        .unwrap();
    witness.take();
    let first = store.observe_all(lists(1), NOW).await.unwrap();
    assert_eq!(first.len(), 200);
    assert!(
        first
            .iter()
            .flatten()
            .all(|seen| seen.standing == Standing::AcceptedNew)
    );
    assert_eq!(count(&witness.take(), "commit"), 1);
    let again = store.observe_all(lists(1), NOW).await.unwrap();
    assert!(
        again
            .iter()
            .flatten()
            .all(|seen| seen.standing == Standing::Unchanged)
    );
    let calls = witness.take();
    let untold = |list: &Observation| Observation {
        tools: list.tools.iter().map(without_text).collect(),
        ..list.clone()
    };
    let accepted = store.acceptances().await.unwrap();
    let told = lists(1);
    let told = told.iter().map(|list| accepted.standing(&untold(list)));
    assert_eq!(told.collect::<Option<Vec<_>>>(), Some(again));
    assert_eq!(count(&witness.take(), "SELECT"), 3);
    assert!(accepted.standing(&list(0, 2, true)).is_none());
    assert!(accepted.standing(&list(1, 1, true)).is_some());
    assert_eq!(count(&witness.take(), "commit"), 0);
    assert_eq!(count(&calls, "SELECT"), 3, "{calls:?}");
    assert_eq!(
        count(&calls, "commit") + count(&calls, "INSERT"),
        0,
        "{calls:?}"
    );
    assert!(store.observe_all(Vec::new(), NOW).await.unwrap().is_empty());
    assert!(witness.take().is_empty());
}

/// Lists of servers at every stage of their acceptance.
fn at_every_stage() -> Vec<Observation> {
    vec![
        list(0, 1, true),
        list(1, 2, true),
        list(2, 1, false),
        list(3, 1, false),
        list(4, 1, false),
        list(5, 2, true),
    ]
}

async fn prepare(store: &Store) {
    for server in [0, 1, 5] {
        store.observe(list(server, 1, true), NOW).await.unwrap();
    }
    for server in [3, 4] {
        store.observe(list(server, 1, false), NOW).await.unwrap();
    }
    store.observe(list(5, 2, true), NOW).await.unwrap();
    let settle = |target, verdict| async move {
        let settled = store.settle_approvals(&target, verdict, "ann", NOW).await;
        assert!(!settled.unwrap().is_empty());
    };
    settle(Target::Server("server-3".into()), Verdict::Approve).await;
    settle(Target::Server("server-4".into()), Verdict::Reject).await;
    let changed = Target::Tool {
        server: "server-5".into(),
        tool: "write".into(),
    };
    settle(changed, Verdict::Reject).await;
}

#[tokio::test]
async fn many_lists_at_once_come_to_what_each_alone_does() {
    let (home, other) = (Home::new(), Home::new());
    let (one_by_one, at_once) = (home.open().await, other.open().await);
    prepare(&one_by_one).await;
    prepare(&at_once).await;
    for _ in 0..2 {
        let mut expected = Vec::new();
        for observation in at_every_stage() {
            expected.push(one_by_one.observe(observation, NOW).await.unwrap());
        }
        let observed = at_once.observe_all(at_every_stage(), NOW).await.unwrap();
        assert_eq!(observed, expected);
        let waiting = |store: Store| async move { store.approvals(None, NOW).await.unwrap() };
        let mut alone = waiting(one_by_one.clone()).await;
        let mut together = waiting(at_once.clone()).await;
        alone.sort_by(|a, b| a.id.cmp(&b.id));
        together.sort_by(|a, b| a.id.cmp(&b.id));
        assert_eq!(together, alone);
    }
}
