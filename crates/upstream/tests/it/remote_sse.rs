//! The older HTTP transport.

use serde_json::json;
use toolcrib_core::rpc::Id;
use toolcrib_testkit::remote::{Fault, Remote as StandIn, Settings};
use toolcrib_upstream::mcp::credential::Credentials;
use toolcrib_upstream::mcp::{Failure, Incoming, Kind};

use super::remote::{Talk, bearer, remote, until};

async fn talk(settings: Settings) -> (StandIn, Talk) {
    let stand_in = StandIn::start(settings).await.unwrap();
    let talk = Talk::sse(remote(&stand_in, "/sse", bearer("right")));
    (stand_in, talk)
}

async fn closed(talk: &mut Talk) -> Failure {
    match talk.next().await {
        Incoming::Closed(failure) => failure,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn messages_go_to_the_named_place_and_answers_come_on_the_stream() {
    let tokens = vec!["right".to_owned()];
    let (stand_in, mut talk) = talk(Settings {
        tokens,
        ..Settings::default()
    })
    .await;
    talk.ask(1, "initialize").await;
    let (id, result) = talk.answer().await;
    assert_eq!((id, &result["echo"]), (1, &json!("initialize")));
    talk.tell("notifications/initialized").await;
    talk.ask(2, "inline").await;
    assert_eq!(talk.answer().await.0, 2);
    talk.ask(3, "junk").await;
    let junk = talk.next().await;
    assert!(
        matches!(&junk, Incoming::Junk(text) if text == "no message"),
        "{junk:?}"
    );
    talk.ask(4, "never").await;
    talk.send(Kind::Cancellation(Id::Number(4)), Vec::new())
        .await;
    let paths: Vec<_> = stand_in.seen().into_iter().map(|seen| seen.path).collect();
    assert_eq!(paths[..4], ["/sse", "/messages", "/messages", "/messages"]);
    assert_eq!(talk.close().await, Failure::Closed);
}

#[tokio::test]
async fn a_place_of_another_origin_is_refused() {
    let other = StandIn::start(Settings::default()).await.unwrap();
    for place in [
        format!("{}/messages", other.origin),
        "//127.0.0.2/x".to_owned(),
    ] {
        let fault = Some(Fault::SendsElsewhere(place));
        let (_stand_in, mut talk) = talk(Settings {
            fault,
            ..Settings::default()
        })
        .await;
        let failure = closed(&mut talk).await;
        assert!(failure.to_string().contains("another place"), "{failure}");
    }
    assert!(other.seen().is_empty());
}

#[tokio::test]
async fn what_is_no_stream_is_said() {
    let check = async |status: u16, kind: &'static str, part: &str| {
        let fault = Some(Fault::Says {
            status,
            kind,
            text: "hello",
        });
        let (_stand_in, mut talk) = talk(Settings {
            fault,
            ..Settings::default()
        })
        .await;
        let failure = closed(&mut talk).await;
        assert!(failure.to_string().contains(part), "{failure}");
    };
    check(200, "text/html", "without a stream of events").await;
    check(405, "text/html", "HTTP 405").await;
    let stand_in = StandIn::start(Settings {
        tokens: vec!["t".to_owned()],
        ..Settings::default()
    });
    let stand_in = stand_in.await.unwrap();
    let mut talk = Talk::sse(remote(&stand_in, "/sse", Credentials::none("old")));
    let failure = closed(&mut talk).await;
    assert!(
        failure.to_string().contains("toolcrib login old"),
        "{failure}"
    );
}

#[tokio::test]
async fn a_stream_that_ends_closes_the_way() {
    let (stand_in, mut talk) = talk(Settings::default()).await;
    talk.ask(1, "initialize").await;
    talk.answer().await;
    stand_in.say(&json!("END"));
    let failure = closed(&mut talk).await;
    assert!(matches!(failure, Failure::Broken(_)), "{failure:?}");
}

#[tokio::test]
async fn a_message_that_is_refused_fails_its_request() {
    let fault = Fault::Busy {
        times: 1,
        status: 503,
        retry_after: "1",
    };
    let (_stand_in, mut talk) = talk(Settings {
        fault: Some(fault),
        ..Settings::default()
    })
    .await;
    talk.ask(1, "initialize").await;
    assert!(talk.failure().await.is_passing());
    let fault = Fault::Forgets {
        after: 1,
        status: 404,
        text: "no session",
    };
    let (_stand_in, mut talk) = super::remote_sse::talk(Settings {
        fault: Some(fault),
        ..Settings::default()
    })
    .await;
    talk.ask(1, "initialize").await;
    talk.answer().await;
    talk.ask(2, "tools/list").await;
    assert_eq!(talk.failure().await, Failure::SessionLost);
}

#[tokio::test]
async fn dropping_the_link_lets_the_server_go() {
    let (stand_in, talk) = talk(Settings::default()).await;
    until(|| stand_in.seen().len() == 1).await;
    let Talk { link, tasks, .. } = talk;
    drop(link);
    tasks.close();
    tasks.wait().await;
    until(|| stand_in.say(&json!("x")) == 0).await;
}
