//! Every real tool as a capability file, in both dialects: what is written reads back equal, and a
//! grammar that shares no code with the writer accepts it.

mod grammar;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use toolcrib_core::catalog::Inference;
use toolcrib_core::rtfs::{Capability, Dialect};
use toolcrib_core::{CapabilityManifest, Tool, ToolId};

use crate::{ui, workspace};

/// `cargo xtask eval capabilities`
pub(crate) fn run(args: &[String]) -> Result<()> {
    if let Some(unknown) = args.first() {
        bail!("the capability files take no arguments, but `{unknown}` was given");
    }
    let Some(shared) = workspace::shared() else {
        ui::line("no shared data beside the workspace: capability files are not written here");
        return Ok(());
    };
    let servers = real(&shared.join("data/mcp-tools"))?;
    let (mut tools, mut wrong) = (0, Vec::new());
    for manifest in servers.values().flatten() {
        tools += 1;
        for dialect in [Dialect::Document, Dialect::Ccos] {
            let text = manifest.to_text(dialect);
            if let Err(why) = judged(&text, &manifest.capability(), dialect) {
                wrong.push(format!("{} {why} ({dialect:?})", manifest.id));
            }
        }
    }
    ui::line(&format!(
        "{tools} tools written in 2 dialects, {} wrong",
        wrong.len()
    ));
    match wrong.first() {
        Some(first) => bail!("{first}, and {} more", wrong.len() - 1),
        None if tools == 0 => bail!("no tool was found"),
        None => exported(&servers),
    }
}

/// Whether a text reads back equal and is of the grammar.
fn judged(text: &str, expected: &Capability, dialect: Dialect) -> Result<(), String> {
    if Capability::parse(text, dialect).as_ref() != Ok(expected) {
        return Err("does not read back equal".to_owned());
    }
    let accepted = match dialect {
        Dialect::Document => grammar::document(text),
        Dialect::Ccos => grammar::ccos(text),
    };
    accepted.map_err(|at| format!("is not of the grammar: {at}"))
}

/// The manifests of every recorded server, by its name.
fn real(folder: &Path) -> Result<BTreeMap<String, Vec<CapabilityManifest>>> {
    let known = Inference::default();
    let mut files: Vec<_> = std::fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<_>>()?;
    files.retain(|path| path.extension().is_some_and(|e| e == "json"));
    files.sort();
    let mut servers: BTreeMap<String, Vec<CapabilityManifest>> = BTreeMap::new();
    for path in files {
        let list: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
        let server = list["server"].as_str().context("a list without `server`")?;
        let manifests = servers.entry(server.to_owned()).or_default();
        for tool in list["tools"].as_array().into_iter().flatten() {
            let text = |field: &str| tool[field].as_str().unwrap_or_default().to_owned();
            let id = ToolId::new(server, text("name"));
            let mut read = Tool::new(id, text("description"), tool["inputSchema"].clone());
            read.output_schema = tool.get("outputSchema").cloned().map(Into::into);
            let manifest = CapabilityManifest::new(&read, format!("stdio:{server}"));
            manifests.push(manifest.with_inferred_domains_and_categories(server, &known));
        }
    }
    Ok(servers)
}

/// Exports all of them with the program itself, from a configuration that declares them, and reads
/// every file.
fn exported(servers: &BTreeMap<String, Vec<CapabilityManifest>>) -> Result<()> {
    let program = workspace::target().join("debug/toolcrib");
    if !program.is_file() {
        ui::line("target/debug/toolcrib is not built: no files are exported");
        return Ok(());
    }
    let home = tempfile::tempdir()?;
    let entry = |(name, manifests): (&String, &Vec<CapabilityManifest>)| {
        let tools = manifests.iter().map(|manifest| {
            json!({
                "name": manifest.provider.tool_name,
                "description": manifest.description,
                "inputSchema": manifest.input_schema,
            })
        });
        let tools: Vec<Value> = tools.collect();
        (
            name.clone(),
            json!({ "command": "nothing", "tools": tools }),
        )
    };
    let entries: serde_json::Map<String, Value> = servers.iter().map(entry).collect();
    let config = home.path().join("toolcrib.json");
    std::fs::write(&config, json!({ "servers": entries }).to_string())?;
    for (word, dialect) in [("doc", Dialect::Document), ("ccos", Dialect::Ccos)] {
        let directory = home.path().join(word);
        let output = Command::new(&program)
            .args(["export-rtfs", "--json", "--dialect", word, "--config"])
            .arg(&config)
            .arg("--dir")
            .arg(&directory)
            .env_clear()
            .env("HOME", home.path())
            .current_dir(home.path())
            .output()?;
        if !output.status.success() {
            bail!("export failed: {}", String::from_utf8_lossy(&output.stderr));
        }
        let said: Value = serde_json::from_slice(&output.stdout)?;
        let count = count(&said, dialect)?;
        let distinct: usize = servers
            .values()
            .map(|manifests| {
                let names = manifests.iter().map(|m| &m.provider.tool_name);
                names.collect::<std::collections::BTreeSet<_>>().len()
            })
            .sum();
        ui::line(&format!("{count} files exported as {word}"));
        if count != distinct {
            bail!("{distinct} files were expected");
        }
    }
    Ok(())
}

/// How many files an export names, each of which must be of the grammar.
fn count(said: &Value, dialect: Dialect) -> Result<usize> {
    let mut paths = std::collections::BTreeSet::new();
    for server in said["servers"].as_array().into_iter().flatten() {
        for path in server["files"].as_array().into_iter().flatten() {
            let path = path.as_str().context("a file without a path")?;
            let text = std::fs::read_to_string(path)?;
            let read = Capability::parse(&text, dialect)
                .map_err(|error| anyhow::anyhow!("{path} does not read: {error}"))?;
            judged(&text, &read, dialect).map_err(|why| anyhow::anyhow!("{path} {why}"))?;
            paths.insert(path.to_lowercase());
        }
    }
    Ok(paths.len())
}
