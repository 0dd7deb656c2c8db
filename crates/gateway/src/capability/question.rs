//! What waits for a person, as every door tells it: which requests a word means, what one looks like in
//! JSON, and the signs of deceit in it.

use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolcrib_core::policy::suspicion::{self, Flag, Neighbours};
use toolcrib_store::approval::{Kind, Request, Shown, State, Target};

use super::assessment::Assessment;
use super::promotion::Promoted;
use super::review::Dossier;
use crate::engine::definition;

/// What a word may mean, the narrowest first: an id, then a tool or a server.
pub fn targets(text: &str) -> [Target; 2] {
    let tool = text.split_once(':').map(|(server, tool)| Target::Tool {
        server: server.to_owned(),
        tool: tool.to_owned(),
    });
    let wide = tool.unwrap_or_else(|| Target::Server(text.to_owned()));
    [Target::Id(text.to_owned()), wide]
}

/// A request; what it does not have is null.
pub fn request(request: &Request) -> Value {
    json!({
        "id": request.id,
        "kind": request.kind.as_str(),
        "server": request.server,
        "tool": (!request.tool.is_empty()).then_some(&request.tool),
        "hash": request.hash,
        "caller": request.caller,
        "state": request.state.as_str(),
        "created_ms": request.created_ms,
        "expires_ms": request.expires_ms,
        "settled_ms": request.settled_ms,
        "settled_by": request.settled_by,
    })
}

/// A request in full: what is to be approved, what was before it, and what is odd about it.
pub fn whole(shown: &Shown, neighbours: &Neighbours) -> Value {
    let mut value = request(&shown.request);
    value["detail"] = shown.request.detail.clone().into();
    value["accepted"] = shown.accepted.clone().into();
    if let Some(dossier) = Dossier::of(&shown.request) {
        value["assessment"] = assessment(&dossier.assessment);
        value["directory"] = json!(dossier.pending);
    }
    value["flags"] = json!(flags(&shown.request, neighbours));
    value
}

/// What the tools of a server can do.
pub fn assessment(assessment: &Assessment) -> Value {
    let mut value = json!(assessment);
    let counts = assessment.counts.iter().cloned();
    value["counts"] = counts
        .map(|(risk, n)| (risk, json!(n)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    value
}

/// What an approval brought about on disk.
pub fn promoted((server, done): &(String, Promoted)) -> Value {
    json!({
        "server": server,
        "approved": done.approved,
        "archived": done.archived,
        "registered": done.registered,
    })
}

/// The signs of deceit in what a person is asked to approve.
pub fn flags(request: &Request, neighbours: &Neighbours) -> Vec<Flag> {
    match request.kind {
        Kind::Tool => {
            let raw = RawValue::from_string(request.detail.clone()).ok();
            let tool = raw.and_then(|raw| definition::read(&request.server, &raw).ok());
            tool.map_or_else(Vec::new, |tool| suspicion::inspect(&tool, neighbours))
        }
        Kind::Server => suspicion::inspect_server(&request.server, neighbours),
        Kind::Confirmation => Vec::new(),
    }
}

/// The tools among what is shown that show signs of deceit and are not approved yet, by their ids.
pub fn odd(shown: &[Shown], neighbours: &Neighbours) -> Vec<String> {
    let tools = || {
        let requests = shown.iter().map(|one| &one.request);
        requests.filter(|one| one.kind == Kind::Tool)
    };
    // Where something waits, what was turned down before is not approved along with it.
    let waits = tools().any(|one| one.state == State::Pending);
    let open = tools().filter(|one| match one.state {
        State::Pending => true,
        State::Rejected | State::Expired => !waits,
        State::Approved => false,
    });
    open.filter(|one| !flags(one, neighbours).is_empty())
        .map(|one| format!("{}:{}", one.server, one.tool))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_an_id_first_and_then_a_tool_or_a_server() {
        let tool = Target::Tool {
            server: "a".into(),
            tool: "b:c".into(),
        };
        for (text, wide) in [("a:b:c", tool), ("a", Target::Server("a".into()))] {
            assert_eq!(targets(text), [Target::Id(text.into()), wide]);
        }
    }
}
