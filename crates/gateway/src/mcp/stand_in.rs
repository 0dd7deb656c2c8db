//! A small surface for tests of the protocol around it.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use toolcrib_core::policy::Caller;
use toolcrib_core::policy::settings::PolicySettings;
use toolcrib_core::rpc::{self, Fault};
use toolcrib_core::trace::SpanContext;

use crate::telemetry::Tracer;

use super::fields::{Fields, raw};
use super::gate::Gate;
use super::service::{Outcome, Service, cancelled, not_offered};
use super::surface::{Change, Context, Description, Surface};

/// Offers tools that show one thing each.
pub(crate) struct StandIn {
    changes: broadcast::Sender<Change>,
}

impl StandIn {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            changes: broadcast::channel(16).0,
        })
    }

    pub(crate) fn change(&self, change: Change) {
        let _ = self.changes.send(change);
    }

    async fn call(&self, name: &str, fields: &Fields, context: &Context) -> Outcome {
        let text = |text: String| {
            Ok(raw(
                &json!({ "content": [{ "type": "text", "text": text }] }),
            ))
        };
        match name {
            "echo" => text(fields.get("arguments").map_or("", RawValue::get).to_owned()),
            "panic" => panic!("as it was asked to"),
            "wait" => {
                context.cancel.cancelled().await;
                Err(cancelled())
            }
            "hang" => std::future::pending().await,
            "sleep" => {
                tokio::time::sleep(Duration::from_secs(1)).await;
                text("slept".into())
            }
            "progress" => {
                context.report(1.0, Some(2.0), Some("half"));
                let log = json!({ "level": "info", "data": "working" });
                context.client.tell("notifications/message", &log);
                text("done".into())
            }
            "work" => {
                context.report(1.0, Some(2.0), None);
                tokio::time::sleep(Duration::from_secs(1)).await;
                text("worked".into())
            }
            "ask" => {
                let question = raw(&json!({ "message": "Who?", "requestedSchema": {} }));
                let answer = context.client.ask("elicitation/create", question).await?;
                text(answer.get().to_owned())
            }
            "ask-twice" => {
                let ask = |n: u8| context.client.ask("roots/list", raw(&json!({ "n": n })));
                let (one, two) = futures::future::try_join(ask(1), ask(2)).await?;
                text(format!("{} {}", one.get(), two.get()))
            }
            "input" => match fields.get("inputResponses") {
                None => Ok(raw(&json!({
                    "resultType": "input_required",
                    "inputRequests": { "who": { "method": "elicitation/create", "params": {} } },
                    "requestState": "theirs",
                }))),
                Some(responses) => text(format!(
                    "{} {}",
                    fields.text("requestState").unwrap_or_default(),
                    responses.get()
                )),
            },
            "who" => text(context.caller.principal.to_string()),
            "trace" => text(
                context
                    .trace
                    .as_ref()
                    .map_or_else(String::new, SpanContext::traceparent),
            ),
            _ => Err(Fault::new(rpc::INVALID_PARAMS, "no such tool")),
        }
    }
}

impl Surface for StandIn {
    fn describe<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<Description, Fault>> {
        let capabilities = json!({
            "tools": { "listChanged": true },
            "resources": { "subscribe": true },
            "logging": {},
        });
        let Value::Object(capabilities) = capabilities else {
            unreachable!("it was written as an object")
        };
        Box::pin(async move {
            // What a client calls itself says how it wants to be greeted.
            match context.client.name() {
                "slowly" => tokio::time::sleep(Duration::from_secs(30)).await,
                "in vain" => {
                    tokio::time::sleep(Duration::from_secs(30)).await;
                    return Err(cancelled());
                }
                "never" => std::future::pending().await,
                "panic" => panic!("as it was asked to"),
                _ => {}
            }
            Ok(Description::own(capabilities, Some("Try echo.".into())))
        })
    }

    fn handle<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawValue>,
        context: &'a Context,
    ) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let fields = params.and_then(Fields::of).unwrap_or_default();
            match method {
                "tools/list" => Ok(raw(&json!({ "tools": [{ "name": "echo", "inputSchema": {
                    "type": "object",
                    "properties": { "region": { "type": "string", "x-mcp-header": "Region" } },
                }}]}))),
                "tools/call" => {
                    let name = fields.text("name");
                    let name = name.ok_or_else(|| Fault::new(rpc::INVALID_PARAMS, "`name`"))?;
                    self.call(&name, &fields, context).await
                }
                "resources/subscribe" | "resources/unsubscribe" => Ok(raw(&json!({}))),
                _ => Err(not_offered(method)),
            }
        })
    }

    fn changes(&self, _: &Caller) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    fn mirrored(&self, _: &Caller, tool: &str) -> Vec<(String, String)> {
        if tool == "echo" {
            vec![("region".into(), "Region".into())]
        } else {
            Vec::new()
        }
    }
}

pub(crate) fn service(surface: Arc<StandIn>, closing: CancellationToken) -> Arc<Service> {
    let gate = Arc::new(Gate::default());
    Service::new(surface, gate, [7; 32], closing, Tracer::off())
}

pub(crate) fn caller() -> Arc<Caller> {
    Arc::new(Caller::local(&PolicySettings::default()))
}
