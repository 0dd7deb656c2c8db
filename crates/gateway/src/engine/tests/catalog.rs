//! How the catalog comes to be and stays current.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::Code;
use toolcrib_core::policy::approval::Wait;
use toolcrib_core::policy::{Approval, Override, Risk};
use toolcrib_store::approval::{Target, Verdict};

use crate::engine::ask::{CallOptions, Listing, Search};
use crate::engine::fixture::{Lists, Puppets, SERVERS, Still, Workshop, refused, tool, until};
use crate::engine::upstream::Change;

const TITLE: &str = r#"{"title": "x"}"#;

fn listing(server: &str) -> Listing {
    Listing {
        server: server.into(),
        include_disabled: true,
        ..Listing::default()
    }
}

async fn names(shop: &Workshop, server: &str) -> Vec<String> {
    let page = shop
        .engine
        .list_tools(&shop.local(), listing(server))
        .await
        .unwrap();
    page.tools
        .iter()
        .map(|e| e.tool.id.tool().to_owned())
        .collect()
}

#[tokio::test]
async fn declared_tools_are_known_without_asking_anyone() {
    let yaml = "
servers:
  files:
    command: files
    tools: [{name: read_file, description: Reads a file., tags: [fs]}]
";
    let shop = Workshop::open(yaml).await;
    let details = shop
        .engine
        .tool_details(&shop.local(), "files", "read-file")
        .await
        .unwrap();
    assert_eq!(details.entry.tool.tags, ["fs"]);
    assert_eq!(details.entry.approval, Approval::Approved);
    assert_eq!(shop.puppets.seen(), Vec::<String>::new());
}

#[tokio::test]
async fn a_kept_list_answers_at_once_and_is_renewed_when_it_is_old() {
    for (stale, seen) in [(false, 0), (true, 1)] {
        let puppets = Arc::new(Puppets::default());
        puppets
            .kept
            .lock()
            .unwrap()
            .insert("github".into(), (vec![tool("old_tool")], stale));
        puppets.list(
            "github",
            Lists::Tools(vec![tool("old_tool"), tool("new_tool")]),
        );
        let yaml = "servers: {github: {command: gh}}\npolicy: {approval: off}\n";
        let shop = Workshop::with(yaml, puppets).await;
        let page = shop
            .engine
            .list_tools(&shop.local(), listing("github"))
            .await
            .unwrap();
        assert_eq!(page.tools[0].tool.id.tool(), "old_tool");
        assert_eq!(page.stale, stale);
        while shop.puppets.seen().len() < seen || shop.engine.asking.is_running("github") {
            tokio::task::yield_now().await;
        }
        assert_eq!(shop.puppets.seen().len(), seen);
        assert_eq!(names(&shop, "github").await.len(), 1 + seen);
    }
}

#[tokio::test(start_paused = true)]
async fn lists_are_asked_for_again_when_the_engine_no_longer_keeps_them() {
    let _still = Still::new();
    let shop =
        Workshop::open("servers: {github: {command: gh}}\ncache: {enabled: true, ttl: 10}\n").await;
    names(&shop, "github").await;
    names(&shop, "github").await;
    assert_eq!(shop.puppets.seen().len(), 1);
    tokio::time::advance(std::time::Duration::from_secs(10)).await;
    names(&shop, "github").await;
    until(|| !shop.engine.asking.is_running("github")).await;
    assert_eq!(shop.puppets.seen().len(), 2);
}

#[tokio::test]
async fn without_a_cache_every_list_is_asked_for_and_waited_for() {
    let shop = Workshop::open(
        "servers: {github: {command: gh}}\ncache: {enabled: false}\npolicy: {approval: off}\n",
    )
    .await;
    assert_eq!(names(&shop, "github").await.len(), 4);
    shop.puppets
        .list("github", Lists::Tools(vec![tool("only")]));
    assert_eq!(names(&shop, "github").await, ["only"]);
    assert_eq!(shop.puppets.seen().len(), 2);
}

#[tokio::test]
async fn one_bad_definition_costs_that_tool() {
    let shop = Workshop::open(SERVERS).await;
    let bad = json!({"name": "bad", "inputSchema": true});
    shop.puppets.list(
        "github",
        Lists::Tools(vec![tool("a"), bad, json!(1), tool("b"), tool("a")]),
    );
    assert_eq!(names(&shop, "github").await, ["a", "b"]);
    let snapshot = shop.engine.snapshot();
    let left_out: Vec<String> = snapshot
        .rack("github")
        .unwrap()
        .left_out()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(left_out.len(), 3, "{left_out:?}");
}

#[tokio::test]
async fn rules_and_lists_of_the_server_decide_what_is_enabled() {
    let yaml = "
servers:
  github: {command: gh, trusted: true, includeTools: ['*issue*', delete_repo], excludeTools: [delete_repo]}
toolRules: [{pattern: ['list_*'], tags: [reading]}]
policy:
  overrides: [{pattern: [createIssue], risk: destructive, timeoutMs: 5}]
";
    let shop = Workshop::open(yaml).await;
    let page = shop
        .engine
        .list_tools(&shop.local(), listing("github"))
        .await
        .unwrap();
    let found: Vec<_> = page
        .tools
        .iter()
        .map(|e| (e.tool.id.tool(), e.tool.enabled, e.rule.as_str()))
        .collect();
    assert_eq!(found[0].0, "list_issues");
    assert_eq!(page.tools[0].tool.tags, ["reading"]);
    assert!(found[0].1 && found[1].1);
    assert_eq!(
        (found[2].1, found[2].2),
        (false, "disabled: not among the server's `includeTools`")
    );
    assert_eq!(
        (found[3].1, found[3].2),
        (false, "disabled: left out by the server's `excludeTools`")
    );
    assert_eq!(page.tools[1].metadata.risk, Risk::Destructive);
    assert_eq!(page.tools[1].metadata.timeout_ms, Some(5));
}

/// Has the server `github` offer these tools, and be asked for them.
async fn offers_now(shop: &Workshop, tools: Vec<Value>) {
    shop.puppets.list("github", Lists::Tools(tools));
    let engine = &shop.engine;
    let supplier = Arc::clone(&engine.snapshot().rack("github").unwrap().supplier);
    let mut attempt = engine
        .ask(&supplier, crate::engine::upstream::Wish::Anew)
        .unwrap();
    while attempt.changed().await.is_ok() {}
}

async fn approve(shop: &Workshop, target: &Target) {
    let now_ms = shop.clock.now_ms();
    shop.store
        .settle_approvals(target, Verdict::Approve, "ann", now_ms)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_changed_definition_waits_for_a_person_and_is_used_once_approved() {
    let shop = Workshop::open(SERVERS).await;
    assert_eq!(names(&shop, "github").await.len(), 4);
    let mut changed = tool("createIssue");
    changed["description"] = "Does something else.".into();
    let tools = vec![tool("list_issues"), changed, tool("brand_new")];
    offers_now(&shop, tools).await;
    let engine = &shop.engine;
    assert_eq!(names(&shop, "github").await, ["list_issues"]);
    let snapshot = engine.snapshot();
    let entry = snapshot
        .rack("github")
        .unwrap()
        .find("create_issue")
        .unwrap();
    assert_eq!(entry.approval, Approval::Pending(Wait::Changed));
    assert!(entry.request.is_some());
    let error = refused(
        shop.run("github:createIssue", TITLE, CallOptions::default())
            .await,
    );
    assert_eq!(error.code, Code::ApprovalRequired);
    let error = engine
        .tool_details(&shop.local(), "github", "createIssue")
        .await
        .unwrap_err();
    assert_eq!(error.code, Code::ApprovalRequired);
    let servers = engine.list_servers(&shop.local()).await.unwrap();
    assert_eq!(servers.servers[0].pending_count, 2);
    let target = Target::Tool {
        server: "github".into(),
        tool: "createIssue".into(),
    };
    approve(&shop, &target).await;
    shop.run("github:createIssue", TITLE, CallOptions::default())
        .await
        .unwrap();
    assert_eq!(names(&shop, "github").await, ["list_issues", "createIssue"]);
}

#[tokio::test]
async fn a_permitted_call_sees_what_was_settled_when_it_is_journalled() {
    let shop = Workshop::open(SERVERS).await;
    assert_eq!(names(&shop, "github").await.len(), 4);
    offers_now(&shop, vec![tool("list_issues"), tool("brand_new")]).await;
    let engine = &shop.engine;
    let standing = || {
        let snapshot = engine.snapshot();
        let rack = snapshot.rack("github").unwrap();
        rack.find("brand_new").unwrap().approval
    };
    assert_eq!(standing(), Approval::Pending(Wait::New));
    let target = Target::Server("github".into());
    approve(&shop, &target).await;
    shop.run("github:list_issues", TITLE, CallOptions::default())
        .await
        .unwrap();
    assert_eq!(standing(), Approval::Approved);
    assert_eq!(shop.records().await.len(), 1);
}

#[tokio::test]
async fn a_tool_that_was_rejected_is_not_said_to_wait() {
    let shop = Workshop::open(SERVERS).await;
    assert_eq!(names(&shop, "github").await.len(), 4);
    offers_now(&shop, vec![tool("list_issues"), tool("brand_new")]).await;
    let told = async || {
        let local = shop.local();
        let details = shop.engine.tool_details(&local, "github", "brand_new");
        details.await.unwrap_err().message
    };
    assert!(told().await.contains("waits for approval"));
    let target = Target::Server("github".into());
    let now_ms = shop.clock.now_ms();
    let rejected = shop
        .store
        .settle_approvals(&target, Verdict::Reject, "ann", now_ms);
    assert_eq!(rejected.await.unwrap().len(), 1);
    assert_eq!(told().await, "This tool was rejected.");
}

#[tokio::test]
async fn with_approval_of_all_every_tool_waits() {
    let shop = Workshop::open(&format!("{SERVERS}policy: {{approval: all}}\n")).await;
    let page = shop
        .engine
        .list_tools(&shop.local(), listing("github"))
        .await
        .unwrap();
    assert_eq!((page.total, page.pending_count), (0, 4));
}

#[tokio::test]
async fn the_tools_of_a_server_from_the_registry_wait() {
    let config = SERVERS.replacen("command: gh", "command: gh, registry: com.example/gh", 1);
    assert_ne!(config, SERVERS);
    let shop = Workshop::open(&config).await;
    let page = shop
        .engine
        .list_tools(&shop.local(), listing("github"))
        .await
        .unwrap();
    assert_eq!((page.total, page.pending_count), (0, 4));
}

#[tokio::test]
async fn a_reload_puts_rules_in_place_without_asking_again() {
    let shop = Workshop::open(SERVERS).await;
    assert_eq!(names(&shop, "github").await.len(), 4);
    let held = shop.engine.snapshot();
    let config = shop.config(&format!(
        "{SERVERS}toolRules: [{{pattern: ['create*'], enabled: false, tags: [t]}}]\n"
    ));
    shop.engine.reload(config).await.unwrap();
    let now = shop.engine.snapshot();
    let enabled = |snapshot: &crate::engine::snapshot::Snapshot| {
        snapshot
            .rack("github")
            .unwrap()
            .find("createIssue")
            .unwrap()
            .tool
            .enabled
    };
    assert!(enabled(&held), "who holds a snapshot keeps it whole");
    assert!(!enabled(&now));
    assert!(now.number > held.number);
    assert_eq!(shop.puppets.seen().len(), 1);
    let back = shop.config(SERVERS);
    shop.engine.reload(back).await.unwrap();
    let snapshot = shop.engine.snapshot();
    let entry = snapshot
        .rack("github")
        .unwrap()
        .find("createIssue")
        .unwrap();
    assert!(entry.tool.enabled && entry.tool.tags.is_empty());
    names(&shop, "github").await;
    until(|| !shop.engine.asking.is_running("github")).await;
    assert_eq!(
        shop.puppets.seen().len(),
        2,
        "what was kept in memory is dropped"
    );
}

#[tokio::test]
async fn a_reload_that_cannot_be_used_changes_nothing() {
    let shop = Workshop::open(SERVERS).await;
    let before = shop.engine.snapshot().number;
    let mut broken = shop.config(SERVERS);
    let settings = &mut Arc::get_mut(&mut broken).unwrap().settings;
    settings.policy.overrides.push(Override {
        rate_limit_bucket: Some("none".into()),
        ..Override::default()
    });
    let error = shop.engine.reload(broken).await.unwrap_err();
    assert_eq!(error.code, Code::ConfigurationError);
    assert_eq!(shop.engine.snapshot().number, before);
}

#[tokio::test]
async fn a_reload_of_another_command_forgets_the_tools_of_the_old_one() {
    let shop = Workshop::open(SERVERS).await;
    names(&shop, "github").await;
    shop.puppets
        .list("github", Lists::Tools(vec![tool("other")]));
    let config = shop.config("servers: {github: {command: other}}\npolicy: {approval: off}\n");
    shop.engine.reload(config).await.unwrap();
    assert!(!shop.engine.snapshot().rack("github").unwrap().is_known());
    assert!(shop.engine.snapshot().rack("notes-v2").is_none());
    assert_eq!(names(&shop, "github").await, ["other"]);
}

#[tokio::test]
async fn a_server_that_is_switched_off_is_listed_and_refused() {
    let shop = Workshop::open("servers: {github: {command: gh, enabled: false}}\n").await;
    let servers = shop.engine.list_servers(&shop.local()).await.unwrap();
    assert!(!servers.servers[0].enabled);
    assert_eq!(servers.pending_servers, 0);
    let error = refused(
        shop.run("github:list_issues", TITLE, CallOptions::default())
            .await,
    );
    assert_eq!(error.code, Code::ToolDisabled);
    let search = Search {
        query: "issue".into(),
        ..Search::default()
    };
    let found = shop
        .engine
        .search_tools(&shop.local(), search)
        .await
        .unwrap();
    assert_eq!(found.pending_servers, 0);
    assert_eq!(shop.puppets.seen(), Vec::<String>::new());
}

#[tokio::test]
async fn a_server_that_says_its_tools_changed_is_asked_again_alone() {
    let shop = Workshop::open(&format!("{SERVERS}policy: {{approval: off}}\n")).await;
    shop.engine.start();
    names(&shop, "github").await;
    names(&shop, "notes-v2").await;
    let more: Vec<Value> = ["list_issues", "close_issue"].map(tool).to_vec();
    shop.puppets.list("github", Lists::Tools(more));
    shop.puppets.tell(Change::Tools("github".into()));
    while shop
        .engine
        .snapshot()
        .rack("github")
        .unwrap()
        .find("close_issue")
        .is_none()
    {
        tokio::task::yield_now().await;
    }
    let seen = shop.puppets.seen();
    assert_eq!(
        seen.iter().filter(|s| *s == "list notes-v2").count(),
        1,
        "{seen:?}"
    );
}
