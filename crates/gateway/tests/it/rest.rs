//! The REST API through the real program, beside MCP in one process and on one port.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};
use toolcrib_core::Code;

use crate::home::{PATIENCE, Server};
use crate::payments::{Payments, SECRET};
use crate::web::{Came, Web};

fn start(payments: &Payments) -> Web {
    Web::over(Server::start(payments.command(&["serve"])))
}

/// The answer of a request that was fulfilled.
fn fine(came: &Came) -> Value {
    assert_eq!(came.status, 200, "{}", came.body);
    assert!(!came.body.contains(SECRET), "{}", came.body);
    assert_eq!(came.headers["content-type"], "application/json");
    came.json()
}

/// The problem of a request that was not, which must be that of the code.
fn problem(came: &Came, code: Code) -> Value {
    assert_eq!(
        came.headers["content-type"], "application/problem+json",
        "{}",
        came.body
    );
    let problem = came.json();
    assert_eq!(came.status.as_u16(), code.http_status(), "{problem}");
    assert_eq!(
        (&problem["code"], &problem["status"]),
        (&json!(code), &json!(code.http_status()))
    );
    assert!(problem["detail"].is_string() && problem["title"].is_string());
    problem
}

/// Lets whoever is on the machine look at what the gateway does.
const OPEN: &str = "policy: {loopbackScopes: ['*', 'toolcrib:admin']}\n";

const CHARGE: &str = "/api/adapters/paystack/tools/charge-authorization";

fn charge() -> Value {
    json!({"amount": 500_000, "email": "ada@example.com", "authorization_code": "AUTH_1"})
}

#[test]
fn the_documented_path_runs_tools_under_the_policy_of_every_door() {
    let answers = [json!({"status": true}), json!({"deleted": true})];
    let payments = Payments::open(&answers, OPEN);
    let mut web = start(&payments);
    let refused = problem(&web.tell(CHARGE, &[], &charge()), Code::IdempotencyRequired);
    assert_eq!(refused["error"]["risk_level"], "high");
    assert_eq!(
        (&refused["success"], &refused["tool_id"]),
        (&json!(false), &json!("paystack:charge-authorization"))
    );
    let advice = refused["suggestion"].as_str().unwrap();
    assert!(advice.contains("the header Idempotency-Key"), "{advice}");
    assert_eq!(
        refused["next_step"],
        "Send the request again with the header Idempotency-Key"
    );
    let broken = web.get(CHARGE);
    assert_eq!(broken.status, 405);
    assert_eq!(broken.headers["allow"], "POST");
    assert_eq!(broken.json()["title"], "Method not allowed");
    assert!(payments.received().is_empty());
    let key = [("idempotency-key", "k1")];
    let first = fine(&web.tell(CHARGE, &key, &charge()));
    assert_eq!(
        (&first["success"], &first["data"]),
        (&json!(true), &answers[0])
    );
    assert_eq!(first["meta"]["adapter"], "paystack");
    let again = fine(&web.tell(CHARGE, &key, &charge()));
    assert_eq!(again["replayed"], true);
    assert_eq!(payments.received().len(), 1, "it had its effect once");

    let delete = "/api/adapters/paystack/tools/delete-customer";
    let body = json!({"code": "CUS_1"});
    problem(
        &web.tell(delete, &[("idempotency-key", "k2")], &body),
        Code::ConfirmationRequired,
    );
    let confirmed = [("idempotency-key", "k2"), ("x-confirmed", "true")];
    assert_eq!(
        fine(&web.tell(delete, &confirmed, &body))["data"],
        answers[1]
    );
    problem(
        &web.tell(CHARGE, &[("x-confirmed", "perhaps")], &charge()),
        Code::ValidationError,
    );
    problem(
        &web.tell("/api/adapters/paystack/tools/fly", &[], &json!({})),
        Code::ToolNotFound,
    );
    let nobody = problem(
        &web.tell("/api/adapters/nobody/tools/fly", &[], &json!({})),
        Code::ServerNotFound,
    );
    assert_eq!(
        nobody["next_step"],
        "Use GET /api/adapters to see what there is"
    );
    let foreign = [("origin", "https://elsewhere.example.com")];
    let foreign = web.tell(CHARGE, &foreign, &charge());
    assert_eq!(foreign.status, 403);
    assert_eq!(foreign.headers["content-type"], "application/problem+json");
    assert!(
        foreign.json()["detail"]
            .as_str()
            .unwrap()
            .contains("allowedOrigins")
    );
    problem(&web.tell(CHARGE, &key, &json!([1])), Code::ValidationError);
    let wrong = json!({"amount": "much"});
    let violations = problem(
        &web.tell(CHARGE, &[("idempotency-key", "k3")], &wrong),
        Code::ToolValidationError,
    );
    assert!(
        !violations["error"]["violations"]
            .as_array()
            .unwrap()
            .is_empty()
    );

    // MCP is in the same process, on the same port, and sees the same records.
    let listed = web.request("tools/list", "{}");
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 5);
    let log = fine(&web.get("/api/v1/audit?tool_id=paystack:charge-authorization"));
    let outcomes: Vec<&Value> = log["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| &r["outcome"])
        .collect();
    assert_eq!(outcomes, ["refused", "ok", "replayed", "refused"]);
}

#[test]
fn a_switch_exempts_the_documented_path_and_no_other_from_keys() {
    let payments = Payments::open(&[json!({"status": true})], "policy: {restCompat: true}\n");
    let web = start(&payments);
    assert_eq!(fine(&web.tell(CHARGE, &[], &charge()))["success"], true);
    let execute = json!({"tool_id": "paystack:charge-authorization", "params": charge()});
    problem(
        &web.tell("/api/v1/execute", &[], &execute),
        Code::IdempotencyRequired,
    );
    let delete = web.tell(
        "/api/adapters/paystack/tools/delete-customer",
        &[],
        &json!({"code": "C"}),
    );
    problem(&delete, Code::ConfirmationRequired);
}

#[test]
fn adapters_and_their_tools_can_be_looked_at() {
    let payments = Payments::open(&[], "");
    let web = start(&payments);
    let all = fine(&web.get("/api/adapters"));
    assert_eq!(
        (&all["total"], &all["adapters"][0]["id"]),
        (&json!(1), &json!("paystack"))
    );
    assert_eq!(all["adapters"][0]["status"], "operational");
    assert_eq!(fine(&web.get("/api/adapters?category=storage"))["total"], 0);
    problem(
        &web.get("/api/adapters?category=fun"),
        Code::ValidationError,
    );
    let one = fine(&web.get("/api/adapters/paystack"));
    assert_eq!(
        (&one["name"], &one["tool_count"]),
        (&json!("Paystack"), &json!(7))
    );
    assert_eq!(one["tools"].as_array().unwrap().len(), 7);
    problem(&web.get("/api/adapters/nobody"), Code::ServerNotFound);
}

#[test]
fn servers_tools_wishes_and_runs_have_their_own_paths() {
    let payments = Payments::open(&[json!({"status": true})], "");
    let web = start(&payments);
    let listed = fine(&web.get("/api/v1/servers/paystack/tools?limit=2"));
    assert_eq!(
        (&listed["total"], listed["tools"].as_array().unwrap().len()),
        (&json!(7), 2)
    );
    let cursor = listed["next_cursor"].as_str().unwrap();
    let next = fine(&web.get(&format!("/api/v1/servers/paystack/tools?cursor={cursor}")));
    assert_eq!(next["tools"].as_array().unwrap().len(), 5);
    let servers = fine(&web.get("/api/v1/servers"));
    assert_eq!(
        (
            &servers["servers"][0]["kind"],
            &servers["servers"][0]["status"]
        ),
        (&json!("adapter"), &json!("operational"))
    );
    let tool = fine(&web.get("/api/v1/tools/paystack:charge-authorization"));
    assert_eq!(tool["policy"]["risk_level"], "high");
    assert!(
        tool["input_schema"]["properties"]["amount"].is_object() && tool["example"].is_object()
    );
    problem(&web.get("/api/v1/tools/paystack:fly"), Code::ToolNotFound);
    let found = fine(&web.get("/api/v1/search?q=verify+a+transaction&limit=3"));
    assert_eq!(
        found["results"][0]["tool_id"],
        "paystack:verify-transaction"
    );
    problem(&web.get("/api/v1/search"), Code::ValidationError);
    problem(&web.get("/api/v1/search?q=x&q=y"), Code::ValidationError);

    let wish = json!({"query": "paystack:verify-transaction"});
    let action = fine(&web.tell("/api/v1/intent", &[], &wish));
    assert_eq!(
        action["ready_to_execute"]["required_params"],
        json!(["reference"])
    );
    problem(
        &web.tell("/api/v1/intent", &[], &json!({})),
        Code::ValidationError,
    );
    let run =
        json!({"tool_id": action["ready_to_execute"]["tool_id"], "params": {"reference": "T1"}});
    assert_eq!(
        fine(&web.tell("/api/v1/execute", &[], &run))["data"],
        json!({"status": true})
    );
    problem(
        &web.tell("/api/v1/execute", &[], &json!({"tool_id": "x"})),
        Code::ValidationError,
    );
    let document = fine(&web.get("/api/v1/openapi.json"));
    assert_eq!(document, toolcrib_core::rest::document());
}

#[test]
fn what_runs_the_gateway_needs_its_scope() {
    let payments = Payments::open(&[], "");
    let key = |scope: &str| {
        let made = payments
            .home
            .run(&["keys", "create", scope, "--scope", scope, "--json"]);
        made.json()["secret"]
            .as_str()
            .unwrap_or_else(|| panic!("{} {}", made.out, made.err))
            .to_owned()
    };
    let (reader, admin) = (key("paystack:read"), key("toolcrib:admin"));
    let mut web = start(&payments);
    web.bear(&reader);
    for path in ["audit", "stats", "configuration", "approvals", "events"] {
        let told = problem(&web.get(&format!("/api/v1/{path}")), Code::ScopeRequired);
        let detail = told["detail"].as_str().unwrap();
        assert!(
            detail.contains("toolcrib keys create NAME --scope toolcrib:admin"),
            "{detail}"
        );
    }
    problem(
        &web.tell("/api/v1/reload", &[], &json!({})),
        Code::ScopeRequired,
    );
    problem(
        &web.tell(CHARGE, &[("idempotency-key", "k")], &charge()),
        Code::ToolNotFound,
    );
    web.bear(&admin);
    assert!(fine(&web.get("/api/v1/audit?limit=5"))["records"].is_array());
    let stats = fine(&web.get("/api/v1/stats"));
    assert!(stats["counters"].is_object());
    assert_eq!(stats["servers"]["configured"], 1);
    let shown = fine(&web.get("/api/v1/configuration"));
    assert_eq!(shown["adapters"][0]["secret_env"], "PAYSTACK_SECRET_KEY");
    assert_eq!(
        (&shown["profile"], &shown["mode"]),
        (&json!("discovery"), &json!("lazy"))
    );
    assert_eq!(
        fine(&web.tell("/api/v1/reload", &[], &json!({})))["outcome"],
        "unchanged"
    );
    assert_eq!(fine(&web.get("/api/v1/approvals"))["approvals"], json!([]));
    let approve = json!({"verdict": "approve"});
    problem(
        &web.tell("/api/v1/approvals/nobody:nothing", &[], &approve),
        Code::ApprovalNotFound,
    );
    let unknown = problem(&web.get("/api/v1/approvals/nobody"), Code::ApprovalNotFound);
    let next = unknown["next_step"].as_str().unwrap();
    assert!(next.contains("/api/v1/approvals"), "{next}");
    problem(
        &web.tell("/api/v1/approvals/x", &[], &json!({"verdict": "maybe"})),
        Code::ValidationError,
    );
    web.bear("tck_wrong");
    let unknown = web.get("/api/v1/servers");
    assert_eq!(unknown.status, 401);
    assert_eq!(unknown.headers["content-type"], "application/problem+json");
    assert_eq!(unknown.json()["status"], 401);
}

#[test]
fn a_caller_cannot_confirm_its_own_call() {
    let payments = Payments::open(&[json!({"status": true})], "");
    let mut web = start(&payments);
    let key = |name| {
        let scope = "*,toolcrib:admin";
        let arguments = ["keys", "create", name, "--scope", scope, "--json"];
        let made = payments.home.run(&arguments).json();
        made["secret"].as_str().unwrap().to_owned()
    };
    let (agent, person) = (key("agent"), key("person"));
    let delete = |web: &Web| {
        let path = "/api/adapters/paystack/tools/delete-customer";
        let customer = json!({"code": "CUS_1"});
        web.tell(path, &[("idempotency-key", "k")], &customer)
    };
    web.bear(&agent);
    let asked = problem(&delete(&web), Code::ConfirmationRequired);
    let id = asked["error"]["challenge"]["id"].as_str().unwrap();
    let path = format!("/api/v1/approvals/{id}");
    let approve = json!({"verdict": "approve"});
    problem(&web.tell(&path, &[], &approve), Code::ScopeRequired);
    problem(&delete(&web), Code::ConfirmationRequired);
    assert_eq!(payments.received().len(), 0);
    web.bear(&person);
    let settled = fine(&web.tell(&path, &[], &approve));
    assert_eq!(settled["approvals"][0]["state"], "approved");
    web.bear(&agent);
    fine(&delete(&web));
    assert_eq!(payments.received().len(), 1);
}

#[test]
fn approvals_are_not_settled_by_whoever_is_on_the_machine() {
    let payments = Payments::open(
        &[],
        "policy: {approval: all, loopbackScopes: ['*', 'toolcrib:admin']}\n",
    );
    let web = start(&payments);
    fine(&web.get("/api/v1/search?q=charge"));
    let waiting = fine(&web.get("/api/v1/approvals"));
    assert_eq!(
        waiting["approvals"].as_array().unwrap().len(),
        7,
        "{waiting}"
    );
    let approve = json!({"verdict": "approve"});
    problem(
        &web.tell("/api/v1/approvals/paystack", &[], &approve),
        Code::ScopeRequired,
    );
    let made = payments.home.run(&[
        "keys",
        "create",
        "person",
        "--scope",
        "*,toolcrib:admin",
        "--json",
    ]);
    let mut web = web;
    web.bear(made.json()["secret"].as_str().unwrap());
    let settled = fine(&web.tell("/api/v1/approvals/paystack", &[], &approve));
    assert_eq!(settled["approvals"][0]["state"], "approved");
    let found = fine(&web.get("/api/v1/search?q=charge+a+card"));
    assert_eq!(
        found["results"][0]["tool_id"],
        "paystack:charge-authorization"
    );
}

#[test]
fn events_tell_what_happens_as_it_happens() {
    let payments = Payments::open(&[json!({"status": true})], OPEN);
    let web = start(&payments);
    let mut stream = TcpStream::connect(web.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!(
        "GET /api/v1/events HTTP/1.1\r\nHost: {}\r\n\r\n",
        web.address()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut heard = String::new();
    let mut listen = |until: &str| {
        let mut bytes = [0; 4_096];
        while !heard.contains(until) {
            let count = stream.read(&mut bytes).unwrap();
            assert!(count > 0, "{heard}");
            heard.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
        heard.clone()
    };
    assert!(listen(": listening").contains("text/event-stream"));
    fine(&web.tell(
        "/api/adapters/paystack/tools/list-customers",
        &[],
        &json!({}),
    ));
    let told = listen("event: audit");
    assert!(
        told.contains("event: catalog") || told.contains("paystack:list-customers"),
        "{told}"
    );
}
