//! `toolcrib registry add`: an entry written into the configuration. A bundle is downloaded and unpacked; nothing
//! is started.

use std::path::Path;

use clap::Args;
use serde_json::json;
use toolcrib_config::export::{ExportError, addition, own};
use toolcrib_config::file::legal_name;
use toolcrib_config::load::Config;
use toolcrib_config::model::Server;
use toolcrib_core::Code;
use toolcrib_upstream::registry::{Entry, Offer, Status};

use super::{Market, bundle, show, verb, way};
use crate::cli::Context;
use crate::cli::target::{self, Whose, target};
use crate::engine::discovery::offered;
use crate::failure::Failure;
use crate::finding::Finding;
use crate::ui::Line;

/// Write a server into the configuration, switched off until it has what it needs
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib registry add io.github.github/github-mcp-server --name github
  toolcrib registry add io.github.github/github-mcp-server --dry-run

Exit codes: 0 it is written, 1 wrong arguments, 2 there is no such server, or the configuration does \
not load, 3 it cannot be run here, or the registry cannot be reached.")]
pub(super) struct Add {
    /// Its name in the registry, such as io.github.user/server
    #[arg(value_name = "REGISTRY_NAME")]
    entry: String,
    /// What to call it; the last part of its name unless given
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// This version instead of the newest
    #[arg(long, value_name = "VERSION")]
    pin: Option<String>,
    /// This way of running it, such as npm or remote; the first that is usable unless given
    #[arg(long, value_name = "WAY")]
    via: Option<String>,
    /// Into the working directory's file, ./toolcrib.yaml unless it has one, instead of the configuration in use
    #[arg(long)]
    project: bool,
    /// Write nothing; print what would be written
    #[arg(long)]
    dry_run: bool,
}

impl Add {
    pub(super) fn run(
        self,
        context: &mut Context,
        config: &Config,
        market: &Market,
    ) -> Result<(), Failure> {
        let (entry, _) = market.entry(context, &self.entry, self.pin.as_deref())?;
        if entry.status == Status::Deleted {
            let message = format!(
                "{} was taken back by its authors; it is not added",
                entry.name
            );
            return Err(Failure::not_found(Code::ServerNotFound, message));
        }
        let name = self.chosen_name(&entry, config)?;
        let offer = self.chosen_offer(&entry, &name)?;
        let offer = bundle::ready(context, market, offer, &name, !self.dry_run)?;
        let Some(mut server) = offered::definition(&name, &entry, &offer) else {
            let message = format!("{} is a bundle that was not unpacked", offer.label);
            return Err(Failure::new(Code::ServerConnectionError, message));
        };
        let missing: Vec<String> = offer
            .required()
            .map(|needed| needed.variable.clone())
            .filter(|variable| context.surroundings.var(variable).is_none())
            .collect();
        server.enabled = missing.is_empty();
        let whose = if self.project {
            Whose::Project
        } else {
            Whose::InUse
        };
        let target = target(context, whose)?;
        if !self.dry_run {
            write(context, &target, &server)?;
        }
        let told = Told {
            entry: &entry,
            offer: &offer,
            server: &server,
            missing: &missing,
            target: &target,
            dry_run: self.dry_run,
        };
        told.tell(context);
        Ok(())
    }

    /// A name that is free.
    fn chosen_name(&self, entry: &Entry, config: &Config) -> Result<String, Failure> {
        let name = match &self.name {
            Some(name) => name.clone(),
            None => offered::short_name(&entry.name),
        };
        if let Err(reason) = legal_name(&name) {
            return Err(Failure::usage(format!("the name {name:?} {reason}")));
        }
        let taken = config.servers.iter().find(|server| server.name == name);
        match taken {
            None => Ok(name),
            Some(server) => Err(Failure::usage(format!(
                "there is a server named {name} already, from {}; choose another name with --name",
                server.origin
            ))),
        }
    }

    /// The way that was asked for, or the first that can be used.
    fn chosen_offer(&self, entry: &Entry, name: &str) -> Result<Offer, Failure> {
        let offers = entry.offers(&show::prefix(name));
        let mut reasons = Vec::new();
        for offer in &offers {
            let label = match offer {
                Ok(offer) => &offer.label,
                Err(unusable) => &unusable.label,
            };
            if self
                .via
                .as_ref()
                .is_some_and(|via| !label.starts_with(via.as_str()))
            {
                continue;
            }
            match offer {
                Ok(offer) => return Ok(offer.clone()),
                Err(unusable) => reasons.push(format!("{label}: {}", unusable.reason)),
            }
        }
        let failure = match (&self.via, reasons.is_empty()) {
            (_, false) => Failure::new(Code::ServerConnectionError, reasons.join("\n")),
            (Some(via), true) => Failure::usage(format!(
                "{} cannot be run by way of {via}; `toolcrib registry show {}` lists the ways",
                entry.name, entry.name
            )),
            (None, true) => {
                let message = format!("{} names no way to run it", entry.name);
                Failure::new(Code::ServerConnectionError, message)
            }
        };
        let ways: Vec<_> = offers.iter().map(way).collect();
        Err(failure.with("ways", ways))
    }
}

/// Writes the server.
fn write(context: &Context, target: &Path, server: &Server) -> Result<(), Failure> {
    let refused = |error: ExportError| {
        let failure = Failure::configuration(error.to_string());
        match error {
            ExportError::Broken { diagnostics, .. } => {
                failure.because(diagnostics.iter().map(Finding::from).collect())
            }
            ExportError::Unsafe { .. } => {
                let text = own::to_yaml(std::slice::from_ref(server), "");
                Failure {
                    message: format!("{}\n{text}", failure.message),
                    ..failure
                }
                .with("text", text)
            }
            _ => failure,
        }
    };
    target::keep_trusted(context, target, || {
        addition::install(target, server, &target::backup_time()).map_err(refused)
    })
}

/// What is said afterwards.
struct Told<'a> {
    entry: &'a Entry,
    offer: &'a Offer,
    server: &'a Server,
    missing: &'a [String],
    target: &'a Path,
    dry_run: bool,
}

impl Told<'_> {
    fn tell(&self, context: &mut Context) {
        let text = own::to_yaml(std::slice::from_ref(self.server), "");
        if context.ui.is_json() {
            context.ui.json(&json!({
                "name": self.server.name,
                "entry": self.entry.name,
                "version": self.entry.version,
                "status": self.entry.status.word(),
                "enabled": self.server.enabled,
                "way": way(&Ok(self.offer.clone())),
                "missing": self.missing,
                "written": (!self.dry_run).then_some(self.target),
                "text": self.dry_run.then_some(text),
                "next": self.next(context),
            }));
            return;
        }
        let (name, path) = (&self.server.name, context.surroundings.display(self.target));
        if self.entry.status == Status::Deprecated {
            let why = self
                .entry
                .status_message
                .as_deref()
                .unwrap_or("no reason given");
            context
                .ui
                .note(format!("{} is deprecated: {why}", self.entry.name));
        }
        let state = if self.server.enabled { "on" } else { "off" };
        if self.dry_run {
            context
                .ui
                .line(format!("{path} would get this, switched {state}:"));
            for line in text.lines() {
                context.ui.line(Line::new().whole(line));
            }
        } else {
            let line = format!(" {name} is in {path} now, switched {state}; nothing was started");
            context.ui.line(Line::new().mark(true).text(line));
        }
        let line = format!("  it {} {}", verb(self.offer), self.offer.reached());
        context.ui.line(Line::new().whole(line));
        if !self.offer.needed.is_empty() {
            context.ui.gap();
            show::needs(context, &self.offer.needed);
        }
        context.ui.gap();
        for (index, step) in self.next(context).iter().enumerate() {
            context.ui.line(format!("{}. {step}", index + 1));
        }
    }

    /// What is left to do, in order.
    fn next(&self, context: &Context) -> Vec<String> {
        let mut steps = Vec::new();
        if let Some(first) = &self.offer.preparation {
            steps.push(format!("Run `{first}`."));
        }
        if !self.missing.is_empty() {
            steps.push(format!(
                "Set {} in the environment that Toolcrib runs in.",
                self.missing.join(" and ")
            ));
        }
        if !self.server.enabled {
            let path = context.surroundings.display(self.target);
            steps.push(format!(
                "Take out `enabled: false` of {} in {path}.",
                self.server.name
            ));
        }
        let name = &self.server.name;
        steps.push(format!(
            "Run `toolcrib doctor {name}` to see that it answers."
        ));
        steps.push(format!(
            "Run `toolcrib tools {name}`, then `toolcrib approve {name}`: nothing of it is found or run before."
        ));
        steps
    }
}
