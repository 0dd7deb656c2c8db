//! Policy, through its public interface only.

mod attempts;
mod model;
mod properties;

use serde_json::{Value, json};
use toolcrib_core::canon::params_hash;
use toolcrib_core::policy::{
    Approval, Caller, Decision, Metadata, Outcome, Override, PolicySettings, RateLimits, Refusal,
    Request, Risk, ScopeSet, ServerFacts, Subject, Validity,
};
use toolcrib_core::{Tool, ToolId};

const NOW: i64 = 1_700_000_000_000;

fn tool(name: &str) -> Tool {
    Tool::new(ToolId::new("bank", name), "", json!({"type": "object"}))
}

fn metadata(tool: &Tool, overrides: &[Override]) -> Metadata {
    let overrides: Vec<&Override> = overrides.iter().collect();
    Metadata::derive(
        tool,
        &ServerFacts::default(),
        &overrides,
        &RateLimits::default(),
    )
}

fn of_risk(risk: Risk) -> Override {
    Override {
        risk: Some(risk),
        ..Override::default()
    }
}

fn subject<'a>(tool: &'a Tool, metadata: &'a Metadata) -> Subject<'a> {
    Subject {
        id: &tool.id,
        enabled: true,
        rule: None,
        approval: Approval::Approved,
        metadata,
    }
}

fn valid(arguments: &Value) -> Request<'static> {
    Request {
        validity: Validity::Valid,
        ..Request::plain(params_hash(arguments))
    }
}

fn agent(scopes: &[&str]) -> Caller {
    let scopes = ScopeSet::from_texts(scopes.iter().copied());
    Caller::key("agent", scopes, &PolicySettings::default())
}

fn refusal(decision: &Decision) -> &Refusal {
    match &decision.outcome {
        Outcome::Refused(refusal) => refusal,
        other => panic!("expected a refusal, got {other:?}"),
    }
}
