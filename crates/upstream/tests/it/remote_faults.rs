//! Streamable HTTP towards servers that misbehave: each fault is survived and said in one sentence.

use std::time::Duration;

use toolcrib_core::limits::MESSAGE_BYTES_MAX;
use toolcrib_testkit::remote::{Fault, Remote as StandIn, Settings};
use toolcrib_upstream::mcp::Failure;
use toolcrib_upstream::mcp::credential::Credentials;

use super::remote::{Talk, bearer, remote, until};

async fn with(fault: Fault) -> StandIn {
    let settings = Settings {
        fault: Some(fault),
        ..Settings::default()
    };
    StandIn::start(settings).await.unwrap()
}

#[tokio::test]
async fn a_forgotten_session_is_told_from_a_missing_page() {
    for (status, text) in [
        (404, "gone"),
        (400, "Bad Request: No valid session ID provided"),
    ] {
        let settings = Settings {
            sessions: true,
            fault: Some(Fault::Forgets {
                after: 1,
                status,
                text,
            }),
            ..Settings::default()
        };
        let stand_in = StandIn::start(settings).await.unwrap();
        let mut talk = Talk::http(&stand_in);
        talk.ask(1, "initialize").await;
        talk.answer().await;
        talk.ask(2, "tools/list").await;
        assert_eq!(talk.failure().await, Failure::SessionLost);
        talk.close().await;
        let methods: Vec<_> = stand_in
            .seen()
            .into_iter()
            .map(|seen| seen.method)
            .collect();
        assert_eq!(
            methods,
            ["POST", "POST"],
            "a lost session is not ended again"
        );
    }
    let stand_in = with(Fault::Forgets {
        after: 0,
        status: 404,
        text: "no page",
    })
    .await;
    let mut talk = Talk::http(&stand_in);
    talk.ask(1, "initialize").await;
    let failure = talk.failure().await;
    assert!(
        matches!(failure, Failure::Status { status: 404, .. }),
        "{failure:?}"
    );
}

#[tokio::test]
async fn a_busy_server_is_left_alone_as_long_as_it_asks() {
    for (status, retry_after, seconds) in [(429, "7", 7), (503, "2", 2)] {
        let stand_in = with(Fault::Busy {
            times: 1,
            status,
            retry_after,
        })
        .await;
        let mut talk = Talk::http(&stand_in);
        talk.ask(1, "tools/list").await;
        let expected = Failure::Status {
            status,
            excerpt: "busy".to_owned(),
            retry_after: Some(Duration::from_secs(seconds)),
        };
        let failure = talk.failure().await;
        assert_eq!(failure, expected);
        assert!(failure.is_passing());
        assert_eq!(failure.was_not_delivered(), status == 429);
        talk.ask(2, "tools/list").await;
        assert_eq!(talk.answer().await.0, 2);
    }
}

#[tokio::test]
async fn a_stream_that_breaks_is_resumed_where_events_have_ids() {
    let settings = Settings {
        events: true,
        fault: Some(Fault::CutsEvents {
            ids: true,
            times: 3,
        }),
        ..Settings::default()
    };
    let stand_in = StandIn::start(settings).await.unwrap();
    let mut talk = Talk::http(&stand_in);
    talk.ask(5, "tools/call").await;
    assert_eq!(talk.answer().await.0, 5);
    let seen = stand_in.seen();
    assert_eq!(seen.len(), 4);
    assert!(
        seen[1..]
            .iter()
            .all(|seen| seen.header("last-event-id") == Some("5"))
    );
    talk.version = Some("2026-07-28");
    let settings = Settings {
        events: true,
        fault: Some(Fault::CutsEvents {
            ids: true,
            times: 1,
        }),
        ..Settings::default()
    };
    let stand_in = StandIn::start(settings).await.unwrap();
    let mut talk = Talk::http(&stand_in);
    talk.version = Some("2026-07-28");
    talk.ask(1, "tools/call").await;
    let failure = talk.failure().await;
    assert!(
        matches!(failure, Failure::Broken(_)),
        "the modern era resumes nothing: {failure:?}"
    );
}

#[tokio::test]
async fn a_stream_that_breaks_without_ids_fails_its_request_only() {
    let settings = Settings {
        events: true,
        fault: Some(Fault::CutsEvents {
            ids: false,
            times: 1,
        }),
        ..Settings::default()
    };
    let stand_in = StandIn::start(settings).await.unwrap();
    let mut talk = Talk::http(&stand_in);
    talk.ask(1, "tools/call").await;
    let failure = talk.failure().await;
    assert!(matches!(failure, Failure::Broken(_)), "{failure:?}");
    assert!(!failure.was_not_delivered());
    talk.ask(2, "tools/call").await;
    assert_eq!(talk.answer().await.0, 2);
}

#[tokio::test]
async fn an_answer_that_does_not_begin_in_time_is_given_up() {
    let stand_in = with(Fault::Slow(Duration::from_mins(1))).await;
    let mut slow = remote(&stand_in, "/mcp", Credentials::none("x"));
    slow.answer_begins_within = Duration::from_millis(50);
    let mut talk = Talk::over(slow);
    talk.ask(1, "tools/list").await;
    assert_eq!(
        talk.failure().await,
        Failure::TimedOut(Duration::from_millis(50))
    );
}

#[tokio::test]
async fn what_is_too_large_is_not_read() {
    for events in [false, true] {
        let settings = Settings {
            events,
            fault: Some(Fault::Giant(MESSAGE_BYTES_MAX)),
            ..Settings::default()
        };
        let stand_in = StandIn::start(settings).await.unwrap();
        let mut talk = Talk::http(&stand_in);
        talk.ask(1, "tools/list").await;
        assert_eq!(talk.failure().await, Failure::TooLarge(MESSAGE_BYTES_MAX));
    }
}

#[tokio::test]
async fn what_is_no_message_is_quoted() {
    let check = async |status: u16, kind: &'static str, text: &'static str, part: &str| {
        let stand_in = with(Fault::Says { status, kind, text }).await;
        let mut talk = Talk::http(&stand_in);
        talk.ask(1, "initialize").await;
        let failure = talk.failure().await;
        assert!(matches!(failure, Failure::NotMcp(_)), "{failure:?}");
        assert!(failure.to_string().contains(part), "{failure}");
    };
    check(
        200,
        "text/html",
        "<html>\n<h1>Welcome</h1>",
        "<html> <h1>Welcome</h1>",
    )
    .await;
    check(200, "application/json", r#"{"ok":true}"#, r#"{"ok":true}"#).await;
    check(200, "application/json", "[]", "without an answer").await;
    check(204, "text/plain", "", "no message").await;
    let stand_in = with(Fault::Says {
        status: 502,
        kind: "text/html",
        text: "<h1>Bad gateway</h1>",
    })
    .await;
    let mut talk = Talk::http(&stand_in);
    talk.ask(1, "initialize").await;
    let text = talk.failure().await.to_string();
    assert_eq!(text, "it answered HTTP 502; it said: <h1>Bad gateway</h1>");
}

#[tokio::test]
async fn an_answer_under_a_wrong_type_is_read_all_the_same() {
    let stand_in = with(Fault::Mislabels("text/plain")).await;
    let mut talk = Talk::http(&stand_in);
    talk.ask(1, "tools/list").await;
    assert_eq!(talk.answer().await.0, 1);
}

#[tokio::test]
async fn a_request_that_is_only_accepted_has_failed() {
    let stand_in = with(Fault::Accepts).await;
    let mut talk = Talk::http(&stand_in);
    talk.ask(1, "tools/list").await;
    let failure = talk.failure().await;
    assert!(matches!(failure, Failure::NotMcp(_)), "{failure:?}");
}

#[tokio::test]
async fn a_server_that_hangs_up_or_is_not_there_is_told_apart() {
    let stand_in = with(Fault::HangsUp).await;
    let mut talk = Talk::http(&stand_in);
    talk.ask(1, "tools/list").await;
    let failure = talk.failure().await;
    assert!(matches!(failure, Failure::Broken(_)), "{failure:?}");
    let mut nobody = remote(&stand_in, "/mcp?key=hunter2", Credentials::none("x"));
    // Bound and not listened to: nobody else can take it, and whoever connects is refused.
    let held = tokio::net::TcpSocket::new_v4().unwrap();
    held.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let port = held.local_addr().unwrap().port();
    nobody.url.set_port(Some(port)).unwrap();
    let mut talk = Talk::over(nobody);
    talk.ask(1, "tools/list").await;
    let failure = talk.failure().await;
    assert!(matches!(failure, Failure::Unreachable(_)), "{failure:?}");
    assert!(!format!("{failure}").contains("hunter2"));
}

#[tokio::test]
async fn credentials_do_not_follow_a_redirect_to_another_place() {
    let other = StandIn::start(Settings::default()).await.unwrap();
    for status in [302, 307] {
        let to = format!("{}/mcp?code=hunter2", other.origin);
        let stand_in = with(Fault::Redirects { status, to }).await;
        let mut talk = Talk::over(remote(&stand_in, "/mcp", bearer("token")));
        talk.ask(1, "initialize").await;
        let text = talk.failure().await.to_string();
        assert!(
            text.contains("is not followed") && text.contains(&other.origin),
            "{text}"
        );
        assert!(!text.contains("hunter2"), "{text}");
    }
    assert!(other.seen().is_empty());
}

#[tokio::test]
async fn missing_scopes_are_named() {
    let settings = Settings {
        tokens: vec!["right".to_owned()],
        challenge: Some(r#"Bearer error="insufficient_scope", scope="files:write""#.to_owned()),
        ..Settings::default()
    };
    let stand_in = StandIn::start(settings).await.unwrap();
    let mut talk = Talk::over(remote(&stand_in, "/mcp", bearer("other")));
    talk.ask(1, "tools/call").await;
    let text = talk.failure().await.to_string();
    assert!(text.contains("files:write"), "{text}");
}

#[tokio::test]
async fn a_refused_notification_disturbs_nothing() {
    let settings = Settings {
        tokens: vec!["right".to_owned()],
        ..Settings::default()
    };
    let stand_in = StandIn::start(settings).await.unwrap();
    let mut talk = Talk::http(&stand_in);
    talk.tell("notifications/initialized").await;
    until(|| stand_in.seen().len() == 1).await;
    talk.ask(1, "tools/list").await;
    let text = talk.failure().await.to_string();
    assert!(text.contains("toolcrib login stand-in"), "{text}");
}
