//! With `--json` every command writes JSON and nothing else to standard output, however it ends.

use std::collections::BTreeSet;
use std::fs::File;

use serde_json::{Deserializer, Value};

use super::broken::ARGUMENTS;
use super::finding::NOTES;
use super::settling::changed;
use super::whole::commands;
use super::{describing, furnished_with};
use crate::home::{Home, Said};
use crate::registry::Market;

/// What does not end by itself: the first runs until it is told to end, the second waits for a browser and is
/// asked for JSON where logins are tested.
const APART: [&str; 2] = ["serve", "login"];

/// What a command wrote with `--json`, one object after the other.
fn told(home: &Home, line: &[&str]) -> (Said, Vec<Value>) {
    let mut command = home.command(&[&["--json"], line].concat());
    if line[0] == "types" {
        command.stdin(File::open(home.path("work/schema.json")).unwrap());
    }
    let said = Said::of(command.output().unwrap());
    let told: Result<Vec<Value>, _> = Deserializer::from_str(&said.out).into_iter().collect();
    let told = told.unwrap_or_else(|error| panic!("{line:?}: {error}: {}", said.out));
    (said, told)
}

/// Command lines that succeed, one after the other in their homes.
const WELL: &[&str] = &[
    "config show",
    "config validate",
    "config sources",
    "config reload",
    "trust --list",
    "rules explain stage:look_at_note",
    "list",
    "search note",
    "tools stage",
    "inspect stage look_at_note",
    "execute notes create_note title=a body=b",
    "status",
    "doctor",
    "completions fish",
    "stats",
    "registry-file write --path operations.json",
    "registry-file check --path operations.json",
    "cache show",
    "cache warm",
    "cache clear",
    "approvals list",
    "audit tail",
    "audit search",
    "audit export",
    "audit verify",
    "keys create ci --scope stage:read",
    "keys list",
    "policy explain stage:look_at_note",
    "logout stage",
    "infer github list_issues",
    "export-rtfs stage --dir out",
    "types from-schema",
    "rtfs check good.rtfs",
    "adapter check shop.yaml",
    "adapter add shop.yaml",
    "import",
    "export --to cursor",
    "setup cursor --yes",
    "demo",
];

/// The same where a tool changed.
const SETTLED: &[&str] = &[
    "approvals show stage:look_up",
    "approvals approve stage:look_out",
    "approvals reject stage:look_up",
    "approve stage:look_up --yes",
];

/// The same with a registry.
const MARKET: &[&str] = &[
    "registry search weather",
    "registry find weather.today",
    "registry show io.github.ada/weather",
    "registry add io.github.ada/weather",
];

#[test]
fn every_command_that_succeeds_writes_json_alone() {
    let home = furnished_with(NOTES, "");
    home.write("work/good.rtfs", "(capability \"a.b\" :name \"x\")\n");
    home.write("work/shop.yaml", describing::SHOP);
    home.write("work/schema.json", "{\"type\": \"object\"}");
    let (market, changed) = (Market::open(), changed());
    let mut seen = BTreeSet::new();
    let known = commands();
    let mut play = |home: &Home, line: &[&str]| {
        let (said, told) = told(home, line);
        assert_eq!(said.code, Some(0), "{line:?}: {}{}", said.out, said.err);
        let text = line.join(" ");
        let records = text.starts_with("audit ") && !text.starts_with("audit verify");
        assert!(told.len() == 1 || records, "{line:?}: {}", said.out);
        let name = known.keys().filter(|name| text.starts_with(name.as_str()));
        seen.extend(name.max_by_key(|name| name.len()).cloned());
        told
    };
    for (home, lines) in [(&home, WELL), (&changed, SETTLED), (&market.home, MARKET)] {
        for line in lines {
            play(home, &line.split(' ').collect::<Vec<_>>());
        }
    }
    let listed = play(&home, &["keys", "list"]);
    let key = listed[0]["keys"][0]["id"].as_str().unwrap();
    play(&home, &["keys", "revoke", key]);
    let server = crate::stage::hostile().display().to_string();
    let offer = home.path("stage/offer.json").display().to_string();
    let server = [&server, "--name", "new", "--", "--offer", &offer];
    play(&home, &[&["introspect"][..], &server].concat());
    let wanted = known.keys().filter(|name| !APART.contains(&name.as_str()));
    assert_eq!(seen, wanted.cloned().collect());
}

#[test]
fn every_command_that_fails_writes_json_alone() {
    let home = Home::new();
    home.configure("servers: {a: {command: x}}\ntoolRules: 7\n");
    home.write(".cursor/mcp.json", "{");
    home.write("work/schema.json", "{");
    for command in commands().keys() {
        let words: Vec<&str> = command.split(' ').collect();
        let (said, mistyped) = told(&home, &[&words[..], &["--nope"]].concat());
        assert_eq!(said.code, Some(1), "{command}");
        assert_eq!(mistyped.len(), 1, "{command}: {}", said.out);
        let code = &mistyped[0]["error"]["code"];
        assert_eq!(code, "VALIDATION_ERROR", "{command}: {}", said.out);
        if command == "demo" {
            continue;
        }
        let more = ARGUMENTS.iter().find(|(name, _)| name == command);
        let more = more.map(|(_, more)| more.split(' ')).into_iter().flatten();
        let (said, told) = told(&home, &words.into_iter().chain(more).collect::<Vec<_>>());
        assert_eq!(told.len(), 1, "{command}: {}", said.out);
    }
}
