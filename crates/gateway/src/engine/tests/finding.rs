//! Servers, search, lists and details.

use std::time::Duration;

use toolcrib_core::Code;
use toolcrib_core::policy::{Caller, PolicySettings};

use crate::engine::ask::{CallOptions, Listing, Search};
use crate::engine::discovery::DiscoveryError;
use crate::engine::fixture::{Lists, SERVERS, Still, Workshop, key, keyed, tool, until};
use crate::engine::upstream::Health;

fn search(query: &str) -> Search {
    Search {
        query: query.into(),
        ..Search::default()
    }
}

fn listing(server: &str) -> Listing {
    Listing {
        server: server.into(),
        ..Listing::default()
    }
}

#[tokio::test]
async fn a_key_learns_of_no_server_that_none_of_its_scopes_can_open() {
    let shop = Workshop::open(SERVERS).await;
    let agent = keyed(&["notes-v2:read"]);
    let servers = shop.engine.list_servers(&agent).await.unwrap();
    let names: Vec<_> = servers.servers.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["notes-v2"], "before any tools are known");
    assert_eq!(servers.pending_servers, 1);
    let refused = shop.engine.list_tools(&agent, listing("github")).await;
    let refused = refused.expect_err("it is not there");
    assert_eq!(refused.code, Code::ServerNotFound);
    assert_eq!(refused.more.available.unwrap().names, ["notes-v2"]);
    assert_eq!(
        shop.puppets.seen(),
        Vec::<String>::new(),
        "and none is asked"
    );
}

#[tokio::test]
async fn a_search_neither_asks_nor_counts_servers_that_no_scope_of_its_caller_can_open() {
    let shop = Workshop::open(SERVERS).await;
    let failure = DiscoveryError::ConnectionFailed("away".into());
    shop.puppets.list("github", Lists::Fails(failure));
    let matching = Search {
        pattern: Some("*issue*".into()),
        ..Search::default()
    };
    let (reader, stranger) = (keyed(&["notes-v2:read"]), keyed(&["calendar:read"]));
    for (agent, asked) in [(&stranger, &[][..]), (&reader, &["list notes-v2"])] {
        for search in [search("create an issue"), matching.clone()] {
            let found = shop.engine.search_tools(agent, search).await.unwrap();
            assert_eq!((found.pending_servers, found.failed_servers), (0, 0));
            assert_eq!(shop.puppets.seen(), asked);
        }
    }
    let search = search("create an issue");
    let found = shop.engine.search_tools(&shop.local(), search).await;
    assert_eq!(found.unwrap().failed_servers, 1, "who may know is told");
}

#[tokio::test]
async fn details_that_somebody_else_looked_at_tell_nobody_that_their_server_is_there() {
    let shop = Workshop::open(SERVERS).await;
    let engine = &shop.engine;
    let person = shop.local();
    let seen = engine.tool_details(&person, "github", "createIssue");
    seen.await.unwrap();
    let stranger = keyed(&["calendar:read"]);
    for tool in ["createIssue", "none"] {
        let refused = engine.tool_details(&stranger, "github", tool).await;
        assert_eq!(refused.unwrap_err().code, Code::ServerNotFound, "{tool}");
    }
}

#[tokio::test]
async fn nothing_is_connected_until_it_is_needed() {
    let shop = Workshop::open(SERVERS).await;
    let servers = shop.engine.list_servers(&shop.local()).await.unwrap();
    assert_eq!(shop.puppets.seen(), Vec::<String>::new());
    let names: Vec<_> = servers.servers.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["github", "notes-v2"]);
    assert_eq!(servers.pending_servers, 2);
    assert!(!servers.servers[0].known);
    assert_eq!(servers.servers[0].standing.health, Health::Disconnected);
    shop.engine
        .search_tools(&shop.local(), search("create an issue"))
        .await
        .unwrap();
    let mut seen = shop.puppets.seen();
    seen.sort();
    assert_eq!(seen, ["list github", "list notes-v2"]);
    let servers = shop.engine.list_servers(&shop.local()).await.unwrap();
    let row = &servers.servers[0];
    assert_eq!((row.tool_count, row.enabled_count, row.known), (4, 4, true));
    assert_eq!(servers.pending_servers, 0);
}

#[tokio::test]
async fn a_search_finds_across_servers_and_says_how_sure_it_is() {
    let shop = Workshop::open(SERVERS).await;
    let found = shop
        .engine
        .search_tools(&shop.local(), search("create an issue"))
        .await
        .unwrap();
    assert_eq!(
        found.hits[0].entry.tool.id.to_string(),
        "github:createIssue"
    );
    assert_eq!((found.pending_servers, found.failed_servers), (0, 0));
    assert!(found.total >= found.hits.len());
    assert!(found.hits[0].why.is_empty());
    let asked = Search {
        explain: true,
        limit: Some(1),
        ..search("create an issue")
    };
    let found = shop
        .engine
        .search_tools(&shop.local(), asked)
        .await
        .unwrap();
    assert_eq!(found.hits.len(), 1);
    assert!(!found.hits[0].why.is_empty());
    assert!(
        found.alternatives.len() > 1,
        "the choice is not cut by the limit"
    );
}

#[tokio::test]
async fn an_id_in_any_spelling_is_an_exact_hit() {
    let shop = Workshop::open(SERVERS).await;
    for query in [
        "github:createIssue",
        "github:create-issue",
        "GitHub:create_issue",
        "notes:add-note",
    ] {
        let found = shop
            .engine
            .search_tools(&shop.local(), search(query))
            .await
            .unwrap();
        assert!((found.confidence - 1.0).abs() < f32::EPSILON, "{query}");
        assert!(!found.needs_selection, "{query}");
        let id = found.hits[0].entry.tool.id.to_string();
        assert!(
            ["github:createIssue", "notes-v2:add_note"].contains(&id.as_str()),
            "{query}"
        );
    }
}

#[tokio::test]
async fn a_pattern_restricts_a_search_and_stands_alone() {
    let shop = Workshop::open(SERVERS).await;
    let by = |query: &str, pattern: &str| Search {
        pattern: Some(pattern.into()),
        ..search(query)
    };
    let found = shop
        .engine
        .search_tools(&shop.local(), by("", "*issue*"))
        .await
        .unwrap();
    let ids: Vec<_> = found
        .hits
        .iter()
        .map(|h| h.entry.tool.id.tool().to_owned())
        .collect();
    assert_eq!(ids, ["list_issues", "createIssue"]);
    assert_eq!(found.total, 2);
    let found = shop
        .engine
        .search_tools(&shop.local(), by("issue", "/^list/"))
        .await
        .unwrap();
    assert_eq!(found.hits.len(), 1);
    for wrong in [by("x", "/(/"), by(" ", "/(/")] {
        let error = shop
            .engine
            .search_tools(&shop.local(), wrong)
            .await
            .unwrap_err();
        assert_eq!(error.code, Code::ValidationError);
    }
    let error = shop
        .engine
        .search_tools(&shop.local(), search("  "))
        .await
        .unwrap_err();
    assert_eq!(error.code, Code::ValidationError);
}

#[tokio::test(start_paused = true)]
async fn a_search_waits_two_seconds_for_a_server_and_then_says_what_is_pending() {
    let _still = Still::new();
    let shop = Workshop::open(SERVERS).await;
    shop.puppets.list("notes-v2", Lists::Hangs);
    let (engine, local) = (shop.engine.clone(), shop.local());
    let asked = tokio::spawn(async move {
        let found = engine.search_tools(&local, search("create an issue"));
        found.await.unwrap()
    });
    until(|| shop.puppets.seen().len() == 2 && !shop.engine.asking.is_running("github")).await;
    tokio::time::advance(Duration::from_millis(1_999)).await;
    tokio::task::yield_now().await;
    assert!(!asked.is_finished());
    tokio::time::advance(Duration::from_millis(1)).await;
    let found = asked.await.unwrap();
    assert_eq!((found.pending_servers, found.failed_servers), (1, 0));
    assert_eq!(found.hits[0].entry.tool.id.tool(), "createIssue");
    assert_eq!(shop.puppets.seen().len(), 2, "the first attempt goes on");
}

#[tokio::test]
async fn a_server_that_fails_holds_up_nobody_and_is_said_to() {
    let shop = Workshop::open(SERVERS).await;
    let secret = "ghp_0123456789abcdefghij in /home/ada";
    let failure = DiscoveryError::ConnectionFailed(secret.into());
    shop.puppets.list("notes-v2", Lists::Fails(failure));
    let found = shop
        .engine
        .search_tools(&shop.local(), search("create an issue"))
        .await
        .unwrap();
    assert_eq!((found.pending_servers, found.failed_servers), (0, 1));
    assert_eq!(found.hits[0].entry.tool.id.tool(), "createIssue");
    let servers = shop.engine.list_servers(&shop.local()).await.unwrap();
    assert_eq!(servers.servers[1].standing.health, Health::Error);
    assert_eq!((servers.pending_servers, servers.failed_servers), (0, 1));
    assert!(
        servers.servers[1].standing.reason.is_some(),
        "the person here may know"
    );
    let agent = keyed(&["*"]);
    let servers = shop.engine.list_servers(&agent).await.unwrap();
    assert_eq!(servers.servers[1].standing.health, Health::Error);
    assert_eq!(servers.servers[1].standing.reason, None);
    let error = shop
        .engine
        .list_tools(&agent, listing("notes-v2"))
        .await
        .unwrap_err();
    assert_eq!(error.code, Code::ServerConnectionError);
    assert!(
        !error.message.contains("home") && !error.message.contains("ghp_"),
        "{error}"
    );
    let before = shop.puppets.seen().len();
    shop.engine
        .search_tools(&shop.local(), search("x"))
        .await
        .unwrap();
    assert_eq!(
        shop.puppets.seen().len(),
        before,
        "it is left alone for a while"
    );
}

#[tokio::test]
async fn a_list_is_paged_and_counts_what_it_does_not_show() {
    let yaml = format!(
        "{SERVERS}toolRules: [{{pattern: ['*'], enabled: true}}, {{pattern: ['delete*'], enabled: false}}]\n"
    );
    let shop = Workshop::open(&yaml).await;
    let mut ask = Listing {
        limit: Some(2),
        ..listing("github")
    };
    let page = shop
        .engine
        .list_tools(&shop.local(), ask.clone())
        .await
        .unwrap();
    let names = |page: &crate::engine::answer::ToolPage| -> Vec<String> {
        page.tools
            .iter()
            .map(|e| e.tool.id.tool().to_owned())
            .collect()
    };
    assert_eq!(names(&page), ["list_issues", "createIssue"]);
    assert_eq!(
        (page.total, page.enabled_count, page.disabled_count),
        (3, 3, 1)
    );
    assert!(!page.stale);
    ask.cursor = page.next_cursor;
    ask.include_disabled = true;
    let page = shop
        .engine
        .list_tools(&shop.local(), ask.clone())
        .await
        .unwrap();
    assert_eq!(names(&page), ["send_mail", "delete_repo"]);
    assert_eq!((page.total, page.next_cursor), (4, None));
    assert!(!page.tools[1].tool.enabled);
    ask.cursor = Some("gone".into());
    let error = shop
        .engine
        .list_tools(&shop.local(), ask)
        .await
        .unwrap_err();
    assert_eq!(error.code, Code::ValidationError);
}

#[tokio::test]
async fn details_keep_the_definition_as_it_was_sent() {
    let shop = Workshop::open(SERVERS).await;
    for spelling in ["createIssue", "create_issue", "create-issue", "createissue"] {
        let details = shop
            .engine
            .tool_details(&shop.local(), "github", spelling)
            .await
            .unwrap();
        assert_eq!(
            details.entry.definition.get(),
            tool("createIssue").to_string()
        );
        assert_eq!(details.entry.canonical, "create-issue");
    }
    assert_eq!(
        shop.puppets.seen(),
        ["list github"],
        "one server, asked once"
    );
}

#[tokio::test]
async fn what_is_not_there_is_said_with_what_is() {
    let shop = Workshop::open(SERVERS).await;
    let error = shop
        .engine
        .tool_details(&shop.local(), "github", "create_isue")
        .await
        .unwrap_err();
    assert_eq!(error.code, Code::ToolNotFound);
    assert_eq!(error.message, "Tool not found: github:create_isue");
    assert_eq!(error.more.nearest[0].tool.id.tool(), "createIssue");
    let available = error.more.available.unwrap();
    assert_eq!((available.names.len(), available.total), (4, 4));
    let error = shop
        .engine
        .tool_details(&shop.local(), "githb", "x")
        .await
        .unwrap_err();
    assert_eq!(error.code, Code::ServerNotFound);
    assert_eq!(error.suggestion.as_deref(), Some("Did you mean github?"));
    assert_eq!(error.more.available.unwrap().total, 2);
}

#[tokio::test]
async fn what_a_callers_scopes_forbid_is_not_there() {
    let shop = Workshop::open(SERVERS).await;
    shop.engine
        .search_tools(&shop.local(), search("warm up"))
        .await
        .unwrap();
    let reader = keyed(&["github:read"]);
    let page = shop
        .engine
        .list_tools(&reader, listing("github"))
        .await
        .unwrap();
    assert_eq!(
        (page.total, page.disabled_count, page.pending_count),
        (1, 0, 0)
    );
    let found = shop
        .engine
        .search_tools(&reader, search("create an issue or delete a repo"))
        .await
        .unwrap();
    assert!(
        found
            .hits
            .iter()
            .all(|h| h.entry.tool.id.tool() == "list_issues")
    );
    let hidden = shop
        .engine
        .tool_details(&reader, "github", "createIssue")
        .await
        .unwrap_err();
    let absent = shop
        .engine
        .tool_details(&reader, "github", "createIssuf")
        .await
        .unwrap_err();
    assert_eq!(hidden.code, absent.code);
    assert_eq!(hidden.more.available, absent.more.available);
    let servers = shop.engine.list_servers(&reader).await.unwrap();
    assert_eq!(
        servers.servers.len(),
        1,
        "a server all of whose tools are hidden is hidden too"
    );
    let error = shop
        .engine
        .list_tools(&reader, listing("notes-v2"))
        .await
        .unwrap_err();
    assert_eq!(error.code, Code::ServerNotFound);
    let nobody = Caller::anonymous(&PolicySettings::default());
    assert!(
        shop.engine
            .list_servers(&nobody)
            .await
            .unwrap()
            .servers
            .is_empty()
    );
    let found = shop
        .engine
        .search_tools(&nobody, search("issue"))
        .await
        .unwrap();
    assert_eq!((found.hits.len(), found.total), (0, 0));
}

#[tokio::test]
async fn switched_off_means_that_every_question_is_told_so_and_nothing_connects() {
    let shop = Workshop::open(&format!("{SERVERS}enabled: false\n")).await;
    let local = shop.local();
    let errors = [
        shop.engine.list_servers(&local).await.unwrap_err(),
        shop.engine
            .search_tools(&local, search("x"))
            .await
            .unwrap_err(),
        shop.engine
            .list_tools(&local, listing("github"))
            .await
            .unwrap_err(),
        shop.engine
            .tool_details(&local, "github", "x")
            .await
            .unwrap_err(),
        shop.run("github:list_issues", "{}", CallOptions::default())
            .await
            .unwrap_err(),
    ];
    for error in errors {
        assert!(error.message.contains("switched off"), "{error}");
    }
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(shop.puppets.seen(), Vec::<String>::new());
    assert_eq!(
        shop.records().await.len(),
        1,
        "the execution is recorded all the same"
    );
}

#[tokio::test]
async fn what_was_run_after_a_search_is_lifted_for_its_caller_only_where_that_is_wanted() {
    for learn in [true, false] {
        let yaml = format!("{SERVERS}search: {{learn: {learn}}}\n");
        let shop = Workshop::open(&yaml).await;
        let caller = shop.local();
        let look = async |caller: &Caller| {
            let wish = Search {
                limit: Some(10),
                explain: true,
                ..search("issue")
            };
            shop.engine.search_tools(caller, wish).await.unwrap().hits
        };
        let plain = look(&caller).await;
        let second = &plain[1].entry.tool;
        for n in 0..4 {
            let (id, title) = (second.id.to_string(), r#"{"title": "x"}"#);
            shop.run(&id, title, key(&n.to_string())).await.unwrap();
            look(&caller).await;
        }
        shop.engine.tasks.close();
        shop.engine.tasks.wait().await;
        let after = look(&caller).await;
        let found = after.iter().find(|hit| hit.entry.tool.id == second.id);
        let said = found.unwrap().why.join("; ");
        assert_eq!(
            said.contains("you ran it after a like query"),
            learn,
            "{said}"
        );
        let again = look(&caller).await;
        let ids = |hits: &[crate::engine::answer::Hit]| -> Vec<(String, f32)> {
            let told = hits
                .iter()
                .map(|hit| (hit.entry.tool.id.to_string(), hit.relevance));
            told.collect()
        };
        assert_eq!(
            ids(&after),
            ids(&again),
            "the same state gives the same answer"
        );
        let other = Caller::loopback(&PolicySettings::default());
        assert_eq!(
            ids(&look(&other).await),
            ids(&plain),
            "{learn}: others see nothing of it"
        );
        shop.engine.store().forget_learned().await.unwrap();
        assert_eq!(ids(&look(&caller).await), ids(&plain), "{learn}: forgotten");
    }
}

#[tokio::test]
async fn disabled_tools_are_found_only_when_asked_for() {
    let rules = "toolRules: [{pattern: ['delete_*'], enabled: false}]\n";
    let shop = Workshop::open(&format!("{SERVERS}{rules}")).await;
    for include_disabled in [false, true] {
        let wish = Search {
            include_disabled,
            ..search("delete repo")
        };
        let found = shop.engine.search_tools(&shop.local(), wish).await.unwrap();
        let mut names = found.hits.iter().map(|hit| hit.entry.tool.id.tool());
        assert_eq!(names.any(|name| name == "delete_repo"), include_disabled);
    }
}

#[tokio::test]
async fn a_server_that_is_there_and_does_not_say_its_tools_is_not_connected_without_a_reason() {
    let shop = Workshop::open(SERVERS).await;
    let options = CallOptions::default();
    let call = shop.run("github:list_issues", r#"{"title": "x"}"#, options);
    call.await.unwrap();
    let standing = async || {
        let servers = shop.engine.list_servers(&shop.local()).await.unwrap();
        servers.servers[0].standing.clone()
    };
    assert_eq!(standing().await.since(), None);
    let failure = DiscoveryError::ToolsListFailed("no list today".into());
    shop.puppets.list("github", Lists::Fails(failure));
    shop.engine.relist("github").await;
    let standing = shop.engine.standing("github");
    assert_eq!(
        standing.health,
        Health::Connected,
        "its old tools can be run"
    );
    assert!(standing.reason.as_ref().unwrap().contains("no list today"));
    assert!(standing.since().unwrap().starts_with("2023-11-14T22:13:2"));
}
