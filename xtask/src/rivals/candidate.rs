//! Who is measured: how each is installed, started before the same servers, and asked to run the same tool.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use crate::served::{Build, SETTINGS};
use crate::{process, trained, workspace};

/// The release of `mcp-gateway` that is measured; the Python ones are pinned in `testkit/peers/rivals`.
const MCP_GATEWAY: &str = "2.19.0";

/// A program that stands between an agent and its servers.
pub(crate) struct Candidate {
    pub(crate) name: &'static str,
    /// What it does, for a reader of the table.
    pub(crate) about: &'static str,
    /// Whether the agent can list, describe and run every tool through a surface that does not grow with them.
    pub(crate) compact: bool,
    /// Whether it has a search of its own for tools.
    pub(crate) searches: bool,
    /// Why it is ahead where it is, as far as that is known.
    ahead: Option<&'static str>,
    /// How it is started before these servers on this port; files go into the directory.
    start: fn(&Start<'_>) -> Result<Command>,
    /// The call that runs a tool of a server behind it.
    pub(crate) call: fn(server: &str, tool: &str, arguments: &Value) -> (String, Value),
}

/// A server behind the candidate.
#[derive(Clone, Debug)]
pub(crate) struct Behind {
    pub(crate) name: String,
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
}

/// What a candidate is started with.
pub(crate) struct Start<'a> {
    pub(crate) home: &'a Path,
    pub(crate) port: u16,
    pub(crate) behind: &'a [Behind],
}

impl Start<'_> {
    /// The servers as most clients write them.
    fn servers(&self) -> Value {
        let servers: Map<String, Value> = self
            .behind
            .iter()
            .map(|server| {
                let entry = json!({"command": server.program, "args": server.args});
                (server.name.clone(), entry)
            })
            .collect();
        Value::Object(servers)
    }

    fn put(&self, name: &str, value: &Value) -> Result<PathBuf> {
        let path = self.home.join(name);
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory)?;
        }
        std::fs::write(&path, value.to_string())?;
        Ok(path)
    }
}

impl Candidate {
    /// The command that starts it, in a home of its own.
    pub(crate) fn command(&self, start: &Start<'_>) -> Result<Command> {
        let mut command = (self.start)(start)?;
        command
            .current_dir(start.home)
            .env("HOME", start.home)
            .env("XDG_RUNTIME_DIR", start.home);
        Ok(command)
    }
}

/// Everyone, ourselves first.
pub(crate) const CANDIDATES: &[Candidate] = &[
    Candidate {
        name: "toolcrib",
        about: "this project: finds, describes, runs; policy, audit on disk",
        compact: true,
        searches: true,
        ahead: None,
        start: toolcrib,
        call: |server, tool, arguments| {
            let call = json!({"server": server, "tool": tool, "arguments": arguments});
            ("execute_tool".into(), call)
        },
    },
    Candidate {
        name: "mcp-gateway",
        about: "finds, describes, runs",
        compact: true,
        searches: true,
        ahead: Some(
            "it writes no record of a call to disk, where ours waits for the disk before each call",
        ),
        start: mcp_gateway,
        call: |server, tool, arguments| {
            let call = json!({"server": server, "tool": tool, "arguments": arguments});
            ("gateway_invoke".into(), call)
        },
    },
    Candidate {
        name: "lazy-mcp",
        about: "lists, describes, runs",
        compact: true,
        searches: false,
        ahead: Some("it decides nothing about a call and writes none down"),
        start: lazy_mcp,
        call: |server, tool, arguments| {
            let call = json!({"server": server, "command_name": tool, "parameters": arguments});
            ("invoke_command".into(), call)
        },
    },
    Candidate {
        name: "mcp-compressor",
        about: "lists every tool in a line, describes, runs",
        compact: false,
        searches: false,
        ahead: None,
        start: mcp_compressor,
        call: |_, tool, arguments| {
            let call = json!({"tool_name": tool, "tool_input": arguments});
            ("invoke_tool".into(), call)
        },
    },
    Candidate {
        name: "fastmcp",
        about: "passes everything on",
        compact: false,
        searches: false,
        ahead: None,
        start: fastmcp,
        call: |_, tool, arguments| (tool.to_owned(), arguments.clone()),
    },
    Candidate {
        name: "fastmcp search",
        about: "the same with its tool search: finds, runs",
        compact: true,
        searches: true,
        ahead: Some("it shows two tools, to find and to run, and none that lists or describes"),
        start: fastmcp_search,
        call: |_, tool, arguments| {
            let call = json!({"name": tool, "arguments": arguments});
            ("call_tool".into(), call)
        },
    },
    Candidate {
        name: "mcp-proxy",
        about: "passes one server on",
        compact: false,
        searches: false,
        ahead: Some("it passes one server on, decides nothing about a call and writes none down"),
        start: mcp_proxy,
        call: |_, tool, arguments| (tool.to_owned(), arguments.clone()),
    },
];

/// Why a candidate is ahead where it is, as far as that is known.
pub(crate) fn why_ahead(name: &str) -> Option<&'static str> {
    CANDIDATES.iter().find(|one| one.name == name)?.ahead
}

/// Where the others are installed.
fn place() -> PathBuf {
    workspace::target().join("peers/rivals")
}

/// A program of the optimised build.
pub(crate) fn built(name: &str) -> PathBuf {
    workspace::target()
        .join("ci")
        .join(name)
        .with_extension(std::env::consts::EXE_EXTENSION)
}

pub(crate) fn python(name: &str) -> PathBuf {
    place().join("python/bin").join(name)
}

/// The program as a package holds it, which is how the others are measured as well.
pub(crate) fn shipped() -> PathBuf {
    Build::Shipped.program("toolcrib")
}

/// Builds the program as it is packaged.
pub(crate) fn install_shipped() -> Result<()> {
    trained::build().map(drop)
}

/// Builds what is ours.
pub(crate) fn install_own() -> Result<()> {
    process::run(process::cargo().args([
        "build",
        "--locked",
        "--profile",
        "ci",
        "-p",
        "toolcrib",
        "-p",
        "toolcrib-testkit",
        "--bins",
    ]))
}

/// Installs what is not ours, unless it is there.
pub(crate) fn install() -> Result<()> {
    let root = place().join("mcp-gateway");
    if !root.join("bin").is_dir() {
        process::run(
            process::cargo()
                .args([
                    "install",
                    "mcp-gateway",
                    "--locked",
                    "--version",
                    MCP_GATEWAY,
                ])
                .arg("--root")
                .arg(&root)
                // Its artefacts are of no use to us, and ours of none to it.
                .env("CARGO_TARGET_DIR", place().join("build")),
        )?;
        std::fs::remove_dir_all(place().join("build")).context("cannot clean up after it")?;
    }
    if !python("lazy-mcp").is_file() {
        let venv = place().join("python");
        process::run(process::program("python3").args(["-m", "venv"]).arg(&venv))?;
        let requirements = workspace::root().join("testkit/peers/rivals/requirements.txt");
        process::run(
            process::program(python("pip"))
                .args(["install", "--quiet", "--requirement"])
                .arg(requirements),
        )?;
    }
    Ok(())
}

/// What a candidate says its release is.
pub(crate) fn release(name: &str) -> Result<String> {
    // Two rows of one package share the first word.
    let name = name.split(' ').next().unwrap_or(name);
    if name == "mcp-gateway" {
        return Ok(MCP_GATEWAY.to_owned());
    }
    if name == "toolcrib" {
        return own_release();
    }
    let requirements = workspace::root().join("testkit/peers/rivals/requirements.txt");
    let text = std::fs::read_to_string(requirements)?;
    let line = text
        .lines()
        .find_map(|line| line.split_once("==").filter(|(of, _)| *of == name));
    let (_, release) = line.with_context(|| format!("{name} is not pinned"))?;
    Ok(release.trim().to_owned())
}

/// The release that the workspace gives all its crates.
fn own_release() -> Result<String> {
    let text = std::fs::read_to_string(workspace::root().join("Cargo.toml"))?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("version = \""))
        .context("the workspace has no version")?;
    Ok(line.trim_end_matches('"').to_owned())
}

fn toolcrib(start: &Start<'_>) -> Result<Command> {
    // The bounds on how often a caller may call are lifted, as the others have none.
    let often = json!({"requests": 1_000_000});
    let config = json!({
        "servers": start.servers(),
        "policy": {"rateLimits": {"perServer": often, "perPrincipal": often}},
    });
    start.put(&format!("{SETTINGS}/toolcrib.json"), &config)?;
    let mut command = Command::new(shipped());
    command
        .arg("serve")
        .arg("--listen")
        .arg(format!("127.0.0.1:{}", start.port));
    Ok(command)
}

fn mcp_gateway(start: &Start<'_>) -> Result<Command> {
    let backends: Map<String, Value> = start
        .behind
        .iter()
        .map(|server| {
            let words = std::iter::once(server.program.to_string_lossy().into_owned())
                .chain(server.args.iter().cloned());
            let line = words.collect::<Vec<_>>().join(" ");
            (
                server.name.clone(),
                json!({"command": line, "description": server.name}),
            )
        })
        .collect();
    // As with ours, the bound on how often a caller may call is lifted.
    let config = json!({
        "server": {"host": "127.0.0.1", "port": start.port},
        "meta_mcp": {"enabled": true},
        "failsafe": {"rate_limit": {"enabled": false}},
        "backends": backends,
    });
    // JSON is YAML.
    let path = start.put("gateway.yaml", &config)?;
    let mut command = Command::new(place().join("mcp-gateway/bin/mcp-gateway"));
    command.arg("--config").arg(path).arg("serve");
    Ok(command)
}

fn lazy_mcp(start: &Start<'_>) -> Result<Command> {
    let servers: Vec<Value> = start
        .behind
        .iter()
        .map(|server| {
            let words = std::iter::once(json!(server.program));
            let command: Vec<Value> = words
                .chain(server.args.iter().map(|arg| json!(arg)))
                .collect();
            json!({"name": server.name, "description": server.name, "command": command})
        })
        .collect();
    let path = start.put("servers.json", &json!({ "servers": servers }))?;
    let mut command = Command::new(python("lazy-mcp"));
    command
        .args(["--transport", "http", "--port"])
        .arg(start.port.to_string())
        .arg("--config")
        .arg(path);
    Ok(command)
}

fn mcp_compressor(start: &Start<'_>) -> Result<Command> {
    let path = start.put("servers.json", &json!({ "mcpServers": start.servers() }))?;
    let mut command = Command::new(python("mcp-compressor"));
    command
        .args(["--transport", "streamable-http", "--port"])
        .arg(start.port.to_string())
        .arg("--config")
        .arg(path);
    Ok(command)
}

fn fastmcp(start: &Start<'_>) -> Result<Command> {
    let path = start.put("servers.json", &json!({ "mcpServers": start.servers() }))?;
    let mut command = Command::new(python("fastmcp"));
    command
        .arg("run")
        .arg(path)
        .args(["--transport", "http", "--port"])
        .arg(start.port.to_string())
        .args(["--no-banner", "--log-level", "ERROR"]);
    Ok(command)
}

fn fastmcp_search(start: &Start<'_>) -> Result<Command> {
    let path = start.put("servers.json", &json!({ "mcpServers": start.servers() }))?;
    let mut command = Command::new(python("python"));
    command
        .arg(workspace::root().join("testkit/peers/rivals/searching.py"))
        .arg(path)
        .arg(start.port.to_string());
    Ok(command)
}

fn mcp_proxy(start: &Start<'_>) -> Result<Command> {
    let only = start.behind.first().context("there is no server")?;
    let mut command = Command::new(python("mcp-proxy"));
    command
        .args(["--log-level", "ERROR", "--port"])
        .arg(start.port.to_string())
        .arg("--")
        .arg(&only.program)
        .args(&only.args);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_release_is_that_of_the_workspace() {
        let release = own_release().unwrap();
        assert_eq!(release.split('.').count(), 3, "{release}");
        assert_ne!(
            release,
            env!("CARGO_PKG_VERSION"),
            "not that of this program"
        );
    }
}
