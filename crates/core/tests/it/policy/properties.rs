//! What holds for all callers and requests.

use proptest::prelude::*;
use serde_json::json;
use toolcrib_core::policy::{
    Caller, Grant, Metadata, Outcome, Override, PolicySettings, RateLimits, Request, Scope,
    ScopeSet, ServerFacts, Visibility, decide, visible,
};
use toolcrib_core::{Tool, ToolId};

use super::{NOW, subject, valid};

fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "bank", "github", "payments", "read", "write", "delete", "*", "toolcrib",
    ])
}

fn grant() -> impl Strategy<Value = String> {
    prop::collection::vec(word(), 1..4).prop_map(|parts| parts.join(":"))
}

fn metadata(name: &str, needs: &[String]) -> (Tool, Metadata) {
    let tool = Tool::new(ToolId::new("bank", name), "", json!({}));
    let scopes: Vec<Scope> = needs.iter().flat_map(|need| Scope::parse(need)).collect();
    let needs = Override {
        required_scopes: (!scopes.is_empty()).then_some(scopes),
        ..Override::default()
    };
    let metadata = Metadata::derive(
        &tool,
        &ServerFacts::default(),
        &[&needs],
        &RateLimits::default(),
    );
    (tool, metadata)
}

fn allowed(caller: &Caller, tool: &Tool, metadata: &Metadata) -> (bool, Visibility) {
    let request = Request {
        idempotency_key: Some("k"),
        confirmed: true,
        ..valid(&json!({}))
    };
    let subject = subject(tool, metadata);
    let outcome = decide(caller, &subject, &request, NOW).outcome;
    (
        matches!(outcome, Outcome::Permitted(_)),
        visible(caller, &subject),
    )
}

proptest! {
    #[test]
    fn taking_a_scope_away_never_allows_more(
        grants in prop::collection::vec(grant(), 0..5),
        gone in 0_usize..5,
        needs in prop::collection::vec(grant(), 0..3),
        name in prop::sample::select(vec!["get_x", "create_x", "send_x", "delete_x", "frobnicate"]),
    ) {
        let (tool, metadata) = metadata(name, &needs);
        let settings = PolicySettings::default();
        let full = ScopeSet::from_texts(grants.iter().map(String::as_str));
        let mut fewer = full.clone();
        if let Some(grant) = grants.get(gone) {
            fewer.remove(&Grant::parse(grant).unwrap());
        }
        let with = Caller { scopes: full, ..Caller::loopback(&settings) };
        let without = Caller { scopes: fewer, ..with.clone() };
        let (allowed_with, seen_with) = allowed(&with, &tool, &metadata);
        let (allowed_without, seen_without) = allowed(&without, &tool, &metadata);
        prop_assert!(allowed_with || !allowed_without);
        prop_assert!(seen_with != Visibility::Hidden || seen_without == Visibility::Hidden);
    }

    #[test]
    fn the_same_request_is_decided_the_same(grants in prop::collection::vec(grant(), 0..5)) {
        let (tool, metadata) = metadata("send_x", &[]);
        let scopes = ScopeSet::from_texts(grants.iter().map(String::as_str));
        let caller = Caller { scopes, ..Caller::local(&PolicySettings::default()) };
        let request = valid(&json!({"a": 1}));
        let subject = subject(&tool, &metadata);
        prop_assert_eq!(
            decide(&caller, &subject, &request, NOW),
            decide(&caller, &subject, &request, NOW)
        );
    }
}
