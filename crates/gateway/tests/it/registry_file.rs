//! The registry of operations as a file: written when asked for, held against the catalog, never believed.

use serde_json::{Value, json};

use crate::home::Server;
use crate::modes::Client;
use crate::payments::Payments;

fn ask(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let answer = client.call(tool, arguments);
    let text = answer["result"]["content"][0]["text"].as_str();
    serde_json::from_str(text.unwrap_or_else(|| panic!("{answer}"))).unwrap()
}

#[test]
fn a_file_is_written_when_asked_for_and_fits_until_something_changes() {
    let payments = Payments::open(&[], "");
    let run = |arguments: &[&str]| {
        let mut command = payments.command(arguments);
        command.env("MCP_REGISTRY_PATH", "operations.json");
        crate::home::Said::of(command.output().unwrap())
    };
    let missing = run(&["registry-file", "check"]);
    assert_ne!(missing.code, Some(0));
    assert!(
        missing.err.contains("registry-file write"),
        "{}",
        missing.err
    );
    let written = run(&["registry-file", "write", "--json"]);
    assert_eq!(written.json()["operation_count"], 7, "{}", written.err);
    let path = payments.home.path("work/operations.json");
    let mut file: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let charge = &file["operations"]["paystack:charge-authorization"];
    assert_eq!(
        (&charge["risk_level"], &charge["method"]),
        (&json!("high"), &json!("POST"))
    );
    assert_eq!(charge["example_request"]["amount"], 500_000);
    assert_eq!(charge["common_errors"], json!(["401", "400"]));
    let good = run(&["registry-file", "check", "--json"]);
    assert_eq!(
        (good.code, &good.json()["fits"]),
        (Some(0), &json!(true)),
        "{}",
        good.err
    );
    file["operations"]["paystack:charge-authorization"]["risk_level"] = json!("low");
    file["operations"]["paystack:fly"] = json!({});
    std::fs::write(&path, file.to_string()).unwrap();
    let bad = run(&["registry-file", "check"]);
    assert_eq!(bad.code, Some(2));
    let json = run(&["registry-file", "check", "--json"]);
    assert_eq!((json.code, &json.json()["fits"]), (Some(2), &false.into()));
    for said in [
        "paystack:fly is not in the catalog",
        "paystack:charge-authorization is low in the file and ",
    ] {
        assert!(bad.out.contains(said), "{}", bad.out);
    }
}

#[test]
fn a_file_without_the_operations_of_a_server_is_written_and_is_no_success() {
    let payments = Payments::open(&[], "servers: {gone: {command: /nowhere/at/all}}\n");
    let path = payments.home.path("work/operations.json");
    for json in [false, true] {
        let mut command = payments.command(&["registry-file", "write"]);
        command.env("MCP_REGISTRY_PATH", "operations.json");
        if json {
            command.arg("--json");
        }
        let said = crate::home::Said::of(command.output().unwrap());
        assert_eq!(said.code, Some(3), "{} {}", said.out, said.err);
        if json {
            assert_eq!(said.json()["left_out"], json!(["gone"]));
        } else {
            assert!(
                said.err.contains("without the operations of gone"),
                "{}",
                said.err
            );
        }
        let file = std::fs::read_to_string(&path).unwrap();
        let file: Value = serde_json::from_str(&file).unwrap();
        assert_eq!(file["operations"].as_object().unwrap().len(), 7);
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_file_that_does_not_fit_switches_intent_off_and_never_overrides_the_catalog() {
    let payments = Payments::open(&[], "policy: {mode: strict}\nprofile: gateway\n");
    let path = payments
        .home
        .path("work/discovery/registry/operations.json");
    let written = payments
        .command(&["registry-file", "write"])
        .output()
        .unwrap();
    assert!(written.status.success());
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        text.replace("\"risk_level\": \"high\"", "\"risk_level\": \"low\""),
    )
    .unwrap();
    let mut command = payments.command(&["serve", "--stdio"]);
    let log = payments.home.path("log");
    command.stderr(std::fs::File::create(&log).unwrap());
    let mut client = Client::heard_elsewhere(command);
    client.hello_as("t", &json!({}));
    assert_eq!(
        client.names().len(),
        5,
        "it does not fall back to every tool"
    );
    let wish = json!({"query": "paystack:charge-authorization"});
    let refused = crate::home::eventually("intent is switched off", || {
        let told = ask(&mut client, "gateway.intent", wish.clone());
        (told["success"] == false).then_some(told)
    });
    assert_eq!(refused["error"]["code"], "TOOL_DISABLED");
    assert!(
        refused["error"]["message"]
            .as_str()
            .unwrap()
            .contains("does not fit the catalog")
    );
    let listed = ask(&mut client, "gateway.tools", json!({"adapter": "paystack"}));
    assert_eq!(
        listed["tools"][0]["risk_level"], "high",
        "the catalog is the truth"
    );
    let params = json!({"amount": 1, "email": "a@b.c", "authorization_code": "A"});
    let run = json!({"tool_id": "paystack:charge-authorization", "params": params});
    let told = ask(&mut client, "gateway.execute", run);
    assert_eq!(told["error"]["code"], "IDEMPOTENCY_REQUIRED");
    client.end();
    let log = std::fs::read_to_string(log).unwrap();
    assert!(
        log.contains("gateway.intent is switched off until the registry fits"),
        "{log}"
    );
}

#[test]
fn the_file_is_written_at_start_only_where_that_is_wanted() {
    let path = "work/discovery/registry/operations.json";
    let quiet = Payments::open(&[], "");
    let server = Server::start(quiet.command(&["serve"]));
    drop(server);
    assert!(!quiet.home.path(path).exists());
    let keen = Payments::open(&[], "registry: {writeOperations: true}\n");
    let mut server = Server::start(keen.command(&["serve"]));
    if !server.said("registry written") {
        server.hears("registry written");
    }
    let file: Value =
        serde_json::from_str(&std::fs::read_to_string(keen.home.path(path)).unwrap()).unwrap();
    assert_eq!(file["operation_count"], 7);
}

#[test]
fn a_file_is_held_against_the_catalog_again_with_every_reload() {
    let payments = Payments::open(&[], "profile: gateway\n");
    let write = || {
        let command = payments.command(&["registry-file", "write"]).output();
        assert!(command.unwrap().status.success());
    };
    let path = payments
        .home
        .path("work/discovery/registry/operations.json");
    write();
    let good = std::fs::read_to_string(&path).unwrap();
    let log = payments.home.path("log");
    let mut command = payments.command(&["serve", "--stdio"]);
    command.stderr(std::fs::File::create(&log).unwrap());
    let mut client = Client::heard_elsewhere(command);
    client.hello_as("t", &json!({}));
    let logged = |line: &str, times: usize| {
        crate::home::eventually(line, || {
            let log = std::fs::read_to_string(&log).unwrap();
            (log.matches(line).count() >= times).then_some(())
        });
    };
    let fits = "the registry of operations fits the catalog";
    let off = "gateway.intent is switched off until the registry fits";
    let reload = || {
        let said = payments.command(&["config", "reload"]).output().unwrap();
        assert!(said.status.success(), "{said:?}");
    };
    let wish = json!({"query": "paystack:charge-authorization"});
    logged(fits, 1);
    assert!(ask(&mut client, "gateway.intent", wish.clone())["recommended"].is_object());

    std::fs::write(
        &path,
        good.replace("\"risk_level\": \"high\"", "\"risk_level\": \"low\""),
    )
    .unwrap();
    reload();
    logged(off, 1);
    let refused = ask(&mut client, "gateway.intent", wish.clone());
    assert_eq!(refused["error"]["code"], "TOOL_DISABLED", "{refused}");
    assert_eq!(client.names().len(), 5);

    std::fs::write(&path, &good).unwrap();
    reload();
    logged(fits, 2);
    assert!(ask(&mut client, "gateway.intent", wish.clone())["recommended"].is_object());

    std::fs::write(&path, "{").unwrap();
    reload();
    logged(off, 2);
    std::fs::remove_file(&path).unwrap();
    reload();
    logged(fits, 3);
    assert!(ask(&mut client, "gateway.intent", wish)["recommended"].is_object());
    client.end();
}
