//! Healing, retries, pauses and places, in paused time.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use toolcrib_core::rpc;
use toolcrib_upstream::mcp::breaker::State;
use toolcrib_upstream::mcp::credential::Credentials;
use toolcrib_upstream::mcp::{Address, Endpoint, Failure, Health, Key, Way, What};

use crate::fixture::{call, call_with, patient};
use crate::scripted::{Act, Scripted, fine, pool};

fn exited() -> Failure {
    Failure::Exited {
        status: "exit status: 1".to_owned(),
        stderr: String::new(),
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_closed_after_five_minutes_and_not_before() {
    let dialer = Scripted::new(|_, message| fine(message));
    let pool = pool(&dialer, |_| {});
    for _ in 0..3 {
        call(&pool, "t", "{}").await.unwrap();
        tokio::time::sleep(Duration::from_secs(299)).await;
        assert!(pool.is_connected("s"));
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(!pool.is_connected("s"));
    assert_eq!((dialer.opened(), dialer.closed()), (1, 1));
    call(&pool, "t", "{}").await.unwrap();
    assert_eq!(dialer.opened(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_connection_for_lists_beside_those_of_callers_is_closed_soon() {
    let dialer = Scripted::new(|_, message| fine(message));
    let pool = pool(&dialer, |_| {});
    let seconds = async |seconds| {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        (dialer.opened(), dialer.closed())
    };
    let list = async || {
        let listing = pool.list("s", &Key::Shared, What::Tools, patient()).await;
        listing.unwrap();
    };
    call_with(&pool, "t", "{}", false, |call| {
        call.key = Key::Principal("a".to_owned());
    })
    .await
    .unwrap();
    list().await;
    assert_eq!(seconds(9).await, (2, 0));
    list().await;
    assert_eq!(seconds(9).await, (2, 0));
    assert_eq!(seconds(2).await, (2, 1), "nobody takes it over");
    list().await;
    call(&pool, "t", "{}").await.unwrap();
    assert_eq!(seconds(60).await, (3, 1), "what is called over it keeps it");
    assert_eq!(seconds(300).await, (3, 3));
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_to_stay_stays() {
    let dialer = Scripted::new(|_, message| fine(message));
    let pool = pool(&dialer, |endpoint| endpoint.idle_close = None);
    call(&pool, "t", "{}").await.unwrap();
    tokio::time::sleep(Duration::from_hours(24)).await;
    assert!(pool.is_connected("s"));
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_session_heals_at_once_and_repeats_what_was_not_delivered() {
    let check = async |failure: Failure| {
        let lost = failure.clone();
        let dialer = Scripted::new(move |connection, message| {
            if connection == 1 && message["params"]["arguments"]["n"] == 2 {
                return Act::Fail(lost.clone());
            }
            fine(message)
        });
        let pool = pool(&dialer, |_| {});
        call(&pool, "t", r#"{"n":1}"#).await.unwrap();
        let began = Instant::now();
        call(&pool, "t", r#"{"n":2}"#).await.unwrap();
        assert!(
            began.elapsed() < Duration::from_millis(10),
            "{failure}: {:?}",
            began.elapsed()
        );
        assert_eq!(
            (dialer.opened(), dialer.asked("tools/call")),
            (2, 3),
            "{failure}"
        );
        assert!(pool.is_connected("s"));
    };
    check(Failure::SessionLost).await;
    check(Failure::Unauthorised("log in".to_owned())).await;
    check(Failure::Unreachable("reset".to_owned())).await;
}

#[tokio::test(start_paused = true)]
async fn credentials_that_stay_refused_are_not_tried_again() {
    let dialer = Scripted::new(|_, message| match message["method"].as_str() {
        Some("tools/call") => Act::Fail(Failure::Unauthorised("log in".to_owned())),
        _ => fine(message),
    });
    let pool = pool(&dialer, |_| {});
    let error = call_with(&pool, "t", "{}", true, |_| {}).await.unwrap_err();
    assert_eq!(error.to_string(), "it refuses the credentials; log in");
    assert_eq!(dialer.asked("tools/call"), 1);
}

#[tokio::test(start_paused = true)]
async fn what_was_given_up_lets_others_end() {
    // The second call loses the session while the first is under way: the first still gets its answer.
    let dialer =
        Scripted::new(
            |connection, message| match message["params"]["arguments"]["n"].as_i64() {
                Some(1) => Act::Nothing,
                Some(2) if connection == 1 => Act::Fail(Failure::SessionLost),
                _ => fine(message),
            },
        );
    let pool = pool(&dialer, |_| {});
    let (slow, quick) = tokio::join!(call(&pool, "t", r#"{"n":1}"#), async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        call(&pool, "t", r#"{"n":2}"#)
            .await
            .map(|_| dialer.closed())
    });
    assert_eq!(quick.unwrap(), 0, "the first connection is still open");
    assert!(
        slow.unwrap_err()
            .to_string()
            .contains("did not answer within 20000 ms")
    );
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(dialer.closed(), 1, "and closed when nobody needs it");
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_time_is_over_is_taken_back_from_the_server() {
    for is_modern in [false, true] {
        let dialer = Scripted::new(move |_, message| match message["method"].as_str() {
            Some("server/discover") if is_modern => Act::Answer(json!({
                "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
            })),
            Some("tools/call") => Act::Nothing,
            _ => fine(message),
        });
        let pool = pool(&dialer, |_| {});
        let error = call(&pool, "t", "{}").await.unwrap_err();
        assert_eq!(error.to_string(), "it did not answer within 20000 ms");
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(dialer.asked("notifications/cancelled"), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn what_passes_is_tried_again_after_growing_pauses() {
    let check = async |failure: Failure, may_retry: bool, tries: usize, seconds: u64| {
        let passing = failure.clone();
        let dialer = Scripted::new(move |_, message| match message["method"].as_str() {
            Some("tools/call") => Act::Fail(passing.clone()),
            _ => fine(message),
        });
        let pool = pool(&dialer, |_| {});
        let began = Instant::now();
        let sent = toolcrib_upstream::sent::Sent::default();
        let calling = call_with(&pool, "t", "{}", may_retry, |call| call.sent = sent.clone());
        let error = calling.await.unwrap_err();
        assert_eq!(error.failure(), Some(&failure));
        let counted = tries * usize::from(!failure.was_not_delivered());
        assert_eq!(sent.times() as usize, counted, "{failure} {may_retry}");
        let tried = (dialer.asked("tools/call"), began.elapsed().as_secs());
        assert_eq!(tried, (tries, seconds), "{failure} {may_retry}");
    };
    let status = |status, retry_after| Failure::Status {
        status,
        excerpt: String::new(),
        retry_after,
    };
    check(status(429, None), false, 4, 7).await;
    check(status(429, Some(Duration::from_secs(5))), false, 4, 15).await;
    // It may have been done before whoever stands in front of the server said so.
    check(status(503, None), false, 1, 0).await;
    check(status(503, Some(Duration::from_secs(5))), false, 1, 0).await;
    check(status(503, None), true, 4, 7).await;
    check(status(503, Some(Duration::from_secs(5))), true, 4, 15).await;
    check(status(503, Some(Duration::from_mins(1))), true, 1, 0).await;
    check(status(500, None), true, 1, 0).await;
    check(Failure::Broken("reset".to_owned()), true, 4, 7).await;
    check(Failure::Broken("reset".to_owned()), false, 1, 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_keeps_failing_is_left_alone_then_tried_once_then_trusted() {
    let works_from = Arc::new(AtomicUsize::new(usize::MAX));
    let from = Arc::clone(&works_from);
    let dialer = Scripted::new(move |connection, message| {
        if connection < from.load(Ordering::SeqCst) {
            Act::Break(exited())
        } else {
            fine(message)
        }
    });
    let pool = pool(&dialer, |_| {});
    let state = || pool.status("s").unwrap().breaker;
    // The first attempt probes both eras; the others wait 1, 2, 4 and 8 seconds before they start.
    for pause in [0, 1, 2, 4, 8] {
        assert_eq!(state(), State::Closed);
        let began = Instant::now();
        let error = call(&pool, "t", "{}").await.unwrap_err();
        assert!(
            error
                .to_string()
                .contains("its process ended (exit status: 1)"),
            "{error}"
        );
        assert_eq!(began.elapsed().as_secs(), pause);
    }
    assert_eq!(state(), State::Open);
    let opened = dialer.opened();
    let refused = call(&pool, "t", "{}").await.unwrap_err().to_string();
    assert!(
        refused.contains("left alone") && refused.contains("tried again in 30 s"),
        "{refused}"
    );
    assert_eq!(dialer.opened(), opened, "nothing was started");
    tokio::time::sleep(Duration::from_secs(31)).await;
    assert_eq!(state(), State::HalfOpen);
    call(&pool, "t", "{}").await.unwrap_err();
    assert_eq!(state(), State::Open);
    works_from.store(0, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(31)).await;
    call(&pool, "t", "{}").await.unwrap();
    assert_eq!(state(), State::Closed);
    assert_eq!(pool.status("s").unwrap().health, Health::Connected);
}

#[tokio::test(start_paused = true)]
async fn starting_a_server_has_its_own_time() {
    let check = async |start: u64, expected: Result<(), &str>| {
        let dialer = Scripted::starting_for(Duration::from_secs(start));
        let pool = pool(&dialer, |_| {});
        // The call itself has twenty seconds.
        match (call(&pool, "t", "{}").await, expected) {
            (Ok(_), Ok(())) => {}
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (result, _) => panic!("{start} s: {result:?}"),
        }
    };
    check(0, Ok(())).await;
    check(50, Ok(())).await;
    check(70, Err("it did not answer within 60000 ms")).await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_gives_way_to_a_new_one_when_a_server_has_too_many() {
    let dialer =
        Scripted::new(
            |_, message| match message["params"]["arguments"]["slow"].as_bool() {
                Some(true) => Act::Nothing,
                _ => fine(message),
            },
        );
    let pool = pool(&dialer, |_| {});
    for n in 0..70 {
        let key = Key::Session(n.to_string());
        call_with(&pool, "t", "{}", false, |call| call.key = key)
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!((dialer.opened(), dialer.closed()), (70, 6));
    // The oldest went first.
    call_with(&pool, "t", "{}", false, |call| {
        call.key = Key::Session("10".to_owned());
    })
    .await
    .unwrap();
    assert_eq!(dialer.opened(), 70);
    // Connections that are used do not give way.
    let busy = (0..64).map(|n| {
        let key = Key::Session(format!("busy {n}"));
        call_with(&pool, "t", r#"{"slow":true}"#, false, |call| call.key = key)
    });
    let (_, refused) = tokio::join!(futures::future::join_all(busy), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        call_with(&pool, "t", "{}", false, |call| {
            call.key = Key::Session("new".to_owned());
        })
        .await
    });
    // It is tried again for a while, and said at the end.
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("too many requests")
    );
}

#[tokio::test(start_paused = true)]
async fn too_many_requests_at_once_are_refused_and_the_rest_answered() {
    let dialer = Scripted::new(|_, message| match message["method"].as_str() {
        Some("tools/call") => Act::Nothing,
        _ => fine(message),
    });
    let pool = pool(&dialer, |endpoint| endpoint.retries = 0);
    let calls = (0..300).map(|_| call(&pool, "t", "{}"));
    let results = futures::future::join_all(calls).await;
    let said = |part: &str| {
        results
            .iter()
            .filter(|result| result.as_ref().unwrap_err().to_string().contains(part))
            .count()
    };
    assert_eq!(
        (said("too many requests"), said("did not answer")),
        (44, 256)
    );
    let list = pool
        .list("s", &Key::Shared, What::Tools, patient())
        .await
        .unwrap();
    assert_eq!(list.items.len(), 1, "the connection lives");
}

#[tokio::test(start_paused = true)]
async fn lists_are_bounded_and_a_method_that_is_not_there_is_an_empty_list() {
    let dialer = Scripted::new(|_, message| match message["method"].as_str() {
        Some("initialize") => {
            Act::Answer(json!({"protocolVersion": "2024-11-05", "capabilities": {"prompts": {}}}))
        }
        Some("tools/list") => {
            let page: usize = message["params"]["cursor"]
                .as_str()
                .map_or(0, |cursor| cursor.parse().unwrap());
            let tools: Vec<_> = (0..100)
                .map(|n| json!({"name": format!("t{page}_{n}"), "inputSchema": {}}))
                .collect();
            Act::Answer(json!({"tools": tools, "nextCursor": (page + 1).to_string()}))
        }
        _ => fine(message),
    });
    let pool = pool(&dialer, |_| {});
    let tools = pool
        .list("s", &Key::Shared, What::Tools, patient())
        .await
        .unwrap();
    assert_eq!(tools.items.len(), 50_000);
    assert!(
        tools.warnings[0].contains("cut off"),
        "{:?}",
        tools.warnings
    );
    assert!(
        pool.list("s", &Key::Shared, What::Prompts, patient())
            .await
            .unwrap()
            .items
            .is_empty()
    );
    assert!(
        pool.list("s", &Key::Shared, What::Resources, patient())
            .await
            .unwrap()
            .items
            .is_empty()
    );
    assert_eq!(
        dialer.asked("resources/list"),
        0,
        "what is not announced is not asked for"
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_a_revision_and_offers_it_is_asked_once_more() {
    let check =
        async |offered: &'static str, refusals: usize, discovers: usize, initializes: usize| {
            let asked = Arc::new(AtomicUsize::new(0));
            let dialer = Scripted::new(move |_, message| match message["method"].as_str() {
                Some("server/discover") if asked.fetch_add(1, Ordering::SeqCst) < refusals => {
                    let data = json!({"supported": [offered]});
                    let data = serde_json::value::to_raw_value(&data).unwrap();
                    Act::Fault(rpc::Fault {
                        data: Some(data),
                        ..rpc::Fault::new(rpc::UNSUPPORTED_VERSION, "unsupported")
                    })
                }
                Some("server/discover") => Act::Answer(json!({
                    "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                })),
                _ => fine(message),
            });
            let pool = pool(&dialer, |_| {});
            call(&pool, "t", "{}").await.unwrap();
            let times = (dialer.asked("server/discover"), dialer.asked("initialize"));
            assert_eq!(times, (discovers, initializes), "{offered} {refusals}");
        };
    check("2026-07-28", 0, 1, 0).await;
    check("2026-07-28", 1, 2, 0).await;
    check("2026-07-28", 9, 2, 1).await;
    check("2025-11-25", 1, 1, 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_to_a_server_that_cannot_be_started_was_certainly_not_sent() {
    let hangs = |_, _: &serde_json::Value| Act::Nothing;
    let ends = |_, _: &serde_json::Value| Act::Break(exited());
    let dialers = [
        (Scripted::new(ends), "ended"),
        (Scripted::new(hangs), "within 60000 ms"),
    ];
    for (dialer, said) in dialers {
        let pool = pool(&dialer, |_| {});
        let mut seen = Vec::new();
        for _ in 0..12 {
            let error = call(&pool, "t", "{}").await.unwrap_err();
            assert!(error.was_not_delivered(), "{error}");
            seen.push(error.to_string());
        }
        assert!(seen[0].contains(said), "{}", seen[0]);
        let last = seen.last().unwrap();
        assert!(last.contains("left alone"), "{last}");
        assert_eq!(dialer.asked("tools/call"), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_get_ready_is_not_started_again_for_the_same_call() {
    let dialer = Scripted::new(|_, _| Act::Nothing);
    let pool = pool(&dialer, |_| {});
    let error = call_with(&pool, "t", "{}", true, |_| {}).await.unwrap_err();
    assert!(error.was_not_delivered(), "{error}");
    assert_eq!(dialer.opened(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_an_attempt_may_have_brought_about_is_not_denied_by_the_next() {
    let dialer = Scripted::new(|connection, message| match connection {
        1 if message["method"] != "tools/call" => fine(message),
        _ => Act::Break(exited()),
    });
    let pool = pool(&dialer, |_| {});
    let error = call_with(&pool, "t", "{}", true, |_| {}).await.unwrap_err();
    assert!(dialer.opened() > 1, "it was tried again");
    assert_eq!(dialer.asked("tools/call"), 1);
    assert!(!error.was_not_delivered(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn an_odd_field_of_a_page_costs_that_field_and_not_the_list() {
    let check = async |page: serde_json::Value, ttl_ms: Option<u64>, warnings: &[&str]| {
        let answer = page.clone();
        let dialer = Scripted::new(move |_, message| {
            if message["method"] != "tools/list" {
                return fine(message);
            }
            let mut answer = answer.clone();
            answer["tools"] = json!([{"name": "t", "inputSchema": {}}]);
            Act::Answer(answer)
        });
        let pool = pool(&dialer, |_| {});
        let listing = pool.list("s", &Key::Shared, What::Tools, patient()).await;
        let listing = listing.unwrap();
        assert_eq!(listing.items.len(), 1, "{page}");
        assert_eq!(listing.ttl_ms, ttl_ms, "{page}");
        assert_eq!(
            listing.warnings.len(),
            warnings.len(),
            "{:?}",
            listing.warnings
        );
        for (said, expected) in listing.warnings.iter().zip(warnings) {
            assert!(said.contains(expected), "{said}");
        }
        assert_eq!(dialer.asked("tools/list"), 1);
    };
    check(json!({"ttlMs": 3_600_000.0}), Some(3_600_000), &[]).await;
    check(
        json!({"ttlMs": null, "nextCursor": null, "cacheScope": null}),
        None,
        &[],
    )
    .await;
    check(json!({"nextCursor": 2}), None, &["`nextCursor`"]).await;
    check(
        json!({"ttlMs": "soon", "cacheScope": 1}),
        None,
        &["`ttlMs`", "`cacheScope`"],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_list_is_as_fresh_and_as_public_as_its_least_page() {
    let pages = [
        json!({"ttlMs": 9_000, "cacheScope": "public", "nextCursor": "1"}),
        json!({"ttlMs": 2_000, "cacheScope": "private", "nextCursor": "2"}),
        json!({"ttlMs": 5_000, "cacheScope": "public"}),
    ];
    let dialer = Scripted::new(move |_, message| {
        if message["method"] != "tools/list" {
            return fine(message);
        }
        let at = message["params"]["cursor"].as_str().unwrap_or("0");
        let at: usize = at.parse().unwrap();
        let mut answer = pages[at].clone();
        answer["tools"] = json!([{"name": format!("t{at}"), "inputSchema": {}}]);
        Act::Answer(answer)
    });
    let pool = pool(&dialer, |_| {});
    let listing = pool.list("s", &Key::Shared, What::Tools, patient()).await;
    let listing = listing.unwrap();
    assert_eq!(listing.items.len(), 3);
    assert_eq!(listing.ttl_ms, Some(2_000));
    assert_eq!(listing.is_public, Some(false));
}

fn status(status: u16) -> Failure {
    Failure::Status {
        status,
        excerpt: String::new(),
        retry_after: None,
    }
}

fn over_http(endpoint: &mut Endpoint) {
    endpoint.way = Way::Http(Address {
        url: "https://example.com/sse".parse().unwrap(),
        authorisation: Arc::new(Credentials::none("s")),
    });
}

#[tokio::test(start_paused = true)]
async fn a_server_that_only_has_the_older_transport_is_reached_over_it() {
    let check = async |refusal: u16, ways: &[&str]| {
        let dialer = Scripted::new(move |connection, message| match connection {
            1 => Act::Fail(status(refusal)),
            _ => fine(message),
        });
        let pool = pool(&dialer, over_http);
        let outcome = call(&pool, "t", "{}").await;
        assert_eq!(outcome.is_ok(), ways.len() > 1, "{refusal}: {outcome:?}");
        assert_eq!(*dialer.ways.lock().unwrap(), ways, "{refusal}");
    };
    for refusal in [400, 404, 405] {
        check(refusal, &["http", "sse"]).await;
    }
    check(500, &["http"]).await;
}

#[tokio::test(start_paused = true)]
async fn the_transport_that_worked_is_remembered_until_it_works_no_more() {
    let has_streams = Arc::new(AtomicBool::new(true));
    let streams = Arc::clone(&has_streams);
    let ways: Arc<Mutex<Vec<&str>>> = Arc::default();
    let seen = Arc::clone(&ways);
    let mut dialer = Scripted::new(move |_, message| {
        let is_over_sse = seen.lock().unwrap().last() == Some(&"sse");
        if is_over_sse == streams.load(Ordering::SeqCst) {
            fine(message)
        } else {
            Act::Fail(status(405))
        }
    });
    Arc::get_mut(&mut dialer).unwrap().ways = ways;
    let pool = pool(&dialer, over_http);
    let connect = async |ways: &[&str]| {
        dialer.ways.lock().unwrap().clear();
        pool.disconnect("s");
        pool.connect("s", &Key::Shared).await.unwrap();
        assert_eq!(*dialer.ways.lock().unwrap(), ways);
    };
    connect(&["http", "sse"]).await;
    connect(&["sse"]).await;
    has_streams.store(false, Ordering::SeqCst);
    connect(&["sse", "http"]).await;
    connect(&["http"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_has_neither_transport_is_told_by_its_first_refusal() {
    let dialer =
        Scripted::new(|connection, _| Act::Fail(status(403 + u16::try_from(connection).unwrap())));
    let pool = pool(&dialer, over_http);
    let error = call(&pool, "t", "{}").await.unwrap_err();
    assert!(error.to_string().contains("HTTP 404"), "{error}");
    assert_eq!(*dialer.ways.lock().unwrap(), ["http", "sse"]);
}
