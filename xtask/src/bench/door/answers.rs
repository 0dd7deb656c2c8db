//! What a model pays for running tools, and for the profile `gateway`.

use anyhow::Result;
use serde_json::{Value, json};

use super::{DEFINITIONS_TOKENS, Stage, WISHES};
use crate::bench::recorder::Recorder;
use crate::rivals::tokens;

/// The calls of both profiles are made to a server that is there for the purpose.
const SERVER: &str = "notes";

pub(super) fn run(recorder: &mut Recorder, stage: &Stage) -> Result<()> {
    let mut door = stage.open(&[])?;
    let arguments = json!({"query": "milk"});
    let search = json!({"server": SERVER, "tool": "search_notes", "arguments": arguments});
    let ran = door.call("execute_tool", &search)?;
    recorder.value(
        "tokens of an answer of execute_tool beside the result",
        cost(&ran).saturating_sub(cost(&ran["result"])),
        "tokens",
    );
    let delete = json!({"server": SERVER, "tool": "delete_note", "arguments": {"id": 1}});
    for (what, call) in [
        ("a destructive call that is refused", delete),
        (
            "arguments that do not fit",
            json!({"server": SERVER, "tool": "search_notes", "arguments": {}}),
        ),
        (
            "a tool that does not exist",
            json!({"server": SERVER, "tool": "serch_notes", "arguments": {}}),
        ),
    ] {
        let told = door.told("execute_tool", &call)?;
        recorder.value(
            &format!("tokens of the answer to {what}"),
            cost(&told),
            "tokens",
        );
    }
    door.close()?;
    gateway(recorder, stage, &arguments)
}

/// The same counter under the other five names.
fn gateway(recorder: &mut Recorder, stage: &Stage, arguments: &Value) -> Result<()> {
    let mut door = stage.open(&[("TOOLCRIB_PROFILE", "gateway")])?;
    let definitions = cost(&door.tools()?);
    recorder
        .value(
            "profile gateway: tokens of the five definitions",
            definitions,
            "tokens",
        )
        .at_most(DEFINITIONS_TOKENS);
    let mut intents = WISHES
        .iter()
        .map(|wish| {
            Ok(cost(
                &door.told("gateway.intent", &json!({ "query": wish }))?,
            ))
        })
        .collect::<Result<Vec<_>>>()?;
    intents.sort_unstable();
    recorder.value(
        "profile gateway: tokens of an answer of gateway.intent",
        intents[intents.len() / 2],
        "tokens",
    );
    let call = json!({"tool_id": format!("{SERVER}:search_notes"), "params": arguments});
    let ran = door.told("gateway.execute", &call)?;
    recorder.value(
        "profile gateway: tokens of an answer of gateway.execute beside the data",
        cost(&ran).saturating_sub(cost(&ran["data"])),
        "tokens",
    );
    door.close()
}

fn cost(answer: &Value) -> u64 {
    tokens(&answer.to_string()) as u64
}
