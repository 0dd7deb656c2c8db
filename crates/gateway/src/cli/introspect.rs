//! `toolcrib introspect`: an unknown server asked what it offers, and put before a person.

mod target;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde_json::json;
use toolcrib_config::file::legal_name;
use toolcrib_config::load::Config;
use toolcrib_config::model::Server;
use toolcrib_config::registered;
use toolcrib_core::{Code, ToolId};

use super::counter::doing;
use super::memory::{moment, with_store_to_change};
use super::rtfs::Dialect;
use super::shown::counted;
use super::{Context, cache};
use crate::capability::assessment::{Assessment, Sign};
use crate::capability::files::PENDING;
use crate::capability::question;
use crate::capability::review::{Desk, Dossier, Review, ReviewError, Subject};
use crate::engine::clock::Clock;
use crate::engine::upstream::Upstream as _;
use crate::failure::Failure;
use crate::ui::{Line, Tone};

/// Ask an unknown server what it offers, and put it up for approval
///
/// The server is started or contacted once. What its tools can do, and what is odd about them, is
/// written down with one file for each tool; nothing of it can be run before you approve it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib introspect https://mcp.example.com/mcp --name example --auth-env EXAMPLE_TOKEN
  toolcrib introspect 'npx -y @modelcontextprotocol/server-everything' --name everything
  toolcrib introspect uvx --name git -- mcp-server-git --repository .

Exit codes: 0 it waits for approval, 1 wrong arguments, 2 the configuration does not load, 3 the \
server cannot be asked, or the store cannot be used.")]
pub struct Introspect {
    /// Its address, or the command that starts it (in quotes, or with its arguments behind `--`)
    #[arg(value_name = "URL|COMMAND")]
    target: String,
    /// What to call it; taken from the address or the command unless given
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The environment variable that holds its token: sent as a bearer token, or given to the command
    #[arg(long, value_name = "VAR")]
    auth_env: Option<String>,
    /// Speak the older transport with server-sent events
    #[arg(long)]
    sse: bool,
    /// Where the files to review go
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// How those files are written
    #[arg(long, value_enum, default_value = "doc")]
    dialect: Dialect,
    /// Arguments of the command
    #[arg(last = true, value_name = "ARGUMENT")]
    arguments: Vec<String>,
}

impl Introspect {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        let config = Arc::new(context.loader().config()?);
        let server = self.server(&config)?;
        if let Some(unset) = server.unset(&|name| context.surroundings.var(name)) {
            return Err(Failure::usage(format!("{unset}; set it and try again")));
        }
        let subject = Subject {
            server,
            directory: pending(context, &config, self.dir.as_deref()),
            dialect: self.dialect.into(),
        };
        let known = context.known_tools(&config);
        let known: Vec<ToolId> = known
            .iter()
            .map(|known| ToolId::new(known.server.as_str(), known.tool.as_str()))
            .collect();
        with_store_to_change(context, async |context, store| {
            let connections = cache::connections(context.surroundings.clone(), Some(store));
            connections.configure(&config);
            let desk = Desk::new(store.clone(), Clock::system(), Arc::clone(&config));
            let service = connections.discovery();
            let what = format!("asking {} what it offers", subject.server.name);
            let review = desk.introspect(&service, &subject, &known);
            let reviewed = doing(context, &what, review).await;
            connections.close().await;
            tell(context, &subject.server, &reviewed.map_err(failure)?);
            Ok(())
        })
    }

    /// The server that the arguments describe.
    fn server(&self, config: &Config) -> Result<Server, Failure> {
        let way = target::Way {
            target: &self.target,
            arguments: &self.arguments,
            auth_env: self.auth_env.as_deref(),
            sse: self.sse,
        };
        let server = way.server(self.name.as_deref()).map_err(Failure::usage)?;
        let name = &server.name;
        if let Err(reason) = legal_name(name) {
            let said = format!("the name {name:?} {reason}; choose another with --name");
            return Err(Failure::usage(said));
        }
        let taken = config.servers.iter().find(|known| known.name == *name);
        match taken {
            Some(known) if known.origin.kind != registered::KIND => Err(Failure::usage(format!(
                "there is a server named {name} already, from {}; choose another name with --name",
                known.origin
            ))),
            _ => Ok(server),
        }
    }
}

/// The directory of files to review: the one that was given, that of the configuration, the usual one.
pub(super) fn pending(context: &Context, config: &Config, given: Option<&Path>) -> PathBuf {
    let cwd = &context.surroundings.cwd;
    if let Some(given) = given {
        return cwd.join(given);
    }
    let configured = config.export_directory.clone();
    configured.unwrap_or_else(|| cwd.join(PENDING))
}

/// A review that cannot go on, as a command gives it back.
pub(super) fn failure(error: ReviewError) -> Failure {
    let message = error.to_string();
    match error {
        ReviewError::Discovery(_) => Failure::new(Code::ServerConnectionError, message),
        ReviewError::Store(error) => error.into(),
        ReviewError::Files { .. } | ReviewError::Policy | ReviewError::Promotion(_) => {
            Failure::configuration(message)
        }
        ReviewError::PlainSecret(_) => Failure::usage(message),
        ReviewError::Waits { .. } | ReviewError::Refused { .. } => {
            Failure::new(Code::ApprovalRequired, message)
        }
        ReviewError::Unknown(_) => Failure::not_found(Code::ServerNotFound, message),
    }
}

fn tell(context: &mut Context, server: &Server, review: &Review) {
    for warning in &review.warnings {
        context.ui.note(warning.as_str());
    }
    let (name, dossier) = (&server.name, &review.dossier);
    let waiting = review.introduced.tools.iter();
    let waiting = waiting.filter(|tool| tool.standing.is_pending()).count();
    if context.ui.is_json() {
        let files: Vec<String> = review
            .files
            .iter()
            .map(|f| f.display().to_string())
            .collect();
        context.ui.json(&json!({
            "server": name,
            "request": review.introduced.request,
            "server_waits": review.introduced.server_waits,
            "tools_waiting": waiting,
            "server_url": dossier.server_url,
            "assessment": question::assessment(&dossier.assessment),
            "directory": dossier.pending,
            "files": files,
            "expires_ms": review.expires_ms,
            "warnings": review.warnings,
        }));
        return;
    }
    let count = counted(review.introduced.tools.len(), "tool");
    let head = Line::new().tone(Tone::Strong, name);
    context.ui.line(head.text(format_args!(": {count}")));
    tell_place(context, dossier);
    tell_assessment(context, &dossier.assessment);
    context.ui.gap();
    let place = context.surroundings.display(&dossier.pending);
    let are = if review.files.len() == 1 { "is" } else { "are" };
    let files = counted(review.files.len(), "file");
    context
        .ui
        .line(format!("{files} to review {are} in {place}."));
    if waiting == 0 && !review.introduced.server_waits {
        context.ui.line("Nothing is new since it was approved.");
        return;
    }
    context.ui.line(format!(
        "It waits for you until {} UTC: `toolcrib approvals show {name}` shows it in full, `toolcrib approve {name}` approves.",
        moment(review.expires_ms)
    ));
}

/// Where a server is, on a line of its own.
pub(super) fn tell_place(context: &mut Context, dossier: &Dossier) {
    let line = format!("  at {}", dossier.server_url);
    context.ui.line(Line::new().whole(line));
}

/// What the tools of a server can do, in lines.
pub(super) fn tell_assessment(context: &mut Context, assessment: &Assessment) {
    let counts = assessment.counts.iter().filter(|(_, count)| *count > 0);
    let counts: Vec<String> = counts.map(|(risk, n)| format!("{n} {risk}")).collect();
    context.ui.line(format!(
        "  Risk: {} ({})",
        assessment.risk,
        counts.join(", ")
    ));
    for tool in &assessment.tools {
        let line = format!("    {} is {}: {}", tool.tool, tool.risk, tool.evidence);
        context.ui.line(line);
        for sign in &tool.flags {
            tell_sign(context, &tool.tool, sign);
        }
    }
    for sign in &assessment.flags {
        tell_sign(context, "the server", sign);
    }
}

fn tell_sign(context: &mut Context, of: &str, sign: &Sign) {
    let said = format!("    ! {of}, {}: {}", sign.place, sign.detail);
    context.ui.line(Line::new().tone(Tone::Bad, said));
}
