//! Asks real servers for their tools twice, in plain JSON-RPC and through discovery, and says for each
//! whether both gave the same. `cargo xtask servers` runs it.
//!
//! Takes a configuration file in JSON and a directory for what discovery keeps; prints one line of JSON
//! for each server.

use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use toolcrib::engine::clock::Clock;
use toolcrib::engine::connections::{Connections, Users};
use toolcrib::engine::upstream::{List, Listed, Upstream, Wish};
use toolcrib_config::load::{self, Request};
use toolcrib_config::surroundings::{Os, Surroundings};
use toolcrib_config::trust::TrustStore;

/// How long a server may take for one answer.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long a server that may know nothing of the modern era is waited for.
const PROBE: Duration = Duration::from_secs(10);
const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// The file that names the servers, as far as the plain exchange needs it.
#[derive(Deserialize)]
struct File {
    servers: IndexMap<String, Started>,
}

/// How a server is started.
#[derive(Deserialize)]
struct Started {
    command: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: IndexMap<String, String>,
}

/// What a server said in plain JSON-RPC.
struct Plain {
    version: String,
    tools: Vec<Box<RawValue>>,
}

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    if let Some(code) = toolcrib_upstream::mcp::launcher::run_if_launcher(&args) {
        return code;
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
    let (Some(file), Some(kept)) = (args.get(1), args.get(2)) else {
        anstream::eprintln!("usage: servers FILE DIRECTORY");
        return ExitCode::FAILURE;
    };
    match runtime.block_on(compare(Path::new(file), Path::new(kept))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            anstream::eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn compare(file: &Path, kept: &Path) -> Outcome<()> {
    let named: File = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    let surroundings = Surroundings::new(Os::current(), kept, kept, |_| None);
    let config = load::load(&Request {
        surroundings: &surroundings,
        explicit: Some(file.to_owned()),
        trust: &TrustStore::default(),
    });
    let config = config.map_err(|failure| format!("{:?}", failure.diagnostics))?;
    let connections = Connections::new(Users::One, surroundings, None, Clock::system())?;
    connections.configure(&Arc::new(config));
    for (name, started) in &named.servers {
        let line = match both(&connections, name, started).await {
            Ok(line) => line,
            Err(error) => json!({"server": name, "error": error.to_string()}),
        };
        anstream::println!("{line}");
    }
    connections.close().await;
    Ok(())
}

/// Asks one server in both ways.
async fn both(connections: &Connections, name: &str, started: &Started) -> Outcome<Value> {
    let plain = plainly(started).await?;
    let begun = Instant::now();
    let listed = connections.list(name, Wish::Anew).await?;
    let took = begun.elapsed();
    let status = connections.pool().status(name);
    let version = status
        .and_then(|status| status.version)
        .ok_or("discovery left no connection")?;
    let again = connections.kept(name).await.ok_or("its list is not kept")?;
    connections.pool().disconnect(name);
    let (found, again) = (texts(&listed), texts(&again));
    let said: Vec<&str> = plain.tools.iter().map(|tool| tool.get()).collect();
    Ok(json!({
        "server": name,
        "revision": version,
        "tools": found.len(),
        "same": found == said && again == said && version == plain.version,
        "startMs": u64::try_from(took.as_millis())?,
        "said": said.len(),
        "saidRevision": plain.version,
    }))
}

fn texts(listed: &Listed) -> Vec<&str> {
    match &listed.list {
        List::Definitions(items) => items.iter().map(|item| item.get()).collect(),
        List::Operations(operations) => operations
            .iter()
            .map(|offer| offer.definition.get())
            .collect(),
    }
}

/// Asks a server with nothing in between: in the modern way first, in the older one where it refuses.
async fn plainly(started: &Started) -> Outcome<Plain> {
    let meta = json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "plain", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }});
    let mut wire = Wire::open(started)?;
    let asked = tokio::time::timeout(PROBE, wire.ask("server/discover", &meta)).await;
    if let Ok(Ok(found)) = asked {
        let found: Value = serde_json::from_str(found.get())?;
        let versions = found["supportedVersions"].as_array();
        if versions.is_some_and(|versions| versions.iter().any(|version| version == MODERN)) {
            let tools = wire.tools(&meta).await?;
            return Ok(Plain {
                version: MODERN.to_owned(),
                tools,
            });
        }
    }
    let mut wire = Wire::open(started)?;
    let hello = json!({
        "protocolVersion": LEGACY, "capabilities": {},
        "clientInfo": {"name": "plain", "version": "1"},
    });
    let answer = wire.ask("initialize", &hello).await?;
    let answer: Value = serde_json::from_str(answer.get())?;
    wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .await?;
    let version = answer["protocolVersion"].as_str().unwrap_or_default();
    Ok(Plain {
        version: version.to_owned(),
        tools: wire.tools(&json!({})).await?,
    })
}

/// A server's standard input and output, line by line. Ended when dropped.
struct Wire {
    _child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    asked: u64,
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

impl Wire {
    fn open(started: &Started) -> Outcome<Self> {
        let mut command = Command::new(&started.command);
        command.args(&started.args).env_clear();
        for name in ["PATH", "HOME", "TMPDIR", "LANG"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        let mut child = command
            .envs(&started.env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let input = child.stdin.take().ok_or("no input")?;
        let output = child.stdout.take().ok_or("no output")?;
        Ok(Self {
            _child: child,
            input,
            output: BufReader::new(output).lines(),
            asked: 0,
        })
    }

    async fn send(&mut self, message: &Value) -> Outcome<()> {
        self.input
            .write_all(format!("{message}\n").as_bytes())
            .await?;
        Ok(self.input.flush().await?)
    }

    async fn ask(&mut self, method: &str, params: &Value) -> Outcome<Box<RawValue>> {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await?;
        loop {
            let line = tokio::time::timeout(PATIENCE, self.output.next_line()).await??;
            let line = line.ok_or("it ended without an answer")?;
            let Ok(answer) = serde_json::from_str::<Answer>(&line) else {
                continue;
            };
            if answer.id == id {
                let refused = || answer.error.clone().unwrap_or_default().to_string();
                return Ok(answer.result.ok_or_else(refused)?);
            }
        }
    }

    async fn tools(&mut self, params: &Value) -> Outcome<Vec<Box<RawValue>>> {
        let mut tools = Vec::new();
        let mut params = params.clone();
        loop {
            let page = self.ask("tools/list", &params).await?;
            let page: Page = serde_json::from_str(page.get())?;
            tools.extend(page.tools);
            match page.next_cursor {
                Some(cursor) if !cursor.is_empty() => params["cursor"] = json!(cursor),
                _ => return Ok(tools),
            }
        }
    }
}
