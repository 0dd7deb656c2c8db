//! Reading, verifying, exporting and cutting the audit log.

use proptest::prelude::*;
use toolcrib_store::audit::export::{csv_header, csv_rows, json_lines};
use toolcrib_store::audit::query::Filter;
use toolcrib_store::audit::retention::Retention;
use toolcrib_store::audit::verify::Fault;
use toolcrib_store::audit::{Decision, Outcome, Record};
use toolcrib_store::{Entry, Store};

use crate::fixture::{Home, NOW, answered, begin, entry, log, record_all, refusal, run, tail};

/// Five records in one chain.
async fn five(home: &Home) -> Store {
    let store = home.open().await;
    for request in ["r1", "r2", "r3", "r4", "r5"] {
        run(&store, request).await;
    }
    store
}

#[tokio::test]
async fn every_kind_of_meddling_is_found_where_it_is() {
    let cases: &[(&str, &[(i64, Fault)])] = &[
        ("SELECT 1", &[]),
        ("DELETE FROM audit WHERE seq = 2", &[(2, Fault::Missing(1))]),
        ("DELETE FROM audit WHERE seq IN (2, 3)", &[(2, Fault::Missing(2))]),
        ("DELETE FROM audit WHERE seq >= 4", &[(4, Fault::Missing(2))]),
        ("DELETE FROM audit WHERE seq = 1", &[(1, Fault::Missing(1))]),
        ("UPDATE audit SET actor_id = 'eve' WHERE seq = 3", &[(3, Fault::Altered)]),
        ("UPDATE audit SET outcome = 'made up' WHERE seq = 3", &[(3, Fault::Altered)]),
        ("UPDATE audit SET hash = 'x' WHERE seq = 3", &[(3, Fault::Altered), (4, Fault::Altered)]),
        ("UPDATE audit SET hash = 'x' WHERE seq = 5", &[(5, Fault::Altered), (5, Fault::Altered)]),
        // Two records change places.
        (
            "UPDATE audit SET seq = -2 WHERE seq = 2; UPDATE audit SET seq = 2 WHERE seq = 3;
             UPDATE audit SET seq = 3 WHERE seq = -2",
            &[(2, Fault::Altered), (3, Fault::Altered), (4, Fault::Altered)],
        ),
        // A record is put in and the rest moves up.
        (
            "UPDATE audit SET seq = -seq - 1 WHERE seq >= 3; UPDATE audit SET seq = -seq WHERE seq < 0;
             INSERT INTO audit SELECT writer, 3, 'forged', timestamp_ms, actor_id, tool_id, params_hash,
             parameters, decision, reason, outcome, error_code, duration_us, upstream, request_bytes,
             response_bytes, trace_id, bytes, hash FROM audit WHERE seq = 2",
            &[
                (3, Fault::Altered),
                (4, Fault::Altered),
                (5, Fault::Altered),
                (6, Fault::Inserted),
                (5, Fault::Altered),
            ],
        ),
        // A record is put in behind the end.
        (
            "INSERT INTO audit SELECT writer, 6, 'forged', timestamp_ms, actor_id, tool_id, params_hash,
             parameters, decision, reason, outcome, error_code, duration_us, upstream, request_bytes,
             response_bytes, trace_id, bytes, hash FROM audit WHERE seq = 5",
            &[(6, Fault::Inserted)],
        ),
        ("DELETE FROM audit_writer", &[(1, Fault::Inserted), (0, Fault::Newest)]),
        ("DELETE FROM audit; DELETE FROM audit_writer", &[(0, Fault::Newest)]),
        ("UPDATE audit_writer SET started_ms = 1", &[(0, Fault::Writer)]),
        ("UPDATE audit_writer SET base_hash = 'x'", &[(0, Fault::Writer), (1, Fault::Altered)]),
    ];
    for (sql, expect) in cases {
        let home = Home::new();
        five(&home).await.close().await;
        home.meddle(*sql).await;
        let store = home.open().await;
        let verdict = store.audit_verify().await.unwrap();
        let found: Vec<_> = verdict.problems.iter().map(|p| (p.seq, p.fault)).collect();
        assert_eq!(found, *expect, "{sql}");
        assert_eq!(verdict.is_intact(), expect.is_empty());
        for problem in &verdict.problems {
            assert!(problem.to_string().contains("riter"), "{problem}");
        }
        store.close().await;
    }
}

#[tokio::test]
async fn a_writer_that_vanished_with_all_its_records_is_missed() {
    let home = Home::new();
    for request in ["r1", "r2", "r3"] {
        let store = home.open().await;
        run(&store, request).await;
        store.close().await;
    }
    home.meddle("DELETE FROM audit WHERE writer = 2; DELETE FROM audit_writer WHERE ordinal = 2")
        .await;
    let store = home.open().await;
    let verdict = store.audit_verify().await.unwrap();
    let faults: Vec<_> = verdict.problems.iter().map(|p| p.fault).collect();
    assert_eq!(faults, [Fault::Writer]);
    store.close().await;
}

#[tokio::test]
async fn the_newest_writer_is_missed_too_also_after_others_have_come() {
    let home = Home::new();
    for request in ["r1", "r2", "r3"] {
        let store = home.open().await;
        run(&store, request).await;
        store.close().await;
    }
    home.meddle("DELETE FROM audit WHERE writer = 3; DELETE FROM audit_writer WHERE ordinal = 3")
        .await;
    for request in ["r4", "r5", "r6"] {
        let store = home.open().await;
        let verdict = store.audit_verify().await.unwrap();
        let faults: Vec<_> = verdict.problems.iter().map(|p| p.fault).collect();
        assert_eq!(faults, [Fault::Newest], "before {request}");
        assert!(verdict.problems[0].to_string().contains("#3"));
        run(&store, request).await;
        store.close().await;
    }
}

#[tokio::test]
async fn a_note_of_the_newest_writer_that_is_behind_or_gone_is_no_alarm() {
    let home = Home::new();
    let note = home.path().with_file_name("toolcrib.db.newest");
    let (one, other) = (home.open().await, home.open().await);
    run(&one, "r1").await;
    let behind = std::fs::read(&note).unwrap();
    run(&other, "r2").await;
    assert_ne!(std::fs::read(&note).unwrap(), behind, "it moves on");
    assert!(one.audit_verify().await.unwrap().is_intact());
    std::fs::write(&note, &behind).unwrap();
    assert!(
        one.audit_verify().await.unwrap().is_intact(),
        "killed before the note"
    );
    std::fs::remove_file(&note).unwrap();
    assert!(other.audit_verify().await.unwrap().is_intact());
    one.close().await;
    other.close().await;
    let third = home.open().await;
    run(&third, "r3").await;
    let keep = Retention {
        age_ms_max: Some(0),
        size_bytes_max: None,
    };
    third.audit_retain(keep, NOW + 1_000_000).await.unwrap();
    third.close().await;
    std::fs::write(&note, &behind).unwrap();
    let last = home.open().await;
    assert!(
        last.audit_verify().await.unwrap().is_intact(),
        "forgotten in order"
    );
    last.close().await;
}

#[tokio::test]
async fn a_long_list_of_problems_is_cut_and_counted() {
    let home = Home::new();
    let store = home.open().await;
    record_all(
        &store,
        (0..150).map(|number| refusal(&format!("r{number}"))),
    )
    .await;
    store.close().await;
    home.meddle("UPDATE audit SET reason = 'nothing to see'")
        .await;
    let store = home.open().await;
    let verdict = store.audit_verify().await.unwrap();
    assert_eq!((verdict.problems.len(), verdict.problem_count), (100, 150));
    store.close().await;
}

fn record(request_id: &str, change: impl FnOnce(&mut Record)) -> Record {
    let mut record = refusal(request_id);
    change(&mut record);
    record
}

#[tokio::test]
async fn a_search_restricts_by_every_field() {
    let home = Home::new();
    let store = home.open().await;
    store.record(refusal("r1")).await.unwrap();
    let other = record("r2", |r| {
        r.timestamp_ms = NOW + 10;
        r.actor_id = "ann".into();
        r.tool_id = "gitlab:list".into();
        r.params_hash = "p2".into();
        r.decision = Decision::Allowed;
        r.outcome = Outcome::DryRun;
        r.error_code = None;
        r.trace_id = Some("t2".into());
    });
    store.record(other).await.unwrap();

    let check = async |change: fn(&mut Filter), expect: &[&str]| {
        let mut filter = Filter::default();
        change(&mut filter);
        let found = store.audit_tail(&filter, 10).await.unwrap();
        let ids: Vec<_> = found.iter().map(|f| f.record.request_id.as_str()).collect();
        assert_eq!(ids, expect, "{filter:?}");
    };
    check(|_| {}, &["r1", "r2"]).await;
    check(|f| f.since_ms = Some(NOW + 1), &["r2"]).await;
    check(|f| f.until_ms = Some(NOW + 10), &["r1"]).await;
    check(|f| f.actor_id = Some("ann".into()), &["r2"]).await;
    check(|f| f.tool_id = Some("github:delete_repo".into()), &["r1"]).await;
    check(|f| f.server = Some("gitlab".into()), &["r2"]).await;
    check(|f| f.server = Some("git".into()), &[]).await;
    check(|f| f.server = Some("git%".into()), &[]).await;
    check(|f| f.decision = Some(Decision::Refused), &["r1"]).await;
    check(|f| f.outcome = Some(Outcome::DryRun), &["r2"]).await;
    check(|f| f.error_code = Some("SCOPE_REQUIRED".into()), &["r1"]).await;
    check(|f| f.request_id = Some("r1".into()), &["r1"]).await;
    check(|f| f.trace_id = Some("t2".into()), &["r2"]).await;
    check(|f| f.params_hash = Some("p2".into()), &["r2"]).await;
    let last = store.audit_tail(&Filter::default(), 1).await.unwrap();
    assert_eq!(last[0].record.request_id, "r2");
    store.close().await;
}

#[tokio::test]
async fn an_export_has_every_record_once_in_order() {
    let home = Home::new();
    let store = home.open().await;
    record_all(
        &store,
        (0..2_050).map(|number| {
            record(&format!("r{number:04}"), |r| {
                r.timestamp_ms = NOW + number / 3;
            })
        }),
    )
    .await;
    let mut pages = store.audit_pages(Filter::default());
    let mut lines = Vec::new();
    let mut csv = Vec::new();
    csv_header(&mut csv).unwrap();
    while let Some(page) = pages.next().await.unwrap() {
        json_lines(&mut lines, &page).unwrap();
        csv_rows(&mut csv, &page).unwrap();
    }
    assert!(pages.next().await.unwrap().is_none());
    let lines = String::from_utf8(lines).unwrap();
    let mut ids = std::collections::BTreeSet::new();
    let mut last = String::new();
    for line in lines.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let time = line["timestamp"].as_str().unwrap().to_owned();
        assert!(last <= time);
        last = time;
        ids.insert(line["request_id"].as_str().unwrap().to_owned());
    }
    assert_eq!((lines.lines().count(), ids.len()), (2_050, 2_050));
    let csv = String::from_utf8(csv).unwrap();
    assert_eq!(csv.lines().count(), 2_051);
    assert!(csv.starts_with("request_id,timestamp,actor_id,tool_id,params_hash,"));
    store.close().await;
}

#[tokio::test]
async fn an_exported_chain_can_be_verified_by_hand() {
    let home = Home::new();
    let store = five(&home).await;
    let mut lines = Vec::new();
    json_lines(&mut lines, &tail(&store).await).unwrap();
    let lines = String::from_utf8(lines).unwrap();
    let mut before: Option<String> = None;
    for line in lines.lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        let hash = value["hash"].as_str().unwrap().to_owned();
        let bare = line.replace(&format!(",\"hash\":\"{hash}\""), "");
        if let Some(before) = before {
            let expect = blake3::hash(format!("{before}\n{bare}").as_bytes());
            assert_eq!(expect.to_hex().as_str(), hash);
        }
        before = Some(hash);
    }
    store.close().await;
}

#[tokio::test]
async fn following_the_log_gives_each_new_record_once_from_every_process() {
    let home = Home::new();
    let (one, two) = (home.open().await, home.open().await);
    run(&one, "r1").await;
    let mut position = one.audit_position().await.unwrap();
    let all = Filter::default();
    let slow = begin(&one, entry("r2"), None).await;
    run(&one, "r3").await;
    run(&two, "r4").await;
    let ids = |found: Vec<toolcrib_store::audit::query::Entry>| -> Vec<String> {
        found.into_iter().map(|f| f.record.request_id).collect()
    };
    let found = one.audit_follow(&all, &mut position).await.unwrap();
    assert_eq!(ids(found), ["r3", "r4"]);
    // Recorded later, though it began earlier.
    slow.finish(answered("x")).await.unwrap();
    let found = one.audit_follow(&all, &mut position).await.unwrap();
    assert_eq!(ids(found), ["r2"]);
    record_all(
        &two,
        (0..1_100).map(|number| refusal(&format!("m{number}"))),
    )
    .await;
    let found = two.audit_follow(&all, &mut position).await.unwrap();
    assert_eq!(found.len(), 1_100);
    assert!(
        two.audit_follow(&all, &mut position)
            .await
            .unwrap()
            .is_empty()
    );
    one.close().await;
    two.close().await;
}

async fn run_at(store: &Store, request_id: &str, timestamp_ms: i64) {
    let entry = Entry {
        timestamp_ms,
        ..entry(request_id)
    };
    let execution = begin(store, entry, None).await;
    execution.finish(answered("x")).await.unwrap();
}

#[tokio::test]
async fn retention_by_age_leaves_a_checkpoint_and_a_chain_that_verifies() {
    let home = Home::new();
    let store = home.open().await;
    // The third began before the second ended: a chain only loses a prefix.
    for (request, age) in [("r1", 50), ("r2", 10), ("r3", 40), ("r4", 5)] {
        run_at(&store, request, NOW - age).await;
    }
    let keep = Retention {
        age_ms_max: Some(30),
        size_bytes_max: None,
    };
    assert_eq!(store.audit_retain(keep, NOW).await.unwrap(), 1);
    assert_eq!(store.audit_retain(keep, NOW + 21).await.unwrap(), 2);
    assert_eq!(log(&store).await, ["r4 ok"]);
    let verdict = store.audit_verify().await.unwrap();
    assert_eq!((verdict.removed, verdict.records), (3, 1));
    assert!(verdict.is_intact(), "{:?}", verdict.problems);
    run(&store, "r5").await;
    store.close().await;

    home.meddle("DELETE FROM audit WHERE seq = 4").await;
    let store = home.open().await;
    let verdict = store.audit_verify().await.unwrap();
    assert_eq!(verdict.problems[0].fault, Fault::Missing(1));
    store.close().await;
}

#[tokio::test]
async fn retention_by_size_removes_the_oldest_first() {
    let home = Home::new();
    let (one, two) = (home.open().await, home.open().await);
    for number in 0..20 {
        run_at(&one, &format!("a{number}"), NOW + number * 2).await;
        run_at(&two, &format!("b{number}"), NOW + number * 2 + 1).await;
    }
    let line = serde_json::to_string(&tail(&one).await[0]).unwrap();
    let keep = Retention {
        age_ms_max: None,
        size_bytes_max: i64::try_from(line.len() * 10).ok(),
    };
    let removed = one.audit_retain(keep, NOW).await.unwrap();
    let left = log(&one).await;
    assert_eq!(u64::try_from(left.len()).unwrap() + removed, 40);
    assert!((8..=13).contains(&left.len()), "{left:?}");
    assert_eq!(left.last().unwrap(), "b19 ok");
    assert!(one.audit_verify().await.unwrap().is_intact());
    assert_eq!(one.audit_retain(keep, NOW).await.unwrap(), 0);
    one.close().await;
    two.close().await;
}

#[tokio::test]
async fn writers_are_forgotten_once_dead_and_empty_and_the_chain_of_writers_holds() {
    let home = Home::new();
    for request in ["r1", "r2"] {
        let store = home.open().await;
        run(&store, request).await;
        store.close().await;
    }
    let alive = home.open().await;
    run(&alive, "r3").await;
    let store = home.open().await;
    run(&store, "r4").await;
    let nothing = Retention {
        age_ms_max: Some(0),
        size_bytes_max: None,
    };
    assert_eq!(store.audit_retain(nothing, NOW + 1).await.unwrap(), 4);
    let verdict = store.audit_verify().await.unwrap();
    assert!(verdict.is_intact(), "{:?}", verdict.problems);
    assert_eq!(verdict.writers, 2, "the living and the newest stay");
    // The living one goes on where it was.
    run(&alive, "r5").await;
    alive.close().await;
    store.close().await;

    let store = home.open().await;
    run(&store, "r6").await;
    let verdict = store.audit_verify().await.unwrap();
    assert!(verdict.is_intact(), "{:?}", verdict.problems);
    assert_eq!(log(&store).await, ["r5 ok", "r6 ok"]);
    store.close().await;
}

/// The columns that a record is made of, and those of its place.
const COLUMNS: [&str; 19] = [
    "writer",
    "seq",
    "request_id",
    "timestamp_ms",
    "actor_id",
    "tool_id",
    "params_hash",
    "parameters",
    "decision",
    "reason",
    "outcome",
    "error_code",
    "duration_us",
    "upstream",
    "request_bytes",
    "response_bytes",
    "trace_id",
    "bytes",
    "hash",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn no_column_of_any_record_can_be_changed_unseen(
        seq in 1..=5_i64,
        column in 0..COLUMNS.len(),
        number in 10..1_000_i64,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let home = Home::swift();
            five(&home).await.close().await;
            let column = COLUMNS[column];
            home.meddle(format!("UPDATE audit SET {column} = {number} WHERE seq = {seq}")).await;
            let store = home.open().await;
            let verdict = store.audit_verify().await.unwrap();
            assert!(!verdict.is_intact(), "{column} of {seq}");
            store.close().await;
        });
    }
}
