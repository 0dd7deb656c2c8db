//! Large results: what is given at once, and how the rest is read without calling again.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::value::RawValue;
use toolcrib_core::policy::{self, Visibility};
use toolcrib_core::{Code, ToolId};

use super::Attempt;
use super::outcome::says_error;
use super::select;
use super::shape::{Shaped, Wanted, shape};
use crate::engine::Engine;
use crate::engine::answer::{Answered, Outcome, Reply, Rest};
use crate::engine::error::{Error, Result};
use crate::engine::snapshot::Entry;

/// A handle and a place in the result behind it, written `handle.place`.
struct Mark<'a> {
    handle: &'a str,
    from: usize,
}

impl<'a> Mark<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let (handle, from) = text.rsplit_once('.')?;
        let from = from.parse().ok()?;
        (!handle.is_empty()).then_some(Self { handle, from })
    }

    fn write(handle: &str, from: usize) -> String {
        format!("{handle}.{from}")
    }
}

impl Engine {
    /// The next part of a result that was kept for this principal; with a filter, what that makes of the whole.
    /// Nothing is called, and what was read is recorded like anything else.
    pub(super) async fn read_page(
        self: &Arc<Self>,
        attempt: &Attempt,
        page: &str,
    ) -> Result<Reply> {
        let (entry, answered) = match self.kept_page(attempt, page).await {
            Ok(read) => read,
            Err(error) => return Err(self.turn_away(attempt, error).await),
        };
        self.record_reading(attempt, &entry, &answered).await?;
        Ok(attempt.reply(Some(entry), Outcome::Answered(answered)))
    }

    async fn kept_page(
        self: &Arc<Self>,
        attempt: &Attempt,
        page: &str,
    ) -> Result<(Arc<Entry>, Answered)> {
        self.require_on()?;
        let gone = || {
            Error::new(
                Code::ResultExpired,
                "There is no such page of a result for this caller, or it is no longer kept.",
            )
            .suggest("Make the call again if it may be repeated")
            .of_tool(&attempt.server, &attempt.tool)
        };
        let mark = Mark::read(page).ok_or_else(gone)?;
        let principal = attempt.caller.principal.to_string();
        let kept = self
            .store
            .kept_result(mark.handle, &principal, self.clock.now_ms())
            .await
            .map_err(|error| {
                tracing::error!(%error, "a kept result could not be read");
                Box::<Error>::from(&error)
            })?
            .ok_or_else(gone)?;
        let result = RawValue::from_string(kept.content).map_err(|_| gone())?;
        let id = ToolId::parse(&kept.tool_id).ok_or_else(gone)?;
        let entry = self.still_run(attempt, &id).await?.ok_or_else(gone)?;
        if let Some(filter) = &attempt.options.select {
            select::check(filter).await?;
            let answered = self.answered(attempt, &id, &result, false).await;
            return Ok((entry, answered));
        }
        let shaped = shape(&result, self.wanted(mark.from)).ok_or_else(gone)?;
        let rest = shaped.next.map(|next| Rest {
            page: Mark::write(mark.handle, next.from),
            left: next.left,
        });
        let answered = Answered {
            is_error: says_error(&result),
            result: shaped.result,
            replayed: false,
            rest,
            unfiltered: None,
        };
        Ok((entry, answered))
    }

    /// The tool that a result was kept of, where the caller may still run it; `None` where there is none for it.
    async fn still_run(
        self: &Arc<Self>,
        attempt: &Attempt,
        id: &ToolId,
    ) -> Result<Option<Arc<Entry>>> {
        self.see_settlements().await;
        let snapshot = self.snapshot();
        let known = snapshot.own_rack(id.server()).is_some_and(|r| r.is_known());
        let entry = match snapshot.entry(id) {
            Some(entry) => Some(Arc::clone(entry)),
            None if known => None,
            // Nobody has asked its server in this process.
            None => {
                let resolving = self.resolve(&attempt.caller, id.server(), id.tool());
                resolving.await.ok()
            }
        };
        let Some(entry) = entry else {
            return Ok(None);
        };
        let of_tool = |error: Box<Error>| Err(error.of_tool(id.server(), id.tool()));
        match policy::visible(&attempt.caller, &entry.subject()) {
            Visibility::Shown => Ok(Some(entry)),
            Visibility::Hidden => Ok(None),
            Visibility::Disabled => of_tool(
                Error::new(
                    Code::ToolDisabled,
                    "This tool is disabled by the tool rules, and so is what was kept of its results.",
                )
                .suggest("Choose another tool, or have it enabled in `toolRules`"),
            ),
            Visibility::Pending => of_tool(
                Error::new(
                    Code::ApprovalRequired,
                    "This tool is not approved, and neither is what was kept of its results.",
                )
                .suggest(format!(
                    "A person can approve it: `toolcrib approvals approve {id}`"
                )),
            ),
        }
    }

    /// The first part of a result; where it is not all of it, the whole is kept for later.
    pub(super) async fn answered(
        &self,
        attempt: &Attempt,
        tool: &ToolId,
        result: &RawValue,
        replayed: bool,
    ) -> Answered {
        let is_error = says_error(result);
        let selected = match &attempt.options.select {
            Some(filter) if !is_error => Some(select::apply(filter, result).await),
            _ => None,
        };
        let unfiltered = selected.as_ref().and_then(|s| s.unfiltered.clone());
        let result = selected.as_ref().map_or(result, |s| &*s.result);
        let shaped = (!attempt.whole).then(|| shape(result, self.wanted(0)));
        let Shaped { result: part, next } = shaped.flatten().unwrap_or_else(|| Shaped {
            result: result.to_owned(),
            next: None,
        });
        let mut answered = Answered {
            result: part,
            is_error,
            replayed,
            rest: None,
            unfiltered,
        };
        if let Some(next) = next {
            let handle = hex(&self.clock.random::<16>());
            let principal = attempt.caller.principal.to_string();
            let (tool_id, now_ms) = (tool.to_string(), self.clock.now_ms());
            let minutes = self.snapshot.load().config.settings.results.keep_minutes;
            let kept_ms = i64::from(minutes) * 60_000;
            let content = result.get();
            let kept = self
                .store
                .keep_result(&handle, &principal, &tool_id, content, now_ms, kept_ms)
                .await;
            match kept {
                Ok(()) => {
                    answered.rest = Some(Rest {
                        page: Mark::write(&handle, next.from),
                        left: next.left,
                    });
                }
                Err(error) => {
                    // The call has been made: better all of its result than a part without the rest.
                    tracing::warn!(%error, "a large result could not be kept for later pages");
                    answered.result = result.to_owned();
                }
            }
        }
        answered
    }

    fn wanted(&self, from: usize) -> Wanted {
        let results = &self.snapshot.load().config.settings.results;
        Wanted {
            tokens_max: usize::try_from(results.max_tokens).unwrap_or(usize::MAX),
            from,
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_as_it_was_written() {
        let text = Mark::write(&hex(&[0, 255]), 40);
        assert_eq!(text, "00ff.40");
        let mark = Mark::read(&text).unwrap();
        assert_eq!((mark.handle, mark.from), ("00ff", 40));
        for wrong in ["", "x", ".1", "x.", "x.-1", "x.y"] {
            assert!(Mark::read(wrong).is_none(), "{wrong}");
        }
    }
}
