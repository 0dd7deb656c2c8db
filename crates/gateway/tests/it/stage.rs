//! A home with one server, `stage`, that offers the tools of a file and counts its effects in another.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::home::{Home, Said};

/// Where the server reads what it offers.
const OFFER: &str = "stage/offer.json";

/// Where the server counts its effects.
const EFFECTS: &str = "stage/effects";

/// Where the server writes down the ids of its processes.
pub(crate) const STARTED: &str = "stage/started";

/// The stand-in for servers that misbehave.
pub(crate) fn hostile() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| toolcrib_testkit::program("hostile"))
}

/// A tool with these properties, without anything said about its risk.
pub(crate) fn tool(name: &str, properties: &Value) -> Value {
    json!({
        "name": name,
        "description": format!("Does {name}."),
        "inputSchema": {"type": "object", "properties": properties},
    })
}

/// A tool that is said to change nothing.
pub(crate) fn reader(name: &str, properties: &Value) -> Value {
    let mut tool = tool(name, properties);
    tool["annotations"] = json!({"readOnlyHint": true});
    tool
}

/// A home whose server offers `tools`; `server` is added to its definition, `more` to the file.
pub(crate) fn staged(tools: &Value, server: &str, more: &str) -> Home {
    let home = Home::new();
    offer(&home, tools);
    home.configure(&format!(
        "servers:\n  stage:\n    command: '{}'\n    args: [--offer, '{}', --effects, '{}', --starts, '{}']\n    trusted: true\n{server}{more}",
        hostile().display(),
        home.path(OFFER).display(),
        home.path(EFFECTS).display(),
        home.path(STARTED).display(),
    ));
    home
}

/// Changes what the server offers from its next list on.
pub(crate) fn offer(home: &Home, tools: &Value) {
    home.write(OFFER, &tools.to_string());
}

/// What took effect, one line for each effect.
pub(crate) fn effects(home: &Home) -> Vec<String> {
    let text = std::fs::read_to_string(home.path(EFFECTS)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Runs a tool with JSON arguments and more options.
pub(crate) fn execute(home: &Home, tool: &str, arguments: &str, more: &[&str]) -> Said {
    let mut all = vec!["execute", "stage", tool, "--args", arguments, "--json"];
    all.extend(more);
    home.run(&all)
}

/// The records, oldest first.
pub(crate) fn records(home: &Home) -> Vec<Value> {
    let said = home.run(&["audit", "export"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let lines = said.out.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
