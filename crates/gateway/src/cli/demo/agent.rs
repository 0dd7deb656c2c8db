//! An agent at the counter: a session over the real door, with the tokens and the time of each step.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};
use toolcrib_core::Code;

use super::{Place, Tale, put};
use crate::cli::Context;
use crate::failure::Failure;
use crate::http::stand::Stand;
use crate::ui::{Line, Table, Tone};
use crate::workshop::parcels::{DESCRIPTION, Depot};

/// How much of a call or an answer is shown; the rest is counted.
const SHOWN_CHARS: usize = 600;

/// Least of it that stands on a line, however narrow the terminal is.
const SHOWN_CHARS_MIN: usize = 16;

/// What stands before the lines after its first.
const INDENT: &str = "    ";

/// Variables that a process gets whoever it works for: Windows starts none without its own directory.
const PASSED_ON: [&str; 2] = ["LLVM_PROFILE_FILE", "SYSTEMROOT"];

/// One thing that the agent does.
struct Step {
    about: &'static str,
    tool: &'static str,
    arguments: fn(&Story) -> Value,
}

/// What the agent learnt on the way.
#[derive(Default)]
struct Story {
    note: Value,
}

const STEPS: &[Step] = &[
    Step {
        about: "It has a wish and does not know the tool.",
        tool: "search_tools",
        arguments: |_| json!({"query": "please write down that we are out of coffee"}),
    },
    Step {
        about: "The hit carries its signature, so it can be run at once.",
        tool: "execute_tool",
        arguments: |_| {
            json!({"server": "notes", "tool": "create_note",
                   "arguments": {"title": "Coffee", "body": "We are out of coffee."}})
        },
    },
    Step {
        about: "Arguments that do not fit never reach the server; the answer says what would.",
        tool: "execute_tool",
        arguments: |_| json!({"server": "notes", "tool": "create_note", "arguments": {"title": "Tea"}}),
    },
    Step {
        about: "Where a signature is not enough, the details say what each argument means.",
        tool: "get_tool_details",
        arguments: |_| json!({"server": "notes", "tool": "delete_note"}),
    },
    Step {
        about: "Deleting is destructive: without a key and a confirmation it is refused.",
        tool: "execute_tool",
        arguments: |story| json!({"server": "notes", "tool": "delete_note", "arguments": {"id": story.note}}),
    },
    Step {
        about: "With both it is done.",
        tool: "execute_tool",
        arguments: confirmed,
    },
    Step {
        about: "Asked again with the same key, it is not done again: the answer is the one from before.",
        tool: "execute_tool",
        arguments: confirmed,
    },
    Step {
        about: "A rule has switched off whatever cancels. The calendar could, but it is not found,",
        tool: "search_tools",
        arguments: |_| json!({"query": "cancel the meeting with Ada"}),
    },
    Step {
        about: "and who knows its name cannot run it either.",
        tool: "execute_tool",
        arguments: |_| json!({"server": "calendar", "tool": "cancel_event", "arguments": {"id": 1}}),
    },
    Step {
        about: "A REST API behind the counter is found like any other tool: its OpenAPI description is enough.",
        tool: "search_tools",
        arguments: |_| json!({"query": "what does it cost to send a parcel to Nigeria"}),
    },
    Step {
        about: "And run under the same rules.",
        tool: "execute_tool",
        arguments: |_| json!({"server": "parcels", "tool": "quote-rate", "arguments": {"country": "NG", "grams": 1200}}),
    },
];

/// Deletes the note, with what a destructive call needs.
fn confirmed(story: &Story) -> Value {
    json!({"server": "notes", "tool": "delete_note", "arguments": {"id": story.note},
           "options": {"confirmed": true, "idempotency_key": "demo-1"}})
}

/// Plays the session in a home directory of its own.
pub(super) fn play(context: &mut Context, place: &Place, tale: &mut Tale) -> Result<(), Failure> {
    let program = std::env::current_exe().map_err(|error| broken(&error))?;
    let depot = Mutex::new(Depot::default());
    let parcels = Stand::open(Arc::new(move |method, target, body| {
        let mut depot = depot.lock().unwrap_or_else(PoisonError::into_inner);
        depot.answer(method, target, body)
    }))
    .map_err(|error| broken(&error))?;
    furnish(place, &program, &parcels)?;
    let begun = Instant::now();
    let mut door = Door::open(&program, place, "lazy")?;
    let tools = door.tools()?;
    let five = tokens(&Value::from(tools.clone()).to_string());
    let (about, micros) = (
        "An agent connects to two MCP servers and a REST API. This is all it sees of them:",
        begun.elapsed().as_micros(),
    );
    heading(context, about, micros, five);
    tale.steps
        .push(json!({"about": about, "tools": tools, "ms": ms(micros), "tokens": five}));
    context.ui.table(&listed(&tools));
    let mut story = Story::default();
    let mut carried = 0;
    for (index, step) in STEPS.iter().enumerate() {
        tale.go_on()?;
        let arguments = (step.arguments)(&story);
        let answer = door.ask(
            "tools/call",
            &json!({"name": step.tool, "arguments": arguments}),
        )?;
        let said = answer.result["content"][0]["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let spent = tokens(&arguments.to_string()) + tokens(&said);
        if step.tool != "execute_tool" {
            // What was looked up stands in every message from the next one on.
            carried += spent * (STEPS.len() - index);
        }
        heading(context, step.about, answer.micros, spent);
        let columns = context.ui.columns();
        let lead = format!("  > {} ", step.tool);
        for line in spread(&lead, &arguments.to_string(), columns) {
            context.ui.line(Line::new().whole_tone(Tone::Dim, line));
        }
        for line in spread("  ", &said, columns) {
            context.ui.line(Line::new().whole(line));
        }
        let result: Value = serde_json::from_str(&said).unwrap_or_default();
        tale.steps.push(json!({
            "about": step.about, "tool": step.tool, "arguments": arguments, "answer": result,
            "ms": ms(answer.micros), "tokens": spent,
        }));
        if let Some(id) = result["result"].get("id") {
            story.note = id.clone();
        }
    }
    door.close()?;
    let mut door = Door::open(&program, place, "full")?;
    let exposed = door.tools()?;
    door.close()?;
    closing(context, tale, five, carried, exposed);
    Ok(())
}

/// What the definitions cost in every message, and over the session, against showing all tools.
fn closing(
    context: &mut Context,
    tale: &mut Tale,
    five: usize,
    carried: usize,
    exposed: Vec<Value>,
) {
    let count = exposed.len();
    let all = tokens(&Value::from(exposed).to_string());
    let each = all / count.max(1);
    let messages = STEPS.len() + 1;
    let (with_five, with_all) = (five * messages + carried, all * messages);
    context.ui.gap();
    context.ui.line(Line::new().tone(
        Tone::Strong,
        format_args!(
            "Definitions go with every message: {five} tokens for the five, however many tools there are; {all} when these {count} \
             small ones are shown, and 100,000 and more for the tools of a dozen real servers."
        ),
    ));
    context.ui.line(format!(
        "Over the {messages} messages of this session that is {with_five} tokens, with all that was looked up, against {with_all}; \
         when all are shown, each further small tool adds about {each} tokens to every message."
    ));
    tale.tokens = json!({
        "five": five, "all": all, "tools": count, "messages": messages,
        "sessionWithFive": with_five, "sessionWithAll": with_all,
    });
}

fn heading(context: &mut Context, about: &str, micros: u128, tokens: usize) {
    context.ui.gap();
    context.ui.line(
        Line::new()
            .tone(Tone::Strong, format_args!("── {about}"))
            .text("  ")
            .whole_tone(
                Tone::Dim,
                format_args!("[{}, {tokens} tokens]", time(micros)),
            ),
    );
}

fn time(micros: u128) -> String {
    format!("{:.1} ms", ms(micros))
}

#[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
fn ms(micros: u128) -> f64 {
    micros as f64 / 1000.0
}

/// The tools with the first sentence of what they say of themselves.
fn listed(tools: &[Value]) -> Table {
    let mut table = Table::new(["  TOOL", "WHAT IT DOES"]);
    for tool in tools {
        let text = |field: &str| tool[field].as_str().unwrap_or_default();
        let first = text("description").split(". ").next().unwrap_or_default();
        let name = format!("  {}", text("name"));
        table.row([name, first.trim_end_matches('.').to_owned()]);
    }
    table
}

/// What leads to a line of JSON, and the JSON as far as it is shown, in lines of the terminal's width.
fn spread(lead: &str, json: &str, columns: Option<usize>) -> Vec<String> {
    let shown = shortened(json);
    let Some(columns) = columns else {
        return vec![format!("{lead}{shown}")];
    };
    let mut lines = Vec::new();
    let (mut lead, mut rest) = (lead, &*shown);
    loop {
        let room = columns.saturating_sub(lead.chars().count());
        let room = room.max(SHOWN_CHARS_MIN);
        let Some((end, _)) = rest.char_indices().nth(room) else {
            lines.push(format!("{lead}{rest}"));
            return lines;
        };
        // After a comma or a space, where there is one in the second half of the line.
        let good = rest[..end].rfind([',', ' ']).map(|at| at + 1);
        let end = good.filter(|at| *at > end / 2).unwrap_or(end);
        lines.push(format!("{lead}{}", &rest[..end]));
        (lead, rest) = (INDENT, &rest[end..]);
    }
}

/// The beginning of a long text, and how long it is.
fn shortened(text: &str) -> String {
    let chars = text.chars().count();
    if chars <= SHOWN_CHARS {
        return text.to_owned();
    }
    let begin: String = text.chars().take(SHOWN_CHARS).collect();
    format!("{begin}… ({chars} characters)")
}

/// Tokens as o200k counts them.
fn tokens(text: &str) -> usize {
    bpe_openai::o200k_base().count(text)
}

/// A configuration with the two small servers and the REST API of this program, and one rule.
fn furnish(place: &Place, program: &Path, parcels: &Stand) -> Result<(), Failure> {
    let description = place.home.join("parcels.yaml");
    put(&description, DESCRIPTION)?;
    let server = |name: &str| json!({"command": program, "args": ["workshop", name]});
    let config = json!({
        "servers": {"notes": server("notes"), "calendar": server("calendar")},
        "adapters": {"parcels": {
            "spec": description, "baseUrl": parcels.base_url(), "allowPrivateAddresses": true,
        }},
        "toolRules": [{"pattern": ["cancel*"], "enabled": false}],
        "store": {"path": place.own().data.join("store.db")},
    });
    place
        .config
        .iter()
        .try_for_each(|path| put(path, &config.to_string()))
}

/// The door, on the standard streams of a process of its own.
struct Door {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    asked: u64,
}

/// What came back, and how long it took.
struct Answer {
    result: Value,
    micros: u128,
}

impl Door {
    fn open(program: &Path, place: &Place, mode: &str) -> Result<Self, Failure> {
        let mut command = Command::new(program);
        command.args(["serve", "--stdio"]);
        if let Some(config) = &place.config {
            command.arg("--config").arg(config);
        }
        command
            .current_dir(&place.cwd)
            .env_clear()
            .envs(place.variables())
            .env("MCP_TOOL_MODE", mode)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        for name in PASSED_ON {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        let mut child = command.spawn().map_err(|error| broken(&error))?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(input), Some(output)) => Ok(Self {
                child,
                input,
                output: BufReader::new(output),
                asked: 0,
            }),
            _ => Err(Failure::new(
                Code::ServerConnectionError,
                "the demo has no pipe to its server",
            )),
        }
    }

    /// Shakes hands and lists the tools, all pages of them.
    fn tools(&mut self) -> Result<Vec<Value>, Failure> {
        self.ask(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": {},
                    "clientInfo": {"name": "toolcrib-demo", "version": env!("CARGO_PKG_VERSION")}}),
        )?;
        self.tell("notifications/initialized")?;
        let mut tools = Vec::new();
        let mut params = json!({});
        loop {
            let listed = self.ask("tools/list", &params)?.result;
            tools.extend(listed["tools"].as_array().cloned().unwrap_or_default());
            match listed.get("nextCursor") {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => return Ok(tools),
            }
        }
    }

    fn write(&mut self, message: &Value) -> Result<(), Failure> {
        writeln!(self.input, "{message}")
            .and_then(|()| self.input.flush())
            .map_err(|error| broken(&error))
    }

    fn tell(&mut self, method: &str) -> Result<(), Failure> {
        self.write(&json!({"jsonrpc": "2.0", "method": method}))
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Answer, Failure> {
        self.asked += 1;
        let id = self.asked;
        let begun = Instant::now();
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            let mut line = String::new();
            let read = self
                .output
                .read_line(&mut line)
                .map_err(|error| broken(&error))?;
            if read == 0 {
                return Err(Failure::new(
                    Code::ServerConnectionError,
                    "the server of the demo ended early; `toolcrib serve --stdio -v` says why",
                ));
            }
            let message: Value = serde_json::from_str(&line).unwrap_or_default();
            if message["id"] == id {
                return Ok(Answer {
                    result: message["result"].clone(),
                    micros: begun.elapsed().as_micros(),
                });
            }
        }
    }

    /// Closes the pipe and waits for the process to end by itself.
    fn close(mut self) -> Result<(), Failure> {
        drop(self.input);
        self.child.wait().map(drop).map_err(|error| broken(&error))
    }
}

fn broken(error: &std::io::Error) -> Failure {
    Failure::new(
        Code::ServerConnectionError,
        format!("the demo cannot talk to its own server: {error}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_as_wide_as_the_screen_and_breaks_where_it_can() {
        let check = |json: &str, columns, expected: &[&str]| {
            assert_eq!(spread("> ", json, columns), expected);
        };
        check(r#"{"a":1}"#, Some(40), &[r#"> {"a":1}"#]);
        check(
            r#"{"a":1,"b":"two words"}"#,
            None,
            &[r#"> {"a":1,"b":"two words"}"#],
        );
        check(
            r#"{"a":"twelve","b":"two words"}"#,
            Some(20),
            &[r#"> {"a":"twelve","#, r#"    "b":"two words"}"#],
        );
        check(
            "01234567890123456789",
            Some(1),
            &["> 0123456789012345", "    6789"],
        );
        let long = spread("> ", &"0123456789".repeat(70), Some(100));
        assert!(
            long.iter().all(|line| line.chars().count() <= 100),
            "{long:?}"
        );
        assert!(long.last().unwrap().ends_with("9… (700 characters)"));
        assert!(long.concat().len() > SHOWN_CHARS);
    }
}
