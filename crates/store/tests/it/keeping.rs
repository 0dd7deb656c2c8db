//! Keys, tokens, results and counters, and how long they are kept.

use toolcrib_core::ToolId;
use toolcrib_core::limits::{
    APPROVAL_HISTORY_MS, IDEMPOTENCY_KEPT_MS, KEY_SCOPES_MAX, LEARNED_PRINCIPALS_MAX,
    RESULT_BYTES_MAX, RESULTS_PER_PRINCIPAL_MAX, TOKEN_BYTES_MAX,
};
use toolcrib_core::policy::ApprovalMode;
use toolcrib_core::secret::Secret;
use toolcrib_store::StoreError;
use toolcrib_store::approval::observation::{Definition, Observation};
use toolcrib_store::approval::{State, Target, Verdict};
use toolcrib_store::audit::retention::Retention;
use toolcrib_store::key::NewKey;

use crate::fixture::{Home, NOW, answered, begin, entry, log};

fn new_key(name: &str) -> NewKey {
    NewKey {
        name: name.into(),
        scopes: vec!["github:*".into(), "*:read".into()],
        expires_ms: Some(NOW + 100),
    }
}

/// How long results are kept here.
const KEPT_MS: i64 = 60_000;

#[tokio::test]
async fn a_key_is_shown_once_and_found_by_its_secret_only() {
    let home = Home::new();
    let store = home.open().await;
    let (made, secret) = store
        .create_key(new_key("ci"), &[7; 32], NOW)
        .await
        .unwrap();
    assert!(secret.expose().starts_with("tck_"));
    assert_eq!(secret.expose().len(), 4 + 64);
    assert!(!format!("{secret:?} {made:?}").contains(secret.expose()));
    assert_eq!(store.keys().await.unwrap(), std::slice::from_ref(&made));

    let find = async |text: &str, now| store.find_key(&Secret::new(text), now).await.unwrap();
    assert_eq!(find(secret.expose(), NOW).await, Some(made.clone()));
    assert_eq!(find(&format!("{}0", secret.expose()), NOW).await, None);
    assert_eq!(find(&secret.expose()[4..], NOW).await, None);
    assert_eq!(find("", NOW).await, None);
    assert_eq!(find(secret.expose(), NOW + 100).await, None, "expired");

    assert!(store.revoke_key(&made.id, NOW + 1).await.unwrap());
    assert!(!store.revoke_key(&made.id, NOW + 2).await.unwrap());
    assert_eq!(find(secret.expose(), NOW).await, None, "revoked");
    assert_eq!(store.keys().await.unwrap()[0].revoked_ms, Some(NOW + 1));
    store.close().await;

    for file in std::fs::read_dir(home.path().parent().unwrap()).unwrap() {
        let path = file.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let secret = &secret.expose().as_bytes()[4..];
            assert!(!bytes.windows(secret.len()).any(|window| window == secret));
        }
    }
}

#[tokio::test]
async fn a_row_that_was_given_another_hash_matches_nothing() {
    let home = Home::new();
    let store = home.open().await;
    let (_, secret) = store
        .create_key(new_key("ci"), &[7; 32], NOW)
        .await
        .unwrap();
    home.meddle("UPDATE api_key SET hash = substr(hash, 3) || '00'")
        .await;
    assert_eq!(store.find_key(&secret, NOW).await.unwrap(), None);
    home.meddle("UPDATE api_key SET hash = 'broken'").await;
    assert!(store.find_key(&secret, NOW).await.is_err());
    home.meddle("UPDATE api_key SET scopes = 'broken'").await;
    assert!(store.keys().await.is_err());
    store.close().await;
}

#[tokio::test]
async fn too_many_scopes_are_refused() {
    let home = Home::new();
    let store = home.open().await;
    let mut new = new_key("ci");
    new.scopes = vec!["a:b".into(); KEY_SCOPES_MAX + 1];
    let refused = store.create_key(new, &[7; 32], NOW).await;
    assert!(matches!(refused, Err(StoreError::TooLong { .. })));
    store.close().await;
}

#[tokio::test]
async fn a_token_is_written_only_over_the_version_that_was_read() {
    let home = Home::new();
    let (one, two) = (home.open().await, home.open().await);
    let save = async |store: &toolcrib_store::Store, text: &str, version| {
        store
            .save_token("https://issuer", "gh", &Secret::new(text), version, NOW)
            .await
            .unwrap()
    };
    assert!(one.token("https://issuer", "gh").await.unwrap().is_none());
    assert!(save(&one, "first", None).await);
    assert!(!save(&two, "other first", None).await);
    let read = two.token("https://issuer", "gh").await.unwrap().unwrap();
    assert_eq!(read.content.expose(), "first");
    assert!(!format!("{read:?}").contains("first"));
    assert!(save(&two, "refreshed", Some(read.version)).await);
    assert!(!save(&one, "stale", Some(read.version)).await);
    let now = one.token("https://issuer", "gh").await.unwrap().unwrap();
    assert_eq!(now.content.expose(), "refreshed");
    assert!(one.token("https://other", "gh").await.unwrap().is_none());
    let second = Secret::new("second");
    let later = one.save_token("https://another", "gh", &second, None, NOW + 1);
    assert!(later.await.unwrap());
    let tokens = two.tokens("gh").await.unwrap();
    let issuers: Vec<_> = tokens.iter().map(|(issuer, _)| issuer.as_str()).collect();
    assert_eq!(
        issuers,
        ["https://another", "https://issuer"],
        "the latest first"
    );
    assert_eq!(tokens[0].1.content, second);
    assert_eq!(one.remove_tokens("gh").await.unwrap(), 2);
    assert!(one.tokens("gh").await.unwrap().is_empty());
    assert!(one.token("https://issuer", "gh").await.unwrap().is_none());
    let long = Secret::new("x".repeat(TOKEN_BYTES_MAX + 1));
    let refused = one.save_token("i", "s", &long, None, NOW).await;
    assert!(matches!(refused, Err(StoreError::TooLong { .. })));
    one.close().await;
    two.close().await;
}

#[tokio::test]
async fn a_result_is_kept_for_its_principal_for_a_while() {
    let home = Home::new();
    let store = home.open().await;
    store
        .keep_result("h1", "ann", "gh:list", "[1,2,3]", NOW, KEPT_MS)
        .await
        .unwrap();
    let get = async |handle: &str, principal: &str, now| {
        let kept = store.kept_result(handle, principal, now).await.unwrap();
        kept.map(|kept| kept.content)
    };
    assert_eq!(get("h1", "ann", NOW).await.as_deref(), Some("[1,2,3]"));
    assert_eq!(get("h1", "bob", NOW).await, None);
    assert_eq!(get("h2", "ann", NOW).await, None);
    assert_eq!(get("h1", "ann", NOW + KEPT_MS).await, None);

    for number in 0..RESULTS_PER_PRINCIPAL_MAX {
        let handle = format!("n{number}");
        store
            .keep_result(&handle, "ann", "gh:list", "x", NOW + 1 + number, KEPT_MS)
            .await
            .unwrap();
    }
    assert_eq!(get("h1", "ann", NOW).await, None, "the oldest gives way");
    assert!(get("n0", "ann", NOW).await.is_some());
    let long = "x".repeat(RESULT_BYTES_MAX + 1);
    let refused = store
        .keep_result("h", "ann", "gh:list", &long, NOW, KEPT_MS)
        .await;
    assert!(matches!(refused, Err(StoreError::TooLong { .. })));
    store.close().await;
}

#[tokio::test]
async fn counters_add_up_over_processes_and_days() {
    const DAY: i64 = 86_400_000;
    let home = Home::new();
    let (one, two) = (home.open().await, home.open().await);
    one.count("calls", 2, NOW);
    one.count("calls", 1, NOW + DAY);
    two.count("calls", 5, NOW);
    two.count("tokens_saved", 900, NOW);
    two.flush_counters().await.unwrap();
    let counts = one.counts(NOW).await.unwrap();
    let words: Vec<_> = counts
        .iter()
        .map(|c| format!("{} {}", c.name, c.value))
        .collect();
    assert_eq!(words, ["calls 7", "tokens_saved 900", "calls 1"]);
    assert_eq!(one.counts(NOW + DAY).await.unwrap().len(), 1);
    one.close().await;
    assert_eq!(two.counts(NOW).await.unwrap(), counts);
    for number in 0..1_100 {
        two.count(&format!("n{number}"), 1, NOW + 2 * DAY);
    }
    assert_eq!(two.counts(NOW + 2 * DAY).await.unwrap().len(), 1_000);
    two.close().await;
}

#[tokio::test]
async fn counters_survive_a_store_that_cannot_be_written() {
    let home = Home::new();
    let store = home.open().await;
    store.count("calls", 3, NOW);
    store.close().await;
    store.count("calls", 4, NOW);
    assert!(store.flush_counters().await.is_err());
    let reopened = home.open().await;
    assert_eq!(reopened.counts(NOW).await.unwrap()[0].value, 3);
    reopened.close().await;
}

#[tokio::test]
async fn maintenance_recovers_purges_and_cuts() {
    let home = Home::new();
    let dead = home.open().await;
    let left = begin(&dead, entry("r1"), Some("k1")).await;
    dead.close().await;
    drop(left);

    let store = home.open().await;
    begin(&store, entry("r2"), Some("k2"))
        .await
        .finish(answered("x"))
        .await
        .unwrap();
    let running = begin(&store, entry("r3"), Some("k3")).await;
    store
        .keep_result("h1", "ann", "gh:list", "x", NOW, KEPT_MS)
        .await
        .unwrap();
    store.count("calls", 1, NOW);
    let keep = Retention {
        age_ms_max: Some(IDEMPOTENCY_KEPT_MS),
        size_bytes_max: None,
    };
    let first = store.maintain(keep, NOW).await.unwrap();
    assert_eq!(
        (first.recovered.unknown, first.purged, first.removed),
        (1, 0, 0)
    );
    let later = NOW + IDEMPOTENCY_KEPT_MS + 1;
    let second = store.maintain(keep, later).await.unwrap();
    assert_eq!(second.purged, 3, "two keys and a result");
    assert_eq!(second.removed, 2);
    assert_eq!(home.meddle("DELETE FROM idempotency").await, 1, "one runs");
    running.finish(answered("y")).await.unwrap();
    assert_eq!(log(&store).await, ["r3 ok"]);
    store.close().await;
}

#[tokio::test]
async fn a_purge_keeps_what_a_person_turned_down() {
    let home = Home::new();
    let store = home.open().await;
    let observation = Observation {
        server: "gh".into(),
        tools: ["a", "b"]
            .map(|tool| Definition {
                tool: tool.into(),
                hash: "h".into(),
                definition: tool.into(),
            })
            .into(),
        mode: ApprovalMode::All,
        first_list_accepted: true,
    };
    store.observe(observation, NOW).await.unwrap();
    for (tool, verdict) in [("a", Verdict::Reject), ("b", Verdict::Approve)] {
        let target = Target::Tool {
            server: "gh".into(),
            tool: tool.into(),
        };
        let settled = store.settle_approvals(&target, verdict, "ann", NOW).await;
        assert_eq!(settled.unwrap().len(), 1);
    }
    let later = NOW + APPROVAL_HISTORY_MS;
    assert_eq!(store.purge(later).await.unwrap(), 1);
    let left = store.approvals(None, later).await.unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].state, State::Rejected);
    store.close().await;
}

#[tokio::test]
async fn what_was_run_after_a_search_is_kept_per_caller_bounded_and_forgotten_on_request() {
    let home = Home::new();
    let store = home.open().await;
    let tool = ToolId::new("tracker", "create_issue");
    assert!(store.learned("ann").await.unwrap().is_empty());
    for query in ["open a ticket", "open a ticket", "file a bug"] {
        store.learn("ann", query, &tool, NOW).await.unwrap();
    }
    store.close().await;
    let store = home.open().await;
    let learned = store.learned("ann").await.unwrap();
    assert_eq!(learned.len(), 2, "the same words count up");
    let now_s = u64::try_from(NOW / 1_000).unwrap();
    assert!(
        !learned
            .lifts("ann", "please open a ticket", now_s)
            .is_empty()
    );
    assert!(store.learned("ben").await.unwrap().is_empty());

    for n in 0..LEARNED_PRINCIPALS_MAX {
        let at = NOW + 1 + i64::try_from(n).unwrap();
        store
            .learn(&format!("p{n}"), "a query", &tool, at)
            .await
            .unwrap();
    }
    assert!(
        store.learned("ann").await.unwrap().is_empty(),
        "the oldest goes"
    );
    home.meddle("UPDATE learned SET habits = 'broken' WHERE principal = 'p1'")
        .await;
    assert!(store.learned("p1").await.unwrap().is_empty());
    store.learn("p1", "a query", &tool, NOW).await.unwrap();
    assert_eq!(store.learned("p1").await.unwrap().len(), 1);
    let kept = u64::try_from(LEARNED_PRINCIPALS_MAX).unwrap();
    assert_eq!(store.forget_learned().await.unwrap(), kept);
    assert_eq!(store.forget_learned().await.unwrap(), 0);
    store.close().await;
}
