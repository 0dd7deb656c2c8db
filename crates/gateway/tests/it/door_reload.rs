//! A reload reaches the doors: what can hold at once does, in open sessions too, and what cannot is named.

use serde_json::{Value, json};

use crate::agent::{Agent, said};
use crate::home::{Home, Server};
use crate::stage::{hostile, reader};
use crate::web::Web;

/// A home with a tool that gives its arguments back; `more` is added to the file.
struct Place {
    home: Home,
}

impl Place {
    fn new(more: &str) -> Self {
        let home = Home::new();
        let tools = json!([reader("echo", &json!({}))]);
        home.write("stage/offer.json", &tools.to_string());
        let place = Self { home };
        place.configure(more);
        place
    }

    fn configure(&self, more: &str) {
        let offer = self.home.path("stage/offer.json");
        self.home.configure(&format!(
            "watch: false\nservers: {{stage: {{command: '{}', args: [--offer, '{}'], trusted: true}}}}\n{more}",
            hostile().display(),
            offer.display()
        ));
    }

    /// Reloads with other settings and gives what is said about it.
    fn reload(&self, more: &str) -> Value {
        self.configure(more);
        let said = self.home.run(&["config", "reload", "--json"]);
        assert_eq!(said.code, Some(0), "{} {}", said.out, said.err);
        said.json()["processes"][0].clone()
    }
}

fn call(name: &str) -> String {
    json!({ "name": "execute_tool", "arguments": { "server": "stage", "tool": name, "arguments": {} } })
        .to_string()
}

fn hello() -> Value {
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } })
}

/// The status of a handshake under a host name, at a path.
fn greeted(web: &Web, host: &str, path: &str) -> u16 {
    let headers = [
        ("host", host),
        ("accept", "application/json, text/event-stream"),
    ];
    web.tell(path, &headers, &hello()).status.as_u16()
}

#[test]
fn hosts_tokens_paths_and_sessions_follow_the_configuration() {
    let place = Place::new("");
    let web = Web::start(&place.home);
    let own = web.address().to_owned();
    let metadata = "/.well-known/oauth-protected-resource";
    assert_eq!(greeted(&web, "crib.example", "/mcp"), 403);
    assert_eq!(web.get(metadata).status, 404);
    assert_eq!(greeted(&web, &own, "/mcp/full"), 404);
    let open = "http: {allowedHosts: [crib.example], jwt: {issuer: 'https://i.example', audience: a, jwks: keys.json}}\nmode: full\n";
    let report = place.reload(open);
    assert_eq!(report["outcome"], "applied");
    assert!(report.get("waitingForRestart").is_none(), "{report}");
    assert_eq!(greeted(&web, "crib.example", "/mcp"), 200);
    assert_eq!(
        web.get(metadata).json()["authorization_servers"][0],
        "https://i.example"
    );
    assert_eq!(greeted(&web, &own, "/mcp/full"), 200);
    place.reload("limits: {sessions: 1}\n");
    assert_eq!(greeted(&web, &own, "/mcp"), 503, "two sessions are open");
    assert_eq!(greeted(&web, "crib.example", "/mcp"), 403);
    assert_eq!(web.get(metadata).status, 404);
    assert_eq!(greeted(&web, &own, "/mcp/full"), 404);
}

#[test]
fn what_callers_may_do_changes_in_sessions_that_are_open() {
    let place = Place::new("policy: {loopbackScopes: ['*']}\n");
    let mut web = Web::start(&place.home);
    let mut run = || said(&web.request("tools/call", &call("echo")));
    assert_eq!(run()["success"], true);
    place.reload("policy: {loopbackScopes: ['elsewhere:read']}\n");
    assert_ne!(run()["success"], true);
    place.reload("policy: {loopbackScopes: ['*']}\n");
    assert_eq!(run()["success"], true);
    let counted = web.get("/metrics").body;
    for line in [
        "toolcrib_calls_total{server=\"stage\",outcome=\"answered\"} 2",
        "toolcrib_calls_total{server=\"stage\",outcome=\"refused\"} 1",
        "toolcrib_call_seconds_count{server=\"stage\"} 3",
    ] {
        assert!(counted.contains(line), "{line}: {counted}");
    }
}

#[test]
fn who_must_not_know_of_a_server_does_not_find_it_among_the_metrics() {
    let place = Place::new("");
    let mut web = Web::start(&place.home);
    assert_eq!(
        said(&web.request("tools/call", &call("echo")))["success"],
        true
    );
    let line = "toolcrib_calls_total{server=\"stage\",outcome=\"answered\"} 1";
    assert!(
        web.get("/metrics").body.contains(line),
        "no key is needed here"
    );
    for (scope, shown) in [
        ("elsewhere:read", false),
        ("stage:read", true),
        ("toolcrib:admin", true),
    ] {
        let made = place.home.run(&["keys", "create", scope, "--scope", scope]);
        web.bear(made.out.trim());
        let counted = web.get("/metrics").body;
        assert_eq!(counted.contains("stage"), shown, "{scope}: {counted}");
        assert!(
            counted.contains("toolcrib_mcp_sessions 1"),
            "{scope}: {counted}"
        );
    }
}

#[test]
fn clients_are_told_that_what_is_pinned_has_changed() {
    let place = Place::new("");
    let mut agent = Agent::of(place.home.command(&["serve", "--stdio"]));
    let told = |agent: &mut Agent| agent.told("notifications/tools/list_changed");
    place.reload("surface: ['stage:echo']\n");
    told(&mut agent);
    let listed = agent.request("tools/list", "{}");
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 6);
    place.reload("surface: []\nlog: {level: debug}\n");
    told(&mut agent);
    // Another mode has other tools.
    place.reload("mode: full\n");
    told(&mut agent);
    let listed = agent.request("tools/list", "{}");
    assert_eq!(listed["result"]["tools"][0]["name"], "stage__echo");
}

#[test]
fn in_flat_mode_what_changes_is_told_of_the_server_that_is_passed_through_now() {
    let home = Home::new();
    let tools = json!([reader("change", &json!({}))]);
    let offer = home.write("offer.json", &tools.to_string());
    let configure = |name: &str| {
        home.configure(&format!(
            "watch: false\nmode: flat\nservers: {{{name}: {{command: '{}', args: [--offer, '{}'], trusted: true}}}}\n",
            hostile().display(),
            offer.display()
        ));
    };
    configure("one");
    let mut agent = Agent::of(home.command(&["serve", "--stdio"]));
    let told = |agent: &mut Agent| agent.told("notifications/tools/list_changed");
    let params = r#"{"name":"change","arguments":{}}"#;
    agent.send("tools/call", params);
    told(&mut agent);
    configure("two");
    assert_eq!(home.run(&["config", "reload"]).code, Some(0));
    told(&mut agent);
    agent.send("tools/call", params);
    told(&mut agent);
}

#[test]
fn what_is_pinned_changes_in_sessions_that_are_open() {
    let place = Place::new("");
    let mut web = Web::start(&place.home);
    let mut names = || {
        let listed = web.request("tools/list", "{}");
        let tools = listed["result"]["tools"].as_array().unwrap();
        tools
            .iter()
            .map(|tool| tool["name"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names().len(), 5);
    place.reload("surface: ['stage:echo']\n");
    let six = names();
    assert_eq!((six.len(), &six[5]), (6, &json!("stage__echo")));
    place.reload("policy: {loopbackScopes: ['elsewhere:read']}\nsurface: ['stage:echo']\n");
    assert_eq!(names().len(), 5, "who may not run it does not see it");
    let called = web.request("tools/call", r#"{"name":"stage__echo","arguments":{}}"#);
    assert!(called["error"].is_object(), "{called}");
}

#[test]
fn a_stricter_policy_holds_for_the_client_on_the_pipe() {
    let place = Place::new("policy: {strictArguments: false}\n");
    let mut agent = Agent::start(&place.home, "lazy");
    let params = call("echo").replace(r#""arguments":{}"#, r#""arguments":{"unknown":1}"#);
    assert!(params.contains("unknown"), "{params}");
    let mut code = || said(&agent.request("tools/call", &params))["error"]["code"].clone();
    assert_eq!(code(), Value::Null);
    place.reload("policy: {strictArguments: true}\n");
    assert_eq!(code(), "TOOL_VALIDATION_ERROR");
    place.reload("policy: {strictArguments: false}\n");
    assert_eq!(code(), Value::Null);
}

#[test]
fn what_waits_for_a_restart_is_named_until_it_is_taken_back() {
    let place = Place::new("http: {listen: '127.0.0.1:0'}\n");
    let mut command = place.home.command(&["serve"]);
    command.env_remove("TOOLCRIB_LISTEN");
    let mut server = Server::start(command);
    let other = "http: {listen: '127.0.0.1:1'}\nstore: {path: other.db}\nlog: {level: debug}\n";
    place.configure(other);
    let said = place.home.run(&["config", "reload"]);
    let sentence = "http.listen, store.path and log wait for a restart";
    assert!(said.out.contains(sentence), "{}", said.out);
    server.hears(sentence);
    let said = place.home.run(&["config", "reload"]);
    assert!(said.out.contains("nothing changed"), "{}", said.out);
    assert!(said.out.contains(sentence), "{}", said.out);
    let status = place.home.run(&["status", "--json"]).json();
    let waiting = &status["processes"][0]["reload"]["waitingForRestart"];
    assert_eq!(waiting, &json!(["http.listen", "store.path", "log"]));
    let shown = place.home.run(&["status"]).out;
    assert!(
        shown.contains("wait for a restart") || shown.contains("store.path"),
        "{shown}"
    );
    let report = place.reload("http: {listen: '127.0.0.1:0'}\n");
    assert!(report.get("waitingForRestart").is_none(), "{report}");
}

#[test]
fn what_no_door_can_serve_changes_nothing() {
    let place = Place::new("http: {allowedHosts: [crib.example]}\n");
    let web = Web::start(&place.home);
    for (more, part) in [
        (
            "http: {jwt: {issuer: i, audience: a, jwks: 'http://example.com/keys'}}\n",
            "http.jwt.jwks",
        ),
        (
            "mode: flat\nadapters: {shop: {spec: shop.yaml}}\n",
            "`stage`, `shop`",
        ),
    ] {
        place.configure(more);
        let said = place.home.run(&["config", "reload"]);
        assert_eq!(said.code, Some(2), "{}", said.out);
        assert!(said.out.contains(part), "{} {}", said.out, said.err);
        assert_eq!(greeted(&web, "crib.example", "/mcp"), 200);
    }
}
