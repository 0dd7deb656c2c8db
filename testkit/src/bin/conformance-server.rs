//! The fixture of the conformance suite as an MCP server on standard input and output, in both eras.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot};
use toolcrib_testkit::conformance::{Asker, Fixture, Outcome, Refusal, capabilities};

const META: &str = "io.modelcontextprotocol/";

/// The client, as far as the server remembers it.
struct Client {
    out: mpsc::UnboundedSender<Value>,
    asked: Mutex<(i64, HashMap<i64, oneshot::Sender<Outcome>>)>,
    capabilities: Mutex<Value>,
}

/// The client of one request.
struct Request {
    client: Arc<Client>,
    meta: Value,
}

impl Request {
    fn field(&self, name: &str) -> Option<&Value> {
        self.meta.get(format!("{META}{name}"))
    }
}

impl Asker for Request {
    fn is_stateless(&self) -> bool {
        self.field("protocolVersion").is_some()
    }

    fn capabilities(&self) -> Value {
        let agreed = self
            .client
            .capabilities
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.field("clientCapabilities").unwrap_or(&agreed).clone()
    }

    fn tell(&self, method: &str, params: Value) {
        let unwanted = method == "notifications/message"
            && self.is_stateless()
            && self.field("logLevel").is_none();
        if !unwanted {
            let _ = self
                .client
                .out
                .send(json!({ "jsonrpc": "2.0", "method": method, "params": params }));
        }
    }

    fn ask(&self, method: &str, params: Value) -> BoxFuture<'_, Outcome> {
        let (reply, answer) = oneshot::channel();
        let id = {
            let mut asked = self
                .client
                .asked
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            asked.0 += 1;
            let id = asked.0;
            asked.1.insert(id, reply);
            id
        };
        let question = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let _ = self.client.out.send(question);
        Box::pin(async move {
            answer
                .await
                .unwrap_or_else(|_| Err(Refusal::new(-32603, "the client has gone")))
        })
    }
}

/// Answers a request that the fixture does not know of, such as the handshake.
fn greet(client: &Client, message: &Value) -> Option<Value> {
    let info = json!({ "name": "conformance-fixture", "version": "1.0.0" });
    match message["method"].as_str()? {
        "initialize" => {
            let declared = message["params"]["capabilities"].clone();
            *client
                .capabilities
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = declared;
            let version = &message["params"]["protocolVersion"];
            Some(
                json!({ "protocolVersion": version, "capabilities": capabilities(), "serverInfo": info }),
            )
        }
        "server/discover" => Some(json!({
            "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
            "supportedVersions": ["2026-07-28"], "capabilities": capabilities(),
            "_meta": { "io.modelcontextprotocol/serverInfo": info },
        })),
        "ping" => Some(json!({})),
        _ => None,
    }
}

/// Takes the answer to a question.
fn answered(client: &Client, message: &Value) {
    let Some(id) = message["id"].as_i64() else {
        return;
    };
    let waiting = client
        .asked
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .1
        .remove(&id);
    if let Some(waiting) = waiting {
        let _ = waiting.send(match message.get("result") {
            Some(result) => Ok(result.clone()),
            None => Err(Refusal::new(
                -32603,
                message["error"]["message"].to_string(),
            )),
        });
    }
}

async fn answer(fixture: &Fixture, client: Arc<Client>, message: Value) {
    let params = message.get("params").cloned().unwrap_or_else(|| json!({}));
    let asker = Request {
        client: Arc::clone(&client),
        meta: params["_meta"].clone(),
    };
    let stateless = asker.is_stateless();
    let asker: Arc<dyn Asker> = Arc::new(asker);
    let method = message["method"].as_str().unwrap_or_default();
    let outcome = match greet(&client, &message) {
        Some(result) => Ok(result),
        None => fixture.handle(method, &params, &asker).await,
    };
    let answer = match outcome {
        Ok(mut result) => {
            if stateless && result.get("resultType").is_none() {
                result["resultType"] = json!("complete");
            }
            json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })
        }
        Err(refusal) => {
            let mut error = json!({ "code": refusal.code, "message": refusal.message });
            if let Some(data) = refusal.data {
                error["data"] = data;
            }
            json!({ "jsonrpc": "2.0", "id": message["id"], "error": error })
        }
    };
    let _ = client.out.send(answer);
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let (out, mut queue) = mpsc::unbounded_channel::<Value>();
    let writing = tokio::spawn(async move {
        let mut stdout = tokio::io::stdout();
        while let Some(message) = queue.recv().await {
            let line = format!("{message}\n");
            stdout.write_all(line.as_bytes()).await?;
            stdout.flush().await?;
        }
        Ok::<_, std::io::Error>(())
    });
    let fixture = Arc::new(Fixture::default());
    let mut changes = fixture.changes();
    let telling = out.clone();
    tokio::spawn(async move {
        while let Ok(method) = changes.recv().await {
            let _ = telling.send(json!({ "jsonrpc": "2.0", "method": method }));
        }
    });
    let client = Arc::new(Client {
        out,
        asked: Mutex::default(),
        capabilities: Mutex::default(),
    });
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        match (message.get("id"), message.get("method")) {
            (Some(_), Some(_)) => {
                let (fixture, client) = (Arc::clone(&fixture), Arc::clone(&client));
                tokio::spawn(async move { answer(&fixture, client, message).await });
            }
            (Some(_), None) => answered(&client, &message),
            _ => {}
        }
    }
    drop(client);
    writing.abort();
    Ok(())
}
