//! Token buckets that the processes of a store share.

use toolcrib_core::policy::{Bucket, Rate};
use toolcrib_store::audit::retention::Retention;
use toolcrib_store::{Begin, Store, Tokens};

use crate::fixture::{Home, NOW, entry};

/// Two at once, then one an hour.
fn tokens(now_ms: i64) -> Tokens {
    let rate = Rate {
        requests: 1,
        per_seconds: 3_600,
        burst: Some(2),
    };
    let bucket = |name: &str| Bucket {
        name: name.to_owned(),
        rate,
    };
    Tokens {
        buckets: vec![bucket("server:s"), bucket("principal:p")],
        now_ms,
    }
}

async fn begin(store: &Store, request: &str, key: Option<&str>, tokens: Tokens) -> Begin {
    let mark = store.approval_mark().await.unwrap();
    let begun = store.begin_judged_execution(entry(request), key, mark, tokens);
    begun.await.unwrap()
}

#[tokio::test]
async fn two_processes_and_a_restart_share_what_is_left_of_a_slow_bucket() {
    let home = Home::new();
    let (one, two) = (home.open().await, home.open().await);
    assert!(matches!(
        begin(&one, "r1", None, tokens(NOW)).await,
        Begin::Fresh(_)
    ));
    assert!(matches!(
        begin(&two, "r2", None, tokens(NOW)).await,
        Begin::Fresh(_)
    ));
    one.close().await;
    two.close().await;
    let third = home.open().await;
    let begun = begin(&third, "r3", None, tokens(NOW + 600_000)).await;
    assert!(matches!(begun, Begin::Limited(3_000_000)), "{begun:?}");
    assert_eq!(
        third.take_tokens(tokens(NOW)).await.unwrap(),
        Err(3_600_000)
    );
    let look = async |at_ms| third.wait_for_tokens(tokens(at_ms)).await.unwrap();
    assert_eq!(look(NOW + 600_000).await, Some(3_000_000));
    assert_eq!(look(NOW + 3_600_000).await, None);
    assert_eq!(look(NOW + 3_600_000).await, None, "looking takes nothing");
    let later = tokens(NOW + 3_600_000);
    assert!(matches!(
        begin(&third, "r4", None, later).await,
        Begin::Fresh(_)
    ));
    third.close().await;
}

#[tokio::test]
async fn a_call_that_a_bucket_refuses_keeps_neither_its_key_nor_a_token() {
    let home = Home::new();
    let store = home.open().await;
    for _ in 0..2 {
        assert_eq!(store.take_tokens(tokens(NOW)).await.unwrap(), Ok(()));
    }
    for request in ["r1", "r2"] {
        let begun = begin(&store, request, Some("k"), tokens(NOW)).await;
        assert!(matches!(begun, Begin::Limited(3_600_000)), "{begun:?}");
    }
    let mut fuller = tokens(NOW);
    fuller.buckets[1].name = "principal:q".into();
    assert_eq!(
        store.take_tokens(fuller.clone()).await.unwrap(),
        Err(3_600_000)
    );
    fuller.buckets.remove(0);
    for _ in 0..2 {
        let taken = store.take_tokens(fuller.clone()).await.unwrap();
        assert_eq!(taken, Ok(()), "nothing was taken with the empty one");
    }
    let later = tokens(NOW + 3_600_000);
    let begun = begin(&store, "r3", Some("k"), later.clone()).await;
    assert!(matches!(begun, Begin::Fresh(_)), "{begun:?}");
    let again = begin(&store, "r4", Some("k"), later).await;
    assert!(
        matches!(again, Begin::InProgress(_)),
        "a key is asked before a bucket: {again:?}"
    );
    store.close().await;
}

#[tokio::test]
async fn a_bucket_that_is_full_again_is_forgotten() {
    let home = Home::new();
    let store = home.open().await;
    assert_eq!(store.take_tokens(tokens(NOW)).await.unwrap(), Ok(()));
    let keep = Retention::default();
    let early = store.maintain(keep, NOW + 3_599_999).await.unwrap();
    let late = store.maintain(keep, NOW + 3_600_000).await.unwrap();
    assert_eq!((early.purged, late.purged), (0, 2));
    store.close().await;
}
