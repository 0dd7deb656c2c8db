//! `toolcrib export-rtfs`: the tools of servers as capability files.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::Context;
use super::counter::{chosen, counting, local, refused, with_engine};
use super::introspect::pending;
use super::rtfs::Dialect;
use super::shown::counted;
use crate::capability::export::{Export, ExportError, Exported};
use crate::failure::Failure;
use crate::ui::{Line, Progress};

/// Write the tools of servers as RTFS files, one for each tool
///
/// Files go to DIR/SERVER/TOOL.rtfs. The same tools always give the same bytes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib export-rtfs                               every server, for review
  toolcrib export-rtfs github --dir out --dialect ccos
  toolcrib export-rtfs github --introspect-outputs   learns what its reading tools answer

Exit codes: 0 every file is written, 1 wrong arguments, 2 there is no such server, or the \
configuration does not load, 3 a server cannot be asked, a file cannot be written, or the store \
cannot be used.")]
pub struct ExportRtfs {
    /// The servers; all that are switched on unless given
    #[arg(value_name = "SERVER", add = super::completions::server())]
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

impl ExportRtfs {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        with_engine(context, async |context, engine| {
            let config = engine.config();
            let directory = pending(context, &config, self.dir.as_deref());
            let (mut exported, mut failed) = (Vec::new(), Vec::new());
            let export = Export {
                directory: &directory,
                dialect: self.dialect.into(),
                introspect_outputs: self.introspect_outputs,
            };
            let servers = chosen(&config.servers, &self.servers)?;
            let progress = Progress::waiting(servers.len());
            let asking = async {
                for server in servers {
                    progress.say(&format!("asking {} for its tools", server.name));
                    match export.run(engine, local(engine), &server).await {
                        Ok(one) => exported.push(one),
                        Err(error) => failed.push((server.name, failure(error))),
                    }
                    progress.step();
                }
            };
            counting(context, &progress, asking).await;
            progress.end();
            tell(context, &directory, &exported, failed)
        })
    }
}

fn failure(error: ExportError) -> Failure {
    match error {
        ExportError::Refused(error) => refused(error),
        ExportError::Store(error) => error.into(),
        ExportError::Files { path, source } => {
            Failure::unwritten(&path.display().to_string(), &source)
        }
    }
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
        let servers: Vec<Value> = exported.iter().map(Exported::told).collect();
        let failures: Vec<Value> = failed
            .iter()
            .map(|(server, failure)| json!({ "server": server, "reason": failure.message }))
            .collect();
        context.ui.json(&json!({
            "directory": directory, "servers": servers, "failures": failures,
        }));
        // What failed stands in it.
        context.ui.mute();
        return whole(exported.len(), failed);
    }
    for one in exported {
        let learnt = match one.learnt {
            0 => String::new(),
            n => format!(", {} learnt", counted(n, "output")),
        };
        let line = format!(
            " {}: {}{learnt}",
            one.server,
            counted(one.files.len(), "file")
        );
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
    whole(exported.len(), failed)
}

/// What the command ends with: files without those of a server are written, and no success.
fn whole(exported: usize, mut failed: Vec<(String, Failure)>) -> Result<(), Failure> {
    if failed.is_empty() {
        return Ok(());
    }
    let all = exported + failed.len();
    let message = format!(
        "{} of {all} servers could not be written down; the reasons stand beside their names, mend that and run it again",
        failed.len()
    );
    Err(Failure::new(failed.remove(0).1.code, message))
}
