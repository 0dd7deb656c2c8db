//! Clients of other people at the door: the official inspector lists and calls, the official Python and
//! TypeScript clients run a whole errand between two real servers, over stdio and HTTP, in both eras.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::args::Args;
use crate::peers::{Peers, pins};
use crate::served::{self, Build, Served};
use crate::{process, ui, workspace};

/// What the documents say such an errand costs; it must stay below.
const ERRAND_TOKENS_MAX: usize = 1_600;
const TEXT: &str = "The gate of the north yard opens at seven.";
const FIVE: [&str; 5] = [
    "list_mcp_servers",
    "search_tools",
    "list_tools",
    "get_tool_details",
    "execute_tool",
];

/// `cargo xtask flows`
pub(crate) fn run(args: &mut Args) -> Result<()> {
    let build = Build::named(args);
    args.finish()?;
    ui::line(&check(build)?);
    Ok(())
}

/// Lets every client in by both doors; gives the figures.
pub(crate) fn check(build: Build) -> Result<String> {
    let clients = Peers::install("clients")?;
    let servers = Peers::install("servers-few")?;
    build.make()?;
    let place = workspace::scratch().join("served/flows-files");
    std::fs::create_dir_all(&place)?;
    std::fs::write(place.join("note.txt"), TEXT)?;
    let memory = place.join("memory.jsonl");
    let _ = std::fs::remove_file(&memory);
    let config = configuration(&servers, &place, &memory);
    let served = Served::start(build, "flows", &config)?;
    let doors = [
        vec![served.url("/mcp")],
        ["toolcrib", "serve", "--stdio"].map(str::to_owned).to_vec(),
    ];
    let mut here = Here {
        build,
        home: served::home("flows-stdio", &config)?,
        clients,
        file: place.join("note.txt"),
        memory,
        costs: Vec::new(),
        inspected: 0,
    };
    for door in doors {
        for era in ["legacy", "modern"] {
            here.inspect(&door, era)?;
            here.errand("python", &door, era)?;
        }
        // The released TypeScript client speaks the era of the handshake.
        here.errand("typescript", &door, "legacy")?;
    }
    here.verdict()
}

/// Two real servers under the policy that holds by default.
fn configuration(servers: &Peers, place: &Path, memory: &Path) -> String {
    json!({ "mcpServers": {
        "filesystem": {
            "command": servers.npm_program("mcp-server-filesystem"),
            "args": [place],
        },
        "memory": {
            "command": servers.npm_program("mcp-server-memory"),
            "env": { "MEMORY_FILE_PATH": memory },
        },
    } })
    .to_string()
}

/// One line of an errand.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Tools { tools: Vec<Value> },
    Call { said: Value, heard: String },
}

impl Line {
    fn tokens(&self) -> usize {
        let count = |text: &str| bpe_openai::o200k_base().count(text);
        match self {
            Self::Tools { tools } => count(&json!(tools).to_string()),
            Self::Call { said, heard } => count(&said.to_string()) + count(heard),
        }
    }
}

/// Where the clients run.
struct Here {
    build: Build,
    home: PathBuf,
    clients: Peers,
    file: PathBuf,
    memory: PathBuf,
    costs: Vec<usize>,
    inspected: usize,
}

impl Here {
    /// A client that sees its own home, and the program where it starts one.
    fn client(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let built = self.build.program("toolcrib");
        let mut path = vec![built.parent().unwrap_or(&built).to_owned()];
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        path.extend(std::env::split_paths(&inherited));
        command
            .current_dir(&self.home)
            .env_clear()
            .env("HOME", &self.home)
            .env("PATH", std::env::join_paths(path).unwrap_or(inherited));
        command
    }

    /// The official inspector lists the tools and calls one.
    fn inspect(&mut self, door: &[String], era: &str) -> Result<()> {
        let ask = |arguments: &[&str]| -> Result<Value> {
            let mut command = self.client(&self.clients.node());
            command.arg(self.clients.npm_program("mcp-inspector"));
            command.args([
                "--cli",
                "--quiet",
                "--format",
                "json",
                "--protocol-era",
                era,
            ]);
            command.args(arguments).arg("--").args(door);
            ui::line(&format!(
                "inspector, {era}, {}: {}",
                door[0],
                arguments.join(" ")
            ));
            let said = process::output(&mut command)?;
            serde_json::from_str(&said).with_context(|| format!("the inspector said {said}"))
        };
        let listed = ask(&["--method", "tools/list"])?;
        let listed = found(&listed, "tools").context("the inspector lists nothing")?;
        let names: Vec<&str> = names(listed).collect();
        ensure!(names == FIVE, "the inspector lists {names:?}");
        let query = r#"{"query":"read the text of a file"}"#;
        let called = ["--tool-name", "search_tools", "--tool-args-json", query];
        let told = ask(&[&["--method", "tools/call"], &called[..]].concat())?;
        let text = found(&told, "content").and_then(|content| content[0]["text"].as_str());
        let text = text.with_context(|| format!("the inspector is told {told}"))?;
        let hits: Value = serde_json::from_str(text)?;
        let best = &hits["results"][0]["tool"];
        ensure!(best == "read_text_file", "the inspector is told {hits}");
        self.inspected += 1;
        Ok(())
    }

    /// A client reads the file and writes what it says into the knowledge graph.
    fn errand(&mut self, client: &str, door: &[String], era: &str) -> Result<()> {
        let name = format!("{client}-{era}-{}", self.costs.len());
        let mut command = if client == "python" {
            let mut python = self.client(&self.clients.python());
            python.arg(pins("clients").join("flow.py")).arg(era);
            python
        } else {
            // A module finds packages from where it lies itself.
            let script = self.clients.module("../flow.mjs");
            std::fs::copy(pins("clients").join("flow.mjs"), &script)?;
            let mut node = self.client(&self.clients.node());
            node.arg(script);
            node
        };
        command.arg(&self.file).arg(&name).args(door);
        ui::line(&format!("{client}, {era}, {}", door[0]));
        let said = process::output(&mut command)?;
        let lines = said.lines().map(serde_json::from_str);
        let lines: Vec<Line> = lines.collect::<Result<_, _>>()?;
        ensure!(
            lines.len() == 7,
            "an errand is the list and six calls: {said}"
        );
        if let Line::Tools { tools } = &lines[0] {
            let names: Vec<&str> = names(tools).collect();
            ensure!(names == FIVE, "{client} lists {names:?}");
        }
        let kept = std::fs::read_to_string(&self.memory).context("nothing was remembered")?;
        let written = |line: &str| line.contains(&name) && line.contains(TEXT);
        ensure!(kept.lines().any(written), "{name} is not in {kept}");
        let cost = lines.iter().map(Line::tokens).sum();
        ui::line(&format!("  {cost} tokens, the five definitions included"));
        self.costs.push(cost);
        Ok(())
    }

    fn verdict(&self) -> Result<String> {
        let most = self.costs.iter().max().copied().unwrap_or_default();
        if most >= ERRAND_TOKENS_MAX {
            bail!("an errand costs {most} tokens; it must stay below {ERRAND_TOKENS_MAX}");
        }
        Ok(format!(
            "the inspector by {} ways, {} errands between two real servers for at most {most} tokens each",
            self.inspected,
            self.costs.len()
        ))
    }
}

fn names(tools: &[Value]) -> impl Iterator<Item = &str> {
    tools.iter().filter_map(|tool| tool["name"].as_str())
}

/// A list of an answer, as it is or as the `result` of an envelope.
fn found<'a>(answer: &'a Value, name: &str) -> Option<&'a Vec<Value>> {
    let inner = answer.get(name).or_else(|| answer["result"].get(name));
    inner.and_then(Value::as_array)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_and_both_sides_of_a_call_cost_tokens() {
        let read = |text: &str| serde_json::from_str::<Line>(text).unwrap().tokens();
        assert!(read(r#"{"tools":[{"name":"search_tools"}]}"#) > 3);
        let asked = read(r#"{"said":{"name":"a"},"heard":""}"#);
        let answered = read(r#"{"said":{"name":"a"},"heard":"one two three"}"#);
        assert_eq!(answered - asked, 3);
    }

    #[test]
    fn lists_are_found_in_and_out_of_an_envelope() {
        for answer in [json!({"tools": [1]}), json!({"result": {"tools": [1]}})] {
            assert_eq!(found(&answer, "tools").unwrap().len(), 1);
        }
        assert!(found(&json!({}), "tools").is_none());
    }
}
