//! What users and agents type, and what they must get.

use std::sync::Arc;

use serde_json::json;

use super::{Filter, Hit, Hits, Index, Learned, Part, ServerTools, Weights};
use crate::catalog::{Tool, ToolId};
use crate::pattern::{Outcome, Pattern};

fn server(name: &str, tools: &[(&str, &str)]) -> Arc<Part> {
    let tools: Vec<Arc<Tool>> = tools
        .iter()
        .map(|(tool, text)| Arc::new(Tool::new(ToolId::new(name, *tool), *text, json!({}))))
        .collect();
    Arc::new(Part::build(
        &ServerTools {
            name,
            aliases: &[],
            about: "",
            tools: &tools,
        },
        &Weights::default(),
    ))
}

fn workshop() -> Index {
    Index::from_parts([
        server(
            "github",
            &[
                ("create_issue", "Open a new issue in a repository"),
                ("list_issues", "List the issues of a repository"),
                ("delete_repository", "Delete a repository for ever"),
                ("create_pull_request", "Open a pull request from a branch"),
                (
                    "get_file_contents",
                    "Read a file or directory of a repository",
                ),
            ],
        ),
        server(
            "mail",
            &[
                ("sendMessage", "Send an email to one or more recipients"),
                ("searchMessages", "Search the mailbox"),
            ],
        ),
        server(
            "sky",
            &[
                ("current", "Current weather for a city"),
                ("forecast", "Weather forecast for the next days"),
            ],
        ),
        server(
            "files",
            &[
                ("read_file", "Read a file from disk"),
                ("remove", "Remove a file from disk"),
            ],
        ),
    ])
}

fn check(query: &str, expect: &str) {
    let index = workshop();
    let found = index.search(query, &Filter::default());
    let first = found.hits.first().map(|h| h.id.to_string());
    assert_eq!(first.as_deref(), Some(expect), "{query}: {found:?}");
}

#[test]
fn plain_wishes_find_their_tool() {
    check(
        "could you please open a ticket about the login page",
        "github:create_issue",
    );
    check("show me all issues", "github:list_issues");
    check("destroy the repo", "github:delete_repository");
    check("write a mail to ann@example.com", "mail:sendMessage");
    check(
        "what will the weather be like tomorrow, a forecast please",
        "sky:forecast",
    );
    check("erase /tmp/x.txt from the disk", "files:remove");
}

#[test]
fn typing_errors_and_beginnings_are_understood() {
    check("repositry issues list", "github:list_issues");
    check("forcast", "sky:forecast");
    check("wether forecast", "sky:forecast");
    check("pull req", "github:create_pull_request");
}

#[test]
fn any_spelling_of_a_name_or_id_is_exact() {
    for query in [
        "github:create_issue",
        "create issue",
        "Create-Issue",
        "CREATE_ISSUE",
        "createIssue",
        "github.createIssue",
    ] {
        check(query, "github:create_issue");
        let found = workshop().search(query, &Filter::default());
        assert!(
            (found.hits[0].relevance - 1.0).abs() < f32::EPSILON,
            "{query}"
        );
    }
}

#[test]
fn a_server_can_be_searched_alone_and_an_unknown_one_holds_nothing() {
    let index = workshop();
    let within = |server| {
        index.search(
            "read a file",
            &Filter {
                server: Some(server),
                ..Filter::default()
            },
        )
    };
    assert_eq!(
        within("github").hits[0].id,
        ToolId::new("github", "get_file_contents")
    );
    assert_eq!(
        within("files").hits[0].id,
        ToolId::new("files", "read_file")
    );
    assert!(within("nowhere").hits.is_empty());
}

#[test]
fn the_limit_holds_and_the_total_tells_the_rest() {
    let index = workshop();
    let found = index.search(
        "repository",
        &Filter {
            limit: Some(2),
            ..Filter::default()
        },
    );
    assert_eq!(found.hits.len(), 2);
    assert!(found.total > 2);
    assert_eq!(index.search("", &Filter::default()).hits.len(), 0);
    assert_eq!(index.search("zxqv", &Filter::default()).total, 0);
}

#[test]
fn tags_choices_aliases_and_parameters_are_words_too() {
    let mut tool = Tool::new(
        ToolId::new("bank", "op7"),
        "",
        json!({"properties": {"iban": {"description": "account of the recipient", "enum": ["instant", "standard"]},
            "inner": {"items": {"properties": {"purpose": {}}}, "anyOf": [{"properties": {"deeper": {}}}]}}}),
    );
    tool.tags = vec!["treasury".into()];
    tool.domains = vec!["finance.payments".into()];
    tool.categories = vec!["crud.create".into()];
    tool.title = Some("Wire".into());
    let index = Index::build([ServerTools {
        name: "bank",
        aliases: &["moneybox".into()],
        about: "Speaks SEPA",
        tools: &[Arc::new(tool)],
    }]);
    for query in [
        "iban",
        "recipient",
        "instant",
        "purpose",
        "deeper",
        "treasury",
        "payments",
        "crud",
        "wire",
        "moneybox",
        "sepa",
    ] {
        assert_eq!(
            index.search(query, &Filter::default()).hits.len(),
            1,
            "{query}"
        );
    }
}

#[test]
fn a_catalog_with_common_words_still_finds_the_rare_one() {
    let tools: Vec<Arc<Tool>> = (0..5_000)
        .map(|n| {
            let text = if n == 4_321 {
                "Get the zebra of a record"
            } else {
                "Get the value of a record"
            };
            Arc::new(Tool::new(
                ToolId::new("big", format!("get_record_{n}")),
                text,
                json!({}),
            ))
        })
        .collect();
    let index = Index::build([ServerTools {
        name: "big",
        aliases: &[],
        about: "",
        tools: &tools,
    }]);
    let found = index.search("get the record's zebra", &Filter::default());
    assert_eq!(found.hits[0].id.tool(), "get_record_4321");
    assert_eq!(
        index.search("get a record", &Filter::default()).total,
        5_000
    );
}

#[test]
fn several_wishes_are_all_served() {
    let found = workshop().search(
        "read the file from disk and open an issue in the repository",
        &Filter {
            limit: Some(3),
            ..Filter::default()
        },
    );
    let ids: Vec<String> = found.hits.iter().map(|h| h.id.to_string()).collect();
    assert!(ids.contains(&"files:read_file".to_owned()), "{ids:?}");
    assert!(ids.contains(&"github:create_issue".to_owned()), "{ids:?}");
}

#[test]
fn confidence_is_high_for_a_clear_wish_and_low_for_a_foreign_one() {
    let index = workshop();
    let clear = index.search("list the issues of a repository", &Filter::default());
    let foreign = index.search("knit a woollen pullover for the dog", &Filter::default());
    assert!(clear.confidence() > 0.5, "{clear:?}");
    assert!(!clear.needs_selection(0.5));
    assert!(foreign.needs_selection(0.5), "{foreign:?}");
    assert!(clear.alternatives().len() <= 3);
    assert!(Hits::default().needs_selection(0.5));
    let falling = clear
        .hits
        .windows(2)
        .all(|w| w[0].relevance >= w[1].relevance);
    assert!(falling, "{clear:?}");
}

#[test]
fn an_explanation_says_which_words_matched_where() {
    let index = workshop();
    let id = ToolId::new("github", "create_issue");
    let why = index.explain("open a ticket with create_issue", &Filter::default(), &id);
    assert!(
        why.contains(&"the query spells its name".to_owned()),
        "{why:?}"
    );
    assert!(
        why.iter()
            .any(|w| w.starts_with("\"ticket\" (as \"issu…\") in its name")),
        "{why:?}"
    );
    let exact = index.explain("create issue", &Filter::default(), &id);
    assert_eq!(exact[0], "the query is its name");
    let other = ToolId::new("github", "nothing");
    assert!(
        index
            .explain("create issue", &Filter::default(), &other)
            .is_empty()
    );
    assert!(index.explain("", &Filter::default(), &id).is_empty());
}

#[test]
fn an_explanation_speaks_of_values_only_where_the_query_holds_some() {
    let schema = json!({"type": "object", "properties": {
        "recipient": {"type": "string", "format": "email"}}});
    let id = ToolId::new("mail", "send_message");
    let tool = Tool::new(id.clone(), "Send an email to a recipient", schema);
    let part = Part::build(
        &ServerTools {
            name: "mail",
            aliases: &[],
            about: "",
            tools: &[Arc::new(tool)],
        },
        &Weights::default(),
    );
    let index = Index::from_parts([Arc::new(part)]);
    let check = |query: &str, expect: bool| {
        let why = index.explain(query, &Filter::default(), &id);
        assert!(!why.is_empty(), "{query}");
        let said = why.iter().any(|w| w.contains("values in the query"));
        assert_eq!(said, expect, "{query}: {why:?}");
    };
    check("send a message to ann@example.com", true);
    check("send a message", false);
    check("message", false);
}

#[test]
fn hits_far_behind_the_best_are_left_out() {
    let hit = |name: &str, score: f32, relevance: f32| Hit {
        id: ToolId::new("s", name),
        score,
        relevance,
    };
    let found = Hits {
        hits: vec![
            hit("a", 9.0, 0.8),
            hit("b", 2.0, 0.1),
            hit("c", 8.5, 0.1),
            hit("d", 1.0, 0.0),
        ],
        total: 4,
    };
    // The second stays because one after it is close: several wishes take turns.
    assert_eq!(found.close().len(), 3);
    assert_eq!(found.close_within(0.1).len(), 1);
    assert_eq!(found.close_within(100.0).len(), 4);
    assert!(Hits::default().close().is_empty());
    let named = Hits {
        hits: vec![hit("named", 1.0, 1.0), hit("other", 9.0, 0.5)],
        total: 2,
    };
    assert_eq!(named.close().len(), 2);
}

#[test]
fn a_pattern_narrows_what_is_found() {
    let index = workshop();
    for (pattern, expect) in [("create_*", true), ("/^list_/", false)] {
        let pattern = Pattern::new(pattern).unwrap();
        let allow = |id: &ToolId| pattern.test(Some(id.server()), id.tool()) == Outcome::Yes;
        let filter = Filter {
            allow: Some(&allow),
            ..Filter::default()
        };
        let found = index.search("create an issue in the repository", &filter);
        assert!(found.hits.iter().all(|h| allow(&h.id)));
        let created = found.hits.iter().any(|h| h.id.tool() == "create_issue");
        assert_eq!(created, expect, "{}", pattern.text());
    }
}

#[test]
fn what_was_run_after_a_like_search_comes_up_the_next_time() {
    let index = workshop();
    let plain = index.search("issue", &Filter::default());
    let second = plain.hits[1].id.clone();
    let mut learned = Learned::default();
    for _ in 0..6 {
        learned.record("ann", "issue", &second, 0);
    }
    let lifts = learned.lifts("ann", "issue", 0);
    let lifted = Filter {
        lifts: Some(&lifts),
        ..Filter::default()
    };
    let found = index.search("issue", &lifted);
    let score = |found: &Hits| found.hits.iter().find(|h| h.id == second).unwrap().score;
    assert!(score(&found) > score(&plain));
    assert_eq!(found, index.search("issue", &lifted));
    let why = index.explain("issue", &lifted, &second);
    assert_eq!(why[0], "you ran it after a like query before");
    // A habit never shows what may not be seen.
    let allow = |id: &ToolId| *id != second;
    let hidden = Filter {
        allow: Some(&allow),
        ..lifted
    };
    let found = index.search("issue", &hidden);
    assert!(found.hits.iter().all(|h| h.id != second));
    let other = Filter {
        server: Some("files"),
        ..lifted
    };
    let found = index.search("issue", &other);
    assert!(found.hits.iter().all(|h| h.id.server() == "files"));
}

fn ids(found: &Hits) -> Vec<String> {
    found.hits.iter().map(|hit| hit.id.to_string()).collect()
}

#[test]
fn case_and_spaces_change_nothing() {
    let index = workshop();
    let plain = index.search("open a new issue", &Filter::default());
    assert!(!plain.hits.is_empty());
    for query in ["OPEN a New Issue", "  open\ta \n new   issue "] {
        assert_eq!(index.search(query, &Filter::default()), plain, "{query}");
    }
}

#[test]
fn evidence_counts_in_the_documented_order() {
    let tool = |name: &str, text: &str, tags: &[&str]| {
        let mut tool = Tool::new(ToolId::new("books", name), text, json!({}));
        tool.tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        Arc::new(tool)
    };
    let tools = [
        tool("sweep", "Tidies up", &["ledger"]),
        tool("tidy", "Tidies up a page of the ledger archive", &[]),
        tool("restore_ledger_archive", "Brings back", &[]),
        tool("ledger_archive", "Puts away", &[]),
        tool("unrelated", "Does another thing", &[]),
    ];
    let index = Index::build([ServerTools {
        name: "books",
        aliases: &[],
        about: "",
        tools: &tools,
    }]);
    let found = index.search("ledger archive", &Filter::default());
    let expected = ["ledger_archive", "restore_ledger_archive", "tidy", "sweep"];
    assert_eq!(ids(&found), expected.map(|name| format!("books:{name}")));
    assert!((found.hits[0].relevance - 1.0).abs() < f32::EPSILON);
}

#[test]
fn relevance_falls_from_hit_to_hit_and_is_a_share() {
    let index = workshop();
    for query in [
        "create issue",
        "repository",
        "read a file and send it by mail",
        "weather",
        "x",
        "remove everything from disk for ever and ever",
    ] {
        let found = index.search(query, &Filter::default());
        let shares: Vec<f32> = found.hits.iter().map(|hit| hit.relevance).collect();
        assert!(
            shares.iter().all(|s| (0.0..=1.0).contains(s)),
            "{query}: {shares:?}"
        );
        assert!(shares.is_sorted_by(|a, b| a >= b), "{query}: {shares:?}");
    }
}

#[test]
fn ten_hits_are_given_unless_another_number_is_asked_for_and_they_are_the_best() {
    let tools: Vec<(String, String)> = (0..30)
        .map(|n| (format!("task_{n}"), "Handles a parcel ".repeat(n % 7 + 1)))
        .collect();
    let tools: Vec<(&str, &str)> = tools.iter().map(|(a, b)| (&**a, &**b)).collect();
    let index = Index::from_parts([server("post", &tools)]);
    let all = Filter {
        limit: Some(30),
        ..Filter::default()
    };
    let all = ids(&index.search("parcel", &all));
    assert_eq!(all.len(), 30);
    let usual = index.search("parcel", &Filter::default());
    assert_eq!((ids(&usual), usual.total), (all[..10].to_vec(), 30));
}

#[test]
fn what_is_to_be_remembered_is_not_deleted() {
    let graph = [
        ("create_entities", "Make new entities in the graph"),
        ("create_relations", "Make new relations between entities"),
        ("add_observations", "Put observations on entities"),
        ("delete_entities", "Take entities and their relations out"),
        ("delete_observations", "Take observations off entities"),
        ("read_graph", "Give the whole graph of knowledge"),
        ("search_nodes", "Find nodes of the graph by a query"),
    ];
    let index = Index::from_parts([server("memory", &graph)]);
    let first = |wish: &str| {
        let hits = index.search(wish, &Filter::default());
        hits.hits.first().map(|hit| hit.id.tool().to_owned())
    };
    for wish in [
        "remember that Ada likes tea",
        "memorize that Bob works at Acme",
    ] {
        let found = first(wish).unwrap_or_default();
        assert!(
            found.starts_with("create") || found.starts_with("add"),
            "{wish}: {found}"
        );
    }
    let found = first("forget that Ada likes tea").unwrap_or_default();
    assert!(found.starts_with("delete"), "{found}");
}
