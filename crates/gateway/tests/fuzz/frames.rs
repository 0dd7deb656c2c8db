//! JSON-RPC that is almost right must not kill the door or keep it waiting.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use toolcrib::mcp::gate::Gate;
use toolcrib::mcp::{Change, Context, Description, Service, Surface, stdio};
use toolcrib::telemetry::Tracer;
use toolcrib_core::policy::Caller;
use toolcrib_core::policy::settings::PolicySettings;
use toolcrib_core::rpc::Fault;

/// Answers everything, and asks back.
struct Obliging(broadcast::Sender<Change>);

impl Surface for Obliging {
    fn describe<'a>(&'a self, _: &'a Context) -> BoxFuture<'a, Result<Description, Fault>> {
        let offered =
            json!({ "tools": { "listChanged": true }, "resources": { "subscribe": true } });
        let offered: Map<String, Value> = offered.as_object().cloned().unwrap_or_default();
        Box::pin(async move { Ok(Description::own(offered, None)) })
    }

    fn handle<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawValue>,
        context: &'a Context,
    ) -> BoxFuture<'a, Result<Box<RawValue>, Fault>> {
        Box::pin(async move {
            let _ = self.0.send(Change::Tools);
            context.report(1.0, None, None);
            let told = params.map_or_else(|| to_raw_value(&()), |params| Ok(params.to_owned()));
            let told = told.map_err(|error| Fault::new(0, error.to_string()))?;
            if method == "tools/call" {
                return context.client.ask("elicitation/create", told).await;
            }
            Ok(told)
        })
    }

    fn changes(&self, _: &Caller) -> broadcast::Receiver<Change> {
        self.0.subscribe()
    }
}

/// Gives the door these bytes; whatever they are, it must come to its end, and every line that it writes
/// is a message.
fn feed(input: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build();
    let runtime = runtime.expect("a runtime can be made");
    runtime.block_on(async {
        let surface = Arc::new(Obliging(broadcast::Sender::new(8)));
        let service = Service::new(
            surface,
            Arc::new(Gate::default()),
            [1; 32],
            CancellationToken::new(),
            Tracer::off(),
        );
        let caller = Arc::new(Caller::local(&PolicySettings::default()));
        let (mut ours, theirs) = tokio::io::duplex(1 << 16);
        let (written, mut output) = tokio::io::duplex(1 << 16);
        let serving = tokio::spawn(stdio::serve(
            service,
            Arc::new(move || Arc::clone(&caller)),
            theirs,
            written,
            CancellationToken::new(),
        ));
        let reading = tokio::spawn(async move {
            let mut text = Vec::new();
            output.read_to_end(&mut text).await.map(|_| text)
        });
        ours.write_all(input).await.expect("the door reads");
        drop(ours);
        let patience = Duration::from_mins(1);
        let ended = tokio::time::timeout(patience, serving)
            .await
            .expect("the door hangs");
        ended
            .expect("the door does not panic")
            .expect("the pipe is whole");
        let text = reading
            .await
            .expect("reading does not panic")
            .expect("the pipe is whole");
        for line in text
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            let message: Value = serde_json::from_slice(line).expect("every line is JSON");
            assert!(
                message.is_array() || message["jsonrpc"] == "2.0",
                "{message}"
            );
        }
    });
}

#[test]
fn fuzz_frames_bytes() {
    bolero::check!().for_each(feed);
}

/// A value of any kind.
fn any(choice: u8) -> Value {
    match choice % 12 {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(-1),
        3 => json!(1.5),
        4 => json!(u64::MAX),
        5 => json!(""),
        6 => json!("stdio"),
        7 => json!([]),
        8 => json!([{}]),
        9 => json!({}),
        10 => {
            json!({ "name": 5, "uri": [], "arguments": null, "inputResponses": 7, "requestState": "tcr1.x.y" })
        }
        _ => {
            json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": 7, "progressToken": {} } })
        }
    }
}

const METHODS: &[&str] = &[
    "initialize",
    "ping",
    "tools/list",
    "tools/call",
    "resources/subscribe",
    "resources/unsubscribe",
    "logging/setLevel",
    "server/discover",
    "subscriptions/listen",
    "notifications/cancelled",
    "notifications/initialized",
    "nonsense",
    "",
];

/// A request whose frame is right and whose content is anything.
fn message((method, params, id, era): (u8, u8, u8, u8)) -> Value {
    let mut message =
        json!({ "jsonrpc": "2.0", "method": METHODS[usize::from(method) % METHODS.len()] });
    let mut params = any(params);
    if let (Some(fields), true) = (params.as_object_mut(), era % 2 == 0) {
        fields.insert(
            "_meta".to_owned(),
            json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
            }),
        );
    }
    if era % 5 == 1 {
        params = json!({ "protocolVersion": any(era / 5), "capabilities": any(era / 3), "requestId": any(id) });
    }
    message["params"] = params;
    match id % 4 {
        0 => {}
        1 => message["id"] = any(id / 4),
        _ => message["id"] = json!(id),
    }
    if id % 16 == 15 {
        message = json!([message, any(id)]);
    }
    message
}

#[test]
fn fuzz_frames_wrong_types() {
    bolero::check!()
        .with_type::<Vec<(u8, u8, u8, u8)>>()
        .for_each(|changes: &Vec<_>| {
            let hello = json!({ "jsonrpc": "2.0", "id": "hello", "method": "initialize",
            "params": { "protocolVersion": "2025-03-26", "capabilities": { "elicitation": {} } } });
            let mut text = hello.to_string();
            for change in changes.iter().take(32) {
                text.push('\n');
                text.push_str(&message(*change).to_string());
            }
            feed(text.as_bytes());
        });
}
