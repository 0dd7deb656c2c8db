//! Asking a person about one call, and using the answer once.

use serde_json::json;
use toolcrib_core::ToolId;
use toolcrib_core::canon::Hash;
use toolcrib_core::limits::{CONFIRMATION_KEPT_MS, CONFIRMATION_QUESTION_CHARS_MAX};
use toolcrib_core::policy::confirmation::{Binding, ChallengeState};
use toolcrib_core::policy::suspicion::written_out;
use toolcrib_core::policy::{Challenge, ChallengeId, Permit};
use toolcrib_store::StoreError;
use toolcrib_store::approval::confirmation::{Call, Confirmed};
use toolcrib_store::approval::{Kind, Request, State, Target, Verdict};

use super::Attempt;
use super::record::masked;
use crate::engine::Engine;
use crate::engine::definition::raw;
use crate::engine::error::{Error, Result};

impl Engine {
    /// The challenge that the caller names; `None` where there is none of that name.
    pub(super) async fn named_challenge(&self, id: &str) -> Result<Option<Challenge>> {
        let target = Target::Id(id.to_owned());
        let shown = self
            .store
            .show_approvals(&target, self.clock.now_ms())
            .await;
        let shown = shown.map_err(|error| unreadable(&error))?;
        let request = shown.into_iter().map(|shown| shown.request);
        Ok(request
            .filter(|r| r.kind == Kind::Confirmation)
            .find_map(read))
    }

    /// The challenge for a call that needs a person's word: one that was settled, also with a no, or is
    /// open, else a new one. Where the client can ask its person, it does.
    pub(super) async fn ask_person(
        &self,
        attempt: &Attempt,
        binding: &Binding,
    ) -> Result<Challenge> {
        let now_ms = self.clock.now_ms();
        let arguments = attempt.arguments.value.as_ref().map(masked);
        let detail = arguments.map(|value| value.to_string()).unwrap_or_default();
        let asked = self
            .store
            .challenge(&call(binding), &detail, self.clock.random(), now_ms)
            .await
            .map_err(|error| unreadable(&error))?;
        let challenge = read(asked).ok_or_else(unusable)?;
        if challenge.state == ChallengeState::Waiting {
            return self.elicit(attempt, challenge, &detail).await;
        }
        Ok(challenge)
    }

    /// Lets the client ask its person, where its answer counts, it can and all arguments can be shown. No
    /// answer leaves the question open.
    async fn elicit(
        &self,
        attempt: &Attempt,
        challenge: Challenge,
        detail: &str,
    ) -> Result<Challenge> {
        let counts = self.snapshot.load().config.settings.policy.elicitation;
        let Some(client) = attempt.client.as_ref().filter(|_| counts) else {
            return Ok(challenge);
        };
        let capabilities: serde_json::Value =
            serde_json::from_str(client.capabilities().get()).unwrap_or_default();
        if capabilities.get("elicitation").is_none() {
            return Ok(challenge);
        }
        let shown = written_out(detail);
        if shown.chars().count() > CONFIRMATION_QUESTION_CHARS_MAX {
            return Ok(challenge);
        }
        let tool = challenge.binding.tool.to_string();
        let question = raw(&json!({
            "message": format!("Run {} with {shown}?", written_out(&tool)),
            "requestedSchema": {
                "type": "object",
                "properties": {"confirm": {"type": "boolean", "title": "Run it"}},
                "required": ["confirm"],
            },
        }));
        let asking = client.request("elicitation/create", Some(&question));
        let patience = std::time::Duration::from_millis(CONFIRMATION_KEPT_MS.unsigned_abs());
        let answered = tokio::select! {
            () = attempt.cancel.cancelled() => return Ok(challenge),
            () = tokio::time::sleep(patience) => return Ok(challenge),
            answered = asking => answered,
        };
        let verdict = match answered {
            Ok(answer) => said(&answer),
            Err(fault) => {
                tracing::info!(%fault, "the client did not ask its person");
                None
            }
        };
        let Some(verdict) = verdict else {
            return Ok(challenge);
        };
        let target = Target::Id(challenge.id.to_string());
        let settled = self
            .store
            .settle_approvals(&target, verdict, "elicitation", self.clock.now_ms())
            .await
            .map_err(|error| unreadable(&error))?;
        Ok(settled.into_iter().find_map(read).unwrap_or(challenge))
    }

    /// Uses up the person's word for a call, where the permit rests on one.
    pub(super) async fn spend(&self, permit: &Permit) -> std::result::Result<Spent, StoreError> {
        let Some(id) = permit.challenge() else {
            return Ok(Spent::Nothing);
        };
        let binding = Binding {
            tool: permit.tool().clone(),
            params_hash: permit.params_hash(),
            principal: permit.principal().to_owned(),
        };
        let (call, now_ms) = (call(&binding), self.clock.now_ms());
        let used = self.store.use_challenge(id.as_str(), &call, now_ms);
        Ok(match used.await? {
            Confirmed::Granted => Spent::Word(id.clone(), call),
            _ => Spent::Missing,
        })
    }

    /// Gives the person's word back for the next round of a call whose server asked something first, or could
    /// not be reached.
    pub(super) async fn give_back(&self, spent: Spent) {
        let Spent::Word(id, call) = spent else {
            return;
        };
        let given_back = self.store.give_back_challenge(id.as_str(), &call);
        if let Err(error) = given_back.await {
            tracing::warn!(%error, "a confirmation could not be given back; the person is asked again");
        }
    }
}

/// What became of a person's word.
pub(super) enum Spent {
    /// None was needed.
    Nothing,
    /// It was used for this call.
    Word(ChallengeId, Call),
    /// There was none that still counts.
    Missing,
}

/// A person's answer in a form; a form that was closed is no answer.
fn said(answer: &serde_json::value::RawValue) -> Option<Verdict> {
    let answer: serde_json::Value = serde_json::from_str(answer.get()).ok()?;
    match answer.get("action")?.as_str()? {
        "accept" if answer["content"]["confirm"] == true => Some(Verdict::Approve),
        "accept" | "decline" => Some(Verdict::Reject),
        _ => None,
    }
}

fn call(binding: &Binding) -> Call {
    Call {
        server: binding.tool.server().to_owned(),
        tool: binding.tool.tool().to_owned(),
        args_hash: binding.params_hash.to_string(),
        caller: binding.principal.clone(),
    }
}

/// A stored request as policy looks at it; `None` where it is none about a call.
fn read(request: Request) -> Option<Challenge> {
    let params_hash: Hash = request.hash.parse().ok()?;
    let state = match request.state {
        _ if request.used_ms.is_some() => ChallengeState::Spent,
        // One that ran out is told by its time.
        State::Pending | State::Expired => ChallengeState::Waiting,
        State::Approved => ChallengeState::Approved,
        State::Rejected => ChallengeState::Rejected,
    };
    Some(Challenge {
        id: ChallengeId::from_text(request.id),
        binding: Binding {
            tool: ToolId::new(request.server, request.tool),
            params_hash,
            principal: request.caller?,
        },
        expires_ms: request.expires_ms?,
        state,
    })
}

fn unreadable(error: &StoreError) -> Box<Error> {
    tracing::error!(%error, "the store could not be asked about confirmations");
    error.into()
}

fn unusable() -> Box<Error> {
    unreadable(&StoreError::Closed)
}
