//! Two small MCP servers and a REST API inside the program, so that there is something real to look at before
//! anything is installed: notes and a calendar, spoken to over standard input and output, and a parcel service
//! over HTTP. All of them keep what they know in memory.

mod calendar;
mod notes;
pub mod parcels;

use std::io::{BufRead, Write};

use serde_json::{Value, json};
use toolcrib_core::rpc::{self, Fault, INVALID_PARAMS, METHOD_NOT_FOUND, Message};

/// The revision that the servers speak.
const REVISION: &str = "2025-11-25";

/// What a server can do.
trait Bench {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Its tools, as `tools/list` gives them.
    fn tools(&self) -> Value;

    /// Runs a tool; the error is what its caller did wrong. `None` where there is no such tool.
    fn call(&mut self, tool: &str, arguments: &Value) -> Option<Result<Value, String>>;
}

/// The names of the servers.
pub const NAMES: [&str; 2] = ["notes", "calendar"];

/// Answers until the input ends; `false` where there is no server of that name.
pub fn serve(name: &str, input: impl BufRead, output: impl Write) -> std::io::Result<bool> {
    match name {
        "notes" => answer(&mut notes::Notes::default(), input, output).map(|()| true),
        "calendar" => answer(&mut calendar::Calendar::default(), input, output).map(|()| true),
        _ => Ok(false),
    }
}

fn answer(
    bench: &mut dyn Bench,
    input: impl BufRead,
    mut output: impl Write,
) -> std::io::Result<()> {
    for line in input.lines() {
        let text = match rpc::parse(line?.as_bytes()) {
            Ok(Message::Request { id, method, params }) => {
                let params = params.and_then(|params| serde_json::from_str(params.get()).ok());
                match handle(bench, &method, &params.unwrap_or(Value::Null)) {
                    Ok(result) => rpc::result(&id, &result),
                    Err(fault) => rpc::fault(Some(&id), &fault),
                }
            }
            Ok(_) => continue,
            Err(malformed) => {
                let fault = Fault::new(malformed.code(), malformed.to_string());
                rpc::fault(malformed.id(), &fault)
            }
        };
        output.write_all(&text)?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
    Ok(())
}

fn handle(bench: &mut dyn Bench, method: &str, params: &Value) -> Result<Value, Fault> {
    match method {
        "initialize" => Ok(json!({
            "protocolVersion": REVISION,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": bench.name(), "version": env!("CARGO_PKG_VERSION")},
        })),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({ "tools": bench.tools() })),
        "tools/call" => {
            let name = params["name"].as_str().unwrap_or_default();
            let arguments = &params["arguments"];
            let outcome = bench
                .call(name, arguments)
                .ok_or_else(|| Fault::new(INVALID_PARAMS, format!("there is no tool `{name}`")))?;
            Ok(match outcome {
                Ok(value) => json!({
                    "content": [{"type": "text", "text": value.to_string()}],
                    "structuredContent": value,
                }),
                Err(message) => json!({
                    "content": [{"type": "text", "text": message}],
                    "isError": true,
                }),
            })
        }
        _ => Err(Fault::new(
            METHOD_NOT_FOUND,
            format!("{method} is not known here"),
        )),
    }
}

/// A text argument, which the schema promises.
fn text<'a>(arguments: &'a Value, name: &str) -> Result<&'a str, String> {
    arguments[name]
        .as_str()
        .ok_or_else(|| format!("`{name}` must be a text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Speaks to a server line by line and gives its answers.
    fn talk(name: &str, lines: &[Value]) -> Vec<Value> {
        let input: Vec<String> = lines.iter().map(ToString::to_string).collect();
        let mut output = Vec::new();
        assert!(serve(name, input.join("\n").as_bytes(), &mut output).unwrap());
        let lines = String::from_utf8(output).unwrap();
        lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn call(id: u64, tool: &str, arguments: &Value) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
               "params": {"name": tool, "arguments": arguments}})
    }

    #[test]
    fn every_tool_has_a_schema_that_compiles_and_an_answer() {
        for name in NAMES {
            let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
            let answers = talk(name, &[list]);
            let tools = answers[0]["result"]["tools"].as_array().unwrap().clone();
            assert!(tools.len() >= 5, "{name}");
            for tool in &tools {
                let schema = &tool["inputSchema"];
                toolcrib_core::schema::compile(schema).unwrap();
                let arguments = toolcrib_core::schema::sample::sample(schema).unwrap();
                let tool = tool["name"].as_str().unwrap();
                let answers = talk(name, &[call(2, tool, &arguments)]);
                assert!(
                    answers[0]["result"]["content"][0]["text"].is_string(),
                    "{tool}"
                );
            }
        }
    }

    #[test]
    fn notes_are_kept_found_and_deleted() {
        let answers = talk(
            "notes",
            &[
                call(
                    1,
                    "create_note",
                    &json!({"title": "Milk", "body": "buy two litres"}),
                ),
                call(2, "search_notes", &json!({"query": "LITRES"})),
                call(3, "read_note", &json!({"id": 1})),
                call(4, "delete_note", &json!({"id": 1})),
                call(5, "list_notes", &json!({})),
                call(6, "read_note", &json!({"id": 1})),
            ],
        );
        let of = |at: usize| &answers[at]["result"]["structuredContent"];
        assert_eq!(of(0)["id"], 1);
        assert_eq!(of(1)["notes"][0]["title"], "Milk");
        assert_eq!(of(2)["body"], "buy two litres");
        assert_eq!(of(4)["notes"], json!([]));
        assert_eq!(answers[5]["result"]["isError"], true);
    }

    #[test]
    fn events_are_kept_moved_and_cancelled() {
        let answers = talk(
            "calendar",
            &[
                call(
                    1,
                    "create_event",
                    &json!({"title": "Stand-up", "start": "2026-03-02T09:00"}),
                ),
                call(
                    2,
                    "move_event",
                    &json!({"id": 1, "start": "2026-03-02T10:00"}),
                ),
                call(3, "list_events", &json!({"day": "2026-03-02"})),
                call(4, "find_free_hour", &json!({"day": "2026-03-02"})),
                call(5, "cancel_event", &json!({"id": 1})),
                call(6, "list_events", &json!({"day": "2026-03-02"})),
                call(7, "move_event", &json!({"id": 9, "start": "x"})),
            ],
        );
        let of = |at: usize| &answers[at]["result"]["structuredContent"];
        assert_eq!(of(2)["events"][0]["start"], "2026-03-02T10:00");
        assert_eq!(of(3)["start"], "2026-03-02T09:00");
        assert_eq!(of(5)["events"], json!([]));
        assert_eq!(answers[6]["result"]["isError"], true);
    }

    #[test]
    fn what_is_not_known_is_said() {
        let answers = talk(
            "notes",
            &[
                json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}),
                json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
                json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}),
                json!({"jsonrpc": "2.0", "id": 3, "method": "server/discover"}),
                call(4, "gone", &json!({})),
                json!({"id": 5}),
            ],
        );
        assert_eq!(answers[0]["result"]["protocolVersion"], REVISION);
        assert_eq!(answers[1]["result"], json!({}));
        assert_eq!(answers[2]["error"]["code"], METHOD_NOT_FOUND);
        assert_eq!(answers[3]["error"]["code"], INVALID_PARAMS);
        assert_eq!(answers[4]["error"]["code"], rpc::INVALID_REQUEST);
        assert!(!serve("gone", &b""[..], Vec::new()).unwrap());
    }
}
