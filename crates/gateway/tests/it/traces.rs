//! Traces through the real program: from a client's `traceparent` over door, execution and call to the
//! server or API behind, with a collector that listens on this machine and without one.

use std::process::Command;

use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use toolcrib_testkit::api::Api;

use crate::agent::Agent;
use crate::home::{Home, Server, eventually};
use crate::stage::{hostile, records};
use crate::web::Web;

const SHOP: &str = "openapi: 3.0.0
info: {title: Shop}
servers: [{url: https://api.example.com}]
paths: {/orders: {get: {operationId: listOrders, summary: List orders, responses: {'200': {description: ok}}}}}
";

const STATE: &str = "vendor=abc";
const CLIENT_SPAN: &str = "00f067aa0ba902b7";

/// A server of each era, an API, and a collector.
struct Scene {
    home: Home,
    runtime: Runtime,
    shop: Api,
    collector: Api,
}

impl Scene {
    fn new(more: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let shop = runtime.block_on(Api::start([])).unwrap();
        let collector = runtime.block_on(Api::start([])).unwrap();
        let home = Home::new();
        home.write("work/shop.yaml", SHOP);
        let program = hostile().display();
        home.configure(&format!(
            "servers:
  old: {{command: '{program}', args: [--era, legacy], trusted: true}}
  new: {{command: '{program}', args: [--era, modern], trusted: true}}
adapters:
  shop: {{spec: ./shop.yaml, baseUrl: '{}', allowPrivateAddresses: true}}
{more}",
            shop.url()
        ));
        Self {
            home,
            runtime,
            shop,
            collector,
        }
    }

    /// The program, which sends its traces to the collector.
    fn collected(&self, arguments: &[&str]) -> Command {
        let mut command = self.home.command(arguments);
        command
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", self.collector.url())
            .env("OTEL_SERVICE_NAME", "counter")
            .env("OTEL_BSP_SCHEDULE_DELAY", "20");
        command
    }

    /// The spans of a trace that came in so far.
    fn spans(&self, trace: &str) -> Vec<Value> {
        let mut all = Vec::new();
        for received in self.collector.received() {
            assert_eq!(received.target, "/v1/traces");
            let body: Value = serde_json::from_slice(&received.body).unwrap();
            let group = &body["resourceSpans"][0];
            let service = &group["resource"]["attributes"][0]["value"]["stringValue"];
            assert_eq!(service, "counter");
            let spans = group["scopeSpans"][0]["spans"].as_array().unwrap();
            all.extend(
                spans
                    .iter()
                    .filter(|span| span["traceId"] == trace)
                    .cloned(),
            );
        }
        all
    }
}

fn parent(trace: &str) -> String {
    format!("00-{trace}-{CLIENT_SPAN}-01")
}

/// A way in.
enum Way {
    Pipe(Agent),
    StatelessPipe(Agent),
    Http(Box<Web>),
    StatelessHttp(Box<Web>),
    Rest(Box<Web>),
}

impl Way {
    fn all(scene: &Scene) -> Vec<(Self, &'static str)> {
        let pipe = || Agent::of(scene.collected(&["serve", "--stdio"]));
        let web = || Box::new(Web::over(Server::start(scene.collected(&["serve"]))));
        vec![
            (Self::Pipe(pipe()), "2025-11-25"),
            (Self::StatelessPipe(pipe()), "2026-07-28"),
            (Self::Http(web()), "2025-11-25"),
            (Self::StatelessHttp(web()), "2026-07-28"),
            (Self::Rest(web()), ""),
        ]
    }

    /// Runs a tool; the request says which trace it belongs to.
    fn run(&mut self, server: &str, tool: &str, trace: &str) -> Value {
        let parent = parent(trace);
        let arguments = json!({ "server": server, "tool": tool, "arguments": {} });
        let mut params = json!({ "name": "execute_tool", "arguments": arguments,
            "_meta": { "traceparent": parent, "tracestate": STATE } });
        let stateless = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
        });
        match self {
            Self::Pipe(agent) => agent.request("tools/call", &params.to_string()),
            Self::Http(web) => web.request("tools/call", &params.to_string()),
            Self::StatelessPipe(agent) => {
                let meta = params["_meta"].as_object_mut().unwrap();
                meta.extend(stateless.as_object().unwrap().clone());
                agent.request("tools/call", &params.to_string())
            }
            Self::StatelessHttp(web) => {
                // Here the trace stands in the headers alone.
                params["_meta"] = stateless;
                let body =
                    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
                let headers = [
                    ("accept", "application/json, text/event-stream"),
                    ("mcp-protocol-version", "2026-07-28"),
                    ("mcp-method", "tools/call"),
                    ("mcp-name", "execute_tool"),
                    ("traceparent", &parent),
                    ("tracestate", STATE),
                ];
                web.tell("/mcp", &headers, &body).json()
            }
            Self::Rest(web) => {
                let path = format!("/api/adapters/{server}/tools/{tool}");
                let headers = [("traceparent", parent.as_str()), ("tracestate", STATE)];
                web.tell(&path, &headers, &json!({})).json()
            }
        }
    }
}

/// The value of an attribute.
fn attribute<'a>(span: &'a Value, name: &str) -> Option<&'a str> {
    let attributes = span["attributes"].as_array().unwrap();
    let found = attributes.iter().find(|one| one["key"] == name)?;
    found["value"]["stringValue"].as_str()
}

/// What `echo` says that it was sent as `_meta`.
fn told(answer: &Value) -> &Value {
    let result = answer.get("result").unwrap_or(answer);
    &result["_meta"]["vendor/y"]
}

#[test]
fn a_call_is_one_trace_through_every_door_to_servers_of_both_eras_and_apis() {
    let scene = Scene::new("");
    for (at, (mut way, revision)) in Way::all(&scene).into_iter().enumerate() {
        for (number, (server, tool, spoken)) in [
            ("old", "echo", Some("2025-11-25")),
            ("new", "echo", Some("2026-07-28")),
            ("shop", "list-orders", None),
        ]
        .into_iter()
        .enumerate()
        {
            let trace = format!("{:032x}", 0xabc0 + at * 8 + number);
            let answer = way.run(server, tool, &trace);
            let spans = eventually("three spans", || {
                let spans = scene.spans(&trace);
                (spans.len() == 3).then_some(spans)
            });
            let of = |kind: u64| spans.iter().find(|span| span["kind"] == kind).unwrap();
            let (door, execution, call) = (of(2), of(1), of(3));
            assert_eq!(door["parentSpanId"], CLIENT_SPAN, "{answer}");
            assert_eq!(execution["parentSpanId"], door["spanId"]);
            assert_eq!(call["parentSpanId"], execution["spanId"]);
            assert!(spans.iter().all(|span| span["traceState"] == STATE));
            assert!(
                spans.iter().all(|span| span["status"] == json!({})),
                "{spans:?}"
            );
            assert_eq!(execution["name"], format!("execute_tool {tool}"));
            for span in [execution, call] {
                assert_eq!(attribute(span, "toolcrib.server"), Some(server));
                assert_eq!(attribute(span, "gen_ai.tool.name"), Some(tool));
            }
            assert_eq!(attribute(call, "mcp.protocol.version"), spoken);
            if matches!(way, Way::Rest(_)) {
                let name = "POST /api/adapters/{adapter}/tools/{tool}";
                assert_eq!(door["name"], name);
            } else {
                assert_eq!(door["name"], "tools/call execute_tool");
                assert_eq!(attribute(door, "mcp.protocol.version"), Some(revision));
            }
            let below = format!("00-{trace}-{}-01", call["spanId"].as_str().unwrap());
            if server == "shop" {
                assert_eq!(call["name"], "GET /orders");
                let received = scene.shop.received().pop().unwrap();
                assert_eq!(received.header("traceparent"), Some(below.as_str()));
                assert_eq!(received.header("tracestate"), Some(STATE));
            } else {
                assert_eq!(call["name"], "tools/call echo");
                if !matches!(way, Way::Rest(_)) {
                    let told = told(&answer);
                    assert_eq!(told["traceparent"], below, "{answer}");
                    assert_eq!(told["tracestate"], STATE);
                }
            }
            let id = attribute(execution, "toolcrib.request_id").unwrap();
            let records = records(&scene.home);
            let record = records.iter().find(|one| one["request_id"] == id).unwrap();
            assert_eq!(record["trace_id"], trace);
        }
    }
}

#[test]
fn without_a_collector_a_trace_goes_on_and_what_is_none_does_not() {
    let scene = Scene::new("");
    let mut agent = Agent::of(scene.home.command(&["serve", "--stdio"]));
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let mut call = |server: &str, meta: &Value| {
        let params = json!({ "name": "execute_tool", "_meta": meta,
            "arguments": { "server": server, "tool": "echo", "arguments": {} } });
        let answer = agent.request("tools/call", &params.to_string());
        let told = told(&answer);
        (told["traceparent"].clone(), told["tracestate"].clone())
    };
    for server in ["old", "new"] {
        let valid = json!({ "traceparent": parent(trace), "tracestate": STATE });
        assert_eq!(call(server, &valid), (json!(parent(trace)), json!(STATE)));
        for meta in [
            json!({ "traceparent": "00-nonsense", "tracestate": STATE }),
            json!({ "traceparent": parent(&"0".repeat(32)) }),
            json!({ "traceparent": 7 }),
            json!({ "tracestate": STATE }),
            json!({}),
        ] {
            assert_eq!(call(server, &meta), (Value::Null, Value::Null), "{meta}");
        }
    }
    let records = records(&scene.home);
    let traced = records.iter().filter(|record| record["trace_id"] == trace);
    assert_eq!(traced.count(), 2);
    assert!(
        records
            .iter()
            .filter(|record| !record["trace_id"].is_null())
            .count()
            == 2
    );
    assert!(scene.collector.received().is_empty());
}

#[test]
fn what_a_client_passes_through_belongs_to_its_trace_too() {
    let scene = Scene::new("mode: flat\n");
    let home = &scene.home;
    let program = hostile().display();
    home.configure(&format!(
        "mode: flat\nservers: {{new: {{command: '{program}', args: [--era, modern], trusted: true}}}}\n"
    ));
    let mut agent = Agent::of(scene.collected(&["serve", "--stdio"]));
    let trace = "0af7651916cd43dd8448eb211c80319d";
    let meta = json!({ "traceparent": parent(trace), "vendor/z": 1 });
    let params = json!({ "name": "echo", "arguments": {}, "_meta": meta });
    let answer = agent.request("tools/call", &params.to_string());
    assert_eq!(told(&answer)["vendor/z"], 1);
    agent.request("prompts/list", &json!({ "_meta": meta }).to_string());
    let spans = eventually("five spans", || {
        let spans = scene.spans(trace);
        (spans.len() == 5).then_some(spans)
    });
    let named = |name: &str, kind: u64| {
        let found = spans
            .iter()
            .find(|span| span["name"] == name && span["kind"] == kind);
        found.unwrap_or_else(|| panic!("{name} {kind} {spans:#?}"))
    };
    let below = named("tools/call echo", 3)["spanId"].as_str().unwrap();
    assert_eq!(
        told(&answer)["traceparent"],
        format!("00-{trace}-{below}-01")
    );
    let passed: Vec<&Value> = spans.iter().filter(|span| span["kind"] == 3).collect();
    assert_eq!(passed.len(), 2);
    assert_eq!(named("tools/call echo", 2)["parentSpanId"], CLIENT_SPAN);
}

#[test]
fn log_lines_carry_the_trace_and_what_waits_is_sent_at_the_end() {
    let scene = Scene::new("");
    let mut command = scene.collected(&["serve"]);
    // Nothing would be sent before the end.
    command.env("OTEL_BSP_SCHEDULE_DELAY", "5000");
    let web = Web::over(Server::start(command));
    let trace = "0af7651916cd43dd8448eb211c80319e";
    let mut way = Way::Rest(Box::new(web));
    way.run("shop", "list-orders", trace);
    let Way::Rest(web) = way else { unreachable!() };
    assert!(
        web.get("/metrics")
            .body
            .contains("toolcrib_trace_spans_dropped_total 0")
    );
    assert!(scene.spans(trace).is_empty());
    let mut server = web.into_server();
    server.signal(Signal::TERM);
    assert!(server.ends().success());
    assert_eq!(scene.spans(trace).len(), 3);
    let log = server.rest();
    let line = log.iter().find(|line| line.contains("called")).unwrap();
    assert!(line.contains(trace), "{line}");
}

#[test]
fn a_collector_that_never_answers_holds_up_nothing() {
    let scene = Scene::new("");
    let silent = scene
        .runtime
        .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
        .unwrap();
    let mut command = scene.collected(&["serve"]);
    let address = silent.local_addr().unwrap();
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{address}"));
    let mut way = Way::Rest(Box::new(Web::over(Server::start(command))));
    for number in 1..=20 {
        let answer = way.run("shop", "list-orders", &format!("{number:032x}"));
        assert_eq!(answer["success"], true, "{answer}");
    }
    let Way::Rest(web) = way else { unreachable!() };
    let mut server = web.into_server();
    server.signal(Signal::TERM);
    assert!(server.ends().success());
    let log = server.rest().join("\n");
    assert!(log.contains("did not take the last spans in time"), "{log}");
}

#[test]
fn the_configuration_names_a_collector_and_the_switch_of_the_standard_turns_it_off() {
    let scene = Scene::new("");
    let settings = format!(
        "servers: {{}}\nadapters: {{shop: {{spec: ./shop.yaml, baseUrl: '{}', allowPrivateAddresses: true}}}}\ntelemetry: {{otlpEndpoint: '{}', serviceName: counter, headers: {{X-Shop: '${{KEY}}'}}}}\n",
        scene.shop.url(),
        scene.collector.url()
    );
    scene.home.configure(&settings);
    for (disabled, sent) in [("true", 0), ("false", 3)] {
        let mut command = scene.home.command(&["serve"]);
        command
            .env("KEY", "hush-hush-collector")
            .env("OTEL_SDK_DISABLED", disabled);
        let mut way = Way::Rest(Box::new(Web::over(Server::start(command))));
        let trace = format!("{:032x}", sent + 1);
        way.run("shop", "list-orders", &trace);
        let Way::Rest(web) = way else { unreachable!() };
        assert_eq!(web.get("/metrics").body.contains("trace_spans"), sent > 0);
        let mut server = web.into_server();
        server.signal(Signal::TERM);
        assert!(server.ends().success());
        assert_eq!(scene.spans(&trace).len(), sent);
    }
    let received = scene.collector.received().pop().unwrap();
    assert_eq!(received.header("x-shop"), Some("hush-hush-collector"));
}
