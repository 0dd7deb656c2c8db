//! What to do next, and the other sentences that callers may wait for word by word.

use crate::policy::Risk;

/// After an intent that has an action.
pub const EXECUTE: &str = "Call gateway.execute with tool_id and params";
/// After an intent that cannot be told apart.
pub const CHOOSE: &str =
    "Ask which of the alternatives is meant, then call gateway.intent with its tool_id as query";
/// After an intent that nothing fits.
pub const REPHRASE: &str =
    "Nothing fits; say it in other words, or use gateway.adapters to see what there is";
/// After an intent that nothing fits while tools are still being asked for.
pub const WAIT: &str =
    "Nothing fits yet, and not every adapter has said what it can do; ask again in a moment";
/// After an intent that nothing fits while some adapters could not be asked.
pub const UNHEARD: &str = "Nothing fits, but not every adapter could be asked; gateway.adapters says which are down, or say it in other words";
/// After a list of adapters.
pub const EXPLORE: &str =
    "Use gateway.intent with your task, or gateway.tools to explore an adapter";
/// After a list of tools.
pub const FULL_SCHEMA: &str = "Use gateway.intent with a tool_id for full schema";
/// After an execution.
pub const DONE: &str = "Use data; describe the next task to gateway.intent";
/// After a part of a large result.
pub const READ_ON: &str = "Call gateway.execute with the same tool_id and options.page to read on";
/// After a dry run.
pub const FOR_REAL: &str = "Call gateway.execute again without dry_run";
/// After a reference.
pub const TRY: &str = "Use gateway.intent with your task";
/// While the registry of operations is out of step with the catalog.
pub const DEGRADED: &str =
    "Use gateway.adapters and gateway.tools to find a tool_id, and gateway.execute to run it";

/// What a call without the key that it needs is told.
pub fn key_required(risk: Risk, financial: bool) -> String {
    if financial {
        return "This operation modifies financial data. Provide idempotency_key.".to_owned();
    }
    format!(
        "This operation is rated {risk} and must not run twice by accident. Provide idempotency_key."
    )
}
