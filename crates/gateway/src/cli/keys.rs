//! `toolcrib keys`: API keys for callers over HTTP.

use std::collections::BTreeSet;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use toolcrib_core::policy::{Grant, Scope};
use toolcrib_core::rest::ADMIN_SCOPE;
use toolcrib_core::{Code, nearest};
use toolcrib_store::key::{ApiKey, NewKey};

use super::memory::{moment, span_ms, with_store, with_store_to_change};
use super::{Context, now_ms};
use crate::failure::Failure;
use crate::ui::{Line, Table, Tone};

/// Make, list and revoke API keys
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib keys list
  toolcrib keys create ci --scope github:read")]
pub struct Keys {
    #[command(subcommand)]
    command: KeysCommand,
}

#[derive(Debug, Subcommand)]
enum KeysCommand {
    /// Make a key; it is shown once and kept only as a hash
    #[command(after_help = "\
Examples:
  toolcrib keys create ci --scope github:read
  toolcrib keys create ops --scope github:*,jira:read --expires 90d

A scope that nothing needs as things stand is told, and so is a name that another key has; the key is \
made all the same.

Exit codes: 0 the key is made, 1 wrong arguments, 2 the configuration does not load, 3 the store \
cannot be used.")]
    Create {
        /// What the key is for
        name: String,
        /// What it may do, such as `github:read`, `github:*` or `*:read`; may be given several times
        #[arg(
            long = "scope",
            value_name = "SCOPE",
            required = true,
            value_delimiter = ','
        )]
        scopes: Vec<String>,
        /// How long it is accepted, such as `90d`; for ever unless given
        #[arg(long, value_name = "SPAN", value_parser = span_ms)]
        expires: Option<i64>,
    },
    /// List the keys, without their secrets
    #[command(after_help = "\
Examples:
  toolcrib keys list

Exit codes: 0 the keys are listed, 1 wrong arguments, 2 the configuration does not load, 3 the store \
cannot be used.")]
    List,
    /// Refuse a key from now on
    #[command(after_help = "\
Examples:
  toolcrib keys revoke key-0123456789abcdef

Exit codes: 0 the key is refused from now on, 1 wrong arguments, or there is no such key, 2 the \
configuration does not load, 3 the store cannot be used.")]
    Revoke {
        /// The key's id, as `keys list` shows it
        id: String,
    },
}

impl Keys {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        match self.command {
            KeysCommand::Create {
                name,
                scopes,
                expires,
            } => create(context, name, scopes, expires),
            KeysCommand::List => list(context),
            KeysCommand::Revoke { id } => revoke(context, &id),
        }
    }
}

fn create(
    context: &mut Context,
    name: String,
    scopes: Vec<String>,
    expires: Option<i64>,
) -> Result<(), Failure> {
    let grants = scopes.iter().map(|scope| Grant::parse(scope));
    let grants: Result<Vec<Grant>, _> = grants.collect();
    let grants = grants.map_err(|error| Failure::usage(error.to_string()))?;
    let needed = needed(context)?;
    let mut random = [0; 32];
    getrandom::fill(&mut random).map_err(|error| {
        Failure::new(
            Code::Overloaded,
            format!("the system gives no random numbers, so no key was made: {error}"),
        )
    })?;
    let now = now_ms();
    let new = NewKey {
        name,
        scopes,
        expires_ms: expires.map(|span| now.saturating_add(span)),
    };
    with_store_to_change(context, async |context, store| {
        for grant in grants.iter().filter(|grant| is_idle(grant, &needed)) {
            context.ui.note(idle(grant, &needed));
        }
        let held = store.keys().await?;
        let mut same = held.iter().filter(|key| key.is_valid(now));
        if let Some(key) = same.find(|key| key.name == new.name) {
            context.ui.note(format!(
                "{} is the name of the key {} already, which stays in force; `toolcrib keys revoke {}` ends it.",
                key.name, key.id, key.id
            ));
        }
        let (key, secret) = store.create_key(new, &random, now).await?;
        if context.ui.is_json() {
            let mut shown = shown(&key, now);
            shown["secret"] = secret.expose().into();
            context.ui.json(&shown);
            return Ok(());
        }
        context.ui.note(format!(
            "Key {} for {} was made. This is the only time that it is shown; send it as `Authorization: Bearer KEY`:",
            key.id, key.name
        ));
        context.ui.line(secret.expose());
        Ok(())
    })
}

/// The scopes that something may need as the configuration stands: of servers and their domains, of overrides, and
/// of Toolcrib itself.
fn needed(context: &Context) -> Result<Vec<Scope>, Failure> {
    let config = context.loader().config()?;
    let adapters = config.settings.adapters.keys().cloned();
    let mut areas: BTreeSet<String> = adapters.collect();
    areas.extend(config.servers.iter().map(|server| server.name.clone()));
    let inference = config.settings.capabilities.inference();
    for known in context.known_tools(&config) {
        areas.extend(inference.domains(&known.server, &known.tool));
    }
    let usual = areas.iter().flat_map(|area| {
        let actions = ["read", "write", "delete"].into_iter();
        actions.map(|action| Scope::of(area, action))
    });
    let overrides = config.settings.policy.overrides.iter();
    let named = overrides.flat_map(|one| one.required_scopes.clone().unwrap_or_default());
    let own = Scope::parse(ADMIN_SCOPE).ok();
    Ok(usual.chain(named).chain(own).collect())
}

/// Whether a grant opens nothing that is known.
fn is_idle(grant: &Grant, needed: &[Scope]) -> bool {
    // What stands for everything of a kind is meant for what is to come as well.
    !grant.as_str().contains('*') && !needed.iter().any(|scope| grant.covers(scope))
}

fn idle(grant: &Grant, needed: &[Scope]) -> String {
    let grant = grant.as_str();
    let near = nearest::nearest(grant, needed.iter().map(Scope::as_str), 1);
    let hint = match near.first() {
        Some(near) => format!("did you mean {near}?"),
        None => "a server's tools need SERVER:read, SERVER:write or SERVER:delete".to_owned(),
    };
    format!("nothing that is known needs the scope {grant}; {hint}")
}

fn list(context: &mut Context) -> Result<(), Failure> {
    with_store(context, async |context, store| {
        let (keys, now) = (store.keys().await?, now_ms());
        if context.ui.is_json() {
            let keys: Vec<Value> = keys.iter().map(|key| shown(key, now)).collect();
            context.ui.json(&json!({ "keys": keys }));
            return Ok(());
        }
        if keys.is_empty() {
            context.ui.line(
                "There are no keys. Make one with `toolcrib keys create NAME --scope SCOPE`.",
            );
            return Ok(());
        }
        let mut table = Table::new(["ID", "NAME", "SCOPES", "CREATED", "STATE"]);
        for key in &keys {
            table.row([
                key.id.clone(),
                key.name.clone(),
                key.scopes.join(" "),
                moment(key.created_ms),
                state(key, now),
            ]);
        }
        context.ui.table(&table);
        Ok(())
    })
}

fn revoke(context: &mut Context, id: &str) -> Result<(), Failure> {
    with_store_to_change(context, async |context, store| {
        let revoked = store.revoke_key(id, now_ms()).await?;
        if !revoked {
            return Err(Failure::usage(format!(
                "there is no key {id} in force; `toolcrib keys list` shows them"
            )));
        }
        if context.ui.is_json() {
            context.ui.json(&json!({ "id": id, "state": "revoked" }));
        } else {
            let line = Line::new()
                .mark(true)
                .text(format_args!(" {id} is refused from now on"));
            context
                .ui
                .line(line.tone(Tone::Dim, ", also by processes that are running"));
        }
        Ok(())
    })
}

fn state(key: &ApiKey, now: i64) -> String {
    match (key.revoked_ms, key.expires_ms) {
        (Some(at), _) => format!("revoked {}", moment(at)),
        (None, Some(at)) if at <= now => format!("expired {}", moment(at)),
        (None, Some(at)) => format!("until {}", moment(at)),
        (None, None) => "in force".to_owned(),
    }
}

fn shown(key: &ApiKey, now: i64) -> Value {
    json!({
        "id": key.id,
        "name": key.name,
        "scopes": key.scopes,
        "created_ms": key.created_ms,
        "expires_ms": key.expires_ms,
        "revoked_ms": key.revoked_ms,
        "valid": key.is_valid(now),
    })
}
