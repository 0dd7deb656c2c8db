//! The same key, the same answer, one effect.

use std::time::Duration;

use proptest::prelude::*;
use toolcrib_core::limits::{IDEMPOTENCY_ANSWER_BYTES_MAX, IDEMPOTENCY_KEPT_MS};
use toolcrib_store::audit::Outcome;
use toolcrib_store::idempotency::KeyFate;
use toolcrib_store::{Begin, Entry, Store, StoreError};

use crate::fixture::{Home, NOW, answered, begin, ended, entry};

const LONG: Duration = Duration::from_mins(1);

fn at(request_id: &str, timestamp_ms: i64) -> Entry {
    Entry {
        timestamp_ms,
        ..entry(request_id)
    }
}

/// What beginning with key `k` comes to, in a word.
async fn word(store: &Store, entry: Entry) -> String {
    match store.begin_execution(entry, Some("k")).await.unwrap() {
        Begin::Fresh(execution) => {
            execution
                .finish(ended(Outcome::Error, KeyFate::Forget))
                .await
                .unwrap();
            "fresh".into()
        }
        Begin::Replay { answer, .. } => format!("replay {}", answer.unwrap_or_default()),
        Begin::Conflict(earlier) => format!("conflict {}", earlier.request_id),
        Begin::InProgress(waiting) => format!("running {}", waiting.earlier().request_id),
        Begin::Unknown(earlier) => format!("unknown {}", earlier.request_id),
        Begin::Outdated => "outdated".to_owned(),
        Begin::Limited(_) => "limited".to_owned(),
    }
}

#[tokio::test]
async fn a_key_is_bound_to_caller_tool_and_parameters() {
    let home = Home::new();
    let store = home.open().await;
    let execution = begin(&store, entry("r1"), Some("k")).await;
    assert_eq!(word(&store, entry("r2")).await, "running r1");
    execution.finish(answered("42")).await.unwrap();

    let changed = |change: fn(&mut Entry)| {
        let mut entry = entry("r3");
        change(&mut entry);
        entry
    };
    for (entry, expect) in [
        (changed(|_| {}), "replay 42"),
        (changed(|e| e.params_hash = "hash-b".into()), "conflict r1"),
        (
            changed(|e| e.tool_id = "github:other".into()),
            "conflict r1",
        ),
        (changed(|e| e.actor_id = "someone else".into()), "fresh"),
        (changed(|e| e.request_id = "r4".into()), "replay 42"),
    ] {
        assert_eq!(word(&store, entry).await, expect);
    }
    store.close().await;
}

#[tokio::test]
async fn who_holds_a_key_can_be_asked_without_taking_it() {
    let home = Home::new();
    let store = home.open().await;
    let held = async |entry: Entry| match store.held_key(entry, "k").await.unwrap() {
        None => "free".to_owned(),
        Some(Begin::Fresh(_) | Begin::Outdated | Begin::Limited(_)) => panic!("it was taken"),
        Some(Begin::Replay { answer, .. }) => format!("replay {}", answer.unwrap_or_default()),
        Some(Begin::Conflict(earlier)) => format!("conflict {}", earlier.request_id),
        Some(Begin::InProgress(waiting)) => format!("running {}", waiting.earlier().request_id),
        Some(Begin::Unknown(earlier)) => format!("unknown {}", earlier.request_id),
    };
    assert_eq!(held(entry("r0")).await, "free");
    let execution = begin(&store, entry("r1"), Some("k")).await;
    assert_eq!(held(entry("r2")).await, "running r1");
    let late = at("r2", NOW + IDEMPOTENCY_KEPT_MS);
    assert_eq!(
        held(late.clone()).await,
        "running r1",
        "however long it takes"
    );
    execution.finish(answered("42")).await.unwrap();
    assert_eq!(held(entry("r2")).await, "replay 42");
    let mut other = entry("r3");
    other.params_hash = "hash-b".into();
    assert_eq!(held(other).await, "conflict r1");
    assert_eq!(held(late).await, "free");
    store.close().await;
}

#[tokio::test]
async fn a_key_is_remembered_for_a_day() {
    let home = Home::new();
    let store = home.open().await;
    begin(&store, at("r1", NOW), Some("k"))
        .await
        .finish(answered("42"))
        .await
        .unwrap();
    let end = NOW + IDEMPOTENCY_KEPT_MS;
    assert_eq!(word(&store, at("r2", end - 1)).await, "replay 42");
    assert_eq!(word(&store, at("r3", end)).await, "fresh");
    store.close().await;
}

#[tokio::test]
async fn a_key_whose_call_never_happened_is_free_again() {
    let home = Home::new();
    let store = home.open().await;
    for request in ["r1", "r2"] {
        begin(&store, entry(request), Some("k"))
            .await
            .finish(ended(Outcome::Error, KeyFate::Forget))
            .await
            .unwrap();
    }
    begin(&store, entry("r3"), Some("k"))
        .await
        .finish(ended(Outcome::Timeout, KeyFate::Unknown))
        .await
        .unwrap();
    assert_eq!(word(&store, entry("r4")).await, "unknown r3");
    store.close().await;
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_known_to_have_been() {
    let home = Home::new();
    let store = home.open().await;
    let answer = "x".repeat(IDEMPOTENCY_ANSWER_BYTES_MAX + 1);
    begin(&store, entry("r1"), Some("k"))
        .await
        .finish(answered(&answer))
        .await
        .unwrap();
    assert!(matches!(
        store.begin_execution(entry("r2"), Some("k")).await,
        Ok(Begin::Replay { answer: None, .. })
    ));
    let long = "k".repeat(256);
    let refused = store.begin_execution(entry("r3"), Some(&long)).await;
    assert!(matches!(refused, Err(StoreError::TooLong { .. })));
    store.close().await;
}

#[tokio::test]
async fn a_duplicate_waits_for_the_first_in_the_same_process() {
    let home = Home::new();
    let store = home.open().await;
    let first = begin(&store, entry("r1"), Some("k")).await;
    let Ok(Begin::InProgress(waiting)) = store.begin_execution(entry("r2"), Some("k")).await else {
        panic!("the first still runs");
    };
    assert!(!waiting.settled(Duration::ZERO, NOW).await.unwrap());
    let (settled, finished) =
        tokio::join!(waiting.settled(LONG, NOW), first.finish(answered("42")));
    finished.unwrap();
    assert!(settled.unwrap());
    assert_eq!(word(&store, entry("r2")).await, "replay 42");
    store.close().await;
}

#[tokio::test]
async fn a_duplicate_waits_for_the_first_in_another_process() {
    let home = Home::new();
    let (one, two) = (home.open().await, home.open().await);
    let first = begin(&one, entry("r1"), Some("k")).await;
    let Ok(Begin::InProgress(waiting)) = two.begin_execution(entry("r2"), Some("k")).await else {
        panic!("the first still runs");
    };
    let finish = async {
        tokio::task::yield_now().await;
        first.finish(answered("42")).await
    };
    let (settled, finished) = tokio::join!(waiting.settled(LONG, NOW), finish);
    finished.unwrap();
    assert!(settled.unwrap());
    assert_eq!(word(&two, entry("r2")).await, "replay 42");
    one.close().await;
    two.close().await;
}

#[tokio::test]
async fn a_duplicate_of_a_dead_process_learns_that_nothing_is_known() {
    let home = Home::new();
    let (one, two) = (home.open().await, home.open().await);
    let first = begin(&one, entry("r1"), Some("k")).await;
    let Ok(Begin::InProgress(waiting)) = two.begin_execution(entry("r2"), Some("k")).await else {
        panic!("the first still runs");
    };
    one.close().await;
    assert!(waiting.settled(LONG, NOW).await.unwrap());
    assert_eq!(word(&two, entry("r2")).await, "unknown r1");
    drop(first);
    two.close().await;
}

#[tokio::test]
async fn a_key_without_its_journal_entry_is_given_up_and_never_run_again() {
    let home = Home::new();
    let (one, two) = (home.open().await, home.open().await);
    let first = begin(&one, entry("r1"), Some("k")).await;
    let Ok(Begin::InProgress(waiting)) = two.begin_execution(entry("r2"), Some("k")).await else {
        panic!("the first still runs");
    };
    one.close().await;
    drop(first);
    home.meddle("DELETE FROM journal; DELETE FROM audit_writer WHERE ordinal = 1")
        .await;
    assert!(waiting.settled(LONG, NOW).await.unwrap());
    assert_eq!(word(&two, entry("r2")).await, "unknown r1");
    two.close().await;
}

/// What callers and the outside world do with keys.
#[derive(Clone, Debug)]
enum Act {
    /// Someone begins with a key and parameters, and ends as told; `None` leaves it running.
    Run(u8, u8, Option<KeyFate>),
    /// The process dies and another one takes over.
    Crash,
    /// So many hours go by.
    Wait(i64),
}

fn act() -> impl Strategy<Value = Act> {
    let fate = prop_oneof![
        Just(Some(KeyFate::Answer("42".into()))),
        Just(Some(KeyFate::Forget)),
        Just(Some(KeyFate::Unknown)),
        Just(None),
    ];
    prop_oneof![
        6 => (0..2_u8, 0..2_u8, fate).prop_map(|(key, params, fate)| Act::Run(key, params, fate)),
        1 => Just(Act::Crash),
        1 => (1..30_i64).prop_map(Act::Wait),
    ]
}

/// What a key is known as, said as plainly as the rules are written.
#[derive(Clone, Debug)]
struct Known {
    params: u8,
    state: &'static str,
    expires_ms: i64,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn keys_behave_as_the_rules_say(acts in proptest::collection::vec(act(), 1..25)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let home = Home::swift();
            let mut store = home.open().await;
            let mut model = std::collections::HashMap::<u8, Known>::new();
            let mut running = Vec::new();
            let mut now = NOW;
            for (number, act) in acts.into_iter().enumerate() {
                match act {
                    Act::Wait(hours) => now += hours * 3_600_000,
                    Act::Crash => {
                        store.close().await;
                        running.clear();
                        store = home.open().await;
                        store.recover(now).await.unwrap();
                        for known in model.values_mut().filter(|known| known.state == "running") {
                            known.state = "unknown";
                        }
                    }
                    Act::Run(key, params, fate) => {
                        model.retain(|_, known| known.state == "running" || now < known.expires_ms);
                        let expect = match model.get(&key) {
                            None => "fresh",
                            Some(known) if known.params != params => "conflict",
                            Some(known) => known.state,
                        };
                        let mut asked = at(&format!("r{number}"), now);
                        asked.params_hash = format!("p{params}");
                        let key_text = format!("k{key}");
                        let begun = store.begin_execution(asked, Some(&key_text)).await.unwrap();
                        let got = match begun {
                            Begin::Fresh(execution) => {
                                let state = match &fate {
                                    None => Some("running"),
                                    Some(KeyFate::Answer(_)) => Some("done"),
                                    Some(KeyFate::Unknown) => Some("unknown"),
                                    Some(KeyFate::Forget) => None,
                                };
                                match fate {
                                    None => running.push(execution),
                                    Some(fate) => {
                                        execution.finish(ended(Outcome::Ok, fate)).await.unwrap();
                                    }
                                }
                                if let Some(state) = state {
                                    let expires_ms = now + IDEMPOTENCY_KEPT_MS;
                                    model.insert(key, Known { params, state, expires_ms });
                                }
                                "fresh"
                            }
                            Begin::Replay { answer, .. } => {
                                assert_eq!(answer.as_deref(), Some("42"));
                                "done"
                            }
                            Begin::Conflict(_) => "conflict",
                            Begin::InProgress(_) => "running",
                            Begin::Unknown(_) => "unknown",
                            Begin::Outdated => "outdated",
                            Begin::Limited(_) => "limited",
                        };
                        assert_eq!(got, expect);
                    }
                }
            }
            store.close().await;
        });
    }
}
