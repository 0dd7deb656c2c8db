use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines as TokioLines};
use tokio::task::JoinHandle;

use super::*;
use crate::mcp::stand_in::{StandIn, caller, service};
use crate::mcp::surface::Change;

mod handshake;

/// A client on the other end of the pipe.
struct Peer {
    input: Option<DuplexStream>,
    output: TokioLines<BufReader<DuplexStream>>,
    serving: JoinHandle<io::Result<()>>,
    surface: Arc<StandIn>,
    ending: CancellationToken,
}

impl Peer {
    fn new() -> Self {
        let (input, theirs_in) = tokio::io::duplex(1 << 20);
        let (theirs_out, output) = tokio::io::duplex(1 << 20);
        let surface = StandIn::new();
        let ending = CancellationToken::new();
        let service = service(Arc::clone(&surface), ending.clone());
        let serving = tokio::spawn(serve(
            service,
            Arc::new(caller),
            theirs_in,
            theirs_out,
            ending.clone(),
        ));
        Self {
            input: Some(input),
            output: BufReader::new(output).lines(),
            serving,
            surface,
            ending,
        }
    }

    async fn greeted(revision: &str) -> Self {
        let mut peer = Self::new();
        let hello = json!({ "protocolVersion": revision, "capabilities": { "elicitation": {}, "roots": {} },
            "clientInfo": { "name": "test", "version": "1" } });
        let answer = peer.asks(0, "initialize", hello).await;
        assert_eq!(answer["result"]["protocolVersion"], revision);
        peer.says(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
            .await;
        peer
    }

    async fn says(&mut self, message: &Value) {
        self.writes(message.to_string().as_bytes()).await;
    }

    async fn writes(&mut self, text: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(text).await.unwrap();
        input.write_all(b"\n").await.unwrap();
    }

    async fn hears(&mut self) -> Value {
        let line = self.output.next_line().await.unwrap();
        serde_json::from_str(&line.expect("the output is open")).unwrap()
    }

    async fn asks(&mut self, id: i64, method: &str, params: Value) -> Value {
        self.says(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await;
        self.hears().await
    }

    async fn calls(&mut self, id: i64, name: &str) -> Value {
        self.asks(id, "tools/call", json!({ "name": name })).await
    }

    /// Closes the input and gives everything that still comes.
    async fn ends(mut self) -> Vec<Value> {
        drop(self.input.take());
        let mut rest = Vec::new();
        while let Some(line) = self.output.next_line().await.unwrap() {
            rest.push(serde_json::from_str(&line).unwrap());
        }
        self.serving.await.unwrap().unwrap();
        rest
    }
}

fn modern(mut params: Value, capabilities: Value) -> Value {
    params["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    params
}

#[tokio::test]
async fn every_revision_with_a_handshake_is_greeted() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut peer = Peer::greeted(revision).await;
        let tools = peer.asks(1, "tools/list", json!({})).await;
        assert_eq!(tools["result"]["tools"][0]["name"], "echo");
        assert_eq!(tools["result"].get("resultType"), None);
        assert_eq!(peer.asks(2, "ping", json!({})).await["result"], json!({}));
        assert!(peer.ends().await.is_empty());
    }
}

#[tokio::test]
async fn a_handshake_says_who_serves_and_happens_once() {
    let mut peer = Peer::new();
    let early = peer.asks(1, "tools/list", json!({})).await;
    assert_eq!(early["error"]["code"], rpc::INVALID_REQUEST);
    let wrong = peer
        .asks(2, "initialize", json!({ "protocolVersion": 5 }))
        .await;
    assert_eq!(wrong["error"]["code"], rpc::INVALID_PARAMS);
    let hello = json!({ "protocolVersion": "2026-07-28", "capabilities": {} });
    let answer = peer.asks(3, "initialize", hello.clone()).await;
    let result = &answer["result"];
    assert_eq!(result["protocolVersion"], "2025-11-25");
    assert_eq!(result["serverInfo"]["name"], "toolcrib");
    assert_eq!(result["instructions"], "Try echo.");
    assert_eq!(result["capabilities"]["tools"]["listChanged"], true);
    let again = peer.asks(4, "initialize", hello).await;
    assert_eq!(again["error"]["code"], rpc::INVALID_REQUEST);
}

#[tokio::test]
async fn arguments_reach_the_tool_as_they_were_written() {
    let mut peer = Peer::greeted("2025-11-25").await;
    peer.writes(br#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"echo","arguments":{"z":1.0,"a":1e400}}}"#).await;
    let answer = peer.hears().await;
    assert_eq!(answer["id"], "x");
    assert_eq!(
        answer["result"]["content"][0]["text"],
        r#"{"z":1.0,"a":1e400}"#
    );
}

#[tokio::test]
async fn a_panic_in_one_request_is_one_error_answer() {
    let mut peer = Peer::greeted("2025-11-25").await;
    let answer = peer.calls(1, "panic").await;
    assert_eq!(answer["error"]["code"], rpc::INTERNAL_ERROR);
    assert!(peer.calls(2, "echo").await["result"].is_object());
}

#[tokio::test(start_paused = true)]
async fn requests_are_answered_as_they_are_ready() {
    let mut peer = Peer::greeted("2025-11-25").await;
    let call = |id: i64, name: &str| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": name } });
    peer.says(&call(1, "sleep")).await;
    peer.says(&call(2, "echo")).await;
    assert_eq!(peer.hears().await["id"], 2);
    assert_eq!(peer.hears().await["id"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_request_gets_no_answer() {
    let mut peer = Peer::greeted("2025-11-25").await;
    for (id, name) in [(1, "wait"), (2, "hang")] {
        peer.says(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": name } })).await;
        let twice = peer.asks(id, "tools/call", json!({ "name": "echo" })).await;
        assert_eq!(
            twice["error"]["code"],
            rpc::INVALID_REQUEST,
            "the id is taken"
        );
        peer.says(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } })).await;
    }
    peer.says(&json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call",
        "params": modern(json!({ "name": "wait" }), json!({})) }))
        .await;
    peer.says(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 3 } })).await;
    assert_eq!(peer.calls(4, "echo").await["id"], 4);
    assert!(peer.ends().await.is_empty());
}

#[tokio::test]
async fn progress_and_log_messages_come_before_the_answer() {
    let mut peer = Peer::greeted("2025-11-25").await;
    let params = json!({ "name": "progress", "_meta": { "progressToken": "p" } });
    let progress = peer.asks(1, "tools/call", params.clone()).await;
    assert_eq!(progress["method"], "notifications/progress");
    assert_eq!(
        progress["params"],
        json!({ "progressToken": "p", "progress": 1.0, "total": 2.0, "message": "half" })
    );
    assert_eq!(peer.hears().await["method"], "notifications/message");
    assert_eq!(peer.hears().await["id"], 1);
    let level = peer
        .asks(2, "logging/setLevel", json!({ "level": "error" }))
        .await;
    assert_eq!(level["result"], json!({}));
    assert_eq!(
        peer.asks(3, "tools/call", json!({ "name": "progress" }))
            .await["id"],
        3
    );
    let loud = peer
        .asks(4, "logging/setLevel", json!({ "level": "loud" }))
        .await;
    assert_eq!(loud["error"]["code"], rpc::INVALID_PARAMS);
}

#[tokio::test]
async fn a_tool_can_ask_the_client() {
    let mut peer = Peer::greeted("2025-11-25").await;
    let question = peer.calls(1, "ask").await;
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["message"], "Who?");
    peer.says(
        &json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "decline" } }),
    )
    .await;
    let answer = peer.hears().await;
    assert_eq!(
        answer["result"]["content"][0]["text"],
        r#"{"action":"decline"}"#
    );
}

#[tokio::test]
async fn a_result_that_wants_input_becomes_questions_for_a_client_with_a_handshake() {
    let mut peer = Peer::greeted("2025-06-18").await;
    let question = peer.calls(1, "input").await;
    assert_eq!(question["method"], "elicitation/create");
    peer.says(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "accept" } }))
        .await;
    let answer = peer.hears().await;
    assert_eq!(
        answer["result"]["content"][0]["text"],
        r#"theirs {"who":{"action":"accept"}}"#
    );
}

#[tokio::test]
async fn batches_are_for_the_one_revision_that_has_them() {
    let batch = br#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"},{"id":2},{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo"}}]"#;
    let mut peer = Peer::greeted("2025-03-26").await;
    peer.writes(batch).await;
    let answers = peer.hears().await;
    let ids: Vec<_> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|a| a["id"].clone())
        .collect();
    assert_eq!(ids, [json!(1), json!(2), json!(3)]);
    peer.writes(b"[]").await;
    assert_eq!(peer.hears().await["error"]["code"], rpc::INVALID_REQUEST);
    peer.writes(b"[{]").await;
    assert_eq!(peer.hears().await["error"]["code"], rpc::PARSE_ERROR);
    let mut peer = Peer::greeted("2025-11-25").await;
    peer.writes(batch).await;
    assert_eq!(peer.hears().await["error"]["code"], rpc::INVALID_REQUEST);
}

#[tokio::test]
async fn what_is_no_message_is_answered_and_costs_nothing_else() {
    let mut peer = Peer::greeted("2025-11-25").await;
    for (text, code) in [
        (&b"garbage"[..], rpc::PARSE_ERROR),
        (b"\xff\xfe", rpc::PARSE_ERROR),
        (b"7", rpc::INVALID_REQUEST),
        (
            br#"{"jsonrpc":"1.0","id":4,"method":"ping"}"#,
            rpc::INVALID_REQUEST,
        ),
    ] {
        peer.writes(text).await;
        assert_eq!(peer.hears().await["error"]["code"], code);
    }
    peer.writes(b"  ").await;
    peer.writes(&vec![b'x'; DOOR_LINE_BYTES_MAX + 1]).await;
    assert_eq!(peer.hears().await["error"]["code"], rpc::INVALID_REQUEST);
    assert!(peer.calls(5, "echo").await["result"].is_object());
}

#[tokio::test]
async fn both_eras_share_the_pipe() {
    let mut peer = Peer::new();
    let found = peer
        .asks(1, "server/discover", modern(json!({}), json!({})))
        .await;
    let result = &found["result"];
    assert_eq!(result["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(result["resultType"], "complete");
    assert_eq!(
        result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "toolcrib"
    );
    assert!(result["ttlMs"].is_u64() && result["cacheScope"] == "private");
    let tools = peer
        .asks(2, "tools/list", modern(json!({}), json!({})))
        .await;
    assert_eq!(tools["result"]["ttlMs"], toolcrib_core::limits::LIST_TTL_MS);
    let call = peer
        .asks(
            3,
            "tools/call",
            modern(json!({ "name": "echo" }), json!({})),
        )
        .await;
    assert_eq!(call["result"]["resultType"], "complete");
    assert_eq!(call["result"].get("ttlMs"), None);
    for gone in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "nonsense",
    ] {
        let answer = peer.asks(4, gone, modern(json!({}), json!({}))).await;
        assert_eq!(answer["error"]["code"], rpc::METHOD_NOT_FOUND, "{gone}");
    }
    let bare = peer.asks(5, "server/discover", json!({})).await;
    assert_eq!(bare["error"]["code"], rpc::INVALID_PARAMS);
}

#[tokio::test]
async fn a_stateless_client_without_a_log_level_gets_no_log_messages() {
    let mut peer = Peer::new();
    let quiet = peer
        .asks(
            1,
            "tools/call",
            modern(json!({ "name": "progress" }), json!({})),
        )
        .await;
    assert_eq!(quiet["id"], 1);
    let mut params = modern(json!({ "name": "progress" }), json!({}));
    params["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
    let log = peer.asks(2, "tools/call", params).await;
    assert_eq!(log["method"], "notifications/message");
}

#[tokio::test]
async fn a_second_stateless_request_of_an_id_is_refused_and_the_first_is_still_cancelled() {
    let mut peer = Peer::new();
    let mut call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call" });
    call["params"] = modern(json!({ "name": "wait" }), json!({}));
    peer.says(&call).await;
    call["params"]["name"] = json!("echo");
    peer.says(&call).await;
    let refused = peer.hears().await;
    assert_eq!(refused["error"]["code"], rpc::INVALID_REQUEST, "{refused}");
    let stop = json!({ "requestId": 1 });
    peer.says(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": stop }))
        .await;
    // Nothing is answered to what was cancelled, and nothing is waited for any more.
    assert!(peer.ends().await.is_empty());
}

#[tokio::test]
async fn a_question_is_a_result_for_a_stateless_client() {
    let mut peer = Peer::new();
    let can = json!({ "elicitation": {} });
    let lacking = peer
        .asks(1, "tools/call", modern(json!({ "name": "ask" }), json!({})))
        .await;
    assert_eq!(lacking["error"]["code"], rpc::MISSING_CAPABILITY);
    assert_eq!(
        lacking["error"]["data"]["requiredCapabilities"],
        json!({ "elicitation": {} })
    );

    let asked = peer
        .asks(
            2,
            "tools/call",
            modern(json!({ "name": "ask" }), can.clone()),
        )
        .await;
    let result = asked["result"].clone();
    assert_eq!(result["resultType"], "input_required");
    let (name, question) = result["inputRequests"]
        .as_object()
        .unwrap()
        .iter()
        .next()
        .unwrap();
    assert_eq!(question["method"], "elicitation/create");
    let go_on = |state: &str, responses: Value| {
        modern(
            json!({ "name": "ask", "requestState": state, "inputResponses": responses }),
            can.clone(),
        )
    };
    let state = result["requestState"].as_str().unwrap();

    let tampered = format!("{state}-TAMPERED");
    let refused = peer
        .asks(3, "tools/call", go_on(&tampered, json!({})))
        .await;
    assert_eq!(refused["error"]["code"], rpc::INVALID_PARAMS);
    let null = peer.asks(4, "tools/call", go_on(state, Value::Null)).await;
    assert_eq!(null["error"]["code"], rpc::INVALID_PARAMS);
    let mut other = go_on(state, json!({}));
    other["name"] = json!("echo");
    let refused = peer.asks(5, "tools/call", other).await;
    assert_eq!(
        refused["error"]["code"],
        rpc::INVALID_PARAMS,
        "a state is for its request alone"
    );
    let missing = peer
        .asks(6, "tools/call", go_on(state, json!({ "wrong": {} })))
        .await;
    assert_eq!(missing["result"]["resultType"], "input_required");
    let state = missing["result"]["requestState"]
        .as_str()
        .unwrap()
        .to_owned();

    let done = peer
        .asks(
            7,
            "tools/call",
            go_on(&state, json!({ name: { "action": "accept" } })),
        )
        .await;
    assert_eq!(
        done["result"]["content"][0]["text"],
        r#"{"action":"accept"}"#
    );
    let used = peer
        .asks(8, "tools/call", go_on(&state, json!({ name: {} })))
        .await;
    assert_eq!(
        used["error"]["code"],
        rpc::INVALID_PARAMS,
        "a state works once"
    );
}

#[tokio::test]
async fn questions_asked_together_come_together() {
    let mut peer = Peer::new();
    let call = modern(json!({ "name": "ask-twice" }), json!({ "roots": {} }));
    let asked = peer.asks(1, "tools/call", call.clone()).await;
    let requests = asked["result"]["inputRequests"].as_object().unwrap();
    assert_eq!(requests.len(), 2);
    let mut again = call;
    again["requestState"] = asked["result"]["requestState"].clone();
    again["inputResponses"] = requests
        .iter()
        .map(|(name, _)| (name.clone(), json!({ "roots": [] })))
        .collect();
    let done = peer.asks(2, "tools/call", again).await;
    assert_eq!(
        done["result"]["content"][0]["text"],
        r#"{"roots":[]} {"roots":[]}"#
    );
}

#[tokio::test]
async fn changes_are_told_to_whom_they_concern() {
    let mut peer = Peer::greeted("2025-11-25").await;
    peer.asks(1, "resources/subscribe", json!({ "uri": "a://1" }))
        .await;
    peer.surface.change(Change::Resource("a://2".into()));
    peer.surface.change(Change::Resource("a://1".into()));
    peer.surface.change(Change::Tools);
    let updated = peer.hears().await;
    assert_eq!(updated["method"], "notifications/resources/updated");
    assert_eq!(updated["params"]["uri"], "a://1");
    assert_eq!(
        peer.hears().await["method"],
        "notifications/tools/list_changed"
    );
    peer.asks(2, "resources/unsubscribe", json!({ "uri": "a://1" }))
        .await;
    peer.surface.change(Change::Resource("a://1".into()));
    assert_eq!(peer.asks(3, "ping", json!({})).await["id"], 3);
}

#[tokio::test]
async fn a_stateless_client_listens_for_what_it_names() {
    let mut peer = Peer::new();
    let wanted = modern(
        json!({ "notifications": { "toolsListChanged": true, "promptsListChanged": true } }),
        json!({}),
    );
    let first = peer.asks(9, "subscriptions/listen", wanted).await;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(
        first["params"]["notifications"],
        json!({ "toolsListChanged": true })
    );
    let id = "io.modelcontextprotocol/subscriptionId";
    assert_eq!(first["params"]["_meta"][id], 9);
    peer.surface.change(Change::Prompts);
    peer.surface.change(Change::Tools);
    let told = peer.hears().await;
    assert_eq!(told["method"], "notifications/tools/list_changed");
    assert_eq!(told["params"]["_meta"][id], 9);
    let rest = peer.ends().await;
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert_eq!(rest[0]["result"]["_meta"][id], 9);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_input_waits_for_what_is_under_way() {
    let mut peer = Peer::greeted("2025-11-25").await;
    for (id, name) in [(1, "sleep"), (2, "hang")] {
        peer.says(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": name } })).await;
    }
    let rest = peer.ends().await;
    assert_eq!(rest.len(), 1);
    assert_eq!(rest[0]["id"], 1);
}

#[tokio::test]
async fn asked_to_end_it_ends_though_the_input_stays_open() {
    let mut peer = Peer::greeted("2025-11-25").await;
    peer.ending.cancel();
    assert!(peer.output.next_line().await.unwrap().is_none());
    peer.serving.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn asked_to_end_it_lets_calls_finish_and_cancels_those_that_do_not() {
    let mut peer = Peer::greeted("2025-11-25").await;
    let call = |id: i64, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
    for (id, params) in [
        (1, json!({ "name": "sleep" })),
        (2, modern(json!({ "name": "sleep" }), json!({}))),
        (3, json!({ "name": "wait" })),
        (4, json!({ "name": "hang" })),
    ] {
        peer.says(&call(id, params)).await;
    }
    // Answered behind the others, so that these are under way.
    peer.asks(5, "ping", json!({})).await;
    peer.ending.cancel();
    let mut answered = Vec::new();
    while let Some(line) = peer.output.next_line().await.unwrap() {
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["result"]["content"][0]["text"], "slept", "{answer}");
        answered.push(answer["id"].as_i64().unwrap());
    }
    answered.sort_unstable();
    assert_eq!(answered, [1, 2]);
    peer.serving.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_client_that_has_gone_does_not_keep_it_by_reading_nothing() {
    let (mut input, theirs_in) = tokio::io::duplex(1 << 20);
    let (theirs_out, mut output) = tokio::io::duplex(64);
    let ending = CancellationToken::new();
    let service = service(StandIn::new(), ending.clone());
    let serving = serve(service, Arc::new(caller), theirs_in, theirs_out, ending);
    let serving = tokio::spawn(serving);
    for id in 0..10 {
        let ping = json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
        let line = format!("{ping}\n");
        input.write_all(line.as_bytes()).await.unwrap();
    }
    drop(input);
    // As long as it reads, however slowly, it is waited for.
    let mut read = [0; 16];
    for _ in 0..4 {
        tokio::time::sleep(Duration::from_millis(STDIO_STALL_MS - 1_000)).await;
        let count = tokio::io::AsyncReadExt::read(&mut output, &mut read).await;
        assert_eq!(count.unwrap(), read.len());
        assert!(!serving.is_finished());
    }
    let outcome = serving.await.unwrap();
    assert_eq!(outcome.unwrap_err().kind(), io::ErrorKind::TimedOut);
}

#[tokio::test]
async fn nobody_reading_ends_it() {
    let mut peer = Peer::greeted("2025-11-25").await;
    let (_, closed) = tokio::io::duplex(1);
    drop(std::mem::replace(
        &mut peer.output,
        BufReader::new(closed).lines(),
    ));
    peer.says(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }))
        .await;
    assert!(peer.serving.await.unwrap().is_err());
}
