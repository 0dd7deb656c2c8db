//! A driver of our client for the public conformance suite: connects to the server that its last
//! argument names (over the older transport where its path ends with `/sse`), lists its tools and calls
//! each of them. Whoever is asked to log in agrees.

mod agreeable;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use tokio_util::task::TaskTracker;
use toolcrib_upstream::mcp::client::Answer;
use toolcrib_upstream::mcp::connection::{Connection, Opening};
use toolcrib_upstream::mcp::dialer::Ways;
use toolcrib_upstream::mcp::era::EraMemory;
use toolcrib_upstream::mcp::listing::What;
use toolcrib_upstream::mcp::{Address, CallError, Client, Endpoint, Options, Way};

use agreeable::Agreeable;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match drive().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            #[expect(clippy::print_stderr, reason = "the suite shows what a client says")]
            {
                eprintln!("{error:#}");
            }
            ExitCode::FAILURE
        }
    }
}

async fn drive() -> anyhow::Result<()> {
    let url = std::env::args()
        .next_back()
        .context("an address is needed")?;
    let url: url::Url = url.parse().context("the last argument is no address")?;
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    let authorisation = Arc::new(Agreeable::new(&url, &context));
    let older = url.path().ends_with("/sse");
    let address = Address { url, authorisation };
    let way = if older {
        Way::Sse(address)
    } else {
        Way::Http(address)
    };
    let mut endpoint = Endpoint::new("conformance", way);
    endpoint.start_timeout = Duration::from_secs(20);
    let person: Arc<dyn Client> = Arc::new(Person);
    let tasks = TaskTracker::new();
    let connection = Connection::open(&Opening {
        endpoint: &endpoint,
        dialer: &Ways::of_this_process(),
        memory: &EraMemory::default(),
        tasks: &tasks,
        owner: Some(Arc::clone(&person)),
        listener: &|| Box::new(|_, _| ()),
    })
    .await?;
    let outcome = call_everything(&connection, &person, &context["toolCalls"]).await;
    connection.close().await;
    tasks.close();
    tasks.wait().await;
    outcome
}

/// Makes the calls that the scenario names, or else one of each tool.
async fn call_everything(
    connection: &Connection,
    person: &Arc<dyn Client>,
    named: &Value,
) -> anyhow::Result<()> {
    let options = || Options {
        client: Some(Arc::clone(person)),
        ..Options::within(Duration::from_secs(20))
    };
    let listing = connection.list(What::Tools, &options()).await?;
    let tools = listing
        .items
        .iter()
        .map(|item| serde_json::from_str(item.get()));
    let tools: Vec<Value> = tools.collect::<Result<_, _>>()?;
    let schema = |name: &Value| {
        let tool = tools.iter().find(|tool| tool["name"] == *name);
        tool.map(|tool| tool["inputSchema"].clone())
    };
    let first = tools.first().map(|tool| tool["inputSchema"].clone());
    let one_each = || {
        let call = |tool: &Value| {
            let arguments = arguments(&tool["inputSchema"], first.as_ref());
            json!({"name": tool["name"], "arguments": arguments})
        };
        tools.iter().map(call).collect()
    };
    let calls = named.as_array().cloned().unwrap_or_else(one_each);
    for call in calls {
        let schema = schema(&call["name"]);
        let params = to_raw_value(&call)?;
        let options = options();
        let answer = connection.request("tools/call", Some(&params), schema.as_ref(), &options);
        match answer.await {
            // What a server says to a call is for the suite to judge.
            Ok(_) | Err(CallError::Fault(_)) => {}
            Err(CallError::Failure(failure) | CallError::Unsent(failure)) => {
                return Err(failure.into());
            }
        }
    }
    Ok(())
}

/// Arguments that fit a plain schema; `object` stands where one is wanted.
fn arguments(schema: &Value, object: Option<&Value>) -> Value {
    let properties = schema["properties"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    let values = properties.into_iter().map(|(name, property)| {
        let value = match property["type"].as_str() {
            Some("number" | "integer") => json!(5),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => object.cloned().unwrap_or_else(|| json!({})),
            _ => json!("text"),
        };
        (name, value)
    });
    Value::Object(values.collect())
}

/// Accepts every form with what stands in it.
#[derive(Debug)]
struct Person;

impl Client for Person {
    fn request<'a>(&'a self, method: &'a str, params: Option<&'a RawValue>) -> Answer<'a> {
        let params: Value = params
            .and_then(|p| serde_json::from_str(p.get()).ok())
            .unwrap_or_default();
        let answer = match method {
            "elicitation/create" => {
                let schema = &params["requestedSchema"];
                json!({"action": "accept", "content": defaults(schema)})
            }
            "roots/list" => json!({"roots": []}),
            _ => {
                json!({"role": "assistant", "model": "none", "content": {"type": "text", "text": "text"}})
            }
        };
        Box::pin(std::future::ready(Ok(
            to_raw_value(&answer).unwrap_or_default()
        )))
    }

    fn notify(&self, _method: &str, _params: Option<&RawValue>) {}

    fn capabilities(&self) -> Box<RawValue> {
        let able =
            json!({"elicitation": {"form": {"applyDefaults": true}}, "sampling": {}, "roots": {}});
        to_raw_value(&able).unwrap_or_default()
    }
}

fn defaults(schema: &Value) -> Value {
    let properties = schema["properties"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    let values = properties.into_iter().filter_map(|(name, property)| {
        let value = property.get("default").cloned();
        let value = value.or_else(|| {
            Some(arguments(&json!({"properties": {"x": property}}), None)["x"].clone())
        });
        Some((name, value?))
    });
    Value::Object(values.collect::<Map<_, _>>())
}
