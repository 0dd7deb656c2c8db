//! Serves what the official conformance suite wants straight from the HTTP door, without an upstream in
//! between, so that what fails here is the door's own fault. `cargo xtask conformance` runs it.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use toolcrib::engine::clock::Clock;
use toolcrib::http::identity::Identity;
use toolcrib::http::{Door, Mount, Setup, bind};
use toolcrib::mcp::gate::Gate;
use toolcrib::mcp::{Change, Context, Description, Service, Surface};
use toolcrib_config::model::settings::Http;
use toolcrib_core::policy::Caller;
use toolcrib_core::policy::settings::PolicySettings;
use toolcrib_core::rpc::Fault;
use toolcrib_testkit::conformance::{Asker, Fixture, Outcome, Refusal, capabilities};

/// The fixture as a surface.
struct Served {
    fixture: Fixture,
    changes: broadcast::Sender<Change>,
}

/// The client of a request, as the fixture sees it.
struct Seen(Context);

impl Asker for Seen {
    fn is_stateless(&self) -> bool {
        self.0.revision.is_stateless()
    }

    fn capabilities(&self) -> Value {
        self.0.client.capabilities().clone()
    }

    fn tell(&self, method: &str, params: Value) {
        self.0.client.tell(method, &params);
    }

    fn ask(&self, method: &str, params: Value) -> BoxFuture<'_, Outcome> {
        let method = method.to_owned();
        Box::pin(async move {
            let params =
                to_raw_value(&params).map_err(|error| Refusal::new(-32603, error.to_string()))?;
            let answer = self.0.client.ask(&method, params).await;
            let answer = answer.map_err(|fault| Refusal::new(fault.code, fault.message))?;
            serde_json::from_str(answer.get())
                .map_err(|error| Refusal::new(-32603, error.to_string()))
        })
    }
}

impl Surface for Served {
    fn describe<'a>(&'a self, _: &'a Context) -> BoxFuture<'a, Result<Description, Fault>> {
        let offered = capabilities().as_object().cloned().unwrap_or_default();
        Box::pin(async move { Ok(Description::own(offered, None)) })
    }

    fn handle<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawValue>,
        context: &'a Context,
    ) -> BoxFuture<'a, Result<Box<RawValue>, Fault>> {
        Box::pin(async move {
            let params: Value = params
                .and_then(|params| serde_json::from_str(params.get()).ok())
                .unwrap_or_else(|| json!({}));
            let asker: Arc<dyn Asker> = Arc::new(Seen(context.clone()));
            let raw = |value: &Value| {
                to_raw_value(value).map_err(|error| Fault::new(-32603, error.to_string()))
            };
            match self.fixture.handle(method, &params, &asker).await {
                Ok(result) => raw(&result),
                Err(refusal) => Err(Fault {
                    data: refusal.data.as_ref().and_then(|data| raw(data).ok()),
                    ..Fault::new(refusal.code, refusal.message)
                }),
            }
        })
    }

    fn changes(&self, _: &Caller) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    fn mirrored(&self, _: &Caller, tool: &str) -> Vec<(String, String)> {
        match tool {
            "test_x_mcp_header" => vec![("region".to_owned(), "Region".to_owned())],
            _ => Vec::new(),
        }
    }
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let served = Arc::new(Served {
        fixture: Fixture::default(),
        changes: broadcast::Sender::new(16),
    });
    let mut happened = served.fixture.changes();
    let told = served.changes.clone();
    tokio::spawn(async move {
        while let Ok(method) = happened.recv().await {
            let _ = told.send(match method {
                "notifications/prompts/list_changed" => Change::Prompts,
                _ => Change::Tools,
            });
        }
    });
    let clock = Clock::system();
    let ending = CancellationToken::new();
    let gate = Arc::new(Gate::default());
    let setup = Setup {
        mounts: vec![Mount {
            path: "/mcp",
            service: Service::new(served, gate, clock.random(), ending.clone()),
        }],
        identity: Identity::new(true, None, None, PolicySettings::default()),
        sessions_max: 1_000,
        clock,
        ending: ending.clone(),
    };
    let bound = bind("127.0.0.1:0").await?;
    anstream::println!("http://{}/mcp", bound.address());
    bound
        .run(Door::router(&Http::default(), setup), ending)
        .await;
    Ok(())
}
