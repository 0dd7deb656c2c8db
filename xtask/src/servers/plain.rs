//! A server asked with nothing in between: JSON-RPC on its standard input and output, line by line.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::Start;

/// How long a server may take for one answer.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long a server that may know nothing of the modern era is waited for.
const PROBE: Duration = Duration::from_secs(30);
pub(super) const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";

/// What a server said.
pub(super) struct Plain {
    pub(super) revision: String,
    pub(super) tools: Vec<Box<RawValue>>,
}

/// Asks a server in the modern way first, in the older one where it refuses.
pub(super) fn ask(start: &Start, home: &Path) -> Result<Plain> {
    let meta = json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "plain", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }});
    let mut wire = Wire::open(start, home)?;
    if let Ok(found) = wire.ask("server/discover", &meta, PROBE) {
        let found: Value = serde_json::from_str(found.get())?;
        let versions = found["supportedVersions"].as_array();
        if versions.is_some_and(|versions| versions.iter().any(|version| version == MODERN)) {
            return Ok(Plain {
                revision: MODERN.to_owned(),
                tools: wire.tools(&meta)?,
            });
        }
    }
    drop(wire);
    let mut wire = Wire::open(start, home)?;
    let hello = json!({
        "protocolVersion": LEGACY, "capabilities": {},
        "clientInfo": {"name": "plain", "version": "1"},
    });
    let answer = wire.ask("initialize", &hello, PATIENCE)?;
    let answer: Value = serde_json::from_str(answer.get())?;
    wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
    Ok(Plain {
        revision: answer["protocolVersion"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        tools: wire.tools(&json!({}))?,
    })
}

/// As much of an answer as is looked at; the result stays the text that it was.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    id: Value,
    result: Option<Box<RawValue>>,
    error: Option<Value>,
}

/// One page of `tools/list`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    tools: Vec<Box<RawValue>>,
    next_cursor: Option<String>,
}

/// The two ends of a running server. It is ended when this is dropped.
struct Wire {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    asked: u64,
}

impl Wire {
    fn open(start: &Start, home: &Path) -> Result<Self> {
        let mut child = start
            .command(home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("it cannot be started")?;
        let input = child.stdin.take().context("it has no input")?;
        let output = child.stdout.take().context("it has no output")?;
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            child,
            input,
            lines,
            asked: 0,
        })
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        self.input.write_all(format!("{message}\n").as_bytes())?;
        Ok(self.input.flush()?)
    }

    fn ask(&mut self, method: &str, params: &Value, patience: Duration) -> Result<Box<RawValue>> {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        let until = Instant::now() + patience;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).context("no answer came")?;
            let Ok(answer) = serde_json::from_str::<Answer>(&line) else {
                continue;
            };
            if answer.id != id {
                continue;
            }
            match answer.result {
                Some(result) => return Ok(result),
                None => bail!("it refused: {}", answer.error.unwrap_or_default()),
            }
        }
    }

    fn tools(&mut self, params: &Value) -> Result<Vec<Box<RawValue>>> {
        let mut tools = Vec::new();
        let mut params = params.clone();
        loop {
            let page = self.ask("tools/list", &params, PATIENCE)?;
            let page: Page = serde_json::from_str(page.get())?;
            tools.extend(page.tools);
            match page.next_cursor {
                Some(cursor) if !cursor.is_empty() => params["cursor"] = json!(cursor),
                _ => return Ok(tools),
            }
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
