//! Intents and executions as callers write them, over MCP and REST alike.

use serde_json::value::RawValue;
use toolcrib_core::gateway::definitions::USE_CASES;
use toolcrib_core::limits::INTENT_LIMIT_MAX;

use crate::desk::Intent;
use crate::engine::ask::CallOptions;
use crate::mcp::discovery::input::{Bad, Input};
use crate::mcp::fields::Fields;

/// A wish to run a tool.
#[derive(Debug)]
pub struct Wish {
    /// The id as it was written.
    pub id: String,
    /// Its adapter.
    pub adapter: String,
    /// Its name.
    pub tool: String,
    /// The tool's own parameters, as they were written.
    pub params: Option<Box<RawValue>>,
    /// What was asked for beside them.
    pub options: CallOptions,
}

/// Reads what `gateway.intent` is called with.
pub fn intent(arguments: Option<&RawValue>) -> Result<Intent, Bad> {
    let input = Input::read(arguments, &["query", "adapter", "context", "limit"])?;
    let context = input.object("context")?;
    let inner = Input::inside(context.clone(), "context");
    inner.text("currency")?;
    inner.text("country")?;
    inner.word("use_case", &USE_CASES)?;
    let limit = input.number("limit", INTENT_LIMIT_MAX as u64)?;
    Ok(Intent {
        query: input.required("query")?,
        adapter: input.text("adapter")?,
        context,
        limit: limit.and_then(|limit| usize::try_from(limit).ok()),
    })
}

/// Reads what `gateway.execute` is called with.
pub fn execution(arguments: Option<&RawValue>) -> Result<Wish, Bad> {
    let input = Input::read(arguments, &["tool_id", "params", "options"])?;
    let id = input.required("tool_id")?;
    let options = input.options()?;
    let parts = id.split_once(':');
    let Some((adapter, tool)) = parts.filter(|(a, t)| !a.is_empty() && !t.is_empty()) else {
        return Err(Bad::new("tool_id", "must be written `adapter:tool`"));
    };
    let given = arguments.and_then(Fields::of);
    let given = given.as_ref().and_then(|fields| fields.get("params"));
    let given = given.filter(|given| given.get() != "null");
    if given.is_some_and(|given| !given.get().trim_start().starts_with('{')) {
        return Err(Bad::new("params", "must be an object"));
    }
    Ok(Wish {
        adapter: adapter.to_owned(),
        tool: tool.to_owned(),
        params: given.map(ToOwned::to_owned),
        options,
        id,
    })
}
