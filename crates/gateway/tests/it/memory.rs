//! The commands on the store: keys, approvals and the audit log.

use toolcrib_core::policy::ApprovalMode;
use toolcrib_store::approval::confirmation::Call;
use toolcrib_store::approval::observation::{Definition, Observation};
use toolcrib_store::audit::{Decision, Outcome, Record};
use toolcrib_store::{SqliteOptions, Store};
use uuid::Uuid;

use crate::home::{Home, eventually};
use crate::stage::{reader, staged};

const DATABASE: &str = ".local/share/toolcrib/store/toolcrib.db";

/// Works on the store as another process would.
pub(crate) fn remember<T>(home: &Home, work: impl AsyncFnOnce(&Store) -> T) -> T {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let options = SqliteOptions::new(home.path(DATABASE));
        let store = Store::open_sqlite(options, Uuid::now_v7()).await.unwrap();
        let answer = work(&store).await;
        store.close().await;
        answer
    })
}

fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

pub(crate) fn record(tool: &str, outcome: Outcome) -> Record {
    let refused = outcome == Outcome::Refused;
    Record {
        request_id: Uuid::now_v7().to_string(),
        timestamp_ms: now(),
        actor_id: "local".into(),
        tool_id: tool.into(),
        params_hash: "abc".into(),
        parameters: None,
        decision: if refused {
            Decision::Refused
        } else {
            Decision::Allowed
        },
        reason: if refused {
            "IDEMPOTENCY_REQUIRED: no key"
        } else {
            "allowed"
        }
        .into(),
        outcome,
        error_code: refused.then(|| "IDEMPOTENCY_REQUIRED".into()),
        duration_us: Some(2_500),
        upstream: tool.split(':').next().map(Into::into),
        request_bytes: 10,
        response_bytes: Some(20),
        trace_id: None,
    }
}

pub(crate) fn observe(home: &Home, description: &str) {
    let definition = format!(r#"{{"name":"send","description":"{description}"}}"#);
    let observation = Observation {
        server: "mail".into(),
        tools: vec![Definition {
            tool: "send".into(),
            hash: description.into(),
            definition,
        }],
        mode: ApprovalMode::Changed,
        first_list_accepted: true,
    };
    remember(home, async |store| store.observe(observation, now()).await).unwrap();
}

#[test]
fn a_key_is_shown_once_listed_without_its_secret_and_revoked() {
    let home = Home::new();
    let made = home.run(&[
        "keys",
        "create",
        "ci",
        "--scope",
        "github:read,*:write",
        "--expires",
        "90d",
    ]);
    assert_eq!(made.code, Some(0), "{}", made.err);
    let secret = made.out.trim();
    assert!(
        secret.starts_with("tck_") && !secret.contains('\n'),
        "{}",
        made.out
    );
    assert!(made.err.contains("only time"), "{}", made.err);
    let list = home.run(&["keys", "list", "--json"]);
    assert!(!list.out.contains(secret));
    let key = &list.json()["keys"][0];
    assert_eq!((&key["name"], &key["valid"]), (&"ci".into(), &true.into()));
    assert_eq!(key["scopes"], serde_json::json!(["github:read", "*:write"]));
    let id = key["id"].as_str().unwrap().to_owned();
    assert!(home.run(&["keys", "list"]).out.contains("until "));
    assert_eq!(home.run(&["keys", "revoke", &id]).code, Some(0));
    let again = home.run(&["keys", "revoke", &id]);
    assert_eq!(again.code, Some(1));
    assert!(again.err.contains("keys list"), "{}", again.err);
    assert!(home.run(&["keys", "list"]).out.contains("revoked "));
    let database = std::fs::read(home.path(DATABASE)).unwrap();
    let body = &secret.as_bytes()[4..];
    assert!(!database.windows(body.len()).any(|window| window == body));
}

#[test]
fn a_scope_that_nothing_needs_and_a_name_in_use_are_told() {
    let home = Home::new();
    home.configure(
        "servers: {notes: {command: notes}}\npolicy: {overrides: [{pattern: ['pay*'], requiredScopes: ['bank:pay']}]}\n",
    );
    let check = |scope: &str, told: &str| {
        let said = home.run(&["keys", "create", scope, "--scope", scope]);
        assert_eq!(said.code, Some(0), "{scope} {}", said.err);
        let odd = said.err.contains("nothing that is known needs");
        assert_eq!(odd, !told.is_empty(), "{scope} {}", said.err);
        assert!(said.err.contains(told), "{scope} {}", said.err);
    };
    check("notes:reed", "did you mean notes:read?");
    check("bad", "SERVER:read, SERVER:write or SERVER:delete");
    check("a:b:c", "needs the scope a:b:c");
    for scope in ["notes:read", "bank:pay", "toolcrib:admin", "*", "other:*"] {
        check(scope, "");
    }
    let again = home.run(&["keys", "create", "bad", "--scope", "notes:read"]);
    assert_eq!(again.code, Some(0), "{}", again.err);
    assert!(
        again.err.contains("bad is the name of the key"),
        "{}",
        again.err
    );
}

#[test]
fn a_key_with_a_scope_that_is_none_is_not_made() {
    let home = Home::new();
    let said = home.run(&["keys", "create", "x", "--scope", "not a scope"]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    assert!(
        home.run(&["keys", "list"])
            .out
            .contains("There are no keys")
    );
    let said = home.run(&["keys", "create", "x", "--scope", "a:b", "--expires", "soon"]);
    assert!(said.err.contains("no span of time"), "{}", said.err);
}

#[test]
fn a_changed_tool_is_shown_as_a_difference_and_approved() {
    let home = Home::new();
    assert!(
        home.run(&["approvals", "list"])
            .out
            .contains("Nothing waits")
    );
    observe(&home, "Sends mail");
    observe(&home, "Sends mail to everyone");
    let list = home.run(&["approvals", "list"]);
    assert!(
        list.out.contains("mail:send") && list.out.contains("pending"),
        "{}",
        list.out
    );
    let shown = home.run(&["approvals", "show", "mail:send"]);
    assert!(
        shown.out.contains("-   \"description\": \"Sends mail\""),
        "{}",
        shown.out
    );
    assert!(
        shown
            .out
            .contains("+   \"description\": \"Sends mail to everyone\""),
        "{}",
        shown.out
    );
    assert!(
        shown.out.contains("    \"name\": \"send\""),
        "{}",
        shown.out
    );
    let said = home.run(&["approvals", "approve", "mail"]);
    assert!(
        said.out.contains("mail:send is approved"),
        "{} {}",
        said.out,
        said.err
    );
    assert!(
        home.run(&["approvals", "list"])
            .out
            .contains("Nothing waits")
    );
    let again = home.run(&["approve", "mail:send"]);
    assert_eq!(again.code, Some(2));
    assert!(again.err.contains("approvals list"), "{}", again.err);
    let all = home.run(&["approvals", "list", "--all", "--json"]).json();
    assert!(
        all["approvals"]
            .as_array()
            .unwrap()
            .iter()
            .any(|r| r["state"] == "approved")
    );
}

#[test]
fn a_confirmation_is_settled_by_its_id() {
    let home = Home::new();
    let call = Call {
        server: "bank".into(),
        tool: "pay".into(),
        args_hash: "h".into(),
        caller: "key:k".into(),
    };
    let id = remember(&home, async |store| {
        let request = store.challenge(&call, r#"{"amount":5}"#, [1; 8], now());
        request.await.unwrap().id
    });
    let shown = home.run(&["approvals", "show", &id]);
    assert!(
        shown.out.contains("key:k wants to call it"),
        "{}",
        shown.out
    );
    assert!(shown.out.contains("\"amount\": 5"), "{}", shown.out);
    let said = home.run(&["approvals", "reject", &id]);
    assert!(
        said.out.contains("bank:pay is rejected"),
        "{} {}",
        said.out,
        said.err
    );
    let late = remember(&home, async |store| {
        let long_ago = now() - 24 * 60 * 60 * 1000;
        let other = Call {
            args_hash: "i".into(),
            ..call
        };
        let request = store.challenge(&other, "{}", [2; 8], long_ago);
        request.await.unwrap().id
    });
    let said = home.run(&["approve", &late, "--json"]);
    assert_ne!(said.code, Some(0), "{}", said.out);
}

#[test]
fn the_log_is_read_searched_exported_and_proved() {
    let home = Home::new();
    let empty = home.run(&["audit", "tail"]).out;
    assert!(empty.contains("Nothing was run yet"), "{empty}");
    remember(&home, async |store| {
        for record in [
            record("github:create_issue", Outcome::Refused),
            record("files:read", Outcome::DryRun),
        ] {
            store.record(record).await.unwrap();
        }
    });
    let tail = home.run(&["audit", "tail"]);
    assert!(
        tail.out.contains("files:read") && tail.out.contains("dry_run"),
        "{}",
        tail.out
    );
    assert!(
        tail.out.contains("IDEMPOTENCY_REQUIRED: no key"),
        "{}",
        tail.out
    );
    for how_many in ["-n", "--limit", "--lines"] {
        let newest = home.run(&["audit", "tail", how_many, "1"]);
        assert_eq!(newest.code, Some(0), "{}", newest.err);
        assert!(!newest.out.contains("create_issue"), "{}", newest.out);
    }
    let found = home.run(&[
        "audit", "search", "--server", "github", "--since", "1h", "--json",
    ]);
    let record: serde_json::Value = serde_json::from_str(found.out.trim()).unwrap();
    assert_eq!(record["tool_id"], "github:create_issue");
    assert_eq!(record["actor_id"], "local");
    for filter in [
        ["--until", "1h"],
        ["--outcome", "ok"],
        ["--actor", "nobody"],
    ] {
        let mut arguments = vec!["audit", "search"];
        arguments.extend(filter);
        assert!(
            home.run(&arguments).out.contains("No record fits"),
            "{filter:?}"
        );
    }
    let wrong = home.run(&["audit", "search", "--outcome", "fine"]);
    assert!(wrong.err.contains("none of ok, error"), "{}", wrong.err);
    let wrong = home.run(&["audit", "search", "--since", "soon"]);
    assert_eq!(wrong.code, Some(1), "{}", wrong.err);
    let csv = home.run(&["audit", "export", "--format", "csv"]);
    assert_eq!(csv.out.lines().count(), 3, "{}", csv.out);
    let said = home.run(&["audit", "export", "-o", "out.jsonl"]);
    assert!(said.err.contains("wrote 2 records"), "{}", said.err);
    let text = std::fs::read_to_string(home.path("work/out.jsonl")).unwrap();
    assert_eq!(text.lines().count(), 2);
    assert_eq!(
        home.run(&["audit", "export", "-o", "no/where.jsonl"]).code,
        Some(3)
    );
    let verdict = home.run(&["audit", "verify", "--json"]).json();
    assert_eq!(
        (&verdict["intact"], &verdict["records"]),
        (&true.into(), &2.into())
    );
}

#[test]
fn a_log_that_was_meddled_with_is_found_out() {
    let home = Home::new();
    remember(&home, async |store| {
        store
            .record(record("a:secret_tool_name", Outcome::Refused))
            .await
            .unwrap();
    });
    let path = home.path(DATABASE);
    let mut bytes = std::fs::read(&path).unwrap();
    let needle = b"secret_tool_name";
    let at: Vec<usize> = (0..bytes.len() - needle.len())
        .filter(|at| bytes[*at..].starts_with(needle))
        .collect();
    assert!(!at.is_empty());
    for at in at {
        bytes[at] = b'x';
    }
    std::fs::write(&path, bytes).unwrap();
    let said = home.run(&["audit", "verify"]);
    assert_eq!(said.code, Some(3), "{}", said.out);
    assert!(said.out.contains("not intact"), "{}", said.out);
    let told = home.run(&["audit", "verify", "--json"]);
    assert_eq!(
        (told.code, &told.json()["intact"]),
        (Some(3), &false.into())
    );
}

#[test]
fn what_is_written_later_follows() {
    use std::io::{BufRead, BufReader};
    let home = Home::new();
    remember(&home, async |store| {
        store
            .record(record("a:first", Outcome::Refused))
            .await
            .unwrap();
    });
    let mut command = home.command(&["audit", "tail", "--follow", "--json"]);
    let mut child = command
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("a:first"));
    remember(&home, async |store| {
        store
            .record(record("a:second", Outcome::Refused))
            .await
            .unwrap();
    });
    assert!(lines.next().unwrap().unwrap().contains("a:second"));
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let status = eventually("the end", || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(0));
}

#[test]
fn the_log_is_read_where_the_disk_takes_nothing_more() {
    let home = Home::new();
    remember(&home, async |store| {
        let record = record("a:first", Outcome::Refused);
        store.record(record).await.unwrap();
    });
    // Nothing can be put beside the database any more.
    let beside = home.path(&format!("{DATABASE}-shm"));
    std::os::unix::fs::symlink("/nowhere/at/all", beside).unwrap();
    for reading in [
        &["audit", "tail"][..],
        &["audit", "search"],
        &["audit", "export"],
    ] {
        let said = home.run(reading);
        assert_eq!(said.code, Some(0), "{reading:?}: {}", said.err);
        assert!(said.out.contains("a:first"), "{reading:?}: {}", said.out);
        assert!(
            said.err.contains("can only be read"),
            "{reading:?}: {}",
            said.err
        );
    }
    assert_eq!(home.run(&["audit", "verify"]).code, Some(0));
    // What is to be known about a tool comes from its server, and the question gets as far as that.
    let explained = home.run(&["policy", "explain", "a:first"]);
    assert!(
        explained.err.contains("can only be read"),
        "{}",
        explained.err
    );
    assert!(
        explained.err.contains("SERVER_NOT_FOUND"),
        "{}",
        explained.err
    );
    // The same holds for every command that shows something and calls nothing.
    for (looking, code) in [
        (&["list"][..], 0),
        (&["stats"], 0),
        (&["search", "first"], 2),
        (&["tools", "a"], 2),
        (&["inspect", "a:first"], 2),
    ] {
        let said = home.run(looking);
        assert_eq!(said.code, Some(code), "{looking:?}: {}", said.err);
        assert!(
            said.err.contains("can only be read"),
            "{looking:?}: {}",
            said.err
        );
    }
    let refused = home.run(&["keys", "create", "ci", "--scope", "a:read"]);
    assert_eq!(refused.code, Some(3), "{}", refused.err);
    assert!(refused.err.contains("is read-only"), "{}", refused.err);
}

#[test]
fn what_could_not_be_noted_is_not_said_to_wait() {
    let tools = serde_json::json!([reader("echo", &serde_json::json!({}))]);
    let home = staged(&tools, "", "policy: {approval: all}\n");
    remember(&home, async |_| ());
    let beside = home.path(&format!("{DATABASE}-shm"));
    std::os::unix::fs::symlink("/nowhere/at/all", &beside).unwrap();
    let said = home.run(&["search", "echo"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    let expect = "1 tool that may fit is not shown";
    assert!(said.err.contains(expect), "{}", said.err);
    assert!(!said.err.contains("approvals list"), "{}", said.err);
    std::fs::remove_file(beside).unwrap();
    let said = home.run(&["search", "echo"]);
    assert!(
        said.err.contains("1 tool that may fit waits"),
        "{}",
        said.err
    );
}

#[test]
fn a_store_that_cannot_be_used_is_said_in_a_sentence() {
    let home = Home::new();
    home.write(
        DATABASE,
        "this is no database, it is a letter to a friend of mine",
    );
    let said = home.run(&["audit", "tail"]);
    assert_eq!(said.code, Some(3), "{}", said.err);
    assert!(said.err.contains("is not a Toolcrib store"), "{}", said.err);
    assert_eq!(said.err.trim().lines().count(), 1, "{}", said.err);
}
