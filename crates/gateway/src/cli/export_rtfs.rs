//! `toolcrib export-rtfs`: the tools of servers as capability files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};
use toolcrib_config::model::Server;
use toolcrib_core::CapabilityManifest;
use toolcrib_core::capability::Output;
use toolcrib_core::policy::Approval;
use toolcrib_core::{Code, nearest};

use super::Context;
use super::counter::{local, refused, with_engine};
use super::introspect::pending;
use super::rtfs::Dialect;
use crate::capability::market::Shelf;
use crate::capability::trial::{self, AtCounter};
use crate::capability::{files, server_url};
use crate::engine::Engine;
use crate::engine::ask::Listing;
use crate::engine::snapshot::Entry;
use crate::failure::Failure;
use crate::ui::Line;

/// Write the tools of servers as RTFS files, one for each tool
///
/// Files go to DIR/SERVER/TOOL.rtfs. The same tools always give the same bytes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib export-rtfs                             every server, for review
  toolcrib export-rtfs github --dir out --dialect ccos
  toolcrib export-rtfs github --introspect-outputs learns what its reading tools answer")]
pub struct ExportRtfs {
    /// The servers; all that are switched on unless given
    #[arg(value_name = "SERVER")]
    servers: Vec<String>,
    /// Where the files go [default: capabilities/servers/pending]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// How they are written
    #[arg(long, value_enum, default_value = "doc")]
    dialect: Dialect,
    /// Run approved tools that only read once, to learn what they answer
    #[arg(long)]
    introspect_outputs: bool,
}

/// What was written of one server.
struct Exported {
    server: String,
    files: Vec<PathBuf>,
    learnt: usize,
    untaught: Vec<(String, String)>,
}

impl ExportRtfs {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        with_engine(context, async |context, engine| {
            let config = engine.config();
            let directory = pending(context, &config, self.dir.as_deref());
            let (mut exported, mut failed) = (Vec::new(), Vec::new());
            for server in chosen(&config.servers, &self.servers)? {
                match self.export(engine, &server, &directory).await {
                    Ok(one) => exported.push(one),
                    Err(failure) => failed.push((server.name, failure)),
                }
            }
            tell(context, &directory, &exported, failed)
        })
    }

    async fn export(
        &self,
        engine: &Arc<Engine>,
        server: &Server,
        directory: &Path,
    ) -> Result<Exported, Failure> {
        let listing = Listing {
            server: server.name.clone(),
            ..Listing::default()
        };
        let caller = local(engine);
        engine.list_tools(&caller, listing).await.map_err(refused)?;
        let snapshot = engine.snapshot();
        let rack = snapshot
            .racks()
            .find(|rack| *rack.supplier.name == *server.name);
        let entries: Vec<Arc<Entry>> = rack.map_or_else(Vec::new, |rack| rack.entries().to_vec());
        let market = Shelf::new(engine.store().clone(), engine.clock().clone());
        let url = server_url(server);
        let trial = AtCounter::new(Arc::clone(engine), caller);
        let (mut manifests, mut learnt, mut untaught) = (Vec::new(), 0, Vec::new());
        for entry in &entries {
            let mut manifest = CapabilityManifest::new(&entry.tool, url.as_str());
            market.recall(std::slice::from_mut(&mut manifest)).await?;
            if self.introspect_outputs && manifest.output_schema.is_none() {
                match learn(&trial, entry).await {
                    Ok(output) => {
                        manifest.output_schema = Some(output);
                        market.keep(&manifest).await?;
                        learnt += 1;
                    }
                    Err(why) => untaught.push((entry.tool.id.tool().to_owned(), why)),
                }
            }
            manifests.push(manifest);
        }
        let written = files::write(directory, &server.name, &manifests, self.dialect.into());
        let files = written.map_err(|error| {
            let place = directory.display();
            Failure::configuration(format!("no files can be written to {place}: {error}"))
        })?;
        Ok(Exported {
            server: server.name.clone(),
            files,
            learnt,
            untaught,
        })
    }
}

async fn learn(trial: &AtCounter, entry: &Entry) -> Result<Output, String> {
    if entry.approval != Approval::Approved {
        return Err("nobody approved it, so it was not run".to_owned());
    }
    let seen = trial::output(trial, &entry.tool).await;
    seen.map(|seen| Output::seen(&seen))
        .map_err(|why| why.to_string())
}

/// The servers that were named, or all that are switched on.
fn chosen(servers: &[Server], names: &[String]) -> Result<Vec<Server>, Failure> {
    if names.is_empty() {
        return Ok(servers
            .iter()
            .filter(|server| server.enabled)
            .cloned()
            .collect());
    }
    let find = |name: &String| {
        let found = servers.iter().find(|server| server.name == *name);
        found.cloned().ok_or_else(|| {
            let known = servers.iter().map(|server| server.name.as_str());
            let hint = match nearest::nearest(name, known, 1).first() {
                Some(near) => format!("did you mean {near}?"),
                None => "`toolcrib list` shows the servers".to_owned(),
            };
            let message = format!("there is no MCP server named {name}; {hint}");
            Failure::not_found(Code::ServerNotFound, message)
        })
    };
    names.iter().map(find).collect()
}

fn tell(
    context: &mut Context,
    directory: &Path,
    exported: &[Exported],
    mut failed: Vec<(String, Failure)>,
) -> Result<(), Failure> {
    if exported.is_empty() && !failed.is_empty() {
        return Err(failed.remove(0).1);
    }
    let place = context.surroundings.display(directory);
    if context.ui.is_json() {
        let servers: Vec<Value> = exported.iter().map(exported_json).collect();
        let failures: Vec<Value> = failed
            .iter()
            .map(|(server, failure)| json!({ "server": server, "reason": failure.message }))
            .collect();
        context.ui.json(&json!({
            "directory": directory, "servers": servers, "failures": failures,
        }));
        return Ok(());
    }
    for one in exported {
        let learnt = match one.learnt {
            0 => String::new(),
            n => format!(", {n} outputs learnt"),
        };
        let line = format!(" {}: {} files{learnt}", one.server, one.files.len());
        context.ui.line(Line::new().mark(true).text(line));
        for (tool, why) in &one.untaught {
            context.ui.line(format!("    {tool}: {why}"));
        }
    }
    for (server, failure) in &failed {
        let line = format!(" {server}: {}", failure.message);
        context.ui.line(Line::new().mark(false).text(line));
    }
    context.ui.line(format!("Written to {place}."));
    Ok(())
}

fn exported_json(exported: &Exported) -> Value {
    let untaught: Vec<Value> = exported
        .untaught
        .iter()
        .map(|(tool, reason)| json!({ "tool": tool, "reason": reason }))
        .collect();
    json!({
        "server": exported.server,
        "files": exported.files,
        "outputs_learnt": exported.learnt,
        "outputs_not_learnt": untaught,
    })
}
