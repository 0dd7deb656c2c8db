//! Environment variables that a configuration names and that are not set.

use toolcrib_config::Severity;

use crate::load::{Stage, server_names};

#[test]
fn a_server_whose_variable_is_not_set_is_set_aside_and_the_others_are_there() {
    let text = "servers:\n  a:\n    command: x\n    env: {TOKEN: '${MY_TOKEN}'}\n  a.b: {command: y}\n\
                adapters:\n  pay: {spec: pay.yaml, baseUrl: 'https://${MY_HOST}/v1'}\n";
    let mut stage = Stage::new();
    stage.trusted("project/toolcrib.yaml", text);
    let config = stage.load().unwrap();
    assert_eq!(server_names(&config), ["a", "a.b"]);
    let aside: Vec<_> = config.set_aside.iter().collect();
    let expect = [("a", "MY_TOKEN"), ("pay", "MY_HOST")];
    let expect = expect.map(|(name, variable)| {
        let why = format!("the environment variable {variable} is not set");
        (name.to_owned(), why)
    });
    assert_eq!(aside, expect.each_ref().map(|(name, why)| (name, why)));
    let said: Vec<_> = config.diagnostics.iter().collect();
    let all = |part: &str| said.iter().any(|found| found.message.contains(part));
    assert!(all("servers.a.env.TOKEN needs MY_TOKEN"), "{said:?}");
    assert!(all("the server a is set aside"), "{said:?}");
    assert!(all("the adapter pay is set aside"), "{said:?}");
    assert!(said.iter().all(|found| found.severity == Severity::Warning));
    stage.set("MY_TOKEN", "t");
    stage.set("MY_HOST", "pay.example");
    let config = stage.load().unwrap();
    assert!(config.set_aside.is_empty() && config.diagnostics.is_empty());
    let mut off = Stage::new();
    off.trusted(
        "project/toolcrib.yaml",
        "servers:\n  a:\n    command: x\n    enabled: false\n    env: {TOKEN: '${MY_TOKEN}'}\n",
    );
    let config = off.load().unwrap();
    assert!(config.set_aside.is_empty() && config.diagnostics.is_empty());
}

#[test]
fn an_unset_variable_that_is_needed_by_more_than_a_server_names_itself() {
    let mut stage = Stage::new();
    let text = "telemetry: {otlpEndpoint: '${MY_COLLECTOR}'}\n";
    stage.trusted("project/toolcrib.yaml", text);
    assert_eq!(
        stage.errors(),
        [
            "telemetry.otlpEndpoint needs MY_COLLECTOR, and the environment variable MY_COLLECTOR is not set"
        ]
    );
    stage.set("MY_COLLECTOR", "http://localhost:4318");
    assert!(stage.load().is_ok());
}
