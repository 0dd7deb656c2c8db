//! The decision about one request, with everything that policy needs to know gathered first.

use std::sync::{Arc, PoisonError};

use toolcrib_core::policy::{
    Ask, Challenge, Decision, Outcome, Request, Step, Validity, buckets, decide,
};
use toolcrib_core::schema::{Unknown, Violations};
use toolcrib_store::Tokens;
use toolcrib_store::audit::Outcome as Recorded;

use super::Attempt;
use super::record::unrecorded;
use crate::engine::Engine;
use crate::engine::answer::Reply;
use crate::engine::buckets::shared;
use crate::engine::error::{Error, Result, Waiting};
use crate::engine::snapshot::Entry;

/// What becomes of a request before anything is called.
pub(super) enum Verdict {
    /// Policy has decided.
    Decided(Decided),
    /// Its key had an answer.
    Answered(Reply),
    /// The tool is not there any more.
    Gone,
}

/// A decision, and the question that it waits for.
pub(super) struct Decided {
    /// The tool as it was when it was decided.
    pub(super) entry: Arc<Entry>,
    pub(super) outcome: Outcome,
    pub(super) trace: Vec<Step>,
    pub(super) waiting: Option<Waiting>,
}

/// A decision as far as it needs nobody.
pub(super) struct Weighed {
    decision: Decision,
    /// The challenge that the caller names.
    named: Option<Challenge>,
}

impl Weighed {
    pub(super) fn is_permitted(&self) -> bool {
        matches!(self.decision.outcome, Outcome::Permitted(_))
    }
}

impl Engine {
    /// Weighs whether the call may be made, without asking anybody.
    pub(super) async fn weigh(&self, attempt: &Attempt, entry: &Entry) -> Result<Weighed> {
        let named = match &attempt.options.challenge {
            Some(id) => self.named_challenge(id).await?,
            None => None,
        };
        // A call finds out when it takes its tokens.
        let shared_wait_ms = if attempt.options.dry_run {
            self.shared_wait_ms(attempt, entry).await?
        } else {
            None
        };
        Ok(Weighed {
            decision: self.judged(attempt, entry, named.as_ref(), shared_wait_ms),
            named,
        })
    }

    /// How long the buckets that processes share would let the call wait.
    async fn shared_wait_ms(&self, attempt: &Attempt, entry: &Entry) -> Result<Option<u64>> {
        let tokens = Tokens {
            buckets: shared(&buckets(&attempt.caller, &entry.subject())),
            now_ms: self.clock.now_ms(),
        };
        if tokens.buckets.is_empty() {
            return Ok(None);
        }
        let wait_ms = self.store.wait_for_tokens(tokens).await;
        wait_ms.map_err(|error| unrecorded(&error))
    }

    /// Decides whether the call may be made. Where a person has to confirm it, the person is asked, unless
    /// the call was made before under its key: its answer needs no person.
    pub(super) async fn decide(
        &self,
        attempt: &Attempt,
        entry: Arc<Entry>,
        weighed: Weighed,
    ) -> Result<Verdict> {
        let Weighed { decision, named } = weighed;
        if let Outcome::Refused(refusal) = &decision.outcome
            && let Some(Ask::Person(binding)) = refusal.ask()
        {
            if let Some(reply) = self.answered_before(attempt, &entry).await? {
                return Ok(Verdict::Answered(reply));
            }
            let challenge = match self.ask_person(attempt, binding).await {
                Ok(challenge) => challenge,
                Err(error) => return Err(self.unasked(attempt, &entry, error).await),
            };
            // A person takes their time. What they confirmed must still be there, enabled and approved.
            let Some(entry) = self.snapshot().entry(&entry.tool.id).cloned() else {
                return Ok(Verdict::Gone);
            };
            let decision = self.judged(attempt, &entry, Some(&challenge), None);
            return Ok(decided(entry, decision, waits(&challenge)));
        }
        Ok(decided(entry, decision, named.as_ref().and_then(waits)))
    }

    /// Records a call about which nobody could be asked.
    async fn unasked(&self, attempt: &Attempt, entry: &Entry, error: Box<Error>) -> Box<Error> {
        let (outcome, code) = (Recorded::Refused, Some(error.code));
        let why = "no person could be asked to confirm it";
        let recorded = self.record_keyed(attempt, entry, why, outcome, code).await;
        match recorded {
            Ok(()) => error.of_tool(entry.tool.id.server(), entry.tool.id.tool()),
            Err(unrecorded) => unrecorded,
        }
    }

    fn judged(
        &self,
        attempt: &Attempt,
        entry: &Entry,
        challenge: Option<&Challenge>,
        shared_wait_ms: Option<u64>,
    ) -> Decision {
        let violations = self.violations(attempt, entry);
        let violations = violations.as_ref();
        let (subject, options) = (entry.subject(), &attempt.options);
        let now_ms = self.clock.now_ms();
        // A call with a key may have its answer already, which costs no token; its bucket is taken
        // once that is known.
        let keyed = options.idempotency_key.is_some() && !options.dry_run;
        let rate_wait_ms = if keyed {
            None
        } else {
            self.buckets
                .wait_ms(&buckets(&attempt.caller, &subject), now_ms)
                .max(shared_wait_ms)
        };
        let request = Request {
            params_hash: attempt.arguments.hash,
            validity: violations.map_or(Validity::Valid, Validity::Invalid),
            idempotency_key: options.idempotency_key.as_deref(),
            confirmed: options.confirmed,
            challenge,
            dry_run: options.dry_run,
            timeout_ms: options.timeout_ms,
            key_exempt: attempt.key_exempt,
            rate_wait_ms,
        };
        decide(&attempt.caller, &subject, &request, now_ms)
    }

    /// What is wrong with the arguments, by the validator that was compiled for the schema.
    fn violations(&self, attempt: &Attempt, entry: &Entry) -> Option<Violations> {
        let value = match &attempt.arguments.value {
            Ok(value) => value,
            Err(error) => return Some(Violations::whole("json", error.to_string())),
        };
        if !value.is_object() {
            let message = "the arguments must be a JSON object";
            return Some(Violations::whole("type", message));
        }
        let compiled = {
            let mut validators = self
                .validators
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            validators.get(entry.metadata.schema_key, &entry.tool.input_schema)
        };
        let unknown = if attempt.caller.strict_arguments {
            Unknown::Refuse
        } else {
            Unknown::Pass
        };
        match compiled {
            Ok(compiled) => compiled.check(value, unknown).err(),
            Err(error) => Some(Violations::whole("$schema", error.to_string())),
        }
    }
}

fn decided(entry: Arc<Entry>, decision: Decision, waiting: Option<Waiting>) -> Verdict {
    let confirms = matches!(&decision.outcome, Outcome::Refused(r) if r.ask().is_some());
    Verdict::Decided(Decided {
        entry,
        outcome: decision.outcome,
        trace: decision.trace,
        waiting: waiting.filter(|_| confirms),
    })
}

fn waits(challenge: &Challenge) -> Option<Waiting> {
    let waiting = challenge.state == toolcrib_core::policy::confirmation::ChallengeState::Waiting;
    waiting.then(|| Waiting {
        id: challenge.id.to_string(),
        expires_ms: challenge.expires_ms,
    })
}
