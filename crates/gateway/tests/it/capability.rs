//! Capabilities through the real program: files, introspection, review and promotion.

use serde_json::{Value, json};

use crate::home::{Home, Said};
use crate::stage::{effects, execute, hostile, offer, reader, records, staged, tool};

const PENDING: &str = "work/capabilities/servers/pending/stage";
const APPROVED: &str = "work/capabilities/servers/approved/stage";

fn ok(said: Said) -> Said {
    assert_eq!(said.code, Some(0), "{} {}", said.out, said.err);
    said
}

fn introspect(home: &Home, more: &[&str]) -> Said {
    let program = hostile().display().to_string();
    let (list, effects) = (home.path("stage/offer.json"), home.path("stage/effects"));
    let (list, effects) = (list.display().to_string(), effects.display().to_string());
    let mut all = vec!["introspect", &program, "--name", "stage"];
    all.extend(more);
    all.extend(["--", "--offer", &list, "--effects", &effects]);
    home.run(&all)
}

/// Runs the tool, each time under a key of its own: nothing is known about its risk.
fn run(home: &Home) -> Said {
    let key = uuid::Uuid::now_v7().to_string();
    execute(home, "effect", "{}", &["--idempotency-key", &key])
}

fn exists(home: &Home, path: &str) -> bool {
    home.path(path).is_file()
}

fn pending(home: &Home) -> Vec<Value> {
    let said = ok(home.run(&["approvals", "list", "--json"])).json();
    said["approvals"].as_array().unwrap().clone()
}

#[test]
fn a_server_from_introspection_to_rejection() {
    let home = Home::new();
    home.configure("imports: {auto: false}\n");
    offer(
        &home,
        &json!([
            reader("effect", &json!({})),
            tool("delete_note", &json!({}))
        ]),
    );

    // Introspect: nothing of it can be found or run.
    let said = ok(introspect(&home, &["--json"])).json();
    assert_eq!(said["assessment"]["risk"], "destructive", "{said}");
    assert_eq!(
        (
            said["server_waits"].as_bool(),
            said["tools_waiting"].as_u64()
        ),
        (Some(true), Some(2))
    );
    assert!(exists(&home, &format!("{PENDING}/effect.rtfs")));
    assert_eq!(run(&home).json()["error"]["code"], "SERVER_NOT_FOUND");
    assert_eq!(effects(&home), Vec::<String>::new());

    // Review.
    assert_eq!(pending(&home).len(), 3);
    let shown = ok(home.run(&["approvals", "show", "stage"])).out;
    assert!(shown.contains("delete_note is destructive"), "{shown}");
    let files = ok(home.run(&[
        "rtfs",
        "check",
        "capabilities/servers/pending/stage/effect.rtfs",
    ]));
    assert!(!files.out.is_empty());

    // Approve: the files move, the server is there, its tools can be found and run.
    ok(home.run(&["approve", "stage"]));
    assert!(exists(&home, &format!("{APPROVED}/effect.rtfs")));
    assert!(!exists(&home, &format!("{PENDING}/effect.rtfs")));
    let found = ok(home.run(&["search", "effect", "--json"])).out;
    assert!(found.contains("effect"), "{found}");
    ok(run(&home));

    // The server changes a tool: it waits again, with what changed.
    let mut changed = reader("effect", &json!({"all": {"type": "boolean"}}));
    changed["description"] = json!("Has an effect and more.");
    offer(&home, &json!([changed, tool("delete_note", &json!({}))]));
    let said = ok(introspect(&home, &["--json"])).json();
    assert_eq!(
        (
            said["server_waits"].as_bool(),
            said["tools_waiting"].as_u64()
        ),
        (Some(false), Some(1))
    );
    assert!(exists(&home, &format!("{PENDING}/effect.rtfs")));
    ok(home.run(&["cache", "warm", "--fresh", "stage"]));
    let refused = run(&home);
    assert_eq!(
        refused.json()["error"]["code"],
        "APPROVAL_REQUIRED",
        "{}",
        refused.out
    );
    let shown = ok(home.run(&["approvals", "show", "stage:effect"])).out;
    assert!(
        shown.contains("+   \"description\": \"Has an effect and more.\""),
        "{shown}"
    );

    // Reject: it stays refused, and the approved file is the old one.
    ok(home.run(&["approvals", "reject", "stage"]));
    assert_eq!(pending(&home), Vec::<Value>::new());
    let calls = effects(&home).len();
    let refused = run(&home);
    assert_ne!(refused.code, Some(0));
    assert_eq!(effects(&home).len(), calls, "nothing was called");
    let text = std::fs::read_to_string(home.path(&format!("{APPROVED}/effect.rtfs"))).unwrap();
    assert!(text.contains("Does effect."), "{text}");
    let outcomes: Vec<String> = records(&home)
        .iter()
        .map(|r| r["outcome"].to_string())
        .collect();
    assert!(
        outcomes.contains(&"\"ok\"".to_owned()) && outcomes.contains(&"\"refused\"".to_owned())
    );

    // A change of mind: the new file is approved and the old one is in the archive.
    ok(home.run(&["approve", "stage:effect"]));
    let text = std::fs::read_to_string(home.path(&format!("{APPROVED}/effect.rtfs"))).unwrap();
    assert!(text.contains("Has an effect and more."), "{text}");
    let archive = home.path("work/capabilities/servers/archive/stage");
    assert_eq!(std::fs::read_dir(archive).unwrap().count(), 1);
    ok(run(&home));
}

#[test]
fn a_running_process_takes_an_approved_server_over_and_loads_its_files() {
    let home = Home::new();
    home.configure("imports: {auto: false}\n");
    offer(&home, &json!([reader("effect", &json!({}))]));
    ok(introspect(&home, &[]));
    let mut serving = home.serve(&[]);
    let said = ok(home.run(&["approvals", "approve", "stage", "--json"])).json();
    assert_eq!(said["promoted"][0]["registered"], true, "{said}");
    serving.hears("configuration reloaded");
    drop(serving);
    let serving = home.serve(&[]);
    serving.heard("approved capabilities are loaded");
}

#[test]
fn export_writes_both_dialects_and_learns_outputs_when_asked() {
    let tools = json!([reader("echo", &json!({})), tool("delete_note", &json!({}))]);
    let home = staged(&tools, "", "");
    let said = ok(home.run(&["export-rtfs", "--json"])).json();
    assert_eq!(
        said["servers"][0]["files"].as_array().unwrap().len(),
        2,
        "{said}"
    );
    let text = std::fs::read_to_string(home.path(&format!("{PENDING}/echo.rtfs"))).unwrap();
    assert!(text.starts_with("(capability :mcp.stage.echo\n"), "{text}");
    assert!(!text.contains("output"), "{text}");
    assert_eq!(effects(&home), Vec::<String>::new());

    let more = [
        "export-rtfs",
        "stage",
        "--dir",
        "out",
        "--dialect",
        "ccos",
        "--introspect-outputs",
        "--json",
    ];
    let said = ok(home.run(&more)).json();
    let untaught = said["servers"][0]["outputs_not_learnt"].to_string();
    assert!(
        untaught.contains("delete_note") && untaught.contains("more than read"),
        "{said}"
    );
    let text = std::fs::read_to_string(home.path("work/out/stage/echo.rtfs")).unwrap();
    assert!(
        text.starts_with("(capability \"mcp.stage.echo\"\n"),
        "{text}"
    );
    assert!(text.contains(":output-schema [:map]"), "{text}");
    assert!(
        text.contains(":metadata {:output-schema-source \"inferred\"}"),
        "{text}"
    );
    let shown = ok(home.run(&["inspect", "stage", "echo"])).out;
    assert!(
        shown.contains("Output (seen in an answer): [:map]"),
        "{shown}"
    );
    let unknown = home.run(&["export-rtfs", "stag"]);
    assert_eq!(unknown.code, Some(2));
    assert!(
        unknown.err.contains("Did you mean stage?"),
        "{}",
        unknown.err
    );
}

#[test]
fn what_cannot_be_introspected_says_why() {
    let home = staged(&json!([]), "", "");
    let taken = home.run(&["introspect", "https://a.example/mcp", "--name", "stage"]);
    assert!(
        taken.err.contains("a server named stage already"),
        "{}",
        taken.err
    );
    let unset = home.run(&[
        "introspect",
        "https://a.example/mcp",
        "--auth-env",
        "NOT_SET",
    ]);
    assert!(unset.err.contains("NOT_SET"), "{}", unset.err);
    let gone = home.run(&["introspect", "/nowhere/server", "--name", "gone"]);
    assert_eq!(gone.code, Some(3), "{}", gone.err);
    assert_eq!(pending(&home), Vec::<Value>::new());
}
