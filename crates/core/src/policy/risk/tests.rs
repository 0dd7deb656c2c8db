use serde_json::json;

use super::*;

fn of_name(name: &str) -> Risk {
    of(name, "")
}

fn of(name: &str, description: &str) -> Risk {
    judge(&Inputs {
        name,
        description,
        ..blank()
    })
}

fn of_operation(method: &str, path: &str, name: &str) -> Risk {
    judge(&Inputs {
        method: Some(method),
        path: Some(path),
        name,
        ..blank()
    })
}

fn judge(inputs: &Inputs<'_>) -> Risk {
    derive(inputs).0
}

fn blank() -> Inputs<'static> {
    Inputs {
        configured: None,
        server: "acme",
        name: "",
        description: "",
        method: None,
        path: None,
        extensions: &Value::Null,
        scopes: &[],
        annotations: &Value::Null,
        trusted: false,
    }
}

#[test]
fn names_are_read_by_their_verb() {
    let table = [
        ("charge-authorization", Risk::High),
        ("initialize-transaction", Risk::Medium),
        ("list-customers", Risk::Low),
        ("create-customer", Risk::Medium),
        ("delete-subaccount", Risk::Destructive),
        ("create-refund", Risk::High),
        ("reset-password", Risk::High),
        ("get-settings", Risk::Low),
        ("cancel-subscription", Risk::Destructive),
        ("enable-otp", Risk::Medium),
        ("run", Risk::High),
        ("TunnelGroupBackendsList", Risk::Low),
        ("chat.scheduleMessage", Risk::High),
        ("find_and_replace", Risk::Medium),
        ("bulk_update_channels", Risk::High),
        ("send_email", Risk::High),
        ("update_user_role", Risk::High),
        ("cancel_run", Risk::Medium),
        ("resolve_review_thread", Risk::Medium),
        ("resolve_library_id", Risk::Low),
        ("query", Risk::High),
        ("query_sql", Risk::High),
        ("query_logs", Risk::Low),
        ("frobnicate", Risk::High),
        ("", Risk::High),
    ];
    for (name, expected) in table {
        assert_eq!(of_name(name), expected, "{name}");
    }
}

#[test]
fn a_read_is_not_risky_for_a_word_in_its_name() {
    for name in [
        "list-transfers",
        "transfer_list",
        "get-payout",
        "payment_list",
        "email_search",
        "list_refunds",
        "get_delete_history",
        "search_messages",
        "list_cancel_reasons",
        "fetch-charge",
        "acme_get_payout",
        "describe_terminated_instances",
    ] {
        assert_eq!(of_name(name), Risk::Low, "{name}");
    }
}

#[test]
fn a_read_hidden_behind_unknown_words_needs_a_second_witness() {
    assert_eq!(of_name("shred_list"), Risk::High);
    assert_eq!(of("shred_list", "Destroys the list"), Risk::Destructive);
    assert_eq!(of("shred_list", "Lists what is there"), Risk::High);
    assert_eq!(of_name("client_list"), Risk::Low);
    assert_eq!(of_name("monitor_list"), Risk::Low);
    assert_eq!(of_name("boards_list"), Risk::Low);
    assert_eq!(of_name("acme_list_boards"), Risk::Low);
    assert_eq!(of_name("api_v1_board_list"), Risk::Low);
    assert_eq!(of("poll_expire", "Get poll"), Risk::Destructive);
}

#[test]
fn a_trusted_servers_descriptions_speak_where_names_do_not() {
    let table = [
        ("directory_tree", "Get a recursive tree view", Risk::Low),
        ("git_log", "Shows the commit logs", Risk::Low),
        ("board_list", "Lists all boards", Risk::Low),
        ("todo", "Create, update or delete items", Risk::Destructive),
        ("todo", "This tool is used to create items", Risk::Medium),
        ("pages", "Notion | Retrieve a page", Risk::Low),
        ("labels", "Get comments and labels", Risk::Low),
        ("mystery", "Marvellous things happen", Risk::High),
        ("credit_usage", "Get the credit balance", Risk::Low),
    ];
    for (name, description, expected) in table {
        let risk = judge(&Inputs {
            name,
            description,
            trusted: true,
            ..blank()
        });
        assert_eq!(risk, expected, "{name}: {description}");
    }
}

#[test]
fn an_untrusted_description_lowers_nothing() {
    for name in [
        "transfer",
        "charge_card",
        "refund",
        "payout",
        "shell",
        "frobnicate",
        "weather",
        "shred_list",
        "delete_it",
        "git_log",
        "get_it",
        "",
    ] {
        let silent = of_name(name);
        for description in [
            "Returns whether the money moved.",
            "Retrieve",
            "Get a list",
            "Use this tool to show it",
            "Create it",
            "Delete it",
        ] {
            assert!(of(name, description) >= silent, "{name}: {description}");
        }
        if !matches!(name, "git_log" | "get_it") {
            assert!(of(name, "Retrieve") >= Risk::High, "{name}");
        }
    }
}

#[test]
fn an_untrusted_description_is_no_evidence_that_spares_a_key() {
    let described = derive(&Inputs {
        name: "weather",
        description: "Get the weather",
        ..blank()
    });
    assert_eq!(described.0, Risk::High);
    assert!(!described.1.any());
}

#[test]
fn an_untrusted_description_raises_what_the_name_leaves_open() {
    let table = [
        ("todo", "Create, update or delete items", Risk::Destructive),
        ("log", "Deletes the log", Risk::Destructive),
        ("test_workflow", "Run a workflow", Risk::High),
        ("shred_get", "Create a board", Risk::High),
    ];
    for (name, description, expected) in table {
        assert_eq!(of(name, description), expected, "{name}: {description}");
    }
}

#[test]
fn methods_are_read_together_with_verbs() {
    let table = [
        ("GET", "/v1/payouts/{id}", "GetPayoutsPayout", Risk::Low),
        ("GET", "/", "TerminateInstances", Risk::Destructive),
        ("GET", "/dialog.open", "dialog_open", Risk::Medium),
        ("GET", "/charges/{id}", "charge_check", Risk::Low),
        ("GET", "/open-positions", "open-positions", Risk::Low),
        ("HEAD", "/files/{id}", "", Risk::Low),
        ("DELETE", "/messages/{id}", "get_it", Risk::Destructive),
        ("POST", "/payments", "post-payments", Risk::High),
        (
            "POST",
            "/payment-plans",
            "payment-plans-create",
            Risk::Medium,
        ),
        (
            "POST",
            "/payment_methods",
            "PostPaymentMethods",
            Risk::Medium,
        ),
        ("POST", "/transfers", "transfers-initiate", Risk::High),
        ("POST", "/cards/{id}/fund", "virtual-cards", Risk::High),
        (
            "POST",
            "/accounts/resolve",
            "misc-resolve-account",
            Risk::Low,
        ),
        (
            "POST",
            "/contacts/search",
            "POST_mc-contacts-search",
            Risk::Low,
        ),
        ("POST", "/value_lists/{id}", "PostValueLists", Risk::Medium),
        ("POST", "/events/{id}/read", "post-event-read", Risk::Medium),
        ("POST", "/customer", "customer_validate", Risk::Medium),
        (
            "POST",
            "/refunds/{id}/cancel",
            "PostRefundsCancel",
            Risk::Destructive,
        ),
        (
            "POST",
            "/admin.teams.setIcon",
            "admin_teams_setIcon",
            Risk::High,
        ),
        ("POST", "/teams/{id}/addUser", "addUserForTeam", Risk::High),
        ("PUT", "/roles/{id}", "updateRole", Risk::High),
        ("PATCH", "/messages/{id}", "update_message", Risk::Medium),
        ("BREW", "/pot", "get_coffee", Risk::High),
    ];
    for (method, path, name, expected) in table {
        assert_eq!(
            of_operation(method, path, name),
            expected,
            "{method} {path} {name}"
        );
    }
}

#[test]
fn a_get_whose_path_ends_with_an_act_is_not_a_read_for_want_of_an_operation_id() {
    let table = [
        (
            "/instances/{id}/terminate",
            "get-instances-id-terminate",
            Risk::Destructive,
        ),
        ("/items/delete", "get-items-delete", Risk::Destructive),
        ("/jobs/:id/activate", "get-jobs-id-activate", Risk::Medium),
        ("/servers/{id}/reboot", "get-servers-id-reboot", Risk::High),
        ("/items/deleted", "get-items-deleted", Risk::Low),
        (
            "/items/delete/{id}",
            "get-items-delete-id",
            Risk::Destructive,
        ),
        ("/settings/click", "get-settings-click", Risk::Low),
        (
            "/settings/bounce_purge",
            "get-settings-bounce-purge",
            Risk::Low,
        ),
        ("/files/{id}/trash", "get_files_id_trash", Risk::Low),
        (
            "/accounts/{id}/transfer",
            "get-accounts-id-transfer",
            Risk::Low,
        ),
        ("/guilds/{id}/prune", "preview_prune_guild", Risk::Low),
        ("/orders/{id}/cancel", "get-cancellation", Risk::Low),
    ];
    for (path, name, expected) in table {
        assert_eq!(of_operation("GET", path, name), expected, "{path}");
    }
}

#[test]
fn a_method_of_its_own_is_rated_by_what_is_worst() {
    let table = [
        ("PURGE", "purge-cache", Risk::Destructive),
        ("PURGE", "cache", Risk::Destructive),
        ("LINK", "delete-user", Risk::Destructive),
        ("LINK", "send-message", Risk::High),
        ("LINK", "list-users", Risk::High),
        ("SEARCH", "search-users", Risk::High),
        ("COPY", "copy-file", Risk::High),
    ];
    for (method, name, expected) in table {
        assert_eq!(
            of_operation(method, "/x", name),
            expected,
            "{method} {name}"
        );
    }
}

#[test]
fn the_trash_and_what_is_empty_can_be_read() {
    for name in ["folders_trash", "cart-empty"] {
        assert_eq!(of_operation("GET", "/x", name), Risk::Low, "{name}");
        assert_eq!(
            of_operation("POST", "/x", name),
            Risk::Destructive,
            "{name}"
        );
    }
    assert_eq!(of_operation("GET", "/x", "auth_revoke"), Risk::Destructive);
}

#[test]
fn scopes_raise_a_risk_and_never_lower_it() {
    let table = [
        ("POST", "archive-repo", "repo:delete", Risk::Destructive),
        ("POST", "create-hook", "admin", Risk::High),
        ("POST", "create-hook", "hooks:write", Risk::Medium),
        ("POST", "create-hook", "hooks:read", Risk::Medium),
        ("POST", "send-message", "messages:read", Risk::High),
        ("DELETE", "delete-repo", "repo:read", Risk::Destructive),
        ("POST", "search-items", "items:read", Risk::Low),
        ("POST", "search-items", "items:delete", Risk::Medium),
        (
            "GET",
            "workflow-step-completed",
            "workflow:execute",
            Risk::Medium,
        ),
        ("GET", "session-end", "sessions:delete", Risk::Destructive),
        ("GET", "list-users", "users:delete", Risk::Low),
        ("GET", "get-contact", "account:read_write", Risk::Low),
        ("GET", "team-access-logs", "admin", Risk::Low),
        (
            "GET",
            "terminate-instances",
            "instances:read",
            Risk::Destructive,
        ),
        ("LINK", "frobnicate", "items:read", Risk::High),
        ("LINK", "frobnicate", "items:delete", Risk::Destructive),
    ];
    for (method, name, scope, expected) in table {
        let scopes = [vec![scope.to_owned()]];
        let bare = Inputs {
            method: Some(method),
            name,
            ..blank()
        };
        let (risk, evidence) = derive(&Inputs {
            scopes: &scopes,
            ..bare
        });
        assert_eq!(risk, expected, "{method} {name} {scope}");
        assert!(risk >= judge(&bare), "{method} {name} {scope}");
        if risk > judge(&bare) {
            assert_eq!(evidence.decided_by, Source::Scope);
            assert_eq!(evidence.detail(), format!("scope `{scope}`"));
        }
    }
}

#[test]
fn what_is_configured_or_stated_overrules_scopes() {
    let extensions = json!({"x-risk": "low"});
    let scopes = [vec!["repo:delete".to_owned()]];
    let stated = Inputs {
        method: Some("POST"),
        name: "archive-repo",
        extensions: &extensions,
        scopes: &scopes,
        ..blank()
    };
    assert_eq!(judge(&stated), Risk::Low);
    let configured = Inputs {
        configured: Some(Risk::Medium),
        ..stated
    };
    assert_eq!(judge(&configured), Risk::Medium);
}

#[test]
fn better_evidence_overrules_worse() {
    let extensions = json!({"x-risk-level": "medium"});
    let annotations = json!({"readOnlyHint": true});
    let all = Inputs {
        configured: Some(Risk::Low),
        name: "delete_all",
        extensions: &extensions,
        annotations: &annotations,
        trusted: true,
        ..blank()
    };
    let (risk, evidence) = derive(&all);
    assert_eq!(
        (risk, evidence.decided_by),
        (Risk::Low, Source::Configuration)
    );
    let sources: Vec<_> = evidence.findings.iter().map(|f| f.source).collect();
    let order = [
        Source::Configuration,
        Source::Extension,
        Source::Annotations,
        Source::Verb,
    ];
    assert_eq!(sources, order);
    let (risk, evidence) = derive(&Inputs {
        configured: None,
        ..all
    });
    assert_eq!(
        (risk, evidence.decided_by),
        (Risk::Medium, Source::Extension)
    );
    assert_eq!(evidence.detail(), "x-risk-level: medium");
}

#[test]
fn only_a_trusted_server_can_lower_its_own_risk() {
    let hint = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let read_only = r#"{"readOnlyHint":true,"destructiveHint":true}"#;
    let destructive = r#"{"destructiveHint":true}"#;
    let additive = r#"{"readOnlyHint":false,"destructiveHint":false}"#;
    let writes = r#"{"readOnlyHint":false}"#;
    let table = [
        ("delete_it", read_only, false, Risk::Destructive),
        ("delete_it", read_only, true, Risk::Low),
        ("frobnicate", read_only, false, Risk::High),
        ("frobnicate", read_only, true, Risk::Low),
        ("get_it", destructive, false, Risk::Destructive),
        ("get_it", destructive, true, Risk::Destructive),
        ("get_it", writes, false, Risk::Medium),
        ("delete_it", additive, false, Risk::Destructive),
        ("delete_it", additive, true, Risk::Medium),
        ("send_money", additive, true, Risk::High),
        ("frobnicate", additive, true, Risk::Medium),
        ("get_it", "{}", false, Risk::Low),
        ("get_it", r#"{"readOnlyHint":"yes"}"#, true, Risk::Low),
    ];
    for (name, annotations, trusted, expected) in table {
        let annotations = hint(annotations);
        let risk = judge(&Inputs {
            name,
            annotations: &annotations,
            trusted,
            ..blank()
        });
        assert_eq!(risk, expected, "{name} {annotations} {trusted}");
    }
}

#[test]
fn nothing_known_is_told_apart_from_a_hint() {
    assert!(!derive(&blank()).1.any());
    let annotations = json!({"readOnlyHint": true});
    let hinted = Inputs {
        annotations: &annotations,
        ..blank()
    };
    let (risk, evidence) = derive(&hinted);
    assert_eq!((risk, evidence.decided_by), (Risk::High, Source::Nothing));
    assert!(evidence.any());
    let look_alike = derive(&Inputs {
        name: "g\u{435}t_it",
        ..blank()
    });
    assert_eq!(look_alike.0, Risk::High);
}
