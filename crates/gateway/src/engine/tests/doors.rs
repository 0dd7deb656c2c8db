//! What agents are told over servers that fail or hang.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolcrib_core::limits::{FULL_PAGE_TOOLS, FULL_WAIT_MS};
use toolcrib_core::policy::Caller;
use toolcrib_core::rpc;
use toolcrib_store::approval::{Target, Verdict};

use crate::engine::definition::raw;
use crate::engine::discovery::DiscoveryError;
use crate::engine::fixture::{Lists, SERVERS, Still, Workshop, keyed, tool, until};
use crate::mcp::client::Threshold;
use crate::mcp::discovery::Discovery;
use crate::mcp::flat::Flat;
use crate::mcp::full::Full;
use crate::mcp::outlet::Nowhere;
use crate::mcp::pinned::Pinned;
use crate::mcp::rounds::Road;
use crate::mcp::service::Outcome;
use crate::mcp::{Change, Client, Context, Revision, Surface};

fn context(caller: Caller) -> Context {
    let (road, _) = Road::new(Arc::new(Nowhere));
    Context {
        caller: Arc::new(caller),
        client: Client::new(
            Arc::default(),
            Arc::default(),
            Arc::new(Threshold::all()),
            true,
            road,
        ),
        revision: Revision::LAST_WITH_HANDSHAKE,
        cancel: CancellationToken::new(),
        progress: None,
        trace: None,
        session: None,
    }
}

async fn ask(surface: &dyn Surface, caller: Caller, method: &str, params: Value) -> Outcome {
    let context = context(caller);
    surface.handle(method, Some(&raw(&params)), &context).await
}

/// What one of the five tools says.
async fn said(five: &dyn Surface, caller: Caller, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    let result = ask(five, caller, "tools/call", params).await.unwrap();
    let result: Value = serde_json::from_str(result.get()).unwrap();
    serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap()
}

fn names(listed: &Outcome) -> Vec<String> {
    let listed: Value = serde_json::from_str(listed.as_ref().unwrap().get()).unwrap();
    let tools = listed["tools"].as_array().unwrap();
    let names = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned());
    names.collect()
}

fn dead(shop: &Workshop, server: &str) {
    let failure = DiscoveryError::ConnectionFailed("gone".into());
    shop.puppets.list(server, Lists::Fails(failure));
}

#[tokio::test]
async fn a_dead_server_does_not_make_a_search_claim_absence() {
    let shop = Workshop::open(SERVERS).await;
    dead(&shop, "notes-v2");
    let five = Discovery::new(Arc::clone(&shop.engine));
    let wish = json!({"query": "xylophone"});
    let found = said(&*five, shop.local(), "search_tools", wish.clone()).await;
    assert_eq!(
        found,
        json!({"results": [], "total": 0, "failed_servers": 1})
    );
    let mut there = wish;
    there["server"] = json!("notes-v2");
    let found = said(&*five, shop.local(), "search_tools", there).await;
    let listed = json!({"server": "notes-v2"});
    let listed = said(&*five, shop.local(), "list_tools", listed).await;
    assert_eq!(found["error"]["code"], "SERVER_CONNECTION_ERROR", "{found}");
    assert_eq!(found, listed);
}

#[tokio::test]
async fn the_digest_names_servers_until_all_tools_are_known() {
    let shop = Workshop::open(SERVERS).await;
    let five = Discovery::new(Arc::clone(&shop.engine));
    let told = |five: &Discovery, caller: &Caller| {
        let tools = five.tools(caller);
        let text = tools[1]["description"].as_str().unwrap();
        text.split_once(". ").map(|(_, line)| line.to_owned())
    };
    let names = Some("2 servers: github, notes-v2".to_owned());
    assert_eq!(told(&five, &shop.local()), names);
    dead(&shop, "notes-v2");
    said(
        &*five,
        shop.local(),
        "search_tools",
        json!({"query": "issue"}),
    )
    .await;
    assert_eq!(told(&five, &shop.local()), names, "one is still unknown");
    shop.puppets
        .list("notes-v2", Lists::Tools(vec![tool("add_note")]));
    shop.engine.asking.forgive();
    let wish = json!({"query": "note"});
    said(&*five, shop.local(), "search_tools", wish).await;
    let line = told(&five, &shop.local()).unwrap();
    assert!(line.starts_with("5 tools on 2 servers"), "{line}");
    let line = told(&five, &keyed(&["notes-v2:*"])).unwrap();
    assert!(line.starts_with("1 tool on 1 server"), "{line}");
}

#[tokio::test(start_paused = true)]
async fn in_full_mode_a_server_that_hangs_delays_no_call_and_a_list_only_a_little() {
    let _still = Still::new();
    let shop = Workshop::open(SERVERS).await;
    shop.puppets.list("notes-v2", Lists::Hangs);
    let full = Arc::new(Full::new(Arc::clone(&shop.engine)));
    let mut changes = full.changes(&shop.local());
    let (asked, caller) = (Arc::clone(&full), shop.local());
    let running = tokio::spawn(async move {
        let params = json!({"name": "github__list_issues", "arguments": {"title": "x"}});
        ask(&*asked, caller, "tools/call", params).await
    });
    until(|| running.is_finished()).await;
    assert!(running.await.unwrap().is_ok());
    assert_eq!(
        shop.puppets.seen(),
        ["list github", r#"call github:list_issues {"title":"x"}"#],
        "nobody else is asked"
    );
    let (asked, caller) = (Arc::clone(&full), shop.local());
    let listed = tokio::spawn(async move { ask(&*asked, caller, "tools/list", json!({})).await });
    until(|| shop.puppets.seen().contains(&"list notes-v2".to_owned())).await;
    tokio::time::advance(Duration::from_millis(FULL_WAIT_MS)).await;
    let listed = listed.await.unwrap();
    assert_eq!(names(&listed).len(), 4);
    // One that was waited for in vain is not waited for with every list.
    let before = tokio::time::Instant::now();
    let listed = ask(&*full, shop.local(), "tools/list", json!({})).await;
    assert_eq!(names(&listed).len(), 4);
    assert_eq!(before.elapsed(), Duration::ZERO);
    assert!(changes.try_recv().is_err());
}

#[tokio::test]
async fn in_full_mode_a_page_goes_on_behind_the_tool_before_wherever_that_stands_by_now() {
    let tools = |count: usize| {
        let all = (0..count).map(|n| tool(&format!("list_{n:04}")));
        Lists::Tools(all.collect())
    };
    let shop = Workshop::open(SERVERS).await;
    shop.puppets.list("github", tools(FULL_PAGE_TOOLS));
    shop.puppets.list("notes-v2", tools(2));
    let full = Full::new(Arc::clone(&shop.engine));
    let first = ask(&full, shop.local(), "tools/list", json!({})).await;
    let page: Value = serde_json::from_str(first.as_ref().unwrap().get()).unwrap();
    let cursor = page["nextCursor"].as_str().unwrap().to_owned();
    // A tool of the first page is gone; a number would now skip one of the second.
    shop.puppets.list(
        "github",
        Lists::Tools(
            (1..FULL_PAGE_TOOLS)
                .map(|n| tool(&format!("list_{n:04}")))
                .collect(),
        ),
    );
    shop.engine.relist("github").await;
    let second = ask(&full, shop.local(), "tools/list", json!({"cursor": cursor})).await;
    assert_eq!(names(&second).len(), 2);
    for cursor in [json!("7"), json!(7), json!("")] {
        let wrong = ask(&full, shop.local(), "tools/list", json!({"cursor": cursor})).await;
        assert_eq!(wrong.unwrap_err().code, rpc::INVALID_PARAMS);
    }
    let first = ask(&full, shop.local(), "tools/list", json!({"cursor": null})).await;
    assert!(first.is_ok());
}

#[tokio::test]
async fn in_full_mode_and_beside_the_five_other_tools_of_a_server_are_told_of_and_the_same_are_not()
{
    let yaml = format!("{SERVERS}\nsurface: ['notes-v2:list_new']\n");
    let shop = Workshop::open(&yaml).await;
    let full = Full::new(Arc::clone(&shop.engine));
    let five = Discovery::new(Arc::clone(&shop.engine));
    let pinned = Pinned::beside(five, Arc::clone(&shop.engine));
    for surface in [&full as &dyn Surface, &*pinned] {
        ask(surface, shop.local(), "tools/list", json!({}))
            .await
            .unwrap();
    }
    let (mut all, mut pins) = (full.changes(&shop.local()), pinned.changes(&shop.local()));
    shop.engine.relist("notes-v2").await;
    shop.puppets
        .list("notes-v2", Lists::Tools(vec![tool("list_new")]));
    shop.engine.relist("notes-v2").await;
    assert_eq!(all.recv().await.unwrap(), Change::Tools);
    assert_eq!(pins.recv().await.unwrap(), Change::Tools);
    let restocks = shop.engine.restocks();
    shop.engine.relist("notes-v2").await;
    assert!(
        !restocks.has_changed().unwrap(),
        "the same tools are no news"
    );
    assert!(all.try_recv().is_err() && pins.try_recv().is_err());
}

#[tokio::test]
async fn passed_through_tools_that_a_person_accepts_are_told_of_and_what_a_list_waits_for_is_not() {
    let yaml = "servers: {github: {command: gh}}\npolicy: {approval: all}\n";
    let shop = Workshop::open(yaml).await;
    let flat = Flat::new(Arc::clone(&shop.engine));
    let mut changes = flat.changes(&shop.local());
    let listed = ask(&flat, shop.local(), "tools/list", json!({})).await;
    assert_eq!(names(&listed), Vec::<String>::new(), "all of them wait");
    let accepted = Target::Server("github".into());
    let now_ms = shop.clock.now_ms();
    shop.store
        .settle_approvals(&accepted, Verdict::Approve, "ann", now_ms)
        .await
        .unwrap();
    assert!(changes.try_recv().is_err());
    shop.engine.see_settlements().await;
    let told = tokio::time::timeout(Duration::from_secs(10), changes.recv()).await;
    assert_eq!(told.expect("it is told").unwrap(), Change::Tools);
    let listed = ask(&flat, shop.local(), "tools/list", json!({})).await;
    assert_eq!(names(&listed).len(), 4);
    let off = format!("{yaml}toolRules: [{{pattern: [delete_repo], enabled: false}}]\n");
    shop.engine.reload(shop.config(&off)).await.unwrap();
    let told = tokio::time::timeout(Duration::from_secs(10), changes.recv()).await;
    assert_eq!(told.expect("it is told").unwrap(), Change::Tools);
}

#[tokio::test(start_paused = true)]
async fn in_full_mode_a_server_that_comes_late_is_told_of() {
    let _still = Still::new();
    let shop = Workshop::open(SERVERS).await;
    shop.puppets.list("notes-v2", Lists::Late(2 * FULL_WAIT_MS));
    let full = Arc::new(Full::new(Arc::clone(&shop.engine)));
    let mut changes = full.changes(&shop.local());
    let (asked, caller) = (Arc::clone(&full), shop.local());
    let listed = tokio::spawn(async move { ask(&*asked, caller, "tools/list", json!({})).await });
    let known = || {
        let snapshot = shop.engine.snapshot();
        snapshot.rack("github").is_some_and(|rack| rack.is_known())
    };
    until(|| known() && shop.puppets.seen().len() == 2).await;
    tokio::time::advance(Duration::from_millis(FULL_WAIT_MS)).await;
    assert_eq!(names(&listed.await.unwrap()).len(), 4);
    tokio::time::advance(Duration::from_millis(FULL_WAIT_MS)).await;
    assert_eq!(changes.recv().await.unwrap(), Change::Tools);
    let listed = ask(&*full, shop.local(), "tools/list", json!({})).await;
    assert_eq!(names(&listed).len(), 5);
}

#[tokio::test]
async fn in_full_mode_a_name_with_a_hash_is_found_without_a_list_before() {
    let yaml = "servers: {'a b': {command: x}, other: {command: y}}";
    let shop = Workshop::open(yaml).await;
    shop.puppets
        .list("a b", Lists::Tools(vec![tool("list_go")]));
    let full = Full::new(Arc::clone(&shop.engine));
    let name = crate::mcp::full::name("a b", "list_go");
    let params = json!({"name": name, "arguments": {"title": "x"}});
    ask(&full, shop.local(), "tools/call", params)
        .await
        .unwrap();
    let expected = ["list a b", r#"call a b:list_go {"title":"x"}"#];
    assert_eq!(shop.puppets.seen(), expected);
}

#[tokio::test]
async fn a_name_that_is_not_there_gives_the_nearest_tools_with_their_signatures() {
    let yaml = format!("{SERVERS}\nsurface: ['github:createIssues']\n");
    let shop = Workshop::open(&yaml).await;
    let full = Full::new(Arc::clone(&shop.engine));
    ask(&full, shop.local(), "tools/list", json!({}))
        .await
        .unwrap();
    for wanted in ["github__createIsue", "gitlab__create_issue", "create_issue"] {
        let params = json!({"name": wanted, "arguments": {}});
        let fault = ask(&full, shop.local(), "tools/call", params).await;
        let fault = fault.unwrap_err();
        assert_eq!(fault.code, rpc::INVALID_PARAMS, "{wanted}");
        let signature = "github__createIssue(title: string)";
        assert!(fault.message.contains(signature), "{}", fault.message);
        let data: Value = serde_json::from_str(fault.data.unwrap().get()).unwrap();
        assert_eq!(
            data["nearest"][0],
            json!({"name": "github__createIssue", "signature": signature}),
            "{wanted}"
        );
    }
    let five = Discovery::new(Arc::clone(&shop.engine));
    let pinned = Pinned::beside(five, Arc::clone(&shop.engine));
    let params = json!({"name": "github__createIssues", "arguments": {}});
    let fault = ask(&*pinned, shop.local(), "tools/call", params).await;
    let fault = fault.unwrap_err();
    let signature = "github:createIssue(title: string)";
    assert!(fault.message.contains(signature), "{}", fault.message);
}

#[tokio::test]
async fn passed_through_a_name_that_is_not_there_gives_the_nearest_tools_under_their_own_names() {
    let shop = Workshop::open("servers: {github: {command: gh}}").await;
    let flat = Flat::new(Arc::clone(&shop.engine));
    let params = json!({"name": "createIsue", "arguments": {}});
    let fault = ask(&flat, shop.local(), "tools/call", params).await;
    let fault = fault.unwrap_err();
    assert_eq!(fault.code, rpc::INVALID_PARAMS);
    let signature = "createIssue(title: string)";
    assert!(fault.message.contains(signature), "{}", fault.message);
    assert!(!fault.message.contains("github"), "{}", fault.message);
    let data: Value = serde_json::from_str(fault.data.unwrap().get()).unwrap();
    let nearest = json!({"name": "createIssue", "signature": signature});
    assert_eq!(data["nearest"][0], nearest);
}

#[tokio::test]
async fn advice_after_a_refused_call_names_the_place_where_this_surface_takes_options() {
    let yaml = "servers: {github: {command: gh}}\nsurface: ['github:delete_repo']\n";
    let shop = Workshop::open(yaml).await;
    let five = Discovery::new(Arc::clone(&shop.engine));
    let arguments = json!({"title": "x"});
    let call = json!({"server": "github", "tool": "delete_repo", "arguments": arguments});
    let told = said(&*five, shop.local(), "execute_tool", call).await;
    let advice = told["error"]["suggestion"].as_str().unwrap();
    assert!(advice.contains("confirmed: true to proceed"), "{advice}");
    let pinned = Pinned::beside(five, Arc::clone(&shop.engine));
    let full = Full::new(Arc::clone(&shop.engine));
    let flat = Flat::new(Arc::clone(&shop.engine));
    let surfaces = [
        (&*pinned as &dyn Surface, "github__delete_repo"),
        (&full, "github__delete_repo"),
        (&flat, "delete_repo"),
    ];
    for (surface, name) in surfaces {
        let told = said(surface, shop.local(), name, arguments.clone()).await;
        let advice = told["error"]["suggestion"].as_str().unwrap();
        let place = "in `toolcrib/options` of `_meta`";
        for part in ["Add confirmed: true", "Provide idempotency_key"] {
            assert!(advice.contains(&format!("{part} {place}")), "{advice}");
        }
        let options = json!({"toolcrib/options": {"confirmed": true, "idempotency_key": name}});
        let call = json!({"name": name, "arguments": arguments, "_meta": options});
        let done = ask(surface, shop.local(), "tools/call", call).await;
        assert!(done.unwrap().get().contains("done"), "as it was advised");
    }
}

#[tokio::test]
async fn what_is_called_beside_the_five_is_told_with_how_it_is_run() {
    let shop = Workshop::open(SERVERS).await;
    let five = Discovery::new(Arc::clone(&shop.engine));
    let wish = json!({"query": "issue"});
    said(&*five, shop.local(), "search_tools", wish).await;
    for wanted in ["create_issue", "github__createIssue", "github:createIssue"] {
        let params = json!({"name": wanted, "arguments": {"title": "x"}});
        let fault = ask(&*five, shop.local(), "tools/call", params.clone()).await;
        let fault = fault.unwrap_err();
        assert_eq!(fault.code, rpc::METHOD_NOT_FOUND);
        let how = "execute_tool runs createIssue(title: string) of the server github";
        assert!(fault.message.contains(how), "{}", fault.message);
        let data: Value = serde_json::from_str(fault.data.unwrap().get()).unwrap();
        assert_eq!(data["nearest"][0]["tool"], "createIssue", "{wanted}");
        let stranger = ask(&*five, keyed(&["notes-v2:*"]), "tools/call", params).await;
        let stranger = stranger.unwrap_err();
        assert!(!stranger.message.contains("createIssue(title"));
    }
    assert_eq!(
        shop.calls(),
        Vec::<String>::new(),
        "nothing is run by a guess"
    );
}

#[tokio::test]
async fn parameters_in_headers_are_named_in_every_mode_that_lists_the_tool() {
    let yaml = format!("{SERVERS}\nsurface: ['github:place']\n");
    let shop = Workshop::open(&yaml).await;
    let place = json!({"name": "place", "inputSchema": {"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"}, "other": {"type": "string"}}}});
    shop.puppets.list("github", Lists::Tools(vec![place]));
    let full = Full::new(Arc::clone(&shop.engine));
    ask(&full, shop.local(), "tools/list", json!({}))
        .await
        .unwrap();
    let five = Discovery::new(Arc::clone(&shop.engine));
    let pinned = Pinned::beside(five, Arc::clone(&shop.engine));
    let expected = [("region".to_owned(), "Region".to_owned())];
    assert_eq!(full.mirrored(&shop.local(), "github__place"), expected);
    assert_eq!(pinned.mirrored(&shop.local(), "github__place"), expected);
    for surface in [&full as &dyn Surface, &*pinned] {
        assert!(surface.mirrored(&shop.local(), "search_tools").is_empty());
        let stranger = keyed(&["notes-v2:*"]);
        assert!(surface.mirrored(&stranger, "github__place").is_empty());
    }
}
