//! The peer against a link that the test holds the other end of.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use toolcrib_core::rpc::{self, Fault, Id};

use super::*;
use crate::mcp::client::Answer;
use crate::mcp::{Incoming, Link};

struct Far {
    asked: mpsc::Receiver<Outgoing>,
    says: mpsc::Sender<Incoming>,
}

impl Far {
    async fn next(&mut self) -> Value {
        serde_json::from_slice(&self.asked.recv().await.unwrap().text).unwrap()
    }

    async fn say(&self, message: Value) {
        let message = rpc::parse(message.to_string().as_bytes()).unwrap();
        self.says.send(Incoming::Message(message)).await.unwrap();
    }
}

fn pair() -> (Peer, Far, Arc<Mutex<Vec<String>>>) {
    let (outgoing, asked) = mpsc::channel(8);
    let (says, incoming) = mpsc::channel(8);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ear = Arc::clone(&heard);
    let link = Link {
        outgoing,
        incoming,
        close: CancellationToken::new(),
        stderr: crate::mcp::Tail::default(),
    };
    let listener: Listener = Box::new(move |method, _| ear.lock().unwrap().push(method.to_owned()));
    (Peer::new(link, listener), Far { asked, says }, heard)
}

#[derive(Debug, Default)]
struct Hangs(Mutex<Vec<String>>);

impl Client for Hangs {
    fn request<'a>(&'a self, method: &'a str, _: Option<&'a RawValue>) -> Answer<'a> {
        self.0.lock().unwrap().push(method.to_owned());
        Box::pin(async {
            std::future::pending::<()>().await;
            Err(Fault::new(0, "never"))
        })
    }

    fn notify(&self, method: &str, params: Option<&RawValue>) {
        let params = params.map_or("", RawValue::get);
        self.0.lock().unwrap().push(format!("{method} {params}"));
    }

    fn capabilities(&self) -> Box<RawValue> {
        raw(&json!({}))
    }
}

#[tokio::test(start_paused = true)]
async fn answers_find_their_requests_in_any_order_and_the_rest_is_counted() {
    let (peer, mut far, _) = pair();
    let options = Options::within(Duration::from_secs(1));
    let far_side = async {
        let (a, b, _) = (far.next().await, far.next().await, far.next().await);
        // Some servers write numbers as texts.
        far.say(json!({"jsonrpc": "2.0", "id": b["id"].to_string(), "result": "b"}))
            .await;
        far.say(json!({"jsonrpc": "2.0", "id": a["id"], "error": {"code": 7, "message": "a"}}))
            .await;
        far.say(json!({"jsonrpc": "2.0", "id": "who", "result": {}}))
            .await;
        far.say(
            json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "what?"}}),
        )
        .await;
        far
    };
    let (a, b, c, _far) = tokio::join!(
        peer.request("a", None, &options),
        peer.request("b", None, &options),
        peer.request("c", None, &options),
        far_side,
    );
    assert_eq!(a.unwrap_err().to_string(), "a (code 7)");
    assert_eq!(b.unwrap().get(), "\"b\"");
    // An error without an id belongs to the only request that waits.
    match c {
        Err(CallError::Fault(fault)) => assert_eq!(fault.code, -32700),
        other => panic!("{other:?}"),
    }
    assert_eq!(peer.counts().unasked, 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_too_late_is_dropped() {
    let (peer, mut far, _) = pair();
    let late = peer
        .request("slow", None, &Options::within(Duration::from_secs(1)))
        .await;
    assert_eq!(
        late.unwrap_err().to_string(),
        "it did not answer within 1000 ms"
    );
    let asked = far.next().await;
    assert_eq!(
        far.asked.recv().await.unwrap().kind,
        Kind::Cancellation(Id::Number(1))
    );
    far.say(json!({"jsonrpc": "2.0", "id": asked["id"], "result": {}}))
        .await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(
        peer.counts(),
        Counts {
            late: 1,
            ..Counts::default()
        }
    );
    assert_eq!(peer.under_way(), 0);
    // The handshake must not be cancelled.
    let _ = peer
        .request("initialize", None, &Options::within(Duration::from_secs(1)))
        .await;
    assert_eq!(far.next().await["method"], "initialize");
    assert!(far.asked.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn progress_keeps_a_request_alive_where_silence_would_end_it() {
    let (peer, mut far, _) = pair();
    let options = Options {
        idle: Some(Duration::from_millis(500)),
        ..Options::default()
    };
    let pause = || tokio::time::sleep(Duration::from_millis(400));
    let (lively, ()) = tokio::join!(peer.request("slow", None, &options), async {
        let asked = far.next().await;
        let token = &asked["params"]["_meta"]["progressToken"];
        for n in 1..=3 {
            pause().await;
            far.say(
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": n}}),
            )
            .await;
        }
        pause().await;
        far.say(json!({"jsonrpc": "2.0", "id": asked["id"], "result": "done"}))
            .await;
    });
    assert_eq!(lively.unwrap().get(), "\"done\"");
    let silent = peer.request("slow", None, &options).await;
    assert_eq!(
        silent.unwrap_err().to_string(),
        "it did not answer within 500 ms"
    );
}

#[tokio::test(start_paused = true)]
async fn every_question_of_the_server_is_answered() {
    let (peer, mut far, heard) = pair();
    let check = async |far: &mut Far, method: &str, expected: Value| {
        far.say(json!({"jsonrpc": "2.0", "id": "q", "method": method}))
            .await;
        let answer = far.next().await;
        assert_eq!(answer["id"], "q");
        let given = if answer["result"].is_null() {
            &answer["error"]["code"]
        } else {
            &answer["result"]
        };
        assert_eq!(*given, expected, "{method}");
    };
    check(&mut far, "ping", json!({})).await;
    check(&mut far, "x/unknown", json!(rpc::METHOD_NOT_FOUND)).await;
    check(
        &mut far,
        "sampling/createMessage",
        json!(rpc::METHOD_NOT_FOUND),
    )
    .await;
    let person = Arc::new(Hangs::default());
    peer.set_owner(Some(Arc::clone(&person) as Arc<dyn Client>));
    // Sixteen may wait; the next is refused.
    for n in 0..16 {
        far.say(json!({"jsonrpc": "2.0", "id": n, "method": "elicitation/create"}))
            .await;
    }
    check(&mut far, "elicitation/create", json!(rpc::INTERNAL_ERROR)).await;
    assert_eq!(person.0.lock().unwrap().len(), 16);
    // One that the server takes back makes room, and is not answered.
    let taken_back = json!({"requestId": 3, "reason": "changed my mind"});
    far.say(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": taken_back}))
        .await;
    far.say(json!({"jsonrpc": "2.0", "id": 99, "method": "roots/list"}))
        .await;
    far.say(json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": 1}}))
        .await;
    far.say(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}))
        .await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(
        person.0.lock().unwrap()[16..],
        [r#"notifications/message {"data":1}"#, "roots/list"]
    );
    assert!(far.asked.try_recv().is_err());
    assert_eq!(*heard.lock().unwrap(), ["notifications/tools/list_changed"]);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_link_ends_everything_that_waits() {
    let (peer, mut far, _) = pair();
    let options = Options::default();
    let (waiting, ()) = tokio::join!(peer.request("a", None, &options), async {
        far.next().await;
        far.says
            .send(Incoming::Closed(Failure::SessionLost))
            .await
            .unwrap();
    });
    assert_eq!(waiting.unwrap_err().failure(), Some(&Failure::SessionLost));
    assert_eq!(peer.why_closed().await, Failure::SessionLost);
    let later = peer.request("b", None, &options).await.unwrap_err();
    assert!(later.failure().unwrap().was_not_delivered(), "{later}");
    drop(far);
    assert_eq!(
        peer.notify("x", None).await.unwrap_err(),
        Failure::SessionLost
    );
    // A link that ends without a word says so.
    let (peer, far, _) = pair();
    drop(far);
    assert!(matches!(peer.why_closed().await, Failure::Broken(_)));
}

#[test]
fn a_token_of_ours_stands_for_the_callers() {
    let check = |params: &str, wanted: bool, sent: &str, token: Option<&str>| {
        let params = RawValue::from_string(params.to_owned()).unwrap();
        let (written, kept) = with_own_token(Some(&params), 5, wanted);
        assert_eq!(written.unwrap().get(), sent);
        assert_eq!(kept.as_deref().map(RawValue::get), token);
    };
    let with = r#"{"a":1,"_meta":{"x":1,"progressToken":"t"},"b":2.0}"#;
    check(
        with,
        false,
        r#"{"a":1,"_meta":{"x":1,"progressToken":5},"b":2.0}"#,
        Some("\"t\""),
    );
    check(r#"{ "a":1 }"#, false, r#"{ "a":1 }"#, None);
    check(
        r#"{"a":"progressToken"}"#,
        false,
        r#"{"a":"progressToken"}"#,
        None,
    );
    check(
        r#"{"a":1}"#,
        true,
        r#"{"a":1,"_meta":{"progressToken":5}}"#,
        None,
    );
}
