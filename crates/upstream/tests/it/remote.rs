//! Streamable HTTP towards a server that behaves.

use std::sync::Arc;

use http::{HeaderName, HeaderValue, Method};
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;
use toolcrib_core::rpc::{self, Id, Message};
use toolcrib_core::secret::Secret;
use toolcrib_testkit::remote::{Remote as StandIn, SESSION, Settings};
use toolcrib_upstream::mcp::credential::{Credentials, Given, choose};
use toolcrib_upstream::mcp::http::{self as streamable, Client, Remote};
use toolcrib_upstream::mcp::{Failure, Incoming, Kind, Link, Outgoing, sse};

use crate::fixture::{PATIENCE, eventually};

/// One end of a link, for tests.
pub(crate) struct Talk {
    pub(crate) link: Link,
    pub(crate) tasks: TaskTracker,
    pub(crate) version: Option<&'static str>,
}

/// Credentials with one bearer token.
pub(crate) fn bearer(token: &str) -> Credentials {
    choose(&Given {
        server: "stand-in",
        url: &"http://127.0.0.1/".parse().unwrap(),
        instead: &[],
        headers: &[],
        bearer: Some(&Secret::new(token)),
        variable: &|_| None,
    })
}

pub(crate) fn remote(stand_in: &StandIn, path: &str, credentials: Credentials) -> Remote {
    let url = format!("{}{path}", stand_in.origin).parse().unwrap();
    Remote::new("stand-in", url, Arc::new(credentials))
}

impl Talk {
    pub(crate) fn over(remote: Remote) -> Self {
        let tasks = TaskTracker::new();
        let link = streamable::open(&Client::new(), remote, &tasks);
        Self {
            link,
            tasks,
            version: None,
        }
    }

    pub(crate) fn http(stand_in: &StandIn) -> Self {
        Self::over(remote(stand_in, "/mcp", Credentials::none("stand-in")))
    }

    pub(crate) fn sse(remote: Remote) -> Self {
        let tasks = TaskTracker::new();
        let link = sse::open(&Client::new(), remote, &tasks);
        Self {
            link,
            tasks,
            version: None,
        }
    }

    pub(crate) async fn send(&self, kind: Kind, text: Vec<u8>) {
        let version = self.version.map(HeaderValue::from_static);
        let name = HeaderName::from_static("mcp-protocol-version");
        let headers = version.into_iter().map(|v| (name.clone(), v)).collect();
        let message = Outgoing {
            kind,
            text,
            headers,
        };
        self.link.outgoing.send(message).await.unwrap();
    }

    pub(crate) async fn ask(&self, id: i64, method: &str) {
        let id = Id::Number(id);
        let text = rpc::request(&id, method, Some(&json!({"a": 1})));
        self.send(Kind::Request(id), text).await;
    }

    pub(crate) async fn tell(&self, method: &str) {
        let text = rpc::notification::<Value>(method, None);
        self.send(Kind::Notification, text).await;
    }

    pub(crate) async fn next(&mut self) -> Incoming {
        let next = tokio::time::timeout(PATIENCE, self.link.incoming.recv());
        next.await.expect("something in time").expect("a message")
    }

    /// The result that comes next, and the request that it answers.
    pub(crate) async fn answer(&mut self) -> (i64, Value) {
        match self.next().await {
            Incoming::Message(Message::Answer {
                id: Some(Id::Number(id)),
                outcome: Ok(result),
            }) => (id, serde_json::from_str(result.get()).unwrap()),
            other => panic!("no result: {other:?}"),
        }
    }

    pub(crate) async fn failure(&mut self) -> Failure {
        match self.next().await {
            Incoming::Failed { failure, .. } => failure,
            other => panic!("no failure: {other:?}"),
        }
    }

    /// Closes the link and waits until everything behind it has ended.
    pub(crate) async fn close(mut self) -> Failure {
        self.link.close.cancel();
        let end = loop {
            if let Incoming::Closed(failure) = self.next().await {
                break failure;
            }
        };
        self.tasks.close();
        self.tasks.wait().await;
        end
    }
}

/// Waits until the stand-in says yes, for events that have no other sign.
pub(crate) async fn until(check: impl FnMut() -> bool) {
    eventually("the stand-in says yes", check).await;
}

fn echo(method: &str) -> Value {
    json!({"echo": method, "params": {"a": 1}})
}

#[tokio::test]
async fn answers_come_as_json_as_events_and_as_a_batch() {
    for events in [false, true] {
        let settings = Settings {
            events,
            ..Settings::default()
        };
        let stand_in = StandIn::start(settings).await.unwrap();
        let mut talk = Talk::http(&stand_in);
        talk.ask(1, "tools/list").await;
        assert_eq!(talk.answer().await, (1, echo("tools/list")));
        talk.ask(2, "batch").await;
        assert_eq!(talk.answer().await, (2, echo("batch")));
        let seen = stand_in.seen();
        assert_eq!(
            seen[0].header("accept"),
            Some("application/json, text/event-stream")
        );
        assert_eq!(seen[0].header("content-type"), Some("application/json"));
        assert_eq!(seen[0].header("mcp-session-id"), None);
        assert_eq!(talk.close().await, Failure::Closed);
    }
}

#[tokio::test]
async fn a_session_is_read_sent_and_ended() {
    let settings = Settings {
        sessions: true,
        ..Settings::default()
    };
    let stand_in = StandIn::start(settings).await.unwrap();
    let mut talk = Talk::http(&stand_in);
    talk.ask(1, "initialize").await;
    talk.answer().await;
    talk.version = Some("2025-11-25");
    talk.tell("notifications/initialized").await;
    talk.ask(2, "tools/list").await;
    talk.answer().await;
    talk.close().await;
    let seen = stand_in.seen();
    let posts: Vec<_> = seen
        .iter()
        .filter(|seen| seen.method == Method::POST)
        .collect();
    // The notification was accepted before the next request went out.
    let methods: Vec<_> = posts
        .iter()
        .map(|seen| seen.body["method"].as_str())
        .collect();
    let expected = ["initialize", "notifications/initialized", "tools/list"];
    assert_eq!(methods, expected.map(Some));
    let sessions: Vec<_> = posts
        .iter()
        .map(|seen| seen.header("mcp-session-id"))
        .collect();
    assert_eq!(sessions, [None, Some(SESSION), Some(SESSION)]);
    let get = seen.iter().find(|seen| seen.method == Method::GET).unwrap();
    assert_eq!(get.header("mcp-session-id"), Some(SESSION));
    let end = seen.last().unwrap();
    assert_eq!(end.method, Method::DELETE);
    assert_eq!(end.header("mcp-session-id"), Some(SESSION));
    assert_eq!(end.header("mcp-protocol-version"), Some("2025-11-25"));
}

#[tokio::test]
async fn the_modern_era_has_no_session_and_no_standing_stream() {
    let settings = Settings {
        sessions: true,
        standing: true,
        ..Settings::default()
    };
    let stand_in = StandIn::start(settings).await.unwrap();
    let mut talk = Talk::http(&stand_in);
    talk.version = Some("2026-07-28");
    talk.ask(1, "server/discover").await;
    talk.answer().await;
    talk.tell("notifications/anything").await;
    talk.ask(2, "tools/list").await;
    talk.answer().await;
    talk.close().await;
    let seen = stand_in.seen();
    assert_eq!(seen.len(), 3);
    assert!(seen.iter().all(|seen| seen.method == Method::POST));
    assert!(
        seen.iter()
            .all(|seen| seen.header("mcp-session-id").is_none())
    );
}

#[tokio::test]
async fn what_the_server_says_unasked_arrives() {
    let settings = Settings {
        sessions: true,
        standing: true,
        ..Settings::default()
    };
    let stand_in = StandIn::start(settings).await.unwrap();
    let mut talk = Talk::http(&stand_in);
    talk.ask(1, "initialize").await;
    talk.answer().await;
    talk.tell("notifications/initialized").await;
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    until(|| stand_in.say(&changed) > 0).await;
    let heard = talk.next().await;
    assert!(
        matches!(&heard, Incoming::Message(Message::Notification { method, .. }) if method.ends_with("list_changed")),
        "{heard:?}"
    );
    talk.close().await;
}

#[tokio::test]
async fn requests_of_the_server_and_foreign_answers_come_before_the_answer() {
    let stand_in = StandIn::start(Settings::default()).await.unwrap();
    let mut talk = Talk::http(&stand_in);
    talk.ask(1, "ask").await;
    let asked = talk.next().await;
    assert!(
        matches!(asked, Incoming::Message(Message::Request { .. })),
        "{asked:?}"
    );
    let told = talk.next().await;
    assert!(
        matches!(told, Incoming::Message(Message::Notification { .. })),
        "{told:?}"
    );
    assert_eq!(talk.answer().await.0, 999);
    assert_eq!(talk.answer().await, (1, echo("ask")));
    let answer = rpc::result(&Id::Text("s1".into()), &json!({"roots": []}));
    talk.send(Kind::Answer, answer).await;
    until(|| {
        stand_in
            .seen()
            .iter()
            .any(|seen| seen.body["result"]["roots"].is_array())
    })
    .await;
}

#[tokio::test]
async fn a_refusal_in_json_rpc_is_an_answer_to_its_request() {
    let stand_in = StandIn::start(Settings::default()).await.unwrap();
    let mut talk = Talk::http(&stand_in);
    talk.ask(7, "refuse").await;
    match talk.next().await {
        Incoming::Message(Message::Answer {
            id,
            outcome: Err(fault),
        }) => {
            assert_eq!((id, fault.code), (Some(Id::Number(7)), -32022));
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_cancelled_request_is_dropped_and_others_go_on() {
    let stand_in = StandIn::start(Settings::default()).await.unwrap();
    let mut talk = Talk::http(&stand_in);
    talk.ask(1, "never").await;
    talk.ask(2, "tools/list").await;
    assert_eq!(talk.answer().await.0, 2);
    talk.send(Kind::Cancellation(Id::Number(1)), Vec::new())
        .await;
    until(|| stand_in.given_up() == 1).await;
    assert_eq!(stand_in.seen().len(), 2);
    let text = rpc::notification("notifications/cancelled", Some(&json!({"requestId": 3})));
    talk.ask(3, "never").await;
    until(|| stand_in.seen().len() == 3).await;
    talk.send(Kind::Cancellation(Id::Number(3)), text).await;
    until(|| stand_in.given_up() == 2).await;
    let told = || {
        let seen = stand_in.seen();
        seen.iter()
            .any(|seen| seen.body["params"]["requestId"] == 3)
    };
    until(told).await;
}

#[tokio::test]
async fn dropping_a_link_ends_what_is_under_way() {
    let settings = Settings {
        sessions: true,
        ..Settings::default()
    };
    let stand_in = StandIn::start(settings).await.unwrap();
    let mut talk = Talk::http(&stand_in);
    talk.ask(1, "initialize").await;
    talk.answer().await;
    talk.ask(2, "never").await;
    until(|| stand_in.seen().len() == 2).await;
    let Talk { link, tasks, .. } = talk;
    drop(link);
    tasks.close();
    tasks.wait().await;
    until(|| stand_in.given_up() == 1).await;
    assert_eq!(stand_in.seen().last().unwrap().method, Method::DELETE);
}

#[tokio::test]
async fn credentials_go_with_every_request() {
    let settings = Settings {
        tokens: vec!["right".to_owned()],
        ..Settings::default()
    };
    let stand_in = StandIn::start(settings).await.unwrap();
    let mut talk = Talk::over(remote(&stand_in, "/mcp", bearer("right")));
    talk.ask(1, "tools/list").await;
    assert_eq!(talk.answer().await.0, 1);
    let mut talk = Talk::over(remote(&stand_in, "/mcp", bearer("wrong")));
    talk.ask(1, "tools/list").await;
    let failure = talk.failure().await;
    let Failure::Unauthorised(text) = &failure else {
        panic!("{failure:?}")
    };
    assert!(text.contains("configuration"), "{text}");
    assert!(
        !text.contains("wrong"),
        "the server's echo of the token is masked: {text}"
    );
}

#[tokio::test]
async fn redirects_within_the_origin_are_followed() {
    let stand_in = StandIn::start(Settings::default()).await.unwrap();
    let mut talk = Talk::over(remote(&stand_in, "/moved", bearer("token")));
    talk.ask(1, "tools/list").await;
    assert_eq!(talk.answer().await, (1, echo("tools/list")));
    let seen = stand_in.seen();
    assert_eq!(seen[0].header("authorization"), Some("Bearer token"));
}
