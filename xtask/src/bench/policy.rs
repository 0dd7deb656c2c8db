//! What policy adds to a call: hashing the arguments, checking them, deciding.
//!
//! Taken over the real tool lists of the shared data, each tool called with arguments made from its schema; over a few
//! tools of our own where there is no shared data.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};
use toolcrib_core::canon::params_hash;
use toolcrib_core::policy::{
    Approval, Caller, Metadata, PolicySettings, Request, Rulebook, ServerFacts, Subject, Validity,
    decide, visible,
};
use toolcrib_core::schema::{Unknown, Validators};
use toolcrib_core::{Tool, ToolId};

use super::recorder::Recorder;
use crate::workspace;

/// CPU that policy and validation may add to a call, in the median.
const CALL_NS_MAX: u64 = 50_000;
/// How often each tool is called.
const ROUNDS: usize = 15;
/// How deep made-up arguments go.
const ARGUMENTS_DEPTH: usize = 6;

struct Call {
    tool: Tool,
    metadata: Metadata,
    arguments: Value,
}

pub(crate) fn run(recorder: &mut Recorder) -> Result<()> {
    let settings = PolicySettings::default();
    let rulebook = Rulebook::compile(&settings).map_err(|errors| anyhow::anyhow!("{errors:?}"))?;
    let tools = match workspace::shared() {
        Some(shared) => read_tools(&shared.join("data/mcp-tools"))?,
        None => own_tools(),
    };
    let derive = || {
        for tool in &tools {
            black_box(rulebook.metadata(black_box(tool), &ServerFacts::default()));
        }
    };
    recorder.time("derive the metadata of all tools", 3, derive);
    let mut validators = Validators::default();
    let mut calls = Vec::with_capacity(tools.len());
    for tool in tools {
        let metadata = rulebook.metadata(&tool, &ServerFacts::default());
        let usable = validators.get(metadata.schema_key, &tool.input_schema);
        if usable.is_ok() {
            let arguments = made_up(&tool.input_schema, &tool.input_schema, 0);
            calls.push(Call {
                tool,
                metadata,
                arguments,
            });
        }
    }
    let caller = Caller::loopback(&settings);
    let mut times = Vec::with_capacity(calls.len() * ROUNDS);
    for _ in 0..ROUNDS {
        for call in &calls {
            let begun = Instant::now();
            one(call, &caller, &mut validators)?;
            times.push(u64::try_from(begun.elapsed().as_nanos())?);
        }
    }
    times.sort_unstable();
    let at = |per_mille: usize| {
        times
            .get(times.len() * per_mille / 1000)
            .copied()
            .unwrap_or(0)
    };
    recorder.value("tools called", u64::try_from(calls.len())?, "tools");
    recorder
        .value("hash, check and decide one call, median", at(500), "ns")
        .at_most(CALL_NS_MAX);
    recorder.value("hash, check and decide one call, 99 of 100", at(990), "ns");
    let look = || {
        for call in &calls {
            black_box(visible(&caller, &subject(call)));
        }
    };
    recorder.time("see which tools a caller may find", 50, look);
    Ok(())
}

fn subject(call: &Call) -> Subject<'_> {
    Subject {
        id: &call.tool.id,
        enabled: true,
        rule: None,
        approval: Approval::Approved,
        metadata: &call.metadata,
    }
}

fn one(call: &Call, caller: &Caller, validators: &mut Validators) -> Result<()> {
    let params_hash = params_hash(&call.arguments);
    let validator = validators.get(call.metadata.schema_key, &call.tool.input_schema)?;
    let checked = validator.check(&call.arguments, Unknown::Refuse);
    let request = Request {
        validity: match &checked {
            Ok(()) => Validity::Valid,
            Err(violations) => Validity::Invalid(violations),
        },
        idempotency_key: Some("bench"),
        confirmed: true,
        ..Request::plain(params_hash)
    };
    black_box(decide(caller, &subject(call), &request, 0));
    Ok(())
}

fn read_tools(dir: &Path) -> Result<Vec<Tool>> {
    let mut tools = Vec::new();
    for path in crate::source::files_below(dir, ".json") {
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let list: Value = serde_json::from_str(&text)?;
        let server = list["server"].as_str().unwrap_or("server").to_owned();
        for entry in list["tools"].as_array().into_iter().flatten() {
            let id = ToolId::new(server.as_str(), entry["name"].as_str().unwrap_or("tool"));
            let description = entry["description"].as_str().unwrap_or("");
            let mut tool = Tool::new(id, description, entry["inputSchema"].clone());
            tool.annotations = entry["annotations"].clone();
            tools.push(tool);
        }
    }
    Ok(tools)
}

fn own_tools() -> Vec<Tool> {
    let schema = json!({
        "type": "object",
        "properties": {
            "owner": {"type": "string", "minLength": 1},
            "labels": {"type": "array", "items": {"type": "string"}},
            "state": {"enum": ["open", "closed"]},
            "page": {"type": "integer", "minimum": 1},
        },
        "required": ["owner"],
    });
    let names = [
        "list_issues",
        "create_issue",
        "delete_issue",
        "send_message",
    ];
    let tool = |name: &str| {
        Tool::new(
            ToolId::new("tracker", name),
            "Works on issues.",
            schema.clone(),
        )
    };
    names.map(tool).to_vec()
}

/// Arguments that a schema would most likely accept.
fn made_up(schema: &Value, root: &Value, depth: usize) -> Value {
    if depth > ARGUMENTS_DEPTH {
        return Value::Null;
    }
    let target = schema
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|r| root.pointer(r.trim_start_matches('#')));
    let first = ["anyOf", "oneOf", "allOf"]
        .iter()
        .find_map(|keyword| schema.get(keyword)?.get(0));
    if let Some(inner) = target.or(first) {
        return made_up(inner, root, depth + 1);
    }
    if let Some(value) = schema.get("const").or_else(|| schema.get("enum")?.get(0)) {
        return value.clone();
    }
    let kind = schema.get("type");
    match kind
        .and_then(Value::as_str)
        .or_else(|| kind?.get(0)?.as_str())
    {
        Some("array") => schema
            .get("items")
            .map(|items| made_up(items, root, depth + 1))
            .into_iter()
            .collect(),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| json!(1)),
        Some("boolean") => Value::Bool(true),
        Some("null") => Value::Null,
        Some("string") => Value::String("2024-01-01T00:00:00Z".to_owned()),
        _ => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let fields = properties.into_iter().flatten();
            let made = fields.map(|(name, inner)| (name.clone(), made_up(inner, root, depth + 1)));
            Value::Object(made.collect::<Map<_, _>>())
        }
    }
}
