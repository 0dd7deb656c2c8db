//! `toolcrib registry`: the public registry searched, an entry shown, an entry added.

mod add;
mod bundle;
mod find;
mod show;

use std::sync::Arc;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use toolcrib_config::load::Config;
use toolcrib_core::Code;
use toolcrib_upstream::registry::{
    Entry, Offer, Reading, RegistryClient, RegistryError, Status, Unusable, Way,
};

use super::counter::doing;
use super::{Context, running};
use crate::engine::discovery::{RegistryCatalog, offered};
use crate::failure::Failure;
use crate::known;
use crate::ui::{Line, Table, Tone};

/// Find servers in the public registry and add them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib registry search github
  toolcrib registry show io.github.github/github-mcp-server")]
pub struct Registry {
    #[command(subcommand)]
    command: Command,
    /// Ask the registry even if it was asked within the last hour
    #[arg(long, global = true)]
    fresh: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List servers whose names hold a text
    #[command(after_help = "\
Examples:
  toolcrib registry search github
  toolcrib registry search weather --tools   also which tools they have

Exit codes: 0 something was found, 1 wrong arguments, 2 nothing was found, or the configuration does \
not load, 3 the registry cannot be reached.")]
    Search {
        /// A part of the name; everything unless given
        #[arg(value_name = "QUERY", default_value = "")]
        query: String,
        /// Most servers to show
        #[arg(long, value_name = "N", default_value_t = 30)]
        limit: usize,
        /// Ask the servers that need nothing of you which tools they have
        #[arg(long)]
        tools: bool,
    },
    /// Find servers that may have a capability, configured ones first
    #[command(after_help = "\
Examples:
  toolcrib registry find github
  toolcrib registry find github.create_issue

Exit codes: 0 something was found, 1 wrong arguments, 2 nothing was found, or the configuration does \
not load, 3 the registry cannot be reached.")]
    Find {
        /// The name of a server or a tool, or both with a dot between them
        capability: String,
    },
    /// Show what a server is, how it can be run and what it needs
    #[command(after_help = "\
Examples:
  toolcrib registry show io.github.github/github-mcp-server

Exit codes: 0 it is shown, 1 wrong arguments, 2 there is no such server, or the configuration does \
not load, 3 the registry cannot be reached.")]
    Show {
        /// Its name in the registry, such as io.github.user/server
        name: String,
    },
    /// Write a server into the configuration, switched off until it has what it needs
    Add(add::Add),
}

impl Registry {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        let config = context.loader().config()?;
        let market = Market::open(context, &config, !self.fresh)?;
        match self.command {
            Command::Search {
                query,
                limit,
                tools: true,
            } => find::tools(context, config, market, &query, limit),
            Command::Search { query, limit, .. } => search(context, &market, &query, limit),
            Command::Find { capability } => find::run(context, config, market, &capability),
            Command::Show { name } => {
                let (entry, versions) = market.entry(context, &name, None)?;
                show::show(context, &entry, &versions);
                Ok(())
            }
            Command::Add(command) => command.run(context, &config, &market),
        }
    }
}

/// What a terminal shows while the registry is waited for.
const ASKING: &str = "asking the registry";

/// The registry, asked from a command.
struct Market {
    runtime: tokio::runtime::Runtime,
    catalog: RegistryCatalog,
    use_cache: bool,
}

impl Market {
    fn open(context: &Context, config: &Config, use_cache: bool) -> Result<Self, Failure> {
        let http = client(reqwest::redirect::Policy::default())?;
        let client = RegistryClient::new(http, &config.settings.registry.url)
            .map_err(|error| Failure::configuration(error.to_string()))?;
        let cache = known::kept_lists(config, &context.surroundings);
        Ok(Self {
            runtime: running::runtime()?,
            catalog: RegistryCatalog::new(client, Arc::new(cache)),
            use_cache,
        })
    }

    fn search(&self, context: &Context, query: &str) -> Result<Reading, Failure> {
        let searching = doing(context, ASKING, self.catalog.search(query, self.use_cache));
        self.runtime.block_on(searching).map_err(|e| failure(&e))
    }

    /// A version of a server, the newest unless given, and the names of all.
    fn entry(
        &self,
        context: &Context,
        name: &str,
        version: Option<&str>,
    ) -> Result<(Entry, Vec<String>), Failure> {
        let asking = doing(context, ASKING, self.catalog.versions(name, self.use_cache));
        let reading = match self.runtime.block_on(asking) {
            Ok(reading) => reading,
            Err(error @ RegistryError::NotFound(_)) => {
                return Err(self.unknown(context, name, &error));
            }
            Err(error) => return Err(failure(&error)),
        };
        let versions: Vec<String> = reading.entries.iter().map(|e| e.version.clone()).collect();
        let found = match version {
            None => reading.latest().entries.into_iter().next(),
            Some(version) => {
                let mut entries = reading.entries.into_iter();
                entries.find(|entry| entry.version == version)
            }
        };
        let missing = || {
            let which = version.map_or_else(
                || format!("what the registry says of {name} cannot be read"),
                |version| {
                    format!(
                        "{name} has no version {version}; it has {}",
                        versions.join(", ")
                    )
                },
            );
            Failure::not_found(Code::ServerNotFound, which)
        };
        let entry = found.ok_or_else(missing)?;
        Ok((entry, versions))
    }

    /// Nothing by that name: what was perhaps meant.
    fn unknown(&self, context: &Context, name: &str, error: &RegistryError) -> Failure {
        let part = offered::short_name(name);
        let near = self.search(context, &part).map(|reading| reading.entries);
        let near: Vec<String> = near
            .unwrap_or_default()
            .into_iter()
            .filter(|entry| entry.status != Status::Deleted)
            .map(|entry| entry.name)
            .take(5)
            .collect();
        let message = if near.is_empty() {
            error.to_string()
        } else {
            format!(
                "the registry has no server named {name}; perhaps {}",
                near.join(" or ")
            )
        };
        Failure::not_found(Code::ServerNotFound, message).with("similar", near)
    }
}

/// A client that follows redirects by a policy.
fn client(redirects: reqwest::redirect::Policy) -> Result<reqwest::Client, Failure> {
    reqwest::Client::builder()
        .user_agent(concat!("toolcrib/", env!("CARGO_PKG_VERSION")))
        .redirect(redirects)
        .build()
        .map_err(|error| {
            let message = format!("no connection can be made: {}", error.without_url());
            Failure::new(Code::ServerConnectionError, message)
        })
}

fn failure(error: &RegistryError) -> Failure {
    match error {
        RegistryError::NotFound(_) => Failure::not_found(Code::ServerNotFound, error.to_string()),
        RegistryError::Address(_) => Failure::configuration(error.to_string()),
        RegistryError::Status { status: 429, .. } => {
            Failure::new(Code::RateLimited, error.to_string())
        }
        _ => Failure::new(Code::ServerConnectionError, error.to_string()),
    }
}

fn search(
    context: &mut Context,
    market: &Market,
    query: &str,
    limit: usize,
) -> Result<(), Failure> {
    let reading = market.search(context, query)?;
    for warning in &reading.warnings {
        context.ui.note(warning.as_str());
    }
    let total = reading.entries.len();
    let shown = &reading.entries[..total.min(limit)];
    if context.ui.is_json() {
        let servers: Vec<Value> = shown.iter().map(brief).collect();
        context.ui.json(&json!({
            "servers": servers,
            "total": total,
            "warnings": reading.warnings,
        }));
        context.ui.mute();
    }
    if shown.is_empty() {
        return Err(no_match(query));
    }
    let mut table = Table::new(["NAME", "VERSION", "WAYS", "DESCRIPTION"]);
    for entry in shown {
        table.row([
            entry.name.clone(),
            match entry.status {
                Status::Active => entry.version.clone(),
                other => format!("{} ({})", entry.version, other.word()),
            },
            ways(entry),
            entry
                .description
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" "),
        ]);
    }
    context.ui.table(&table);
    let more = total - shown.len();
    further(context, more);
    Ok(())
}

/// What is said of servers that are not shown.
fn further(context: &mut Context, more: usize) {
    if more > 0 {
        context.ui.gap();
        let line = format!("{more} more; --limit shows them");
        context.ui.line(Line::new().tone(Tone::Dim, line));
    }
    from_here(context);
}

/// What is said where no name of the registry holds the text.
fn no_match(query: &str) -> Failure {
    let message =
        format!("no server of the registry has {query:?} in its name; try a shorter part of it");
    Failure::not_found(Code::ServerNotFound, message)
}

/// What is done with a name of the registry.
fn from_here(context: &mut Context) {
    let line = "`toolcrib registry show NAME` shows one in full; `toolcrib registry add NAME` configures it.";
    context.ui.note(Line::new().tone(Tone::Dim, line));
}

/// The kinds of ways in which an entry can be used: `remote, npm`.
fn ways(entry: &Entry) -> String {
    let mut kinds: Vec<String> = Vec::new();
    for offer in entry.offers("") {
        let label = match &offer {
            Ok(offer) => &offer.label,
            Err(unusable) => &unusable.label,
        };
        let kind = label.split(' ').next().unwrap_or_default().to_owned();
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds.join(", ")
}

/// What is done with a way, before what it says: a program runs, an address is reached.
fn verb(offer: &Offer) -> &'static str {
    match offer.way {
        Way::Http { .. } | Way::Sse { .. } => "is reached at",
        Way::Stdio { .. } | Way::Bundle(_) => "runs",
    }
}

/// An entry in a list, as JSON.
fn brief(entry: &Entry) -> Value {
    json!({
        "name": entry.name,
        "title": entry.title,
        "description": entry.description,
        "version": entry.version,
        "status": entry.status.word(),
        "ways": ways(entry),
    })
}

/// A way in which an entry can be used, as JSON.
fn way(offer: &Result<Offer, Unusable>) -> Value {
    match offer {
        Ok(offer) => json!({
            "way": offer.label,
            "runs": offer.reached(),
            "needs": offer.needed,
            "first": offer.preparation,
        }),
        Err(unusable) => json!({ "way": unusable.label, "unusable": unusable.reason }),
    }
}
